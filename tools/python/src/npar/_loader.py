"""Batches from arrays, and the state of loaders in checkpoints.

A loader yields dictionaries of arrays by the names of the program's inputs. With `state_dict()` and `load_state_dict(state)`, as
torchdata's StatefulDataLoader has them, a training continues at the batch after a checkpoint. The state is kept as JSON, so that reading a
checkpoint never runs code: it may hold dictionaries, lists, tuples, numbers, strings, bytes, None, and arrays of NumPy and PyTorch.
"""

import base64
import json
import sys
from typing import Any, Dict, Iterator, Mapping

from ._errors import InputError, UsageError
from ._arguments import mapping_of


def text_of(state: Any) -> str:
    return json.dumps({"schema": 1, "state": _packed(state, "state")})


def state_of(text: str) -> Any:
    return _unpacked(json.loads(text)["state"])


def _packed(value: Any, path: str) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int) and type(value) is int:
        return value
    if type(value) is float:
        return value if value == value and abs(value) != float("inf") else {"float": repr(value)}
    if isinstance(value, list):
        return [_packed(each, f"{path}[{i}]") for i, each in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": [_packed(each, f"{path}[{i}]") for i, each in enumerate(value)]}
    if isinstance(value, Mapping):
        return {"dict": [[_packed(key, path), _packed(each, f"{path}[{key!r}]")] for key, each in value.items()]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(value).decode()}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        return {"torch": [str(value.dtype).split(".")[-1], list(value.shape), base64.b64encode(flat.tobytes()).decode()]}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.kind in "iufb":
        whole = numpy.ascontiguousarray(value)
        return {"numpy": [whole.dtype.str, list(numpy.shape(value)), base64.b64encode(whole.tobytes()).decode()]}
    raise InputError(
        f"the loader's {path} has the type {type(value).__name__}, which a checkpoint cannot keep: "
        "use dictionaries, lists, numbers, strings, bytes and arrays in state_dict()"
    )


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(_unpacked(each) for each in content)
    if kind == "dict":
        return {_unpacked(key): _unpacked(each) for key, each in content}
    if kind == "bytes":
        return base64.b64decode(content)
    dtype, shape, data = content
    if kind == "torch":
        import torch  # type: ignore

        flat = torch.frombuffer(bytearray(base64.b64decode(data)), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
        return flat.view(getattr(torch, dtype)).reshape(shape)
    import numpy

    return numpy.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()


def _rows_of(array: Any, name: str) -> Any:
    """An array whose rows can be chosen by an array of numbers; lists become one of NumPy."""
    import numpy

    if isinstance(array, (list, tuple)):
        array = numpy.asarray(array)
    if not getattr(array, "shape", ()):
        raise InputError(f"ArrayLoader: '{name}' is a {type(array).__name__} without rows: pass an array of NumPy or PyTorch")
    return array


class ArrayLoader:
    """Batches of the rows of arrays, in a new order each epoch, without end. It is resumable. An evaluation takes each batch once.

    arrays   the arrays by name, all with the same number of rows
    batch    rows of a batch: `program.inputs["tokens"].shape[0]`. Rows that do not fill a batch are left out of an epoch.
    shuffle  False: in their own order
    seed     of the order
    """

    def __init__(self, arrays: Mapping[str, Any], batch: int, *, shuffle: bool = True, seed: int = 0):
        arrays = {name: _rows_of(array, name) for name, array in mapping_of(arrays, "ArrayLoader: arrays", "arrays by the names of the inputs").items()}
        rows = {name: len(array) for name, array in arrays.items()}
        for name, number in (("batch", batch), ("seed", seed)):
            if not hasattr(number, "__index__") or number < 0:
                raise InputError(f"ArrayLoader: {name} is {number!r}: pass a whole number of 0 or more")
        if not rows or len(set(rows.values())) != 1:
            raise InputError(f"ArrayLoader: the arrays must have the same number of rows, and they have {rows}")
        self._arrays, self.batch, self.shuffle, self.seed = dict(arrays), int(batch), shuffle, int(seed)
        self.rows = next(iter(rows.values()))
        if not 1 <= self.batch <= self.rows:
            raise InputError(f"ArrayLoader: a batch of {batch} rows does not fit {self.rows} rows")
        self._done = 0  # batches

    @property
    def batches_per_epoch(self) -> int:
        """Number of whole batches in a pass over the rows."""
        return self.rows // self.batch

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        import numpy

        epoch, order = -1, numpy.arange(0)
        while True:
            now, at = divmod(self._done, self.batches_per_epoch)
            if now != epoch:
                epoch = now
                order = numpy.random.default_rng([self.seed, epoch]).permutation(self.rows) if self.shuffle else numpy.arange(self.rows)
            rows = order[at * self.batch : (at + 1) * self.batch]
            self._done += 1
            yield {name: array[rows] for name, array in self._arrays.items()}

    def state_dict(self) -> Dict[str, int]:
        """The position in the data, and what it depends on."""
        return {"done": self._done, "rows": self.rows, "batch": self.batch, "seed": self.seed, "shuffle": self.shuffle}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continues from the position of `state_dict()`. Other arrays, batches or seeds are refused."""
        here = self.state_dict()
        for key, word in (("rows", "rows"), ("batch", "rows per batch"), ("seed", "seed"), ("shuffle", "shuffle")):
            if state[key] != here[key]:
                raise UsageError(f"ArrayLoader: the checkpoint's data had {word} {state[key]}, and these have {here[key]}")
        self._done = int(state["done"])

    def __repr__(self) -> str:
        arrays = ", ".join(f"{name} {list(array.shape)} {getattr(array, 'dtype', '')}".rstrip() for name, array in self._arrays.items())
        order = f"shuffled with seed {self.seed}" if self.shuffle else "in their own order"
        return f"<npar.ArrayLoader: {arrays}; batches of {self.batch} rows, {self.batches_per_epoch} per epoch, {order}; {self._done} batches done>"

    def once(self) -> Iterator[Dict[str, Any]]:
        """One pass in the arrays' own order, for `trainer.evaluate(loader.once())`."""
        for at in range(self.batches_per_epoch):
            yield {name: array[at * self.batch : (at + 1) * self.batch] for name, array in self._arrays.items()}


def endless(loader) -> Iterator[Mapping[str, Any]]:
    while True:
        empty = True
        for batch in loader:
            empty = False
            yield batch
        if empty:
            raise InputError("run: the loader has no more batches: an iterator can be used once, so pass a list or a loader")


def steps_per_epoch(loader) -> float:
    """Batches of one pass, for learning rates that are written in epochs; 0: unknown."""
    known = getattr(loader, "batches_per_epoch", None)
    if known is None:
        try:
            known = len(loader)
        except TypeError:
            known = 0
    return float(known)
