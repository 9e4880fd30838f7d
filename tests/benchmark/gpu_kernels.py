#!/usr/bin/env python3
"""What NVIDIA's assembler says of each generated kernel of GPT-2 124M, Llama 1B, BERT base and T5 small, and how long a GPU needs for its bytes at least.

Needs `ptxas` (the CUDA toolkit) and no GPU. Registers are of sm_80 and sm_90; a thread's bytes are those of all operands and results over all threads;
the time is these bytes over what copies in a GPU's memory reach by its machine file (`move` of `dgx-a100` and `dgx-h100`): a static roofline, for no
kernel computes as much as it moves. Kernels that the processor runs are listed with their bytes. With --all every kernel, else those that move the most.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NPAR = pathlib.Path(os.environ.get("NPAR_BUILD", ROOT / "build")) / "bin" / "npar"
PTXAS = shutil.which("ptxas", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))
MACHINES = {"sm_80": "dgx-a100", "sm_90": "dgx-h100"}
BYTES = {"f64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1, "i1": 1}
MODELS = [
    ("GPT-2 124M", ["gpt2", "--set", "batch=8"]),
    ("Llama 1B", ["llama", "--set", "width=2048", "--set", "heads=32", "--set", "kv_heads=4", "--set", "mlp=5632", "--set", "depth=22", "--set", "length=2048", "--set", "batch=2"]),
    ("BERT base", ["bert", "--config", "bert-base-uncased", "--set", "batch=16"]),
    ("T5 small", ["t5", "--config", "t5-small", "--set", "batch=16"]),
]  # fmt: skip
LINE = re.compile(r"^// kernel (\w+) (?:host|threads (\d+) rows (\d+) extent (\d+)) :(.*?) ->(.*?)(?: inplace.*)?$", re.M)
REPORT = re.compile(r"Function properties for (\w+)\n +(\d+) bytes stack frame, (\d+) bytes spill stores.*\n.*?Used (\d+) registers(.*)")


def texts(program):
    """The objects for GPUs inside a program, by architecture: byte vectors, each after its length."""
    data = program.read_bytes()
    found = {}
    for match in re.finditer(rb"// npar kernels (sm_\d+)\n", data):
        length = int.from_bytes(data[match.start() - 4 : match.start()], "little")
        found[match.group(1).decode()] = data[match.start() : match.start() + length].decode()
    return found


def bytes_of(buffers):
    return sum(BYTES[kind] * int(count) for kind, count in re.findall(r"(\w+)\[(\d+)\]", buffers))


def assembled(text, architecture, folder):
    """By kernel: registers, bytes of shared memory, bytes spilled."""
    source = folder / f"{architecture}.ptx"
    source.write_text(text)
    done = subprocess.run([PTXAS, "-v", f"-arch={architecture}", source, "-o", folder / "cubin"], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(done.stderr)
    shared = re.compile(r"(\d+) bytes smem")
    return {name: (int(registers), int(next(iter(shared.findall(rest)), 0)), int(spilled)) for name, _, spilled, registers, rest in REPORT.findall(done.stdout + done.stderr)}


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
            facts = {architecture: assembled(text, architecture, folder) for architecture, text in found.items()}
        rows = []
        for kernel, threads, per_block, extent, operands, results in LINE.findall(found["sm_80"]):
            moved = bytes_of(operands) + bytes_of(results)
            least = [f"{moved / bandwidth(machine) * 1e6:.1f}" for machine in MACHINES.values()]
            if not threads:
                rows.append((moved, f"| {name} | {kernel} | the processor | | | | {moved / 1e6:.1f} MB in all | | |"))
                continue
            kernels += 1
            blocks = -(-int(extent) // int(per_block))
            of = [facts[architecture][kernel] for architecture in MACHINES]
            spills += any(spilled for _, _, spilled in of)
            rows.append((moved, f"| {name} | {kernel} | {blocks} x {threads} | {of[0][0]}, {of[1][0]} | {of[0][1]} | {max(of[0][2], of[1][2])} | {moved / (blocks * int(threads)):.1f} | {' | '.join(least)} |"))
        rows.sort(key=lambda row: -row[0])
        for _, text in rows if flags.all else rows[:8]:
            print(text)
    print(f"\n{kernels} kernels for GPUs in {flags.compute}, {spills} of them spill registers")


if __name__ == "__main__":
    main()
