"""npar in several processes, over each MPI that is here: the bits of one process, one voice, and one message for what is wrong.

What a launcher leaves in the environment is enough for some of the tests; the others are skipped where no MPI was found when npar was built.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from driver import BUILD, LONG, NPAR, ROOT, SMALL, TIMEOUT, DriverTest, mesh, settings

MODULES = BUILD / "lib" / "npar"
MPIS = [mpi for mpi in ("mpich", "openmpi") if (MODULES / f"libnpar_{mpi}.so").exists() and shutil.which(f"mpiexec.{mpi}")]
WITHOUT = "npar was built without an MPI, or its mpiexec is not here (libmpich-dev, libopenmpi-dev)"

# A plan with every feature of the tests; axes of one rank have no effect.
PLAN = """import "gpt2"

plan job(node = 1, dp = 1, pp = 1, cp = 1, tp = 1, schedule = "1f1b", chunks = 0, zero = 0, size = 0, sequence = false) for Gpt2 {{
    mesh node, dp, pp, cp, tp
    micro 2
    split {{
        batch                   -> node, dp
        head, hidden, vocab pad -> tp
        {sequence}
        h                       -> pp by schedule(chunks)
    }}
    store {{
        optimizer  -> {shards} if zero >= 1
        gradients  -> {shards} if zero >= 2
        parameters -> {shards} if zero >= 3
    }}
    compute {compute}
    bucket size kB
}}
"""

# Settings of the plan, and what its text says. Eight ranks, or four.
PLANS = {
    "three_d": ({"dp": 2, "pp": 2, "tp": 2}, {}),
    "zero3": ({"dp": 8, "zero": 3}, {}),
    "zb_v": ({"dp": 2, "pp": 2, "schedule": "zb_v"}, {}),
}
LONGER = {
    "dp": ({"dp": 8}, {}),
    "tp": ({"dp": 2, "tp": 4}, {}),
    "1f1b": ({"pp": 4, "dp": 2}, {}),
    "interleaved": ({"pp": 2, "dp": 4, "schedule": "interleaved", "chunks": 2}, {}),
    "zb_h1": ({"pp": 4, "dp": 2, "schedule": "zb_h1"}, {}),
    "ring": ({"dp": 2, "cp": 4}, {"sequence": "seq -> cp by ring"}),
    "ulysses": ({"dp": 2, "cp": 4}, {"sequence": "head -> cp in op attention\n        seq -> cp"}),
    "zero1": ({"dp": 8, "zero": 1}, {}),
    "zero2": ({"dp": 4, "tp": 2, "zero": 2}, {}),
    "hybrid": ({"node": 2, "dp": 4, "zero": 3}, {}),
    "buckets": ({"node": 2, "dp": 2, "pp": 2, "size": 20}, {}),
    "hierarchical": ({"node": 2, "dp": 4, "size": 20}, {"compute": "f32, reduce f32 hierarchical"}),
    "bf16": ({"dp": 2, "pp": 2, "tp": 2}, {"compute": "bf16"}),
    "fp16": ({"dp": 4, "tp": 2, "zero": 1}, {"compute": "fp16"}),
}


def plan_text(words):
    return PLAN.format(**{"sequence": "seq -> tp if sequence", "shards": "dp", "compute": "f32", **words})


def ranks(dp=1, pp=1, tp=1):
    return mesh(dp=dp, pp=pp, tp=tp)


def clean(error):
    """Without the launcher's own lines."""
    return "\n".join(line for line in error.splitlines() if line.startswith(("npar:", "step ")))


