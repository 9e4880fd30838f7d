"""`npar eval`: the loss of PyTorch, the same under every plan, every token once; and programs that only go forward hold nothing else."""

import array
import json
import math
import unittest

from driver import REFERENCE, ROOT, DriverTest, mesh, safetensors_file, settings

import random_weights

RECORDED = json.loads((REFERENCE / "generate_recorded.json").read_text())
# Plans over a GPT-2 of 4 blocks; all but those that split a sum share the bits of one rank.
PLANS = {
    "dp": dict(mesh(dp=4, pp=1, tp=1)),
    "zero 3": dict(mesh(dp=4, pp=1, tp=1), zero=3),
    "pp": dict(mesh(dp=1, pp=2, tp=1)),
    "pp in chunks": dict(mesh(dp=1, pp=2, tp=1), schedule="interleaved", chunks=2),
    "pp in a V": dict(mesh(dp=2, pp=2, tp=1), schedule="zb_v"),
    "pp searched for": dict(mesh(dp=1, pp=2, tp=1), schedule="zb_auto"),
    "tp": dict(mesh(dp=1, pp=1, tp=2)),
    "tp and sequence": dict(mesh(dp=1, pp=1, tp=4), sequence="true"),
    "dp pp tp zero 3": dict(mesh(dp=2, pp=2, tp=2), zero=3),
}
# Features that the library's plan lacks: sequences split in other ways, and features of training only.
CONTEXT = """
import "gpt2"
plan zigzag(cp = 2, dp = 2) for Gpt2 {
    mesh dp, cp
    micro 2
    split { batch -> dp
            seq -> cp by ring(zigzag) }
}
plan ulysses(dp = 2, sp = 2) for Gpt2 {
    mesh dp, sp
    micro 2
    split { batch -> dp
            head -> sp in op attention
            seq -> sp }
    store { parameters, gradients, optimizer -> dp }
    recompute block
}
plan gathered(pp = 2, cp = 2) for Gpt2 {
    mesh pp, cp
    micro 4
    split { seq -> cp by gather
            h -> pp by zb_h1 }
    recompute op attention
}
"""

# A curve through points: a loss that is no cross entropy. And pictures of two kinds.
CURVE = """
import "Linear"
model Curve(points = 6) {
    axis batch, point = points, one = 1
    input x: f32[batch, point]
    input y: f32[batch, one]
    f = Linear(point, one)
    loss squared_error(f(x), y)
}
train base for Curve { batch 4 optimizer Sgd(lr = 0.1) }
data points for Curve { file "points.safetensors" x, y split 0.5, 0.5 seed 1 }
"""
PICTURES = """
import "Linear"
model Pictures(points = 16, inner = 32) {
    axis batch, point = points, hidden = inner, kind = 2
    input picture: f32[batch, point]
    input answer: i32[batch]
    up = Linear(point, hidden)
    judge = Linear(hidden, kind)
    loss cross_entropy(judge(relu(up(picture))), answer, over = kind)
}
train base for Pictures { batch 4 optimizer Sgd(lr = 0.1) }
plan divided for Pictures { mesh dp = 2 micro 4 split { batch -> dp } }
"""


