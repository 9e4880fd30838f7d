#!/usr/bin/env python3
"""What loading weights costs: memory beside the arenas, and bandwidth beside a plain read of the same bytes.

The weights are those of a Llama of 7B's shapes in one sparse file, so that they need no disk; `--blocks 32 --type BF16` is all of it, 13.5 GB (the
default of 4 blocks has 1.07 billion parameters). `npar eval` loads them on 8 ranks, tensor parallel, so that every matrix is cut.

    python3 tests/benchmark/load_cost.py [--blocks 4] [--type F32]
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NPAR = pathlib.Path(os.environ.get("NPAR_BUILD") or ROOT / "build") / "bin" / "npar"
WIDTH, MLP, VOCAB = 4096, 11008, 32000
BYTES = {"F32": 4, "BF16": 2, "F16": 2}
COMPUTE = {"F32": "f32", "BF16": "bf16", "F16": "fp16"}


def shapes(blocks):
    yield "model.embed_tokens.weight", [VOCAB, WIDTH]
    for block in range(blocks):
        for name in ("q", "k", "v", "o"):
            yield f"model.layers.{block}.self_attn.{name}_proj.weight", [WIDTH, WIDTH]
        yield f"model.layers.{block}.mlp.gate_proj.weight", [MLP, WIDTH]
        yield f"model.layers.{block}.mlp.up_proj.weight", [MLP, WIDTH]
        yield f"model.layers.{block}.mlp.down_proj.weight", [WIDTH, MLP]
        yield f"model.layers.{block}.input_layernorm.weight", [WIDTH]
        yield f"model.layers.{block}.post_attention_layernorm.weight", [WIDTH]
    yield "model.norm.weight", [WIDTH]
    yield "lm_head.weight", [VOCAB, WIDTH]


def write_sparse(path, blocks, element):
    """A file whose header is written and whose data is a hole: zeros. Returns the bytes of its tensors."""
    header, offset = {}, 0
    for name, shape in shapes(blocks):
        size = BYTES[element]
        for extent in shape:
            size *= extent
        header[name] = {"dtype": element, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)
    return offset


def run(*command):
    """Seconds (wall, processor) and peak bytes of memory of a command, and what it printed."""
    begun = time.monotonic()
    process = subprocess.Popen([NPAR, *map(str, command)], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"npar {' '.join(map(str, command))} failed")
    return (time.monotonic() - begun, usage.ru_utime + usage.ru_stime), usage.ru_maxrss * 1024, output


def plain_read(path):
    buffer = bytearray(1 << 24)
    begun = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--type", choices=BYTES, default="F32")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.npar").write_text(
            'import "llama"\ntrain plain for Llama { batch 1 optimizer Sgd(lr = 0) }\n'
            "plan eight for Llama { mesh tp = 8 micro 1 split { head, hidden, vocab -> tp } }\n"
        )
        size = write_sparse(folder / "w.safetensors", flags.blocks, flags.type)
        (folder / "tokens.u16").write_bytes(bytes(2 * 9))
        sizes = {"width": WIDTH, "mlp": MLP, "vocab": VOCAB, "heads": 32, "kv_heads": 32, "depth": flags.blocks, "context": 4096, "length": 8}
        words = [word for key, value in {**sizes, "compute": COMPUTE[flags.type]}.items() for word in ("--set", f"{key}={value}")]
        model = [folder / "m.npar", "--plan", "eight", *words]
        run("compile", *model, "--for", "eval", "-o", folder / "m.npx")
        report = json.loads(run("inspect", folder / "m.npx", "--json")[2])
        arenas = sum(each["arena_bytes"] * (last - first + 1) for each in report["classes"] for first, last in each["ranks"])
        begin = ["eval", folder / "m.npx", "--data", folder / "tokens.u16", "--tokens", "u16", "--json", "--quiet"]
        (seconds, processor), peak, _ = run(*begin, "--weights", folder / "w.safetensors")
        read = plain_read(folder / "w.safetensors")
        print(f"weights {size / 1e9:.2f} GB of {flags.type}, arenas {arenas / 1e9:.2f} GB on 8 ranks that only go forward")
        print(f"peak memory {peak / 1e9:.2f} GB: {peak / arenas:.3f} of the arenas (the bound is 1.1)")
        print(f"{seconds:.1f} s in all, {processor:.1f} s of processors: every stored value looked at, loaded, one sample")
        print(f"a plain read of the same bytes {size / read / 1e9:.2f} GB/s")


if __name__ == "__main__":
    main()
