"""npar: a compiler and an engine for parallel training.

    import npar
    p = npar.compile("hello.npar")        # a model and its parallel plan, compiled into one program per rank
    p.why()                               # why the ranks communicate
    t = npar.Trainer(p)                   # all ranks, in this process
    t.step(tokens=x, targets=y).loss      # one step from your arrays

`python -m npar --docs` prints the folder of the documents: tools/python/README.md, the language in dsl/LANGUAGE.md and dsl/PLANS.md.
"""

from ._arrays import Piece, View
from ._errors import (
    CheckFailed, CompileError, Diagnostic, Edit, Error, Fix, InputError, InternalError, RunError, Stopped, Timeout, UsageError,
)
from ._explain import AnnotatedPlan, Explanation, annotate, explain
from ._loader import ArrayLoader
from ._magic import load_ipython_extension  # for `%load_ext npar`
from ._native import version as __version__
from ._pictures import Page, Picture, Report
from ._program import (
    Collective, Input, Memory, Mesh, Output, Parameter, Program, Summary, Why, compile, from_bytes, load, machines,
    models, open,
)
from ._reports import Figures, PlanReport, Prediction, VerifyReport, plan, simulate, verify
from ._results import Evaluation, Generated, StepResult
from ._state import StateDict
from ._trainer import Trainer

__all__ = [
    "AnnotatedPlan", "ArrayLoader", "CheckFailed", "Collective", "CompileError", "Diagnostic", "Edit", "Error", "Evaluation", "Explanation",
    "Figures", "Fix", "Generated", "Input", "InputError", "InternalError", "Memory", "Mesh", "Output", "Page", "Parameter", "Picture",
    "Piece", "PlanReport", "Prediction", "Program", "Report", "RunError", "StateDict", "StepResult", "Stopped", "Summary", "Timeout",
    "Trainer", "UsageError", "VerifyReport", "View", "Why", "annotate", "compile", "explain", "from_bytes", "load", "machines", "models",
    "open", "plan", "simulate", "verify",
]
