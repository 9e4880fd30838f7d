"""Several losses with weights, each the mean over what counts in it; metrics and predictions of `npar eval`: against PyTorch, under every plan."""

import json
import pathlib

from driver import LONG, REFERENCE, DriverTest, settings

import pretrainer_data  # of the reference
import safetensors_file  # of the reference

TEXT = pathlib.Path(__file__).resolve().parent / "losses.npar"
RECORDED = json.loads((REFERENCE / "pretrainer_recorded.json").read_text())
PLANS = [
    {"mesh.dp": 2, "mesh.pp": 2, "mesh.tp": 2, "zero": 1},
    {"mesh.pp": 2, "mesh.sp": 2, "schedule": "zb_h1", "again": "block"},
]
MORE_PLANS = [
    {"mesh.dp": 4, "zero": 3},
    {"mesh.tp": 4},
    {"mesh.sp": 4, "mesh.dp": 2},
    {"mesh.dp": 2, "mesh.tp": 2, "zero": 2, "again": "block"},
    {"mesh.pp": 2, "mesh.dp": 2, "schedule": "gpipe"},
]


class PlansTest(DriverTest):
    """In float64, on random values of all inputs, of which a micro-batch has no target that counts."""

    def test_equal_to_one_rank(self):
        for chosen in PLANS + (MORE_PLANS if LONG else []):
            with self.subTest(**chosen):
                report = self.npar_json("verify", TEXT, *settings(chosen), code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])


class ReferenceTest(DriverTest):
    def setUp(self):
        super().setUp()
        safetensors_file.write_values(self.folder / "data.safetensors", pretrainer_data.data())
        safetensors_file.write_values(self.folder / "weights.safetensors", {name: ("F32", shape, values) for name, (shape, values) in pretrainer_data.weights().items()})

    def near(self, value, expected, bound, where):
        self.assertLessEqual(abs(value - expected), bound * max(1e-3, abs(expected)), where)

    def test_training(self):
        """Losses, their weighted sum and the norm of the gradients of three steps; in the second one nothing counts in one of the losses."""
        for plan, bound in [({"compute": "f64"}, 1e-9), ({"compute": "f64", **PLANS[0]}, 1e-9), ({}, 1e-5)] + [({"compute": "f64", **each}, 1e-9) for each in MORE_PLANS * LONG]:
            with self.subTest(**plan):
                plan = {"mesh.dp": 1, **plan}
                run = ["run", TEXT, *settings(plan), "--data", "data.safetensors", "--data-order", "sequential", "--weights", "weights.safetensors", "--steps", 3, "--log", "log.jsonl"]
                summary = self.npar_json(*run)
                log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
                self.assertEqual(summary["losses"], log[-1]["losses"])
                for entry, other in zip(log, RECORDED["log"], strict=True):
                    self.assertEqual(list(entry["losses"]), list(other["losses"]))
                    for name in other["losses"]:
                        self.near(entry["losses"][name], other["losses"][name], bound, name)
                    self.assertEqual(entry["counted"], {name: count for name, count in other["counted"].items() if name != "right"})
                    self.near(entry["loss"], other["loss"], bound, "loss")
                    self.near(entry["grad_norm"], other["grad_norm"], bound, "norm")

    def evaluate(self, plan):
        command = ["eval", TEXT, "--plan", "divided", *settings(plan), "--data", "data.safetensors", "--weights", "weights.safetensors"]
        said = self.npar_json(*command, "--outputs", "outputs.safetensors")
        return said, safetensors_file.read(self.folder / "outputs.safetensors")

    def test_evaluation(self):
        """Of 27 samples in batches of 8: the last one is not full, and what fills it up counts nowhere. Each plan gives the same metrics."""
        expected = RECORDED["evaluation"]
        said = {}
        for plan in [{}, *PLANS, *(MORE_PLANS * LONG)]:
            with self.subTest(**plan):
                said[str(plan)], outputs = self.evaluate({"compute": "f64", **plan})
                found = said[str(plan)]
                self.assertEqual((found["samples"], found["counted"]), (27, expected["counted"]))
                self.near(found["loss"], expected["loss"], 1e-12, "loss")
                for kind in ("losses", "metrics"):
                    self.assertEqual(list(found[kind]), list(expected[kind]))
                    for name, value in expected[kind].items():
                        self.near(found[kind][name], value, 1e-12, name)
                self.assertEqual(list(outputs["chosen"].values), expected["outputs"]["chosen"])
                for value, other in zip(outputs["points"].values, expected["outputs"]["points"], strict=True):
                    self.near(value, other, 1e-12, "points")
        for exact in ("found", "second"):
            self.assertEqual(len({found["metrics"][exact] for found in said.values()}), 1)


if __name__ == "__main__":
    import unittest

    unittest.main()
