"""Loops and names: two chains of blocks through one pipeline, blocks that know their number, repeats in repeats, and parameters that files keep
as a tensor for each index of an axis. Encoder and decoder are T5's, the experts Mixtral's, with the names of their checkpoints."""

import json
import pathlib
import shutil
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import names_data  # of the reference
import random_weights

HERE = pathlib.Path(__file__).resolve().parent
CHAINS, LOOPS = HERE / "encoder_decoder.npar", HERE / "loops.npar"
PLANS = {
    CHAINS: [
        {"pp": 4, "dp": 2, "zero": 3, "recomputed": "block"},
        {"pp": 3, "depth": 3, "decoder_depth": 4, "tp": 2},
    ],
    LOOPS: [
        {"pp": 2, "ep": 2, "tp": 2, "zero": 1},
    ],
}
MORE = {
    CHAINS: [
        {"pp": 2, "schedule": "zb_v", "tp": 2},
        {"pp": 2, "tp": 2, "dp": 2, "zero": 1},
        {"pp": 4, "tp": 2, "zero": 1},
        {"pp": 4, "schedule": "interleaved", "chunks": 2, "depth": 4},
        {"pp": 3, "depth": 1, "decoder_depth": 5},
        {"pp": 4, "schedule": "zb_h1", "compute": "bf16"},
        {"tp": 2, "dp": 4, "zero": 2},
    ],
    LOOPS: [{"dp": 2, "ep": 4, "zero": 3, "depth": 2}, {"pp": 4}, {"pp": 2, "schedule": "interleaved", "chunks": 2, "ep": 2}, {"tp": 4, "dp": 2, "zero": 2}, {"tp": 2, "ep": 2, "compute": "bf16"}],
}
EXPERTS, DEPTH = 4, 4
RECORDED = json.loads((REFERENCE / "names_recorded.json").read_text())


def expert_names(layer, expert):
    return [f"model.layers.{layer}.block_sparse_moe.experts.{expert}.w{part}.weight" for part in (1, 2, 3)]


def write(path, tensors):
    safetensors_file.write(path, {name: safetensors_file.Tensor(shape, values, element) for name, (element, shape, values) in tensors.items()})


def read(path):
    return {name: (tensor.element, tensor.shape, list(tensor.values)) for name, tensor in safetensors_file.read(path).items()}


class PlansTest(DriverTest):
    def test_equal_to_one_rank(self):
        for text, plans in PLANS.items():
            for chosen in plans + (MORE[text] if LONG else []):
                with self.subTest(text=text.name, **chosen):
                    report = self.npar_json("verify", text, *settings(chosen), code=None)
                    self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])


class ChainsTest(DriverTest):
    def hash(self, **chosen):
        return self.npar_json("run", CHAINS, *settings(chosen), "--random-data", "--steps", 2)["parameter_hash"]

    def test_schedules_share_their_bits(self):
        """So the gradients of the encoder's result, and those of the tables of positions, are added in one order, wherever the chain is cut."""
        reference = self.hash(pp=1)
        for chosen in ({"pp": 4}, {"pp": 2, "schedule": "zb_v"}, {"pp": 2, "schedule": "interleaved", "chunks": 2}):
            with self.subTest(**chosen):
                self.assertEqual(self.hash(**chosen), reference)

    def test_against_transformers(self):
        """Its own T5 in float64, on weights with the names that it writes: losses and gradient norms of three steps (names_reference.py)."""
        safetensors_file.write(self.folder / "w.safetensors", random_weights.weights(RECORDED["t5"]))
        safetensors_file.write(self.folder / "data.safetensors", names_data.data())
        for chosen in ({"pp": 4}, {"pp": 2, "tp": 2, "dp": 2, "zero": 1, "schedule": "zb_v"}):
            arguments = settings(names_data.T5, chosen, batch=names_data.BATCH, micro=1, rate=1e-3, compute="f64")
            self.npar(
                "run", CHAINS, *arguments, "--data", "data.safetensors", "--data-order", "sequential", "--weights", "w.safetensors", "--steps", names_data.STEPS,
                "--log", "log.jsonl", "--output", "after.safetensors",
            )  # fmt: skip
            for line, expected in zip((self.folder / "log.jsonl").read_text().splitlines(), RECORDED["log"], strict=True):
                found = json.loads(line)
                for what in ("loss", "grad_norm"):
                    self.assert_close(found[what], expected[what], 1e-9, f"{what} of step {expected['step']}, {chosen}")
        self.assertEqual({name: shape for name, (_, shape, _) in read(self.folder / "after.safetensors").items()}, RECORDED["t5"])


