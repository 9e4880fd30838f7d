"""`npar train --tune buckets`: the first steps try sizes of buckets, the same in all processes, and change no bit; the fastest size is kept."""

import json
import re

from driver import LONG, SMALL, settings
from test_torchrun import TcpTest

# Four ranks. `zero` and `pad` make pieces with padding, two stages make two classes of ranks.
PLAN = """import "gpt2"

plan p(dp = 2, pp = 1, tp = 1, zero = 0, schedule = "1f1b") for Gpt2 {
    mesh dp, pp, tp
    micro 2
    split {
        batch                   -> dp
        head, hidden, vocab pad -> tp
        h                       -> pp by schedule
    }
    store { optimizer -> dp if zero >= 1  gradients -> dp if zero >= 2 }
    bucket 1 B
}

plan own for Gpt2 { mesh dp = 4  micro 2  split { batch -> dp }  bucket 8 KiB }
"""

MACHINE = """machine pair {{
    device {{ count 4 devices  memory 1 GB  reserved 1 MB  fragments 5 % }}
    step {{ launch 1 us }}
    memory {{ far 100 GB/s  move 100 GB/s }}
    kernel {{ operation 0 ps  function 0 ps }}
    link host {{ bandwidth {bandwidth} GB/s  latency {latency} us }}
    product f32 {{ rate 0.01 TFLOP/s  rows 1 rows  columns 1 columns  depth 1 terms  peak 2 TFLOP/s }}
    attention f32 {{ rate 0.01 TFLOP/s  rows 0 rows }}
    attention_grad f32 {{ rate 0.01 TFLOP/s  rows 0 rows }}
}}
"""


class TuningTest(TcpTest):
    def setUp(self):
        super().setUp()
        (self.folder / "plan.npar").write_text(PLAN)
        for name, bandwidth, latency in (("late", 100, 1000), ("narrow", 0.02, 0)):
            (self.folder / f"{name}.npar").write_text(MACHINE.format(bandwidth=bandwidth, latency=latency))

    def model(self, plan="p", **more):
        small = {key: value for key, value in SMALL.items() if key != "micro"}
        return ["plan.npar", "--plan", plan, *settings(small, {"depth": 2}, more), "--random-data"]

    def test_no_bit_changes(self):
        """Steps of several programs in turn, in one memory, are those of one program."""
        plans = [{}, {"zero": 2, "tp": 2, "batch": 4}, {"pp": 2, "zero": 1}]
        for more in plans if LONG else plans[:2]:
            with self.subTest(**more):
                plain = self.npar_json("train", *self.model(**more), "--steps", 40, "--quiet")
                tuned = self.npar_json("train", *self.model(**more), "--steps", 40, "--quiet", "--tune", "buckets")
                self.assertEqual((tuned["parameter_hash"], tuned["loss"]), (plain["parameter_hash"], plain["loss"]))
                tuning = tuned["tuning"]
                self.assertGreaterEqual(len(tuning["tried"]), 4)
                self.assertEqual(tuning["steps"], len(tuning["tried"]) * 6)
                self.assertEqual(tuning["tried"][0]["text"], "bucket 1 B")
                self.assertIn(tuning["kept"], [each["text"] for each in tuning["tried"]])

    def test_processes_choose_together(self):
        alone = self.npar_json("train", *self.model(), "--steps", 20, "--quiet")["parameter_hash"]
        said = self.ended(self.start(2, "train", *self.model(), "--steps", 20, "--tune", "buckets", "--json"))
        found = json.loads(said[0][0])
        self.assertEqual(found["parameter_hash"], alone)
        programs = len(found["tuning"]["tried"])
        self.assertEqual(found["tuning"]["steps"], 20 // programs * programs)  # as many turns as the run has steps for
        self.assertIn("a step took, in the slowest process", said[0][1])
        self.assertEqual(said[1][:2], ("", ""))

    def test_planned_times_decide(self):
        """By the figures of a machine: where a message is slow to begin, all gradients go together; where the link is narrow, each as soon as it can."""
        sizes = {}
        for machine in ("late", "narrow"):
            found = self.npar("train", *self.model(), "--steps", 50, "--tune", "buckets", "--backend", "null", "--machine", f"{machine}.npar")
            sizes[machine] = re.search(r"write `bucket (\d+) (\w+)`", found.error)
            self.assertEqual(found.error.count("  kept"), 1, found.error)
        both = {name: int(size[1]) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[size[2]] if size else 1 for name, size in sizes.items()}
        self.assertGreater(both["late"], 8 * both["narrow"], both)

    def test_a_checkpoint_has_the_choice(self):
        train = ["train", *self.model(), "--checkpoint", "run", "--machine", "late.npar"]
        first = self.npar_json(*train, "--steps", 20, "--tune", "buckets")
        manifest = json.loads((self.folder / "run" / "step-20" / "manifest.json").read_text())
        setting = manifest["call"]["tuned_settings"]
        self.assertEqual(setting, [first["tuning"]["kept"].replace("no bucket", "bucket none").replace(" ", "=", 1).replace(" ", "")])
        resumed = self.npar(*train, "--steps", 22, "--resume")
        self.assertIn(f"'{setting[0]}' applies, which an earlier run of this training has chosen by trying", resumed.error)
        again = self.npar(*train, "--steps", 24, "--resume")  # the next checkpoint has it, too
        self.assertIn(f"'{setting[0]}' applies", again.error)
        other = self.npar(*train, "--set", "dp=4", "--steps", 26, "--resume")
        self.assertNotIn("applies", other.error)
        plain = self.npar_json("train", *self.model(), "--steps", 24, "--quiet")["parameter_hash"]
        self.assertIn(plain, again.output)

    def test_nothing_to_try(self):
        found = self.npar("train", *self.model(dp=1), "--steps", 2, "--tune", "buckets")
        self.assertIn("--tune buckets has nothing to try: every size of buckets gives plan 'p' the same program", found.error)

    def test_too_few_steps(self):
        found = self.npar("train", *self.model(), "--steps", 7, "--tune", "buckets", code=1)
        self.assertRegex(found.error, r"tuning compares \d+ programs in \d+ steps at least, but this run has 7")
        self.assertIn("give more --steps, or leave out --tune", found.error)
        self.text_file(size=300)
        found = self.npar("train", *self.model()[:-1], "--data", "text.txt", "--tokens", "bytes", "--epochs", 1, "--tune", "buckets", code=1)
        self.assertIn("give more --epochs, or leave out --tune", found.error)

    def test_the_setting(self):
        """`--set bucket=...` replaces the plan's."""
        counts = {}
        for size in ("none", "1KiB", "1 MiB"):
            counts[size] = self.npar("inspect", "why", *self.model()[:-1], "--set", f"bucket={size}").output
        self.assertEqual(len(set(counts.values())), 3)
