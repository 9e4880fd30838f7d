"""What npar tells while it works: remarks and warnings go to `logging`, progress to standard error if it is wanted."""

import logging
import sys
import time
from typing import Callable, Optional

PHASE, REMARK, WARNING, STEP, EVALUATED, SAVED, CANDIDATE, TOKEN = range(1, 9)

log = logging.getLogger("npar")


class Progress:
    """One line that is overwritten, as in `kernel 3 of 32`. Begins after half a second, so that short work stays silent."""

    def __init__(self, stream=None):
        self.stream, self.begun, self.last, self.width = stream or sys.stderr, time.monotonic(), 0.0, 0

    def show(self, text: str) -> None:
        now = time.monotonic()
        if now - self.begun < 0.5 or now - self.last < 0.1:
            return
        self.last = now
        text = f"npar: {text[:100]}"
        self.stream.write("\r" + text.ljust(self.width))
        self.stream.flush()
        self.width = len(text)

    def end(self) -> None:
        if self.width:
            self.stream.write("\r" + " " * self.width + "\r")
            self.stream.flush()
            self.width = 0


class Listener:
    """The observer of one call. Use it as a context manager, so that its progress line is removed at the end.

    `hears`: a function of (kind, text, done, total, step, candidate) for what else the caller wants.
    """

    def __init__(self, progress: bool = False, hears: Optional[Callable] = None):
        self.progress = Progress() if progress else None
        self.hears = hears

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *exception) -> None:
        if self.progress:
            self.progress.end()

    def __call__(self, kind, text, done, total, step, candidate) -> None:
        if kind in (REMARK, WARNING):
            if self.progress:
                self.progress.end()
            warns = kind == WARNING or text.startswith("warning: ")
            log.log(logging.WARNING if warns else logging.INFO, "%s", text.removeprefix("warning: "))
        elif self.progress:
            if kind == PHASE:
                self.progress.show(text)
            elif kind == STEP:
                of = f"/{total}" if total else ""
                self.progress.show(f"step {done}{of}" + (f"  loss {step['loss']:.4f}" if step else ""))
            elif kind == CANDIDATE:
                figures = candidate["refusal"] or f"{candidate['milliseconds']:.1f} ms per step"
                self.progress.show(f"plan {done}" + (f" of {total}" if total else "") + f": {text}: {figures}")
        if self.hears:
            self.hears(kind, text, done, total, step, candidate)
