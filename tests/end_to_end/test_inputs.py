"""Programs with inputs of any number, name, type and axes: under every plan what one rank computes, from files of tensors, against plain Python."""

import json
import math
import os
import pathlib
import subprocess
import time
import unittest

from driver import LONG, NPAR, REFERENCE, DriverTest, safetensors_file, settings

import tagger_data  # of the reference

TEXT = pathlib.Path(__file__).resolve().parent / "inputs.npar"

# No axis but the samples: x @ w + table[kind] against a label.
LINEAR = """
model Linear(channels = 3, kinds = 2, labels = 4) {
    axis batch, channel = channels, kind = kinds, label = labels
    input x: f32[batch, channel]
    input kind_of: u8[batch]
    input answer: i32[batch]
    param w: [channel, label] = normal(0.5)
    param table: [kind, label] = normal(0.5)
    loss cross_entropy(project(x, w) + gather(table, kind_of, over = kind), answer, over = label)
}
train base for Linear { batch 4 optimizer Sgd(lr = 1.0) }
plan divided(dp = 1, tp = 1) for Linear { mesh dp, tp micro 1 split { batch -> dp channel pad, label pad -> tp } }
"""


class PlansTest(DriverTest):
    """In float64, on random values of all inputs."""

    def verify(self, **chosen):
        report = self.npar_json("verify", TEXT, *settings(chosen), code=None)
        self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_equal_to_one_rank(self):
        plans = [
            {"mesh.dp": 2, "mesh.tp": 2, "zero": 1},
            {"mesh.pp": 2, "mesh.cp": 2, "mesh.tp": 2},
        ]
        if LONG:
            plans += [
                {"mesh.dp": 4, "zero": 3},
                {"mesh.tp": 4},
                {"mesh.tp": 2, "sequence": "true"},
                {"mesh.tp": 2, "channels": 7},
                {"mesh.cp": 2, "zigzag": "false"},
                {"mesh.cp": 4, "mesh.dp": 2},
                {"mesh.dp": 2, "mesh.pp": 2, "zero": 2, "schedule": "zb_h1"},
                {"mesh.dp": 2, "mesh.tp": 2, "ignore": -100},
                {"mesh.dp": 2, "mesh.pp": 2, "mesh.tp": 2, "compute": "bf16"},
            ]
        for chosen in plans:
            with self.subTest(**chosen):
                self.verify(**chosen)

    def test_ranks_get_their_part_of_every_dimension(self):
        """The channels of the floats over tp, the sequence of all in zigzag order over cp, the samples over dp."""
        chosen = settings({"mesh.dp": 2, "mesh.cp": 2, "mesh.tp": 2})
        inputs = [line.strip().rsplit(" at ", 1)[0] for line in self.npar("compile", TEXT, *chosen, "--emit=rank", "--rank", 5).output.splitlines() if line.startswith("  input ")]
        self.assertEqual(
            inputs,
            [
                "input text i32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag of 2]",
                "input kinds_of i32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag of 2]",
                "input weight f32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag of 2]",
                "input signal f32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag of 2, channel 3 of 6 from 3]",
                "input answers i32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag of 2]",
            ],
        )

    def test_speeds_count_samples(self):
        """Where no stream of tokens is fed there are none to count."""
        result = self.npar("run", TEXT, "--random-data", "--steps", 1, "--plan", "none", "--log", "log.jsonl", "--json")
        self.assertIn("samples_per_second", json.loads(result.output))
        self.assertEqual(json.loads((self.folder / "log.jsonl").read_text())["samples"], 8)


class ReferenceTest(DriverTest):
    """Losses and gradient norms of three steps in float64, against PyTorch's (tests/reference/tagger_reference.py)."""

    def test_against_pytorch(self):
        safetensors_file.write_values(self.folder / "data.safetensors", tagger_data.data())
        first = {name: safetensors_file.Tensor(shape, values, "F64") for name, (shape, values) in tagger_data.weights().items()}
        safetensors_file.write(self.folder / "first.safetensors", first)
        recorded = json.loads((REFERENCE / "tagger_recorded.json").read_text())["log"]
        for plan in ({"mesh.dp": 2, "mesh.tp": 2, "zero": 3}, {"mesh.pp": 2, "mesh.cp": 2}):
            arguments = settings(plan, compute="f64")
            self.npar("run", TEXT, *arguments, "--data", "data.safetensors", "--data-order", "sequential", "--weights", "first.safetensors", "--steps", len(recorded), "--log", "log.jsonl")
            for line, expected in zip((self.folder / "log.jsonl").read_text().splitlines(), recorded, strict=True):
                found = json.loads(line)
                for what in ("loss", "grad_norm"):
                    self.assert_close(found[what], expected[what], 1e-9, f"{what} of step {expected['step']}")


