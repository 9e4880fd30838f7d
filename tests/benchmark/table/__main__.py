"""tools/benchmark: npar beside PyTorch and JAX on this machine, in one table.

Everything is measured in this run; competitors take turns. `npar is` is how many times as fast npar is (above 1: faster); `of peak` the
matrix-product FLOP/s of the whole step as a share of the best product in (a). tests/benchmark/README.md explains the table.

  tools/benchmark                        everything
  tools/benchmark --only b4,c            some sections
  tools/benchmark --only b --types bf16 --rounds 5 --json table.json
  tools/benchmark --gpu                  the GPU's sections in bf16, in five minutes
"""

import argparse
import datetime
import os
import pathlib
import sys
import tempfile

import attention_rows
import engine
import generating
import gpu
import limits
import loads
import machine
import ranks
import training
import workloads
from budget import UNLIMITED, Budget
from npar_program import measured_machine
from pipe import Absent
from rows import Table
from turns import attempt

ROOT = pathlib.Path(__file__).resolve().parents[3]
SECTIONS = {
    "a": "limits of the machine",
    **{key: one.title for key, one in workloads.TRAINED.items()},
    "e": "2, 4 and 8 ranks, and one",
    "f": "the engine alone",
    "g": "attention alone",
    "h": "the next token of one sequence and of several, and long prompts",
    "n": "grouped products, and a layer of experts under unequal loads",
    **{key: one.title for key, one in workloads.ON_GPU.items()},
}
MOST_STEPS, SECONDS = 50, 4  # of a turn
NO_GPU = 1  # exit code, that of `npar train` there
BUSY = 0.25  # load per core at the start; above it the header has a remark


class Options:
    """The flags, with what follows from them."""

    def __init__(self, flags):
        self.build, self.threads = pathlib.Path(flags.build).resolve(), flags.threads
        self.python, self.jax_python = flags.python, flags.jax_python or flags.python
        self.npar, self.types, self.quick = self.build / "bin" / "npar", flags.types, flags.quick
        self.before = flags.before and pathlib.Path(flags.before).resolve() / "bin" / "npar"
        self.versions = {}  # of those that took part
        self.rounds, self.seconds = (1, 0) if flags.quick else (flags.rounds, flags.seconds)
        self.machine = "reference"  # that planned times are for
        self.traces, self.minutes = flags.traces, flags.minutes  # minutes: None where nothing limits them
        self.budget = Budget(60 * flags.minutes) if flags.minutes else UNLIMITED

    def steps_for(self, seconds):
        """Measured steps of a turn, if one takes npar `seconds`."""
        return max(1, min(MOST_STEPS, round(self.seconds / seconds)))

    def thread_variables(self):
        return {variable: str(self.threads) for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}

    def say(self, text):
        """What is being done, where a person watches."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def workload(self, key):
        one = (workloads.TRAINED | workloads.ON_GPU)[key]
        return one.small() if self.quick else one


def listed(allowed):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(allowed)}")
        return [name for name in allowed if name in names]

    return parse


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1")
    return int(text)


def writable(path):
    """Known before an hour of measuring, not after it."""
    try:
        open(path, "a").close()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"'{path}' cannot be written: {error.strerror}") from None
    return path


def folder(path):
    """Made if it is not there yet."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"'{path}' is no folder and cannot be made: {error.strerror}") from None
    return path


