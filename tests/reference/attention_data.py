"""Data and first weights of tests/end_to_end/attention.npar, for the recording script and for the test: the same every time, of the standard library."""

import random

SAMPLES, LENGTH, SOURCES, VOCAB, WIDTH, HEADS, DEPTH, DISTANCES = 24, 8, 4, 13, 8, 2, 2, 4


def data():
    """{input: (type, shape, values)}. The sources of samples 0 and 9 are padding alone: no query sees any of them."""
    chance = random.Random(21)
    draw = lambda rows, columns: [chance.randrange(VOCAB) for _ in range(rows * columns)]  # noqa: E731
    source = draw(SAMPLES, SOURCES)
    for sample in (0, 9):
        source[sample * SOURCES : (sample + 1) * SOURCES] = [1] * SOURCES
    tensors = {"tokens": draw(SAMPLES, LENGTH), "targets": draw(SAMPLES, LENGTH)}
    return {name: ("I32", [SAMPLES, len(values) // SAMPLES], values) for name, values in {**tensors, "source": source}.items()}


def shapes():
    """{parameter: shape}"""
    result = {"near": [HEADS, SOURCES, SOURCES], "slope": [HEADS], "far": [DISTANCES, HEADS], "table.weight": [VOCAB, WIDTH]}
    layers = [f"enc.e{letter}" for letter in "qkvo"]
    layers += [f"h.{i}.{kind}{letter}" for i in range(DEPTH) for kind in "sc" for letter in "qkvo"]
    for layer in layers:
        result.update({f"{layer}.weight": [WIDTH, WIDTH], f"{layer}.bias": [WIDTH]})
    return result


def weights():
    """{parameter: (shape, values)}"""
    chance = random.Random(23)
    result = {}
    for name, shape in shapes().items():
        count = 1
        for size in shape:
            count *= size
        result[name] = (shape, [chance.randint(-512, 512) / 1024 for _ in range(count)])
    return result
