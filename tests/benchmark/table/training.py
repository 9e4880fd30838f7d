"""Sections (b), (b4), (c), (d), (m): a training step of npar, of PyTorch and of compiled PyTorch, in float32 and bfloat16."""

import array
import concurrent.futures
import pathlib
import random
import tempfile

from budget import UNLIMITED
from child_rounds import ChildRounds
from npar_program import Program, Rounds
from pipe import Absent, Child
from rows import row_of
from turns import attempt, ratio, take_turns
from workloads import TRAINING

HERE = pathlib.Path(__file__).resolve().parent
# What is asked of PyTorch's process, by name. transformers has several ways to compute experts.
COMPETITORS = {"PyTorch eager": {"compiled": False}, "torch.compile": {"compiled": True}}
OF_EXPERTS = {
    "transformers, experts in turn": {"compiled": False, "experts": "eager"}, "transformers, grouped_mm": {"compiled": False, "experts": "grouped_mm"},
    "torch.compile": {"compiled": True, "experts": "grouped_mm"},
}  # fmt: skip
BEFORE = "npar of --before"  # another build of npar, given by the flag
# Shares of the time that is left, where it is limited.
STARTING = 1 / 2  # for the start of PyTorch
FIRST_STEPS, FURTHER_WAYS = 2 / 3, 1 / 4  # for the first steps of a competitor, which compile, and of each further way of npar
TURNS = 0.85  # for all turns
CHECKED = 2  # first steps whose losses and gradient norms are compared
AGREE = {"f32": {"loss": 1e-4, "grad_norm": 1e-3}, "bf16": {"loss": 1e-2, "grad_norm": 5e-2}}  # relative; bfloat16 is rounded in other places


def disagreement(ours, theirs, type):
    """What is wrong with the numbers of the first steps from equal weights, {"loss": [...], "grad_norm": [...]} each; empty: nothing."""
    for number, bound in AGREE[type].items():
        for step, (one, other) in enumerate(zip(ours[number], theirs[number])):
            if not abs(one - other) <= bound * abs(one):
                return f"does other work: {number} {other:.6g} in step {step}, npar's is {one:.6g}"
    return ""


def numbers_of(entries, type):
    """Of a log's entries, what is compared."""
    return {number: [entry[number] for entry in entries] for number in AGREE[type]}


