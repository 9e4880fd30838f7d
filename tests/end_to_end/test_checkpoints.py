"""Checkpoints: a training that goes on from one is the training that never stopped, under its own plan bit for bit and under any other plan with
the same data; nothing that can go wrong while one is written leaves a torn one behind."""

import atexit
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import checkpoint_files
from driver import BUILD, LONG, NPAR, ROOT, SMALL, DriverTest, listen, mesh, settings

FOREVER = 10**9  # calls
RUN = BUILD / "bin" / "npar_run_sessions"
FAIL = BUILD / "lib" / "npar_failing_calls.so"
MODEL = {**SMALL, "depth": 2}

# Each must continue bit for bit.
PLANS = {
    "one": ["--plan", "none"],
    "three_d": settings(mesh(dp=2, pp=2, tp=2)),
    "zero3": settings(mesh(dp=4), zero=3),
    "bf16_zero1": settings(mesh(dp=2, tp=2), zero=1, compute="bf16"),
    "fp16": settings(mesh(dp=2, tp=2), compute="fp16"),
}
LONGER = {
    "dp": settings(mesh(dp=4)),
    "tp": settings(mesh(tp=4)),
    "pp": settings(mesh(pp=2)),
    "gpipe": settings(mesh(pp=2), schedule="gpipe"),
    "zb": settings(mesh(pp=2, dp=2), schedule="zb_h1"),
    "zero1": settings(mesh(dp=4), zero=1),
    "zero2": settings(mesh(dp=4, tp=2), zero=2),
    "recompute": settings(mesh(dp=2, pp=2), recompute="attention"),
    "bf16": settings(mesh(dp=2, pp=2), compute="bf16"),
    "fp16_zero3": settings(mesh(dp=2, tp=2), zero=3, compute="fp16"),
}
ALL = {**PLANS, **(LONGER if LONG else {})}


PROGRAMS = pathlib.Path(tempfile.mkdtemp(prefix="npar-programs-"))  # compiled once for all tests
atexit.register(shutil.rmtree, PROGRAMS, ignore_errors=True)


