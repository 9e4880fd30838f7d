"""Weights and pictures of tests/end_to_end/batch_norm.npar: multiples of 1/64, which float32 holds exactly."""

import random

ROWS, COLUMNS, CHANNELS, WIDTH, CLASSES, DEPTH = 3, 2, 3, 5, 4, 2
BATCH, TOGETHER, STEPS, RATE, IGNORED, TRACKED = 8, 4, 20, 0.1, -100, 3


def draws(seed):
    generator = random.Random(seed)
    return lambda count, scale: [round(generator.gauss(0, scale) * 64) / 64 for _ in range(count)]


def weights():
    """Parameters and states by their paths: the shape and the values."""
    draw = draws(7)
    result = {}

    def norm(path, size):
        result[path + ".weight"] = ([size], [1 + value for value in draw(size, 0.2)])
        result[path + ".bias"] = ([size], draw(size, 0.2))
        result[path + ".running_mean"] = ([size], [0.0] * size)
        result[path + ".running_var"] = ([size], [1.0] * size)
        result[path + ".num_batches_tracked"] = ([], [float(TRACKED)])

    def linear(path, entries, size):
        result[path + ".weight"] = ([entries, size], draw(entries * size, 0.5))
        result[path + ".bias"] = ([size], draw(size, 0.2))

    for i in range(DEPTH):
        linear(f"blocks.{i}.block.up", CHANNELS, WIDTH)
        norm(f"blocks.{i}.block.norm", WIDTH)
        linear(f"blocks.{i}.block.down", WIDTH, CHANNELS)
    norm("last", CHANNELS)
    linear("head", CHANNELS, CLASSES)
    return result


def data(samples, seed=11):
    """Pictures whose channels have means of their own, and labels."""
    draw, generator = draws(seed), random.Random(seed + 1)
    means = [0.5, -2.0, 4.0]
    image = [value + means[i % CHANNELS] for i, value in enumerate(draw(samples * ROWS * COLUMNS * CHANNELS, 1.0))]
    return {
        "image": ("F32", [samples, ROWS, COLUMNS, CHANNELS], image),
        "label": ("I32", [samples], [generator.randrange(CLASSES) for _ in range(samples)]),
    }
