"""Runs of other programs (`npar simulate --from`): what is understood of each format, that the plan made of it is the plan simulated, and that
nothing a file says goes by unsaid. The files are in foreign/, with settings that the programs' own examples have."""

import json
import pathlib
import re
import unittest

from driver import REFERENCE, ROOT, DriverTest

import foreign_data  # of tests/reference, as the driver has it on the path

FILES = pathlib.Path(__file__).resolve().parent / "foreign"
MACHINE = ("--machine", "dgx-a100")
PRINTED = "  micro_batch_size ..... 1\n  bf16 ..... True\n  seed ..... 3\n"  # three lines of the arguments that Megatron-LM prints

# The smallest file of each program, and its name in texts.
SMALLEST = {
    "megatron": ("--micro-batch-size 1\n", "Megatron-LM"),
    "torchtitan": ("[training]\nseq_len = 64\n", "torchtitan"),
    "deepspeed": ('{"train_batch_size": 8}\n', "DeepSpeed"),
    "accelerate": ("distributed_type: NO\n", "Accelerate"),
    "huggingface": ("--per_device_train_batch_size 1\n", "the Trainer of transformers"),
    "sagemaker": ('{"mpi": {"enabled": true}}\n', "SageMaker"),
}


class ForeignTest(DriverTest):
    def run_of(self, file, *arguments):
        return self.npar_json("simulate", "--from", FILES / file, *MACHINE, *arguments)

    def changed(self, file, *pairs):
        """A copy of a file with some of its text replaced, each piece once."""
        text = (FILES / file).read_text()
        for old, new in pairs:
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        (self.folder / file).write_text(text)
        return self.folder / file

    def left(self, found):
        return {one["setting"].split(":")[0].split(" ")[0]: one["line"] for one in found["from"]["not_taken"]}

    def test_flags_of_megatron(self):
        """A script with an array, variables, comments and continued lines: 175B on 128 devices, with what has no counterpart named by its line."""
        found = self.run_of("gpt3_175b.sh")
        run = found["from"]
        self.assertEqual(found["ranks"], 128)
        self.assertEqual(found["hosts"], 16)
        self.assertEqual(run["mesh"], {"pp": 16, "replicas": 1, "dp": 1, "ep": 1, "cp": 1, "tp": 8})
        self.assertEqual((run["batch"], run["micro"], run["micros"]), (64, 1, 64))
        self.assertEqual((run["schedule"], run["chunks"], run["zero"], run["sequence_parallel"]), ("interleaved", 2, 1, True))
        self.assertEqual((run["compute"], run["gradients"]), ("bf16", "f32"))
        self.assertEqual(run["model"]["vocab"], "51200")  # 50,257 up to a multiple of 128 * 8
        self.assertEqual(run["model"]["depth"], "96")
        self.assertEqual(self.left(found), {"--rampup-batch-size": 23, "--tp-comm-overlap": 34, "--frobnicate": 35})
        self.assertGreaterEqual(run["settings_immaterial"], 5)
        # The model's work: 6 operations per parameter and token, and attention's (the parameters of blocks and of the output).
        parameters, tokens = 96 * 12 * 12288**2 + 51200 * 12288, 64 * 2048
        self.assert_close(found["model_flops"], 6 * parameters * tokens + 12 * 96 * 12288 * 2048 * tokens, 0.005)
        self.assertGreater(found["bubble"], 15 / (64 * 2) / (1 + 15 / (64 * 2)) * 0.7)

    def test_flags_in_a_variable(self):
        run = self.run_of("small.sh", "--world", 8)["from"]
        self.assertEqual(run["mesh"], {"pp": 1, "replicas": 1, "dp": 2, "ep": 1, "cp": 2, "tp": 2})
        self.assertEqual((run["recompute"], run["not_taken"]), ("every 2", []))
        self.assertEqual({key: run["model"][key] for key in ("kv_heads", "mlp", "tied", "vocab")}, {"kv_heads": "4", "mlp": "512", "tied": "false", "vocab": "1024"})

    def test_scripts_around_it(self):
        """Megatron-DeepSpeed's stage and launcher; a known condition is followed, another script than GPT's is named."""
        file = self.changed("small.sh", ("python pretrain_gpt.py", "if true; then EXTRA='--log-interval 5 --frobnicate 3'; fi\ndeepspeed --num_gpus 8 pretrain_bert.py $EXTRA --zero-stage 1"))
        run = self.run_of(file)["from"]
        self.assertEqual((run["mesh"]["dp"], run["zero"]), (2, 1))
        self.assertEqual(self.left({"from": run}), {"pretrain_bert.py": 7, "--frobnicate": 6})

    def test_shell_scripts(self):
        """What a script leaves open is named with its line and the flag that gives it; --env gives it; one of two commands must be chosen."""
        model = "--num-layers 4 --hidden-size 256 --num-attention-heads 4 --seq-length 128 --vocab-size 512"
        open_tp = self.folder / "open.sh"
        open_tp.write_text(f"TP=$TENSOR\nLOG=$(date)\ntorchrun --nproc_per_node 8 pretrain_gpt.py {model} --tensor-model-parallel-size $TP --save $LOG\n")
        error = self.npar("simulate", "--from", open_tp, *MACHINE, code=1).error
        self.assertIn("open.sh:3:", error)
        self.assertIn("'--tensor-model-parallel-size $TENSOR' depends on 'TENSOR', which the script does not set", error)
        self.assertIn("help: --env TENSOR=VALUE gives it", error)
        self.assertEqual(self.run_of(open_tp, "--env", "TENSOR=2")["from"]["mesh"]["tp"], 2)
        self.assertIn("'PP' of --env does not occur", self.npar("simulate", "--from", open_tp, *MACHINE, "--env", "TENSOR=2", "--env", "PP=2", code=1).error)
        self.assertIn("--env needs --from FILE", self.npar("simulate", "gpt2", "--env", "A=1", code=2).error)
        two = self.folder / "two.sh"
        two.write_text(f"torchrun pretrain_gpt.py {model}\ntorchrun pretrain_gpt.py {model} --bf16\n")
        self.assertIn("this script has 2 training commands: line 1 and line 2", self.npar("simulate", "--from", two, *MACHINE, code=1).error)

    def test_arguments_that_megatron_prints(self):
        """In the middle of a log; what is off, or None, is no setting."""
        run = self.run_of("dump.txt")["from"]
        self.assertEqual(run["mesh"], {"pp": 2, "replicas": 1, "dp": 2, "ep": 1, "cp": 1, "tp": 2})
        self.assertEqual((run["schedule"], run["chunks"], run["model"]["dropout"], run["not_taken"]), ("interleaved", 2, "0.1", []))

    def test_torchtitan(self):
        found = self.run_of("llama3_70b.toml", "--hosts", 8)
        run = found["from"]
        self.assertEqual(run["mesh"], {"pp": 1, "replicas": 1, "dp": 8, "ep": 1, "cp": 1, "tp": 8})
        self.assertEqual((run["batch"], run["micro"], run["zero"], run["recompute"]), (32, 1, 3, "block"))
        self.assertEqual(self.left(found), {"parallelism.enable_async_tensor_parallel": 28})
        # Shares of 2 bytes a parameter, 4 of its gradient and 12 of the optimizer's, of 70.6 billion over 64 devices, are but a part.
        self.assertGreater(found["memory_bytes"], 70.6e9 * 18 / 64)

    def test_torchtitan_pipeline(self):
        """The embedding and the output count as layers where blocks are spread; a hybrid mesh has replicas."""
        file = self.changed("llama3_70b.toml", ("pipeline_parallel_degree = 1", 'pipeline_parallel_degree = 4\npipeline_parallel_schedule = "Interleaved1F1B"'),
                            ("data_parallel_replicate_degree = 1", "data_parallel_replicate_degree = 2"))
        plan = self.npar("simulate", "--from", file, "--world", 64, "--print-plan").output
        self.assertIn("mesh pp = 4, node = 2, tp = 8\n", plan)
        self.assertIn("-> pp by interleaved(2) stages [10, 11, 10, 10, 10, 10, 10, 9]", plan)

    def test_deepspeed(self):
        found = self.run_of("zero3.json", "--hosts", 1, "--model-config", FILES / "small.json")
        run = found["from"]
        self.assertEqual((run["mesh"]["dp"], run["zero"], run["batch"], run["micros"], run["compute"], run["gradients"]), (8, 3, 32, 2, "bf16", "bf16"))
        self.assertEqual(self.left(found), {"zero_optimization.offload_optimizer.device": 12, "mystery": 16})
        # The third of the sizes follows from any two.
        file = self.changed("zero3.json", ('"train_micro_batch_size_per_gpu": 2', '"gradient_accumulation_steps": 4'))
        self.assertEqual(self.run_of(file, "--world", 8, "--model-config", FILES / "small.json")["from"]["micro"], 1)

    def test_accelerate(self):
        config = ("--model-config", FILES / "small.json")
        fsdp = self.run_of("fsdp.yaml", *config)["from"]
        self.assertEqual((fsdp["mesh"]["dp"], fsdp["zero"], fsdp["recompute"], fsdp["micros"], fsdp["not_taken"]), (8, 3, "block", 1, []))
        plugin = self.run_of("plugin.yaml", *config)["from"]
        self.assertEqual(plugin["mesh"], {"pp": 2, "replicas": 1, "dp": 2, "ep": 1, "cp": 1, "tp": 2})
        self.assertEqual((plugin["zero"], plugin["sequence_parallel"], plugin["micros"]), (1, True, 4))

    def test_the_plan_that_is_printed_is_the_one_that_is_simulated(self):
        for file, plan, more in (("small.sh", "megatron", ("--world", "8")), ("plugin.yaml", "accelerate", ("--model-config", FILES / "small.json"))):
            with self.subTest(file):
                path = self.folder / "made.npar"
                path.write_text(self.npar("simulate", "--from", FILES / file, *more, "--print-plan").output)
                again = self.npar_json("simulate", path, "--config", plan, *MACHINE)
                found = self.run_of(file, *more)
                self.assertEqual(found.pop("from")["plan"], path.read_text())
                self.assertEqual(again, found)

    def test_a_plan_that_is_made_trains_as_one_rank_does(self):
        """The program that is simulated is the one that would run: `npar verify` compares it with one rank."""
        path = self.folder / "made.npar"
        path.write_text(self.npar("simulate", "--from", FILES / "small.sh", "--world", 8, "--print-plan").output)
        shrunk = ("vocab=61", "length=16", "width=32", "mlp=32", "heads=8", "kv_heads=4", "head_dim=4", "batch=8", "micro=2")
        self.npar("verify", path, "--config", "megatron", *(word for one in shrunk for word in ("--set", one)))

    def test_settings_change_the_plan(self):
        """Settings for the model's constants appear in the generated text."""
        self.assertIn("depth = 8", self.npar("simulate", "--from", FILES / "small.sh", "--world", 8, "--set", "depth=8", "--print-plan").output)
        found = self.run_of("small.sh", "--world", 8, "--set", "batch=32")
        self.assertEqual(found["from"]["set"], ["batch=32"])
        self.assert_close(found["model_flops"], 2 * self.run_of("small.sh", "--world", 8)["model_flops"], 1e-9)


    def test_accelerate_as_its_plugins_read_it(self):
        """Values that Accelerate's own launcher and plugins made of the same files (tests/reference/foreign_reference.py)."""
        recorded = json.loads((REFERENCE / "foreign_recorded.json").read_text())
        for name in foreign_data.ACCELERATE:
            with self.subTest(name):
                text, theirs = recorded["accelerate " + name].values()
                self.assertEqual(text, foreign_data.ACCELERATE[name])
                (self.folder / "run.yaml").write_text(text)
                run = self.npar_json("simulate", "--from", "run.yaml", "--model-config", FILES / "small.json", *MACHINE)["from"]
                mesh = run["mesh"]
                self.assertEqual(mesh["pp"] * mesh["replicas"] * mesh["dp"] * mesh["cp"] * mesh["tp"], theirs["num_processes"])
                self.assertEqual(run["compute"], {"no": "f32"}.get(theirs["mixed_precision"], theirs["mixed_precision"]))
                if "sharding" in theirs:
                    strategy = {"ShardingStrategy.SHARD_GRAD_OP": 2, "ShardingStrategy.NO_SHARD": 0, "ShardingStrategy.FULL_SHARD": 3}
                    self.assertEqual(run["zero"], strategy.get(theirs["sharding"], 3 if theirs["reshard"] else 2))
                    self.assertEqual(run["recompute"], "block" if theirs["recompute"] else "none")
                if "tp_degree" in theirs:
                    self.assertEqual((mesh["tp"], mesh["pp"], run["micros"], run["sequence_parallel"], run["zero"]),
                                     (theirs["tp_degree"], theirs["pp_degree"], theirs["num_micro_batches"], theirs["sequence_parallelism"], 1))
                if "zero_stage" in theirs:
                    steps = theirs["gradient_accumulation_steps"]
                    self.assertEqual((run["zero"], run["micros"]), (theirs["zero_stage"], 1 if steps == "auto" else steps))
                if isinstance(theirs.get("gradient_clipping"), float):
                    self.assertIn(f"    clip {theirs['gradient_clipping']:g}\n", run["plan"])


