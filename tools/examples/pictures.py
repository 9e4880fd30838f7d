#!/usr/bin/env python3
"""Draws the pictures of the examples: two classes of insects, in the sizes of the data set hymenoptera (244 for training, 153 for evaluation).

    python3 pictures.py FOLDER [--side 64] [--seed 1]

writes FOLDER/train/ants, FOLDER/train/bees, FOLDER/val/ants and FOLDER/val/bees with PNG files. An ant is three dark round parts in a row, a bee is one
striped yellow body, each on a noisy ground, in a place, size and direction of its own.
"""

import argparse
import math
import pathlib
import random
import struct
import zlib

SIZES = {"train": {"ants": 123, "bees": 121}, "val": {"ants": 70, "bees": 83}}


def png(side, pixels):
    """An RGB picture as the bytes of a PNG file."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + pixels[3 * side * row : 3 * side * (row + 1)] for row in range(side))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines, 1)) + chunk(b"IEND", b"")


def disc(pixels, side, x, y, radius, colour):
    """Fills the rows of a disc."""
    for row in range(max(0, math.ceil(y - radius)), min(side, math.floor(y + radius) + 1)):
        half = math.sqrt(radius * radius - (row - y) ** 2)
        first, last = max(0, round(x - half)), min(side, round(x + half))
        if last > first:
            pixels[3 * (side * row + first) : 3 * (side * row + last)] = bytes(colour) * (last - first)


def insect(kind, side, chance):
    noise = bytes(60 + value // 4 for value in range(256))
    pixels = bytearray(chance.randbytes(3 * side * side).translate(noise))
    length, angle = side * chance.uniform(0.22, 0.36), chance.uniform(0, math.pi)
    x, y = (side * chance.uniform(0.35, 0.65) for _ in range(2))
    shade = chance.randint(0, 40)
    # An ant's parts touch each other; the discs of a bee overlap, so that they are one body with stripes.
    parts = [(-1, 0.55), (0, 0.35), (0.8, 0.45)] if kind == "ants" else [(step / 4, 0.6 - abs(step) / 16) for step in range(-4, 5)]
    for number, (place, radius) in enumerate(parts):
        yellow = kind == "bees" and number % 2 == 0
        colour = (200 + shade, 160 + shade, 20) if yellow else (shade, shade, shade)
        disc(pixels, side, x + place * length * math.cos(angle), y + place * length * math.sin(angle), radius * length, colour)
    return png(side, bytes(pixels))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--side", type=int, default=64, help="height and width in pixels")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    for part, classes in SIZES.items():
        for kind, count in classes.items():
            folder = options.folder / part / kind
            folder.mkdir(parents=True, exist_ok=True)
            for number in range(count):
                (folder / f"{number:03}.png").write_bytes(insect(kind, options.side, chance))


if __name__ == "__main__":
    main()
