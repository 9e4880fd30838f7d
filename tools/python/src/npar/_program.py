"""Compiled programs and their views."""

import dataclasses
import functools
import json
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _native
from ._errors import Diagnostic, UsageError, warnings_of
from ._events import Listener
from ._pictures import Page, Picture, Report
from ._process import using_threads
from ._arguments import path_of
from ._request import KINDS, Imports, Request
from ._tables import size, table

_SUMMARY, _WHY, _BYTES, _HOSTS, _TIMELINE, _PAGE, _INPUTS, _PARAMETERS, _MESH = range(9)
_TEXT, _JSON, _SVG, _HTML = range(4)


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of the model: an array with the global batch first. `classes`: integers are 0 to classes - 1."""

    name: str
    dtype: str
    axes: Tuple[str, ...]
    shape: Tuple[int, ...]
    classes: Optional[int] = None
    ignore: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Output:
    """A result of a program that only goes forward."""

    name: str
    dtype: str
    shape: Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter with the mesh axes that split it, the pipeline stages that hold it and the names of its optimizer states.

    stored_shape  in files of weights and in PyTorch's modules, where several axes can be one dimension
    """

    name: str
    dtype: str
    axes: Tuple[str, ...]
    shape: Tuple[int, ...]
    frozen: bool
    split_by: Tuple[str, ...]
    stages: Tuple[int, ...]
    states: Tuple[str, ...]
    stored_shape: Tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Mesh:
    """The axes of the mesh, the number of ranks, and the ranks of each pipeline stage."""

    axes: Dict[str, int]
    ranks: int
    stages: Tuple[Tuple[int, ...], ...]


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes per rank of the ranks that run the same program. `arena` is all that a rank reserves."""

    ranks: Tuple[Tuple[int, int], ...]
    arena: int
    parameters: int
    gradients: int
    optimizer: int
    activations: int


@dataclasses.dataclass(frozen=True)
class Collective:
    """A collective of one training step on one rank, and why it exists. `removed_by`: a change of the plan that removes it."""

    stage: int
    kind: str
    over: str
    phase: str
    path: str
    count: int
    bytes: int
    sent_bytes: int
    cause: str
    rules: Tuple[str, ...]
    source: Tuple[str, ...]
    removed_by: str


class Why(List[Collective]):
    """The collectives of a program with their causes, the largest first, by the bytes that a rank sends. A notebook shows a table."""

    _rows_shown = 10

    def __init__(self, rows, text: str):
        super().__init__(rows)
        self.text = text

    @property
    def bytes(self) -> int:
        """Bytes that the ranks' collectives move per step, one rank of each stage counted."""
        return sum(each.bytes for each in self)

    @property
    def sent_bytes(self) -> int:
        """Bytes that a rank sends in collectives per step; under a pipeline, a rank of the stage that sends most."""
        return self._largest()[0]

    @property
    def collectives(self) -> int:
        """Number of collectives of this rank per step."""
        return self._largest()[1]

    def _largest(self) -> Tuple[int, int]:
        totals: Dict[int, Tuple[int, int]] = {}  # bytes sent and collectives, by stage
        for each in self:
            sent, count = totals.get(each.stage, (0, 0))
            totals[each.stage] = sent + each.sent_bytes, count + each.count
        return max(totals.values(), default=(0, 0))

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        stages = len({each.stage for each in self}) > 1
        columns = [*(["stage"] if stages else []), ">sent", ">times", "collective", "phase", "where", "cause", "asked for by", "removed by"]
        rows = [
            [*([each.stage] if stages else []), size(each.sent_bytes), each.count, f"{each.kind} over {each.over}", each.phase, each.path, each.cause,
             "\n".join(each.rules), each.removed_by]
            for each in self[: self._rows_shown]
        ]
        sent, count = self._largest()
        which = "a rank of the stage that sends most" if stages else "each rank"
        title = f"{self.text.splitlines()[0]}: {which} sends {size(sent)} per step, in {count} collective{'' if count == 1 else 's'}"
        rest = self[self._rows_shown :]
        return table(title, columns, rows, f"and {len(rest)} smaller ones: print() shows all" if rest else "")


class Summary(Dict[str, Any]):
    """The summary of a program as data; its members are attributes, too. Prints as a table."""

    text = ""

    def __getattr__(self, name: str):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the summary has no '{name}': it has {', '.join(self)}") from None

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        columns = ["ranks", "stage", *(">" + part for part in ("memory", "parameters", "gradients", "optimizer", "activations")), "collectives per step"]
        rows = [
            [
                ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in each["ranks"]), each.get("stage", 0),
                *(size(each[f"{part}_bytes"]) for part in ("arena", "parameter", "gradient", "optimizer", "activation")),
                "\n".join(f"{one['count']} x {one['kind']} over {one['over']}, {size(one['bytes'])}" for one in each["collectives"]),
            ]
            for each in self["classes"]
        ]
        mesh = ", ".join(f"{axis} = {length}" for axis, length in self["mesh"].items())
        ranks = f"{self['world']} rank{'' if self['world'] == 1 else 's'}{f' ({mesh})' if mesh else ''}"
        title = f"{self['model']} under plan {self['plan']}: {self['parameters']:,} parameters, {ranks}"
        return table(title, columns, rows, "memory is all that a rank reserves; print() shows more")


