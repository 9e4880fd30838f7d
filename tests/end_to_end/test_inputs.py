"""Programs with inputs of any number, name, type and axes: under every plan what one rank computes."""

import json
import pathlib
import unittest

from driver import LONG, DriverTest, settings

TEXT = pathlib.Path(__file__).resolve().parent / "inputs.npar"


class PlansTest(DriverTest):
    """In float64, on random values of all inputs."""

    def verify(self, **chosen):
        report = self.npar_json("verify", TEXT, *settings(chosen), code=None)
        self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_equal_to_one_rank(self):
        plans = [
            {"mesh.dp": 2, "mesh.tp": 2, "zero": 1},
            {"mesh.pp": 2, "mesh.cp": 2, "mesh.tp": 2},
        ]
        if LONG:
            plans += [
                {"mesh.dp": 4, "zero": 3},
                {"mesh.tp": 4},
                {"mesh.tp": 2, "sequence": "true"},
                {"mesh.tp": 2, "channels": 7},
                {"mesh.cp": 2, "zigzag": "false"},
                {"mesh.cp": 4, "mesh.dp": 2},
                {"mesh.dp": 2, "mesh.pp": 2, "zero": 2, "schedule": "zb_h1"},
                {"mesh.dp": 2, "mesh.tp": 2, "ignore": -100},
                {"mesh.dp": 2, "mesh.pp": 2, "mesh.tp": 2, "compute": "bf16"},
            ]
        for chosen in plans:
            with self.subTest(**chosen):
                self.verify(**chosen)

    def test_ranks_get_their_part_of_every_dimension(self):
        """The channels of the floats over tp, the sequence of all in zigzag order over cp, the samples over dp."""
        chosen = settings({"mesh.dp": 2, "mesh.cp": 2, "mesh.tp": 2})
        inputs = [line.strip() for line in self.npar("compile", TEXT, *chosen, "--emit=rank", "--rank", 5).output.splitlines() if line.startswith("  input ")]
        self.assertEqual(
            inputs,
            [
                "input text I32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag]",
                "input kinds_of I32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag]",
                "input weight F32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag]",
                "input signal F32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag, channel 3 of 6 from 3]",
                "input answers I32 [batch 2 of 4 from 2, seq 4 of 8 in zigzag]",
            ],
        )

    def test_speeds_count_samples(self):
        """Where no stream of tokens is fed there are none to count."""
        result = self.npar("run", TEXT, "--random-data", "--steps", 1, "--plan", "none", "--log", "log.jsonl", "--json")
        self.assertIn("samples_per_second", json.loads(result.output))
        self.assertEqual(json.loads((self.folder / "log.jsonl").read_text())["samples"], 8)


class StreamTest(DriverTest):
    """A stream of tokens feeds what is looked up and, one place on, what the loss compares with, whatever they are called."""

    MODEL = """
model Words(length = 4) {{
    axis batch, seq = length, vocab = 128, embed = 4
    input {before}: {type}[batch, seq]
    input {after}: i32[batch, seq]
    param table: [vocab, embed] = normal(0.5)
    loss cross_entropy(project(gather(table, {before}, over = vocab), table), {after}, over = vocab)
}}
train base for Words {{ batch 4 optimizer Sgd(lr = 1.0) }}
"""

    def loss(self, **names):
        (self.folder / "m.npar").write_text(self.MODEL.format(**names))
        return self.npar_json("run", "m.npar", "--data", self.text_file(400), "--tokens", "bytes", "--steps", 3)["loss"]

    def test_names_mean_nothing(self):
        named = self.loss(before="tokens", after="targets", type="i32")
        self.assertEqual(self.loss(before="targets", after="tokens", type="i32"), named)
        self.assertEqual(self.loss(before="a", after="b", type="u8"), named)


if __name__ == "__main__":
    unittest.main()
