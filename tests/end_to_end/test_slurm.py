"""npar under Slurm: the batch script of tools/slurm on a cluster of two nodes that the test starts, with each MPI that Slurm can join."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from driver import BUILD, LONG, NPAR, ROOT, SMALL, DriverTest, mesh, settings
from slurm import Slurm

SCRIPT = ROOT / "tools" / "slurm" / "npar.sbatch"
KINDS = [kind for kind, mpi in (("pmi2", "mpich"), ("pmix", "openmpi")) if (BUILD / "lib" / "npar" / f"libnpar_{mpi}.so").exists()]


@unittest.skipUnless(LONG, "needs NPAR_LONG=1")
@unittest.skipUnless(KINDS, "npar was built without an MPI (libmpich-dev, libopenmpi-dev)")
@unittest.skipIf(Slurm.missing(), Slurm.missing())
class SlurmTest(DriverTest):
    @classmethod
    def setUpClass(cls):
        cls.slurm = cls.enterClassContext(Slurm(2))

    def submit(self, *arguments, kind=KINDS[0] if KINDS else "", flags=(), **variables):
        """Gives the script to Slurm; the job's number."""
        said = self.slurm_run("sbatch", "--parsable", "--nodes=2", "--ntasks-per-node=2", "--time=10", f"--output={self.folder}/job.out", f"--chdir={self.folder}", *flags, SCRIPT, *arguments,
                              NPAR=str(NPAR), NPAR_SLURM_MPI=kind, NPAR_CHECKPOINTS=str(self.folder / "checkpoints"), **variables)
        self.assertRegex(said, r"^\d+\n$")
        return said.strip()

    def slurm_run(self, *words, **variables):
        result = subprocess.run([str(word) for word in words], env=self.slurm.environment(**variables), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def state(self, job):
        return re.search(r"JobState=(\w+)", self.slurm_run("scontrol", "show", "job", job))[1]

    def wait_for(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, self.output())
            time.sleep(0.2)

    def finish(self, job, state="COMPLETED", **how):
        ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
        self.wait_for(lambda: self.state(job) in ended, **how)
        self.assertEqual(self.state(job), state, self.output())

    def output(self):
        path = self.folder / "job.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def flags(self, steps):
        return ["gpt2", *settings(SMALL, mesh(dp=2, pp=2, tp=2)), "--data", self.text_file(), "--tokens", "bytes", "--steps", steps, "--threads", 1]

    def alone(self, steps):
        return self.npar_json("run", *self.flags(steps), "--quiet")["parameter_hash"]

    def last_hash(self):
        """Of the last summary in the job's output, among lines of Slurm and of the starts before."""
        text = self.output()
        begin = max(match.start() for match in re.finditer(r"^\{", text, re.MULTILINE))
        return json.JSONDecoder().raw_decode(text, begin)[0]["parameter_hash"]

    def test_the_batch_script_computes_what_one_process_computes(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)
                (self.folder / "job.out").unlink(missing_ok=True)
                # Open MPI would take shared memory of the one machine for both nodes.
                self.finish(self.submit(*self.flags(10), "--json", "--quiet", kind=kind, NPAR_RESTARTS="0", OMPI_MCA_btl="self,tcp"))
                self.assertEqual(self.last_hash(), self.alone(10))

    def test_a_job_that_was_stopped_goes_on(self):
        """As two minutes before its time is over: the step is ended, a checkpoint written, and the job queued once more."""
        steps = 600
        job = self.submit(*self.flags(steps), "--checkpoint-every", 50, "--log", "log.jsonl", "--json", "--quiet")
        growing = self.folder / "log.jsonl.partial"
        self.wait_for(lambda: growing.exists() and growing.read_text().count("\n") > 20)
        self.slurm_run("scancel", "--signal=TERM", job)
        self.wait_for(lambda: "Restarts=1" in self.slurm_run("scontrol", "show", "job", job))
        self.assertRegex(self.output(), r"npar: error: stopped by SIGTERM after \d+ of 600 steps")
        self.finish(job, seconds=300)
        self.assertEqual(self.last_hash(), self.alone(steps))
        self.assertEqual([json.loads(line)["step"] for line in (self.folder / "log.jsonl").read_text().splitlines()], list(range(steps)))

    def test_a_cancelled_job_stays_cancelled(self):
        job = self.submit(*self.flags(100000), "--log", "log.jsonl", "--quiet")
        growing = self.folder / "log.jsonl.partial"
        self.wait_for(lambda: growing.exists() and growing.read_text().count("\n") > 5)
        self.slurm_run("scancel", job)
        self.finish(job, "CANCELLED")
        self.wait_for(lambda: any((self.folder / "checkpoints").glob("step-*/manifest.json")))
        time.sleep(7)  # longer than Slurm waits with a job that is queued again
        self.assertEqual(self.state(job), "CANCELLED")

    def test_a_killed_process_is_named_and_the_job_ends(self):
        job = self.submit(*self.flags(100000), "--timeout", 3, "--log", "log.jsonl", "--quiet", NPAR_RESTARTS="0")
        growing = self.folder / "log.jsonl.partial"
        self.wait_for(lambda: growing.exists() and growing.read_text().count("\n") > 5)
        victim = self.process_number(2)
        os.kill(victim, signal.SIGKILL)
        self.finish(job, "FAILED")
        said = [line for line in self.output().splitlines() if line.startswith("npar: error:")]
        self.assertEqual(len(said), 1, self.output())
        self.assertIn("process 2", said[0])
        self.assertIn(f"pid {victim}", self.output())

    def process_number(self, number):
        """The process of this test's npar with this number."""
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if os.readlink(entry / "exe") == str(NPAR) and f"SLURM_PROCID={number}".encode() in (entry / "environ").read_bytes().split(b"\0") and str(self.folder).encode() in (entry / "environ").read_bytes():
                    return int(entry.name)
            except OSError:
                continue
        self.fail(f"no process {number}")


if __name__ == "__main__":
    unittest.main()
