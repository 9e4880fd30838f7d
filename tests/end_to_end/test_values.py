"""Meaningless numbers: classes that a model does not have, losses and gradients that are not finite. All are reported."""

import json
import math
import unittest

from driver import LONG, SMALL, DriverTest, mesh, safetensors_file, settings

# Words and labels of their own sizes and names: nothing hangs on an axis being called `vocab`.
LABELS = """import "Embedding"
model Labels(width = 8, length = 8, words = 128, labels = 128, ignore = none) {
    axis batch, seq = length, words, labels, embed = width
    input tokens, targets: i32[batch, seq]
    table = Embedding(words, embed)
    param head: [embed, labels] = normal(0.5)
    loss cross_entropy(project(relu(table(tokens)), head), targets, over = labels, ignore = ignore)
}
train base(lr = 0.1) for Labels { batch 4 optimizer Sgd(lr = lr) }
plan vocabulary for Labels { mesh dp = 2, tp = 3 micro 2 split { batch -> dp words pad, labels pad -> tp } }
"""
FED = """model Fed(length = 8) {{
    axis batch, seq = length, other = length, part = 2, vocab = 64, embed = 4
    {inputs}
    param table: [vocab, embed] = normal(0.02)
    x = gather(table, {used}, over = vocab)
    loss {loss}
}}
train base for Fed {{ batch 4 optimizer Sgd(lr = 0.1) }}
"""


class ClassesTest(DriverTest):
    def setUp(self):
        super().setUp()
        (self.folder / "m.npar").write_text(LABELS)
        (self.folder / "text").write_bytes(bytes((5 * i) % 128 for i in range(400)))

    def run_model(self, *arguments, plan="none", code=0):
        return self.npar("run", "m.npar", "--plan", plan, "--data", "text", "--tokens", "bytes", "--steps", 2, *arguments, code=code)

    def test_targets_that_are_no_class(self):
        """Bytes are legal tokens, but no legal targets (labels = 4 trained silently: an out-of-range target has no logit)."""
        error = self.run_model("--set", "labels=4", code=1).error
        self.assertIn("npar: error: sample 0 of 'text' has target 5 at position 0, but axis 'labels' (m.npar:3:38) has 4 classes, 0 to 3", error)
        error = self.run_model("--set", "words=40", plan="vocabulary", code=1).error  # padded to 42 on three ranks
        self.assertIn("sample 1 of 'text' has token 40 at position 0, but axis 'words' (m.npar:3:31) has 40 classes, 0 to 39", error)

    def test_targets_that_do_not_count_are_exempt(self):
        (self.folder / "mask").write_bytes(bytes(int((5 * i) % 128 < 4) for i in range(400)))
        self.run_model("--set", "labels=4", "--set", "ignore=-100", "--mask", "mask")

    def test_an_axis_of_any_name(self):
        """Random data are drawn from all words, by run and verify (once they were all 0 if the axis was not called `vocab`)."""
        losses = set()
        for words in (4, 128):
            self.npar("run", "m.npar", "--plan", "none", *settings(words=words), "--random-data", "--steps", 3, "--log", "log.jsonl", "--quiet")
            losses.add(json.loads((self.folder / "log.jsonl").read_text().splitlines()[0])["loss"])
        self.assertEqual(len(losses), 2)
        self.run_model()
        self.npar("verify", "m.npar", "--plan", "vocabulary", *settings(words=13, labels=7))
        self.npar("compile", "m.npar", "--plan", "vocabulary", *settings(words=13, labels=7, compute="f64"), "-o", "p.npx")
        self.assertIn("targets i32 [batch 4, seq 8] below 7, the text says", self.npar("verify", "m.npar", *settings(words=13, labels=8), "--program", "p.npx", code=1).error)

    def test_an_ignored_value_that_is_a_word(self):
        (self.folder / "mask").write_bytes(b"\1" * 400)
        error = self.run_model("--set", "ignore=5", "--mask", "mask", code=1).error
        self.assertIn("sample 0 of 'text' has target 5 at position 0, which the mask 'mask' counts, but the model ignores 5", error)
        self.run_model("--set", "ignore=-100", "--mask", "mask")  # as the message advises
        self.assertIn("the model ignores targets of value 5: 4 of 392 in 'text'", self.run_model("--set", "ignore=5").error)

    def test_what_a_stream_of_tokens_feeds(self):
        """Any inputs can be trained on; a file of tokens is for the pair that a stream feeds, whatever its names."""
        (self.folder / "text").write_bytes(bytes((5 * i) % 64 for i in range(400)))
        token_loss = "cross_entropy(project(x, table), targets, over = vocab)"
        for inputs, used, loss, unfed in [
            ("input words, targets: i32[batch, seq]", "words", token_loss, None),
            ("input tokens: i32[batch, seq]\n    input targets: i32[batch]", "tokens",
             "cross_entropy(mean(project(x, table), over = seq), targets, over = vocab)", "input 'targets', i32 [batch 4],"),
            ("input tokens, targets, third: i32[batch, seq]", "tokens",
             "cross_entropy(project(x + gather(table, third, over = vocab), table), targets, over = vocab)", "input 'tokens', i32 [batch 4, seq 8],"),
            ("input tokens, targets: i32[batch, seq, part]", "tokens", token_loss, "input 'tokens', i32 [batch 4, seq 8, part 2],"),
            ("input tokens: i32[batch, other]\n    input targets: i32[batch, seq]", "tokens",
             "cross_entropy(project(rename(x, other, seq), table), targets, over = vocab)", "input 'tokens', i32 [batch 4, other 8],"),
        ]:  # fmt: skip
            with self.subTest(inputs):
                (self.folder / "fed.npar").write_text(FED.format(inputs=inputs, used=used, loss=loss))
                self.npar("run", "fed.npar", "--random-data", "--steps", 1)
                told = self.npar("run", "fed.npar", "--data", "text", "--tokens", "bytes", "--steps", 1, code=1 if unfed else 0).error
                self.assertIn(f"it cannot feed {unfed}" if unfed else "step 1/1", told)


