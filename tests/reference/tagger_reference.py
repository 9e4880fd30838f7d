#!/usr/bin/env python3
"""The model of tests/end_to_end/inputs.npar in plain PyTorch, float64, on inputs of three types: records losses and gradient norms.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 tagger_reference.py
"""

import json
import pathlib

import torch
from torch.nn import functional

from tagger_data import DEPTH, TAGS, WIDTH, data, weights

HEADS, BATCH, STEPS = 4, 8, 3
torch.set_default_dtype(torch.float64)


def loss_of(inputs, p):
    kinds, weight = inputs["kinds_of"], inputs["weight"]
    x = (p["table.weight"][inputs["text"]] + p["types.weight"][kinds]) * weight[..., None] + inputs["signal"] @ p["lift.weight"] + p["lift.bias"]
    rows, length = inputs["text"].shape
    for i in range(DEPTH):
        layer = lambda name, y: y @ p[f"h.{i}.{name}.weight"] + p[f"h.{i}.{name}.bias"]  # noqa: B023, E731
        y = functional.layer_norm(x, (WIDTH,), p[f"h.{i}.norm.weight"], p[f"h.{i}.norm.bias"], 1e-5)
        q, k, v = layer("attn.c_attn", y).reshape(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).permute(0, 2, 1, 3).reshape(rows, length, WIDTH)
        y = functional.gelu(layer("mlp.c_fc", layer("attn.c_proj", y)), approximate="tanh")
        x = x + layer("mlp.c_proj", y)
    logits = x @ p["head_of.weight"] + p["head_of.bias"]
    return functional.cross_entropy(logits.reshape(-1, TAGS), inputs["answers"].reshape(-1))


def main():
    whole = {name: torch.tensor(values, dtype=torch.float64 if kind == "F32" else torch.int64).reshape(shape) for name, (kind, shape, values) in data().items()}
    p = {name: torch.nn.Parameter(torch.tensor(values).reshape(shape)) for name, (shape, values) in weights().items()}
    optimizer = torch.optim.AdamW(p.values(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    log = []
    for step in range(STEPS):
        loss = loss_of({name: tensor[step * BATCH : (step + 1) * BATCH] for name, tensor in whole.items()}, p)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
        log.append({"step": step, "loss": loss.item(), "grad_norm": norm.item()})
    pathlib.Path(__file__).with_name("tagger_recorded.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "log": log}, indent=1) + "\n")


if __name__ == "__main__":
    main()
