"""Outputs without labels: inputs that only losses and metrics read need not be there, and a model without a loss is evaluated."""

import json
import random
import unittest

from driver import DriverTest, settings
import safetensors_file  # of the reference, as the driver has it on the path

# Pictures of twelve points in three kinds, and a number for each kind, which no output needs.
TEXT = """
import "Linear"
model Judge(points = 12, kinds = 3) {
    axis batch, point = points, kind = kinds
    input picture: f32[batch, point]
    input answer: i32[batch]
    input worth: f32[batch]
    judge = Linear(point, kind)
    scores = judge(picture)
    sure = max(softmax(scores, over = kind), over = kind)
    loss kinds = cross_entropy(scores, answer, over = kind)
    loss worth = squared_error(sure, worth) weight 0.1
    metric right  = accuracy(argmax(scores, over = kind), answer)
    metric surely = mean(sure)
    output scores
    output chosen = argmax(scores, over = kind)
}
train base for Judge { batch 8 optimizer Sgd(lr = 0.5) }
plan divided(dp = 2, tp = 1) for Judge { mesh dp, tp micro 2 split { batch -> dp point -> tp } }
data pictures for Judge { file "all.safetensors" picture = "pixels", answer, worth split 0.75, 0.25 seed 2 }
"""
SAMPLES = 20


