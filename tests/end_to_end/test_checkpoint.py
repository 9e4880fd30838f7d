"""Weights in files of other programs: the names given by a model's checkpoint block, and values from which no training can start."""

import array
import json
import struct
import unittest

from driver import DriverTest, safetensors_file, settings

ONE = ["gpt2", "--plan", "none", *settings(vocab=64, width=8, heads=2, depth=1, context=4, length=4, batch=4)]
LABELLED = """
import "Embedding"
import "Linear"
model Labelled(vocab = 64, width = 8, length = 4) {
    axis batch, seq = length, vocab, embed = width
    input tokens, targets: i32[batch, seq]
    wte = Embedding(vocab, embed)
    classifier = Linear(embed, vocab)
    loss cross_entropy(classifier(wte(tokens)), targets, over = vocab)
    checkpoint { rename "model.*" -> "*" fresh "classifier.*" }
}
train base for Labelled { batch 4 optimizer Sgd(lr = 0.1) }
"""


class CheckpointTest(DriverTest):
    def weights(self, *model):
        """What a run of no steps holds."""
        self.npar("run", *model, "--random-data", "--steps", 1, "--quiet", "--output", "w.safetensors")
        return safetensors_file.read(self.folder / "w.safetensors")

    def load(self, tensors, *model, code=0):
        safetensors_file.write(self.folder / "w.safetensors", tensors)
        return self.npar("run", *model, "--random-data", "--steps", 1, "--quiet", "--weights", "w.safetensors", code=code).error

    def test_a_stored_head_is_compared(self):
        """Hugging Face's GPT-2 files, with and without a stored head; the compiled program knows the names without the text."""
        own = self.weights(*ONE)
        self.npar("compile", *ONE, "-o", "p.npx")
        Tensor = safetensors_file.Tensor
        theirs = {"transformer." + name: tensor for name, tensor in own.items()}
        theirs["transformer.h.0.attn.bias"] = Tensor([1, 1], [1.0])
        theirs["transformer.h.0.attn.masked_bias"] = Tensor([1], [-1e4])
        self.assertEqual(self.load(theirs, "p.npx"), "")
        head = Tensor(own["wte.weight"].shape, list(own["wte.weight"].values))
        theirs["lm_head.weight"] = head
        self.assertEqual(self.load(theirs, *ONE), "")
        head.values[9] += 1
        for model in (ONE, ["p.npx"]):
            error = self.load(theirs, *model, code=1)
            self.assertIn("tensors 'lm_head.weight' and 'transformer.wte.weight' must hold the same values and differ: ", error)
            self.assertIn(" at [1, 1]", error)
        del theirs["lm_head.weight"]
        theirs["wpe.weight"] = own["wpe.weight"]
        self.assertIn("two tensors for one parameter: 'transformer.wpe.weight' and 'wpe.weight' for 'wpe.weight'", self.load(theirs, *ONE, code=1))

    def test_fresh_parameters_are_counted(self):
        (self.folder / "m.npar").write_text(LABELLED)
        own = self.weights("m.npar")
        theirs = {"model.wte.weight": own["wte.weight"]}
        self.assertEqual(self.load(theirs, "m.npar"), "npar: 2 parameters are not in 'w.safetensors' and keep their initial values (fresh)\n")
        theirs["model.classifier.bias"] = own["classifier.bias"]
        self.assertIn("npar: 1 parameter is not in", self.load(theirs, "m.npar"))
        self.assertIn("missing in the file: 'wte.weight'", self.load({"model.classifier.bias": own["classifier.bias"]}, "m.npar", code=1))

    def test_values_that_are_none(self):
        """NaN and infinities, in any type; fp16's parameters hold less than float32."""
        own = self.weights(*ONE)
        for value, code, said in [
            (float("nan"), 1, "holds nan at [2, 3]"),
            (float("-inf"), 1, "holds -inf at [2, 3]"),
            (1e30, 0, ""),
        ]:
            own["wpe.weight"].values[2 * 8 + 3] = value
            self.assertIn(said, self.load(own, *ONE, code=code))
        self.assertIn("holds 1.00000002e+30 at [2, 3], beyond float16", self.load(own, *ONE, "--set", "compute=fp16", code=1))

    def test_bytes_of_no_tensor(self):
        own = self.weights(*ONE)
        safetensors_file.write(self.folder / "w.safetensors", own)
        good = (self.folder / "w.safetensors").read_bytes()
        for name, content in [("after", good + b"\0"), ("before", self.shifted(good))]:
            (self.folder / f"{name}.safetensors").write_bytes(content)
            error = self.npar("run", *ONE, "--random-data", "--steps", 1, "--weights", f"{name}.safetensors", code=1).error
            self.assertIn("belong to no tensor", error)

    @staticmethod
    def shifted(good):
        """The same file with four stray bytes before the data, and a header with matching offsets."""
        (size,) = struct.unpack("<Q", good[:8])
        header = json.loads(good[8 : 8 + size])
        for name, entry in header.items():
            if name != "__metadata__":
                entry["data_offsets"] = [place + 4 for place in entry["data_offsets"]]
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + b"\0" * 4 + good[8 + size :]

    def test_names_are_shown_printable(self):
        own = self.weights(*ONE)
        own["a\nb\x1b[31m"] = safetensors_file.Tensor([1], array.array("f", [0.0]))
        error = self.load(own, *ONE, code=1)
        self.assertIn(r"unknown to the model: 'a\x0ab\x1b[31m'", error)
        self.assertNotIn("\x1b", error)


if __name__ == "__main__":
    unittest.main()
