#!/usr/bin/env python3
"""Runs every test: lit, GoogleTest through ctest, end to end. Ends in `N passed, N failed`; called by tools/test.

By hand, some of it only:  tests/run.py --build build [--only lit|google|end-to-end|smoke] [--filter TEXT]
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

TESTS = pathlib.Path(__file__).resolve().parent
# Tests that wait (for a process that stopped, for a message after two seconds) leave their core to another one.
AT_ONCE = (os.cpu_count() or 1) + 1
# These end-to-end tests start first if no earlier run has measured them: a long one that starts last leaves one core idle.
LONGEST = ("test_uses", "test_fuzz", "test_cuda", "test_matrix", "test_expert_plans", "test_embedding", "test_plan", "test_families", "test_examples", "test_verify", "test_foreign_deepspeed")

# Under a minute on two cores, for who has changed something and wants to know at once whether the main things still work: texts and their messages,
# passes, schedules, programs and communication by lit and GoogleTest; compiling, training, resuming, verifying, planning, processes over TCP by npar.
SMOKE_LIT = "dsl/(emit|warnings|errors)|passes/(autodiff|place)/|dialects/"
SMOKE_GOOGLE = r"^(dsl\.Plan|Schedule|ScheduleText|Validate|Loader|Deadlock|Verify|CheckpointTest|ReshardTest|SessionTest|ProductTest|Local/Communicator)"
SMOKE_END_TO_END = (
    "test_emit.EmitTest.test_every_stage_reads_back",
    "test_emit.EmitTest.test_the_exported_program",
    "test_reference.ReferenceTest.test_float64",
    "test_checkpoints.ResumeTest.test_any_plan_loads_what_any_plan_saved",
    "test_eval.EvalTest.test_against_pytorch",
    "test_generate.GenerateTest.test_every_plan_says_the_same",
    "test_inspect.InspectTest.test_json_fields",
    "test_inspect.WhyTest.test_each_collective_names_a_rule_and_its_line",
    "test_verify.VerifyTest.test_dp_pp_tp__sequence_parallelism",
    "test_verify.WrongProgramTest.test_structure",
    "test_plan.PlanTest.test_a_model_beside_the_plan",
    "test_simulate.SimulateTest.test_parts_add_up",
    "test_schedule.ScheduleTest.test_what_is_printed_reads_back",
    "test_process_agreement.EvaluationsTest.test_they_give_what_one_process_gives",
)


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def count(self):
        return self.passed + len(self.failed) + len(self.skipped)

    def add_junit(self, path, kind):
        """Adds the cases of a JUnit file; returns how many there were."""
        cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
        count = 0
        for case in cases:
            count += 1
            name = f"{kind}: {case.get('classname', '')} {case.get('name')}".replace("  ", " ")
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                self.failed.append(name)
            elif (skipped := case.find("skipped")) is not None and "not selected" in skipped.get("message", ""):
                continue  # by --filter
            elif skipped is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped.append(name)
            else:
                self.passed += 1
        return count


def run_lit(build, choose, tally):
    bindir = subprocess.run(["llvm-config-22", "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "lit.xml"
        command = [f"{bindir}/lit", "-s", "-v", f"--param=build={build}", f"--xunit-xml-output={report}", str(TESTS)]
        if choose:
            command += ["--filter", choose]
        code = subprocess.run(command).returncode
        if not report.exists() or tally.add_junit(report, "lit") == 0 and not choose:
            tally.failed.append(f"lit: did not run (exit code {code})")


def run_google(build, choose, tally):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "ctest.xml"
        command = ["ctest", "--test-dir", str(build), "-j", str(AT_ONCE), "--output-on-failure", "--progress", "--timeout", "600"]
        command += ["--output-junit", str(report)]
        if choose:
            command += ["-R", choose]
        code = subprocess.run(command, stdout=subprocess.PIPE if choose is None else None).returncode
        if code != 0 and choose is None:  # again, the failing ones only, with their output
            subprocess.run(["ctest", "--test-dir", str(build), "--rerun-failed", "--output-on-failure"])
        if not report.exists() or tally.add_junit(report, "google") == 0 and not choose:
            tally.failed.append(f"google: did not run (exit code {code})")


class CountedResult(unittest.TextTestResult):
    """Counts each test and each failing subtest, and prints the time of each test."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.good, self.begun = 0, 0.0

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.good += 1

    def stopTest(self, test):
        super().stopTest(test)
        print(f"  {time.monotonic() - self.begun:6.1f} s  {test.id()}", flush=True)


