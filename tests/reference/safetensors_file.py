"""Reads and writes safetensors files with the standard library only: the tests and the PyTorch reference share it."""

import array
import json
import struct
import sys

ELEMENTS = {"F32": ("f", 4), "F64": ("d", 8), "U8": ("B", 1), "I16": ("h", 2), "I32": ("i", 4), "I64": ("q", 8)}


class Tensor:
    """Values of one tensor, flat and row-major, with its shape. Instead of values, a memoryview has the bytes as they are stored."""

    def __init__(self, shape, values, element="F32"):
        self.shape, self.values, self.element = list(shape), values, element


def read(path):
    """Returns {name: Tensor}. Raises ValueError for element types that are not in ELEMENTS."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in ELEMENTS:
            raise ValueError(f"{path}: tensor '{name}' has element type {entry['dtype']}")
        values = array.array(ELEMENTS[entry["dtype"]][0])
        values.frombytes(data[entry["data_offsets"][0] : entry["data_offsets"][1]])
        if sys.byteorder == "big":
            values.byteswap()
        tensors[name] = Tensor(entry["shape"], values, entry["dtype"])
    return tensors


def stored(tensor):
    """The bytes of a tensor in a file."""
    if isinstance(tensor.values, memoryview):
        return tensor.values
    values = array.array(ELEMENTS[tensor.element][0], tensor.values)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def write(path, tensors):
    """Writes {name: Tensor}; the header is padded to 8 bytes as the format asks."""
    header, pieces, offset = {}, [], 0
    for name, tensor in tensors.items():
        piece = stored(tensor)
        header[name] = {"dtype": tensor.element, "shape": tensor.shape, "data_offsets": [offset, offset + len(piece)]}
        pieces.append(piece)
        offset += len(piece)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for piece in pieces:
            file.write(piece)


def write_values(path, tensors):
    """Writes {name: (element, shape, values)}."""
    write(path, {name: Tensor(shape, values, element) for name, (element, shape, values) in tensors.items()})
