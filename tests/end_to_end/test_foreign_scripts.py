"""Shell scripts of Megatron-LM and Megatron-DeepSpeed as people write them: flags in variables, files that a script makes, several commands, placeholders."""

import json
import unittest

from test_foreign_cases import A100, GPT, CasesTest

MODEL = GPT[GPT.index("--num-layers") :].replace("--bf16 ", "")
DEEPSPEED = "deepspeed --num_gpus 8 pretrain_gpt.py " + MODEL


class DeepSpeedScriptsTest(CasesTest):
    """DeepSpeed's own file decides what is in shares, the types and the clipping, not the flags."""

    def script(self, more, before=""):
        return self.run_of("run.sh", before + DEEPSPEED + more)

    def test_types_are_deepspeeds(self):
        self.write("ds.json", {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 1}, "bf16": {"enabled": True}})
        run = self.script("--bf16 --deepspeed --deepspeed_config ds.json --zero-stage 1")
        self.assertEqual((run["zero"], run["compute"], run["gradients"], self.left(run)), (1, "bf16", "bf16", []))
        self.assertEqual(self.run_of("run.sh", GPT)["gradients"], "f32")  # Megatron-LM's

    def test_a_file_next_to_the_script(self):
        self.write("ds.json", {"train_batch_size": 64, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": 1000},
                               "bf16": {"enabled": True}, "fp16": {"enabled": False, "loss_scale_window": 500}, "gradient_clipping": 0.5, "steps_per_print": 10,
                               "data_types": {"grad_accum_dtype": "fp32"}, "optimizer": {"type": "Lamb", "params": {"lr": 1}}, "mystery": 1})
        run = self.script("--fp16 --clip-grad 1.0 --zero-stage 1 --deepspeed --deepspeed_config ./ds.json --no-pipeline-parallel")
        self.assertEqual((run["zero"], run["compute"], run["gradients"]), (3, "bf16", "f32"))
        self.assertEqual(sorted(self.left(run)), ["--clip-grad", "--fp16", "--zero-stage", "mystery", "train_batch_size", "zero_optimization.offload_optimizer.device"])
        self.assertIn("    clip 0.5\n", run["plan"])
        self.assertIn("optimizer AdamW(", run["plan"])

    def test_a_file_that_the_script_writes(self):
        before = ("ZERO=2\nCONFIG=ds_$ZERO.json\ncat > $CONFIG <<EOT\n{\n  \"train_micro_batch_size_per_gpu\": 2,\n  \"zero_optimization\": {\"stage\": $ZERO},\n"
                  "  \"fp16\": {\"enabled\": true}\n}\nEOT\n")
        run = self.script("--fp16 --deepspeed --deepspeed_config=$CONFIG --no-pipeline-parallel", before)
        self.assertEqual((run["zero"], run["compute"], run["gradients"], self.left(run)), (2, "fp16", "fp16", []))
        self.refused("run.sh", before.replace("ZERO=2\n", "") + DEEPSPEED + "--deepspeed --deepspeed_config=ds_$ZERO.json", "--env ZERO=VALUE gives it")

    def test_a_template(self):
        self.write("template.json", '{"zero_optimization": {"stage": STAGE}, "fp16": {"enabled": IS_FP16}, "bf16": {"enabled": IS_BF16}}')
        before = 'stage=2\nsed "s/STAGE/${stage}/" template.json | sed "s/IS_FP16/false/" | sed -e "s/IS_BF16/true/g" > made.json\n'
        run = self.script("--bf16 --deepspeed --deepspeed_config made.json --no-pipeline-parallel", before)
        self.assertEqual((run["zero"], run["compute"]), (2, "bf16"))

    def test_a_file_that_is_not_there(self):
        for more, zero, words in (("", 1, "ZeRO 1, the default of --zero-stage"), ("--zero-stage 3", 3, "ZeRO 3, as --zero-stage has it"),
                                  ("--zero-stage 0", 0, "ZeRO 0, as --zero-stage has it")):
            run = self.script("--fp16 --deepspeed --deepspeed_config $HOME/ds.json --no-pipeline-parallel " + more)
            self.assertEqual(run["zero"], zero)
            self.assertTrue(any(words in line and "npar does not have '$HOME/ds.json', which decides it" in line for line in run["assumed"]), run["assumed"])

    def test_bf16_in_a_pipeline(self):
        """DeepSpeed's pipeline, which is there even with one stage, stores the state of a bf16 model in shares."""
        for more, zero in (("--bf16", 1), ("--fp16", 0), ("--bf16 --no-pipeline-parallel", 0)):
            self.assertEqual(self.script("--deepspeed --zero-stage 0 " + more)["zero"], zero)

    def test_written_back(self):
        flags = ("--zero-stage 1", "--deepspeed", "--deepspeed_config ds.json", "--deepspeed-activation-checkpointing", "--no-pipeline-parallel", "--embed-layernorm",
                 "--my-own-flag 3", "--attention-backend fused", "--calculate-per-token-loss", "--use-mcore-models", "--manual-gc")
        path = self.write("run.sh", DEEPSPEED + "--fp16 " + " ".join(flags))
        text = self.npar("simulate", "--from", path, *A100, "--as", "megatron").output
        for flag in flags:
            self.assertEqual(text.count(flag + "\n"), 1, flag)
        self.assertNotIn("--context-parallel-size", text)
        other = self.npar("simulate", "--from", path, *A100, "--set", "micro=1", "--as", "megatron")
        self.assertIn("--deepspeed is left out", other.error)
        self.assertNotIn("--deepspeed\n", other.output)

    def test_tokens(self):
        run = self.script("--lr 1e-4 --train-samples 6400 --lr-decay-tokens 204800 --lr-warmup-tokens 2048e1")
        self.assertIn("linear(peak = 0.0001, warmup = 10, steps = 100, final = 0)", run["plan"])

    def test_zero_bubbles(self):
        pp = "--deepspeed --pipeline-model-parallel-size 2 "
        self.assertEqual(self.left(self.script(pp + "--enable-zbh1-pipeline --enable-zbh1-exact-semantics")), [])
        self.assertEqual(self.left(self.script(pp + "--enable-zbh1-pipeline")), ["--enable-zbh1-pipeline"])
        self.refused("run.sh", DEEPSPEED + pp + "--enable-zbh1-exact-semantics", "--enable-zbh1-exact-semantics needs --enable-zbh1-pipeline")


