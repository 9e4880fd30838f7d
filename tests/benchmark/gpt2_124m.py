#!/usr/bin/env python3
"""One core's training speed on GPT-2 124M (batch 4, sequence 256, float32): npar beside PyTorch, in turn, on the same core.

Needs a Python with PyTorch for its own run (--python PATH) and a built npar. Prints tokens/s of both, by the fastest and by the median
training step of all rounds but each round's first, and the ratio of the fastest ones.
Example:  tests/benchmark/gpt2_124m.py --build build --python /path/to/python
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"vocab": 50257, "context": 1024, "width": 768, "heads": 12, "depth": 12, "length": 256, "batch": 4}


def pytorch(steps):
    """Runs in the Python that has PyTorch: prints seconds of each step."""
    sys.path.insert(0, str(HERE.parent / "reference"))
    import torch
    from gpt2_reference import Gpt2
    from torch.nn import functional

    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Gpt2(**SIZES)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    tokens = torch.randint(SIZES["vocab"], (SIZES["batch"], SIZES["length"] + 1))
    for _ in range(steps):
        begun = time.monotonic()
        loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(time.monotonic() - begun, flush=True)


def on_one_core(command, core):
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=environment, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    ).stdout


def run_pytorch(options, core):
    """Seconds of each step but the first, which warms up."""
    lines = on_one_core([options.python, __file__, "--pytorch", str(options.steps)], core).split()
    return [float(line) for line in lines[1:]]


def run_npar(options, core):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.jsonl"
        command = [f"{options.build}/bin/npar", "run", "gpt2", "--plan", "none", "--random-data", "--steps", str(options.steps)]
        command += ["--threads", "1", "--quiet", "--log", str(log)]
        for name, value in SIZES.items():
            command += ["--set", f"{name}={value}"]
        on_one_core(command, core)
        entries = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    return [entry["tokens"] / entry["tokens_per_second"] for entry in entries]


def report(name, seconds):
    tokens = SIZES["batch"] * SIZES["length"]
    seconds = sorted(seconds)
    best = tokens / seconds[0]
    print(f"{name:8} {best:8.1f} tokens/s on one core (median {tokens / seconds[len(seconds) // 2]:.1f} of {len(seconds)} steps)")
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(HERE.parent.parent / "build"))
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch")
    parser.add_argument("--steps", type=int, default=4, help="of each in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pytorch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.pytorch:
        return pytorch(options.pytorch)

    core = max(os.sched_getaffinity(0))
    theirs, ours = [], []
    for _ in range(options.rounds):
        theirs += run_pytorch(options, core)
        ours += run_npar(options, core)
    ratio = 1 / report("PyTorch", theirs) * report("npar", ours)
    print(f"ratio    {ratio:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
