"""Batch norm: the same function of the global batch under every plan, with the running statistics of PyTorch; the faults that other systems had, with their right
values."""

import json
import math
import pathlib
import random
import statistics

from driver import REFERENCE, DriverTest, safetensors_file, settings

import batch_norm_data as pictures  # of the reference

MODEL = pathlib.Path(__file__).resolve().parent / "batch_norm.npar"
PLANS = {
    "alone": {},
    "dp, groups over ranks": {"mesh.dp": 4, "samples": 1},
    "dp, groups in ranks": {"mesh.dp": 2, "samples": 4, "together": 2},
    "tp padded, ZeRO 3": {"mesh.dp": 2, "mesh.tp": 2, "samples": 2, "zero": 3},
    "pp, recompute": {"mesh.pp": 2, "mesh.dp": 2, "samples": 2, "again": "block"},
    "positions padded": {"mesh.sp": 2, "samples": 4},
    "filled": {"mesh.dp": 2, "samples": 2, "ignore": pictures.IGNORED},
    "bf16": {"mesh.dp": 2, "samples": 2, "compute": "bf16"},
    "fp16, filled": {"mesh.dp": 2, "mesh.sp": 2, "samples": 2, "compute": "fp16", "ignore": pictures.IGNORED},
    "zb_h1": {"mesh.pp": 2, "samples": 4, "schedule": "zb_h1"},
    "frozen": {"mesh.dp": 2, "samples": 1, "statistics": "frozen"},
}

# One layer over samples and positions, whose input has a large mean and a small deviation.
SMALL = """import "BatchNorm"
model Small(points = {points}, channels = 3, together = {together}) {{
    axis batch, point = points, channel = channels
    input x: f32[batch, point, channel]
    input y: f32[batch]
    norm = BatchNorm(channel, [batch, point], samples = together, momentum = {momentum})
    z = norm(x)
    loss squared_error(mean(z * z * z, over = [point, channel]), y)
    output z
}}
train base for Small {{ batch {batch} optimizer Sgd(lr = 0.0) }}
plan two for Small {{ mesh dp = 2 micro {micro} split {{ batch -> dp }} }}
"""

# Groups of two samples, which the loss may ignore.
GAP = """import "BatchNorm"
model Gap(channels = 1, kinds = 2) {
    axis batch, channel = channels, kind = kinds
    input x: f32[batch, channel]
    input y: i32[batch]
    norm = BatchNorm(channel, [batch], samples = 2, momentum = 0.1)
    param w: [channel, kind] = normal(0.5)
    loss cross_entropy(project(norm(x), w), y, over = kind, ignore = -1)
}
train base for Gap { batch 6 optimizer Sgd(lr = 0.0) }
plan two for Gap { mesh dp = 2 micro 1 split { batch -> dp } }
"""


