"""Verification, simulation and search: what can be known about a plan without training."""

import json
import os
from typing import Any, Dict, Mapping, Optional, Union

from . import _native
from ._errors import CheckFailed, InputError, UsageError
from ._events import Listener
from ._process import using_threads
from ._program import Program, _compile, _size
from ._request import Request


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

    def __repr__(self) -> str:
        lines = [f"plan {self['plan']}: " + ("all checks hold" if self else "FAILED")]
        for check in self["checks"]:
            error = check.get("max_relative_error")
            figure = f"{error:.1e}" if isinstance(error, (int, float)) else ""
            lines.append(f"  {'ok' if check['ok'] else 'FAILED':6}  {check['name']:26} {figure:>8}  {check['detail']}")
        return "\n".join(lines)


class Prediction(Figures):
    """A predicted training step; the members are those of `npar simulate --json`."""

    def __repr__(self) -> str:
        memory = self.get("memory_bytes")
        parts = [f"{self['seconds_per_step'] * 1e3:.4g} ms per step"]
        if self.get("mfu") is not None:
            parts.append(f"MFU {100 * self['mfu']:.1f} %")
        parts.append(f"bubble {100 * self['bubble']:.1f} %")
        if memory is not None:
            parts.append(f"{_size(memory)} per rank" + ("" if self.get("fits") is not False else ", which does NOT fit"))
        return f"<npar.Prediction: {', '.join(parts)}>"


# Choices that a line about a plan leaves out, because they change nothing.
_usual = {(f"mesh.{axis}", "1") for axis in ("dp", "pp", "ep", "cp", "tp", "sp")} | {("chunks", "1"), ("zero", "0")}
_usual |= {(key, word) for key in ("schedule", "live", "context", "recompute", "bucket", "buffer") for word in ("none",)}
_usual |= {(key, "false") for key in ("sequence", "per_step")}


class PlanReport(Figures):
    """The best plan that a search found. `text` is the plan; `compile()` compiles it; `tried` has all plans with their figures."""

    _request: Optional[Request] = None

    def compile(self, *, kernels: bool = True, progress: bool = False) -> Program:
        """Compiles the model under the plan that was found."""
        if self["best"] is None:
            raise InputError("no plan was found that fits: see `tried`")
        request = self._request
        if request is None:
            raise UsageError("the model's text is not known here")
        return _compile(_with_plan(request, self["text"], kernels), progress)

    def __repr__(self) -> str:
        best = self["best"]
        lines = [f"{self['model']} on {self['machine']}, {self['hosts']} host{'s' if self['hosts'] != 1 else ''}, batch {self['batch']}: "
                 f"{len(self['tried'])} of {self['candidates']} candidates compiled" + (", search complete" if self["complete"] else "")]
        if best is None:
            return lines[0] + "\nno plan fits"
        lines.append("")
        rows = sorted((each for each in self["tried"] if each.get("seconds_per_step") is not None and each.get("fits") is not False), key=lambda each: each["seconds_per_step"])
        for each in rows[:5]:
            choices = ", ".join(f"{key} = {value}" for key, value in each["choices"].items() if (key, value) not in _usual)
            lines.append(f"  {each['seconds_per_step'] * 1e3:9.2f} ms  {_size(each['memory_bytes']):>9}  {choices}")
        return "\n".join(lines + ["", self["text"].rstrip()])


def _with_plan(request: Request, text: str, kernels: bool) -> Request:
    given = {key: value for key, value in request.given.items() if key in ("kind", "machine", "targets")}
    given.update(text=text, name="<plan>", without_kernels=not kernels, settings=[], targets=given.get("targets", []))
    own, imports = request.given.get("text"), request.imports
    if own is None:
        return Request(given, imports)
    name = request.given.get("name", "<text>")

    def find(wanted: str):  # the plan imports the text that the search was given
        if wanted == name or wanted == os.path.splitext(name)[0]:
            return own
        return imports(wanted) if imports else None

    return Request(given, find)


def _request_of(model, options: Mapping[str, Any]) -> Request:
    if isinstance(model, Program):
        if model._request is None:
            raise UsageError("the program was opened from memory, so npar does not know its text: save it, and pass the path")
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
    report, _ = _reported(_native.verify, _request_of(model, options), dict(threads=threads, seed=seed, any_size=any_size), progress)
    return VerifyReport(report)


def simulate(
    model: Union[str, Program], *, machine: Optional[str] = None, hosts: Optional[int] = None, jitter: Optional[float] = None,
    jitter_samples: Optional[int] = None, jitter_seed: Optional[int] = None, total_tokens: Optional[float] = None, progress: bool = False,
    **options: Any,
) -> Prediction:
    """Predicts a training step on a machine that you need not have, such as "dgx-a100".

    jitter        share by which times vary, such as 0.05
    total_tokens  of the whole training, for its duration and price

    Other options as for `compile`.
    """
    if machine is not None:
        options["machine"] = machine
    chosen = dict(hosts=hosts, jitter=jitter, jitter_samples=jitter_samples, jitter_seed=jitter_seed, total_tokens=total_tokens)
    report, _ = _reported(_native.simulate, _request_of(model, options), chosen, progress)
    return Prediction(report)


def plan(
    model: Union[str, Program], *, machine: Optional[str] = None, hosts: Optional[int] = None, batch: Optional[int] = None,
    budget: Optional[float] = None, goal: Optional[str] = None, jobs: Optional[int] = None, progress: bool = False, **options: Any,
) -> PlanReport:
    """Searches the best plan for a model and a machine.

    hosts   default: one
    batch   default: the train block's
    budget  effort, in compilations of a small pipeline; default 52. The fastest plans' neighbours are compiled in addition
    goal    "speed", "memory" or "money"
    jobs    threads; default: the machine's

    Other options as for `compile`.
    """
    if budget is not None and not budget > 0:
        raise UsageError(f"plan: budget is {budget}, it must be positive")
    if machine is not None:
        options["machine"] = machine
    request = _request_of(model, options)
    report, _ = _reported(
        _native.plan, request, dict(hosts=hosts, batch=None if batch is None else int(batch), budget=None if budget is None else float(budget), goal=goal, jobs=jobs),
        progress,
    )
    made = PlanReport(report)
    made._request = request
    return made
