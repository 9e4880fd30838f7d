"""The same bits from run to run and for any number of threads; exactly the planned memory; files that describe the run."""

import json
import unittest

from driver import SMALL, DriverTest, mesh, settings

THREE_D = ["gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=2, pp=2, tp=2))]


class DeterminismTest(DriverTest):
    def run_once(self, *more, model=THREE_D):
        return self.npar_json("run", *model, "--data", self.text_file(), "--tokens", "bytes", "--steps", 4, *more)

    def test_same_hash_twice_and_for_any_threads(self):
        first = self.run_once()
        self.assertRegex(first["parameter_hash"], "^[0-9a-f]{32}$")
        for threads in (None, 1, 2, 4):
            with self.subTest(threads=threads):
                more = [] if threads is None else ["--threads", threads]
                self.assertEqual(self.run_once(*more)["parameter_hash"], first["parameter_hash"])

    def test_seed_changes_the_hash(self):
        self.assertNotEqual(self.run_once("--seed", 1)["parameter_hash"], self.run_once("--seed", 2)["parameter_hash"])

    def test_arena_used_is_arena_planned(self):
        for sizes in ({"dp": 2, "pp": 2, "tp": 2}, {"dp": 1, "pp": 4, "tp": 1}, {"dp": 1, "pp": 1, "tp": 4}):
            with self.subTest(mesh=sizes):
                summary = self.run_once(model=["gpt2", "--plan", "three_d", *settings(SMALL, mesh(**sizes))])
                world = sizes["dp"] * sizes["pp"] * sizes["tp"]
                self.assertEqual([rank["rank"] for rank in summary["ranks"]], list(range(world)))
                for rank in summary["ranks"]:
                    self.assertEqual(rank["arena_bytes_used"], rank["arena_bytes_planned"], rank)
                    self.assertGreater(rank["arena_bytes_planned"], 0)

    def test_a_compiled_program_runs_like_its_text(self):
        self.npar("compile", *THREE_D, "-o", "small.npx")
        self.assertEqual(self.run_once(model=["small.npx"])["parameter_hash"], self.run_once()["parameter_hash"])

    def test_schedules_share_their_bits(self):
        """Stages reorder no sum: one stage and two give the same parameters."""
        hashes = [
            self.run_once(model=["gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=2, pp=stages, tp=1))])["parameter_hash"]
            for stages in (1, 2, 4)
        ]
        self.assertEqual(len(set(hashes)), 1, hashes)

    def test_log_trace_and_summary(self):
        summary = self.run_once("--log", "log.jsonl", "--trace", "trace.json")
        log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        self.assertEqual(summary["steps"], 4)
        self.assertEqual(len(log), 4)
        for step, entry in enumerate(log):
            self.assertEqual(list(entry), ["schema", "step", "loss", "grad_norm", "lr", "tokens", "tokens_per_second", "flops_per_second", "epoch", "sample", "data_wait_seconds"])
            self.assertEqual(entry["step"], step)
            self.assertEqual(entry["tokens"], SMALL["batch"] * SMALL["length"])
            self.assertEqual(entry["sample"], step * SMALL["batch"])
        self.assertEqual(log[-1]["loss"], summary["loss"])
        self.assertLess(log[-1]["loss"], log[0]["loss"] + 0.5)
        trace = json.loads((self.folder / "trace.json").read_text())
        self.assertGreater(len(trace["traceEvents"] if isinstance(trace, dict) else trace), 100)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["log.jsonl", "text.txt", "trace.json"])

    def test_saved_weights_continue_where_they_were(self):
        """Weights written under one plan are read under another: the first loss is that of the end."""
        data = ["--data", self.text_file(), "--tokens", "bytes", "--data-order", "sequential", "--quiet"]
        self.npar("run", *THREE_D, *data, "--steps", 3, "--output", "a.safetensors")
        losses = []
        for model in (THREE_D, ["gpt2", "--plan", "none", *settings(SMALL)]):
            summary = self.npar_json("run", *model, *data, "--steps", 1, "--weights", "a.safetensors")
            losses.append(summary["loss"])
        self.assert_close(losses[0], losses[1], 1e-5, "first loss")

    def test_training_learns(self):
        summary = self.npar_json("run", *THREE_D, "--set", "length=32", "--data", self.text_file(60000), "--tokens", "bytes", "--steps", 100)
        self.assertLess(summary["loss"], 5.0)


if __name__ == "__main__":
    unittest.main()
