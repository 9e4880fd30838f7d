"""Command lines and JSON files of Hugging Face's Trainer and of NeuronTrainer (`npar simulate --from`): models by name, batch, types, shares and learning
rates, as transformers itself reads them (tests/reference/huggingface_runs.py)."""

import json
import math
import pathlib
import re

from driver import LONG, REFERENCE, DriverTest

MACHINE = ("--machine", "dgx-a100")
SMALL = (*MACHINE, "--model-config", pathlib.Path(__file__).resolve().parent / "foreign" / "small.json")
GPT2 = "run_clm.py --model_name_or_path openai-community/gpt2 --do_train --output_dir out"


class HuggingFaceTest(DriverTest):
    def read(self, text, *flags, name="run.sh"):
        (self.folder / name).write_text(text)
        return self.npar_json("simulate", "--from", name, *MACHINE, *flags)["from"]

    def plan(self, text, *flags):
        (self.folder / "run.sh").write_text(text)
        return self.npar("simulate", "--from", "run.sh", *flags, "--print-plan").output

    def error(self, text, *flags, name="run.sh"):
        (self.folder / name).write_text(text)
        return self.npar("simulate", "--from", name, *MACHINE, *flags, code=1).error

    def left(self, run):
        return [one["setting"] for one in run["not_taken"]]

    def test_a_guide_to_several_gpus(self):
        """transformers' page on data parallelism: two GPUs, four sequences each, 200 steps."""
        (self.folder / "run.sh").write_text(f"CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 {GPT2} --dataset_name wikitext --dataset_config_name "
                                            "wikitext-2-raw-v1 --per_device_train_batch_size 4 --max_steps 200\n")
        found = self.npar_json("simulate", "--from", "run.sh", "--machine", "titan-rtx-2")
        run = found["from"]
        self.assertEqual((run["program"], run["mesh"]["dp"], run["batch"], run["micro"], run["zero"], run["compute"]),
                         ("the Trainer of transformers", 2, 8, 4, 0, "f32"))
        self.assertEqual((run["model"]["width"], run["model"]["depth"], run["model"]["vocab"], run["not_taken"], run["differences"]), ("768", "12", "50257", [], []))
        self.assertGreater(found["seconds_per_step"], 0)
        self.assertIn("linear(peak = 5e-05, warmup = 0, steps = 200, final = 0)", run["plan"])
        self.assertIn("bucket 26214400 B  # default of PyTorch", run["plan"])

    def test_neuron(self):
        """optimum-neuron's guide: ZeRO 1, tensor parallelism over 8 of the 32 cores of a trn1.32xlarge, with sequence parallelism unless it is turned off."""
        text = ("torchrun --nproc_per_node=32 examples/language-modeling/run_clm.py \\\n    --model_name_or_path meta-llama/Llama-2-7b-hf --dataset_name wikitext \\\n"
                "    --do_train --per_device_train_batch_size 1 --block_size 1024 --bf16 --zero_1 \\\n    --tensor_parallel_size 8 {} --output_dir my_training/\n")
        plan = self.plan(text.format(""))
        for line in ("mesh dp = 4, tp = 8\n", "    batch 4\n", "    micro 1\n", "length = 1024", "optimizer  -> dp", "seq                     -> tp", "compute bf16\n",
                     "'meta-llama/Llama-2-7b-hf' has the sizes of configuration 'Llama-2-7B'"):
            self.assertIn(line, plan)
        self.assertNotIn("gradients  ->", plan)
        self.assertNotIn("-> tp\n        seq", self.plan(text.format("--disable_sequence_parallel")).split("store")[0])
        pipeline = self.plan(text.format("--pipeline_parallel_size 2 --gradient_accumulation_steps 8 --pipeline_parallel_num_microbatches 4 --kv_size_multiplier 2"))
        for line in ("mesh pp = 2, dp = 2, tp = 8\n", "    batch 16\n", "    micro 2\n", "-> pp by 1f1b\n", "--kv_size_multiplier 2"):
            self.assertIn(line, pipeline)

    def test_as_transformers_reads_it(self):
        recorded = json.loads((REFERENCE / "huggingface_runs.json").read_text())["runs"]
        import huggingface_runs  # of tests/reference

        for name, command in huggingface_runs.COMMANDS.items():
            if not LONG and name not in ("linear", "cosine", "smallest"):
                continue
            with self.subTest(name):
                run = recorded[name]
                words = command.replace("{", "'{").replace("}", "}'")
                plan = self.plan(f"torchrun --nproc_per_node 2 train.py --model_name_or_path gpt2 {words}\n")
                micro, steps = run["per_device_train_batch_size"], run["gradient_accumulation_steps"]
                self.assertIn(f"    batch {2 * micro * steps}\n", plan)
                self.assertIn(f"    micro {micro}\n", plan)
                self.assertIn(f"    clip {run['max_grad_norm']:g}\n", plan)
                self.assertIn(f"    seed {run['seed']}\n", plan)
                self.assertIn(f"decay = {run['weight_decay']:g})", plan)
                self.assertEqual('"h.*.ln_1.weight", "*.bias"' in plan, run["weight_decay"] > 0)  # biases and norms do not decay
                self.assertIn("compute " + ("bf16, gradients f32" if run["bf16"] else "fp16, gradients f32" if run["fp16"] else "f32"), plan)
                self.assertEqual("recompute block" in plan, run["gradient_checkpointing"])
                if "optim sgd" not in command:
                    self.assertIn(f"betas = ({run['adam_beta1']:g}, {run['adam_beta2']:g}), epsilon = {run['adam_epsilon']:g}", plan)
                for at, theirs in zip(range(0, run["max_steps"], run.get("every", 1)), run.get("rates", [])):
                    self.assert_rate(plan, at, theirs)

    def assert_rate(self, plan, at, theirs):
        """npar's rate of step `at` (from 0), whose warm-up is one step earlier."""
        text = re.search(r"optimizer \w+\(lr = (?:(\w+)\(([^)]*)\)|([^,]+)),", plan)
        numbers = {key: float(value) for key, value in re.findall(r"(\w+) = ([^,)]+)", text.group(2) or f"peak = {text.group(3)}")}
        peak, warmup, steps, final = (numbers.get(key, 0) for key in ("peak", "warmup", "steps", "final"))
        if at < warmup:
            return self.assertAlmostEqual(peak * at / warmup, theirs, delta=1e-6 * peak)
        done = (at - warmup) / (steps - warmup) if steps else 0
        rate = {None: peak, "constant": peak, "linear": peak + (final - peak) * done, "cosine": final + (peak - final) * (1 + math.cos(math.pi * done)) / 2}[text.group(1)]
        self.assertAlmostEqual(rate, theirs, delta=1e-6 * peak)

    def test_deepspeed(self):
        """ "auto" in DeepSpeed's file stands for the Trainer's values; another value than the flags' is refused, as the Trainer does."""
        import huggingface_runs

        linear = json.loads((REFERENCE / "huggingface_runs.json").read_text())["runs"]["linear"]
        command = f"deepspeed --num_gpus 2 train.py --model_name_or_path gpt2 {huggingface_runs.COMMANDS['linear']} --deepspeed ds.json\n"
        plans = []
        for config in (huggingface_runs.DEEPSPEED, {**linear["deepspeed"], "train_batch_size": 16}):
            (self.folder / "ds.json").write_text(json.dumps(config))
            plans.append(self.plan(command))
            self.assertIn("linear(peak = 0.0003, warmup = 20, steps = 200, final = 0)", plans[-1])
            self.assertIn("gradients  -> dp", plans[-1])
        self.assertEqual(*plans)
        (self.folder / "ds.json").write_text(json.dumps(huggingface_runs.DEEPSPEED))
        plan = self.plan(command.replace("--max_steps 200", "--num_train_epochs 5"))
        self.assertIn("linear(peak = 0.0003, warmup = 20, steps = 1 run, final = 0)", plan)
        (self.folder / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 3, "zero_optimization": {"stage": 3}}')
        self.assertIn("DeepSpeed's file has 3 sequences per device, the Trainer's flags 8", self.error(command))
        self.assertIn("'deepspeed' names a file that cannot be read", self.error(command.replace("ds.json", "no.json")))

    def test_shares(self):
        """FSDP by flags, and by the file of `accelerate launch`."""
        (self.folder / "fsdp.json").write_text('{"transformer_layer_cls_to_wrap": ["GPT2Block"], "activation_checkpointing": true, "xla": true}')
        run = self.read(f"torchrun --nproc_per_node 4 {GPT2} --bf16 --fsdp 'shard_grad_op auto_wrap offload' --fsdp_config fsdp.json\n")
        self.assertEqual((run["zero"], run["recompute"], run["gradients"]), (2, "block", "f32"))
        self.assertEqual(self.left(run), ["xla: true", "--fsdp shard_grad_op auto_wrap offload"])
        (self.folder / "launch.yaml").write_text("distributed_type: FSDP\nnum_processes: 4\nmixed_precision: bf16\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"
                                                 "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n")
        run = self.read(f"accelerate launch --config_file launch.yaml {GPT2} --per_device_train_batch_size 2\n")
        self.assertEqual((run["zero"], run["mesh"]["dp"], run["batch"], run["compute"], run["not_taken"]), (3, 4, 8, "bf16", []))
        # Flags of `accelerate launch` replace its file.
        run = self.read(f"accelerate launch --config_file launch.yaml --mixed_precision=fp16 --fsdp_sharding_strategy SHARD_GRAD_OP {GPT2}\n")
        self.assertEqual((run["zero"], run["compute"], run["mesh"]["dp"], run["not_taken"]), (2, "fp16", 4, []))
        run = self.read(f"accelerate launch --use_deepspeed --zero_stage 3 --offload_param_device cpu --num_processes 8 {GPT2}\n")
        self.assertEqual((run["zero"], run["mesh"]["dp"], self.left(run)), (3, 8, ["deepspeed_config.offload_param_device: cpu"]))
        (self.folder / "ds.json").write_text('{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 8}')
        self.assertEqual(self.read(f"accelerate launch --use_deepspeed --deepspeed_config_file ds.json --num_processes 4 {GPT2}\n")["zero"], 3)
        (self.folder / "launch.yaml").write_text("distributed_type: DEEPSPEED\nnum_processes: 4\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n")
        self.assertEqual(self.read(f"accelerate launch --config_file launch.yaml {GPT2}\n")["zero"], 3)

    def test_json_and_yaml(self):
        self.assertIn("compute f32", self.plan(f"python {GPT2} --bf16 no --fp16 FALSE\n"))
        settings = {"model_name_or_path": "gpt2", "output_dir": "o", "per_device_train_batch_size": 2, "bf16": True, "fsdp": "full_shard auto_wrap", "max_steps": 10, "frobnicate": 3}
        run = self.read(json.dumps(settings, indent=1), "--world", 4, name="run.json")
        self.assertEqual((run["program"], run["batch"], run["zero"], self.left(run)), ("the Trainer of transformers", 8, 3, ["--frobnicate 3"]))
        again = self.read("".join(f"{key}: {value}\n" for key, value in settings.items()), "--world", 4, name="run.yaml")
        self.assertEqual(again["mesh"], run["mesh"])

    def test_models(self):
        """A name of the standard library, a folder, or --model-config; the script decides the head."""
        bert = self.read("torchrun --nproc_per_node 2 run_glue.py --model_name_or_path google-bert/bert-base-uncased --task_name mrpc --do_train --output_dir o\n")
        self.assertEqual((bert["model"]["task"], bert["model"]["length"]), ('"classify"', "128"))
        self.assertEqual(self.read("python run_mlm.py --model_name_or_path bert-base-uncased --do_train --output_dir o\n")["model"]["task"], '"masked"')
        folder = self.folder / "mine"
        folder.mkdir()
        (folder / "config.json").write_text('{"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "vocab_size": 100, "n_positions": 32}')
        self.assertEqual(self.read("torchrun --nproc_per_node 2 run_clm.py --model_name_or_path mine --do_train --output_dir o\n")["model"]["depth"], "2")
        for model, message in (("nobody/knows-it", "no configuration of the standard library has this name"), ("$MODEL", "the name of the model depends on 'MODEL'")):
            self.assertIn(message, self.error(f"torchrun --nproc_per_node 2 run_clm.py --model_name_or_path {model} --do_train --output_dir o\n"))
        self.assertIn("a class that ends with 'ForCausalLM'", self.error("python run_clm.py --model_name_or_path bert-base-uncased --output_dir o\n"))
        self.assertIn("the file does not name the model", self.error("python train.py --per_device_train_batch_size 2\n"))

    def test_it_is_nobody_elses(self):
        """Flags that only the Trainer has are never read as another program's; a command of LLaMA-Factory is refused by name."""
        text = f"torchrun --nproc_per_node 2 {GPT2} --bf16 --tensor_parallel_size 2\n"
        error = self.error(text, "--from-format", "megatron")
        self.assertIn("this has settings that only the Trainer of transformers has, and none of Megatron-LM", error)
        self.assertIn("--from-format huggingface reads it", error)
        self.assertIn("this is a command of LLaMA-Factory", self.error("python src/train.py --stage sft --finetuning_type lora --model_name_or_path gpt2 --output_dir o\n"))

    def test_epochs(self):
        """Without a number of steps the learning rate ends with the run, as the Trainer's."""
        plan = self.plan(f"python {GPT2} --num_train_epochs 4.5 --lr_scheduler_type cosine --warmup_ratio 0.1\n")
        self.assertIn("    epochs 4.5\n    optimizer AdamW(lr = cosine(peak = 5e-05, warmup = 0.1 run, steps = 1 run, final = 0)", plan)
        self.assertIn("nothing is dropped out", plan)
        self.assertIn("lr = constant(peak = 5e-05, warmup = 0.2 run)", self.plan(f"python {GPT2} --lr_scheduler_type constant_with_warmup --warmup_steps 0.2\n"))

    def test_short_names(self):
        """argparse takes the beginning of a flag's name for the whole."""
        clm = "torchrun --nproc_per_node 2 run_clm.py --per_device_train_batch_size 1 "
        (self.folder / "run.sh").write_text(clm + "--grad 2 --bf 1\n")
        error = self.npar("simulate", "--from", "run.sh", *SMALL, code=1).error
        self.assertIn("'--grad' is short for --gradient_accumulation_steps, --gradient_checkpointing or --gradient_checkpointing_kwargs: write the whole name", error)
        self.assertIn("'--bf' is short for --bf16: write the whole name", error)
        (self.folder / "own.sh").write_text(clm.replace("run_clm.py", "mine.py") + "--grad all\n")
        self.assertIn("--grad all: npar does not know this setting; write the whole name if it is short for --gradient_accumulation_steps", self.npar("simulate", "--from", "own.sh", *SMALL).output)

    def test_python(self):
        """The call in a Python file and the flags of a command are the same run."""
        (self.folder / "run.sh").write_text("torchrun --nproc_per_node 2 mine.py --per_device_train_batch_size 2 --learning_rate 1e-4 --bf16 --max_steps 9\n")
        for name in ("TrainingArguments", "Seq2SeqTrainingArguments"):
            (self.folder / "run.py").write_text(f"from transformers import {name}\n\nbatch = 2\narguments = {name}(\n    output_dir='out', per_device_train_batch_size=batch, learning_rate=1e-4,\n    bf16=True, max_steps=9,\n)\n")
            plans = [self.npar("simulate", "--from", file, *SMALL, "--world", 2, "--print-plan").output for file in ("run.sh", "run.py")]
            self.assertEqual(*([line for line in plan.splitlines() if not line.startswith("#")] for plan in plans))
        (self.folder / "run.py").write_text("from transformers import TrainingArguments\na = TrainingArguments(output_dir='a', per_device_train_batch_size=size())\n")
        self.assertIn("run.py:2:", self.npar("simulate", "--from", "run.py", *SMALL, "--world", 2, code=1).error)
        (self.folder / "run.py").write_text("from transformers import TrainingArguments\n" + "a = TrainingArguments(output_dir='a', per_device_train_batch_size=1)\n" * 2)
        self.assertIn("run.py:2:5: error: this file makes the Trainer's arguments 2 times: line 2 and line 3", self.npar("simulate", "--from", "run.py", *SMALL, "--world", 2, code=1).error)

    def test_what_is_left(self):
        run = self.read(f"python {GPT2} --label_smoothing_factor 0.1 --optim adafactor --lr_scheduler_type inverse_sqrt --report_to wandb --logging_steps 5 --torch_compile True "
                        "--group_by_length False --max_steps 10\n")
        self.assertEqual(self.left(run), ["--label_smoothing_factor 0.1", "--optim adafactor", "--lr_scheduler_type inverse_sqrt", "--torch_compile"])
        self.assertIn("there is one device", " ".join(run["assumed"]))
        refusals = (("--bf16 --fp16", "refuses bf16 and fp16 together"), ("--fsdp shards", "--fsdp has no word 'shards'"), ("--warmup_steps 20 --max_steps 10", "not shorter than the 10 steps"),
                               ("--eval_strategy steps --eval_steps -1", "must be more than 0"), ("--num_train_epochs -1", "must be at least 0"), ("--warmup_steps -2", "no negative number"),
                               ("--deepspeed", "--deepspeed needs the path"), ("--pipeline_parallel_size 1 --per_device_train_batch_size x", "whole number"))
        for flags, message in refusals if LONG else refusals[:3]:
            with self.subTest(flags):
                self.assertIn(message, self.error(f"python {GPT2} {flags}\n"))


if __name__ == "__main__":
    import unittest

    unittest.main()
