"""Which tokens are targets in the runs with a mask, for the recording script and for the tests: rows of very different shares."""

import random

IGNORE = -100


def target_mask(tokens, length, batch):
    """One byte per token, 1 for a target. The targets of row r are the tokens after r * length; in every third batch the first half of
    the rows has none."""
    chance = random.Random(11)
    mask = bytearray(1)
    for row in range((tokens - 1) // length):
        share = chance.choice([0.0, 0.1, 0.5, 0.9, 1.0])
        if row // batch % 3 == 0 and row % batch < batch // 2:
            share = 0.0
        mask += bytes(chance.random() < share for _ in range(length))
    return bytes(mask) + bytes(tokens - len(mask))
