"""`npar run` while it runs: the progress bar on a terminal, Ctrl-C, its memory and what takes long."""

import json
import os
import pty
import resource
import signal
import subprocess
import time
import unittest

import driver
from driver import NPAR, SMALL, DriverTest, mesh, settings

THREE_D = ["gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=2, pp=2, tp=2))]


class RunTest(DriverTest):
    def test_progress_bar_on_a_terminal(self):
        main, other = pty.openpty()
        command = [str(NPAR), "run", *THREE_D, "--random-data", "--steps", "30"]
        process = subprocess.Popen(command, stderr=other, stdout=subprocess.DEVNULL)
        os.close(other)
        shown = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # Linux reports the closed end so
                break
            if not part:
                break
            shown += part
        os.close(main)
        self.assertEqual(process.wait(driver.TIMEOUT), 0)
        for expected in (b"step 30/30", b"[####", b"loss ", b" tokens/s", b"left "):
            self.assertIn(expected, shown)

    def test_a_batch_without_targets_trains_on_nothing(self):
        """No target counts in the first of two batches: its loss and gradients are 0, whatever the plan, and that is said. A mask that leaves
        no target in the whole file is refused (it was accepted: one believes to train)."""
        text = self.text_file(4000)
        tokens = SMALL["batch"] * SMALL["length"]
        command = [
            "run", *THREE_D, *settings(ignore=-100), "--data", text, "--tokens", "bytes", "--mask", "mask", "--steps", 2,
            "--data-order", "sequential", "--log", "log.jsonl",
        ]  # fmt: skip
        (self.folder / "mask").write_bytes(bytes(tokens + 1) + b"\1" * (4000 - tokens - 1))
        self.assertIn("1 of 2 batches had no counting target: their loss and gradients are 0", self.npar(*command).error)
        first, second = (json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines())
        self.assertEqual((first["loss"], first["grad_norm"], first["valid_tokens"]), (0, 0, 0))
        self.assertEqual(second["valid_tokens"], tokens)
        (self.folder / "mask").write_bytes(bytes(4000))
        self.assertIn("mask 'mask' marks no token of", self.npar(*command, code=1).error)

    def test_masks_that_fit_nothing(self):
        text = self.text_file(4000)
        (self.folder / "mask").write_bytes(bytes(4000))
        data = ["--data", text, "--tokens", "bytes", "--steps", 1, "--quiet"]
        self.assertIn("--mask needs --data", self.npar("run", *THREE_D, "--random-data", "--mask", "mask", code=2).error)
        self.assertIn("--set ignore=-100", self.npar("run", *THREE_D, *data, "--mask", "mask", code=1).error)
        ignoring = [*THREE_D, *settings(ignore=-100), *data]
        (self.folder / "mask").write_bytes(bytes(3999))
        self.assertIn("it has 3999 bytes, but the data has 4000 tokens", self.npar("run", *ignoring, "--mask", "mask", code=1).error)
        self.assertIn("cannot read mask 'none'", self.npar("run", *ignoring, "--mask", "none", code=1).error)

    def test_quiet_says_nothing(self):
        self.assertEqual(self.npar("run", *THREE_D, "--random-data", "--steps", 2, "--quiet").error, "")

    def test_interrupt_ends_after_the_step_and_keeps_the_work(self):
        command = [str(NPAR), "run", *THREE_D, "--random-data", "--steps", "1000000", "--json", "--quiet"]
        command += ["--log", "log.jsonl", "--output", "w.safetensors"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=driver.listen)
        partial = self.folder / "log.jsonl.partial"
        deadline = time.monotonic() + driver.TIMEOUT
        while not (partial.exists() and partial.stat().st_size) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=driver.TIMEOUT)
        self.assertEqual(process.returncode, 4, error)
        steps = json.loads(output)["steps"]
        self.assertIn(f"stopped by SIGINT after {steps} of 1000000 steps", error)
        self.assertEqual(len((self.folder / "log.jsonl").read_text().splitlines()), steps)
        self.assertTrue((self.folder / "w.safetensors").exists())
        self.assertFalse(partial.exists())

    def test_null_backend_runs_any_plan(self):
        self.npar("run", *THREE_D, "--random-data", "--steps", 2, "--backend", "null", "--quiet")


class SizeTest(DriverTest):
    """Large runs report their memory first."""

    def test_memory_is_said_and_refused_before_it_is_taken(self):
        said = self.npar("run", *THREE_D, "--random-data", "--steps", 1, "--threads", 3).error
        self.assertRegex(said, r"takes [\d.]+ .iB of memory: [\d.]+ .iB for the arenas, about .*, up to [\d.]+ .iB for the operands that 3 workers pack")
        large = ["gpt2", "--plan", "none", "--set", "length=64"]  # 124 million parameters: 2 GB and more

        def little():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

        for command in (["run", *large, "--random-data", "--steps", 1], ["verify", *large, "--full"]):
            error = self.npar(*command, code=1, preexec_fn=little).error
            self.assertRegex(error, r"this needs [\d.]+ GiB of memory, but only [\d.]+ .iB are available \(`ulimit -v`\)")
            self.assertIn("npar inspect works on this machine", error)
        self.npar("run", *large, "--random-data", "--steps", 1, "--backend", "null", "--quiet", preexec_fn=little)

    def test_what_takes_long_gives_a_sign_of_life(self):
        """On standard error, with what is being done; the process is held for longer than it stays silent, so that any machine is slow."""
        environment = {**os.environ, "NPAR_CACHE": str(self.folder / "empty")}
        command = [str(NPAR), "run", *map(str, THREE_D), "--random-data", "--steps", "1"]
        run = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.3)
        run.send_signal(signal.SIGSTOP)
        time.sleep(2.2)
        run.send_signal(signal.SIGCONT)
        output, error = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, error)
        self.assertNotIn(b"compiling", output)
        self.assertRegex(error, rb"npar: compiling '.*gpt2.npar': [a-z0-9 -]+, [0-9]+ s\n")


if __name__ == "__main__":
    unittest.main()
