"""Verification, simulation and search: what can be known about a plan without training."""

import json
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from . import _native
from ._errors import CheckFailed, InputError, UsageError
from ._events import Listener
from ._pictures import Page, Picture
from ._process import using_threads
from ._program import _HTML, _JSON, _SVG, Program, _compile
from ._arguments import at_least_one
from ._request import OPTIONS as REQUEST_OPTIONS, Request
from ._tables import folded, image, size, table

Slow = Union[Mapping[str, float], str, Iterable[str]]


class Figures(Dict[str, Any]):
    """A dictionary whose members are attributes, too."""

    def __getattr__(self, name: str):
        try:
            value = self[name]
        except KeyError:
            raise AttributeError(f"there is no '{name}' here: there are {', '.join(self)}") from None
        return Figures(value) if isinstance(value, dict) else value


class VerifyReport(Figures):
    """Whether a plan computes what one rank computes. True in an `if` if all checks hold; prints as a table."""

    def __bool__(self) -> bool:
        return self["ok"]

    def raise_if_failed(self) -> "VerifyReport":
        """Raises CheckFailed with the checks that do not hold."""
        if not self:
            raise CheckFailed("\n".join(f"{check['name']}: {check['detail']}" for check in self["checks"] if not check["ok"]))
        return self

    def _title(self) -> str:
        return f"plan {self['plan']}: " + ("all checks hold" if self else "FAILED")

    def _rows(self) -> List[List[str]]:
        """Result, name, largest relative error and detail of each check."""
        rows = []
        for check in self["checks"]:
            error = check.get("max_relative_error")
            rows.append(["ok" if check["ok"] else "FAILED", check["name"], f"{error:.1e}" if isinstance(error, (int, float)) else "", check["detail"]])
        return rows

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {result:6}  {name:26} {error:>8}  {detail}" for result, name, error, detail in self._rows())])

    def _repr_html_(self) -> str:
        return table(self._title(), ["result", "check", ">relative error", "detail"], self._rows())


class Prediction(Figures):
    """A predicted training step; the members are those of `npar simulate --json`. A notebook shows its figures and its timeline."""

    def __init__(self, report: Mapping[str, Any], drawing: Optional[Callable[[int], str]] = None):
        super().__init__(report)
        self._drawing = drawing

    def _draw(self, format: int) -> str:
        if self._drawing is None:
            raise UsageError("this prediction was copied or unpickled, and pictures need its model: call npar.simulate again")
        return self._drawing(format)

    def __reduce__(self):  # without the pictures, which need the request
        return Prediction, (dict(self),)

    def timeline(self) -> Picture:
        """The predicted step, a row per stage."""
        return Picture(self._draw(_SVG), repr(self), lambda: self._draw(_JSON))

    def page(self) -> Page:
        """A page to explore the predicted step, with the step at full speed below it if ranks or links are slow."""
        return Page(self._draw(_HTML))

    def _repr_html_(self) -> str:
        def share(key: str) -> str:
            return f"{100 * self[key]:.1f} %"

        room = f" of {size(self['device_bytes'])}" if self["device_bytes"] is not None else ""
        rows = [
            ("step", f"{self['seconds_per_step'] * 1e3:.4g} ms"), ("samples per second", f"{self['samples_per_second']:,.1f}"),
            *([("MFU", share("mfu"))] if self["mfu"] is not None else []), ("computing", share("computing")), ("bubble", share("bubble")),
            ("communication only", share("exposed_communication")),
            ("memory of the largest rank", size(self["memory_bytes"]) + room + (", does NOT fit" if self["fits"] is False else "")),
            *((f"sent over {axes}", size(count)) for axes, count in self["bytes"].items()),
        ]
        hosts = f"{self['hosts']} host{'' if self['hosts'] == 1 else 's'}"
        title = f"{self['ranks']} rank{'' if self['ranks'] == 1 else 's'} on {self['machine']}, {hosts}: predicted step"
        return table(title, [], rows) + (image(self._draw(_SVG)) if self._drawing else "")

    def __repr__(self) -> str:
        memory = self.get("memory_bytes")
        parts = [f"{self['seconds_per_step'] * 1e3:.4g} ms per step"]
        if self.get("mfu") is not None:
            parts.append(f"MFU {100 * self['mfu']:.1f} %")
        parts.append(f"bubble {100 * self['bubble']:.1f} %")
        if memory is not None:
            parts.append(f"{size(memory)} per rank" + ("" if self.get("fits") is not False else ", which does NOT fit"))
        return f"<npar.Prediction: {', '.join(parts)}>"


# Choices that a line about a plan leaves out, because they change nothing.
_usual = {(f"mesh.{axis}", "1") for axis in ("dp", "pp", "ep", "cp", "tp", "sp")} | {("chunks", "1"), ("zero", "0")}
_usual |= {(key, word) for key in ("schedule", "live", "context", "recompute", "bucket", "buffer") for word in ("none",)}
_usual |= {(key, "false") for key in ("sequence", "per_step")}


