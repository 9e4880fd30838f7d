"""Data and first weights of tests/end_to_end/inputs.npar, for the recording script and for the test: the same every time, of the standard library."""

import random

SAMPLES, LENGTH, CHANNELS, WORDS, KINDS, TAGS = 24, 8, 6, 13, 3, 5
WIDTH, DEPTH = 8, 2


def data():
    """{input: (type, shape, values)}; the floats are exact in float32."""
    chance = random.Random(7)
    places = SAMPLES * LENGTH
    whole = lambda below, count: [chance.randrange(below) for _ in range(count)]  # noqa: E731
    real = lambda count: [chance.randint(-512, 512) / 256 for _ in range(count)]  # noqa: E731
    return {
        "text": ("I32", [SAMPLES, LENGTH], whole(WORDS, places)),
        "kinds_of": ("U8", [SAMPLES, LENGTH], whole(KINDS, places)),
        "signal": ("F32", [SAMPLES, LENGTH, CHANNELS], real(places * CHANNELS)),
        "weight": ("F32", [SAMPLES, LENGTH], real(places)),
        "answers": ("I32", [SAMPLES, LENGTH], whole(TAGS, places)),
    }


def weights():
    """{parameter: (shape, values)}."""
    chance = random.Random(9)
    shapes = {"table.weight": [WORDS, WIDTH], "types.weight": [KINDS, WIDTH], "lift.weight": [CHANNELS, WIDTH], "lift.bias": [WIDTH]}
    for i in range(DEPTH):
        shapes.update({f"h.{i}.norm.{part}": [WIDTH] for part in ("weight", "bias")})
        for name, rows, columns in [("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH), ("mlp.c_fc", WIDTH, 2 * WIDTH), ("mlp.c_proj", 2 * WIDTH, WIDTH)]:
            shapes.update({f"h.{i}.{name}.weight": [rows, columns], f"h.{i}.{name}.bias": [columns]})
    shapes.update({"head_of.weight": [WIDTH, TAGS], "head_of.bias": [TAGS]})
    result = {}
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        result[name] = (shape, [chance.randint(-512, 512) / 1024 for _ in range(count)])
    return result
