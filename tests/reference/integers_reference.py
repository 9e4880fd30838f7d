#!/usr/bin/env python3
"""The models of tests/end_to_end/integers.npar and along.npar in plain PyTorch, float64: records losses and gradient norms of three steps.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 integers_reference.py
"""

import json
import pathlib

import torch
from torch.nn import functional

from integers_data import DEPTH, VOCAB, data, weights

BATCH, STEPS, WINDOW, CHOSEN = 8, 3, 3, 2
torch.set_default_dtype(torch.float64)


def chooser(tokens, targets, p):
    length = tokens.shape[1]
    places = torch.arange(length)
    odd = tokens % 2 == 1
    late = (places >= 3) & ~odd
    share = (tokens // 3 + 1) / 7.0
    x = p["table.weight"][tokens]
    x = torch.where(odd[..., None], x * share[..., None], 0.5 * x)
    back = places[:, None] - places[None, :]
    for i in range(DEPTH):
        layer = lambda name, y: y @ p[f"h.{i}.{name}.weight"] + p[f"h.{i}.{name}.bias"]  # noqa: B023, E731
        scores = layer("ask", x) @ layer("tell", x).transpose(1, 2)
        y = torch.where((back >= 0) & (back < WINDOW), scores, -1e9).softmax(-1) @ layer("tell", x)
        y = torch.where(y > 0, y, 0.1 * y)
        x = torch.where(late[..., None], x, x + layer("down", y))
    return functional.cross_entropy((x @ p["table.weight"].T).reshape(-1, VOCAB), targets.reshape(-1))


def router(tokens, targets, p):
    x = p["table.weight"][tokens] + p["places.weight"][(tokens > 4).long().cumsum(1)]
    scores = x @ p["router.weight"] + p["router.bias"]
    best = scores.argsort(dim=-1, descending=True, stable=True)[..., :CHOSEN]
    share = scores.gather(-1, best).softmax(-1)
    x = x + (share[..., None] * p["scale"].T[best]).sum(-2) * x
    z = torch.cat([p["begin"] + 0.1 * x.mean(1, keepdim=True), x], 1).cumsum(1)[:, 1:]
    spread = z.amax(-1, keepdim=True) - z.amin(-1, keepdim=True)
    z = z / torch.sqrt(1.0 + spread.abs()) + 0.1 * torch.sin(x) * torch.cos(z)
    z = z * (1.0 + 0.5 * functional.one_hot(z.argmax(-1), z.shape[-1]))
    weight = (tokens.amax(1) - tokens.amin(1) + tokens.sum(1) // 8) / 20.0
    logits = z @ p["table.weight"].T
    penalty = logits.logsumexp(-1)
    losses = functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return ((losses + 0.01 * penalty * penalty) * weight[:, None]).mean()


def train(model, loss_of):
    whole = {name: torch.tensor(values).reshape(shape) for name, (kind, shape, values) in data().items()}
    p = {name: torch.nn.Parameter(torch.tensor(values).reshape(shape)) for name, (shape, values) in weights(model).items()}
    optimizer = torch.optim.AdamW(p.values(), lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    log = []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        loss = loss_of(whole["tokens"][rows], whole["targets"][rows], p)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
        log.append({"step": step, "loss": loss.item(), "grad_norm": norm.item()})
    return log


def main():
    recorded = {"torch": torch.__version__.split("+")[0], "integers": train("integers", chooser), "along": train("along", router)}
    pathlib.Path(__file__).with_name("integers_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
