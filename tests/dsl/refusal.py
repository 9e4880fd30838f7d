"""What `npar inspect` says of a wrong text; by hand, `refusal.py FILE...` writes that into files: read the difference before you keep it."""

import os
import pathlib
import re
import subprocess
import sys

STDLIB = str(pathlib.Path(__file__).resolve().parents[2] / "stdlib")
MARK = "#> "


def run(path, environment):
    """Exit code, what was printed on stdout and on stderr."""
    arguments = ["npar", "inspect", path.name]
    for line in path.read_text().splitlines():
        if match := re.match(r"# (plan|train|config|set|machine|for): (.*)", line):
            arguments += ["--" + match[1], match[2]]
    environment = dict(environment, NPAR_STDLIB=STDLIB)
    done = subprocess.run(arguments, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.replace(STDLIB, "%stdlib")


def record(path):
    """Replaces the stated message; its own lines move the places in it, hence the second round."""
    for _ in range(2):
        said = run(path, os.environ)[2].splitlines()
        lines = path.read_text().splitlines(keepends=True)
        first = next((i for i, line in enumerate(lines) if line.startswith(MARK)), None)
        rest = [line for line in lines if not line.startswith(MARK)]
        if first is None:
            first = next((i for i, line in enumerate(rest) if not re.match(r"# (shows|plan|train|config|set|for): ", line)), len(rest))
        path.write_text("".join(rest[:first] + [MARK + line + "\n" for line in said] + rest[first:]))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        record(pathlib.Path(name).resolve())
