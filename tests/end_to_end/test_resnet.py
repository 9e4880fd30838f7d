"""ResNet: names and values of torchvision and Hugging Face, gradients and 20 steps of SGD as PyTorch computes them, the same function under every plan."""

import json
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, sample, settings

import resnet_data as pictures  # of the reference

RECORDED = safetensors_file.read(REFERENCE / "resnet_recorded.safetensors")
PUBLISHED = json.loads((REFERENCE / "resnet_published_recorded.json").read_text())
FAMILIES = json.loads((REFERENCE / "resnet_families_recorded.json").read_text())
SHAPE = {"height": pictures.SIZE, "width": pictures.SIZE, "classes": pictures.CLASSES, "compute": "f64"}
TRAIN = f"""import "resnet"
train momentum for ResNet {{
    batch {pictures.BATCH}
    optimizer Sgd(lr = {pictures.RATE}, momentum = {pictures.MOMENTUM}, decay = {pictures.DECAY})
}}
train gradients for ResNet {{ batch {pictures.BATCH} optimizer Sgd(lr = 1.0) }}
"""
SMALL = {"batch": 8, "micro": 4, "depths": [1, 1, 1, 1], "widths": [4, 4, 8, 8], "first": 4, "height": 18, "width": 17, "classes": 4, "samples": 4,
         "compute": "f64", "mesh.dp": 1}  # fmt: skip
DEEP = {"kind": "bottleneck", "widths": [8, 8, 16, 16]}
PLANS = {
    "dp, groups over ranks": {"mesh.dp": 2, "samples": 8},
    "dp, groups in ranks": {"mesh.dp": 2, "samples": 2},
    "channels": {"mesh.tp": 2},
    "channels of bottlenecks": {"mesh.tp": 2, **DEEP},
    "pipeline": {"mesh.pp": 2, "micro": 2, "samples": 2},
    "pipeline of four, split backward": {"mesh.pp": 4, "micro": 2, "samples": 2, "schedule": "zb_h1"},
    "zero 1": {"mesh.dp": 4, "micro": 2, "samples": 4, "zero": 1},
    "zero 3, channels": {"mesh.dp": 2, "mesh.tp": 2, "zero": 3},
    "recomputed": {"mesh.dp": 2, "recompute": "block", **DEEP},
    "rows": {"mesh.sp": 2},
    "rows of bottlenecks": {"mesh.sp": 4, **DEEP},
    "all": {"mesh.dp": 2, "mesh.tp": 2, "mesh.pp": 2, "mesh.sp": 2, "micro": 2, "samples": 4, **DEEP},
    "bf16": {"mesh.dp": 2, "compute": "bf16"},
}


def constants(net):
    return {key: json.dumps(value) if isinstance(value, list) else value for key, value in net.items()}


