"""Every schedule in the engine: the same bits under all of them, tasks in the planned order, the memory that was planned."""

import json
import re
import unittest

from driver import LONG, ROOT, DriverTest, mesh, sample, settings

# 4 stages, 8 blocks (one for each of two chunks per stage), 8 micro-batches: m >= 2p - 1, which some schedules need.
MODEL = {"vocab": 257, "context": 32, "width": 32, "heads": 4, "depth": 8, "length": 16, "batch": 16, "micro": 2}
STAGES = 4


def plan(schedule, **sizes):
    return ["gpt2", "--plan", "three_d", *settings(MODEL, mesh(**{"dp": 1, "pp": STAGES, "tp": 1, **sizes}), schedule=schedule)]


class SchedulesTest(DriverTest):
    def kinds(self):
        """All schedules, from the error for an unknown one, so that new schedules are tested without a change here."""
        error = self.npar("schedule", "--kind=nothing_like_it", "--stages=2", "--microbatches=2", code=1).error
        kinds = re.search(r"there are (.*)", error)[1].strip().split(", ")
        self.assertGreaterEqual(len(kinds), 12)
        return kinds

    def run_plan(self, *model, steps=3, more=()):
        return self.npar_json("run", *model, "--data", self.text_file(), "--tokens", "bytes", "--steps", steps, *more)

    def planned_orders(self, *model):
        """Per stage the tasks of micro-batches, as the compiler orders them. Tasks without collectives do not overlap: `+` has no effect."""
        text = self.npar("compile", *model, "--emit=pipe").output
        orders = {}
        for stage, tasks in re.findall(r"pipe\.order stage\((\d+)\) \[([^\]]*)\]", text):
            orders[int(stage)] = [task.lstrip("+") for task in re.findall(r'"([^"]*)"', tasks) if ":" in task]
        return orders

    def measured_orders(self, path, training_step):
        """Per rank the tasks of micro-batches in the order in which their first compute steps began."""
        events = json.loads((self.folder / path).read_text())["traceEvents"]
        compute = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name" and event["args"]["name"] == "compute"}
        begins = {}
        for event in events:
            if event["ph"] != "X" or (event["pid"], event["tid"]) not in compute or event["args"]["training_step"] != training_step:
                continue
            if ":" not in event["cat"]:
                continue
            tasks = begins.setdefault(event["pid"], {})
            tasks[event["cat"]] = min(event["ts"], tasks.get(event["cat"], event["ts"]))
        return {rank: sorted(tasks, key=tasks.get) for rank, tasks in begins.items()}

    def test_all_share_their_bits_and_run_as_planned(self):
        reference = self.run_plan(*plan("1f1b", pp=1))["parameter_hash"]
        for kind in self.kinds():
            with self.subTest(schedule=kind):
                summary = self.run_plan(*plan(kind), more=["--trace", f"{kind}.json"])
                self.assertEqual(summary["parameter_hash"], reference)
                for rank in summary["ranks"]:
                    self.assertEqual(rank["arena_bytes_used"], rank["arena_bytes_planned"], rank)
                planned, measured = self.planned_orders(*plan(kind)), self.measured_orders(f"{kind}.json", training_step=1)
                self.assertEqual(sorted(planned), list(range(STAGES)))
                for stage in range(STAGES):
                    self.assertEqual(measured[stage], planned[stage], f"stage {stage}")

    def test_split_backwards_have_weight_tasks(self):
        for kind in ("1f1b", "zb_h1", "zb_v"):
            orders = self.planned_orders(*plan(kind))
            weights = [task for task in orders[0] if task.startswith("W")]
            chunks = 2 if kind == "zb_v" else 1
            self.assertEqual(len(weights), 0 if kind == "1f1b" else 8 * chunks, kind)

    def test_several_chunks(self):
        reference = self.run_plan(*plan("1f1b", pp=1))["parameter_hash"]
        for kind, sizes, chunks in (("interleaved", {"pp": 2}, 4), ("interleaved", {"pp": 4}, 1), ("looped_bfs", {"pp": 2}, 3)):
            with self.subTest(schedule=kind, chunks=chunks, **sizes):
                model = [*plan(kind, **sizes), "--set", f"chunks={chunks}"]
                self.assertEqual(self.run_plan(*model)["parameter_hash"], reference)

    def test_few_micro_batches_and_uneven_blocks(self):
        """Fewer micro-batches than stages, and more blocks than parts."""
        for changes in ({"batch": 2}, {"batch": 6}, {"depth": 11}):
            hashes = {}
            for kind in sample(["1f1b", "interleaved", "zb_h1", "zb_v", "dualpipe_v"], "1f1b", "interleaved", "zb_v"):
                result = self.npar(
                    "run", *plan(kind), *settings(changes), "--data", self.text_file(), "--tokens", "bytes", "--steps", 2, "--json", code=None
                )
                if result.returncode == 1:  # the error tells that a schedule may need more micro-batches
                    self.assertIn("micro-batch", result.error)
                    continue
                self.assertEqual(result.returncode, 0, result.error)
                hashes[kind] = json.loads(result.output)["parameter_hash"]
            self.assertEqual(len(set(hashes.values())), 1, hashes)

    def test_verify(self):
        """In the short form one: all have the bits of one rank (above), and each is in a plan of test_matrix.py."""
        several = [("zb_h1", {"dp": 2, "pp": 2}), ("zb_v", {"pp": 2, "tp": 2}), ("zb_v", {"dp": 2, "pp": 2}), ("interleaved", {"pp": 2, "tp": 2})]
        alone = [(kind, {}) for kind in self.kinds()] if LONG else [("zb_auto", {})]
        for kind, sizes in alone + (several if LONG else []):
            with self.subTest(schedule=kind, **sizes):
                report = self.npar_json("verify", *plan(kind, **sizes), code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_memory_of_split_backwards(self):
        """zb_h1 holds what 1f1b holds, and what W waits with: values that only B needs are free after B."""
        ranks = {kind: self.run_plan(*plan(kind), steps=1)["ranks"] for kind in ("1f1b", "zb_h1")}
        regions = self.stash_regions(*plan("zb_h1"))
        for stage in range(STAGES):
            kept = sum(bytes * slots for name, bytes, slots in regions[stage] if re.fullmatch(r"stash_[FB]\d+(_B\d+)?_W\d+", name))
            plain = ranks["1f1b"][stage]["arena_bytes_planned"]
            self.assertLessEqual(ranks["zb_h1"][stage]["arena_bytes_planned"], plain + kept, f"stage {stage}")
            backward = [slots for name, bytes, slots in regions[stage] if re.fullmatch(r"stash_F\d+_B\d+", name)]
            self.assertLessEqual(max(backward), STAGES - stage, f"stage {stage}")

    def test_live_micro_batches(self):
        """`live`: less memory under the searched schedule, the same bits, and no way around it for a schedule that holds more."""
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        text += """plan limited(pp = 4, live = 2 * pp, kind = "zb_auto") for Gpt2 {
            mesh pp
            micro 2
            split { h -> pp by kind(1) live live }
            compute f32
        }
        """
        (self.folder / "limited.npar").write_text(text)
        sizes = {name: value for name, value in MODEL.items() if name != "micro"}
        model = lambda **more: ["limited.npar", "--plan", "limited", *settings(sizes, more)]  # noqa: E731
        hashes, bytes_held = set(), {}
        for kind in ("zb_auto", "backward_first"):
            for live in (1, STAGES, 2 * STAGES):
                stages = self.npar_json("inspect", *model(kind=kind, live=live))["classes"]
                bytes_held[kind, live] = max(stage["activation_bytes"] for stage in stages)
                orders = self.planned_orders(*model(kind=kind, live=live))
                for stage in range(STAGES):
                    order = orders[stage]
                    ends = "W" if any(task[0] == "W" for task in order) else "B"
                    held = [sum(task[0] == "F" for task in order[:i]) - sum(task[0] == ends for task in order[:i]) for i in range(len(order) + 1)]
                    self.assertLessEqual(max(held), live, f"{kind}, stage {stage}")
            self.assertLess(bytes_held[kind, 1], bytes_held[kind, STAGES])
            self.assertLess(bytes_held[kind, STAGES], bytes_held[kind, 2 * STAGES])
            hashes.add(self.run_plan(*model(kind=kind, live=STAGES))["parameter_hash"])
        hashes.add(self.run_plan(*plan("1f1b", pp=1))["parameter_hash"])
        self.assertEqual(len(hashes), 1)
        error = self.npar("inspect", *model(kind="gpipe", live=7), code=1).error
        self.assertRegex(error, r"limited.npar:\d+:45: error: schedule 'gpipe' holds 8 micro-batches at once on stage 0, but the plan allows 7")
        self.assertIn("help: it needs `live 8`", error)
        self.npar("inspect", *model(kind="gpipe", live=8))
        self.npar("run", *model(kind="1f1b", live=4), "--data", self.text_file(), "--tokens", "bytes", "--steps", 1)

    def stash_regions(self, *model):
        """Per stage, (name, bytes, slots) of the regions of the plan."""
        text = self.npar("compile", *model, "--emit=rank").output
        stages = re.split(r"\nclass stage", text)[1:]
        return [
            [(name, int(size), int(slots)) for name, slots, size in re.findall(r"\n  (\w+): (\d+) x (\d+) bytes", stage)]
            for stage in stages
        ]

    def test_a_schedule_from_a_file(self):
        """One's own order, some backwards split and some whole, runs to the same bits."""
        rows = [
            "0F0,0F1,0I0,0W0,0F2,0F3,0B1,0I2,0I3,0W2,0W3",
            "1F0,1I0,1F1,1I1,1W0,1W1,1F2,1B2,1F3,1B3",
        ]
        (self.folder / "mine.csv").write_text("\n".join(rows) + "\n")
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        text += 'plan mine for Gpt2 {\n    mesh pp = 2\n    micro 4\n    split { h -> pp by "mine.csv" }\n    compute f32\n}\n'
        (self.folder / "mine.npar").write_text(text)
        sizes = settings({name: value for name, value in MODEL.items() if name != "micro"})
        reference = self.run_plan("gpt2", "--plan", "three_d", *settings(MODEL, mesh(dp=1, pp=1, tp=1), micro=4))["parameter_hash"]
        self.assertEqual(self.run_plan("mine.npar", "--plan", "mine", *sizes)["parameter_hash"], reference)


if __name__ == "__main__":
    unittest.main()