class PlanReport(Figures):
    """The best plan that a search found; `tried` has all plans with their figures.

    `text` compiles as it is: `npar.compile(report.text)`, or `report.compile()`. It contains the model's text, or imports the file or the
    library model. What the model imports by `imports=` must be given again; `compile()` does.
    """

    _request: Optional[Request] = None

    def compile(self, *, kernels: bool = True, progress: bool = False) -> Program:
        """Compiles the model under the plan that was found."""
        if self["best"] is None:
            raise InputError("no plan was found that fits: see `tried`")
        request = self._request
        if request is None:
            raise UsageError("the model's text is not known here")
        return _compile(_with_plan(request, self["text"], kernels), progress)

    def _title(self) -> str:
        return (
            f"{self['model']} on {self['machine']}, {self['hosts']} host{'s' if self['hosts'] != 1 else ''}, batch {self['batch']}: "
            f"{len(self['tried'])} of {self['candidates']} candidates compiled" + (", search complete" if self["complete"] else "")
        )

    def _fastest(self) -> List[List[str]]:
        """Milliseconds per step, memory and choices of the fastest five plans that fit."""
        judged = [each for each in self["tried"] if each.get("seconds_per_step") is not None and each.get("fits") is not False]
        return [
            [
                f"{each['seconds_per_step'] * 1e3:.2f}", size(each["memory_bytes"]),
                ", ".join(f"{key} = {value}" for key, value in each["choices"].items() if (key, value) not in _usual),
            ]
            for each in sorted(judged, key=lambda each: each["seconds_per_step"])[:5]
        ]

    def __repr__(self) -> str:
        if self["best"] is None:
            return self._title() + "\nno plan fits"
        rows = (f"  {milliseconds:>9} ms  {memory:>9}  {choices}" for milliseconds, memory, choices in self._fastest())
        return "\n".join([self._title(), "", *rows, "", self["text"].rstrip()])

    def _repr_html_(self) -> str:
        if self["best"] is None:
            return table(self._title(), [], [], "no plan fits")
        return table(self._title(), [">ms per step", ">memory per rank", "choices"], self._fastest()) + folded("text of the best plan", self["text"])


def _with_plan(request: Request, text: str, kernels: bool) -> Request:
    kept = {key: value for key, value in request.given.items() if key in ("kind", "machine", "targets")}
    return Request({**kept, "settings": [], "text": text, "name": "<plan>", "without_kernels": not kernels}, request.imports)


def _request_of(model, options: Mapping[str, Any], function: str) -> Request:
    unknown = [key for key in options if key not in REQUEST_OPTIONS]
    if unknown:
        raise TypeError(f"{function}() has no argument '{unknown[0]}'; besides its own it takes {', '.join(REQUEST_OPTIONS)}")
    if isinstance(model, Program):
        if model._request is None:
            raise UsageError("the program was opened from memory, so npar does not know its text: save it, and pass the path")
        if model._opened and function != "simulate":
            raise UsageError(f"{function}: the program was opened, not compiled, so npar does not know its text: pass the model's text, or its path")
        wrong = [key for key in options if key != "machine"]
        if wrong:
            raise UsageError(f"{', '.join(wrong)}: the program is compiled already; pass its text, or compile it with these")
        return model._request.changed(**options)
    return Request.of(model, **options)


def _reported(function, request: Request, options: Dict[str, Any], progress: bool, hears=None):
    using_threads()
    with Listener(progress, hears) as listener:
        text, ok = request.call(function, {key: value for key, value in options.items() if value is not None}, listener)
    return json.loads(text), ok


def verify(
    model: Union[str, Program], *, threads: Optional[int] = None, seed: Optional[int] = None, any_size: bool = False, progress: bool = False,
    **options: Any,
) -> VerifyReport:
    """Does the plan compute what one rank computes? Trains a few steps both ways and compares every loss, gradient and parameter.

    A failed check is a report that is false, not an exception: see VerifyReport.raise_if_failed. Models of more than 5 million parameters
    need any_size=True. Other options as for `compile`.
    """
    at_least_one("verify", threads=threads)
    report, _ = _reported(_native.verify, _request_of(model, options, "verify"), dict(threads=threads, seed=seed, any_size=any_size), progress)
    return VerifyReport(report)


