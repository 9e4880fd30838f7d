"""What `npar compile --emit` prints is what `npar-opt` reads, and its phases run there alone; after `rank` a program is no IR any more."""

import re
import subprocess
import unittest

from driver import BUILD, SMALL, DriverTest, mesh, settings

MODEL = ["gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=2, pp=2, tp=2))]


class EmitTest(DriverTest):
    def emit(self, stage):
        return self.npar("compile", *MODEL, f"--emit={stage}").output

    def opt(self, text, *passes):
        result = subprocess.run([str(BUILD / "bin" / "npar-opt"), *passes], input=text, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr[-4000:])
        return result.stdout

    def test_every_stage_reads_back(self):
        for stage in ("nn", "grad", "dist", "pipe"):
            with self.subTest(stage=stage):
                text = self.emit(stage)
                self.assertGreater(len(text), 1000)
                self.assertEqual(self.opt(text), text)

    def test_the_exported_program(self):
        """Variables and kernels read back; the program after them does the same as the one that npar-opt exports, which plans no memory for
        the library."""
        kernels, program = self.emit("rank").split("\nprogram ", 1)
        self.assertEqual(self.opt(kernels), kernels)
        exported = self.opt(self.emit("pipe"), "--export-outline-kernels", "--export-program")
        found, expected = (re.findall(r"^(?:class .*|fragment .*|  \d+: [^(\n]*(?= \())", text, re.M) for text in (program, exported))
        self.assertGreater(len(expected), 300)
        self.assertEqual(found, expected)

    def test_phases_run_alone(self):
        stages = {"grad": ["--place-mark-attention", "--autodiff"], "dist": ["--place"], "pipe": ["--schedule"]}
        before = self.emit("nn")
        for stage, passes in stages.items():
            with self.subTest(stage=stage):
                after = self.emit(stage)
                self.assertEqual(self.operations(self.opt(before, *passes)), self.operations(after))
                before = after

    def operations(self, text):
        """The program without source places, which npar-opt drops on the way."""
        lines = [line for line in text.splitlines() if not line.startswith("#loc")]
        return [re.sub(r", #loc\d*(?=>)|, loc\([^)]*\)(?=>)", "", line) for line in lines]


if __name__ == "__main__":
    unittest.main()
