"""Every command that README.md, the help texts and quickstart show, taken from there and run: it works and comes to an end.

A person has a text `book.txt`, a model `my.npar` and its program `my.npx`, a folder with a trained model and its tokenizer; what one example writes
is there for the next ones. In the short form what takes long is made smaller (SMALLER). NPAR_TIMES=1 prints how long each took.
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

SECONDS = 300  # what takes longer hangs: measuring a machine takes one minute alone, several beside other work

# What an example says, and what is run in its place but in the long form: every command with every flag, of less.
SMALLER = {
    "npar machine measure": "npar machine measure --quick",
    "npar plan gpt2 ": "npar plan gpt2 --set depth=8 --fix zero=1 --fix bucket=none --fix mesh.cp=1 ",
    "npar explain gpt2 ": "npar explain gpt2 --set depth=4 --set width=256 --set heads=4 ",
    "--set width=192 --set heads=6 --set depth=4": "--set width=48 --set heads=6 --set depth=2",
    "--set width=128 --set heads=4": "--set width=64 --set heads=4",
    "--batch 512": "--batch 64",
    "--steps 50": "--steps 10",
    "--plans 4": "--plans 2",
}


def whole_lines(text):
    """Lines that end in a backslash go on."""
    return re.sub(r"\\\n\s*", "", text).splitlines()


def readme_examples():
    block = (ROOT / "README.md").read_text().split("## What npar can do for you")[1].split("```")[1]
    return [without_comment(line) for line in whole_lines(block) if line.strip()]


def without_comment(line):
    return re.sub(r"\s+# .*$", "", line)


def as_run(example):
    for said, smaller in () if LONG else SMALLER.items():
        example = example.replace(said, smaller)
    return example


def help_examples():
    """The indented commands before the list of options."""
    found = []
    checkpoint = ("checkpoint", *(f"checkpoint {word}" for word in ("show", "verify", "consolidate", "reshard", "diff")))
    schedule = ("schedule", "schedule diff", "schedule explain")
    for command in ("", "compile", "run", "eval", "generate", "inspect", "verify", "compat", "import", "export", "tokens", "data show", *schedule, *checkpoint):
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
    trained = "$npar run gpt2 --plan none ${model[*]:9} --random-data --steps 1 --save-weights $out/weights.safetensors"
    setup = f"npar=npar; out=quick; text=book.txt; NPAR_QUICKSTART_STEPS=20\n{variables}\ncat <<END\n{trained}\n{said}\nEND\n"
    said = subprocess.run(["bash", "-c", setup], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line[line.index("npar ") :] for line in said.splitlines() if "npar " in line and "tools/" not in line]


class ExamplesTest(DriverTest):
    def setUp(self):
        super().setUp()
        self.text_file(60000, name="book.txt")
        text = (ROOT / "stdlib" / "models" / "mlp.npar").read_text()
        self.assertIn("width = 64, inner = 256, depth = 2, length = 64", text)
        if not LONG:
            text = text.replace("width = 64, inner = 256, depth = 2, length = 64", "width = 32, inner = 64, depth = 2, length = 16")
        (self.folder / "my.npar").write_text(text)
        (self.folder / "quick").mkdir()
        for part in ("huggingface", "tokenizers"):
            shutil.copytree(REFERENCE / part / "gpt2", self.folder / "gpt2-folder", dirs_exist_ok=True)
        shutil.copy(self.folder / "gpt2-folder" / "config.json", self.folder)
        self.npar("compile", "my.npar", "--set", "compute=f64", "-o", "my.npx")

    def test_all(self):
        examples = readme_examples() + help_examples() + quickstart_examples()
        self.assertGreater(len(examples), 30)
        shell = 'less() { cat; }; PATH="$1:$PATH"; set -o pipefail; eval "$2"'
        # What is measured beside other tests is for nobody else; kernels are theirs, too.
        caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        environment = {"NPAR_CACHE": str(caches / "npar" / "kernels"), **os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        unused = [said for said in SMALLER if not any(said in example for example in examples)]
        self.assertEqual(unused, [], "no example has this any more")
        for example in dict.fromkeys(examples):
            with self.subTest(example=example):
                begun = time.monotonic()
                command = ["timeout", "-k", "5", str(SECONDS), "bash", "-c", shell, "bash", BUILD / "bin", as_run(example)]  # ends what bash started too
                result = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True)
                self.assertEqual(result.returncode, 0, f"{example}\n{result.stderr.decode()[-2000:]}")
                if os.environ.get("NPAR_TIMES"):
                    print(f"{time.monotonic() - begun:6.1f} s  {shlex.quote(example)}")


if __name__ == "__main__":
    unittest.main()
