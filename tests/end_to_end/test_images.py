"""Pictures as data: written digits in IDX files, folders of classes, random changes that no plan and no resume alters, damage, and sheets."""

import gzip
import json
import pathlib
import shutil
import struct
import unittest
import zlib

from driver import LONG, REFERENCE, DriverTest
from test_processes import MPIS, WITHOUT

DIGITS = pathlib.Path(__file__).resolve().parent / "digits.npar"
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")

FOLDER = """
import "Linear"
model Photos(side = 12, labels = 3) {
    axis batch, channel = 3, row = side, column = side, kind = labels
    input image: u8[batch, channel, row, column]
    input label: i32[batch]
    param w: [channel, row, column, kind] = normal(0.05)
    scores = project(float(image) / 255.0, w)
    loss cross_entropy(scores, label, over = kind)
    output scores
}
train base for Photos { batch 4 optimizer Sgd(lr = 0.1) seed 5 }
plan divided(dp = 1) for Photos { mesh dp micro 2 split { batch -> dp } }
data photos for Photos {
    images "photos" image, label = class(image)
    STEPS
}
"""


ONE_INPUT = """
model Digits(side = 8) {
    axis batch, row = side, column = side
    input image: u8[batch, row, column]
    param w: [row, column] = ones
    loss squared_error(sum(float(image) * w, over = [row, column]), sum(float(image), over = [row, column]) * 0.9)
}
train base for Digits { batch 4 optimizer Sgd(lr = 1e-9) }
data digits for Digits { idx "digits-images.idx.gz" image }
"""


