"""Logs of runs and evaluations: lines of JSON, columns and TensorBoard's events agree, survive kills, and are continued."""

import csv
import json
import re
import signal
import struct
import subprocess
import time
import unittest

from driver import NPAR, ROOT, DriverTest, mesh, settings

SIZES = {"vocab": 33, "width": 16, "inner": 32, "depth": 2, "length": 8, "batch": 16}
EVENTS = "events.out.tfevents.npar"
RULES = """import "mlp"
train ruled for Mlp {
    batch 16
    optimizer AdamW(lr = 1e-2)
    for "*.bias" as "biases, all" { decay 0 }
    for "head.*" { lr * 2 }
}
"""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of a protocol buffer's fields: bytes, or the bits of what has a fixed size."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def events(path):
    """[(step, {tag: value})] of an event file; a record that is cut off ends it."""
    data, at, found = path.read_bytes(), 0, []
    while len(data) - at >= 16:
        (size,) = struct.unpack_from("<Q", data, at)
        if len(data) - at < 16 + size:
            break
        event = dict(fields(data[at + 12 : at + 12 + size]))
        values = {}
        for _, value in fields(event.get(5, b"")):
            entry = dict(fields(value))
            values[entry[1].decode()] = struct.unpack("<f", entry[2])[0]
        if values:
            found.append((event.get(2, 0), values))
        at += 16 + size
    return found


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class LogsTest(DriverTest):
    def run_logged(self, *flags, rules=RULES, **options):
        (self.folder / "ruled.npar").write_text(rules)
        return self.npar("run", "ruled.npar", "--plan", "none", *settings(SIZES), "--random-data", "--quiet", *flags, **options)

    def test_all_formats_say_the_same(self):
        (self.folder / "board").mkdir()
        self.run_logged("--steps", 3, "--log", "log.jsonl", "--log", "log.csv", "--log", "board")
        objects, columns, board = lines(self.folder / "log.jsonl"), rows(self.folder / "log.csv"), events(self.folder / "board" / EVENTS)
        self.assertEqual([entry["step"] for entry in objects], [0, 1, 2])
        self.assertEqual([(int(row["step"]), row["kind"]) for row in columns], [(0, "train"), (1, "train"), (2, "train")])
        self.assertEqual([step for step, _ in board], [0, 1, 2])
        for entry, row, (_, values) in zip(objects, columns, board):
            self.assertEqual(set(entry["grad_norms"]), {"other", "biases, all", "head.*"})
            whole = sum(norm**2 for norm in entry["grad_norms"].values()) ** 0.5
            self.assert_close(whole, entry["grad_norm"], 1e-12, "the groups' norms together")
            for name in ("loss", "grad_norm", "lr", "tokens_per_second", "flops_per_second"):
                self.assertEqual(float(row[name]), entry[name])
                self.assertEqual(values[name], struct.unpack("<f", struct.pack("<f", entry[name]))[0])
            for group, norm in entry["grad_norms"].items():
                self.assertEqual(float(row["grad_norm " + group]), norm)
                self.assert_close(values["grad_norm/" + group], norm, 1e-6)
        self.assertEqual(sorted(path.name for path in self.folder.rglob("*") if path.is_file()), sorted(["ruled.npar", "log.jsonl", "log.csv", EVENTS]))

    def test_flops_are_the_models_whatever_the_plan(self):
        """Three products for each matrix; what a plan repeats or computes twice does not count."""
        tokens = SIZES["batch"] * SIZES["length"]
        matrices = SIZES["depth"] * 2 * SIZES["width"] * SIZES["inner"] + SIZES["width"] * SIZES["vocab"]
        (self.folder / "machine.npar").write_text((ROOT / "stdlib" / "machines" / "reference.npar").read_text())
        for plan in (["--plan", "none"], ["--plan", "data", *settings(mesh(dp=2, tp=2), zero=3, recompute="block")]):
            self.npar("run", "mlp", *plan, *settings(SIZES), "--random-data", "--quiet", "--steps", 1, "--log", "log.jsonl", "--machine", "machine.npar")
            (entry,) = lines(self.folder / "log.jsonl")
            self.assert_close(entry["flops_per_second"] * entry["tokens"] / entry["tokens_per_second"], 3 * 2 * tokens * matrices, 1e-9)
            self.assert_close(entry["flops_per_second"] / entry["peak_share"], self.peak(), 1e-9)

    def peak(self):
        """FLOP/s of float32 products on all cores of the reference machine, by its text."""
        text = (ROOT / "stdlib" / "machines" / "reference.npar").read_text()
        patterns = (r"product f32 \{\s*rate ([\d.]+) GFLOP/s", r"\bcores (\d+) cores", r"\bspread (\d+) %")
        rate, cores, spread = (float(re.search(pattern, text)[1]) for pattern in patterns)
        return rate * 1e9 * (1 + (cores - 1) * spread / 100)

    def test_a_kill_leaves_readable_files_and_resuming_goes_on(self):
        (self.folder / "ruled.npar").write_text(RULES)
        command = [
            "run", "ruled.npar", "--plan", "none", *settings(SIZES), "--random-data", "--quiet", "--checkpoint", "run", "--checkpoint-every", "5", "--resume",
            "--log", "log.jsonl", "--log", "log.csv", "--log", EVENTS,
        ]  # fmt: skip
        process = subprocess.Popen([str(NPAR), *command, "--steps", "1000000"], cwd=self.folder)
        limit = time.monotonic() + 60
        while time.monotonic() < limit and not (self.folder / "run" / "step-10").exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        board = [step for step, _ in events(self.folder / (EVENTS + ".partial"))]
        self.assertEqual(board, list(range(len(board))))
        self.assertGreaterEqual(len(board), 10)
        steps = max(int(path.name.split("-")[1]) for path in (self.folder / "run").glob("step-*") if path.name.split("-")[1].isdigit()) + 3
        self.npar(*command, "--steps", steps)
        self.assertEqual([entry["step"] for entry in lines(self.folder / "log.jsonl")], list(range(steps)))
        self.assertEqual([int(row["step"]) for row in rows(self.folder / "log.csv")], list(range(steps)))
        self.assertEqual([step for step, _ in events(self.folder / EVENTS)], list(range(steps)))

    def test_a_log_that_cannot_be_continued_keeps_its_rows(self):
        """Rows that a resumed run cannot keep stop it before it changes a file."""
        run = ["--checkpoint", "run", "--resume"]
        self.run_logged(*run, "--steps", 1, "--log", "log.csv", "--log", "log.jsonl")
        self.run_logged(*run, "--steps", 2)
        for steps in (3, 4):
            self.run_logged(*run, "--steps", steps, "--log", "log.jsonl")
        self.assertEqual([entry["step"] for entry in lines(self.folder / "log.jsonl")], [0, 2, 3])  # the run of step 1 had no log
        (self.folder / "blog.jsonl").write_text("what I learned\n")
        before = {path: path.read_bytes() for path in self.folder.glob("*log*")}
        for flags, why in (
            (["--log", "log.csv"], "log.csv' cannot be continued: it has no column 'grad_norm biases', which this run writes"),
            (["--log", "blog.jsonl"], "blog.jsonl' cannot be continued: line 1 is not a row of a log"),
        ):
            result = self.run_logged(*run, "--steps", 5, *flags, rules=RULES.replace("biases, all", "biases"), code=1)
            self.assertIn(why, result.error)
            self.assertIn("npar: help: resume with --log and another file", result.error)
            self.assertEqual({path: path.read_bytes() for path in self.folder.glob("*log*")}, before)

    def test_bad_paths_are_found_before_the_first_step(self):
        for flags, code, message in (
            (["--log", "a.csv", "--log", "no/such/b.csv"], 1, "cannot write 'no/such/b.csv': No such file or directory"),
            (["--log", "no/none/"], 1, "cannot make the folder 'no/none/': No such file or directory"),
            (["--log", "a.csv", "--log", "./a.csv"], 2, "--log and --log name the same file"),
            ([word for number in range(9) for word in ("--log", f"{number}.csv")], 2, "--log is given 9 times, the most is 8"),
        ):
            with self.subTest(flags):
                error = self.run_logged("--steps", 1, *flags, code=code).error
                self.assertIn(message, error)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["ruled.npar"])

    def test_an_evaluation_is_a_row(self):
        """Of a checkpoint at its step."""
        data = self.text_file(2000)
        flags = ["--data", data, "--tokens", "bytes"]
        sizes = settings({**SIZES, "vocab": 256})
        self.npar("run", "mlp", "--plan", "none", *sizes, *flags, "--steps", 2, "--checkpoint", "run", "--quiet")
        self.npar("eval", "run", *flags, "--quiet", "--log", "eval.jsonl", "--log", "eval.csv", "--log", EVENTS)
        (entry,), (row,), ((step, values),) = lines(self.folder / "eval.jsonl"), rows(self.folder / "eval.csv"), events(self.folder / EVENTS)
        self.assertEqual((entry["step"], row["step"], row["kind"], step), (2, "2", "eval", 2))
        self.assertEqual(float(row["eval_loss"]), entry["eval_loss"])
        self.assert_close(values["eval/perplexity"], entry["eval_perplexity"], 1e-6)
        self.assertEqual(entry["eval_tokens"], 1999)


if __name__ == "__main__":
    unittest.main()
