"""Vision Transformers: torchvision's against itself, plans, pictures as they are fed to them, and what is refused. test_families.py compares Hugging Face's
with transformers."""

import json
import math
import re
import unittest

from driver import REFERENCE, ROOT, DriverTest, block, mesh, safetensors_file, settings
from test_images import png

import families_data  # of tests/reference, as the driver has it on the path
import random_weights

RECORDED = json.loads((REFERENCE / "vit_recorded.json").read_text())
RATE = 1024  # a power of two: what a step subtracts is the gradient times this, to the last bit
SIZES = dict(size=families_data.SIDE, patch=4, width=16, heads=4, depth=2, inner=24, classes=families_data.KINDS)
TORCHVISION = f"""
import "vision_transformer"
train gradient for VisionTransformer {{ batch {RECORDED["batch"]} optimizer Sgd(lr = {RATE}) }}
train steps for VisionTransformer {{ batch {RECORDED["batch"]} optimizer Sgd(lr = {RECORDED["sgd"]["lr"]}, momentum = {RECORDED["sgd"]["momentum"]}) }}
"""
TILES = """
plan tiles for Vit {
    mesh dp = 2, sp = 3
    micro 2
    split { batch -> dp  down -> sp }
}
"""
VERIFIED = {  # plans that must compute what one rank computes; a picture of 12 x 12 pixels is 10 positions
    "dp pp tp": settings(mesh(dp=2, pp=2, tp=2)),
    "sequence": settings(mesh(dp=1, pp=1, tp=2), sequence="true"),
    "ZeRO 3, zb_h1": settings(mesh(dp=2, pp=2, tp=1), zero=3, schedule="zb_h1"),
    "recomputed": settings(mesh(dp=2, pp=1, tp=1), recompute="block", zero=1),
    "bf16": settings(mesh(dp=2, pp=1, tp=2), compute="bf16"),
    "five positions, padded": ["--plan", "padded", *settings(size=8)],
    "rows of tiles": ["--plan", "tiles"],
}


