"""The pages of tools/examples: their commands run in a copy of the folder, and print what the page shows.

`sh` blocks of the pages in SHORT run always, all other blocks of commands in the long form. A `text` block after commands shows lines of their output, in order; `...` stands for lines that
are left out. Words must be equal and numbers within 2 %. Speeds, times measured here and hashes may differ.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time
import unittest

from driver import BUILD, LONG, ROOT, DriverTest

EXAMPLES = ROOT / "tools" / "examples"
DOCUMENTS = EXAMPLES / "documents"
SHORT = {"ACCUMULATION.md", "BUBBLES.md", "CONSOLIDATION.md", "TENSOR_PARALLELISM.md"}  # of each kind of command one
SECONDS = 600  # limit for a hang
NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
# Parts of a line that differ from run to run.
MEASURED = [
    rf"{NUMBER} (?:samples|tokens)/s(?:  {NUMBER} s\b)?",
    r"\b[0-9a-f]{32}\b",
    rf"about {NUMBER} [KMG]iB for the graph|up to {NUMBER} [KMG]iB for the operands that \d+ workers pack|takes {NUMBER} [KMG]iB of memory",
]


def pages():
    return sorted(EXAMPLES.glob("*.md"))


def parts(page):
    """The fenced blocks of a page: triples of language, lines, and whether their output is shown in the next block."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), flags=re.M | re.S)
    return [(language, re.sub(r"\\\n\s*", "", body).splitlines()) for language, body in found]


def skeleton(line):
    """The words of a line and its numbers."""
    for pattern in MEASURED:
        line = re.sub(pattern, "~", line)
    return re.sub(NUMBER, "#", " ".join(line.split())), [float(text.replace(",", "")) for text in re.findall(NUMBER, line)]


def alike(shown, printed):
    words, numbers = skeleton(shown)
    other, found = skeleton(printed)
    return words == other and all(abs(a - b) <= 0.02 * max(abs(a), abs(b)) for a, b in zip(numbers, found))


def first_missing(shown, printed):
    """The first line shown that was not printed after the ones before it."""
    rest = iter(printed)
    for line in shown:
        if line.strip() not in ("", "...") and not any(alike(line, other) for other in rest):
            return line
    return None


class WorkedExamplesTest(DriverTest):
    def copy(self, name):
        """A copy of the folder, as its README.md says."""
        folder = self.folder / name
        shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("*.md", "documents"))
        shutil.copy("/usr/share/common-licenses/GPL-3", folder / "book.txt")
        return folder

    def run_line(self, line, folder):
        begun = time.monotonic()
        command = ["timeout", "-k", "5", str(SECONDS), "bash", "-c", 'PATH="$1:$PATH"; set -o pipefail; eval "$2"', "bash", BUILD / "bin", line]
        result = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0, f"{line}\n{result.stdout[-2000:]}")
        if os.environ.get("NPAR_TIMES"):
            print(f"{time.monotonic() - begun:6.1f} s  {shlex.quote(line)}")
        return result.stdout

    def has_mpi(self):
        return "without MPI" not in self.npar("launch", "-n", 1, "train", code=None).error

    def follow(self, page):
        if "fashion-mnist" in page.read_text() and not pathlib.Path("/usr/share/datasets/fashion-mnist").exists():
            self.skipTest("needs Debian's package dataset-fashion-mnist")
        folder = self.copy(page.stem)
        printed, found = [], 0
        for language, lines in parts(page):
            if language == "text":
                if printed:
                    missing = first_missing(lines, printed)
                    self.assertIsNone(missing, f"{page.name} shows this line, its commands printed\n" + "\n".join(printed[:200]))
            elif LONG or (language == "sh" and page.name in SHORT):
                printed = []
                for line in (re.sub(r"\s+# .*$", "", line) for line in lines if line.strip() and not line.startswith("#")):
                    printed += self.run_line(line, folder).splitlines()
                    found += 1
            else:
                printed = []
        return found

    def test_pages(self):
        count = 0
        for page in pages():
            if page.name != "README.md":
                with self.subTest(page=page.name):
                    count += self.follow(page)
        self.assertGreater(count, 10)

    def test_documents(self):
        """Each row has its verdict, and in the long form its commands run and print the figures in its last column."""
        verdicts = set(re.findall(r"^\| ([a-z ]+) \| [^|]+ \|$", (DOCUMENTS / "README.md").read_text(), flags=re.M)) - {"verdict"}
        self.assertGreater(len(verdicts), 5)
        count = 0
        for page in sorted(DOCUMENTS.glob("[!R]*.md")):
            folder = self.copy(page.stem) if LONG else None
            rows = [line.strip()[1:-1].split("|") for line in page.read_text().splitlines() if re.match(r"\| (?!item )", line)]
            for row in rows:
                with self.subTest(page=page.name, item=row[0].strip()):
                    cells = [cell.strip() for cell in row]
                    self.assertEqual(len(cells), 5)
                    self.assertIn(cells[1], verdicts)
                    count += 1
                    commands = [line for line in re.findall(r"`([^`]+)`", cells[2]) if not line.startswith("npar launch") or self.has_mpi()]
                    self.assertTrue(cells[2] or cells[1] in ("later", "cannot", "other way", "refused"), "a command shows it")
                    if LONG and commands:
                        printed = " ".join("".join(self.run_line(line, folder) for line in commands).split())
                        for figure in re.findall(r"`([^`]+)`", re.sub(r"\[[^]]*\]\([^)]*\)", "", cells[4])):
                            self.assertIn(" ".join(figure.split()), printed)
        self.assertGreater(count, 80)

    def test_a_page_is_short_and_listed(self):
        index = (EXAMPLES / "README.md").read_text()
        for page in pages():
            with self.subTest(page=page.name):
                if page.name != "README.md":
                    self.assertLessEqual(len(page.read_text().splitlines()), 30, "an example is read in a minute")
                    self.assertIn(f"]({page.name})", index)

    def test_comparison(self):
        """A changed word or number is found; measured ones are not compared."""
        shown = ["step 3/3  loss 5.5421  74,510 tokens/s  epoch 0.35", "...", "bubble 24.8 %"]
        self.assertIsNone(first_missing(shown, ["x", "step 3/3  loss 5.5420  9 tokens/s  epoch 0.35", "y", "bubble 24.9 %"]))
        self.assertEqual(first_missing(shown, ["step 3/3  loss 5.7421  9 tokens/s  epoch 0.35", "bubble 24.8 %"]), shown[0])
        self.assertEqual(first_missing(shown, ["bubble 24.8 %", "step 3/3  loss 5.5421  9 tokens/s  epoch 0.35"]), shown[2])
        self.assertEqual(first_missing(["bubble 24.8 %"], ["bubbles 24.8 %"]), "bubble 24.8 %")


if __name__ == "__main__":
    unittest.main()
