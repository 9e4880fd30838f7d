#!/usr/bin/env python3
"""Breaks training in several processes on purpose and scores what npar makes of it.

Each fault is a run of its own: `npar_run_processes` (tests/engine/control/RunProcesses.cpp) under MPICH's mpiexec, or with --through MPI npar as
`npar launch` starts it, whose exit code is to be that of the report. A process is killed or stopped at a random moment; a rank skips, repeats, loses,
delays or mis-sizes an operation, or fails in it; over test hosts the link between two goes down.
A run is right when

    every process is gone within the time limit + 2 s after the fault (a killed one: within 2 s),
    the one report names the culprit (its process, its rank; over a lost link its host) and has the exit code that is due,
    and when a fault is harmless (a delay below the limit) the parameters have the hash of an undisturbed run.

    python3 tests/end_to_end/chaos.py --faults 200 --processes 4 8          # prints a table; exit code 1 when any run is wrong
    python3 tests/end_to_end/chaos.py --faults 20 --processes 4 --hosts 2   # over two network namespaces, as root

Skipped where MPICH or its module is missing; test hosts need root and iproute2.
"""

import argparse
import collections
import functools
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chaos_runs import LIMIT, MPIEXEC, STEPS, DriverRun, Run
from driver import BUILD, NPAR, SMALL, mesh, settings
from hosts import Hosts

WORLD = 8
KINDS = ("kill", "stop", "skip", "duplicate", "drop", "delay", "resize", "fail", "late")
EXPECTED_CODE = {"kill": 4, "stop": 5, "drop": 5, "delay": 5, "link": 5, "skip": None, "duplicate": 4, "resize": 4, "fail": 4, "late": 0}


OF_DRIVER = ("kill", "stop")  # what happens to a process from outside


def missing(mpi="mpich"):
    """Why there can be no chaos here; None when there can."""
    if not shutil.which(f"mpiexec.{mpi}"):
        return f"mpiexec.{mpi} is not installed"
    if not (BUILD / "lib" / "npar" / f"libnpar_{mpi}.so").exists():
        return f"npar was built without a module for {mpi}"
    return None


def compile_program(folder, plan="three_d", **sizes):
    path = folder / f"{plan}.npx"
    subprocess.run([NPAR, "compile", "gpt2", "--plan", plan, *settings(SMALL, mesh(**(sizes or {"dp": 2, "pp": 2, "tp": 2}))), "-o", path], check=True, capture_output=True)
    return path


