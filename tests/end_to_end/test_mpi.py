"""Operations of several processes over MPI, for each installed MPI: started by its own mpiexec, whatever the machine's default is."""

import os
import shutil
import subprocess
import unittest

from driver import BUILD, LONG

PROGRAM = BUILD / "bin" / "npar_mpi_processes"

# Open MPI needs flags to run as root and to run more processes than cores.
STARTERS = {
    "mpich": ["mpiexec.mpich"],
    "openmpi": ["mpiexec.openmpi", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])],
}


def missing(mpi):
    """Why an MPI cannot be tested here; None when it can."""
    if not shutil.which(STARTERS[mpi][0]):
        return f"{STARTERS[mpi][0]} is not installed"
    if not (BUILD / "lib" / "npar" / f"libnpar_{mpi}.so").exists():
        return f"npar was built without a module for {mpi}"
    return None


class Processes:
    """The tests of one MPI."""

    mpi = ""

    @classmethod
    def setUpClass(cls):
        if reason := missing(cls.mpi):
            raise unittest.SkipTest(reason)

    def told(self, count, *what):
        """The output of all processes, which must all succeed."""
        command = [*STARTERS[self.mpi], "-n", str(count), str(PROGRAM), self.mpi, *what]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, f"{' '.join(command)}\n{result.stdout}{result.stderr}")
        self.assertEqual(result.stdout.count("ok"), count, result.stdout)  # a launcher may mix lines of several processes
        return result.stdout

    def test_messages_arrive_as_every_transport_must_bring_them(self):
        self.told(3, "conformance")

    def test_groups_gather_and_broadcast(self):
        self.assertIn("process 2 of 3 over ", self.told(3, "groups"))


    def test_random_operations_have_the_bits_of_one_process(self):
        for count in (2, 4):
            self.told(count, "random", "2500" if LONG else "30")


class MpichTest(Processes, unittest.TestCase):
    mpi = "mpich"


class OpenMpiTest(Processes, unittest.TestCase):
    mpi = "openmpi"


if __name__ == "__main__":
    unittest.main()