class JobTest(DriverTest):
    def together(self, mpi, processes, *arguments, code=0, **options):
        """Runs npar in several processes, as `npar launch` starts them. Leaving the others is a matter of course, not of a time limit."""
        result = self.npar("launch", "-n", processes, "--mpi", mpi, *arguments, code=code, **options)
        self.assertNotIn("did not confirm its end", result.error)
        return result

    def by_mpiexec(self, mpi, *words, code=0, **options):
        """Runs the launcher itself, which gets these words."""
        flags = ["--allow-run-as-root", "--oversubscribe"] if mpi == "openmpi" else []
        result = subprocess.run([f"mpiexec.{mpi}", *flags, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT, **options)
        self.assertEqual(result.returncode, code, f"{words}\n{result.stdout[-2000:]}\n{result.stderr[-4000:]}")
        return result

    def text_flags(self, steps, **more):
        return ["--data", self.text_file(), "--tokens", "bytes", "--steps", steps, "--threads", 1, *[word for name, value in more.items() for word in (f"--{name.replace('_', '-')}", value)]]

    def log_of(self, name):
        lines = [json.loads(line) for line in (self.folder / name).read_text().splitlines()]
        return [{key: value for key, value in line.items() if not key.endswith(("_per_second", "data_wait_seconds"))} for line in lines]


@unittest.skipUnless(MPIS, WITHOUT)
class SameBitsTest(JobTest):
    def test_any_split_computes_what_one_process_computes(self):
        flags = ["--random-data", "--steps", 20 if LONG else 3, "--threads", 1, "--seed", 5]
        for name, (sizes, words) in {**PLANS, **(LONGER if LONG else {})}.items():
            program = self.folder / f"{name}.npx"
            (self.folder / "plan.npar").write_text(plan_text(words))
            self.npar("compile", "plan.npar", *settings(SMALL, {"micro": 1}, sizes), "-o", program)
            one = self.npar_json("run", program, *flags, "--quiet")
            world = len(one["ranks"])
            for mpi in MPIS if LONG else MPIS[:1]:
                for processes in (2, 4, 8) if LONG else (2, 4):
                    if world % processes:
                        continue
                    with self.subTest(plan=name, mpi=mpi, processes=processes):
                        many = json.loads(self.together(mpi, processes, "run", program, *flags, "--quiet", "--json").output)
                        self.assertEqual(many["parameter_hash"], one["parameter_hash"])
                        self.assertEqual(many["loss"], one["loss"])
                        self.assertEqual(many["processes"], processes)
                        self.assertEqual([rank["rank"] for rank in many["ranks"]], list(range(world)))

    def test_one_voice(self):
        """Of four processes: the progress lines, the log, the weights and the summary of one."""
        plan = settings(SMALL, ranks(dp=4, tp=2))
        one = self.npar("run", "gpt2", *plan, *self.text_flags(4, log="one.jsonl", save_weights="one.safetensors"))
        for mpi in MPIS:
            many = self.together(mpi, 4, "run", "gpt2", *plan, *self.text_flags(4, log=f"{mpi}.jsonl", save_weights=f"{mpi}.safetensors"))
            steps = [re.sub(r"[\d,]+ tokens/s", "", line) for line in many.error.splitlines() if line.startswith("step ")]
            self.assertEqual(steps, [re.sub(r"[\d,]+ tokens/s", "", line) for line in one.error.splitlines() if line.startswith("step ")])
            self.assertEqual(re.sub(r"\d+ tokens/s", "", many.output), re.sub(r"\d+ tokens/s", "", one.output))
            self.assertEqual(self.log_of(f"{mpi}.jsonl"), self.log_of("one.jsonl"))
            self.assertEqual((self.folder / f"{mpi}.safetensors").read_bytes(), (self.folder / "one.safetensors").read_bytes())
        again = self.text_flags(2, weights="one.safetensors")
        self.assertEqual(
            json.loads(self.together(MPIS[0], 2, "run", "gpt2", *plan, *again, "--json").output)["parameter_hash"],
            self.npar_json("run", "gpt2", *plan, *again)["parameter_hash"],
        )

    def test_a_trace_has_a_lane_for_each_rank(self):
        plan = settings(SMALL, ranks(dp=2, pp=2))
        self.together(MPIS[0], 4, "run", "gpt2", *plan, *self.text_flags(2, trace="trace.json"))
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        self.assertEqual({event["pid"] for event in events}, {0, 1, 2, 3})
        # A send of a stage begins before the next stage, in another process, has received it.
        sends = [event for event in events if event["ph"] == "X" and event["name"].startswith("send") and event["pid"] == 0]
        receives = [event for event in events if event["ph"] == "X" and event["name"].startswith("receive") and event["pid"] == 1]
        self.assertTrue(sends and receives)
        self.assertLess(min(event["ts"] for event in sends), min(event["ts"] + event["dur"] for event in receives) + 1000)

    def test_verify_compares_across_processes(self):
        flags = settings(SMALL, ranks(dp=2, pp=2, tp=2), length=8, width=16, heads=2, vocab=61, depth=2)
        report = self.npar_json("verify", "gpt2", *flags, "--processes", 4, "--mpi", MPIS[-1], "--threads", 1)
        self.assertTrue(report["ok"], report)
        named = {check["name"]: check for check in report["checks"]}
        self.assertLess(named["gradients"]["max_relative_error"], 1e-10)
        self.assertEqual(named["memory used as planned"]["detail"], "8 ranks")

    def test_eval_adds_up_across_processes(self):
        small = settings(SMALL, vocab=256)
        self.npar("run", "gpt2", *small, *self.text_flags(2, save_weights="w.safetensors"), "--plan", "none", "--quiet")
        flags = ["eval", "gpt2", "--weights", "w.safetensors", "--data", "text.txt", "--tokens", "bytes", *small, "--plan", "three_d", *settings(ranks(dp=2, pp=2)), "--threads", 1]
        self.assertEqual(json.loads(self.together(MPIS[0], 4, *flags, "--json", "--quiet").output), self.npar_json(*flags, "--quiet"))

    def test_checkpoints_go_on_in_any_number_of_processes(self):
        plan = settings(SMALL, ranks(dp=4, pp=2), zero=1)
        common = self.text_flags(8, every=2, keep=9)
        self.npar("run", "gpt2", *plan, *common, "--checkpoint", "whole", "--log", "whole.jsonl", "--quiet")
        whole = self.npar_json("run", "gpt2", *plan, *common, "--checkpoint", "whole", "--resume", "--quiet")["parameter_hash"]
        self.together(MPIS[0], 4, "run", "gpt2", *plan, *self.text_flags(4, every=2), "--checkpoint", "part", "--log", "part.jsonl", "--quiet")
        self.npar("checkpoint", "verify", "part/step-4")
        self.npar("checkpoint", "diff", "part/step-4", "whole/step-4")
        for processes in (1, 2, 4, 8) if LONG else (1, 2):
            with self.subTest(processes=processes):
                shutil.copytree(self.folder / "part", self.folder / f"part{processes}")
                shutil.copy(self.folder / "part.jsonl", self.folder / f"part{processes}.jsonl")
                flags = ["run", "gpt2", *plan, *common, "--checkpoint", f"part{processes}", "--resume", "--log", f"part{processes}.jsonl", "--json", "--quiet"]
                result = self.npar(*flags) if processes == 1 else self.together(MPIS[0], processes, *flags)
                self.assertEqual(json.loads(result.output)["parameter_hash"], whole)
                self.assertEqual(self.log_of(f"part{processes}.jsonl"), self.log_of("whole.jsonl"))
        self.assertEqual([path.name for path in self.folder.glob("part*/*partial*")], [])


@unittest.skipUnless(MPIS, WITHOUT)
class SignalsTest(JobTest):
    @staticmethod
    def end(job):
        """What is still there after a failed test goes in order, or at once."""
        if job.poll() is None:
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=30)

    def test_a_signal_to_the_launcher_ends_all_in_order(self):
        for mpi in MPIS:
            for number in (signal.SIGTERM, signal.SIGINT) if LONG else (signal.SIGTERM,):
                with self.subTest(mpi=mpi, signal=number.name):
                    name = f"{mpi}{number.name}"
                    command = [NPAR, "launch", "-n", "4", "--mpi", mpi, "run", "gpt2", *settings(SMALL, ranks(dp=4)), *self.text_flags(100000, log=f"{name}.jsonl", save_weights=f"{name}.safetensors", checkpoint=name)]
                    job = subprocess.Popen([str(word) for word in command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    self.addCleanup(self.end, job)
                    growing = self.folder / f"{name}.jsonl.partial"
                    end = time.monotonic() + 60
                    while not (growing.exists() and growing.read_text().count("\n") > 3) and time.monotonic() < end:
                        time.sleep(0.05)
                    job.send_signal(number)
                    _, error = job.communicate(timeout=60)
                    self.assertNotEqual(job.returncode, 0)
                    stopped = re.findall(r"npar: error: stopped by (\w+) after (\d+) of 100000 steps", error)
                    self.assertEqual(len(stopped), 1, error)
                    self.assertEqual(len(self.log_of(f"{name}.jsonl")), int(stopped[0][1]))
                    self.assertTrue((self.folder / f"{name}.safetensors").exists())
                    self.npar("checkpoint", "verify", f"{name}/step-{stopped[0][1]}")
                    self.assertEqual(error.count("stopping after this step"), 1, error)


@unittest.skipUnless(MPIS, WITHOUT)
class RefusedTest(JobTest):
    def refused(self, result, words):
        said = [line for line in result.error.splitlines() if line.startswith("npar: error:")]
        self.assertEqual(len(said), 1, result.error)
        self.assertIn(words, clean(result.error))

    def test_a_number_of_processes_that_does_not_divide_the_world(self):
        result = self.together(MPIS[0], 3, "run", "gpt2", *settings(SMALL, ranks(dp=4, tp=2)), "--random-data", code=1)
        self.refused(result, "3 processes cannot share 8 ranks (dp = 4, pp = 1, tp = 2) equally; 1, 2, 4 or 8 processes would do")

    def test_what_is_wrong_everywhere_is_said_once(self):
        for mpi in MPIS:
            self.refused(self.together(mpi, 2, "run", "gpt2", code=2), "no data: give --data")
            self.refused(self.together(mpi, 2, "run", "gpt2", "--data", "missing.txt", "--tokens", "bytes", *settings(SMALL, ranks(dp=2)), code=1), "missing.txt")
            self.refused(self.together(mpi, 2, "run", "missing.npar", "--random-data", code=1), "missing.npar")
            self.refused(self.together(mpi, 2, "run", "gpt2", "--random-data", *settings(SMALL, ranks(dp=2)), "--threads", 4000, code=1), "--threads 4000: host")

    def test_a_file_that_one_process_lacks(self):
        text = self.text_file(name="here.txt")
        (self.folder / "elsewhere").mkdir()
        command = f"{NPAR} run gpt2 {' '.join(settings(SMALL, ranks(dp=2)))} --data here.txt --tokens bytes --steps 1 --threads 1"
        result = self.by_mpiexec(MPIS[0], "-n", 1, "sh", "-c", f"exec {command}", ":", "-n", 1, "sh", "-c", f"cd elsewhere && exec {command}", code=1)
        result.error = result.stderr
        self.refused(result, "cannot read data 'here.txt': No such file or directory\nnpar: reported by process 1 on")
        self.assertTrue(text.exists())

    def test_processes_of_another_npar_or_command_line(self):
        other = self.folder / "bin" / "npar"
        other.parent.mkdir()
        shutil.copy(NPAR, other)
        with other.open("ab") as file:
            file.write(b"\0")
        (self.folder / "lib").symlink_to(BUILD / "lib")
        flags = ["run", "gpt2", *settings(SMALL, ranks(dp=2)), "--random-data", "--steps", "1"]
        stdlib = {**os.environ, "NPAR_STDLIB": str(ROOT / "stdlib")}
        result = self.by_mpiexec(MPIS[0], "-n", 1, NPAR, *flags, ":", "-n", 1, other, *flags, code=1, env=stdlib)
        result.error = result.stderr
        self.refused(result, "runs another version of npar than process 0")
        result = self.by_mpiexec(MPIS[0], "-n", 1, NPAR, *flags, ":", "-n", 1, NPAR, *flags, "--seed", 4, code=1)
        result.error = result.stderr
        self.refused(result, "give all processes of a job the same command line")

    @unittest.skipIf(len(MPIS) < 2, "needs two MPIs")
    def test_the_mpiexec_of_another_mpi(self):
        flags = ["run", "gpt2", *settings(SMALL, ranks(dp=2)), "--random-data", "--steps", "1"]
        result = self.by_mpiexec("openmpi", "-n", 2, NPAR, *flags, "--mpi", "mpich", code=1)
        self.assertIn("found no other process: it is the mpiexec of another MPI", result.stderr)
        result = self.by_mpiexec("mpich", "-n", 2, NPAR, *flags, "--mpi", "openmpi", code=1)
        self.assertIn("found no other process: it is the mpiexec of another MPI", result.stderr)

    def test_commands_of_one_process(self):
        self.assertIn("npar generate runs in one process", self.by_mpiexec(MPIS[0], "-n", 2, NPAR, "generate", "gpt2", "--prompt", "x", "--weights", "w", code=2).stderr)
        self.assertIn("npar verify --all runs in one process", self.by_mpiexec(MPIS[0], "-n", 2, NPAR, "verify", "--all", "mlp", code=2).stderr)
        alone = self.by_mpiexec(MPIS[0], "-n", 2, NPAR, "run", "gpt2", *settings(SMALL, ranks(dp=2)), "--random-data", "--steps", 1, "--alone", "--quiet", "--threads", 1)
        self.assertEqual(alone.stdout.count("after 1 steps"), 2)


class WithoutMpiTest(JobTest):
    """Needs no MPI: a launcher is what the environment says."""

    def test_a_launcher_without_its_mpi(self):
        lonely = self.folder / "bin" / "npar"  # no modules in its folder
        lonely.parent.mkdir()
        shutil.copy(NPAR, lonely)
        command = [str(lonely), "run", "gpt2", *settings(SMALL, ranks(dp=2)), "--random-data", "--steps", "1"]
        env = {**os.environ, "NPAR_STDLIB": str(ROOT / "stdlib")}
        for variables, launcher in (
            ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "MPICH's mpiexec has started 2 processes"),
            ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}, "Open MPI's mpiexec has started 2 processes"),
            ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}, "Slurm's srun has started 2 processes, but MPI cannot join them"),
        ):
            result = subprocess.run(command, cwd=self.folder, env={**env, **variables}, capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(launcher, result.stderr)
            alone = subprocess.run([*command, "--alone", "--quiet"], cwd=self.folder, env={**env, **variables}, capture_output=True, text=True, timeout=60)
            self.assertEqual(alone.returncode, 0, alone.stderr)
        launched = subprocess.run([str(lonely), "launch", "-n", "2", *command[1:]], cwd=self.folder, env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(launched.returncode, 1)
        self.assertIn("this npar was built without MPI: install libmpich-dev or libopenmpi-dev", launched.stderr)

    def test_an_allocation_is_no_job(self):
        env = {**os.environ, "SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}
        self.npar("run", "gpt2", *settings(SMALL, ranks(dp=2)), "--random-data", "--steps", 1, "--quiet", env=env)


if __name__ == "__main__":
    unittest.main()