class CheckpointTest(DriverTest):
    def compiled(self, name, flags=None):
        """One of the plans by its name, or by its flags."""
        flags = ALL[name] if flags is None else flags
        program = PROGRAMS / ("".join(c if c.isalnum() else "-" for c in " ".join(flags)) + ".npx")
        if not program.exists():
            self.npar("compile", "gpt2", *settings(MODEL), *flags, "-o", program)
        return program

    def train(self, program, steps, *flags, data=None, code=0, log="log.jsonl"):
        """The log of a run, a dictionary per step. A resumed run continues its log, too."""
        log = self.folder / log
        if "--resume" not in flags:
            log.unlink(missing_ok=True)
        data = ["--data", data or self.text_file(6000), "--tokens", "bytes"]
        self.npar("run", program, *data, "--steps", steps, "--quiet", "--log", log, *flags, code=code)
        return [json.loads(line) for line in log.read_text().splitlines()]

    def sessions(self, program, count, *words):
        """What a program in several sessions prints."""
        result = subprocess.run([RUN, program, str(count), *words], cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def bits(self, log):
        """What a step computed, without how fast."""
        return [{name: value for name, value in line.items() if not name.endswith(("_per_second", "data_wait_seconds", "batch_hash"))} for line in log]


class ResumeTest(CheckpointTest):
    def test_every_plan_goes_on_bit_for_bit(self):
        """Resumed after a kill: as many steps again as there were up to its last checkpoint, with the log of an undisturbed run."""
        every = 100 if LONG else 3
        for name in ALL:
            with self.subTest(plan=name):
                program = self.compiled(name)
                done = self.killed(program, name, every)
                both = self.train(program, done + every, "--checkpoint", name, "--resume")
                whole = self.train(program, done + every, log="whole.jsonl")
                self.assertEqual(self.bits(both), self.bits(whole))

    def killed(self, program, folder, every):
        """The steps of the last checkpoint of a run that ended by SIGKILL when it had written one."""
        command = [NPAR, "run", program, "--data", self.text_file(6000), "--tokens", "bytes", "--steps", "1000000", "--quiet"]
        command += ["--checkpoint", folder, "--checkpoint-every", str(every), "--log", "log.jsonl"]
        process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE)
        begun = time.time()
        while not checkpoint_files.committed(self.folder / folder) and process.poll() is None and time.time() - begun < 120:
            time.sleep(0.002)
        process.kill()
        error = process.communicate()[1].decode()
        self.assertEqual(process.returncode, -signal.SIGKILL, error)
        return int(checkpoint_files.committed(self.folder / folder)[-1].name[5:])

    def test_other_plans_go_on_with_the_same_samples_and_nearly_the_same_losses(self):
        """And plans that reorder no sum with the same bits."""
        one = self.compiled("begun", settings(mesh(dp=2, pp=2)))
        whole = self.train(one, 8, "--checkpoint", "whole")
        self.train(one, 4, "--checkpoint", "begun")
        others = {
            "tp": (settings(mesh(tp=2)), None),
            "zero3": (PLANS["zero3"], None),
            "none": (PLANS["one"], None),
            "gpipe": (settings(mesh(dp=2, pp=2), schedule="gpipe"), "equal"),
            "zero1": (settings(mesh(dp=2), zero=1), "equal"),
            "bf16": (settings(mesh(dp=2, tp=2), zero=2, compute="bf16"), "rounded"),
        }
        self.assertEqual(len({line["batch_hash"] for line in whole}), 8)
        for name, (flags, kind) in others.items():
            with self.subTest(plan=name):
                shutil.copytree(self.folder / "begun", self.folder / name)
                log = self.train(self.compiled(name, flags), 8, "--checkpoint", name, "--resume", log=f"{name}.jsonl")
                self.assertEqual([line["batch_hash"] for line in log], [line["batch_hash"] for line in whole[4:]])
                if kind == "equal":
                    self.assertEqual(self.bits(log), self.bits(whole[4:]))
                for line, expected in zip(log, whole[4:]):
                    self.assert_close(line["loss"], expected["loss"], 4e-4 if kind == "rounded" else 1e-5, name)

    def test_any_plan_loads_what_any_plan_saved(self):
        """Bit for bit, optimizer state included: read back without npar's own reader. fp16's counters are of fp16 alone. Several sessions, whose
        ranks are no neighbours, read and write together."""
        chain = list(ALL) if LONG else ["three_d", "bf16_zero1", "one", "fp16", "zero3"]
        programs = {name: self.compiled(name) for name in chain}
        pairs = [(a, b) for a in chain for b in chain] if LONG else list(zip(chain, chain[1:] + chain[:1]))
        saved = {}
        held = {name: (1,) if name == "one" else (2, "in-turns") for name in chain}
        for name in chain if LONG else chain[:1]:
            self.sessions(programs[name], *held[name], "steps=3", f"checkpoint={self.folder / name}")
            saved[name] = self.logical(self.folder / name / "step-3")
        for a, b in pairs:
            with self.subTest(saved=a, loaded=b):
                copy = self.folder / f"{a}-{b}"
                self.sessions(programs[b], *held[b], "steps=3", f"checkpoint={self.folder / a}", f"copy={copy}")
                saved.setdefault(a, self.logical(self.folder / a / "step-3"))
                self.assertEqual(self.logical(copy / "step-3"), saved[a])
                if not LONG:  # the next plan reads what this one wrote
                    shutil.rmtree(self.folder / b, ignore_errors=True)
                    copy.rename(self.folder / b)

    def logical(self, checkpoint):
        return {name: value for name, value in checkpoint_files.tensors(checkpoint).items() if not name.startswith("#")}


