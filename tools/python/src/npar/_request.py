"""The model of a call: recognizes texts, files, folders and library models, and keeps the request for other uses of the same model."""

import os
import pathlib
from typing import Any, Callable, Dict, Mapping, Optional, Union

from ._arguments import mapping_of, path_of
from ._errors import CompileError, UsageError

Imports = Union[Mapping[str, str], Callable[[str], Optional[str]]]

# The arguments of Request.of after the model.
OPTIONS = ("plan", "train", "config", "set", "imports", "machine", "targets", "kind", "kernels", "name")
KINDS = {"training": 0, "evaluation": 1, "generation": 2}


def word_of(value: Any) -> str:
    """A setting as a model text writes it."""
    if value is None:
        return "none"
    if type(value).__name__ in ("bool", "bool_"):  # Python's and NumPy's
        return "true" if value else "false"
    word = str(value)
    if not word:
        raise UsageError("a setting is empty: give a value, such as set={'width': 32}")
    return word


class Request:
    """A model with its plan and settings. Copies made by `changed` compile the same model for something else."""

    def __init__(self, given: Dict[str, Any], imports: Optional[Callable[[str], Optional[str]]]):
        self.given, self.imports = given, imports

    @classmethod
    def of(
        cls, model, *, plan=None, train=None, config=None, set=None, imports=None, machine=None, targets=(), kind="training",
        kernels=True, name=None,
    ) -> "Request":
        if kind not in KINDS:
            raise UsageError(f"kind is {kind!r}: training, evaluation or generation")
        given: Dict[str, Any] = {"kind": KINDS[kind], "without_kernels": not kernels}
        given.update(_source_of(model))
        for key, value in (("plan", plan), ("train", train), ("config", config), ("machine", machine), ("name", name)):
            if value is not None:
                given[key] = os.fspath(value)
        mapping_of(set, "set", "settings, such as {'batch': 8}")
        given["settings"] = [(str(key), word_of(value)) for key, value in (set or {}).items()]
        given["targets"] = [targets] if isinstance(targets, str) else list(targets)
        if imports is not None and not callable(imports):
            imports = mapping_of(imports, "imports", "texts by the names that other texts import, or a function").get
        return cls(given, imports)

    def changed(self, **changes) -> "Request":
        return Request({**self.given, **{key: value for key, value in changes.items() if value is not None}}, self.imports)

    def without_plan(self) -> "Request":
        return Request({key: value for key, value in self.given.items() if key != "plan"}, self.imports)

    def call(self, function, *arguments):
        """Calls a function of the library with this request; a located error gets to know its text."""
        try:
            return function(self.given, *arguments, self.imports)
        except CompileError as error:
            error._source = self._named_text()
            raise

    def _named_text(self):
        if "text" in self.given:
            return self.given.get("name", "<text>"), self.given["text"]
        path = self.given.get("file", "")
        if path and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return path, file.read()
        return None


def _source_of(model) -> Dict[str, str]:
    if isinstance(model, pathlib.PurePath):
        return {"folder" if os.path.isdir(model) else "file": path_of(model)}
    if not isinstance(model, str):
        raise TypeError(f"a model is a text, a path or the name of a library model, not {type(model).__name__}")
    if not model.strip():
        raise UsageError("the model text is empty")
    if "\n" in model or "{" in model:
        return {"text": model}
    return {"folder" if os.path.isdir(model) else "file": model}
