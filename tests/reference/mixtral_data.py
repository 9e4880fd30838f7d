"""Data and first weights of tests/end_to_end/mixtral.npar, for the recording script and for the test: the same every time, of the standard library.

Every position prefers expert 1; nobody chooses expert 2.
"""

import random

BATCH, STEPS, LENGTH, VOCAB, WIDTH, INNER, HEADS, SHARED, DEPTH, EXPERTS, CHOSEN = 6, 30, 16, 37, 24, 20, 4, 2, 3, 6, 2
LIKING = [0.0, 4.0, -9.0, 0.0, 0.0, 0.0]


def data():
    """{input: (type, shape, values)}"""
    chance = random.Random(17)
    samples = BATCH * STEPS
    return {name: ("I32", [samples, LENGTH], [chance.randrange(VOCAB) for _ in range(samples * LENGTH)]) for name in ("tokens", "targets")}


def shapes():
    """{parameter: shape}, by their names in npar."""
    keys = SHARED * (WIDTH // HEADS)
    result = {"model.embed_tokens.weight": [VOCAB, WIDTH]}
    for i in range(DEPTH):
        layer = f"model.layers.{i}."
        for name, rows in [("q", WIDTH), ("k", keys), ("v", keys), ("o", WIDTH)]:
            result[f"{layer}self_attn.{name}_proj.weight"] = [rows, WIDTH]
        result.update({layer + "moe.gate.weight": [EXPERTS, WIDTH], layer + "moe.w2": [EXPERTS, WIDTH, INNER]})
        result.update({f"{layer}moe.{name}": [EXPERTS, INNER, WIDTH] for name in ("w1", "w3")})
        result.update({f"{layer}{name}_layernorm.weight": [WIDTH] for name in ("input", "post_attention")})
    return result | {"model.norm.weight": [WIDTH], "lm_head.weight": [VOCAB, WIDTH]}


def weights():
    """{parameter: (shape, values)}; the first feature carries the liking of all positions."""
    chance = random.Random(19)
    result = {}
    for name, shape in shapes().items():
        count = 1
        for size in shape:
            count *= size
        values = [chance.randint(-512, 512) / 2048 + ("norm" in name) for _ in range(count)]
        if name.endswith("embed_tokens.weight"):
            values[::WIDTH] = [2.0] * VOCAB
        if name.endswith("post_attention_layernorm.weight"):
            values[0] = 3.0
        if name.endswith("moe.gate.weight"):
            values[::WIDTH] = LIKING
        result[name] = (shape, values)
    return result


def directions(name, count):
    """A number for each element of a parameter's gradient."""
    chance = random.Random(name)
    return [chance.randint(-512, 512) / 512 for _ in range(count)]
