"""Bytes of model state per rank under mixed precision and ZeRO, against table 1 of Rajbhandari et al. 2020 (16 bytes per parameter)."""

import decimal
import unittest

from driver import ROOT, DriverTest, settings

# Billions of parameters, ranks, and decimal GB per rank of stages 1 (optimizer), 2 (gradients too), 3 (parameters too), as printed there.
# Large values are cut at the printed digit, others rounded.
TABLE = """
7.5,1,120,120,120
7.5,4,52.5,41.3,30
7.5,16,35.6,21.6,7.5
7.5,64,31.4,16.6,1.88
7.5,256,30.4,15.4,0.47
7.5,1024,30.1,15.1,0.12
128,1,2048,2048,2048
128,4,896,704,512
128,16,608,368,128
128,64,536,284,32
128,256,518,263,8
128,1024,513,257,2
"""

# Models of that size, to within a row of the vocabulary: table + depth (2 width inner + width + inner) + width vocab + vocab.
SIZES = {"7.5": {"width": 8192, "inner": 32768, "depth": 12}, "128": {"width": 16384, "inner": 65536, "depth": 56}}
STORES = ["optimizer -> dp", "gradients, optimizer -> dp", "parameters, gradients, optimizer -> dp"]
PLAN = """
train mixed for Mlp { batch 1024 optimizer AdamW(lr = 1e-4) }
plan mine(dp = 1) for Mlp {
    mesh dp
    micro 1
    split { batch -> dp }
    STORE
    compute bf16
}
"""


def size_of(billions):
    sizes = dict(SIZES[billions], length=16)
    width, inner = sizes["width"], sizes["inner"]
    blocks = sizes["depth"] * (2 * width * inner + width + inner)
    sizes["vocab"] = -(-(int(decimal.Decimal(billions) * 10**9) - blocks) // (2 * width + 1))
    return sizes


class ZeroTableTest(DriverTest):
    def inspect(self, store, sizes, dp):
        text = (ROOT / "stdlib" / "models" / "mlp.npar").read_text() + PLAN.replace("STORE", f"store {{ {store} }}" if store else "")
        (self.folder / "mine.npar").write_text(text)
        arguments = ["mine.npar", "--plan", "mine", "--train", "mixed", *settings(sizes, {"mesh.dp": dp})]
        summary = self.npar_json("inspect", "bytes", *arguments)
        return summary["parameters"], summary["classes"][0]["bytes_per_parameter"]

    def test_sixteen_bytes_per_parameter(self):
        _, found = self.inspect("", {"width": 64, "inner": 128, "length": 16, "vocab": 640}, 1)
        parts = {what: round(part["per_parameter"], 6) for what, part in found.items()}
        self.assertEqual((parts.pop("parameters"), parts.pop("gradients"), parts.pop("total")), (2, 2, 16))
        self.assertEqual(sorted(parts.values()), [4, 4, 4])  # master weights, first and second moment

    def test_table(self):
        for row in TABLE.split():
            billions, dp, *printed = row.split(",")
            for store, digits in zip(STORES, printed):
                with self.subTest(parameters=billions, dp=dp, store=store):
                    parameters, found = self.inspect(store, size_of(billions), int(dp))
                    self.assertLess(parameters - float(billions) * 1e9, 40000)
                    value, unit = decimal.Decimal(found["total"]["gigabytes"]), decimal.Decimal(digits)
                    rounded = [value.quantize(unit, rounding=way) for way in (decimal.ROUND_HALF_UP, decimal.ROUND_DOWN)]
                    self.assertIn(unit, rounded, value)


if __name__ == "__main__":
    unittest.main()
