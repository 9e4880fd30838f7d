"""Training in four processes, one of which is killed at any moment: the others end, what is on the disk is whole, and it goes on in any number
of processes."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

import checkpoint_files
from driver import LONG, NPAR, SMALL, settings
from test_processes import MPIS, WITHOUT, JobTest, ranks

STEPS, PROCESSES = 120, 4


@unittest.skipUnless(MPIS, WITHOUT)
class KilledTest(JobTest):
    def test_a_kill_at_a_random_moment(self):
        program, text = self.folder / "gpt2.npx", self.text_file(6000)
        self.npar("compile", "gpt2", *settings(SMALL, ranks(dp=4, pp=2), {"depth": 2}, zero=1), "-o", program)
        flags = ["run", program, "--data", text, "--tokens", "bytes", "--steps", STEPS, "--threads", 1, "--json", "--quiet"]
        alone = json.loads(self.npar(*flags, "--log", "whole.jsonl").output)
        whole, chance, gone_on, others = self.log_of("whole.jsonl"), random.Random(8), 0, [1, 2, 8]
        for trial in range(200 if LONG else 2):
            with self.subTest(trial=trial):
                folder, log = self.folder / "killed", self.folder / "killed.jsonl"
                before = self.newest(folder)
                kept = [*flags, "--checkpoint", folder, "--checkpoint-every", 3, "--checkpoint-keep", 2, "--log", log, "--resume"]
                code = self.kill_one(MPIS[trial % len(MPIS)], kept, log, chance, early=trial % 4 == 3)
                done = [json.loads(line) for line in self.partial(log).read_text().splitlines() if line.endswith("}")] if self.partial(log).exists() else []
                self.assertEqual([self.bits(line) for line in done], whole[: len(done)])
                for checkpoint in checkpoint_files.committed(folder):
                    self.npar("checkpoint", "verify", checkpoint)
                gone_on += len(done) > before > 0
                if code == 0 or (others and self.newest(folder)):  # ended before the kill; or resumes in another number of processes
                    processes = others.pop(0) if others else 1
                    ended = self.npar(*kept) if processes == 1 else self.together(MPIS[0], processes, *kept)
                    self.assertEqual(json.loads(ended.output)["parameter_hash"], alone["parameter_hash"], f"{processes} processes")
                    self.assertEqual([self.bits(line) for line in self.log_of(log.name)], whole)
                    shutil.rmtree(folder)
                    log.unlink()
        if LONG:
            self.assertGreater(gone_on, 10, "few trials resumed from a checkpoint")
            self.assertEqual(others, [])

    @staticmethod
    def bits(line):
        return {name: value for name, value in line.items() if not name.endswith(("_per_second", "data_wait_seconds", "batch_hash"))}

    @staticmethod
    def partial(log):
        return log.with_name(log.name + ".partial")

    @staticmethod
    def newest(folder):
        found = checkpoint_files.committed(folder)
        return int(found[-1].name[5:]) if found else 0

    def kill_one(self, mpi, command, log, chance, early):
        """Runs in four processes and kills one of them, early perhaps before it has joined the others. The launcher's exit code."""
        begun, newest = time.time(), self.newest(self.folder / "killed")
        words = [NPAR, "launch", "-n", PROCESSES, "--mpi", mpi, *command, "--timeout", 30]
        job = subprocess.Popen([str(word) for word in words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        victim = chance.randrange(PROCESSES)
        reach = newest + chance.randrange(9)  # in steps: how far a run comes in some time depends on the machine's other work
        while job.poll() is None and time.time() - begun < 60 and not (self.processes() if early else self.has_grown(log, begun, reach)):
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.3) if early else chance.uniform(0, 0.03))
        processes = self.processes()
        if struck := processes[victim % len(processes)] if processes else None:
            try:
                os.kill(struck, signal.SIGKILL)
            except ProcessLookupError:
                struck = None
        try:
            _, error = job.communicate(timeout=60)
        finally:
            for left in self.processes():
                os.kill(left, signal.SIGKILL)
        self.assertEqual(self.processes(), [], "processes are left")
        if job.returncode != 0:
            self.assertIsNotNone(struck, error)
            reports = [line for line in error.splitlines() if line.startswith("npar: error:")]
            self.assertLessEqual(len(reports), 1, error)
        return job.returncode

    def has_grown(self, log, begun, step):
        """Whether this run has written the line of a step, this one or a later one."""
        path = self.partial(log)
        if not path.exists() or path.stat().st_mtime < begun:
            return False
        lines = [line for line in path.read_text().splitlines() if line.endswith("}")]
        return bool(lines) and json.loads(lines[-1])["step"] >= step

    def processes(self):
        """The processes of npar that train here, not their guards and launchers."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if os.readlink(entry / "exe") == str(NPAR) and words[1:2] == [b"run"] and str(self.folder).encode() in b" ".join(words):
                        found.append(int(entry.name))
                except OSError:
                    continue
        return sorted(found)


if __name__ == "__main__":
    unittest.main()
