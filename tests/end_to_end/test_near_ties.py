"""Choices that a plan's type makes otherwise than float64 are counted and named, with what they do to the loss."""

import pathlib
import unittest

from driver import LONG, DriverTest, settings

FILE = pathlib.Path(__file__).resolve().parent / "near_ties.npar"
BATCHES, SAMPLES, LENGTH, NEAR, MARGIN = 3, 16, 8, 3, 1e-4

# %: what the router reads, and its scores.
SEVERAL = """import "BatchNorm"
import "Projection"
model Several(width = 8, length = 6, experts = 8) {
    axis batch, seq = length, embed = width, other = width, expert = experts, slot = 2
    input x: f32[batch, seq, embed]
    param w: [expert, embed, other] = normal(0.5)
    param v: [expert, other, embed] = normal(0.5)
    norm = BatchNorm(embed, [batch, seq], samples = 4)
    router = Projection(embed, expert, 0.5)
    y = %s
    p = softmax(router(y), over = expert)
    best = top_k(%s, along = slot, over = expert)
    rows = dispatch(y, best, along = slot, to = expert)
    z = combine(einsum(silu(einsum(rows, w, over = embed)), v, over = other), gather(p, best, over = expert))
    loss sum(z * z, over = embed)
}
train base for Several { batch 16 optimizer Sgd(lr = 0.01) }
"""


