"""Faults of other systems that route tokens to experts, each with its right value: gradients, norms, replicas, hangs, balance, dropped tokens."""

import json
import pathlib
import unittest

from driver import DriverTest, safetensors_file, settings

FILE = pathlib.Path(__file__).resolve().parent / "expert_faults.npar"


class ExpertFaultsTest(DriverTest):
    def run_steps(self, train, *parts, steps=1, more=(), **chosen):
        """The log and the parameters in float64; without a plan on one rank."""
        plan = ("--plan", "any") if any("mesh.ep" in part for part in parts) else ("--plan", "none")
        merged = {"compute": "f64", **chosen} if plan[1] == "any" else {"compute": "f64", "micro": 2, **chosen}
        self.npar("run", FILE, "--train", train, *plan, *settings(*parts, merged), "--random-data", "--steps", steps, "--log", "log.jsonl",
                  "--output", "out.safetensors", *more)  # fmt: skip
        log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return log, safetensors_file.read(self.folder / "out.safetensors")

    def test_gradients_and_norm(self):
        """Gradients of experts are not `ep` times too large, the norm counts each expert once, and clipping uses one norm. A step of size 1 moves
        each parameter by its gradient. (DeepSpeed 5618, 6545, megablocks 20, Megatron 5656, 785, 5916.)"""
        alone = {train: self.run_steps(train, steps=2) for train in ("plain", "adam")}
        for train, plan in (("plain", {"mesh.ep": 4}), ("adam", {"mesh.ep": 2, "mesh.dp": 2, "zero": 2}), ("plain", {"mesh.ep": 2, "mesh.tp": 2, "mesh.sp": 2})):
            with self.subTest(train=train, **plan):
                self.assert_equal_runs(self.run_steps(train, plan, steps=2), alone[train])
        up = alone["plain"][1]["layers.0.up"].values
        size = len(up) // 4
        self.assertEqual(len({tuple(up[i * size : (i + 1) * size]) for i in range(4)}), 4, "experts must remain distinct (megablocks 160)")

    def test_replicas(self):
        """Routers, and all that several ranks have, are the same bits on all of them after each of five steps. (Megatron 599, torchtitan 2387.)"""
        plan = {"mesh.ep": 2, "mesh.dp": 2, "mesh.tp": 2, "mesh.sp": 2}
        self.run_steps("adam", plan, {"compute": "bf16"}, steps=5, more=("--check-replicas", 1), compute="bf16")

    def test_ranks_without_rows(self):
        """Half of the ranks, or all except one, receive no row: nothing hangs, values are those of one rank. (DeepSpeed 4808, Automodel 935.)"""
        for towards, slots in (("half", 2), ("one", 1)):
            with self.subTest(towards):
                expected = self.run_steps("adam", steps=2, towards=towards, slots=slots)
                self.assert_equal_runs(self.run_steps("adam", {"mesh.ep": 4}, {"again": "block"}, steps=2, towards=towards, slots=slots), expected)

    def test_decay_without_rows(self):
        """Weight decay applies to experts that no position chose; nothing else moves them. (Automodel 2995.)"""
        self.run_steps("still", towards="half")
        first = safetensors_file.read(self.folder / "out.safetensors")
        safetensors_file.write(self.folder / "first.safetensors", first)
        _, after = self.run_steps("decay", {"mesh.ep": 4}, towards="half", more=("--weights", "first.safetensors"))
        for name in ("layers.0.up", "layers.1.down"):
            half = len(first[name].values) // 2
            for before, value in zip(first[name].values[half:], after[name].values[half:], strict=True):
                self.assert_close(value, before * (1 - 0.1 * 0.5), 1e-15, name)

    def test_balance(self):
        """One expert has all positions of a block, another one those of the next: the balance of each block is 2, that of both together 1.
        (transformers 28255.)"""
        log, _ = self.run_steps("still", experts=2, slots=1, towards="layers")
        self.assertEqual(log[0]["losses"]["separate"], 4.0)
        self.assertEqual(log[0]["losses"]["together"], 1.0)

    def test_dropped_positions(self):
        """A layer gives exactly 0 for a position that is dropped, and only for these. (transformers 37017.)"""
        self.run_steps("still", slots=1)
        tokens = [(7 * i + i // 8) % 31 for i in range(64)]
        safetensors_file.write_values(self.folder / "data.safetensors", {name: ("I32", [8, 8], tokens) for name in ("tokens", "targets")})
        metrics = self.npar_json("eval", FILE, "--train", "still", "--weights", "out.safetensors", "--data", "data.safetensors", *settings(rooms=1, slots=1))["metrics"]
        self.assertEqual(metrics["empty"], 1.0)
        self.assertTrue(0 < metrics["dropped"] < 1, metrics)


if __name__ == "__main__":
    unittest.main()
