"""Runs of several processes that chaos.py breaks: of `npar_run_processes`, whose ranks can be made to go astray, and of npar as people start it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from driver import BUILD, NPAR

PROGRAM = BUILD / "bin" / "npar_run_processes"
MPIEXEC = "mpiexec.mpich"
# MPICH's mpiexec ends all others at once when a process that it has started dies by a signal, whatever its flags say: a shell in between
# turns the signal into an exit code, as npar's own guard does. It tells the others by a SIGUSR1, which is ignored here.
KEPT_APART = ["sh", "-c", 'trap "" USR1; "$0" "$@"']
LIMIT = 3  # seconds: the runs' time limit
STEPS = 60


class Run:
    """One run with one fault."""

    def __init__(self, program, processes, hosts=None, words=()):
        self.lines, self.pids, self.steps, self.arrived = [], {}, -1, {}
        self.changed = threading.Condition()
        command = [*(hosts.inside() if hosts else []), MPIEXEC, "-disable-auto-cleanup", *(hosts.launch() if hosts else []), "-n", str(processes)]
        command += [*KEPT_APART, str(PROGRAM), str(program), "mpich", f"steps={STEPS}", f"timeout={LIMIT}", *words]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.errors = []
        self.listener = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self.listener.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.arrived[line.split(" ")[0]] = time.monotonic()
                if match := re.match(r"process (\d+) pid (\d+)", line):
                    self.pids[int(match[1])] = int(match[2])
                if match := re.match(r"step (\d+)", line):
                    self.steps = int(match[1])
                self.changed.notify_all()

    def wait_for(self, condition, seconds):
        with self.changed:
            return self.changed.wait_for(lambda: condition() or self.process.poll() is not None, seconds) and condition()

    def alive(self):
        """Processes of the run that are still there, zombies aside."""
        return [pid for pid in self.pids.values() if state_of(pid) not in ("", "Z")]

    def end(self, patience, of_mpiexec=True):
        """Seconds from now until every process was gone, mpiexec too unless told otherwise; None when some had to be killed."""
        began = time.monotonic()
        while time.monotonic() - began < patience:
            if (self.process.poll() is not None or not of_mpiexec) and not self.alive():
                took = time.monotonic() - began
                return self.close(took) if self.process.poll() is not None else took
            time.sleep(0.01)
        for pid in self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return self.close(None)

    def close(self, took):
        for thread, stream in ((self.reader, self.process.stdout), (self.listener, self.process.stderr)):
            thread.join(2)
            if not thread.is_alive():
                stream.close()
        return took

    def reports(self):
        return [json.loads(line[len("report "):]) for line in self.lines if line.startswith("report ")]

    def hash(self):
        return next((line.split()[1] for line in self.lines if line.startswith("hash ")), None)


class DriverRun(Run):
    """The same of `npar launch ... run`: the processes are found by what the launcher has put into their environment, steps by the log."""

    def __init__(self, program, processes, hosts=None, words=(), mpi="mpich", steps=100 * STEPS):
        assert not words, "npar itself does not go astray"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="npar-chaos-run-"))
        self.pids, self.arrived, self.errors, self.lines = {}, {}, [], []
        self.rank = {"mpich": b"PMI_RANK=", "openmpi": b"OMPI_COMM_WORLD_RANK="}[mpi]
        self.log = self.folder / "log.jsonl.partial"
        command = [*(hosts.inside() if hosts else []), NPAR, "launch", "-n", processes, "--mpi", mpi, *(["--host-list", hosts.addresses()] if hosts else []), "run", program,
                   "--random-data", "--steps", steps, "--threads", 1, "--timeout", LIMIT, "--json", "--quiet", "--log", self.folder / "log.jsonl"]
        environment = {**os.environ, **(hosts.environment() if hosts else {})}
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment)
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=lambda: self.lines.append(self.process.stdout.read()), daemon=True)
        self.reader.start()
        self.listener = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self.listener.start()

    def wait_for(self, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            self.look()
            if condition():
                return True
            time.sleep(0.01)
        return False

    def look(self):
        """Who is there, for killed ones are not found again."""
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in self.pids.values():
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if os.readlink(entry / "exe") == str(NPAR) and words[1:2] == [b"run"] and str(self.log.with_suffix("")).encode() in words:
                        numbers = [word[len(self.rank):] for word in (entry / "environ").read_bytes().split(b"\0") if word.startswith(self.rank)]
                        self.pids.update({int(number): int(entry.name) for number in numbers})

    @property
    def steps(self):
        return self.log.read_text().count("\n") - 1 if self.log.exists() else -1

    def close(self, took):
        took = super().close(took)
        shutil.rmtree(self.folder, ignore_errors=True)
        return took

    def summary(self):
        """The one JSON on standard output."""
        text = "".join(self.lines)
        try:
            return json.loads(text) if text.strip() else {}
        except json.JSONDecodeError as error:
            raise AssertionError(f"standard output is no one JSON: {error}\n{text}\n{''.join(self.errors)}") from error

    def reports(self):
        """The one report, which standard error has in words as often."""
        said = [line for line in self.errors if line.startswith("npar: error:")]
        return [self.summary()] * len(said) if "cause" in self.summary() else [{"code": None, "message": line, "process": None, "rank": None} for line in said]

    def hash(self):
        return self.summary().get("parameter_hash")


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
