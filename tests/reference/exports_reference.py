#!/usr/bin/env python3
"""Folders that `npar export` writes of all families, read by transformers: no tensor is missing or left over, each has its values, and the first loss is the
recorded one. Records the configurations, so that tests can compare what npar writes without transformers. Run it in this folder for all families, or for
those named:

    python3 exports_reference.py BUILD_FOLDER [NAME ...]
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

import random_weights
import safetensors_file
from families_data import PICTURES
from families_reference import FAMILIES, LENGTH, task_of

HERE = pathlib.Path(__file__).resolve().parent


def export(npar, folder, family):
    """The folder that npar makes of weights and settings alone, and the one that it makes of a folder of transformers."""
    source, plain, copied = folder / "source", folder / "plain", folder / "copied"
    source.mkdir()
    (source / "config.json").write_text(json.dumps(family["config"]))
    weights = random_weights.weights({path: tuple(shape) for path, shape in family["shapes"].items()})
    safetensors_file.write(source / "model.safetensors", random_weights.with_liking(weights))
    run = lambda *words: subprocess.run([npar, *map(str, words)], check=True, capture_output=True, text=True).stdout  # noqa: E731
    report = json.loads(run("import", source, "--json"))
    settings = [word for key, value in report["settings"].items() for word in ("--set", f"{key}={'none' if value is None else json.dumps(value)}")]
    run("export", source / "model.safetensors", "--model", report["model"], *settings, "-o", plain)
    run("export", source, "-o", copied)
    return plain, copied


def first_loss(model, family, name, config):
    """Of positions without padding, which needs no mask, or of pictures; enough to tell one model from another."""
    if task_of(name, config) in PICTURES:
        shape = (2, config.num_channels, config.image_size, config.image_size)
        with torch.no_grad():
            return model(pixel_values=(torch.arange(math.prod(shape)) % 251 / 128 - 1).view(shape))[0].double().sum().item()
    tokens = torch.arange(2 * LENGTH).view(2, LENGTH) % (config.vocab_size - 3) + 3
    with torch.no_grad():
        if task_of(name, config) == "translate":
            return model(input_ids=tokens, decoder_input_ids=tokens)[0].double().sum().item()
        return model(input_ids=tokens)[0].double().sum().item()


def main():
    npar = pathlib.Path(sys.argv[1]).resolve() / "bin" / "npar"
    torch.set_num_threads(1)
    file = HERE / "exports_recorded.json"
    recorded = json.loads(file.read_text())["configurations"] if sys.argv[2:] else {}
    eager = {"attn_implementation": "eager", "experts_implementation": "eager"}
    families = json.loads((HERE / "families_recorded.json").read_text())["families"]
    for name in sys.argv[2:] or FAMILIES:
        _, kind, config = FAMILIES[name]
        family = families[name]
        with tempfile.TemporaryDirectory() as folder:
            results = []
            source = pathlib.Path(folder) / "source"
            for written in (*export(npar, pathlib.Path(folder), family), source):
                model, info = getattr(transformers, kind).from_pretrained(written, dtype=torch.float32, output_loading_info=True, **eager)
                assert not any(info[keys] for keys in ("missing_keys", "unexpected_keys", "mismatched_keys")), (name, info)
                results.append(first_loss(model.eval(), family, kind, config))
            assert results[0] == results[1] == results[2], (name, results)
            recorded[name] = json.loads((pathlib.Path(folder) / "plain" / "config.json").read_text())
        print(f"{name:24} {results[0]:.6f}")
    file.write_text(json.dumps({"transformers": transformers.__version__, "configurations": recorded}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