class NamesTest(DriverTest):
    def run_hash(self, *more, **chosen):
        """Trains without moving: what is loaded is what is saved."""
        return self.npar_json("run", LOOPS, *settings({"rate": 0}, chosen), "--random-data", "--steps", 1, *more)["parameter_hash"]

    def saved(self, name="w.safetensors", *more, **chosen):
        self.run_hash("--output", name, *more, **chosen)
        return read(self.folder / name)

    def test_names_in_files(self):
        """The names of transformers' Mixtral, and those of this model's adapters."""
        adapters = {
            f"model.layers.{i}.adapter_{j}.{name}.weight": shape
            for i in range(DEPTH) for j in range(2) for name, shape in (("down", [4, 16]), ("up", [16, 4]))
        }  # fmt: skip
        self.assertEqual({name: shape for name, (_, shape, _) in self.saved(ep=2).items()}, {**RECORDED["mixtral"], **adapters})

    def test_back_bit_for_bit(self):
        """From a file under several plans, and through checkpoints and folders of Hugging Face's."""
        tensors = self.saved()
        reference = self.run_hash()
        for chosen in ({"ep": 2, "tp": 2}, {"dp": 2, "pp": 2, "zero": 3}):
            with self.subTest(**chosen):
                self.assertEqual(self.saved("again.safetensors", "--weights", "w.safetensors", "--seed", 5, **chosen), tensors)
        self.run_hash("--checkpoint", "run", ep=2, dp=2, zero=3)
        self.assertEqual(self.run_hash("--weights", "run", "--seed", 5), reference)
        model = ["--model", LOOPS, *settings(depth=DEPTH)]
        for source, more in (("w.safetensors", model), ("run", [])):
            with self.subTest(source=source):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                self.npar("export", source, "--output", "out", *more)
                found = read(self.folder / "out" / "model.safetensors")
                self.assertEqual(found, tensors)
                self.assertEqual(self.run_hash("--weights", "out", "--seed", 5), reference)
        report = self.npar_json("import", "out", "--model", LOOPS)
        self.assertEqual((report["weights"]["tensors"], report["settings"]["experts"]), (len(tensors), EXPERTS))

    def test_other_names(self):
        """The lines of the checkpoint block see each tensor by itself; the whole parameter under its own name is read too."""
        tensors = self.saved()
        reference = self.run_hash()
        bare = {name.replace("model.", "bare."): tensor for name, tensor in tensors.items()}
        write(self.folder / "bare.safetensors", {**bare, "mask-7": ("F32", [1], [0])})
        self.assertEqual(self.run_hash("--weights", "bare.safetensors", "--seed", 5), reference)
        kernels = {name: f"layer-{i}/expert-{e}/{part}.kernel" for i in range(DEPTH) for e in range(EXPERTS) for part, name in enumerate(expert_names(i, e), 1)}
        write(self.folder / "kernels.safetensors", {kernels.get(name, name): tensor for name, tensor in tensors.items()})
        self.assertEqual(self.run_hash("--weights", "kernels.safetensors", "--seed", 5), reference)
        whole = dict(tensors)
        for layer in range(DEPTH):
            for part in range(3):
                names = [expert_names(layer, expert)[part] for expert in range(EXPERTS)]
                rows, columns = whole[names[0]][1]
                parts = [whole.pop(name)[2] for name in names]
                if part == 1:  # the experts are its middle dimension
                    shape, cut = [rows, EXPERTS, columns], [each[row * columns : (row + 1) * columns] for row in range(rows) for each in parts]
                else:
                    shape, cut = [EXPERTS, rows, columns], parts
                whole[names[0].replace("experts.0", "experts.{expert}")] = ("F32", shape, [value for each in cut for value in each])
        write(self.folder / "whole.safetensors", whole)
        self.assertEqual(self.run_hash("--weights", "whole.safetensors", "--seed", 5), reference)

    def test_what_does_not_fit(self):
        tensors = self.saved()
        name, other = expert_names(1, 2)[0], expert_names(1, 3)[0]
        whole = name.replace("experts.2", "experts.{expert}")
        kind, shape, data = tensors[name]
        cases = [
            ({name: None}, f"missing in the file: '{name}'"),
            ({each: None for each in (expert_names(1, e)[0] for e in range(EXPERTS))}, f"missing in the file: '{whole}'"),
            ({name.replace("experts.2", "experts.4"): tensors[name]}, f"unknown to the model: '{name.replace('experts.2', 'experts.4')}'"),
            ({name: None, name.replace("experts.2", "experts.02"): tensors[name]}, "unknown to the model"),
            ({name: (kind, shape[::-1], data)}, f"tensor '{name}' has shape [16, 24], the model's is [24, 16]"),
            ({other: ("F64", shape, data)}, f"tensors '{expert_names(1, 0)[0]}' and '{other}' of one parameter have the types F32 and F64"),
            ({whole: (kind, [EXPERTS, *shape], data * EXPERTS)}, f"two tensors for one parameter: '{whole}' and "),
            ({name.replace("model.", "bare."): tensors[name]}, "two tensors for one parameter"),
            ({name: (kind, shape, [float("nan"), *data[1:]])}, f"tensor '{name}' holds nan at [0, 0]"),
        ]
        for changes, expected in cases:
            with self.subTest(expected=expected):
                changed = {each: tensor for each, tensor in {**tensors, **changes}.items() if tensor}
                write(self.folder / "wrong.safetensors", changed)
                error = self.npar("run", LOOPS, "--random-data", "--steps", 1, "--weights", "wrong.safetensors", code=1).error
                self.assertIn(expected, error)


if __name__ == "__main__":
    unittest.main()
