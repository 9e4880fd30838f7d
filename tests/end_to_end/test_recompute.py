"""Recompute: the bits of no recompute under every plan, and less memory, as much as the kind says."""

import re
import unittest

from driver import CHECKED, ROOT, SMALL, DriverTest, mesh, sample, settings

KINDS = ["none", "attention", "block", "2", '["h.*.attn", "h.0"]']
MODEL = {**SMALL, "dropout": 0.1}

# Each block multiplies with the table that the one before it has made.
WAVES = """
import "Embedding"
import "Linear"
model Waves(length = 8, vocab = 11, width = 6) {
    axis batch, seq = length, vocab, embed = width
    input tokens, targets: i32[batch, seq]
    emb = Embedding(vocab, embed)
    x = emb(tokens)
    wave = sinusoid(index(seq), embed, base = 10000.0)
    repeat h[4] {
        lin = Linear(embed, vocab)
        up = Embedding(vocab, embed)
        x = x + project(lin(x), up.weight) * wave
        wave = sinusoid(index(seq), embed, base = 10000.0)
    }
    head = Linear(embed, vocab)
    loss cross_entropy(head(x), targets, over = vocab)
}
train base for Waves {
    batch 8
    optimizer Sgd(lr = constant(0.1, warmup = 1))
    seed 1
}
plan data(dp = 2) for Waves { mesh dp micro 2 split { batch -> dp } recompute every 2 }
plan pipeline(pp = 2, cp = 2) for Waves { mesh pp, cp micro 2 split { seq -> cp h -> pp by 1f1b } recompute every 4 }
"""


TRAINED = {**CHECKED, "dropout": 0.1}  # of what runs, less


def plan(recompute="none", *parts, model=MODEL, **sizes):
    return ["gpt2", *settings(model, mesh(**{"dp": 1, "pp": 1, "tp": 1, **sizes}), {"recompute": recompute}, *parts)]


class RecomputeTest(DriverTest):
    def hash(self, *model):
        return self.npar_json("run", *model, "--random-data", "--steps", 2)["parameter_hash"]

    def stashes(self, *model):
        """Per stage, (name, bytes) of the regions that hold what one micro-batch keeps for its backward."""
        text = self.npar("compile", *model, "--emit=rank").output
        stages = re.split(r"\nclass stage", text)[1:]
        return [[(name, int(size)) for name, size in re.findall(r"\n  (stash\w+): \d+ x (\d+) bytes", stage)] for stage in stages]

    def kept(self, *model):
        """Bytes that the forward of one micro-batch keeps, over all stages."""
        return sum(size for stage in self.stashes(*model) for name, size in stage if name.startswith("stash_F"))

    def test_bits(self):
        """Dropout included: its masks are drawn again. In the short form each kind under one or two plans, and each plan with one kind."""
        plans = {
            "one rank": ({}, {}),
            "pipeline": ({"pp": 2}, {}),
            "tensor and sequence": ({"tp": 2}, {"sequence": "true"}),
            "zero bubble": ({"pp": 2}, {"schedule": "zb_v"}),
            "all": ({"dp": 2, "pp": 2, "tp": 2}, {"sequence": "true", "schedule": "zb_h1"}),
        }
        short = {"one rank": (KINDS[4],), "pipeline": ("2",), "tensor and sequence": ("attention",), "zero bubble": ("block",), "all": ("block",)}
        for name, (sizes, more) in plans.items():
            reference = self.hash(*plan("none", more, model=TRAINED, **sizes))
            for kind in sample(KINDS[1:], *short[name]):
                with self.subTest(plan=name, recompute=kind):
                    self.assertEqual(self.hash(*plan(kind, more, model=TRAINED, **sizes)), reference)

    def test_verify(self):
        cases = [
            ("block", {"pp": 2, "tp": 2}, {"sequence": "true"}),
            ("3", {"pp": 2, "dp": 2}, {"schedule": "zb_h1"}),
            ("attention", {"pp": 2, "tp": 2}, {}),
        ]
        for kind, sizes, more in sample(cases, cases[1]):
            with self.subTest(recompute=kind, **sizes):
                report = self.npar_json("verify", *plan(kind, more, model=TRAINED, **sizes), code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_table_of_positions_for_the_next_block(self):
        """It is made of nothing, so a segment of two blocks neither keeps nor repeats it, wherever the chain is cut."""
        (self.folder / "waves.npar").write_text(WAVES)
        for name in ("data", "pipeline"):
            with self.subTest(plan=name):
                report = self.npar_json("verify", "waves.npar", "--plan", name, code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_memory_falls(self):
        kept = [self.kept(*plan(kind)) for kind in ("none", '["h.*.attn"]', "block", "2", "4")]
        self.assertEqual(kept, sorted(kept, reverse=True))
        self.assertEqual(len(set(kept)), len(kept), kept)
        arenas = [
            max(each["arena_bytes"] for each in self.npar_json("inspect", *plan(kind, pp=2))["classes"]) for kind in ("none", '["h.*.attn"]', "block")
        ]
        self.assertEqual(arenas, sorted(arenas, reverse=True))

    def test_memory_of_blocks(self):
        """A recomputed block keeps its input, and a checkpoint every two blocks half of that."""
        input_bytes = MODEL["micro"] * MODEL["length"] * MODEL["width"] * 4
        for every in (1, 2):
            one, more = (self.kept(*plan(str(every), {"depth": depth})) for depth in (4, 8))
            self.assertEqual(more - one, 4 // every * input_bytes, f"every {every}")

    def test_attention_keeps_no_probabilities(self):
        """None are kept in any case, so attention is not repeated, in one piece or with keys that are gathered or come round."""
        self.assertEqual(self.stashes(*plan("none")), self.stashes(*plan("attention")))
        self.assertEqual(self.kept(*plan("none", {"length": 32})), 2 * self.kept(*plan("none")), "what is kept grows with the length, not its square")
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        for way in ("gather", "ring"):
            (self.folder / f"{way}.npar").write_text(f"{text}plan {way}(cp = 2) for Gpt2 {{\n    mesh cp\n    micro 2\n    split {{ seq -> cp by {way} }}\n}}\n")
            flags = [f"{way}.npar", "--plan", way, *settings(MODEL)]
            none, attention = (self.stashes(*flags, "--set", f"recompute={kind}") for kind in ("none", "attention"))
            self.assertEqual(none, attention)

    def test_stages_begin_segments(self):
        """A segment of three blocks that a stage cuts: the stage begins with what it received (which is in its inbox) and keeps no more."""
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        text += "plan cut(pp = 2) for Gpt2 {\n    mesh pp\n    micro 2\n    split { h -> pp by 1f1b stages [2, 2] }\n    recompute every 3\n}\n"
        (self.folder / "cut.npar").write_text(text)
        sizes = settings({name: value for name, value in MODEL.items()})
        self.assertEqual(self.kept("cut.npar", "--plan", "cut", *sizes), self.kept(*plan("3")))
        self.assertEqual(self.hash("cut.npar", "--plan", "cut", *sizes), self.hash(*plan("none")))


if __name__ == "__main__":
    unittest.main()
