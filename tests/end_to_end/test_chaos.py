"""Training in real processes, broken on purpose: nothing hangs, the right culprit is named, and flight records show it afterwards."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import chaos
from driver import LONG, NPAR
from hosts import Hosts


@unittest.skipIf(chaos.missing(), chaos.missing())
class ChaosTest(unittest.TestCase):
    def check(self, errors, table, faults):
        chaos.print_table(table)
        self.assertEqual(sum(row["faults"] for row in table.values()), faults, errors)
        self.assertEqual(sum(row["hangs"] + row["wrong"] for row in table.values()), 0, errors)
        right = sum(row["right"] for row in table.values())
        self.assertGreaterEqual(right, faults - faults // 100, "\n".join(errors))

    def test_faults(self):
        """In the long form 200 on 4 and 8 processes; else each kind once, and a few twice."""
        faults, counts = (200, [4, 8]) if LONG else (12, [4])
        self.check(*chaos.chaos(faults, counts, say=lambda _: None), faults)

    @unittest.skipUnless(LONG, "needs NPAR_LONG=1")
    @unittest.skipIf(Hosts.missing(), Hosts.missing())
    def test_faults_over_two_hosts(self):
        with Hosts(2) as hosts:
            self.check(*chaos.chaos(20, [4, 8], 2, hosts, (*chaos.KINDS, "link"), say=lambda _: None), 20)

    @unittest.skipUnless(LONG, "needs NPAR_LONG=1")
    def test_faults_of_npar_launch(self):
        """Of each MPI: the survivors report, and its mpiexec ends with the code of the report."""
        for mpi in ("mpich", "openmpi"):
            if not chaos.missing(mpi):
                with self.subTest(mpi=mpi):
                    self.check(*chaos.chaos(12, [4, 8], 3, None, chaos.OF_DRIVER, say=lambda _: None, through=mpi), 12)

    @unittest.skipUnless(LONG, "needs NPAR_LONG=1")
    @unittest.skipIf(Hosts.missing(), Hosts.missing())
    def test_four_hosts(self):
        """`npar launch --hosts`: what one process computes; then faults, the link of a host among them."""
        with Hosts(4) as hosts, tempfile.TemporaryDirectory(prefix="npar-hosts-") as name:
            program = chaos.compile_program(pathlib.Path(name))
            train = ["run", program, "--random-data", "--steps", "10", "--threads", "1", "--json", "--quiet"]
            alone = json.loads(subprocess.run([NPAR, *train], capture_output=True, text=True, check=True).stdout)
            for processes in (4, 8):
                launch = [*hosts.inside(), NPAR, "launch", "-n", str(processes), "--mpi", "mpich", "--host-list", hosts.addresses(), *train]
                done = subprocess.run(launch, capture_output=True, text=True, env={**os.environ, **hosts.environment()}, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["parameter_hash"], alone["parameter_hash"])
            self.check(*chaos.chaos(6, [4, 8], 5, hosts, chaos.OF_DRIVER, say=lambda _: None, through="mpich"), 6)

    def test_records_of_processes_that_were_all_killed(self):
        """Nobody is left who could say anything: one process is stopped, a moment later the others are killed where they wait for it."""
        with tempfile.TemporaryDirectory(prefix="npar-autopsy-") as name:
            folder = pathlib.Path(name)
            records = folder / "records"
            records.mkdir()
            run = chaos.Run(chaos.compile_program(folder), 4, words=[f"flight={records}"])
            self.assertTrue(run.wait_for(lambda: run.steps >= 5 and len(run.pids) == 4, 60), run.lines)
            os.kill(run.pids[2], signal.SIGSTOP)
            self.assertTrue(run.wait_for(lambda: False, 2.2) is False and run.process.poll() is None)
            for pid in run.pids.values():
                os.kill(pid, signal.SIGKILL)
            self.assertIsNotNone(run.end(10))
            self.assertEqual(len(list(records.iterdir())), 4)
            found = subprocess.run([NPAR, "autopsy", records, "--json"], capture_output=True, text=True)
            self.assertEqual(found.returncode, 3, found.stderr)
            self.assertEqual(json.loads(found.stdout)["failure"]["process"], 2, found.stdout)
            # One record lost, one damaged: what is left is read, and said.
            (records / "process-0.flight").unlink()
            (records / "process-1.flight").write_bytes(b"x" * 1000)
            found = subprocess.run([NPAR, "autopsy", records], capture_output=True, text=True)
            self.assertEqual(found.returncode, 3, found.stderr)
            self.assertIn("process-1.flight' is not a flight record", found.stderr)
            self.assertIn("no record of processes 0, 1", found.stderr)
            self.assertRegex(found.stdout, r"(?s)^(Rank|Process) .*2.*\.\nIts last event was at \d\d:\d\d:\d\d\.\d\d\d, ")

    def test_a_good_run_leaves_no_record(self):
        with tempfile.TemporaryDirectory(prefix="npar-autopsy-") as name:
            folder = pathlib.Path(name)
            run = chaos.Run(chaos.compile_program(folder), 2, words=[f"flight={folder / 'records'}", "steps=3"])
            self.assertIsNotNone(run.end(60))
            self.assertIsNotNone(run.hash(), run.lines)
            self.assertFalse((folder / "records").exists())


if __name__ == "__main__":
    unittest.main()
