"""The logic of `tools/benchmark`'s table: turns, ratios, competitors that are not there, checks that all do the same work. No speeds are asserted."""

import array
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from driver import BUILD, ROOT, safetensors_file

TABLE = ROOT / "tests" / "benchmark" / "table"
sys.path.insert(0, str(TABLE))
import breakdown  # noqa: E402
import budget  # noqa: E402
import gpu  # noqa: E402
import loads  # noqa: E402
import npar_program  # noqa: E402
import pipe  # noqa: E402
import rows  # noqa: E402
import training  # noqa: E402
import turns  # noqa: E402
import workloads  # noqa: E402

LIBRARIES = {"NPAR_CUDA_DRIVER": "cuda", "NPAR_CUBLASLT": "cublaslt", "NPAR_CUDNN": "cudnn"}
STANDINS = {variable: str(BUILD / "lib" / f"libnpar_standin_{name}.so") for variable, name in LIBRARIES.items()}


class Runner:
    """Notes its turns in `order`; its rounds are those given, None in place of one in which it fails."""

    def __init__(self, name, order, rounds):
        self.name, self.order, self.rounds = name, order, iter(rounds)

    def round(self):
        self.order.append(self.name)
        seconds = next(self.rounds)
        if seconds is None:
            raise pipe.Absent("it broke")
        return seconds, 100 * len(self.order)


class TurnsTest(unittest.TestCase):
    def test_competitors_alternate(self):
        order = []
        times = turns.take_turns({name: Runner(name, order, [[3.0, 1.0], [2.0]]) for name in "ABC"}, 2)
        self.assertEqual(order, ["A", "B", "C", "A", "B", "C"])
        self.assertEqual((times["B"].best, times["B"].median, times["B"].memory), (1.0, 2.0, 500))

    def test_who_is_absent_or_breaks_is_asked_no_more(self):
        order = []
        times = turns.take_turns({"A": Runner("A", order, [[1.0]] * 3), "B": pipe.Absent("not installed"), "C": Runner("C", order, [[1.0], None])}, 3)
        self.assertEqual(order, ["A", "C", "A", "C", "A"])
        self.assertEqual((times["B"].absent, times["C"].absent, times["C"].seconds), ("not installed", "it broke", []))

    def test_turns_end_with_the_time(self):
        """A turn is left out if the one before it took longer than the time that is left; without any turn, a competitor is absent."""
        order, limit = [], unittest.mock.Mock()
        limit.left.side_effect = [9, 9, 0, 9, 0]  # before the turns of A, B, C, A, B
        times = turns.take_turns({name: Runner(name, order, [[1.0], [0.5]]) for name in "ABC"}, 2, budget=limit)
        self.assertEqual(order, ["A", "B", "A"])
        self.assertEqual([times[name].absent for name in "ABC"], ["", "", "no time was left for its turn"])
        self.assertEqual(times["B"].seconds, [1.0])

    def test_a_command_ends_with_its_share(self):
        with self.assertRaisesRegex(pipe.Absent, "^npar 60 was not done within 0 s, its share of the time$"):
            npar_program.call(["sleep", 60], budget.Budget(3).part(1 / 30))

    def test_ratio_is_how_many_times_as_fast_npar_is(self):
        ours, theirs, nobody = turns.Times([0.5, 0.7]), turns.Times([2.0, 1.0]), turns.Times(absent="not installed")
        self.assertEqual(turns.ratio(ours, theirs), 2.0)
        self.assertIsNone(turns.ratio(ours, nobody))
        self.assertIsNone(turns.ratio(nobody, theirs))

    def test_an_absent_is_passed_on(self):
        gone = pipe.Absent("gone")
        self.assertIs(turns.attempt(len, gone), gone)
        self.assertEqual(turns.attempt(len, "abc"), 3)


