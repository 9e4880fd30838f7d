"""Two chains of blocks through one pipeline: T5's encoder and decoder, with the names of its checkpoints."""

import json
import pathlib
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import names_data  # of the reference
import random_weights

HERE = pathlib.Path(__file__).resolve().parent
CHAINS = HERE / "encoder_decoder.npar"
PLANS = {
    CHAINS: [
        {"pp": 4, "dp": 2, "zero": 3, "recomputed": "block"},
        {"pp": 3, "depth": 3, "decoder_depth": 4, "tp": 2},
        {"pp": 2, "schedule": "zb_v", "tp": 2},
    ],
}
MORE = {
    CHAINS: [
        {"pp": 2, "tp": 2, "dp": 2, "zero": 1},
        {"pp": 4, "tp": 2, "zero": 1},
        {"pp": 4, "schedule": "interleaved", "chunks": 2, "depth": 4},
        {"pp": 3, "depth": 1, "decoder_depth": 5},
        {"pp": 4, "schedule": "zb_h1", "compute": "bf16"},
        {"tp": 2, "dp": 4, "zero": 2},
    ],
}
RECORDED = json.loads((REFERENCE / "names_recorded.json").read_text())


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
                "run", CHAINS, *arguments, "--data", "data.safetensors", "--order", "sequential", "--weights", "w.safetensors", "--steps", names_data.STEPS,
                "--log", "log.jsonl", "--save-weights", "after.safetensors",
            )  # fmt: skip
            for line, expected in zip((self.folder / "log.jsonl").read_text().splitlines(), RECORDED["log"], strict=True):
                found = json.loads(line)
                for what in ("loss", "grad_norm"):
                    self.assert_close(found[what], expected[what], 1e-9, f"{what} of step {expected['step']}, {chosen}")
        self.assertEqual({name: shape for name, (_, shape, _) in read(self.folder / "after.safetensors").items()}, RECORDED["t5"])


if __name__ == "__main__":
    unittest.main()