class ScriptsTest(CasesTest):
    def test_flags_that_a_branch_would_set(self):
        """bash takes a variable as empty whose assignment does not run."""
        for setting in ('load_options="--load $X"', 'load_options=" \\\n  --load x"', "load_options='--load x'", "load_options+=' --load x'"):
            for use in ("--use-mcore-models ${load_options}", "--recompute-granularity full ${load_options} --seed 3", "${load_options} --seed 3"):
                with self.subTest((setting, use)):
                    run = self.run_of("run.sh", f"X=none\nif [ $X != none ]; then {setting}; fi\n{GPT}{use}\n")
                    self.assertTrue(any("'load_options' counts as not set" in line for line in run["assumed"]))
        self.refused("run.sh", GPT + "${load_options} --seed 3", "depends on 'load_options', which the script does not set")
        self.refused("run.sh", f"X=none\nif [ $X != none ]; then SEED=4; fi\n{GPT}--seed $SEED\n", "'--seed $SEED' depends on 'SEED'")

    def test_arguments_that_are_left_out(self):
        text = "MBS=$1\nSEED=$2\nVP=$3\n" + GPT + "--micro-batch-size ${MBS:-2} --seed ${SEED:-7} ${VP:+--no-such-flag $VP}\n"
        run = self.run_of("run.sh", text, "--env", "1=2")
        self.assertEqual(self.left(run), [])
        self.assertIn("    seed 7\n", run["plan"])
        self.assertTrue(any("argument '2' counts as not set" in line for line in run["assumed"]))

    def test_placeholders(self):
        self.refused("run.sh", "DIR=<Specify path>\n" + GPT, "put a value in the place of '<Specify path>'")
        self.refused("run.sh", f'o="{MODEL} --tensorboard-dir <DIR TO> --fp16"\nsrun -n 8 sh -c "python pretrain_gpt.py $o"\n', "'> --fp16' redirects to a file of that name: this is no flag")

    def test_commands_that_prepare(self):
        train = GPT.replace("pretrain_gpt.py", "test_sampling.py")
        for before in ("python tools/preprocess_data.py --input a.json --output-prefix a\n", "python create_dummy_dataset.py --dir x\npython preprocess_data.py --workers 5\n"):
            self.assertEqual(self.run_of("run.sh", before + train)["model"]["depth"], "4")
        self.refused("run.sh", train + "\n" + train.replace("--num-layers 4", "--num-layers 8"), "this script has 2 training commands")

    def test_settings_in_another_file(self):
        for command in ("deepspeed --num_gpus 8 train.py --deepspeed ds.json --bf16 true", "accelerate launch --config_file ds.json train.py --learning_rate 1"):
            self.refused("run.sh", command + "\n", "this script trains by the settings of 'ds.json'")

    def test_a_command_that_an_argument_decides(self):
        text = ('if [ "$1" = "convert" ]; then\n  task="deepspeed tools/convert.py"\nelse\n  task="deepspeed --num_gpus 8 train.py"\nfi\n'
                f'eval "$task {MODEL.strip()}"\n')
        self.refused("run.sh", text, "the program that runs here depends on '$1', an argument of the script")
        self.assertEqual(self.run_of("run.sh", text, "--env", "1=train")["model"]["depth"], "4")

    def test_what_is_no_number(self):
        self.refused("run.sh", "SAMPLES=126_953_125\n" + GPT + "--train-samples $((SAMPLES * 2))\n", "a sum: '126_953_125' is no number")

    def test_the_line_of_a_program(self):
        run = self.run_of("run.sh", "dir=`pwd`\n\n\n" + GPT.replace("pretrain_gpt.py", "${dir}/../pretrain_bert.py"))
        self.assertEqual([(one["line"], one["setting"]) for one in run["not_taken"]], [(4, "`pwd`/../pretrain_bert.py")])
        self.assertEqual(len(run["differences"]), 1)

    def test_options_of_the_script(self):
        text = "while getopts m:n: option; do\ncase $option in\nm) MP=$OPTARG;;\nn) SEED=$OPTARG;;\nesac\ndone\nshift $((OPTIND - 1))\n" + GPT + "$MP x $SEED y $MP\n"
        error = self.npar("simulate", "--from", self.write("run.sh", text), *A100, "--env", "1=-m", "--env", "11=2", code=1).error
        self.assertNotIn("does not occur", error)
        lines = [line.split(": error: ")[1] for line in error.splitlines() if ": error: " in line]
        self.assertEqual(len(lines), len(set(lines)))


