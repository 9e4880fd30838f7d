"""What a step, an evaluation and a generation give."""

import dataclasses
import math
from typing import Any, Dict, Optional, Tuple

from ._events import log


@dataclasses.dataclass(frozen=True)
class StepResult:
    """One finished step. `step` counts from 0. A program that only goes forward has no grad_norm and learning_rate: they are 0. One for
    generation has no loss either.

    losses        the named losses of the model
    valid_tokens  targets of the batch that count; None: all
    skipped       True: the gradient norm was not finite, and nothing was updated
    """

    step: int
    loss: float
    grad_norm: float
    learning_rate: float
    loss_scale: float
    seconds: float
    skipped: bool
    valid_tokens: Optional[int]
    losses: Dict[str, float]
    counted: Dict[str, Optional[int]] = dataclasses.field(default_factory=dict, repr=False)  # positions of each named loss
    evaluation: Optional["Evaluation"] = None
    checkpoint: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The measures over data that the training does not see. `data`: the JSON of `npar eval --json`.

    loss        None of a model without a loss; NaN, with a warning, if it is not finite
    perplexity  of a model that predicts tokens, else None
    losses, metrics  the named ones, each None where it is undefined
    samples     None if npar read a stream of tokens
    """

    loss: Optional[float]
    perplexity: Optional[float]
    losses: Dict[str, Optional[float]]
    metrics: Dict[str, Optional[float]]
    samples: Optional[int]
    data: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass(frozen=True)
class Generated:
    """The continuation of a prompt. `text` is None without a tokenizer."""

    tokens: Tuple[int, ...]
    prompt_tokens: Tuple[int, ...]
    text: Optional[str]

    def __str__(self) -> str:
        return self.text if self.text is not None else " ".join(map(str, self.tokens))


def is_unsound(result: StepResult) -> bool:
    """True if the loss is not finite, or the gradients are not, except where fp16 skips a step to find its loss scale."""
    return not math.isfinite(result.loss) or not (math.isfinite(result.grad_norm) or result.loss_scale > 1)


def evaluation_of(report: Dict[str, Any], samples: Optional[int]) -> Evaluation:
    loss = report.get("loss")
    if loss is None and "loss" in report:  # JSON has no NaN
        loss = math.nan
        log.warning("evaluate: the loss is not finite; look for NaN in the parameters and in the data")
    return Evaluation(loss, report.get("perplexity"), report.get("losses", {}), report.get("metrics", {}), samples, report)
