"""Runs of other programs as what is planned (`npar plan --from`): that the search is for the run's model, batch and types, that its own plan takes
what `npar simulate --from` says, that the better of the two is written, and that nothing a file says goes by unsaid. Plans for other programs
(`npar plan --as`): that each plan that is searched has words there, and that what is printed is the plan that is written."""

import json
import pathlib
import re
import shlex
import unittest

from driver import SMALL, DriverTest, settings

FILES = pathlib.Path(__file__).resolve().parent / "foreign"
FIGURES = ("seconds_per_step", "memory_bytes", "fits", "mfu", "bubble", "exposed_communication", "ranks", "hosts")
# A small search space: these tests check the code around the search.
NARROW = tuple(word for fix in ("mesh.pp=1", "mesh.cp=1", "bucket=none", "recompute=none", "zero=0", "sequence=false") for word in ("--fix", fix))

GPT = """torchrun --nproc_per_node {world} pretrain_gpt.py --num-layers 4 --hidden-size 128 --num-attention-heads 4 --seq-length 64
  --max-position-embeddings 64 --vocab-size 500 --micro-batch-size {micro} --global-batch-size 40 --fp16 --hidden-dropout 0 --attention-dropout 0
  --tensor-model-parallel-size {tp} --pipeline-model-parallel-size {pp} {more}
"""


def machine(memory="1 GB", count=4):
    return f"""machine quartet {{
    device {{ count {count} devices  memory {memory}  reserved 0 B  fragments 0 % }}
    step {{ launch 40 us }}
    memory {{ far 100 GB/s  move 100 GB/s }}
    kernel {{ operation 0 ps  function 0 ps }}
    link host {{ bandwidth 10 GB/s  latency 50 us }}
    link cluster {{ bandwidth 1 GB/s  latency 90 us }}
    product fp16 {{ rate 100 TFLOP/s  rows 1 rows  columns 1 columns  depth 1 terms  peak 200 TFLOP/s }}
    product f32 {{ rate 10 TFLOP/s  rows 1 rows  columns 1 columns  depth 1 terms  peak 20 TFLOP/s }}
    attention fp16 {{ rate 10 TFLOP/s  rows 0 rows }}
    attention f32 {{ rate 1 TFLOP/s  rows 0 rows }}
    attention_grad fp16 {{ rate 10 TFLOP/s  rows 0 rows }}
    attention_grad f32 {{ rate 1 TFLOP/s  rows 0 rows }}
}}
"""


