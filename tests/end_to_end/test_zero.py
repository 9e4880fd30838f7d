"""ZeRO by `store`: optimizer state, gradients and parameters in shares, alone and with every other form of parallelism; equal to one rank,
equal in bits where no sum is reordered, with the known memory and volume."""

import unittest

import volume
from driver import LONG, ROOT, SMALL, DriverTest, mesh, sample, settings

STAGES = {
    "1": {"zero": 1},
    "2": {"zero": 2},
    "2 per step": {"zero": 2, "per_step": "true"},
    "3": {"zero": 3},
    "3 per step": {"zero": 3, "per_step": "true"},
}
# Forms of parallelism with which the stages are combined.
PLANS = {
    "dp": mesh(dp=4, pp=1, tp=1),
    "dp tp": {**mesh(dp=2, pp=1, tp=2), "micro": 2},
    "dp pp": mesh(dp=2, pp=2, tp=1),
    "dp pp tp, sequence parallelism": {**mesh(dp=2, pp=2, tp=2), "sequence": "true", "micro": 2},
    "padded vocabulary": {**mesh(dp=3, pp=1, tp=2), "vocab": 101, "batch": 12, "micro": 2},
    "interleaved": {**mesh(dp=2, pp=2, tp=1), "schedule": "interleaved", "chunks": 2, "depth": 4},
    "split backward": {**mesh(dp=2, pp=2, tp=1), "schedule": "zb_h1"},
}
# More than a block of 1,024 elements in most tensors, so that shares have contents on every rank; of what costs time and holds no parameters, little:
# two or four micro-batches a rank, of four positions.
SIZES = {**SMALL, "width": 48, "vocab": 101, "length": 4, "depth": 2, "batch": 8, "micro": 1}

HYBRID = """
plan hybrid(node = 2, dp = 2, tp = 1, pp = 1, zero = 1, per_step = false, sequence = false) for Gpt2 {
    mesh node, dp, pp, tp
    micro 2
    split {
        batch                   -> node, dp
        head, hidden, vocab pad -> tp
        seq                     -> tp if sequence
        h                       -> pp by 1f1b
    }
    store {
        optimizer  -> dp          if zero >= 1
        gradients  -> dp          if zero >= 2 and not per_step
        gradients  -> dp per step if zero >= 2 and per_step
        parameters -> dp          if zero >= 3
    }
    compute f32
}
"""


GROUPS = """
plan groups(node = 2, dp = 2, pp = 1, way = "hpz") for Gpt2 {
    mesh pp, node, dp
    micro 1
    split {
        batch -> node, dp
        h     -> pp by 1f1b
    }
    store {
        parameters, gradients, optimizer -> dp       if way == "mics"
        parameters, gradients, optimizer -> node, dp if way != "mics"
        secondary                        -> dp       if way == "hpz"
    }
    compute f32
}
"""


SCALAR = """
model Scalar(channels = 3) {
    axis batch, channel = channels
    input x: f32[batch, channel]
    input y: f32[batch]
    param w: [channel] = normal(0.5)
    param b: [] = zeros
    loss squared_error(project(x, w) + b, y)
}
train base for Scalar { batch 8 optimizer AdamW(lr = 1e-3) }
plan shares(zero = 1) for Scalar {
    mesh dp = 2
    micro 2
    split { batch -> dp }
    store { optimizer -> dp gradients -> dp if zero >= 2 parameters -> dp if zero >= 3 }
}
"""
ONE = "plan one for Scalar { mesh tp = 3 micro 8 split { channel -> tp } store { optimizer -> tp } }\n"


