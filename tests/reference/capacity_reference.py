#!/usr/bin/env python3
"""The model of tests/end_to_end/capacity_layers.npar in float64: records losses, gradient norms and dropped shares of three steps.

The experts, the router and the balance of the Switch Transformer are those of transformers. GShard is written with masks over positions, experts and
places, as in algorithm 1 of its paper. Needs PyTorch and transformers; the test needs only the file it wrote. In this folder:
    python3 capacity_reference.py
"""

import json
import pathlib

import torch
import transformers
from torch.nn import functional
from transformers.models.switch_transformers import modeling_switch_transformers as switch

from capacity_data import CASES, DEPTH, EXPERTS, INNER, LENGTH, VOCAB, WIDTH, data, weights

BATCH, STEPS, FACTOR, LEAST, RATE = 8, 3, 1.25, 2, 0.1
torch.set_default_dtype(torch.float64)


def capacity(part):
    return max(min(part, int(FACTOR * part / EXPERTS)), LEAST)


def switch_layer(x, p, name, rooms):
    """x: [groups, positions, width]. Returns the result, the router's probabilities and the share of positions that are dropped."""
    config = transformers.SwitchTransformersConfig(
        d_model=WIDTH, d_ff=INNER, num_experts=EXPERTS, expert_capacity=rooms, router_bias=True, router_jitter_noise=0.0,
        dropout_rate=0.0, dense_act_fn="relu",
    )  # fmt: skip
    layer = switch.SwitchTransformersSparseMLP(config)
    layer.router.dtype = torch.float64
    own = {key: p[f"{name}.{'mlp.' if key.startswith('experts') else ''}{key}"] for key, _ in layer.named_parameters()}
    mask, _, logits = torch.func.functional_call(layer.router, {key[len("router.") :]: value for key, value in own.items() if key.startswith("router.")}, x)
    return torch.func.functional_call(layer, own, x), logits.softmax(-1), 1 - mask.sum(-1).double().mean().item()


def gshard_layer(x, p, name, rooms, threshold):
    """The same. Masks are [groups, positions, experts], places in an expert count from 0."""
    gates = (x @ p[f"{name}.router.classifier.weight"].T + p[f"{name}.router.classifier.bias"]).softmax(-1)
    masks, left = [], gates
    for _ in range(2):
        masks.append(functional.one_hot(left.argmax(-1), EXPERTS).double())
        left = left * (1 - masks[-1])
    shares = [(gates * mask).sum(-1) for mask in masks]
    total = shares[0] + shares[1] + 1e-9
    shares = [share / total for share in shares]
    masks[1] = masks[1] * (shares[1] >= threshold)[..., None]
    places = [masks[0].cumsum(1) - masks[0]]
    places.append(masks[1].cumsum(1) - masks[1] + masks[0].sum(1, keepdim=True))
    wanted, result = 0, 0
    for mask, place, share in zip(masks, places, shares):
        kept = mask * (place < rooms)
        wanted += (mask - kept).sum().item()
        send = kept[..., None] * functional.one_hot(place.long().clamp(max=rooms - 1), rooms).double()  # [groups, positions, experts, places]
        rows = torch.einsum("gpec,gph->gech", send, x)
        inner = torch.relu(torch.einsum("gech,eih->geci", rows, torch.stack([p[f"{name}.mlp.experts.expert_{e}.wi.weight"] for e in range(EXPERTS)])))
        made = torch.einsum("geci,ehi->gech", inner, torch.stack([p[f"{name}.mlp.experts.expert_{e}.wo.weight"] for e in range(EXPERTS)]))
        result = result + torch.einsum("gpec,gech->gph", send * share[..., None, None], made)
    return result, gates, wanted / (2 * x.shape[0] * x.shape[1])


def losses(tokens, targets, p, kind, part=LENGTH, threshold=0.0):
    x = p["table.weight"][tokens].reshape(-1, part, WIDTH)
    balance, dropped = 0, []
    for i in range(DEPTH):
        layer = (x, p, f"layers.{i}", capacity(part))
        made, probabilities, share = switch_layer(*layer) if kind == "switch" else gshard_layer(*layer, threshold)
        x = x + made
        balance = balance + switch.load_balancing_loss_func(probabilities, probabilities.argmax(-1))
        dropped.append(share)
    return functional.cross_entropy((x @ p["table.weight"].T).reshape(-1, VOCAB), targets.reshape(-1)), balance, dropped


def main():
    whole = {name: torch.tensor(values).reshape(shape) for name, (_, shape, values) in data().items()}
    recorded = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    for case, settings in CASES.items():
        p = {name: torch.nn.Parameter(torch.tensor(values).reshape(shape)) for name, (shape, values) in weights().items()}
        recorded[case] = []
        for step in range(STEPS):
            rows = {name: tensor[step * BATCH : (step + 1) * BATCH] for name, tensor in whole.items()}
            words, balance, dropped = losses(rows["tokens"], rows["targets"], p, **settings)
            gradients = torch.autograd.grad(words + 0.01 * balance, list(p.values()))
            norm = torch.stack([gradient.square().sum() for gradient in gradients]).sum().sqrt()
            with torch.no_grad():
                for parameter, gradient in zip(p.values(), gradients):
                    parameter -= RATE * gradient
            recorded[case].append({"words": words.item(), "balance": balance.item(), "grad_norm": norm.item(), "dropped": dropped})
    pathlib.Path(__file__).with_name("capacity_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
