#!/usr/bin/env python3
"""The model of tests/end_to_end/losses.npar in plain PyTorch, float64: records its losses, gradient norms, and what an evaluation gives.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 pretrainer_reference.py
"""

import json
import pathlib

import torch
from torch.nn import functional

from pretrainer_data import BATCH, DEPTH, IGNORED, VOCAB, data, weights

WEIGHTS = {"small": 0.01, "words": 1.0, "answer": 0.5, "score": 1 / 8, "right": 0.25}
SMOOTHING, Z_LOSS, STEPS = 0.1, 1e-3, 3
torch.set_default_dtype(torch.float64)


def outputs_of(inputs, p):
    first = x = p["table.weight"][inputs["tokens"]]
    for i in range(DEPTH):
        x = x + functional.relu(x @ p[f"h.{i}.up.weight"] + p[f"h.{i}.up.bias"]) @ p[f"h.{i}.down.weight"] + p[f"h.{i}.down.bias"]
    head = x[:, 0]
    return first, x @ p["table.weight"].T, head @ p["judge.weight"] + p["judge.bias"], head @ p["rate"], head @ p["vote"]


def mean_of(values, counts):
    """The mean where it counts, 0 where nothing does; and how many those are."""
    return (values * counts).sum() / max(1, int(counts.sum())), int(counts.sum())


def losses_of(inputs, p):
    """{name: (loss, counted)}"""
    first, logits, verdict, points, vote = outputs_of(inputs, p)
    masked = inputs["masked"]
    words = functional.cross_entropy(logits.transpose(1, 2), masked, ignore_index=IGNORED, label_smoothing=SMOOTHING, reduction="none")
    words = words + Z_LOSS * torch.logsumexp(logits, -1) ** 2
    places = torch.arange(masked.shape[1]).expand_as(masked)
    every = torch.ones_like(inputs["answer"])
    return {
        "small": mean_of((first * first).mean(-1), inputs["tokens"] % 3 != 0),
        "words": mean_of(words, (masked != IGNORED) & (places > 0)),
        "answer": mean_of(functional.cross_entropy(verdict, inputs["answer"], reduction="none"), inputs["answer"] != 2),
        "score": mean_of((points - inputs["score"]) ** 2, inputs["score"] > 0),
        "right": mean_of(functional.binary_cross_entropy_with_logits(vote, (inputs["flags"] % 2).double(), reduction="none"), every),
    }


def total(losses):
    return sum(WEIGHTS[name] * loss for name, (loss, _) in losses.items())


def evaluated(inputs, p):
    _, logits, verdict, points, _ = outputs_of(inputs, p)
    losses = losses_of(inputs, p)
    masked, predicted, actual = inputs["masked"], verdict.argmax(-1) == 1, inputs["answer"] == 1
    there = masked != IGNORED
    return {
        "loss": total(losses).item(),
        "losses": {name: loss.item() for name, (loss, _) in losses.items()},
        "metrics": {
            "found": (logits.argmax(-1) == masked)[there].double().mean().item(),
            "perplexity": functional.cross_entropy(logits.reshape(-1, VOCAB), inputs["tokens"].reshape(-1)).exp().item(),
            "second": (2 * (predicted & actual).sum() / (predicted.sum() + actual.sum())).item(),
            "together": torch.corrcoef(torch.stack([points, inputs["score"]]))[0, 1].item(),
        },
        "counted": {**{name: count for name, (_, count) in losses.items()}, "found": int(there.sum()), "perplexity": masked.numel(), "second": len(actual), "together": len(actual)},
        "samples": len(actual),
        "outputs": {"points": points.tolist(), "chosen": verdict.argmax(-1).tolist()},
    }


def main():
    whole = {name: torch.tensor(values, dtype=torch.float64 if kind == "F32" else torch.int64).reshape(shape) for name, (kind, shape, values) in data().items()}
    p = {name: torch.nn.Parameter(torch.tensor(values).reshape(shape)) for name, (shape, values) in weights().items()}
    with torch.no_grad():
        evaluation = evaluated(whole, p)
    optimizer = torch.optim.AdamW(p.values(), lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    log = []
    for step in range(STEPS):
        losses = losses_of({name: tensor[step * BATCH : (step + 1) * BATCH] for name, tensor in whole.items()}, p)
        loss = total(losses)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
        counted = {name: count for name, (_, count) in losses.items()}
        log.append({"step": step, "loss": loss.item(), "grad_norm": norm.item(), "losses": {name: each.item() for name, (each, _) in losses.items()}, "counted": counted})
    recorded = {"torch": torch.__version__.split("+")[0], "log": log, "evaluation": evaluation}
    pathlib.Path(__file__).with_name("pretrainer_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
