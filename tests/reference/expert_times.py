#!/usr/bin/env python3
"""Published seconds per training step of models with experts beside those that `npar simulate` predicts.

expert_times.csv has runs of two programs. For NVIDIA-NeMo/Automodel, docs/performance-summary.mdx at commit 36044ad3, what its table leaves open
follows from the sources at that commit, by one rule for all rows:

- The load is balanced by a gate (FakeBalancedGate) that gives position t the experts t k to t k + k - 1, modulo their number. The dispatcher (DeepEP)
  sends a position once to each rank and once to each host with some of its experts.
- FSDP gathers parameters once in a step, and reduces gradients once, in f32 (MoEFSDPSyncMixin); the optimizer works on shares. PyTorch adds the
  gradients of each micro-batch to their sum in separate passes.
- Blocks are recomputed where the run's configuration has `activation_checkpointing`.
- A round of accumulation ends before the next begins (LBS samples of a rank each), under interleaved 1F1B. The first parts of the pipeline hold a block
  more than the last.

NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md at commit 00b7660b, container 25.11, has one run in bf16 on a machine that npar describes; the
others are in FP8 or on Blackwell. Seconds are sequences x 4,096 / (GPUs x tokens/s/GPU). Megatron Core gathers parameters beside the step and adds
gradients to their sums in the products; a row is sent for each choice. The table leaves recomputation open: nothing is computed again.
"""

import concurrent.futures
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NPAR = pathlib.Path(os.environ.get("NPAR_BUILD", HERE.parents[1] / "build")) / "bin" / "npar"
MODELS = {"deepseek": "Deepseek", "qwen3_moe": "Qwen3Moe", "gpt_oss": "GptOss"}
EXPERTS = {"DeepSeek-V3": (256, 8), "Kimi K2": (384, 8), "Qwen3-30B-A3B": (128, 8), "gpt-oss-20b": (32, 4)}  # and choices of a position
DEPTH = 61  # of the models with a pipeline
HOST = 8    # ranks


def rows():
    with open(HERE / "expert_times.csv", newline="") as file:
        return list(csv.DictReader(file))


def sent(row):
    """The parts of a position's choices that go to ranks and to hosts of their own, under the source's gate."""
    experts, choices = EXPERTS[row["row"]]
    ranks = int(row["ep"])
    parts = []
    for members in (ranks, max(1, ranks // HOST)):
        block = experts // members
        reached = [len({(position * choices + choice) % experts // block for choice in range(choices)}) for position in range(experts)]
        parts.append(sum(reached) / len(reached) / choices)
    return parts


def rounds(row, folder):
    """The file of a schedule in which each round of accumulation ends before the next begins."""
    stages, chunks, count = int(row["pp"]), int(row["chunks"]), int(row["rounds"])
    micros = int(row["batch"]) * stages // int(row["gpus"]) // int(row["micro"]) // count
    text = subprocess.run([NPAR, "schedule", "--kind=interleaved", f"--chunks={chunks}", f"--stages={stages}", f"--microbatches={micros}",
                           "--format=csv"], capture_output=True, text=True, check=True, timeout=60).stdout
    lines = []
    for line in text.splitlines():
        actions = [action for action in line.split(",") if action]
        later = []
        for number in range(count):
            for action in actions:
                kind = "F" if "F" in action else "B"
                part, micro = action.split(kind)
                later.append(f"{part}{kind}{int(micro) + number * micros}")
        lines.append(",".join(later))
    (pathlib.Path(folder) / "rounds.csv").write_text("\n".join(lines) + "\n")


def plan(row):
    pp, ep = int(row["pp"]), int(row["ep"])
    rules = ["expert -> ep by all_to_all in op grouped", "batch -> dp, ep"]
    if row["source"] == "Megatron-Bridge":
        rules.append("layers -> pp by 1f1b")
    elif pp > 1:
        parts = pp * int(row["chunks"])
        stages = [DEPTH // parts + (part < DEPTH % parts) for part in range(parts)]
        rules.append(f'layers -> pp by "rounds.csv" stages {stages}')
    lines = "\n        ".join(rules)
    return f"""import "{row["file"]}"
plan row for {MODELS[row["file"]]} {{
    mesh pp = {pp}, dp = {int(row["gpus"]) // pp // ep}, ep = {ep}
    micro {row["micro"]}
    split {{
        {lines}
    }}
    store {{ optimizer -> dp, ep }}
    recompute {row["recompute"]}
    compute bf16, gradients f32
}}
train base for {MODELS[row["file"]]} {{ batch {row["batch"]} optimizer AdamW(lr = 1e-4) }}
"""


def predict(row, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "row.npar"
        path.write_text(plan(row))
        command = [NPAR, "simulate", path, "--machine", row["machine"], "--set", "length=4096", "--overlapped-gathers", "--unmoved-work", "--json", *flags]
        if row["source"] == "NeMo Automodel":
            command += ["--unfused-sums", "--rows-sent", ",".join(map(str, sent(row)))]
            if int(row["pp"]) > 1:
                rounds(row, folder)
        command += ["--config", row["config"]] * bool(row["config"])
        for constant in row["constants"].split():
            command += ["--set", constant]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{row['row']}: {done.stderr}\n{plan(row)}")
    return json.loads(done.stdout)


def error(row, prediction):
    return prediction["seconds_per_step"] / float(row["seconds_per_step"]) - 1


def main(words):
    chosen = [row for row in rows() if not words or row["row"] in words]
    print("| run | published s | predicted s | error | worst load s | MFU |\n|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, prediction in zip(chosen, pool.map(predict, chosen)):
            mesh = f"{row['gpus']} GPUs, pp {row['pp']} ep {row['ep']}"
            fitted = " (fitted)" * (row["use"] == "calibrate")
            print(f"| {row['row']}, {mesh} | {float(row['seconds_per_step']):.2f} | {prediction['seconds_per_step']:.2f} "
                  f"| {100 * error(row, prediction):+.1f} %{fitted} | {prediction['worst_seconds_per_step']:.2f} | {100 * prediction['mfu']:.1f} % |")


if __name__ == "__main__":
    main(sys.argv[1:])
