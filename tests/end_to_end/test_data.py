"""Data blocks: the same global batches under every plan, whatever feeds the inputs, epoch after epoch, and from a checkpoint on."""

import json
import struct
import unittest

from driver import LONG, DriverTest, safetensors_file
from test_processes import MPIS, WITHOUT

# A stream of tokens; the loss leaves out what fills a batch up.
TEXT = """
import "Embedding"
import "Linear"

model Text(vocab = 256, width = 8, length = 8) {
    axis batch, seq = length, vocab, embed = width, hidden = 2 * width
    input tokens, targets: i32[batch, seq]
    wte = Embedding(vocab, embed)
    x = wte(tokens)
    repeat h[2] {
        up = Linear(embed, hidden)   down = Linear(hidden, embed)
        x = x + down(relu(up(x)))
    }
    head = Linear(embed, vocab)
    loss cross_entropy(head(x), targets, over = vocab, ignore = -100)
}
train base for Text { batch 8 optimizer AdamW(lr = 1e-2) seed 3 }
plan any(dp = 1, tp = 1, pp = 1, micro = 2) for Text {
    mesh dp, pp, tp
    micro micro_of
    split { batch -> dp   hidden, vocab -> tp   h -> pp by 1f1b }
}
data text for Text {
    BLOCK
}
""".replace("micro = 2", "micro_of = 2")

# A label for each sample, in one tensor for each input.
PAIRS = """
model Pairs(channels = 3, labels = 4) {
    axis batch, channel = channels, label = labels
    input x: f32[batch, channel]
    input answer: i32[batch]
    param w: [channel, label] = normal(0.5)
    loss cross_entropy(project(x, w), answer, over = label, ignore = -1)
}
train base for Pairs { batch 4 optimizer Sgd(lr = 1.0) seed 3 }
plan divided(dp = 1, tp = 1) for Pairs { mesh dp, tp micro 2 split { batch -> dp channel pad, label -> tp } }
data pairs for Pairs {
    BLOCK
}
"""


