"""Lets competitors take turns, so that other load on the machine affects all of them."""

import dataclasses
import statistics
import time

from budget import UNLIMITED
from pipe import Absent


@dataclasses.dataclass
class Times:
    """What a competitor's rounds came to: seconds of each measured step; or why there are none."""

    seconds: list = dataclasses.field(default_factory=list)
    memory: int = 0
    absent: str = ""
    turn: float = 0.0  # seconds that the last turn took in all

    @property
    def best(self):
        return min(self.seconds)

    @property
    def median(self):
        return statistics.median(self.seconds)


def attempt(make, *arguments):
    """The result of `make`, or an Absent with the reason: one that it raises, or one among its arguments."""
    for argument in arguments:
        if isinstance(argument, Absent):
            return argument
    try:
        return make(*arguments)
    except Absent as reason:
        return reason


def take_turns(competitors, rounds, say=lambda text: None, budget=UNLIMITED):
    """`competitors`: {name: runner}, each with `round()`, which returns seconds of its steps and its peak memory in bytes, and raises Absent
    where it does not run (then it is not asked again); a runner that is an Absent already is never asked. A turn for which the time does
    not suffice is left out. Returns {name: Times}."""
    times = {name: Times(absent=str(runner) if isinstance(runner, Absent) else "") for name, runner in competitors.items()}
    for number in range(rounds):
        for name, runner in competitors.items():
            if times[name].absent:
                continue
            if budget.left() <= times[name].turn:
                times[name].absent = "" if times[name].seconds else "no time was left for its turn"
                continue
            begun = time.monotonic()
            say(f"round {number + 1} of {rounds}: {name}")
            try:
                seconds, memory = runner.round()
            except Absent as reason:
                times[name] = Times(absent=str(reason))
                continue
            times[name].seconds += seconds
            times[name].turn = time.monotonic() - begun
            times[name].memory = max(times[name].memory, memory)
    return times


def ratio(ours, theirs):
    """How many times as fast `ours` is, by the best step; None where one of them is not there."""
    if ours.absent or theirs.absent or not ours.seconds or not theirs.seconds:
        return None
    return theirs.best / ours.best
