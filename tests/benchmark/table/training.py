"""Sections (b), (b4), (c), (d): a training step of npar, of PyTorch and of compiled PyTorch, in float32 and bfloat16."""

import array
import pathlib
import random
import tempfile

from child_rounds import ChildRounds
from npar_program import Program, Rounds
from pipe import Absent, Child
from rows import row_of
from turns import attempt, ratio, take_turns
from workloads import TRAINING

HERE = pathlib.Path(__file__).resolve().parent
COMPETITORS = {"PyTorch eager": False, "torch.compile": True}  # by name: compiled
CHECKED = 2  # first steps whose losses and gradient norms are compared
AGREE = {"f32": {"loss": 1e-4, "grad_norm": 1e-3}, "bf16": {"loss": 1e-2, "grad_norm": 5e-2}}  # relative; bfloat16 is rounded in other places


def disagreement(ours, theirs, type):
    """What is wrong with the numbers of the first steps from equal weights, {"loss": [...], "grad_norm": [...]} each; empty: nothing."""
    for number, bound in AGREE[type].items():
        for step, (one, other) in enumerate(zip(ours[number], theirs[number])):
            if not abs(one - other) <= bound * abs(one):
                return f"does other work: {number} {other:.6g} in step {step}, npar's is {one:.6g}"
    return ""


class Contest:
    """What takes turns at one model in one type. Whatever cannot take part is an Absent in its place."""

    def __init__(self, options, workload, type, folder):
        self.options, self.workload, self.type, self.folder = options, workload, type, folder
        self.tokens, self.steps = pathlib.Path(folder, "tokens.u16"), 1
        self.data = ["--data", self.tokens, "--tokens", "u16", "--order", "sequential"]
        self.write_tokens()
        self.program = attempt(self.compile)
        self.children = {name: attempt(self.start, compiled) for name, compiled in COMPETITORS.items()}

    def say(self, text):
        self.options.say(f"({self.workload.key}) {self.type}, {text}")

    def write_tokens(self):
        """Random tokens for some batches; the same each time."""
        chance, sizes = random.Random(5), self.workload.sizes
        self.tokens.write_bytes(array.array("H", chance.choices(range(sizes["vocab"]), k=16 * self.workload.tokens + 1)).tobytes())

    def compile(self):
        return Program(self.options.npar, self.folder, "model", self.workload.model, "none", {**self.workload.sizes, "compute": self.type}, self.options.machine)

    def start(self, compiled):
        request = {
            "model": self.workload.model, "sizes": self.workload.sizes, "training": TRAINING, "type": self.type, "compiled": compiled,
            "threads": self.options.threads, "tokens": str(self.tokens),
        }  # fmt: skip
        child = Child(self.options.python, HERE / "torch_train.py", request, self.options.thread_variables())
        self.options.versions["PyTorch"] = child.said["version"]
        return child

    def check(self):
        """npar and PyTorch train the first steps from the same weights on the same tokens. Who comes to other numbers does not take part: no two
        kinds of work are compared. It warms PyTorch up, and says how long a step takes."""
        self.say(f"the first {CHECKED} steps, which are compared")
        weights, ours = pathlib.Path(self.folder, "weights.safetensors"), None
        for name, child in self.children.items():
            self.children[name] = attempt(self.weights_of, child, weights)
        flags = [*self.data, "--threads", self.options.threads, *(["--weights", weights] if weights.exists() else [])]
        entries = attempt(lambda program: program.run(CHECKED, *flags)[0], self.program)
        if isinstance(entries, Absent):
            self.program = entries
        else:
            self.steps = self.options.steps_for(min(self.program.seconds(entries)))
            ours = {number: [entry[number] for entry in entries] for number in AGREE[self.type]}
        weights.unlink(missing_ok=True)
        for name, child in self.children.items():
            self.children[name] = attempt(self.compared, child, ours)

    def weights_of(self, child, path):
        """The child, which has left its weights there if nobody else has."""
        if not path.exists():
            child.ask("save", path=str(path))
        return child

    def compared(self, child, ours):
        theirs = child.ask("steps", count=CHECKED, forget=True)
        if wrong := ours and disagreement(ours, theirs, self.type):
            child.close()
            raise Absent(wrong)
        return child

    def hold(self):
        """Times by name, npar first."""
        runners = {"npar": attempt(Rounds, self.program, 1, self.steps, "--threads", self.options.threads, *self.data)}
        for name, child in self.children.items():
            runners[name] = attempt(ChildRounds, child, 1, self.steps)
        return take_turns(runners, self.options.rounds, self.say)

    def close(self):
        for child in self.children.values():
            if not isinstance(child, Absent):
                child.close()


def note_of_npar(program, times):
    """The planned step beside the measured one, and what of the memory is no arena."""
    if times.absent:
        return ""
    inspected = program.inspect()
    span, arena = inspected["span_seconds"], sum(len(one["ranks"]) * one["arena_bytes"] for one in inspected["classes"])
    return (
        f"planned {span:.3g} s, {span / times.best:.2f} of measured; arena {arena / 2**20:,.0f} MiB, beside it {(times.memory - arena) / 2**20:,.0f}"
    )


def note_of_other(ours, theirs):
    return f"npar has {ours.memory / theirs.memory:.2f} of its memory" if not ours.absent and not theirs.absent else ""


def measure(options, table, workload, peaks):
    """Adds the rows; returns npar's seconds of a step by type. `peaks`: FLOP/s of the best product by type."""
    seconds = {}
    table.section(workload.key, workload.title)
    for type in options.types:
        with tempfile.TemporaryDirectory() as folder:
            contest = Contest(options, workload, type, folder)
            try:
                contest.check()
                times = contest.hold()
                ours = times["npar"]
                notes = {"npar": note_of_npar(contest.program, ours)}
            finally:
                contest.close()
        if not ours.absent:
            seconds[type] = ours.best
        for name, each in times.items():
            share = None if each.absent or not peaks.get(type) else workload.product_operations() / each.best / peaks[type]
            against = None if name == "npar" else ratio(ours, each)
            note = notes.get(name) or note_of_other(ours, each)
            table.add(row_of(name, type, each, workload.tokens, "tokens/s", against, share, note))
    return seconds
