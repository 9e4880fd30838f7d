"""Reads files of torch.save with the standard library only, as strictly as `torch.load(weights_only=True)`: every other call in the pickle
is an error. Run as a script, it lets PyTorch load FILE.pt and compares every tensor with those of FILE.safetensors:

    python3 pytorch_file.py FILE.pt FILE.safetensors
"""

import array
import collections
import io
import pickle
import sys
import zipfile

STORAGES = {"FloatStorage": "f", "DoubleStorage": "d", "LongStorage": "q"}


class Storage:
    """Stands for a class of torch."""

    def __init__(self, code):
        self.code = code


def rebuild(storage, offset, size, stride, requires_grad, hooks):
    """As torch._utils._rebuild_tensor_v2, for tensors that are all of their storage, row-major."""
    count, expected = 1, []
    for length in reversed(size):
        expected.insert(0, count)
        count *= length
    assert (offset, tuple(stride), requires_grad, hooks) == (0, tuple(expected), False, {}), (offset, size, stride)
    assert count == len(storage)
    return tuple(size), storage


class Unpickler(pickle.Unpickler):
    def __init__(self, archive):
        self.archive, (self.root,) = archive, {name.split("/")[0] for name in archive.namelist()}
        super().__init__(io.BytesIO(archive.read(f"{self.root}/data.pkl")))

    def find_class(self, module, name):
        if module == "torch" and name in STORAGES:
            return Storage(STORAGES[name])
        return {("torch._utils", "_rebuild_tensor_v2"): rebuild, ("collections", "OrderedDict"): collections.OrderedDict}[module, name]

    def persistent_load(self, identity):
        word, storage, key, place, count = identity
        assert (word, place) == ("storage", "cpu")
        values = array.array(storage.code)
        values.frombytes(self.archive.read(f"{self.root}/data/{key}"))
        assert len(values) == count
        return values


def read(path):
    """{name: (shape, values)}. Checks the archive's checksums, and that the bytes of tensors begin at multiples of 64."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for entry in archive.infolist():
            archive.fp.seek(entry.header_offset)
            head = archive.fp.read(30)
            begin = entry.header_offset + 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
            assert begin % 64 == 0 and entry.compress_type == zipfile.ZIP_STORED, entry
        loaded = Unpickler(archive)
        assert archive.read(f"{loaded.root}/version") == b"3\n" and archive.read(f"{loaded.root}/byteorder") == b"little"
        return loaded.load()


def main():
    import torch
    from safetensors.torch import load_file

    wanted = load_file(sys.argv[2])
    for mapped in (False, True):
        found = torch.load(sys.argv[1], weights_only=True, mmap=mapped)
        assert set(found) == set(wanted)
        for name, tensor in wanted.items():
            assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape and torch.equal(found[name], tensor), name
    print(f"{len(wanted)} tensors are equal, in memory and mapped")


if __name__ == "__main__":
    main()
