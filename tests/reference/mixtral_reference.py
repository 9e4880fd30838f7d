#!/usr/bin/env python3
"""transformers' Mixtral in float64 on the data and weights of mixtral_data.py: the loss and gradients of the first step, and the losses of 30 steps with AdamW.

Needs PyTorch and transformers; the test needs only the file it wrote. In this folder:
    python3 mixtral_reference.py
"""

import inspect
import json
import pathlib
import sys
import types

import torch
import transformers
from torch.nn import functional
from transformers.models.mixtral import modeling_mixtral

from mixtral_data import BATCH, CHOSEN, DEPTH, EXPERTS, HEADS, INNER, LENGTH, SHARED, STEPS, VOCAB, WIDTH, data, directions, weights


def widened(module):
    """The module with its casts to float32 made casts to float64, except those of the frequencies of rotary positions."""
    text = inspect.getsource(module).replace("torch.float32", "torch.float64").replace(".float()", ".double()")
    wide = types.ModuleType(module.__name__ + "_float64")
    wide.__package__, wide.__file__ = module.__package__, module.__file__
    sys.modules[wide.__name__] = wide
    exec(compile(text, wide.__name__, "exec"), wide.__dict__)
    return wide


def made():
    config = transformers.MixtralConfig(
        vocab_size=VOCAB, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=DEPTH, num_attention_heads=HEADS, num_key_value_heads=SHARED,
        num_local_experts=EXPERTS, num_experts_per_tok=CHOSEN, max_position_embeddings=64, rms_norm_eps=1e-5, sliding_window=None,
        attn_implementation="sdpa", experts_implementation="eager",
    )  # fmt: skip
    model = widened(modeling_mixtral).MixtralForCausalLM(config).double()
    inverse = 1.0 / (10000.0 ** (torch.arange(0, WIDTH // HEADS, 2).float() / (WIDTH // HEADS)))
    model.model.rotary_emb.inv_freq = inverse.double()
    values = {name: torch.tensor(numbers, dtype=torch.float64).reshape(shape) for name, (shape, numbers) in weights().items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(stored(name, values))
    return model


def stored(name, values):
    """A parameter of transformers' from those of npar's names."""
    if name.endswith("experts.gate_up_proj"):
        layer = name.replace("mlp.experts.gate_up_proj", "moe.")
        return torch.cat([values[layer + "w1"], values[layer + "w3"]], 1)
    return values[name.replace("mlp.experts.down_proj", "moe.w2").replace("mlp.gate", "moe.gate")]


def gradients(model):
    """{parameter of npar's: gradient}"""
    result = {}
    for name, parameter in model.named_parameters():
        if name.endswith("experts.gate_up_proj"):
            layer = name.replace("mlp.experts.gate_up_proj", "moe.")
            result[layer + "w1"], result[layer + "w3"] = parameter.grad[:, :INNER], parameter.grad[:, INNER:]
        else:
            result[name.replace("mlp.experts.down_proj", "moe.w2").replace("mlp.gate", "moe.gate")] = parameter.grad
    return result


def main():
    model = made()
    rows = {name: torch.tensor(values).reshape(shape) for name, (kind, shape, values) in data().items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1)
    recorded = {"transformers": transformers.__version__, "losses": [], "gradients": {}}
    for step in range(STEPS):
        tokens, targets = (rows[name][step * BATCH : (step + 1) * BATCH] for name in ("tokens", "targets"))
        loss = functional.cross_entropy(model(input_ids=tokens, use_cache=False).logits.reshape(-1, VOCAB), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            for name, gradient in gradients(model).items():
                flat = gradient.reshape(-1)
                recorded["gradients"][name] = [flat.norm().item(), flat.dot(torch.tensor(directions(name, len(flat)), dtype=torch.float64)).item()]
        optimizer.step()
        recorded["losses"].append(loss.item())
    pathlib.Path(__file__).with_name("mixtral_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
