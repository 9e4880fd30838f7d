"""Cases of windows, their values and one model of all of them, with the standard library only: the recording script and the test share them.

A case has tensors x, w (of convolutions) and t, and adds the sum of its result times t to the loss. So the gradient of t is the result, and those of
x and w go through the window.
"""

import math
import random

from safetensors_file import Tensor

SEED = 23


def conv(size, kernel, *, n=2, channels=2, out=3, groups=1, stride=(1, 1), dilation=(1, 1), padding=((0, 0), (0, 0)), spread=(1, 1), last=False):
    """`channels` and `out` of each group. With a spread it is a transposed convolution, whose `padding` is PyTorch's (p, output padding). `last`: the
    channels of x are its last axis."""
    return {"kind": "conv" if spread == (1, 1) else "transposed", "n": n, "channels": channels, "out": out, "groups": groups, "size": size,
            "kernel": kernel, "stride": stride, "dilation": dilation, "padding": padding, "spread": spread, "ceil": False, "last": last}  # fmt: skip


def pool(kind, size, kernel, *, n=2, channels=3, stride=(2, 2), dilation=(1, 1), padding=(0, 0), ceil=False, counts=True, last=False):
    """`counts`: an average also counts the padding, as PyTorch's `count_include_pad`."""
    return {"kind": kind, "n": n, "channels": channels, "groups": 1, "size": size, "kernel": kernel, "stride": stride, "dilation": dilation,
            "padding": tuple((p, p) for p in padding), "spread": (1, 1), "ceil": ceil, "counts": counts, "last": last}  # fmt: skip


def both(p):
    return ((p, p), (p, p))


