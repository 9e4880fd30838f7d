"""Memory tiers: optimizer states and parameters in the host's memory or in files; the bits and checkpoints of the plan without them, and the
known bytes."""

import json
import os

from driver import LONG, SMALL, DriverTest, mesh, sample, settings

PLAN = """
plan tiers(dp = 2, pp = 1, tp = 1, zero = 1, states = "host", weights = "device", share = false, sequence = false) for Gpt2 {
    mesh dp, pp, tp
    micro 1
    split {
        batch                   -> dp
        head, hidden, vocab pad -> tp
        seq                     -> tp if sequence
        h                       -> pp by 1f1b
    }
    store {
        optimizer  -> dp            if zero >= 1
        gradients  -> dp            if zero >= 2
        parameters -> dp            if zero >= 3
        optimizer  -> host          if states == "host" and not share
        optimizer  -> host 0.5      if states == "host" and share
        optimizer  -> file "spare"  if states == "file"
        parameters -> host          if weights == "host"
        parameters -> file "spare"  if weights == "file"
    }
    recompute none
    compute f32
}
"""
SIZES = {**SMALL, "width": 48, "vocab": 101, "length": 4, "depth": 2, "batch": 8}
TIERS = {
    "states on the host": {},
    "half of the states": {"share": "true"},
    "states in files": {"states": "file"},
    "all on the host": {"weights": "host"},
    "all in files": {"states": "file", "weights": "file"},
    "parameters alone": {"states": "device", "weights": "host"},
}
PLANS = {
    "dp": mesh(dp=2, pp=1, tp=1),
    "dp, ZeRO 3": {**mesh(dp=2, pp=1, tp=1), "zero": 3},
    "dp pp tp, sequence parallelism, ZeRO 2": {**mesh(dp=2, pp=2, tp=2), "sequence": "true", "zero": 2},
    "pp, recompute": {**mesh(dp=1, pp=2, tp=1), "zero": 0, "recompute": "block"},
    "bf16": {**mesh(dp=2, pp=1, tp=1), "compute": "bf16", "clip": "0.1"},
    "fp16, ZeRO 3": {**mesh(dp=2, pp=1, tp=1), "compute": "fp16", "zero": 3},
    "one rank": {**mesh(dp=1, pp=1, tp=1), "zero": 0},
}


class TiersTest(DriverTest):
    def setUp(self):
        super().setUp()
        (self.folder / "tiers.npar").write_text('import "gpt2"\n' + PLAN)
        (self.folder / "spare").mkdir()

    def flags(self, *parts, **more):
        return ["tiers.npar", "--plan", "tiers", *settings(SIZES, *parts, **more)]

    def run_json(self, *parts, steps=3, flags=(), **more):
        return self.npar_json("run", *self.flags(*parts, **more), "--random-data", "--seed", 3, "--steps", steps, "--quiet", *flags)

    def test_equals_one_rank(self):
        pairs = {f"{plan}: {tier}": {**PLANS[plan], **TIERS[tier]} for plan in PLANS for tier in TIERS}
        for name, plan in sample(pairs, "dp pp tp, sequence parallelism, ZeRO 2: all in files", "bf16: half of the states").items():
            with self.subTest(name):
                report = self.npar_json("verify", *self.flags(plan), code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_bits(self):
        """Losses and parameters have the bits of the plan without tiers."""
        for name in sample(PLANS, "bf16", "dp, ZeRO 3"):
            with self.subTest(name):
                without = self.run_json(PLANS[name], states="device")
                for tier in sample(TIERS, "all in files", "half of the states"):
                    result = self.run_json(PLANS[name], TIERS[tier])
                    for key in ("loss", "parameter_hash"):
                        self.assertEqual(result[key], without[key], tier)
        self.assertEqual(os.listdir(self.folder / "spare"), [], "files without names")

    def test_bytes(self):
        """The memory of the device without the states; and what a step copies: 4 bytes a parameter with 16-bit values, as ZeRO-Offload says."""
        plan = {**PLANS["bf16"], "zero": 0}
        inner = lambda **more: self.npar_json("inspect", *self.flags(plan, **more))["classes"][0]
        without, host, files = inner(states="device"), inner(), inner(states="file", weights="file")
        parameters = self.npar_json("inspect", *self.flags(plan))["parameters"]
        self.assertNotIn("tiers", without)
        self.assertEqual(host["optimizer_bytes"], 0)
        self.assertGreaterEqual(host["tiers"]["host_bytes"], without["optimizer_bytes"])
        self.assertLessEqual(host["arena_bytes"], without["arena_bytes"] - without["optimizer_bytes"] + 8192)
        table = SIZES["vocab"] * SIZES["width"]  # has two gradients, because the head uses it, too
        self.assertEqual(host["tiers"]["to_device_bytes"], 2 * parameters)
        self.assertLess(abs(host["tiers"]["to_host_bytes"] - 2 * (parameters + table)), 256, host["tiers"])
        self.assertEqual((files["optimizer_bytes"], files["parameter_bytes"]), (0, 0))
        self.assertGreaterEqual(files["tiers"]["file_bytes"], without["optimizer_bytes"] + without["parameter_bytes"])
        self.assertGreaterEqual(files["tiers"]["from_file_bytes"], without["optimizer_bytes"])
        text = self.npar("inspect", *self.flags(plan)).output
        self.assertRegex(text, r"copies +[0-9.]+ KiB to the host, [0-9.]+ KiB from the host")

    def test_checkpoints(self):
        """Saved with tiers and resumed without, and the other way round."""
        whole = self.run_json(PLANS["dp"], steps=4, states="device")
        for number, (before, after) in enumerate(((TIERS["all in files"], {"states": "device"}), ({"states": "device"}, TIERS["states on the host"]))):
            saved = ("--checkpoint", f"saved{number}")
            self.run_json(PLANS["dp"], before, steps=2, flags=saved)
            resumed = self.run_json(PLANS["dp"], after, steps=4, flags=(*saved, "--resume"))
            self.assertEqual(resumed["parameter_hash"], whole["parameter_hash"])

    def test_no_room(self):
        """A folder that is not there is refused before the first step. FileMemoryTest has a disk without room."""
        (self.folder / "spare").rmdir()
        run = ["run", *self.flags(PLANS["dp"], states="file"), "--random-data", "--steps", 1, "--quiet"]
        error = self.npar(*run, code=1).error
        self.assertIn("cannot make a file in folder 'spare', in which the plan stores values: No such file or directory", error)
        self.assertIn("help: make the folder, or name another one", error)
