#!/usr/bin/env python3
"""The standard library's MLP under SGD in plain Python, with products in float32 and in TF32: makes recorded losses and gradient norms.

Numbers are float32 after each operation. A product's operands are rounded to TF32 by their bits (10 bits of mantissa, to nearest, ties away from zero),
forward and backward, and its terms are added without any error. Needs Python alone; run mlp_reference.py first (its weights and tokens serve here), then
in this folder:
    python3 tf32_reference.py
"""

import json
import math
import pathlib
import struct

import safetensors_file

HERE = pathlib.Path(__file__).resolve().parent
MODEL = {"vocab": 61, "width": 16, "inner": 40, "depth": 2, "length": 16}
TRAIN = {"batch": 16, "steps": 4, "lr": 0.05}


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def tf32(value):
    bits = struct.unpack("I", struct.pack("f", value))[0]
    return struct.unpack("f", struct.pack("I", (bits + 0x1000) & 0xFFFFE000))[0]


def turned(rows):
    return [list(column) for column in zip(*rows)]


def product(a, b, rounded):
    """[m, k] x [k, n]"""
    change = tf32 if rounded else lambda value: value
    a, b = [[change(x) for x in row] for row in a], [[change(x) for x in column] for column in turned(b)]
    return [[single(math.fsum(x * y for x, y in zip(row, column))) for column in b] for row in a]


def plus(a, b):
    return [[single(x + y) for x, y in zip(left, right)] for left, right in zip(a, b)]


class Linear:
    """x w + b, with gradients for both."""

    def __init__(self, weights, name, rounded):
        self.weights, self.name, self.rounded = weights, name, rounded

    def forward(self, x):
        self.x = x
        bias = self.weights[self.name + ".bias"][0]
        return plus(product(x, self.weights[self.name + ".weight"], self.rounded), [bias] * len(x))

    def backward(self, dy, gradients):
        gradients[self.name + ".weight"] = product(turned(self.x), dy, self.rounded)
        gradients[self.name + ".bias"] = [[single(math.fsum(column)) for column in turned(dy)]]
        return product(dy, turned(self.weights[self.name + ".weight"]), self.rounded)


def gradients_of(weights, tokens, targets, rounded):
    """The loss, and the gradients by name."""
    table, gradients, layers = weights["table.weight"], {}, []
    x = [table[token] for token in tokens]
    for i in range(MODEL["depth"]):
        up, down = (Linear(weights, f"layers.{i}.{name}", rounded) for name in ("up", "down"))
        hidden = up.forward(x)
        x = plus(x, down.forward([[max(value, 0.0) for value in row] for row in hidden]))
        layers.append((up, down, hidden))
    head = Linear(weights, "head", rounded)
    logits = head.forward(x)
    loss, dy = 0.0, []
    for row, target in zip(logits, targets):
        most = max(row)
        total = math.fsum(math.exp(value - most) for value in row)
        loss += most + math.log(total) - row[target]
        dy.append([single((math.exp(value - most) / total - (i == target)) / len(targets)) for i, value in enumerate(row)])
    dx = head.backward(dy, gradients)
    for up, down, hidden in reversed(layers):
        inside = down.backward(dx, gradients)
        inside = [[value if before > 0 else 0.0 for value, before in zip(row, rows)] for row, rows in zip(inside, hidden)]
        dx = plus(dx, up.backward(inside, gradients))
    sums = [[[] for _ in row] for row in table]
    for token, row in zip(tokens, dx):
        for place, value in zip(sums[token], row):
            place.append(value)
    gradients["table.weight"] = [[single(math.fsum(values)) for values in row] for row in sums]
    return loss / len(targets), gradients


def train(rounded):
    """What the log of `npar train` holds."""
    weights = {}
    for name, tensor in safetensors_file.read(HERE / "mlp_initial.safetensors").items():
        width, values = tensor.shape[-1], [single(value) for value in tensor.values]
        weights[name] = [values[i : i + width] for i in range(0, len(values), width)]
    content, length, log = (HERE / "tokens.u16").read_bytes(), MODEL["length"], []
    stream = struct.unpack(f"<{len(content) // 2}H", content)
    for step in range(TRAIN["steps"]):
        begin, count = step * TRAIN["batch"] * length, TRAIN["batch"] * length
        loss, gradients = gradients_of(weights, stream[begin : begin + count], stream[begin + 1 : begin + 1 + count], rounded)
        norm = math.sqrt(math.fsum(value * value for rows in gradients.values() for row in rows for value in row))
        for name, rows in gradients.items():
            weights[name] = [[single(w - TRAIN["lr"] * g) for w, g in zip(row, grads)] for row, grads in zip(weights[name], rows)]
        log.append({"loss": loss, "grad_norm": norm})
    return log


def main():
    recorded = {"model": MODEL, "train": TRAIN, "f32": train(False), "tf32": train(True)}
    (HERE / "tf32_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")
    for exact, rounded in zip(recorded["f32"], recorded["tf32"]):
        print(f"loss {exact['loss']:.7f} {rounded['loss']:.7f}, gradient norm {exact['grad_norm']:.7f} {rounded['grad_norm']:.7f}")


if __name__ == "__main__":
    main()
