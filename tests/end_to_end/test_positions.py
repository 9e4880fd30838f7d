"""Values made of positions alone under 16-bit types, and the warning where rounding in one place causes most of the difference to float64."""

import json
import math
import unittest

from driver import DriverTest, safetensors_file, settings

# Rotary angles, a running sum and a window, all computed from positions until they meet x.
ROTARY = """
model Rotary(length = 2048, halves = 4) {
    axis batch, seq = length, half = halves
    input x, y: f32[batch, seq, half]
    param w: [half] = ones
    freq = exp(float(index(half)) * (-log(10000.0) / half))
    angle = float(index(seq)) * freq
    sinus = sin(angle)
    count = cumsum(where(index(seq) >= 0, 1.0, 0.0), over = seq)
    near = where(count > 2040.5, 1.0, 0.5)
    turned = x * w * cos(angle) + y * sinus * near
    loss squared_error(turned, y)
}
train base for Rotary { batch 2 optimizer Sgd(lr = 0.1) }
plan one for Rotary { mesh dp = 1 micro 2 compute COMPUTE }
"""

# The same table as an output; `z` brings a sample.
TABLES = """
model Tables(length = 2048, halves = 4) {
    axis batch, seq = length, half = halves
    input x: f32[batch]
    param w: [half] = ones
    z = x * w
    freq = exp(float(index(half)) * (-log(10000.0) / half))
    count = cumsum(where(index(seq) >= 0, 1.0, 0.0), over = seq)
    near = where(count > 2041.5, 1.0, 0.5)
    output table = cos(float(index(seq)) * freq) * near + 0.0 * z
    loss sum(z * z, over = half)
}
train base for Tables { batch 1 optimizer Sgd(lr = 0.1) }
plan one for Tables { mesh dp = 1 micro 1 compute COMPUTE }
"""

# The frequencies are a parameter: angles are rounded before their cosine is taken.
LEARNED = """
model Learned(length = 2048, halves = 4) {
    axis batch, seq = length, half = halves
    input x, y: f32[batch, seq, half]
    param w: [half] = ones
    param freq: [half] = normal(0.5)
    scaled = x * w
    angle = float(index(seq)) * freq
    turned = scaled * cos(angle) + relu(y)
    loss squared_error(turned, y)
}
train base for Learned { batch 2 optimizer Sgd(lr = 0.1) }
plan one for Learned { mesh dp = 1 micro 2 compute COMPUTE }
"""

# Numbers of some 10^5 in the middle, which fp16 does not hold.
LARGE = """
model Large {
    axis batch, embed = 8
    input x, y: f32[batch, embed]
    param w: [embed] = normal(0.5)
    a = x * w
    b = a * 400000.0 + y
    c = b * 0.0000025
    loss squared_error(c, y)
}
train base for Large { batch 4 optimizer Sgd(lr = 0.1) }
plan one for Large { mesh dp = 1 micro 4 compute COMPUTE }
"""


class PositionsTest(DriverTest):
    def write(self, text, compute, name="m.npar"):
        (self.folder / name).write_text(text.replace("COMPUTE", compute))
        return name

    def test_positions_are_exact_in_any_type(self):
        """2,048 positions, as far as 16 bits do not go: an angle of 2,047 became 2,048, and a table was off by 2. Now it is rounded once."""
        safetensors_file.write(self.folder / "x.safetensors", {"x": safetensors_file.Tensor([1], [0.5])})
        safetensors_file.write(self.folder / "w.safetensors", {"w": safetensors_file.Tensor([4], [1.0] * 4)})
        for compute, bound in (("f32", 1e-4), ("bf16", 2.0**-8), ("fp16", 2.0**-11), ("tf32", 1e-4)):
            self.npar("eval", self.write(TABLES, compute), "--plan", "one", "--weights", "w.safetensors", "--data", "x.safetensors", "--outputs", "o.safetensors")
            table = safetensors_file.read(self.folder / "o.safetensors")["table"]
            self.assertEqual(table.shape, [1, 4, 2048])
            for i in range(4):
                for p in range(2048):
                    exact = math.cos(p * 10000.0 ** (-i / 4)) * (1.0 if p > 2040 else 0.5)
                    self.assertAlmostEqual(table.values[i * 2048 + p], exact, delta=bound, msg=f"{compute}, position {p}, frequency {i}")

    def test_a_step_is_near_float64(self):
        numbers = {}
        for compute in ("f64", "f32", "bf16", "fp16"):
            self.npar("run", self.write(ROTARY, compute), "--random-data", "--steps", 1, "--log", "log.jsonl", "--quiet")
            numbers[compute] = json.loads((self.folder / "log.jsonl").read_text().splitlines()[0])
            (self.folder / "log.jsonl").unlink()
        for compute, bound in (("f32", 1e-5), ("bf16", 5e-4), ("fp16", 1e-4)):
            with self.subTest(compute=compute):
                self.assert_close(numbers[compute]["loss"], numbers["f64"]["loss"], bound)
                self.assert_close(numbers[compute]["grad_norm"], numbers["f64"]["grad_norm"], 4 * bound)

    def warnings(self, text, compute, *flags):
        report = self.npar_json("verify", self.write(text, compute), *flags, code=None)
        return report["warnings"]

    def test_a_place_that_makes_most_of_the_difference(self):
        line = next(number for number, text in enumerate(LEARNED.splitlines(), 1) if "angle =" in text)
        for compute in ("fp16", "bf16"):
            with self.subTest(compute=compute):
                (warning,) = self.warnings(LEARNED, compute)
                self.assertEqual((warning["file"], warning["line"], warning["operation"]), ("m.npar", line, "mul"))
                self.assertLess(warning["error_without"], warning["error"] / 2)
        said = self.npar("verify", "m.npar", code=None).error
        self.assertIn(f"m.npar:{line}:", said)
        self.assertIn("warning: rounding this 'mul' to bf16 causes most of the difference to float64", said)
        self.assertIn("help: `keep mul, cos in f32` in the plan computes it and what takes its result in f32", said)

    def test_no_warning_where_nothing_stands_out(self):
        kept = LEARNED.replace("compute COMPUTE", "compute COMPUTE keep mul, cos in f32")
        for text, compute in ((LEARNED, "f32"), (LEARNED, "f64"), (kept, "bf16"), (ROTARY, "bf16"), (ROTARY, "fp16")):
            with self.subTest(compute=compute):
                self.assertEqual(self.warnings(text, compute), [])
        for model in ("gpt2", "llama"):
            sizes = settings(vocab=61, width=32, heads=4, depth=2, length=16, batch=8, compute="bf16")
            more = settings(context=16) if model == "gpt2" else settings(mlp=24, kv_heads=2)
            self.assertEqual(self.npar_json("verify", model, "--plan", "none", *sizes, *more)["warnings"], [], model)

    def test_a_number_beyond_fp16(self):
        """One rank overflows as well: the type, the tensor and the line are named, nothing reads as an error of the plan."""
        result = self.npar("verify", self.write(LARGE, "fp16"), code=3)
        self.assertIn("is not finite", result.output)
        self.assertIn("the largest number of fp16 is 65504", result.output)
        self.assertIn("on one rank it is not finite in this type either", result.output)
        line = next(number for number, text in enumerate(LARGE.splitlines(), 1) if "b = a" in text)
        self.assertIn(f"m.npar:{line}:", result.error)
        self.assertIn("warning: a number leaves the range of fp16 at this", result.error)
        self.npar("verify", self.write(LARGE, "bf16"))


if __name__ == "__main__":
    unittest.main()
