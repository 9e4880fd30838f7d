#!/usr/bin/env python3
"""The standard library's MLP in plain PyTorch under SGD with momentum and weight decay and a linear schedule: makes recorded values, of a run
on all targets and of one that ignores many.

Needs PyTorch; the tests need only the files it wrote. Run gpt2_reference.py first (its tokens serve here too), then in this folder:
    python3 mlp_reference.py
"""

import json
import struct

import torch
from torch import nn
from torch.nn import functional

from gpt2_reference import HERE, Conv1D, run_steps, save
from target_mask import target_mask

MODEL = {"vocab": 61, "width": 16, "inner": 40, "depth": 2, "length": 16}
TRAIN = {"batch": 16, "steps": 30, "peak": 0.05, "warmup": 5, "end": 25, "final": 0.01, "momentum": 0.9, "decay": 0.02, "clip": 0.25}


class Block(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up, self.down = Conv1D(width, inner), Conv1D(inner, width)

    def forward(self, x):
        return x + self.down(functional.relu(self.up(x)))


class Mlp(nn.Module):
    def __init__(self, vocab, width, inner, depth, **_):
        super().__init__()
        self.table = nn.Embedding(vocab, width)
        self.layers = nn.ModuleList(Block(width, inner) for _ in range(depth))
        self.head = Conv1D(width, vocab)

    def forward(self, tokens):
        x = self.table(tokens)
        for block in self.layers:
            x = block(x)
        return self.head(x)


def learning_rate(step):
    """Warm-up, then a straight line from peak to final over the steps from `warmup` to `end`, then final."""
    if step < TRAIN["warmup"]:
        return TRAIN["peak"] * (step + 1) / TRAIN["warmup"]
    part = min(1.0, (step - TRAIN["warmup"]) / (TRAIN["end"] - TRAIN["warmup"]))
    return TRAIN["peak"] + part * (TRAIN["final"] - TRAIN["peak"])


def train(tokens, mask=None):
    """Returns what the log of `npar train` holds, and the model."""
    generator = torch.Generator().manual_seed(21)
    model = Mlp(**MODEL)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    save("mlp_initial.safetensors", {name: value.detach().clone() for name, value in model.named_parameters()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=TRAIN["momentum"], weight_decay=TRAIN["decay"], foreach=False)
    log = run_steps(model, optimizer, tokens, MODEL["length"], TRAIN, learning_rate, mask)
    return log, model


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    content = (HERE / "tokens.u16").read_bytes()
    tokens = torch.tensor(struct.unpack(f"<{len(content) // 2}H", content))
    masked = target_mask(len(tokens), MODEL["length"], TRAIN["batch"])
    for name, mask in (("mlp", None), ("mlp_masked", masked)):
        log, model = train(tokens, mask)
        save(f"{name}_final.safetensors", {name: value.detach() for name, value in model.named_parameters()})
        recorded = {"model": MODEL, "train": TRAIN, "torch": torch.__version__.split("+")[0], "log": log}
        (HERE / f"{name}_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")
        norms = [entry["grad_norm"] for entry in log]
        print(f"{name}: loss {log[0]['loss']:.4f} to {log[-1]['loss']:.4f}, gradient norms {norms[0]:.2f} to {norms[-1]:.2f}")


if __name__ == "__main__":
    main()
