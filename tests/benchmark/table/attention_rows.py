"""Section (g): attention alone, measured and worded by tests/benchmark/attention.py; its lines are printed unchanged."""

import os
import pathlib
import subprocess

from rows import Row

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "attention.py"


def measure(options, table):
    table.section("g", "attention alone, forward and backward, sequence 512 to 16,384")
    if not SCRIPT.exists():
        table.add(Row("attention", absent="tests/benchmark/attention.py is not there"))
        return
    options.say("(g)")
    for kind in options.types:
        command = [options.python, str(SCRIPT), "--build", str(options.build), "--threads", str(options.threads), "--type", kind]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **options.thread_variables()})
        for line in done.stdout.splitlines():
            table.text(line)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["it said nothing"]
            table.add(Row("attention", absent=f"{SCRIPT.name} ended with {done.returncode}: {said[-1][:200]}"))
