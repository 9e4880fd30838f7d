"""What the lines of a plan do, and which kinds of parallelism pay off for a model on a machine."""

from typing import Any, Optional, Union

from . import _native
from ._program import Program
from ._reports import Figures, _reported, _request_of
from ._arguments import at_least_one
from ._tables import table


class AnnotatedPlan(Figures):
    """The text of a plan with the effects of each line; the members are those of `npar inspect annotate --json`. Prints as the text."""

    def __repr__(self) -> str:
        width = max((len(each["text"]) for each in self["lines"] if each["effects"]), default=0)
        return "\n".join(
            f"{each['text']:{width}}  #= {'; '.join(dict.fromkeys(each['effects']))}" if each["effects"] else each["text"] for each in self["lines"]
        )


class Explanation(Figures):
    """Which kinds of parallelism pay off; the members are those of `npar explain --json`. Prints as questions with answers."""

    def _title(self) -> str:
        hosts = f"{self['hosts']} host{'' if self['hosts'] == 1 else 's'}"
        return f"{self['model']} on {self['machine']}, {hosts}, batch {self['batch']}: {self['simulated']} plans simulated"

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"\n{each['question']}\n  {each['sentence']}" for each in self["questions"])])

    def _repr_html_(self) -> str:
        return table(self._title(), ["question", "answer"], [(each["question"], each["sentence"]) for each in self["questions"]])


def annotate(model: Union[str, Program], *, progress: bool = False, **options: Any) -> AnnotatedPlan:
    """The text of a plan with the effect of each line: collectives, bytes, memory that a clause saves.

    Options as for `compile`.
    """
    report, _ = _reported(_native.annotate, _request_of(model, options, "annotate"), {}, progress)
    return AnnotatedPlan(report)


def explain(
    model: Union[str, Program], *, machine: Optional[str] = None, hosts: Optional[int] = None, batch: Optional[int] = None,
    jobs: Optional[int] = None, progress: bool = False, **options: Any,
) -> Explanation:
    """Answers which kinds of parallelism and of saving memory pay off for a model on a machine, each by two simulated plans.

    It searches a plan as `plan` does, with the same arguments; a plan of the model's own is not used. Other options as for `compile`.
    """
    at_least_one("explain", hosts=hosts, batch=batch, jobs=jobs)
    if machine is not None:
        options["machine"] = machine
    request = _request_of(model, options, "explain")
    if isinstance(model, Program):
        request = request.without_plan()
    report, _ = _reported(_native.explain, request, dict(hosts=hosts, batch=batch, jobs=jobs), progress)
    return Explanation(report)
