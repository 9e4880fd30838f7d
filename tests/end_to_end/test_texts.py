"""Texts for users stay readable: sizes of pages, habits of English, links, the README's picture, an example in every help, completion."""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from driver import NPAR, ROOT, DriverTest, settings

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tools" / "packaging"))
import documents  # noqa: E402
import prose  # noqa: E402

# References may be longer than other pages, but begin with a list of contents.
REFERENCES = {"dsl/LANGUAGE.md", "dsl/PLANS.md", "compiler/RULES.md", "compiler/cost/README.md"}
# The places that tests/prose.py finds. Lower a number when you have rewritten some.
RECORDED = {"page": 3, "message": 1, "comment": 29}


def pages():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    return listed.split()


def anchors(text):
    """The names that a page's headings have in links."""
    found = []
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M):
        name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        found.append(re.sub(r"[^\w\- ]", "", name).strip().replace(" ", "-"))
    return set(found) | set(re.findall(r'<a (?:id|name)="([^"]*)"', text))


SMALL = {"vocab": 32, "width": 8, "inner": 8, "length": 4, "batch": 8}


class PagesTest(unittest.TestCase):
    def test_sizes(self):
        for page in pages():
            with self.subTest(page=page):
                text = (ROOT / page).read_text()
                if page in REFERENCES:
                    self.assertRegex(text[:6000], r"\]\(#", "a reference begins with links to its headings")
                else:
                    self.assertLessEqual(len(text.encode()), 9_000 if page == "README.md" else 12_000, "split it")

    def check_links(self, root, listed):
        """Links of pages under a folder lead to files and headings there."""
        for page in listed:
            text = (root / page).read_text()
            prosaic = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
            for target in re.findall(r"\]\(([^)\s]+)\)", prosaic):
                if re.match(r"[a-z]+:", target):
                    continue
                with self.subTest(page=page, target=target):
                    path, _, anchor = target.partition("#")
                    file = (root / page).parent / path if path else root / page
                    self.assertTrue(file.exists(), "leads nowhere")
                    if anchor and file.suffix == ".md":
                        self.assertIn(anchor, anchors(file.read_text()))

    def test_links(self):
        self.check_links(ROOT, pages())

    def test_documents_of_the_wheel(self):
        """Their links work without the sources, and those that lead out of them name the file."""
        with tempfile.TemporaryDirectory(prefix="npar-test-") as folder:
            root = pathlib.Path(folder)
            chosen = documents.copy(root)
            self.check_links(root, [name for name in chosen if name.endswith(".md")])
            page = (root / "tools/python/README.md").read_text()
            for name in ("../../dsl/LANGUAGE.md", "../../dsl/PLANS.md", "../TRAINING.md", "../PROCESSES.md", "../EMBED.md", "communication.ipynb"):
                self.assertIn(f"]({name}", page)
            self.assertIn("engine (`engine/README.md` in the sources)", (root / "README.md").read_text())
            self.assertIn("Code: Batch.cpp, Inputs.cpp.", (root / "compiler/RULES.md").read_text())

    def test_habits_of_english(self):
        found = prose.counts()
        for kind, most in RECORDED.items():
            with self.subTest(kind=kind):
                self.assertLessEqual(found[kind], most, f"tests/prose.py --list shows {found[kind]} places, {most} are recorded: write them in plain English")


class CommandsTest(DriverTest):
    def commands(self, *path):
        """The words of all commands, those inside others too, as the help lists them."""
        text = subprocess.run([NPAR, *path, "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
        yield path, text
        options = text.split("\nUsage:")[-1] if path else text
        for name in re.findall(r"^  ([a-z]+) {2,}\S", options, flags=re.M):
            if name != "npar":
                yield from self.commands(*path, name)

    def test_every_help_has_an_example(self):
        seen = collections.Counter()
        for path, text in self.commands():
            seen[len(path)] += 1
            with self.subTest(command=" ".join(path)):
                self.assertRegex(text, r"(?m)^Examples?:\n(.*\n)*?  (npar|source)")
        self.assertGreater(seen[1], 18)
        self.assertGreater(seen[2], 12)

    def test_help_is_in_groups(self):
        text = self.npar("--help").output
        groups = re.findall(r"^([A-Z][a-z ]+):$", text, flags=re.M)
        self.assertEqual([group for group in groups if group not in ("Example", "Options")], ["Train", "Look", "Check", "Plan", "Data and weights", "Machines"])
        for hidden in ("guard", "compat", "completion"):
            self.assertNotRegex(text, rf"(?m)^  {hidden}\b")

    def test_picture_of_the_readme(self):
        drawn = self.npar("schedule", "--kind=1f1b", "--stages=4", "--microbatches=8", "--format=svg").output
        self.assertEqual(drawn, (ROOT / "tools" / "images" / "1f1b.svg").read_text(), "draw it again, and look at it")

    def test_old_spellings_warn(self):
        """Their results are rows of uses.tsv."""
        self.npar("compile", "mlp", *settings(SMALL), "-o", "m.npx")
        for words, old, now in (
            (["compat", "mlp", "--features", "dp"], "npar compat MODEL", "npar verify MODEL --pairs"),
            (["inspect", "m.npx", "--why"], "--why", "npar inspect why MODEL"),
            (["inspect", "m.npx", "--compare=m.npx"], "--compare", "npar inspect compare MODEL"),
            (["run", "m.npx", "--random-data", "--steps", 1, "--save-weights=w.safetensors"], "--save-weights", "--output"),
            (["schedule", "explain", "--import", "none.csv"], "--import", "--from-csv"),
        ):
            with self.subTest(words=words):
                error = self.npar(*words, code=1 if "none.csv" in words else 0).error
                self.assertEqual(error.count(f"npar: warning: '{old}' is an old spelling; write '{now}'\n"), 1, error)
        self.assertNotIn("spelling", self.npar("run", "m.npx", "--random-data", "--steps", 1).error)
        self.npar("train", "m.npx", "--random-data", "--steps", 1, "--log", "--every", "--quiet")  # the value of a flag is none
        self.assertTrue((self.folder / "--every").exists())

    def complete(self, *words):
        script = f'set -u; unset NPAR_STDLIB; source <("$0" completion); COMP_WORDS=(npar "$@"); COMP_CWORD=$#; _npar; printf "%s\\n" "${{COMPREPLY[@]-}}"'
        result = subprocess.run(["bash", "-c", script, NPAR, *words], cwd=self.folder, stdout=subprocess.PIPE, check=True, text=True)
        return set(result.stdout.splitlines()) - {""}

    def test_completion(self):
        (self.folder / "mine.npar").write_text("")
        self.assertEqual(self.complete("tra"), {"train"})
        self.assertLessEqual({"gpt2", "--checkpoint-every", "mine.npar"}, self.complete("train", ""))
        self.assertEqual(self.complete("run", "--checkpoint-e"), {"--checkpoint-every"})
        self.assertEqual(self.complete("inspect", "w"), {"why"})
        self.assertLessEqual({"cpu", "cuda", "null"}, self.complete("train", "gpt2", "--backend", ""))
        self.assertEqual(self.complete("train", "gpt2", "--backend", "=", "c"), {"cpu", "cuda"})
        self.assertEqual(self.complete("inspect", "hosts", "--per"), {"--per-host"})
        self.assertEqual(self.complete("train", "gpt2", "--data", "m"), {"mine.npar"})
        (self.folder / "two words *.npar").write_text("")
        self.assertEqual(self.complete("fmt", "t"), {"two words *.npar"})
        self.assertEqual(self.complete("nosuch", "zz"), set())


if __name__ == "__main__":
    unittest.main()
