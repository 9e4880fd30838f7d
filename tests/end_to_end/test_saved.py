"""The accounting of saved activations against the formulas of Korthikanti et al. (2022), for a block with the paper's operations."""

import pathlib
import re
import unittest

from driver import SMALL, DriverTest, mesh, settings

TEXT = pathlib.Path(__file__).resolve().parent / "paper.npar"
CORE = '["h.*.attn.core"]'
# s, b, h, a, L, v of the paper; b is one rank's micro-batch.
S, B, H, A, LAYERS, V = 16, 2, 32, 4, 4, 64
SBH = S * B * H


def plan(recompute="none", *parts, name="all", **sizes):
    own = {"length": S, "micro": B, "width": H, "heads": A, "depth": LAYERS, "vocab": V, "recompute": recompute}
    return [TEXT, "--plan", name, *settings(own, mesh(**{"pp": 1, "tp": 1, **sizes}), *parts)]


class SavedTest(DriverTest):
    def saved(self, *model):
        return self.npar_json("inspect", "saved", *model)

    def block(self, *model, block=1):
        """Bytes of one block's backward."""
        return next(each["bytes"] for each in self.saved(*model)["blocks"] if each["block"] == block)

    def part(self, saved, *paths, block=1):
        """Bytes of the values of a block whose making or using belongs to some layers."""
        return sum(each["bytes"] for each in saved["values"] if each["block"] == block and any(path in each["path"] for path in paths))

    def test_layer_formulas(self):
        for t in (1, 2, 4):
            sequence = {"sequence": "true"}
            rows = {
                "tensor parallel": (plan(tp=t), SBH * (10 + 24 / t + 5 * A * S / (H * t))),
                "tensor + sequence": (plan("none", sequence, tp=t), SBH * (34 / t + 5 * A * S / (H * t))),
                "tensor + selective": (plan(CORE, tp=t), SBH * (10 + 24 / t)),
                "tensor + sequence + selective": (plan(CORE, sequence, tp=t), SBH * 34 / t),
            }
            for row, (model, bytes_) in rows.items():
                with self.subTest(row=row, t=t):
                    self.assertEqual(self.block(*model), bytes_)
        self.assertEqual(self.block(*plan()), SBH * (34 + 5 * A * S / H), "no parallelism")

    def test_full_recompute(self):
        self.assertEqual(self.block(*plan("block")), 2 * SBH)
        self.assertEqual(self.block(*plan("block", {"sequence": "true"}, tp=2)), 2 * SBH / 2, "sequence parallelism keeps a share")
        self.assertEqual(sum(each["bytes"] for each in self.saved(*plan("2"))["blocks"] if 0 <= each["block"] < LAYERS), 2 * SBH * LAYERS / 2)

    def test_parts_of_a_block(self):
        saved = self.saved(*plan())
        values = [each for each in saved["values"] if each["block"] == 1]
        norms = [each for each in values if each["path"] in ("h.0", "h.1")]  # the residual sums
        self.assertEqual(sum(each["bytes"] for each in norms), 4 * SBH, "two layer norms keep their inputs")
        attention = self.part(saved, "h.1.ln_1", "h.1.attn")
        self.assertEqual(attention, 11 * SBH + 5 * A * S * S * B)
        self.assertEqual(self.part(saved, "h.1.ln_2", "h.1.mlp"), 19 * SBH)
        self.assertEqual(attention + 19 * SBH + 4 * SBH, self.block(*plan()), "nothing else is kept")

    def test_first_stage(self):
        per_layer = SBH * (34 + 5 * A * S / H)
        for p in (1, 2, 4):
            for t in (1, 2):
                with self.subTest(p=p, t=t):
                    saved = self.saved(*plan("none", {"sequence": "true", "depth": 8}, pp=p, tp=t))
                    stage = saved["stages"][0]
                    self.assertEqual(stage["micros"], p, "as many under way as there are stages")
                    layers = sum(each["bytes"] for each in saved["values"] if each["part"] == 0 and each["block"] >= 0 and each["block"] < 8)
                    masks = sum(each["bytes"] for each in saved["values"] if each["block"] == -1 and each["as"] == "mask")
                    if p > 1:
                        blocks = {each["block"] for each in saved["values"] if each["part"] == 0 and each["block"] >= 0}
                        self.assertEqual(layers, len(blocks) * per_layer / t)
                        self.assertEqual(stage["bytes"], p * (len(blocks) * per_layer / t + masks))
                    self.assertEqual(p * masks, SBH * p / t, "embedding dropout")

    def test_outputs_are_not_kept_once_sent(self):
        """The paper frees 2 s b h bytes of output for each micro-batch under way; here the stage that receives it keeps it alone."""
        for p in (2, 4):
            stages = self.saved(*plan(pp=p))["stages"]
            self.assertEqual([stage["sent_bytes"] for stage in stages], [2 * SBH * (p - stage) for stage in range(p - 1)] + [0])
        # Of MT-NLG 530B with 35 stages: 2.73 GB on rank 0, in binary units.
        first = self.saved(*plan("none", {"length": 2048, "micro": 1, "width": 20480, "heads": 128, "depth": 35, "batch": 35}, pp=35))["stages"][0]
        self.assertEqual((first["micros"], f"{first['sent_bytes'] / 2**30:.2f}"), (35, "2.73"))

    def test_output_layer(self):
        """Of the last stage, 4 s b h / t (1 + v / h): input and output of the last norm, and logits in four bytes. The paper's norms and
        softmax are in 16 bits."""
        for t in (1, 2, 4):
            with self.subTest(t=t):
                self.assertEqual(self.block(*plan("none", {"sequence": "true"}, tp=t, name="narrow"), block=LAYERS), 4 * SBH / t * (1 + V / H))

    def test_widened_values(self):
        """Under `compute bf16` alone norms and softmax compute in f32. What they widen is kept narrow, so only the probabilities, which are
        made wide and narrowed for their dropout, count twice as much: 2 a s^2 b bytes more than the paper."""
        for t in (1, 2):
            block = self.block(*plan("none", {"compute": "bf16"}, tp=t))
            self.assertEqual(block, SBH * (10 + 24 / t + 7 * A * S / (H * t)))
        saved = self.saved(*plan("none", {"compute": "bf16"}))
        last = [each for each in saved["values"] if each["block"] == LAYERS and each["as"] == "tensor"]
        self.assertEqual(sum(each["bytes"] for each in last), 4 * SBH + 2 * S * B * V, "logits are widened for the loss")
        self.assertEqual({each["operation"] for each in last}, {"add", "layer_norm", "einsum"}, "neither weights nor conversions")

    def test_what_the_program_keeps(self):
        """The values under `compute bf16`, with statistics in f32 and without masks, which are drawn again: the program's stash. It lacks what
        the backward makes again of kept values: what norms and GELU make, and the probabilities that dropout has left."""
        model = plan("none", {"compute": "bf16"})
        values = self.saved(*model)["values"]
        tensors = [each for each in values if each["as"] == "tensor"]
        again = [each for each in tensors if each["operation"] in ("layer_norm", "gelu") or (each["operation"] == "dropout" and "core" in each["path"])]
        self.assertEqual(sum(each["bytes"] for each in again), SBH * (LAYERS * (2 * 2 + 8 + 2 * A * S / H) + 2))
        accounted = sum(each["bytes"] for each in tensors) - sum(each["bytes"] for each in again)
        accounted += sum(4 * each["elements"] for each in values if each["as"] == "statistic")
        regions = re.findall(r"\n  stash_F\w+: \d+ x (\d+) bytes", self.npar("compile", *model, "--emit=rank").output)
        self.assertEqual(accounted, sum(int(size) for size in regions))

    def test_interleaved(self):
        """The factor 1 + (p - 1) / (p m) of the first stage, with m chunks per stage."""
        p, m, depth = 2, 2, 8
        counts = {"schedule": "interleaved", "chunks": m, "depth": depth}
        saved = self.saved(*plan("none", counts, pp=p))
        per_part = {}
        for each in saved["values"]:
            if 0 <= each["block"] < depth:
                per_part.setdefault(each["part"], set()).add(each["block"])
        self.assertEqual(saved["stages"][0]["parts"], [0, 2])
        self.assertEqual(saved["stages"][0]["micros"] / (p * m), 1 + (p - 1) / (p * m))

    def test_flops(self):
        """Model FLOPs 72 B L s h^2 (1 + s / (6 h) + v / (12 h L)); what is recomputed comes on top. The paper's hardware FLOPs of selective
        recompute, with s / (3 h), are three times a forward pass that runs the core (q k, times v) twice: its factor for the backward is
        applied to the repeated core as well. npar counts what it runs: q k once more, since nothing asks for the output again."""
        model = 72 * B * LAYERS * S * H * H * (1 + S / (6 * H) + V / (12 * H * LAYERS))
        flops = self.saved(*plan())["flops"]
        self.assertEqual(flops["forward"] + flops["backward"], model)
        self.assertEqual(flops["repeated"], 0)
        selective = self.saved(*plan(CORE))["flops"]
        self.assertEqual(selective["forward"] + selective["backward"], model)
        self.assertEqual(selective["repeated"], 2 * B * S * S * H * LAYERS, "q k again; times v is not needed")
        hardware = 72 * B * LAYERS * S * H * H * (1 + S / (3 * H) + V / (12 * H * LAYERS))
        self.assertAlmostEqual(3 * (selective["forward"] + 2 * selective["repeated"]) / hardware, 1, delta=1e-12)

    def test_attention_operation(self):
        """npar's own attention: no dropout inside, and no 2 a s^2 b of probabilities, whether the plan says recompute or not."""
        own = settings(SMALL, mesh(dp=1, pp=1, tp=1))
        s, b, h = SMALL["length"], SMALL["micro"], SMALL["width"]
        self.assertEqual(self.block("gpt2", *own), s * b * h * 32, "no dropout, no masks")
        self.assertEqual(self.block("gpt2", *own, "--set", "recompute=attention"), s * b * h * 32)

    def test_compiled_program_is_refused(self):
        self.npar("compile", *plan(), "-o", "paper.npx")
        self.assertIn("give the model file", self.npar("inspect", "saved", "paper.npx", code=2).error)


if __name__ == "__main__":
    unittest.main()