class InterruptedTest(CheckpointTest):
    """A run that ends at any moment, by any hand."""

    def test_a_kill_at_a_random_moment(self):
        program = self.compiled("killed", settings(mesh(dp=2, pp=2)))
        steps, trials = 400, 200 if LONG else 5
        whole = self.bits(self.train(program, steps))
        text, chance, goneOn = self.text_file(6000), random.Random(4), 0
        for trial in range(trials):
            with self.subTest(trial=trial):
                log, before = self.folder / "killed.jsonl", checkpoint_files.committed(self.folder / "killed")
                command = [NPAR, "run", program, "--data", text, "--tokens", "bytes", "--steps", str(steps), "--quiet", "--log", log]
                command += ["--checkpoint", self.folder / "killed", "--checkpoint-every", "3", "--checkpoint-keep", "2", "--resume"]
                partial, newest, begun = log.with_name("killed.jsonl.partial"), int(before[-1].name[5:]) if before else 0, time.time()
                process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE)
                if trial % 4:  # else perhaps before the first step
                    while time.time() - begun < 60 and not self.grown(partial, begun, newest) and process.poll() is None:
                        time.sleep(0.01)
                    while trial % 4 == 1 and time.time() - begun < 60 and checkpoint_files.committed(self.folder / "killed") == before and process.poll() is None:
                        time.sleep(0.01)  # on a slow disk no trial would have a checkpoint to resume from
                time.sleep(chance.uniform(0, 0.3))
                process.kill()
                error = process.communicate()[1].decode()
                self.assertIn(process.returncode, (-signal.SIGKILL, 0), error)
                done = [json.loads(line) for line in partial.read_text().splitlines() if line.endswith("}")] if partial.exists() else []
                for line in self.bits(done):
                    self.assertEqual(line, whole[line["step"]])
                self.assertEqual([line["step"] for line in done], list(range(len(done))))
                goneOn += len(done) > newest > 0
                if process.returncode == 0:
                    shutil.rmtree(self.folder / "killed")
                    log.unlink()
        self.assertGreater(goneOn, 0, "no trial resumed from a checkpoint")

    def grown(self, log, begun, step):
        """Whether a run that began at a time has written a step's line, this one or a later one."""
        if not log.exists() or log.stat().st_mtime < begun:
            return False
        lines = [line for line in log.read_text().splitlines() if line.endswith("}")]
        return bool(lines) and json.loads(lines[-1])["step"] >= step

    def test_a_signal_writes_a_checkpoint_first(self):
        program = self.compiled("one")
        command = [NPAR, "run", program, "--random-data", "--steps", "1000000", "--checkpoint", "stopped", "--log", "log.jsonl", "--json"]
        for one in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen(
                command + ["--resume"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen
            )
            log, last = self.folder / "log.jsonl.partial", len(checkpoint_files.committed(self.folder / "stopped"))
            begun = time.monotonic()
            while time.monotonic() - begun < 60 and not (log.exists() and log.read_text().count("\n") > 3):
                time.sleep(0.02)
            process.send_signal(one)
            output, error = (text.decode() for text in process.communicate(timeout=60))
            self.assertEqual(process.returncode, 4, error)
            newest = checkpoint_files.committed(self.folder / "stopped")
            self.assertEqual(len(newest), last + 1)
            self.assertEqual(json.loads(output)["checkpoint"], f"stopped/{newest[-1].name}")
            self.assertIn(f"continue with --resume from 'stopped/{newest[-1].name}'", error)

    def failing(self, command, folder, kind, at, how, count=None, times=1):
        """Runs with the n-th call on a folder's files failing, or more from that one on."""
        told = {"NPAR_FAIL_FOLDER": str(folder), "NPAR_FAIL_KIND": kind, "NPAR_FAIL_AT": str(at), "NPAR_FAIL_HOW": str(how), "NPAR_FAIL_TIMES": str(times)}
        if count:
            told["NPAR_FAIL_COUNT"] = str(count)
        environment = {**os.environ, "LD_PRELOAD": str(FAIL), **told}
        return subprocess.run(list(map(str, command)), cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)

    def test_every_call_of_a_save_may_fail_or_be_the_last(self):
        """Each write, sync, rename, removal, new file and piece of memory of one checkpoint: what fails once is tried again, what fails for good is
        told; no torn one is accepted, and the training goes on as ever."""
        program = self.compiled("calls", settings(mesh(dp=2, pp=2)))
        whole = self.sessions(program, 1, "steps=6").splitlines()
        for count in (1, 4):
            base, folder = self.folder / f"base{count}", self.folder / f"run{count}"
            self.sessions(program, count, "steps=2", f"checkpoint={base}")
            command = [RUN, program, count, "steps=4", f"checkpoint={folder}"]
            for kind, how, sample, times in (("any", "kill", 3, 1), ("any", 28, 2, 1), ("alloc", 12, 1, 1), ("write", 28, 1, FOREVER), ("sync", 5, 1, FOREVER)):
                calls = self.calls_of(command, base, folder, kind)
                number = min(calls, 100) if LONG else sample  # of memory there are hundreds
                chosen = sorted(random.Random(calls).sample(range(1, calls + 1), number))
                for at in chosen:
                    with self.subTest(sessions=count, kind=kind, how=how, call=f"{at} of {calls}"):
                        self.again(base, folder)
                        self.check_failed(self.failing(command, folder, kind, at, how, times=times), folder, how, times)
                        newest = int(checkpoint_files.committed(folder)[-1].name[5:])
                        goneOn = self.sessions(program, count, "steps=6", f"checkpoint={folder}").splitlines()
                        expected = [line for line in whole if line.startswith("hash") or int(line.split()[1]) >= newest]
                        self.assertEqual(sorted(set(goneOn)), sorted(set(expected)))

    def again(self, base, folder):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base, folder)

    def calls_of(self, command, base, folder, kind):
        self.again(base, folder)
        count = self.folder / "count"
        result = self.failing(command, folder, kind, 0, 0, count)
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = int(count.read_text())
        self.assertGreater(calls, 5, kind)
        return calls

    def check_failed(self, result, folder, how, times):
        there = sorted(path.name for path in folder.iterdir())
        self.assertIn("step-2", there)
        if how == "kill":
            return self.assertEqual(result.returncode, -signal.SIGKILL, result.stderr)
        if times == 1 and result.returncode == 0:
            return self.assertIn("step-4", there)
        self.assertIn(result.returncode, (1, 4), result.stderr)
        self.assertIn({5: "Input/output error", 12: "no memory left", 28: "No space left on device"}[how], result.stderr)
        if times == 1:  # what is tried before the first step is tried once
            self.assertNotIn("was not written", result.stderr)
        elif how == 28:
            self.assertEqual([name for name in there if "partial" in name], [])
        return None

    def saving(self, folder, *more):
        return [NPAR, "run", self.compiled("one"), "--random-data", "--steps", 6, "--checkpoint", folder, "--checkpoint-every", 2, "--quiet", "--json", "--log", "log.jsonl", *more]

    def writes_of(self, folder):
        """How many calls that write each run has."""
        count = self.folder / "count"
        self.assertEqual(self.failing(self.saving(folder), folder, "write", 0, 28, count).returncode, 0)
        shutil.rmtree(folder)
        return int(count.read_text())

    def test_a_disk_that_is_full_for_a_moment_costs_nothing(self):
        folder = self.folder / "full"
        result = self.failing(self.saving(folder), folder, "write", self.writes_of(folder) // 2 + 1, 28)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["failed_checkpoints"], [])
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["step-2", "step-4", "step-6"])

    def test_a_disk_that_stays_full_does_not_stop_the_training(self):
        """Each save that fails is told at once, in the log and at the end; the last one makes the exit code. The whole ones stay whole."""
        folder = self.folder / "full"
        result = self.failing(self.saving(folder), folder, "write", self.writes_of(folder) // 2 + 1, 28, times=FOREVER)
        self.assertEqual(result.returncode, 1, result.stderr)
        newest = checkpoint_files.committed(folder)[-1]
        rows = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        self.assertEqual([row["step"] for row in rows if "loss" in row], [0, 1, 2, 3, 4, 5])
        failed = [row["step"] for row in rows if "checkpoint_error" in row]
        self.assertEqual(failed[-1], 6)
        for step in sorted(set(failed)):
            told = f"checkpoint '{folder}/step-{step}' was not written: cannot write '{folder}/step-{step}.partial-"
            self.assertIn(f"npar: warning: {told}", result.stderr)
        self.assertIn(f"npar: error: checkpoint '{folder}/step-6' was not written", result.stderr)
        self.assertIn(f"No space left on device; '{newest}' is whole", result.stderr)
        self.assertEqual([path.name for path in folder.iterdir() if "partial" in path.name], [])
        self.assertEqual([failure["step"] for failure in json.loads(result.stdout)["failed_checkpoints"]], failed)
        self.npar(*self.saving(folder)[1:], "--resume")
        self.assertEqual(checkpoint_files.committed(folder)[-1].name, "step-6")

    def test_a_damaged_newest_checkpoint_is_left_out(self):
        """Found when it is opened or when its bytes are compared; the run resumes from the one before, bit for bit, and reports that."""
        program = self.compiled("one")
        whole = self.bits(self.train(program, 6, "--checkpoint", "whole", "--checkpoint-every", 2))
        shard = "rank-00000.safetensors"

        def flip(folder):
            raw = bytearray((folder / shard).read_bytes())
            raw[checkpoint_files.places(folder / shard)["wte.weight"][0]] ^= 1
            (folder / shard).write_bytes(raw)

        for name, damage, why in (
            ("hash", flip, "its bytes were changed after they were written"),
            ("cut", lambda folder: os.truncate(folder / shard, 100), "has 100 bytes, its manifest says"),
            ("manifest", lambda folder: (folder / "manifest.json").unlink(), "holds no checkpoint"),
        ):
            with self.subTest(damage=name):
                folder = self.folder / name
                shutil.copytree(self.folder / "whole", folder)
                damage(folder / "step-6")
                result = self.npar("run", program, "--data", "text.txt", "--tokens", "bytes", "--steps", 8, "--checkpoint-every", 2, "--quiet", "--json", "--log", f"{name}.jsonl", "--checkpoint", name, "--resume")
                self.assertIn(f"npar: warning: '{name}/step-6' is skipped, the training resumes from '{name}/step-4': ", result.error)
                self.assertIn(why, result.error)
                self.assertEqual(json.loads(result.output)["first_step"], 4)
                rows = [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text().splitlines()]
                self.assertEqual(self.bits(rows)[:2], whole[4:])
                self.assertEqual(sorted(path.name for path in folder.iterdir()), ["step-2", "step-4", "step-6", "step-6.aside", "step-8"])
                self.npar("checkpoint", "verify", f"{name}/step-6")
        os.truncate(self.folder / "whole" / "step-6" / shard, 100)
        error = self.npar("eval", "whole", "--data", "text.txt", "--tokens", "bytes", code=1).error
        self.assertIn("; 'whole/step-4' is whole", error)

    def test_a_newest_name_that_holds_no_checkpoint_is_told(self):
        """A file, a link to nothing, an empty folder, another step's checkpoint: the run resumes from the one before and reports why."""
        program = self.compiled("one")
        self.train(program, 6, "--checkpoint", "whole", "--checkpoint-every", 2)

        def other(path):
            shutil.copytree(path.parent / "step-4", path)

        for name, make, why in (
            ("file", lambda path: path.write_text("mine"), "Not a directory"),
            ("link", lambda path: path.symlink_to("nowhere"), "it has no manifest.json"),
            ("folder", lambda path: path.mkdir(), "it has no manifest.json"),
            ("other", other, "'other/step-6' holds the checkpoint of step 4"),
        ):
            with self.subTest(there=name):
                folder = self.folder / name
                shutil.copytree(self.folder / "whole", folder)
                shutil.rmtree(folder / "step-6")
                make(folder / "step-6")
                result = self.npar("run", program, "--data", "text.txt", "--tokens", "bytes", "--steps", 5, "--quiet", "--json", "--checkpoint", name, "--resume")
                self.assertIn(f"npar: warning: '{name}/step-6' is skipped, the training resumes from '{name}/step-4': ", result.error)
                self.assertIn(why, result.error)
                self.assertEqual(json.loads(result.output)["first_step"], 4)
                self.assertIn(why, self.npar("eval", name, "--data", "text.txt", "--tokens", "bytes", code=1).error)

    def test_what_is_removed_gives_its_place_back(self):
        """A resumed run holds none of its checkpoint's files open: --checkpoint-keep frees their space."""
        program, files = self.compiled("one"), []
        self.train(program, 2, "--checkpoint", "run", "--checkpoint-every", 2)
        command = [NPAR, "run", program, "--data", "text.txt", "--tokens", "bytes", "--steps", 1_000_000, "--quiet", "--checkpoint", "run", "--checkpoint-every", 2, "--checkpoint-keep", 1, "--resume"]
        process = subprocess.Popen(list(map(str, command)), cwd=self.folder, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while (self.folder / "run" / "step-2").exists():
                self.assertLess(time.monotonic(), end)
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
                try:
                    files.append(os.readlink(entry))
                except OSError:
                    continue
        finally:
            process.kill()
            process.wait()
        self.assertEqual([name for name in files if "(deleted)" in name and "-old" in name and "step-2" in name], [])

    def test_only_what_npar_wrote_is_removed(self):
        """--checkpoint-keep: a folder that has the name, a link, and files of others stay."""
        run, elsewhere = self.folder / "run", self.folder / "elsewhere"
        for folder in (run / "step-1", elsewhere):
            folder.mkdir(parents=True)
            (folder / "thesis.tex").write_text("years")
        (run / "step-2").symlink_to(elsewhere)
        command = ["run", "gpt2", *settings(MODEL), "--random-data", "--quiet", "--checkpoint", "run", "--checkpoint-every", 3, "--checkpoint-keep", 1]
        self.npar(*command, "--steps", 6)
        self.assertEqual(sorted(path.name for path in run.iterdir()), ["step-1", "step-2", "step-6"])
        (run / "step-6" / "notes.txt").write_text("mine")
        error = self.npar(*command[: command.index("--quiet")], *command[command.index("--quiet") + 1 :], "--steps", 9, "--resume").error
        self.assertIn("old checkpoint 'run/step-6' is kept: npar did not write 'notes.txt' in it", error)
        self.assertEqual([path.name for path in (run / "step-6").iterdir()], ["notes.txt"])
        for path in (run / "step-1" / "thesis.tex", run / "step-2" / "thesis.tex"):
            self.assertEqual(path.read_text(), "years")

    def test_texts_have_names_that_no_shell_trips_over(self):
        """Whatever the user calls files; imports in the copies lead to them. Settings are in a file of their own."""
        (self.folder / "sub").mkdir()
        gpt2 = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        (self.folder / "sub" / "--my parts.npar").write_text("# nothing\n")
        (self.folder / "-my model?.npar").write_text('import "sub/--my parts"\n' + gpt2)
        self.npar("run", "./-my model?.npar", *settings(MODEL), "--random-data", "--steps", 1, "--checkpoint", "run")
        names = sorted(path.name for path in (self.folder / "run" / "step-1" / "model").iterdir())
        self.assertTrue({"Embedding.npar", "_-my_model_.npar", "_--my_parts.npar", "settings.txt"} <= set(names), names)
        self.assertNotIn("--set", names)
        self.assertIn(f"width={MODEL['width']}\n", (self.folder / "run" / "step-1" / "model" / "settings.txt").read_text())
        self.assertIn('import "_--my_parts.npar"', (self.folder / "run" / "step-1" / "model" / "_-my_model_.npar").read_text())
        self.npar("eval", "run", "--data", self.text_file(600), "--tokens", "bytes")
        self.npar("checkpoint", "verify", "run")


class RefusedTest(CheckpointTest):
    """Errors are reported before any training step, or nothing is applied."""

    def refused(self, *flags, code=1):
        return self.npar("run", "gpt2", *settings(MODEL), "--random-data", "--steps", 4, "--quiet", *flags, code=code).error

    def test_what_does_not_fit_is_named(self):
        self.refused("--checkpoint", "run", code=0)
        there = self.folder / "run" / "step-4"
        self.assertIn("'run' contains checkpoints of a training, the newest of step 4: give --resume", self.refused("--checkpoint", "run"))
        resume = ["--checkpoint", "run", "--resume"]
        self.assertIn("tensor 'wte.weight' has shape [257, 32] there and [257, 64] here", self.refused(*settings(width=64), *resume))
        self.assertIn("tensor 'h.2.ln_1.weight', which has shape [32] here", self.refused(*settings(depth=4), *resume))
        self.assertIn("has seed 1, but --seed is 2", self.refused("--seed", 2, *resume))
        text = self.text_file(6000)
        self.assertIn("data of the kind 'random', but this run uses 'tokens bytes'", self.npar(
            "run", "gpt2", *settings(MODEL), "--data", text, "--tokens", "bytes", "--steps", 4, *resume, code=1).error)
        manifest = there / "manifest.json"
        good = manifest.read_text()
        manifest.write_text(good.replace('"step":4', '"step":5'))
        self.assertIn("its hash does not match its text", self.refused(*resume))
        manifest.write_text(good.replace('"version":1', '"version":2'))
        self.assertIn("has format 2, which 'npar 0.1 and later' reads", self.refused(*resume))

    def test_damaged_weights_are_used_for_nothing(self):
        """A parameter's byte that is not what was written: the number it is part of may look like any other."""
        self.refused("--checkpoint", "run", code=0)
        shard = self.folder / "run" / "step-4" / "rank-00000.safetensors"
        raw = bytearray(shard.read_bytes())
        raw[checkpoint_files.places(shard)["wte.weight"][0]] ^= 1
        shard.write_bytes(raw)
        text = self.text_file(600)
        data = ["--data", text, "--tokens", "bytes"]
        for command in (
            ["eval", "run", *data],
            ["generate", "run", "--prompt-tokens", "1,2,3", "--count", 2],
            ["export", "run", "--output", "folder"],
            ["run", "gpt2", *settings(MODEL), *data, "--steps", 1, "--weights", "run"],
            ["run", "gpt2", *settings(MODEL), "--random-data", "--steps", 5, "--checkpoint", "run", "--resume"],
        ):
            error = self.npar(*command, code=1).error
            self.assertRegex(error, r"file 'rank-00000.safetensors', tensor 'wte.weight': its bytes were changed after they were written", command)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["run", "text.txt"])

    def test_a_folder_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        self.assertIn("cannot write checkpoints to 'file': it is not a folder", self.refused("--checkpoint", "file"))
        self.assertIn("cannot write checkpoints to 'no/run': 'no': No such file", self.refused("--checkpoint", "no/run"))
        if os.geteuid() != 0:
            (self.folder / "closed").mkdir(mode=0o555)
            self.assertIn("cannot write checkpoints to 'closed': Permission denied", self.refused("--checkpoint", "closed"))


if __name__ == "__main__":
    unittest.main()