class InferenceTest(DriverTest):
    def setUp(self):
        super().setUp()
        chance = random.Random(4)
        (self.folder / "m.npar").write_text(TEXT)
        picture = [chance.randint(-512, 512) / 512 for _ in range(SAMPLES * 12)]
        self.values = {
            "picture": ("F32", [SAMPLES, 12], picture),
            "answer": ("I32", [SAMPLES], [chance.randrange(3) for _ in range(SAMPLES)]),
            "worth": ("F32", [SAMPLES], [chance.randint(0, 8) / 8 for _ in range(SAMPLES)]),
        }
        self.write("all", picture="pixels", answer="answer", worth="worth")
        self.write("full", picture="picture", answer="answer", worth="worth")
        self.npar("run", "m.npar", "--plan", "none", "--steps", 3, "--output", "w.safetensors", "--quiet")
        self.flags = ["--weights", "w.safetensors", "--set", "data=none"]

    def write(self, name, **tensors):
        safetensors_file.write_values(self.folder / f"{name}.safetensors", {tensor: self.values[value] for value, tensor in tensors.items()})

    def outputs(self, name):
        found = safetensors_file.read(self.folder / f"{name}.safetensors")
        return {tensor: (value.shape, list(value.values)) for tensor, value in found.items()}

    def evaluate(self, name, *flags, model="m.npar", **options):
        return self.npar("eval", model, *self.flags, "--data", f"{name}.safetensors", "--outputs", f"{name}_said.safetensors", *flags, **options)

    def test_what_no_output_needs_is_not_asked_for(self):
        """The same outputs bit for bit; losses and metrics that lack an input are left out by name, the others are there."""
        everything = json.loads(self.evaluate("full", "--json", "--quiet").output)
        self.assertEqual(set(everything["metrics"]), {"right", "surely"})
        self.write("some", picture="picture", worth="worth")
        said = self.evaluate("some", "--json")
        self.assertIn("npar: nothing feeds answer: loss 'kinds', metric 'right' are left out\n", said.error)
        found = json.loads(said.output)
        self.assertEqual(found["losses"], {"worth": everything["losses"]["worth"]})
        self.assertEqual(found["metrics"], {"surely": everything["metrics"]["surely"]})
        self.write("bare", picture="picture")
        said = self.evaluate("bare", "--json")
        self.assertIn("npar: nothing feeds answer, worth: loss 'kinds', loss 'worth', metric 'right' are left out\n", said.error)
        self.assertNotIn("loss", json.loads(said.output))
        for name in ("some", "bare"):
            self.assertEqual(self.outputs(f"{name}_said"), self.outputs("full_said"))

    def test_plans_and_data_blocks(self):
        self.evaluate("full", "--quiet")
        self.write("bare", picture="picture")
        self.evaluate("bare", "--plan", "divided", "--quiet")
        self.assertEqual(self.outputs("bare_said"), self.outputs("full_said"))
        # The data block names the tensors: it calls the picture pixels.
        self.write("pixels", picture="pixels")
        self.flags = self.flags[:2]
        self.evaluate("pixels", "--quiet")
        self.assertEqual(self.outputs("pixels_said"), self.outputs("full_said"))

    def test_what_an_output_needs_is(self):
        self.write("wrong", answer="answer", worth="worth")
        self.assertIn("picture", self.evaluate("wrong", code=1).error)
        # Labels are needed again when --outputs is not given.
        self.write("bare", picture="picture")
        wrong = self.npar("eval", "m.npar", *self.flags, "--data", "bare.safetensors", code=1)
        self.assertIn("answer", wrong.error)

    def test_compiled_for_outputs(self):
        """Its only input is what the outputs need; nothing is measured."""
        self.evaluate("full", "--quiet")
        self.npar("compile", "m.npar", "--plan", "none", "--set", "batch=7", "--set", "data=none", "--for", "outputs", "-o", "o.npx")
        text = self.npar("compile", "o.npx", "--emit=rank").output
        self.assertIn("picture", text)
        self.assertNotIn("answer", text)
        self.write("bare", picture="picture")
        self.flags = self.flags[:2]
        found = json.loads(self.evaluate("bare", "--json", "--quiet", model="o.npx").output)
        self.assertEqual(found, {"schema": 1, "samples": SAMPLES, "batch": {"samples": 7, "chosen_by": "program"}})
        self.assertEqual(self.outputs("bare_said"), self.outputs("full_said"))
        wrong = self.npar("eval", "o.npx", *self.flags, "--data", "bare.safetensors", code=2)
        self.assertIn("the program computes only outputs: give --outputs FILE.safetensors", wrong.error)

    def test_without_a_loss(self):
        """Neither a loss nor a train block: the model is its outputs. It cannot be trained."""
        self.evaluate("full", "--quiet")
        lines = [line for line in TEXT.split("train base")[0].splitlines() if not line.strip().startswith(("loss", "metric", "input answer", "input worth"))]
        (self.folder / "bare.npar").write_text("\n".join(lines))
        self.write("bare", picture="picture")
        self.flags = self.flags[:2]
        said = self.evaluate("bare", model="bare.npar")
        self.assertEqual(said.output, f"outputs of {SAMPLES} samples\n")
        self.assertEqual(self.outputs("bare_said"), self.outputs("full_said"))
        self.assertEqual(self.npar("eval", "bare.npar", *self.flags, "--data", "bare.safetensors", code=2).output, "")
        wrong = self.npar("run", "bare.npar", "--random-data", "--steps", 1, code=1)
        self.assertIn("model 'Judge' has no train block", wrong.error)
        (self.folder / "bare.npar").write_text("\n".join(lines) + "\ntrain base for Judge { batch 8 optimizer Sgd(lr = 0.5) }\n")
        wrong = self.npar("run", "bare.npar", "--random-data", "--steps", 1, code=1)
        self.assertIn("model 'Judge' has no loss", wrong.error)
        self.assertIn("help: without a loss it cannot be trained, but evaluated for its outputs", wrong.error)

    def test_metrics_alone(self):
        """What is measured without a loss has no loss in its report."""
        lines = [line for line in TEXT.split("train base")[0].splitlines() if not line.strip().startswith(("loss", "input worth", "output"))]
        (self.folder / "measured.npar").write_text("\n".join(lines))
        said = self.npar("eval", "measured.npar", *self.flags[:2], "--data", "full.safetensors", *settings(batch=3), "--json", "--quiet")
        everything = json.loads(self.npar("eval", "m.npar", *self.flags, "--data", "full.safetensors", "--json", "--quiet").output)
        found = json.loads(said.output)
        self.assertEqual((found["metrics"], "loss" in found), (everything["metrics"], False))


if __name__ == "__main__":
    unittest.main()
