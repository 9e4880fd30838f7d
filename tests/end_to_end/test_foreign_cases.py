"""Runs of other programs that npar once read wrongly, several of each kind: what the file says is in the answer, or the file is refused by name."""

import json
import pathlib
import unittest

from driver import DriverTest

FILES = pathlib.Path(__file__).resolve().parent / "foreign"
CONFIG = ("--model-config", FILES / "small.json")
A100 = ("--machine", "dgx-a100")
GPT = ("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 128 --num-attention-heads 8 --seq-length 64 --max-position-embeddings 64 "
       "--vocab-size 512 --micro-batch-size 2 --global-batch-size 32 --bf16 --hidden-dropout 0 --attention-dropout 0 ")
LLAMA3 = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n'


class CasesTest(DriverTest):
    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def run_of(self, name, content, *flags):
        return self.npar_json("simulate", "--from", self.write(name, content), *A100, *flags)["from"]

    def plan_of(self, name, content, *flags):
        return self.npar("simulate", "--from", self.write(name, content), *A100, *flags, "--print-plan").output

    def refused(self, name, content, message, *flags):
        error = self.npar("simulate", "--from", self.write(name, content), *A100, *flags, code=1).error
        self.assertIn(message, error)

    def left(self, run):
        return [one["setting"].replace(":", " ").split()[0] for one in run["not_taken"]]


