#!/usr/bin/env python3
"""Published seconds per training step beside those that `npar simulate` predicts.

step_times.csv has runs of five publications with model, plan and batch; `use` says which may calibrate a machine's figures
(../../stdlib/machines), all others are predictions. What a row leaves open is assumed here, and printed. Without arguments: all rows,
some minutes; else the numbers of rows, or `calibrate`.
"""

import concurrent.futures
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NPAR = pathlib.Path(os.environ.get("NPAR_BUILD", HERE.parents[1] / "build")) / "bin" / "npar"
SCHEDULES = {"none": "1f1b", "1f1b": "1f1b", "1F1B": "1f1b", "interleaved(3)": "interleaved(3)"}


def source(row):
    """The publication, and the machine that stands for where it was measured."""
    for words, name, machine in (("2104.04473", "Megatron 2021", "dgx-a100"), ("2205.05198", "Megatron 2022", "dgx-a100"),
                                 ("BLOOM", "BLOOM", "jean-zay-a100"), ("README", "Megatron 2024", "dgx-h100"),
                                 ("2401.10241", "zero bubble", "a100-roce")):
        if words in row["source"]:
            return name, machine
    raise ValueError(row["source"])


def largest_divisor(number, most):
    return max(part for part in range(1, most + 1) if number % part == 0)


def settings(row):
    """The plan's text, the model's constants, and what was assumed."""
    name, _ = source(row)
    depth, hidden, tp, pp, dp = (int(row[key]) for key in ("layers", "hidden", "tp", "pp", "dp"))
    assumed, stages, live = [], "", ""
    if row["micro_sequences"]:
        micro = int(row["micro_sequences"])
    else:
        if name == "Megatron 2021":  # the larger the model, the fewer: 16 to 1
            micro = 16 if hidden < 4096 else 4 if hidden < 12288 else 2 if hidden < 20480 else 1
        else:  # a rank's share of the batch where nothing asks for less
            micro = int(row["global_batch_sequences"]) // dp if pp == 1 else 1
        assumed.append(f"micro-batches of {micro}")
    schedule = SCHEDULES.get(row["schedule"])
    if name == "zero bubble":  # the first and the last stage hold a block less
        blocks = (depth + 2) // pp
        counts = [1] * (pp * blocks) if row["schedule"] == "1F1B-I" else [blocks] * pp
        counts[0] -= 1
        counts[-1] -= 1
        stages = f" stages {counts}"
        if row["schedule"] == "1F1B-I":
            schedule = f"interleaved({blocks})"
        elif row["schedule"].startswith("ZB-"):
            schedule, live = "zb_auto(1)", f" live {pp if row['schedule'] == 'ZB-1p' else 2 * pp}"
    elif schedule is None:
        chunks = largest_divisor(depth // pp, 4 if name == "Megatron 2021" else 8)
        schedule = "1f1b" if pp == 1 or chunks == 1 else f"interleaved({chunks})"
        if pp > 1:
            assumed.append(schedule)
    heads = int(row["heads"].split()[0])
    if hidden % heads:  # "112 unless the model says so"
        heads = hidden // 128
        assumed.append(f"{heads} heads")
    vocab = int(row["vocab"] or 32000)  # its authors' examples take a SentencePiece tokenizer
    if not row["vocab"]:
        assumed.append(f"vocabulary of {vocab}")
    recompute = row["recompute"] or "none"
    if not row["recompute"]:
        assumed.append("nothing recomputed")
    types = row["precision"]
    if name == "zero bubble" and row["schedule"].startswith("ZB-"):
        types = "bf16"  # fp16 checks for overflow; so does what is undone afterwards, but no step waits for it
        assumed.append("update undone afterwards")
    if name == "Megatron 2024":
        assumed.append("gathers of parameters overlap")
    sequence = tp > 1 and (recompute == "attention" or name == "Megatron 2024")
    rules = ["batch -> dp", "head, hidden, vocab pad -> tp"] + ["seq -> tp"] * sequence + [f"h -> pp by {schedule}{live}{stages}"]
    clauses = ["store { optimizer -> dp }"] * (row["zero"] == "1" and dp > 1)
    clauses += ["bucket 200 MB"] * (name == "Megatron 2024" and dp > 1)
    clauses += [f"recompute {recompute}"] * (recompute != "none")
    gradients = row.get("gradients", "f32" if name in ("BLOOM", "Megatron 2024", "zero bubble") else "")
    clauses += [f"compute {types}" + f", gradients {gradients}" * bool(gradients)]
    text = f"""import "gpt2"
plan row for Gpt2 {{
    mesh dp = {dp}, pp = {pp}, tp = {tp}
    micro {micro}
    split {{
        {chr(10).join(rules).replace(chr(10), chr(10) + " " * 8)}
    }}
    {chr(10).join(clauses).replace(chr(10), chr(10) + " " * 4)}
}}
train base for Gpt2 {{ batch {row["global_batch_sequences"]} optimizer AdamW(lr = 3e-4) }}
"""
    tied = "false" if name in ("zero bubble", "Megatron 2024") else "true"
    constants = {"tied": tied, "vocab": vocab, "context": int(row["seq"]), "width": hidden, "heads": heads, "depth": depth}
    return text, constants, assumed


def predict(row, alone=False):
    """`alone`: of what npar's programs do, without what other programs do besides."""
    text, constants, _ = settings(row)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "row.npar"
        path.write_text(text)
        command = [NPAR, "simulate", path, "--machine", source(row)[1], "--json"]
        if not alone:
            command += ["--unmoved-work"]
            command += ["--post-validated"] * row["schedule"].startswith("ZB-")
            command += ["--overlapped-gathers"] * (source(row)[0] == "Megatron 2024")
            command += ["--unfused-sums"] * (source(row)[0] in ("Megatron 2021", "BLOOM"))
        for key, value in constants.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"row {row['row']}: {done.stderr}\n{text}")
    return json.loads(done.stdout)


def rows():
    with open(HERE / "step_times.csv", newline="") as file:
        return list(csv.DictReader(file))


def error(row, prediction):
    return prediction["seconds_per_step"] / float(row["seconds_per_step"]) - 1


def main(words):
    chosen = [(number, row) for number, row in enumerate(rows())
              if not words or str(number) in words or ("calibrate" in words and row["use"] == "calibrate")]
    errors = {}
    print("| run | published s | predicted s | error | MFU | GB | assumed |\n|---|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (number, row), prediction in zip(chosen, pool.map(predict, [row for _, row in chosen])):
            name, off = source(row)[0], error(row, prediction)
            fitted = row["use"] == "calibrate"
            if not fitted:
                errors.setdefault(name, []).append(abs(off))
            mesh = f"tp {row['tp']} pp {row['pp']} dp {row['dp']}"
            print(f"| {name} {row['row']}, {row['model']}, {mesh}{', ' + row['recompute'] if name == 'Megatron 2022' else ''} | {float(row['seconds_per_step']):.3f} "
                  f"| {prediction['seconds_per_step']:.3f} | {100 * off:+.1f} %{' (fitted)' * fitted} | {100 * prediction['mfu']:.1f} % "
                  f"| {prediction['memory_bytes'] / 1e9:.0f} | {'; '.join(settings(row)[2])} |")
    print()
    for name, offs in errors.items():
        print(f"{name}: median {100 * statistics.median(offs):.1f} %, worst {100 * max(offs):.1f} % of {len(offs)} predictions")
    everything = [off for offs in errors.values() for off in offs]
    if everything:
        print(f"all: median {100 * statistics.median(everything):.1f} % of {len(everything)} predictions")


if __name__ == "__main__":
    main(sys.argv[1:])
