#!/usr/bin/env python3
"""An independent GPT-2 in plain PyTorch: makes the recorded losses and weights that npar is compared with.

Needs PyTorch; the tests need only the files it wrote. Run it in this folder to record again:
    python3 gpt2_reference.py
"""

import json
import math
import pathlib
import random
import struct

import torch
from torch import nn
from torch.nn import functional

import safetensors_file
from target_mask import IGNORE

HERE = pathlib.Path(__file__).resolve().parent
MODEL = {"vocab": 61, "context": 32, "width": 32, "heads": 4, "depth": 2, "length": 16}
TRAIN = {
    "batch": 16, "steps": 30, "peak": 3e-4, "warmup": 5, "final": 0.0,
    "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "decay": 0.1, "clip": 1.0,
}


class Conv1D(nn.Module):
    """x @ weight + bias with weight [in, out], as OpenAI stored it and Hugging Face kept it."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = Conv1D(width, 3 * width)
        self.c_proj = Conv1D(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(width // self.heads)
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        return self.c_proj((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = Conv1D(width, 4 * width)
        self.c_proj = Conv1D(4 * width, width)

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-5)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width, eps=1e-5)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """Parameter names are those of Hugging Face's GPT-2 without the `transformer.` prefix; the head is tied to wte."""

    def __init__(self, vocab, context, width, heads, depth, **_):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.ln_f = nn.LayerNorm(width, eps=1e-5)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


def learning_rate(step):
    """Warm-up, then a half cosine from peak to final over the steps from `warmup` to `steps`."""
    if step < TRAIN["warmup"]:
        return TRAIN["peak"] * (step + 1) / TRAIN["warmup"]
    part = min(1.0, (step - TRAIN["warmup"]) / (TRAIN["steps"] - TRAIN["warmup"]))
    return TRAIN["final"] + 0.5 * (TRAIN["peak"] - TRAIN["final"]) * (1 + math.cos(math.pi * part))


def initial_weights():
    """Every tensor random, biases and norms included, so that none of them can be wrong unnoticed."""
    generator = torch.Generator().manual_seed(20)
    weights = {}
    for name, parameter in Gpt2(**MODEL).named_parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float32)
        if name.split(".")[-2].startswith("ln_"):
            weights[name] = (1.0 if name.endswith("weight") else 0.0) + 0.1 * noise
        else:
            weights[name] = (0.1 if name.endswith("weight") else 0.05) * noise
    return weights


def write_tokens():
    """A noisy chain of tokens (the next is often 3 t + 1), just long enough for the steps in sequential order."""
    chance = random.Random(7)
    tokens, token = [], 0
    for _ in range(TRAIN["steps"] * TRAIN["batch"] * MODEL["length"] + 1):
        token = (3 * token + 1) % MODEL["vocab"] if chance.random() < 0.8 else chance.randrange(MODEL["vocab"])
        tokens.append(token)
    (HERE / "tokens.u16").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    return torch.tensor(tokens)


def norm_of(parameters):
    return math.sqrt(sum((parameter.grad.double() ** 2).sum().item() for parameter in parameters))


