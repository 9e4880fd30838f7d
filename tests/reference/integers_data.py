"""Data and first weights of tests/end_to_end/integers.npar and along.npar, for the recording script and for the test: the same every time, of the standard library."""

import random

SAMPLES, LENGTH, VOCAB, WIDTH, INNER, DEPTH, EXPERTS = 24, 8, 13, 8, 12, 2, 6


def data():
    """{input: (type, shape, values)}"""
    chance = random.Random(11)
    places = SAMPLES * LENGTH
    return {name: ("I32", [SAMPLES, LENGTH], [chance.randrange(VOCAB) for _ in range(places)]) for name in ("tokens", "targets")}


def shapes():
    """{model: {parameter: shape}}"""
    chooser = {"table.weight": [VOCAB, WIDTH]}
    for i in range(DEPTH):
        for name, rows, columns in [("ask", WIDTH, INNER), ("tell", WIDTH, INNER), ("down", INNER, WIDTH)]:
            chooser.update({f"h.{i}.{name}.weight": [rows, columns], f"h.{i}.{name}.bias": [columns]})
    router = {"scale": [WIDTH, EXPERTS], "begin": [1, WIDTH], "table.weight": [VOCAB, WIDTH], "places.weight": [LENGTH + 1, WIDTH]}
    router.update({"router.weight": [WIDTH, EXPERTS], "router.bias": [EXPERTS]})
    return {"integers": chooser, "along": router}


def weights(model):
    """{parameter: (shape, values)}."""
    chance = random.Random(13)
    result = {}
    for name, shape in shapes()[model].items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        result[name] = (shape, [chance.randint(-512, 512) / 1024 for _ in range(count)])
    return result
