"""The model `decoder`, which settings put together: as Hugging Face's StarCoder 2 with its defaults (tests/reference/decoder_reference.py), as the
standard library's Llama and Qwen 3 with their settings, and the same under plans."""

import json
import unittest

from driver import CHECKED, REFERENCE, DriverTest, mesh, safetensors_file, settings

import random_weights  # of tests/reference, as the driver has it on the path

RECORDED = json.loads((REFERENCE / "decoder_recorded.json").read_text())
SIZES = {"vocab": 61, "context": 32, "width": 16, "heads": 4, "kv_heads": 2, "depth": 2, "length": 8, "batch": 8, "theta": 100.0}
LLAMA = {"norm": "rms_norm", "activation": "silu", "gated": "true", "biased": "false", "tied": "false"}


class DecoderTest(DriverTest):
    def losses(self, model, *flags):
        self.npar("run", model, *flags, "--data", REFERENCE / "tokens.u16", "--tokens", "u16", "--data-order", "sequential", "--log", "log.jsonl", "--quiet")
        return [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def test_as_starcoder_2(self):
        adamw = RECORDED["adamw"]
        (self.folder / "check.npar").write_text(
            f'import "decoder"\ntrain steps for Decoder {{\n    batch {RECORDED["batch"]}\n    optimizer AdamW(lr = {adamw["lr"]}, betas = ({adamw["betas"][0]}, '
            f'{adamw["betas"][1]}), epsilon = {adamw["eps"]}, decay = {adamw["weight_decay"]})\n}}\n')
        weights = random_weights.weights({path: tuple(shape) for path, shape in RECORDED["shapes"].items()})
        safetensors_file.write(self.folder / "weights.safetensors", weights)
        for plan in (["--plan", "none"], settings(mesh(dp=2, pp=2, tp=2), micro=2)):
            losses = self.losses("check.npar", "--train", "steps", *plan, *settings(RECORDED["sizes"], length=RECORDED["length"], compute="f64"),
                                 "--weights", "weights.safetensors", "--steps", len(RECORDED["losses"]))
            self.assertLessEqual(max(abs(loss / wanted - 1) for loss, wanted in zip(losses, RECORDED["losses"])), 1e-9)

    def test_as_llama_and_qwen_3(self):
        """The same parameters, computed in the same way: the same losses to the last bits."""
        for model, more in (("llama", {}), ("qwen3", {"normed": "head", "head_dim": 6})):
            own = {**SIZES, "epsilon": 1e-5, "tied": "false", **({"head_dim": 6} if model == "qwen3" else {})}
            flags = ("--plan", "none", "--set", "compute=f64", "--steps")
            self.losses(model, *settings(own, mlp=24), *flags, 1, "--output", "weights.safetensors")
            expected = self.losses(model, *settings(own, mlp=24), *flags, 5, "--weights", "weights.safetensors")
            found = self.losses("decoder", *settings(own, LLAMA, more, inner=24), *flags, 5, "--weights", "weights.safetensors")
            self.assertLessEqual(max(abs(one / other - 1) for one, other in zip(found, expected)), 1e-12, model)

    def test_structures_under_plans(self):
        for structure, plan in (
            ({"positions": "table", "activation": "squared_relu", "dropout": 0.1, "probability_dropout": 0.1}, settings(mesh(dp=1, pp=2, tp=2), micro=4)),
            ({"positions": "absent", "normed": "head", "norm": "rms_norm", "kv_heads": 2, "gated": "true", "tied": "false"}, settings(mesh(dp=2, pp=1, tp=2), zero=3, micro=4)),
        ):
            with self.subTest(structure):
                report = self.npar_json("verify", "decoder", *settings(CHECKED, structure), *plan, code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_parameters(self):
        """As Megatron-LM counts them."""
        for sizes, structure in (({"vocab": 512, "width": 64, "inner": 128, "heads": 4, "kv_heads": 2, "depth": 3, "context": 32}, {}),
                                 ({"vocab": 512, "width": 64, "inner": 96, "heads": 4, "kv_heads": 4, "depth": 2, "context": 32}, {**LLAMA, "normed": "head"})):
            width, keys = sizes["width"], sizes["width"] // sizes["heads"] * sizes["kv_heads"]
            biased, gated, norm = "biased" not in structure, "gated" in structure, 2 if "norm" not in structure else 1
            block = 2 * width * width + 2 * width * keys + (3 if gated else 2) * width * sizes["inner"] + 2 * norm * width
            block += (2 * width + 2 * keys + sizes["inner"] + width if biased else 0)
            block += 2 * width // sizes["heads"] if "normed" in structure else 0
            whole = sizes["depth"] * block + norm * width + sizes["vocab"] * width * (2 if structure.get("tied") == "false" else 1)
            self.assertEqual(self.npar_json("inspect", "decoder", *settings(sizes, structure), "--plan", "none")["parameters"], whole)


if __name__ == "__main__":
    unittest.main()
