"""Records pictures in the formats that npar reads, what Pillow decodes and resizes them to, and scikit-learn's digits as IDX files.

pip install pillow scikit-learn torch; then run it in this folder. `pictures/expected.txt` has a line for each result: what was done, to which
file, the result's height, width and channels, and its bytes in hexadecimal. Bilinear resizing without antialiasing is torch's, in float64.
"""

import gzip
import io
import pathlib
import random
import struct
import zlib

FOLDER = pathlib.Path(__file__).resolve().parent / "pictures"
HEIGHT, WIDTH = 9, 13


def smooth(channels, bits=8):
    """Rows of pixels: slopes and waves, so that resizing and JPEG have something to do."""
    top = (1 << bits) - 1
    random.seed(channels)
    phases = [random.random() for _ in range(channels)]
    rows = []
    for y in range(HEIGHT):
        row = []
        for x in range(WIDTH):
            for c in range(channels):
                wave = ((x * (c + 2) + 3 * y) % 11) / 10 + phases[c] + y / HEIGHT
                row.append(int(wave / 3.1 * top) % (top + 1))
        rows.append(row)
    return rows


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png16(rows, channels):
    """A PNG with 16 bits for each number, which Pillow cannot write."""
    lines = b"".join(b"\0" + b"".join(struct.pack(">H", value) for value in row) for row in rows)
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, {1: 0, 3: 2}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def interlaced(rows):
    """A grey PNG whose pixels come in Adam7's seven passes."""
    lines = b""
    for x0, y0, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]:
        for y in range(y0, HEIGHT, dy):
            line = bytes(rows[y][x] for x in range(x0, WIDTH, dx))
            lines += b"\0" + line if line else b""
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def main():
    import numpy
    import torch
    from PIL import Image, ImageOps
    from sklearn.datasets import load_digits

    FOLDER.mkdir(exist_ok=True)
    images = lambda channels: numpy.array(smooth(channels), dtype=numpy.uint8).reshape(HEIGHT, WIDTH, channels).squeeze()
    rgb, rgba, grey = Image.fromarray(images(3)), Image.fromarray(images(4), "RGBA"), Image.fromarray(images(1), "L")
    orientation = Image.Exif()
    files = {
        "grey.png": grey, "bits.png": grey.point(lambda v: 255 * (v > 90)).convert("1"), "palette.png": rgb.quantize(7), "rgb.png": rgb, "rgba.png": rgba,
        "grey_alpha.png": rgba.convert("LA"), "grey16.png": png16(smooth(1, 16), 1), "rgb16.png": png16(smooth(3, 16), 3),
        "interlaced.png": interlaced(smooth(1)),
    }  # fmt: skip
    for turn in (2, 3, 4, 5, 6, 7, 8):
        orientation[0x0112] = turn
        saved = io.BytesIO()
        rgb.save(saved, "PNG", exif=orientation)
        files[f"turned{turn}.png"] = saved.getvalue()
    large = rgb.resize((40, 30), Image.Resampling.BICUBIC)
    for name, image, options in [
        ("rgb.jpg", large, {"quality": 90}), ("sampled.jpg", large, {"quality": 75, "subsampling": 2}), ("progressive.jpg", large, {"progressive": True}),
        ("grey.jpg", large.convert("L"), {}), ("cmyk.jpg", large.convert("CMYK"), {}),
    ]:  # fmt: skip
        saved = io.BytesIO()
        image.save(saved, "JPEG", **options)
        files[name] = saved.getvalue()
    orientation[0x0112] = 6
    saved = io.BytesIO()
    large.save(saved, "JPEG", exif=orientation)
    files["turned.jpg"] = saved.getvalue()
    for name, content in files.items():
        if isinstance(content, bytes):
            (FOLDER / name).write_bytes(content)
        else:
            content.save(FOLDER / name)

    lines = []

    def add(what, name, result):
        array = numpy.asarray(result, dtype=numpy.uint8)
        channels = 1 if array.ndim == 2 else array.shape[2]
        lines.append(f"{what} {name} {array.shape[0]} {array.shape[1]} {channels} {array.tobytes().hex()}")

    for name in files:
        image = ImageOps.exif_transpose(Image.open(FOLDER / name))
        if name == "grey16.png":  # Pillow has no conversion of 16 grey bits to 8
            add("read", name, numpy.array(smooth(1, 16)) >> 8)
            continue
        add("read", name, image.convert("L" if image.mode in ("L", "1", "LA") else "RGB"))
    add("grey", "rgb.png", rgb.convert("L"))
    for height, width in [(5, 7), (9, 6), (4, 13), (20, 31), (1, 1), (9, 13), (27, 26)]:
        add("antialiased", "rgb.png", rgb.resize((width, height), Image.Resampling.BILINEAR))
        add("nearest", "rgb.png", rgb.resize((width, height), Image.Resampling.NEAREST))
        tensor = torch.tensor(numpy.asarray(rgb)).permute(2, 0, 1)[None].double()
        scaled = torch.nn.functional.interpolate(tensor, (height, width), mode="bilinear", align_corners=False)
        add("bilinear", "rgb.png", scaled.round()[0].permute(1, 2, 0).numpy().astype(numpy.uint8))
    (FOLDER / "expected.txt").write_text("\n".join(lines) + "\n")

    digits = load_digits()
    pictures = digits.images.astype(numpy.uint8)
    for name, array in [("digits-images.idx.gz", pictures), ("digits-labels.idx.gz", digits.target.astype(numpy.uint8))]:
        head = struct.pack(">HBB", 0, 8, array.ndim) + b"".join(struct.pack(">I", size) for size in array.shape)
        (FOLDER / name).write_bytes(gzip.compress(head + array.tobytes(), 9, mtime=0))


if __name__ == "__main__":
    main()
