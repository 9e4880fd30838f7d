"""Data and first weights of tests/end_to_end/losses.npar, for the recording script and for the test: the same every time, of the standard library."""

import random

SAMPLES, BATCH, LENGTH, VOCAB, WIDTH, INNER, DEPTH, KINDS, IGNORED = 27, 8, 8, 13, 8, 12, 2, 3, -100


def data():
    """{input: (type, shape, values)}; the last batch is not full, and in the second one no answer counts."""
    chance = random.Random(17)
    places = SAMPLES * LENGTH
    whole = lambda below, count: [chance.randrange(below) for _ in range(count)]  # noqa: E731
    masked = [IGNORED if chance.random() < 0.6 else target for target in whole(VOCAB, places)]
    answers = whole(KINDS, SAMPLES)
    answers[BATCH : 2 * BATCH] = [2] * BATCH
    return {
        "tokens": ("I32", [SAMPLES, LENGTH], whole(VOCAB, places)),
        "masked": ("I32", [SAMPLES, LENGTH], masked),
        "answer": ("I32", [SAMPLES], answers),
        "score": ("F32", [SAMPLES], [chance.randint(-512, 512) / 256 for _ in range(SAMPLES)]),
        "flags": ("U8", [SAMPLES], whole(256, SAMPLES)),
    }


def weights():
    """{parameter: (shape, values)}."""
    chance = random.Random(19)
    shapes = {"rate": [WIDTH], "vote": [WIDTH], "table.weight": [VOCAB, WIDTH], "judge.weight": [WIDTH, KINDS], "judge.bias": [KINDS]}
    for i in range(DEPTH):
        shapes.update({f"h.{i}.up.weight": [WIDTH, INNER], f"h.{i}.up.bias": [INNER], f"h.{i}.down.weight": [INNER, WIDTH], f"h.{i}.down.bias": [WIDTH]})
    result = {}
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        scale = 1 / 16 if name.endswith("bias") else 1  # so that verdicts differ
        result[name] = (shape, [chance.randint(-512, 512) / 1024 * scale for _ in range(count)])
    return result
