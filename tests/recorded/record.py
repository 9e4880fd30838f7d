#!/usr/bin/env python3
"""Records what an npar writes, for later versions to read: a checkpoint, weights, a compiled program, JSON documents, and what each must give.

    tests/recorded/record.py build/bin/npar tests/recorded/0.1 --compiler "qemu-x86_64 -cpu Haswell"

The folder has the model and the data already. --compiler: what runs npar to compile, so that the program's kernels need no more than AVX2."""

import argparse
import json
import pathlib
import shutil
import struct
import subprocess
import tempfile

DATA = ["--data", "data.bin", "--tokens", "bytes"]
# The recorded documents, by schema: small ones of all kinds.
DOCUMENTS = {
    "train": ["train", "program.npx", *DATA, "--steps", "2"],
    "inspect": ["inspect", "program.npx"],
    "inspect-annotate": ["inspect", "annotate", "model.npar", "--plan", "first"],
    "checkpoint-show": ["checkpoint", "show", "checkpoint"],
    "checkpoint-verify": ["checkpoint", "verify", "checkpoint"],
    "eval": ["eval", "model.npar", "--weights", "weights.safetensors", *DATA],
    "simulate": ["simulate", "model.npar", "--plan", "second", "--set", "compute=f32", "--machine", "dgx-a100"],
    "verify": ["verify", "model.npar", "--plan", "first"],
    "schedule": ["schedule", "--kind", "1f1b", "--stages", "2", "--microbatches", "2"],
    "machine-show": ["machine", "show", "reference"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npar", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--compiler", default="")
    options = parser.parse_args()
    npar, folder = options.npar.resolve(), options.folder.resolve()

    def run(*words, before=()):
        return subprocess.run([*before, str(npar), *words], cwd=folder, stdout=subprocess.PIPE, check=True, text=True).stdout

    def train(*words):
        return json.loads(run("train", *words, *DATA, "--quiet", "--json"))

    for old in ("checkpoint", "json"):
        shutil.rmtree(folder / old, ignore_errors=True)
    run("compile", "model.npar", "--plan", "second", "-o", "program.npx", before=options.compiler.split())
    saved = train("model.npar", "--plan", "first", "--steps", "3", "--checkpoint", "checkpoint", "--output", "weights.safetensors")
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder / "checkpoint", copy, dirs_exist_ok=True)
        resumed = train("model.npar", "--plan", "second", "--steps", "5", "--checkpoint", copy, "--resume")
    trained = train("program.npx", "--steps", "2")
    started = train("model.npar", "--plan", "second", "--steps", "1", "--weights", "weights.safetensors")
    expected = {
        "npar": run("--version").strip(),
        "checkpoint": {"format": json.loads((folder / "checkpoint" / "step-3" / "manifest.json").read_text())["version"], "steps": 3, "parameter_hash": saved["parameter_hash"], "loss_after_5": resumed["loss"]},
        "weights": {"parameter_hash": saved["parameter_hash"], "loss_after_1": started["loss"]},
        "program": {"format": struct.unpack_from("<I", (folder / "program.npx").read_bytes(), 8)[0], "loss_after_2": trained["loss"]},
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")
    (folder / "json").mkdir()
    for schema, words in DOCUMENTS.items():
        document = json.loads(run(*words, "--json"))
        (folder / "json" / f"{schema}.json").write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
