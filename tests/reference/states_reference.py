#!/usr/bin/env python3
"""tests/end_to_end/states.npar in PyTorch and float64, with masks over all experts: losses, loads and states of ten steps, computed from whole batches.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 states_reference.py
"""

import json
import pathlib

import torch
from torch.nn import functional

from states_data import BATCH, CHOSEN, CLIP, DEPTH, EXPERTS, LENGTH, RATE, SPEED, STEPS, VOCAB, WIDTH, data, weights

STATES = ("moe.gate.e_score_correction_bias", "moe.average")


def experts(values, layer, x, real):
    """The layer's result, how many choices each expert has, and the mean of what the layer reads."""
    scores = torch.sigmoid(x @ values[layer + "moe.router.weight"].T)
    best = (scores + values[layer + STATES[0]]).topk(CHOSEN, dim=-1).indices
    chosen = functional.one_hot(best, EXPERTS).sum(-2) * real[..., None]
    share = scores * chosen
    share = share / (share.sum(-1, keepdim=True) + 1e-20)
    inner = functional.silu(torch.einsum("bse,xeh->bsxh", x, values[layer + "moe.up"]))
    y = torch.einsum("bsxh,xhe->bsxe", inner, values[layer + "moe.down"])
    return (y * share[..., None]).sum(-2), chosen.sum((0, 1)), x.detach().mean((0, 1))


def main():
    rows = {name: torch.tensor(values).reshape(shape) for name, (kind, shape, values) in data().items()}
    values = {name: torch.tensor(numbers, dtype=torch.float64).reshape(shape) for name, (shape, numbers) in weights().items()}
    trained = [value.requires_grad_() for name, value in values.items() if not name.endswith(STATES)]
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    recorded = {"losses": [], "loads": [], "states": {}}
    for step in range(STEPS):
        tokens, targets = (rows[name][step * BATCH : (step + 1) * BATCH].long() for name in ("tokens", "targets"))
        x = values["table.weight"][tokens]
        seen = []
        for i in range(DEPTH):
            layer = f"layers.{i}."
            y = functional.layer_norm(x, [WIDTH], values[layer + "norm.weight"], values[layer + "norm.bias"], 1e-5)
            y, load, mean = experts(values, layer, y, tokens != 0)
            x = x + y
            seen.append((layer, load, mean))
        loss = functional.cross_entropy((x @ values["table.weight"].T).reshape(BATCH * LENGTH, VOCAB), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        optimizer.step()
        for layer, load, mean in seen:
            values[layer + STATES[0]] += SPEED * torch.sign(load.double().mean() - load)
            values[layer + STATES[1]] = 0.9 * values[layer + STATES[1]] + 0.1 * mean
        recorded["losses"].append(loss.item())
        recorded["loads"].append([load.tolist() for layer, load, mean in seen])
    recorded["states"] = {name: value.tolist() for name, value in values.items() if name.endswith(STATES)}
    pathlib.Path(__file__).with_name("states_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
