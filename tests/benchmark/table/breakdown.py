"""Where the time of a training step goes: sums over the steps of a program in a trace of `npar run`."""

import collections
import dataclasses
import pathlib

from turns import Times

PRODUCTS, ATTENTION = ("matmul", "grouped_matmul"), ("attention", "attention_grad")
LOGITS, OTHERS, BETWEEN, UPDATES = "product of the logits", "other products", "between products", "updates"
IDLE, COMMUNICATION = "no computation", "communication"
GROUPS = (LOGITS, OTHERS, "attention", BETWEEN, UPDATES, IDLE, COMMUNICATION)  # without the last one they add up to the step
LISTED, MOST_KERNELS = (BETWEEN, UPDATES), 8  # groups whose kernels are listed by name, and how many


@dataclasses.dataclass
class Part(Times):
    """Time in each training step, and how many program steps it has in one training step."""

    count: int = 0


def group_of(event, lane, logits):
    """`logits`: the name of the logits' product."""
    kind = event["name"].split()[0]
    if lane != "compute":
        return COMMUNICATION
    if kind in PRODUCTS:
        return LOGITS if event["name"] == logits else OTHERS
    if kind in ATTENTION:
        return "attention"
    return UPDATES if event["cat"].startswith("U") else BETWEEN


def kernel_of(event):
    """A generated kernel and the line that it comes from. Equal kernels of several layers are one."""
    return event["name"].split()[0], pathlib.PurePath(event["args"]["source"]).name


def summed(keyed, training_steps):
    """Parts by their keys, from pairs of a key and an event."""
    seconds, counts = collections.defaultdict(collections.Counter), collections.Counter()
    for key, event in keyed:
        seconds[key][event["args"]["training_step"]] += event["dur"] * 1e-6
        counts[key] += 1
    return {key: Part([each[step] for step in training_steps], count=counts[key] // len(training_steps)) for key, each in seconds.items()}


def whole_steps(events, training_steps):
    """The time from the first begin to the last end in each training step."""
    by_step = [[event for event in events if event["args"]["training_step"] == step] for step in training_steps]
    return Part([1e-6 * (max(one["ts"] + one["dur"] for one in each) - min(one["ts"] for one in each)) for each in by_step], count=1)


def idle(whole, groups):
    """The part of the step in which the rank computes nothing, between steps too."""
    computing = [part for name, part in groups.items() if name != COMMUNICATION]
    return Part([max(0.0, seconds - sum(part.seconds[place] for part in computing)) for place, seconds in enumerate(whole.seconds)])


def breakdown(trace, logits):
    """Of rank 0 and all training steps but the first: the whole step, parts by group, and those of the generated kernels that take
    most time."""
    events = trace["traceEvents"]
    lanes = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"] == 0}
    steps = [event for event in events if event["ph"] == "X" and event["pid"] == 0 and event["args"]["training_step"] > 0]
    training_steps = sorted({event["args"]["training_step"] for event in steps})
    grouped = [(group_of(event, lanes[event["tid"]], logits), event) for event in steps]
    groups, whole = summed(grouped, training_steps), whole_steps(steps, training_steps)
    groups[IDLE] = idle(whole, groups)
    kernels = summed([(kernel_of(event), event) for group, event in grouped if group in LISTED], training_steps)
    longest = sorted(kernels, key=lambda kernel: -kernels[kernel].median)[:MOST_KERNELS]
    return whole, {name: groups[name] for name in GROUPS if name in groups}, {kernel: kernels[kernel] for kernel in longest}
