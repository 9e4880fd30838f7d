"""Checks of arguments that several calls take, before the library sees them."""

import collections.abc
import operator
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional

from ._errors import UsageError


def path_of(path: Any) -> str:
    """A path as the library takes it: UTF-8."""
    text = os.fsdecode(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the file name {text!r} is not Unicode: npar takes names in UTF-8, so rename it") from None
    return text


def mapping_of(value: Any, name: str, content: str) -> Mapping:
    """The value as a mapping, or TypeError with the argument's name; None is an empty one."""
    if value is not None and not isinstance(value, collections.abc.Mapping):
        raise TypeError(f"{name} has the type {type(value).__name__}: pass a dictionary of {content}")
    return value or {}


def at_least_one(function: str, **numbers: Any) -> None:
    """Refuses counts of 0 and less. What is no number the library refuses."""
    for name, number in numbers.items():
        if hasattr(number, "__index__") and number < 1:
            raise UsageError(f"{function}: {name} is {number}: it must be 1 or more")


def whole_numbers(values: Iterable[Any], name: str) -> List[int]:
    try:
        return [operator.index(each) for each in values]
    except TypeError:
        raise TypeError(f"{name} is {values!r}: pass whole numbers") from None


def given(**options) -> Dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def paths_of(data) -> Optional[List[str]]:
    if data is None:
        return None
    try:
        return [path_of(each) for each in ([data] if isinstance(data, (str, os.PathLike)) else data)]
    except TypeError:
        raise TypeError(f"data is {data!r}: pass a file, or a list of files or INPUT=FILE") from None