class MegatronCasesTest(CasesTest):
    def plan(self, more):
        return self.plan_of("run.sh", GPT + more)

    def test_optimizer_and_rates(self):
        for more, line in (
            ("--lr 6e-4 --min-lr 6e-5 --lr-decay-style cosine --lr-warmup-iters 2000 --lr-decay-iters 300000 --weight-decay 0.1 --adam-beta2 0.95 --clip-grad 0.5 --seed 99",
             "optimizer AdamW(lr = cosine(peak = 0.0006, warmup = 2000, steps = 300000, final = 6e-05), betas = (0.9, 0.95), epsilon = 1e-08, decay = 0.1)"),
            ("--lr 1e-4 --lr-decay-style constant --adam-beta1 0.8", "lr = 0.0001, betas = (0.8, 0.999)"),
            ("--lr 1e-4 --train-iters 500 --lr-warmup-fraction 0.1", "linear(peak = 0.0001, warmup = 50, steps = 500, final = 0)"),
            ("--lr 1e-4 --train-samples 3200 --lr-warmup-samples 320", "linear(peak = 0.0001, warmup = 10, steps = 100, final = 0)"),
            ("--lr 1e-4 --lr-decay-iters 100 --train-iters 500 --min-lr 1e-6", "linear(peak = 0.0001, warmup = 0, steps = 100, final = 1e-06)"),
            ("--optimizer sgd --sgd-momentum 0 --lr 0.1", "momentum = 0, decay"),
            ("--optimizer sgd --lr 0.1", "momentum = 0.9, decay"),
            ("--lr 1e-4 --clip-grad 0.5", "    clip 0.5\n"),
            ("--lr 1e-4 --seed 99", "    seed 99\n"),
        ):
            with self.subTest(more):
                self.assertIn(line, self.plan(more))
        self.assertNotIn("clip", self.plan("--clip-grad 0"))
        self.assertEqual(self.left(self.run_of("run.sh", GPT + "--lr 1e-4 --lr-decay-style WSD --train-iters 10")), ["--lr-decay-style"])

    def test_models(self):
        llama = "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
        for more, model, constants in (
            ("", "Gpt2", "inner = 512"),
            (llama + "--rotary-base 1000000 --norm-epsilon 1e-6", "Llama", "epsilon = 1e-06, kv_heads = 8, head_dim = 16, theta = 1000000"),
            ("--group-query-attention --num-query-groups 4 --untie-embeddings-and-output-weights", "Decoder", "kv_heads = 4, head_dim = 16, tied = false"),
            ("--position-embedding-type rope", "Decoder", 'positions = "rotary", activation = "gelu", gated = false, biased = true'),
            (llama + "--qk-layernorm", "Decoder", 'norm = "rms_norm", positions = "rotary", activation = "silu", gated = true, biased = false, qkv_biased = false, normed = "head"'),
            (llama + "--add-qkv-bias", "Decoder", "biased = false, qkv_biased = true"),
            (llama + "--attention-dropout 0.2", "Decoder", "dropout = 0, probability_dropout = 0.2"),
            ("--squared-relu", "Decoder", 'activation = "squared_relu"'),
            ("--position-embedding-type none", "Decoder", 'positions = "absent"'),
            ("--swiglu --normalization rmsnorm --num-key-value-heads 4", "Decoder", "kv_heads = 4"),
        ):
            with self.subTest(more):
                plan = self.plan(more)
                self.assertIn(f"for {model}(", plan)
                self.assertIn(constants, plan)
                self.assertEqual(self.run_of("run.sh", GPT + more)["differences"], [])

    def test_scaled_positions(self):
        """Those of Llama 3.1, with low 1, high 4 and 8,192 positions; another model has none. A factor of 1 scales nothing."""
        llama = GPT + "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --rotary-base 500000 "
        for more, constants in (("--use-rope-scaling", "rope_factor = 8, "), ("--use-rope-scaling --rope-scaling-factor 32", "rope_factor = 32, ")):
            plan = self.plan_of("run.sh", llama + more)
            self.assertIn('rope = "llama3", ' + constants + "rope_low = 1, rope_high = 4, rope_original = 8192)", plan)
        path = self.write("made.npar", plan)
        flags = self.npar("inspect", path, "--config", "megatron", "--as", "megatron").output
        self.assertIn("--rotary-base 500000\n--use-rope-scaling\n--rope-scaling-factor 32\n", flags)
        rope = GPT + "--position-embedding-type rope "
        self.assertEqual(len(self.run_of("run.sh", rope + "--use-rope-scaling")["differences"]), 1)
        for more in ("--rope-scaling-factor 4", "--rotary-seq-len-interpolation-factor 1"):
            self.assertEqual(self.run_of("run.sh", rope + more)["differences"], [])

    def test_a_model_that_is_only_near_is_named_first_and_not_written_elsewhere(self):
        for more in ("--window-size 128,0", "--multi-latent-attention", "--mtp-num-layers 1", "--position-embedding-type yarn", "--rotary-percent 0.5 --position-embedding-type rope",
                     "--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec"):
            with self.subTest(more):
                path = self.write("run.sh", GPT + "--lr 1e-4 --overlap-grad-reduce " + more)
                output = self.npar("simulate", "--from", path, *A100).output
                self.assertIn("  npar has no such model, only a near one\n    line 1, " + more.split()[0], output)
                same = self.npar("simulate", "--from", path, *A100, "--as", "megatron").output
                self.assertIn(more.split()[0], same)
                other = self.npar("simulate", "--from", path, *A100, "--as", "deepspeed")
                self.assertNotIn("hidden", other.output)

    def test_schedules_and_recomputation(self):
        pp = "--pipeline-model-parallel-size 2 "
        for more, expected in (
            (pp + "--enable-zbh1-pipeline", ("zb_h1", 1, "none")),
            (pp + "--enable-zero-bubble --zero-bubble-v-schedule", ("zb_v", 2, "none")),
            (pp + "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half", ("v_half", 2, "none")),
            (pp + "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup min", ("v_min", 2, "none")),
            (pp + "--num-virtual-stages-per-pipeline-rank 2", ("interleaved", 2, "none")),
            (pp + "--activations-checkpoint-method uniform", ("1f1b", 1, "block")),
            (pp + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2", ("1f1b", 1, "every 2")),
            ("--checkpoint-activations", (None, 1, "block")),
        ):
            with self.subTest(more):
                run = self.run_of("run.sh", GPT + more)
                self.assertEqual((run["schedule"], run["chunks"], run["recompute"]), expected)

    def test_the_sequence_over_heads(self):
        for more in ("--ds-sequence-parallel-size 2", "--context-parallel-size 2 --cp-comm-type a2a"):
            with self.subTest(more):
                plan = self.plan(more)
                self.assertIn("head in op attention", plan.replace("head                    -> cp in op attention", "head in op attention"))
                self.assertEqual(self.run_of("run.sh", GPT + more)["mesh"]["cp"], 2)

    def test_flags_of_another_script(self):
        for script in ("pretrain_t5.py", "examples/t5/pretrain_t5.py"):
            self.refused("run.sh", GPT.replace("pretrain_gpt.py", script), "npar does not read a T5")
        self.refused("run.sh", GPT + "--encoder-num-layers 12 --decoder-num-layers 12", "npar does not read a T5")
        self.assertIn("pretrain_bert.py", self.left(self.run_of("run.sh", GPT.replace("pretrain_gpt.py", "pretrain_bert.py"))))

    def test_functional_test(self):
        """The YAML of Megatron-LM's own functional tests."""
        text = ("ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nTEST_TYPE: regular\nMODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n  --num-attention-heads: 8\n"
                "  --seq-length: 1024\n  --max-position-embeddings: 1024\n  --vocab-size: 50304\n  --micro-batch-size: 4\n  --global-batch-size: 32\n  --bf16: true\n"
                "  --swiglu: false\n  --lr: 0.00015\n  --tensor-model-parallel-size: 2\n  --log-interval: 1\n")
        for name in ("model_config.yaml", "test"):
            run = self.run_of(name, text, "--world", 8)
            self.assertEqual((run["program"], run["mesh"]["tp"], run["mesh"]["dp"], run["model"]["depth"]), ("Megatron-LM", 2, 4, "12"))
            self.assertEqual(run["not_taken"], [])


class TranslationTest(CasesTest):
    """`npar simulate --from FILE --as PROGRAM`: to another program."""

    def translated(self, name, content, program, *flags):
        return self.npar("simulate", "--from", self.write(name, content), *A100, *flags, "--as", program)

    def test_values_that_no_file_states_are_not_written(self):
        training = ("--lr", "--adam-beta", "--weight-decay", "--seed", "--clip-grad", "--optimizer")
        for name, content, left in (
            ("run.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\nmixed_precision: bf16\n", training),
            ("ds.json", {"train_batch_size": 64, "bf16": {"enabled": True}}, ("--lr", "--adam-beta", "--weight-decay", "--seed", "--optimizer")),
            ("ds.json", {"train_batch_size": 64, "optimizer": {"type": "AdamW", "params": {"lr": 3e-5}}}, ("--seed", "--lr-decay")),
        ):
            with self.subTest(content):
                result = self.translated(name, content, "megatron", *CONFIG, *(("--world", 8) if name == "ds.json" else ()))
                for flag in left:
                    self.assertNotIn(flag, result.output)
                self.assertIn("not written, because the file of the run does not state them", result.error)
                self.assertIn("--num-layers 4\n", result.output)
        # The first program's own defaults are written for another program.
        self.assertIn("--clip-grad 1\n", self.translated("ds.json", {"train_batch_size": 64}, "megatron", *CONFIG, "--world", 8).output)
        found = json.loads(self.translated("run.sh", GPT + "--lr 1e-4 --train-iters 10", "deepspeed").output)
        self.assertEqual(found["optimizer"]["params"], {"lr": 1e-4, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01})
        self.assertEqual(found["gradient_clipping"], 1)

    def test_values_arrive(self):
        text = LLAMA3 + 'max_norm = 0.5\nsteps = 1000\n[optimizer]\nlr = 3e-4\nbeta2 = 0.99\n[activation_checkpoint]\nmode = "full"\n'
        flags = self.translated("run.toml", text, "megatron", "--world", 8).output
        for line in ("--lr 0.0003", "--adam-beta2 0.99", "--clip-grad 0.5", "--lr-decay-iters 1000", "--lr-warmup-iters 200", "--rotary-base 500000", "--use-rope-scaling", "--rope-scaling-factor 8",
                     "--num-query-groups 8",
                     "--recompute-granularity full", "--use-megatron-fsdp", "--adam-beta1 0.9", "--weight-decay 0.1"):
            self.assertIn(line + "\n", flags)
        self.assertNotIn("--seed", flags)  # torchtitan's is none

    def test_overlap_and_recomputation_of_the_own_plan(self):
        plain = self.translated("run.sh", GPT + "--use-distributed-optimizer", "megatron").output
        self.assertNotIn("overlap", plain)
        self.assertIn("--overlap-grad-reduce\n", self.translated("run.sh", GPT + "--overlap-grad-reduce", "megatron").output)
        flags = "--recompute-granularity full --recompute-method block --recompute-num-layers 2"
        found = self.translated("run.sh", GPT + flags, "megatron").output
        for line in ("--recompute-granularity full", "--recompute-method block", "--recompute-num-layers 2"):
            self.assertEqual(found.count(line + "\n"), 1)
        # A changed plan is no longer the file's, so npar writes the flags that its own plan needs.
        changed = self.translated("run.sh", GPT + "--use-distributed-optimizer --overlap-grad-reduce", "megatron", "--set", "micro=1").output
        self.assertIn("--overlap-grad-reduce\n--overlap-param-gather\n--ddp-bucket-size 40000000\n", changed)
        self.assertNotIn("overlap", self.translated("run.sh", GPT + "--use-distributed-optimizer", "megatron", "--set", "micro=1").output)

    def test_the_printed_plan_has_the_report(self):
        """Comments at its head, in ASCII, have what was assumed and left out; messages of --as name the file, not npar's own text of it."""
        path = self.write("run.sh", GPT + "--lr 1e-4 --frobnicate \u00e4\u00f6 --window-size 128,0 --context-parallel-size 2")
        plan = self.npar("simulate", "--from", path, *A100, "--print-plan").output
        head = plan[:plan.index("import ")]
        self.assertTrue(all(line.startswith("#") for line in head.splitlines()))
        for line in ("# npar has no such model, only a near one\n#   line 1, --window-size", "# assumed\n#   ", "# not taken\n#   line 1     --frobnicate ????: npar does not know this setting\n"):
            self.assertIn(line, head)
        error = self.translated("run.yaml", "distributed_type: MULTI_GPU\nnum_processes: 8\n", "deepspeed", *CONFIG).error
        self.assertIn(f"the plan of '{self.folder}/run.yaml':", error)
        self.assertNotIn("npar-from", error)

    def test_flags_that_do_not_go_together(self):
        self.npar("simulate", "gpt2", "--as", "megatron", code=2)
        self.npar("simulate", "--from", self.write("run.sh", GPT), "--as", "megatron", "--json", code=2)
        self.npar("simulate", "--from", self.write("run.sh", GPT), "--as", "megatron", "--print-plan", code=2)


class OtherProgramsTest(CasesTest):
    def test_refused_by_name(self):
        for program, texts in {
            "NeMo": ("name: megatron_gpt\ntrainer:\n  devices: 8\n  num_nodes: 2\nmodel:\n  micro_batch_size: 4\n  global_batch_size: 64\n  tensor_model_parallel_size: 2\n",
                     "exp_manager:\n  exp_dir: x\ntrainer:\n  devices: 8\n"),
            "GPT-NeoX": ('{\n  "pipe-parallel-size": 2,\n  "num-layers": 12,\n  "train_micro_batch_size_per_gpu": 4,\n  "zero_optimization": { "stage": 1 }\n}\n',
                         '# GPT-2\n{\n  # parallelism\n  "pipe_parallel_size": 1,\n  "model_parallel_size": 1,\n  "fp16": { "enabled": true }\n}\n', "pos_emb: rotary\nnum_layers: 12\n"),
            "nanotron": ("parallelism:\n  dp: 2\n  pp: 1\n  tp: 4\n  pp_engine: 1f1b\n  tp_mode: REDUCE_SCATTER\ntokens:\n  micro_batch_size: 2\n",
                         "tokens:\n  batch_accumulation_per_replica: 1\n  sequence_length: 256\n"),
            "axolotl": ("base_model: NousResearch/Llama-2-7b-hf\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nfsdp:\n  - full_shard\nfsdp_config:\n  fsdp_offload_params: true\n",
                        "base_model: x\nadapter: lora\ndeepspeed: zero2.json\n"),
            "llm-foundry": ("max_seq_len: 2048\nglobal_train_batch_size: 256\ndevice_train_microbatch_size: 16\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n",
                            "train_loader:\n  name: text\nmax_duration: 4800ba\n"),
            "LLaMA-Factory": ("model_name_or_path: x\nstage: sft\nfinetuning_type: full\ndeepspeed: ds_z3_config.json\ntemplate: llama3\ncutoff_len: 2048\n", "cutoff_len: 1024\nbf16: true\n"),
            "MaxText": ("base_emb_dim: 4096\nbase_num_decoder_layers: 32\nici_fsdp_parallelism: -1\n", "per_device_batch_size: 12\nmax_target_length: 2048\n"),
        }.items():
            for text in texts:
                for name in ("run.yml", "run.json", "run"):
                    with self.subTest((program, name, text)):
                        self.refused(name, text, f"this is a file of {program}, which npar does not read", *CONFIG, "--world", 8)

    def test_files_of_no_program(self):
        """A key that several programs have makes none of them."""
        for name, text in (("run.yaml", "num_processes: 8\nmixed_precision: bf16\n"), ("docker.yaml", "services:\n  web:\n    image: x\n"), ("package.json", '{"name": "x", "version": "1"}'),
                           ("run.json", '{"optimizer": {"type": "AdamW"}, "seed": 1}'), ("pyproject.toml", '[project]\nname = "x"\n[tool.black]\nline-length = 100\n'),
                           ("run.sh", "python train.py --learning_rate 1e-4 --train_batch_size 2 --bf16 true\n")):
            with self.subTest(name):
                self.refused(name, text, "unknown kind of file", *CONFIG, "--world", 8)
        self.refused("tool.sh", "curl --silent --output x https://example.org\n", "this script starts no training program", *CONFIG, "--world", 8)

    def test_nothing_understood(self):
        for name, text, program in (("run.json", '{"a": 1}', "deepspeed"), ("run.toml", "[tool]\na = 1\n", "torchtitan")):
            self.refused(name, text, "npar understands no setting of this file", *CONFIG, "--world", 8, "--from-format", program)
        self.refused("run.sh", "curl --silent x\n", "this script starts no training program", *CONFIG, "--world", 8, "--from-format", "megatron")


if __name__ == "__main__":
    unittest.main()
