"""AddressSanitizer with UndefinedBehaviorSanitizer, and ThreadSanitizer, over the GoogleTests and a sample of end-to-end tests.

Only with NPAR_LONG=1: each is a build of its own (NPAR_SANITIZE, tests/sanitizers/README.md), which takes as long as the first one.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

from driver import LONG, ROOT

PLACE = ROOT / "tests" / "sanitizers"
HERE = pathlib.Path(__file__).resolve().parent

# GoogleTests that cannot run under a sanitizer, and why.
NOT_UNDER = {
    "address": {
        "LoadMemory": "measures this process's memory, of which the sanitizer takes more than the test's limit",
        "WorkerMemory": "measures this process's memory, of which the sanitizer takes more than the test's limit",
        "CudnnPlans": "cuDNN keeps what it allocates; it is unloaded when leaks are looked for, so that no suppression can name it",
        "CudaScores": "emulates the threads of a GPU one by one, which takes minutes each; CudaAttention runs the same kernels on less",
    },
    "thread": {
        "DeathTest": "forks a process with threads, after which ThreadSanitizer does not go on",
        "LoadMemory": "measures this process's memory, of which the sanitizer takes more than the test's limit",
        "WorkerMemory": "measures this process's memory, of which the sanitizer takes more than the test's limit",
        "Attention(Edge)?Test|Product|SoftmaxKernels": "arithmetic of one thread at a time or below TBB, whose hand-overs are not seen: nothing but time",
    },
}
# Files of end-to-end tests, or tests of them, that run npar itself so. Those that put a library before the C library, or limit addresses, cannot.
SAMPLE = {
    "address": ["test_data", "test_inputs", "test_torchrun", "test_cut_files", "test_logs", "test_checkpoint_command", "test_tokens", "test_eval",
                "test_embedding.EmbeddingTest.test_programs_with_find_package"],
    "thread": ["test_torchrun.TorchrunTest.test_processes_train_as_one", "test_torchrun.TorchrunTest.test_a_killed_process_is_named", "test_cut_files",
               "test_data", "test_embedding.EmbeddingTest.test_programs_with_find_package"],
}


def options():
    """The variables of tests/sanitizers/options."""
    text = (PLACE / "options").read_text()
    return {name: value.replace("$here", str(PLACE)) for name, value in re.findall(r'^export (\w+)="(.*)"$', text, re.MULTILINE)}


class SuppressionsTest(unittest.TestCase):
    def test_each_has_its_reason(self):
        for path in PLACE.glob("*.supp"):
            above = ""
            for line in path.read_text().splitlines():
                self.assertTrue(line.startswith("#") or above, f"{path.name}: {line}: no reason above it")
                above = line

    def test_options_name_files(self):
        self.assertEqual(set(options()), {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"})
        for value in options().values():
            for path in re.findall(r"(?<!_)suppressions=([^:]+)", value):
                self.assertTrue(pathlib.Path(path).is_file(), path)


@unittest.skipUnless(LONG, "two builds of an hour each; set NPAR_LONG=1")
class SanitizersTest(unittest.TestCase):
    def run_under(self, name, sanitizers):
        build = ROOT / "build" / f"sanitize-{name}"
        environment = {**os.environ, **options()}
        self.call(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, f"-DNPAR_SANITIZE={sanitizers}"], environment)
        self.call(["ninja", "-C", build], environment)
        left_out = "|".join(NOT_UNDER[name])
        with self.subTest("GoogleTests"):
            self.call(["ctest", "--test-dir", build, "-j", os.cpu_count(), "--output-on-failure", "--timeout", 1800, "-E", left_out], environment)
        for tests in SAMPLE[name]:
            with self.subTest(tests):
                own = {**environment, "NPAR_BUILD": str(build), "NPAR_SANITIZED": sanitizers}
                own.pop("NPAR_LONG", None)
                self.call([sys.executable, "-m", "unittest", tests], own, HERE)

    def call(self, command, environment, folder=ROOT):
        done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = done.stdout.decode(errors="replace")
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, command))}\n{text[-20000:]}")

    def test_address_and_undefined_behaviour(self):
        self.run_under("address", "address,undefined")

    def test_threads(self):
        self.run_under("thread", "thread")


if __name__ == "__main__":
    unittest.main()