class MegatronFlagsTest(CasesTest):
    def test_names_of_forks(self):
        for kind in ("rotary", "absolute"):
            self.assertEqual(self.run_of("run.sh", GPT + "--position-embedding-type " + kind)["differences"], [])
        self.assertIn("theta = 1000,", self.plan_of("run.sh", GPT + "--use-rotary-position-embeddings --rotary-position-embeddings-theta 1000"))
        self.assertIn("warmup = 10, steps = 100", self.plan_of("run.sh", GPT + "--lr 1e-4 --train-iters 100 --warmup .1"))

    def test_flags_with_an_effect(self):
        for flag in ("--skip-train", "--train-sync-interval 5", "--synchronize-each-layer", "--deterministic-mode", "--calculate-per-token-loss", "--head-lr-mult 2", "--fp32-attention"):
            self.assertEqual(self.left(self.run_of("run.sh", GPT + flag)), [flag.split()[0]])

    def test_when_gradients_are_reduced(self):
        """After the backward pass, or with --overlap-grad-reduce in buckets."""
        for more, line in (("", None), ("--ddp-bucket-size 1000", None), ("--overlap-grad-reduce", "    bucket 160000000 B  # default of Megatron-LM\n"),
                           ("--overlap-grad-reduce --grad-reduce-in-bf16", "    bucket 80000000 B  # default of Megatron-LM\n"),
                           ("--overlap-grad-reduce --ddp-bucket-size 1000", "    bucket 4000 B\n")):
            with self.subTest(more):
                run = self.run_of("run.sh", GPT + more)
                self.assertEqual(line in run["plan"] if line else "bucket" not in run["plan"], True)
                self.assertFalse(any("reduced" in sentence for sentence in run["assumed"]))

    def test_models_that_npar_lacks(self):
        for more, message in (("--num-experts 64 64 128 128", "npar has no model whose layers have different numbers of experts"), ("--vision-model-type clip --decoder-seq-length 1024", "npar has no model of images and text")):
            self.refused("run.sh", GPT + more, message)
        self.assertEqual(len(self.run_of("run.sh", GPT.replace("pretrain_gpt", "pretrain_bert"))["differences"]), 1)
        self.assertEqual(self.run_of("run.sh", GPT.replace("pretrain_gpt", "train"))["differences"], [])

    def test_what_npar_has_instead_is_not_called_unstated(self):
        run = self.run_of("run.sh", GPT + "--lr 1e-4 --optimizer hybridadam --lr-decay-style WSD --train-iters 10")
        self.assertFalse(any("does not state" in line for line in run["assumed"]), run["assumed"])

    def test_no_error_follows_from_another(self):
        error = self.npar("simulate", "--from", self.write("run.sh", GPT + "--lr-warmup-iters $W --lr-decay-iters $D --lr 1e-4"), *A100, code=1).error
        self.assertNotIn("is not shorter", error)


if __name__ == "__main__":
    unittest.main()
