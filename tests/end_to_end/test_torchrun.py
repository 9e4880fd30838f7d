"""Processes joined over TCP by torchrun's variables: the output of one process, and the error when one is missing."""

import json
import os
import signal
import socket
import subprocess
import time

from driver import NPAR, SMALL, DriverTest, mesh, settings
from hosts import Hosts

STANDIN = NPAR.parent.parent / "lib" / "libnpar_standin_cuda.so"
MODEL = ["gpt2", *settings(SMALL, depth=2), *settings(mesh(dp=2, tp=2)), "--random-data"]


SECRET = "7f0e1d2c3b4a5968" * 4
LINE = "\n  export NPAR_JOB_SECRET=$(openssl rand -hex 32)\n"


def free_port():
    with socket.socket() as at:
        at.bind(("", 0))
        return at.getsockname()[1]


def outer_address():
    """An address of this machine that others reach, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # a route is looked up, nothing is sent
        except OSError:
            return None
        own = probe.getsockname()[0]
    return None if own.startswith(("127.", "0.")) else own


def listeners(port):
    """The addresses with a listener at this port."""
    found = set()
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            local, state = line.split()[1], line.split()[3]
            address, number = local.split(":")
            if state == "0A" and int(number, 16) == port:
                found.add(socket.inet_ntoa(int(address, 16).to_bytes(4, "little")))
    return found


class TcpTest(DriverTest):
    """Starts processes that connect over TCP."""

    def start(self, count, *arguments, processes=None, port=None, hosts=None, **variables):
        """One process for each number, as torchrun starts them; each on its own host if `hosts` are given."""
        port = port or free_port()
        started = []
        for rank in processes or range(count):
            own = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            own.update({"NPAR_HOST": f"host{rank}"} if hosts else {}, **variables)
            command = [*(hosts.inside(rank) if hosts else []), str(NPAR), *map(str, arguments)]
            started.append(subprocess.Popen(command, cwd=self.folder, env=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        self.addCleanup(lambda: [process.kill() for process in started])
        return started

    def ended(self, started, code=0):
        said = [(*process.communicate(timeout=120), process.returncode) for process in started]
        for output, error, returned in said:
            self.assertEqual(returned, code, output + error)
        return said


class TorchrunTest(TcpTest):
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
        self.assertRegex(error, r"process 1 on '.*' was started as '.*--backend cpu', process 0 as '.*--backend cuda': give all processes of a job the same command line")

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

    def test_a_stopped_process_is_named_once(self):
        """Process 0 speaks for the others: the remaining process reports in its place, once."""
        started = self.start(2, "run", *MODEL, "--steps", 100000, "--log", "log.jsonl", "--timeout", 3)
        rows = self.folder / "log.jsonl.partial"
        while not (rows.exists() and rows.stat().st_size) and started[1].poll() is None:
            time.sleep(0.02)
        started[0].send_signal(signal.SIGSTOP)
        _, error = started[1].communicate(timeout=60)
        started[0].kill()
        started[0].communicate(timeout=20)
        self.assertEqual(started[1].returncode, 5, error)
        self.assertEqual(error.count("npar: error: process 0"), 1, error)

    def outer(self):
        address = outer_address()
        return address or self.skipTest("this machine has no address but the loopback")

    def test_other_hosts_need_a_secret(self):
        """Refused before anything listens, by each process; with a secret process 0 listens at the address of the job alone."""
        address, port = self.outer(), free_port()
        for _, error, _ in self.ended(self.start(2, "run", *MODEL, "--steps", 1, "--quiet", MASTER_ADDR=address), code=1):
            self.assertIn(f"process 0 must listen at {address} (MASTER_ADDR says '{address}'), which other hosts can reach", error)
            self.assertIn(LINE, error)
        alone = self.npar_json("run", *MODEL, "--steps", 2, "--quiet")["parameter_hash"]
        own = {"MASTER_ADDR": address, "NPAR_JOB_SECRET": SECRET}
        first = self.start(2, "run", *MODEL, "--steps", 2, "--quiet", "--json", processes=[0], port=port, **own)
        while not listeners(port) and first[0].poll() is None:
            time.sleep(0.02)
        self.assertEqual(listeners(port), {address})
        second = self.start(2, "run", *MODEL, "--steps", 2, "--quiet", "--json", processes=[1], port=port, **own)
        said = self.ended([*first, *second])
        self.assertEqual(json.loads(said[0][0])["parameter_hash"], alone)
        self.assertEqual(listeners(port), set())

    def test_processes_of_two_hosts(self):
        if missing := Hosts.missing():
            self.skipTest(missing)
        alone = self.npar_json("run", *MODEL, "--steps", 2, "--quiet")["parameter_hash"]
        with Hosts(2) as hosts:
            run = [2, "run", *MODEL, "--steps", 2, "--quiet", "--json"]
            for _, error, _ in self.ended(self.start(*run, hosts=hosts, MASTER_ADDR=hosts.address(0)), code=1):
                self.assertIn(LINE, error)
            first, _ = self.ended(self.start(*run, hosts=hosts, MASTER_ADDR=hosts.address(0), NPAR_JOB_SECRET=SECRET))
            self.assertEqual(json.loads(first[0])["parameter_hash"], alone)

    def test_another_secret_is_refused(self):
        port = free_port()
        run = ["run", *MODEL, "--steps", 1, "--quiet", "--timeout", 4]
        first = self.start(2, *run, processes=[0], port=port, NPAR_JOB_SECRET=SECRET)
        second = self.start(2, *run, processes=[1], port=port, NPAR_JOB_SECRET="8e0e1d2c3b4a5968" * 4)
        (_, error, _), = self.ended(second, code=1)
        self.assertIn("process 0, at 127.0.0.1, and this process cannot join: its job secret differs from that of this process", error)
        (_, error, _), = self.ended(first, code=5)
        self.assertIn("npar: process 1 at 127.0.0.1 was refused: its job secret differs", error)
        self.assertRegex(error, r"error: torchrun has started 2 processes: process 1 has not come within 4 s; process 1 at 127.0.0.1 was refused")

    def test_a_secret_that_others_can_read_is_refused(self):
        path = self.folder / "secret"
        path.write_text(SECRET + "\n")
        path.chmod(0o644)
        for _, error, _ in self.ended(self.start(2, "run", *MODEL, "--steps", 1, "--quiet", NPAR_JOB_SECRET_FILE=str(path)), code=1):
            self.assertIn(f"NPAR_JOB_SECRET_FILE '{path}' has mode 0644, but other users must not be able to read a secret", error)
        path.chmod(0o600)
        self.ended(self.start(2, "run", *MODEL, "--steps", 1, "--quiet", NPAR_JOB_SECRET_FILE=str(path)))

    def test_the_secret_is_nowhere(self):
        """Not in what a run says and writes, with flight records of processes that end by another's death, and not in what ps shows."""
        started = self.start(2, "run", *MODEL, "--steps", 100000, "--log", "log.jsonl", "--checkpoint", "kept", "--checkpoint-every", 1, "--flight", "flight", NPAR_JOB_SECRET=SECRET)
        rows = self.folder / "log.jsonl.partial"
        while not (rows.exists() and rows.stat().st_size) and started[0].poll() is None:
            time.sleep(0.02)
        for process in started:
            with open(f"/proc/{process.pid}/cmdline", "rb") as line:
                self.assertNotIn(SECRET.encode(), line.read())
        started[1].send_signal(signal.SIGKILL)
        said = "".join("".join(process.communicate(timeout=60)) for process in started)
        self.assertIn("process 1", said)
        self.assertNotIn(SECRET, said)
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        self.assertTrue([path for path in files if "flight" in path.parts])
        for path in files:
            content = path.read_bytes()
            self.assertFalse(SECRET.encode() in content or bytes.fromhex(SECRET) in content, path)

    def test_what_is_missing_is_said(self):
        (_, error, _), *_ = self.ended(self.start(3, "run", *MODEL, "--steps", 1, "--timeout", 2, processes=[0]), code=5)
        self.assertRegex(error, r"torchrun has started 3 processes, but not all of them joined within 2 s|processes 1, 2 have not come within 2 s")
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
