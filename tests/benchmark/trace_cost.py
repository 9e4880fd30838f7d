#!/usr/bin/env python3
"""What `npar train --trace` costs: nanoseconds to record a step (trace_benchmark), times the steps of a model, over the time of its training step.

Beside it, the same compiled program trains with and without the trace, in turn; on a noisy machine these pairs scatter far more than the cost.
Every program step is recorded under the plan's ids. The trace file is written after the last training step and is not counted.
Prints a line per model and ends with exit code 1 when a cost is above --limit percent. Needs: ninja -C build npar trace_benchmark
Example:  tests/benchmark/trace_cost.py --build build
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

COMMON = {"vocab": 257, "context": 128, "heads": 4, "depth": 4, "length": 128}
MODELS = {
    "one rank, width 256": ({"width": 256, "batch": 8}, ["--plan", "none"]),
    "8 ranks, width 128": ({"width": 128, "batch": 16, "micro": 2}, ["--plan", "three_d"]),
}


def seconds_of(options, program, trace):
    """The median seconds of a training step, the first left out, and how many events were recorded."""
    log, file = program.parent / "log.jsonl", program.parent / "trace.json"
    command = [f"{options.build}/bin/npar", "run", str(program), "--random-data", "--steps", str(options.steps), "--quiet", "--log", str(log)]
    command += ["--threads", str(options.threads)]
    if trace:
        command += ["--trace", str(file), "--trace-steps", str(options.steps)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    entries = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    events = file.read_text().count('"ph":"X"') if trace else 0
    return statistics.median(entry["tokens"] / entry["tokens_per_second"] for entry in entries), events


def measure(options, sizes, plan):
    """Pairs of seconds per step without and with the trace, and events per step."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "model.npx"
        command = [f"{options.build}/bin/npar", "compile", "gpt2", *plan, "-o", str(program)]
        for name, value in {**COMMON, **sizes}.items():
            command += ["--set", f"{name}={value}"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        pairs, events = [], 0
        for round_number in range(options.rounds):
            pair = {}
            for trace in (False, True) if round_number % 2 else (True, False):
                pair[trace], recorded = seconds_of(options, program, trace)
                events = max(events, recorded)
            pairs.append((pair[False], pair[True]))
        return pairs, events // options.steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=2.0, help="percent")
    options = parser.parse_args()
    worst = 0.0
    one = float(subprocess.run([f"{options.build}/bin/trace_benchmark"], check=True, capture_output=True, text=True).stdout) * 1e-9
    print(f"recording a step takes {one * 1e9:.0f} ns")
    for name, (sizes, plan) in MODELS.items():
        pairs, events = measure(options, sizes, plan)
        ratios = sorted(traced / plain for plain, traced in pairs)
        plain = min(seconds for seconds, _ in pairs)
        cost = 100 * events * one / plain
        worst = max(worst, cost)
        print(f"{name}: {events} events in {plain * 1e3:.1f} ms per training step: cost {cost:.3f} %; trained with and without it: "
              f"{100 * (statistics.median(ratios) - 1):+.1f} % ({100 * (ratios[0] - 1):+.1f} to {100 * (ratios[-1] - 1):+.1f} %)", flush=True)  # fmt: skip
    print(f"worst cost {worst:.3f} %, limit {options.limit} %")
    return 1 if worst > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
