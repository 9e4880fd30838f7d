"""The sequence split over ranks: all-to-alls around attention, its keys gathered, or travelling round a ring; each equal to one rank."""

import random
import unittest

from driver import CHECKED, LONG, ROOT, SMALL, DriverTest, mesh, sample, settings

# Every axis may have one rank; `context` names the rules of a way to split the sequence.
PLANS = {
    "ulysses": "head -> cp in op attention\n        seq -> cp",
    "gather": "seq -> cp by gather",
    "ring": "seq -> cp by ring",
    "zigzag": "seq -> cp by ring(zigzag)",
    "first_ring": 'seq -> cp by ring(zigzag) in layer "h.0"\n        seq -> cp by gather',
    "ring_and_ulysses": 'seq -> cp by ring(zigzag) in layer "h.0"\n        head -> cp in op attention\n        seq -> cp',
}

PLAN = """
plan {name}(dp = 1, pp = 1, tp = 1, cp = 2, schedule = "1f1b", sequence = false) for Gpt2 {{
    mesh dp, pp, cp, tp
    micro 2
    split {{
        batch                   -> dp
        head, hidden, vocab pad -> tp
        {rules}
        seq                     -> tp if sequence
        h                       -> pp by schedule
    }}
    compute f32
}}
"""

FLOAT = 4  # bytes


class ContextTest(DriverTest):
    def setUp(self):
        super().setUp()
        model = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        self.model = self.folder / "gpt2.npar"
        self.model.write_text(model + "".join(PLAN.format(name=name, rules=rules) for name, rules in PLANS.items()))

    def verify(self, plan, *parts, **more):
        report = self.npar_json("verify", self.model, "--plan", plan, *settings(CHECKED, {"depth": 2}, *parts, **more), code=None)
        bad = [check for check in report["checks"] if not check["ok"]]
        self.assertTrue(report["ok"] and not bad, bad)

    def inspect(self, plan, *parts, **more):
        return self.npar_json("inspect", self.model, "--plan", plan, *settings(SMALL, {"micro": 16}, *parts, **more))

    def sent(self, plan, *parts, kinds=("all_to_all", "all_gather", "reduce_scatter", "permute"), **more):
        """{(phase, kind): (count, bytes of inputs)} over cp in one step."""
        found = {}
        for one in self.inspect(plan, *parts, **more)["classes"][0]["causes"]:
            if one["over"] == "cp" and one["kind"] in kinds and one["phase"] != "update":
                count, size = found.get((one["phase"], one["kind"]), (0, 0))
                found[one["phase"], one["kind"]] = (count + one["count"], size + one["bytes"])
        return found


class SplitInputTest(ContextTest):
    def test_columns_of_the_batch(self):
        """Without a vocabulary rule, only the sequence's rule tells where the tokens are."""
        text = self.model.read_text().replace("head, hidden, vocab pad -> tp", "head, hidden            -> tp")
        self.model.write_text(text)
        self.verify("gather", mesh(cp=2, dp=2, tp=2), sequence="true", micro=4)
        self.verify("three_d", mesh(dp=1, pp=2, tp=4), sequence="true", micro=4)

    def test_a_rank_holds_its_columns_only(self):
        for cp, columns in ((1, "16"), (4, "4 of 16 by cp")):
            out = self.npar("compile", self.model, "--plan", "gather", "--emit=rank", *settings(SMALL, mesh(cp=cp))).output
            for name in ("tokens", "targets"):
                self.assertIn(f"\n  input {name} i32 [batch 2, seq {columns}] at ", out)


class UlyssesTest(ContextTest):
    def test_four_all_to_alls_of_a_layer(self):
        """q, k, v and the output, N h / P elements each; the gradients of these four in the backward pass, which repeats none."""
        for cp in (2, 4):
            sent = self.sent("ulysses", mesh(cp=cp))
            piece = FLOAT * SMALL["batch"] * SMALL["length"] * SMALL["width"] // cp
            for phase in ("forward", "backward"):
                self.assertEqual(sent[phase, "all_to_all"], (4 * SMALL["depth"], 4 * SMALL["depth"] * piece))
            self.assertEqual({kind for _, kind in sent}, {"all_to_all"})

    def test_verify(self):
        cases = [mesh(cp=4), {**mesh(cp=2, tp=2), "sequence": "true"}, mesh(cp=2, pp=2, dp=2), mesh(cp=2), mesh(cp=2, dp=2, tp=2)]
        for changes in sample(cases, *cases[:3]):
            with self.subTest(**changes):
                self.verify("ulysses", changes)


