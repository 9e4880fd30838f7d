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


def shard(path):
    """Tensors of a safetensors file: name -> bytes."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    return {name: raw[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]] for name, entry in header.items()}


def tensors(checkpoint):
    """Every logical tensor of a checkpoint, put together from its pieces: name -> (type, stored shape, bytes)."""
    checkpoint = pathlib.Path(checkpoint)
    text = manifest(checkpoint)
    shards = [shard(checkpoint / file["name"]) for file in text["files"]]
    return {tensor["name"]: (tensor["type"], tensor["stored"], assemble(tensor, shards)) for tensor in text["tensors"]}


def assemble(tensor, shards):
    size, shape = SIZES[tensor["type"]], tensor["shape"]
    whole = [None] * math.prod(shape)
    for piece in tensor["pieces"]:
        data = shards[piece["file"]][piece["tensor"]]
        assert len(data) == (piece["end"] - piece["begin"]) * size, tensor["name"]
        for place in range(piece["begin"], piece["end"]):
            rest, element, stride = place, 0, 1
            for start, here, there in reversed(list(zip(piece["start"], piece["shape"], shape))):
                element += (start + rest % here) * stride
                rest //= here
                stride *= there
            assert whole[element] is None, f"{tensor['name']}: element {element} is stored twice"
            at = (place - piece["begin"]) * size
            whole[element] = data[at : at + size]
    return b"".join(whole)
