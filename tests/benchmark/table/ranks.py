"""Section (e): ranks of one plan in one process of npar, beside one rank that does the same global batch in the same micro-batches, PyTorch's
processes with gloo and JAX's host devices."""

import dataclasses
import math
import pathlib
import tempfile

from child_rounds import ChildRounds
from npar_program import Program, Rounds
from pipe import Absent, Child
from rows import row_of
from turns import attempt, ratio, take_turns
from workloads import RANKS

HERE = pathlib.Path(__file__).resolve().parent
EIGHT = {"dp": 2, "tp": 2, "pp": 2}
CASES = {256: [*({axis: ranks} for ranks in (2, 4, 8) for axis in ("dp", "tp", "pp")), EIGHT], 768: [EIGHT]}  # plans by width
NEAR = 0.05  # a first loss is this near to ln(vocabulary), relative: random weights know nothing


def mesh_of(plan):
    return {axis: plan.get(axis, 1) for axis in ("dp", "tp", "pp")}


def plan_name(plan):
    return " ".join(f"{axis}{size}" for axis, size in plan.items())


def settings_of(sizes, plan):
    return {**sizes, **{f"mesh.{axis}": size for axis, size in mesh_of(plan).items()}}


def checked(child):
    """The child after two steps that warm it up, if it begins where npar does."""
    first, sure = child.ask("steps", count=2)["losses"][0], math.log(RANKS["vocab"])
    if abs(first - sure) > NEAR * sure:
        child.close()
        raise Absent(f"does other work: its first loss is {first:.4g}, not about {sure:.4g}")
    return child


@dataclasses.dataclass
class Contest:
    """The competitors that take turns under one plan."""

    options: object
    sizes: dict
    plan: dict
    folder: str
    steps: int = 1

    def npar(self, plan):
        name = plan_name(plan).replace(" ", "-") or "one"
        program = Program(self.options.npar, self.folder, name, "gpt2", "three_d", settings_of(self.sizes, plan))
        flags = ("--threads", self.options.threads, "--random-data")
        if not plan:  # the first of all: determines the number of steps of a turn
            self.steps = self.options.steps_for(min(program.seconds(program.run(2, *flags)[0])))
        return Rounds(program, 1, self.steps, *flags)

    def torch(self, by):
        if self.plan.get("pp", 1) > 1 and self.plan.get("tp", 1) > 1:
            raise Absent("tests/benchmark/processes_torch.py has no pipeline together with tensor parallelism")
        threads = max(1, self.options.threads // math.prod(self.plan.values()))
        request = {**self.sizes, **mesh_of(self.plan), "threads": threads, "tp_by": by}
        return self.rounds("PyTorch", Child(self.options.python, HERE / "torch_ranks.py", request))

    def jax(self):
        return self.rounds("JAX", Child(self.options.jax_python, HERE / "jax_ranks.py", {**self.sizes, **mesh_of(self.plan)}))

    def rounds(self, library, child):
        self.options.versions[library] = child.said["version"]
        return ChildRounds(checked(child), 1, self.steps)

    def runners(self):
        yield "npar, 1 rank", lambda: self.npar({})
        yield "npar", lambda: self.npar(self.plan)
        if self.plan.get("tp", 1) > 1:
            yield "PyTorch, by hand", lambda: self.torch("hand")
            yield "PyTorch, DTensor", lambda: self.torch("dtensor")
        else:
            yield "PyTorch", lambda: self.torch("hand")
        yield "JAX", self.jax

    def hold(self):
        """Times by name."""
        runners = {}
        try:
            for name, make in self.runners():
                runners[name] = attempt(make)
            return take_turns(runners, self.options.rounds, lambda text: self.options.say(f"(e) {plan_name(self.plan)}, {text}"))
        finally:
            for runner in runners.values():
                if not isinstance(runner, Absent):
                    runner.close()


def note(name, times):
    one = times["npar, 1 rank"]
    if name != "npar" or one.absent or times["npar"].absent:
        return ""
    return f"{times['npar'].best / one.best:.2f} times as long as 1 rank (best), {times['npar'].median / one.median:.2f} (median)"


def sizes_of(width):
    return {**RANKS, "width": width, "context": RANKS["length"]}


def measure(options, table):
    tokens = RANKS["batch"] * RANKS["length"]
    table.section(
        "e",
        f"ranks in one process of npar: GPT-2, {RANKS['depth']} blocks, width {' or '.join(map(str, CASES))}, vocabulary {RANKS['vocab']}, "
        f"batch {RANKS['batch']} x {RANKS['length']}, micro-batches of {RANKS['micro']}, f32",
    )
    for width, plans in ({256: [{"dp": 2}, EIGHT]} if options.quick else CASES).items():
        for plan in plans:
            with tempfile.TemporaryDirectory() as folder:
                times = Contest(options, sizes_of(width), plan, folder).hold()
            for name, each in times.items():
                against = None if name.startswith("npar") else ratio(times["npar"], each)
                table.add(row_of(f"{width} {plan_name(plan)}: {name}", "f32", each, tokens, "tokens/s", against, note=note(name, times)))