class Program:
    """A compiled program: one program per rank. It never changes, and any thread can use it. A notebook shows its timeline.

    Made by `npar.compile`, `npar.load` and `npar.open`.
    """

    def __init__(self, native, request: Optional[Request], opened: bool = False):
        self._native, self._request, self._opened = native, request, opened

    # -- views

    @functools.cached_property
    def inputs(self) -> Mapping[str, Input]:
        """The inputs of the model by name."""
        return {
            each["name"]: Input(each["name"], each["dtype"], tuple(each["axes"]), tuple(each["shape"]), each.get("classes"), each.get("ignore"))
            for each in self._data(_INPUTS)["inputs"]
        }

    @functools.cached_property
    def outputs(self) -> Mapping[str, Output]:
        """The results of a program that only goes forward, by name."""
        return {each["name"]: Output(each["name"], each["dtype"], tuple(each["shape"])) for each in self._data(_INPUTS)["outputs"]}

    @functools.cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, in the model's order."""
        return {
            each["name"]: Parameter(
                each["name"], each["dtype"], tuple(each["axes"]), tuple(each["shape"]), each["frozen"], tuple(each["split_by"]),
                tuple(each["stages"]), tuple(each["states"]), tuple(each["stored_shape"]),
            )
            for each in self._data(_PARAMETERS)["parameters"]
        }

    @functools.cached_property
    def _states(self) -> Tuple[str, ...]:
        """States of the training as a whole, such as the loss scale of fp16."""
        return tuple(self._data(_PARAMETERS)["states"])

    @functools.cached_property
    def mesh(self) -> Mesh:
        """The mesh: axes, ranks, stages."""
        data = self._data(_MESH)
        return Mesh({axis["name"]: axis["size"] for axis in data["mesh"]}, data["ranks"], tuple(tuple(s["ranks"]) for s in data["stages"]))

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.mesh.ranks

    @functools.cached_property
    def memory(self) -> Tuple[Memory, ...]:
        """Memory per rank, an entry for each group of ranks with the same program."""
        return tuple(
            Memory(
                tuple((first, last) for first, last in each["ranks"]), each["arena_bytes"], each["parameter_bytes"], each["gradient_bytes"],
                each["optimizer_bytes"], each["activation_bytes"],
            )
            for each in self.summary["classes"]
        )

    @functools.cached_property
    def summary(self) -> Summary:
        """Sizes, work and communication of each class of ranks: a table, and the JSON of `npar inspect --json`."""
        made = Summary(self._data(_SUMMARY))
        made.text = self._native.describe(_SUMMARY, _TEXT, {})
        return made

    @functools.cached_property
    def warnings(self) -> Tuple[Diagnostic, ...]:
        """The warnings of the compilation; none of an opened program."""
        return tuple(warnings_of(self._native.warnings()))

    def why(self) -> Why:
        """Why the ranks communicate: each collective with its bytes, its cause, and what removes it. The largest come first."""
        rows = [
            Collective(
                part.get("stage", 0), each["kind"], each["over"], each["phase"], each["path"], each["count"], each["bytes"],
                each["sent_bytes"], each["cause"], tuple(f"{rule['source']}  {rule['rule']}" for rule in each["rules"]),
                tuple(each["source"]), each["remedy"],
            )
            for part in self._data(_WHY)["classes"]
            for each in part["why"]
        ]
        rows.sort(key=lambda each: -each.sent_bytes)  # the ranks of each stage are sorted already
        return Why(rows, self._native.describe(_WHY, _TEXT, {}))

    def bytes_per_parameter(self) -> Report:
        """The bytes that each rank stores per parameter."""
        data = [{key: each[key] for key in ("ranks", "bytes_per_parameter", "parameter_shares")} for each in self._data(_BYTES)["classes"]]
        return Report(self._native.describe(_BYTES, _TEXT, {}), data)

    def hosts(self, count: int, ranks_per_host: Optional[int] = None) -> Report:
        """The traffic inside and between hosts."""
        options = {"hosts": count, **({"ranks_per_host": ranks_per_host} if ranks_per_host else {})}
        return Report(self._native.describe(_HOSTS, _TEXT, options), json.loads(self._native.describe(_HOSTS, _JSON, options)))

    def timeline(self) -> Picture:
        """The planned training step, a row per stage."""
        return Picture(self._native.describe(_TIMELINE, _SVG, {}), self._line(), lambda: self._native.describe(_TIMELINE, _JSON, {}))

    def page(self) -> Page:
        """A page to explore what each rank holds, sends and waits for."""
        return Page(self._native.describe(_PAGE, _HTML, {}))

    # -- files

    def save(self, path) -> pathlib.Path:
        """Writes the compiled program (.npx), which `npar.open` opens."""
        self._native.save(path_of(path))
        return pathlib.Path(path)

    def bytes(self) -> bytes:
        """The bytes of the .npx file, which `npar.from_bytes` opens."""
        return self._native.bytes()

    # -- notebooks

    def _line(self) -> str:
        summary = self.summary
        axes = ", ".join(f"{name} = {size}" for name, size in self.mesh.axes.items())
        arena = max(each.arena for each in self.memory)
        return (
            f"{summary['model']} under plan {summary['plan']}: {self.ranks} rank{'s' if self.ranks > 1 else ''}"
            f"{f' ({axes})' if axes else ''}, {summary['parameters']:,} parameters, at most {size(arena)} per rank"
        )

    def __repr__(self) -> str:
        return f"<npar.Program: {self._line()}>"

    def __reduce__(self):  # a native program, to be trusted like the pickle that holds it
        return _unpickled, (self.bytes(), self._request, self._opened)

    def __deepcopy__(self, memo) -> "Program":
        return self

    def _repr_mimebundle_(self, include=None, exclude=None):
        text = self._native.describe(_SUMMARY, _TEXT, {})
        return {"text/plain": text, "image/svg+xml": self._native.describe(_TIMELINE, _SVG, {})}

    def _is_kind(self, kind: str) -> bool:
        """False of an opened program, whose kind its request does not know."""
        return self._request is not None and not self._opened and self._request.given["kind"] == KINDS[kind]

    def _data(self, view: int):
        return json.loads(self._native.describe(view, _JSON, {}))

    def _compiled_for(self, kind: int) -> "Program":
        """The same model compiled for evaluation (1) or generation (2)."""
        if self._request is None or self._opened:
            raise UsageError("the program was opened, not compiled, so npar does not know its text: pass `program`, compiled for this use")
        return _compile(self._request.changed(kind=kind, without_kernels=False), progress=False)


