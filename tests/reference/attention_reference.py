#!/usr/bin/env python3
"""The model of tests/end_to_end/attention.npar in plain PyTorch, float64: records losses, gradient norms of three steps, and first gradients.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 attention_reference.py
"""

import json
import pathlib

import torch
from torch.nn import functional

from attention_data import DEPTH, HEADS, VOCAB, data, weights

BATCH, STEPS, WINDOW, CAP = 8, 3, 3, 1.5
torch.set_default_dtype(torch.float64)


def attend(q, k, v, scale, bias=None, seen=None, cap=None):
    """q: [batch, queries, heads, features], `seen` and `bias` broadcast to [batch, heads, queries, keys]. Queries that see no key have the result 0."""
    scores = torch.einsum("bihf,bjhf->bhij", q, k) * scale
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    seen = torch.ones_like(scores, dtype=torch.bool) if seen is None else seen.expand_as(scores)
    most = scores.masked_fill(~seen, -1e30).amax(-1, keepdim=True).detach()
    exponentials = torch.where(seen, scores - most, 0.0).exp() * seen
    total = exponentials.sum(-1, keepdim=True)
    return torch.einsum("bhij,bjhf->bihf", exponentials / torch.where(total == 0, 1.0, total), v)


def looking(tokens, targets, source, p):
    split = lambda x: x.reshape(*x.shape[:-1], HEADS, -1)  # noqa: E731
    layer = lambda name, x: x @ p[f"{name}.weight"] + p[f"{name}.bias"]  # noqa: E731

    def heads(kind, x, y):
        return [split(layer(f"{kind}{letter}", z)) for letter, z in zip("qkv", (x, y, y))]

    length, sources = tokens.shape[1], source.shape[1]
    there = source > 2
    y = p["table.weight"][source]
    q, k, v = heads("enc.e", y, y)
    y = y + layer("enc.eo", attend(q, k, v, 1 / q.shape[-1] ** 0.5, p["near"], there[:, None, None, :]).flatten(-2))
    x = p["table.weight"][tokens]
    back = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    steps = torch.arange(length)[:, None] - 2 * torch.arange(sources)[None, :]
    near = back.clamp(max=3)
    bias = p["slope"][:, None, None] * -back + torch.where((near >= 0)[None], p["far"][near.clamp(min=0)].permute(2, 0, 1), 0.0)
    for i in range(DEPTH):
        q, k, v = heads(f"h.{i}.s", x, x)
        x = x + layer(f"h.{i}.so", attend(q, k, v, 1 / q.shape[-1] ** 0.5, bias, (back >= 0) & (back < WINDOW), CAP).flatten(-2))
        q, k, v = heads(f"h.{i}.c", x, y)
        x = x + layer(f"h.{i}.co", attend(q, k, v, 0.7, seen=there[:, None, None, :] & (steps < 6)).flatten(-2))
    return functional.cross_entropy((x @ p["table.weight"].T).reshape(-1, VOCAB), targets.reshape(-1))


def main():
    whole = {name: torch.tensor(values).reshape(shape) for name, (_, shape, values) in data().items()}
    p = {name: torch.nn.Parameter(torch.tensor(values).reshape(shape)) for name, (shape, values) in weights().items()}
    optimizer = torch.optim.AdamW(p.values(), lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    log = []
    for step in range(STEPS):
        rows = {name: tensor[step * BATCH : (step + 1) * BATCH] for name, tensor in whole.items()}
        loss = looking(rows["tokens"], rows["targets"], rows["source"], p)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
        log.append({"step": step, "loss": loss.item(), "grad_norm": norm.item()})
    final = {name: p[name].detach().flatten().tolist() for name in ("near", "slope", "far")}
    recorded = {"torch": torch.__version__.split("+")[0], "steps": log, "final": final}
    pathlib.Path(__file__).with_name("attention_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