class NearTiesTest(DriverTest):
    def report(self, **changes):
        """The report in JSON, and the check of the choices."""
        report = self.npar_json("verify", FILE, *settings(changes))
        (check,) = (check for check in report["checks"] if check["name"] == f"in {changes.get('type', 'bf16')}: choices")
        self.assertTrue(check["ok"], check)
        (loss,) = (check for check in report["checks"] if check["name"].startswith("in ") and check["name"].endswith(": loss"))
        self.assertLess(loss["max_relative_error"], 1e-9, "the training in float64 takes the plan's choices")
        return report["choices"], check

    def test_flipped_choices_are_named(self):
        for kind in ("bf16", "fp16") if LONG else ("bf16",):
            with self.subTest(kind):
                choices, check = self.report(type=kind)
                (layer,) = choices["layers"]
                self.assertEqual((choices["type"], choices["choices"], choices["flipped"]), (kind, BATCHES * SAMPLES * LENGTH, layer["flipped"]))
                line = next(number for number, text in enumerate(FILE.read_text().splitlines(), 1) if "top_k" in text)
                self.assertRegex(layer["place"], f"^near_ties.npar:{line}:")
                self.assertGreater(layer["flipped"], 0)
                for flip in layer["examples"]:
                    self.assertEqual((flip["position"], flip["chosen"], flip["in_place_of"]), ([NEAR], 0, 1))
                    lower, upper = flip["scores"]
                    self.assertAlmostEqual(upper - lower, MARGIN, delta=1e-12)
                    self.assertAlmostEqual(flip["margin"], MARGIN / abs(upper), delta=1e-12)
                self.assertEqual(check["max_relative_error"], layer["largest_margin"])
                self.check_loss(choices)

    def check_loss(self, choices):
        """The loss is 2 at the near position of each sample and 1 at the others: the batch with the most flips decides."""
        most = choices["loss_by_choices"] * (SAMPLES * (LENGTH + 1))
        self.assertAlmostEqual(most, round(most), delta=1e-9)
        self.assertLessEqual(round(most), min(SAMPLES, choices["flipped"]))
        self.assertGreaterEqual(round(most) * BATCHES, choices["flipped"])
        self.assertLess(choices["loss_error"], 1e-9)

    def test_the_text_names_them(self):
        output = self.npar("verify", FILE).output
        self.assertRegex(output, r"in bf16: choices .* \d+ of 384 choices in 3 batches differ from float64 at near ties: they change the loss by \S+, \S+ times its bound")
        self.assertRegex(output, r"\n  near_ties.npar:\d+:\d+: \d+ of 384 choices of 'expert' differ\n    batch \d sample \d+ position 3, expert 0 in place of 1: scores ")

    def test_choices_that_are_far_apart(self):
        choices, check = self.report(margin=0.5)
        self.assertEqual((choices["choices"], choices["flipped"], choices["loss_by_choices"]), (BATCHES * SAMPLES * LENGTH, 0, 0))
        self.assertIn("all as in float64", check["detail"])

    def test_choices_of_several_samples_are_left_out(self):
        report = self.npar_json("verify", FILE.with_name("sample_groups.npar"), "--plan", "spread", "--set", "compute=bf16")
        (check,) = (check for check in report["checks"] if check["name"] == "in bf16: choices")
        self.assertIn("not compared: no evaluation makes them, because they or all losses depend on several samples", check["detail"])
        self.assertNotIn("choices", report)

    def test_choices_that_follow_from_choices(self):
        """Experts are chosen within chosen groups: each choice is compared with the same ones before it, so a group that flips makes no expert flip."""
        sizes = {"vocab": 61, "context": 16, "width": 16, "depth": 2, "dense": 1, "heads": 4, "experts": 8, "chosen": 3, "groups": 4, "kept_groups": 2, "mlp": 8,
                 "dense_mlp": 16, "latent": 8, "plain": 8, "value": 8, "turn": 4, "batch": 8, "compute": "bf16"}  # fmt: skip
        choices = self.npar_json("verify", "deepseek", "--plan", "none", *settings(sizes))["choices"]
        self.assertEqual({one["axis"]: one["choices"] for one in choices["layers"]}, {"member": 3 * 8 * 16 * 4 * 2, "cluster": 3 * 8 * 16 * 2, "expert": 3 * 8 * 16 * 3})
        self.assertLess(max(one["largest_margin"] for one in choices["layers"]), 0.1)
        self.assertLess(max(one["score_error"] for one in choices["layers"]), 0.1)

    def test_dropout(self):
        """An evaluation has none and can choose otherwise than the training: its choices are compared, and the training takes none of them."""
        (self.folder / "dropped.npar").write_text(FILE.read_text().replace("a = first(tokens)", "a = dropout(first(tokens), 0.1)"))
        report = self.npar_json("verify", "dropped.npar", "--plan", "pairs", code=None)
        checks = {check["name"]: check for check in report["checks"]}
        self.assertGreater(report["choices"]["flipped"], 0)
        self.assertTrue(checks["in bf16: choices"]["ok"])
        self.assertGreater(checks["in bf16: loss"]["max_relative_error"], 1e-3)

    def test_statistics_of_several_samples(self):
        """A training normalises by its samples, an evaluation by running statistics, which are far from those at first. So the evaluation has other choices, which are
        compared with its own in float64; the training takes none of them and stays within the usual bound."""
        (self.folder / "several.npar").write_text(SEVERAL % ("norm(3.0 * x + 2.0)", "p"))
        report = self.npar_json("verify", "several.npar", "--plan", "none", "--set", "compute=bf16", "--set", "micro=8", "--seed", 1)
        checks, choices = {check["name"]: check for check in report["checks"]}, report["choices"]
        self.assertTrue(report["ok"])
        self.assertEqual(choices["choices"], BATCHES * 16 * 6 * 2)  # samples, positions, slots
        self.assertIn(choices["flipped"], range(1, 10))
        self.assertAlmostEqual(checks["in bf16: choices"]["max_relative_error"], max(layer["largest_margin"] for layer in choices["layers"]))
        self.assertGreater(choices["loss_by_choices"], 0)
        self.assertLess(checks["in bf16: loss"]["max_relative_error"], choices["loss_bound"])

    def test_no_evaluation(self):
        """Nothing is left to evaluate where the only loss depends on several samples."""
        (self.folder / "several.npar").write_text(SEVERAL % ("x", "p * (1.5 - mean(p, over = [batch, seq], samples = 4))"))
        report = self.npar_json("verify", "several.npar", "--plan", "none", "--set", "compute=bf16", "--set", "micro=8", code=None)
        (check,) = (check for check in report["checks"] if check["name"] == "in bf16: choices")
        self.assertIn("not compared: no evaluation makes them", check["detail"])

    def test_models_without_choices(self):
        report = self.npar_json("verify", "mlp", "--plan", "none", "--set", "compute=bf16")
        self.assertNotIn("choices", report)
        self.assertFalse([check for check in report["checks"] if check["name"].endswith("choices")])


if __name__ == "__main__":
    unittest.main()