class EvalTest(DriverTest):
    def model_files(self, name, model, shapes):
        """Weights and tokens of a model of random_weights.py."""
        safetensors_file.write(self.folder / f"{name}.safetensors", random_weights.weights(shapes(model)))
        tokens = random_weights.tokens(model, RECORDED["count"])
        (self.folder / f"{name}.u16").write_bytes(array.array("H", tokens).tobytes())
        return ["--weights", f"{name}.safetensors", "--data", f"{name}.u16", "--tokens", "u16"]

    def evaluate(self, model, *flags):
        """All that is measured, without the batch that was chosen."""
        found = self.npar_json("eval", model, *flags, "--quiet")
        self.assertEqual(set(found.pop("batch")), {"samples", "chosen_by"})
        return found

    def test_against_pytorch(self):
        for name, model, shapes in (
            ("gpt2", random_weights.GPT2, random_weights.gpt2_shapes),
            ("llama", random_weights.LLAMA, random_weights.llama_shapes),
        ):
            with self.subTest(model=name):
                files = self.model_files(name, model, shapes)
                found = self.evaluate(name, *files, *settings(model, length=RECORDED["length"]))
                self.assert_close(found["loss"], RECORDED[name]["loss"], 1e-7, "loss")
                self.assert_close(found["perplexity"], math.exp(RECORDED[name]["loss"]), 1e-6, "perplexity")
                self.assert_close(found["metrics"]["bits_per_token"], RECORDED[name]["loss"] / math.log(2), 1e-6, "bits")
                self.assertEqual(found["tokens"], RECORDED["count"] - 1)

    def test_every_plan_says_the_same(self):
        """499 targets in samples of 24 are 20 samples and a part of one: no batch of 16 divides them."""
        model = {**random_weights.GPT2, "depth": 4}
        files = self.model_files("gpt2", model, random_weights.gpt2_shapes)
        flags = [*files, *settings(model, length=24)]
        one = self.evaluate("gpt2", *flags)
        self.assertEqual(one["tokens"], 499)
        self.assertEqual(self.evaluate("gpt2", *flags, *settings(batch=3)), one)
        for name, plan in PLANS.items():
            with self.subTest(plan=name):
                found = self.evaluate("gpt2", *flags, "--plan", "three_d", *settings(plan, batch=16, micro=2))
                self.assertEqual(found["tokens"], 499)
                self.assert_close(found["loss"], one["loss"], 1e-7)
                if plan["mesh.tp"] == 1:
                    self.assertEqual(found["loss"], one["loss"])
        (self.folder / "context.npar").write_text(CONTEXT)
        for name in ("zigzag", "ulysses", "gathered"):
            with self.subTest(plan=name):
                found = self.evaluate("context.npar", *flags, "--plan", name, *settings(batch=8))
                self.assert_close(found["loss"], one["loss"], 1e-7)
        half = self.evaluate("gpt2", *flags, "--plan", "three_d", *settings(mesh(dp=2, pp=2, tp=2), batch=16, micro=2, compute="bf16"))
        self.assert_close(half["loss"], one["loss"], 1e-2)

    def test_loss_of_a_training_step(self):
        """The first step's loss over 8 samples is what an evaluation of their tokens says."""
        model = random_weights.GPT2
        files = self.model_files("gpt2", model, random_weights.gpt2_shapes)
        data = (self.folder / "gpt2.u16").read_bytes()
        (self.folder / "gpt2.u16").write_bytes(data[: 2 * (8 * 24 + 1)])
        flags = [*files, *settings(model, length=24)]
        trained = self.npar_json("run", "gpt2", "--plan", "none", *flags, *settings(batch=8), "--data-order", "sequential", "--steps", 1, "--quiet")
        found = self.evaluate("gpt2", *flags)
        self.assertEqual(found["tokens"], 8 * 24)
        self.assert_close(found["loss"], trained["loss"], 1e-6)

    def test_a_training_evaluates_as_eval_does(self):
        """To the last token of a file, or of the stream of a data block, whatever makes no whole sample."""
        model = random_weights.GPT2
        flags = [*self.model_files("gpt2", model, random_weights.gpt2_shapes), *settings(model, length=24)]
        train = ["run", "gpt2", "--plan", "none", *flags, *settings(batch=2), "--steps", 1, "--quiet", "--output", "w.safetensors"]
        self.npar(*train, "--eval-every", 1, "--eval-data", "gpt2.u16", "--log", "log.jsonl")
        evaluated = json.loads((self.folder / "log.jsonl").read_text().splitlines()[-1])
        flags = ["--data", "gpt2.u16", "--tokens", "u16", "--weights", "w.safetensors", *settings(model, length=24)]
        found = self.evaluate("gpt2", *flags)
        self.assertEqual(found["tokens"], RECORDED["count"] - 1)
        self.assertNotEqual(found["tokens"] % 24, 0)
        self.assertEqual((evaluated["eval_loss"], evaluated["eval_tokens"]), (found["loss"], found["tokens"]))
        gpt2 = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        (self.folder / "block.npar").write_text(gpt2 + '\ndata here for Gpt2 { stream "gpt2.u16" tokens, targets = shift(tokens, 1) }\n')
        self.assertEqual(self.evaluate("block.npar", *flags[4:]), found)

    def test_ignored_targets_do_not_count(self):
        model = random_weights.GPT2
        files = self.model_files("gpt2", model, random_weights.gpt2_shapes)
        tokens = random_weights.tokens(model, RECORDED["count"])
        flags = [*files, *settings(model, length=24)]
        found = self.evaluate("gpt2", *flags, *settings(ignore=tokens[5]))
        self.assertEqual(found["tokens"], sum(token != tokens[5] for token in tokens[1:]))

    def test_what_a_file_holds_need_not_be_said(self):
        """By its name; as the checkpoint was trained; bytes for a model of 256 classes; else it is asked for."""
        model = random_weights.GPT2
        said = [*self.model_files("gpt2", model, random_weights.gpt2_shapes), *settings(model, length=24)]
        guessed = [word for word in said if word not in ("--tokens", "u16")]
        self.assertEqual(self.evaluate("gpt2", *guessed), self.evaluate("gpt2", *said))
        (self.folder / "data").write_bytes((self.folder / "gpt2.u16").read_bytes())
        run = ["run", "gpt2", *settings(model, length=24, batch=4), "--data", "data", "--tokens", "u16", "--steps", 1, "--checkpoint", "run", "--quiet"]
        self.npar(*run, "--plan", "none")
        self.assertEqual(self.evaluate("run", "--data", "data"), self.evaluate("run", "--data", "data", "--tokens", "u16"))
        unknown = ["eval", "gpt2", *["data" if word == "gpt2.u16" else word for word in guessed]]
        self.assertIn("--data needs --tokens", self.npar(*unknown, code=2).error)

    def test_dropout_is_off(self):
        model = random_weights.GPT2
        files = self.model_files("gpt2", model, random_weights.gpt2_shapes)
        flags = [*files, *settings(model, length=24)]
        self.assertEqual(self.evaluate("gpt2", *flags, *settings(dropout=0.5)), self.evaluate("gpt2", *flags))

    def test_tensors(self):
        """The same samples as tensors: 3 of 24 tokens, which no batch of 2 divides."""
        model = random_weights.GPT2
        files = self.model_files("gpt2", model, random_weights.gpt2_shapes)
        data = (self.folder / "gpt2.u16").read_bytes()
        (self.folder / "gpt2.u16").write_bytes(data[: 2 * (3 * 24 + 1)])
        tokens = array.array("H", data)[: 3 * 24 + 1]
        header, bytes_of = {}, b""
        for name, first in (("tokens", 0), ("targets", 1)):
            values = array.array("i", tokens[first : first + 3 * 24]).tobytes()
            header[name] = {"dtype": "I32", "shape": [3, 24], "data_offsets": [len(bytes_of), len(bytes_of) + len(values)]}
            bytes_of += values
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (self.folder / "rows.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes_of)
        flags = settings(model, length=24, batch=2)
        found = self.evaluate("gpt2", *files[:2], "--data", "rows.safetensors", *flags)
        self.assertEqual(found["tokens"], 72)
        self.assertEqual(found["loss"], self.evaluate("gpt2", *files, *flags)["loss"])

    def test_arena_holds_nothing_of_training(self):
        """Parameters, activations, inputs and results: no gradients, no optimizer state, no stash."""
        flags = ["--set", "vocab=64", "--set", "width=32", "--set", "heads=4", "--set", "depth=4", "--set", "length=16"]
        for command, result in (("eval", "losses"), ("generate", "logits")):
            for plan in (["--plan", "none"], ["--plan", "three_d", *settings(mesh(dp=2, pp=2, tp=2))]):
                with self.subTest(command=command, plan=plan[1]):
                    text = self.npar("compile", "gpt2", *flags, *plan, "--for", command, "--emit=rank").output
                    self.assertIn(f"results\n  {result}: f32", text)
                    self.assertNotIn("stash", text)
                    self.assertRegex(text, r"arena .*: parameters [1-9]\d*, gradients 0, optimizer 0, activations [1-9]")
                    self.assertNotRegex(text, r": (state|accumulator|output) f")
                    trained = self.npar_json("inspect", "gpt2", *flags, *plan)
                    forward = self.npar_json("inspect", "gpt2", *flags, *plan, "--for", command)
                    for one, other in zip(trained["classes"], forward["classes"]):
                        self.assertLess(other["arena_bytes"], one["arena_bytes"] / 2)

    def test_compiled_programs_know_what_they_are_for(self):
        model = random_weights.GPT2
        files = self.model_files("gpt2", model, random_weights.gpt2_shapes)
        flags = settings(model, length=24, batch=4)
        for command in ("run", "eval", "generate"):
            self.npar("compile", "gpt2", "--plan", "none", *flags, "--for", command, "-o", f"{command}.npx")
            self.npar("verify", f"{command}.npx")
        self.assertEqual(self.evaluate("eval.npx", *files)["tokens"], 499)
        wrong = self.npar("run", "eval.npx", *files, "--steps", 1, code=1)
        self.assertIn("'eval.npx' was compiled for evaluation and cannot train: compile it without --for", wrong.error)
        for other, kind in (("run", "training"), ("generate", "generation")):
            wrong = self.npar("eval", f"{other}.npx", *files, code=1)
            self.assertIn(f"'{other}.npx' is compiled for {kind} (npar {other}), not for npar eval", wrong.error)

    def test_measures_of_a_squared_error(self):
        """It has no perplexity, and no bits per token."""
        (self.folder / "curve.npar").write_text(CURVE)
        x, y = [i % 17 / 16 for i in range(40 * 6)], [i % 5 / 4 for i in range(40)]
        safetensors_file.write_values(self.folder / "points.safetensors", {"x": ("F32", [40, 6], x), "y": ("F32", [40, 1], y)})
        self.npar("run", "curve.npar", "--steps", 2, "--eval-every", 1, "--output", "w.safetensors", "--log", "log.jsonl", "--quiet")
        said = self.npar("eval", "curve.npar", "--weights", "w.safetensors", "--log", "eval.csv")
        self.assertRegex(said.output, r"^loss [\d.]+ over \d+ samples\n$")
        found = self.npar_json("eval", "curve.npar", "--weights", "w.safetensors")
        self.assertEqual(set(found), {"schema", "loss", "samples", "batch"})
        self.assertEqual((self.folder / "eval.csv").read_text().splitlines()[0].count("perplexity"), 0)
        evaluations = [line for line in map(json.loads, (self.folder / "log.jsonl").read_text().splitlines()) if "eval_loss" in line]
        self.assertEqual([set(line) for line in evaluations], [{"schema", "step", "eval_loss", "eval_samples"}] * 2)

    def pictures(self, count):
        (self.folder / "p.npar").write_text(PICTURES)
        picture = [i * 7 % 33 / 32 for i in range(count * 16)]
        values = {"picture": ("F32", [count, 16], picture), "answer": ("I32", [count], [i * i % 2 for i in range(count)])}
        safetensors_file.write_values(self.folder / "p.safetensors", values)
        self.npar("run", "p.npar", "--plan", "none", "--data", "p.safetensors", "--steps", 1, "--output", "w.safetensors", "--quiet")
        return ["eval", "p.npar", "--weights", "w.safetensors", "--data", "p.safetensors"]

    def test_the_batch_is_no_more_than_the_data(self):
        """One loss per sample: 76 small pictures are one step of 76 samples, and any other batch gives the same numbers."""
        flags = self.pictures(76)
        said = self.npar(*flags, "--json")
        self.assertIn("npar: takes 76 samples at a time: all samples\n", said.error)
        found = json.loads(said.output)
        self.assertEqual(found.pop("batch"), {"samples": 76, "chosen_by": "data"})
        for batch in (1, 7, 100):
            other = self.npar_json(*flags, *settings(batch=batch), "--quiet")
            self.assertEqual(other.pop("batch"), {"samples": batch, "chosen_by": "given"})
            self.assertEqual(other, found)
        planned = self.npar_json(*flags, "--plan", "divided", *settings(batch=4000), "--quiet")
        self.assertEqual(planned["batch"], {"samples": 4000, "chosen_by": "given"})

    def test_the_batch_under_a_plan(self):
        """As many micro-batches as the data need: two ranks of micro-batches of 4 take 8 samples for 5, whatever the train block has."""
        flags = self.pictures(5)
        (self.folder / "p.npar").write_text(PICTURES.replace("batch 4 ", "batch 4096 "))
        found = self.npar_json(*flags, "--plan", "divided", "--quiet")
        self.assertEqual(found["batch"], {"samples": 8, "chosen_by": "plan"})
        (self.folder / "p.safetensors").rename(self.folder / "held.safetensors")
        self.pictures(16)
        trained = ["run", "p.npar", "--data", "p.safetensors", "--steps", 1, "--eval-every", 1, "--eval-data", "held.safetensors", "--quiet"]
        evaluated = self.npar_json(*trained, "--plan", "divided", *settings(batch=8))["eval"]
        self.assertEqual(evaluated["batch"], {"samples": 8, "chosen_by": "plan"})
        evaluated = self.npar_json(*trained, "--plan", "none", *settings(batch=3))["eval"]
        self.assertEqual(evaluated["batch"], {"samples": 5, "chosen_by": "data"})


if __name__ == "__main__":
    unittest.main()
