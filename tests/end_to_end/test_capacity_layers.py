"""The Switch Transformer's and GShard's layers of stdlib: equal to transformers and to masks (tests/reference/capacity_reference.py), under any plan."""

import json
import pathlib
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import capacity_data  # of the reference

FILE = pathlib.Path(__file__).resolve().parent / "capacity_layers.npar"
PLANS = [
    ("switch", {"mesh.ep": 4, "zero": 3, "compute": "bf16"}),
    ("gshard in parts", {"mesh.ep": 2, "mesh.tp": 2, "mesh.pp": 2}),
]
MORE = [
    ("switch in parts", {"mesh.sp": 2, "mesh.ep": 2}),
    ("switch", {"mesh.pp": 2, "mesh.tp": 2, "again": "block"}),
    ("gshard", {"mesh.sp": 4, "mesh.dp": 2, "zero": 2}),
    ("gshard", {"mesh.ep": 4, "mesh.dp": 2, "zero": 1}),
    ("gshard in parts", {"mesh.ep": 4, "compute": "fp16"}),
]


class CapacityLayersTest(DriverTest):
    def test_against_the_reference(self):
        """Losses, norms and dropped shares of three steps in float64."""
        safetensors_file.write_values(self.folder / "data.safetensors", capacity_data.data())
        first = {name: safetensors_file.Tensor(shape, values, "F64") for name, (shape, values) in capacity_data.weights().items()}
        safetensors_file.write(self.folder / "first.safetensors", first)
        recorded = json.loads((REFERENCE / "capacity_recorded.json").read_text())
        for case, changes in capacity_data.CASES.items():
            with self.subTest(case):
                self.npar("run", FILE, "--plan", "none", *settings(changes, compute="f64", micro=8), "--data", "data.safetensors", "--data-order", "sequential",
                          "--weights", "first.safetensors", "--steps", 3, "--log", "log.jsonl")  # fmt: skip
                lines = (self.folder / "log.jsonl").read_text().splitlines()
                for line, expected in zip(map(json.loads, lines), recorded[case], strict=True):
                    self.assert_close(line["grad_norm"], expected["grad_norm"], 1e-9)
                    for name in ("words", "balance"):
                        self.assert_close(line["losses"][name], expected[name], 1e-9)
                    for i, share in enumerate(expected["dropped"]):
                        self.assertGreater(share, 0)
                        self.assert_close(line["logged"][f"layers.{i}.mlp.dropped"], share, 1e-9)

    def test_any_plan(self):
        for case, plan in PLANS + (MORE if LONG else []):
            with self.subTest(case, **plan):
                report = self.npar_json("verify", FILE, "--plan", "any", *settings(capacity_data.CASES[case], plan), code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])


if __name__ == "__main__":
    unittest.main()
