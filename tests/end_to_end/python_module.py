"""What tests of the Python module share: its interpreter, and scripts that run in a process of their own."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from driver import BUILD, LONG, ROOT, SANITIZED, block

FOLDER = ROOT / "tools" / "python"
PACKAGE = BUILD / "python" / "npar"


def interpreter():
    """The Python for which the module was built, or why there is none."""
    if SANITIZED:
        return None, "a sanitized library cannot be loaded by Python"
    if not (PACKAGE / "_native.abi3.so").exists():
        return None, "the Python module is not built: cmake lists the missing packages, and tools/test installs them"
    return (PACKAGE / "interpreter").read_text().strip(), ""


PYTHON, LACKING = interpreter()
slow = unittest.skipUnless(LONG, "NPAR_LONG is not set")
HELLO = block(ROOT / "README.md", "npar")
BEGIN = """
import logging, os, pickle, signal, sys, threading, time
import numpy as np
import npar
hello = open("hello.npar").read()
rng = np.random.default_rng(0)
x, y = rng.integers(0, 256, (16, 32)), rng.integers(0, 256, (16, 32))
"""


def environment(**more):
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name not in ("RANK", "WORLD_SIZE")}
    return {**own, "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1", **more}


@unittest.skipIf(PYTHON is None, LACKING)
class PythonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="npar-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "hello.npar").write_text(HELLO)

    def python(self, script, code=0, **more):
        """Runs a script after BEGIN; returns what it prints."""
        result = subprocess.run([PYTHON, "-c", BEGIN + script], cwd=self.folder, env=environment(**more), capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout
