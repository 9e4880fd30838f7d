"""Reads checkpoints in Python's standard library alone: an independent view of what the engine writes."""

import json
import math
import pathlib
import struct

SIZES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2}


def committed(folder):
    """The folders of the committed checkpoints, oldest first."""
    found = [path for path in pathlib.Path(folder).glob("step-*") if path.name[5:].isdigit()]
    return sorted(found, key=lambda path: int(path.name[5:]))


def manifest(checkpoint):
    return json.loads((pathlib.Path(checkpoint) / "manifest.json").read_text())


def places(path):
    """The places of the tensors in a safetensors file: name -> first byte, end."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return {name: tuple(8 + length + offset for offset in entry["data_offsets"]) for name, entry in header.items()}


def shard(path):
    """Tensors of a safetensors file: name -> bytes."""
    raw = path.read_bytes()
    return {name: raw[begin:end] for name, (begin, end) in places(path).items()}


def tensors(checkpoint):
    """Every logical tensor of a checkpoint, put together from its pieces: name -> (type, stored shape, bytes)."""
    checkpoint = pathlib.Path(checkpoint)
    text = manifest(checkpoint)
    shards = [shard(checkpoint / file["name"]) for file in text["files"]]
    return {tensor["name"]: (tensor["type"], tensor["stored"], assemble(tensor, shards)) for tensor in text["tensors"]}


def assemble(tensor, shards):
    """The tensor's bytes, row by row of each piece's rectangle."""
    size, shape = SIZES[tensor["type"]], tensor["shape"]
    whole, covered = bytearray(math.prod(shape) * size), bytearray(math.prod(shape))
    for piece in tensor["pieces"]:
        data = shards[piece["file"]][piece["tensor"]]
        begin, end, row = piece["begin"], piece["end"], piece["shape"][-1] if shape else 1
        assert len(data) == (end - begin) * size, tensor["name"]
        place = begin
        while place < end:
            count = min(row - place % row, end - place)
            rest, element, stride = place, 0, 1
            for start, here, there in reversed(list(zip(piece["start"], piece["shape"], shape))):
                element += (start + rest % here) * stride
                rest //= here
                stride *= there
            assert not any(covered[element : element + count]), f"{tensor['name']}: element {element} is stored twice"
            covered[element : element + count] = b"\1" * count
            whole[element * size : (element + count) * size] = data[(place - begin) * size : (place - begin + count) * size]
            place += count
    assert all(covered), f"{tensor['name']}: not every element is stored"
    return bytes(whole)
