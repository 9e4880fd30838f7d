"""Training by epochs: the number of steps, rates in epochs and shares of the run, evaluation and a row for each epoch, the same in any number of ranks and processes."""

import json
import math
import random
import unittest

from driver import DriverTest, settings
from test_processes import MPIS
import safetensors_file  # of the reference, as the driver has it on the path

TEXT = """
model Guesser(channels = 24, labels = 4) {
    axis batch, channel = channels, label = labels
    input x: f32[batch, channel]
    input answer: i32[batch]
    param w: [channel, label] = normal(0.02)
    scores = project(x, w)
    loss cross_entropy(scores, answer, over = label)
    metric right = accuracy(argmax(scores, over = label), answer)
}
data all for Guesser {
    file "all.safetensors" x, answer
    split 0.75, 0.25 seed 3
    LAST
}
train base(rate = 0.5) for Guesser { batch 8 optimizer Sgd(lr = rate) }
train epochs for Guesser { batch 8 epochs 1.5 optimizer Sgd(lr = 0.5) }
plan divided(dp = 1, tp = 1) for Guesser {
    mesh dp, tp
    micro 2
    split { batch -> dp channel -> tp }
}
"""
SAMPLES = 44  # 33 for training: 4.125 steps; 11 for evaluation, which no batch divides

# What PyTorch gives for a peak of 0.5 (transformers 4, torch 2): get_linear_schedule_with_warmup and get_cosine_schedule_with_warmup with 2 and 9 steps,
# CosineAnnealingLR over 9 steps to 0.05, StepLR with factor 0.7 in epochs of 4 steps.
LINEAR = [0.0, 0.25, 0.5, 0.42857142857142855, 0.35714285714285715, 0.2857142857142857, 0.21428571428571427, 0.14285714285714285, 0.07142857142857142]
COSINE = [0.0, 0.25, 0.5, 0.47524221697560476, 0.4058724504646834, 0.3056302334890786, 0.19436976651092142, 0.09412754953531663, 0.02475778302439524]
ANNEALING = [0.5, 0.4864308396768294, 0.44735999970177, 0.38749999999999996, 0.31407083997505936, 0.2359291600249407, 0.16250000000000006, 0.10264000029822998, 0.06356916032317063]
STEPS = [0.5] * 4 + [0.35] * 4 + [0.24499999999999997] * 4


