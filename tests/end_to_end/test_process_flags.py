"""Pairs of flags in one process and in two, over TCP and over each MPI that is installed: both must give the same exit code, errors, summary and files."""

import array
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest

from driver import LONG, NPAR, DriverTest, safetensors_file
from process_flags import COMMANDS, FLAGS, SAMPLES, TOKENS, all_rows, sampled_rows
from test_processes import MPIS
from test_torchrun import STANDIN, free_port

ROWS = all_rows() if LONG else sampled_rows(count=24, seed=4)
GPUS = {"NPAR_CUDA_DRIVER": str(STANDIN), "NPAR_NCCL": str(STANDIN), "NPAR_STANDIN_DEVICES": "2"}
# Keys whose values depend on the clock or on the number of processes.
VARIES = re.compile(r"_per_second$|(^|_)seconds$|^processes$|^peak_share$")


def steady(value):
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {key: steady(each) for key, each in value.items() if not VARIES.search(key)}
    return [steady(each) for each in value] if isinstance(value, list) else value


def said(output):
    try:
        return steady(json.loads(output))
    except ValueError:
        return re.sub(r"[\d,.]+ (tokens|samples)/s", "", output)


def errors(error):
    """The errors of a process, without the process and the GPU that they name, and without their paths' folder."""
    return sorted({re.sub(r"\bGPU \d+", "GPU", line) for line in error.splitlines() if line.startswith("npar: error")})