def parse_flags():
    sections = "sections:\n" + "\n".join(f"  {key:4} {title}" for key, title in SECTIONS.items())
    parser = argparse.ArgumentParser("tools/benchmark", description=__doc__, epilog=sections, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=listed(SECTIONS), metavar="a,b4", help="these sections (default: all)")
    parser.add_argument("--types", type=listed(("f32", "bf16")), metavar="f32,bf16")
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each competitor (default: 3)")
    parser.add_argument("--seconds", type=positive, help=f"of npar's turn: 1 to {MOST_STEPS} steps, as many for all (default: {SECONDS}; {gpu.SECONDS} with --gpu)")
    parser.add_argument("--threads", type=positive, default=machine.cores(), help="of each competitor (default: all cores)")
    parser.add_argument("--before", metavar="BUILD", help="another build of npar, which takes turns in b, b4, c, d, m and h: the state before a change")
    parser.add_argument("--gpu", action="store_true", help=f"only {', '.join(workloads.ON_GPU)}, in bf16, within --minutes; exit code {NO_GPU} without a GPU")
    parser.add_argument("--minutes", type=positive, metavar="N", help=f"time limit of --gpu (default: {gpu.MINUTES})")
    parser.add_argument("--traces", type=folder, metavar="FOLDER", help="keep the traces of i, j and their programs, for `npar inspect actual`")
    parser.add_argument("--quick", action="store_true", help="shrunk models, one round, one step: whether everything runs; its numbers mean nothing")
    parser.add_argument("--json", type=writable, metavar="FILE", help="the table as data too")
    parser.add_argument("--python", metavar="PYTHON", default=sys.executable, help="a Python with PyTorch (default: this one)")
    parser.add_argument("--jax-python", metavar="PYTHON", help="a Python with JAX (default: that of --python)")
    parser.add_argument("--build", default=os.environ.get("NPAR_BUILD") or str(ROOT / "build"), help="a build of npar (default: NPAR_BUILD, or build)")
    flags = parser.parse_args()
    if flags.minutes and not flags.gpu:
        parser.error("--minutes limits --gpu: add --gpu")
    if flags.gpu and set(flags.only or []) - set(workloads.ON_GPU):
        parser.error(f"--gpu measures {', '.join(workloads.ON_GPU)} only: leave out the others, or --gpu")
    flags.only = flags.only or list(workloads.ON_GPU if flags.gpu else SECTIONS)
    flags.types = flags.types or (["bf16"] if flags.gpu else ["f32", "bf16"])
    flags.seconds = flags.seconds or (gpu.SECONDS if flags.gpu else SECONDS)
    flags.minutes = flags.minutes or (gpu.MINUTES if flags.gpu else None)
    return flags


def header(options, about):
    load = ", ".join(f"{value:.2f}" for value in about["load_at_start"])
    busy = " - THE MACHINE IS BUSY" if about["load_at_start"][0] > BUSY * about["cores"] else ""
    return [
        f"npar {about['npar']} on {datetime.datetime.now():%Y-%m-%d %H:%M}" + ("; --quick: these numbers mean nothing" if options.quick else ""),
        f"  machine  {about['processor']}, {about['cores']} cores, {about['memory_bytes'] / 2**30:.0f} GiB, {about['system']}; "
        f"{' '.join(about['instructions']) or 'none of the known instruction sets'}",
        f"  load     {load} at the start (1, 5, 15 minutes){busy}; each competitor has {options.threads} threads",
        f"  turns    A B C A B C ...: {options.rounds} rounds, in each one step that warms up, then steps for about {options.seconds} s of npar's, "
        "equally many of each; best and median step, ratios of the best",
        *([f"  limit    {options.minutes} minutes: what is not done in its share of them is left out"] if options.minutes else []),
    ]


def measure_machine(options, table, folder):
    """Planned times are those of the machine as it is now."""
    options.say("what npar's planned times are computed from")
    try:
        options.machine = measured_machine(options.npar, pathlib.Path(folder, "machine.npar"), options.quick)
    except Absent as reason:
        table.out(f"  planned  times are those of the reference machine: {reason}")


def measure(options, table, sections, folder):
    peaks, seconds = {}, {}
    if set(sections) & set(workloads.TRAINED):
        measure_machine(options, table, folder)
    if set(sections) & {"a", *workloads.TRAINED}:
        peaks = limits.measure(options, table)
    for key in workloads.TRAINED:
        if key in sections:
            seconds[key] = training.measure(options, table, options.workload(key), peaks)
    if "e" in sections:
        ranks.measure(options, table)
    if "f" in sections:
        engine.measure(options, table, seconds.get("b", {}).get("f32"))
    if "g" in sections:
        attention_rows.measure(options, table)
    if "h" in sections:
        generating.measure(options, table)
    if "n" in sections:
        loads.measure(options, table)
    gpu.measure_all(options, table, [options.workload(key) for key in workloads.ON_GPU if key in sections])
    options.say("")


def main():
    flags = parse_flags()
    options, table = Options(flags), Table()
    if flags.gpu and isinstance(found := attempt(gpu.Gpu, options.npar), Absent):
        print(f"tools/benchmark: --gpu needs a GPU: {found}", file=sys.stderr)
        return NO_GPU
    about = machine.describe(ROOT, options.build)
    table.header(header(options, about))
    code = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            measure(options, table, flags.only, folder)
    except KeyboardInterrupt:
        table.text("stopped")
        code = 130
    about["load_at_end"], about["versions"] = machine.load(), options.versions
    versions = [f"{name} {version}" for name, version in options.versions.items()]
    table.footer([", ".join([f"load {about['load_at_end'][0]:.2f} at the end, the benchmark's own threads included", *versions])])
    if flags.json:
        table.save(flags.json, about)
    return code


if __name__ == "__main__":
    sys.exit(main())
