"""Section (n): grouped products compared with dense ones, by grouped_benchmark; and a step of one layer of experts under unequal loads."""

import pathlib
import random
import subprocess
import sys
import tempfile

from npar_program import Program, Rounds
from rows import Row, row_of
from turns import attempt, take_turns
from workloads import MIXTRAL

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "reference"))
import safetensors_file  # noqa: E402

SIZES = {name: MIXTRAL[name] for name in ("width", "mlp", "experts", "chosen", "length", "batch")} | {"vocab": 512}
SMALL = SIZES | {"width": 64, "mlp": 128, "length": 32}
EXPERTS, STEPS = SIZES["experts"], 8
RANKS = (1, 2)  # that share the experts

# The two experts of a position in a step, by the number of the position; experts of the first half are on the first of two ranks.
LOADS = {
    "balanced": lambda step, at: (at % EXPERTS, (at + 1) % EXPERTS),
    "hot expert": lambda step, at: (0, 1 + at % (EXPERTS - 1)),
    "hot rank": lambda step, at: (at % (EXPERTS // 2), (at + 1) % (EXPERTS // 2)),
    "zero load": lambda step, at: (at % (EXPERTS - 1), (at + 1) % (EXPERTS - 1)),
    "rotating": lambda step, at: (step % EXPERTS, (step + 1 + at % (EXPERTS - 1)) % EXPERTS),
    "burst": lambda step, at: LOADS["hot rank" if step % 4 == 3 else "balanced"](step, at),
}


def write_data(path, sizes, load):
    """`STEPS` batches of random tokens, with the choices of a load."""
    chance, samples, length = random.Random(7), STEPS * sizes["batch"], sizes["length"]
    tokens = {name: ("I32", [samples, length], chance.choices(range(sizes["vocab"]), k=samples * length)) for name in ("tokens", "targets")}
    choice = [expert for sample in range(samples) for at in range(length) for expert in load(sample // sizes["batch"], at)]
    safetensors_file.write_values(path, tokens | {"choice": ("I32", [samples, length, sizes["chosen"]], choice)})


def measure_products(options, table):
    """The lines of grouped_benchmark, unchanged."""
    command = [str(options.build / "bin" / "grouped_benchmark"), *(["--quick"] if options.quick else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return table.add(Row("grouped products", absent="grouped_benchmark is not built: ninja -C build grouped_benchmark"))
    for line in done.stdout.splitlines():
        table.text(line)


def measure_loads(options, table, type, ranks):
    sizes = SMALL if options.quick else SIZES
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(__file__).with_name("routed.npar")
        program = attempt(lambda: Program(options.npar, folder, "model", text, "shared", {**sizes, "compute": type, "mesh.ep": ranks}))
        runners = {}
        for name, load in LOADS.items():
            data = pathlib.Path(folder, name.replace(" ", "-") + ".safetensors")
            write_data(data, sizes, load)
            flags = ("--threads", options.threads, "--data", data, "--data-order", "sequential")
            runners[name] = attempt(lambda program, flags=flags: Rounds(program, 1, STEPS - 1, *flags), program)
        times = take_turns(runners, options.rounds, lambda text: options.say(f"(n) {type}, {ranks} ranks, {text}"))
    balanced = times["balanced"]
    for name, each in times.items():
        note = "" if each.absent or balanced.absent else f"{each.median / balanced.median:.2f} of balanced; worst step {max(each.seconds) / balanced.median:.2f}"
        table.add(row_of(f"{name}, {ranks} rank{'s' if ranks > 1 else ''}", type, each, sizes["batch"] * sizes["length"], "tokens/s", note=note))


def measure(options, table):
    table.section("n", f"rows of experts: grouped products alone; a layer of {EXPERTS} experts of which {SIZES['chosen']} are chosen, by load")
    options.say("(n)")
    measure_products(options, table)
    for type in options.types:
        for ranks in RANKS:
            measure_loads(options, table, type, ranks)
