"""`npar train --from FILE`: a run of another program trains as the plan that --print-plan writes; settings that are open or that npar lacks are reported."""

import json

from test_foreign import FILES
from test_torchrun import TcpTest

SMALL = """torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 2 --hidden-size 32 --num-attention-heads 4 \\
  --group-query-attention --num-query-groups 2 --ffn-hidden-size 64 --swiglu --normalization RMSNorm \\
  --position-embedding-type rope --untie-embeddings-and-output-weights --disable-bias-linear \\
  --hidden-dropout 0 --attention-dropout 0 --seq-length 16 --vocab-size 256 --make-vocab-size-divisible-by 1 \\
  --tensor-model-parallel-size 2 --micro-batch-size 2 --global-batch-size 8 --lr 1e-3 --seed 7 {more}
"""


class ForeignTrainTest(TcpTest):
    def script(self, more="", name="train.sh"):
        (self.folder / name).write_text(SMALL.format(more=more))
        return name

    def test_it_trains_the_printed_plan(self):
        run = ["--random-data", "--steps", 3, "--threads", 1]
        result = self.npar("train", "--from", self.script("--my-own-flag 3"), *run, "--checkpoint", "kept")
        self.assertIn("'train.sh', a run of Megatron-LM", result.error)
        self.assertIn("--my-own-flag 3: npar does not know this setting", result.error)
        self.assertIn("order                 checked: it cannot hang", result.error)
        (self.folder / "mine.npar").write_text(self.npar("train", "--from", "train.sh", "--print-plan").output)
        self.assertEqual((self.folder / "mine.npar").read_text(), self.npar("simulate", "--from", "train.sh", "--print-plan").output)
        expected = self.npar_json("train", "mine.npar", "--config", "megatron", *run, "--quiet")["parameter_hash"]
        self.assertIn(expected, result.output)
        # A checkpoint keeps the text that was made.
        self.text_file(size=2000)
        self.npar("eval", "kept", "--data", "text.txt", "--tokens", "bytes", "--quiet")
        # Two processes, and other numbers of ranks, give the same.
        first, _ = self.ended(self.start(2, "train", "--from", "train.sh", *run, "--quiet", "--json"))
        self.assertIn(expected, first[0])
        self.assertEqual(len(self.npar_json("train", "--from", "train.sh", *run, "--quiet", "--world", 8)["ranks"]), 8)

    def test_what_would_train_otherwise_is_refused(self):
        script = self.script("--multi-latent-attention --qk-head-dim 16 --kv-lora-rank 16 --train-iters 1", "near.sh")  # which --steps need not repeat
        run = ["train", "--from", script, "--random-data", "--threads", 1]
        error = self.npar(*run, code=1).error
        self.assertIn("npar has no model that computes what 'near.sh' trains, only a near one:", error)
        self.assertIn("after 1 step", self.npar(*run, "--quiet", "--nearest-model").output)
        self.assertIn("--from provides model and plan; remove 'mlp'", self.npar(*run, "mlp", code=2).error)
        self.assertIn("no data: give --data", self.npar("train", "--from", self.script(), "--steps", 1, code=2).error)
        self.assertIn("--nearest-model needs --from FILE", self.npar("train", "mlp", "--nearest-model", "--random-data", code=2).error)

    def test_it_saves_and_evaluates_as_the_file_says(self):
        script = self.script("--train-iters 4 --save there --save-interval 2 --eval-interval 3")
        self.npar("train", "--from", script, "--random-data", "--threads", 1, "--checkpoint", "kept", "--quiet")
        self.assertEqual(sorted(path.name for path in (self.folder / "kept").glob("step-*")), ["step-2", "step-4"])
        error = self.npar("train", "--from", script, code=2).error
        self.assertIn("'train.sh': it saves checkpoints to 'there': give --checkpoint DIR", error)
        self.assertIn("'train.sh': it evaluates while it trains: give --eval-data FILE and --eval-every N", error)
        (self.folder / "run.toml").write_text('[model]\nname = "llama3"\nflavor = "debugmodel"\n[training]\nlocal_batch_size = 8\nseq_len = 16\nsteps = 3\n[checkpoint]\nenable = true\nfolder = "there"\n[validation]\nenable = true\n')
        error = self.npar("train", "--from", "run.toml", "--world", 1, code=2).error
        self.assertIn("'run.toml': it saves checkpoints to './outputs/there': give --checkpoint DIR", error)
        self.assertIn("'run.toml': it evaluates while it trains: give --eval-data FILE and --eval-every N", error)

    def test_a_file_without_devices_takes_the_processes(self):
        config = ["--model-config", FILES / "small.json", "--set", "length=16", "--set", "vocab=64"]
        (self.folder / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}\n')
        run = ["train", "--from", "ds.json", *config, "--random-data", "--steps", 1, "--quiet", "--json"]
        self.assertIn("the file does not state the number of devices", self.npar(*run, code=1).error)
        first, _ = self.ended(self.start(2, *run))
        self.assertEqual(len(json.loads(first[0])["ranks"]), 2)
