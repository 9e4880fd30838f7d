#!/usr/bin/env python3
"""Which translated pages are behind their English page.

    tests/translations.py                   lists what differs
    tests/translations.py --update PAGE ... records that a page matches its English page, after you changed it
    tests/translations.py --behind PAGE ... adds a note for readers that the English page is newer, if you do not write that language

A translated page begins with `<!-- translation of PAGE, sha256 DIGEST -->`, or `<!-- translation of PAGE until "HEADING", sha256 DIGEST -->` for the part
before a heading. DIGEST belongs to the English text. Blocks of code are those of the English page; only comments after `#` are translated.
"""

import argparse
import hashlib
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tools" / "docs"
FIRST_LINE = re.compile(r'<!-- translation of (\S+?)(?: until "([^"]+)")?, sha256 ([0-9a-f]+) -->\n')
BEHIND = {"zh": "> 英文版已有更新，本页尚未同步。\n\n"}


def pages():
    return sorted(FOLDER.rglob("*.md"))


def english(page):
    """The English page of a translation, the part that was translated, and the digest that the translation states."""
    first = FIRST_LINE.match(page.read_text())
    if not first:
        raise ValueError(f"{page.relative_to(ROOT)} does not begin with {FIRST_LINE.pattern}")
    text = (ROOT / first[1]).read_text()
    if first[2]:
        text = text[: text.index(f"\n{first[2]}")]
    return first[1], text, first[3]


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def note(page):
    return BEHIND[page.relative_to(FOLDER).parts[0]]


def is_marked(page):
    return note(page) in page.read_text()


def blocks(text):
    """The blocks of code without comments."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.M | re.S)
    return [(language, [re.sub(r"\s*#(?!=).*$", "", line) for line in body.splitlines()]) for language, body in found]


def difference(page):
    """What a contributor should know of a page, or None."""
    name, text, stated = english(page)
    if is_marked(page):
        return None
    here = page.relative_to(ROOT)
    advice = (
        f"Change the translation, then run: tests/translations.py --update {here}\n"
        f"If you do not write its language: tests/translations.py --behind {here}"
    )
    theirs, ours = blocks(text), blocks(page.read_text())
    for number, (one, other) in enumerate(zip(theirs, ours), 1):
        if one != other:
            lines = [f"'{b}' instead of '{a}'" for a, b in zip(one[1], other[1]) if a != b] or [f"number of lines {len(other[1])} instead of {len(one[1])}"]
            return f"{here}: block {number} of code differs from {name}: {'; '.join(lines)[:300]}. {advice}"
    if len(theirs) != len(ours):
        return f"{here} has {len(ours)} blocks of code, {name} has {len(theirs)}. {advice}"
    if digest(text) != stated:
        return f"{name} has changed since {here} was translated. {advice}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", nargs="+", type=pathlib.Path, metavar="PAGE", default=[])
    parser.add_argument("--behind", nargs="+", type=pathlib.Path, metavar="PAGE", default=[])
    options = parser.parse_args()
    for page in (path.resolve() for path in options.update):
        name, text, stated = english(page)
        written = page.read_text().replace(f"sha256 {stated}", f"sha256 {digest(text)}", 1).replace(note(page), "")
        page.write_text(written)
    for page in (path.resolve() for path in options.behind):
        if not is_marked(page):
            page.write_text(re.sub(r"^(# .*\n\n)", lambda title: title[1] + note(page), page.read_text(), count=1, flags=re.M))
    for page in pages():
        if is_marked(page):
            print(f"{page.relative_to(ROOT)} is marked as behind {english(page)[0]}")
        elif told := difference(page):
            print(told)


if __name__ == "__main__":
    main()