def run_steps(model, optimizer, tokens, length, settings, rate, mask=None, masters=None, groups=None):
    """Trains on the tokens in sequential order with clipping; returns what the log of `npar train` holds. `mask`: 1 for tokens that are
    targets, 0 for those that the loss ignores. `masters`: what the optimizer moves for the model's parameters, in float32. The optimizer's
    groups may have a "factor" of the learning rate. `groups`: parameters by name, of which the log has the gradients' norms."""
    batch, log = settings["batch"], []
    labels = tokens if mask is None else tokens.where(torch.tensor(list(mask)) == 1, IGNORE)
    for step in range(settings["steps"]):
        starts = [row * length for row in range(step * batch, (step + 1) * batch)]
        inputs = torch.stack([tokens[start : start + length] for start in starts])
        targets = torch.stack([labels[start + 1 : start + 1 + length] for start in starts])
        logits = model(inputs).flatten(0, 1)
        loss = functional.cross_entropy(logits.float() if masters else logits, targets.flatten(), ignore_index=IGNORE)
        model.zero_grad()
        loss.backward()
        for master, parameter in zip(masters or [], model.parameters()):
            master.grad = parameter.grad.float()
        norms = {name: norm_of(parameters) for name, parameters in (groups or {}).items()}
        norm = nn.utils.clip_grad_norm_(masters or model.parameters(), settings["clip"])
        for group in optimizer.param_groups:
            group["lr"] = rate(step) * group.get("factor", 1)
        optimizer.step()
        for master, parameter in zip(masters or [], model.parameters()):
            parameter.data.copy_(master.data)
        entry = {"step": step, "loss": loss.item(), "grad_norm": norm.item(), "lr": rate(step)}
        entry.update({"grad_norms": norms} if norms else {})
        log.append(entry if mask is None else {**entry, "valid_tokens": int((targets != IGNORE).sum())})
    return log


def train(weights, tokens, element):
    """Returns what the log of `npar train` holds, and the final weights."""
    torch.set_default_dtype(element)
    model = Gpt2(**MODEL)
    model.load_state_dict({name: value.to(element) for name, value in weights.items()})
    optimizer = torch.optim.AdamW(
        model.parameters(), betas=(TRAIN["beta1"], TRAIN["beta2"]), eps=TRAIN["epsilon"], weight_decay=TRAIN["decay"], foreach=False
    )
    log = run_steps(model, optimizer, tokens, MODEL["length"], TRAIN, learning_rate)
    return log, {name: value.detach() for name, value in model.named_parameters()}


def train_narrow(weights, tokens):
    """The same in bfloat16, with float32 masters; PyTorch's norms and softmax compute in float32 and round their results."""
    torch.set_default_dtype(torch.float32)
    model = Gpt2(**MODEL)
    model.load_state_dict(weights)
    masters = [nn.Parameter(value.detach().clone()) for value in model.parameters()]
    optimizer = torch.optim.AdamW(
        masters, betas=(TRAIN["beta1"], TRAIN["beta2"]), eps=TRAIN["epsilon"], weight_decay=TRAIN["decay"], foreach=False
    )
    return run_steps(model.bfloat16(), optimizer, tokens, MODEL["length"], TRAIN, learning_rate, masters=masters)


def save(name, weights):
    safetensors_file.write(
        HERE / name,
        {
            path: safetensors_file.Tensor(value.shape, value.flatten().tolist(), "F64" if value.dtype == torch.float64 else "F32")
            for path, value in weights.items()
        },
    )


def main():
    torch.set_num_threads(1)
    weights, tokens = initial_weights(), write_tokens()
    save("initial.safetensors", weights)
    recorded = {"model": MODEL, "train": TRAIN, "torch": torch.__version__.split("+")[0]}
    final = {}
    for name, element in (("f32", torch.float32), ("f64", torch.float64)):
        recorded[name], final[name] = train(weights, tokens, element)
        save(f"final_{name}.safetensors", final[name])
    recorded["bf16"] = train_narrow(weights, tokens)
    (HERE / "recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")
    worst = max((final["f32"][name] - final["f64"][name]).abs().max().item() for name in weights)
    losses = [entry["loss"] for entry in recorded["f64"]]
    apart = max(abs(a["loss"] - b["loss"]) / b["loss"] for a, b in zip(recorded["f32"], recorded["f64"]))
    narrow = max(abs(a["loss"] - b["loss"]) / b["loss"] for a, b in zip(recorded["bf16"], recorded["f64"]))
    print(f"bfloat16 compared with float64: losses {narrow:.1e} apart")
    print(f"loss {losses[0]:.4f} to {losses[-1]:.4f}; float32 compared with float64: losses {apart:.1e} apart, weights {worst:.1e}")


if __name__ == "__main__":
    main()