class TableTest(unittest.TestCase):
    def test_rows_in_text_and_json(self):
        """A fast competitor, one twice as slow, and two that are absent for one reason, which is printed once."""
        lines = []
        table = rows.Table(lines.append)
        table.section("b", "a model")
        ours, theirs = turns.Times([0.5], memory=2**20), turns.Times([1.0])
        table.add(rows.row_of("npar", "f32", ours, 1000, "tokens/s", share=0.625))
        table.add(rows.row_of("other", "f32", theirs, 1000, "tokens/s", turns.ratio(ours, theirs)))
        for type in ("f32", "bf16"):
            table.add(rows.row_of("third", type, turns.Times(absent="not installed"), 1000, "tokens/s"))
        table.footer(["the end"])
        self.assertEqual(lines[1].split(), ["npar", "f32", "2,000", "2,000", "tokens/s", "62", "%", "1", "MiB"])
        self.assertEqual(lines[2].split(), ["other", "f32", "1,000", "1,000", "tokens/s", "2.00", "x"])
        self.assertEqual(lines[3].split(), ["third", "f32", "-", "-", "[1]"])
        self.assertEqual(lines[4].split(), ["third", "bf16", "-", "-", "[1]"])
        self.assertEqual(lines[-2:], ["[1] not installed", "the end"])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "table.json")
            table.save(path, {"cores": 2})
            saved = json.loads(path.read_text())
        self.assertEqual([row["name"] for row in saved["sections"][0]["rows"]], ["npar", "other", "third", "third"])
        self.assertEqual(saved["sections"][0]["rows"][1], {"name": "other", "type": "f32", "best": 1000.0, "median": 1000.0, "unit": "tokens/s", "ratio": 2.0})
        self.assertEqual(saved["sections"][0]["rows"][2]["absent"], "not installed")


class WorkTest(unittest.TestCase):
    def test_other_work_is_found(self):
        ours = {"loss": [6.0, 5.9], "grad_norm": [2.0, 1.9]}
        self.assertEqual(training.disagreement(ours, {"loss": [6.0001, 5.9], "grad_norm": [2.0, 1.9001]}, "f32"), "")
        self.assertIn("loss 5.8 in step 1, npar's is 5.9", training.disagreement(ours, {"loss": [6.0, 5.8], "grad_norm": [2.0, 1.9]}, "f32"))
        self.assertIn("grad_norm 2.5 in step 0", training.disagreement(ours, {"loss": [6.0, 5.9], "grad_norm": [2.5, 1.9]}, "bf16"))
        self.assertIn("loss nan", training.disagreement(ours, {"loss": [float("nan"), 5.9], "grad_norm": [2.0, 1.9]}, "bf16"))

    def test_weights_are_written_as_they_are_stored(self):
        """A view of memory, as PyTorch's process has it, gives the file that numbers give."""
        numbers = array.array("f", [0.5, -2.0, 3.25])
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in ("numbers", "view")]
            for path, values in zip(paths, (numbers, memoryview(numbers).cast("B"))):
                safetensors_file.write(path, {"w": safetensors_file.Tensor([3], values)})
            self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())

    def test_operations_of_products(self):
        """Beside six operations for each parameter of a product and token, and the half of attention's products that is needed."""
        b, d = workloads.TRAINED["b"], workloads.TRAINED["d"]
        parameters, attention = 12 * 12 * 768**2 + 768 * 50257, 12 * 3 * 2 * 512 * 768
        self.assertEqual(b.product_operations(), b.tokens * (6 * parameters + attention))
        self.assertEqual(b.operations()["product of the logits"], b.tokens * 6 * 768 * 50257)
        parameters = 12 * (2 * 768 * 768 + 2 * 768 * 256 + 3 * 768 * 2048) + 768 * 16384
        self.assertEqual(d.product_operations(), d.tokens * (6 * parameters + attention))
        m = workloads.TRAINED["m"]  # each token meets two of eight experts
        parameters = 4 * (2 * 512 * 512 + 2 * 512 * 256 + 2 * 3 * 512 * 1792 + 512 * 8) + 512 * 8192
        self.assertEqual(m.product_operations(), m.tokens * (6 * parameters + 4 * 3 * 2 * 512 * 512))

    def test_loads_of_experts(self):
        """Each position has two experts; the share of the fullest expert and of the first rank in one step."""
        for name, step, fullest, first in (("balanced", 0, 1 / 8, 1 / 2), ("hot expert", 0, 1 / 2, 5 / 7), ("hot rank", 0, 1 / 4, 1), ("zero load", 0, 1 / 7, 4 / 7),
                                           ("rotating", 5, 1 / 2, 2 / 7), ("burst", 2, 1 / 8, 1 / 2), ("burst", 3, 1 / 4, 1)):  # fmt: skip
            chosen = [loads.LOADS[name](step, at) for at in range(8 * 7)]
            self.assertTrue(all(one != other for one, other in chosen), name)
            every = [expert for both in chosen for expert in both]
            self.assertAlmostEqual(max(map(every.count, range(8))) / len(every), fullest, msg=name)
            self.assertAlmostEqual(sum(expert < 4 for expert in every) / len(every), first, msg=name)


