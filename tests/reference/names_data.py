"""Sizes and data of the T5 of names_reference.py, for the recording script and for the test: the same every time, of the standard library."""

import random

from safetensors_file import Tensor

T5 = {"vocab": 61, "width": 16, "inner": 24, "heads": 4, "depth": 2, "decoder_depth": 3, "buckets": 8, "farthest": 10, "sources": 14, "length": 12}
BATCH, STEPS = 8, 3


def data():
    chance = random.Random(23)
    row = lambda length: Tensor([STEPS * BATCH, length], [chance.randrange(T5["vocab"]) for _ in range(STEPS * BATCH * length)], "I32")  # noqa: E731
    return {"read": row(T5["sources"]), "tokens": row(T5["length"]), "targets": row(T5["length"])}
