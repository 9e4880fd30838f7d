"""`npar sweep`: every combination of settings is a row with what `npar simulate` says of it, or with the reason why it is refused."""

import csv
import io
import unittest
import xml.etree.ElementTree

from driver import DriverTest, settings

SMALL = {"vocab": 257, "context": 32, "width": 32, "heads": 4, "depth": 4, "length": 16, "batch": 16}

# Four devices in a host.
MACHINE = """machine quartet {
    device { count 4 devices  memory 1 GB  reserved 1 MB  fragments 5 % }
    step { launch 1 us }
    memory { far 100 GB/s  move 100 GB/s }
    kernel { operation 0 ps  function 0 ps }
    link host { bandwidth 10 GB/s  latency 5 us }
    link cluster { bandwidth 1 GB/s  latency 20 us }
    product f32 { rate 1 TFLOP/s  rows 1 rows  columns 1 columns  depth 1 terms  peak 2 TFLOP/s }
    attention f32 { rate 1 TFLOP/s  rows 0 rows }
    attention_grad f32 { rate 1 TFLOP/s  rows 0 rows }
}
"""


class SweepTest(DriverTest):
    def setUp(self):
        super().setUp()
        (self.folder / "quartet.npar").write_text(MACHINE)

    def sweep(self, *arguments, small=SMALL, **options):
        return self.npar_json("sweep", "gpt2", "--machine", "quartet.npar", *settings(small), *arguments, **options)

    def test_rows_are_simulations_in_the_order_given(self):
        found = self.sweep("--over", "mesh.tp=2,1", "--over", "micro=1,2", "--set", "mesh.dp=1", "--svg", "all.svg")
        self.assertIn("against time; 4 combinations<", (self.folder / "all.svg").read_text())
        rows = found["rows"]
        self.assertEqual([row["settings"] for row in rows], [{"mesh.tp": tp, "micro": micro} for tp in "21" for micro in "12"])
        for row in rows:
            one = self.npar_json("simulate", "gpt2", "--machine", "quartet.npar", *settings(SMALL, row["settings"], mesh__dp=1))
            for name in ("seconds_per_step", "mfu", "memory_bytes", "fits", "bubble", "exposed_communication", "ranks", "hosts"):
                self.assertEqual(row[name], one[name], (row["settings"], name))
            self.assertIsNone(row["refused"])

    def test_what_is_refused_is_a_row(self):
        rows = self.sweep("--over", "mesh.tp=3,1")["rows"]
        self.assertEqual(rows[0]["refused"], "axis 'head' of size 4 is not divisible by mesh axis 'tp' of size 3 [P8]")
        self.assertNotIn("seconds_per_step", rows[0])
        self.assertIsNone(rows[1]["refused"])
        only = self.npar("sweep", "gpt2", "--machine", "quartet.npar", *settings(SMALL), "--over", "mesh.tp=3", code=1)
        self.assertIn("axis 'head' of size 4", only.output)
        self.assertIn("every combination is refused", only.error)

    def test_hosts_are_filled(self):
        rows = self.sweep("--hosts", "1", "--over", "mesh.dp=1,2,4", "--over", "mesh.pp=2", "--set", "mesh.tp=1")["rows"]
        self.assertEqual([row["refused"] for row in rows], ["2 ranks leave places on the last host empty", None, "takes 2 hosts"])

    def test_speed_up(self):
        """By samples per second, relative to the fewest ranks, wherever that row is; a batch that grows with the ranks counts."""
        plan = ("--set", "mesh.tp=1", "--set", "mesh.pp=1")
        rest = {key: value for key, value in SMALL.items() if key not in ("batch", "micro")}
        rows = self.sweep("--over", "mesh.dp=4,1,2", "--over", "batch=16,8*dp", "--set", "micro=batch/dp", *plan, small=rest)["rows"]
        base = next(row for row in rows if row["settings"]["mesh.dp"] == "1")
        for row in rows:
            dp, batch = int(row["settings"]["mesh.dp"]), row["settings"]["batch"]
            batch = 16 if batch == "16" else 8 * dp
            one = self.npar_json("simulate", "gpt2", "--machine", "quartet.npar", *settings(SMALL, batch=batch, micro=batch // dp, mesh__dp=dp, mesh__tp=1, mesh__pp=1))
            self.assertEqual((row["seconds_per_step"], row["ranks"]), (one["seconds_per_step"], dp))
            self.assert_close(row["speed_up"], batch / row["seconds_per_step"] / (16 / base["seconds_per_step"]), 1e-12)
            self.assert_close(row["efficiency"], row["speed_up"] / dp, 1e-12)
            self.assertLessEqual(row["exposed_all_reduce_seconds"], row["all_reduce_seconds"])
            self.assertEqual(row["all_reduce_seconds"] > 0, dp > 1)
            self.assert_close(row["exposed_all_reduce_seconds"], row["exposed_communication"] * row["seconds_per_step"], 1e-9)  # nothing else is sent

    def test_buckets_hide_reductions(self):
        rows = self.sweep("--over", "bucket=none,1B", "--set", "mesh.dp=4", "--set", "mesh.tp=1", "--set", "mesh.pp=1", "--set", "micro=4")["rows"]
        none, small = (row["exposed_all_reduce_seconds"] for row in rows)
        self.assertLess(small, none)

    def test_files(self):
        over = ("--over", "mesh.tp=1,2,3", "--over", "schedule=1f1b,gpipe")
        arguments = ("sweep", "gpt2", "--machine", "quartet.npar", *settings(SMALL), *over, "--csv", "s.csv", "--svg", "s.svg")
        text = self.npar(*arguments).output
        files = [(self.folder / name).read_bytes() for name in ("s.csv", "s.svg")]
        self.assertEqual(self.npar(*arguments, "--jobs", "3").output, text)
        self.assertEqual([(self.folder / name).read_bytes() for name in ("s.csv", "s.svg")], files)
        table = list(csv.DictReader(io.StringIO(files[0].decode())))
        rows = self.sweep(*over)["rows"]
        self.assertEqual(len(table), 6)
        for line, row in zip(table, rows):
            self.assertEqual({key: line[key] for key in row["settings"]}, row["settings"])
            self.assertEqual(line["refused"], row["refused"] or "")
            if not row["refused"]:
                self.assertEqual((float(line["seconds"]), int(line["memory_bytes"])), (row["seconds_per_step"], row["memory_bytes"]))
        self.assertIn(b"against time; 4 of 6 combinations, the others are refused<", files[1])
        picture = xml.etree.ElementTree.fromstring(files[1])
        name = "{http://www.w3.org/2000/svg}"
        self.assertEqual(len(picture.findall(f".//{name}circle")), sum(not row["refused"] for row in rows))
        self.assertEqual(len([one for one in picture.iter(f"{name}rect") if one.get("class") == "speed-up"]), sum(not row["refused"] for row in rows))
        self.assertTrue(any("a device has" in (one.text or "") for one in picture.iter(f"{name}text")))


if __name__ == "__main__":
    unittest.main()