class TensorFileTest(DriverTest):
    """Data as tensors: one for each input, the samples first."""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "linear.npar"
        self.model.write_text(LINEAR)
        self.x = [0.25 * ((7 * i) % 11) - 1 for i in range(18)]
        self.kinds, self.answers = [0, 1, 1, 0, 1, 0], [3, 0, 2, 1, 1, 0]
        self.tensors = {"x": ("F32", [6, 3], self.x), "kind_of": ("U8", [6], self.kinds), "answer": ("I64", [6], self.answers)}
        safetensors_file.write_values(self.folder / "data.safetensors", self.tensors)

    def run_model(self, *arguments, code=0):
        return self.npar("run", "linear.npar", "--data", "data.safetensors", "--steps", 1, *arguments, code=code)

    def loss_and_gradients(self, w, table, samples):
        """Cross-entropy by the book."""
        loss, dw, dtable = 0.0, [[0.0] * 4 for _ in range(3)], [[0.0] * 4 for _ in range(2)]
        for sample in samples:
            x, kind, answer = self.x[3 * sample : 3 * sample + 3], self.kinds[sample], self.answers[sample]
            logits = [sum(x[c] * w[c][label] for c in range(3)) + table[kind][label] for label in range(4)]
            total = sum(math.exp(value) for value in logits)
            loss += (math.log(total) - logits[answer]) / len(samples)
            for label in range(4):
                slope = (math.exp(logits[label]) / total - (label == answer)) / len(samples)
                dtable[kind][label] += slope
                for c in range(3):
                    dw[c][label] += slope * x[c]
        return loss, dw, dtable

    def test_a_step_by_the_book(self):
        """Loss and new weights of one step of gradient descent on samples 0 to 3, on one rank and on four, of which two keep a channel of padding."""
        w = [[0.1 * (c + label) - 0.2 for label in range(4)] for c in range(3)]
        table = [[0.3 - 0.1 * kind * label for label in range(4)] for kind in range(2)]
        flat = lambda rows: [value for row in rows for value in row]  # noqa: E731
        safetensors_file.write_values(self.folder / "first.safetensors", {"w": ("F32", [3, 4], flat(w)), "table": ("F32", [2, 4], flat(table))})
        loss, dw, dtable = self.loss_and_gradients(w, table, range(4))
        for plan in (["--plan", "none"], settings({"mesh.dp": 2, "mesh.tp": 2})):
            result = json.loads(self.run_model(*plan, "--data-order", "sequential", "--weights", "first.safetensors", "--output", "new.safetensors", "--json").output)
            self.assert_close(result["loss"], loss, 1e-6)
            new = safetensors_file.read(self.folder / "new.safetensors")
            for name, before, slope in (("w", w, dw), ("table", table, dtable)):
                for value, old, step in zip(new[name].values, flat(before), flat(slope)):
                    self.assertAlmostEqual(value, old - step, delta=1e-6, msg=name)

    def test_types_that_convert(self):
        before = json.loads(self.run_model("--json").output)["loss"]
        safetensors_file.write_values(self.folder / "data.safetensors", {**self.tensors, "kind_of": ("I64", [6], self.kinds), "answer": ("U8", [6], self.answers)})
        self.assertEqual(json.loads(self.run_model("--json").output)["loss"], before)

    def test_order_and_seed(self):
        """The same batches by seed under every plan; others by another seed."""
        losses = [json.loads(self.run_model("--json", *more).output)["loss"] for more in ([], ["--plan", "none"], ["--seed", 5])]
        self.assert_close(losses[0], losses[1], 1e-6)
        self.assertNotEqual(losses[0], losses[2])

    def test_tensors_that_do_not_fit(self):
        nan, needs = float("nan"), "it needs one for each input of the model: x, kind_of, answer"
        for change, expected in [
            ({"x": None}, f"data 'data.safetensors' has no tensor 'x'; {needs}"),
            ({"x": ("F64", [6, 3], self.x)}, "tensor 'x' of 'data.safetensors' is F64 [6, 3], but the input is f32, which takes F32, BF16 and F16"),
            ({"answer": ("F32", [6], self.answers)}, "is F32 [6], but the input is i32, which takes I32, I64 and U8"),
            ({"x": ("F32", [6, 4], [0] * 24)}, "tensor 'x' of 'data.safetensors' is F32 [6, 4], but the input takes [samples, channel 3]"),
            ({"x": ("F32", [18], self.x)}, "is F32 [18], but the input takes [samples, channel 3]"),
            ({"x": ("F32", [], [1])}, "is F32 [], but the input takes [samples, channel 3]"),
            ({"answer": ("I32", [5], [0] * 5)}, "tensor 'answer' of 'data.safetensors' is I32 [5]: 5 samples, tensor 'x' has 6"),
            ({"answer": ("I32", [6], [0, 1, 2, 3, 4, 0])}, "sample 4 of 'data.safetensors' has 'answer' 4, but axis 'label' (linear.npar:3:51) has 4 classes, 0 to 3"),
            ({"answer": ("I64", [6], [0, 1, -1, 3, 2, 0])}, "sample 2 of 'data.safetensors' has 'answer' -1, but axis 'label'"),
            ({"kind_of": ("I64", [6], [0, 1, 0, 1, 0, 2**40])}, "sample 5 of 'data.safetensors' has 'kind_of' 1099511627776, but axis 'kind'"),
            ({"x": ("F32", [6, 3], self.x[:13] + [nan] + self.x[14:])}, "sample 4 of 'data.safetensors' has 'x' NaN at position 1: all values must be finite"),
            ({"x": ("F32", [6, 3], [float("inf")] + self.x[1:])}, "sample 0 of 'data.safetensors' has 'x' infinity at position 0"),
            ({"x": ("F32", [2, 3], self.x[:6]), "kind_of": ("U8", [2], [0, 0]), "answer": ("I32", [2], [0, 0])},
             "data 'data.safetensors' has 2 samples, but a batch needs 4 and would repeat some"),
            ({name: (kind, [0, *shape[1:]], []) for name, (kind, shape, _) in self.tensors.items()}, "has 0 samples, but a batch needs 4"),
        ]:  # fmt: skip
            with self.subTest(expected):
                safetensors_file.write_values(self.folder / "data.safetensors", {name: tensor for name, tensor in {**self.tensors, **change}.items() if tensor})
                self.assertIn(expected, self.run_model("--log", "log.jsonl", code=1).error)
                self.assertFalse((self.folder / "log.jsonl").exists())

    def test_a_tensor_that_is_no_input(self):
        safetensors_file.write_values(self.folder / "data.safetensors", {**self.tensors, "extra": ("F32", [1], [0])})
        self.assertIn("tensor 'extra' of 'data.safetensors' is not an input of the model and is ignored", self.run_model().error)

    def test_a_file_that_is_cut_while_training_goes_on(self):
        """No zeros are trained on in place of what is gone."""
        command = [NPAR, "run", "linear.npar", "--data", "data.safetensors", "--steps", "1000000000", "--log", "log.jsonl"]
        with subprocess.Popen([str(word) for word in command], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            begun = time.monotonic()
            while not list(self.folder.glob("log.jsonl*")) and time.monotonic() < begun + 60:
                time.sleep(0.05)
            time.sleep(0.3)
            os.truncate(self.folder / "data.safetensors", 150)
            error = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 1, error[-2000:])
        self.assertRegex(error, r"npar: error: .*data\.safetensors")

    def test_files_that_are_no_tensors(self):
        good = (self.folder / "data.safetensors").read_bytes()
        for bytes_, expected in [(good[:-1], "its header is wrong at byte "), (b"abc", "its 3 bytes are too few"), (good + b"x", "belong to no tensor")]:
            (self.folder / "data.safetensors").write_bytes(bytes_)
            self.assertIn(f"cannot read data 'data.safetensors': {expected}" if expected.startswith("its") else expected, self.run_model(code=1).error)

    def test_tokens_for_inputs_that_are_no_stream(self):
        (self.folder / "text").write_bytes(b"\1" * 100)
        error = self.npar("run", "linear.npar", "--data", "text", "--tokens", "bytes", "--steps", 1, code=1).error
        self.assertIn("it cannot feed input 'x', f32 [batch 4, channel 3], of x, kind_of, answer; give a safetensors file with a tensor for each", error)
        self.assertIn("--tokens needs a file of tokens", self.run_model("--tokens", "bytes", code=2).error)
        self.assertIn("--mask needs a file of tokens", self.run_model("--mask", "text", code=2).error)


