"""Processes that are joined over TCP, by the variables that torchrun sets for each: what one process says, and what is said when one is missing."""

import json
import os
import signal
import socket
import subprocess
import time

from driver import NPAR, SMALL, DriverTest, mesh, settings

STANDIN = NPAR.parent.parent / "lib" / "libnpar_standin_cuda.so"
MODEL = ["gpt2", *settings(SMALL, depth=2), *settings(mesh(dp=2, tp=2)), "--random-data"]


def free_port():
    with socket.socket() as at:
        at.bind(("", 0))
        return at.getsockname()[1]


class TorchrunTest(DriverTest):
    def start(self, count, *arguments, processes=None, port=None, **variables):
        """One process for each number, as torchrun starts them."""
        port = port or free_port()
        started = []
        for rank in processes or range(count):
            own = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **variables)
            command = [str(NPAR), *map(str, arguments)]
            started.append(subprocess.Popen(command, cwd=self.folder, env=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        self.addCleanup(lambda: [process.kill() for process in started])
        return started

    def ended(self, started, code=0):
        said = [(*process.communicate(timeout=120), process.returncode) for process in started]
        for output, error, returned in said:
            self.assertEqual(returned, code, output + error)
        return said

    def test_processes_train_as_one(self):
        alone = self.npar_json("run", *MODEL, "--steps", 3, "--quiet")["parameter_hash"]
        for count in (2, 4):
            with self.subTest(count):
                first, *others = self.ended(self.start(count, "run", *MODEL, "--steps", 3, "--quiet", "--json"))
                self.assertEqual(json.loads(first[0])["parameter_hash"], alone)
                self.assertEqual([output + error for output, error, _ in others], [""] * (count - 1))  # process 0 speaks

    def test_gpus_are_joined(self):
        devices = {"NPAR_CUDA_DRIVER": str(STANDIN), "NPAR_NCCL": str(STANDIN), "NPAR_STANDIN_DEVICES": "2"}
        alone = self.npar_json("run", *MODEL, "--steps", 2, "--quiet")["parameter_hash"]
        first, _ = self.ended(self.start(2, "run", *MODEL, "--steps", 2, "--quiet", "--json", "--backend", "cuda", "--nccl", "always", **devices))
        self.assertEqual(json.loads(first[0])["parameter_hash"], alone)

    def test_processors_and_gpus_are_not_mixed(self):
        devices = {"NPAR_CUDA_DRIVER": str(STANDIN), "NPAR_STANDIN_DEVICES": "2"}
        port = free_port()
        started = [self.start(2, "run", *MODEL, "--steps", 1, "--backend", backend, processes=[rank], port=port, **devices)[0] for rank, backend in enumerate(("cuda", "cpu"))]
        (_, error, _), _ = self.ended(started, code=1)
        self.assertRegex(error, r"process 1 on '.*' was started as '.*--backend cpu', process 0 as '.*--backend cuda': all processes of a job get the same command line")

    def test_a_killed_process_is_named(self):
        started = self.start(2, "run", *MODEL, "--steps", 100000, "--log", "log.jsonl")
        rows = self.folder / "log.jsonl.partial"
        while not (rows.exists() and rows.stat().st_size) and started[0].poll() is None:
            time.sleep(0.02)
        started[1].send_signal(signal.SIGKILL)
        started[1].communicate(timeout=20)
        begun = time.monotonic()
        _, error = started[0].communicate(timeout=60)
        self.assertLess(time.monotonic() - begun, 30)
        self.assertNotEqual(started[0].returncode, 0)
        self.assertRegex(error, r"process 1")

    def test_what_is_missing_is_said(self):
        (_, error, _), *_ = self.ended(self.start(3, "run", *MODEL, "--steps", 1, "--timeout", 2, processes=[0]), code=5)
        self.assertRegex(error, r"torchrun has started 3 processes, and not all of them have joined within 2 s|processes 1, 2 have not come within 2 s")
        with socket.socket() as taken:
            taken.bind(("", 0))
            taken.listen()
            port = taken.getsockname()[1]
            (_, error, _), *_ = self.ended(self.start(2, "run", *MODEL, "--steps", 1, processes=[0], port=port), code=4)
        self.assertIn(f"torchrun has started 2 processes: cannot listen at port {port}: Address already in use", error)
        alone = self.start(2, "run", *MODEL, "--steps", 1, "--alone", "--quiet", "--json", processes=[1])
        self.assertTrue(json.loads(self.ended(alone)[0][0]))

    def test_who_misses_process_0_says_so(self):
        """Process 0 is the voice of a job; where it is what is missing, the others would end without a word."""
        run = self.start(3, "run", *MODEL, "--steps", 1, "--timeout", 2, processes=[1, 2])
        for rank, process in enumerate(run, 1):
            output, error = process.communicate(timeout=120)
            self.assertIn(process.returncode, (1, 4, 5), error)
            self.assertEqual(output, "")
            self.assertIn("torchrun has started 3 processes", error)
            self.assertIn(f"process {rank}", error)


if __name__ == "__main__":
    import unittest

    unittest.main()
