"""Models with experts that begin as copies of a dense model's feed-forward layers (dsl/NAMES.md, "Checkpoints")."""

import json
import unittest

from driver import REFERENCE, DriverTest, safetensors_file, settings

import families_data  # of tests/reference, as the driver has it on the path
import random_weights

RECORDED = json.loads((REFERENCE / "families_recorded.json").read_text())["families"]
# A dense model, the routed one, and the settings of both; half as many keys as heads.
PAIRS = {"qwen3": ("qwen3_moe", {"head_dim": 6, "tied": "false"}), "mistral": ("mixtral", {"window": 5})}
SIZES = {"vocab": 61, "context": 32, "width": 16, "mlp": 24, "heads": 4, "kv_heads": 2, "depth": 2, "theta": 100.0, "epsilon": 1e-6}
RUN = {"length": families_data.LENGTH, "batch": families_data.BATCH, "compute": "f64"}
DATA = ["--data", REFERENCE / "tokens.u16", "--tokens", "u16", "--data-order", "sequential"]


class UpcyclingTest(DriverTest):
    def bring(self, dense):
        self.weights = random_weights.weights({path: tuple(shape) for path, shape in RECORDED[dense]["shapes"].items()})
        safetensors_file.write(self.folder / "dense.safetensors", self.weights)

    def flags(self, model, *more, **changed):
        return [model, "--plan", "none", *settings(SIZES, RUN, *more, changed), "--weights", "dense.safetensors"]

    def loss(self, *words):
        result = self.npar("run", *words, *DATA, "--steps", 1, "--json")
        return json.loads(result.output)["loss"], result.error

    def test_equal_experts_are_the_dense_layer(self):
        """Every choice of equal experts whose weights sum to 1 gives what the dense layer gives."""
        for dense, (routed, more) in PAIRS.items():
            with self.subTest(dense):
                self.bring(dense)
                expected, _ = self.loss(*self.flags(dense, more))
                found, said = self.loss(*self.flags(routed, more, experts=4, chosen=2), "--output", "out.safetensors")
                self.assert_close(found, expected, 1e-12, "loss")
                self.assertIn("npar: 6 parameters start as copies of one tensor of 'dense.safetensors' for each index; 2 parameters are not in", said)
                out = safetensors_file.read(self.folder / "out.safetensors")
                experts = [list(tensor.values) for path, tensor in out.items() if "layers.0." in path and path.endswith(("w2.weight", "down_proj.weight"))]
                self.assertEqual(len(experts), 4)
                self.assertNotEqual(experts[0], experts[1], "experts that saw other rows are equal")

    def test_what_does_not_fit_is_refused(self):
        self.bring("qwen3")
        routed = lambda **changed: self.flags("qwen3_moe", PAIRS["qwen3"][1], experts=4, chosen=2, **changed)  # noqa: E731
        error = self.npar("run", *routed(mlp=20), *DATA, "--steps", 1, code=1).error
        self.assertIn("tensor 'model.layers.0.mlp.gate_proj.weight' has shape [24, 16], the model's is [20, 16]", error)
        error = self.npar("eval", *routed(), *DATA[:4], code=1).error
        self.assertIn("lacks 2 of the model's parameters (fresh), so they are untrained", error)
        error = self.npar("export", "dense.safetensors", "--model", "qwen3_moe", *settings(SIZES, PAIRS["qwen3"][1], experts=4, chosen=2), "-o", "out", code=1).error
        self.assertIn("2 of 27 parameters are not in", error)
        del self.weights["model.layers.1.mlp.up_proj.weight"]
        safetensors_file.write(self.folder / "dense.safetensors", self.weights)
        error = self.npar("run", *routed(), *DATA, "--steps", 1, code=1).error
        self.assertIn("missing in the file: 'model.layers.1.mlp.experts.{expert}.up_proj.weight'", error)

    def test_a_router_that_is_missing_among_experts_is_refused(self):
        weights = random_weights.weights({path: tuple(shape) for path, shape in RECORDED["mixtral"]["shapes"].items()})
        del weights["model.layers.1.block_sparse_moe.gate.weight"]
        safetensors_file.write(self.folder / "dense.safetensors", weights)
        error = self.npar("run", *self.flags("mixtral", PAIRS["mistral"][1], experts=6, chosen=2), *DATA, "--steps", 1, code=1).error
        self.assertIn("missing in the file: 'model.layers.1.block_sparse_moe.gate.weight'", error)


if __name__ == "__main__":
    unittest.main()
