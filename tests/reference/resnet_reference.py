#!/usr/bin/env python3
"""ResNet in plain PyTorch and float64, with torchvision's names, on the small networks of resnet_data.py: losses of 20 steps of SGD with momentum and
decay, where each group of samples is a forward pass of its own, every gradient of the first step, parameters and buffers afterwards, and logits of an
evaluation. One step of ResNet-18 and ResNet-50 themselves on pictures of 64 x 64 pixels is recorded as three numbers for each tensor.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 resnet_reference.py
"""

import json
import pathlib

import torch
from torch import nn

import resnet_data as pictures
from safetensors_file import Tensor, write


def convolution(entering, leaving, size, stride=1):
    return nn.Conv2d(entering, leaving, size, stride=stride, padding=size // 2, bias=False)


class Block(nn.Module):
    def __init__(self, kind, entering, width, stride):
        super().__init__()
        inner = width if kind == "basic" else width // 4
        sizes = [(inner, 3, stride), (width, 3, 1)] if kind == "basic" else [(inner, 1, 1), (inner, 3, stride), (width, 1, 1)]
        self.count, channels = len(sizes), entering
        for i, (leaving, size, step) in enumerate(sizes):
            setattr(self, f"conv{i + 1}", convolution(channels, leaving, size, step))
            setattr(self, f"bn{i + 1}", nn.BatchNorm2d(leaving))
            channels = leaving
        self.downsample = None
        if stride != 1 or entering != width:
            self.downsample = nn.Sequential(convolution(entering, width, 1, stride), nn.BatchNorm2d(width))

    def forward(self, x):
        y = x
        for i in range(self.count):
            y = getattr(self, f"bn{i + 1}")(getattr(self, f"conv{i + 1}")(y))
            if i + 1 < self.count:
                y = torch.relu(y)
        return torch.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet(nn.Module):
    def __init__(self, kind, depths, widths, first, classes):
        super().__init__()
        self.conv1, self.bn1 = convolution(pictures.CHANNELS, first, 7, 2), nn.BatchNorm2d(first)
        channels = first
        for stage, (depth, width) in enumerate(zip(depths, widths, strict=True)):
            blocks = []
            for block in range(depth):
                blocks.append(Block(kind, channels, width, 2 if block == 0 and stage > 0 else 1))
                channels = width
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


def normalized(pixels):
    mean, deviation = (torch.tensor(values).reshape(3, 1, 1) for values in (pictures.MEAN, pictures.DEVIATION))
    return (pixels.double() / 255 - mean) / deviation


def train(net):
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    model = ResNet(**net, classes=pictures.CLASSES)
    model.load_state_dict({name: torch.tensor(each.values).reshape(each.shape) for name, each in pictures.weights(net).items()})
    rows = {name: torch.tensor(each.values).reshape(each.shape) for name, each in pictures.data().items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=pictures.RATE, momentum=pictures.MOMENTUM, weight_decay=pictures.DECAY)
    tensors, losses = {}, []
    model.train()
    for step in range(pictures.STEPS):
        image, label = (rows[name][step * pictures.BATCH :][: pictures.BATCH] for name in ("image", "label"))
        logits = torch.cat([model(group) for group in normalized(image).split(pictures.TOGETHER)])
        loss = nn.functional.cross_entropy(logits, label.long())
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            tensors.update({"gradient." + name: parameter.grad for name, parameter in model.named_parameters()})
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        tensors["logits"] = model(normalized(rows["image"][: pictures.BATCH]))
    tensors["losses"] = torch.tensor(losses)
    tensors.update({"after." + name: value for name, value in model.state_dict().items()})
    return tensors


def one_step(net):
    """The loss, and summaries of all gradients and running statistics."""
    model = ResNet(**net, classes=pictures.CLASSES)
    given = pictures.weights(net, pictures.drawn_quickly)
    model.load_state_dict({name: torch.tensor(each.values).reshape(each.shape) for name, each in given.items()})
    rows = pictures.data(pictures.PUBLISHED_BATCH, pictures.PUBLISHED_SIZE)
    image, label = (torch.tensor(rows[name].values).reshape(rows[name].shape) for name in ("image", "label"))
    loss = nn.functional.cross_entropy(model(normalized(image)), label.long())
    loss.backward()
    found = {"gradients": {name: parameter.grad for name, parameter in model.named_parameters()},
             "running": {name: value for name, value in model.named_buffers() if "running" in name}}  # fmt: skip
    summaries = {kind: {name: pictures.summary(value.flatten().tolist()) for name, value in tensors.items()} for kind, tensors in found.items()}
    return {"loss": loss.item(), **summaries}


def main():
    recorded = {}
    for name, net in pictures.NETS.items():
        for tensor, value in train(net).items():
            recorded[f"{name}.{tensor}"] = Tensor(value.shape, value.double().flatten().tolist(), "F64")
        print(name, recorded[name + ".losses"].values)
    write(pathlib.Path(__file__).with_name("resnet_recorded.safetensors"), recorded)
    published = {name: one_step(net) for name, net in pictures.PUBLISHED.items()}
    pathlib.Path(__file__).with_name("resnet_published_recorded.json").write_text(json.dumps(published, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