CASES = [
    conv((6, 6), (3, 3)),
    conv((6, 5), (3, 3), padding=both(1)),
    conv((7, 7), (2, 2)),
    conv((7, 6), (2, 2), stride=(2, 2)),
    conv((7, 6), (2, 3), stride=(2, 1), padding=((0, 1), (2, 0))),
    conv((9, 8), (3, 3), stride=(2, 2), padding=both(1)),
    conv((10, 9), (7, 7), stride=(2, 2), padding=both(3), channels=3, out=2),
    conv((10, 10), (7, 7), stride=(2, 2), padding=((2, 3), (2, 3))),
    conv((5, 5), (1, 1)),
    conv((5, 6), (1, 1), stride=(2, 2)),
    conv((6, 6), (1, 1), stride=(3, 2), padding=both(1)),
    conv((5, 5), (5, 5)),
    conv((4, 4), (5, 5), padding=both(2)),
    conv((4, 3), (4, 4), padding=((2, 1), (1, 2))),
    conv((9, 9), (3, 3), dilation=(2, 2)),
    conv((9, 8), (3, 3), dilation=(2, 3), padding=((2, 2), (3, 3))),
    conv((9, 9), (2, 3), dilation=(3, 2), stride=(2, 2), padding=((1, 2), (0, 2))),
    conv((11, 8), (3, 2), dilation=(2, 1), stride=(3, 2), padding=both(1)),
    conv((6, 6), (3, 3), groups=2, channels=2, out=2),
    conv((6, 6), (3, 3), groups=3, channels=1, out=1, padding=both(1)),
    conv((7, 5), (3, 3), groups=4, channels=1, out=2, padding=both(1), stride=(2, 2)),
    conv((8, 8), (3, 3), groups=2, channels=3, out=1, dilation=(2, 2), padding=both(2)),
    conv((8, 7), (4, 3), stride=(4, 3)),
    conv((9, 9), (2, 2), stride=(3, 3)),
    conv((8, 3), (3, 1), padding=((1, 1), (0, 0))),
    conv((3, 8), (1, 3), padding=((0, 0), (1, 1)), stride=(1, 2)),
    conv((6, 6), (3, 3), n=1, channels=1, out=1),
    conv((6, 6), (3, 3), n=3, channels=5, out=7, padding=both(1)),
    conv((12, 12), (4, 4), stride=(4, 4), channels=3, out=5),
    conv((6, 6), (6, 3), padding=((3, 3), (0, 0))),
    conv((6, 5), (3, 3), padding=((3, 0), (0, 4))),
    conv((4, 4), (3, 3), spread=(2, 2)),
    conv((4, 4), (3, 3), spread=(2, 2), padding=((1, 1), (1, 1))),
    conv((4, 5), (2, 2), spread=(2, 2)),
    conv((3, 4), (4, 3), spread=(3, 2), padding=((1, 2), (1, 0))),
    conv((4, 4), (3, 3), spread=(2, 2), padding=((1, 1), (1, 1)), groups=2),
    conv((4, 3), (3, 2), spread=(2, 3), dilation=(2, 2), padding=((2, 0), (0, 1))),
    conv((3, 3), (1, 1), spread=(2, 2), padding=((0, 1), (0, 0))),
    conv((4, 4), (2, 2), spread=(3, 3), padding=((2, 0), (1, 0))),
    conv((5, 4), (4, 4), spread=(2, 2), padding=((1, 0), (1, 0)), groups=3, channels=1, out=1),
    pool("max", (6, 6), (2, 2)),
    pool("max", (7, 7), (3, 3), padding=(1, 1)),
    pool("max", (7, 8), (2, 2), ceil=True),
    pool("max", (8, 10), (3, 3), stride=(4, 4), ceil=True),
    pool("max", (6, 6), (3, 3), stride=(1, 1), padding=(1, 1)),
    pool("max", (9, 9), (3, 2), dilation=(2, 3), padding=(1, 1)),
    pool("max", (9, 7), (3, 3), stride=(3, 2), padding=(0, 1), ceil=True),
    pool("max", (5, 5), (5, 5), stride=(5, 5)),
    pool("max", (6, 7), (2, 2), stride=(1, 3), ceil=True),
    pool("max", (8, 8), (4, 4), stride=(2, 2), padding=(2, 2)),
    pool("average", (6, 6), (2, 2)),
    pool("average", (7, 7), (3, 3), padding=(1, 1)),
    pool("average", (7, 7), (3, 3), padding=(1, 1), counts=False),
    pool("average", (9, 9), (4, 4), stride=(4, 4), padding=(2, 2), ceil=True),
    pool("average", (9, 9), (4, 4), stride=(4, 4), padding=(2, 2), ceil=True, counts=False),
    pool("average", (8, 7), (3, 2), ceil=True),
    pool("average", (8, 7), (3, 2), ceil=True, counts=False),
    pool("average", (7, 10), (3, 3), stride=(2, 3), padding=(1, 0), ceil=True),
    pool("average", (5, 5), (5, 5), stride=(5, 5)),
    pool("average", (6, 5), (3, 3), stride=(1, 1), padding=(1, 1), counts=False),
    pool("average", (7, 6), (2, 2), stride=(3, 1), ceil=True),
    pool("average", (4, 4), (3, 3), stride=(3, 3), padding=(1, 1), ceil=True, counts=False),
    pool("max", (4, 5), (2, 2), stride=(2, 2), padding=(1, 1), ceil=True),
    pool("max", (10, 9), (3, 3), stride=(2, 2), padding=(1, 1), channels=1),
    # Products of the same sizes with another walk each.
    conv((9, 8), (3, 3), padding=((2, 0), (2, 0))),
    conv((9, 8), (3, 3), padding=((0, 2), (2, 0))),
    conv((9, 8), (3, 3), padding=((0, 2), (0, 2))),
    # Both orders of channels and pixels in memory, with numbers of channels that are no power of two.
    conv((8, 7), (3, 3), n=1, channels=5, out=7, stride=(2, 2), padding=both(1)),
    conv((8, 7), (3, 3), n=1, channels=5, out=7, stride=(2, 2), padding=both(1), last=True),
    conv((6, 6), (3, 3), n=1, groups=3, channels=5, out=3, padding=both(1), last=True),
    pool("max", (7, 8), (3, 3), n=1, channels=5, padding=(1, 1), last=True),
    pool("average", (7, 8), (2, 2), n=1, channels=7, ceil=True, counts=False, last=True),
]


def count(case, i):
    """The number of windows along axis i: the formula of PyTorch's documentation."""
    before, after = case["padding"][i]
    size, span, stride = case["size"][i], case["dilation"][i] * (case["kernel"][i] - 1) + 1, case["stride"][i]
    if case["kind"] == "transposed":
        return (size - 1) * case["spread"][i] - 2 * before + span + after
    free = size + before + after - span
    result = (free + (stride - 1 if case["ceil"] else 0)) // stride + 1
    return result - 1 if case["ceil"] and (result - 1) * stride >= size + before else result


