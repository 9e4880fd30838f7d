"""Every command that README.md, the tutorial, the help texts and quickstart show, taken from there and run: it works and comes to an end.

Of the other pages a few are run, and all in the long form.

A person has a text `book.txt`, a model `my.npar` and its program `my.npx`, a folder with a trained model and its tokenizer; what one example writes
is there for the next ones. In the short form what takes long is made smaller (SMALLER, FOLLOWED). NPAR_TIMES=1 prints how long each took.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time
import unittest

from driver import BUILD, LONG, NPAR, REFERENCE, ROOT, DriverTest

SECONDS = 300  # limit for a hang: measuring a machine takes one minute alone, several with other work

# Pages whose steps are followed: all in the long form, otherwise the first SAMPLED ones.
PAGES = ["tools/CHECKPOINTS.md", "tools/INSPECT.md", "tools/LAYOUT.md", "tools/TRAINING.md", "tools/EVALUATION.md", "tools/VERIFY.md", "tools/PLANNING.md",
         "tools/SWEEPS.md", "tools/TUNING.md", "tools/FOREIGN.md", "tools/FOREIGN_HUGGINGFACE.md", "tools/COMMON.md", "tools/HUGGINGFACE.md",
         "tools/PROCESSES.md", "tools/LIMITS.md", "tools/CHEATSHEET.md"]  # fmt: skip
# Commands that precede the examples of the help.
DONE = [
    "npar train gpt2 --set vocab=256 --set width=128 --set heads=4 --set depth=4 --set length=64 --set batch=8 --data book.txt --tokens bytes --steps 2"
    " --output weights.safetensors",
    "npar train gpt2 --set vocab=256 --set width=64 --set heads=4 --set length=64 --data book.txt --tokens bytes --steps 20 --checkpoint run"
    " --checkpoint-every 5 --trace trace.json",
    "npar compile gpt2 --set vocab=256 --set width=64 --set heads=4 --set length=64 -o small.npx",
    "npar checkpoint consolidate run -o model.safetensors",
    "npar tokens gpt2-folder --text book.txt -o book.u16",
]
SAMPLED = 1  # of them, the first ones, in the short form
# Replacements that make examples smaller in the short form: every command runs with every flag, on less work.
SMALLER = {
    "npar machine measure": "npar machine measure --quick",
    "npar plan --from": "npar plan --print-plan --from",  # a search for the example's many ranks takes minutes
    "npar plan gpt2 ": "npar plan gpt2 --set depth=4 --fix zero=1 --fix bucket=none --fix mesh.cp=1 --fix recompute=none --fix split=all ",
    "npar verify gpt2 --set vocab=257 --set width=32 --set heads=4 --set depth=4 --set length=16":
        "npar verify gpt2 --set vocab=65 --set width=16 --set heads=4 --set depth=2 --set length=8",
    "--tokens u16 --set width=64 --set heads=4 --set depth=4": "--tokens u16 --set vocab=757 --set width=64 --set heads=4 --set depth=2",
    "--set context=128 --set width=192": "--set context=32 --set width=192",
    "npar explain gpt2 ": "npar explain gpt2 --set depth=2 --set width=256 --set heads=4 ",
    "--set width=64 --set heads=4 --set length=64": "--set width=64 --set heads=4 --set depth=2 --set length=64",
    "--set width=192 --set heads=6 --set depth=4": "--set width=48 --set heads=6 --set depth=2",
    "--set width=128 --set heads=4": "--set width=64 --set heads=4",
    "--batch 512": "--batch 64",
    "--steps 50": "--steps 10",
    "--plans 4": "--plans 2",
}


# The same for the pages that are followed from beginning to end: what is verified is no step of the way.
FOLLOWED = {
    "npar verify hello.npar": "npar verify hello.npar --set width=16 --set length=8",
    "npar verify parallel.npar": "npar verify parallel.npar --set length=8",
}


def whole_lines(text):
    """Lines that end in a backslash continue."""
    return re.sub(r"\\\n\s*", "", text).splitlines()


def steps(page):
    """What a page tells its reader to do, in order: pairs of a file's name and its text, and lists of commands with None before them."""
    for name, language, body in re.findall(r"(?:^Save this as `([^`]+)`[^\n]*\n\n)?^```(\w+)\n(.*?)^```$", (ROOT / page).read_text(), flags=re.M | re.S):
        if name:
            yield name, body
        elif language == "sh":
            yield None, [without_comment(line) for line in whole_lines(body) if line.strip() and not line.startswith("#")]


def without_comment(line):
    return re.sub(r"\s+# .*$", "", line)


def as_run(example, table):
    for said, smaller in () if LONG else table.items():
        example = example.replace(said, smaller)
    return example