class ZeroTest(DriverTest):
    def verify(self, *arguments):
        report = self.npar_json("verify", *arguments, code=None)
        bad = [check for check in report["checks"] if not check["ok"]]
        self.assertTrue(report["ok"] and not bad, bad)

    def test_a_parameter_of_one_element_has_no_shares(self):
        (self.folder / "scalar.npar").write_text(SCALAR)
        for stage in (1, 2, 3):
            with self.subTest(zero=stage):
                self.verify("scalar.npar", *settings(zero=stage))

    def hash_of(self, model, *arguments):
        summary = self.npar_json("run", model, *arguments, "--random-data", "--steps", 4, "--seed", 3, "--quiet")
        return summary["parameter_hash"]

    def hybrid(self):
        path = self.folder / "hybrid.npar"
        path.write_text((ROOT / "stdlib" / "models" / "gpt2.npar").read_text() + HYBRID)
        return str(path)

    def test_gradients_scattered_along_a_dimension(self):
        """A table that a rule splits over the axis of the batch: its accumulator holds the reduced share, as `verify` reads it."""
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text() + "plan mine for Gpt2 { mesh dp = 2 micro 2 split { batch -> dp embed -> dp } }\n"
        (self.folder / "mine.npar").write_text(text)
        self.verify("mine.npar", "--plan", "mine", *settings({name: value for name, value in SIZES.items() if name != "micro"}))

    def test_a_tensor_of_one_block(self):
        """1,024 elements: the first rank's share has the shape of the whole."""
        for stage in ("1", "2 per step", "3 per step"):
            with self.subTest(stage=stage):
                sizes = {"inner": 1024, "width": 16, "vocab": 33, "length": 4, "depth": 1, "batch": 8, "micro": 1}
                self.verify("mlp", *settings(sizes, mesh(dp=4, tp=1), STAGES[stage]))

    def test_every_stage_alone_and_with_each_form_of_parallelism(self):
        """Each stage with each plan, or each plan with one stage in turn, so that each stage has a plan."""
        stages, cases = list(STAGES), []
        for i, plan in enumerate(sample(PLANS, *(plan for plan in PLANS if plan != "dp pp"))):
            cases += [(plan, stage) for stage in (stages if LONG else [stages[(2 * i + 1) % len(stages)]])]
        for plan, stage in cases:
            with self.subTest(plan=plan, stage=stage):
                self.verify("gpt2", "--plan", "three_d", *settings(SIZES, PLANS[plan], STAGES[stage]))

    def test_sgd(self):
        for stage in ("1", "3"):
            with self.subTest(stage):
                self.verify("mlp", *settings(mesh(dp=2, tp=2), STAGES[stage], vocab=33, width=48, inner=64, length=8))

    def test_hybrid(self):
        """Shares over dp, copies over node."""
        cases = {"1": {}, "2": {"sequence": "true", "mesh.tp": 2}, "3": {"mesh.pp": 2}}
        for stage, more in sample(cases, "2", "3").items():
            with self.subTest(stage):
                self.verify(self.hybrid(), "--plan", "hybrid", *settings(SIZES, STAGES[stage], more))

    def groups(self):
        path = self.folder / "groups.npar"
        path.write_text((ROOT / "stdlib" / "models" / "gpt2.npar").read_text() + GROUPS)
        return str(path)

    def test_groups_of_ranks(self):
        """hpZ: a second share of the parameters inside a group. Alone it has the bits of ZeRO 3 over all ranks."""
        cases = {"pipeline": {"mesh.pp": 2}, "recompute": {"recompute": "block", "node": 3, "batch": 6}, "one rank in a group": {"dp": 1}}
        for name, more in sample(cases, "pipeline").items():
            with self.subTest(name):
                self.verify(self.groups(), "--plan", "groups", *settings({**SIZES, "micro": 1}, more))
        hashes = {way: self.hash_of(self.groups(), "--plan", "groups", *settings(SIZES, way=way)) for way in ("zero3", "hpz")}
        self.assertEqual(hashes["hpz"], hashes["zero3"])

    def test_what_groups_of_ranks_send_and_store(self):
        """ZeRO 3 gathers twice across nodes; hpZ once, and inside a node for the backward; MiCS gathers inside, and adds up shares across nodes
        once per step."""
        found = {}
        for way in ("zero3", "hpz", "mics"):
            summary = self.npar_json("inspect", self.groups(), "--plan", "groups", *settings(SIZES, way=way))
            gathers = {
                (over, phase): volume.counts(summary, over=over, phase=phase)["all_gather"]
                for over in ("node,dp", "dp")
                for phase in ("forward", "backward")
                if "all_gather" in volume.counts(summary, over=over, phase=phase)
            }
            (part,) = summary["classes"]
            found[way] = (gathers, volume.counts(summary, over="node", phase="update"), part["parameter_bytes"], part["optimizer_bytes"], part["gradient_bytes"])
        (zero3, _, *share), (hpz, none, *same), (mics, across, *larger) = found.values()
        self.assertEqual(set(zero3), {("node,dp", "forward"), ("node,dp", "backward")})
        self.assertEqual(set(hpz), {("node,dp", "forward"), ("dp", "backward")})
        self.assertEqual(set(mics), {("dp", "forward"), ("dp", "backward")})
        self.assertEqual(hpz["node,dp", "forward"], zero3["node,dp", "forward"])
        self.assertEqual(hpz["dp", "backward"], mics["dp", "backward"])
        self.assertEqual(hpz["dp", "backward"].count, zero3["node,dp", "backward"].count)
        self.assertEqual((none, share), ({}, same))
        self.assertLessEqual(larger[2] - across["all_reduce"].bytes, 64)  # the gradients of a share; next to them there is the sum of the losses
        self.assertLess(share[1], larger[1])

    def test_stages_that_reorder_no_sum_share_their_bits(self):
        """The clipping factor too: the sum of squares is exact in any number of shares."""
        for plan in (mesh(dp=4, pp=1, tp=1), {**mesh(dp=2, pp=2, tp=2), "sequence": "true", "micro": 2}):
            hashes = {
                stage: self.hash_of("gpt2", "--plan", "three_d", *settings(SIZES, plan, changes))
                for stage, changes in [("0", {"zero": 0}), *STAGES.items()]
                if stage not in ("2", "3")
            }
            self.assertEqual(len(set(hashes.values())), 1, hashes)

    def test_as_far_as_free(self):
        """A parameter that tp splits has shares over dp, a norm over both. An axis that splits everything is refused."""
        path = self.folder / "tp.npar"
        both = HYBRID
        for what in ("optimizer ", "gradients ", "parameters"):
            both = both.replace(f"{what} -> dp ", f"{what} -> dp, tp ")
        path.write_text((ROOT / "stdlib" / "models" / "gpt2.npar").read_text() + both)
        flags = ["--plan", "hybrid", *settings(SIZES, mesh(tp=2, node=1), zero=3)]
        (part,) = self.npar_json("inspect", "bytes", path, *flags)["classes"]
        axes = {one["path"]: (one["split"], one["parameters"], one["optimizer"]) for one in part["parameter_shares"]}
        self.assertEqual(axes["h.*.attn.c_attn.weight"], (["tp"], ["dp"], ["dp"]))
        self.assertEqual(axes["ln_f.weight"], ([], ["dp", "tp"], ["dp", "tp"]))
        self.assertEqual(sum(one["count"] for one in part["parameter_shares"]), 2 + 12 * SIZES["depth"] + 2)
        self.assertRegex(self.npar("inspect", "bytes", path, *flags).output, r"ln_f.weight +1 +- +dp, tp +dp, tp")
        self.verify(path, *flags)
        (self.folder / "one.npar").write_text(SCALAR.replace(" + b", "").replace("    param b: [] = zeros\n", "") + ONE)
        error = self.npar("compile", "one.npar", "--plan", "one", code=1).error
        self.assertIn("the optimizer state cannot be stored over 'tp', which splits every parameter already, such as axis 'channel' of 'w'", error)
        self.assertIn("remove it: no mesh axis holds equal copies of every parameter", error)