class NotFiniteTest(DriverTest):
    """A learning rate of 1e36: the first step ends with huge but finite parameters, with which no later one has finite gradients."""

    PLANS = {
        "one rank": {**mesh(dp=1, pp=1, tp=1)},
        "dp pp tp": {**mesh(dp=2, pp=2, tp=2)},
        "zero 3": {**mesh(dp=4, pp=1, tp=1), "zero": 3},
        "bf16, zero 1": {**mesh(dp=2, pp=2, tp=1), "zero": 1, "compute": "bf16"},
        "f64, clip none": {**mesh(dp=1, pp=4, tp=1), "compute": "f64", "clip": "none"},
    }

    def train(self, plan, steps, *more, code):
        result = self.npar("run", "gpt2", *settings(SMALL, plan, peak=1e36, warmup=1), "--random-data", "--steps", steps, "--quiet", "--json",
                           "--log", "log.jsonl", "--output", "w.safetensors", *more, code=code)  # fmt: skip
        log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        weights = safetensors_file.read(self.folder / "w.safetensors")
        self.assertTrue(all(math.isfinite(value) for tensor in weights.values() for value in tensor.values))
        return json.loads(result.output), log, result.error

    def test_a_step_that_is_not_finite_changes_nothing(self):
        """The run ends with exit code 4; parameters stay those of the step before, on every rank (once it continued, with NaN
        everywhere)."""
        for name, plan in self.PLANS.items():
            with self.subTest(name):
                before, _, _ = self.train(plan, 1, code=0)
                stopped, log, error = self.train(plan, 6, code=4)
                self.assertEqual(stopped["parameter_hash"], before["parameter_hash"])
                self.assertEqual(stopped["steps"], 2)
                self.assertIn("npar: error: training step 1: the gradient of 'wte.weight' is not finite (loss ", error)
                self.assertIn("gradient norm nan); parameters and optimizer state are those of the step before", error)
                self.assertEqual([("skipped" in entry, entry["grad_norm"] is None) for entry in log], [(False, False), (True, True)])
                if name == "one rank" or LONG:
                    went_on, log, error = self.train(plan, 4, "--nonfinite", "continue", code=0)
                    self.assertEqual(went_on["parameter_hash"], before["parameter_hash"])
                    self.assertEqual([entry.get("skipped", False) for entry in log], [False, True, True, True])

    def test_parameters_that_are_not_finite_are_not_written(self):
        """Adam's first step divides the rate by 0.1, beyond float32: finite gradients spoil the parameters, as the end of the run or the next
        step finds."""
        command = ["run", "gpt2", "--plan", "none", *settings(SMALL, peak="3e38", warmup=1), "--random-data", "--quiet", "--output", "w"]
        error = self.npar(*command, "--steps", 11, code=4).error
        self.assertIn("training step 1: parameter 'wte.weight' is not finite, after an update that was too large", error)
        self.assertIn("no weights are written", error)
        error = self.npar(*command, "--steps", 1, code=4).error
        self.assertIn("parameter 'wte.weight' is not finite after the last of 1 steps; no weights are written", error)
        self.assertFalse((self.folder / "w").exists())


if __name__ == "__main__":
    unittest.main()
