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

ONE_HEAD = """
import "GroupedAttention"
model M {
    axis batch, seq = 4, embed = 4, kv_head = 1, group = 1, head = kv_head * group, feature = 2
    input x, y: f32[batch, seq, embed]
    attention = GroupedAttention(embed, seq, head, kv_head, feature, 10000.0)
    loss squared_error(attention(x), y)
}
train t for M { batch 4 optimizer Sgd(lr = 0.1) }
plan a for M { mesh tp = 2  micro 1  split { head pad -> tp } }
"""

# Sizes of which the plainest meshes, of 2, leave one head, position or hidden unit to a rank; and combinations for each model.
SIZES = {
    "gpt2": (settings(vocab=67, context=2, length=2, width=4, heads=2), ["tp,sequence,dp", "ring,zero2", "gather,pad", "ulysses"]),
    "llama": (settings(vocab=2, length=4, width=4, heads=2, kv_heads=2, mlp=2), ["tp,1f1b", "ring_zigzag", "bf16,tp"]),
    "mlp": (settings(vocab=2, width=2, inner=2, length=2), ["tp,dp", "pad", "one_block,zb_h1"]),
}


class OneEntryTest(DriverTest):
    def test_a_split_operand_meets_a_whole_one(self):
        (self.folder / "m.npar").write_text(ROUTED)
        for size in (1, 2, 4):
            self.npar("verify", "m.npar", *settings(mesh(ep=size)))

    def test_more_ranks_than_entries(self):
        """One head over two ranks: the second holds padding alone."""
        (self.folder / "one.npar").write_text(ONE_HEAD)
        self.npar("verify", "one.npar")

    def test_features(self):
        for model, (sizes, combinations) in SIZES.items():
            for chosen in [[word for one in combinations for word in ("--combine", one)]] + [["--plans", 120, "--seed", seed] for seed in range(1, 5) if LONG]:
                report = self.npar_json("verify", "--all", model, *sizes, *chosen, code=None, timeout=3600)
                plans = report["models"][0]["plans"]
                self.assertTrue(report["ok"], [plan for plan in plans if plan["verdict"] == "failed"])
                self.assertGreater(report["models"][0]["ok"], len(plans) // 2)


if __name__ == "__main__":
    unittest.main()
