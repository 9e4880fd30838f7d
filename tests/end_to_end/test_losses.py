"""float32 training under different plans: losses are close, and plans that reorder no sum share every bit of the parameters."""

import json
import unittest

from driver import LONG, ROOT, SMALL, DriverTest, settings

MODEL = {name: value for name, value in SMALL.items() if name != "micro"}
STEPS = 50

# Of four ranks: mesh, micro, rules, other lines. The learning rate is at most 3e-4, with warm-up (the model's own train block).
PLANS = {
    "dp": ("dp = 4", 2, "batch -> dp", ""),
    "tensor": ("dp = 2, tp = 2", 2, "batch -> dp  head, hidden, vocab pad -> tp", ""),
    "sequence": ("tp = 4", 4, "head, hidden, vocab pad -> tp  seq -> tp", ""),
    "pipeline": ("dp = 2, pp = 2", 2, "batch -> dp  h -> pp by zb_v", ""),
    "zero3": ("dp = 4", 2, "batch -> dp", "store { parameters, gradients, optimizer -> dp }"),
    "ring": ("cp = 4", 4, "seq -> cp by ring(zigzag)", ""),
}
MORE_PLANS = {
    "three": ("pp = 2, tp = 2", 4, "head, hidden, vocab pad -> tp  seq -> tp  h -> pp by zb_h1", "recompute block"),
    "zero1": ("dp = 4", 2, "batch -> dp", "store { optimizer -> dp }"),
    "stages": ("pp = 4", 2, "h -> pp by 1f1b stages [0, 2, 2, 0]", "recompute attention"),
}

# Variants of `dp -> 2`: each group shares its bits.
DP = ("dp = 2", 2, "batch -> dp")
PIPE = ("dp = 2, pp = 2", 2)
SHARED = {
    "plain": [
        (*DP, ""),
        (*DP, "store { optimizer -> dp }"),
        (*DP, "recompute block"),
        (*PIPE, "batch -> dp  h -> pp by gpipe", ""),
        (*PIPE, "batch -> dp  h -> pp by zb_h1", "recompute every 2"),
        (*PIPE, "batch -> dp  h -> pp by 1f1b stages [1, 3]", "store { optimizer -> dp }"),
    ],
    "per step": [
        (*DP, "store { gradients, optimizer -> dp per step }"),
        (*DP, "store { parameters, gradients, optimizer -> dp per step }"),
    ],
}


class LossesTest(DriverTest):
    def model(self, plan):
        mesh, micro, rules, more = plan
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        lines = "\n        ".join(rules.split("  "))
        text += f"\nplan mine for Gpt2 {{\n    mesh {mesh}\n    micro {micro}\n    split {{\n        {lines}\n    }}\n    {more}\n}}\n"
        (self.folder / "mine.npar").write_text(text)
        return ["mine.npar", "--plan", "mine", *settings(MODEL)]

    def run_plan(self, plan, steps, *more):
        return self.npar_json("run", *self.model(plan), "--data", self.text_file(), "--tokens", "bytes", "--steps", steps, *more)

    def losses(self, plan):
        self.run_plan(plan, STEPS, "--log", "log.jsonl")
        return [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def test_losses_of_all_plans_lie_together(self):
        plans = {**PLANS, **MORE_PLANS} if LONG else PLANS
        found = {name: self.losses(plan) for name, plan in plans.items()}
        for step in range(STEPS):
            at = [losses[step] for losses in found.values()]
            self.assertLess(max(at) - min(at), 1e-5, f"step {step}: { {name: losses[step] for name, losses in found.items()} }")
        self.assertLess(found["dp"][-1], found["dp"][0])  # it does train

    def test_plans_that_reorder_no_sum_share_their_bits(self):
        for group, plans in SHARED.items():
            with self.subTest(group):
                hashes = [self.run_plan(plan, 4)["parameter_hash"] for plan in plans]
                hashes += [self.run_plan(plans[-1], 4, "--threads", threads)["parameter_hash"] for threads in (1, 3)]
                self.assertEqual(len(set(hashes)), 1, hashes)


if __name__ == "__main__":
    unittest.main()
