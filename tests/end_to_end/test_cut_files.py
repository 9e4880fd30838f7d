"""Files that something cuts while npar reads them: an error that names the file, in one process and in several, and no crash."""

import os
import subprocess
import time
import unittest

from driver import NPAR, SMALL, DriverTest, settings
from test_torchrun import free_port

MODEL = ["gpt2", "--plan", "none", *settings(SMALL, depth=1), *settings(ignore=-100)]
MLP = ["mlp", *settings(width=8, inner=8, depth=1, length=8)]
TEXT = bytes(range(97, 123)) * 4000


class CutFilesTest(DriverTest):
    def setUp(self):
        super().setUp()
        self.restore()

    def restore(self):
        (self.folder / "text").write_bytes(TEXT)
        (self.folder / "mask").write_bytes(b"\1" * len(TEXT))
        (self.folder / "held").write_bytes(TEXT[:2000])
        for path in self.folder.glob("log*"):
            path.unlink()

    def start(self, *arguments, **variables):
        command = [str(NPAR), *map(str, arguments)]
        process = subprocess.Popen(command, cwd=self.folder, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def cut_when_it_runs(self, name, process, size=0):
        """Once steps are logged; what is left of the file is nothing that a step needs."""
        log, begun = self.folder / "log.partial", time.monotonic()
        while not (log.exists() and log.stat().st_size) and process.poll() is None and time.monotonic() < begun + 60:
            time.sleep(0.01)
        os.truncate(self.folder / name, size)

    def check(self, process, what):
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, error[-2000:])
        self.assertRegex(error, rf"npar: error: cannot read {what}': it ends at byte \d+, but had \d+ bytes when it was opened")

    def test_training(self):
        run = ["run", *MODEL, "--data", "text", "--tokens", "bytes", "--mask", "mask", "--steps", 1_000_000, "--log", "log", "--quiet"]
        for name, what in [("text", "data 'text"), ("mask", "mask 'mask")]:
            with self.subTest(name):
                self.restore()
                process = self.start(*run)
                self.cut_when_it_runs(name, process)
                self.check(process, what)

    def test_evaluation_in_training(self):
        process = self.start("run", *MODEL, "--data", "text", "--tokens", "bytes", "--steps", 1_000_000, "--log", "log", "--quiet", "--eval-every", 5,
                             "--eval-data", "held")
        self.cut_when_it_runs("held", process)
        self.check(process, "data 'held")

    def test_two_processes(self):
        port = free_port()
        run = ["run", "gpt2", *settings(SMALL, depth=2), *settings({"mesh.dp": 2, "mesh.pp": 1, "mesh.tp": 1}), "--data", "text", "--tokens", "bytes", "--steps", 1_000_000, "--log", "log", "--quiet"]
        both = [self.start(*run, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(port)) for rank in range(2)]
        self.cut_when_it_runs("text", both[0])
        said = [(*process.communicate(timeout=60), process.returncode) for process in both]
        self.assertEqual([code for *_, code in said], [1, 1], said)
        text = "".join(error for _, error, _ in said)
        self.assertEqual(text.count("npar: error: "), 1, text)
        self.assertIn("cannot read data 'text': it ends at byte ", text)


class NoFilesTest(DriverTest):
    """Inputs that are no regular files, or have no end, are answered at once; outputs that are links lead to their files."""

    COMMANDS = [  # with `input` for the file
        ["run", *MLP, "--data", "input", "--tokens", "bytes", "--steps", 1],
        ["run", *MODEL, "--data", "text", "--tokens", "bytes", "--mask", "input", "--steps", 1],
        ["run", *MLP, "--data", "input", "--steps", 1],
        ["run", *MLP, "--random-data", "--weights", "input", "--steps", 1],
        ["run", "input", "--random-data", "--steps", 1],
        ["run", *MLP, "--config", "input", "--random-data", "--steps", 1],
        ["inspect", "input"],
        ["inspect", *MLP, "--machine", "input"],
        ["tokens", "input", "--text", "text", "--count", 1],
        ["tokens", "bytes", "--decode", "input.u16"],
        ["checkpoint", "show", "input"],
        ["autopsy", "input"],
    ]

    def test_pipes_folders_and_devices(self):
        (self.folder / "text").write_text("text " * 1000)
        kinds = {"pipe": os.mkfifo, "folder": os.mkdir, "endless": lambda path: path.symlink_to("/dev/zero"),
                 "random": lambda path: path.symlink_to("/dev/urandom")}
        for kind, make in kinds.items():
            for name in ("input", "input.u16"):
                path = self.folder / name
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink(missing_ok=True)
                make(path)
            for command in self.COMMANDS:
                with self.subTest(kind=kind, command=" ".join(map(str, command))):
                    done = subprocess.run([str(NPAR), *map(str, command)], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, timeout=60)
                    self.assertIn(done.returncode, (1, 2), done.stderr)
                    self.assertIn(b"error: ", done.stderr)
                    self.assertNotIn(b"internal", done.stderr)

    def test_text_that_has_no_end(self):
        error = self.npar("tokens", "bytes", "--text", "/dev/zero", "--output", "t.u16", code=1, timeout=60).error
        self.assertIn("cannot read text '/dev/zero': it is a device", error)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
