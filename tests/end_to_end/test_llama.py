"""Llama: compared with Hugging Face's implementation, published sizes, and plans over heads, groups and sequence against one rank."""

import json
import resource
import unittest

from driver import REFERENCE, DriverTest, mesh, safetensors_file, sample, settings

RECORDED = json.loads((REFERENCE / "llama_recorded.json").read_text())
RATE = 1024  # a power of two: what a step of plain descent subtracts is the gradient times this, to the last bit
TRAIN = f"""
import "llama"
train gradient for Llama {{ batch {RECORDED["batch"]} optimizer Sgd(lr = {RATE}) }}
"""
REFERENCE_PLANS = {
    "one rank": ["--plan", "none"],
    "dp pp tp": [*settings(mesh(dp=2, pp=2, tp=2), micro=2)],
    "tp beyond the key/value heads": [*settings(mesh(dp=1, pp=1, tp=4), micro=4, sequence="true")],
}
PUBLISHED = {
    "llama": {"TinyLlama-1.1B": 1100048384, "Llama-2-7B": 6738415616, "Llama-2-70B": 68976648192, "Llama-3-8B": 8030261248},
    "gpt2": {"gpt2": 124439808, "gpt2-medium": 354823168, "gpt2-large": 774030080, "gpt2-xl": 1557611200},
}

SMALL = {
    "vocab": 61, "context": 32, "width": 24, "mlp": 20, "heads": 6, "kv_heads": 2, "depth": 2, "length": 8, "batch": 8, "micro": 2,
    "theta": 100.0,
}  # fmt: skip
# Settings over SMALL: 2 key/value heads, 3 groups.
MATRIX = {
    "one rank": mesh(dp=1, pp=1, tp=1),
    "dp": mesh(dp=2, pp=1, tp=1),
    "pp": mesh(dp=1, pp=2, tp=1),
    "tp over key/value heads": mesh(dp=1, pp=1, tp=2),
    "tp over groups alone": {**mesh(dp=1, pp=1, tp=3), "mlp": 21},
    "tp over heads and groups": {**mesh(dp=1, pp=1, tp=6), "mlp": 24},
    "tp over heads and groups, sequence": {**mesh(dp=1, pp=1, tp=4), "heads": 8, "width": 32, "sequence": "true"},
    "tp over heads, sequence": {**mesh(dp=1, pp=1, tp=2), "sequence": "true"},
    "dp pp tp over heads and groups, sequence": {**mesh(dp=2, pp=2, tp=4), "heads": 4, "sequence": "true"},
    "one key/value head": {**mesh(dp=1, pp=1, tp=2), "kv_heads": 1},
    "as many key/value heads as heads": {**mesh(dp=2, pp=1, tp=2), "kv_heads": 6},
}


class LlamaReferenceTest(DriverTest):
    """The loss and, from one step of plain gradient descent, every gradient."""

    def compare(self, flags, element, bound):
        (self.folder / "gradient.npar").write_text(TRAIN)
        self.npar(
            "run", "gradient.npar", *flags, *settings(RECORDED["model"], compute=element),
            "--weights", REFERENCE / "llama_initial.safetensors", "--data", REFERENCE / "tokens.u16", "--tokens", "u16",
            "--data-order", "sequential", "--steps", 1, "--log", "log.jsonl", "--output", "moved.safetensors", "--quiet",
        )  # fmt: skip
        log = json.loads((self.folder / "log.jsonl").read_text().splitlines()[0])
        self.assert_close(log["loss"], RECORDED["loss"][element], bound, "loss")
        initial = safetensors_file.read(REFERENCE / "llama_initial.safetensors")
        moved = safetensors_file.read(self.folder / "moved.safetensors")
        gradients = safetensors_file.read(REFERENCE / "llama_gradients.safetensors")
        self.assertEqual(set(moved), set(gradients))
        for name, expected in gradients.items():
            self.assertEqual(moved[name].shape, expected.shape, name)
            found = [(before - after) / RATE for before, after in zip(initial[name].values, moved[name].values)]
            apart = max(abs(a - b) for a, b in zip(found, expected.values))
            self.assertLessEqual(apart / max(map(abs, expected.values)), bound, f"gradient of '{name}'")

    def test_float32(self):
        for name, flags in sample(REFERENCE_PLANS, "one rank").items():
            with self.subTest(plan=name):
                self.compare(flags, "f32", 1e-5)

    def test_float64(self):
        for name, flags in sample(REFERENCE_PLANS, "dp pp tp", "tp beyond the key/value heads").items():
            with self.subTest(plan=name):
                self.compare(flags, "f64", 1e-9)


class ConfigurationTest(DriverTest):
    def test_published_sizes(self):
        """One rank, one sequence: the count needs no more. The largest takes seconds of processor time."""
        for model, sizes in PUBLISHED.items():
            short = ("TinyLlama-1.1B", "Llama-2-70B") if model == "llama" else ("gpt2", "gpt2-medium")
            for name, parameters in sample(sizes, *short).items():
                with self.subTest(configuration=name):
                    begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                    report = self.npar_json("inspect", model, "--config", name, "--plan", "none", *settings(batch=1, length=64))
                    self.assertEqual(report["parameters"], parameters)
                    self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin, 120)

    def test_settings_override_a_configuration(self):
        flags = ["--config", "gpt2-xl", "--plan", "none", *settings(batch=1, width=64, heads=4, length=8, vocab=17, context=8)]
        self.assertEqual(self.npar_json("inspect", "gpt2", *flags)["parameters"], 17 * 64 + 8 * 64 + 48 * (12 * 64 * 64 + 13 * 64) + 128)


class LlamaVerifyTest(DriverTest):
    def verify(self, changes):
        report = self.npar_json("verify", "llama", "--plan", "three_d", *settings(SMALL, changes), code=None)
        self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_heads_that_do_not_divide(self):
        """The last factor is padded: 2 * 3 heads on 4 ranks are 2 * 4, of which 2 hold nothing."""
        (self.folder / "padded.npar").write_text(
            'import "llama"\nplan padded for Llama { mesh tp = 4 micro 8 split { head pad, hidden pad, vocab pad -> tp } }\n'
        )
        report = self.npar_json("verify", "padded.npar", "--plan", "padded", *settings(SMALL, mlp=21, micro=8), code=None)
        self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])
        refused = self.npar("inspect", "llama", *settings(SMALL, mesh(dp=1, pp=1, tp=4)), code=1)
        self.assertIn("axis 'head' of size 6 = 2 * 3 is not divisible by mesh axis 'tp' of size 4", refused.error)


def add_case(name, changes):
    def test(self):
        self.verify(changes)

    setattr(LlamaVerifyTest, "test_" + "".join(letter if letter.isalnum() else "_" for letter in name), test)


SHORT = (
    "tp over groups alone", "tp over heads and groups, sequence", "dp pp tp over heads and groups, sequence", "one key/value head",
    "as many key/value heads as heads",
)  # fmt: skip
for case, changes in sample(MATRIX, *SHORT).items():
    add_case(case, changes)


if __name__ == "__main__":
    unittest.main()
