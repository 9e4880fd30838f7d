"""Plans for other programs (`npar inspect --as`): that Megatron-LM's own parser and torchtitan's own configuration took the text
(tests/reference/foreign_reference.py), that reading it back (`--from`) gives the same plan, and that what they cannot do is named by its line."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from driver import NPAR, REFERENCE, DriverTest

import foreign_data  # of tests/reference, as the driver has it on the path

FILES = pathlib.Path(__file__).resolve().parent / "foreign"
RECORDED = json.loads((REFERENCE / "foreign_recorded.json").read_text())
SUFFIX = {"megatron": ".sh", "torchtitan": ".toml", "deepspeed": ".json"}

# Results of reading it back: pp, dp, tp, sequences of a micro-batch, micro-batches, schedule, chunks, recomputed, ZeRO, sequence
# parallelism, types.
PLANS = {
    "gpt2": (2, 2, 2, 2, 8, "1f1b", 1, "none", 0, False, "f32", "f32"),
    "gpt2 zero 1": (2, 2, 2, 2, 8, "1f1b", 1, "none", 1, False, "bf16", "bf16"),
    "gpt2 zero 3": (1, 2, 2, 2, 8, None, 1, "block", 3, False, "f32", "f32"),
    "gpt2 every 3": (2, 1, 2, 2, 16, "1f1b", 1, "every 3", 0, False, "f32", "f32"),
    "llama interleaved": (2, 4, 2, 2, 8, "interleaved", 2, "none", 1, True, "f32", "f32"),
    "titan": (2, 2, 2, 2, 16, "1f1b", 1, "block", 3, True, "f32", "f32"),
    "titan gpipe": (2, 2, 2, 2, 16, "gpipe", 1, "none", 2, True, "f32", "f32"),
    "titan interleaved": (2, 4, 2, 2, 8, "interleaved", 2, "none", 3, True, "f32", "f32"),
    "titan zb_v": (2, 2, 2, 2, 16, "zb_v", 2, "none", 2, True, "f32", "f32"),
    "titan data": (1, 4, 1, 2, 8, None, 1, "none", 3, False, "f32", "f32"),
    "deepspeed zero 2": (1, 8, 1, 2, 2, None, 1, "none", 2, False, "bf16", "bf16"),
    "deepspeed": (2, 2, 2, 2, 8, "1f1b", 1, "none", 1, False, "fp16", "fp16"),
}


class ForeignAsTest(DriverTest):
    def written(self, name):
        program, devices, arguments = foreign_data.PLANS[name]
        return program, devices, self.npar("inspect", *arguments, "--as", program).output

    def test_the_text_is_what_the_programs_took(self):
        """The programs' own parsers read the text once, with their checks; their understanding was recorded with it."""
        self.assertEqual(set(RECORDED), set(PLANS) | {"accelerate " + name for name in foreign_data.ACCELERATE})
        for name, recorded in RECORDED.items():
            if name.startswith("accelerate "):  # which npar only reads
                continue
            with self.subTest(name):
                _, devices, text = self.written(name)
                self.assertEqual(text, recorded["text"])
                pp, dp, tp, micro, micros, _, chunks, recompute, zero, sequence, _, _ = PLANS[name]
                found = recorded["understood"]
                if "train_batch_size" in found:
                    self.assertEqual((found["train_batch_size"], found["train_micro_batch_size_per_gpu"], found["gradient_accumulation_steps"]),
                                     (dp * micro * micros, micro, micros))
                    self.assertEqual((found["zero"], found["bf16"], found["fp16"], found["optimizer"]), (zero, PLANS[name][10] == "bf16", PLANS[name][10] == "fp16", "adamw"))
                elif "parallelism" not in found:
                    self.assertEqual([found[key] for key in ("world_size", "pipeline_model_parallel_size", "data_parallel_size", "tensor_model_parallel_size")],
                                     [devices, pp, dp, tp])
                    self.assertEqual((found["micro_batch_size"], found["global_batch_size"], found["virtual_pipeline_model_parallel_size"] or 1),
                                     (micro, dp * micro * micros, chunks))
                    self.assertEqual((found["sequence_parallel"], found["recompute_granularity"] or "none"), (sequence, "none" if recompute == "none" else "full"))
                    self.assertEqual((found["use_distributed_optimizer"], found["use_megatron_fsdp"]), (zero >= 1, zero >= 2))
                else:
                    mesh = found["parallelism"]
                    self.assertEqual((mesh["pipeline_parallel_degree"], mesh["tensor_parallel_degree"]), (pp, tp))
                    self.assertEqual(mesh["data_parallel_shard_degree"] * mesh["data_parallel_replicate_degree"], dp)
                    self.assertEqual(found["training"]["global_batch_size"], dp * micro * micros)

    def test_reading_it_back_gives_the_same_plan(self):
        self.assertEqual(set(PLANS), set(foreign_data.PLANS))
        for name, expected in PLANS.items():
            with self.subTest(name):
                program, devices, text = self.written(name)
                path = self.folder / ("made" + SUFFIX[program])
                path.write_text(text)
                model = ("--model-config", FILES / "small.json") if program == "deepspeed" else ()
                run = self.npar_json("simulate", "--from", path, "--world", devices, "--machine", "dgx-a100", *model)["from"]
                mesh = run["mesh"]
                found = (mesh["pp"], mesh["dp"], mesh["tp"], run["micro"], run["micros"], run["schedule"], run["chunks"], run["recompute"], run["zero"],
                         run["sequence_parallel"], run["compute"], run["gradients"])
                self.assertEqual(found, expected)
                self.assertEqual(run["not_taken"], [])

    def test_a_plan_comes_back_as_the_program_that_it_was(self):
        """The same text of model and plan, hence the same memory and bytes, where Megatron-LM's spread of blocks is the plan's own."""
        plan = self.npar("simulate", "--from", FILES / "small.sh", "--world", 8, "--print-plan").output
        (self.folder / "made.npar").write_text(plan)
        text = self.npar("inspect", "made.npar", "--config", "megatron", "--as", "megatron").output
        (self.folder / "again.sh").write_text(text)
        again = self.npar("simulate", "--from", "again.sh", "--world", 8, "--print-plan").output
        for block in ("config ", "plan "):  # of training, the text states as its own what were defaults of the program
            self.assertEqual(self.block(again, block), self.block(plan, block))

    def block(self, text, word):
        """The lines of a block, without comments."""
        return [line for line in text[text.index("\n" + word) :].split("\n\n")[0].splitlines() if not line.lstrip().startswith("#")]

    def test_tf32_is_what_a_training_script_allows(self):
        for program, name in (("megatron", "Megatron-LM"), ("deepspeed", "DeepSpeed")):
            plain, found = (self.npar("inspect", "gpt2", "--set", f"compute={compute}", "--as", program) for compute in ("f32", "tf32"))
            self.assertEqual(found.output, plain.output)
            self.assertRegex(found.error, rf"three_d\.npar:\d+:\d+: warning: {name} has no setting for 'tf32'; the training script enables it: torch\.set_float32_matmul_precision")

    def test_what_a_program_cannot_do_is_named_by_its_line(self):
        for settings, program, lines in (
            (("schedule=zb_h1",), "megatron", ["has no schedule 'zb_h1'"]),
            (("zero=1", "sequence=true"), "torchtitan", ["torchtitan's shares of the optimizer's state come with shares of gradients"]),
            ((), "torchtitan", ["torchtitan splits the sequence over the ranks of tensor parallelism too"]),
            (("sequence=true",), "deepspeed", ["DeepSpeed does not split the sequence"]),
            (("sequence=true",), "torchtitan", ["torchtitan's replicas without shares have no tensor or pipeline parallelism"]),
            (("compute=f64",), "megatron", ["Megatron-LM does not train in f64"]),
            (("compute=fp16", "sequence=true"), "torchtitan", ["torchtitan does not train in fp16"]),
        ):
            with self.subTest((settings, program)):
                result = self.npar("inspect", "gpt2", *(word for one in settings for word in ("--set", one)), "--as", program, code=1)
                self.assertEqual(result.output, "")
                for line in lines:
                    self.assertRegex(result.error, r"three_d\.npar:\d+:\d+: error: .*" + line)

    def test_the_programs_take_it_today(self):
        """Where their sources are: NPAR_MEGATRON and NPAR_TORCHTITAN name the folders."""
        sources = [os.environ.get(name) for name in ("NPAR_MEGATRON", "NPAR_TORCHTITAN")]
        if not all(sources):
            self.skipTest("the sources of Megatron-LM and torchtitan are not named by NPAR_MEGATRON and NPAR_TORCHTITAN")
        subprocess.run([sys.executable, "foreign_reference.py", "--npar", NPAR, "--megatron", sources[0], "--torchtitan", sources[1], "--check"],
                       cwd=REFERENCE, check=True)


if __name__ == "__main__":
    unittest.main()
