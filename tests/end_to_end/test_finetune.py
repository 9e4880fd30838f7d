"""Fine-tuning: trained on one half of the classes, then with a new head on the other half, with everything else frozen or all tuned; the names of classes."""

import gzip
import json
import pathlib
import re
import shutil
import struct
import unittest
import zlib

from driver import LONG, REFERENCE, ROOT, DriverTest, block, safetensors_file, settings

MODEL = pathlib.Path(__file__).resolve().parent / "finetune.npar"
RESNET = MODEL.with_name("resnet_halves.npar")
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
NAMES = {"former": ["five", "four", "one", "three", "two"], "latter": ["eight", "nine", "seven", "six", "zero"]}  # ascending: class k is the k-th
DIGITS = {name: digit for digit, name in enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])}


def grey_png(width, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height = len(rows) // width
    lines = b"".join(b"\0" + rows[width * row : width * (row + 1)] for row in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 1)) + chunk(b"IEND", b"")


class FinetuneTest(DriverTest):
    def setUp(self):
        super().setUp()
        shutil.copy(MODEL, self.folder / "m.npar")

    def write_digits(self):
        pixels = gzip.decompress((REFERENCE / "pictures" / "digits-images.idx.gz").read_bytes())[16:]
        labels = gzip.decompress((REFERENCE / "pictures" / "digits-labels.idx.gz").read_bytes())[8:]
        for half, names in NAMES.items():
            for name in names:
                folder = self.folder / half / name
                folder.mkdir(parents=True)
                for number in (i for i, label in enumerate(labels) if label == DIGITS[name]):
                    picture = bytes(min(255, 16 * value) for value in pixels[64 * number : 64 * number + 64])
                    (folder / f"{number:04}.png").write_bytes(grey_png(8, picture))

    def train(self, half, folder, *flags, steps, code=0, block="base"):
        return self.npar_json("train", "m.npar", "--train", block, "--set", f"data={half}", "--checkpoint", folder, "--checkpoint-keep", 1, "--eval-every", 22, "--eval-stop-on", "right",
                              "--steps", steps, "--quiet", *flags, code=code)  # fmt: skip

    def best(self, folder):
        return self.folder / folder / json.loads((self.folder / folder / "best.json").read_text())["checkpoint"]

    def values(self, checkpoint):
        name = f"{pathlib.Path(checkpoint).name}.safetensors"
        self.npar("checkpoint", "consolidate", checkpoint, "--output", name, "--only", "all")
        found = {name: tensor.values for name, tensor in safetensors_file.read(self.folder / name).items()}
        (self.folder / name).unlink()
        return found