class BlockTest(DriverTest):
    def model(self, text, block, name="model.npar"):
        path = self.folder / name
        path.write_text(text.replace("BLOCK", block))
        return path

    def hashes(self, *arguments, checkpoint="run", steps=6):
        """Of the batches of a run, which only a run with checkpoints logs."""
        self.npar("run", *arguments, "--steps", steps, "--checkpoint", checkpoint, "--log", f"{checkpoint}.jsonl", "--resume", "--quiet")
        return [line["batch_hash"] for line in self.log(f"{checkpoint}.jsonl")]

    def log(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


class StreamTest(BlockTest):
    def setUp(self):
        super().setUp()
        self.text_file(size=8 * 37 + 1)

    def test_same_batches_under_every_plan_and_as_by_flags(self):
        self.model(TEXT, 'stream "text.txt"  tokens, targets = shift(tokens, 1)')
        plain = self.hashes("model.npar", "--plan", "none")
        self.assertEqual(self.hashes("model.npar", "--plan", "none", "--set", "data=none", "--data", "text.txt", "--tokens", "bytes", checkpoint="flags"), plain)
        plans = [("mesh.dp=2", "mesh.tp=2"), ("mesh.pp=2", "mesh.dp=2")] + ([("mesh.tp=4",), ("mesh.dp=4", "micro_of=1")] if LONG else [])
        for i, plan in enumerate(plans):
            arguments = [word for setting in plan for word in ("--set", setting)]
            self.assertEqual(self.hashes("model.npar", *arguments, checkpoint=f"plan{i}"), plain, plan)
        log = self.log("run.jsonl")
        self.assertEqual([(line["epoch"], line["sample"]) for line in log], [(8 * i // 37, 8 * i % 37) for i in range(6)])

    def test_another_plan_goes_on_where_the_data_were(self):
        block = 'stream "text.txt"  tokens, targets = shift(tokens, 1)  shuffled seed 5  pad last'
        self.model(TEXT, block)
        whole = self.hashes("model.npar", "--plan", "none", steps=12)
        log = self.log("run.jsonl")
        # 37 samples in batches of 8: the fifth has 5.
        self.assertEqual([line["valid_tokens"] for line in log[:5]], [64, 64, 64, 64, 40])
        self.assertEqual([(line["epoch"], line["sample"]) for line in log[4:7]], [(0, 32), (1, 0), (1, 8)])
        self.hashes("model.npar", "--set", "mesh.dp=2", "--set", "mesh.tp=2", checkpoint="parts", steps=4)
        self.assertEqual(self.hashes("model.npar", "--set", "mesh.pp=2", "--set", "micro_of=4", checkpoint="parts", steps=12), whole)
        self.model(TEXT, block.replace("pad last", "drop last"))
        refused = self.npar("run", "model.npar", "--plan", "none", "--steps", 20, "--checkpoint", "run", "--resume", code=1).error
        self.assertIn("'shuffled seed 5, pad last', but this run uses 'shuffled seed 5, drop last'", refused)

    def test_drop_last(self):
        self.model(TEXT, 'stream "text.txt"  tokens, targets = shift(tokens, 1)  sequential  drop last')
        hashes = self.hashes("model.npar", "--plan", "none", steps=9)
        self.assertEqual(hashes[4:8], hashes[:4], "the same four batches in each epoch")
        self.assertEqual([line["epoch"] for line in self.log("run.jsonl")], [0] * 4 + [1] * 4 + [2])

    @unittest.skipUnless(MPIS, WITHOUT)
    def test_processes_read_the_same_batches(self):
        self.model(TEXT, 'stream "text.txt"  tokens, targets = shift(tokens, 1)  split 0.9, 0.1 seed 4  pad last')
        arguments = ["model.npar", "--set", "mesh.dp=2", "--set", "mesh.pp=2"]
        one = self.hashes(*arguments)
        self.npar("launch", "-n", 4, "--mpi", MPIS[0], "run", *arguments, "--steps", 6, "--checkpoint", "many", "--log", "many.jsonl", "--quiet")
        self.assertEqual([line["batch_hash"] for line in self.log("many.jsonl")], one)
        self.assertEqual([line["loss"] for line in self.log("many.jsonl")], [line["loss"] for line in self.log("run.jsonl")])

    def test_files_with_weights_and_a_split(self):
        (self.folder / "other.txt").write_text("0123456789" * 30)
        self.model(TEXT, 'stream "text.txt" weight 0.75, "other.txt" weight 0.25  tokens, targets = shift(tokens, 1)  split 0.8, 0.2 seed 42')
        self.assertEqual(self.hashes("model.npar", "--set", "mesh.dp=4", "--set", "micro_of=1"), self.hashes("model.npar", "--plan", "none", checkpoint="one"))

    def test_documents(self):
        lengths = [5, 40, 1, 100, 97, 54]
        (self.folder / "lengths.i32").write_bytes(struct.pack("<6i", *lengths))
        self.model(TEXT, 'stream "text.txt" lengths "lengths.i32"  tokens, targets = shift(tokens, 1)  sequential')
        self.hashes("model.npar", "--plan", "none", steps=5)
        # Every token but the first of its document is a target once: 35 samples are a bit more than four batches.
        samples = [min(8, length - 1 - begin) for length in lengths for begin in range(0, length - 1, 8)]
        samples += samples
        self.assertEqual([line["valid_tokens"] for line in self.log("run.jsonl")], [sum(samples[8 * i : 8 * i + 8]) for i in range(5)])


class PartsTest(BlockTest):
    def setUp(self):
        super().setUp()
        self.text_file(size=8 * 37 + 1)
        self.model(TEXT, 'stream "text.txt"  tokens, targets = shift(tokens, 1)  split 0.8, 0.2 seed 42')

    def show(self, *arguments):
        return self.npar_json("data", "show", "model.npar", "--plan", "none", "--count", 1000, *arguments)

    def test_parts_are_disjoint_and_shown(self):
        parts = [self.show("--part", part) for part in (1, 2)]
        for part in parts:
            self.assertEqual((part["stream"], part["files"], part["parts"]), ("tokens bytes", [{"paths": ["text.txt"], "samples": 37}], [30, 7]))
        samples = [[sample["inputs"]["tokens"] for sample in part["first"]] for part in parts]
        self.assertEqual([len(part) for part in samples], [30, 7])
        text = list((self.folder / "text.txt").read_bytes())
        self.assertEqual(sorted(samples[0] + samples[1]), sorted(text[i : i + 8] for i in range(0, 8 * 37, 8)))
        first = parts[0]["first"][0]["inputs"]
        self.assertEqual(first["targets"][:-1], first["tokens"][1:])
        self.assertEqual([sample["inputs"]["tokens"] for sample in self.show("--set", "seed=9")["first"]] == samples[0], False)
        self.assertEqual(sorted(sample["inputs"]["tokens"] for sample in self.show("--set", "seed=9", "--epoch", 3)["first"]), sorted(samples[0]))
        self.assertIn("there is no part 3 of the data", self.npar("data", "show", "model.npar", "--part", 3, code=1).error)
        self.assertIn("part 2: 7 samples", self.npar("data", "show", "model.npar").output)

    def test_the_last_part_is_evaluated(self):
        """Each of its samples once; training saw none of them; the same under every plan."""
        self.npar("run", "model.npar", "--plan", "none", "--steps", 5, "--output", "w.safetensors", "--quiet")
        evaluated = [
            self.npar_json("eval", "model.npar", "--weights", "w.safetensors", "--quiet", *arguments)
            for arguments in ((), ("--set", "batch=3"), ("--plan", "any", "--set", "mesh.dp=2", "--set", "mesh.pp=2"), ("--part", 1))
        ]
        self.assertEqual([each["tokens"] for each in evaluated], [56, 56, 56, 240])
        self.assertEqual(len({each["loss"] for each in evaluated[:3]}), 1)
        self.assertNotEqual(evaluated[3]["loss"], evaluated[0]["loss"])
        whole = self.npar_json("eval", "model.npar", "--weights", "w.safetensors", "--quiet", "--data", "text.txt")
        self.assertEqual(whole["tokens"], 8 * 37, "what is named is gone through whole")
        again = self.npar_json("eval", "model.npar", "--weights", "w.safetensors", "--quiet", "--data", "text.txt", "--part", 2)
        self.assertEqual(again["loss"], evaluated[0]["loss"])


class TensorsTest(BlockTest):
    def setUp(self):
        super().setUp()
        x = [0.25 * ((7 * i) % 11) - 1 for i in range(30)]
        self.labels = [3, 0, 2, 1, 1, 0, 3, 2, 0, 1]
        self.tensors = {"x": ("F32", [10, 3], x), "label": ("I64", [10], self.labels)}
        safetensors_file.write_values(self.folder / "data.safetensors", self.tensors)
        safetensors_file.write_values(self.folder / "x.safetensors", {"x": self.tensors["x"]})
        safetensors_file.write_values(self.folder / "labels.safetensors", {"answer": self.tensors["label"]})

    def test_same_batches_whatever_the_files(self):
        self.model(PAIRS, 'file "data.safetensors"  x, answer = "label" below labels  pad last')
        plain = self.hashes("model.npar", "--plan", "none")
        self.assertEqual([line["valid_tokens"] for line in self.log("run.jsonl")], [4, 4, 2] * 2)
        self.assertEqual(self.hashes("model.npar", "--set", "dp=2", "--set", "tp=2", checkpoint="plan"), plain)
        self.model(PAIRS, 'file "x.safetensors" x   file "labels.safetensors" answer   pad last', name="two.npar")
        self.assertEqual(self.hashes("two.npar", "--plan", "none", checkpoint="two"), plain)
        self.assertEqual(self.hashes("model.npar", "--plan", "none", "--set", "data=none", "--data", "x=x.safetensors", "--data", "answer=labels.safetensors", checkpoint="flags", steps=2), plain[:2])
        self.assertEqual(self.hashes("model.npar", "--plan", "none", "--data", "x=x.safetensors", checkpoint="mixed"), plain)

    def refused(self, block, expected):
        self.model(PAIRS, block)
        error = self.npar("run", "model.npar", "--plan", "none", "--steps", 1, code=1).error
        self.assertIn(expected, error)

    def test_bad_data_are_named(self):
        block = 'file "data.safetensors" x, answer = "label"'
        self.refused(block + " below 3", "sample 0 of 'data.safetensors' has 'answer' 3, but the data block (model.npar:")
        wrong = dict(self.tensors, label=("I64", [10], self.labels[:9] + [4]))
        safetensors_file.write_values(self.folder / "wrong.safetensors", wrong)
        self.refused(block.replace("data.", "wrong."), "sample 9 of 'wrong.safetensors' has 'answer' 4, but axis 'label'")
        safetensors_file.write_values(self.folder / "wrong.safetensors", {"answer": ("I64", [9], self.labels[:9])})
        self.refused('file "x.safetensors" x file "wrong.safetensors" answer', "9 samples, tensor 'x' of 'x.safetensors' has 10")
        safetensors_file.write_values(self.folder / "wrong.safetensors", {"x": ("F32", [10, 3], [0.5] * 17 + [float("nan")] + [0.5] * 12), "label": self.tensors["label"]})
        self.refused(block.replace("data.", "wrong."), "sample 5 of 'wrong.safetensors' has 'x' NaN at position 2: all values must be finite")
        safetensors_file.write_values(self.folder / "wrong.safetensors", {"x": ("F32", [3, 3], [0.5] * 9), "label": ("I64", [3], [1, 2, 3])})
        self.refused(block.replace("data.", "wrong."), "'wrong.safetensors' has 3 samples, but a batch needs 4")
        self.refused(block + " split 0.9, 0.1 seed 1 split 0.5, 0.5 seed 1", "'split' is given twice")
        self.refused('file "nowhere.safetensors" x, answer', "nowhere.safetensors")


if __name__ == "__main__":
    unittest.main()