class ChildTest(unittest.TestCase):
    """A competitor in a process of its own."""

    def child(self, body, **more):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = pathlib.Path(folder.name, "child.py")
        script.write_text(f"import sys\nsys.path.insert(0, {str(TABLE)!r})\nimport pipe\n{body}\n")
        child = pipe.Child(sys.executable, script, {"add": 2}, **more)
        self.addCleanup(child.close)
        return child

    def test_questions_and_answers(self):
        """The child's other output does not disturb its answers; a child that dies reports why."""
        child = self.child(
            "class Adder:\n"
            "    def __init__(self, request): self.add, self.said = request['add'], {'version': '1'}\n"
            "    def sum(self, number): print('noise'); return {'sum': number + self.add}\n"
            "    def fail(self): raise ValueError('no more')\n"
            "pipe.serve(Adder)"
        )
        self.assertEqual(child.said["version"], "1")
        self.assertEqual(child.ask("sum", number=3), {"sum": 5})
        with self.assertRaisesRegex(pipe.Absent, "child.py ended with 1: ValueError: no more"):
            child.ask("fail")

    def test_silence_ends(self):
        with self.assertRaisesRegex(pipe.Absent, "child.py said nothing for 0.1 s"):
            self.child("import time; time.sleep(60)", patience=0.1)
        with self.assertRaisesRegex(pipe.Absent, "child.py said nothing for 0 s, its share of the time"):
            self.child("import time; time.sleep(60)", budget=budget.Budget(0.1))

    def test_absent(self):
        with self.assertRaisesRegex(pipe.Absent, "^not installed$"):
            self.child("def begin(request): raise pipe.Absent('not installed')\npipe.serve(begin)")
        with self.assertRaisesRegex(pipe.Absent, "does not start"):
            pipe.Child("/no/python", "child.py", {})


class GpuTest(unittest.TestCase):
    """What a GPU's sections find out, from scripts in place of npar and nvidia-smi."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def gpu(self, name, architecture):
        said = {"gpus": [{"name": name, "architecture": architecture}], "trouble": None, "cublaslt": "13.1.0", "cudnn": None}
        return gpu.Gpu(self.script("npar", f"echo '{json.dumps(said)}'\n"))

    def test_which_it_is(self):
        h100, other = self.gpu("NVIDIA H100 80GB HBM3", "sm_90"), self.gpu("NVIDIA A40", "sm_86")
        self.assertEqual((h100.machine, h100.target(), h100.libraries), ("dgx-h100", "cuda:sm_90", ["cublaslt"]))
        self.assertEqual((h100.peaks()["bf16"], h100.peaks()["tf32"]), (989e12, 494e12))
        self.assertEqual((other.machine, other.target(), other.peaks()), (None, "cuda:sm_80", {}))
        nothing = self.script("npar", """echo '{"gpus": [], "trouble": "there is no GPU"}'\n""")
        with self.assertRaisesRegex(pipe.Absent, "^there is no GPU$"):
            gpu.Gpu(nothing)

    def test_ways_of_npar(self):
        """The fastest comes first; without libraries there are npar's kernels only."""
        both, none = gpu.ways_of(["cublaslt", "cudnn"]), gpu.ways_of([])
        self.assertEqual(next(iter(both.values())), ("--backend", "cuda", "--cuda-products", "library", "--cuda-attention", "library", "--cuda-graph"))
        self.assertEqual((len(both), none), (6, {"npar, graphs": ("--backend", "cuda", "--cuda-graph"), "npar": ("--backend", "cuda")}))

    def test_where_the_time_goes(self):
        """Of two ranks the first, without the first training step. Communication takes place at the same time as computation."""
        lanes = [{"ph": "M", "name": "thread_name", "pid": 0, "tid": lane, "args": {"name": name}} for lane, name in enumerate(("compute", "dp"))]
        steps = [
            ("matmul", "F0", 0, 0, 1), ("matmul h.0.mlp", "F0", 0, 1, 2), ("gelu_0 h.0.mlp", "F0", 0, 3, 3), ("all_reduce", "B0", 1, 6, 3),
            ("optimize_0 wte", "U0", 0, 8, 4),
        ]  # fmt: skip

        def event(pid, step, scale, name, task, lane, begin, length):
            of = {"training_step": step, "source": "/a/M.npar:1:2"}
            return {"ph": "X", "name": name, "cat": task, "pid": pid, "tid": lane, "ts": begin, "dur": scale * length, "args": of}

        events = [event(*run, *step) for run in ((0, 0, 9), (0, 1, 1), (0, 2, 1), (1, 1, 9)) for step in steps]
        whole, groups, kernels = breakdown.breakdown({"traceEvents": lanes + events}, "matmul")
        expected = {"product of the logits": 1, "other products": 2, "between products": 3, "updates": 4, "no computation": 2, "communication": 3}
        self.assertEqual({name: round(1e6 * part.median) for name, part in groups.items()}, expected)
        self.assertEqual((round(1e6 * whole.best), len(whole.seconds), groups["updates"].count), (12, 2, 1))
        self.assertEqual(list(kernels), [("optimize_0", "M.npar:1:2"), ("gelu_0", "M.npar:1:2")])

    def test_memory_is_the_most_that_was_given(self):
        self.script("nvidia-smi", f'case "$*" in *loop*) echo 500; echo 900; echo 700; touch {self.folder}/told; exec sleep 60;; *) echo 400;; esac\n')
        path = {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        with unittest.mock.patch.dict(os.environ, path), gpu.TakenMemory() as taken:
            while not (self.folder / "told").exists():
                time.sleep(0.01)
        self.assertEqual(taken.bytes, 500 << 20)
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder / "empty")}), gpu.TakenMemory() as taken:
            pass
        self.assertEqual(taken.bytes, 0)


