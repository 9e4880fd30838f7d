#!/usr/bin/env python3
"""What checkpoints cost: bandwidth of saving and of loading over that of a plain copy and a plain read of the same bytes in the same run, how
much training slows down where saves begin ten save-times apart, and what memory a session takes at most until it is loaded.

Prints a line per model and ends with exit code 1 when a save is below --share of the copy, or training slows down by more than --limit percent.
Needs: ninja -C build npar checkpoint_benchmark
Example:  tests/benchmark/checkpoint_cost.py --build build --folder /var/tmp
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

COMMON = {"vocab": 8192, "context": 128, "heads": 8, "length": 128}
MODELS = {
    "one rank, width 512": ({"width": 512, "depth": 8, "batch": 2}, ["--plan", "none"]),
    "8 ranks, width 512": ({"width": 512, "depth": 8, "batch": 8, "micro": 2}, ["--plan", "three_d"]),
    "4 ranks, ZeRO-3, bf16": ({"width": 512, "depth": 8, "batch": 4, "micro": 1, "mesh.dp": 4, "zero": 3, "compute": "bf16"}, []),
}


def measure(options, sizes, plan):
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        program = pathlib.Path(folder) / "model.npx"
        command = [f"{options.build}/bin/npar", "compile", "gpt2", *plan, "-o", str(program)]
        for name, value in {**COMMON, **sizes}.items():
            command += ["--set", f"{name}={value}"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        command = [f"{options.build}/bin/checkpoint_benchmark", str(program), f"{folder}/checkpoints"]
        answers = [subprocess.run([*command, words], check=True, stdout=subprocess.PIPE).stdout for words in (str(options.rounds), "0")]
        return {name: value for answer in answers for name, value in json.loads(answer).items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--folder", help="where to write (default: the machine's folder for temporary files)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.7, help="of the copy's bandwidth that saving must reach")
    parser.add_argument("--limit", type=float, default=5, help="percent that training may slow down")
    options = parser.parse_args()
    good = True
    for name, (sizes, plan) in MODELS.items():
        cost = measure(options, sizes, plan)
        slower = 100 * (1 - cost["steps_per_second_saving"] / cost["steps_per_second"])
        share = cost["copy"] / cost["save"]
        rate = {what: cost["bytes"] / cost[what] / 1e6 for what in ("save", "copy", "load", "read")}
        busy = cost["busy"] / (10 * cost["save"] * os.cpu_count())
        print(
            f"{name}: {cost['bytes'] / 1e6:.0f} MB\n"
            f"  save {rate['save']:.0f} MB/s, {100 * share:.0f} % of a copy's {rate['copy']:.0f}; stall {1000 * cost['stall']:.0f} ms\n"
            f"  load {rate['load']:.0f} MB/s, {100 * cost['copy'] / cost['load']:.0f} % of a copy, {100 * cost['read'] / cost['load']:.0f} % of "
            f"a read alone ({rate['read']:.0f}); peak of session and load {cost['peak'] / 1e6:.0f} MB, arenas {cost['arenas'] / 1e6:.0f}\n"
            f"  training {slower:+.1f} % slower; of ten save-times one save takes {100 * busy:.1f} % of all processors' time",
            flush=True,
        )
        good = good and share >= options.share and slower <= options.limit
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
