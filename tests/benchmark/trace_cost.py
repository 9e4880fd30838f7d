#!/usr/bin/env python3
"""What `npar run --trace` costs: the same training with and without it, in turn, and the ratio of the fastest steps.

Every program step is recorded under the plan's ids. The trace file is written after the last training step and is not counted.
Prints a line per model and ends with exit code 1 when the cost is above --limit percent.
Example:  tests/benchmark/trace_cost.py --build build
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

COMMON = {"vocab": 257, "context": 128, "heads": 4, "depth": 4, "length": 128}
MODELS = {
    "one rank, width 256": ({"width": 256, "batch": 8}, ["--plan", "none"]),
    "8 ranks, width 128": ({"width": 128, "batch": 16, "micro": 2}, ["--plan", "three_d"]),
}


def seconds_of(options, sizes, plan, trace):
    """Seconds of each training step but the first, and how many events were recorded."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.jsonl"
        command = [f"{options.build}/bin/npar", "run", "gpt2", *plan, "--random-data", "--steps", str(options.steps), "--quiet", "--log", str(log)]
        command += ["--threads", str(options.threads)]
        for name, value in {**COMMON, **sizes}.items():
            command += ["--set", f"{name}={value}"]
        file = pathlib.Path(folder) / "trace.json"
        if trace:
            command += ["--trace", str(file), "--trace-steps", str(options.steps)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        entries = [json.loads(line) for line in log.read_text().splitlines()[1:]]
        events = file.read_text().count('"ph":"X"') if trace else 0
    return [entry["tokens"] / entry["tokens_per_second"] for entry in entries], events


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=2.0, help="percent")
    options = parser.parse_args()
    worst = 0.0
    for name, (sizes, plan) in MODELS.items():
        times, events = {False: [], True: []}, 0
        for round_number in range(options.rounds):
            for trace in (False, True) if round_number % 2 else (True, False):
                seconds, recorded = seconds_of(options, sizes, plan, trace)
                times[trace] += seconds
                events = max(events, recorded)
        plain, traced = min(times[False]), min(times[True])
        medians = [sorted(times[trace])[len(times[trace]) // 2] for trace in (False, True)]
        cost = 100 * (traced / plain - 1)
        worst = max(worst, cost)
        print(f"{name}: {plain * 1e3:.2f} ms per step, traced {traced * 1e3:.2f} ms, cost {cost:+.2f} % "
              f"(medians {medians[0] * 1e3:.2f} and {medians[1] * 1e3:.2f} ms, {events // options.steps} events per step)", flush=True)  # fmt: skip
    print(f"worst cost {worst:+.2f} %, limit {options.limit} %")
    return 1 if worst > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