class DigitsTest(FinetuneTest):
    def test_a_new_head_on_the_other_half(self):
        self.write_digits()
        first = self.train("former", "first", steps=88)
        best = self.best("first")
        self.assertGreater(first["best"]["right"], 0.9)
        weights = ["--weights", best]
        # The head of the first half is not taken silently, and other names of classes are told.
        kept = self.npar("train", "m.npar", "--train", "base", "--set", "data=latter", *weights, "--steps", 1).error
        self.assertIn(f"warning: class 0 of these data is 'eight', that of checkpoint '{best}' is 'five'; --fresh PATTERN gives a head", kept)
        other = self.npar("train", "m.npar", "--train", "base", "--set", "data=former", "--set", "classes=6", *weights, "--steps", 1, "--quiet", code=1).error
        self.assertRegex(other, r"tensor 'fc.weight' has shape \[5, 384\], the model's is \[6, 384\]")
        self.assertIn("npar: help: to train a new part on top of these weights, give --fresh 'fc.*' with npar train", other)
        # The head alone, then all.
        head = self.train("latter", "head", *weights, "--fresh", "fc.*", steps=88, block="head")
        tuned = self.train("latter", "tuned", *weights, "--fresh", "fc.*", steps=88, block="tune")
        print(f"digits: first half {first['best']['right']:.4f}, new head {head['best']['right']:.4f}, all tuned {tuned['best']['right']:.4f}")
        self.assertGreater(head["best"]["right"], 0.85)
        self.assertGreaterEqual(tuned["best"]["right"], head["best"]["right"])
        before, after, all_after = self.values(best), self.values(head["checkpoint"]), self.values(tuned["checkpoint"])
        for name in (name for name in before if "momentum" not in name):
            (self.assertNotEqual if name.startswith("fc.") else self.assertEqual)(after[name], before[name], name)
            self.assertNotEqual(all_after[name], before[name], name)
        self.assertFalse(any("momentum" in name for name in after if not name.startswith("fc.")), "what is frozen has no state")
        self.names_of_classes(best, head["checkpoint"])

    def names_of_classes(self, best, head):
        """They are kept, shown and compared."""
        shown = self.npar_json("checkpoint", "show", best)
        self.assertEqual(shown["data"][0]["classes"], NAMES["former"])
        self.assertIn("  classes five, four, one, three, two\n", self.npar("checkpoint", "show", best).output)
        self.assertIn("\n  5 classes: five, four, one, three, two\n", self.npar("data", "show", "m.npar", "--train", "base", "--set", "data=former").output)
        self.assertEqual(self.npar_json("data", "show", "m.npar", "--train", "base", "--set", "data=latter")["classes"], NAMES["latter"])
        right = self.npar_json("eval", best, "--data", "former", "--quiet")
        refused = self.npar("eval", best, "--data", "latter", "--quiet", code=1).error
        self.assertIn(f"class 0 of these data is 'eight', that of checkpoint '{best}' is 'five'\nnpar: help: give a folder whose sub-folders have the same names", refused)
        (self.folder / "former" / "five").rename(self.folder / "former" / "zzz")  # the same names in another order would do the same
        refused = self.npar("eval", best, "--data", "former", "--quiet", code=1).error
        self.assertIn(f"class 0 of these data is 'four', that of checkpoint '{best}' is 'five'", refused)
        again = self.npar("train", "m.npar", "--train", "base", "--set", "data=former", "--checkpoint", "first", "--resume", "--steps", 90, "--quiet", code=1).error
        self.assertIn("class 0 of these data is 'four', that of checkpoint 'first/", again)
        refused = self.npar("train", "m.npar", "--train", "base", "--set", "data=latter", "--eval-every", 5, "--eval-data", "former", "--steps", 5, "--quiet", code=1).error
        self.assertIn("class 0 of the data of evaluations is 'four', that of the training data is 'eight'", refused)
        (self.folder / "former" / "zzz").rename(self.folder / "former" / "five")
        self.assertEqual(self.npar_json("eval", best, "--data", "former", "--quiet"), right)

    def test_an_export_names_the_labels(self):
        """As transformers does, in a family whose files have a number of labels. A file of weights has no names."""
        self.write_digits()
        (self.folder / "m.npar").write_text(MODEL.read_text() + 'family "halves" for Halves { take "num_labels", "id2label.#" = classes else 2 }\n')
        self.npar("train", "m.npar", "--train", "base", "--set", "data=former", "--set", "together=1", "--steps", 1, "--checkpoint", "run", "--quiet")
        self.npar("export", "run", "--output", "exported")
        config = json.loads((self.folder / "exported" / "config.json").read_text())
        self.assertEqual(config["id2label"], {str(number): name for number, name in enumerate(NAMES["former"])})
        self.assertEqual(config["label2id"], {name: number for number, name in enumerate(NAMES["former"])})
        self.npar("checkpoint", "consolidate", "run", "--output", "run.safetensors")
        (self.folder / "m.npar").write_text(re.sub(r"train (tune|head)\(.*?\n}\n", "", (self.folder / "m.npar").read_text(), flags=re.S))
        told = self.npar("export", "run.safetensors", "--model", "m.npar", "--set", "together=1", "--set", "data=former", "--output", "unnamed").error
        self.assertIn("id2label", told)
        self.assertNotIn("id2label", json.loads((self.folder / "unnamed" / "config.json").read_text()))

    def test_wrong_patterns(self):
        self.write_digits()
        self.npar("train", "m.npar", "--train", "base", "--set", "data=former", "--steps", 1, "--output", "w.safetensors", "--quiet")
        flags = ["train", "m.npar", "--train", "base", "--set", "data=former", "--steps", 1]
        refused = self.npar(*flags, "--weights", "w.safetensors", "--fresh", "head.*", code=1).error
        self.assertIn("--fresh 'head.*' matches no parameter of the model, which has 14, the last 'fc.bias'", refused)
        self.assertIn("--fresh needs --weights PATH", self.npar(*flags, "--fresh", "fc.*", code=2).error)
        told = self.npar(*flags, "--weights", "w.safetensors", "--fresh", "fc.*", "--fresh", "bn2.weight").error
        self.assertIn("3 parameters get their initial values, not those of 'w.safetensors': 'bn2.weight', 'fc.weight', 'fc.bias'", told)

    def test_a_resume_in_the_middle_of_an_epoch_under_another_dp(self):
        """The same samples, changed in the same way, and the same running statistics as a run without a break."""
        self.write_digits()
        whole, parts = [["train", "m.npar", "--train", "base", "--set", "data=former", "--set", "compute=f64", "--log", f"{name}.jsonl", "--quiet", "--checkpoint", name] for name in ("whole", "parts")]
        self.npar(*whole, "--set", "dp=1", "--steps", 30)
        self.npar(*parts, "--set", "dp=4", "--steps", 11)
        self.npar(*parts, "--set", "dp=2", "--steps", 30, "--resume")
        hashes = [[json.loads(line)["batch_hash"] for line in (self.folder / f"{name}.jsonl").read_text().splitlines()] for name in ("whole", "parts")]
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual(len(set(hashes[0])), 30)
        one, other = self.values("whole/step-30"), self.values("parts/step-30")
        self.assertEqual(list(one["bn1.num_batches_tracked"]), [30])
        for name in one:
            for a, b in zip(one[name], other[name], strict=True):
                self.assertLess(abs(a - b), 1e-10 * max(1, abs(a)), name)


