"""Windows: convolutions and pooling against PyTorch's recorded gradients, and under plans as on one rank."""

import json
import pathlib
import unittest

from driver import REFERENCE, DriverTest, safetensors_file, sample, settings

import windows_data  # of the reference

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = json.loads((REFERENCE / "windows_recorded.json").read_text())
PLANS = {
    "dp": {"dp": 2},
    "features": {"tp": 2},
    "groups": {"gp": 2},
    "rows": {"sp": 2},
    "rows, more than positions": {"sp": 4},
    "both axes": {"sp": 2, "cp": 2},
    "columns of three": {"cp": 3},
    "pipeline": {"pp": 2},
    "pipeline, rows, split backward": {"pp": 2, "sp": 2, "schedule": "zb_h1"},
    "zero 1": {"dp": 4, "zero": 1},
    "zero 3, features": {"dp": 2, "tp": 2, "zero": 3},
    "recomputed": {"dp": 2, "gp": 2, "again": "block"},
    "recomputed rows": {"sp": 3, "again": "block"},
    "all": {"dp": 2, "tp": 2, "sp": 2, "pp": 2, "zero": 2},
}


class WindowsTest(DriverTest):
    def test_against_pytorch(self):
        """One step of Sgd subtracts the gradients. The gradients of `t` are the results."""
        numbers = sorted({int(name[1:]) for name in RECORDED})
        (self.folder / "m.npar").write_text(windows_data.text(numbers))
        before = windows_data.weights(numbers)
        safetensors_file.write(self.folder / "w.safetensors", before)
        safetensors_file.write(self.folder / "scale.safetensors", {"scale": safetensors_file.Tensor([1], [1.0])})
        for element, within in [("f64", 1e-10), ("f32", 1e-4)]:
            self.npar("run", "m.npar", "--plan", "none", "--set", f"compute={element}", "--weights", "w.safetensors", "--data", "scale.safetensors",
                      "--steps", 1, "--output", "after.safetensors", "--quiet")  # fmt: skip
            after = safetensors_file.read(self.folder / "after.safetensors")
            self.assertEqual(set(after), set(RECORDED))
            for name, expected in RECORDED.items():
                apart = max(abs(a - b - c) for a, b, c in zip(before[name].values, after[name].values, expected, strict=True))
                self.assertLess(apart, within, f"{name} in {element}: {windows_data.CASES[int(name[1:])]}")

    def test_plans(self):
        for name, plan in sample(PLANS, "features", "groups", "both axes", "pipeline, rows, split backward", "all").items():
            with self.subTest(plan=name):
                self.npar("verify", HERE / "windows.npar", *settings(plan))

    def test_positions_with_the_name_of_a_walked_axis(self):
        """Windows of windows are one operation, but not if the outer ones bring back the axis that the inner ones have replaced."""
        (self.folder / "m.npar").write_text("""model M() {
            axis batch, row = 6, column = 8, y = 4, kh = 3, kw = 3
            input x: f32[batch, row, column]
            param w: [kh, kw] = normal(1.0)
            turned = windows(windows(x, over = row, to = y, by = kh), over = column, to = row, by = kw)
            z = einsum(turned, w, over = [kh, kw])
            loss sum(z * z, over = [y, row])
        }
        train t for M { batch 4 optimizer Sgd(lr = 0.01) }
        plan p for M { mesh sp = 2 micro 4 split { row -> sp } }
        """)
        self.npar("verify", "m.npar")

    def test_mnist(self):
        """PyTorch's example has as many parameters, of these names and shapes."""
        shown = self.npar_json("inspect", "mnist_cnn", "--plan", "none")
        self.assertEqual(shown["parameters"], 1_199_882)
        self.npar("verify", "mnist_cnn", *settings(size=12, first=4, second=6, width=8, batch=8, micro=2, early=0, late=0))


if __name__ == "__main__":
    unittest.main()