class BatchNormTest(DriverTest):
    def train(self, values, text=MODEL, steps=pictures.STEPS, train="base", **chosen):
        """The losses of the steps, the tensors afterwards, the summary."""
        first = {name: safetensors_file.Tensor(shape, numbers, "F64") for name, (shape, numbers) in pictures.weights().items()}
        for name in first:
            if name.endswith("num_batches_tracked"):  # as PyTorch's files have it
                first[name] = safetensors_file.Tensor([], [pictures.TRACKED], "I64")
        safetensors_file.write(self.folder / "first.safetensors", first)
        safetensors_file.write_values(self.folder / "data.safetensors", values)
        if "ignore" in chosen:
            imported, text = text.with_suffix(""), self.folder / "filled.npar"
            text.write_text(f'import "{imported}"\ndata filled for Pictures {{ file "data.safetensors" image, label sequential pad last }}\n')
            files = []
        else:
            files = ["--data", "data.safetensors", "--data-order", "sequential"]
        summary = self.npar_json("run", text, "--train", train, "--plan", "shared", *settings(chosen), *files, "--weights", "first.safetensors", "--steps", steps,
                                 "--log", "log.jsonl", "--output", "out.safetensors")  # fmt: skip
        losses = [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return losses, {name: tensor.values for name, tensor in safetensors_file.read(self.folder / "out.safetensors").items()}, summary

    def assert_recorded(self, case, values, **chosen):
        recorded = json.loads((REFERENCE / "batch_norm_recorded.json").read_text())[case]
        losses, tensors, _ = self.train(values, **chosen)
        for step, (found, expected) in enumerate(zip(losses, recorded["losses"], strict=True)):
            self.assert_close(found, expected, 1e-9, f"loss of step {step}")
        self.assertEqual(set(tensors), set(recorded["tensors"]))
        for name, expected in recorded["tensors"].items():
            for found, value in zip(tensors[name], expected, strict=True):
                self.assertAlmostEqual(found, value, delta=1e-9 * max(1, abs(value)), msg=name)
        return recorded

    def test_against_pytorch(self):
        """Each group is a forward pass of PyTorch's layers: 20 steps, then an evaluation, which reads the running statistics."""
        for plan in ("alone", "dp, groups over ranks", "pp, recompute"):
            with self.subTest(plan):
                recorded = self.assert_recorded("full", pictures.data(pictures.BATCH * pictures.STEPS), **PLANS[plan])
        self.npar("eval", MODEL, "--train", "base", "--plan", "shared", "--set", "samples=4", "--weights", "out.safetensors", "--data", "data.safetensors",
                  "--outputs", "logits.safetensors")  # fmt: skip
        found = safetensors_file.read(self.folder / "logits.safetensors")["logits"].values[: len(recorded["logits"])]
        for value, expected in zip(found, recorded["logits"], strict=True):
            self.assertAlmostEqual(value, expected, delta=1e-9)

    def test_a_group_that_is_not_full(self):
        """The last batch of an epoch has three samples: whatever rank has how many of them, means weigh values and running variances divide by their number
        less one, over all ranks. Ranks without a sample take part, and a group without one is no update."""
        for plan in ({"samples": 8}, {"mesh.dp": 4, "samples": 1}, {"mesh.dp": 2, "samples": 4}):
            with self.subTest(**plan):
                self.assert_recorded("last of three", pictures.data(pictures.BATCH + 3), ignore=pictures.IGNORED, **plan)

    def test_mean_of_all_groups(self):
        (self.folder / "m.npar").write_text(MODEL.read_text().replace("momentum = 0.1", "momentum = none"))
        values = pictures.data(pictures.BATCH + 3)
        self.assert_recorded("mean of all", values, text=self.folder / "m.npar", ignore=pictures.IGNORED, **PLANS["dp, groups over ranks"])

    def test_frozen_statistics(self):
        """A rule of the train block: the layer normalises by its running statistics, which stay, and its parameters are trained."""
        self.assert_recorded("frozen", pictures.data(pictures.BATCH * pictures.STEPS), train="tune", **PLANS["dp, groups over ranks"])

    def test_frozen_parameters_alone(self):
        """Their running statistics move."""
        (self.folder / "m.npar").write_text(
            f'import "{MODEL.with_suffix("")}"\ntrain still for Pictures {{ batch 8 optimizer Sgd(lr = 0.1) freeze "*norm.weight", "*norm.bias" }}\n'
        )
        self.npar("run", "m.npar", "--train", "still", "--plan", "none", "--random-data", "--steps", 2, "--output", "out.safetensors")
        found = safetensors_file.read(self.folder / "out.safetensors")
        self.assertEqual(list(found["blocks.0.block.norm.weight"].values), [1.0] * pictures.WIDTH)
        self.assertEqual(list(found["blocks.0.block.norm.num_batches_tracked"].values), [4.0])
        self.assertNotIn(1.0, list(found["blocks.0.block.norm.running_var"].values))

    def test_verify(self):
        for name, chosen in PLANS.items():
            with self.subTest(name):
                plan = {"compute": "f64", **chosen}
                report = self.npar_json("verify", MODEL, "--train", "base", "--plan", "shared", *settings(plan), code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_recomputation_adds_nothing(self):
        values = pictures.data(pictures.BATCH)
        for plan in ({"mesh.dp": 2, "samples": 2}, {"mesh.pp": 2, "samples": 4}):
            hashes = [self.train(values, steps=3, again=again, **plan)[2]["state_hash"] for again in ("none", "block")]
            self.assertEqual(*hashes)

    def small(self, **changed):
        chosen = {"points": 1, "together": 4, "momentum": 0.1, "batch": 4, "micro": 2, **changed}
        (self.folder / "m.npar").write_text(SMALL.format(**chosen))

    def test_large_mean(self):
        """Mean 1e4, deviation 1e-2 in float32, on two ranks with means of their own: neither a negative variance nor one of other means."""
        self.small(points=64, together=4)
        draws = random.Random(2)
        x = [1e4 + 3e-2 * (sample >= 2) + draws.gauss(0, 1e-2) for sample in range(4) for _ in range(64 * 3)]
        safetensors_file.write_values(self.folder / "d.safetensors", {"x": ("F32", [4, 64, 3], x), "y": ("F32", [4], [0.0] * 4)})
        x = safetensors_file.read(self.folder / "d.safetensors")["x"].values  # as float32 holds them
        self.npar("run", "m.npar", "--plan", "two", "--data", "d.safetensors", "--steps", 1, "--output", "out.safetensors")
        found = safetensors_file.read(self.folder / "out.safetensors")
        for channel in range(3):
            values = [value - 1e4 for value in x[channel::3]]
            mean = math.fsum(values) / len(values)
            variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
            self.assertAlmostEqual(found["norm.running_mean"].values[channel], 0.1 * (1e4 + mean), delta=1e-4)
            self.assertAlmostEqual((found["norm.running_var"].values[channel] - 0.9) / 0.1, variance, delta=3e-3 * variance + 1e-6)

    def test_one_value_of_a_rank(self):
        """Two samples of one position, each on a rank of its own, are two values."""
        self.small(together=2, batch=2, micro=1)
        safetensors_file.write_values(self.folder / "d.safetensors", {"x": ("F32", [2, 1, 3], [1.0, 2.0, 3.0, 3.0, 6.0, 3.0]), "y": ("F32", [2], [0.0, 0.0])})
        self.npar("run", "m.npar", "--plan", "two", "--data", "d.safetensors", "--steps", 1, "--output", "out.safetensors")
        found = safetensors_file.read(self.folder / "out.safetensors")
        for name, expected in (("running_mean", [0.2, 0.4, 0.3]), ("running_var", [0.9 + 0.2, 0.9 + 0.8, 0.9])):
            for value, wanted in zip(found["norm." + name].values, expected, strict=True):
                self.assertAlmostEqual(value, wanted, delta=1e-6)

    def test_channels_first_and_last(self):
        """Three channels of five points in either order in memory: the statistics of the channels, and the same loss and gradients."""
        draws, found = random.Random(3), []
        x = [[[draws.gauss(channel, 1 + channel) for channel in range(3)] for _ in range(5)] for _ in range(4)]
        first = [[[point[channel] for point in sample] for channel in range(3)] for sample in x]
        for order, shape, values in (("point, channel", [4, 5, 3], x), ("channel, point", [4, 3, 5], first)):
            self.small(points=5)
            text = (self.folder / "m.npar").read_text()
            (self.folder / "m.npar").write_text(text.replace("input x: f32[batch, point, channel]", f"input x: f32[batch, {order}]"))
            flat = [value for sample in values for row in sample for value in row]
            safetensors_file.write_values(self.folder / "d.safetensors", {"x": ("F32", shape, flat), "y": ("F32", [4], [1.0, 2.0, 3.0, 4.0])})
            self.npar("run", "m.npar", "--plan", "two", "--set", "compute=f64", "--data", "d.safetensors", "--data-order", "sequential", "--steps", 1, "--log",
                      "log.jsonl", "--output", "out.safetensors")  # fmt: skip
            (line,) = (self.folder / "log.jsonl").read_text().splitlines()
            found.append([json.loads(line)[key] for key in ("loss", "grad_norm")])
            state = safetensors_file.read(self.folder / "out.safetensors")
            for channel in range(3):
                column = [point[channel] for sample in x for point in sample]
                self.assertAlmostEqual(state["norm.running_mean"].values[channel], 0.1 * statistics.fmean(column), delta=1e-6)
                self.assertAlmostEqual(state["norm.running_var"].values[channel], 0.9 + 0.1 * statistics.variance(column), delta=1e-5)
        self.assertGreater(found[0][1], 1)
        for one, other in zip(*found, strict=True):
            self.assert_close(one, other, 1e-12, "channels first")

    def test_ranks_with_three_and_one_samples(self):
        """The four counted samples have one weight in means, variances and gradients, three of them on one rank and one on the other."""
        (self.folder / "m.npar").write_text(GAP.replace("samples = 2", "samples = 6").replace("lr = 0.0", "lr = 1.0").replace("micro 1", "micro 3 compute f64"))
        x, labels, w = [1.0, 3.0, 50.0, 7.0, 90.0, 6.0], [0, 1, 1, 0, -1, -1], [0.5, -0.25]
        safetensors_file.write_values(self.folder / "d.safetensors", {"x": ("F32", [6, 1], x), "y": ("I32", [6], labels)})
        first = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}
        tensors = {f"norm.{name}": ("F64", [1], [value]) for name, value in first.items()}
        safetensors_file.write_values(self.folder / "w.safetensors", {**tensors, "norm.num_batches_tracked": ("F64", [], [0.0]), "w": ("F64", [1, 2], w)})
        self.npar("run", "m.npar", "--plan", "two", "--data", "d.safetensors", "--data-order", "sequential", "--weights", "w.safetensors", "--steps", 1,
                  "--output", "out.safetensors")  # fmt: skip
        found = safetensors_file.read(self.folder / "out.safetensors")
        counted = [(value, label) for value, label in zip(x, labels, strict=True) if label >= 0]
        mean = sum(value for value, _ in counted) / 4
        variance = sum((value - mean) ** 2 for value, _ in counted) / 4
        slopes = []  # of the loss, for each normalised value
        for value, label in counted:
            normal = (value - mean) / math.sqrt(variance + 1e-5)
            one = 1 / (1 + math.exp((w[0] - w[1]) * normal))  # the probability of kind 1
            slopes.append((normal, ((1 - one - (label == 0)) * w[0] + (one - (label == 1)) * w[1]) / 4))
        for name, wanted in (
            ("running_mean", 0.1 * mean),
            ("running_var", 0.9 + 0.1 * variance * 4 / 3),
            ("num_batches_tracked", 1.0),
            ("bias", -sum(slope for _, slope in slopes)),
            ("weight", 1 - sum(normal * slope for normal, slope in slopes)),
        ):
            self.assertAlmostEqual(found["norm." + name].values[0], wanted, delta=1e-12 * max(1, abs(wanted)), msg=name)

    def test_running_statistics_are_equal_on_all_ranks(self):
        """Bit for bit after each step, though each rank computes them itself: nothing is broadcast."""
        plan = settings({"mesh.dp": 4, "samples": 1, "compute": "f32"})
        self.npar("run", MODEL, "--train", "base", "--plan", "shared", *plan, "--random-data", "--steps", 4, "--check-replicas", 1)

    def test_a_missing_group_between_others(self):
        """Its samples are ignored: the two updates weigh 0.1 and 0.1 * 0.9 ** 2, scaled to 1 - 0.9 ** 2 together."""
        (self.folder / "m.npar").write_text(GAP)
        x = [1.0, 3.0, 50.0, 90.0, 6.0, 12.0]
        safetensors_file.write_values(self.folder / "d.safetensors", {"x": ("F32", [6, 1], x), "y": ("I32", [6], [0, 1, -1, -1, 1, 0])})
        for plan in ("none", "two"):
            self.npar("run", "m.npar", "--plan", plan, "--data", "d.safetensors", "--data-order", "sequential", "--steps", 1, "--output", "out.safetensors")
            found = safetensors_file.read(self.folder / "out.safetensors")
            scale = (1 - 0.9**2) / (0.1 + 0.1 * 0.9**2)
            for name, first, earlier, later in (("running_mean", 0, 2, 9), ("running_var", 1, 2, 18), ("num_batches_tracked", None, None, None)):
                wanted = 2 if first is None else 0.9**2 * first + scale * (0.1 * 0.9**2 * earlier + 0.1 * later)
                self.assertAlmostEqual(found["norm." + name].values[0], wanted, delta=1e-5)

    def test_refused(self):
        for changed, said in (
            ({"together": 1}, "a group of 1 sample with 1 position has 1 value per channel"),
            ({"together": "batch", "batch": 8}, "the forward pass needs the statistics of 8 samples, and a micro-batch has 4 of them on all ranks together"),
            ({"together": 3, "batch": 12}, "a group of 3 samples does not fit into one micro-batch, which has 4 samples"),
            ({"momentum": 0}, "argument 'momentum' of 'batch_norm' must be above 0 and at most 1"),
        ):
            self.small(**changed)
            if changed.get("together") == "batch":
                text = (self.folder / "m.npar").read_text()
                (self.folder / "m.npar").write_text(text.replace(", together = batch", "").replace("samples = together", "samples = batch"))
            self.assertIn(said, self.npar("compile", "m.npar", "--plan", "two", code=1).error)