def share(elements, ranks):
    """Elements of a rank's share: whole blocks of 1,024."""
    return -(-(-(-elements // 1024)) // ranks) * 1024


class ZeroVolumeTest(DriverTest):
    """The numbers of the ZeRO paper (section 7): P bytes of parameters, D ranks; shares are whole blocks."""

    D = 4
    SIZES = {"vocab": 512, "width": 64, "inner": 256, "depth": 2, "length": 8, "batch": 16}
    TENSORS = [512 * 64] + 2 * [64 * 256, 256, 256 * 64, 64] + [64 * 512, 512]  # table, two layers of up and down, head

    SCALARS = 2 * (8 + 56 * 8)  # the loss, and the bins of the squares: one all-reduce each
    LOSS = 2 * 8

    def setUp(self):
        super().setUp()
        self.psi = 4 * sum(self.TENSORS)
        self.padded = 4 * sum(self.D * share(n, self.D) for n in self.TENSORS)  # what an all-gather moves

    def summary(self, micros, **more):
        changes = {"micro": self.SIZES["batch"] // self.D // micros, **more}
        summary = self.npar_json("inspect", "mlp", *settings(self.SIZES, mesh(dp=self.D, tp=1), changes))
        self.assertEqual(4 * summary["parameters"], self.psi)
        return summary

    def test_one_micro_batch(self):
        """Stages 1 and 2 move what plain data parallelism moves, stage 3 half as much again."""
        self.assertEqual(volume.volume(self.summary(1)), 2 * self.psi + self.LOSS)
        for stage in ("1", "2", "2 per step"):
            with self.subTest(stage):
                self.assertEqual(volume.volume(self.summary(1, **STAGES[stage])), self.psi + self.padded + self.SCALARS)
        self.assertEqual(volume.volume(self.summary(1, **STAGES["3"])), self.psi + self.gathers(1) + self.SCALARS)

    def gathers(self, micros):
        """Of stage 3, each micro-batch: every parameter for the forward, and the weights of products once more for the backward, which
        uses neither the table of tokens nor biases."""
        weights = [n for n in self.TENSORS[1:] if n >= 64 * 256]
        return micros * (self.padded + 4 * sum(self.D * share(n, self.D) for n in weights))

    def test_many_micro_batches(self):
        """`per micro` scatters every micro-batch: (M + 1) P, and 3 M P with parameters; `per step` scatters once."""
        for micros in (2, 4):
            with self.subTest(micros):
                self.assertEqual(volume.volume(self.summary(micros, **STAGES["1"])), self.psi + self.padded + self.SCALARS)
                self.assertEqual(volume.volume(self.summary(micros, **STAGES["2 per step"])), self.psi + self.padded + self.SCALARS)
                self.assertEqual(volume.volume(self.summary(micros, **STAGES["2"])), micros * self.psi + self.padded + self.SCALARS)
                self.assertEqual(volume.volume(self.summary(micros, **STAGES["3"])), micros * self.psi + self.gathers(micros) + self.SCALARS)

    def test_memory(self):
        """Bytes of each kind: whole, or the sum of the shares."""
        whole, shares = self.psi, 4 * sum(share(n, self.D) for n in self.TENSORS)
        expected = {
            "0": (whole, whole, whole), "1": (whole, None, shares), "2": (whole, shares, shares), "3": (shares, shares, shares),
        }  # fmt: skip
        for stage, (parameters, gradients, optimizer) in expected.items():
            with self.subTest(stage):
                part = self.summary(2, zero=stage)["classes"][0]
                self.assertEqual(part["parameter_bytes"], parameters)
                self.assertEqual(part["optimizer_bytes"], optimizer)
                if gradients is not None:
                    self.assertLessEqual(abs(part["gradient_bytes"] - gradients), 64)  # and the sum of the losses


if __name__ == "__main__":
    unittest.main()