def help_examples():
    """The indented commands before the list of options."""
    found = []
    checkpoint = ("checkpoint", *(f"checkpoint {word}" for word in ("show", "verify", "consolidate", "reshard", "diff")))
    inspect = ("inspect", *(f"inspect {view}" for view in ("why", "annotate", "saved", "bytes", "hosts", "compare", "actual")))
    schedule = ("schedule", "schedule diff", "schedule explain")
    for command in ("", "compile", "train", "eval", "generate", *inspect, "verify", "import", "export", "tokens", "data show", "plan", "explain", "simulate", "sweep", "machine",
                    "machine measure", "machine show", "devices", *schedule, *checkpoint):  # fmt: skip
        text = subprocess.run([NPAR, *command.split(), "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
        text = re.split(r"^(?:Usage|OPTIONS|Options|Positionals)\b", text, flags=re.M)[0]
        examples = [re.sub(r"\s{2,}\(.*\)$", "", without_comment(line.strip())) for line in whole_lines(text) if re.match(r"\s+npar ", line)]
        assert examples, f"no example in the help of '{command}'"
        found += examples
    return found


def quickstart_examples():
    """What it says to try next, with its own variables, after a step of training in place of its own; `tools/quickstart FILE` itself is left
    out, it takes minutes."""
    script = (ROOT / "tools" / "quickstart").read_text()
    variables = script.split("npar=$build/bin/npar\n")[1].split("\nsay ")[0]
    said = script.split("What to try next:\n")[1].split("\nEND")[0]
    trained = "$npar run gpt2 --plan none ${model[*]:9} --random-data --steps 1 --output $out/weights.safetensors"
    setup = f"npar=npar; out=quick; text=book.txt; NPAR_QUICKSTART_STEPS=20\n{variables}\ncat <<END\n{trained}\n{said}\nEND\n"
    said = subprocess.run(["bash", "-c", setup], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line[line.index("npar ") :] for line in said.splitlines() if "npar " in line and "tools/" not in line]


class ExamplesTest(DriverTest):
    def setUp(self):
        super().setUp()
        self.text_file(60000 if LONG else 20000, name="book.txt")
        text = (ROOT / "stdlib" / "models" / "mlp.npar").read_text()
        self.assertIn("width = 64, inner = 256, depth = 2, length = 64", text)
        if not LONG:
            text = text.replace("width = 64, inner = 256, depth = 2, length = 64", "width = 32, inner = 64, depth = 2, length = 16")
        (self.folder / "my.npar").write_text(text)
        (self.folder / "quick").mkdir()
        for part in ("huggingface", "tokenizers"):
            shutil.copytree(REFERENCE / part / "gpt2", self.folder / "gpt2-folder", dirs_exist_ok=True)
        shutil.copy(self.folder / "gpt2-folder" / "config.json", self.folder)
        (self.folder / "train.sh").write_text(next(body for name, body in steps("tools/FOREIGN.md") if name == "train.sh"))
        (self.folder / "hello.npar").write_text(next(body for name, body in steps("README.md") if name == "hello.npar"))
        self.npar("compile", "my.npar", "--set", "compute=f64", "-o", "my.npx")

    def run_all(self, examples, table):
        shell = 'less() { cat; }; PATH="$1:$PATH"; set -o pipefail; eval "$2"'
        # Measurements made during other tests must not reach other runs, so the cache is private; the cache of kernels is shared.
        caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        environment = {"NPAR_CACHE": str(caches / "npar" / "kernels"), **os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        for example in examples:
            with self.subTest(example=example):
                begun = time.monotonic()
                said = as_run(example, table)
                command = ["timeout", "-k", "5", str(SECONDS), "bash", "-c", shell, "bash", BUILD / "bin", said]  # ends what bash started too
                result = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True)
                self.assertEqual(result.returncode, 0, f"{example}\n{result.stderr.decode()[-2000:]}")
                self.assertNotIn(b"is an old spelling", result.stderr)
                if os.environ.get("NPAR_TIMES"):
                    print(f"{time.monotonic() - begun:6.1f} s  {shlex.quote(example)}")

    def test_help_and_quickstart(self):
        examples = help_examples() + quickstart_examples()
        self.assertGreater(len(examples), 30)
        unused = [said for said in SMALLER if not any(said in example for example in examples)]
        self.assertEqual(unused, [], "no example has this any more")
        self.run_all(DONE, SMALLER)
        self.run_all(dict.fromkeys(examples), SMALLER)

    def follow(self, page):
        """Executes the steps of a page, in a folder with the files that every page may use."""
        found = 0
        for name, content in steps(page):
            if name:
                (self.folder / name).write_text(content)
            else:
                self.run_all(content, FOLLOWED)
                found += len(content)
        self.assertGreater(found, 0)

    def test_readme(self):
        self.follow("README.md")

    def test_tutorial(self):
        self.follow("tools/TUTORIAL.md")

    def test_other_pages(self):
        for page in PAGES if LONG else PAGES[:SAMPLED]:
            with self.subTest(page=page):
                self.tearDown()
                self.setUp()
                self.follow(page)
