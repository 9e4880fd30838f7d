#!/usr/bin/env python3
"""tests/end_to_end/batch_norm.npar in PyTorch and float64: each group of samples is a forward pass of its own through BatchNorm1d and BatchNorm2d, whose buffers
PyTorch updates. Losses of 20 steps of SGD, the tensors afterwards, and logits of an evaluation; with full batches, and with one of three samples, which are a group that is not full.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 batch_norm_reference.py
"""

import json
import pathlib

import torch
from torch import nn

from batch_norm_data import BATCH, CHANNELS, CLASSES, COLUMNS, DEPTH, RATE, ROWS, STEPS, TOGETHER, WIDTH, data, weights


class Block(nn.Module):
    def __init__(self, momentum):
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(CHANNELS, WIDTH), nn.BatchNorm2d(WIDTH, momentum=momentum), nn.Linear(WIDTH, CHANNELS)

    def forward(self, x):  # [batch, row, column, channel]
        y = self.norm(self.up(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return x + self.down(torch.relu(y))


class Pictures(nn.Module):
    def __init__(self, momentum):
        super().__init__()
        self.blocks = nn.ModuleList(nn.ModuleDict({"block": Block(momentum)}) for _ in range(DEPTH))
        self.last, self.head = nn.BatchNorm1d(CHANNELS, momentum=momentum), nn.Linear(CHANNELS, CLASSES)

    def forward(self, x):
        for each in self.blocks:
            x = each["block"](x)
        return self.head(self.last(x.mean((1, 2))))


def stored(name, value):
    """npar's Linear stores its matrix as [in, out]."""
    return value.T if value.ndim == 2 else value


def train(samples, momentum=0.1, frozen=""):
    """`samples`: of an epoch, whose last batch may not be full. `frozen`: the beginning of the path of layers that normalise by their running statistics."""
    torch.set_default_dtype(torch.float64)
    epoch = -(-samples // BATCH)  # batches
    model = Pictures(momentum)
    first = {name: torch.tensor(values).reshape(shape) for name, (shape, values) in weights().items()}
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.copy_(stored(name, first[name]))
    rows = {name: torch.tensor(values).reshape(shape) for name, (kind, shape, values) in data(samples).items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    model.train()
    for name, module in model.named_modules():
        if frozen and name.startswith(frozen):
            module.eval()
    for step in range(STEPS):
        image, label = (rows[name][step % epoch * BATCH :][:BATCH] for name in ("image", "label"))
        logits = torch.cat([model(group) for group in image.double().split(TOGETHER)])
        loss = nn.functional.cross_entropy(logits, label.long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(rows["image"][:BATCH].double())
    tensors = {name: stored(name, value).flatten().tolist() for name, value in model.state_dict().items()}
    return {"losses": losses, "tensors": tensors, "logits": logits.flatten().tolist()}


def main():
    recorded = {
        "full": train(BATCH * STEPS),
        "last of three": train(BATCH + 3),
        "mean of all": train(BATCH + 3, momentum=None),
        "frozen": train(BATCH * STEPS, frozen="blocks.0"),
    }
    pathlib.Path(__file__).with_name("batch_norm_recorded.json").write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main()