class TruthTest(DriverTest):
    """Targets of binary cross-entropy that are integers are 0 and 1: random ones are, and of data all others are refused."""

    MODEL = """
model Truth(channels = 4) {{
    axis batch, channel = channels
    input x: f32[batch, channel]
    input y: {type}[batch]
    param w: [channel] = normal(0.5)
    loss {loss}
}}
train base for Truth {{ batch 8 optimizer Sgd(lr = 1.0) }}
plan halves for Truth {{ mesh dp = 2 micro 2 split {{ batch -> dp }} compute fp16 }}
"""
    LOSS = "binary_cross_entropy(project(x, w), y)"

    def write(self, loss=LOSS, type="i32", **wrong):
        (self.folder / "m.npar").write_text(self.MODEL.format(type=type, loss=loss))
        x, y = [0.25 * ((7 * i) % 11) - 1 for i in range(64)], [i % 2 for i in range(16)]
        for sample, value in wrong.values():
            y[sample] = value
        safetensors_file.write_values(self.folder / "data.safetensors", {"x": ("F32", [16, 4], x), "y": ("I32", [16], y)})

    def test_random_data(self):
        for type in ("i32", "u8"):
            self.write(type=type)
            self.assertTrue(self.npar_json("verify", "m.npar")["ok"])
            self.npar("run", "m.npar", "--random-data", "--steps", 5, "--log", "log.jsonl")
            losses = [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]
            self.assertTrue(all(0 < loss < 10 for loss in losses), losses)

    def test_other_data(self):
        run = ["run", "m.npar", "--data", "data.safetensors", "--steps", 1]
        for wrong in (2, -1):
            self.write(wrong=(5, wrong))
            said = f"sample 5 of 'data.safetensors' has 'y' {wrong}, but the binary cross-entropy (m.npar:7:10) takes 0 and 1; `loss ... where` may leave others out"
            self.assertIn(said, self.npar(*run, code=1).error)

    def test_a_condition_of_the_targets_leaves_others_out(self):
        self.write()
        known = self.npar_json("run", "m.npar", "--data", "data.safetensors", "--steps", 1, "--data-order", "sequential")["loss"]
        for loss in (f"{self.LOSS} where y != -1", f"where(y < 0, 0.0, {self.LOSS})"):
            self.write(loss, wrong=(12, -1))
            found = self.npar_json("run", "m.npar", "--data", "data.safetensors", "--steps", 1, "--data-order", "sequential")["loss"]
            self.assertEqual(found, known)  # of the first batch, which has none


