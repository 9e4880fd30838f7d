#!/usr/bin/env python3
"""Which published layouts of a 176 to 206 billion parameter model fit into 80 GB, and which `npar simulate` says do.

fits.csv has the largest memory that was seen on a device, or OOM (BLOOM 176B chronicles). What it leaves open is assumed as in step_times.py, and: the
trials of February 25 keep gradients in 16 bits, those of February 28 keep sums in float32 beside them, as the memory of both says and as DeepSpeed's
BF16_Optimizer, which was new then, does. npar has no gradients of both kinds: their 16 bits are added here, as many as the parameters' own.
"""

import concurrent.futures
import csv
import os
import sys

import step_times


def predict(row):
    late = "02-28" in row["source"]
    row = dict(row, gradients="f32" if late else "")
    prediction = step_times.predict(row)
    both = max(one["parameter_bytes"] for one in prediction["classes"]) if late else 0
    memory = prediction["memory_bytes"] + both
    return memory, memory <= prediction["device_bytes"] - prediction["fragmentation_bytes"]


def main():
    with open(step_times.HERE / "fits.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    wrong = 0
    print("| run | seen GB | predicted GB | fits | predicted |\n|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, (memory, fits) in zip(rows, pool.map(predict, rows)):
            wrong += fits != (row["fits"] == "yes")
            print(f"| BLOOM {row['row']}, {row['model']}, tp {row['tp']} pp {row['pp']} dp {row['dp']}, micro-batches of {row['micro_sequences']} | {row['memory_GB']} "
                  f"| {memory / 1e9:.1f} | {row['fits']} | {'yes' if fits else 'no'} |")
    print(f"\n{len(rows) - wrong} of {len(rows)} right")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
