"""`npar inspect`: published sizes, the JSON that tools rely on, counted collectives, pictures that other programs can read."""

import json
import time
import unittest
import xml.etree.ElementTree

from driver import ROOT, SMALL, DriverTest, mesh, settings

PUBLISHED = {
    124439808: {"width": 768, "heads": 12, "depth": 12},
    354823168: {"width": 1024, "heads": 16, "depth": 24},
    774030080: {"width": 1280, "heads": 20, "depth": 36},
    1557611200: {"width": 1600, "heads": 25, "depth": 48},
}


def collectives_of(summary):
    return {(one["kind"], one["over"]): one["count"] for part in summary["classes"] for one in part["collectives"]}


class InspectTest(DriverTest):
    def test_published_sizes(self):
        for parameters, sizes in PUBLISHED.items():
            with self.subTest(parameters=parameters):
                summary = self.npar_json("inspect", "gpt2", "--plan", "none", *settings(sizes, batch=1))
                self.assertEqual(summary["parameters"], parameters)

    def test_active_parameters_of_a_compiled_program(self):
        """A program has the counts of its text: all parameters, those that a position meets, and states. Counted by hand for two experts of eight."""
        sizes = {"depth": 1, "width": 16, "heads": 2, "kv_heads": 2, "mlp": 8, "vocab": 32, "length": 8, "context": 8, "batch": 2, "experts": 8, "chosen": 2}
        text = ("mixtral", "--plan", "none", *settings(sizes))
        self.npar("compile", *text, "-o", "experts.npx")
        summary = self.npar_json("inspect", "experts.npx")
        table, expert = 32 * 16, 3 * 16 * 8
        self.assertEqual(summary["parameters"] - summary["active_parameters"], 6 * expert)
        self.assertEqual(summary["table_parameters"], table)
        self.assertEqual(summary, self.npar_json("inspect", *text))
        line = f"parameters  {summary['parameters']}, of which a position meets {summary['active_parameters']} ({summary['active_parameters'] - table} without tables that it looks up)\n"
        self.assertIn(line, self.npar("inspect", "experts.npx").output)
        self.assertIn(line, self.npar("inspect", *text).output)
        self.assertIn(f"{summary['parameters']} parameters, {summary['active_parameters']} of them active, computes in f32", self.npar("compile", *text, "--emit=rank").output)

    def test_json_fields(self):
        summary = self.npar_json("inspect", "gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=2, pp=2, tp=2)))
        self.assertEqual(list(summary), ["schema", "model", "plan", "parameters", "world", "mesh", "classes", "schedule", "span_seconds", "bubble"])
        self.assertEqual(summary["world"], 8)
        self.assertEqual(summary["mesh"], {"dp": 2, "pp": 2, "tp": 2})
        ranks = sorted(rank for part in summary["classes"] for first, last in part["ranks"] for rank in range(first, last + 1))
        self.assertEqual(ranks, list(range(8)))
        for part in summary["classes"]:
            self.assertEqual(
                list(part),
                ["ranks", "coordinates", "parameter_bytes", "gradient_bytes", "optimizer_bytes", "activation_bytes", "arena_bytes",
                 "program_steps", "flops", "collectives", "transfers", "volume", "stage", "busy_seconds", "collective_seconds", "bubble",
                 "balance", "live_peak_bytes", "live_peak_seconds", "live_peak", "live_memory", "causes", "tasks"],
            )  # fmt: skip
            self.check_view(part)
            self.assertGreaterEqual(part["arena_bytes"], part["parameter_bytes"] + part["gradient_bytes"] + part["optimizer_bytes"])
            for one in part["collectives"]:
                self.assertEqual(list(one), ["kind", "over", "count", "bytes", "worst_bytes"])
            for one in part["transfers"]:
                self.assertEqual(list(one), ["to", "count", "bytes"])
        sent = [{one["to"]: one["count"] for one in part["transfers"]} for part in summary["classes"]]
        micros = SMALL["batch"] // (2 * SMALL["micro"])
        self.assertGreaterEqual(sent[0]["pp+1"], micros)
        self.assertGreaterEqual(sent[1]["pp-1"], micros)

    def test_counts_of_valid_tokens(self):
        """Only the stage with the loss has the prologue: it counts in every micro-batch before its first forward, and adds up once."""
        plan = settings(SMALL, mesh(dp=2, pp=2, tp=2), ignore=-100)
        summary = self.npar_json("inspect", "gpt2", *plan)
        micros = SMALL["batch"] // (2 * SMALL["micro"])
        names = [[task["name"] for task in part["tasks"]] for part in summary["classes"]]
        self.assertEqual(names[1][: micros + 2], ["P1", *(f"C1:{micro}" for micro in range(micros)), "S1"])
        self.assertEqual([name for name in names[0] if name[0] in "CS"], [])
        causes = [one for one in summary["classes"][1]["causes"] if one["phase"] == "prologue"]
        self.assertEqual([(one["kind"], one["over"], one["count"], one["bytes"]) for one in causes], [("all_reduce", "dp", 1, 8)])
        without = self.npar_json("inspect", "gpt2", *settings(SMALL, mesh(dp=2, pp=2, tp=2)))
        self.assertEqual([name for part in without["classes"] for name in (task["name"] for task in part["tasks"]) if name[0] in "CS"], [])

    def check_view(self, part):
        """What the pictures show agrees with itself and with the counts."""
        self.assertLessEqual(part["live_peak_bytes"], part["arena_bytes"])
        self.assertGreaterEqual(part["live_peak_bytes"], part["parameter_bytes"] // 2)
        self.assertEqual(sum(tensor["bytes"] for tensor in part["live_peak"]), part["live_peak_bytes"])
        self.assertEqual(max(point[1] for point in part["live_memory"]), part["live_peak_bytes"])
        for field in ("count", "bytes"):
            self.assertEqual(sum(one[field] for one in part["causes"]), sum(one[field] for one in part["collectives"]))
        for one in part["causes"]:
            self.assertTrue(one["cause"], one)
        for before, after in zip(part["tasks"], part["tasks"][1:]):
            self.assertLessEqual(before["end"], after["begin"] + 1e-12)

    def added_by_two_blocks(self, **more):
        """Collectives over tp that two more blocks in the middle add, on one micro-batch."""
        counts = []
        for depth in (4, 6):
            plan = ["--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=1, tp=2), {"depth": depth, "micro": 16}, more)]
            counts.append(collectives_of(self.npar_json("inspect", "gpt2", *plan)))
        kinds = {kind for kind, over in counts[1] if over == "tp"}
        return {kind: counts[1].get((kind, "tp"), 0) - counts[0].get((kind, "tp"), 0) for kind in kinds}

    def test_four_all_reduces_per_block_under_tp(self):
        added = self.added_by_two_blocks()
        self.assertEqual({kind: count for kind, count in added.items() if count}, {"all_reduce": 8})

    def test_gathers_and_scatters_per_block_under_sequence_parallelism(self):
        """4 all-gathers, 4 reduce-scatters and the 2 gathers that the backward pass repeats (RULES.md#P6); the norms' gradients and the biases'
        are summed over tp once per training step and use."""
        added = self.added_by_two_blocks(sequence="true")
        self.assertEqual(added.get("reduce_scatter"), 8)
        self.assertEqual(added.get("all_gather"), 12)

    def test_pictures(self):
        for stages in (1, 2, 16, 64):
            with self.subTest(stages=stages):
                plan = ["--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=stages, tp=1), depth=max(4, stages), batch=16, micro=2)]
                self.npar("inspect", "gpt2", *plan, "--svg", "s.svg", "--trace", "t.json")
                picture = xml.etree.ElementTree.parse(self.folder / "s.svg").getroot()
                texts = "".join(picture.itertext())
                self.assertIn(f"stage {stages - 1}", texts)
                self.assertIn("bubble", texts)
                events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
                self.assertEqual({event["pid"] for event in events}, set(range(stages)))
                for event in events:
                    if event["ph"] == "X":
                        self.assertGreaterEqual(event["dur"], 0)
                arrows = [event["ph"] for event in events if event.get("cat") == "message"]
                self.assertEqual(arrows.count("s"), arrows.count("f"))
                self.assertGreaterEqual(arrows.count("s"), 2 * 8 * (stages - 1))  # forth and back, 8 micro-batches
                self.assertEqual({event["pid"] for event in events if event["ph"] == "C"}, set(range(stages)))

    def test_thousands_of_ranks_on_paper(self):
        begun = time.monotonic()
        summary = self.npar_json("inspect", "gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=256, pp=4, tp=4), batch=1024, micro=2))
        self.assertEqual(summary["world"], 4096)
        self.assertLessEqual(len(summary["classes"]), 8)
        self.assertLess(time.monotonic() - begun, 60)

    def test_table(self):
        text = self.npar("inspect", "gpt2", "--plan", "none", *settings(vocab=50257)).output
        self.assertIn("124439808", text)
        self.assertIn("live memory peaks on stage 0", text)

    def test_compares_plans(self):
        plan = ["--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=2, tp=1))]
        text = self.npar("inspect", "compare", "gpt2", *plan, "--compare-set", "schedule=gpipe").output
        self.assertRegex(text, r"compared(.|\n)*1f1b(.|\n)*gpipe, \d+ micro-batches \(with schedule=gpipe\)")
        self.npar("compile", "gpt2", *plan, "-o", "a.npx")
        summary = self.npar_json("inspect", "compare", "gpt2", "a.npx", "a.npx", *plan)
        self.assertEqual([one["span_seconds"] for one in summary["compared"]], 2 * [summary["span_seconds"]])
        self.assertIn("another program to compare it with", self.npar("inspect", "compare", "a.npx", "--compare-set", "schedule=gpipe", code=2).error)
        self.npar("inspect", "compare", "a.npx", "missing.npx", "--html", "p.html", code=1)
        self.assertFalse((self.folder / "p.html").exists())

    def test_planned_beside_measured(self):
        plan = ["--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=2, tp=2))]
        self.npar("run", "gpt2", *plan, "--random-data", "--steps", 3, "--quiet", "--trace", "t.json")
        actual = self.npar_json("inspect", "actual", "gpt2", "t.json", *plan)["actual"]
        self.assertEqual(actual["training_steps"], 2)  # the first one warms up
        self.assertEqual(actual["dropped_events"], 0)
        self.assertGreater(actual["measured_seconds"], 0)
        self.assertTrue(0 <= actual["measured_bubble"] < 1)
        kinds = {one["kind"]: one for one in actual["kinds"]}
        for kind in ("Kernel", "Matmul", "Attention", "all_reduce tp", "send", "receive"):
            self.assertGreater(kinds[kind]["measured_seconds"], 0, kind)
            self.assertGreater(kinds[kind]["planned_seconds"], 0, kind)
        self.assertTrue(actual["advice"])
        text = self.npar("inspect", "actual", "gpt2", "t.json", *plan, "--html", "p.html").output
        self.assertIn("planned and measured, means of 2 training steps", text)
        self.assertIn("what to change", text)
        self.assertIn('"origin":"measured"', (self.folder / "p.html").read_text())
        other = ["--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=4, tp=1))]
        self.assertIn("another program", self.npar("inspect", "actual", "gpt2", "t.json", *other, code=1).error)
        self.npar("inspect", "actual", "gpt2", "missing.json", *plan, code=1)

    def test_planned_time_is_measured_time_without_arithmetic(self):
        """The null backend runs in planned time: each kind of computing step takes what was planned."""
        plan = ["--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=2, tp=2))]
        self.npar("run", "gpt2", *plan, "--random-data", "--steps", 2, "--quiet", "--backend", "null", "--trace", "t.json")
        actual = self.npar_json("inspect", "actual", "gpt2", "t.json", *plan)["actual"]
        for one in actual["kinds"]:
            if one["kind"] in ("Kernel", "Matmul", "Attention", "Zero"):
                self.assert_close(one["measured_seconds"], one["planned_seconds"], 0.01, one["kind"])
        self.assertEqual(actual["stragglers"], [])


class WhyTest(DriverTest):
    """Which line of the plan asks for what."""

    PLAN = """
plan mine for Gpt2 {
    mesh dp = 2, pp = 2, tp = 2   # a bracket } in a comment
    micro 2
    split {
        batch -> dp
        head, hidden, vocab pad -> tp
        h -> pp by 1f1b
    }
}
"""

    def model(self, plan=PLAN):
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        (self.folder / "mine.npar").write_text(text + plan)
        first = text.count("\n") + 2  # the line of `plan`
        return ["mine.npar", "--plan", "mine", *settings({name: value for name, value in SMALL.items() if name != "micro"})], first

    def test_each_collective_names_a_rule_and_its_line(self):
        model, first = self.model()
        summary = self.npar_json("inspect", "why", *model)
        lines = {"batch -> dp": first + 4, "head -> tp": first + 5, "hidden -> tp": first + 5, "vocab pad -> tp": first + 5}
        seen = set()
        for part in summary["classes"]:
            for field in ("count", "bytes"):
                self.assertEqual(sum(one[field] for one in part["why"]), sum(one[field] for one in part["collectives"]))
            for one in part["why"]:
                self.assertTrue(one["cause"] and one["remedy"], one)
                if "combine" in one["cause"] or one["over"] == "pp":
                    continue  # the tied weight and the norm of stages: no split asks for them
                self.assertTrue(one["rules"], one)
                self.assertNotEqual(one["from"], one["to"], one)
                for rule in one["rules"]:
                    seen.add(rule["rule"])
                    self.assertRegex(rule["source"], rf"^mine\.npar:{lines[rule['rule']]}:\d+$")
        self.assertEqual(seen, set(lines))
        blocks = [one for one in summary["classes"][0]["why"] if one["path"] == "h.*.mlp.c_proj" and one["phase"] == "forward"]
        self.assertEqual([(one["kind"], one["steps"], one["count"]) for one in blocks], [("all_reduce", 2, 2 * 4)])
        text = self.npar("inspect", "why", *model).output
        self.assertRegex(text, rf"asked for by mine\.npar:{first + 5}:\d+  hidden -> tp")

    def test_rings_and_stores_name_their_rules(self):
        """Collectives of a ring, gathers and scatters for stores, and the norm over shares."""
        model, first = self.model("""
plan mine for Gpt2 {
    mesh dp = 2, cp = 2
    micro 2
    split {
        batch -> dp
        seq -> cp by ring(zigzag)
    }
    store { parameters, gradients, optimizer -> dp }
}
""")
        (part,) = self.npar_json("inspect", "why", *model)["classes"]
        for one in part["why"]:
            self.assertTrue(one["rules"] or "combine" in one["cause"], one)
            self.assertNotIn("no rule of the plan", one["remedy"])
        permutes = [one for one in part["why"] if one["kind"] == "permute"]
        self.assertTrue(permutes)
        for one in permutes:
            self.assertEqual([rule["source"] for rule in one["rules"]], [f"mine.npar:{first + 5}:9"], one)
            self.assertEqual(one["sent_bytes"], one["bytes"], "a member of a ring sends all of its piece")
        norms = [one for one in part["why"] if "square_sums" in one["cause"]]
        self.assertIn(f"mine.npar:{first + 7}:", " ".join(rule["source"] for rule in norms[0]["rules"]))

    def test_annotated_plan(self):
        model, first = self.model()
        text = self.npar("inspect", "annotate", *model).output
        plain = [line.split("  #=")[0].rstrip() for line in text.splitlines()]
        self.assertEqual(plain, [line.rstrip() for line in self.PLAN.strip().splitlines()])
        effects = {line.split("->")[0].strip(): line.split("#=")[1].strip() for line in text.splitlines() if "#=" in line}
        self.assertRegex(effects["batch"], r"^\d+ all_reduce per step; .* sent$")
        self.assertRegex(effects["head, hidden, vocab pad"], r"^4 all_reduce per block; .* elsewhere; .* sent$")
        self.assertRegex(effects["h"], r"^2 stages of 2, 2 blocks; bubble \d+\.\d %; 2 messages of at most 4.00 KiB per micro-batch$")
        lines = self.npar_json("inspect", "annotate", *model)["lines"]
        self.assertEqual(lines[0]["line"], first)
        self.assertEqual(len(lines), len(plain))
        self.npar("inspect", "annotate", "gpt2", "--plan", "none", code=2)

    def test_limits(self):
        """`require` is held against the planned arena and bubble, at its line."""
        good, _ = self.model(self.PLAN.replace("    micro 2", "    micro 2\n    reduce library\n    require memory <= 1 GB, bubble <= 60 %"))
        text = self.npar("inspect", "annotate", *good).output
        self.assertRegex(text, r"reduce library +#= [1-9]\d* of \d+ reductions may be added in another order")
        self.assertRegex(text, r"require memory.*#= the largest arena has .* % of what is allowed; bubble")
        bad, first = self.model(self.PLAN.replace("    micro 2", "    micro 2\n    require memory <= 1 KiB, bubble <= 1 %"))
        error = self.npar("compile", *bad, code=1).error
        self.assertRegex(error, rf"mine\.npar:{first + 3}:\d+: error: each rank of 'stage\d' needs .* bytes\), but the plan allows 1.00 KiB \(1024 bytes\)")
        self.assertRegex(error, rf"mine\.npar:{first + 3}:\d+: error: stages wait .* %, the plan allows|of the planned time, but the plan allows 1.0 %")
        self.assertIn("it holds ", error)

    def test_bytes_per_parameter(self):
        summary = self.npar_json("inspect", "bytes", "mlp", *settings(mesh(dp=2, tp=1), vocab=33, width=16, inner=32, length=8))
        (part,) = summary["classes"]
        found = part["bytes_per_parameter"]
        self.assertEqual(found["parameters"]["per_parameter"], 4)
        self.assertEqual(found["gradients"]["per_parameter"], 4)
        self.assertEqual(found["total"]["bytes"], sum(found[name]["bytes"] for name in found if name != "total"))
        self.assertIn("GB", self.npar("inspect", "bytes", "mlp").output)


class EmitTest(DriverTest):
    def test_every_stage_prints(self):
        """The syntax tree is the text as it is written: plan and settings, which would change nothing in it, are refused."""
        for stage in ("ast", "nn", "grad", "dist", "pipe", "rank"):
            with self.subTest(stage=stage):
                flags = [] if stage == "ast" else ["--plan", "three_d", *settings(SMALL)]
                text = self.npar("compile", "gpt2", *flags, f"--emit={stage}").output
                self.assertGreater(len(text), 1000)

    def test_one_rank(self):
        text = self.npar("compile", "gpt2", "--plan", "three_d", *settings(SMALL), "--emit=rank", "--rank", 5).output
        self.assertIn("rank 5 of 8 at dp = 1, pp = 0, tp = 1", text)
        self.assertIn("with ranks 4, 5", text)
        self.assertIn("to rank 7", text)


if __name__ == "__main__":
    unittest.main()
