"""The parameters of a trainer, and the rest of its state, as a mapping."""

import collections.abc
import math
from typing import Any, Dict, Iterator, List

STEPS = "#steps"  # a name next to states such as "#loss_scale", which belong to no parameter


class StateDict(collections.abc.Mapping):
    """The parameters by name, and with them what `state_dict` adds. Each is gathered when it is asked for."""

    def __init__(self, trainer, names: List[str]):
        self._trainer, self._names = trainer, names

    def __getitem__(self, name: str):
        if name not in self._names:
            raise KeyError(name)
        return self._trainer.steps if name == STEPS else self._trainer[name]

    def torch(self) -> Dict[str, Any]:
        """The same as PyTorch tensors with memory of their own, for `module.load_state_dict(trainer.state_dict().torch())`.

        Parameters have their stored shapes, as in files of weights and in the modules of transformers.
        """
        import torch  # type: ignore

        parameters = self._trainer.program.parameters
        tensors = {name: torch.tensor(self[name]) if name == STEPS else torch.from_dlpack(self._trainer._gathered(name)) for name in self._names}
        return {name: tensor.reshape(parameters[name].stored_shape) if name in parameters else tensor for name, tensor in tensors.items()}

    def __repr__(self) -> str:
        parameters = [each for name, each in self._trainer.program.parameters.items() if name in self._names]
        states = len(self._names) - len(parameters)
        values = sum(math.prod(each.shape) for each in parameters)
        first = ", ".join(f"{each.name} {list(each.shape)}" for each in parameters[:3])
        return (
            f"<npar.StateDict: {len(parameters)} parameters with {values:,} values{f', {states} states of the training' if states else ''}; "
            f"gathered when read: {first}{', ...' if len(parameters) > 3 else ''}>"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def some(names: List[str]) -> str:
    """The first few of a list of names."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
