#!/usr/bin/env python3
"""PyTorch's optimizers in float64 on the MLP, for the texts in stdlib/optimizers: Adagrad, Adadelta, RMSprop, NAdam, Adam, AdamW and SGD, Lion after its
paper, and two optimizers for two parts of one model.

Needs PyTorch; the tests need only the file it wrote. Run mlp_reference.py first, then in this folder:
    python3 optimizers_reference.py
"""

import json
import math
import struct

import torch

import mlp_reference
import safetensors_file
from gpt2_reference import HERE, run_steps

TRAIN = {"batch": 16, "steps": 30, "clip": 0.5}
# The name here, what the train block says, and what PyTorch is told. All have a constant learning rate.
CASES = {
    "adagrad": ("Adagrad(lr = 0.02)", torch.optim.Adagrad, {"lr": 0.02}),
    "adagrad_all": (
        "Adagrad(lr = 0.02, lr_decay = 0.1, decay = 0.03, initial = 0.05, epsilon = 1e-6)",
        torch.optim.Adagrad,
        {"lr": 0.02, "lr_decay": 0.1, "weight_decay": 0.03, "initial_accumulator_value": 0.05, "eps": 1e-6},
    ),
    "adadelta": ("Adadelta(lr = 0.7, rho = 0.8, decay = 0.02)", torch.optim.Adadelta, {"lr": 0.7, "rho": 0.8, "weight_decay": 0.02}),
    "rmsprop": ("RMSprop(lr = 2e-3)", torch.optim.RMSprop, {"lr": 2e-3}),
    "rmsprop_all": (
        "RMSprop(lr = 2e-3, alpha = 0.9, epsilon = 1e-5, decay = 0.01, momentum = 0.5, centered = true)",
        torch.optim.RMSprop,
        {"lr": 2e-3, "alpha": 0.9, "eps": 1e-5, "weight_decay": 0.01, "momentum": 0.5, "centered": True},
    ),
    "nadam": ("NAdam(lr = 4e-3)", torch.optim.NAdam, {"lr": 4e-3}),
    "nadam_all": (
        "NAdam(lr = 4e-3, betas = (0.8, 0.95), epsilon = 1e-5, decay = 0.02, momentum_decay = 0.05)",
        torch.optim.NAdam,
        {"lr": 4e-3, "betas": (0.8, 0.95), "eps": 1e-5, "weight_decay": 0.02, "momentum_decay": 0.05},
    ),
    "adam": (
        "Adam(lr = 4e-3, betas = (0.8, 0.95), epsilon = 1e-5, decay = 0.02)",
        torch.optim.Adam,
        {"lr": 4e-3, "betas": (0.8, 0.95), "eps": 1e-5, "weight_decay": 0.02},
    ),
    "adamw": ("AdamW(lr = 4e-3, decay = 0.1)", torch.optim.AdamW, {"lr": 4e-3, "weight_decay": 0.1}),
    "sgd": ("Sgd(lr = 0.1)", torch.optim.SGD, {"lr": 0.1}),
}


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al., Symbolic Discovery of Optimization Algorithms (2023)."""

    def __init__(self, params, lr, betas, weight_decay):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for parameter in group["params"]:
                momentum = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
                direction = torch.sign(first * momentum + (1 - first) * parameter.grad)
                parameter -= group["lr"] * (direction + group["weight_decay"] * parameter)
                momentum.copy_(second * momentum + (1 - second) * parameter.grad)


class Both:
    """Several optimizers, each for its own parameters, as one."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers
        self.param_groups = []

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


def probes(model):
    """Of each tensor its product with a fixed direction, which an error in any element changes."""
    result = {}
    for name, parameter in model.named_parameters():
        flat = parameter.detach().flatten()
        direction = torch.tensor([math.cos(1.7 * i + 0.3) for i in range(len(flat))])
        result[name] = torch.dot(flat, direction).item()
    return result


def run(name, text, make, tokens, rules=()):
    model = mlp_reference.Mlp(**mlp_reference.MODEL)
    initial = safetensors_file.read(HERE / "mlp_initial.safetensors")
    model.load_state_dict({path: torch.tensor(tensor.values).reshape(tuple(tensor.shape)) for path, tensor in initial.items()})
    optimizer = make(model)
    rates = [group["lr"] for group in optimizer.param_groups]
    log = run_steps(model, optimizer, tokens, mlp_reference.MODEL["length"], TRAIN, lambda step: rates[0] if rates else 0)
    print(f"{name}: loss {log[0]['loss']:.4f} to {log[-1]['loss']:.4f}")
    return {
        "optimizer": text,
        "rules": list(rules),
        "losses": [entry["loss"] for entry in log],
        "grad_norms": [entry["grad_norm"] for entry in log],
        "probes": probes(model),
    }


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    content = (HERE / "tokens.u16").read_bytes()
    tokens = torch.tensor(struct.unpack(f"<{len(content) // 2}H", content))
    cases = {}
    for name, (text, kind, arguments) in CASES.items():
        cases[name] = run(name, text, lambda model: kind(model.parameters(), foreach=False, **arguments), tokens)
    cases["lion"] = run(
        "lion", "Lion(lr = 2e-3, betas = (0.85, 0.98), decay = 0.1)", lambda model: Lion(model.parameters(), 2e-3, (0.85, 0.98), 0.1), tokens
    )

    def mixed(model):
        parts = [[parameter for name, parameter in model.named_parameters() if name.startswith("head.") == isHead] for isHead in (False, True)]
        return Both(
            torch.optim.AdamW(parts[0], lr=4e-3, weight_decay=0.0, foreach=False),
            torch.optim.SGD(parts[1], lr=0.05, momentum=0.9, weight_decay=0.02, foreach=False),
        )

    rules = ['for "head.*" { optimizer Sgd(lr = 0.05, momentum = 0.9) decay 0.02 }']
    cases["mixed"] = run("mixed", "AdamW(lr = 4e-3)", mixed, tokens, rules)
    recorded = {"torch": torch.__version__.split("+")[0], "model": mlp_reference.MODEL, "train": TRAIN, "cases": cases}
    (HERE / "optimizers_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
