"""Mixed precision: losses near float32's, bits that no thread and no schedule changes, bytes per parameter, checkpoints, fp16's loss scale."""

import array
import json
import math
import os
import random
import subprocess
import unittest

from driver import ALTER, CHECKED, REFERENCE, SMALL, DriverTest, mesh, safetensors_file, sample, settings

# Twenty steps of a small GPT-2 with a warm-up; the largest difference of a loss from float32's that 8 and 11 bits of mantissa explain.
STEPS = 20
BOUNDS = {"bf16": 2e-2, "fp16": 3e-3}


class PrecisionTest(DriverTest):
    def model(self, sizes, **more):
        return ["gpt2", "--plan", "three_d", *settings(SMALL, mesh(**sizes), **more)]

    def losses(self, sizes, *flags, steps=STEPS, **more):
        """The log of a run, and its summary."""
        summary = self.npar_json("run", *self.model(sizes, **more), "--data", self.text_file(), "--tokens", "bytes", "--steps", steps,
                                 "--log", "log.jsonl", *flags)
        return [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()], summary

    def test_losses_are_near_float32(self):
        one = dict(dp=1, pp=1, tp=1)
        wide, _ = self.losses(one)
        for compute, bound in BOUNDS.items():
            for sizes in (one, dict(dp=2, pp=2, tp=2)):
                with self.subTest(compute=compute, mesh=sizes):
                    narrow, _ = self.losses(sizes, compute=compute)
                    for expected, found in zip(wide, narrow):
                        self.assertAlmostEqual(found["loss"], expected["loss"], delta=bound)
                    self.assertLess(narrow[-1]["loss"], narrow[0]["loss"])

    def test_same_bits_for_any_threads_and_stages(self):
        for compute in BOUNDS:
            with self.subTest(compute=compute):
                hashes = {
                    (pp, threads): self.losses(dict(dp=2, pp=pp, tp=1), "--threads", threads, steps=3, compute=compute)[1]["parameter_hash"]
                    for pp, threads in sample([(1, 1), (1, 2), (1, 4), (2, 1), (2, 4), (4, 2)], (1, 1), (2, 4), (4, 2))
                }
                self.assertEqual(len(set(hashes.values())), 1, hashes)

    def test_same_bits_for_any_instructions(self):
        """Products and attention sum in the order that was asked for on every instruction set; a set that the processor lacks masks nothing."""
        model = self.model(dict(dp=1, pp=1, tp=2))
        data = ["--data", self.text_file(), "--tokens", "bytes", "--steps", 3]
        cases = {"f32": "fastest", "bf16": "portable", "bf16 in pairs": "pairs", "fp16": "fastest"}
        for name, order in sample(cases, "f32", "bf16", "bf16 in pairs").items():
            with self.subTest(compute=name):
                hashes = {}
                for most in ("plain", "avx2", "avx512", "pairs", "tiles"):
                    environment = {**os.environ, "NPAR_INSTRUCTIONS": most}
                    asked = ["--set", f"compute={name.split()[0]}", "--products", order]
                    hashes[most] = self.npar_json("run", *model, *asked, *data, env=environment)["parameter_hash"]
                self.assertEqual(len(set(hashes.values())), 1, hashes)
        refused = self.npar("run", *model, *data, code=1, env={**os.environ, "NPAR_INSTRUCTIONS": "sse"})
        self.assertIn("NPAR_INSTRUCTIONS is 'sse'; use plain, avx2, avx512, pairs or tiles", refused.error)

    def test_same_bits_with_shares_for_any_threads(self):
        """Parameters that are gathered before each use: neither threads nor timing show."""
        for compute in BOUNDS:
            with self.subTest(compute=compute):
                hashes = [
                    self.losses(dict(dp=2, pp=2, tp=2), "--threads", threads, steps=5, compute=compute, zero=zero)[1]["parameter_hash"]
                    for zero, threads in sample([(zero, threads) for zero in (2, 3) for threads in (1, 2, 4)] + [(2, 4), (3, 4)], (2, 1), (3, 1), (3, 4), (3, 4))
                ]
                self.assertEqual(len(set(hashes)), 1, hashes)

    def test_sixteen_bytes_per_parameter(self):
        """2 for the parameter, 2 for its gradient, 12 for master, momentum and variance; each buffer in whole cache lines."""
        for compute in BOUNDS:
            shown = self.npar_json("inspect", *self.model(dict(dp=1, pp=1, tp=1), compute=compute))
            wide = self.npar_json("inspect", *self.model(dict(dp=1, pp=1, tp=1)))
            (narrow_class,), (wide_class,) = shown["classes"], wide["classes"]
            for name, narrow_bytes, wide_bytes in (("parameter_bytes", 2, 4), ("gradient_bytes", 2, 4), ("optimizer_bytes", 12, 8)):
                parameters = wide_class[name] / wide_bytes
                self.assertAlmostEqual(narrow_class[name] / parameters, narrow_bytes, delta=0.02, msg=name)

    def test_a_checkpoint_holds_the_masters(self):
        """A float32 run loads the checkpoint of a bf16 run; and a bf16 run that loads it continues with the same masters."""
        one = dict(dp=1, pp=1, tp=1)
        self.losses(one, "--output", "narrow.safetensors", steps=3, compute="bf16")
        saved = safetensors_file.read(self.folder / "narrow.safetensors")
        self.assertTrue(all(tensor.element == "F32" for tensor in saved.values()))
        # Some master is no bf16 number.
        self.assertTrue(any(bits & 0xFFFF for tensor in saved.values() for bits in array.array("I", tensor.values.tobytes())))
        for compute in ("f32", "bf16"):
            self.losses(one, "--weights", "narrow.safetensors", "--output", "again.safetensors", steps=1, compute=compute, peak=0)
            again = safetensors_file.read(self.folder / "again.safetensors")
            for name, tensor in saved.items():
                self.assertEqual(tensor.values, again[name].values, name)

    def test_the_log_tells_the_loss_scale(self):
        log, _ = self.losses(dict(dp=2, pp=2, tp=1), steps=2, compute="fp16")
        for entry in log:
            self.assertEqual(entry["loss_scale"], 65536)
            self.assertIs(entry["skipped"], False)
        self.assertNotIn("loss_scale", self.losses(dict(dp=1, pp=1, tp=1), steps=1, compute="bf16")[0][0])

    def test_overflow_skips_the_step_on_all_ranks(self):
        """A loss scale of 2^34: gradients overflow, first everywhere, at last in few elements of one stage, until it has halved often enough."""
        runs = {}
        for pp in (1, 2, 4):
            self.npar("compile", *self.model(dict(dp=2, pp=pp, tp=2), compute="fp16"), "-o", "good.npx")
            subprocess.run([ALTER, "scale", "good.npx", "high.npx"], cwd=self.folder, check=True, timeout=60)
            for steps in (1, 2, 24):
                summary = self.npar_json("run", "high.npx", "--data", self.text_file(), "--tokens", "bytes", "--steps", steps,
                                         "--log", "log.jsonl", "--output", "w.safetensors")
                log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
                runs[pp, steps] = summary["parameter_hash"], log, safetensors_file.read(self.folder / "w.safetensors")
            log = runs[pp, 24][1]
            skipped = sum(entry["skipped"] for entry in log)
            self.assertGreater(skipped, 3)
            self.assertLess(skipped, 20)
            # Skipped steps first; each halves the scale and freezes everything but the data.
            for step, entry in enumerate(log):
                self.assertEqual(entry["skipped"], step < skipped)
                self.assertEqual(entry["loss_scale"], 2.0 ** (34 - min(step, skipped)))
                self.assertAlmostEqual(entry["lr"], log[0]["lr"] * (max(0, step - skipped) + 1), delta=1e-15)
            self.assertNotEqual(log[0]["loss"], log[1]["loss"])
            self.assertEqual(runs[pp, 1][0], runs[pp, 2][0])
            self.assertNotEqual(runs[pp, 24][0], runs[pp, 2][0])
            self.assertTrue(all(math.isfinite(value) for tensor in runs[pp, 24][2].values() for value in tensor.values))
        # The same steps are skipped by whatever stages there are, and the same bits come out.
        for steps in (1, 2, 24):
            self.assertEqual(len({runs[pp, steps][0] for pp in (1, 2, 4)}), 1)

    def test_overflow_on_one_rank_alone(self):
        """Only one data-parallel rank has targets at first, so that only its gradients overflow: both skip, and continue together."""
        rows, length, steps, alone = SMALL["batch"], SMALL["length"], 28, 22
        for rank in sample([0, 1], 1):
            part = [int(row // (rows // 2) == rank) for row in range(rows) for _ in range(length)]
            (self.folder / "mask").write_bytes(bytes(part * alone + [1] * (len(part) * (steps + 1 - alone))))
            (self.folder / "text").write_bytes(bytes(random.Random(3).randrange(97, 123) for _ in range(len(part) * (steps + 1))))
            logs = {}
            for dp, zero in ((1, 0), (2, 0), (2, 3)):
                self.npar("compile", *self.model(dict(dp=dp, pp=1, tp=1), compute="fp16", ignore=-100, zero=zero), "-o", "good.npx")
                subprocess.run([ALTER, "scale", "good.npx", "high.npx"], cwd=self.folder, check=True, timeout=60)
                self.npar("run", "high.npx", "--data", "text", "--tokens", "bytes", "--mask", "mask", "--data-order", "sequential", "--steps", steps,
                          "--log", "log.jsonl", "--quiet")
                logs[dp, zero] = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
            one = logs[1, 0]
            skipped = sum(entry["skipped"] for entry in one)
            self.assertGreater(skipped, 3)
            self.assertLess(skipped, alone, "it trains while one rank has targets, and afterwards")
            self.assertEqual([entry["valid_tokens"] for entry in (one[0], one[-1])], [rows * length // 2, rows * length])
            for plan, log in logs.items():
                with self.subTest(rank=rank, plan=plan):
                    for entry, expected in zip(log, one):
                        self.assertEqual((entry["skipped"], entry["loss_scale"]), (expected["skipped"], expected["loss_scale"]))
                        self.assertAlmostEqual(entry["loss"], expected["loss"], delta=5e-3)
            self.assertLess(one[-1]["loss"], one[0]["loss"])

    def test_float64_removes_the_plan(self):
        self.npar("verify", "gpt2", "--plan", "three_d", *settings(CHECKED, mesh(dp=2, pp=2, tp=2), compute="fp16"))


class Tf32Test(DriverTest):
    def test_an_independent_model_says_the_same(self):
        """Losses and gradient norms of plain Python that rounds operands by their bits; what is not rounded says something else."""
        recorded = json.loads((REFERENCE / "tf32_recorded.json").read_text())
        train = recorded["train"]
        logs = {}
        for compute in ("f32", "tf32"):
            for plan in (["--plan", "none"], ["--plan", "data", *settings(mesh(dp=2, tp=2))]):
                self.npar("run", "mlp", *plan, *settings(recorded["model"], batch=train["batch"], momentum=0, clip=1000, compute=compute),
                          "--set", f"optimizer.lr=constant({train['lr']})", "--weights", REFERENCE / "mlp_initial.safetensors", "--data", REFERENCE / "tokens.u16",
                          "--tokens", "u16", "--data-order", "sequential", "--steps", train["steps"], "--log", "log.jsonl", "--quiet")
                log = logs[compute] = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
                for entry, expected in zip(log, recorded[compute]):
                    for key, bound in (("loss", 1e-6), ("grad_norm", 4e-6)):
                        with self.subTest(compute=compute, plan=plan, step=entry["step"], key=key):
                            self.assert_close(entry[key], expected[key], bound)
        for key, bound in (("loss", 1e-6), ("grad_norm", 4e-6)):
            self.assertGreater(max(abs(a[key] - b[key]) / b[key] for a, b in zip(logs["f32"], recorded["tf32"])), 5 * bound, key)

    def test_a_plan_has_the_mathematics_and_the_bits_of_any_instructions(self):
        plan = ["gpt2", "--plan", "three_d", *settings(CHECKED, mesh(dp=2, pp=2, tp=2), depth=2, compute="tf32")]
        checks = self.npar("verify", *plan).output
        self.assertIn("in tf32: loss", checks)
        self.assertIn("in tf32: gradient norm", checks)
        hashes = {
            (most, pp): self.npar_json("run", *plan, *settings(mesh(pp=pp)), "--random-data", "--steps", 2, env={**os.environ, "NPAR_INSTRUCTIONS": most})["parameter_hash"]
            for most, pp in (("plain", 2), ("tiles", 2), ("tiles", 1))
        }
        self.assertEqual(len(set(hashes.values())), 1, hashes)


if __name__ == "__main__":
    unittest.main()
