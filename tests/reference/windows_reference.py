#!/usr/bin/env python3
"""The cases of windows_data.py with PyTorch's convolutions and pooling in float64: records results and gradients of a few, compares all with npar.

Needs PyTorch; the test needs only the file it wrote. In this folder:
    python3 windows_reference.py                 # records
    python3 windows_reference.py --compare NPAR  # runs npar and compares the gradients of all cases, in float64 and float32
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from torch import nn
from torch.nn import functional

import safetensors_file
import windows_data
from windows_data import CASES

RECORDED = [5, 7, 16, 20, 34, 36, 43, 45, 53, 56, 62, 64, 65, 66, 68, 69, 70, 71]  # of each kind, with what differs most
torch.set_default_dtype(torch.float64)


def result(case, x, w):
    if case["last"]:
        x = x.permute(0, 3, 4, 1, 2)
    n, groups, channels, height, width = x.shape
    image = x.reshape(n, groups * channels, height, width)
    pads = [each for pair in reversed(case["padding"]) for each in pair]
    if case["kind"] == "conv":
        kernel = w.reshape(-1, *w.shape[2:])
        y = functional.conv2d(functional.pad(image, pads), kernel, stride=case["stride"], dilation=case["dilation"], groups=groups)
    elif case["kind"] == "transposed":
        kernel = w.reshape(-1, *w.shape[2:])
        before, after = zip(*case["padding"])
        y = functional.conv_transpose2d(image, kernel, stride=case["spread"], padding=before, output_padding=after, dilation=case["dilation"], groups=groups)
    elif case["kind"] == "max":
        padding = tuple(pair[0] for pair in case["padding"])
        y = functional.max_pool2d(image, case["kernel"], case["stride"], padding, case["dilation"], ceil_mode=case["ceil"])
    else:
        padding = tuple(pair[0] for pair in case["padding"])
        y = functional.avg_pool2d(image, case["kernel"], case["stride"], padding, ceil_mode=case["ceil"], count_include_pad=case["counts"])
    return y.reshape(n, groups, -1, *y.shape[2:])


def gradients(number):
    case = CASES[number]
    tensors = {name: torch.tensor(list(tensor.values)).reshape(tensor.shape).requires_grad_() for name, tensor in windows_data.weights([number]).items()}
    x, w, t = (tensors.get(f"{letter}{number}") for letter in "xwt")
    y = result(case, x, w)
    assert y.shape == t.shape, (number, case, y.shape, t.shape)
    (y * t).sum().backward()
    return {name: tensor.grad for name, tensor in tensors.items()}


def layer_gradients():
    """Of the layers of the standard library, by PyTorch's modules."""
    tensors = {name: torch.tensor(list(tensor.values)).reshape(tensor.shape).requires_grad_() for name, tensor in windows_data.layer_weights().items()}
    window = dict(kernel_size=(3, 2), stride=2, padding=1)
    modules = {"conv": nn.Conv2d(6, 8, groups=2, **window), "norm": nn.GroupNorm(2, 6), "largest": nn.MaxPool2d(**window),
               "average": nn.AvgPool2d(**window), "inside": nn.AvgPool2d(**window, count_include_pad=False),
               "rounded": nn.AvgPool2d((4, 3), stride=2, padding=1, ceil_mode=True), "largest_part": nn.AdaptiveMaxPool2d(4),
               "part": nn.AdaptiveAvgPool2d(4), "more_parts": nn.AdaptiveAvgPool2d((9, 8))}  # fmt: skip
    for name, module in modules.items():
        own = {each: tensors[f"{name}.{each}"] for each, _ in module.named_parameters()}
        y = torch.func.functional_call(module, own, (tensors[f"x_{name}"].flatten(1, 2),))
        (y.reshape(tensors[f"t_{name}"].shape) * tensors[f"t_{name}"]).sum().backward()
    return {name: tensor.grad for name, tensor in tensors.items()}


def write(name, values):
    lines = [f"{json.dumps(key)}: {json.dumps([round(each, 12) for each in tensor.flatten().tolist()])}" for key, tensor in values.items()]
    (pathlib.Path(__file__).parent / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def record():
    write("windows_recorded.json", {name: gradient for number in RECORDED for name, gradient in gradients(number).items()})
    write("layers_recorded.json", layer_gradients())


def compare(npar, element, within):
    numbers = range(len(CASES))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "m.npar").write_text(windows_data.text(numbers))
        before = windows_data.weights(numbers)
        safetensors_file.write(folder / "w.safetensors", before)
        safetensors_file.write(folder / "scale.safetensors", {"scale": safetensors_file.Tensor([1], [1.0])})
        subprocess.run([npar, "run", "m.npar", "--plan", "none", "--set", f"compute={element}", "--weights", "w.safetensors", "--data", "scale.safetensors",
                        "--steps", "1", "--output", "after.safetensors", "--quiet"], cwd=folder, check=True)  # fmt: skip
        after = safetensors_file.read(folder / "after.safetensors")
    worst = 0
    for number in numbers:
        for name, gradient in gradients(number).items():
            found = torch.tensor(list(before[name].values)) - torch.tensor(list(after[name].values))
            apart = float((found - gradient.flatten()).abs().max() / gradient.abs().max())
            worst = max(worst, apart)
            if apart > within:
                print(f"case {number} {name}: {apart:.2e} {CASES[number]}")
    print(f"{element}: {len(CASES)} cases, largest difference {worst:.1e} of the largest entry")
    return worst < within


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        sys.exit(not (compare(sys.argv[2], "f64", 1e-12) and compare(sys.argv[2], "f32", 1e-5)))
    record()