@unittest.skipUnless(LONG, "trains for minutes: with --long only")
@unittest.skipUnless(FASHION.is_dir(), f"Debian's dataset-fashion-mnist is not installed: no {FASHION}")
class FashionTest(FinetuneTest):
    def write_halves(self):
        """The first 12,000 pictures of training, and all of the test, as IDX files of the classes 0 to 4 and 5 to 9."""
        for part, most in (("train", 12_000), ("t10k", 10_000)):
            [images], [labels] = (list(FASHION.glob(f"{part}-{kind}*")) for kind in ("images", "labels"))
            pixels, numbers = gzip.decompress(images.read_bytes())[16:], gzip.decompress(labels.read_bytes())[8:]
            for half, classes in (("former", range(5)), ("latter", range(5, 10))):
                chosen = [i for i in range(most) if numbers[i] in classes]
                (self.folder / f"{half}-{part}-images").write_bytes(struct.pack(">IIII", 0x803, len(chosen), 28, 28) + b"".join(pixels[784 * i : 784 * i + 784] for i in chosen))
                (self.folder / f"{half}-{part}-labels").write_bytes(struct.pack(">II", 0x801, len(chosen)) + bytes(numbers[i] - classes[0] for i in chosen))

    def half(self, half, folder, *flags, sizes, every, steps, block="base"):
        """The best evaluation on the pictures of the test, and the checkpoint that has it."""
        held = [flag for kind in ("image", "label") for flag in ("--eval-data", f"{kind}={half}-t10k-{kind}s")]
        done = self.npar_json("train", "m.npar", "--train", block, "--set", f"data={half}", *sizes, *flags, "--checkpoint", folder, "--checkpoint-keep", 1,
                              "--eval-every", every, "--eval-stop-on", "right", *held, "--steps", steps, "--quiet", timeout=3000)  # fmt: skip
        return done["best"]["right"], self.best(folder)

    def halves(self, name, *former, **run):
        """The first half, with the flags `former`, and the second half with a new head alone and all tuned."""
        first, best = self.half("former", "first", *former, **run)
        weights = ["--weights", best, "--fresh", "fc.*"]
        head, _ = self.half("latter", "head", *weights, block="head", **run)
        tuned, _ = self.half("latter", "tuned", *weights, block="tune", **run)
        print(f"Fashion-MNIST, {name}: first half {first:.4f}, new head {head:.4f}, all tuned {tuned:.4f}")
        return first, head, tuned

    def test_a_frozen_body_and_a_tuned_one(self):
        self.write_halves()
        text = MODEL.read_text().replace("training: random_crop(pad = 1)", "training: random_crop(pad = 2)").replace("    split 0.8, 0.2 seed 7\n", "")
        for half in NAMES:
            text = text.replace(f'images "{half}" image, label = class(image)', f'idx "{half}-train-images" image\n    idx "{half}-train-labels" label')
        (self.folder / "m.npar").write_text(text)
        first, head, tuned = self.halves("two convolutions", *settings(lr=0.01), sizes=settings(side=28, first=16, second=32, epoch=190), every=190, steps=760)
        self.assertGreater(first, 0.85)
        self.assertGreater(head, 0.9)
        self.assertGreater(tuned, head)

    def test_resnet18(self):
        self.write_halves()
        shutil.copy(RESNET, self.folder / "m.npar")
        sizes = ["--config", "resnet18", *settings(channels=1, height=28, width=28, classes=5, mean="[0.286]", deviation="[0.353]"), "--plan", "none"]
        first, head, tuned = self.halves("ResNet-18", sizes=sizes, every=188, steps=564)
        self.assertGreater(first, 0.78)
        self.assertGreater(head, 0.75)
        self.assertGreater(tuned, head + 0.05)

    def test_the_cnn_under_two_ranks(self):
        """At least 90 % of the pictures of the test after three epochs."""
        (self.folder / "fashion.npar").write_text(block(ROOT / "tools" / "IMAGES.md", "npar"))
        self.npar("train", "fashion.npar", "--train", "fashion", "--plan", "two", "--steps", 2814, "--checkpoint", "run", "--quiet", timeout=3000)
        held = [flag for kind, name in (("image", "images-idx3"), ("label", "labels-idx1")) for flag in ("--data", f"{kind}={FASHION}/t10k-{name}-ubyte.gz")]
        found = self.npar_json("eval", "run", *held, "--quiet")
        print(f"Fashion-MNIST: {found['metrics']['right']:.4f} of {found['samples']}")
        self.assertEqual(found["samples"], 10_000)
        self.assertGreaterEqual(found["metrics"]["right"], 0.9)


if __name__ == "__main__":
    unittest.main()
