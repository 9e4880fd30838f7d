"""Data and first weights of tests/end_to_end/capacity_layers.npar, for the recording script and for the test: the same every time, of the standard library."""

import random

SAMPLES, LENGTH, VOCAB, WIDTH, INNER, EXPERTS, DEPTH = 24, 16, 29, 12, 20, 4, 2
# Settings of the model. The capacity is 5 of 16 positions, or 2 of 8.
CASES = {
    "switch": {"kind": "switch"},
    "switch in parts": {"kind": "switch", "part": 8},
    "gshard": {"kind": "gshard"},
    "gshard in parts": {"kind": "gshard", "part": 8, "threshold": 0.3},
}


def data():
    """{input: (type, shape, values)}"""
    chance = random.Random(31)
    draw = lambda: [chance.randrange(VOCAB) for _ in range(SAMPLES * LENGTH)]  # noqa: E731
    return {name: ("I32", [SAMPLES, LENGTH], draw()) for name in ("tokens", "targets")}


def shapes():
    """{parameter: shape}"""
    result = {"table.weight": [VOCAB, WIDTH]}
    for i in range(DEPTH):
        result.update({f"layers.{i}.router.classifier.weight": [EXPERTS, WIDTH], f"layers.{i}.router.classifier.bias": [EXPERTS]})
        for e in range(EXPERTS):
            result.update({f"layers.{i}.mlp.experts.expert_{e}.wi.weight": [INNER, WIDTH], f"layers.{i}.mlp.experts.expert_{e}.wo.weight": [WIDTH, INNER]})
    return result


def weights():
    """{parameter: (shape, values)}"""
    chance = random.Random(37)
    result = {}
    for name, shape in shapes().items():
        count = 1
        for size in shape:
            count *= size
        result[name] = (shape, [chance.randint(-1024, 1024) / 1024 for _ in range(count)])
    return result
