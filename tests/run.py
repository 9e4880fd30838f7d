#!/usr/bin/env python3
"""Runs every test: lit, GoogleTest through ctest, end to end. Ends in `N passed, N failed`; called by tools/test.

By hand, some of it only:  tests/run.py --build build [--only lit|google|end-to-end] [--filter TEXT]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

TESTS = pathlib.Path(__file__).resolve().parent


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add_junit(self, path, kind):
        """Adds the cases of a JUnit file; returns how many there were."""
        cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
        count = 0
        for case in cases:
            count += 1
            name = f"{kind}: {case.get('classname', '')} {case.get('name')}".replace("  ", " ")
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                self.failed.append(name)
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
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
        command = ["ctest", "--test-dir", str(build), "-j", str(os.cpu_count()), "--output-on-failure", "--progress", "--timeout", "600"]
        command += ["--output-junit", str(report)]
        if choose:
            command += ["-R", choose]
        code = subprocess.run(command, stdout=subprocess.PIPE if choose is None else None).returncode
        if code != 0 and choose is None:  # again, the failing ones only, with their output
            subprocess.run(["ctest", "--test-dir", str(build), "--rerun-failed", "--output-on-failure"])
        if not report.exists() or tally.add_junit(report, "google") == 0 and not choose:
            tally.failed.append(f"google: did not run (exit code {code})")


class CountedResult(unittest.TextTestResult):
    """Counts each test and each failing subtest; says what runs and how long it took."""

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
    os.environ["NPAR_BUILD"] = str(build)
    sys.path.insert(0, str(TESTS / "end_to_end"))
    loader = unittest.TestLoader()
    if choose:
        loader.testNamePatterns = [f"*{choose}*"]
    suite = loader.discover(str(TESTS / "end_to_end"), pattern="test_*.py")
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=CountedResult, verbosity=0).run(suite)
    tally.passed += result.good
    tally.failed += [f"end to end: {test.id()}" for test, _ in result.failures + result.errors]
    tally.failed += [f"end to end: {test.id()} (passed against expectation)" for test in result.unexpectedSuccesses]
    tally.skipped += [f"end to end: {test.id()}: {reason}" for test, reason in result.skipped]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(TESTS.parent / "build"))
    parser.add_argument("--only", choices=["lit", "google", "end-to-end"])
    parser.add_argument("--filter", help="only tests whose name has this text")
    options = parser.parse_args()
    build, tally = pathlib.Path(options.build).resolve(), Tally()
    for kind, run in (("lit", run_lit), ("google", run_google), ("end-to-end", run_end_to_end)):
        if options.only in (None, kind):
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
