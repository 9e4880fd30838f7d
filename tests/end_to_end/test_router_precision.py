"""Routers of experts under 16-bit types: choices and weights are those of a float32 router on the same rows."""

import math
import pathlib
import struct
import unittest

from driver import DriverTest, safetensors_file, settings

FILE = pathlib.Path(__file__).resolve().parent / "router.npar"
SAMPLES, LENGTH, WIDTH, EXPERTS = 64, 16, 16, 16


def rounded(value, kind):
    """A float in bf16 or fp16, to nearest even."""
    if kind == "fp16":
        return struct.unpack("e", struct.pack("e", value))[0]
    (bits,) = struct.unpack("I", struct.pack("f", value))
    return struct.unpack("f", struct.pack("I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))[0]


def two_best(scores):
    return sorted(range(len(scores)), key=lambda expert: (-scores[expert], expert))[:2]


class RouterPrecisionTest(DriverTest):
    def test_choices_and_weights(self):
        tokens = [(37 * i + i // 5) % 64 for i in range(SAMPLES * LENGTH)]
        safetensors_file.write_values(self.folder / "data.safetensors", {name: ("I32", [SAMPLES, LENGTH], tokens) for name in ("tokens", "targets")})
        for kind in ("bf16", "fp16"):
            with self.subTest(kind):
                plan = ("--plan", "narrow", *settings(type=kind))
                self.npar("run", FILE, *plan, "--random-data", "--steps", 2, "--output", "out.safetensors")
                self.npar("eval", FILE, *plan, "--weights", "out.safetensors", "--data", "data.safetensors", "--outputs", "made.safetensors")
                self.check(kind, safetensors_file.read(self.folder / "made.safetensors"))

    def check(self, kind, made):
        weight = safetensors_file.read(self.folder / "out.safetensors")["router.weight"].values
        self.assertTrue(any(rounded(w, kind) != w for w in weight), "the router's parameter is float32")
        gate = [weight[e * WIDTH : (e + 1) * WIDTH] for e in range(EXPERTS)]
        sent, best, share = (made[name].values for name in ("sent", "best", "share"))
        narrow_differs = 0
        for i in range(SAMPLES * LENGTH):
            x = sent[i * WIDTH : (i + 1) * WIDTH]
            self.assertEqual([rounded(value, kind) for value in x], list(x), "rows have 16 bits")
            scores = [sum(a * b for a, b in zip(x, row)) for row in gate]
            chosen = two_best(scores)
            self.assertEqual(list(best[2 * i : 2 * i + 2]), chosen, f"position {i}")
            self.assertAlmostEqual(share[2 * i], 1 / (1 + math.exp(scores[chosen[1]] - scores[chosen[0]])), delta=1e-6)
            narrow_differs += two_best([rounded(score, kind) for score in scores]) != chosen
        if kind == "bf16":
            self.assertGreater(narrow_differs, 0, "the data cannot tell a router of 16 bits")


if __name__ == "__main__":
    unittest.main()
