"""Optimizers are texts. The standard library's train as PyTorch's do, under every plan; a person's own are checked like any other text."""

import json
import math
import unittest

from driver import REFERENCE, DriverTest, mesh, safetensors_file, sample, settings

RECORDED = json.loads((REFERENCE / "optimizers_recorded.json").read_text())


class OptimizersTest(DriverTest):
    def text(self, optimizer, rules=(), declarations="", batch=16, clip=0.5):
        path = self.folder / "optimized.npar"
        lines = "".join(f"    {rule}\n" for rule in rules)
        path.write_text(
            f'import "mlp"\n{declarations}\ntrain own for Mlp {{\n    batch {batch}\n    optimizer {optimizer}\n    clip {clip}\n{lines}}}\n'
        )
        return path

    def train(self, text, plan=("--plan", "none"), steps=30, **sizes):
        self.npar(
            "train", text, *plan, *settings(RECORDED["model"], compute="f64", **sizes), "--weights", REFERENCE / "mlp_initial.safetensors",
            "--data", REFERENCE / "tokens.u16", "--tokens", "u16", "--data-order", "sequential", "--steps", steps, "--log", "log.jsonl",
            "--output", "final.safetensors", "--quiet",
        )  # fmt: skip
        log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return log, safetensors_file.read(self.folder / "final.safetensors")


class ReferenceTest(OptimizersTest):
    """Next to PyTorch in float64 (tests/reference/optimizers_reference.py)."""

    def compare(self, name, plan):
        case = RECORDED["cases"][name]
        log, weights = self.train(self.text(case["optimizer"], case["rules"]), plan)
        self.assertEqual(len(log), len(case["losses"]))
        for entry, loss, norm in zip(log, case["losses"], case["grad_norms"]):
            self.assert_close(entry["loss"], loss, 1e-11, f"loss of step {entry['step']}")
            self.assert_close(entry["grad_norm"], norm, 1e-10, f"gradient norm of step {entry['step']}")
        for path, expected in case["probes"].items():
            probe = math.fsum(value * math.cos(1.7 * i + 0.3) for i, value in enumerate(weights[path].values))
            self.assertLessEqual(abs(probe - expected), 1e-11, f"final weights '{path}'")

    def test_as_pytorch(self):
        for name in RECORDED["cases"]:
            with self.subTest(optimizer=name):
                self.compare(name, ["--plan", "none"])

    def test_under_a_plan(self):
        """ZeRO cuts the states, tensor parallelism the parameters."""
        for name in sample(list(RECORDED["cases"]), "nadam_all", "mixed"):
            with self.subTest(optimizer=name):
                self.compare(name, ["--plan", "data", *settings(mesh(dp=2, tp=2), zero=3)])


class RatesTest(OptimizersTest):
    def rates(self, schedule, steps=14):
        return [entry["lr"] for entry in self.train(self.text(f"Sgd(lr = {schedule})"), steps=steps)[0]]

    def test_as_pytorch(self):
        """StepLR and ExponentialLR, recorded by tests/reference/rates_reference.py."""
        for schedule, expected in json.loads((REFERENCE / "rates_recorded.json").read_text()).items():
            for step, (one, other) in enumerate(zip(self.rates(schedule), expected, strict=True)):
                self.assert_close(one, other, 1e-13, f"{schedule}, step {step}")

    def test_they_fall_after_the_warm_up(self):
        peak, warm = 0.1, [0.1 * (step + 1) / 3 for step in range(3)]
        for schedule, expected in [
            ("step(0.1, warmup = 3, factor = 0.5, every = 2)", warm + [peak * 0.5 ** (n // 2) for n in range(5)]),
            ("exponential(0.1, warmup = 3, factor = 0.5, every = 2)", warm + [peak * 0.5 ** (n / 2) for n in range(5)]),
        ]:
            for step, (one, other) in enumerate(zip(self.rates(schedule, 8), expected, strict=True)):
                self.assert_close(one, other, 1e-13, f"{schedule}, step {step}")


class OwnTest(OptimizersTest):
    OWN = """optimizer Signed(lr, beta = 0.9, decay = 0.0) {
    state average = zeros
    state count: [] = 3
    require beta >= 0 and beta < 1, "it must be at least 0 and below 1"
    update(w, g, t) {
        average = average * beta + g * (1 - beta)
        count = count + 1
        w = w * (1 - lr * decay) - lr * sign(average) * sqrt(abs(average) / (1 - pow(beta, t))) * (count - t - 2)
    }
}"""

    def test_own_optimizer_under_plans(self):
        text = self.text("Signed(lr = 1e-2, beta = 0.8)", ['for "*.bias" { decay 0.1 }'], self.OWN)
        for plan in ({"zero": 1}, {"zero": 3, "compute": "bf16"}):
            with self.subTest(**plan):
                report = self.npar_json("verify", text, "--plan", "data", *settings(RECORDED["model"], mesh(dp=2, tp=2), plan), code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_states_are_saved_under_their_names(self):
        text = self.text("Signed(lr = 1e-2)", (), self.OWN)

        def train(steps, *flags):
            found = self.npar_json(
                "train", text, "--plan", "none", *settings(RECORDED["model"]), "--random-data", "--steps", steps, "--seed", 3, "--quiet", *flags
            )
            return found["parameter_hash"]

        whole = train(4)
        train(2, "--checkpoint", "kept", "--resume")
        self.assertEqual(train(4, "--checkpoint", "kept", "--resume"), whole)
        shown = self.npar("checkpoint", "show", "kept").output
        self.assertIn("head.weight.average", shown)
        self.assertIn("count", shown)

    def test_a_step_that_is_skipped_moves_no_state(self):
        """fp16: the first loss scale is too large for these weights, so steps are skipped until it fits."""
        text = self.text("NAdam(lr = 1e-3)")
        found = self.npar_json("verify", text, "--plan", "data", *settings(RECORDED["model"], mesh(dp=2, tp=1), compute="fp16"), code=None)
        self.assertTrue(found["ok"], [check for check in found["checks"] if not check["ok"]])

    def test_memory_follows_from_the_states(self):
        """Bytes per parameter of optimizer state, as `inspect bytes` adds them up."""
        for optimizer, states in (("Sgd(lr = 0.1)", 0), ("Sgd(lr = 0.1, momentum = 0.9)", 1), ("Lion()", 1), ("Adadelta()", 2)):
            with self.subTest(optimizer=optimizer):
                one = self.npar_json("inspect", self.text(optimizer), "--plan", "none", *settings(RECORDED["model"]))["classes"][0]
                self.assertEqual(one["optimizer_bytes"], states * one["parameter_bytes"], one)


if __name__ == "__main__":
    unittest.main()