def shapes(number):
    """The shapes of a case's tensors by name."""
    case = CASES[number]
    positions, convolves = (count(case, 0), count(case, 1)), "out" in case
    channels = [case["groups"], case["channels"]]
    x = [case["n"], *case["size"], *channels] if case["last"] else [case["n"], *channels, *case["size"]]
    out = [case["n"], case["groups"], case["out"] if convolves else case["channels"], *positions]
    result = {f"x{number}": x, f"t{number}": out}
    if convolves:
        transposed = case["kind"] == "transposed"
        inner = [case["channels"], case["out"]] if transposed else [case["out"], case["channels"]]
        result[f"w{number}"] = [case["groups"], *inner, *case["kernel"]]
    return result


def weights(numbers):
    """Values with few digits."""
    tensors = {}
    for number in numbers:
        chance = random.Random(SEED + number)
        for name, shape in shapes(number).items():
            size = 1
            for each in shape:
                size *= each
            tensors[name] = Tensor(shape, [chance.randrange(-64, 65) / 32 for _ in range(size)])
    return tensors


def walk(case, i):
    """The arguments of `windows` along axis i."""
    before, after = case["padding"][i]
    words = [f"stride = {case['stride'][i]}"]
    if case["kind"] == "transposed":
        # PyTorch's transposed convolution is the gradient of a convolution: the input spread out, the window in reverse order.
        span = case["dilation"][i] * (case["kernel"][i] - 1)
        words += [f"spread = {case['spread'][i]}", f"dilation = {-case['dilation'][i]}", f"padding = [{span - before}, {span - before + after}]"]
    else:
        words += [f"dilation = {case['dilation'][i]}", f"padding = [{before}, {after}]"]
    return ", ".join(words + (["ceil = true"] if case["ceil"] else []))


def part(number):
    """The declarations of a case and its term of the loss."""
    case, m = CASES[number], number
    lines = [f"axis n{m} = {case['n']}, g{m} = {case['groups']}, c{m} = {case['channels']}, h{m} = {case['size'][0]}, v{m} = {case['size'][1]}",
             f"axis k{m} = {case['kernel'][0]}, l{m} = {case['kernel'][1]}",
             f"axis y{m} = window_count(h{m}, k{m}, {walk(case, 0)}), z{m} = window_count(v{m}, l{m}, {walk(case, 1)})",
             f"param x{m}: [" + (f"n{m}, h{m}, v{m}, g{m}, c{m}" if case["last"] else f"n{m}, g{m}, c{m}, h{m}, v{m}") + "] = zeros"]  # fmt: skip
    fill = ', fill = "-inf"' if case["kind"] == "max" else ""

    inner = f"windows(x{m}, over = h{m}, to = y{m}, by = k{m}, {walk(case, 0)}{fill})"
    walked = f"windows({inner}, over = v{m}, to = z{m}, by = l{m}, {walk(case, 1)}{fill})"

    channel = f"c{m}"
    if "out" in case:
        channel = f"o{m}"
        features = f"c{m}, o{m}" if case["kind"] == "transposed" else f"o{m}, c{m}"
        lines += [f"axis o{m} = {case['out']}", f"param w{m}: [g{m}, {features}, k{m}, l{m}] = zeros"]
        result = f"einsum({walked}, w{m}, over = [c{m}, k{m}, l{m}])"
    elif case["kind"] == "max":
        result = f'max({walked}, over = [k{m}, l{m}], ties = "first")'
    else:
        # A window counts the entries inside the image, or inside the image and its padding.
        for i, (axis, to, by) in enumerate([(f"h{m}", f"y{m}", f"k{m}"), (f"v{m}", f"z{m}", f"l{m}")]):
            size = case["size"][i] + (2 * case["padding"][i][0] if case["counts"] else 0)
            first = 0 if case["counts"] else case["padding"][i][0]
            last = (count(case, i) - 1) * case["stride"][i] + case["kernel"][i] - size - first  # beyond everything
            lines += [f"axis {axis}p = {size}",
                      f"s{axis} = sum(windows(float(index({axis}p)) * 0.0 + 1.0, over = {axis}p, to = {to}, by = {by}, stride = {case['stride'][i]}, padding = [{first}, {last}]), over = {by})"]  # fmt: skip
        result = f"sum({walked}, over = [k{m}, l{m}]) / (sh{m} * sv{m})"
    lines.append(f"param t{m}: [n{m}, g{m}, {channel}, y{m}, z{m}] = zeros")
    lines.append(f"a{m} = sum(({result}) * t{m}, over = [n{m}, g{m}, {channel}, y{m}, z{m}])")
    return lines