class ForeignProgramsTest(DriverTest):
    """The table of programs (tools/lib/foreign/ForeignPrograms.cpp)."""

    def program_of(self, text, *arguments):
        """The program that a text without a name's ending is read as."""
        (self.folder / "some.run").write_text(text)
        made = self.npar("simulate", "--from", "some.run", "--world", 8, "--model-config", FILES / "small.json", "--print-plan", *arguments).output
        return re.match(r"# Made of 'some\.run', a run of (.*)\. The sizes of its model: --config (\w+)\n", made).groups()

    def test_each_is_recognized_by_its_smallest_file(self):
        for key, (text, name) in SMALLEST.items():
            with self.subTest(key):
                self.assertEqual(self.program_of(text), (name, key))
                self.assertEqual(self.program_of(text, "--from-format", key), (name, key))

    def test_a_line_of_one_program_counts_more_than_a_flag_in_it(self):
        """The order: an object, a printed list anywhere, then the first line that is a table or a key, or has a flag."""
        for text, key in (
            ("[training] # --num-layers 4\nseq_len = 64\n", "torchtitan"),
            ("distributed_type: NO # --num-layers 4\n", "accelerate"),
            ("--micro-batch-size 1\n[job]\n", "megatron"),
            ("debug: 1\n" + PRINTED, "megatron"),
            ("[job]\n" + PRINTED, "megatron"),
        ):
            with self.subTest(text):
                self.assertEqual(self.program_of(text)[1], key)
        (self.folder / "some.run").write_text("{\n" + PRINTED + "}\n")
        self.assertIn("some.run:2:3: error: this is no JSON", self.npar("simulate", "--from", "some.run", "--world", 8, code=1).error)

    def test_flags_take_the_programs_of_the_table(self):
        """The classes of programs, the table's lines and what the flags take are the same; those that npar writes are what --as takes."""
        folder = ROOT / "tools" / "lib" / "foreign"
        sources = [path.read_text() for path in sorted(folder.rglob("*.cpp"))]
        keys = {key: text for text in sources for key in re.findall(r'const char \*key\(\) const override \{ return "(\w+)"; \}', text)}
        written = {key for key, text in keys.items() if "bool writes() const override { return true; }" in text}
        self.assertEqual(set(keys), set(SMALLEST))
        table = re.search(r"programs = \{(.*?)\};", (folder / "ForeignPrograms.cpp").read_text(), re.DOTALL).group(1)
        self.assertEqual(table.count("&"), len(keys))
        for command, flag, expected in (("simulate", "--from-format", set(keys)), ("plan", "--from-format", set(keys)), ("simulate", "--as", written), ("plan", "--as", written),
                                        ("inspect", "--as", written)):
            with self.subTest((command, flag)):
                listed = re.search(rf"{flag} PROGRAM:\{{([\w,]+)\}}", self.npar(command, "--help").output).group(1).split(",")
                self.assertEqual(sorted(listed), sorted(expected))


if __name__ == "__main__":
    unittest.main()