def _unpickled(data: bytes, request: Optional[Request], opened: bool) -> Program:
    return Program(_native.from_bytes(data), request, opened)


def _compile(request: Request, progress: bool) -> Program:
    using_threads()
    with Listener(progress) as listener:
        return Program(request.call(_native.compile, listener), request)


def compile(
    model, *, plan: Optional[str] = None, train: Optional[str] = None, config: Optional[str] = None, set: Optional[Mapping[str, Any]] = None,
    imports: Optional[Imports] = None, machine: Optional[str] = None, targets=(), kind: str = "training", kernels: bool = True,
    name: Optional[str] = None, progress: bool = False,
) -> Program:
    """Compiles a model under a plan.

    model     a model text, the path of one, the name of a model of the standard library ("gpt2"), or a folder: of Hugging Face, or of
              checkpoints that npar wrote
    plan, train, config   names of blocks of the text; default: the only one. The plans of library models have 2 to 8 ranks;
              plan="none" has one
    set       settings: {"depth": 4, "mesh.tp": 2, "micro": 1}
    imports   texts by the name in `import`: a dictionary or a function; they precede files and the standard library
    machine   machine to plan for: a name, a path or a text
    targets   GPUs to compile for as well, such as "cuda:sm_90"
    kind      "training", "evaluation" (losses and outputs) or "generation"
    kernels   False: only to look at, which is faster
    name      what messages call a model text
    progress  show a progress line on standard error

    Raises CompileError, whose text shows file, line, caret and help.
    """
    request = Request.of(
        model, plan=plan, train=train, config=config, set=set, imports=imports, machine=machine, targets=targets, kind=kind,
        kernels=kernels, name=name,
    )
    return _compile(request, progress)


def load(folder, **options) -> Program:
    """Compiles the model of a folder of Hugging Face, or of a folder of checkpoints. Options as for `compile`.

    The default plan is the library model's, with 2 to 8 ranks; plan="none" has one. A Trainer of the program begins with random
    parameters: `trainer.load_weights(folder)` reads the folder's.
    """
    path = pathlib.Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"'{folder}' is not a folder")
    return compile(path, **options)


def open(path) -> Program:
    """Opens a compiled program (.npx). It holds native code: open only what you would execute."""
    return Program(_native.open(path_of(path)), Request.of(pathlib.Path(path)), opened=True)


def from_bytes(data: bytes) -> Program:
    """The same from memory."""
    if not isinstance(data, bytes):
        raise TypeError(f"from_bytes takes bytes, as program.bytes() returns them, not {type(data).__name__}")
    return Program(_native.from_bytes(data), None)


def machines() -> Tuple[str, ...]:
    """The machines of the standard library, for `machine=`."""
    return tuple(json.loads(_native.library())["machines"])


def models() -> Tuple[str, ...]:
    """The models of the standard library, for `compile`."""
    return tuple(json.loads(_native.library())["models"])