class CommandTest(unittest.TestCase):
    def test_flags(self):
        def run(*flags):
            return subprocess.run([ROOT / "tools" / "benchmark", *flags], capture_output=True, text=True)

        self.assertIn("'z' is none of a, b, b4, c, d, m, e, f, g", run("--only", "a,z").stderr)
        self.assertIn("'0' is not a whole number from 1", run("--rounds", "0").stderr)
        self.assertIn("'/no/table.json' cannot be written", run("--json", "/no/table.json").stderr)
        self.assertIn("'/dev/null/traces' is no folder and cannot be made", run("--traces", "/dev/null/traces").stderr)
        self.assertIn("--minutes limits --gpu: add --gpu", run("--minutes", "3").stderr)
        self.assertIn("--gpu measures i, j, k only", run("--gpu", "--only", "b,i").stderr)

    def benchmark_gpu(self, *flags, **variables):
        command = [ROOT / "tools" / "benchmark", "--gpu", "--quick", "--build", BUILD, "--python", "/no/python", *flags]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **STANDINS, **variables})

    def test_without_a_gpu(self):
        """One line, and the exit code of `npar train`."""
        done = self.benchmark_gpu(NPAR_CUDA_DRIVER="/no/driver.so")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^tools/benchmark: --gpu needs a GPU: there is no CUDA driver: .*/no/driver.so.*\n$")

    def test_on_a_gpu(self):
        """All ways of npar on an imitated one, and where their time goes; two ranks communicate."""
        with tempfile.TemporaryDirectory() as folder:
            done = self.benchmark_gpu("--only", "i,k", "--json", pathlib.Path(folder, "table.json"), "--traces", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            one, two = (section["rows"] for section in json.loads(pathlib.Path(folder, "table.json").read_text())["sections"])
            self.assertEqual(sorted(os.listdir(folder)), ["i-bf16.json", "i-bf16.npx", "k-bf16.json", "k-bf16.npx", "table.json"])
        self.assertEqual([row["name"] for row in one[:3]], ["npar, libraries, graphs", "PyTorch eager", "torch.compile"])
        ways = [row for row in one + two if row["name"].startswith("npar")]
        self.assertEqual((len(ways), [row for row in ways if not row.get("best")]), (8, []))
        self.assertTrue(all("arena" in row["note"] for row in ways))
        parts = {row["name"].strip(): row for row in one if row.get("unit") == "ms"}
        self.assertTrue(parts["product of the logits"]["note"].endswith(" 3 steps") and parts["other products"]["note"].endswith(" 12 steps"))
        self.assertTrue({"attention", "between products", "updates", "no computation"} < parts.keys())
        self.assertNotIn("communication", parts)
        self.assertIn("collectives", next(row["note"] for row in two if row["name"].strip() == "communication"))

    def test_without_npar_and_pytorch(self):
        """A table all the same, of dashes with reasons."""
        command = [ROOT / "tools" / "benchmark", "--quick", "--only", "c,f,i", "--types", "f32", "--build", "/no/build", "--python", "/no/python"]
        done = subprocess.run([*command, "--before", "/no/before"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"npar +f32 +- +- +\[2\]")
        self.assertRegex(done.stdout, r"torch.compile +f32 +- +- +\[1\]")
        self.assertRegex(done.stdout, r"npar of --before +f32 +- +- +\[\d\]")
        self.assertIn("'/no/before/bin/npar' does not start", done.stdout)
        self.assertIn("[1] '/no/python' does not start", done.stdout)
        self.assertIn("[2] '/no/build/bin/npar' does not start (No such file or directory): tools/test builds it", done.stdout)
        self.assertRegex(done.stdout, r"\(i\) GPT-2 124M on a GPU: .*\n  npar +- +- +\[2\]")


if __name__ == "__main__":
    unittest.main()