def text(numbers):
    """One model of the cases. A step of Sgd with rate 1 subtracts the gradients."""
    lines = ["model Windows() {", "axis batch", "input scale: f32[batch]"]
    for number in numbers:
        lines += part(number)
    lines += ["loss scale * (" + " + ".join(f"a{number}" for number in numbers) + ")", "}",
              "train base for Windows { batch 1 optimizer Sgd(lr = 1.0) }"]  # fmt: skip
    return "\n".join(lines) + "\n"


# Layers of the standard library: the call and the axes of the result (those of the operand are n, group, inner, row and column).
LAYERS = {
    "conv": ("Conv(inner, out, row, column, y, z, kh, kw, stride = 2, padding = 1, group = group)", "n, group, out, y, z"),
    "norm": ("GroupNorm(group, inner, row, column)", "n, group, inner, row, column"),
    "largest": ("MaxPool(row, column, y, z, kh, kw, stride = 2, padding = 1)", "n, group, inner, y, z"),
    "average": ("AveragePool(row, column, y, z, kh, kw, stride = 2, padding = 1)", "n, group, inner, y, z"),
    "inside": ("AveragePool(row, column, y, z, kh, kw, stride = 2, padding = 1, counts_padding = false)", "n, group, inner, y, z"),
    "rounded": ("AveragePool(row, column, y, z, ph, kh, stride = 2, padding = 1, ceil = true)", "n, group, inner, y, z"),
    "largest_part": ("AdaptiveMaxPool(row, column, y, z)", "n, group, inner, y, z"),
    "part": ("AdaptiveAveragePool(row, column, y, z)", "n, group, inner, y, z"),
    "more_parts": ("AdaptiveAveragePool(row, column, tall, wide)", "n, group, inner, tall, wide"),
}
SIZES = {"n": 2, "group": 2, "inner": 3, "out": 4, "row": 7, "column": 6, "kh": 3, "kw": 2, "y": 4, "z": 4, "ph": 4, "tall": 9, "wide": 8}


def layer_weights():
    shapes = {"conv.weight": [8, 3, 3, 2], "conv.bias": [8], "norm.weight": [6], "norm.bias": [6]}
    for name, (_, axes) in LAYERS.items():
        shapes[f"x_{name}"] = [SIZES[axis] for axis in ("n", "group", "inner", "row", "column")]
        shapes[f"t_{name}"] = [SIZES[axis] for axis in axes.split(", ")]
    chance = random.Random(SEED)
    return {name: Tensor(shape, [chance.randrange(-64, 65) / 32 for _ in range(math.prod(shape))]) for name, shape in shapes.items()}


def layers_text():
    """One model of the layers, as of the cases."""
    lines = [f'import "{name}"' for name in ("AdaptiveAveragePool", "AdaptiveMaxPool", "AveragePool", "Conv", "GroupNorm", "MaxPool")]
    lines += ["model Layers() {", "axis batch, " + ", ".join(f"{axis} = {size}" for axis, size in SIZES.items()), "input scale: f32[batch]"]
    for name, (call, axes) in LAYERS.items():
        lines += [f"param x_{name}: [n, group, inner, row, column] = zeros", f"param t_{name}: [{axes}] = zeros", f"{name} = {call}",
                  f"s_{name} = sum({name}(x_{name}) * t_{name}, over = [{axes}])"]  # fmt: skip
    lines += ["loss scale * (" + " + ".join(f"s_{name}" for name in LAYERS) + ")", "}",
              "train base for Layers { batch 1 optimizer Sgd(lr = 1.0) }"]  # fmt: skip
    return "\n".join(lines) + "\n"