class GatherTest(ContextTest):
    def test_keys_and_values_are_gathered(self):
        sent = self.sent("gather", mesh(cp=4))
        piece = FLOAT * SMALL["batch"] * SMALL["length"] * SMALL["width"] // 4
        layers = SMALL["depth"]
        self.assertEqual(sent["forward", "all_gather"], (2 * layers, 2 * layers * piece))
        self.assertEqual(sent["backward", "all_gather"], (2 * layers, 2 * layers * piece))
        self.assertEqual(sent["backward", "reduce_scatter"], (2 * layers, 2 * layers * 4 * piece))

    def test_verify(self):
        cases = [mesh(cp=4), mesh(cp=2, dp=2, tp=2), mesh(cp=2, pp=2), {**mesh(cp=2, tp=2), "sequence": "true"}]
        for changes in sample(cases, cases[0]):
            with self.subTest(**changes):
                self.verify("gather", changes)


class RingTest(ContextTest):
    def test_what_travels(self):
        """Forward k and v P - 1 times; backward again, and their gradients P times, the last time home."""
        for plan in ("ring", "zigzag"):
            for cp in (2, 4):
                sent = self.sent(plan, mesh(cp=cp))
                piece = FLOAT * SMALL["batch"] * SMALL["length"] * SMALL["width"] // cp
                forward, backward = 2 * (cp - 1) * SMALL["depth"], (2 * (cp - 1) + 2 * cp) * SMALL["depth"]
                self.assertEqual(sent["forward", "permute"], (forward, forward * piece))
                self.assertEqual(sent["backward", "permute"], (backward, backward * piece))
                self.assertEqual({kind for _, kind in sent}, {"permute"})

    def test_zigzag_is_half_the_work(self):
        """Of P steps all but the first compute half of the pairs of a query and a key: two products forward and five backward. The sequence is so
        long, and the features so many, that the rest hardly counts."""
        size = {"length": 512, "context": 512, "depth": 1, "width": 256, "heads": 1, "batch": 1, "micro": 1}
        ring, zigzag = (self.inspect(plan, mesh(cp=4), size)["classes"][0]["flops"] for plan in ("ring", "zigzag"))
        pairs = 512 * 512 // 4
        self.assert_close(ring - zigzag, 7 * 2 * pairs * 256 * 3 / 4 / 2, 0.08)

    def test_verify(self):
        """In the short form what is harder, with one of the two ways each."""
        changes = [
            {**mesh(cp=8), "micro": 8, "length": 16}, {**mesh(cp=2, tp=2), "sequence": "true"}, {**mesh(cp=4), "dropout": 0.1}, mesh(cp=2, pp=2, dp=2, tp=2),
            mesh(cp=2), mesh(cp=4), mesh(cp=2, dp=2, tp=2), mesh(cp=2, pp=2),
        ]  # fmt: skip
        cases = [(plan, each) for each in changes for plan in ("ring", "zigzag")]
        for plan, each in sample(cases, ("zigzag", changes[0]), ("ring", changes[1]), ("zigzag", changes[2]), ("ring", changes[3])):
            with self.subTest(plan=plan, **each):
                self.verify(plan, each)

    def test_two_ways_in_one_model(self):
        """The order of an axis is one for the whole model: attention that gathers its keys masks them by their positions, too, and that which has
        the whole sequence for some of its heads."""
        for plan in ("first_ring", "ring_and_ulysses"):
            with self.subTest(plan=plan):
                self.verify(plan, mesh(cp=2))

    def test_plans_drawn_at_random(self):
        chance = random.Random(7)
        for _ in range(40 if LONG else 1):
            dp, pp, cp, tp = (chance.choice(sizes) for sizes in ([1, 2, 3], [1, 2, 3], [2, 3, 4], [1, 2]))
            micro, micros = chance.choice([1, 2, 3]), chance.choice([1, 2, 3])
            plan = chance.choice(["ulysses", "gather", "ring", "zigzag"])
            changes = {
                **mesh(dp=dp, pp=pp, cp=cp, tp=tp), "micro": micro, "batch": dp * micro * micros, "depth": pp + chance.choice([0, 1]),
                "vocab": chance.choice([17, 64]), "heads": 12, "width": 24, "length": 2 * cp * chance.choice([1, 2, 3]),
                "sequence": chance.choice(["true", "false"]), "dropout": chance.choice([0.0, 0.2]), "seed": chance.randrange(100),
            }  # fmt: skip
            if changes["sequence"] == "true":
                changes["length"] *= tp
            with self.subTest(plan=plan, **changes):
                self.verify(plan, changes)