def content(path):
    """What a file holds that does not depend on the clock."""
    if path.suffix == ".jsonl":
        return [steady(json.loads(line)) for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        head, *rows = [line.split(",") for line in path.read_text().splitlines()]
        kept = [i for i, name in enumerate(head) if not VARIES.search(name)]
        return [[row[i] for i in kept] for row in [head, *rows]]
    if path.name == "trace.json":
        events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
        return sorted([event["pid"], event["name"], event["args"]["training_step"], event["args"]["micro"]] for event in events)
    if path.suffix == ".json":
        return steady(json.loads(path.read_text()))
    return "some" if "tfevents" in path.name else path.read_bytes()


def made(folder, given):
    """The files that a command has made, with what they hold; of a checkpoint, which processes cut into shards of their own, that it is there."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        step = next((part for part in name.parts if part.startswith("step-")), None)
        if step and name.parts[0] != "other" and name.parts[0] != "elsewhere":
            files[str(pathlib.Path(*name.parts[: name.parts.index(step) + 1]))] = "checkpoint"
        elif path.is_file() and str(name) not in given and name.parts[0] != "flight":
            files[re.sub(r"tfevents.*", "tfevents", str(name))] = content(path)
    return {name: what for name, what in files.items() if name not in given or what != "checkpoint"}


class Inputs:
    """The files that rows read, made once."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="npar-flags-"))
        chance = random.Random(5)
        (self.folder / "samples.npar").write_text(SAMPLES)
        (self.folder / "tokens.npar").write_text(TOKENS)
        x = [chance.randint(-512, 512) / 512 for _ in range(44 * 24)]
        safetensors_file.write_values(self.folder / "all.safetensors", {"x": ("F32", [44, 24], x), "answer": ("I32", [44], [chance.randrange(3) for _ in range(44)])})
        tokens = [chance.randrange(16) for _ in range(400)]
        for name, kind in (("tokens.u16", "H"), ("tokens.i32", "i"), ("tokens.txt", "B")):
            (self.folder / name).write_bytes(array.array(kind, tokens).tobytes())
        (self.folder / "tokens.mask").write_bytes(bytes(i % 3 > 0 for i in range(400)))
        for model, data in (("samples", []), ("tokens", ["--data", "tokens.u16", "--tokens", "u16"])):
            self.run("run", f"{model}.npar", *data, "--steps", "4", "--checkpoint", f"kept-{model}", "--checkpoint-every", "2", "--output", f"{model}.safetensors", "--quiet")
            self.run("compile", f"{model}.npar", "-o", f"{model}.npx")
            self.run("compile", f"{model}.npar", "--for", "eval", "-o", f"{model}-eval.npx")
        self.names = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}

    def run(self, *words):
        done = subprocess.run([str(NPAR), *words], cwd=self.folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"


class Together:
    """For a DriverTest with `inputs`: runs npar in one process and in two."""

    def place(self, name):
        folder = self.folder / name
        shutil.copytree(self.inputs.folder, folder)
        return folder

    def start(self, commands, folders, environments):
        return [
            subprocess.Popen(list(map(str, command)), cwd=folder, env={**os.environ, **GPUS, "TMPDIR": str(self.folder), **own}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for command, folder, own in zip(commands, folders, environments)
        ]

    def start_over_tcp(self, words, folders, environments=({}, {})):
        port = str(free_port())
        own = [
            {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **more} for rank, more in enumerate(environments)
        ]
        return self.start([[NPAR, *words]] * 2, folders, own)

    def ended(self, started, words):
        """Exit code, output and error of each."""
        try:
            told = [process.communicate(timeout=120) for process in started]
        except subprocess.TimeoutExpired:
            self.fail(f"hangs: {' '.join(map(str, words))}")
        finally:
            for process in started:
                process.kill()
                process.wait()
        return [(process.returncode, *texts) for process, texts in zip(started, told)]

    def over(self, transport, words, folders, environments=({}, {})):
        """In one process, or in two: over TCP in a folder each where two are given."""
        if transport == "tcp":
            return self.ended(self.start_over_tcp(words, folders * (1 if len(folders) == 2 else 2), environments), words)
        if transport == "one":  # of a launcher, for npar refuses in a plain shell what only several processes have a use for
            return self.ended(self.start([[NPAR, *words]], folders, [{"PMI_RANK": "0", "PMI_SIZE": "1"}]), words)
        return self.ended(self.start([[NPAR, "launch", "-n", "2", "--mpi", transport, *words]], folders, [{}]), words)


class ProcessFlagsTest(Together, DriverTest):
    @classmethod
    def setUpClass(cls):
        cls.inputs = Inputs()
        cls.addClassCleanup(shutil.rmtree, cls.inputs.folder, ignore_errors=True)

    def check(self, row, transport, number):
        # Processes that work by themselves have folders of their own.
        folders = [self.place(f"{number}-{transport}-{i}") for i in range(2 if row.apart and transport == "tcp" else 1)]
        told = self.over(transport, row.words, folders)
        result = {"codes": sorted({code for code, _, _ in told}), "said": said(told[0][1]), "errors": errors("\n".join(error for _, _, error in told)), "files": [made(folder, self.inputs.names) for folder in folders]}
        result["others"] = [said(output) for _, output, _ in told[1:]]
        result["all"] = "\n".join(error for _, _, error in told)
        for folder in folders:
            shutil.rmtree(folder)
        return result

    def compare(self, row, transport, one, many):
        self.assertFalse([code for code in many["codes"] if code < 0], many["all"][-4000:])
        self.assertNotIn("internal error", many["all"])
        if row.many and not row.apart:
            code, pattern = row.many
            if one["codes"] != [0] and many["codes"] == one["codes"] and many["errors"] == one["errors"]:
                return  # the command line is wrong in itself
            self.assertEqual(many["codes"], [code], many["all"])
            self.assertRegex(many["all"], pattern)
            self.assertEqual(many["files"], [{}] * len(many["files"]))
            return
        if transport in MPIS and row.apart:  # both write to one folder, so one may refuse what the other is writing
            if set(many["codes"]) - set(one["codes"]) == {1}:
                self.assertRegex(many["all"], "another run is (using it|writing)")
            else:
                self.assertEqual(many["codes"], one["codes"], many["all"])
            return
        self.assertEqual(many["codes"], one["codes"], many["all"])
        reported = many["codes"] != [0] and isinstance(many["said"], dict) and "cause" in many["said"]  # --json gives the report of a failed job
        if not reported:
            self.assertEqual(many["said"], one["said"])
        self.assertEqual(many["errors"], one["errors"], many["all"])
        for files in many["files"]:
            self.assertEqual(files, one["files"][0])
        for others in many["others"]:
            self.assertEqual(others, one["said"] if row.apart else "")

    def test_pairs_of_flags(self):
        transports = ["tcp", *MPIS]
        for number, row in enumerate(ROWS):
            able = [transport for transport in transports if row.runs_over(transport)]
            if not able:
                continue
            with self.subTest(row=row.name):
                one = self.check(row, "one", number)
                for transport in able if LONG else [able[number % len(able)]]:
                    with self.subTest(row=row.name, over=transport):
                        self.compare(row, transport, one, self.check(row, transport, number))

    def test_every_flag_is_in_the_table(self):
        for command in COMMANDS:
            text = self.npar(*command.split(), "--help").output
            flags = set(re.findall(r"^ {2,}(?:-\w,)?(--[\w-]+)", text, re.MULTILINE)) - {"--help"}
            positionals = re.search(r"^Positionals:\n((?: .*\n)+)", text, re.MULTILINE)
            flags |= set(re.findall(r"^ {2}([A-Z]+)\b", positionals.group(1), re.MULTILINE)) if positionals else set()
            if command == "generate":
                flags |= {"--mpi", "--nccl", "--place", "--flight", "--check"}  # hidden: it takes them in order to refuse them by name
            with self.subTest(command):
                self.assertEqual(flags, set(FLAGS[command]), "process_flags.py has a value for each flag of a command, to be tried in several processes")


if __name__ == "__main__":
    unittest.main()
