"""Two processes with a file system each: what differs between them is named before the first step, what process 0 decides holds for both."""

import json
import random
import shutil
import time
import unittest

from driver import DriverTest
from test_process_flags import Inputs, Together


class AgreementTest(Together, DriverTest):
    """Folders `a` and `b` stand for the file systems of two hosts."""

    @classmethod
    def setUpClass(cls):
        cls.inputs = Inputs()
        cls.addClassCleanup(shutil.rmtree, cls.inputs.folder, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.a, self.b = self.place("a"), self.place("b")

    def apart(self, *words, code=0, **variables):
        """Exit codes are the same; the output and the error of both."""
        environments = [{"NPAR_HOST": name, **own} for name, own in (("a", {}), ("b", variables))]
        told = self.over("tcp", [str(word) for word in (*words, "--threads", 1, "--timeout", 60)], [self.a, self.b], environments)
        error = "\n".join(each for _, _, each in told)
        self.assertEqual([each for each, _, _ in told], [code, code], error)
        return told[0][1], error

    def change(self, name, at, value=None):
        """Another byte in the copy of host b; None: it ends there."""
        path = self.b / name
        old = path.read_bytes()
        at %= len(old)
        path.write_bytes(old[:at] if value is None else old[:at] + bytes([old[at] ^ value]) + old[at + 1 :])

    def test_copies_are_the_same_file(self):
        words = ["run", "samples.npar", "--weights", "samples.safetensors", "--eval-every", 2, "--steps", 4, "--json", "--quiet"]
        for check in ("sampled", "full"):
            output, _ = self.apart(*words, "--check", check)
            self.assertEqual(json.loads(output)["parameter_hash"], json.loads(self.npar(*words, cwd=self.a).output)["parameter_hash"])

    def test_files_that_differ_are_named(self):
        run, tokens = ("run", "samples.npar", "--steps", 2), ("run", "tokens.npar", "--data", "tokens.u16", "--tokens", "u16", "--steps", 2)
        hashes = r"the hash of its {} bytes is [0-9a-f]{{32}} in the first, [0-9a-f]{{32}} in the second"
        for name, at, value, words, wrong in (
            ("all.safetensors", -301, 1, run, hashes.format(r"(first|last) \d+")),
            ("all.safetensors", -301, 1, (*run, "--check", "full"), hashes.format(r"\d+")),
            ("tokens.u16", -2, None, tokens, "it has 798 bytes in the first, 800 bytes in the second"),
            ("tokens.mask", 1, 1, (*tokens, "--mask", "tokens.mask"), hashes.format(r"first 400")),
            ("tokens.i32", 0, 1, (*tokens, "--eval-every", 1, "--eval-data", "tokens.i32"), "tokens.i32"),
            ("samples.safetensors", -1, 1, (*run, "--weights", "samples.safetensors"), hashes.format(r"first \d+")),
            ("kept-samples/step-4/manifest.json", -3, 0x2A, (*run, "--weights", "kept-samples/step-4"), "manifest"),
            ("samples.safetensors", -1, 1, ("eval", "samples.npar", "--plan", "divided", "--weights", "samples.safetensors"), hashes.format(r"first \d+")),
            ("all.safetensors", -301, 1, ("eval", "samples.npar", "--plan", "divided", "--weights", "samples.safetensors"), hashes.format(r"first \d+")),
        ):
            with self.subTest(name=name, words=" ".join(map(str, words))):
                self.change(name, at, value)
                try:
                    _, error = self.apart(*words, code=1)
                finally:
                    shutil.copy(self.a / name, self.b / name)
                if "manifest" not in name:
                    self.assertRegex(error, f"'{name}' differs between process 1 on 'b' and process 0 on 'a': ")
                self.assertRegex(error, wrong)

    def test_every_byte_counts_with_full(self):
        chance = random.Random(3)
        data = bytes(chance.randrange(16) for _ in range(3 << 20))
        for folder in (self.a, self.b):
            (folder / "long.txt").write_bytes(data)
        words = ("run", "tokens.npar", "--data", "long.txt", "--tokens", "bytes", "--steps", 1, "--quiet")
        self.change("long.txt", 1_500_001, 1)
        self.apart(*words)  # one byte of 3 MiB, in none of the blocks that the seed chooses
        _, error = self.apart(*words, "--check", "full", code=1)
        self.assertRegex(error, "'long.txt' differs between process 1 on 'b'")

    def test_a_missing_file_is_said_with_whose_it_is(self):
        (self.b / "all.safetensors").unlink()
        _, error = self.apart("run", "samples.npar", "--steps", 2, code=1)
        self.assertRegex(error, "all.safetensors")
        self.assertRegex(error, "npar: reported by process 1 on 'b'")

    def test_the_text_of_process_0_counts(self):
        words = ("run", "samples.npar", "--steps", 2, "--json", "--quiet")
        alone = json.loads(self.npar(*words, cwd=self.a).output)["parameter_hash"]
        (self.b / "samples.npar").write_text("no model at all")
        self.assertEqual(json.loads(self.apart(*words)[0])["parameter_hash"], alone)

    def test_processes_that_prefer_different_orders_of_products_take_the_portable_one(self):
        words = ("run", "samples.npar", "--set", "compute=bf16", "--steps", 2, "--json")
        alone = {order: json.loads(self.npar(*words, "--products", order, cwd=self.a).output) for order in ("portable", "pairs", "fastest")}
        output, error = self.apart(*words, NPAR_INSTRUCTIONS="plain")
        together = json.loads(output)
        self.assertEqual((together["products"], together["parameter_hash"]), ("portable", alone["portable"]["parameter_hash"]))
        remark = "process 1 on 'b' multiplies bf16 fastest in the portable order, process 0 on 'a' in the pairs order: all take the portable order"
        self.assertEqual(error.count(remark), int(alone["fastest"]["products"] == "pairs"), error)
        output, error = self.apart(*words, "--products", "pairs", NPAR_INSTRUCTIONS="plain")
        self.assertEqual(json.loads(output)["parameter_hash"], alone["pairs"]["parameter_hash"])
        self.assertNotIn("order", error)

    def test_an_unknown_set_of_instructions_is_refused(self):
        _, error = self.apart("run", "samples.npar", "--steps", 2, code=1, NPAR_INSTRUCTIONS="sse")
        self.assertIn("NPAR_INSTRUCTIONS is 'sse'; use plain, avx2, avx512, pairs or tiles", error)

    def test_the_newest_checkpoint_is_that_of_process_0(self):
        shutil.rmtree(self.b / "kept-samples" / "step-4")
        _, error = self.apart("run", "samples.npar", "--weights", "kept-samples", "--steps", 2, code=1)
        self.assertIn("step-4", error)
        shutil.copytree(self.a / "kept-samples" / "step-4", self.b / "kept-samples" / "step-4")
        shutil.copytree(self.a / "kept-samples" / "step-4", self.b / "kept-samples" / "step-9")  # newer, and only here
        words = ("eval", "kept-samples", "--plan", "divided", "--data", "all.safetensors", "--json", "--quiet")
        self.assertEqual(json.loads(self.apart(*words)[0]), json.loads(self.npar(*words, cwd=self.a).output))


class EvaluationsTest(Together, DriverTest):
    """Evaluations inside a training of two processes, whose two sessions take turns."""

    @classmethod
    def setUpClass(cls):
        cls.inputs = Inputs()
        cls.addClassCleanup(shutil.rmtree, cls.inputs.folder, ignore_errors=True)

    def test_they_give_what_one_process_gives(self):
        tokens = ["tokens.npar", "--data", "tokens.u16", "--tokens", "u16", "--eval-data", "tokens.u16"]
        for words in (
            ["samples.npar"],
            ["samples.npar", "--set", "zero=3", "--eval-data", "all.safetensors", "--eval-stop-on", "right"],
            tokens,
            ["samples.npar", "--checkpoint", "made", "--checkpoint-every", "1", "--checkpoint-keep", "2", "--eval-stop-after", "2", "--check-replicas", "1"],
            ["samples.npar", "--backend", "cuda", "--nccl", "always"],
        ):
            with self.subTest(words=" ".join(words)):
                line = ["run", *words, "--eval-every", "2", "--steps", "4", "--threads", "1", "--json", "--quiet"]
                found = []
                for transport in ("one", "tcp"):
                    told = self.over(transport, line, [self.place(f"{transport}-{len(found)}")])
                    self.assertEqual({code for code, _, _ in told}, {0}, told[0][2])
                    found.append(json.loads(told[0][1]))
                    shutil.rmtree(self.folder / f"{transport}-{len(found) - 1}")
                one, many = found
                self.assertEqual((many["eval"], many["best"], many["loss"], many["parameter_hash"]), (one["eval"], one["best"], one["loss"], one["parameter_hash"]))

    def test_who_is_killed_while_it_evaluates_is_named(self):
        """By the report, and by the records of both sessions' events."""
        folder = self.place("killed")
        (folder / "long.u16").write_bytes((folder / "tokens.u16").read_bytes() * 100)
        words = ["run", "tokens.npar", "--set", "mesh.dp=1", "--set", "mesh.tp=2", "--data", "tokens.u16", "--tokens", "u16", "--eval-data", "long.u16", "--eval-every", "1", "--steps", "1000", "--threads", "1", "--flight", "flight", "--log", "log.jsonl", "--quiet"]
        started = self.start_over_tcp(words, [folder, folder])
        rows = folder / "log.jsonl.partial"
        while not (rows.exists() and rows.stat().st_size) and started[0].poll() is None:
            time.sleep(0.02)
        time.sleep(0.2)  # the first step is done, its evaluation has 600 steps
        started[1].kill()
        started[1].communicate(timeout=30)
        _, error = started[0].communicate(timeout=60)
        self.assertNotIn(started[0].returncode, (0, -11), error)
        self.assertRegex(error, r"process 1 on host '.*' \(pid \d+\), which holds rank 1, ended without a message")
        found = json.loads(self.npar("autopsy", folder / "flight", "--json", code=3).output)
        self.assertEqual((found["verdict"]["process"], found["failure"]["evaluation"]), (1, True), found)


if __name__ == "__main__":
    unittest.main()