def strike(kind, program, processes, chance, hosts, healthy, start=Run):
    """One run with one fault: an error in words, empty when all was right; and how long it took until all were gone."""
    rank, at = chance.randrange(WORLD), chance.randrange(60, 400)
    victim = chance.randrange(processes)
    words = {
        "skip": [f"skip={rank},{at}"], "duplicate": [f"duplicate={rank},{at}"], "drop": [f"drop={rank},{at}"], "resize": [f"resize={rank},{at}"],
        "fail": [f"fail={rank},{at}"], "delay": [f"delay={rank},{at},{4 * LIMIT}"], "late": [f"late={rank},{at}"],
    }.get(kind, [])
    if kind == "late":
        words = [f"delay={rank},{at},{LIMIT * 0.5}"]
    run = start(program, processes, hosts, words)
    whom = "host 1" if kind == "link" else f"process {victim}" if kind in ("kill", "stop") else f"rank {rank} at {at}"
    described = f"{kind} of {whom} with {processes} processes"
    if kind in ("kill", "stop", "link"):
        begun = chance.randrange(2, 12)
        if not run.wait_for(lambda: run.steps >= begun and len(run.pids) == processes, 60):
            run.end(0)
            return f"{described}: did not begin: {run.lines[-3:]} {run.errors}", None
        time.sleep(chance.random() * 0.05)
        struck = time.monotonic()
        if kind == "link":
            hosts.cut(1)  # the second host's
        else:
            os.kill(run.pids[victim], signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
    else:
        struck = None
    began = time.monotonic()
    if kind == "link":  # mpiexec itself ends when it reaches its other half again
        took = run.end(LIMIT + 10, of_mpiexec=False)
        hosts.mend(1)
        run.end(8)
    else:
        took = run.end(120 if struck is None else LIMIT + 10)
    if took is None:
        return f"{described}: hang", None
    # A fault within came after the last whole step.
    seconds = took if struck is not None else began + took - run.arrived.get("step", began + took)
    reports = run.reports()
    if kind == "late":
        return ("" if run.hash() == healthy and not reports else f"{described}: harmless, and yet {reports or run.lines[-3:]}"), None
    bound = 2 if EXPECTED_CODE[kind] == 4 else LIMIT + 2
    if run.hash() is not None:
        return f"{described}: not noticed, hash {'right' if run.hash() == healthy else 'WRONG'}", seconds
    if seconds > bound:
        return f"{described}: gone after {seconds:.1f} s", seconds
    if kind == "link":
        # Each side says that it does not hear the other one.
        named = sorted(report["host"] == "host1" for report in reports) in ([True], [False, True])
        return ("" if named else f"{described}: {[report['message'] for report in reports]}"), seconds
    if len(reports) != 1:
        return f"{described}: {len(reports)} reports {run.lines[-3:]} {run.errors}", seconds
    report = reports[0]
    if EXPECTED_CODE[kind] is not None and report["code"] != EXPECTED_CODE[kind]:
        return f"{described}: exit code {report['code']}: {report['message']}", seconds
    if start is not Run and run.process.returncode != report["code"]:
        return f"{described}: the report has code {report['code']} and the launcher {run.process.returncode}", seconds
    named = report["process"] == victim if kind in ("kill", "stop") else report["rank"] == rank
    return ("" if named else f"{described}: blamed rank {report['rank']} of process {report['process']}: {report['message']}"), seconds


def chaos(faults, counts, seed=1, hosts=None, kinds=KINDS, say=print, through=None):
    """Errors of all runs, and the table of scores. `through`: an MPI, for runs of npar itself."""
    start = functools.partial(DriverRun, mpi=through) if through else Run
    chance = random.Random(seed)
    errors, table = [], collections.OrderedDict()
    with tempfile.TemporaryDirectory(prefix="npar-chaos-") as folder:
        program = compile_program(pathlib.Path(folder))
        undisturbed = start(program, counts[0], hosts, **({"steps": STEPS} if through else {}))
        undisturbed.end(120)
        healthy = undisturbed.hash()
        if not healthy:
            return [f"an undisturbed run does not end well: {undisturbed.lines[-3:]} {undisturbed.errors}"], table
        for number in range(faults):
            kind, processes = kinds[number % len(kinds)], counts[number // len(kinds) % len(counts)]
            error, seconds = strike(kind, program, processes, chance, hosts, healthy, start)
            row = table.setdefault((kind, processes), {"faults": 0, "right": 0, "hangs": 0, "wrong": 0, "slowest": 0.0})
            row["faults"] += 1
            row["right"] += not error
            row["hangs"] += error.endswith(": hang")
            row["wrong"] += "WRONG" in error
            row["slowest"] = max(row["slowest"], seconds or 0)
            if error:
                errors.append(error)
            say(f"{number + 1} of {faults}: {error or kind + ' right'}" + (f" ({seconds:.2f} s)" if seconds else ""))
    return errors, table


def print_table(table):
    print("| fault | processes | faults | right culprit | hangs | wrong results | gone after, at most |")
    print("|---|---|---|---|---|---|---|")
    for (kind, processes), row in sorted(table.items()):
        print(f"| {kind} | {processes} | {row['faults']} | {row['right']} | {row['hangs']} | {row['wrong']} | {row['slowest']:.1f} s |")
    total = {key: sum(row[key] for row in table.values()) for key in ("faults", "right", "hangs", "wrong")}
    print(f"| all | | {total['faults']} | {total['right']} | {total['hangs']} | {total['wrong']} | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=18)
    parser.add_argument("--processes", type=int, nargs="+", default=[4])
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", default=None, choices=[*KINDS, "link"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--through", choices=["mpich", "openmpi"], help="break runs of `npar launch` over this MPI (kinds kill, stop and link)")
    arguments = parser.parse_args()
    if reason := missing(arguments.through or "mpich") or (Hosts.missing() if arguments.hosts > 1 else None):
        print(f"skipped: {reason}")
        return 0
    kinds = arguments.kinds or (OF_DRIVER if arguments.through else KINDS) + (("link",) if arguments.hosts > 1 else ())
    with Hosts(arguments.hosts) as hosts:
        errors, table = chaos(arguments.faults, arguments.processes, arguments.seed, hosts if arguments.hosts > 1 else None, kinds, through=arguments.through)
    print_table(table)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
