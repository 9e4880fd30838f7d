"""Runs of DeepSpeed and Accelerate: batches, types, sharding, optimizers and schedules, defaults of the program, and what is not taken."""

import json
import unittest

from test_foreign_cases import A100, CONFIG, CasesTest


class DeepSpeedCasesTest(CasesTest):
    def ds(self, **more):
        return {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, **more}

    def test_the_batch(self):
        """DeepSpeed's own rule for the sizes that are not given."""
        for sizes, micro, micros, batch in (
            ({"train_batch_size": 64}, 8, 1, 64),
            ({"train_micro_batch_size_per_gpu": 4}, 4, 1, 32),
            ({"train_batch_size": 64, "gradient_accumulation_steps": 2}, 4, 2, 64),
            ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2}, 2, 4, 64),
            ({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3}, 2, 3, 48),
            ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}, 4, 2, 64),
            ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": "auto"}, 8, 1, 64),
        ):
            with self.subTest(sizes):
                run = self.run_of("ds.json", sizes, *CONFIG, "--world", 8)
                self.assertEqual((run["micro"], run["micros"], run["batch"]), (micro, micros, batch))
        self.refused("ds.json", {"train_batch_size": 60}, "not divisible", *CONFIG, "--world", 8)
        self.refused("ds.json", {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 2}, "not divisible", *CONFIG, "--world", 8)

    def test_optimizer_and_rates(self):
        def optimizer(kind, scheduler=None, **params):
            return self.ds(optimizer={"type": kind, "params": params}, **({"scheduler": scheduler} if scheduler else {}))

        linear = {"warmup_type": "linear", "warmup_num_steps": 500}
        for content, line in (
            (optimizer("AdamW", lr=3e-5, betas=[0.8, 0.95], eps=1e-6, weight_decay=0.1), "AdamW(lr = 3e-05, betas = (0.8, 0.95), epsilon = 1e-06, decay = 0.1)"),
            (optimizer("Adam", lr=3e-5, adam_w_mode=False, weight_decay=0.1), "Adam(lr = 3e-05"),
            (optimizer("adam", lr=3e-5), "AdamW(lr = 3e-05"),
            (optimizer("SGD", lr=0.1, momentum=0.9), "Sgd(lr = 0.1, momentum = 0.9"),
            (optimizer("AdamW", {"type": "WarmupLR", "params": {**linear, "warmup_max_lr": 2e-5}}, lr=3e-5), "constant(peak = 2e-05, warmup = 500)"),
            (optimizer("AdamW", {"type": "WarmupDecayLR", "params": {**linear, "warmup_max_lr": 3e-5, "total_num_steps": 9000}}, lr=1e-5), "linear(peak = 3e-05, warmup = 500, steps = 9000, final = 0)"),
            # Only WarmupLR has the optimizer's rate as its default; WarmupDecayLR ends where its warm-up began.
            (optimizer("AdamW", {"type": "WarmupLR", "params": linear}, lr=3e-5), "constant(peak = 3e-05, warmup = 500)"),
            (optimizer("AdamW", {"type": "WarmupDecayLR", "params": {**linear, "total_num_steps": 9000}}, lr=3e-5), "linear(peak = 0.001, warmup = 500, steps = 9000, final = 0)"),
            (optimizer("AdamW", {"type": "WarmupDecayLR", "params": {**linear, "total_num_steps": 9000, "warmup_max_lr": "auto"}}, lr=3e-5), "linear(peak = 3e-05"),
            (optimizer("AdamW", {"type": "WarmupDecayLR", "params": {**linear, "warmup_min_lr": 1e-5, "warmup_max_lr": 2e-4, "total_num_steps": 9000}}),
             "linear(peak = 0.0002, warmup = 500, steps = 9000, final = 1e-05)"),
            (optimizer("AdamW", {"type": "WarmupCosineLR", "params": {**linear, "total_num_steps": 9000, "cos_min_ratio": 0.1}}, lr=1e-4),
             "cosine(peak = 0.0001, warmup = 500, steps = 9000, final = 1e-05)"),
            (self.ds(gradient_clipping=0.25), "    clip 0.25\n"),
            (self.ds(), "    clip 1\n"),
        ):
            with self.subTest(content):
                self.assertIn(line, self.plan_of("ds.json", content, *CONFIG, "--world", 8))
        for kind, key in (("Lamb", "optimizer.type"), ("OneBitAdam", "optimizer.type")):
            self.assertIn(key, self.left(self.run_of("ds.json", optimizer(kind, lr=1e-3), *CONFIG, "--world", 8)))

    def test_what_is_not_taken(self):
        zero = "zero_optimization."
        for content, keys in (
            (self.ds(zero_optimization={"stage": 2, "overlap_comm": False, "reduce_scatter": False, "contiguous_gradients": False}),
             [zero + "overlap_comm", zero + "reduce_scatter", zero + "contiguous_gradients"]),
            (self.ds(zero_optimization={"stage": 2, "zero_hpz_partition_size": 4}), [zero + "zero_hpz_partition_size"]),
            (self.ds(zero_optimization={"stage": 1, "mics_shard_size": 4}), [zero + "mics_shard_size"]),
            (self.ds(zero_optimization={"stage": 3, "mics_shard_size": 4, "zero_hpz_partition_size": 2}), [zero + "zero_hpz_partition_size"]),
            (self.ds(zero_optimization={"stage": 3, "mics_shard_size": -1, "zero_hpz_partition_size": 1}), []),
            (self.ds(zero_optimization={"stage": 2, "offload_optimizer": {"device": "cpu"}}), [zero + "offload_optimizer.device"]),
            (self.ds(zero_optimization={"stage": 3, "offload_param": {"device": "nvme"}}), [zero + "offload_param.device"]),
            (self.ds(zero_optimization={"stage": 2, "offload_optimizer": {"device": "none", "pin_memory": False}}), []),
            (self.ds(zero_optimization={"stage": 2, "stage3_prefetch_bucket_size": 1}), []),
            (self.ds(zero_optimization={"stage": 3, "stage3_prefetch_bucket_size": 1}), [zero + "stage3_prefetch_bucket_size"]),
            (self.ds(curriculum_learning={"enabled": True, "curriculum_type": "seqlen"}), ["curriculum_learning.enabled", "curriculum_learning.curriculum_type"]),
            (self.ds(curriculum_learning={"enabled": False, "curriculum_type": "seqlen"}), []),
            (self.ds(compile={"deepcompile": True}), ["compile.deepcompile"]),
            (self.ds(prescale_gradients=True), ["prescale_gradients"]),
            (self.ds(tensorboard={"enabled": True, "output_path": "x"}, steps_per_print=10, wall_clock_breakdown=True), []),
            (self.ds(tensorboard={"enabled": True, "mystery": 1}), ["tensorboard.mystery"]),
        ):
            with self.subTest(content):
                self.assertEqual(self.left(self.run_of("ds.json", content, *CONFIG, "--world", 8)), keys)

    def test_groups_of_ranks(self):
        """MiCS: all shares in each group. hpZ: a second share of the parameters in each group. Both are written again."""
        all_shares = "        optimizer  -> {0}\n        gradients  -> {0}\n        parameters -> {0}\n"
        for key, shares in (("mics_shard_size", all_shares.format("dp") + "    }"), ("zero_hpz_partition_size", all_shares.format("node, dp") + "        secondary  -> dp\n    }")):
            with self.subTest(key):
                content = self.ds(zero_optimization={"stage": 3, key: 4})
                plan = self.plan_of("ds.json", content, *CONFIG, "--world", 8)
                self.assertIn("mesh node = 2, dp = 4\n", plan)
                self.assertIn(shares, plan)
                written = self.npar("simulate", "--from", "ds.json", *A100, *CONFIG, "--world", 8, "--as", "deepspeed").output
                self.assertIn(f'"{key}": 4', written)
                self.refused("ds.json", content, "groups of 4 do not divide the 6 data-parallel ranks", *CONFIG, "--world", 6, "--set", "batch=48")
        self.assertIn("mesh dp = 8\n", self.plan_of("ds.json", self.ds(zero_optimization={"stage": 3, "mics_shard_size": 8}), *CONFIG, "--world", 8))

    def test_when_gradients_are_reduced(self):
        """DeepSpeed reduces in buckets during the backward pass in ZeRO 2 and 3, and in ZeRO 1 with overlap_comm. A default written out changes nothing."""
        on, off, size = {"overlap_comm": True}, {"overlap_comm": False}, {"reduce_bucket_size": 5e8}
        for stage, more, bucket, says in (
            (0, {}, None, None), (0, on, None, None), (0, size, None, None),
            (1, {}, None, None), (1, off, None, None), (1, size, None, None), (1, on, 10**9, None), (1, {**on, "reduce_bucket_size": 1000}, 2000, None),
            (2, {}, 10**9, "assumed"), (2, size, 10**9, "assumed"), (2, off, 10**9, "not_taken"), (2, on, 10**9, None),
            (3, {}, 10**9, None), (3, {**on, **size}, 10**9, None), (3, off, 10**9, "not_taken"),
        ):
            with self.subTest((stage, more)):
                run = self.run_of("ds.json", self.ds(zero_optimization={"stage": stage, **more}), *CONFIG, "--world", 8)
                self.assertEqual(f"bucket {bucket} B" in run["plan"] if bucket else "bucket" not in run["plan"], True, run["plan"])
                self.assertEqual("# default of DeepSpeed" in run["plan"], bucket is not None and "reduce_bucket_size" not in more)
                for place in ("assumed", "not_taken"):
                    self.assertEqual(any("overlap_comm" in str(line) for line in run[place]), place == says, run[place])
        run = self.run_of("ds.json", {"train_micro_batch_size_per_gpu": 1, "pipeline": {"stages": 2}, "zero_optimization": {"stage": 1, **on}}, *CONFIG, "--world", 8)
        self.assertNotIn("bucket", run["plan"])

    def test_optimizers_that_npar_lacks_keep_their_numbers(self):
        for kind in ("Lion", "Lamb", "OneBitAdam", "OneBitLamb", "ZeroOneAdam"):
            run = self.run_of("ds.json", self.ds(optimizer={"type": kind, "params": {"lr": 3e-4, "betas": [0.9, 0.99], "weight_decay": 0.1}}), *CONFIG, "--world", 8)
            self.assertIn("AdamW(lr = 0.0003, betas = (0.9, 0.99), epsilon = 1e-08, decay = 0.1)", run["plan"])
            self.assertEqual(self.left(run), ["optimizer.type"])
            chosen = next(line for line in run["assumed"] if line.startswith("chosen by npar"))
            for name in ("optimizer", "lr", "beta1", "decay"):
                self.assertNotIn(f" {name},", chosen.replace(":", ","))
            self.assertIn("# npar's, in place of what the file states: optimizer\n", run["plan"])
            other = self.npar("simulate", "--from", "ds.json", *A100, *CONFIG, "--world", 8, "--as", "megatron")
            self.assertNotIn("--optimizer", other.output)
            self.assertIn("not written, because npar lacks what the file of the run states: optimizer", other.error)
        run = self.run_of("ds.json", self.ds(optimizer={"type": "Muon", "params": {"lr": 0.02}}), *CONFIG, "--world", 8)  # its defaults are not AdamW's
        self.assertIn("lr = 0.02", run["plan"])
        self.assertTrue(any("chosen by npar" in line and "decay" in line for line in run["assumed"]))

    def test_a_warm_up_that_the_file_states_is_not_npars_choice(self):
        for params in ({"warmup_num_steps": 10}, {"warmup_num_steps": 10, "warmup_type": "log"}, {}):
            run = self.run_of("ds.json", self.ds(optimizer={"type": "AdamW", "params": {"lr": 1e-4}}, scheduler={"type": "WarmupLR", "params": params}), *CONFIG, "--world", 8)
            self.assertIn(f"warmup = {params.get('warmup_num_steps', 1000)})", run["plan"])
            self.assertIn("chosen by npar, because the file does not state them: seed", run["assumed"])
            self.assertEqual(len(run["not_taken"]), 1)

    def test_types_of_gradients(self):
        bf16, f32, zero = {"bf16": {"enabled": True}}, {"bf16": {"enabled": False}}, {"zero_optimization": {"stage": 1}}
        for content, line, left in (
            ({**f32, "communication_data_type": "fp16"}, "compute f32\n", ["communication_data_type"]),
            ({**f32, "communication_data_type": "fp32"}, "compute f32\n", []),
            ({**bf16, "communication_data_type": "fp16"}, "compute bf16\n", ["communication_data_type"]),
            ({**bf16, "communication_data_type": "fp32"}, "compute bf16, reduce f32\n", ["communication_data_type"]),  # only the sums are f32
            ({**bf16, "communication_data_type": "bfp16"}, "compute bf16\n", []),
            ({**bf16, **zero, "data_types": {"grad_accum_dtype": "fp32"}}, "compute bf16, gradients f32, reduce bf16\n", []),
            ({**bf16, **zero, "data_types": {"grad_accum_dtype": "fp32"}, "communication_data_type": "fp32"}, "compute bf16, gradients f32\n", []),
            ({**bf16, "data_types": {"grad_accum_dtype": "fp16"}}, "compute bf16\n", ["data_types.grad_accum_dtype"]),
            ({**f32, "torch_autocast": {"enabled": True, "dtype": "bfloat16"}, "zero_optimization": {"stage": 1}}, "compute bf16, gradients f32, reduce bf16\n", []),
            ({**f32, "torch_autocast": {"enabled": True, "dtype": "bfloat16"}}, "compute bf16, gradients f32\n", []),
            ({**f32, "torch_autocast": {"enabled": True, "dtype": "bfloat16"}, "communication_data_type": "bf16"}, "compute bf16, gradients f32, reduce bf16\n", []),
            ({**f32, "torch_autocast": {"enabled": True}}, "compute f32\n", ["torch_autocast.enabled"]),
            ({**f32, "torch_autocast": {"enabled": False, "dtype": "bfloat16"}}, "compute f32\n", []),
        ):
            with self.subTest(content):
                run = self.run_of("ds.json", self.ds(**content), *CONFIG, "--world", 8)
                self.assertIn(line, run["plan"])
                self.assertEqual(self.left(run), left)

    def test_types_that_deepspeed_has_with_zero_alone(self):
        """Its sanity check of the optimizer refuses f32 gradients of a 16-bit model without ZeRO, which are written as those of an autocast."""
        self.refused("ds.json", self.ds(data_types={"grad_accum_dtype": "fp32"}), "DeepSpeed refuses f32 gradients under bf16 without ZeRO", *CONFIG, "--world", 8)
        for type in ("bf16", "fp16"):
            path = self.write("run.yaml", f"distributed_type: MULTI_GPU\nnum_processes: 8\nmixed_precision: {type}\n")
            text = self.npar("simulate", "--from", path, *A100, *CONFIG, "--as", "deepspeed").output
            self.assertNotIn("data_types", text)
            self.assertIn(f"compute {type}, gradients f32\n", self.plan_of("ds.json", text, *CONFIG, "--world", 8))
        run = self.run_of("ds.json", self.ds(pipeline={"stages": 2}), *CONFIG, "--world", 8)
        self.assertEqual((run["zero"], run["mesh"]["pp"]), (1, 2))
        self.assertTrue(any("BF16_Optimizer" in line for line in run["assumed"]))
        overlap = {"zero_optimization": {"stage": 1, "overlap_comm": True}}  # which the BF16_Optimizer does not do
        self.assertNotIn("bucket", self.plan_of("ds.json", self.ds(data_types={"grad_accum_dtype": "fp32"}, **overlap), *CONFIG, "--world", 8))

    def test_what_the_caller_decides_is_named_with_what_is_taken(self):
        content = self.ds(gradient_clipping="auto", optimizer={"type": "AdamW", "params": {"lr": "auto", "weight_decay": "auto"}},
                          zero_optimization={"stage": 3, "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto", "reduce_bucket_size": "auto"})
        run = self.run_of("ds.json", content, *CONFIG, "--world", 8)
        why = {one["setting"].split(":")[0].split(".")[-1]: one["why"] for one in run["not_taken"]}
        self.assertEqual(set(why), {"gradient_clipping", "lr", "weight_decay", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold", "reduce_bucket_size"})
        for key, value in (("gradient_clipping", "1 is taken"), ("lr", "0.001 is taken"), ("weight_decay", "0 is taken"), ("reduce_bucket_size", "500000000 is taken")):
            self.assertIn(value, why[key])

    def test_the_batch_counts_ranks_of_tensor_parallelism(self):
        """DeepSpeed's tutorial of automatic tensor parallelism: 8 devices compute 2 sequences, and call it a batch of 8."""
        for more in ({"train_batch_size": 8}, {"train_batch_size": 8, "gradient_accumulation_steps": 1}, {}):
            run = self.run_of("ds.json", {"train_micro_batch_size_per_gpu": 1, "tensor_parallel": {"autotp_size": 4}, **more}, *CONFIG, "--world", 8)
            self.assertEqual((run["mesh"]["tp"], run["mesh"]["dp"], run["micro"], run["micros"], run["batch"]), (4, 2, 1, 1, 2))
        self.refused("ds.json", {"train_batch_size": 12, "train_micro_batch_size_per_gpu": 1, "tensor_parallel": {"autotp_size": 4}}, "not divisible", *CONFIG, "--world", 8)
        found = json.loads(self.npar("inspect", "gpt2", "--set", "mesh.dp=2", "--set", "mesh.pp=1", "--set", "mesh.tp=2", "--set", "zero=1", "--as", "deepspeed").output)
        self.assertEqual(found["train_batch_size"], found["train_micro_batch_size_per_gpu"] * found["gradient_accumulation_steps"] * 4)

    def test_sections(self):
        groups = {"different_groups": {"wq1": {"params": {"start_bits": 8}, "modules": ["a"]}}}
        for content, keys in (
            ({"autotuning": {"enabled": True}}, ["autotuning.enabled"]),
            ({"autotuning": {"enabled": False, "fast": True}}, []),
            ({"compression_training": {"weight_quantization": {"shared_parameters": {"enabled": False, "x": 3}, **groups}, "layer_reduction": {"enabled": False, "keep": 2}}}, []),
            ({"compression_training": {"layer_reduction": {"enabled": True}}}, ["compression_training.layer_reduction.enabled"]),
            ({"zero_optimization": False}, []),
        ):
            with self.subTest(content):
                self.assertEqual(self.left(self.run_of("ds.json", self.ds(**content), *CONFIG, "--world", 8)), keys)
        self.assertEqual(self.run_of("ds.json", self.ds(zero_optimization=True), *CONFIG, "--world", 8)["zero"], 1)  # the form of old versions
        self.refused("ds.json", self.ds(pipeline={"stages": 2}, zero_optimization={"stage": 2}), "DeepSpeed refuses ZeRO 2 with 2 pipeline stages", *CONFIG, "--world", 8)

    def test_refused(self):
        for content, message in (
            (self.ds(fp16={"enabled": True}), "DeepSpeed refuses bf16 and fp16 together"),
            (self.ds(zero_optimization={"stage": 4}), "ZeRO has stages 0 to 3, not 4"),
            ('{"train_batch_size": 64, "zero_optimization": {"stage": 3, "reduce_bucket_size": 1e999}}', "number overflow"),
            (self.ds(zero_optimization={"stage": 1, "reduce_bucket_size": -1}), "no bucket has fewer than 0 elements"),
            (self.ds(sequence_parallel_size=0), "must be a whole number of at least 1"),
        ):
            with self.subTest(message):
                self.refused("ds.json", content, message, *CONFIG, "--world", 8)

    def test_the_sequence_over_heads(self):
        run = self.run_of("ds.json", {"train_micro_batch_size_per_gpu": 1, "sequence_parallel_size": 2, "zero_optimization": {"stage": 3}}, *CONFIG, "--world", 8)
        self.assertEqual((run["mesh"]["cp"], run["mesh"]["dp"], run["batch"]), (2, 4, 4))


class AccelerateCasesTest(CasesTest):
    def test_gradients_stay_f32_under_autocast(self):
        for kind in ("MULTI_GPU", "MULTI_XPU", "'NO'"):
            for type in ("bf16", "fp16"):
                run = self.run_of("run.yaml", f"distributed_type: {kind}\nmixed_precision: {type}\nnum_machines: 1\nnum_processes: 8\n", *CONFIG)
                self.assertEqual((run["compute"], run["gradients"]), (type, "f32"))

    def test_one_device(self):
        for text in ("distributed_type: 'NO'\n", "distributed_type: NO\n", "distributed_type: 'NO'\nnum_processes: 1\n", "distributed_type: no\n",
                     '{"distributed_type": "NO", "mixed_precision": "bf16"}\n', "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_machines: 1\n"):
            with self.subTest(text):
                self.assertEqual(self.run_of("run.yaml", text, *CONFIG)["mesh"]["dp"], 1)

    def test_a_file_of_deepspeed(self):
        text = "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n  zero3_init_flag: true\n"
        for content, expected in (
            ({"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}, (3, "bf16", 1, 1)),
            ({"zero_optimization": {"stage": 1}, "fp16": {"enabled": True}}, (1, "fp16", 1, 1)),
            ({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}, (2, "f32", 4, 2)),
            ({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}, (2, "f32", 1, 1)),
            ({"train_batch_size": 64}, (0, "f32", 8, 1)),
        ):
            with self.subTest(content):
                self.write("ds.json", content)
                run = self.run_of("run.yaml", text, *CONFIG)
                self.assertEqual((run["zero"], run["compute"], run["micro"], run["micros"]), expected)
        self.write("ds.json", {"zero_optimization": {"stage": 3, "mystery": 1}})
        self.assertEqual(self.left(self.run_of("run.yaml", text, *CONFIG)), ["deepspeed_config_file.zero_optimization.mystery"])
        self.refused("run.yaml", text.replace("ds.json", "other.json"), "'deepspeed_config.deepspeed_config_file' names a file that cannot be read", *CONFIG)

    def test_sections(self):
        for text, expected in (
            ("fsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", (2, [])),
            ("fsdp_config:\n  fsdp_sharding_strategy: full_shard\n  fsdp_offload_params: true\n", (3, ["fsdp_config.fsdp_offload_params"])),
            ("fsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n", (2, [])),
            ("fsdp_config:\n  fsdp_sharding_strategy: NO_SHARD\n", (0, [])),
            ("fsdp_config:\n  fsdp_mystery: 1\n", (3, ["fsdp_config.fsdp_mystery"])),
            ("deepspeed_config:\n  zero_stage: 3\n", (3, [])),  # of another kind of run
        ):
            with self.subTest(text):
                run = self.run_of("run.yaml", "distributed_type: FSDP\nnum_processes: 8\n" + text, *CONFIG)
                self.assertEqual((run["zero"], self.left(run)), expected)

    def test_gradients_are_reduced_in_buckets(self):
        """PyTorch's DistributedDataParallel has them by default; DeepSpeed too."""
        for text, line in (
            ("distributed_type: MULTI_GPU\nnum_processes: 8\n", "    bucket 26214400 B  # default of PyTorch\n"),
            ("distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: NO_SHARD\n", "    bucket 26214400 B  # npar's: FSDP reduces each block by itself\n"),
            ("distributed_type: FSDP\nnum_machines: 2\nnum_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\n", "    bucket 26214400 B  # npar's: FSDP reduces each block by itself\n"),
            ("distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\ndeepspeed_config:\n  zero_stage: 2\n", "    bucket 1000000000 B  # default of DeepSpeed\n"),
        ):
            with self.subTest(text):
                self.assertIn(line, self.plan_of("run.yaml", text, *CONFIG))
        for text in ("distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 1\n", "distributed_type: FSDP\nnum_processes: 8\n"):
            self.assertNotIn("bucket", self.plan_of("run.yaml", text, *CONFIG))

    def test_settings_of_fsdp(self):
        text = "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: {}\nfsdp_config:\n"
        for type in ("bf16", "fp16"):
            self.assertIn(f"compute {type}, gradients f32, reduce {type}\n", self.plan_of("run.yaml", text.format(type) + "  fsdp_version: 1\n", *CONFIG))
        self.assertEqual(self.left(self.run_of("run.yaml", text.format("bf16") + "  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n", *CONFIG)), ["fsdp_config.fsdp_auto_wrap_policy"])
        # The launcher adds the prefix where it is missing.
        run = self.run_of("run.yaml", text.format("bf16") + "  sharding_strategy: SHARD_GRAD_OP\n  activation_checkpointing: true\n  auto_wrap_policy: TRANSFORMER_BASED_WRAP\n", *CONFIG)
        self.assertEqual((run["zero"], run["recompute"], run["not_taken"]), (2, "block", []))

    def test_defaults_of_the_megatron_plugin(self):
        text = "distributed_type: MEGATRON_LM\nnum_processes: {}\nmegatron_lm_config:\n  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 2\n"
        run = self.run_of("run.yaml", text.format(8), *CONFIG)
        self.assertEqual((run["recompute"], run["mesh"]["cp"], run["mesh"]["dp"]), ("block", 2, 1))
        self.assertEqual(sum("default in Accelerate 1.15" in line for line in run["assumed"]), 2)
        self.assertEqual(self.run_of("run.yaml", text.format(4), *CONFIG)["mesh"]["cp"], 1)  # there are no 2 ranks for it
        given = "  megatron_lm_recompute_granularity: selective\n  megatron_lm_context_parallel_size: 1\n"
        run = self.run_of("run.yaml", text.format(8) + given, *CONFIG)
        self.assertEqual((run["recompute"], run["mesh"]["cp"], run["mesh"]["dp"]), ("none", 1, 2))

    def test_machines(self):
        """The launcher starts equally many processes on each; --hosts replaces the file's number, and the report names both."""
        text = "distributed_type: MULTI_GPU\nnum_machines: {}\nnum_processes: 8\n"
        one, two = (self.npar_json("simulate", "--from", self.write("run.yaml", text.format(count)), *A100, *CONFIG) for count in (1, 2))
        self.assertEqual((one["hosts"], two["hosts"], two["ranks"]), (1, 2, 8))
        self.assertGreater(two["seconds_per_step"], one["seconds_per_step"])
        self.assertIn("# The run has its ranks on 2 hosts, 4 on each.\n", two["from"]["plan"])
        found = self.npar_json("simulate", "--from", "run.yaml", *A100, *CONFIG, "--hosts", 2)
        self.assertEqual((found["ranks"], found["hosts"]), (16, 2))
        self.assertIn("the mesh has 16 devices, as --world or --hosts says, not the 8 of the file", found["from"]["assumed"])
        self.assertEqual(self.left(self.run_of("run.yaml", text.format(3), *CONFIG)), ["num_machines"])

    def test_sections_of_other_kinds_of_run(self):
        for text in (
            "distributed_type: 'NO'\ndeepspeed_config:\n  deepspeed_config_file: path/to/be/ignored\n",
            "distributed_type: MULTI_GPU\nnum_processes: 8\ndowncast_bf16: 'no'\nmixed_precision: 'no'\n",
            "distributed_type: MULTI_GPU\nnum_processes: 8\ndowncast_bf16: no\n",
        ):
            with self.subTest(text):
                self.assertEqual(self.left(self.run_of("run.yaml", text, *CONFIG)), [])

    def test_what_the_training_script_decides(self):
        for key in ("gradient_accumulation_steps", "gradient_clipping"):
            run = self.run_of("run.yaml", f"distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n  {key}: auto\n", *CONFIG)
            self.assertEqual(self.left(run), ["deepspeed_config." + key])
        text = "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
        for content, compute in (({"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}}, "bf16"), ({}, "bf16"), ({"bf16": {"enabled": False}}, "f32")):
            self.write("ds.json", {"train_batch_size": 64, "gradient_accumulation_steps": 2, **content})
            run = self.run_of("run.yaml", text, *CONFIG)
            self.assertEqual((run["compute"], run["micro"], run["not_taken"]), (compute, 4, []))
            self.assertFalse(any("one sequence" in line for line in run["assumed"]))
        self.write("ds.json", {"train_batch_size": 64, "fp16": {"enabled": True}})
        self.refused("run.yaml", text, "DeepSpeed refuses bf16 and fp16 together", *CONFIG)


if __name__ == "__main__":
    unittest.main()