def simulate(
    model: Union[str, Program], *, machine: Optional[str] = None, hosts: Optional[int] = None, devices: Optional[int] = None,
    place: Optional[str] = None, slow: Optional[Slow] = None, slow_links: Optional[Slow] = None, jitter: Optional[float] = None,
    jitter_samples: Optional[int] = None, jitter_seed: Optional[int] = None, device_mtbf: Optional[float] = None,
    host_mtbf: Optional[float] = None, checkpoint_seconds: Optional[float] = None, restart_seconds: Optional[float] = None,
    total_tokens: Optional[float] = None, task_times: Optional[Sequence[float]] = None, rows_sent: Optional[Sequence[float]] = None,
    post_validated: bool = False, overlapped_gathers: bool = False, unfused_sums: bool = False, unmoved_work: bool = False,
    progress: bool = False, **options: Any,
) -> Prediction:
    """Predicts a training step on a machine that you need not have, such as "dgx-a100". tools/PLANNING.md explains the figures.

    hosts, devices  number of hosts, and of devices of each host; default: what the ranks need, and all
    place           order of ranks on hosts, such as "pp, dp, tp"; default: the plan's
    slow            slow ranks with their factors: {"rank=3": 1.5, "host=0-1": 1.2, "pp=2": 1.1}, or texts such as "rank=3:1.5"
    slow_links      slow links by their level: {"cluster": 2}
    jitter          share by which times vary at random, such as 0.05, with `jitter_samples` steps (100) and `jitter_seed`
    device_mtbf, host_mtbf  mean hours between failures of a device and of a host; they need `checkpoint_seconds`, for which training
                    waits for a checkpoint, and `restart_seconds` from a failure until training continues
    total_tokens    of the whole training, for its duration and price

    Assumptions:

    task_times      milliseconds of a stage's forward, backward, gradients of weights, and of a message, which replace the machine's
    rows_sent       shares of the rows of experts that are sent to other ranks, and to other hosts
    post_validated  the update does not wait for the norm of the gradients
    overlapped_gathers  gathers of updated parameters overlap the next step's first forward
    unfused_sums    a pass of its own adds each micro-batch's gradients to their sum
    unmoved_work    work is not moved between collectives and the first use of their results

    Other options as for `compile`.
    """
    at_least_one("simulate", hosts=hosts, devices=devices, jitter_samples=jitter_samples)
    if machine is not None:
        options["machine"] = machine
    if jitter is None and (jitter_samples is not None or jitter_seed is not None):
        raise UsageError("simulate: jitter_samples and jitter_seed need jitter, such as jitter=0.05")
    numbers = dict(
        jitter=jitter, device_mtbf=device_mtbf, host_mtbf=host_mtbf, checkpoint_seconds=checkpoint_seconds, restart_seconds=restart_seconds,
        total_tokens=total_tokens,
    )
    chosen = dict(
        hosts=hosts, devices=devices, place=place, slow=_slow(slow, "slow"), slow_links=_slow(slow_links, "slow_links"),
        jitter_samples=jitter_samples, jitter_seed=jitter_seed, task_times=_numbers(task_times, "task_times", 4),
        rows_sent=_numbers(rows_sent, "rows_sent", 2), post_validated=post_validated, overlapped_gathers=overlapped_gathers,
        unfused_sums=unfused_sums, unmoved_work=unmoved_work, **{name: _number(value, name) for name, value in numbers.items()},
    )
    chosen = {name: value for name, value in chosen.items() if value is not None}
    request = _request_of(model, options, "simulate")
    report, _ = _reported(_native.simulate, request, chosen, progress)
    return Prediction(report, lambda format: request.call(_native.simulate_draw, chosen, format, None))


def _slow(value: Optional[Slow], name: str) -> Optional[List[str]]:
    """Slow parts as texts: {"rank=3": 1.5} is "rank=3:1.5"."""
    if value is None or isinstance(value, str):
        return value if value is None else [value]
    if isinstance(value, Mapping):
        return [f"{which}:{_number(times, name):.17g}" for which, times in value.items()]
    texts = list(value)
    if not all(isinstance(each, str) for each in texts):
        raise TypeError(f"{name} is {value!r}: pass a dictionary such as {{'rank=3': 1.5}}, or texts such as 'rank=3:1.5'")
    return texts


def _number(value: Optional[float], name: str) -> Optional[float]:
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: pass a number") from None


def _numbers(values: Optional[Sequence[float]], name: str, count: int) -> Optional[List[float]]:
    if values is None:
        return None
    numbers = [number for number in (_number(each, name) for each in values) if number is not None]
    if len(numbers) != count:
        raise UsageError(f"{name} has {len(numbers)} numbers: it must have {count}")
    return numbers


def plan(
    model: Union[str, Program], *, machine: Optional[str] = None, hosts: Optional[int] = None, batch: Optional[int] = None,
    budget: Optional[float] = None, goal: Optional[str] = None, jobs: Optional[int] = None, progress: bool = False, **options: Any,
) -> PlanReport:
    """Searches the best plan for a model and a machine.

    hosts   default: one
    batch   default: the train block's
    budget  effort, not a limit: about this many compilations of a small pipeline; default 52. The neighbours of the best plans come on top
    goal    "speed", "memory" or "money"
    jobs    threads; default: the machine's

    Other options as for `compile`.
    """
    at_least_one("plan", hosts=hosts, batch=batch, jobs=jobs)
    budget = _number(budget, "budget")
    if budget is not None and not budget > 0:
        raise UsageError(f"plan: budget is {budget:g}, it must be positive")
    if machine is not None:
        options["machine"] = machine
    request = _request_of(model, options, "plan")
    if isinstance(model, Program):
        request = request.without_plan()
    report, _ = _reported(_native.plan, request, dict(hosts=hosts, batch=batch, budget=budget, goal=goal, jobs=jobs), progress)
    made = PlanReport(report)
    made._request = request
    return made