class EpochsTest(DriverTest):
    def setUp(self):
        super().setUp()
        chance = random.Random(5)
        self.write("")
        x = [chance.randint(-512, 512) / 512 for _ in range(SAMPLES * 24)]
        safetensors_file.write_values(self.folder / "all.safetensors", {"x": ("F32", [SAMPLES, 24], x), "answer": ("I32", [SAMPLES], [chance.randrange(4) for _ in range(SAMPLES)])})

    def write(self, last):
        (self.folder / "m.npar").write_text(TEXT.replace("LAST", last))

    def run_it(self, *more, train="base", quiet=True, model="m.npar", **plan):
        chosen = settings({"compute": "f64", **{f"mesh.{axis}": size for axis, size in plan.items()}})
        return self.npar_json("train", model, "--train", train, *chosen, *(["--quiet"] if quiet else []), *more)

    def log(self, name="log.jsonl"):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def rates(self, *more, rate, **plan):
        self.run_it("--set", f"optimizer.lr={rate}", "--log", "log.jsonl", *more, **plan)
        return [row["lr"] for row in self.log() if "lr" in row]

    def assert_rates(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for step, (rate, known) in enumerate(zip(found, expected)):
            self.assertAlmostEqual(rate, known, delta=1e-12, msg=f"step {step}")

    def test_rows_are_the_same_everywhere(self):
        """A row for each epoch, with exactly the samples that are reserved, on 1, 2 and 4 ranks and in one and four processes."""
        rows = {}
        for name, launch, plan in [("one", [], {}), ("two", [], {"dp": 2}), ("four", [], {"dp": 2, "tp": 2}), *([("processes", ["launch", "-n", 4, "--mpi", MPIS[0]], {"dp": 2, "tp": 2})] if MPIS else [])]:
            chosen = settings({"compute": "f64", **{f"mesh.{axis}": size for axis, size in plan.items()}})
            words = ["train", "m.npar", "--train", "base", *chosen, "--epochs", 2.5, "--set", "optimizer.lr=cosine(0.5, warmup = 0.3 epochs)", "--log", f"{name}.jsonl", "--json"]
            result = self.npar(*launch, *words)
            found = json.loads(result.output)
            self.assertEqual(found["steps"], math.ceil(2.5 * 33 / 8))
            rows[name] = [row for row in self.log(f"{name}.jsonl") if "epoch_done" in row]
            self.assertEqual([(row["epoch_done"], row["step"], row["epoch_steps"], row["eval_samples"]) for row in rows[name]], [(1, 5, 5, 11), (2, 9, 4, 11), (2.5, 11, 2, 11)])
            losses = [row["loss"] for row in self.log(f"{name}.jsonl") if "lr" in row]
            self.assertAlmostEqual(rows[name][0]["epoch_loss"], sum(losses[:5]) / 5, delta=1e-12)
            self.assertEqual([(row["epoch"], row["eval"]["samples"], row["best"]) for row in found["epochs"]], [(row["epoch_done"], 11, row["best"]) for row in rows[name]])
            for key in ("epoch_loss", "eval_loss", "eval_right"):
                for row, first in zip(rows[name], rows["one"]):
                    self.assertAlmostEqual(row[key], first[key], delta=1e-10)
            for words in ("npar: 2.5 epochs: 11 steps, an epoch takes 4.125\n", "npar: cosine learning rate, from 0.5 to 0 within 11 steps (the run), warm-up 2 steps (0.3 epochs)\n"):
                self.assertIn(words, result.error)
            self.assertRegex(result.error, r"\nepoch 1/2\.5  loss \d\.\d+  eval loss \d\.\d+, right 0\.\d+ over 11 samples  [\d,]+ samples/s  \d+\.\d s  best\n")
        same = [[{key: value for key, value in row.items() if "second" not in key} for row in rows[name]] for name in ("four", "processes") if name in rows]
        self.assertEqual(same[0], same[-1])

    def test_rates_are_those_of_other_programs(self):
        """Their first warm-up step has rate 0; npar's first step has what is their second."""
        self.write("drop last")  # 4 steps
        for kind, known in (("linear", LINEAR), ("cosine", COSINE)):
            self.assert_rates(self.rates("--steps", 9, rate=f"{kind}(0.5, warmup = 2)"), [known[1], known[2], *known[2:]])
            self.assert_rates(self.rates("--steps", 9, rate=f"{kind}(0.5, warmup = 0.2 run)"), [known[1], known[2], *known[2:]])
            self.assert_rates(self.rates("--epochs", 2.25, rate=f"{kind}(0.5, warmup = 0.5 epochs, steps = 2.25 epochs)"), [known[1], known[2], *known[2:]])
        self.assert_rates(self.rates("--steps", 9, rate="cosine(0.5, final = 0.05)", tp=2), ANNEALING)
        self.assert_rates(self.rates("--epochs", 3, rate="step(0.5, factor = 0.7, every = 1 epoch)", dp=2), STEPS)
        self.assert_rates(self.rates("--steps", 2, "--set", "batch=16", rate="scaled(0.25, per = 8)"), [0.5, 0.5])

    def test_the_end_of_an_epoch_within_a_step(self):
        """Epochs of 4.125 steps: the rate changes in the first step that begins in the new epoch."""
        found = self.rates("--epochs", 3, rate="step(1, factor = 0.5, every = 1 epoch)")
        epochs = [row["epoch"] for row in self.log() if "lr" in row]
        self.assert_rates(found, [0.5**epoch for epoch in epochs])
        self.assertEqual(epochs, [0] * 5 + [1] * 4 + [2] * 4)

    def test_resume(self):
        """In the middle of an epoch with the same bits; with another batch where the data are."""
        rate = ["--set", "optimizer.lr=linear(0.5, warmup = 0.5 epochs, steps = 4 epochs)"]
        whole = self.run_it("--epochs", 3, "--log", "whole.jsonl", *rate)
        self.run_it("--steps", 6, "--checkpoint", "kept", *rate)
        again = self.run_it("--epochs", 3, "--checkpoint", "kept", "--resume", "--log", "log.jsonl", *rate)
        self.assertEqual((again["parameter_hash"], again["steps"]), (whole["parameter_hash"], 13))
        self.assertEqual([row["lr"] for row in self.log() if "lr" in row], [row["lr"] for row in self.log("whole.jsonl") if "lr" in row][6:])
        self.write("drop last")
        self.run_it("--epochs", 1.5, "--checkpoint", "other", *rate)  # 6 steps of 8 samples
        found = self.run_it("--epochs", 4, "--set", "batch=16", "--checkpoint", "other", "--resume", "--log", "log.jsonl", *rate)
        self.assertEqual(found["steps"], 6 + 1 + 2 * 2)
        # Epochs of 2 steps: from 1.5 epochs on, the warm-up is long done.
        self.assert_rates([row["lr"] for row in self.log() if "lr" in row], [0.5 * (8 - step) / 7 for step in (3, 4, 5, 6, 7)])

    def test_a_compiled_program(self):
        """It learns the length of an epoch when it runs; several files with weights."""
        rate = "optimizer.lr=exponential(0.5, factor = 0.9, every = 0.5 epochs)"
        (self.folder / "m.npar").write_text(TEXT.replace("LAST", "pad last").replace('"all.safetensors" x', '"all.safetensors" weight 2, "more.safetensors" weight 1  x').replace("over = label)\n", "over = label, ignore = -1)\n", 1))
        safetensors_file.write_values(self.folder / "more.safetensors", {"x": ("F32", [8, 24], [index / 192 for index in range(192)]), "answer": ("I32", [8], [0, 1, 2, 3] * 2)})
        expected = self.run_it("--epochs", 2, "--set", rate)
        self.npar("compile", "m.npar", "--train", "base", "--set", "compute=f64", "--set", rate, "-o", "m.npx")
        found = self.npar_json("train", "m.npx", "--epochs", 2, "--quiet", "--log", "log.jsonl")
        self.assertEqual((found["parameter_hash"], found["steps"]), (expected["parameter_hash"], 2 * math.ceil(39 / 8)))
        self.assert_rates([row["lr"] for row in self.log() if "lr" in row], [0.5 * 0.9 ** (step / 2.5) for step in range(10)])

    def test_the_train_block_asks_for_epochs(self):
        found = self.run_it(train="epochs", quiet=False)
        self.assertEqual((found["steps"], [row["step"] for row in found["epochs"]]), (7, [5, 7]))
        error = self.npar("train", "m.npar", "--train", "epochs").error
        self.assertIn("npar: train block 'epochs' asks for 1.5 epochs: 7 steps, an epoch takes 4.125\n", error)
        self.assertEqual(self.run_it("--steps", 2, train="epochs")["steps"], 2)
        self.assertEqual(self.run_it("--epochs", 0.25, train="epochs")["steps"], 2)

    def test_early_stopping_and_intervals(self):
        """Per epoch, with the best checkpoint; the other rows are whole."""
        found = self.run_it("--epochs", 300, "--eval-stop-after", 2, "--checkpoint", "kept", "--checkpoint-every", "1 epoch", "--checkpoint-keep", 1, "--log", "log.csv", "--log", "runs/", "--set", "optimizer.lr=8")
        self.assertTrue(found["stopped_early"])
        rows = found["epochs"]
        best = int(max(row["epoch"] for row in rows if row["best"]))
        self.assertEqual(rows[-1]["epoch"], best + 2)
        named = json.loads((self.folder / "kept/best.json").read_text())
        self.assertEqual(named["step"], rows[best - 1]["step"])
        lines = [line.split(",") for line in (self.folder / "log.csv").read_text().splitlines()]
        columns = dict(zip(lines[0], zip(*lines[1:])))
        epochs = [index for index, kind in enumerate(columns["kind"]) if kind == "epoch"]
        self.assertEqual([float(columns["epoch_loss"][index]) for index in epochs], [row["loss"] for row in rows])
        self.assertEqual([float(columns["eval_loss"][index]) for index in epochs], [row["eval"]["loss"] for row in rows])
        self.assertEqual([columns["best"][index] == "1" for index in epochs], [row["best"] for row in rows])
        self.run_it("--steps", 9, "--eval-every", "0.5 epochs", "--log", "log.jsonl")
        self.assertEqual([row["step"] for row in self.log() if "eval_loss" in row], [3, 5, 7, 9])


if __name__ == "__main__":
    unittest.main()