def png(height, width, color):
    """A PNG file of one colour, which gets brighter from row to row."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + bytes(min(255, value + row) for value in color) * width for row in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


class PicturesTest(DriverTest):
    def log(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def hashes(self, model, *flags, steps, name):
        self.npar("train", model, *flags, "--steps", steps, "--checkpoint", name, "--log", f"{name}.jsonl", "--resume", "--quiet")
        return [line["batch_hash"] for line in self.log(f"{name}.jsonl")]


class DigitsTest(PicturesTest):
    CHANGES = "    training: random_crop(pad = 1)\n"

    def change(self, old, new):
        (self.folder / "digits.npar").write_text(DIGITS.read_text().replace(old, new))

    def setUp(self):
        super().setUp()
        self.model = "digits.npar"
        self.change("", "")
        for name in ("digits-images.idx.gz", "digits-labels.idx.gz"):
            shutil.copy(REFERENCE / "pictures" / name, self.folder)

    def test_they_are_learned(self):
        """Two data-parallel ranks, pictures as they are; of what was held out at least 93 % are right."""
        self.change(self.CHANGES, "")
        trained = self.npar_json("train", self.model, "--set", "mesh.dp=2", "--steps", 360, "--output", "trained.safetensors", "--quiet")
        self.assertLess(trained["loss"], 0.5)
        evaluated = self.npar_json("eval", self.model, "--weights", "trained.safetensors", "--quiet")
        self.assertEqual(evaluated["samples"], 1797 - round(0.8 * 1797))
        print(f"digits: {evaluated['metrics']['right']:.4f} of {evaluated['samples']} held out digits are right")
        self.assertGreater(evaluated["metrics"]["right"], 0.93)

    def test_the_same_changed_samples_under_every_plan_and_after_a_resume(self):
        """45 batches are an epoch: the checkpoint is in the middle of the second."""
        whole = self.hashes(self.model, steps=100, name="whole")
        self.assertEqual(len(set(whole)), 100, "no two batches are the same, in any epoch")
        begun = self.hashes(self.model, "--set", "mesh.dp=2", steps=60, name="begun")
        self.assertEqual(begun, whole[:60])
        self.assertEqual(self.hashes(self.model, "--set", "mesh.dp=4", steps=100, name="begun"), whole)
        self.change(self.CHANGES, "")
        self.assertNotEqual(self.hashes(self.model, steps=2, name="unchanged"), whole[:2])
        refused = self.npar("train", self.model, "--steps", 101, "--checkpoint", "whole", "--resume", code=1).error
        self.assertIn("'shuffled, split 0.8, 0.2 seed 7, random_crop(1)', but this run uses 'shuffled, split 0.8, 0.2 seed 7'", refused)

    def test_files_in_place_of_the_blocks(self):
        """Unpacked, and with too few labels."""
        for name in ("digits-images", "digits-labels"):
            (self.folder / f"{name}.idx").write_bytes(gzip.decompress((self.folder / f"{name}.idx.gz").read_bytes()))
        flags = ["--data", "image=digits-images.idx", "--data", "label=digits-labels.idx"]
        self.assertEqual(self.hashes(self.model, *flags, steps=3, name="given"), self.hashes(self.model, steps=3, name="block"))
        labels = (self.folder / "digits-labels.idx").read_bytes()
        (self.folder / "digits-labels.idx").write_bytes(labels[:4] + struct.pack(">I", 1790) + labels[8 : 8 + 1790])
        refused = self.npar("train", self.model, *flags, "--steps", 1, code=1).error
        self.assertIn("'digits-labels.idx' has 1790 samples, 'digits-images.idx' has 1797", refused)
        refused = self.npar("train", self.model, "--steps", 1, "--set", "side=11", code=1).error
        self.assertIn("sample 0 of 'digits-images.idx.gz' has 8 x 8 pixels and 1 of padding, too small for a cut of 11 x 11; resize it first", refused)

    def test_one_input_in_place_of_the_block(self):
        """A denoiser of digits: an evaluation reads an IDX file without --tokens."""
        (self.folder / "ae.npar").write_text(ONE_INPUT)
        (self.folder / "ae.idx").write_bytes(gzip.decompress((self.folder / "digits-images.idx.gz").read_bytes()))
        self.npar("train", "ae.npar", "--steps", 1, "--output", "w.safetensors", "--quiet")
        found = [self.npar_json("eval", "ae.npar", "--weights", "w.safetensors", "--quiet", *data)["loss"] for data in ([], ["--data", "ae.idx"])]
        self.assertEqual(*found)
        refused = self.npar("train", "ae.npar", "--set", "data=none", "--data", ".", "--steps", 1, code=1).error
        self.assertIn("'.' is a folder, and no data block reads pictures", refused)

    def test_a_sheet(self):
        shown = self.npar("data", "show", self.model, "--count", 5, "--epoch", 2, "--sheet", "sheet.png").output
        self.assertIn("idx, shuffled, split 0.8, 0.2 seed 7, random_crop(1)\n  digits-images.idx.gz, digits-labels.idx.gz: 1797 samples\n", shown)
        data = (self.folder / "sheet.png").read_bytes()
        self.assertEqual(struct.unpack(">II", data[16:24]), (3 * 64 + 4 * 4, 2 * 64 + 3 * 4))
        self.npar("data", "show", self.model, "--count", 5, "--epoch", 2, "--sheet", "again.png")
        self.assertEqual((self.folder / "again.png").read_bytes(), data)
        self.npar("data", "show", self.model, "--count", 5, "--epoch", 3, "--sheet", "next.png")
        self.assertNotEqual((self.folder / "next.png").read_bytes(), data)
        for name in ("sheet.svg", "sheet.jpg", "sheet.JPEG"):
            self.assertIn("use '.png'", self.npar("data", "show", self.model, "--sheet", name, code=2).error)


class FolderTest(PicturesTest):
    def write(self, steps, sizes=((20, 30), (16, 12), (40, 18)), each=4):
        (self.folder / "model.npar").write_text(FOLDER.replace("STEPS", steps))
        for number, kind in enumerate(("ants", "bees", "wasps")):
            (self.folder / "photos" / kind).mkdir(parents=True)
            for i in range(each):
                height, width = sizes[i % len(sizes)]
                (self.folder / "photos" / kind / f"{i}.png").write_bytes(png(height, width, [40 * i, 60 * number, 200]))

    RANDOM = "training: random_resized_crop, flip   evaluation: resize(14), center_crop"

    def test_pictures_of_several_sizes(self):
        self.write(self.RANDOM)
        whole = self.hashes("model.npar", steps=8, name="whole")
        self.assertEqual(self.hashes("model.npar", "--set", "mesh.dp=2", steps=8, name="parts"), whole)
        shown = self.npar_json("data", "show", "model.npar", "--data-order", "sequential", "--count", 9)
        self.assertEqual([sample["name"] for sample in shown["first"]][3:5], ["ants/3.png", "bees/0.png"])
        self.assertEqual([sample["inputs"]["label"][0] for sample in shown["first"]], [0] * 4 + [1] * 4 + [2])
        # An evaluation takes the middle, the same each time.
        for name in ("one", "two"):
            self.npar("eval", "model.npar", "--weights", self.trained(), "--outputs", f"{name}.safetensors", "--quiet")
        self.assertEqual((self.folder / "one.safetensors").read_bytes(), (self.folder / "two.safetensors").read_bytes())
        self.npar("eval", "model.npar", "--weights", self.trained(), "--data", self.folder / "photos", "--quiet")

    @unittest.skipUnless(MPIS, WITHOUT)
    def test_two_processes_read_the_same_pictures(self):
        self.write(self.RANDOM)
        whole = self.hashes("model.npar", "--set", "mesh.dp=2", steps=4, name="whole")
        self.npar("launch", "-n", 2, "--mpi", MPIS[0], "train", "model.npar", "--set", "mesh.dp=2", "--steps", 4, "--checkpoint", "two", "--log", "two.jsonl", "--quiet")
        self.assertEqual([line["batch_hash"] for line in self.log("two.jsonl")], whole)

    def trained(self):
        if not (self.folder / "trained.safetensors").exists():
            self.npar("train", "model.npar", "--steps", 1, "--output", "trained.safetensors", "--quiet")
        return "trained.safetensors"

    def test_a_damaged_picture_ends_the_run_at_its_batch_and_loses_nothing(self):
        self.write("pictures: resize(12), center_crop   sequential")
        path = self.folder / "photos" / "wasps" / "1.png"
        path.write_bytes(path.read_bytes()[:60])
        flags = ["--steps", 9, "--checkpoint", "run", "--checkpoint-every", 1, "--quiet"]
        error = self.npar("train", "model.npar", *flags, code=1).error
        self.assertIn("cannot read picture 'photos/wasps/1.png': its PNG data are damaged: ", error)
        self.assertTrue((self.folder / "run" / "step-2").is_dir(), "what was trained before is kept")
        path.write_bytes(png(20, 20, [1, 2, 3]))
        self.npar("train", "model.npar", *flags, "--resume")

    def test_what_does_not_fit_is_refused(self):
        self.write("shuffled")
        self.assertIn("picture 'photos/ants/0.png' has 20 x 30 pixels, but the input takes 12 x 12; resize or cut it",
                      self.npar("train", "model.npar", "--steps", 1, code=1).error)  # fmt: skip
        (self.folder / "photos" / "moths").mkdir()
        self.assertIn("class folder 'photos/moths' has no PNG or JPEG file", self.npar("train", "model.npar", "--steps", 1, code=1).error)
        (self.folder / "photos" / "moths" / "0.png").write_bytes(png(12, 12, [1, 2, 3]))
        self.assertIn("'photos' has 4 class folders for input 'label', but axis 'kind'", self.npar("train", "model.npar", "--steps", 1, code=1).error)
        self.assertIn("reads a folder of pictures and their classes: give the folder for all inputs, --data FOLDER",
                      self.npar("train", "model.npar", "--steps", 1, "--data", "image=photos", code=1).error)  # fmt: skip

    def test_steps_of_the_training_alone_are_shown(self):
        """Pictures of a part that is evaluated are shown as an evaluation prepares them."""
        self.write("training: random_resized_crop   split 0.5, 0.5 seed 1", each=8)
        self.npar("train", "model.npar", "--steps", 1, "--quiet")
        shown = self.npar_json("data", "show", "model.npar", "--count", 2)
        self.assertEqual(shown["order"], "shuffled, split 0.5, 0.5 seed 1, random_resized_crop(0.08, 1, 0.75, 1.33333333)")
        refused = self.npar("data", "show", "model.npar", "--part", 2, code=1).error
        self.assertIn("but the input takes 12 x 12; resize or cut it", refused)

    def test_a_sheet_has_the_names(self):
        self.write(self.RANDOM)
        shown = self.npar("data", "show", "model.npar", "--sheet", "sheet.png", "--data-order", "sequential").output
        self.assertIn("\nsample 1 of 'photos': ants/1.png\n", shown)
        self.assertEqual(struct.unpack(">II", (self.folder / "sheet.png").read_bytes()[16:24]), (2 * 72 + 3 * 4,) * 2)


@unittest.skipUnless(LONG, "reads 47 MB: with --long only")
class FashionTest(PicturesTest):
    @unittest.skipUnless(FASHION.is_dir(), f"Debian's dataset-fashion-mnist is not installed: no {FASHION}")
    def test_it_is_learned(self):
        text = DIGITS.read_text().replace("side = 8", "side = 28").replace("width = 64, white = 16.0", "width = 128, white = 255.0")
        for kind in ("images", "labels"):
            [path] = FASHION.glob(f"train-{kind}*")
            text = text.replace(f"digits-{kind}.idx.gz", str(path))
        (self.folder / "fashion.npar").write_text(text.replace(DigitsTest.CHANGES, "").replace("0.15", "0.03").replace("1e-2", "1e-3"))
        self.npar("train", "fashion.npar", "--set", "mesh.dp=2", "--set", "epoch=1500", "--steps", 4500, "--output", "trained.safetensors", "--quiet")
        evaluated = self.npar_json("eval", "fashion.npar", "--weights", "trained.safetensors", "--quiet")
        self.assertGreater(evaluated["metrics"]["right"], 0.85)


if __name__ == "__main__":
    unittest.main()
