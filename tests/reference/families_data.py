"""Data other than token streams, on which the families of stdlib and those of transformers are trained: always the same, made by Python's standard library."""

import math
import random

BATCH, LENGTH, SOURCES, STEPS, VOCAB, KINDS, WIDTH, SIDE = 8, 16, 12, 30, 61, 3, 16, 12
SAMPLES = BATCH * STEPS
IGNORED = -100


def padded(chance, length, pad, shortest):
    """A row of tokens other than `pad`, which fills it up."""
    size = chance.randint(shortest, length)
    return [chance.choice([token for token in range(VOCAB) if token != pad]) for _ in range(size)] + [pad] * (length - size)


LABELLED = ("classify", "regress", "multi")  # one class, one number, or any of the classes for each text
PICTURES = ("picture", "floats", "distill")


def pictures(kind):
    """Bytes of three channels, perhaps with a teacher's choices, or floats of one channel."""
    chance = random.Random(kind)
    shape = [SAMPLES, 1, SIDE + 2, SIDE + 2] if kind == "floats" else [SAMPLES, 3, SIDE, SIDE]
    values = chance.choices(range(256), k=math.prod(shape))
    classes = lambda: ("I32", [SAMPLES], [chance.randrange(KINDS) for _ in range(SAMPLES)])  # noqa: E731
    if kind == "floats":
        return {"image": ("F32", shape, [value / 128 - 1 for value in values]), "label": classes()}
    result = {"image": ("U8", shape, values), "label": classes()}
    return {**result, "choice": classes()} if kind == "distill" else result


def data(kind, pad, segments=True):
    """{input: (type, shape, values)} of a task: masked, sentence, translate, one of LABELLED, whose texts may be pairs, or one of PICTURES."""
    if kind in PICTURES:
        return pictures(kind)
    chance = random.Random(kind)
    if kind == "translate":
        read = [padded(chance, SOURCES, pad, 5) for _ in range(SAMPLES)]
        targets = [[chance.randrange(VOCAB) for _ in range(LENGTH)] for _ in range(SAMPLES)]
        tokens = [[pad] + row[:-1] for row in targets]
        for row in targets:
            row[chance.randint(4, LENGTH) :] = []
            row += [IGNORED] * (LENGTH - len(row))
        return {"read": rows("I32", read), "tokens": rows("I32", tokens), "targets": rows("I32", targets)}
    tokens = [padded(chance, LENGTH, pad, 6) for _ in range(SAMPLES)]
    result = {"tokens": rows("I32", tokens)}
    if kind == "masked":
        covered = lambda token: token if token != pad and chance.random() < 0.3 else IGNORED  # noqa: E731
        result["targets"] = rows("I32", [[covered(token) for token in row] for row in tokens])
    if kind == "classify":
        result["label"] = ("I32", [SAMPLES], [chance.randrange(KINDS) for _ in range(SAMPLES)])
    if kind == "regress":
        result["label"] = ("F32", [SAMPLES], [chance.randint(-512, 512) / 256 for _ in range(SAMPLES)])
    if kind == "multi":
        result["label"] = ("F32", [SAMPLES, KINDS], [float(chance.random() < 0.4) for _ in range(SAMPLES * KINDS)])
    if kind in LABELLED and segments:
        result["segment"] = rows("I32", [[int(place >= 4) for place in range(LENGTH)] for _ in range(SAMPLES)])
    if kind == "sentence":
        result["goal"] = ("F32", [SAMPLES, WIDTH], [chance.randint(-512, 512) / 1024 for _ in range(SAMPLES * WIDTH)])
    return result


def rows(element, values):
    return (element, [len(values), len(values[0])], [value for row in values for value in row])