class ForeignPlanTest(DriverTest):
    def run_file(self, micro=1, tp=1, pp=1, world=4, more="", **sizes):
        (self.folder / "quartet.npar").write_text(machine(**sizes))
        (self.folder / "run.sh").write_text(GPT.format(micro=micro, tp=tp, pp=pp, world=world, more=more).replace("\n  ", " \\\n  "))
        return ("--from", "run.sh", "--machine", "quartet.npar")

    def assert_own(self, found, *arguments):
        """The report of the run agrees with `npar simulate`."""
        simulated = self.npar_json("simulate", *arguments)
        run = simulated.pop("from")
        own = found["from"].pop("own_plan")
        self.assertEqual(found["from"], run)
        self.assertEqual([own[name] for name in FIGURES], [simulated[name] for name in FIGURES])
        found["from"]["own_plan"] = own

    def test_the_search_is_for_the_run(self):
        """Model, batch and types of the file, whose own plan is never better than what is written."""
        arguments = ("--from", FILES / "small.sh", "--world", 8, "--machine", "dgx-a100")
        found = self.npar_json("plan", *arguments, "-o", "best.npar", "--fix", "mesh.pp=1", "--fix", "bucket=none", "--fix", "zero=0", "--fix", "micro=2")
        self.assertEqual((found["batch"], found["hosts"]), (16, 1))
        self.assert_own(found, *arguments)
        own = found["from"]["own_plan"]
        self.assertLessEqual(found["best"]["seconds_per_step"], own["seconds_per_step"])
        self.assertEqual(own["chosen"], found["best"].get("from_run", False))
        self.assertFalse(own["chosen"])  # it computes everything twice in vain
        self.assertIn({"setting": "recompute", "own": "recompute every 2", "found": "no recomputation"}, own["differs"])
        text = (self.folder / "best.npar").read_text()
        self.assertEqual(text, found["text"])
        self.assertIn("\n    compute bf16, gradients f32\n", text)
        best = self.npar_json("simulate", "best.npar", "--machine", "dgx-a100", "--hosts", 1)
        self.assertEqual([best[name] for name in FIGURES[:6]], [found["best"][name] for name in FIGURES[:6]])
        (self.folder / "own.npar").write_text(found["from"]["plan"])
        self.assertEqual(self.npar_json("inspect", "best.npar")["parameters"], self.npar_json("inspect", "own.npar", "--config", "megatron")["parameters"])

    def test_all_formats(self):
        for file, devices in (("zero3.json", ("--world", 8)), ("fsdp.yaml", ()), ("plugin.yaml", ())):
            with self.subTest(file):
                arguments = ("--from", FILES / file, "--model-config", FILES / "small.json", *devices, "--machine", "dgx-a100")
                found = self.npar_json("plan", *arguments, *NARROW, "--fix", "micro=2", "--fix", "mesh.tp=2")
                self.assert_own(found, *arguments)
                self.assertTrue(found["best"]["fits"])

    def test_a_run_that_is_better_than_all_that_is_searched_wins(self):
        """Micro-batches of 10 are none that the search has; each costs the launches of its steps."""
        arguments = self.run_file(micro=10)
        found = self.npar_json("plan", *arguments, *NARROW, "-o", "best.npar")
        self.assert_own(found, *arguments)
        own = found["from"]["own_plan"]
        self.assertTrue(own["chosen"])
        self.assertTrue(found["best"]["from_run"])
        self.assertEqual(found["best"]["choices"]["micro"], "10")
        self.assertLess(own["seconds_per_step"], own["found_seconds_per_step"])
        others = [each["seconds_per_step"] for each in found["tried"] if each.get("fits") and not each.get("from_run")]
        self.assertEqual(min(others), own["found_seconds_per_step"])
        # The file contains the run's plan, with reasons, and the command above it shows the same figures.
        text = (self.folder / "best.npar").read_text()
        self.assertRegex(text, r"\n    micro 10 +# micro \d+ would take ")
        command = re.search(r"^#   npar (simulate .*)$", text, re.MULTILINE)[1]
        shown = self.npar_json(*shlex.split(command))
        self.assertEqual([shown[name] for name in FIGURES[:6]], [found["best"][name] for name in FIGURES[:6]])
        page = self.npar("plan", *arguments, *NARROW, "-o", "best.npar", "--html", "search.html").output
        self.assertIn("  chosen                the run's own plan: no better one was found\n", page)
        self.assertIn("(the run's own)", (self.folder / "search.html").read_text())

    def test_a_run_that_a_fix_rules_out(self):
        """However good it is."""
        arguments = self.run_file(micro=10)
        own = self.npar_json("plan", *arguments, *NARROW, "--fix", "micro = 1")["from"]["own_plan"]
        self.assertEqual((own["chosen"], own["barred"]), (False, "--fix says 'micro = 1', it has 10"))
        self.assertLess(own["seconds_per_step"], own["found_seconds_per_step"])

    def test_a_run_that_is_refused(self):
        """Four heads over eight ranks: that is worth knowing, and no reason to stop."""
        arguments = self.run_file(tp=8, world=8, count=8)
        found = self.npar_json("plan", *arguments, *NARROW)
        own = found["from"]["own_plan"]
        self.assertIn("axis 'head' of size 4 is not divisible by mesh axis 'tp' of size 8", own["refused"])
        self.assertEqual((own["chosen"], found["best"]["fits"]), (False, True))
        self.assertEqual({each["setting"] for each in own["differs"]} & {"mesh"}, {"mesh"})
        report = self.npar("plan", *arguments, *NARROW, "-o", "best.npar").output
        self.assertIn("  order                 not checked: the plan is refused\n", report)
        self.assertIn("  the run's own plan    refused: axis 'head' of size 4", report)
        self.assertIn("# " + "  the run's own plan    refused: axis 'head' of size 4", (self.folder / "best.npar").read_text())

    def test_a_run_that_does_not_fit(self):
        """A device holds what the run takes but one byte: something else does."""
        arguments = self.run_file(micro=10)
        takes = self.npar_json("simulate", *arguments)["memory_bytes"]
        arguments = self.run_file(micro=10, memory=f"{takes - 1} B")
        own = self.npar_json("plan", *arguments, *NARROW)["from"]["own_plan"]
        self.assertEqual((own["memory_bytes"], own["fits"], own["chosen"]), (takes, False, False))
        report = self.npar("plan", *arguments, *NARROW, "-o", "best.npar").output
        self.assertIn("  the run's own plan    does not fit: ", report)
        # If nothing fits at all, the facts known of the run are printed before the error.
        failed = self.npar("plan", *self.run_file(micro=10, memory="1 kB"), *NARROW, code=1)
        self.assertIn("no plan fits 1 host of 'quartet'", failed.error)
        self.assertIn("  the run's own plan    does not fit: ", failed.output)
        self.assertIn("  the best found        nothing fits\n", failed.output)

    def test_what_is_not_taken_is_said_as_always(self):
        arguments = self.run_file(micro=2, more="--rampup-batch-size 8 8 1000 --frobnicate 3")
        lines = self.npar("simulate", *arguments).output.split("  not taken\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual(len(lines), 3)  # with how many settings were read
        text = self.npar("plan", *arguments, *NARROW, "--fix", "mesh.tp=1").output
        for line in lines:
            self.assertIn(f"# {line}\n", text)

    def test_a_run_of_fewer_devices_than_a_host_has(self):
        arguments = self.run_file(micro=2, count=8)
        found = self.npar_json("plan", *arguments, *NARROW)
        own = found["from"]["own_plan"]
        self.assertEqual((own["ranks"], found["hosts"]), (4, 1))
        self.assertEqual({each["choices"]["mesh.dp"] + "*" + each["choices"]["mesh.tp"] for each in found["tried"]}, {"8*1", "4*2", "2*4", "1*8", "4*1"})
        # A plan for more devices than exist is not tried.
        own = self.npar_json("plan", *arguments, *NARROW, "--world", 16, "--hosts", 1, "--batch", 48)["from"]["own_plan"]
        self.assertEqual(own["refused"], "it takes 16 devices, and there are 8")

    def test_what_is_said_beside_the_file(self):
        """A batch and a type hold for both sides; so do the model's constants."""
        arguments = self.run_file(micro=2)
        found = self.npar_json("plan", *arguments, *NARROW, "--fix", "mesh.tp=1", "--batch", 16, "--set", "compute=f32", "--set", "depth=2")
        run = found["from"]
        self.assertEqual((found["batch"], run["batch"], run["compute"], run["model"]["depth"]), (16, 16, "f32", "2"))
        simulated = self.npar_json("simulate", *arguments, "--set", "batch=16", "--set", "compute=f32", "--set", "depth=2")
        self.assertEqual(run["own_plan"]["seconds_per_step"], simulated["seconds_per_step"])
        # The run's batch is what --batch says, also where its own plan cannot have it.
        own = self.npar_json("plan", *arguments, *NARROW, "--fix", "mesh.tp=1", "--fix", "micro=1", "--batch", 12)["from"]["own_plan"]
        self.assertIn("12", own["refused"])

    def test_for_memory(self):
        """What is compared is what is made small."""
        arguments = self.run_file(micro=1, tp=4)
        found = self.npar_json("plan", *arguments, *NARROW, "--goal", "memory")
        self.assertLessEqual(found["best"]["memory_bytes"], found["from"]["own_plan"]["memory_bytes"])

    def test_two_searches_write_the_same_bytes(self):
        arguments = self.run_file(micro=2, tp=2)
        first = self.npar("plan", *arguments, *NARROW, "--fix", "micro=2", "--jobs", 1).output
        self.assertEqual(self.npar("plan", *arguments, *NARROW, "--fix", "micro=2", "--jobs", 3).output, first)

    def test_a_run_goes_to_another_program(self):
        """Its own plan, which is the best, comes back with its flags; where the other program cannot have it, it is ruled out."""
        arguments = self.run_file(micro=10)
        result = self.npar("plan", *arguments, *NARROW, "--as", "megatron")
        self.assertIn("  chosen                the run's own plan: no better one was found\n", result.error)
        self.assertIn("--micro-batch-size 10\n", result.output)
        arguments = ("--from", FILES / "plugin.yaml", "--model-config", FILES / "small.json", "--machine", "dgx-a100", "--fix", "zero=0", "--fix", "bucket=none")
        result = self.npar("plan", *arguments, "--fix", "micro=1", "--fix", "mesh.tp=2", "--as", "deepspeed")
        self.assertIn("the run's own plan is excluded: --fix says 'zero = 0', it has 1", result.error)
        result = self.npar("plan", *arguments[:-4], "--fix", "micro=1", "--fix", "mesh.tp=2", "--fix", "mesh.pp=2", "--fix", "recompute=none", "--as", "deepspeed")
        self.assertIn("the run's own plan is excluded: DeepSpeed does not split the sequence over the ranks of tensor parallelism", result.error)
        self.assertEqual(json.loads(result.output)["tensor_parallel"], {"autotp_size": 2})


class OtherProgramTest(DriverTest):
    SIZES = {name: value for name, value in SMALL.items() if name not in ("batch", "micro")}

    def planned(self, program, *arguments):
        (self.folder / "quartet.npar").write_text(machine(count=8))
        result = self.npar("plan", "gpt2", "--machine", "quartet.npar", "--batch", 16, *settings(self.SIZES), *arguments, "--as", program, "-o", "best.npar",
                           "--html", "search.html")
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", (self.folder / "search.html").read_text(), re.DOTALL)
        return result.output, json.loads(scripts[0])

    def test_every_plan_of_the_search_has_words(self):
        """`npar inspect --as` takes the text of each."""
        for program, fixes in (("megatron", ("recompute=none", "zero=1")), ("torchtitan", ("mesh.dp=2", "recompute=none")), ("deepspeed", ("mesh.pp=2", "recompute=none"))):
            _, search = self.planned(program, *(word for fix in ("micro=1", "bucket=none", *fixes) for word in ("--fix", fix)))
            self.assertEqual(search["refused"], [], program)
            plans = search["plans"]
            self.assertGreater(len(plans), 4)
            for each in plans[:: 1 + len(plans) // 6]:
                (self.folder / "one.npar").write_text(each["text"])
                self.npar("inspect", "one.npar", "--as", program)

    def test_what_is_printed_is_the_plan_that_is_written(self):
        output, _ = self.planned("megatron", "--fix", "mesh.pp=2", "--fix", "micro=1", "--fix", "zero=1", "--fix", "bucket=none", "--set", "compute=fp16")
        self.assertEqual(output, self.npar("inspect", "best.npar", "--as", "megatron").output)
        (self.folder / "back.sh").write_text(output)
        back = self.npar_json("simulate", "--from", "back.sh", "--world", 8, "--machine", "quartet.npar")
        best = self.npar_json("simulate", "best.npar", "--machine", "quartet.npar")
        self.assertEqual(back["from"]["not_taken"], [])
        self.assertEqual((back["from"]["mesh"]["pp"], back["from"]["zero"], back["from"]["micro"]), (2, 1, 1))
        self.assertEqual(back["model_flops"], best["model_flops"])
        # Megatron-LM decays no vectors, so that a few of their updates have another layout.
        self.assert_close(back["memory_bytes"], best["memory_bytes"], 1e-3)

    def test_types_of_torchtitan(self):
        """Its gradients are f32 under bf16, so those of the plans are."""
        found = self.npar("plan", "gpt2", "--machine", "dgx-a100", "--batch", 16, *settings(self.SIZES), "--set", "compute=bf16", *NARROW[:-2], "--fix", "micro=2",
                          "--as", "torchtitan", "-o", "best.npar")
        self.assertIn('mixed_precision_param = "bfloat16"\nmixed_precision_reduce = "float32"\n', found.output)
        self.assertIn("\n    compute bf16, gradients f32\n", (self.folder / "best.npar").read_text())


if __name__ == "__main__":
    unittest.main()
