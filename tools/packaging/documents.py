"""Copies the documents for users into a folder, for packages without the sources. Links among them work there; one that leads out of them becomes
text that names the file in the sources. Usage: documents.py FOLDER"""

import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages and what they show, as patterns of paths in the sources; copies keep these paths.
DOCUMENTS = (
    "README.md", "LICENSE", "compiler/PRECISION.md", "compiler/RULES.md", "compiler/schedules/README.md", "dsl/*.md", "dsl/errors/*.md",
    "stdlib/*.md", "stdlib/*/*.npar", "tools/*.md", "tools/examples/*.md", "tools/examples/*.npar", "tools/images/*.svg", "tools/python/README.md",
    "tools/python/communication.ipynb",
)
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```[^\n]*$)", flags=re.M | re.S)


def linked(text, page, chosen):
    """The text of a page, with the links that lead to none of the chosen paths as words."""

    def one(match):
        words, target = match.groups()
        path = os.path.normpath((pathlib.PurePath(page).parent / target.partition("#")[0]).as_posix()) if target[0] != "#" else page
        if re.match(r"[a-z]+:", target) or path in chosen:
            return match[0]
        return words if pathlib.PurePath(path).name in words else f"{words} (`{path}` in the sources)"

    return "".join(part if number % 2 else LINK.sub(one, part) for number, part in enumerate(CODE.split(text)))


def copy(folder):
    chosen = {path.relative_to(ROOT).as_posix(): path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))}
    for name, path in chosen.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(linked(path.read_text(), name, chosen))
        else:
            shutil.copyfile(path, place)
    return chosen


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    copy(pathlib.Path(sys.argv[1]))
