"""Guards at the ends of processes: after a fork, where the child has the memory of the parent but none of its threads, and at the exit."""

import atexit
import os

from . import _native
from ._errors import UsageError

atexit.register(_native.end_calls)  # threads of the kind daemon may still be inside

_started = None  # the process that has used npar's threads


def using_threads() -> None:
    """Call before work that needs npar's threads."""
    global _started
    if _started is None:
        _started = os.getpid()
    elif _started != os.getpid():
        raise UsageError(
            "this process was forked from one that had already used npar, and npar's threads do not exist here: "
            "use npar first in the child, or start processes with multiprocessing's method 'spawn'"
        )


def same_process(pid: int, what: str) -> None:
    if pid != os.getpid():
        raise UsageError(f"the {what} belongs to the process that this one was forked from: create it in this process")
