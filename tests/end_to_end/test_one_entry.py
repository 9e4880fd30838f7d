"""Plans that leave a rank one entry of an axis: mesh axes as large as the axes that they split."""

import unittest

from driver import LONG, DriverTest, mesh, settings

# A part of an operand is split, another one, looked up by what is whole, is not: one entry of `expert` here and four there.
ROUTED = """
model M {
    axis batch, embed = 4, expert = 4
    input x: f32[batch, embed]
    input best: i32[batch]
    param gate: [expert, embed] = normal(0.1)
    p = einsum(x, gate, over = embed)
    share = gather(p, best, over = expert)
    loss sum(p * share, over = expert)
}
train t for M { batch 8 optimizer Sgd(lr = 0.1) }
plan a(ep = 4) for M { mesh ep  micro 2  split { expert -> ep } }
"""

SIZES = {
    "gpt2": settings(vocab=67, context=4, length=4, width=8, heads=4, depth=2),
    "llama": settings(vocab=67, length=4, width=16, heads=4, kv_heads=2, mlp=4, depth=2),
    "mlp": settings(vocab=4, width=4, inner=4, length=4, depth=2),
}


class OneEntryTest(DriverTest):
    def test_a_split_operand_meets_a_whole_one(self):
        (self.folder / "m.npar").write_text(ROUTED)
        for size in (1, 2, 4):
            self.npar("verify", "m.npar", *settings(mesh(ep=size)))

    def test_all_features(self):
        """Sizes at which tensor, sequence and context parallelism leave one head, one position, one hidden unit to a rank."""
        for model, sizes in SIZES.items():
            for seed in (1, 2, 3, 4) if LONG else (1,):
                report = self.npar_json("verify", "--all", model, *sizes, "--plans", 120 if LONG else 12, "--seed", seed, code=None, timeout=3600)
                bad = [plan for plan in report["models"][0]["plans"] if plan["verdict"] == "failed"]
                self.assertTrue(report["ok"], bad)


if __name__ == "__main__":
    unittest.main()
