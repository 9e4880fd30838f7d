"""Runs the driver for the end-to-end tests: finds the build, keeps files in a temporary folder, reads what it printed."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("NPAR_BUILD") or ROOT / "build").resolve()
NPAR = BUILD / "bin" / "npar"
ALTER = BUILD / "bin" / "npar_alter"  # makes wrong programs (tests/tools/npar/AlterProgram.cpp)
REFERENCE = ROOT / "tests" / "reference"
LONG = bool(os.environ.get("NPAR_LONG"))
SANITIZED = os.environ.get("NPAR_SANITIZED", "")  # the sanitizers of this build, by test_sanitizers.py
TIMEOUT = 900

sys.path.insert(0, str(REFERENCE))
import safetensors_file  # noqa: E402, F401 (for the tests)

# A GPT-2 that every plan of the tests can split and that runs in a second.
SMALL = {"vocab": 257, "context": 32, "width": 32, "heads": 4, "depth": 4, "length": 16, "batch": 16, "micro": 2}
# The same for `npar verify`, which trains it in float64 several times: a quarter of the time, with SMALL's heads, blocks and micro-batches and a
# vocabulary that no mesh divides either.
CHECKED = {**SMALL, "vocab": 65, "width": 16, "length": 8}


def settings(*parts, **more):
    """Flags of settings: dictionaries in order, then names (a double underscore stands for a dot)."""
    merged = {}
    for part in parts:
        merged.update(part)
    merged.update({name.replace("__", "."): value for name, value in more.items()})
    return [word for name, value in merged.items() for word in ("--set", f"{name}={value}")]


def sample(cases, *names):
    """All cases (a dictionary, or a list) under NPAR_LONG, else those named: each stands for others of its kind, so name every kind."""
    missing = [name for name in names if name not in cases]
    assert names and not missing, f"no such cases: {missing}"
    if LONG:
        return cases
    return {name: cases[name] for name in names} if isinstance(cases, dict) else list(names)


def block(page, language, which=0):
    """A code block of a page, by its number or by a text in it."""
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.M | re.S)
    return found[which] if isinstance(which, int) else next(text for text in found if which in text)


def mesh(**sizes):
    return {f"mesh.{axis}": size for axis, size in sizes.items()}


def listen():
    """A shell starts what runs after an `&` with SIGINT ignored, and what is ignored stays so: the tests may run there too."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)


class DriverTest(unittest.TestCase):
    """Has a temporary folder `self.folder`, and runs the driver in it."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="npar-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def npar(self, *arguments, code=0, **options):
        """Runs npar and expects an exit code. A crash (a signal) never passes."""
        command = [str(NPAR), *map(str, arguments)]
        options.setdefault("timeout", TIMEOUT)
        options.setdefault("cwd", self.folder)
        if "stdout" not in options:
            options["stdout"] = subprocess.PIPE
        result = subprocess.run(command, stderr=subprocess.PIPE, **options)
        result.error = result.stderr.decode(errors="replace")
        result.output = (result.stdout or b"").decode(errors="replace")
        if code is not None:
            self.assertEqual(result.returncode, code, f"{' '.join(command)}\n{result.output[-2000:]}\n{result.error[-4000:]}")
        self.assertGreaterEqual(result.returncode, 0, f"crashed: {' '.join(command)}\n{result.error[-4000:]}")
        return result

    def npar_json(self, *arguments, **options):
        return json.loads(self.npar(*arguments, "--json", **options).output)

    def text_file(self, size=20000, name="text.txt"):
        """Words of a few letters: something that can be learned, the same every time."""
        chance = random.Random(3)
        words = ["".join(chance.choice("etaoinshrdlu") for _ in range(chance.randint(1, 6))) for _ in range(60)]
        path = self.folder / name
        path.write_text(" ".join(chance.choice(words) for _ in range(size // 3))[:size])
        return path

    def assert_equal_runs(self, found, expected):
        """Of two runs in float64, each a log and the tensors afterwards."""
        for one, other in zip(found[0], expected[0], strict=True):
            for what in ("loss", "grad_norm"):
                self.assert_close(one[what], other[what], 1e-12, f"{what} of step {one['step']}")
        for name, tensor in found[1].items():
            self.assertLess(max(abs(a - b) for a, b in zip(tensor.values, expected[1][name].values, strict=True)), 1e-11, name)

    def assert_close(self, value, expected, relative, message=""):
        self.assertLessEqual(abs(value - expected), relative * abs(expected), f"{message}: {value!r} is not {expected!r} within {relative}")
