"""User mistakes: a clear message and the documented exit code, no crash, and never a damaged file in place of a good one."""

import os
import random
import resource
import struct
import subprocess
import unittest

from driver import LONG, SMALL, DriverTest, mesh, safetensors_file, settings

ONE = ["gpt2", "--plan", "none", *settings(SMALL)]
DP = ["gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=2, pp=1, tp=1))]


def disk_full_after(size):
    """For a process that finds the disk full when a file grows beyond `size` bytes. SIGXFSZ, which ends a process by default, is left to it."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


class BadFlagTest(DriverTest):
    def test_usage(self):
        for arguments, expected in [
            (["run", "gpt2", "--stesp", "3"], "did you mean '--steps'?"),
            (["rum", "gpt2"], "did you mean 'run'?"),
            ([], "no subcommand"),
            (["run"], "MODEL"),
            (["run", "gpt2", "--steps", "many"], "--steps"),
            (["run", "gpt2", "--steps", "-1"], "--steps"),
            (["run", "gpt2", "--random-data", "--set", "batch"], "KEY=VALUE"),
            (["run", "gpt2", "--tokens", "letters"], "--tokens"),
            (["run", "gpt2", "--data-order", "random"], "--data-order"),
            (["compile", "gpt2", "--emit=llvm"], "--emit"),
            (["compile", "gpt2", "--rank", "1"], "--emit=rank"),
            (["compile", "gpt2", "--emit=rank", "--rank", "800"], "800"),
            (["compile", "gpt2", "-o", ""], "it is empty"),
            (["run", "gpt2", "--random-data", "--timeout", "nan"], "not a number of seconds"),
            (["verify", "mlp", "--timeout", "-1"], "not a number of seconds"),
            (["verify", "mlp", "--seed", "-1"], "not a whole number"),
            (["verify", "mlp", "--plans", "3"], "need --all"),
            (["inspect", "gpt2", "--saved", "--annotate"], "one view at a time"),
            (["inspect", "gpt2", "--svg", "a", "--html", "./a"], "the same file"),
            (["run", "gpt2", "--random-data", "--log", "a", "--trace", "./a"], "the same file"),
            (["run", "gpt2", "--data", "a", "--tokens", "bytes", "--log", "a"], "the same file"),
            (["run", "gpt2", "--random-data", "--tokens", "bytes"], "--tokens needs --data"),
            (["run", "gpt2", "--random-data", "--data-order", "sequential"], "--data-order needs --data"),
            (["run", "gpt2", "--random-data", "--trace-steps", "3"], "--trace-steps needs --trace"),
            (["run", "gpt2", "--random-data", "--backend", "null", "--output", "w"], "which computes nothing"),
            (["run", "gpt2", "--random-data", "--backend", "null", "--weights", "w"], "which computes nothing"),
            (["run", "gpt2", "--random-data", "--steps", "1", "--steps", "2"], "--steps"),
            (["run", "gpt2", "--random-data", "--log", ""], "--log: it is empty"),
            (["run", "gpt2", "--random-data", "--trace", ""], "--trace: it is empty"),
            (["run", "gpt2", "--random-data", "--weights", ""], "--weights: it is empty"),
            (["run", "gpt2", "--random-data", "--output", ""], "--output: it is empty"),
            (["run", "gpt2", "--random-data", "--mask", ""], "--mask: it is empty"),
            (["run", "gpt2", "--data", "", "--tokens", "bytes"], "--data: it is empty"),
            (["inspect", "gpt2", "--plan", ""], "--plan: it is empty"),
            (["inspect", "gpt2", "--svg", ""], "--svg: it is empty"),
            (["inspect", "gpt2", "--set", "depth="], "--set needs KEY=VALUE"),
            (["inspect", "compare", "gpt2", "--compare-set", "micro"], "--compare-set takes KEY=VALUE"),
            (["inspect", "gpt2", "--why", "--compare-set", "schedule=gpipe"], "one view at a time"),
            (["inspect", "gpt2", "why", "gpt2"], "the view comes first"),
            (["inspect", "compare", "gpt2"], "nothing to compare with"),
            (["verify", "--all", "mlp", "--timeout", "5"], "--timeout has no effect"),
            (["verify", "some.npx", "--seed", "5"], "--seed has no effect"),
            (["schedule", "--check", "diff", "1f1b", "gpipe"], "--check precedes 'diff'"),
            (["schedule", "--kind=gpipe", "explain", "--kind=1f1b"], "--kind precedes 'explain'"),
            (["schedule", "--kind=gpipe", "--stages=2", "--microbatches=2", "--memory-cap", "0"], "above 0"),
            (["schedule", "--kind=gpipe", "--stages=2", "--microbatches=2", "--cost", ""], "--cost: it is empty"),
            (["schedule", "--kind=gpipe", "--stages=2", "--microbatches=2", "--cost", "F=1,F=2"], "twice"),
            (["schedule", "--kind=gpipe", "--stages=2", "--microbatches=2", "--format=csv", "--json"], "--format excludes --json"),
            (["compile", "gpt2", "--emit=ast", "--set", "depth=2"], "have no effect"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(expected, self.npar(*arguments, code=2).error)

    def test_help_leads_with_an_example(self):
        for command in ("compile", "run", "inspect", "verify"):
            with self.subTest(command=command):
                text = self.npar(command, "--help").output
                self.assertIn("Example:", text.split("OPTIONS")[0].split("Options")[0])
                self.assertIn("Exit codes", text)

    def test_unknown_model_plan_and_setting(self):
        self.assertIn("did you mean 'gpt2'", self.npar("inspect", "gtp2", code=1).error)
        self.assertIn("no_plan", self.npar("inspect", "gpt2", "--plan", "no_plan", code=1).error)
        (self.folder / "dir.npar").mkdir()
        (self.folder / "gone.npar").symlink_to("nowhere.npar")
        self.assertIn("it is a directory", self.npar("inspect", "dir.npar", code=1).error)
        self.assertIn("a symbolic link that leads to no file", self.npar("inspect", "gone.npar", code=1).error)
        self.assertIn("it is a directory", self.npar("schedule", "--from-csv", "dir.npar", code=1).error)
        self.assertIn("No such file", self.npar("schedule", "--from-csv", "none.csv", code=1).error)
        self.assertIn("widht", self.npar("inspect", "gpt2", "--set", "widht=3", code=1).error)


class BadDataTest(DriverTest):
    def train(self, *arguments, code, model=ONE, **options):
        return self.npar("run", *model, "--steps", 2, "--quiet", *arguments, code=code, **options).error

    def test_data(self):
        short, empty = self.folder / "short", self.folder / "empty"
        short.write_bytes(b"x" * SMALL["length"])
        empty.write_bytes(b"")
        odd = self.folder / "odd"
        odd.write_bytes(b"\x01\x00" * 300 + b"\x01")
        large = self.folder / "large"
        large.write_bytes(struct.pack("<300H", *[SMALL["vocab"]] * 300))
        negative = self.folder / "negative"
        negative.write_bytes(struct.pack("<300i", *[-1] * 300))
        self.assertIn("--data", self.train(code=2))
        self.assertIn("no/such", self.train("--data", "no/such", "--tokens", "bytes", code=1))
        self.assertIn(str(self.folder), self.train("--data", self.folder, "--tokens", "bytes", code=1))
        self.assertIn("17", self.train("--data", short, "--tokens", "bytes", code=1))
        self.train("--data", empty, "--tokens", "bytes", code=1)
        self.assertIn("601", self.train("--data", odd, "--tokens", "u16", code=1))
        self.assertIn("257", self.train("--data", large, "--tokens", "u16", code=1))
        self.assertIn("-1", self.train("--data", negative, "--tokens", "i32", code=1))
        # Bytes that the model has no entry for are refused one by one, no longer all texts below 256 entries: plain ASCII needs 128.
        (self.folder / "latin").write_bytes(b"caf\xe9 " * 100)
        bytes_error = self.train("--set", "vocab=200", "--data", "latin", "--tokens", "bytes", code=1)
        self.assertIn("sample 0 of 'latin' has token 233 at position 3, but axis 'vocab' (", bytes_error)
        self.assertIn("has 200 classes, 0 to 199; to accept every byte it needs 256", bytes_error)
        (self.folder / "ascii").write_bytes(b"coffee " * 100)
        self.train("--set", "vocab=200", "--data", "ascii", "--tokens", "bytes", code=0)
        self.assertIn(
            "data 'ascii' has 10 samples of 64 tokens, but a batch needs 16",
            self.train("--set", "context=64", "--set", "length=64", "--data", "ascii", "--tokens", "bytes", code=1),
        )

    def test_unreadable_data(self):
        """Root reads everything, so as root the driver runs as the user `nobody`."""
        path = self.text_file()
        path.chmod(0)
        self.folder.chmod(0o777)
        options = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            error = self.train("--data", path, "--tokens", "bytes", code=1, env={**os.environ, "NPAR_CACHE": str(self.folder)}, **options)
        except PermissionError:
            self.skipTest("other users cannot enter the folder of the driver")
        self.assertIn("Permission denied", error)
        self.assertIn("text.txt", error)

    def good_weights(self):
        self.npar("run", *ONE, "--steps", 1, "--quiet", "--data", self.text_file(), "--tokens", "bytes", "--output", "w.safetensors")
        return safetensors_file.read(self.folder / "w.safetensors")

    def test_weights(self):
        weights, data = self.good_weights(), ["--data", self.text_file(), "--tokens", "bytes"]
        path = self.folder / "w.safetensors"
        good = path.read_bytes()

        wpe = weights["wpe.weight"]
        weights["wpe.weight"] = safetensors_file.Tensor([31, 32], wpe.values[: 31 * 32])
        safetensors_file.write(path, weights)
        error = self.train(*data, "--weights", path, code=1)
        for expected in ("wpe.weight", "31", "32"):
            self.assertIn(expected, error)

        del weights["wpe.weight"]
        safetensors_file.write(path, weights)
        self.assertIn("wpe.weight", self.train(*data, "--weights", path, code=1))

        self.train(*data, "--weights", "no.safetensors", code=1)
        for size in (0, 4, 8, 100, len(good) // 2, len(good) - 1):
            with self.subTest(truncated=size):
                path.write_bytes(good[:size])
                self.assertIn("w.safetensors", self.train(*data, "--weights", path, code=1))
        for header in (b"\xff" * 8 + good[8:], struct.pack("<Q", 1 << 40) + good[8:], good[:8] + b"[" + good[9:]):
            path.write_bytes(header)
            self.assertIn("w.safetensors", self.train(*data, "--weights", path, code=1))

    def test_outputs_that_cannot_be_written_are_found_first(self):
        data = ["--data", self.text_file(), "--tokens", "bytes", "--steps", 100000]
        for flag in ("--log", "--trace", "--output"):
            for path in ("no/such/folder/file", "no/folder/" if flag == "--log" else self.folder):  # a folder can name a log
                with self.subTest(flag=flag, path=path):
                    self.assertIn(str(path), self.npar("run", *ONE, *data, flag, path, code=1, timeout=120).error)

    def test_full_disk_leaves_the_old_file(self):
        self.npar("compile", *ONE, "-o", "good.npx")
        size = (self.folder / "good.npx").stat().st_size
        train = ["run", "good.npx", "--random-data", "--quiet"]
        for name, limit, code, command in [
            ("log.jsonl", size, 1, [*train, "--steps", 1 + size // 100, "--log"]),
            ("w.safetensors", size, 1, [*train, "--steps", 2, "--output"]),
            ("t.json", size, 1, [*train, "--steps", 20, "--trace"]),
            ("p.npx", size - 1, 1, ["compile", *ONE, "-o"]),
            ("s.json", 2000, 1, ["inspect", "good.npx", "--trace"]),
        ]:
            with self.subTest(name=name):
                (self.folder / name).write_text("good\n")
                self.assertIn(name, self.npar(*command, name, code=code, preexec_fn=disk_full_after(limit)).error)
                self.assertEqual((self.folder / name).read_text(), "good\n")

    def test_full_file_system(self):
        """The same on a real file system of 300 kB, for which the test needs the right to mount one."""
        small = self.folder / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", small], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no right to mount a small file system")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.npar("compile", *ONE, "-o", "good.npx")
        train = ["run", "good.npx", "--random-data", "--quiet"]
        for name, code, command in [
            ("log.jsonl", 1, [*train, "--steps", 400, "--log"]),
            ("w.safetensors", 1, [*train, "--steps", 2, "--output"]),
            ("t.json", 1, [*train, "--steps", 5, "--trace"]),
            ("p.npx", 1, ["compile", *ONE, "-o"]),
            ("s.svg", 1, ["inspect", "good.npx", "--svg"]),
            ("s.json", 1, ["inspect", "good.npx", "--trace"]),
        ]:
            with self.subTest(name=name):
                (small / name).write_text("good\n")
                with open(small / "filler", "wb") as filler:  # all but 4 kB
                    filler.write(b"x" * (300 * 1024 - 8192))
                self.assertIn(name, self.npar(*command, small / name, code=code).error)
                self.assertEqual((small / name).read_text(), "good\n")
                left = {path.name for path in small.iterdir()} - {name, "filler", "log.jsonl.partial"}
                self.assertFalse(left, "files left behind")
                for path in small.iterdir():
                    path.unlink()

    def test_full_standard_output(self):
        """A file that cannot be written is wrong input, as README.md says, whichever file it is."""
        for command in (
            ["inspect", *ONE, "--json"],
            ["compile", *ONE, "--emit=dist"],
            ["run", *ONE, "--random-data", "--steps", 1],
            ["verify", *ONE],
            ["verify", "--all", "mlp", "--plans", 2],
            ["schedule", "--kind=1f1b", "--stages=2", "--microbatches=2"],
            ["run", "--help"],
        ):
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                self.assertIn("standard output", self.npar(*command, code=1, stdout=full).error)


class DamagedProgramTest(DriverTest):
    def test_truncated_and_altered(self):
        self.npar("compile", *DP, "-o", "good.npx")
        good = (self.folder / "good.npx").read_bytes()
        path = self.folder / "bad.npx"
        chance = random.Random(1)
        places = list(range(0, 64)) + [chance.randrange(len(good)) for _ in range(400 if LONG else 60)] + [len(good) - 1]
        for place in places:
            changed = bytearray(good)
            changed[place] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
            self.assertIn("bad.npx", self.npar("inspect", path, code=1).error, f"byte {place}")
        for size in (0, 1, 8, 47, 48, 49, len(good) // 2, len(good) - 1):
            path.write_bytes(good[:size])
            self.assertIn("bad.npx", self.npar("run", path, "--random-data", "--steps", 1, code=1).error, f"{size} bytes")
        path.write_bytes(good + b"x")
        self.npar("inspect", path, code=1)
        self.npar("inspect", "none.npx", code=1)

    def test_settings_cannot_change_a_compiled_program(self):
        self.npar("compile", *ONE, "-o", "good.npx")
        self.assertIn("--set", self.npar("run", "good.npx", "--set", "batch=2", "--random-data", code=2).error)


if __name__ == "__main__":
    unittest.main()
