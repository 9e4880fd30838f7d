"""`npar simulate`: predictions beside published step times, what it says of a plan, and what it refuses."""

import csv
import unittest

from driver import ROOT, DriverTest, settings

import fits  # of ../reference
import step_times

SMALL = ["--set", "vocab=512", "--set", "width=256", "--set", "heads=8", "--set", "depth=8", "--set", "length=64", "--set", "batch=32",
         "--set", "compute=bf16"]


class SimulateTest(DriverTest):
    def json(self, *flags):
        return self.npar_json("simulate", *flags)

    def test_published_step_times(self):
        """A prediction of each publication on machines whose figures it says are well known; the whole table is made by hand."""
        table = step_times.rows()
        chosen = [row for row in table if row["use"] == "check" and (
            (row["source"].startswith("arXiv 2104.04473") and row["row"] == "7") or (row["row"] == "33" and "BLOOM" in row["source"])
            or row["row"] in ("1F1B 1.5B m=32", "ZB-1p 1.5B m=24"))]
        self.assertEqual(len(chosen), 4)
        for row in chosen:
            with self.subTest(row=row["row"]):
                self.assertLess(abs(step_times.error(row, step_times.predict(row))), 0.05)

    def test_parts_add_up(self):
        said = self.json("gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=4")
        self.assertEqual((said["ranks"], said["hosts"]), (16, 2))
        self.assertAlmostEqual(said["computing"] + said["exposed_communication"] + said["bubble"], 1, 9)
        self.assertAlmostEqual(sum(part["seconds"] for part in said["critical_path"]), said["seconds_per_step"], 9)
        for part in said["classes"]:
            self.assertAlmostEqual(part["computing"] + part["exposed"] + part["idle"], said["seconds_per_step"], 9)
            self.assertAlmostEqual(sum(part["work"].values()), part["computing"], 9)
        self.assertTrue(said["fits"])
        self.assertTrue(0 < said["mfu"] <= said["hfu"] < 1)
        self.assertEqual(set(said["bytes"]) & {"dp", "pp", "tp"}, {"dp", "pp", "tp"})

    def test_published_bubble_rates(self):
        """Of the zero-bubble paper (Qi et al. 2023, table 5), by compiled programs whose tasks take the times that it measured."""
        published = ((8, 24, "18.522,18.086,9.337,0.601", (0.2431, 0.1055, 0.1585, 0.1083)),
                     (16, 48, "11.347,11.248,8.132,0.377", (0.2552, 0.1104, 0.1397, 0.0672)))
        for stages, micros, times, rates in published:
            for schedule, rate in zip(("1f1b", "interleaved(3)", "zb_h1", "zb_h2"), rates):
                with self.subTest(schedule=schedule, stages=stages):
                    found = self.rate(stages, micros, schedule, times)
                    self.assertAlmostEqual(found, rate, delta=4e-3 if "(" in schedule else 1e-4)

    def test_bubbles_in_closed_form(self):
        """Without messages (Narayanan et al. 2021, section 2.2): p - 1 micro-batches' time, with v chunks a v-th of it."""
        for schedule, chunks in (("gpipe", 1), ("1f1b", 1), ("interleaved(2)", 2), ("interleaved(4)", 4)):
            found = self.rate(4, 8, schedule, "2,3,1,0", depth=16)
            self.assertAlmostEqual(found / (1 - found), 3 / 8 / chunks, 9, schedule)

    def rate(self, stages, micros, schedule, times, depth=None):
        (self.folder / "stages.npar").write_text(f"""import "gpt2"
plan stages for Gpt2 {{ mesh pp = {stages} micro 1 split {{ h -> pp by {schedule} }} }}
train base for Gpt2 {{ batch {micros} optimizer AdamW(lr = 1e-3) }}
""")
        sizes = settings(vocab=64, width=16, heads=2, depth=depth or 3 * stages, context=16, tied="false")
        said = self.json("stages.npar", "--machine", "dgx-a100", "--post-validated", "--task-times", times, *sizes)
        return 1 - micros * sum(float(time) for time in times.split(",")[:3]) / 1000 / said["seconds_per_step"]

    def test_what_need_not_wait_makes_steps_shorter(self):
        flags = ["gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=4", "--set", "schedule=zb_h2", "--set", "zero=1"]
        plain = self.json(*flags)["seconds_per_step"]
        self.assertLess(self.json(*flags, "--post-validated")["seconds_per_step"], plain)
        self.assertLess(self.json(*flags, "--overlapped-gathers")["seconds_per_step"], plain)

    def test_fits(self):
        """A published layout that fits and one that does not; all of them by hand (../reference/fits.py)."""
        with open(fits.step_times.HERE / "fits.csv", newline="") as file:
            for row in csv.DictReader(file):
                if row["row"] in ("35", "37"):
                    self.assertEqual(fits.predict(row)[1], row["fits"] == "yes", row)

    def test_the_same_twice(self):
        flags = ["simulate", "gpt2", "--machine", "jean-zay-a100", *SMALL, "--json"]
        self.assertEqual(self.npar(*flags).output, self.npar(*flags).output)

    def test_recomputing_is_hardware_work_alone(self):
        kept, repeated = (self.json("gpt2", "--machine", "dgx-a100", *SMALL, "--set", f"recompute={word}") for word in ("none", "block"))
        self.assertEqual(kept["model_flops"], repeated["model_flops"])
        self.assertGreater(repeated["hardware_flops"], kept["hardware_flops"])
        self.assertGreater(repeated["seconds_per_step"], kept["seconds_per_step"])

    def test_machines_of_the_library(self):
        """Each has a plausible answer for two of its hosts, in the narrow type that it has; no device is faster than its maker says."""
        found = 0
        for path in sorted((ROOT / "stdlib" / "machines").glob("*.npar")):
            figures = self.npar_json("machine", "show", path.stem)["figures"]
            if "device.count" not in figures:
                continue
            with self.subTest(machine=path.stem):
                found += 1
                for name, value in figures.items():
                    if name.startswith("product.") and name.endswith(".rate"):
                        self.assertLess(value, figures[name.replace("rate", "peak")], name)
                hosts = 2 if "link.cluster.bandwidth" in figures else 1
                ranks = int(hosts * figures["device.count"])
                compute = "bf16" if "product.bf16.rate" in figures else "fp16"
                # Wide and shallow: products count, and no rank waits long for gradients.
                said = self.json("gpt2", "--machine", path.stem, "--hosts", str(hosts), "--set", "vocab=512", "--set", "width=4096", "--set", "heads=32",
                                 "--set", "depth=2", "--set", "length=2048", "--set", "context=2048", "--set", "micro=1", "--set", f"batch={64 * ranks}",
                                 "--set", f"mesh.dp={ranks}", "--set", "mesh.pp=1", "--set", "mesh.tp=1", "--set", "per_step=true",
                                 "--set", "zero=2", "--set", f"compute={compute}")
                self.assertTrue(said["fits"])
                self.assertTrue(0.25 < said["mfu"] < 0.65, said["mfu"])
        self.assertGreaterEqual(found, 14)

    def test_slower_links_between_hosts(self):
        """Groups over hosts take longer on a cluster that differs in nothing else."""
        text = (ROOT / "stdlib" / "machines" / "dgx-a100.npar").read_text()
        seconds = []
        for bandwidth in ("20", "1"):
            path = self.folder / f"m{bandwidth}.npar"
            path.write_text(text.replace("link cluster { bandwidth 20 GB/s", f"link cluster {{ bandwidth {bandwidth} GB/s"))
            seconds.append([self.json("gpt2", "--machine", path, *SMALL, "--set", f"mesh.dp={dp}")["seconds_per_step"] for dp in (2, 4)])
        self.assertEqual(seconds[0][0], seconds[1][0])  # one host
        self.assertLess(seconds[0][1], seconds[1][1])

    def test_refused(self):
        for flags, code, words in (
                (["gpt2", "--machine", "dgx-a100", "--hosts", "3"], 1, "which take one host of 'dgx_a100' with 8 each; --hosts says 3"),
                (["gpt2", "--machine", "dgx-a100", "--set", "compute=f64"], 1, "the plan computes in f64, of which machine 'dgx_a100' lacks figures"),
                (["gpt2", "--machine", "reference"], 1, "lacks the figures of messages between hosts"),
                (["some.npx", "--machine", "dgx-a100"], 2, "give the model text"),
                (["gpt2", "--machine", "dgx-a10"], 1, "did you mean 'dgx-a100'?")):
            with self.subTest(flags=flags):
                self.assertIn(words, self.npar("simulate", *flags, code=code).error)


if __name__ == "__main__":
    unittest.main()
