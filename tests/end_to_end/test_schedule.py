"""`npar schedule`: the JSON that tools rely on, exit codes, schedules exchanged as text, plans that name a file, hostile files."""

import csv
import json
import random
import unittest
import xml.etree.ElementTree

from driver import ROOT, SMALL, DriverTest, settings

PYTORCH = ROOT / "tests" / "compiler" / "schedules" / "pytorch"
KEYS = ["schema", "kind", "stages", "microbatches", "chunks", "makespan", "bubble_rate", "peak_live", "tasks", "ok", "errors"]
TASK_KEYS = ["phase", "chunk", "micro_index", "start", "end"]


class ScheduleTest(DriverTest):
    def schedule(self, *arguments, **options):
        return self.npar("schedule", *arguments, **options)

    def schedule_json(self, *arguments, **options):
        return json.loads(self.schedule(*arguments, "--format=json", **options).output)

    def write(self, text, name="mine.csv"):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def test_json(self):
        found = self.schedule_json("--kind=1f1b", "--stages=4", "--microbatches=8")
        self.assertEqual(list(found), KEYS)
        self.assertEqual([found[key] for key in ("kind", "stages", "microbatches", "chunks", "ok", "errors")], ["1f1b", 4, 8, 1, True, []])
        self.assertEqual(found["makespan"], 33)  # (m + p - 1) (F + B + W)
        self.assert_close(found["bubble_rate"], 3 / 11, 1e-12)
        self.assertEqual(found["peak_live"], [4, 3, 2, 1])
        self.assertEqual([len(tasks) for tasks in found["tasks"]], [16] * 4)
        for stage, tasks in enumerate(found["tasks"]):
            clock = 0
            for task in tasks:
                self.assertEqual(list(task), TASK_KEYS)
                self.assertGreaterEqual(task["start"], clock)
                self.assertEqual(task["end"] - task["start"], 1 if task["phase"] == "F" else 2)
                clock = task["end"]
            self.assertEqual(tasks[0], {"phase": "F", "chunk": 0, "micro_index": 0, "start": stage, "end": stage + 1})
        self.assertEqual(self.npar_json("schedule", "--kind=1f1b", "--stages=4", "--microbatches=8"), found)

    def test_costs_give_the_published_bubble(self):
        """Zero-bubble paper, table 5: 1F1B on 8 stages, milliseconds."""
        found = self.schedule_json("--kind=1f1b", "--stages=8", "--microbatches=24", "--cost", "F=18.522,B=18.086,W=9.337,comm=0.601")
        self.assertLess(abs(found["bubble_rate"] - 0.2431), 1e-4)

    def test_what_is_printed_reads_back(self):
        for kind in ("gpipe", "1f1b"):
            numbers = [f"--kind={kind}", "--stages=3", "--microbatches=5"]
            text = self.schedule(*numbers, "--format=csv").output
            made, read = self.schedule_json(*numbers), self.schedule_json("--from-csv", self.write(text), "--check")
            self.assertEqual(read["kind"], "csv")
            for key in KEYS[2:]:
                self.assertEqual(read[key], made[key], key)
            self.assertEqual(self.schedule("--from-csv", "mine.csv", "--format=csv").output, text)

    def test_exchange_with_pytorch(self):
        """Its dumps are read as they are; what is printed of them has the same actions in the same order."""
        for path in sorted(PYTORCH.glob("*.csv")):
            if "looped_bfs" in path.name:
                continue
            with self.subTest(path.name):
                found = self.schedule_json("--from-csv", path, "--check")
                self.assertTrue(found["ok"])
                self.assertEqual(found["chunks"], 2)
                printed = self.schedule("--from-csv", path, "--format=csv").output
                with open(path, newline="") as file:
                    cells = list(csv.reader(file))
                compute = [[cell for cell in row if cell and not any(word in cell for word in ("SEND", "RECV", "SHARD", "GRAD"))] for row in cells]
                self.assertEqual([row.split(",") for row in printed.splitlines()], compute)

    def test_descending_backwards_are_refused(self):
        path = PYTORCH / "looped_bfs_2x4x2.csv"
        error = self.schedule("--from-csv", path, code=1).error
        self.assertIn("looped_bfs_2x4x2.csv:1:39: error: stage 0, task 9: '2B2' comes after '2B3': gradients must accumulate", error)
        found = self.schedule_json("--from-csv", path, "--check", code=3)
        self.assertFalse(found["ok"])
        self.assertEqual([found["makespan"], found["bubble_rate"], found["peak_live"]], [None, None, []])
        self.assertEqual(found["errors"][0]["stage"], 0)
        self.assertEqual(found["errors"][0]["position"], 9)
        self.assertEqual([found["errors"][0]["row"], found["errors"][0]["column"]], [1, 39])

    def test_wrong_files(self):
        """Stage, position and reason of each; without --check the input is wrong, with it a check failed."""
        wrong = {
            "0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n": "1:12: error: stage 0, task 3: '0B1' is missing",
            "0F0,0B0,0B0\n": "1:9: error: stage 0, task 2: '0B0' appears twice",
            "0F0,1B0\n1F0,0B0\n": "1:5: error: stage 0, task 0: virtual stage 1",
            "0F0,frob,0B0\n": "1:5: error: stage 0, task 0: 'frob' is not an action",
            "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n": "1:5: error: stage 0, task 1: '0B0' never starts: it waits for '1B0' of stage 1",
            "0F0,0I0\n": "1:5: error: stage 0, task 0: '0I0' is the input part of a backward",
        }
        for text, message in wrong.items():
            with self.subTest(text):
                path = self.write(text)
                if "virtual" not in message:
                    self.assertIn("mine.csv:" + message, self.schedule("--from-csv", path, code=1).error)
                result = self.schedule("--from-csv", path, "--check", "--format=json", code=3)
                errors = json.loads(result.output)["errors"]
                self.assertTrue(errors)
                for error in errors:
                    self.assertEqual(list(error), ["stage", "position", "reason", "row", "column"])
                for form in ("text", "csv", "svg"):
                    self.assertEqual(self.schedule("--from-csv", path, "--check", f"--format={form}", code=3).output, "")

    def test_communications(self):
        """The order of pytorch#172668 and its repair: the order of a file is checked unchanged, and messages tell how it is used."""
        order = ["0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1", "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1"]
        wrong = self.write("\n".join(order) + "\n")
        said = "mine.csv:1:18: error: stage 0, action 3: '0SEND_F1' never ends: it waits for '1RECV_F1' (2:27), which comes after"
        self.assertIn(said, self.schedule("--from-csv", wrong, "--check", code=3).error)
        self.assertIn(said, self.schedule("--from-csv", wrong, code=1).error)
        (error,) = self.schedule_json("--from-csv", wrong, "--check", code=3)["errors"]
        self.assertEqual(list(error), ["stage", "position", "reason", "row", "column", "cycle"])
        self.assertEqual([error[key] for key in ("stage", "position", "row", "column")], [0, 3, 1, 18])
        self.assertEqual([list(link.values()) for link in error["cycle"]],
                         [["0SEND_F1", 0, 3, 1, 18, "other end"], ["1RECV_F1", 1, 4, 2, 27, "order"],
                          ["1SEND_B0", 1, 3, 2, 18, "other end"], ["0RECV_B0", 0, 4, 1, 27, "order"]])  # fmt: skip
        self.assertEqual(list(error["cycle"][0]), ["action", "stage", "position", "row", "column", "waits_for_next"])
        eager = self.schedule("--from-csv", wrong, "--check", "--eager")
        self.assertIn("gives 8 communications, which are checked unchanged", eager.error)
        right = self.write("\n".join([order[0], "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1"]) + "\n", "right.csv")
        self.assertTrue(self.schedule_json("--from-csv", right, "--check")["ok"])
        compute = self.schedule("--from-csv", right, "--format=csv").output
        self.assertEqual(compute, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        self.write(compute, "compute.csv")
        self.assertIn("has no communications: --eager has no effect", self.schedule("--from-csv", "compute.csv", "--eager").error)
        self.schedule("diff", "mine.csv", "right.csv", code=1)
        self.schedule("diff", "mine.csv", "right.csv", "--eager")
        self.schedule("explain", "--from-csv", "mine.csv", "--eager")
        for words in (["--kind=1f1b"], ["explain", "--kind=1f1b"], ["diff", "1f1b", "gpipe"]):
            error = self.schedule(*words, "--stages=2", "--microbatches=2", "--eager", code=2).error
            self.assertIn("--eager applies to the communications of a file", error)

    def test_plan_with_communications(self):
        """A plan may name such a file: its order must be able to run; a warning tells that the program uses npar's own order."""
        size = settings(SMALL, {"batch": 8, "micro": 4})
        rows = ["0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1", "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1"]
        model = self.plan("\n".join(rows) + "\n")
        self.assertIn("mine.npar:5:24: warning: schedule \"mine.csv\" gives 8 communications: they are checked, but the program is executed",
                      self.npar("compile", model, "-o", "given.npx", *size).error)  # fmt: skip
        self.plan("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        self.assertEqual(self.npar("compile", model, "-o", "plain.npx", *size).error.count("warning"), 0)
        self.plan(rows[0] + "\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n")
        error = self.npar("compile", model, "--emit=nn", *size, code=1).error
        self.assertIn("mine.csv:1:18: error: '0SEND_F1' never ends", error)
        self.assertIn("help: npar makes the communications itself: a file with compute actions alone is enough", error)

    def test_hostile_files(self):
        chance = random.Random(5)
        hostile = {
            "large": b"x" * 20_000_000,
            "commas": b"," * 5_000_000,
            "one row": b"0F0," * 2_000_000,
            "rows": b"0F0\n" * 1_000_000,
            "binary": bytes(chance.randrange(256) for _ in range(100_000)),
            "number": b"0F" + b"9" * 1_000_000,
            "micro": b"0F1048575,0B1048575\n",
            "empty": b"",
            "quotes": b'"' * 100_000,
            "quoted": b'"0F0,0B0"\n',
            "overlap": b"(" * 100_000,
            "utf-16": "0F0,0B0\n".encode("utf-16"),
        }
        for name, text in hostile.items():
            with self.subTest(name):
                path = self.write(text)
                result = self.schedule("--from-csv", path, code=1, timeout=60)
                self.assertIn("mine.csv:", result.error)
                self.assertLess(len(result.error), 100_000)
                self.assertFalse(self.schedule_json("--from-csv", path, "--check", code=3, timeout=60)["ok"])

    def test_spreadsheet_files(self):
        for text in (b'\xef\xbb\xbf"0F0",,"0B0"\r\n,"1F0","1B0"\r\n\r\n', b"0F0,0B0\n1F0,1B0"):
            self.assertTrue(self.schedule_json("--from-csv", self.write(text), "--check")["ok"])

    def test_refusals(self):
        one = ["--kind=1f1b", "--stages=2", "--microbatches=4"]
        self.write("0F0,0B0\n1F0,1B0\n")
        for code, arguments, message in [
            (2, [], "no schedule: give --kind"),
            (2, ["--kind=1f1b"], "give --stages and --microbatches"),
            (2, [*one, "--from-csv", "mine.csv"], "both name a schedule"),
            (2, [*one, "--format=png"], "png"),
            (2, [*one, "--cost", "F=1,C=2"], "--cost has no 'C'"),
            (2, [*one, "--cost", "F=-1"], "--cost needs a time from 0 to 1e12 for 'F', not '-1'"),
            (2, [*one, "--cost", "F=0,B=0,W=0"], "take no time"),
            (2, [*one, "--memory-cap=nan"], "--memory-cap"),
            (2, [*one, "--cost", "F=1,F=2"], "twice"),
            (2, [*one, "--chnks=2"], "did you mean '--chunks'?"),
            (2, ["explain", *one, "--frob"], "npar: see 'npar schedule explain --help'"),
            (2, ["diff", "1f1b"], "diff needs two schedules"),
            (2, ["frob"], "unexpected 'frob'"),
            (1, ["--kind=1fb1"], "unknown schedule '1fb1'; did you mean '1f1b'?"),
            (1, ["--kind=1f1b", "--stages=0", "--microbatches=1"], "needs at least one stage"),
            (1, ["--kind=1f1b", "--stages=-1", "--microbatches=1"], "needs at least one stage"),
            (1, ["--kind=1f1b", "--stages=2", "--microbatches=2147483647"], "are more than 1000000 forwards"),
            (1, [*one, "--chunks=2"], "has 1 chunk per stage, not 2"),
            (1, [*one, "--chunks=-2"], "cannot have -2 chunks"),
            (1, ["--from-csv", "none.csv"], "cannot read 'none.csv'"),
            (1, ["--from-csv", "."], "cannot read '.'"),
            (1, ["--from-csv", "mine.csv", "--stages=3"], "not 3, "),
            (1, ["diff", "1f1b", "none.csv"], "cannot read 'none.csv'"),
        ]:
            with self.subTest(arguments):
                result = self.schedule(*arguments, code=code)
                self.assertIn(message, result.error)
                self.assertEqual(result.output, "")

    def test_memory_cap(self):
        one = ["--kind=gpipe", "--stages=2", "--microbatches=4", "--memory-cap=3"]
        self.assertIn("stage 0, task 8: holds 4 forward activations at once, the cap is 3", self.schedule(*one, "--check", code=3).error)
        self.assertFalse(self.schedule_json(*one)["ok"])
        self.assertTrue(self.schedule_json(*one[:-1], "--memory-cap=4", "--check")["ok"])

    def test_text(self):
        text = self.schedule("--kind=1f1b", "--stages=2", "--microbatches=2", "--cost", "W=0").output
        self.assertIn("stage 0  F0 F1 .. B0 .. B1\nstage 1  .. F0 B0 F1 B1 ..\n", text)
        self.assertIn("makespan     6\nbubble rate  33.33 %\npeak live    2 1", text)
        self.assertIn("--format=svg draws it", self.schedule("--kind=1f1b", "--stages=64", "--microbatches=128").output)

    def test_pictures(self):
        for stages, micros in ((1, 1), (4, 8), (64, 128)):
            text = self.schedule("--kind=1f1b", f"--stages={stages}", f"--microbatches={micros}", "--format=svg").output
            picture = xml.etree.ElementTree.fromstring(text)
            titles = [element for element in picture.iter() if element.tag.endswith("}title")]
            self.assertEqual(len(titles), 2 * stages * micros)
            self.assertIn(f"stage {stages - 1}", "".join(picture.itertext()))

    def test_diff(self):
        text = self.schedule("diff", "gpipe", "1f1b", "--stages=2", "--microbatches=4").output
        self.assertIn("stage 0: from task 2 on, A has F2 F3 B0 B1 ..., B has B0 F2 B1 F3 ...; holds 4 in A, 2 in B", text)
        self.write(self.schedule("--kind=1f1b", "--stages=2", "--microbatches=4", "--format=csv").output)
        for pair in (("1f1b", "mine.csv"), ("mine.csv", "1f1b"), ("mine.csv", "./mine.csv")):
            found = self.npar_json("schedule", "diff", *pair)
            self.assertEqual(list(found), ["schema", "a", "b", "same", "stages"])
            self.assertTrue(found["same"])
            self.assertEqual(found["a"]["messages"], 8)

    def test_explain(self):
        one = ["explain", "--kind=1f1b", "--stages=4", "--microbatches=8", "--cost", "comm=0.5"]
        text = self.schedule(*one).output
        for part in ("Critical path", "B of stage 1", "What would reduce it", "twice as many micro-batches (16)"):
            self.assertIn(part, text)
        found = self.npar_json("schedule", *one)
        for wait in found["waits"]:
            self.assert_close(wait["busy"] + wait["idle"], found["makespan"], 1e-9)
            self.assert_close(wait["warm_up"] + wait["steady"] + wait["drain"], wait["idle"], 1e-9)
            self.assert_close(wait["for_forward"] + wait["for_backward"] + wait["for_message"] + wait["done"], wait["idle"], 1e-9)
        self.assertEqual(found["critical_path"][0]["start"], 0)
        self.assertEqual(found["critical_path"][-1]["end"], found["makespan"])
        self.write(self.schedule("--kind=1f1b", "--stages=2", "--microbatches=4", "--format=csv").output)
        self.assertIn("mine.csv: 2 stages", self.schedule("explain", "--from-csv", "mine.csv").output)

    def test_help_leads_with_an_example(self):
        for arguments in ((), ("diff",), ("explain",)):
            self.assertRegex(self.schedule(*arguments, "--help").output, r"\A.*\n\nExample:\n  npar schedule ")

    def plan(self, text):
        """A GPT-2 on two stages by mine.csv."""
        self.write(text)
        return self.write('import "gpt2"\nplan p for Gpt2 {\n    mesh pp = 2\n    micro 4\n    split { h -> pp by "mine.csv" }\n}\n', "mine.npar")

    def test_plan_names_a_file(self):
        size = settings(SMALL, {"batch": 8, "micro": 4})
        model = self.plan("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        text = self.npar("compile", model, "--emit=nn", *size, cwd="/").output
        self.assertIn('pipe.schedule = "mine.csv"', text)
        self.assertIn(r'pipe.schedule_text = "0F0,0F1,0B0,0B1\0A1F0,1B0,1F1,1B1\0A"', text)
        self.plan("0F0,0F1,0B1,0B0\n1F0,1B0,1F1,1B1\n")
        error = self.npar("compile", model, "--emit=nn", *size, code=1).error
        self.assertIn("mine.csv:1:13: error: '0B0' comes after '0B1'", error)
        self.assertIn("mine.npar:5:24: note: the plan takes its schedule from this file", error)
        self.plan("0F0,0B0\n1F0,1B0\n")
        self.assertIn("is for 2 stages and 1 micro-batch, the plan has 2 stages and 2 micro-batches",
                      self.npar("compile", model, "--emit=nn", *size, code=1).error)  # fmt: skip
        (self.folder / "mine.csv").unlink()
        self.assertIn("mine.npar:5:24: error: cannot read", self.npar("compile", model, "--emit=nn", *size, code=1).error)

    def test_more_chunks_than_blocks(self):
        part = lambda stage, kind: ",".join(f"{stage}{kind}{micro}" for micro in range(2))  # noqa: E731
        rows = [",".join([part(low, "F"), part(high, "F"), part(high, "B"), part(low, "B")]) for low, high in ((0, 2), (1, 3))]
        model = self.plan("\n".join(rows) + "\n")
        small = settings(SMALL, {"batch": 8, "micro": 4, "depth": 3})
        self.assertIn("a pipeline of 2 stages with 2 chunks each needs 4 blocks and has only 3 blocks",
                      self.npar("compile", model, "--emit=nn", *small, code=1).error)  # fmt: skip


if __name__ == "__main__":
    unittest.main()
