"""Windows: convolutions and pooling against PyTorch's recorded gradients, and under plans as on one rank."""

import gzip
import json
import pathlib
import shutil
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
        self.check_gradients(windows_data.text(numbers), windows_data.weights(numbers), RECORDED)

    def test_layers_against_pytorch(self):
        recorded = json.loads((REFERENCE / "layers_recorded.json").read_text())
        self.check_gradients(windows_data.layers_text(), windows_data.layer_weights(), recorded)

    def check_gradients(self, text, before, recorded):
        (self.folder / "m.npar").write_text(text)
        safetensors_file.write(self.folder / "w.safetensors", before)
        safetensors_file.write(self.folder / "scale.safetensors", {"scale": safetensors_file.Tensor([1], [1.0])})
        for element, within in [("f64", 1e-10), ("f32", 1e-4)]:
            self.npar("run", "m.npar", "--plan", "none", "--set", f"compute={element}", "--weights", "w.safetensors", "--data", "scale.safetensors",
                      "--steps", 1, "--output", "after.safetensors", "--quiet")  # fmt: skip
            after = safetensors_file.read(self.folder / "after.safetensors")
            self.assertEqual(set(after), set(recorded))
            for name, expected in recorded.items():
                apart = max(abs(a - b - c) for a, b, c in zip(before[name].values, after[name].values, expected, strict=True))
                self.assertLess(apart, within, f"{name} in {element}")

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

    def test_channels_with_the_name_of_the_walked_axis(self):
        """Channels of the result that are the walked axis by name give what channels of another name give."""
        text = """import "Conv"
        model M() {
            axis batch, channel = 2, row = 6, column = 6, out = 6, kh = 3, kw = 3, class = 3
            axis y = window_count(row, kh), z = window_count(column, kw)
            input image: f32[batch, channel, row, column]
            input label: i32[batch]
            param e: [channel, row] = normal(0.5)
            param h: [y, z, out, class] = normal(0.5)
            conv = Conv(channel, out, row, column, y, z, kh, kw)
            loss cross_entropy(einsum(conv(image * e), h, over = [y, z, out]), label, over = class)
        }
        train t for M { batch 4 optimizer Sgd(lr = 0.1) seed 1 }
        """
        losses = {}
        for name in ("out", "row"):
            (self.folder / f"{name}.npar").write_text(text.replace("out = 6, ", "").replace("out", "row") if name == "row" else text)
            losses[name] = self.losses(f"{name}.npar", "--set", "compute=f64", "--random-data")
        self.assertLess(losses["out"][-1], losses["out"][0])
        for one, other in zip(losses["out"], losses["row"], strict=True):
            self.assertAlmostEqual(one, other, delta=1e-12)

    def log(self, model, *flags, steps=3):
        self.npar("train", model, *flags, "--steps", steps, "--log", "log.jsonl", "--quiet")
        return [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def losses(self, *arguments, **options):
        return [line["loss"] for line in self.log(*arguments, **options)]

    def test_statistics_of_group_norm_in_fp16(self):
        """Squares of thousands are no numbers of fp16, and the norm of such values does not need them."""
        (self.folder / "m.npar").write_text("""import "GroupNorm"
        model M() {
            axis batch, group = 2, inner = 3, row = 4, column = 5, class = 3
            input image: f32[batch, group, inner, row, column]
            input label: i32[batch]
            param h: [group, inner, row, column, class] = normal(0.5)
            norm = GroupNorm(group, inner, row, column)
            loss cross_entropy(einsum(norm(image * 3000.0), h, over = [group, inner, row, column]), label, over = class)
        }
        train t for M { batch 8 optimizer Sgd(lr = 0.0) seed 1 }
        """)
        wide, narrow = (self.log("m.npar", "--set", f"compute={element}", "--random-data", steps=2) for element in ("f32", "fp16"))
        for key in ("loss", "grad_norm"):  # the first step may be skipped by the loss scale
            self.assertAlmostEqual(wide[1][key], narrow[1][key], delta=0.01 * wide[1][key])

    def test_mnist_from_idx_files(self):
        """Digits of 8 x 8 pixels, from 0 to 16, which become 0 to 240."""
        shutil.copy(REFERENCE / "pictures" / "digits-labels.idx.gz", self.folder)
        pixels = gzip.decompress((REFERENCE / "pictures" / "digits-images.idx.gz").read_bytes())
        (self.folder / "digits-images.idx").write_bytes(pixels[:16] + bytes(15 * each for each in pixels[16:]))
        (self.folder / "m.npar").write_text("""import "mnist_cnn"
        data digits for MnistCnn { idx "digits-images.idx" image  idx "digits-labels.idx.gz" label  shuffled }
        """)
        losses = self.losses("m.npar", *settings(size=8, first=4, second=6, width=16, early=0, late=0, **{"mesh.dp": 2}), steps=40)
        self.assertLess(losses[-1], 0.7 * losses[0])

    def test_mnist(self):
        """PyTorch's example has as many parameters, of these names and shapes."""
        shown = self.npar_json("inspect", "mnist_cnn", "--plan", "none")
        self.assertEqual(shown["parameters"], 1_199_882)
        self.npar("verify", "mnist_cnn", *settings(size=12, first=4, second=6, width=8, batch=8, micro=2, early=0, late=0))


if __name__ == "__main__":
    unittest.main()
