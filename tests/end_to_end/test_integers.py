"""Integers, comparisons and choices, and what looks along an axis: every plan as one rank, against PyTorch, and bit for bit where no sum is split."""

import array
import json
import pathlib
import struct
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import integers_data  # of the reference

HERE = pathlib.Path(__file__).resolve().parent
PLANS = {
    "integers": [
        {"mesh.dp": 2, "mesh.tp": 2, "zero": 2},
        {"mesh.pp": 2, "mesh.tp": 2, "sequence": "true"},
    ],
    "along": [
        {"mesh.dp": 2, "mesh.tp": 2, "zero": 1},
        {"mesh.sp": 2, "mesh.tp": 2},
    ],
}
MORE = {
    "integers": [
        {"mesh.tp": 4, "zero": 0},
        {"mesh.tp": 5, "vocab": 13},
        {"mesh.dp": 2, "mesh.pp": 2, "schedule": "zb_h1", "zero": 2},
        {"mesh.dp": 4, "zero": 3},
        {"mesh.pp": 2, "again": "block"},
        {"mesh.dp": 2, "mesh.tp": 2, "compute": "bf16"},
    ],
    "along": [{"mesh.tp": 4}, {"mesh.sp": 4}, {"mesh.sp": 4, "mesh.tp": 2}, {"mesh.dp": 4, "zero": 3}, {"mesh.tp": 2, "chosen": 6}],
}


def write(path, tensors):
    """{name: (type, shape, values)} of 32-bit integers as a safetensors file."""
    header, data = {}, b""
    for name, (_, shape, values) in tensors.items():
        piece = array.array("i", values).tobytes()
        header[name] = {"dtype": "I32", "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class PlansTest(DriverTest):
    """In float64, on random values of all inputs."""

    def test_equal_to_one_rank(self):
        for model, plans in PLANS.items():
            for chosen in plans + (MORE[model] if LONG else []):
                with self.subTest(model=model, **chosen):
                    report = self.npar_json("verify", HERE / f"{model}.npar", *settings(chosen), code=None)
                    self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])


class ReferenceTest(DriverTest):
    """Losses and gradient norms of three steps in float64, against PyTorch's (tests/reference/integers_reference.py)."""

    def test_against_pytorch(self):
        write(self.folder / "data.safetensors", integers_data.data())
        recorded = json.loads((REFERENCE / "integers_recorded.json").read_text())
        for model, plans in PLANS.items():
            first = {name: safetensors_file.Tensor(shape, values, "F64") for name, (shape, values) in integers_data.weights(model).items()}
            safetensors_file.write(self.folder / "first.safetensors", first)
            for plan in plans:
                arguments = settings(plan, compute="f64")
                self.npar("run", HERE / f"{model}.npar", *arguments, "--data", "data.safetensors", "--order", "sequential", "--weights", "first.safetensors", "--steps", 3, "--log", "log.jsonl")
                for line, expected in zip((self.folder / "log.jsonl").read_text().splitlines(), recorded[model], strict=True):
                    found = json.loads(line)
                    for what in ("loss", "grad_norm"):
                        self.assert_close(found[what], expected[what], 1e-9, f"{model}: {what} of step {expected['step']}")


if __name__ == "__main__":
    unittest.main()