def run_end_to_end(build, choose, tally):
    """Each file of tests in a process of its own, one more at once than there are cores: a compile uses one core most of the time. Files that took
    longest the last time begin first."""
    os.environ["NPAR_BUILD"] = str(build)
    times = pathlib.Path(build) / "end-to-end-times.json"
    last = json.loads(times.read_text()) if times.exists() else {}
    guesses = {name: 1000 - place for place, name in enumerate(LONGEST)}
    expected = lambda path: last.get(path.stem, guesses.get(path.stem, path.stat().st_size / 1000))
    files = sorted((TESTS / "end_to_end").glob("test_*.py"), key=lambda path: (-expected(path), path.stem))
    if isinstance(choose, tuple):
        files = [path for path in files if any(name.startswith(path.stem + ".") for name in choose)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run_file, path, choose, pathlib.Path(folder)) for path in files]):
            name, report, output, seconds = done.result()
            print(output, end="", flush=True)
            if report is None:
                tally.failed.append(f"end to end: {name} did not run to its end")
                continue
            tally.passed += report["passed"]
            tally.failed += [f"end to end: {each}" for each in report["failed"]]
            tally.skipped += [f"end to end: {each}" for each in report["skipped"]]
            if choose is None:
                last[name] = seconds
    if choose is None:
        times.write_text(json.dumps(last, indent=1, sort_keys=True))


def run_file(path, choose, folder):
    """Its name, what came of it (None: it ended before its end), what it printed, and how long it took."""
    report, begun = folder / f"{path.stem}.json", time.monotonic()
    patterns = [] if choose is None else choose if isinstance(choose, tuple) else [f"*{choose}*"]
    command = [sys.executable, __file__, "--file", str(path), "--report", str(report), *(word for each in patterns for word in ("--pattern", each))]
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode(errors="replace")
    return path.stem, json.loads(report.read_text()) if report.exists() else None, output, round(time.monotonic() - begun, 1)


def run_this_file(path, patterns, report):
    sys.path.insert(0, str(path.parent))
    loader = unittest.TestLoader()
    loader.testNamePatterns = patterns
    suite = loader.discover(str(path.parent), pattern=path.name)
    if not suite.countTestCases():
        report.write_text(json.dumps({"passed": 0, "failed": [], "skipped": []}))
        return
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=CountedResult, verbosity=0).run(suite)
    failed = [str(test.id()) for test, _ in result.failures + result.errors]
    failed += [f"{test.id()} (passed against expectation)" for test in result.unexpectedSuccesses]
    skipped = [f"{test.id()}: {reason}" for test, reason in result.skipped]
    report.write_text(json.dumps({"passed": result.good, "failed": failed, "skipped": skipped}))


def run_smoke(build, choose, tally):
    """A few tests of each kind; `choose` chooses among those of npar itself."""
    if choose is None:
        run_lit(build, SMOKE_LIT, tally)
        run_google(build, SMOKE_GOOGLE, tally)
    names = tuple(name for name in SMOKE_END_TO_END if choose is None or choose in name)
    before = tally.count()
    run_end_to_end(build, names, tally)
    if tally.count() < before + len(names):
        tally.failed.append("smoke: a test of SMOKE_END_TO_END in tests/run.py is no longer there")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(TESTS.parent / "build"))
    parser.add_argument("--only", choices=["lit", "google", "end-to-end", "smoke"])
    parser.add_argument("--filter", help="only tests whose name has this text")
    parser.add_argument("--file", type=pathlib.Path, help=argparse.SUPPRESS)  # one file of end-to-end tests, in this process
    parser.add_argument("--report", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--pattern", action="append", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        return run_this_file(options.file, options.pattern, options.report)
    build, tally = pathlib.Path(options.build).resolve(), Tally()
    for kind, run in (("lit", run_lit), ("google", run_google), ("end-to-end", run_end_to_end), ("smoke", run_smoke)):
        if options.only == kind or options.only is None and kind != "smoke":
            begun = time.monotonic()
            print(f"== {kind}", flush=True)
            run(build, options.filter, tally)
            print(f"== {kind} took {time.monotonic() - begun:.0f} s", flush=True)
    for name in tally.skipped:
        print(f"skipped  {name}")
    for name in tally.failed:
        print(f"FAILED   {name}")
    if tally.skipped:
        print(f"{len(tally.skipped)} skipped, reasons above")
    print(f"{tally.passed} passed, {len(tally.failed)} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
