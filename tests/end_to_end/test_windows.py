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
# Sizes, window, positions, the layer, and the means or largest entries of 0, 1, 2 ...
POOLS = [
    # pytorch#116420: a window that would begin in the padding after the image is left out.
    ((9, 9), 4, (3, 3), "AveragePool({h}, {v}, {y}, {z}, {k}, {l}, stride = 4, padding = 2, ceil = true)", [1.25, 4, 4.3125, 16, 35, 28.875, 23.8125, 49.875, 39.375]),
    # pytorch#94348: what a window has beyond the padding does not count, the padding does: the last row of windows has two thirds.
    ((7, 8), 3, (4, 5), "AveragePool({h}, {v}, {y}, {z}, {k}, {l}, stride = 2, padding = 1, ceil = true)",
     [2, 4, 16 / 3, 20 / 3, 11 / 3, 11, 18, 20, 22, 11.5, 65 / 3, 34, 36, 38, 19.5, 178 / 9, 92 / 3, 32, 100 / 3, 17]),
    # pytorch/xla#2578: no row of windows without entries.
    ((8, 10), 3, (2, 3), "MaxPool({h}, {v}, {y}, {z}, {k}, {l}, stride = 4, ceil = true)", [22, 26, 29, 62, 66, 69]),
    # pytorch#190064
    ((5, 5), 1, (3, 3), "AdaptiveMaxPool({h}, {v}, {y}, {z})", [6, 8, 9, 16, 18, 19, 21, 23, 24]),
]  # fmt: skip
STEM = """import "Conv"
import "Projection"

model Stem() {
    axis batch, channel = 3, row = 9, column = 10, kh = 7, kw = 7, ph = 3, pw = 3
    axis row1 = window_count(row, kh, stride = 2, padding = 3), column1 = window_count(column, kw, stride = 2, padding = 3)
    axis row2 = window_count(row1, ph, padding = 1), column2 = window_count(column1, pw, padding = 1)
    axis feature = 6, out = 4, class = 3
    input image: f32[batch, channel, row, column]
    input label: i32[batch]
    first  = Conv(channel, feature, row, column, row1, column1, kh, kw, stride = 2, padding = 3, biased = false)
    second = Conv(feature, out, row1, column1, row2, column2, ph, pw, padding = 1, biased = false)
    head   = Projection([out, row2, column2], class)
    loss cross_entropy(head(relu(second(relu(first(image))))), label, over = class)
}

train t for Stem { batch 4 optimizer Sgd(lr = 0.1) seed 1 }
plan p(dp = 1, tp = 1) for Stem {
    mesh dp, tp
    micro 2
    split {
        batch   -> dp
        feature -> tp
    }
}
"""
POOL = """import "{layer}"
model Pool() {{
    axis batch, channel = 3, row = 24, column = 24, kh = 5, kw = 5
    axis y = window_count(row, kh, padding = 2), z = window_count(column, kw, padding = 2)
    input image: f32[batch, channel, row, column]
    param scale: [channel] = ones
    pool = {layer}(row, column, y, z, kh, kw, padding = 2)
    loss mean(tanh(pool(image * scale)), over = [channel, y, z])
}}
train t for Pool {{ batch 8 optimizer Sgd(lr = 0.1) }}
"""


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

    def test_sizes_that_others_got_wrong(self):
        """Pooling that other programs gave other sizes or values (issues in PyTorch and PyTorch/XLA): of entries 0, 1, 2 ... and a window of k."""
        layers = ["AdaptiveMaxPool", "AveragePool", "MaxPool"]
        lines = [*(f'import "{layer}"' for layer in layers), "model Pools() {", "axis batch", "input scale: f32[batch]"]
        before, recorded = {}, {}
        for m, (size, window, positions, call, values) in enumerate(POOLS):
            lines += [f"axis h{m} = {size[0]}, v{m} = {size[1]}, k{m} = {window}, l{m} = {window}, y{m} = {positions[0]}, z{m} = {positions[1]}",
                      f"param x{m}: [h{m}, v{m}] = zeros", f"param t{m}: [y{m}, z{m}] = zeros",
                      f"pool{m} = " + call.format(**{axis: f"{axis}{m}" for axis in "hvyzkl"}),
                      f"a{m} = sum(stop_gradient(pool{m}(x{m})) * t{m}, over = [y{m}, z{m}])"]  # fmt: skip
            before[f"x{m}"] = safetensors_file.Tensor(list(size), list(range(size[0] * size[1])))
            before[f"t{m}"] = safetensors_file.Tensor(list(positions), [0.0] * len(values))
            recorded[f"t{m}"], recorded[f"x{m}"] = values, [0.0] * (size[0] * size[1])
        lines += ["loss scale * (" + " + ".join(f"a{m}" for m in range(len(POOLS))) + ")", "}", "train t for Pools { batch 1 optimizer Sgd(lr = 1.0) }"]
        self.check_gradients("\n".join(lines), before, recorded)

    def test_stem_of_a_residual_network(self):
        """7 x 7 windows with stride 2 and no bias, in plans that cut samples only, or features: the images need no gradient, and the second
        convolution adds up the parts of its input's."""
        (self.folder / "m.npar").write_text(STEM)
        for plan in sample([{"dp": 2}, {"dp": 2, "tp": 2}], {"dp": 2, "tp": 2}):
            with self.subTest(plan=plan):
                self.npar("verify", "m.npar", *settings(plan))

    def test_plans(self):
        for name, plan in sample(PLANS, "features", "groups", "both axes", "pipeline, rows, split backward", "all").items():
            with self.subTest(plan=name):
                self.npar("verify", HERE / "windows.npar", *settings(plan))

    def test_gradients_of_pooling_need_no_windows(self):
        """Windows of 5 x 5 entries around each of 24 x 24: everything together has the size of a few images, not of 25."""
        for layer in ("AveragePool", "MaxPool"):
            (self.folder / "m.npar").write_text(POOL.format(layer=layer))
            image = 8 * 3 * 24 * 24 * 4
            self.assertLess(self.npar_json("inspect", "m.npar")["classes"][0]["arena_bytes"], 6 * image, layer)

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
        logs = {}
        for name in ("out", "row"):
            (self.folder / f"{name}.npar").write_text(text.replace("out = 6, ", "").replace("out", "row") if name == "row" else text)
            logs[name] = self.log(f"{name}.npar", "--set", "compute=f64", "--random-data")
        for one, other in zip(logs["out"], logs["row"], strict=True):
            self.assertGreater(one["grad_norm"], 0.1)
            for key in ("loss", "grad_norm"):
                self.assertAlmostEqual(one[key], other[key], delta=1e-12 * one[key])

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
