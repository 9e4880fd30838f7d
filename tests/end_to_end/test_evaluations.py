"""Evaluations inside a run: they change nothing of the training, give what `npar eval` gives, end a run that learns no more, and keep the best checkpoint."""

import json
import random
import unittest

from driver import DriverTest, settings
import safetensors_file  # of the reference, as the driver has it on the path

# More parameters than samples, and labels without a reason: what is learned helps nothing that is held out.
TEXT = """
model Guesser(channels = 24, labels = 3) {
    axis batch, channel = channels, label = labels
    input x: f32[batch, channel]
    input answer: i32[batch]
    param w: [channel, label] = normal(0.02)
    scores = project(x, w)
    loss cross_entropy(scores, answer, over = label)
    metric right = accuracy(argmax(scores, over = label), answer)
    output scores
}
data all for Guesser {
    file "all.safetensors" x, answer
    split 0.75, 0.25 seed 3
}
train base for Guesser { batch 6 optimizer Sgd(lr = 1.0) }
plan divided(dp = 1, tp = 1, zero = 0) for Guesser {
    mesh dp, tp
    micro 3
    split { batch -> dp channel -> tp }
    store { optimizer -> dp if zero >= 1 gradients -> dp if zero >= 2 parameters -> dp if zero >= 3 }
}
"""
SAMPLES = 44  # 33 and 11: neither is whole batches