class StreamTest(DriverTest):
    """A stream of tokens feeds what is looked up and, one place on, what the loss compares with, whatever they are called."""

    MODEL = """
model Words(length = 4) {{
    axis batch, seq = length, vocab = 128, embed = 4
    input {before}: {type}[batch, seq]
    input {after}: i32[batch, seq]
    param table: [vocab, embed] = normal(0.5)
    loss cross_entropy(project(gather(table, {before}, over = vocab), table), {after}, over = vocab)
}}
train base for Words {{ batch 4 optimizer Sgd(lr = 1.0) }}
"""

    def loss(self, **names):
        (self.folder / "m.npar").write_text(self.MODEL.format(**names))
        return self.npar_json("run", "m.npar", "--data", self.text_file(400), "--tokens", "bytes", "--steps", 3)["loss"]

    def test_names_mean_nothing(self):
        named = self.loss(before="tokens", after="targets", type="i32")
        self.assertEqual(self.loss(before="targets", after="tokens", type="i32"), named)
        self.assertEqual(self.loss(before="a", after="b", type="u8"), named)

    def test_the_same_as_tensors(self):
        """What a stream of tokens feeds may be tensors too, here with the samples of the stream."""
        named = self.loss(before="a", after="b", type="i32")
        stream = self.text_file(400).read_bytes()
        count = (len(stream) - 1) // 4
        safetensors_file.write_values(self.folder / "data.safetensors", {name: ("U8", [count, 4], stream[first : first + 4 * count]) for name, first in (("a", 0), ("b", 1))})
        self.assertEqual(self.npar_json("run", "m.npar", "--data", "data.safetensors", "--steps", 3)["loss"], named)


if __name__ == "__main__":
    unittest.main()
