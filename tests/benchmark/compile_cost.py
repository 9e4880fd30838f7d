#!/usr/bin/env python3
"""What compiling large models costs: seconds (wall and processor) and peak memory of `npar compile`, for GPT-3 175B on 128, 1,024 and 8,192
ranks, for a model of 1T on 3,072 ranks, and against the number of blocks, where the time per block must not grow.

Each row is compiled --rounds times and the fastest counts; the kernels come from the kernel cache but in the first round of the first row that
needs them. With --before PATH another driver compiles the same beside it, and the programs of both are compared byte by byte.
Example:  tests/benchmark/compile_cost.py --build build --only blocks
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

GPT3 = {"width": 12288, "heads": 96, "depth": 96, "vocab": 51200, "context": 2048, "batch": 1536, "micro": 1, "compute": "bf16"}
TRILLION = {**GPT3, "width": 25600, "heads": 160, "depth": 128, "batch": 3072}


def mesh(pp, tp, dp):
    return {"mesh.pp": pp, "mesh.tp": tp, "mesh.dp": dp}


# Tables by name: each row's name, its settings, its blocks.
TABLES = {
    "ranks": [
        (f"175B on {16 * 8 * dp} ranks, {1536 // dp} micro-batches", {**GPT3, **mesh(16, 8, dp)}, 96) for dp in (1, 8, 64)
    ],
    "trillion": [("1T on 3072 ranks, 512 micro-batches", {**TRILLION, **mesh(64, 8, 6)}, 128)],
    "blocks": [(f"{depth} blocks", {**GPT3, "depth": depth, **mesh(4, 8, 8)}, depth) for depth in (12, 24, 48, 96, 192)],
}


def compiled(npar, settings, output):
    """Wall seconds, processor seconds and MiB of the peak."""
    command = [npar, "compile", "gpt2", "-o", str(output)]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    talk = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)} failed:\n{talk}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--before", metavar="PATH", help="another npar to compare with")
    parser.add_argument("--only", choices=TABLES, help="one table")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    drivers = {"now": f"{options.build}/bin/npar"}
    if options.before:
        drivers = {"before": options.before, **drivers}
    with tempfile.TemporaryDirectory() as folder:
        for table, rows in TABLES.items():
            if options.only not in (None, table):
                continue
            print(f"{table:42} driver    wall s  processor s  peak MiB  ms per block")
            for name, settings, blocks in rows:
                programs = []
                for driver, npar in drivers.items():
                    output = pathlib.Path(folder) / f"{driver}.npx"
                    runs = [compiled(npar, settings, output) for _ in range(options.rounds)]
                    wall, processor, peak = (min(column) for column in zip(*runs))
                    print(f"{name:42} {driver:6} {wall:9.2f} {processor:12.2f} {peak:9.0f} {1000 * processor / blocks:13.1f}", flush=True)
                    programs.append(output.read_bytes())
                if len(set(programs)) > 1:
                    print(f"{name:42} the compiled programs differ")
            print()


if __name__ == "__main__":
    main()
