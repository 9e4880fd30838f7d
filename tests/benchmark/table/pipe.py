"""How the driver and a competitor in another process talk: a line of JSON each way, over pipes.

The driver starts `python CHILD.py {...}`; the child says `{"ready": true, ...}` or `{"absent": "why"}`. Then it waits, using no processor, for
`{"do": NAME, ...}` and answers each request with one object. It ends when its standard input does.
"""

import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile

from budget import UNLIMITED


class Absent(Exception):
    """A competitor is not there, or cannot do this; the text says why."""


class Child:
    """The driver's end."""

    def __init__(self, python, script, request, environment=None, patience=1800, budget=UNLIMITED):
        """Raises Absent where the child cannot do what is asked, as every question does; `patience`: seconds that an answer may take;
        `budget`: limits it, too."""
        self.name, self.patience, self.budget = pathlib.Path(script).name, patience, budget
        self.errors = tempfile.TemporaryFile()
        command = [python, str(script), json.dumps(request)]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env={**os.environ, **(environment or {})}
            )
        except OSError as error:
            self.errors.close()
            raise Absent(f"'{python}' does not start: {error.strerror}") from None
        try:
            self.said = self.read()
        except Absent:
            self.close()
            raise

    def ask(self, do, **more):
        try:
            self.process.stdin.write(json.dumps({"do": do, **more}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has died: what it left on standard error is read below
        return self.read()

    def read(self):
        share = self.budget.left()
        if not select.select([self.process.stdout], [], [], min(self.patience, share))[0]:
            self.process.kill()
            limit = f"{self.patience} s" if self.patience < share else f"{share:.0f} s, its share of the time"
            raise Absent(f"{self.name} said nothing for {limit}")
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"absent": self.last_words()}
        if "absent" in answer:
            raise Absent(answer["absent"])
        return answer

    def last_words(self):
        """Why it ended: the last error on its standard error, else the last line there."""
        code = self.process.wait()
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
        return f"{self.name} ended with {code}: {(errors or lines or ['it said nothing'])[-1][:200]}"

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def serve(begin):
    """The child's end: `begin(request)` makes an object of methods by the names of requests, or raises Absent; `said` of it, where it has one, goes
    with the first answer, and `close` is called at the end. What libraries print goes to standard error, so that it cannot be taken for an answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        competitor = begin(json.loads(sys.argv[1]))
        answer({"ready": True, **getattr(competitor, "said", {})})
        for line in sys.stdin:
            request = json.loads(line)
            answer(getattr(competitor, request.pop("do"))(**request))
        if hasattr(competitor, "close"):
            competitor.close()
    except Absent as reason:
        answer({"absent": str(reason)})


def peak_memory():
    """Bytes: the most that this process has had resident since it began, or since `forget_peak`."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmHWM")


def forget_peak():
    pathlib.Path("/proc/self/clear_refs").write_text("5")
