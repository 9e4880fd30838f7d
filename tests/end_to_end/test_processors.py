"""One binary for every x86-64-v2 processor: newer instructions only in the kernels that are chosen at run time, old processors refused in words."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from driver import BUILD, NPAR, ROOT, TIMEOUT, DriverTest, block

# Sources that are compiled for one instruction set (engine/device/InstructionSet.h); only their own functions may use it.
SOURCES = ("Avx2*.cpp.o", "Avx512*.cpp.o", "PairsKernels.cpp.o", "Tiles*.cpp.o", "WordsSoftmax.cpp.o")
# Few kernels: an emulated compilation takes seconds.
HELLO = ("hello.npar", "--set", "vocab=32", "--set", "width=8", "--set", "length=8", "--set", "mesh.tp=1")
TRAIN = ("--random-data", "--steps", "2")


def objects():
    return sorted(path for pattern in SOURCES for path in (BUILD / "engine").rglob(pattern))


def symbols(path):
    """Code of an object file or a library: pairs of a type, as nm has them, and a mangled name."""
    listed = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return [tuple(line.split()[1:3]) for line in listed.splitlines() if len(line.split()) == 3]


class InstructionsTest(unittest.TestCase):
    def test_a_source_for_one_instruction_set_has_no_shared_functions(self):
        """The linker keeps one copy of an inline function: it must not be the copy of a source that old processors cannot run."""
        self.assertGreaterEqual(len(objects()), 7)
        for path in objects():
            self.assertEqual([name for kind, name in symbols(path) if kind in "WVu"], [], path.name)

    def test_no_other_function_has_new_instructions(self):
        own = {name.split(".")[0] for path in objects() for _, name in symbols(path)}
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", BUILD / "lib" / "libnpar.so"], capture_output=True, text=True, check=True).stdout
        function, found, wide = None, set(), 0
        for line in code.splitlines():
            if line.endswith(">:"):
                function = line[line.index("<") + 1 : -2]
            elif re.search(r"%[yz]mm|\tv[a-z0-9]+ ", line):
                wide += 1
                found.add(function)
        self.assertGreater(wide, 1000)
        # A clone of a function has its name with a dot and more.
        self.assertEqual(sorted(name for name in found if name.split(".")[0] not in own), [])


@unittest.skipUnless(shutil.which("qemu-x86_64"), "needs qemu-x86_64 (Debian: qemu-user)")
class EmulatedTest(DriverTest):
    def setUp(self):
        super().setUp()
        (self.folder / "hello.npar").write_text(block(ROOT / "README.md", "npar"))

    def run_on(self, processor, *words):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / processor)}  # no kernel of another test is found
        return subprocess.run(["qemu-x86_64", "-cpu", processor, NPAR, *words], capture_output=True, text=True, timeout=TIMEOUT, cwd=self.folder, env=environment)

    def test_the_oldest_processor_gives_the_same_bits(self):
        here = self.npar("train", *HELLO, *TRAIN).output
        old = self.run_on("Nehalem", "train", *HELLO, *TRAIN)
        self.assertEqual(old.returncode, 0, old.stderr)
        self.assertEqual(re.findall(r"parameters \w+", old.stdout), re.findall(r"parameters \w{32}", here))

    def test_a_program_for_a_newer_processor_is_refused(self):
        if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
            self.skipTest("this processor compiles no program that an older one refuses")
        self.npar("compile", *HELLO, "-o", "hello.npx")
        old = self.run_on("Nehalem", "train", "hello.npx", *TRAIN)
        self.assertEqual(old.returncode, 1)
        self.assertRegex(old.stderr, r"the program's kernels need CPU features that this machine lacks: avx, .*; compile the program on this machine")

    def test_a_processor_that_is_too_old_is_refused(self):
        old = self.run_on("core2duo", "train", *HELLO, *TRAIN)
        self.assertEqual(old.returncode, 4)
        self.assertEqual(old.stderr, "npar: error: npar needs an x86-64-v2 processor (2009 or later); this one lacks popcnt, sse4.1, sse4.2\n")
        self.assertEqual(self.run_on("core2duo", "--version").returncode, 0)


if __name__ == "__main__":
    unittest.main()
