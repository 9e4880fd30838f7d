"""`npar simulate`: predictions against published step times, its report on a plan, and its refusals."""

import csv
import json
import math
import statistics
import unittest
import xml.etree.ElementTree

from driver import LONG, ROOT, DriverTest, settings
from test_plan import machine

import expert_times  # of ../reference
import fits
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

    def test_published_step_times_with_experts(self):
        """Predictions for which no figure was fitted; the one of 1,024 ranks takes longest to compile."""
        for row in expert_times.rows():
            if LONG or row["row"] == "Qwen3-30B-A3B":
                with self.subTest(row=row["row"]):
                    self.assertLess(abs(expert_times.error(row, expert_times.predict(row))), 0.15)

    def test_load_of_experts(self):
        """With few choices of many experts a rank has room for more rows than it gets: 4 ranks with 2 of 8 experts each, 2 choices."""
        sizes = ("vocab=512", "context=64", "width=256", "mlp=512", "heads=8", "kv_heads=8", "depth=2", "experts=8", "chosen=2", "batch=64",
                 "dp=1", "ep=4", "compute=bf16")
        flags = ("mixtral", "--machine", "dgx-a100", *(word for each in sizes for word in ("--set", each)))
        said = self.json(*flags)
        self.assertGreater(said["worst_seconds_per_step"], said["seconds_per_step"])
        fewer = self.json(*flags, "--rows-sent", "0.5,0.5")
        self.assertLess(fewer["seconds_per_step"], said["seconds_per_step"])
        # the worst load fills the rounds of a buffer, of which a balanced load fills only the first
        rounds = self.json(*flags, "--set", "buffer=1.0")
        self.assertGreater(rounds["worst_seconds_per_step"], rounds["seconds_per_step"])
        self.assertLess(rounds["worst_seconds_per_step"], 10 * said["worst_seconds_per_step"])
        # with 8 choices of 8 experts each rank has exactly the room that it needs, so the load cannot be worse
        whole = self.json(*flags, "--set", "chosen=8")
        self.assertAlmostEqual(whole.get("worst_seconds_per_step", whole["seconds_per_step"]), whole["seconds_per_step"], 9)
        self.assertNotIn("worst_seconds_per_step", self.json("gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=1", "--set", "batch=4"))

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

    def test_sums_of_gradients_apart(self):
        """Each micro-batch reads the product and the sum of every matrix and writes the sum: 12 bytes for each of its elements."""
        (self.folder / "plain.npar").write_text(machine().replace("launch 1 us", "launch 0 us"))
        flags = ["gpt2", "--machine", "plain.npar", *settings(vocab=64, context=32, length=16, width=32, heads=4, depth=2, batch=16, micro=2),
                 *(word for axis in ("dp", "pp", "tp") for word in ("--set", f"mesh.{axis}=1"))]  # fmt: skip
        plain, apart = (self.json(*flags, *more)["seconds_per_step"] for more in ([], ["--unfused-sums"]))
        self.assert_close(apart - plain, 8 * (2 * 12 * 32 * 32 + 64 * 32) * 12 / 100e9, 1e-9)

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

    def test_tf32_is_as_fast_as_the_machine_says(self):
        def seconds(machine, compute):
            wide = ["--set", "width=4096", "--set", "heads=32", "--set", "length=512", "--set", "depth=4"]
            return self.json("gpt2", "--machine", machine, *SMALL, *wide, "--set", f"compute={compute}")["seconds_per_step"]

        self.assertLess(seconds("dgx-a100", "tf32"), seconds("dgx-a100", "f32"))
        self.assertEqual(seconds("p4d", "tf32"), seconds("p4d", "f32"))  # its file has no figures of it

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

    def test_slow_ranks(self):
        """A pipeline waits for its slowest stage; another rank that does the same takes no more time; one rank alone takes all of it."""
        alone = ["gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=1", "--set", "mesh.pp=1", "--set", "mesh.tp=1"]
        self.assertAlmostEqual(self.json(*alone, "--slow", "rank=0:2")["disturbed"]["times_as_long"], 2, 9)
        many = ["gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=2", "--set", "mesh.pp=4", "--set", "mesh.tp=2"]
        plain = self.json(*many)
        self.assertNotIn("disturbed", plain)
        one = self.json(*many, "--slow", "rank=3:2")
        self.assertEqual(one["disturbed"]["undisturbed_seconds_per_step"], plain["seconds_per_step"])
        self.assertTrue(1 < one["disturbed"]["times_as_long"] < 2)
        self.assertAlmostEqual(one["disturbed"]["times_as_long"], one["seconds_per_step"] / plain["seconds_per_step"], 9)
        # Rank 3 belongs to stage 1, like all ranks with pp = 1.
        for same in (["pp=1:2"], ["pp=1:2", "rank=2-3:1.5"]):
            self.assertEqual(self.json(*many, *(word for flag in same for word in ("--slow", flag)))["seconds_per_step"], one["seconds_per_step"])
        # A host of eight ranks holds all stages.
        host = self.json(*many, "--slow", "host=1:2")
        self.assertEqual(host["seconds_per_step"], self.json(*many, "--slow", "rank=0-15:2")["seconds_per_step"])
        self.assertGreater(host["seconds_per_step"], one["seconds_per_step"])

    def test_slow_links(self):
        many = ["gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=4"]
        inside, between, both = (self.json(*many, *flags)["disturbed"]["times_as_long"] for flags in (
            ["--slow-link", "host:3"], ["--slow-link", "cluster:3"], ["--slow-link", "host:3", "--slow-link", "cluster:3"]))
        self.assertTrue(1 < inside < both and 1 < between < both < 3)
        host = ["gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=2"]
        self.assertEqual(self.json(*host, "--slow-link", "cluster:3")["disturbed"]["times_as_long"], 1)

    def test_jitter(self):
        """The step of replicas waits for the slowest of eight: its mean and 95th percentile are those of the largest of eight lognormal factors."""
        flags = ["gpt2", "--machine", "dgx-a100", *SMALL, "--set", "mesh.dp=8", "--set", "mesh.pp=1", "--set", "mesh.tp=1", "--jitter", "10%"]
        said = self.json(*flags, "--jitter-steps", "1000")
        computing, seconds = said["classes"][0]["computing"], said["seconds_per_step"]
        sigma = math.sqrt(math.log(1 + 0.1**2))

        def slowest(chance):
            return math.exp(sigma * statistics.NormalDist().inv_cdf(chance ** (1 / 8)) - sigma**2 / 2)

        mean = statistics.fmean(slowest((i + 0.5) / 10000) for i in range(10000))
        self.assertAlmostEqual((said["jitter"]["mean_seconds_per_step"] - seconds) / computing, mean - 1, delta=0.01)
        for share in (50, 95):
            self.assertAlmostEqual((said["jitter"][f"p{share}_seconds_per_step"] - seconds) / computing, slowest(share / 100) - 1, delta=0.02)
        few = [*flags, "--jitter-steps", "50"]
        self.assertEqual(self.npar("simulate", *few).output, self.npar("simulate", *few, "--jitter-seed", "0").output)
        self.assertNotEqual(self.json(*few)["jitter"], self.json(*few, "--jitter-seed", "1")["jitter"])

    def test_checkpoint_interval(self):
        """Young's and Daly's formulas by hand, and the lost time against the sum of checkpoints and of repeated work."""
        flags = ["gpt2", "--machine", "p4d", *SMALL, "--total-tokens", "1B"]
        plain = self.json(*flags)
        said = self.json(*flags, "--mtbf", "8000", "--host-mtbf", "2000", "--checkpoint-seconds", "20", "--restart-seconds", "300")
        found, seconds = said["failures"], said["seconds_per_step"]
        between = 3600 / (said["ranks"] / 8000 + said["hosts"] / 2000)
        self.assertAlmostEqual(found["seconds_between_failures"], between, 6)
        young, ratio = math.sqrt(2 * 20 * between), 20 / (2 * between)
        self.assertAlmostEqual(found["young_interval_seconds"], young, 6)
        self.assertAlmostEqual(found["interval_seconds"], young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - 20, 6)
        interval = found["interval_steps"] * seconds
        self.assertAlmostEqual(interval, found["interval_seconds"], delta=seconds)
        # First-order estimate: a checkpoint per interval; per failure a restart and half an interval.
        self.assertAlmostEqual(found["lost"], 20 / interval + (300 + interval / 2) / between, delta=0.1 * found["lost"])
        self.assertAlmostEqual(found["effective_seconds_per_step"], seconds / (1 - found["lost"]), 9)
        for part in (plain, said):
            self.assertEqual(part["tokens"]["per_step"], 32 * 64)
            self.assertEqual(part["tokens"]["steps"], math.ceil(1e9 / (32 * 64)))
        self.assertAlmostEqual(plain["tokens"]["dollars"], plain["tokens"]["steps"] * plain["dollars_per_step"], 6)
        self.assertAlmostEqual(said["tokens"]["dollars"] * (1 - found["lost"]), plain["tokens"]["dollars"], 6)
        self.assertAlmostEqual(plain["tokens"]["device_hours"], plain["tokens"]["seconds"] * plain["ranks"] / 3600, 6)
        self.assertIsNone(self.json("gpt2", "--machine", "dgx-a100", *SMALL, "--total-tokens", "1e9")["tokens"]["dollars"])

    def test_published_checkpoint_intervals(self):
        """Daly 2006, figures 3 to 5: checkpoints of 5 minutes, restarts of 10."""
        for between, minutes in ((24, 117), (6, 57), (0.25, 9.1)):
            said = self.json("gpt2", "--machine", "p4d", *SMALL, "--host-mtbf", str(between), "--checkpoint-seconds", "300", "--restart-seconds", "600")
            self.assertEqual(said["hosts"], 1)
            self.assertAlmostEqual(said["failures"]["interval_seconds"] / 60 / minutes, 1, delta=0.006)

    def test_pictures(self):
        """Boxes, slices and the page are within the simulated step, and a rank does one thing after the other."""
        paths = [self.folder / name for name in ("step.svg", "step.json", "step.html")]
        flags = ["gpt2", "--machine", "p4d", *SMALL, "--set", "mesh.pp=4", "--slow", "pp=1:1.5"]
        said = self.json(*flags, "--svg", paths[0], "--trace", paths[1], "--html", paths[2])
        picture = xml.etree.ElementTree.parse(paths[0])
        texts = [element.text or "" for element in picture.iter() if element.tag.endswith("text")]
        self.assertTrue(any("of 'p4d', slowed" in text for text in texts) and any("simulated" in text for text in texts))
        slices = [event for event in json.loads(paths[1].read_text())["traceEvents"] if event["ph"] == "X"]
        self.assertAlmostEqual(max(one["ts"] + one["dur"] for one in slices), 1e6 * sum(part["seconds"] for part in said["critical_path"]), delta=0.01)
        self.assertGreaterEqual(min(one["dur"] for one in slices), 0)
        for stage in range(4):
            for thread in (0, 1):  # tasks, computing steps
                row = sorted((one["ts"], one["dur"]) for one in slices if (one["pid"], one["tid"]) == (stage, thread))
                self.assertGreater(len(row), 8)
                for (begin, length), (after, _) in zip(row, row[1:]):
                    self.assertLessEqual(begin + length, after + 0.01)
        self.assertEqual(paths[2].read_text().count('"origin":"simulated"'), 2)  # slowed and not

    def test_refused(self):
        for flags, code, words in (
                (["gpt2", "--machine", "dgx-a100", "--hosts", "3"], 1, "which take one host of 'dgx_a100' with 8 each; --hosts says 3"),
                (["gpt2", "--machine", "dgx-a100", "--set", "compute=f64"], 1, "the plan computes in f64, of which machine 'dgx_a100' lacks figures"),
                (["gpt2", "--machine", "reference"], 1, "lacks the figures of messages between hosts"),
                (["some.npx", "--machine", "dgx-a100"], 2, "give the model file"),
                (["gpt2", "--machine", "dgx-a100", "--slow", "rank=8:2"], 1, "there is no rank 8; ranks of the mesh: 8, from 0 on"),
                (["gpt2", "--machine", "dgx-a100", "--slow", "host=1:2"], 1, "there is no host 1; hosts that ranks are on: 1, from 0 on"),
                (["gpt2", "--machine", "dgx-a100", "--slow", "xx=1:2"], 1, "'xx' is neither 'rank' nor 'host' nor a mesh axis (dp, pp, tp)"),
                (["gpt2", "--machine", "dgx-a100", "--slow-link", "pair:2"], 1, "machine 'dgx_a100' has no links of level 'pair'"),
                (["gpt2", "--machine", "dgx-a100", *SMALL, "--mtbf", "0.001", "--checkpoint-seconds", "60", "--restart-seconds", "60"], 1, "training makes no progress"),
                (["gpt2", "--machine", "dgx-a100", "--mtbf", "1000"], 2, "--mtbf needs --checkpoint-seconds SECONDS"),
                (["gpt2", "--machine", "dgx-a10"], 1, "did you mean 'dgx-a100'?")):
            with self.subTest(flags=flags):
                self.assertIn(words, self.npar("simulate", *flags, code=code).error)


if __name__ == "__main__":
    unittest.main()
