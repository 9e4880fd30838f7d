#!/usr/bin/env python3
"""Measured seconds per training step of plans on this machine beside those that `npar simulate` predicts from the machine's measured figures.

Twenty plans of three models, on random data; the ranks share the machine's cores. Prints a table, the median error, and for each model how much slower than
the fastest of its plans the one is that is predicted to be the fastest. The machine is measured first where `npar machine measure` has not been called:
let nothing else run.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

NPAR = pathlib.Path(os.environ.get("NPAR_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build")) / "bin" / "npar"
GPT = {"vocab": 4096, "context": 256, "width": 384, "heads": 6, "depth": 6, "batch": 16}
LLAMA = {"vocab": 4096, "context": 256, "width": 384, "heads": 6, "kv_heads": 2, "depth": 6, "batch": 16}
MLP = {"batch": 256}
THREE_D = [
    {"dp": 1, "pp": 1, "tp": 1, "micro": 4}, {"dp": 2, "pp": 1, "tp": 1, "micro": 4}, {"dp": 1, "pp": 2, "tp": 1, "micro": 2}, {"dp": 1, "pp": 1, "tp": 2, "micro": 4},
    {"dp": 2, "pp": 2, "tp": 1, "micro": 2}, {"dp": 2, "pp": 1, "tp": 2, "micro": 2, "zero": 1}, {"dp": 1, "pp": 2, "tp": 2, "micro": 2, "schedule": "zb_h1"},
    {"dp": 2, "pp": 2, "tp": 2, "micro": 1}, {"dp": 4, "pp": 1, "tp": 1, "micro": 2, "zero": 3},
]  # fmt: skip


def settings(values):
    words = []
    for key, value in values.items():
        words += ["--set", f"{'mesh.' if key in ('dp', 'pp', 'tp') else ''}{key}={value}"]
    return words


def npar(*words):
    done = subprocess.run([NPAR, *map(str, words)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"npar {' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def measured(model, sizes, plan, steps):
    """The median of the steps after the first two."""
    log = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"predictions-{os.getpid()}.jsonl"
    npar("run", model, *settings({**sizes, **plan}), "--random-data", "--steps", steps, "--log", log, "--json", "--quiet")
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    log.unlink()
    return statistics.median(step["tokens"] / step["tokens_per_second"] for step in steps[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12)
    flags = parser.parse_args()
    cases = [("gpt2", GPT, plan) for plan in THREE_D] + [("llama", LLAMA, plan) for plan in THREE_D[:7]]
    cases += [("mlp", MLP, plan) for plan in ({"dp": 1}, {"dp": 2}, {"dp": 4}, {"dp": 2, "micro": 16})]
    found = {}
    print("| model | plan | measured ms | predicted ms | error |\n|---|---|---|---|---|")
    for model, sizes, plan in cases:
        seconds = measured(model, sizes, plan, flags.steps)
        said = npar("simulate", model, *settings({**sizes, **plan}), "--machine", "here", "--json")["seconds_per_step"]
        found.setdefault(model, []).append((said, seconds))
        words = ", ".join(f"{key} {value}" for key, value in plan.items())
        print(f"| {model} | {words} | {1000 * seconds:.1f} | {1000 * said:.1f} | {100 * (said / seconds - 1):+.1f} % |", flush=True)
    errors = [abs(said / seconds - 1) for pairs in found.values() for said, seconds in pairs]
    print(f"\nmedian error {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} % of {len(errors)} plans")
    for model, pairs in found.items():
        chosen, best = min(pairs)[1], min(seconds for _, seconds in pairs)
        print(f"{model}: the plan that is predicted to be the fastest takes {100 * (chosen / best - 1):.1f} % longer than the fastest")


if __name__ == "__main__":
    main()