class EvaluationsTest(DriverTest):
    def setUp(self):
        super().setUp()
        chance = random.Random(5)
        (self.folder / "m.npar").write_text(TEXT)
        x = [chance.randint(-512, 512) / 512 for _ in range(SAMPLES * 24)]
        safetensors_file.write_values(self.folder / "all.safetensors", {"x": ("F32", [SAMPLES, 24], x), "answer": ("I32", [SAMPLES], [chance.randrange(3) for _ in range(SAMPLES)])})

    def run_it(self, *more, plan=None, steps=20):
        chosen = settings({"compute": "f64", "mesh.dp": 1, **(plan or {})})
        return self.npar_json("run", "m.npar", *chosen, "--steps", steps, "--quiet", *more)

    def log(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def test_the_training_is_not_disturbed(self):
        """the same memory (The same parameters) evaluations, bit for bit, and the same numbers as `npar eval` gives of the weights."""
        alone = self.run_it("--log", "alone.jsonl", steps=8)
        said = {}
        for name, plan in {"one": {}, "dp": {"mesh.dp": 2, "zero": 3}, "tp": {"mesh.tp": 2}}.items():
            found = self.run_it("--eval-every", 3, "--log", f"{name}.jsonl", "--output", f"{name}.safetensors", plan=plan, steps=8)
            log = self.log(f"{name}.jsonl")
            self.assertEqual([entry["step"] for entry in log if "eval_loss" in entry], [3, 6, 8])
            rated = {"schema": 1, "step": 8, "eval_loss": found["eval"]["loss"], "eval_right": found["eval"]["metrics"]["right"], "eval_samples": 11}
            self.assertEqual((log[-1], found["eval"]["samples"]), (rated, 11))
            said[name] = found["eval"]["metrics"]["right"]
            if not plan:
                self.assertEqual(found["parameter_hash"], alone["parameter_hash"])
                self.assertEqual([entry["loss"] for entry in log if "loss" in entry], [entry["loss"] for entry in self.log("alone.jsonl")])
            by_eval = self.npar_json("eval", "m.npar", "--set", "compute=f64", "--plan", "divided", "--weights", f"{name}.safetensors", "--quiet")
            self.assertEqual(by_eval["metrics"], found["eval"]["metrics"])
            self.assertAlmostEqual(by_eval["loss"], found["eval"]["loss"], delta=1e-6)  # the file has float32
        self.assertEqual(len(set(said.values())), 1)

    def test_a_run_that_learns_no_more_ends(self):
        found = self.run_it("--eval-every", 2, "--eval-stop-after", 3, "--log", "log.jsonl", "--checkpoint", "kept", "--checkpoint-every", 2, "--checkpoint-keep", 1, steps=400)
        values = {entry["step"]: entry["eval_loss"] for entry in self.log("log.jsonl") if "eval_loss" in entry}
        best = min(values, key=values.get)
        self.assertEqual((found["steps"], found["best"]["step"], found["best"]["loss"]), (best + 6, best, values[best]))
        self.assertEqual(max(values), best + 6)
        self.assertEqual(json.loads((self.folder / "kept/best.json").read_text()), {"checkpoint": f"step-{best}", "step": best, "loss": values[best]})
        self.assertEqual({path.name for path in (self.folder / "kept").glob("step-*")}, {f"step-{best}", f"step-{best + 6}"})
        again = self.npar_json("eval", f"kept/step-{best}", "--set", "compute=f64", "--data", "all.safetensors", "--part", 2, "--quiet", code=None)
        self.assertAlmostEqual(again["loss"], values[best], delta=1e-9)

    def test_a_checkpoint_without_its_data(self):
        """The checkpoint contains the texts, but not the data that their data block names relative to them."""
        self.run_it("--checkpoint", "kept", steps=1)
        error = self.npar("eval", "kept", "--quiet", code=1).error
        self.assertRegex(error, r"the data block of 'kept/step-1' reads '.*all\.safetensors', and a checkpoint contains no data")
        self.assertIn("npar: help: name the data: --data FILE", error)

    def test_the_best_checkpoint_stays_whenever_it_is_whole(self):
        """Steps are faster than the disk here: the best one, next to the last, is not written yet when the last one comes."""
        for run in range(3):
            folder = f"kept{run}"
            found = self.run_it("--eval-every", 10, "--eval-stop-after", 1, "--eval-stop-on", "right", "--checkpoint", folder, "--checkpoint-every", 10, "--checkpoint-keep", 1, steps=400)
            best = found["best"]["step"]
            self.assertEqual(json.loads((self.folder / folder / "best.json").read_text())["checkpoint"], f"step-{best}")
            self.assertEqual({path.name for path in (self.folder / folder).glob("step-*")}, {f"step-{best}", f"step-{found['steps']}"})

    def test_predictions_need_no_targets_that_count(self):
        """Samples without labels: predictions are written, and losses and metrics are reported to have no value."""
        (self.folder / "m.npar").write_text(TEXT.replace("over = label)\n    metric right = accuracy(argmax(scores, over = label), answer)", "over = label) where answer > 5"))
        part = {"x": ("F32", [3, 24], [index / 72 for index in range(72)]), "answer": ("I32", [3], [0, 1, 2])}
        safetensors_file.write_values(self.folder / "new.safetensors", part)
        self.run_it("--output", "w.safetensors", "--data", "all.safetensors", steps=1)
        evaluate = ["eval", "m.npar", "--set", "compute=f64", "--plan", "divided", "--weights", "w.safetensors", "--data", "new.safetensors"]
        self.assertIn("there is nothing to evaluate", self.npar(*evaluate, code=1).error)
        self.assertIn("'loss' has no value: no position counts in it", self.npar(*evaluate, "--outputs", "said.safetensors").error)
        self.assertEqual(safetensors_file.read(self.folder / "said.safetensors")["scores"].shape, [3, 3])

    def test_another_file_and_a_metric(self):
        part = [{"x": ("F32", [6, 24], [index / 144 for index in range(144)]), "answer": ("I32", [6], [0, 1, 2, 0, 1, 2])}]
        safetensors_file.write_values(self.folder / "held.safetensors", part[0])
        found = self.run_it("--eval-every", 4, "--eval-data", "held.safetensors", "--eval-stop-on", "right", steps=8)
        self.assertEqual((found["eval"]["samples"], list(found["best"])), (6, ["step", "right"]))
        for flags, words in [
            (["--eval-stop-after", 2], "--eval-stop-after needs --eval-every N"),
            (["--eval-every", 2, "--eval-stop-on", "recall"], "--eval-stop-on names 'recall', an evaluation gives loss, right"),
            (["--eval-every", 2, "--data", "all.safetensors"], "no data are reserved for evaluation"),
            (["--eval-every", 2, "--backend", "null"], "--eval-every cannot be used with --backend null"),
            (["--eval-data", "held.safetensors", "--backend", "null"], "--eval-data cannot be used with --backend null"),
        ]:
            self.assertIn(words, self.npar("run", "m.npar", "--steps", 4, *flags, code=None).error)


if __name__ == "__main__":
    unittest.main()
