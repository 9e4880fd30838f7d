"""Machines: what `npar machine` writes and shows, and that times follow the machine that a plan is made for while nothing else does."""

import os
import re
import unittest

import json_schema
from driver import ROOT, SMALL, DriverTest, mesh, settings

REFERENCE = ROOT / "stdlib" / "machines" / "reference.npar"


class MachineTest(DriverTest):
    def changed(self, *pairs):
        """The reference machine's text with some figures changed, as a file."""
        text = REFERENCE.read_text()
        for figure, value in pairs:
            text, count = re.subn(rf"\b{figure} .*", f"{figure} {value}", text)
            self.assertGreater(count, 0, figure)
        (self.folder / "changed.npar").write_text(text)
        return "changed.npar"

    def span(self, *arguments):
        return self.npar_json("inspect", "gpt2", *arguments)["span_seconds"]

    def test_measure_writes_a_machine_that_plans_take(self):
        """Whatever the figures are worth: they are all there, above 0, and the file is the one that `here` reads."""
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        found = self.npar_json("machine", "measure", "--quick", env=environment)
        self.assertEqual(json_schema.validate(found, "machine-measure"), [])
        files = list((self.folder / "cache" / "npar" / "machines").iterdir())
        self.assertEqual([str(path) for path in files], [found["file"]])
        self.assertEqual(found["figures"]["processor.cores"], len(os.sched_getaffinity(0)))
        for path, value in found["figures"].items():
            self.assertGreaterEqual(value, 0, path)
            if path.endswith((".rate", ".near", ".far", ".move", ".bandwidth")):
                self.assertGreater(value, 0, path)
        kinds = {one["kind"] for one in found["residuals"]}
        self.assertLessEqual({"kernels", "products f32", "products bf16", "attention f64", "collectives of two ranks", "training steps, all cores"}, kinds)
        for one in found["residuals"]:
            self.assertGreater(one["steps"], 0, one)
            self.assertGreater(one["seconds"], 0, one)
        shown = self.npar_json("machine", "show", "here", env=environment)
        self.assertEqual(list(shown["figures"]), list(found["figures"]))
        for path, value in shown["figures"].items():
            self.assert_close(value, found["figures"][path], 1e-3, path)
        plan = ["--plan", "none", *settings(SMALL)]
        here = self.npar_json("inspect", "gpt2", *plan, "--machine", "here", env=environment)["span_seconds"]
        self.assertEqual(self.span(*plan, "--machine", files[0]), here)

    def test_show(self):
        text = self.npar("machine", "show").output
        self.assertEqual(text, self.npar("machine", "show", "reference").output)
        (self.folder / "again.npar").write_text(text)
        self.assertEqual(self.npar("machine", "show", "again.npar").output, text)
        again, first = (self.npar_json("machine", "show", *which)["figures"] for which in (("again.npar",), ()))
        self.assertEqual(list(again), list(first))
        for path, value in first.items():
            self.assert_close(again[path], value, 1e-12, path)

    def test_times_follow_the_machine(self):
        plan = ["--plan", "none", *settings(SMALL)]
        reference = self.span(*plan)
        self.assertEqual(self.span(*plan, "--machine", "reference"), reference)
        self.assertEqual(self.span(*plan, "--machine", self.changed()), reference)
        self.assertLess(self.span(*plan, "--machine", self.changed(("launch", "0 ns"))), reference)
        self.assertGreater(self.span(*plan, "--machine", self.changed(("rate", "1 MFLOP/s"))), 100 * reference)
        self.assertGreater(self.span(*plan, "--machine", self.changed(("function", "1 us"))), 10 * reference)
        self.npar("compile", "gpt2", *plan, "--machine", self.changed(("rate", "1 MFLOP/s")), "-o", "slow.npx")
        self.assertGreater(self.npar_json("inspect", "slow.npx")["span_seconds"], 100 * reference)
        self.assertIn("--machine", self.npar("inspect", "slow.npx", "--machine", "reference", code=2).error)

    def test_ranks_share_cores_where_they_stand_on_one_machine(self):
        """Eight ranks with two cores take about four times as long as eight with two each; and not less than the cores can do."""
        plan = ["--plan", "three_d", *settings(SMALL, mesh(dp=2, pp=2, tp=2))]
        figures = [("cores", "2 cores"), ("spread", "100 %"), ("grain", "0 ns"), ("launch", "0 ns"), ("latency", "0 ns"), ("bandwidth", "1 TB/s")]
        apart = self.span(*plan, "--machine", self.changed(*figures, ("ranks", "1 rank")))
        together = self.span(*plan, "--machine", self.changed(*figures, ("ranks", "8 ranks")))
        self.assertGreater(together, 4 * apart)  # two cores for all, where each rank had two
        self.assertLess(together, 9 * apart)
        self.assertEqual(self.span(*plan, "--machine", self.changed(*figures, ("ranks", "64 ranks"))), together)

    def test_the_machine_changes_no_numbers(self):
        """Other figures cut a pipeline elsewhere; what it computes is the same, bit for bit."""
        plan = ["--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=2, tp=1)), "--random-data", "--steps", 2, "--quiet"]
        first = self.npar_json("run", "gpt2", *plan)
        other = self.npar_json("run", "gpt2", *plan, "--machine", self.changed(("rate", "1 MFLOP/s")))
        self.assertEqual(first["parameter_hash"], other["parameter_hash"])

    def test_here_is_measured_at_first_use(self):
        """Here the measurement has no place to be stored, so the message tells what to do."""
        bare = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
        self.assertIn("--machine FILE", self.npar("inspect", "mlp", "--machine", "here", env=bare, code=1).error)
        self.assertIn("-o FILE", self.npar("machine", "measure", env=bare, code=1).error)
        self.npar("machine", "measure", "-o", self.folder / "no" / "such" / "folder.npar", code=1)

    def test_json_is_in_base_units(self):
        figures = self.npar_json("machine", "show", self.changed(("grain", "25 us"), ("far", "2.5GB/s")))["figures"]
        self.assert_close(figures["processor.grain"], 25e-6, 1e-12)
        self.assert_close(figures["memory.far"], 2.5e9, 1e-12)


if __name__ == "__main__":
    unittest.main()
