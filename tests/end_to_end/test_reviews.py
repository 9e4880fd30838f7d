"""Texts as data: token numbers of transformers, reviews that are classified on two ranks, labels for new texts and pictures, and what is refused."""

import csv
import json
import random
import shutil
import struct
import sys
import unittest
import zlib

from driver import LONG, REFERENCE, ROOT, DriverTest, safetensors_file
from test_processes import MPIS, WITHOUT

sys.path.insert(0, str(ROOT / "tools" / "examples"))

import reviews
from text_data import CASES

EXAMPLES = ROOT / "tools" / "examples"
RECORDED = json.loads((REFERENCE / "text_recorded.json").read_text())
LABELS = reviews.LABELS

# A model without a transformer in which tokens, mask and types decide the label.
BAG = """
model Bag(vocab = 364, length = 16, labels = 2, width = 4, task = "classify") {
    axis batch, seq = length, vocab, label = labels, other = labels, embed = width
    input tokens, segment: i32[batch, seq]
    input mask: f32[batch, seq]
    input answer: i32[batch]
    param table: [vocab, embed] = normal(0.5)
    param w: [embed, label] = normal(0.5)
    param v: [embed, other] = normal(0.5)
    x = gather(table, tokens, over = vocab) * (1 + float(segment))
    scores = project(sum(x * mask, over = seq), w)
    second = project(sum(x * mask, over = seq), v)
    vector = sum(x * mask, over = seq)
    if task == "classify" {
        loss main = cross_entropy(scores, answer, over = label)
        output scores
    }
    if task == "twice" {
        loss main = cross_entropy(scores, answer, over = label)
        loss other = cross_entropy(second, answer, over = other)
        output scores
        output second
    }
    if task == "vectors" {
        loss main = cross_entropy(scores, answer, over = label)
        output vector
    }
}
train base for Bag { batch 32 optimizer Sgd(lr = 0.1) seed 3 }
plan two for Bag { mesh dp = 2 micro 16 split { batch -> dp } }
data all for Bag {
    text "DATA" tokens = encode(COLUMNS, tokenizer = "reviews/tokenizer"), mask = valid(tokens), segment = segment(tokens), answer = class("label")
    sequential
}
"""