class Contest:
    """The competitors that take turns at one model in one type. A competitor that cannot take part is replaced by an Absent. Where the time is
    limited, those that come first get theirs first."""

    device = "cpu"  # device on which all compute
    competitors = COMPETITORS
    ways = {"npar": ()}  # of npar, by name: flags of `npar train`
    rounds = Rounds  # of one way
    budget = UNLIMITED

    def __init__(self, options, workload, type, folder):
        self.options, self.workload, self.type, self.folder = options, workload, type, folder
        self.tokens, self.steps = pathlib.Path(folder, "tokens.u16"), {}  # steps: measured in a turn, by npar's ways
        self.order = None  # of bf16 products
        self.data = ["--data", self.tokens, "--tokens", "u16", "--data-order", "sequential"]
        self.write_tokens()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            started = {name: pool.submit(attempt, self.start, words) for name, words in self.competitors.items()}
            self.program = attempt(self.compile)
            self.before = attempt(self.compile, options.before, "before", "reference") if options.before and self.device == "cpu" else None
        self.npars = {name: self.program for name in self.ways}  # flags, once they are accepted
        self.children = {name: child.result() for name, child in started.items()}

    def say(self, text):
        self.options.say(f"({self.workload.key}) {self.type}, {text}")

    def write_tokens(self):
        """Random tokens for some batches; the same each time."""
        chance, sizes = random.Random(5), self.workload.sizes
        self.tokens.write_bytes(array.array("H", chance.choices(range(sizes["vocab"]), k=16 * self.workload.tokens + 1)).tobytes())

    def compile(self, npar=None, name="model", machine=None):
        sizes = {**self.workload.sizes, "compute": self.type}
        return Program(npar or self.options.npar, self.folder, name, self.workload.model, "none", sizes, machine or self.options.machine)

    def start(self, words):
        request = {
            "model": self.workload.model, "sizes": self.workload.sizes, "training": TRAINING, "type": self.type, "device": self.device,
            "threads": self.options.threads, "tokens": str(self.tokens), **words,
        }  # fmt: skip
        child = Child(self.options.python, HERE / "torch_train.py", request, self.options.thread_variables(), budget=self.budget.part(STARTING))
        self.options.versions["PyTorch"] = child.said["version"]
        return child

    def check(self):
        """npar and PyTorch train the first steps from the same weights on the same tokens. Who comes to other numbers does not take part: no two
        kinds of work are compared. It warms PyTorch up, and says how long a step takes."""
        self.say(f"the first {CHECKED} steps, which are compared")
        weights = pathlib.Path(self.folder, "weights.safetensors")
        for name, child in self.children.items():
            self.children[name] = attempt(self.weights_of, child, weights)
        begin = [*self.data, "--threads", self.options.threads, *(["--weights", weights] if weights.exists() else [])]
        ways = iter(self.ways)
        ours = next((numbers for numbers in (self.first_steps(name, begin) for name in ways) if numbers), None)
        for name, child in self.children.items():
            self.children[name] = attempt(self.compared, child, ours)
        for name in ways:
            self.first_steps(name, begin, ours)
        if self.before:
            self.before = attempt(self.compared_before, self.before, begin, ours)
        weights.unlink(missing_ok=True)

    def first_steps(self, name, begin, ours=None):
        """The numbers of the first steps of one of npar's ways; None if it does not take part."""
        numbers = attempt(lambda program: self.accepted(name, program, begin, ours), self.program)
        absent = isinstance(numbers, Absent)
        self.npars[name] = numbers if absent else self.ways[name]
        return None if absent else numbers

    def accepted(self, name, program, begin, ours):
        """The numbers of a way, which are `ours` if there are some."""
        program.budget = self.budget.part(FURTHER_WAYS if ours else FIRST_STEPS)
        entries = program.run(CHECKED, *begin, *self.ways[name])[0]
        numbers = numbers_of(entries, self.type)
        if wrong := ours and disagreement(ours, numbers, self.type):
            raise Absent(wrong)
        self.order = entries[0].get("products")
        self.steps[name] = self.options.steps_for(min(program.seconds(entries)))
        return numbers

    def compared_before(self, program, begin, ours):
        if wrong := ours and disagreement(ours, numbers_of(program.run(CHECKED, *begin)[0], self.type), self.type):
            raise Absent(wrong)
        return program

    def weights_of(self, child, path):
        """The child; saves its weights to `path` first if the file does not exist."""
        if not path.exists():
            child.ask("save", path=str(path))
        return child

    def compared(self, child, ours):
        child.budget = self.budget.part(FIRST_STEPS)
        theirs = child.ask("steps", count=CHECKED, forget=True)
        if wrong := ours and disagreement(ours, theirs, self.type):
            child.close()
            raise Absent(wrong)
        return child

    def hold(self):
        """Times by name: npar's first way, the others, and npar's further ways."""
        run, turns = ("--threads", self.options.threads, *self.data), self.budget.part(TURNS)
        first, *more = [
            (name, attempt(lambda flags: self.rounds(self.program, 1, self.steps[name], *run, *flags), flags)) for name, flags in self.npars.items()
        ]
        most = max(self.steps.values(), default=1)
        others = [(name, attempt(lambda child: self.rounds_of(child, most, turns), child)) for name, child in self.children.items()]
        if self.before:
            others.append((BEFORE, attempt(lambda program: self.rounds(program, 1, most, *run), self.before)))
        self.set_budget(turns)
        times = take_turns(dict([first, *others, *more]), self.options.rounds, self.say, turns)
        self.set_budget(self.budget)
        return times

    def set_budget(self, budget):
        if not isinstance(self.program, Absent):
            self.program.budget = budget

    def rounds_of(self, child, steps, budget):
        child.budget = budget
        return ChildRounds(child, 1, steps)

    def note(self, times):
        """The planned step compared with the measured one, and the memory outside of the arenas."""
        inspected = self.program.inspect()
        span, arena = inspected["span_seconds"], sum(len(one["ranks"]) * one["arena_bytes"] for one in inspected["classes"])
        order = f"products: {self.order}; " if self.order else ""
        return (
            f"{order}planned {span:.3g} s, {span / times.best:.2f} of measured; arena {arena / 2**20:,.0f} MiB, outside of it {(times.memory - arena) / 2**20:,.0f}"
        )

    def explain(self, times):
        """Rows under the others', by npar's own trace."""
        return []

    def close(self):
        for child in self.children.values():
            if not isinstance(child, Absent):
                child.close()


class ExpertsContest(Contest):
    competitors = OF_EXPERTS


def note_of_other(ours, theirs):
    return f"npar has {ours.memory / theirs.memory:.2f} of its memory" if not ours.absent and not theirs.absent and ours.memory else ""


def measure(options, table, workload, peaks):
    """Adds the rows; returns npar's seconds of a step by type. `peaks`: FLOP/s of the best product by type."""
    table.section(workload.key, workload.title)
    return measure_types(options, table, workload, peaks, ExpertsContest if "experts" in workload.sizes else Contest)


def measure_types(options, table, workload, peaks, contest_of):
    """The rows of each type; others' are compared with npar's fastest way."""
    seconds = {}
    for type in options.types:
        with tempfile.TemporaryDirectory() as folder:
            contest = contest_of(options, workload, type, folder)
            try:
                contest.check()
                times = contest.hold()
                own = [times[name] for name in contest.ways]
                ours = min((one for one in own if not one.absent), key=lambda one: one.best, default=own[0])
                notes = {name: contest.note(times[name]) for name in contest.ways if not times[name].absent}
                explained = contest.explain(times)
            finally:
                contest.close()
        if not ours.absent:
            seconds[type] = ours.best
        for name, each in times.items():
            share = None if each.absent or not peaks.get(type) else workload.product_operations() / each.best / peaks[type]
            against = None if name in contest.ways else ratio(ours, each)
            note = notes.get(name) or ("" if name in contest.ways else note_of_other(ours, each))
            table.add(row_of(name, type, each, workload.tokens, "tokens/s", against, share, note))
        for row in explained:
            table.add(row)
    return seconds
