"""GPU kernels: compiled into the program with the processor's, assembled by `ptxas` if the CUDA toolkit is installed, and run by the
stand-in for CUDA's driver and on a GPU if there is one."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from driver import BUILD, LONG, SMALL, DriverTest, settings
from ptx import PTXAS, assemble, texts

HERE = pathlib.Path(__file__).resolve().parent
GPU_KERNELS = BUILD / "bin" / "npar_gpu_kernels"
STANDIN = BUILD / "lib" / "libnpar_standin_cuda.so"
SKIPPED = 77
LLAMA = {"vocab": 257, "context": 32, "length": 16, "width": 32, "mlp": 48, "heads": 4, "kv_heads": 2, "depth": 2, "batch": 4}
MODELS = {
    "gpt2": ["gpt2", *settings(SMALL, depth=2)],
    "gpt2 bf16": ["gpt2", *settings(SMALL, depth=2, compute="bf16")],
    "llama": ["llama", *settings(LLAMA)],
    "llama bf16": ["llama", *settings(LLAMA, compute="bf16")],
    "gpt2 fp16": ["gpt2", *settings(SMALL, depth=2, compute="fp16")],
    "gpt2 f64": ["gpt2", *settings(SMALL, depth=2, compute="f64")],
    "bert": ["bert", *settings(SMALL, depth=2)],
    "t5": ["t5", *settings(vocab=257, length=16, width=32, inner=64, heads=4, head_dim=8, depth=2, batch=4)],
    # Tables of positions, in f32 whatever the plan computes in.
    "positions bf16": [HERE / "positions.npar", *settings(compute="bf16")],
    "gemma2": ["gemma2", *settings(LLAMA, head_dim=8, window=4, cap=30.0)],
}
SHORT = ["gpt2", "llama bf16", "positions bf16"]
TINY = {"vocab": 257, "context": 32, "length": 16, "width": 32, "heads": 4, "depth": 2, "batch": 4}
FAMILIES = {
    "gpt2": ["gpt2", *settings(TINY)],
    "llama": ["llama", *settings(TINY, mlp=48, kv_heads=2)],
    "mlp": ["mlp", *settings(vocab=64, width=32, inner=64, depth=2, length=16, batch=8)],
    "bert": ["bert", *settings(TINY)],
    "t5": ["t5", *settings(vocab=257, length=16, width=32, inner=64, heads=4, head_dim=8, depth=2, batch=4)],
    # Sums over 1,300 rows: a block's, in chunks, of which the last one is not full.
    "gpt2 of many rows": ["gpt2", *settings(vocab=64, context=325, length=325, width=16, heads=2, depth=1, batch=4)],
}
TYPES = ["f32", "bf16", "fp16", "f64"]


class GpuTest(DriverTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="npar-programs-")
        cls.addClassCleanup(folder.cleanup)
        cls.programs, cls.compiled = pathlib.Path(folder.name), {}

    def models(self):
        return {name: MODELS[name] for name in (MODELS if LONG else SHORT)}

    def compile(self, model, targets="cuda:sm_80,cuda:sm_90"):
        """Each program is compiled once for all tests."""
        command = ("compile", *model, "--plan", "none", "--target", targets)
        if command not in self.compiled:
            program = self.programs / f"{len(self.compiled)}.npx"
            self.npar(*command, "-o", program)
            self.compiled[command] = program
        return self.compiled[command]

    # A program holds one text per target, with the same kernels in each. They round like the processor: every sum and product has an
    # explicit rounding mode, nothing is approximate and no denormal is flushed. No kernel calls a function.
    def test_texts(self):
        for name, model in self.models().items():
            with self.subTest(name):
                found = texts(self.compile(model))
                self.assertEqual(sorted(found), ["sm_80", "sm_90"])
                launches = [re.findall(r"^// kernel .*", text, re.M) for text in found.values()]
                self.assertEqual(launches[0], launches[1])
                for architecture, text in found.items():
                    self.assertIn(f".target {architecture}\n", text)
                    entries = re.findall(r"^\.visible \.entry (\w+)", text, re.M)
                    self.assertEqual(entries, [line.split()[2] for line in launches[0]])
                    self.assertRegex(text, r"\bfma\.rn\.f64\b" if "f64" in name else r"\bfma\.rn\.f32\b")
                    self.assertNotRegex(text, r"\.approx|\.ftz|\b(add|sub|mul|fma|div|sqrt|rcp)\.f(32|64)\b|\bmad\.f|\bcall\b")

    # The program runs on the processor as it does without them.
    def test_the_processor_runs_it(self):
        model = MODELS["gpt2"]
        run = ("--steps", 2, "--random-data", "--json")
        alone = self.npar("run", *model, "--plan", "none", *run).output
        with_others = self.npar("run", self.compile(model), *run).output
        hashes = [re.findall(r'"parameter_hash": *"(\w+)"', output) for output in (alone, with_others)]
        self.assertTrue(hashes[0])
        self.assertEqual(hashes[0], hashes[1])

    # `ptxas` takes every kernel for both architectures, with registers for all that it keeps.
    @unittest.skipUnless(PTXAS, "no ptxas: the CUDA toolkit is not installed")
    def test_assembles(self):
        for name, model in self.models().items():
            for architecture, text in texts(self.compile(model)).items():
                with self.subTest(f"{name}, {architecture}"):
                    table = assemble(text, architecture, self.folder)
                    self.assertEqual(len(table), text.count(".visible .entry "))
                    for kernel, facts in table.items():
                        print(f"{name:12} {architecture} {kernel:36} {facts.registers:>4} registers {facts.frame:>6} bytes of stack")
                        # Two small kernels use a few bytes of stack: the sum of squares in fp16, and exp in float64.
                        small = {"gpt2 fp16": "square_sum", "gpt2 f64": "exp_one_hot"}.get(name)
                        most = (16, 20) if small and kernel.startswith(small) else (0, 0)
                        self.assertLessEqual(facts.frame, most[0], kernel)
                        self.assertLessEqual(facts.spilled, most[1], kernel)

    # The stand-in runs every kernel's text, with the processor's bits, for any order of blocks and warps; no access is out of bounds, and
    # no register is read before it has a value.
    def test_bits_on_the_standin(self):
        if not STANDIN.exists():
            self.skipTest(f"{STANDIN} is not built")
        for number, (family, model) in enumerate(FAMILIES.items()):
            for type in TYPES if LONG else [TYPES[number % len(TYPES)]]:
                with self.subTest(f"{family} {type}"):
                    program = self.compile([*model, *settings(compute=type)], "cuda:sm_90")
                    environment = {**os.environ, "NPAR_CUDA_DRIVER": str(STANDIN), "NPAR_STANDIN_SEED": str(number)}
                    command = [GPU_KERNELS, program]
                    result = subprocess.run(command, env=environment, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, timeout=300)
                    self.assertEqual(result.returncode, 0, result.stdout)
                    self.assertRegex(result.stdout, r"(?m)^[1-9]\d* kernels with equal bits, 0 with others")

    # Every kernel gives the processor's bits on a GPU.
    def test_bits(self):
        for name, model in self.models().items():
            with self.subTest(name):
                program = self.compile(model)
                result = subprocess.run([GPU_KERNELS, program], stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True, timeout=300)
                if result.returncode == SKIPPED:
                    self.skipTest(result.stdout.strip())
                self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
