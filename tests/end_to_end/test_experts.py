"""Mixture of experts: routed rows as masks over all experts compute them, as transformers' Mixtral does, under every plan, bit for bit on any number of threads."""

import json
import pathlib
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import mixtral_data  # of the reference

HERE = pathlib.Path(__file__).resolve().parent
PLANS = [
    ("shared", {"mesh.dp": 2, "mesh.ep": 2, "zero": 3, "again": "block"}),
    ("divided", {"mesh.pp": 2, "mesh.tp": 2, "again": "block"}),
]
SHARED = [
    {"mesh.ep": 4},
    {"mesh.ep": 2, "mesh.dp": 2, "zero": 1},
    {"mesh.ep": 2, "mesh.pp": 2, "schedule": "zb_h1", "sequences": 2},
    {"mesh.ep": 2, "mesh.pp": 2, "mesh.tp": 2, "sequences": 2},
    {"mesh.ep": 2, "mesh.sp": 2, "mesh.tp": 2},
    {"mesh.ep": 3, "experts": 5, "batch": 12},
    {"mesh.ep": 8, "experts": 8, "chosen": 3},
    {"mesh.ep": 4, "chosen": 4, "inner": 18, "mesh.tp": 4},
    {"mesh.ep": 4, "chosen": 1, "mesh.dp": 2},
    {"mesh.ep": 2, "compute": "bf16"},
    {"mesh.ep": 2, "mesh.dp": 4, "compute": "tf32"},
]
DIVIDED = [
    {"mesh.dp": 2, "mesh.ep": 2, "zero": 3},
    {"mesh.sp": 2, "mesh.ep": 2, "mesh.dp": 2},
    {"mesh.ep": 4, "mesh.tp": 2},
    {"mesh.pp": 2, "schedule": "zb_h1", "mesh.dp": 2, "zero": 2},
    {"mesh.tp": 4, "inner": 18, "chosen": 3},
    {"mesh.dp": 4, "zero": 1, "chosen": 4},
    {"mesh.dp": 2, "chosen": 1},
    {"mesh.dp": 2, "compute": "bf16"},
    {"compute": "tf32"},
]


class PlansTest(DriverTest):
    """In float64, on random values of all inputs, with finite differences."""

    def test_equal_to_one_rank(self):
        more = [("shared", chosen) for chosen in SHARED] + [("divided", chosen) for chosen in DIVIDED]
        for plan, chosen in PLANS + (more if LONG else []):
            with self.subTest(plan=plan, **chosen):
                report = self.npar_json("verify", HERE / "experts.npar", "--plan", plan, *settings(chosen), code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_equal_to_masks(self):
        """Losses, gradient norms and all parameters after five steps are those of every expert on every position, masked. Each step has a hot
        expert, one without a row, and padding."""
        found = {}
        for dense in ("false", "true"):
            self.npar("run", HERE / "experts.npar", "--plan", "none", *settings(dense=dense, micro=2, compute="f64"), "--random-data", "--steps", 5,
                      "--log", "log.jsonl", "--output", "out.safetensors")  # fmt: skip
            log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
            found[dense] = log, safetensors_file.read(self.folder / "out.safetensors")
        for routed, masked in zip(found["false"][0], found["true"][0], strict=True):
            for what in ("loss", "grad_norm"):
                self.assert_close(routed[what], masked[what], 1e-13, f"{what} of step {routed['step']}")
        for name, routed in found["false"][1].items():
            apart = max(abs(a - b) for a, b in zip(routed.values, found["true"][1][name].values, strict=True))
            self.assertLess(apart, 1e-12, name)

    def test_same_bits(self):
        """The parameters after three steps do not depend on threads, stages or recomputation."""
        sizes = settings(width=64, inner=96, length=64)
        run = lambda plan, *more: self.npar_json("run", HERE / "experts.npar", "--plan", plan, "--random-data", "--steps", 3, *sizes, *more)["parameter_hash"]  # noqa: E731
        alone = run("divided", "--threads", 1)
        self.assertEqual(run("divided", "--threads", 5), alone)
        self.assertEqual(run("divided", *settings({"mesh.pp": 2, "again": "block"})), alone)
        experts = settings({"mesh.ep": 4, "sequences": 2})
        self.assertEqual(run("shared", "--threads", 1, *experts), run("shared", "--threads", 5, *experts))

    def test_rows_go_to_their_experts(self):
        """With other samples on the ranks that share experts, rows go by all_to_all."""
        listing = self.npar("inspect", HERE / "experts.npar", "--plan", "shared", *settings({"mesh.ep": 4, "sequences": 2})).output
        self.assertRegex(listing, r"all_to_all +over ep +\d+ times")

    def test_order_in_zigzag_is_refused(self):
        text = (HERE / "mixtral.npar").read_text().replace("seq -> cp by ring ", "seq -> cp by ring(zigzag) ")
        (self.folder / "zigzag.npar").write_text(text)
        error = self.npar("inspect", "zigzag.npar", "--train", "adam", "--plan", "ring", code=1).error
        self.assertRegex(error, "axis 'seq' cannot be in zigzag order")


class ReferenceTest(DriverTest):
    """Against transformers' Mixtral in float64 (tests/reference/mixtral_reference.py): one expert is in nearly all choices, another one in none."""

    def run_steps(self, train, plan, steps):
        self.npar("run", HERE / "mixtral.npar", "--train", train, "--plan", plan, *settings(compute="f64"), "--weights", "first.safetensors",
                  "--data", "data.safetensors", "--data-order", "sequential", "--steps", steps, "--log", "log.jsonl", "--output", "out.safetensors")  # fmt: skip
        return [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def test_against_transformers(self):
        recorded = json.loads((REFERENCE / "mixtral_recorded.json").read_text())
        safetensors_file.write_values(self.folder / "data.safetensors", mixtral_data.data())
        first = mixtral_data.weights()
        safetensors_file.write(self.folder / "first.safetensors", {name: safetensors_file.Tensor(shape, values, "F64") for name, (shape, values) in first.items()})
        for plan in ("alone", "tensors", "experts", "ring") if LONG else ("alone", "experts"):
            with self.subTest(plan=plan):
                self.run_steps("plain", plan, 1)  # with a learning rate of 1 each parameter moves by its gradient
                for name, after in safetensors_file.read(self.folder / "out.safetensors").items():
                    gradient = [before - value for before, value in zip(first[name][1], after.values, strict=True)]
                    direction = mixtral_data.directions(name, len(gradient))
                    norm, along = recorded["gradients"][name]
                    self.assertAlmostEqual(sum(g * g for g in gradient) ** 0.5, norm, delta=1e-9 * max(norm, 1e-3), msg=name)
                    self.assertAlmostEqual(sum(g * d for g, d in zip(gradient, direction)), along, delta=1e-9 * max(norm, 1e-3), msg=name)
                for step, (found, expected) in enumerate(zip(self.run_steps("adam", plan, mixtral_data.STEPS), recorded["losses"], strict=True)):
                    self.assert_close(found, expected, 1e-9, f"loss of step {step}")


if __name__ == "__main__":
    unittest.main()