class ResnetTest(DriverTest):
    def run_net(self, name, train, steps, **more):
        """The losses of the steps and the tensors afterwards."""
        (self.folder / "m.npar").write_text(TRAIN)
        self.npar("run", "m.npar", "--train", train, *settings({**constants(pictures.NETS[name]), **SHAPE, "samples": pictures.TOGETHER, **more}), "--weights",
                  "first.safetensors", "--data", "data.safetensors", "--data-order", "sequential", "--steps", steps, "--log", "log.jsonl", "--output",
                  "out.safetensors", "--quiet", "--plan", "pictures" if more else "none")  # fmt: skip
        losses = [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return losses, safetensors_file.read(self.folder / "out.safetensors")

    def test_against_pytorch(self):
        """Every gradient, 20 steps with momentum, running statistics and an evaluation that reads them."""
        safetensors_file.write(self.folder / "data.safetensors", pictures.data())
        for name, net in pictures.NETS.items():
            with self.subTest(name):
                first = pictures.weights(net)
                safetensors_file.write(self.folder / "first.safetensors", first)
                _, after = self.run_net(name, "gradients", 1)
                for key in [key for key in RECORDED if key.startswith(name + ".gradient.")]:
                    parameter, expected = key.split(".gradient.")[1], RECORDED[key].values
                    largest = max(1, *map(abs, expected))
                    for a, b, gradient in zip(first[parameter].values, after[parameter].values, expected, strict=True):
                        self.assertAlmostEqual(a - b, gradient, delta=1e-9 * largest, msg=parameter)
                plan = {"mesh.dp": 2, "micro": 4} if name == "basic" else {}
                losses, after = self.run_net(name, "momentum", pictures.STEPS, **plan)
                for found, expected in zip(losses, RECORDED[name + ".losses"].values, strict=True):
                    self.assert_close(found, expected, 1e-9, "loss")
                self.assertEqual(set(after), set(first))
                for parameter, tensor in after.items():
                    self.assertEqual((tensor.element, tensor.shape), ("I64" if "tracked" in parameter else "F64", first[parameter].shape))
                    for found, expected in zip(tensor.values, RECORDED[f"{name}.after.{parameter}"].values, strict=True):
                        self.assertAlmostEqual(found, expected, delta=1e-9 * max(1, abs(expected)), msg=parameter)
                self.npar("eval", "m.npar", "--train", "momentum", "--plan", "none", *settings({**constants(net), **SHAPE, "samples": pictures.TOGETHER}),
                          "--weights", "out.safetensors", "--data", "data.safetensors", "--outputs", "logits.safetensors")  # fmt: skip
                expected = RECORDED[name + ".logits"].values
                found = safetensors_file.read(self.folder / "logits.safetensors")["logits"].values[: len(expected)]
                for value, wanted in zip(found, expected, strict=True):
                    self.assertAlmostEqual(value, wanted, delta=1e-9)

    @unittest.skipUnless(LONG, "needs NPAR_LONG=1")
    def test_published_networks(self):
        """ResNet-18 and ResNet-50 themselves, on pictures of 64 x 64 pixels: the loss, every gradient and the running statistics of one step."""
        (self.folder / "m.npar").write_text(f'import "resnet"\ntrain once for ResNet {{ batch {pictures.PUBLISHED_BATCH} optimizer Sgd(lr = 1.0) }}\n')
        side, samples = pictures.PUBLISHED_SIZE, pictures.PUBLISHED_BATCH
        safetensors_file.write(self.folder / "data.safetensors", pictures.data(samples, side))
        for name, recorded in PUBLISHED.items():
            with self.subTest(name):
                first = pictures.weights(pictures.PUBLISHED[name], pictures.drawn_quickly)
                safetensors_file.write(self.folder / "first.safetensors", first)
                self.npar("run", "m.npar", "--config", name, "--plan", "none", *settings(height=side, width=side, classes=pictures.CLASSES, samples=samples,
                          compute="f64"), "--weights", "first.safetensors", "--data", "data.safetensors", "--data-order", "sequential", "--steps", 1,
                          "--log", "log.jsonl", "--output", "out.safetensors")  # fmt: skip
                self.assert_close(json.loads((self.folder / "log.jsonl").read_text())["loss"], recorded["loss"], 1e-12, "loss")
                after = safetensors_file.read(self.folder / "out.safetensors")
                for parameter, expected in recorded["gradients"].items():
                    gradient = [before - value for before, value in zip(first[parameter].values, after[parameter].values, strict=True)]
                    for found, wanted in zip(pictures.summary(gradient), expected, strict=True):
                        self.assertAlmostEqual(found, wanted, delta=1e-10 * expected[0], msg=parameter)
                for state, expected in recorded["running"].items():
                    for found, wanted in zip(pictures.summary(after[state].values), expected, strict=True):
                        self.assertAlmostEqual(found, wanted, delta=1e-12 * expected[0], msg=state)

    def test_wrong_files(self):
        net = pictures.NETS["basic"]
        safetensors_file.write(self.folder / "data.safetensors", pictures.data(pictures.BATCH))
        good = pictures.weights(net)
        for changed, said in (
            ({"bn1.running_mean": None}, "missing in the file: 'bn1.running_mean'"),
            ({"layer9.0.conv1.weight": good["conv1.weight"]}, "unknown to the model: 'layer9.0.conv1.weight'"),
            ({"conv1.weight": safetensors_file.Tensor([3, 3, 7], [0.0] * 63)}, "tensor 'conv1.weight' has shape [3, 3, 7], the model's is [3, 3, 7, 7]"),
            ({"bn1.num_batches_tracked": safetensors_file.Tensor([], [2.5])}, "tensor 'bn1.num_batches_tracked' holds 2.5 at [], not a whole number"),
            ({"bn1.num_batches_tracked": safetensors_file.Tensor([], [2**60], "I64")}, "'bn1.num_batches_tracked' holds 1.1529215e+18 at [], beyond 2^53"),
            ({"bn1.weight": safetensors_file.Tensor([3], [1, 2, 3], "I64")}, "tensor 'bn1.weight' has type I64"),
        ):
            with self.subTest(said):
                tensors = {name: tensor for name, tensor in {**good, **changed}.items() if tensor}
                safetensors_file.write(self.folder / "first.safetensors", tensors)
                (self.folder / "m.npar").write_text(TRAIN)
                refused = self.npar("run", "m.npar", "--train", "momentum", "--plan", "none", *settings({**constants(net), **SHAPE, "samples": 8}), "--weights",
                                    "first.safetensors", "--data", "data.safetensors", "--steps", 1, code=1)  # fmt: skip
                self.assertIn(said, refused.error)

    def test_files_without_counts(self):
        """As PyTorch stored them once: the counts begin at 0."""
        net = pictures.NETS["basic"]
        safetensors_file.write(self.folder / "data.safetensors", pictures.data(pictures.BATCH))
        given = {name: tensor for name, tensor in pictures.weights(net).items() if "tracked" not in name}
        safetensors_file.write(self.folder / "first.safetensors", given)
        _, after = self.run_net("basic", "gradients", 1)
        self.assertEqual({tensor.values[0] for name, tensor in after.items() if "tracked" in name}, {pictures.BATCH // pictures.TOGETHER})

    def test_plans(self):
        for name in sample(PLANS, "dp, groups over ranks", "pipeline", "zero 3, channels", "rows of bottlenecks"):
            with self.subTest(name):
                report = self.npar_json("verify", "resnet", *settings(constants({**SMALL, **PLANS[name]})), code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def bring(self, name):
        """The folder of a family, as transformers writes it."""
        folder = self.folder / "given"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(FAMILIES[name]["config"]))
        safetensors_file.write(folder / "model.safetensors", pictures.named(FAMILIES[name]["tensors"]))
        report = self.npar_json("import", "given")
        self.assertEqual(report["weights"]["types"], ["F32", "I64"])
        return report["model"], settings({key: "none" if value is None else json.dumps(value) for key, value in report["settings"].items()})

    def test_hugging_face(self):
        """The loss of a batch in training, logits, and what npar writes: the configuration, and all tensors under their names, counts as I64."""
        safetensors_file.write(self.folder / "data.safetensors", pictures.floats())
        for name, recorded in FAMILIES.items():
            with self.subTest(name):
                model, values = self.bring(name)
                flags = [*values, *settings({"height": pictures.SIZE, "width": pictures.SIZE, "compute": "f64", "pixels": "floats", "batch": pictures.BATCH,
                                             "samples": pictures.BATCH}), "--plan", "none", "--weights", "given", "--data", "data.safetensors"]  # fmt: skip
                loss = self.npar_json("run", model, *flags, "--steps", 1, "--data-order", "sequential", "--output", "out.safetensors")["loss"]
                self.assert_close(loss, recorded["loss"], 1e-9, "loss")
                self.assertEqual(safetensors_file.read(self.folder / "out.safetensors")["bn1.num_batches_tracked"].values[0], pictures.TRACKED + 1)
                self.npar("export", "out.safetensors", "--model", model, *values, "--output", f"exported {name}", "--type", "f32")
                self.npar("eval", model, *flags, "--outputs", "logits.safetensors")
                found = safetensors_file.read(self.folder / "logits.safetensors")["logits"].values
                for value, wanted in zip(found, recorded["logits"], strict=True):
                    self.assertAlmostEqual(value, wanted, delta=1e-9)
                written = safetensors_file.read(self.folder / f"exported {name}" / "model.safetensors")
                self.assertEqual({key: [tensor.element, tensor.shape] for key, tensor in written.items()}, recorded["tensors"])
                config = json.loads((self.folder / f"exported {name}" / "config.json").read_text())
                for key in ("architectures", "model_type", "layer_type", "depths", "hidden_sizes", "embedding_size", "downsample_in_bottleneck", "hidden_act"):
                    self.assertEqual(config[key], recorded["config"][key], key)

    def test_other_configurations_are_refused(self):
        for key, value, said in (
            ("hidden_act", "gelu", "'hidden_act' is \"gelu\""),
            ("downsample_in_first_stage", True, "'downsample_in_first_stage' is true"),
            ("problem_type", "regression", "'problem_type' is \"regression\""),
            ("layer_type", "wide", "the kind of blocks is basic or bottleneck (kind; layer_type of a config.json)"),
            ("depths", [2, 1, 1, 0], "each stage has a block at least (depths)"),
            ("depths", [2, 1, 1, 1.5], "numbers of blocks are whole (depths)"),
            ("hidden_sizes", [4, 4, 6, 8.5], "numbers of channels are whole (widths)"),
        ):
            with self.subTest(key, value=value):
                (self.folder / "config.json").write_text(json.dumps({**FAMILIES["basic"]["config"], key: value}))
                self.assertIn(said, self.npar("import", "config.json", code=1).error)

    def test_published_sizes(self):
        for name, parameters, two in (("resnet18", 11_689_512, 11_177_538), ("resnet50", 25_557_032, 23_512_130), ("resnet34", 21_797_672, None),
                                      ("resnet101", 44_549_160, None))[: None if LONG else 2]:  # fmt: skip
            for classes, expected in ((1000, parameters), (2, two)):
                if expected:
                    report = self.npar_json("inspect", "resnet", "--config", name, "--plan", "none", *settings({"batch": 2, "samples": 2, "classes": classes}))
                    self.assertEqual(report["parameters"], expected)

    def test_initial_values(self):
        """torchvision's: convolutions by the fan out, the head uniform, with zero_init_residual the last norm of each block at 0."""
        sizes = settings({"height": 32, "width": 32, "batch": 2, "samples": 2, "zero_init_residual": "true", "lr": 0})
        self.npar("run", "resnet", "--plan", "none", *sizes, "--random-data", "--steps", 1, "--output", "out.safetensors", "--quiet")
        found = {name: list(tensor.values) for name, tensor in safetensors_file.read(self.folder / "out.safetensors").items()}
        conv, head = found["layer4.1.conv1.weight"], found["fc.weight"] + found["fc.bias"]
        self.assertAlmostEqual((sum(value * value for value in conv) / len(conv)) ** 0.5, (2 / (512 * 9)) ** 0.5, delta=1e-4)
        bound = 512**-0.5
        self.assertLessEqual(max(map(abs, head)), bound)
        self.assertGreater(min(max(head), -min(head)), 0.999 * bound)
        self.assertAlmostEqual((sum(value * value for value in head) / len(head)) ** 0.5, bound / 3**0.5, delta=1e-4)
        self.assertEqual((found["layer1.0.bn1.weight"][0], found["layer1.0.bn2.weight"][0]), (1, 0))


if __name__ == "__main__":
    unittest.main()
