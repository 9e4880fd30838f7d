"""npar as a competitor: a program compiled once, trained by one short run of `npar train` per round."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading

from budget import UNLIMITED
from pipe import Absent


def call(command, budget=UNLIMITED):
    """The command's output, and its peak memory in bytes. Raises Absent with its first error, and when the time is over."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=said)
        except OSError as error:
            raise Absent(f"'{command[0]}' does not start ({error.strerror}): tools/test builds it") from None
        patience = budget.left()
        limit = threading.Timer(min(patience, threading.TIMEOUT_MAX), process.kill)
        limit.start()
        _, status, usage = os.wait4(process.pid, 0)
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0), said.seek(0)
        if process.returncode == -signal.SIGKILL and not budget.left():
            raise Absent(f"npar {command[1]} was not done within {patience:.0f} s, its share of the time")
        if process.returncode:
            lines = [line for line in said.read().decode(errors="replace").splitlines() if "error" in line] or ["no message"]
            raise Absent(f"npar {command[1]} ended with {process.returncode}: {lines[0][:200]}")
        return output.read().decode(), usage.ru_maxrss * 1024


def measured_machine(npar, path, quick):
    """Measures this machine and leaves its text at `path`, for planned times."""
    call([npar, "machine", "measure", "-o", path, *(["--quick"] if quick else [])])
    return path


class Program:
    """One model under one plan, compiled. `npar`: the driver; `folder`: where it may leave files; `machine`: that times are planned for; then
    flags of `npar compile`. `budget` limits each call."""

    def __init__(self, npar, folder, name, model, plan, settings, machine="reference", *flags, budget=UNLIMITED):
        self.budget = budget
        self.npar, self.path, self.log = npar, pathlib.Path(folder, name + ".npx"), pathlib.Path(folder, name + ".jsonl")
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        call([npar, "compile", model, *(["--plan", plan] if plan else []), *words, "--machine", machine, *flags, "-o", self.path], budget)
        self.tokens = settings["batch"] * settings["length"]

    def inspect(self):
        return json.loads(call([self.npar, "inspect", self.path, "--json"], self.budget)[0])

    def run(self, steps, *flags):
        """Entries of the log, one a step, and the peak memory of the process."""
        _, memory = call([self.npar, "run", self.path, "--steps", steps, "--quiet", "--log", self.log, *flags], self.budget)
        return [json.loads(line) for line in self.log.read_text().splitlines()], memory

    def seconds(self, entries):
        return [entry["tokens"] / entry["tokens_per_second"] for entry in entries]


class Rounds:
    """Runs `warm + measured` steps in each round and leaves the first `warm` out."""

    def __init__(self, program, warm, measured, *flags):
        self.program, self.warm, self.measured, self.flags = program, warm, measured, flags

    def round(self):
        entries, memory = self.program.run(self.warm + self.measured, *self.flags)
        return self.program.seconds(entries)[self.warm :], memory

    def close(self):
        pass