class VitTest(DriverTest):
    def setUp(self):
        super().setUp()
        (self.folder / "torchvision.npar").write_text(TORCHVISION)
        (self.folder / "plans.npar").write_text(block(ROOT / "stdlib" / "PICTURES.md", "npar", "plan padded") + TILES)

    def train(self, train, steps, weights, *flags):
        """The losses, and the tensors afterwards."""
        safetensors_file.write(self.folder / "first.safetensors", weights)
        self.npar("run", "torchvision.npar", "--train", train, *flags, "--weights", "first.safetensors", "--steps", steps, "--data-order", "sequential",
                  "--log", "log.jsonl", "--output", "out.safetensors", "--quiet")  # fmt: skip
        losses = [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return losses, safetensors_file.read(self.folder / "out.safetensors")

    def test_torchvision(self):
        """Its names in files, those of its first files too, every gradient and 20 steps of its own model in float64."""
        weights = random_weights.weights({path: tuple(shape) for path, shape in RECORDED["shapes"].items()})
        safetensors_file.write_values(self.folder / "data.safetensors", families_data.data("picture", None))
        flags = [*settings(SIZES, compute="f64"), "--data", "data.safetensors"]
        plan = ["--plan", "three_d", *settings(mesh(dp=2, pp=2, tp=2), micro=2)]
        _, moved = self.train("gradient", 1, weights, *flags, *plan)
        self.assertEqual(set(moved), set(weights))
        for path, expected in RECORDED["gradients"].items():
            gradient = [(before - after) / RATE for before, after in zip(weights[path].values, moved[path].values, strict=True)]
            for value, wanted in zip(random_weights.digest(path, gradient), expected, strict=True):
                self.assertAlmostEqual(value, wanted, delta=1e-9 * max(1e-3, expected[0]) * math.sqrt(len(gradient)), msg=path)
        older = {path.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): tensor for path, tensor in weights.items()}
        for names, chosen in ((weights, ["--plan", "none"]), (older, [*plan, *settings(sequence="true", zero=2)])):
            losses, _ = self.train("steps", len(RECORDED["losses"]), names, *flags, *chosen)
            for step, (found, expected) in enumerate(zip(losses, RECORDED["losses"], strict=True)):
                self.assert_close(found, expected, 1e-9, f"loss of step {step}")
        self.npar("eval", "torchvision.npar", "--train", "steps", *flags, "--plan", "none", "--weights", "out.safetensors", "--outputs", "logits.safetensors")
        self.assertEqual(safetensors_file.read(self.folder / "logits.safetensors")["logits"].shape, [240, families_data.KINDS])

    def test_plans(self):
        for name, flags in VERIFIED.items():
            with self.subTest(name):
                plan = [] if "--plan" in flags else ["--plan", "three_d"]
                self.npar("verify", "plans.npar", *settings(SIZES, batch=8), *plan, *flags)

    def test_tiles_are_not_copied(self):
        """The product, and that of its gradient, read tiles from the picture. Bytes are normalised again in the backward pass, so no picture is kept."""
        text = self.npar("compile", "vit", *settings(batch=1, depth=1), "--plan", "none", "--emit", "rank").output
        self.assertNotIn("nn.windows", text)
        self.assertEqual(len(re.findall(r": matmul .* [nk] \[16, 16, 3\]", text)), 2)
        self.assertEqual(len(re.findall(r": kernel to_float\w+ \(input", text)), 2)

    def folder_of_weights(self, name="vit", **changes):
        """A folder as Hugging Face has it, and its settings."""
        family = json.loads((REFERENCE / "families_recorded.json").read_text())["families"][name]
        folder = self.folder / "checkpoint"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps({**family["config"], **changes}))
        weights = random_weights.weights({path: tuple(shape) for path, shape in family["shapes"].items()})
        safetensors_file.write(folder / "model.safetensors", weights)
        return folder, weights

    def test_pictures_of_a_folder(self):
        """Bytes of a folder, cropped and normalised by the model, have the loss of floats as a processor makes them."""
        for number, color in enumerate([(200, 20, 20), (20, 190, 30), (25, 35, 180)] * 2):
            place = self.folder / "photos" / "abc"[number % 3]
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number}.png").write_bytes(png(12, 16, color))
        (self.folder / "photos.npar").write_text(
            'import "vit"\ntrain once for Vit { batch 6 optimizer Sgd(lr = 0.1) }\n'
            'data photos for Vit { images "photos" image, label = class(image) sequential pictures: resize(12), center_crop }\n'
            'data floats for Vit { file "data.safetensors" image = "pixel_values", label sequential }\n')  # fmt: skip
        folder, _ = self.folder_of_weights()
        run = lambda *flags: self.npar_json("run", "photos.npar", "--plan", "three_d", *flags, "--weights", folder, "--steps", 1)["loss"]  # noqa: E731
        flags = settings(SIZES, mesh(dp=1), micro=3, data="photos")
        shown = self.npar_json("data", "show", "photos.npar", *flags)
        found = run(*flags)
        pixels, labels = [], []
        for color, label in zip([(200, 20, 20), (200, 20, 20), (20, 190, 30), (20, 190, 30), (25, 35, 180), (25, 35, 180)], [0, 0, 1, 1, 2, 2]):
            pixels += [((value + row) / 255 - 0.5) / 0.5 for value in color for row in range(12) for _ in range(12)]
            labels.append(label)
        tensors = {"pixel_values": ("F32", [6, 3, 12, 12], pixels), "label": ("I32", [6], labels)}
        safetensors_file.write_values(self.folder / "data.safetensors", tensors)
        self.assert_close(run(*flags, *settings(pixels="floats", data="floats")), found, 1e-6, shown)
        run(*flags, "--checkpoint", "tuned")
        self.npar("export", "tuned", "--output", "out")  # with the classes of the pictures, not the labels of the folder
        self.assertEqual(json.loads((self.folder / "out" / "config.json").read_text())["id2label"], {"0": "a", "1": "b", "2": "c"})

    def test_a_model_without_a_head(self):
        """The published models for 21,843 classes have none: their names lack the prefix, a pooler is left out, and the head is a new one."""
        folder, weights = self.folder_of_weights(architectures=["ViTModel"])
        bare = {path.removeprefix("vit."): tensor for path, tensor in weights.items() if not path.startswith("classifier")}
        safetensors_file.write(folder / "model.safetensors", {**bare, **random_weights.weights({"pooler.dense.weight": (16, 16), "pooler.dense.bias": (16,)})})
        report = self.npar_json("import", folder)
        self.assertEqual(report["model"], "vit")
        (self.folder / "still.npar").write_text('import "vit"\ntrain still for Vit { batch 2 optimizer Sgd(lr = 0.0) }\n')
        self.npar("run", "still.npar", *settings(SIZES, classes=5), "--plan", "none", "--weights", folder, "--random-data", "--steps", 1,
                  "--checkpoint", "tuned")  # fmt: skip
        self.npar("export", "tuned", "--output", "out")
        found = safetensors_file.read(self.folder / "out" / "model.safetensors")
        self.assertEqual(set(found), set(weights))
        for path, tensor in weights.items():
            if path.startswith("classifier"):
                self.assertEqual(found[path].shape[0], 5)
            else:
                self.assertEqual(list(found[path].values), tensor.values, path)
        config = json.loads((self.folder / "out" / "config.json").read_text())
        self.assertEqual((config["architectures"], config["num_labels"]), (["ViTForImageClassification"], 5))
        self.assertTrue({"id2label", "label2id", "bos_token_id"}.isdisjoint(config))  # names of three labels, and a token

    def test_a_teacher(self):
        """The result of DeiT's two heads is their mean, as transformers computes it."""
        folder, _ = self.folder_of_weights("deit_teacher")
        data = {name: (element, [families_data.BATCH, *shape[1:]], values[: len(values) // families_data.STEPS])
                for name, (element, shape, values) in families_data.data("distill", None).items()}  # fmt: skip
        safetensors_file.write_values(self.folder / "data.safetensors", data)
        self.npar("eval", "vit", *settings(SIZES, names="deit", teacher="true", compute="f64"), "--plan", "none", "--weights", folder,
                  "--data", "data.safetensors", "--outputs", "logits.safetensors")  # fmt: skip
        found = safetensors_file.read(self.folder / "logits.safetensors")["logits"].values
        for value, expected in zip(found, RECORDED["teacher_logits"], strict=True):
            self.assertAlmostEqual(value, expected, delta=1e-9)

    def test_refused(self):
        for changes, expected in (
            ({"hidden_act": "quick_gelu"}, "'hidden_act' is \"quick_gelu\", npar's Vit computes"),
            ({"problem_type": "multi_label_classification"}, "'problem_type' is \"multi_label_classification\", npar's Vit computes null or"),
            ({"image_size": [12, 16]}, "'image_size' is [12,16], and the constant 'size' of model 'Vit' is an integer"),
            ({"architectures": ["ViTForMaskedImageModeling"]}, "npar's Vit is \"ViTForImageClassification\" or \"ViTModel\" only"),
            ({"num_attention_heads": 3}, "the width is divided among the heads (width, heads): 16 % 3 == 0 does not hold"),
            ({"patch_size": 16}, "a picture is at least as large as a tile (size, patch): 12 >= 16 does not hold"),
        ):
            with self.subTest(**changes):
                folder, _ = self.folder_of_weights(**changes)
                error = self.npar("import", folder / "config.json", code=1).error
                self.assertIn(expected, error)


if __name__ == "__main__":
    unittest.main()
