"""Counts what a program sends, from `npar inspect --json`: how often, how many bytes, and in the unit of the papers.

The papers count the volume of a collective over n ranks without the factor (n - 1) / n that its bandwidth-optimal algorithm has:
an all-reduce moves its payload twice (it is a reduce-scatter and an all-gather), a reduce-scatter and an all-to-all their input
once, an all-gather its output once. With P bytes of gradients plain data parallelism so has the volume 2 P.
"""

import collections

Count = collections.namedtuple("Count", "count bytes volume")  # times, bytes of the rank's input, bytes of volume; per training step


def group_size(summary, over):
    size = 1
    for axis in over.split(","):
        size *= summary["mesh"][axis]
    return size


def volume_of(kind, input_bytes, ranks):
    factors = {"all_reduce": 2, "reduce_scatter": 1, "all_to_all": 1, "all_gather": ranks}
    return factors[kind] * input_bytes


def counts(summary, over=None, phase=None, cause=None, path=None, stage=0):
    """Of the ranks of one stage: {kind: Count} of the collectives over mesh axes `over`, in a phase, that `cause` (a function of the
    text) and `path` (a function of the layer's path) accept. None accepts all."""
    found = {}
    part = next(part for part in summary["classes"] if part["stage"] == stage)
    for one in part["causes"]:
        if over is not None and one["over"] != over or phase is not None and one["phase"] != phase:
            continue
        if cause is not None and not cause(one["cause"]) or path is not None and not path(one["path"]):
            continue
        before = found.get(one["kind"], Count(0, 0, 0))
        volume = volume_of(one["kind"], one["bytes"], group_size(summary, one["over"]))
        found[one["kind"]] = Count(before.count + one["count"], before.bytes + one["bytes"], before.volume + volume)
    return found


def volume(summary, **which):
    """Bytes of volume of all collectives that `counts` finds."""
    return sum(one.volume for one in counts(summary, **which).values())


def added(before, after):
    """What `after` has more than `before`, two results of `counts`: what two more blocks send, say."""
    nothing = Count(0, 0, 0)
    differences = {kind: Count(*(b - a for a, b in zip(before.get(kind, nothing), after.get(kind, nothing)))) for kind in {*before, *after}}
    return {kind: one for kind, one in differences.items() if any(one)}
