#!/usr/bin/env python3
"""What it costs to have the ranks of one plan in several processes: the same GPT-2 in 1, 2, 4 and 8 processes of npar, beside PyTorch's.

Needs a built npar with an MPI, and for the peer a Python with PyTorch (--python PATH; without it npar alone is measured). All runs of a plan
take turns on the same cores, --rounds times. Prints the fastest and the median step, processor time of a step over all processes (what idle
threads burn shows there), communication that a rank hides behind no computing (waiting for its peers is in it; from a traced run of its own),
memory of a process (its peak, the largest), and ratios to one process of npar in the same run; for PyTorch how much faster npar's processes
are, step against step.
Example:  tests/benchmark/processes.py --build build --python /path/to/python --only dp
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"vocab": 512, "width": 256, "heads": 8, "depth": 4, "length": 128, "batch": 16, "micro": 2}
# Plans by name: the mesh, and numbers of processes; the last number has one rank per process, like PyTorch.
PLANS = {
    "dp": ({"dp": 4, "tp": 1, "pp": 1}, (1, 2, 4)),
    "dp_tp": ({"dp": 4, "tp": 2, "pp": 1}, (1, 4, 8)),
    "dp_pp": ({"dp": 2, "tp": 1, "pp": 2}, (1, 2, 4)),
}


def measure(folder, command):
    """Runs one process of npar for the launcher and leaves its peak memory in the folder. What the launcher gave it, it passes on."""
    child = subprocess.Popen(command, close_fds=False)
    _, status, usage = os.wait4(child.pid, 0)
    pathlib.Path(folder, f"usage-{os.getpid()}").write_text(f"{usage.ru_maxrss * 1024} {usage.ru_utime + usage.ru_stime}")
    return os.waitstatus_to_exitcode(status)


def command_of(options, mesh, steps):
    command = [f"{options.build}/bin/npar", "run", "gpt2", "--random-data", "--steps", str(steps), "--quiet"]
    return command + settings_of(mesh)


def settings_of(mesh):
    sizes = {**SIZES, "context": SIZES["length"], **{f"mesh.{axis}": size for axis, size in mesh.items()}}
    return [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]


def run_npar(options, mesh, processes):
    """Of each process its peak memory, and of all together: seconds of each step but the first, and of the processors in a step."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log.jsonl")

        def run(steps):
            command = [sys.executable, __file__, "--measure", folder, *command_of(options, mesh, steps), "--log", str(log)]
            if processes > 1:
                command = [*options.mpiexec.split(), "-n", str(processes), *command]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            usages = [path.read_text().split() for path in pathlib.Path(folder).glob("usage-*")]
            for path in pathlib.Path(folder).glob("usage-*"):
                path.unlink()
            return [int(memory) for memory, _ in usages], sum(float(seconds) for _, seconds in usages)

        _, start = run(1)
        memory, busy = run(options.steps + 1)
        steps = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    return [step["tokens"] / step["tokens_per_second"] for step in steps], memory, (busy - start) / options.steps


def exposed(options, mesh, processes):
    """Seconds of a step in which a rank communicates and computes nothing, by npar's own reading of a trace."""
    with tempfile.TemporaryDirectory() as folder:
        trace = str(pathlib.Path(folder, "trace.json"))
        start = [*options.mpiexec.split(), "-n", str(processes)] if processes > 1 else []
        subprocess.run([*start, *command_of(options, mesh, 5), "--trace", trace], check=True, stdout=subprocess.DEVNULL)
        read = [f"{options.build}/bin/npar", "inspect", "actual", "gpt2", trace, *settings_of(mesh), "--json"]
        return json.loads(subprocess.run(read, check=True, stdout=subprocess.PIPE, text=True).stdout)["actual"]["exposed_seconds"]


def run_torch(options, mesh, more):
    command = [options.python, str(HERE / "processes_torch.py"), "--steps", str(options.steps), *more]
    for name, value in {**SIZES, **mesh}.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    answer = json.loads(done.stdout)
    return answer["seconds"], answer["memory_bytes"], None


def runs_of(options, mesh, counts):
    """The competitors that take turns: (name, run), npar in one process first."""
    world = mesh["dp"] * mesh["tp"] * mesh["pp"]
    runs = [(f"npar, {count} x {world // count} ranks", lambda count=count: run_npar(options, mesh, count), count) for count in counts]
    if options.python:
        for how in (["hand", "dtensor"] if mesh["tp"] > 1 else [""]):
            more = ["--tp-by", how] if how else []
            runs.append((f"PyTorch, {counts[-1]} processes" + (f", tp by {how}" if how else ""), lambda more=more: run_torch(options, mesh, more), None))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(HERE.parent.parent / "build"))
    parser.add_argument("--mpiexec", default=shutil.which("mpiexec.mpich") or "mpiexec", help="with flags, if it needs any")
    parser.add_argument("--python", help="a Python with PyTorch")
    parser.add_argument("--steps", type=int, default=8, help="of each in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=PLANS, help="one plan")
    parser.add_argument("--measure", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure[0], options.measure[1:])
    for plan in [options.only] if options.only else PLANS:
        mesh, counts = PLANS[plan]
        runs = runs_of(options, mesh, counts)
        seconds, memory, busy = {name: [] for name, *_ in runs}, {}, {name: [] for name, *_ in runs}
        for _ in range(options.rounds):
            for name, run, _ in runs:
                steps, memory[name], processors = run()
                seconds[name] += steps
                busy[name].append(processors)
        print(f"\n{plan}: {', '.join(f'{axis} = {size}' for axis, size in mesh.items())}")
        print(f"{'':36}{'fastest':>9}{'median':>9}{'processors':>12}{'not hidden':>12}{'memory':>10}  against npar, 1 process")
        first = sorted(seconds[runs[0][0]])
        for name, _, count in runs:
            ordered = sorted(seconds[name])
            median, of_first = ordered[len(ordered) // 2], first[len(first) // 2]
            rest = f"{min(busy[name]):11.3f}s{exposed(options, mesh, count):11.3f}s" if count else " " * 24
            print(f"  {name:34}{ordered[0]:8.3f}s{median:8.3f}s{rest}{max(memory[name]) / 2**20:6.0f} MiB  {median / of_first:5.2f} times a step")
        last = runs[len(counts) - 1][0]
        for name, *_ in runs[len(counts) :]:
            ours, theirs = sorted(seconds[last]), sorted(seconds[name])
            print(f"  {last} against {name}: {theirs[len(theirs) // 2] / ours[len(ours) // 2]:.2f} times as fast")
    return 0


if __name__ == "__main__":
    sys.exit(main())
