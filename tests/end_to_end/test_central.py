"""`central true` (DataParallel): one rank holds the optimizer and computes the losses of all; equal to one rank, with the bits of plain data
parallelism, in one process and in several."""

import json
import os
import subprocess

from driver import NPAR, SMALL, DriverTest, mesh, sample, settings
from slurm import free_port

SIZES = {**SMALL, "vocab": 101, "width": 48, "length": 4, "depth": 2, "batch": 12, "micro": 1}
PLANS = {
    "dp": mesh(dp=2, pp=1, tp=1),
    "dp tp, sequence parallelism": {**mesh(dp=2, pp=1, tp=2), "sequence": "true", "recompute": "block"},
    "three ranks": mesh(dp=3, pp=1, tp=1),
    "bf16": {**mesh(dp=2, pp=1, tp=2), "compute": "bf16", "clip": "0.1"},
}


class CentralTest(DriverTest):
    def flags(self, *parts, **more):
        return ["--plan", "three_d", *settings(SIZES, *parts, central="true", **more)]

    def test_equals_one_rank(self):
        for name, plan in sample(PLANS, "dp tp, sequence parallelism", "bf16").items():
            with self.subTest(name):
                report = self.npar_json("verify", "gpt2", *self.flags(plan), code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def words(self, plan, **more):
        return ["run", "gpt2", "--plan", "three_d", *settings(SIZES, PLANS[plan], **more), "--random-data", "--steps", 3, "--seed", 3, "--quiet", "--json"]

    def hash_in_processes(self, count, words):
        common = {**os.environ, "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        command = [str(NPAR), *map(str, words), "--threads", "1"]
        started = [
            subprocess.Popen(command, cwd=self.folder, env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank in range(count)
        ]
        outputs = [process.communicate(timeout=120) for process in started]
        self.assertEqual([process.returncode for process in started], [0] * count, outputs)
        return json.loads(outputs[0][0])["parameter_hash"]

    def test_bits_of_data_parallelism(self):
        """Gradients are added in the order of the ranks either way. Several processes change no bit."""
        plain = json.loads(self.npar(*self.words("three ranks")).output)["parameter_hash"]
        words = self.words("three ranks", central="true")
        self.assertEqual(plain, json.loads(self.npar(*words).output)["parameter_hash"])
        self.assertEqual(plain, self.hash_in_processes(3, words))

    def test_memory_of_the_first_rank(self):
        """The optimizer, the outputs of all ranks and their gradients are on the first rank alone."""
        first, second = self.npar_json("inspect", "gpt2", *self.flags(PLANS["dp"]))["classes"]
        plain = self.npar_json("inspect", "gpt2", "--plan", "three_d", *settings(SIZES, PLANS["dp"]))["classes"][0]
        self.assertEqual(first["optimizer_bytes"], plain["optimizer_bytes"])
        self.assertEqual(second["optimizer_bytes"], 0)
        self.assertEqual(second["parameter_bytes"], plain["parameter_bytes"])
        logits = SIZES["micro"] * SIZES["length"] * SIZES["vocab"] * 4
        self.assertGreater(first["arena_bytes"], plain["arena_bytes"] + logits)
        self.assertLess(second["arena_bytes"], plain["arena_bytes"])

    def test_resumes_as_another_plan(self):
        words = ["gpt2", "--plan", "three_d", "--random-data", "--seed", 3, "--quiet"]
        central = settings(SIZES, PLANS["dp"], central="true")
        whole = self.npar_json("run", *words, *central, "--steps", 4)["parameter_hash"]
        self.npar("run", *words, *central, "--steps", 2, "--checkpoint", "saved")
        resumed = self.npar_json("run", *words, *settings(SIZES, PLANS["dp"]), "--steps", 4, "--checkpoint", "saved", "--resume")["parameter_hash"]
        self.assertEqual(whole, resumed)