class ReviewsTest(DriverTest):
    def setUp(self):
        super().setUp()
        rows = reviews.reviews(random.Random(1), 107)
        reviews.write(self.folder / "reviews", rows[:99], rows[99:])
        self.rows = rows

    def bag(self, data="reviews/reviews.csv", columns='"review"', name="bag.npar", text=BAG):
        (self.folder / name).write_text(text.replace("DATA", data).replace("COLUMNS", columns))
        return name

    def trained(self, *flags):
        self.npar("train", self.bag(), "--steps", 3, "--checkpoint", "run", "--quiet", *flags)
        return "run"

    def test_tokens_are_those_of_transformers(self):
        for columns in (1, 2):
            for length in sorted({case[0] for case in CASES if len(case) == columns + 1}):
                chosen = [(i, case) for i, case in enumerate(CASES) if case[0] == length and len(case) == columns + 1]
                with open(self.folder / "cases.csv", "w", newline="", encoding="utf-8") as file:
                    csv.writer(file).writerows([["label", "a", "b"], *(["x", *case[1:], *["-"] * (3 - len(case))] for _, case in chosen)])
                model = self.bag("cases.csv", '"a"' if columns == 1 else '"a", "b"')
                shown = self.npar_json("data", "show", model, "--set", f"length={length}", "--set", f"batch={len(chosen)}", "--plan", "none", "--count", len(chosen))
                for (index, case), sample in zip(chosen, shown["first"], strict=True):
                    inputs = sample["inputs"]
                    self.assertEqual([inputs["tokens"], inputs["mask"], inputs["segment"]], RECORDED[index], case)
                    self.assertEqual(sample["texts"], list(case[1:]))

    def test_samples_labels_and_order_do_not_depend_on_the_plan(self):
        run = self.trained("--plan", "two")
        data = ["--data", "reviews/reviews.csv"]
        found = {}
        for plan in ("none", "two"):
            result = self.npar_json("eval", run, *data, "--plan", plan, "--set", "batch=32", "--predict", "--quiet")
            self.assertEqual(result["samples"], 99)
            self.assertEqual(result["counted"]["main"] if "counted" in result else 99, 99)
            found[plan] = result["predictions"]
        self.assertEqual([each["sample"] for each in found["two"]], list(range(99)))
        for one, other, (text, _) in zip(found["none"], found["two"], self.rows[:99], strict=True):
            self.assertEqual((one["name"], one["class"], one["texts"]), (other["name"], other["class"], [text]))
            self.assert_close(other["probability"], one["probability"], 1e-4)
        # Files in both formats, from each format of the data; a file without labels, one text in each line.
        self.npar("eval", run, "--data", "reviews/reviews.csv", "--predict", "labels.csv", "--quiet")
        with open(self.folder / "labels.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([(row["label"], row["text"]) for row in table], [(each["class"], each["texts"][0]) for each in found["none"]])
        self.npar("eval", run, "--data", "reviews/reviews.jsonl", "--predict", "labels.jsonl", "--quiet")
        lines = [json.loads(line) for line in (self.folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual([(each["class"], each["texts"]) for each in lines], [(each["class"], each["texts"]) for each in found["none"]])
        new = self.npar("eval", run, "--data", "reviews/new.csv", "--predict")
        self.assertIn("nothing feeds answer: loss 'main' is left out", new.error)
        printed = [line.split("  ") for line in new.output.splitlines()]
        self.assertEqual(len(printed), 8)
        self.assertTrue(all(row[1] in LABELS and 0.5 <= float(row[2]) <= 1 for row in printed), printed)
        lines = self.npar("eval", run, "--data", "reviews/new.txt", "--predict").output.splitlines()
        self.assertEqual([line.split("  ")[1:3] for line in lines], [row[1:3] for row in printed])
        self.assertEqual([line.split("  ")[0] for line in lines], [f"line {i + 1}" for i in range(8)])

    def test_a_file_to_evaluate_may_lack_a_class(self):
        run = self.trained()
        whole = {each["texts"][0]: each["label"] for each in self.npar_json("eval", run, "--data", "reviews/reviews.csv", "--predict", "--quiet")["predictions"]}
        with open(self.folder / "good.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["review", "label"], *([text, "positive"] for text, label in self.rows[:99] if label)])
        found = self.npar_json("eval", run, "--data", "good.csv", "--predict", "--quiet")
        self.assertEqual([each["label"] for each in found["predictions"]], [whole[text] for text, label in self.rows[:99] if label])
        (self.folder / "other.csv").write_text("review,label\nfine,neutral\n")
        self.assertIn("other.csv:2: the label 'neutral' of column 'label' is none of the 2 classes\nnpar: help: they are 'negative', 'positive'", self.npar("eval", run, "--data", "other.csv", code=1).error)

    def test_labels_may_have_line_breaks(self):
        (self.folder / "data.csv").write_text('review,label\nfine,"a\tb\nc"\nbad,d\n')
        self.npar("train", self.bag("data.csv"), "--set", "batch=2", "--plan", "none", "--steps", 1, "--checkpoint", "run", "--quiet")
        found = self.npar_json("eval", "run", "--data", "data.csv", "--predict", "--quiet")
        self.assertEqual(found["samples"], 2)
        self.assertLessEqual({each["class"] for each in found["predictions"]}, {"a\\u0009b\\u000ac", "d"})

    @unittest.skipUnless(MPIS, WITHOUT)
    def test_processes_predict_what_one_predicts(self):
        run = self.trained()
        one = self.npar("eval", run, "--data", "reviews/new.csv", "--predict", "--quiet").output
        flags = ["--data", "reviews/new.csv", "--plan", "two", "--predict", "--quiet"]
        self.assertEqual(self.npar("launch", "--mpi", MPIS[-1], "-n", 2, "eval", run, *flags).output, self.npar("eval", run, *flags).output)
        self.assertEqual(one.count("\n"), 8)

    def test_outputs_without_a_data_block(self):
        run = self.trained()
        model = self.bag(name="plain.npar", text=BAG.split("data all")[0])
        common = ["eval", model, "--weights", run, "--quiet"]
        self.npar(*common, "--data", "reviews/reviews.csv", "--text", "review", "--outputs", "one.safetensors")
        self.npar(*common, "--data", "reviews/reviews.csv", "--text", "review", "--outputs", "two.safetensors", "--plan", "two")
        one, two = (safetensors_file.read(self.folder / name)["scores"] for name in ("one.safetensors", "two.safetensors"))
        self.assertEqual(list(one.shape), [99, 2])
        self.assertLess(max(abs(a - b) for a, b in zip(one.values, two.values, strict=True)), 1e-5)
        self.npar(*common, "--data", "reviews/new.csv", "--outputs", "new.safetensors")  # its only column
        refused = self.npar(*common, "--data", "reviews/reviews.csv", "--outputs", "x.safetensors", code=2).error
        self.assertIn("has the columns 'review', 'label': name the one with the texts, --text COLUMN", refused)

    def test_labels_of_a_folder_keep_its_numbers(self):
        run = self.trained()
        data = ["--data", "reviews/reviews.csv"]
        right = self.npar_json("eval", run, *data, "--quiet")["loss"]
        folder = self.folder / "folder"
        folder.mkdir()
        self.npar("checkpoint", "consolidate", run, "-o", "folder/model.safetensors")
        for labels, same in ((LABELS, True), (LABELS[::-1], False)):
            (folder / "config.json").write_text(json.dumps({"id2label": dict(enumerate(labels))}))
            found = self.npar_json("eval", "bag.npar", "--weights", "folder", *data, "--quiet")
            self.assertEqual(abs(found["loss"] - right) < 1e-6, same)
            self.assertEqual(self.npar_json("eval", "bag.npar", "--weights", "folder", "--data", "reviews/reviews.tsv", "--quiet")["loss"], right)  # numbers
        warned = self.npar("train", "bag.npar", "--weights", "folder", "--steps", 1).error
        self.assertIn("""the weights number the classes 'positive', 'negative', the data 'negative', 'positive'""", warned)
        self.assertIn('class("COLUMN", ["positive", "negative"])', warned)
        (self.folder / "bag.npar").write_text((self.folder / "bag.npar").read_text().replace('class("label")', 'class("label", ["negative", "positive"])'))
        self.assertIn("class 0 of these data is 'negative', that of 'folder' is 'positive'", self.npar("eval", "bag.npar", "--weights", "folder", *data, code=1).error)

    def test_checkpoints_keep_a_tokenizer_under_any_name(self):
        shutil.copy(self.folder / "reviews" / "tokenizer" / "vocab.txt", self.folder)  # of another tokenizer
        tokens = {"[PAD]": 0, "[UNK]": 1, "a": 2}
        (self.folder / "my.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None, "model": {"type": "WordLevel", "vocab": tokens, "unk_token": "[UNK]"}}))
        self.npar("train", self.bag(), "--steps", 1, "--checkpoint", "mine", "--tokenizer", "my.json", "--quiet")
        kept = self.folder / "mine" / "step-1" / "model"
        self.assertEqual((kept / "tokenizer.json").read_text(), (self.folder / "my.json").read_text())
        self.assertFalse((kept / "vocab.txt").exists())
        twice = json.loads((self.folder / "my.json").read_text())
        text = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {}}
        twice["post_processor"] = {"type": "Sequence", "processors": [text, {"type": "BertProcessing", "cls": ["a", 2], "sep": ["a", 2]}]}
        (self.folder / "my.json").write_text(json.dumps(twice))
        refused = self.npar("eval", "mine", "--data", "reviews/new.csv", "--predict", "--tokenizer", "my.json", code=1).error
        self.assertIn("post-processor", refused)
        (self.folder / "my.json").unlink()
        self.npar("eval", "mine", "--data", "reviews/new.csv", "--predict", "--quiet")
        # A run that had its tokenizer from a flag or from the weights resumes with that of its checkpoint.
        model = self.bag(name="bare.npar", text=BAG.replace(', tokenizer = "reviews/tokenizer"', ""))
        self.npar("train", model, "--steps", 1, "--checkpoint", "bare", "--tokenizer", "reviews/tokenizer", "--quiet")
        self.npar("train", model, "--steps", 2, "--checkpoint", "bare", "--resume", "--quiet")

    def test_what_has_no_labels_is_refused(self):
        run = self.trained()
        vectors = self.bag(name="vectors.npar")
        error = self.npar("eval", vectors, "--set", "task=vectors", "--weights", run, "--predict", "--quiet", code=1).error
        self.assertIn("no output of model 'Bag' has one score per class", error)
        self.assertIn("--outputs FILE.safetensors writes outputs of any kind", error)
        self.npar("train", vectors, "--set", "task=twice", "--steps", 1, "--checkpoint", "twice", "--quiet")
        self.assertIn("in the outputs 'scores' and 'second': choose one with --output NAME", self.npar("eval", "twice", "--predict", "--data", "reviews/new.txt", code=2).error)
        self.npar("eval", "twice", "--predict", "--output", "second", "--data", "reviews/new.txt")
        self.assertIn("has no output 'third'", self.npar("eval", "twice", "--predict", "--output", "third", "--data", "reviews/new.txt", code=1).error)
        self.assertIn("give --predict", self.npar("eval", run, "--output", "scores", code=2).error)
        self.assertIn("neither ending", self.npar("eval", run, "--predict", "labels.pt", code=2).error)

    def test_wrong_files_name_the_line(self):
        cases = {
            "a,label\nx,y\n": "data.csv:1: there is no column 'review'\nnpar: help: the columns are 'a', 'label'",
            "review,label\nfine,positive\n,negative\n": "data.csv:3: the text of column 'review' is empty",
            "review,label\nfine,positive,1\n": "data.csv:2: this row has 3 fields, the first has 2",
            "review,label\nfine,a\nfine,b\nfine,c\n": "has 3 different labels for input 'answer', but axis 'label'",
        }
        for text, message in cases.items():
            (self.folder / "data.csv").write_text(text)
            self.assertIn(message, self.npar("train", self.bag("data.csv"), "--set", "batch=1", "--plan", "none", "--steps", 1, code=1).error)
        self.bag("reviews/reviews.csv", '"review", tokenizer = "none"', text=BAG.replace(', tokenizer = "reviews/tokenizer"', ""))
        self.assertIn("none", self.npar("train", "bag.npar", "--steps", 1, code=1).error)

    def test_pictures_without_classes(self):
        def png(value):
            def chunk(kind, data):
                return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

            return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress((b"\0" + bytes([value, value])) * 2)) + chunk(b"IEND", b"")

        (self.folder / "m.npar").write_text("""
model Grey(labels = 2) {
    axis batch, row = 2, column = 2, label = labels
    input image: u8[batch, row, column]
    input kind: i32[batch]
    param w: [row, column, label] = normal(0.5)
    scores = project(float(image) / 255 - 0.5, w)
    loss cross_entropy(scores, kind, over = label)
    output scores
}
train base for Grey { batch 4 optimizer Sgd(lr = 1.0) }
plan one for Grey { micro 4 }
data all for Grey { images "photos" image, kind = class(image) }
""")
        for value in range(8):
            folder = self.folder / "photos" / ("dark" if value < 4 else "light")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{value}.png").write_bytes(png(32 * value))
        self.npar("train", "m.npar", "--steps", 40, "--checkpoint", "run", "--quiet")
        (self.folder / "new").mkdir()
        for value in (0, 255):
            (self.folder / "new" / f"{value}.png").write_bytes(png(value))
        found = self.npar("eval", "run", "--predict", "--data", "new", "--quiet").output.split()
        self.assertEqual([found[0], found[1], found[3], found[4]], ["0.png", "dark", "255.png", "light"])
        self.assertIn("has no sub-folders", self.npar("eval", "run", "--data", "new", code=1).error)

    def test_the_example_learns(self):
        for name in ("reviews.npar", "reviews.py"):
            shutil.copy(EXAMPLES / name, self.folder / name)
        rows, steps = (600, 68) if LONG else (99, 2)
        reviews.write(self.folder / "reviews", reviews.reviews(random.Random(1), rows + 8)[:rows], [("a", 0)])
        small = [] if LONG else ["--set", "depth=1", "--set", "width=16", "--set", "length=32"]
        done = self.npar_json("train", "reviews.npar", "--config", "small", *small, "--plan", "two", "--steps", steps, "--eval-every", steps // 2, "--checkpoint", "run", "--quiet")
        evaluation = done["eval"]
        self.assertEqual(evaluation["samples"], round(0.1 * rows))
        if LONG:
            self.assertGreater(evaluation["metrics"]["right"], 0.9)
        kept = {path.name for path in (self.folder / "run" / f"step-{steps}" / "model").iterdir()}
        self.assertLessEqual({"vocab.txt", "tokenizer_config.json"}, kept)
        shutil.rmtree(self.folder / "reviews" / "tokenizer")  # the checkpoint has its own
        (self.folder / "new.txt").write_text("The food was delicious.\n早餐难吃。\n", encoding="utf-8")
        self.assertEqual(len(self.npar("eval", "run", "--predict", "--data", "new.txt").output.splitlines()), 2)
        self.npar("export", "run", "-o", "exported")
        config = json.loads((self.folder / "exported" / "config.json").read_text())
        self.assertEqual(config["id2label"], {"0": "negative", "1": "positive"})


if __name__ == "__main__":
    unittest.main()
