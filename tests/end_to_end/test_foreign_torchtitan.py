"""Runs of torchtitan: its models, optimizer, schedules and recomputation, what is not taken, and its own plans written back."""

import re
import unittest

from driver import ROOT, settings
from test_foreign_cases import A100, CONFIG, LLAMA3, CasesTest


MIXTRAL = {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "vocab_size": 512, "max_position_embeddings": 64, "hidden_size": 64, "intermediate_size": 64,
           "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "num_local_experts": 8, "num_experts_per_tok": 2, "tie_word_embeddings": False,
           "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "hidden_act": "silu", "sliding_window": None}  # fmt: skip
DEBUG = LLAMA3.replace("8B", "debugmodel")  # is simulated in a tenth of a second


class TorchtitanCasesTest(CasesTest):
    H100 = ("--machine", "dgx-h100", "--hosts", 8)

    def plan(self, more):
        return self.npar("simulate", "--from", self.write("run.toml", LLAMA3 + more), *self.H100, "--print-plan").output

    def test_optimizer_and_rates(self):
        for more, line in (
            ('[optimizer]\nlr = 3e-4\nbeta2 = 0.99\nweight_decay = 0.05\n[lr_scheduler]\nwarmup_steps = 777\n',
             "AdamW(lr = linear(peak = 0.0003, warmup = 777, steps = 10000, final = 0), betas = (0.9, 0.99), epsilon = 1e-08, decay = 0.05)"),
            ('[optimizer]\nname = "Adam"\n', "optimizer Adam(lr = "),
            ("max_norm = 0.5\n", "    clip 0.5\n"),
            ("steps = 100\n", "constant(peak = 0.0008, warmup = 100)"),  # the warm-up is no longer than the run
            ('[lr_scheduler]\ndecay_type = "cosine"\nmin_lr_factor = 0.1\n', "cosine(peak = 0.0008, warmup = 200, steps = 10000, final = 8e-05)"),
            ("[lr_scheduler]\ndecay_ratio = 0.0\n", "constant(peak = 0.0008, warmup = 200)"),
            ("[debug]\nseed = 42\n", "    seed 42\n"),
        ):
            with self.subTest(more):
                self.assertIn(line, self.plan(more))

    def test_what_is_not_taken(self):
        for more, keys in (
            ("[float8]\nenable_float8_linear = true\nenable_fsdp_float8_all_gather = true\n", ["float8.enable_float8_linear", "float8.enable_fsdp_float8_all_gather"]),
            ('[quantize.linear.float8]\nrecipe_name = "rowwise"\n', ["quantize.linear.float8.recipe_name"]),
            ("[compile]\nenable = true\n", ["compile.enable"]),
            ("[training.dataloader]\nnum_workers = 2\n", []),
            ('[checkpoint]\nenable = true\n[profiling]\nenable_profiling = true\n', []),
            ('[optimizer]\nimplementation = "foreach"\n', ["optimizer.implementation"]),
            ('[experimental]\ncustom_import = "mine"\n', ["experimental.custom_import"]),
            ("[parallelism]\nmystery = 1\n", ["parallelism.mystery"]),
            ("[debug]\ndeterministic = true\n[memory_estimation]\nenable = true\n", ["debug.deterministic", "memory_estimation.enable"]),
            ("[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'op'\n", ["activation_checkpoint.selective_ac_option"]),
        ):
            with self.subTest(more):
                text = DEBUG.replace("[model]", '[model]\nconverters = ["quantize.linear.float8"]') if "quantize" in more else DEBUG
                run = self.npar_json("simulate", "--from", self.write("run.toml", text + more), *self.H100)["from"]
                self.assertEqual([one["setting"].split()[0] for one in run["not_taken"]], ["model.converters"] * ("quantize" in more) + keys)

    def test_what_is_off_is_not_named(self):
        for more in ('[compile]\nenable = false\ncomponents = ["model", "loss"]\n', '[compile]\ncomponents = ["loss"]\n',
                     '[quantize.linear.float8]\nfilter_fqns = ["output"]\nenable_fsdp_float8_all_gather = true\n[quantize.grouped_mm.mx]\nfqns = ["experts"]\n',
                     "[validation]\nenable = false\nall_timesteps = true\n", "[fault_tolerance]\nenable = false\nsync_steps = 10\n",
                     '[activation_checkpoint]\nmode = "full"\nmemory_budget = 0.3\n'):
            with self.subTest(more):
                run = self.npar_json("simulate", "--from", self.write("run.toml", DEBUG + more), *self.H100)["from"]
                self.assertEqual(run["not_taken"], [])

    def test_experts(self):
        """`expert_parallel_degree` of ranks share experts: some of dp, all of cp, and all of tp unless experts are split over it (ParallelDims of torchtitan)."""
        config = ("--model-config", self.write("config.json", MIXTRAL), "--world")

        def text(cp=1, tp=1, more="", **degrees):
            lines = [f"{name}_parallel_degree = {value}\n" for name, value in {"context": cp, "tensor": tp, **degrees}.items()]
            return f'[training]\nlocal_batch_size = 2\nseq_len = 64\n[activation_checkpoint]\nmode = "none"\n[parallelism]\n{"".join(lines)}{more}'

        # 8 ranks have their own samples, and 2 or 4 of them share the 8 experts. The written file gives the same plan.
        for tp, ep, world in ((1, 4, 8), (2, 4, 16), (1, 8, 8), (1, 1, 8)):
            with self.subTest(tp=tp, ep=ep):
                run = text(tp=tp, expert=ep, more=f"expert_tensor_parallel_degree = {tp}\n")
                plan = self.plan_of("run.toml", run, *config, world)
                dp = 8 // ep
                sizes = ", ".join(f"{name} = {size}" for name, size in (("dp", dp), ("ep", ep), ("tp", tp)) if size > 1)
                self.assertIn(f"mesh {sizes}\n", plan)
                self.assertEqual(bool(re.search("expert +-> ep in op grouped", plan)), ep > 1)
                self.assertRegex(plan, "batch +-> " + ", ".join(name for name, size in (("dp", dp), ("ep", ep)) if size > 1) + "\n")
                written = self.npar("simulate", "--from", self.write("run.toml", run), *self.H100, *config, world, "--as", "torchtitan").output
                self.assertEqual(f"expert_parallel_degree = {ep}\nexpert_tensor_parallel_degree = {tp}\n" in written, ep > 1, written)
                self.assertIn("data_parallel_shard_degree = 8\n", written)
                again = self.plan_of("run.toml", written, *config, world)
                self.assertEqual(*(one[one.index("\nplan ") :] for one in (plan, again)))
        # 4 ranks have their own samples, and share each sequence with another one: all of these share experts.
        for ep, own in ((8, 4), (4, 2), (2, 1)):
            with self.subTest(cp=2, ep=ep):
                run = text(cp=2, expert=ep)
                plan = self.plan_of("run.toml", run, *config, 8)
                sizes = ", ".join(f"{name} = {size}" for name, size in (("dp", 4 // own), ("ep", own), ("cp", 2)) if size > 1)
                self.assertIn(f"mesh {sizes}\n", plan)
                self.assertRegex(plan, f"expert +-> {'ep, cp' if own > 1 else 'cp'} in op grouped")
                self.assertRegex(plan, r"seq +-> cp by gather\n")
                report = self.npar("simulate", "--from", self.write("run.toml", run), "--machine", "dgx-h100", "--hosts", 1, *config, 8).output
                self.assertIn(f"ep {ep} of these and of cp, cp 2", report)
                self.assertEqual(self.run_of("run.toml", run, *config, 8)["mesh"]["ep"], ep)
                written = self.npar("simulate", "--from", self.write("run.toml", run), *self.H100, *config, 8, "--as", "torchtitan").output
                self.assertIn(f"expert_parallel_degree = {ep}\nexpert_tensor_parallel_degree = 1\n", written)
                again = self.plan_of("run.toml", written, *config, 8)
                self.assertEqual(*(one[one.index("\nplan ") :] for one in (plan, again)))
        for degrees, world, message in (
            ({"expert": 3}, 8, "ep 3 does not divide the 8 data-parallel ranks"),
            ({"expert": 16}, 8, "ep 16 does not divide the 8 data-parallel ranks"),
            ({"expert": 16}, 16, "axis 'expert' of size 8 is not divisible by mesh axis 'ep' of size 16"),
            ({"expert": 3, "cp": 2}, 8, "torchtitan's ranks that share experts include all 2 of context parallelism, so 3 must be a multiple of 2"),
            ({"expert": 6, "cp": 2}, 8, "ep 6 does not divide the 8 ranks of data and context parallelism"),
            ({"expert": 4, "tp": 2}, 8, "npar's plan of this run splits experts like other layers, over tp 2, and 'expert_tensor_parallel_degree' is 1"),
            ({"expert": 4, "more": "expert_tensor_parallel_degree = 2\n"}, 8, "over tp 1, and 'expert_tensor_parallel_degree' is 2"),
        ):
            with self.subTest(message):
                self.refused("run.toml", text(**degrees), message, *config, world)
        run = self.run_of("run.toml", DEBUG + "[parallelism]\nexpert_parallel_degree = 2\n", "--world", 8)  # torchtitan: no effect without experts
        self.assertEqual(self.left(run), ["parallelism.expert_parallel_degree"])

    def test_plans_with_experts_are_written(self):
        sizes = settings({"vocab": 512, "context": 64, "width": 64, "mlp": 64, "heads": 4, "kv_heads": 2, "depth": 2, "batch": 16})
        path = self.write("plans.npar", (ROOT / "stdlib" / "models" / "mixtral.npar").read_text() + """
plan tensors for Mixtral {
    mesh dp = 2, ep = 4, tp = 2
    micro 1
    split {
        expert -> ep in op grouped
        batch  -> dp, ep
        head, hidden, vocab -> tp
        seq    -> tp
    }
    store { optimizer, gradients, parameters -> dp, ep }
    compute bf16, gradients f32, reduce f32
}
plan context for Mixtral {
    mesh dp = 2, ep = 2, cp = 2
    micro 1
    split {
        expert -> ep in op grouped
        batch  -> dp, ep
        seq    -> cp by gather
    }
    store { optimizer, gradients, parameters -> dp, ep, cp }
    compute bf16, gradients f32, reduce f32
}
""")
        text = self.npar("inspect", path, "--plan", "tensors", *sizes, "--as", "torchtitan").output
        for line in ("data_parallel_shard_degree = 8", "expert_parallel_degree = 4", "expert_tensor_parallel_degree = 2", "tensor_parallel_degree = 2"):
            self.assertIn(line + "\n", text)
        error = self.npar("inspect", path, "--plan", "context", *sizes, "--as", "torchtitan", code=1).error
        self.assertIn("torchtitan's ranks that share experts include all ranks of context parallelism", error)
        self.assertIn("add their mesh axis to the rule of the experts, behind the others", error)
        text = path.read_text()
        self.write("plans.npar", text[: text.index("plan context")] + text[text.index("plan context") :].replace("expert -> ep", "expert -> ep, cp"))
        written = self.npar("inspect", path, "--plan", "context", *sizes, "--as", "torchtitan").output
        for line in ("data_parallel_shard_degree = 4", "expert_parallel_degree = 4", "context_parallel_degree = 2"):
            self.assertIn(line + "\n", written)
        swapped = self.write("swapped.npar", path.read_text().replace("expert -> ep, cp", "expert -> cp, ep"))
        error = self.npar("inspect", swapped, "--plan", "context", *sizes, "--as", "torchtitan", code=1).error
        self.assertIn("help: write `expert -> ep, cp in op grouped`", error)
        self.assertIn("Megatron-LM splits experts over one mesh axis", self.npar("inspect", path, "--plan", "context", *sizes, "--as", "megatron", code=1).error)

    def test_models(self):
        """The flavors of llama3 have the scaled rotary positions of Llama 3.1, those of qwen3 have plain ones and no pipeline."""
        scaled = ', rope_factor = 8.0, rope_low = 1.0, rope_high = 4.0, rope = "llama3", rope_original = 8192)'
        for name, flavor, line in (
            ("llama3", "8B", "Llama(vocab = 128256, context = 2048, length = 2048, width = 4096, heads = 32, depth = 32, mlp = 14336, kv_heads = 8, head_dim = 128, "
                             "theta = 500000.0, tied = false" + scaled),
            ("llama3", "debugmodel", "Llama(vocab = 2048, context = 2048, length = 2048, width = 256, heads = 16, depth = 6, mlp = 768, kv_heads = 16, head_dim = 16, "
                                     "theta = 500000.0, tied = false" + scaled),
            ("qwen3", "0.6B", "Qwen3(vocab = 151936, context = 2048, length = 2048, width = 1024, heads = 16, depth = 28, mlp = 3072, kv_heads = 8, head_dim = 128, "
                              "theta = 1000000.0, tied = true)"),
            ("qwen3", "32B", "Qwen3(vocab = 151936, context = 2048, length = 2048, width = 5120, heads = 64, depth = 64, mlp = 25600, kv_heads = 8, head_dim = 128, "
                             "theta = 1000000.0, tied = false)"),
        ):
            with self.subTest((name, flavor)):
                text = f'[model]\nname = "{name}"\nflavor = "{flavor}"\n[activation_checkpoint]\nmode = "none"\n'
                plan = self.plan_of("run.toml", text, "--world", 8)
                self.assertIn(line, plan)
                path = self.write("made.npar", plan)  # by its sizes, not by what the file says
                self.assertIn(f'name = "{name}"\nflavor = "{flavor}"\n', self.npar("inspect", path, "--config", "torchtitan", "--as", "torchtitan").output)
        self.refused("run.toml", '[model]\nname = "qwen3"\nflavor = "8B"\n[parallelism]\npipeline_parallel_degree = 2\n', "torchtitan does not split qwen3 into stages", "--world", 8)
        self.refused("run.toml", '[model]\nname = "llama4"\nflavor = "17bx16e"\n', "of torchtitan's models npar knows llama3 debugmodel, 8B, 70B, 405B and qwen3", "--world", 8)

    def test_positions_that_no_flavor_has(self):
        flags = ("--set", "sequence=true", "--set", "zero=3", "--as", "torchtitan")
        self.assertIn('flavor = "8B"\n', self.npar("inspect", "llama", "--config", "Llama-3.1-8B", *flags).output)
        plain = self.npar("inspect", "llama", "--config", "Llama-3-8B", *flags)
        self.assertNotIn("[model]", plain.output)
        self.assertIn("[model] is left out", plain.error)
        self.assertIn("torchtitan's llama3 has the scaled rotary positions of Llama 3.1", plain.error)

    def test_replicas_reduce_in_buckets(self):
        mesh = "[parallelism]\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = "
        for shard, world, line in ((1, 2, "    bucket 104857600 B  # default of torchtitan\n"), (4, 8, "    bucket 26214400 B  # npar's: FSDP reduces each block by itself\n")):
            self.assertIn(line, self.plan_of("run.toml", f"{LLAMA3}{mesh}{shard}\n", "--world", world))
        self.assertNotIn("bucket", self.plan_of("run.toml", LLAMA3, "--world", 8))
        self.refused("run.toml", f"{LLAMA3}{mesh}1\ntensor_parallel_degree = 2\n", "run.toml:8:1: error: torchtitan's replicas without shares have no tensor", "--world", 4)

    def test_another_model(self):
        run = self.run_of("run.toml", '[model]\nname = "flux"\nflavor = "flux-dev"\n[training]\nseq_len = 64\n', *CONFIG, "--world", 8)
        self.assertIn("the model is that of --model-config, whatever 'flux flux-dev' of the file is", run["assumed"])

    def test_sequences_longer_than_the_positions(self):
        text = LLAMA3.replace("8192", "4096")
        error = self.npar("simulate", "--from", self.write("run.toml", text), *A100, *CONFIG, "--world", 8, code=1).error
        self.assertIn("run.toml:6:1: error: sequences of 4096 tokens are longer than the", error)
        self.assertIn("--set context=4096", error)
        self.assertEqual(self.run_of("run.toml", text, *CONFIG, "--world", 8, "--set", "context=4096")["batch"], 64)

    def test_the_own_plan_comes_back(self):
        """Also what is torchtitan's default, and an option that is a word of digits."""
        for more, world, lines in (
            ("", 8, []),
            ("[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = '2'\n", 8, ['mode = "selective"', 'selective_ac_option = "2"']),
            ("[activation_checkpoint]\nmode = 'none'\n", 8, ['mode = "none"']),
            ("[parallelism]\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 1\ncontext_parallel_degree = 2\n", 4,
             ["data_parallel_replicate_degree = 2", "data_parallel_shard_degree = 1"]),
            ("[fault_tolerance]\nenable = true\nsync_steps = 10\n", 8, ["sync_steps = 10"]),
        ):
            with self.subTest(more):
                path = self.write("run.toml", LLAMA3 + more)
                text = self.npar("simulate", "--from", path, *A100, "--world", world, "--as", "torchtitan").output
                for line in lines:
                    self.assertIn(line + "\n", text)
                self.assertEqual("[activation_checkpoint]" in text, "activation" in more)
                before, after = (self.plan_of("run.toml", one, "--world", world) for one in (LLAMA3 + more, text))
                for block in ("config ", "plan "):
                    self.assertEqual(*(one[one.index("\n" + block) :].split("\n\n")[0] for one in (before, after)))

    def test_blocks_that_are_recomputed(self):
        """The last of every k blocks of each rank."""
        for more, line in (
            ("[activation_checkpoint]\nselective_ac_option = '2'\n", 'recompute ["model.layers.1.*", "model.layers.3.*", "model.layers.5.*"'),
            ("[activation_checkpoint]\nselective_ac_option = '3'\n", 'recompute ["model.layers.2.*", "model.layers.5.*", "model.layers.8.*"'),
            ("[activation_checkpoint]\nselective_ac_option = '1'\n", "recompute block\n"),
            ("[activation_checkpoint]\nmode = 'full'\n", "recompute block\n"),
            ("[activation_checkpoint]\nselective_ac_option = 'op'\n", 'recompute ["model.layers.*.mlp"]\n'),
        ):
            with self.subTest(more):
                self.assertIn(line, self.plan(more))
        self.assertNotIn("recompute", self.plan("[activation_checkpoint]\nmode = 'none'\n"))

    def test_schedules(self):
        pp = '[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = "%s"\n'
        for name, line in (("1f1b", "by 1f1b"), ("GPIPE", "by gpipe"), ("interleaved1F1B", "by interleaved(2)"), ("ZBVZeroBubble", "by zb_v"), ("dualpipev", "by dualpipe_v")):
            with self.subTest(name):
                self.assertIn("-> pp " + line, self.plan(pp % name))

    def test_schedule_of_a_file(self):
        csv = self.npar("schedule", "--kind", "1f1b", "--stages", 2, "--microbatches", 8, "--format", "csv").output
        (self.folder / "mine.csv").write_text(csv)
        more = ('[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = "PipelineScheduleMulti"\npipeline_parallel_schedule_csv = "%s"\n'
                "[activation_checkpoint]\nmode = 'none'\n")
        self.assertIn(f'-> pp by "{self.folder.resolve()}/mine.csv"', self.plan(more % "mine.csv"))
        written = self.npar("simulate", "--from", self.write("run.toml", LLAMA3 + more % "mine.csv"), *self.H100, "--as", "torchtitan").output
        self.assertIn('pipeline_parallel_schedule_csv = "mine.csv"\n', written)
        self.npar("simulate", "--from", self.write("run.toml", LLAMA3 + more % "x.csv"), *self.H100, code=1)


if __name__ == "__main__":
    unittest.main()