class MemoryTest(ContextTest):
    def test_grows_with_the_length(self):
        """No rank has a matrix of positions by positions, of the whole sequence or of pieces, in any micro-batch or step of a ring: twice the length takes
        twice the memory of activations, and a rank of four a quarter of one rank's. The biggest buffer is one of positions by classes.
        (Of one micro-batch some would lie in the memory of gradients, which does not grow.)"""
        lengths = [{"length": length, "context": length, "batch": 2, "micro": 1, "depth": 1} for length in (1024, 2048)]
        for plan in ("ulysses", "gather", "ring", "zigzag"):
            with self.subTest(plan=plan):
                one, two = (self.inspect(plan, mesh(cp=4), each)["classes"][0]["activation_bytes"] for each in lengths)
                self.assertLess(two, 2.01 * one)
                self.assertLess(two, 512 * 512 * FLOAT * SMALL["heads"], "less than the scores of one piece by another")


class PaddingTest(ContextTest):
    """Shards of a padded axis that come together again somewhere: what is gathered has no padding."""

    RULES = {
        "keys": ("cp", "seq pad -> cp by gather"),
        "ulysses": ("cp", "head pad -> cp in op attention\n        seq pad -> cp"),
        "sequence": ("tp", "head pad, hidden pad, vocab pad -> tp\n        seq pad -> tp"),
        "table": ("tp", "vocab pad -> tp in op gather"),
        "logits": ("tp", "vocab pad -> tp in op einsum"),
        "hidden": ("tp", "hidden pad -> tp in op einsum"),
    }
    SIZES = {"width": 16, "heads": 4, "depth": 2, "vocab": 37, "length": 8, "batch": 4, "micro": 2}

    def test_verify(self):
        self.model.write_text(
            self.model.read_text()
            + "".join(
                f"\nplan pad_{name}({axis} = 3) for Gpt2 {{\n    mesh {axis}\n    micro 2\n    split {{\n        {rules}\n    }}\n}}\n"
                for name, (axis, rules) in self.RULES.items()
            )
        )
        for name in sample(self.RULES, "keys", "ulysses", "sequence", "logits"):
            with self.subTest(plan=name):
                self.verify(f"pad_{name}", self.SIZES)


class CombinationTest(ContextTest):
    """With what other clauses of a plan do."""

    def clause(self, text, compute="f32"):
        self.model.write_text(self.model.read_text().replace("    compute f32", f"    {text}\n    compute {compute}"))

    def test_zero(self):
        self.clause("store { parameters, gradients, optimizer -> dp }")
        for plan in sample(["ulysses", "zigzag"], "zigzag"):
            self.verify(plan, mesh(cp=2, dp=2))

    def test_zero_over_the_ranks_of_the_sequence(self):
        """Parameters are replicated on the ranks of the sequence, so their optimizer state can be divided among these, too."""
        self.clause("store { optimizer -> dp, cp }")
        self.verify("ring", mesh(cp=2, dp=2))

    def test_recompute(self):
        self.clause("recompute attention")
        self.verify("zigzag", mesh(cp=2))

    def test_bfloat16(self):
        """The running sums of a ring are float32: it loses no more than attention that has all keys at hand."""
        self.clause("", "bf16")
        text = self.text_file()
        losses = []
        for plan in ("ulysses", "gather", "ring", "zigzag"):
            flags = settings(SMALL, mesh(cp=2), depth=2)
            losses.append(self.npar_json("run", self.model, "--plan", plan, *flags, "--data", text, "--tokens", "bytes", "--steps", 5)["loss"])
        self.assertLess(max(losses) - min(losses), 1e-3 * losses[0], losses)


if __name__ == "__main__":
    unittest.main()
