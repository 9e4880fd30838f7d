"""Data and first weights of tests/end_to_end/states.npar, for the recording script and for the test: the same every time, of the standard library."""

import random

BATCH, STEPS, LENGTH, VOCAB, WIDTH, INNER, DEPTH, EXPERTS, CHOSEN, SPEED, RATE, CLIP = 16, 10, 8, 31, 16, 20, 2, 4, 2, 0.01, 1e-2, 1.0


def data():
    """{input: (type, shape, values)}; every fourth token or so is padding."""
    chance = random.Random(23)
    count = BATCH * STEPS * LENGTH
    tokens = [chance.choice([0, *[chance.randrange(1, VOCAB) for _ in range(3)]]) for _ in range(count)]
    targets = [chance.randrange(VOCAB) for _ in range(count)]
    return {"tokens": ("I32", [BATCH * STEPS, LENGTH], tokens), "targets": ("I32", [BATCH * STEPS, LENGTH], targets)}


def shapes():
    """{parameter or state: shape}"""
    result = {"table.weight": [VOCAB, WIDTH]}
    for i in range(DEPTH):
        layer = f"layers.{i}."
        result.update({layer + "norm.weight": [WIDTH], layer + "norm.bias": [WIDTH], layer + "moe.router.weight": [EXPERTS, WIDTH]})
        result.update({layer + "moe.up": [EXPERTS, WIDTH, INNER], layer + "moe.down": [EXPERTS, INNER, WIDTH]})
        result.update({layer + "moe.gate.e_score_correction_bias": [EXPERTS], layer + "moe.average": [WIDTH]})
    return result


def weights():
    """{parameter or state: (shape, values)}; the bias prefers the last expert at first."""
    chance = random.Random(29)
    result = {}
    for name, shape in shapes().items():
        count = 1
        for size in shape:
            count *= size
        values = [chance.randint(-512, 512) / 1024 + name.endswith("norm.weight") for _ in range(count)]
        if name.endswith("bias") and "moe" in name:
            values = [0.0, -0.5, 0.0, 0.25]
        result[name] = (shape, values)
    return result
