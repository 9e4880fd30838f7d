"""Section (f): what scheduling costs: the null backend does no arithmetic, so all that its training steps take is the engine's."""

import statistics
import tempfile

from npar_program import Program
from pipe import Absent
from ranks import EIGHT, plan_name, settings_of, sizes_of
from rows import Row


def null_seconds(program, options):
    """Of each training step but those that warm up."""
    count = 40 if options.quick else 2000
    flags = ("--threads", options.threads, "--backend", "null", "--random-data")
    seconds = []
    for _ in range(options.rounds):
        entries, _ = program.run(count, *flags)
        seconds += program.seconds(entries)[count // 10 :]
    return seconds


def measure(options, table, best_of_b):
    """`best_of_b`: the seconds of a training step of (b) in f32, where it was measured."""
    table.section("f", "engine alone: program steps with the null backend, millions a second")
    b = options.workload("b")
    for name, model, plan, settings in (
        ("GPT-2 of (b), 1 rank", b.model, "none", b.sizes),
        (f"GPT-2 of (e), {plan_name(EIGHT)}", "gpt2", "three_d", settings_of(sizes_of(256), EIGHT)),
    ):
        options.say(f"(f) {name}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                program = Program(options.npar, folder, "null", model, plan, settings)
                steps = sum(len(one["ranks"]) * one["program_steps"] for one in program.inspect()["classes"])
                seconds = null_seconds(program, options)
        except Absent as reason:
            table.add(Row(name, absent=str(reason)))
            continue
        best, median = min(seconds), statistics.median(seconds)
        note = f"{steps:,} program steps in {median * 1e6:,.0f} us a training step"
        if plan == "none" and best_of_b:
            note += f": {100 * median / best_of_b:.2f} % of (b)"
        table.add(Row(name, "null", steps / best * 1e-6, steps / median * 1e-6, "M steps/s", note=note))
