#!/usr/bin/env python3
"""What NVIDIA's assembler says of each generated kernel of GPT-2 124M, Llama 1B, BERT base and T5 small, and how long a GPU needs for its bytes at least.

Needs `ptxas` (the CUDA toolkit) and no GPU. Registers are of sm_80 and sm_90; a thread's bytes are those of all operands and results over all threads;
the time is these bytes over what copies in a GPU's memory reach by its machine file (`move` of `dgx-a100` and `dgx-h100`): a static roofline, for no
kernel computes as much as it moves. With --all every kernel, else those that move the most.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "end_to_end"))
from ptx import PTXAS, assemble, texts

NPAR = pathlib.Path(os.environ.get("NPAR_BUILD", ROOT / "build")) / "bin" / "npar"
MACHINES = {"sm_80": "dgx-a100", "sm_90": "dgx-h100"}
BYTES = {"f64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1, "i1": 1}
MODELS = [
    ("GPT-2 124M", ["gpt2", "--set", "batch=8"]),
    ("Llama 1B", ["llama", "--set", "width=2048", "--set", "heads=32", "--set", "kv_heads=4", "--set", "mlp=5632", "--set", "depth=22", "--set", "length=2048", "--set", "batch=2"]),
    ("BERT base", ["bert", "--config", "bert-base-uncased", "--set", "batch=16"]),
    ("T5 small", ["t5", "--config", "t5-small", "--set", "batch=16"]),
]  # fmt: skip
LINE = re.compile(r"^// kernel (\w+) threads (\d+) rows (\d+) extent (\d+)(?: many)? :(.*?) ->(.*?)(?: inplace.*)?$", re.M)


def bytes_of(buffers):
    return sum(BYTES[kind] * int(count) for kind, count in re.findall(r"(\w+)\[(\d+)\]", buffers))


def bandwidth(machine):
    """Bytes per second of a copy in a device's memory, as the machine file has them."""
    amount, unit = re.search(r"\bmove\s+([\d.]+) (TB|GB)/s", (ROOT / "stdlib" / "machines" / f"{machine}.npar").read_text()).groups()
    return float(amount) * {"TB": 1e12, "GB": 1e9}[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compute", default="bf16", choices=["f32", "bf16", "fp16"])
    parser.add_argument("--all", action="store_true")
    flags = parser.parse_args()
    if not PTXAS:
        sys.exit("no ptxas: the CUDA toolkit is not installed")
    print("| model | kernel | blocks x threads | registers | shared bytes | spilled | bytes of a thread | A100 us | H100 us |\n|---|---|---|---|---|---|---|---|---|")
    kernels = spills = 0
    for name, model in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            program = folder / "model.npx"
            subprocess.run([NPAR, "compile", *model, "--set", f"compute={flags.compute}", "--plan", "none", "--target", "cuda:sm_80,cuda:sm_90", "-o", program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found = texts(program)
            facts = {architecture: assemble(text, architecture, folder) for architecture, text in found.items()}
        rows = []
        for kernel, threads, per_block, extent, operands, results in LINE.findall(found["sm_80"]):
            moved = bytes_of(operands) + bytes_of(results)
            least = [f"{moved / bandwidth(machine) * 1e6:.1f}" for machine in MACHINES.values()]
            kernels += 1
            blocks = -(-int(extent) // int(per_block))
            of = [facts[architecture][kernel] for architecture in MACHINES]
            spills += any(one.spilled for one in of)
            rows.append((moved, f"| {name} | {kernel} | {blocks} x {threads} | {of[0].registers}, {of[1].registers} | {of[0].shared} | {max(one.spilled for one in of)} | {moved / (blocks * int(threads)):.1f} | {' | '.join(least)} |"))
        rows.sort(key=lambda row: -row[0])
        for _, text in rows if flags.all else rows[:8]:
            print(text)
    print(f"\n{kernels} kernels for GPUs in {flags.compute}, {spills} of them spill registers")


if __name__ == "__main__":
    main()
