"""Arrays in both directions: what Python lends to npar, and views of npar's memory, without a dependency on NumPy or PyTorch."""

import importlib
import sys
from typing import Any, Optional, Tuple

from ._errors import InputError

_CPU = (1, 3)  # DLPack's numbers of the processor's memory, and of such memory that CUDA has pinned


def lend(value: Any, name: str):
    """An array in the processor's memory that DLPack or the buffer protocol can read."""
    if value is None:
        raise TypeError(f"'{name}' is None: pass an array")
    if getattr(value, "requires_grad", False):
        value = value.detach()
    if getattr(value, "is_neg", bool)():  # PyTorch negates such a tensor only when it is read
        value = value.resolve_neg()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _native_numpy(numpy, value, name)
    device = getattr(value, "__dlpack_device__", None)
    if device is not None:
        if device()[0] not in _CPU:
            raise InputError(f"'{name}' is in the memory of another device: npar reads arrays of the processor, so pass {name}.cpu()")
        return value
    try:
        return memoryview(value)
    except TypeError:
        pass
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        raise TypeError(f"'{name}' is a {type(value).__name__}: pass a NumPy array, a PyTorch tensor or another array with DLPack") from None
    try:
        made = numpy.asarray(value)
    except ValueError as error:
        raise TypeError(f"'{name}' is no array: {error}") from None
    return _native_numpy(numpy, made, name)


def _native_numpy(numpy, value, name: str):
    if isinstance(value, numpy.ma.MaskedArray) and numpy.ma.is_masked(value):
        raise TypeError(f"'{name}' has masked elements, and npar has no masks: pass {name}.filled(value)")
    value = numpy.asarray(value)
    if value.dtype.kind not in "iufb":
        raise TypeError(f"'{name}' has elements of type {value.dtype}: npar reads integers, floats and bool")
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    if value.dtype.itemsize > 8:
        raise TypeError(f"'{name}' has elements of type {value.dtype}: npar reads floats of at most 64 bits")
    if any(stride % value.dtype.itemsize for stride in value.strides):  # such as a member of a packed record
        value = value.copy()
    if not value.flags.writeable and not hasattr(numpy, "__array_namespace_info__"):  # before NumPy 2 DLPack refused read-only arrays
        value = value.copy()
    return value


class View:
    """An array of npar. `numpy.from_dlpack` and `torch.from_dlpack` use its memory without a copy; `numpy.asarray` works, too.

    A view of a parameter is live: the next step changes it. It is read-only. PyTorch has no read-only tensors: never write to such a
    tensor, or use `numpy.array(view)` or `view.copy()` for memory of your own. The memory lives as long as any view of it.
    """

    def __init__(self, tensor, name: str):
        self._tensor, self.name = tensor, name

    @property
    def shape(self) -> Tuple[int, ...]:
        """Sizes of the dimensions."""
        return tuple(self._tensor.shape)

    @property
    def strides(self) -> Tuple[int, ...]:
        """In elements."""
        return tuple(self._tensor.strides)

    @property
    def dtype(self) -> str:
        """The type by name, such as "float32" or "bfloat16"."""
        return self._tensor.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for each in self.shape:
            count *= each
        return count

    @property
    def read_only(self) -> bool:
        """True for views and pieces, False for copies."""
        return self._tensor.read_only

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._tensor.device

    def __dlpack__(self, *, stream=None, max_version: Optional[Tuple[int, int]] = None, dl_device=None, copy: Optional[bool] = None):
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"'{self.name}' is in the memory of the processor, and copies to other devices are the consumer's")
        return self._tensor.capsule(max_version is not None and max_version[0] >= 1, bool(copy))

    def __array__(self, dtype=None, copy=None):
        numpy = _numpy(self)
        made = numpy.from_dlpack(self)
        if dtype is not None and numpy.dtype(dtype) != made.dtype:
            if copy is False:
                raise ValueError(f"'{self.name}' has {self.dtype}, so {dtype} needs a copy")
            return made.astype(dtype)
        return made.copy() if copy else made

    def copy(self):
        """A NumPy array with memory of its own."""
        return _numpy(self).from_dlpack(self).copy()

    def numpy(self):
        """A read-only NumPy array of the same memory."""
        return _numpy(self).from_dlpack(self)

    def torch(self):
        """A PyTorch tensor of the same memory. Do not write to it."""
        import torch  # type: ignore

        return torch.from_dlpack(self)

    def __reduce__(self):
        raise TypeError(f"'{self.name}' is a view of npar's memory, which cannot be pickled: pickle a copy, {self.name!r} of trainer.state_dict()")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<npar.{type(self).__name__} of '{self.name}': {self.dtype}{list(self.shape)}>"


class Piece(View):
    """A rectangle of a parameter on one rank, or, with ZeRO, a range of its elements in row-major order.

    owned  True: these pieces together cover the parameter exactly once; False: a replica
    flat   True: one dimension, of elements from number `first` on
    start  of a rectangle: index of its first element in the parameter
    """

    def __init__(self, tensor, name: str, rank: int, owned: bool, flat: bool, first: int, start):
        super().__init__(tensor, name)
        self.rank, self.owned, self.flat, self.first, self.start = rank, owned, flat, first, tuple(start)

    def __repr__(self) -> str:
        place = f"elements from {self.first}" if self.flat else f"from {list(self.start)}"
        return f"<npar.Piece of '{self.name}' on rank {self.rank}: {self.dtype}{list(self.shape)} {place}{'' if self.owned else ', replica'}>"


def as_numpy(view: View):
    """The view as a NumPy array, or without NumPy the view itself."""
    try:
        return view.numpy()
    except ImportError:
        return view


def _numpy(view: View):
    import numpy

    if view.dtype == "bfloat16":
        raise TypeError(f"NumPy has no bfloat16, which '{view.name}' has: use torch.from_dlpack, or read a float32 copy with trainer[name]")
    return numpy
