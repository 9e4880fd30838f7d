"""Small networks of the shapes of ResNet-18 and ResNet-50, their weights by torchvision's names, and pictures, for the recording scripts and the test."""

import array
import math
import operator
import random
import zlib

from safetensors_file import Tensor

NETS = {
    "basic": {"kind": "basic", "depths": [2, 2, 2, 2], "widths": [3, 4, 5, 6], "first": 3},
    "bottleneck": {"kind": "bottleneck", "depths": [3, 4, 6, 3], "widths": [8, 8, 12, 12], "first": 4},
}
PUBLISHED = {
    "resnet18": {"kind": "basic", "depths": [2, 2, 2, 2], "widths": [64, 128, 256, 512], "first": 64},
    "resnet50": {"kind": "bottleneck", "depths": [3, 4, 6, 3], "widths": [256, 512, 1024, 2048], "first": 64},
}
PUBLISHED_SIZE, PUBLISHED_BATCH = 64, 4
SIZE, CHANNELS, CLASSES = 32, 3, 5
BATCH, TOGETHER, STEPS, RATE, MOMENTUM, DECAY, TRACKED = 16, 8, 20, 0.001, 0.9, 1e-2, 3
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def convolutions(net):
    """Pairs of a convolution's path and its norm's, with the convolution's shape."""
    result = [("conv1", "bn1", [net["first"], CHANNELS, 7, 7])]
    entering = net["first"]
    for stage, (depth, width) in enumerate(zip(net["depths"], net["widths"], strict=True)):
        inner = width if net["kind"] == "basic" else width // 4
        for block in range(depth):
            path = f"layer{stage + 1}.{block}."
            if net["kind"] == "basic":
                shapes = [[inner, entering, 3, 3], [width, inner, 3, 3]]
            else:
                shapes = [[inner, entering, 1, 1], [inner, inner, 3, 3], [width, inner, 1, 1]]
            result += [(f"{path}conv{i + 1}", f"{path}bn{i + 1}", shape) for i, shape in enumerate(shapes)]
            if block == 0 and (stage > 0 or entering != width):
                result.append((path + "downsample.0", path + "downsample.1", [width, entering, 1, 1]))
            entering = width
    return result


def drawn(name, shape, scale, middle=0.0):
    """Multiples of 2^-12, which float32 holds exactly."""
    chance = random.Random(zlib.crc32(name.encode()))
    return Tensor(shape, [middle + round(chance.gauss(0, scale) * 4096) / 4096 for _ in range(math.prod(shape))])


def drawn_quickly(name, shape, scale, middle=0.0):
    """Multiples of a power of two, uniform: millions of them in a second."""
    chance = random.Random(zlib.crc32(name.encode()))
    numbers = array.array("h", chance.randbytes(2 * math.prod(shape)))
    unit = 2.0 ** (round(math.log2(scale * math.sqrt(3))) - 15)
    return Tensor(shape, [middle + unit * number for number in numbers])


def summary(values):
    """The norm, and sums over every second and every fifth value: three numbers for a tensor of millions."""
    return [math.sqrt(math.fsum(map(operator.mul, values, values))), math.fsum(values[::2]), math.fsum(values[::5])]


def named(tensors):
    """Values for tensors by their names, given their types and shapes."""
    result = {}
    for name, (element, shape) in tensors.items():
        if element == "I64":
            result[name] = Tensor(shape, [TRACKED], element)
        else:
            middle = float(name.endswith(("normalization.weight", "running_var")))
            result[name] = drawn(name, shape, math.sqrt(2 / math.prod(shape[1:])) if len(shape) > 1 else 0.1, middle)
    return result


def weights(net, drawn=drawn):
    """Parameters and buffers under torchvision's names."""
    result = {}

    def add(name, *more):
        result[name] = drawn(name, *more)

    for conv, norm, shape in convolutions(net):
        add(conv + ".weight", shape, math.sqrt(2 / math.prod(shape[1:])))
        last = norm.endswith("bn2" if net["kind"] == "basic" else "bn3")
        add(norm + ".weight", shape[:1], 0.1, 0.25 if last else 1.0)  # small ones keep rounding errors of deep networks small
        add(norm + ".bias", shape[:1], 0.1)
        result[norm + ".running_mean"] = Tensor(shape[:1], [0.0] * shape[0])
        result[norm + ".running_var"] = Tensor(shape[:1], [1.0] * shape[0])
        result[norm + ".num_batches_tracked"] = Tensor([], [TRACKED], "I64")
    add("fc.weight", [CLASSES, net["widths"][-1]], 0.5)
    add("fc.bias", [CLASSES], 0.2)
    return result


def data(samples=BATCH * STEPS, side=SIZE):
    """Pictures whose classes differ in brightness, and labels."""
    chance = random.Random(3)
    labels = [chance.randrange(CLASSES) for _ in range(samples)]
    size = CHANNELS * side * side
    pixels = b"".join(bytes(byte // 2 + 25 * label for byte in chance.randbytes(size)) for label in labels)
    return {"image": Tensor([samples, CHANNELS, side, side], list(pixels), "U8"), "label": Tensor([samples], labels, "I32")}


def floats():
    """A batch of pictures that are normalized already."""
    return {"image": drawn("image", [BATCH, CHANNELS, SIZE, SIZE], 1.0), "label": Tensor([BATCH], [i % CLASSES for i in range(BATCH)], "I32")}
