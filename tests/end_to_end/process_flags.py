"""The flags of run, eval, generate and the checkpoint commands, with values to try in one process and in several: rows of test_process_flags.py.

A `Value` is what a command line gets of one flag. Several processes must give what one process gives: the same exit code, errors, summary and files. `many` says where several are refused instead, and how: exit code, and a pattern that the error must match.
"""

import dataclasses
import itertools
import random

# Two models that compile in a moment: samples with a data block, a metric and an output; a stream of tokens with targets that may be ignored.
SAMPLES = """
model Guesser(channels = 24, labels = 3) {
    axis batch, channel = channels, label = labels
    input x: f32[batch, channel]
    input answer: i32[batch]
    param w: [channel, label] = normal(0.02)
    scores = project(x, w)
    loss cross_entropy(scores, answer, over = label)
    metric right = accuracy(argmax(scores, over = label), answer)
    output scores
}
config "Narrow" for Guesser(channels = 24)
data all for Guesser {
    file "all.safetensors" x, answer
    split 0.75, 0.25 seed 3
}
train base for Guesser { batch 6 optimizer Sgd(lr = 1.0) }
plan divided(dp = 2, tp = 1, zero = 0) for Guesser {
    mesh dp, tp
    micro 3
    split { batch -> dp channel -> tp }
    store { optimizer -> dp if zero >= 1 gradients -> dp if zero >= 2 parameters -> dp if zero >= 3 }
}
"""
TOKENS = """
import "Embedding"
import "Linear"
model Sayer(vocab = 16, width = 8, length = 8) {
    axis batch, seq = length, vocab, embed = width
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    head  = Linear(embed, vocab)
    loss cross_entropy(head(table(tokens)), targets, over = vocab, ignore = -100)
}
config "Narrow" for Sayer(width = 8)
train base for Sayer { batch 8 optimizer AdamW(lr = 0.01) }
plan divided(dp = 2, tp = 1, zero = 0) for Sayer {
    mesh dp, tp
    micro 2
    split { batch -> dp vocab -> tp }
    store { optimizer -> dp if zero >= 1 gradients -> dp if zero >= 2 parameters -> dp if zero >= 3 }
}
"""


@dataclasses.dataclass(frozen=True)
class Value:
    """`words` of the command line, by flag; `needs`: flags without which it means nothing, with their words, where the row has no others. `model`: samples or tokens,
    None for both. `drop`: words of the command's own that it replaces. `many`: (exit code, pattern) where several processes are refused; `apart`: each process works
    by itself. `only`: transports it is for."""

    words: tuple
    needs: tuple = ()
    model: str | None = None
    drop: tuple = ()
    many: tuple | None = None
    apart: bool = False
    only: tuple | None = None


def value(*words, **more):
    return Value(tuple(map(str, words)), **more)


# By command: the words that every row has, by flag. MODEL is replaced by the model's text.
COMMANDS = {
    "run": {"MODEL": ("run", "{model}.npar"), "--steps": ("--steps", "4"), "--threads": ("--threads", "1"), "--json": ("--json",), "--quiet": ("--quiet",), "--data": ("{data}",)},
    "eval": {
        "MODEL": ("eval", "{model}.npar"),
        "--weights": ("--weights", "{model}.safetensors"),
        "--plan": ("--plan", "divided"),
        "--threads": ("--threads", "1"),
        "--json": ("--json",),
        "--quiet": ("--quiet",),
        "--data": ("{data}",),
    },
    "generate": {"MODEL": ("generate", "tokens.npar"), "--weights": ("--weights", "tokens.safetensors"), "--prompt-tokens": ("--prompt-tokens", "1,2,3"), "--count": ("--count", "2"), "--json": ("--json",), "--quiet": ("--quiet",)},
    "checkpoint show": {"CHECKPOINT": ("checkpoint", "show", "kept-{model}"), "--json": ("--json",)},
    "checkpoint verify": {"CHECKPOINT": ("checkpoint", "verify", "kept-{model}"), "--json": ("--json",)},
    "checkpoint diff": {"FIRST": ("checkpoint", "diff", "kept-{model}/step-2"), "SECOND": ("kept-{model}/step-4",), "--json": ("--json",)},
    "checkpoint consolidate": {"CHECKPOINT": ("checkpoint", "consolidate", "kept-{model}"), "--output": ("-o", "whole.safetensors"), "--json": ("--json",)},
    "checkpoint reshard": {"CHECKPOINT": ("checkpoint", "reshard", "kept-{model}"), "--shards": ("--shards", "2"), "--output": ("-o", "other"), "--json": ("--json",)},
}

# Words that feed each model by default.
DATA = {"samples": (), "tokens": ("--data", "tokens.u16", "--tokens", "u16")}

ONE_RANK = (1, "cannot share|share .* rank|ranks? .*process")  # a world of one rank has nothing for a second process
CHECKPOINT = ("--checkpoint", ("--checkpoint", "made"))
WEIGHTS = ("--weights", ("--weights", "{model}.safetensors"))
EVAL = ("--eval-every", ("--eval-every", "2"))
EVAL_DATA = ("--eval-data", ("--eval-data", "tokens.u16"))
CUDA = ("--backend", ("--backend", "cuda"))

OF_MODELS = {
    "--plan": [value("--plan", "divided"), value("--plan", "none", drop=("--set",), many=ONE_RANK)],
    "--train": [value("--train", "base"), value("--train", "other")],
    "--config": [value("--config", "Narrow")],
    "--set": [value("--set", "zero=3"), value("--set", "mesh.tp=2"), value("--set", "micro=1"), value("--set", "nothing=1")],
    "--world": [value("--world", "2"), value("--world", "3")],
}
OF_JOBS = {
    "--alone": [value("--alone", apart=True)],
    "--mpi": [value("--mpi", "mpich", only=("mpich",)), value("--mpi", "openmpi", only=("openmpi",))],
    "--nccl": [value("--nccl", "auto"), value("--nccl", "never"), value("--nccl", "always", needs=(CUDA,))],
    "--place": [value("--place", "cluster"), value("--place", "tp, dp"), value("--place", "nothing")],
    "--flight": [value("--flight", "flight")],
    "--check": [value("--check", "full"), value("--check", "sampled")],
}
OF_GPUS = {
    "--cuda-products": [value("--cuda-products", "own"), value("--cuda-products", "library")],
    "--cuda-attention": [value("--cuda-attention", "own"), value("--cuda-attention", "library")],
    "--cuda-graph": [value("--cuda-graph", needs=(CUDA,)), value("--cuda-graph")],
    "--cuda-gpus": [value("--cuda-gpus", "1", needs=(CUDA,)), value("--cuda-gpus", "1")],
    "--devices": [value("--devices", "9", needs=(CUDA,)), value("--devices", "2")],
}
OF_ALL = {
    "--threads": [value("--threads", "1"), value("--threads", "2"), value("--threads", "4096", many=(1, "--threads 4096: host '.*' has (only )?\\d+ processors"))],
    "--timeout": [value("--timeout", "60")],
    "--quiet": [value(drop=("--quiet",))],
    "--json": [value(drop=("--json",))],
}

FLAGS = {
    "run": {
        "MODEL": [value("run", "{model}.npx", drop=("--set",))],
        **OF_MODELS,
        **OF_JOBS,
        **OF_GPUS,
        **OF_ALL,
        "--accumulate": [value("--accumulate", "1"), value("--accumulate", "5")],
        # Runs of other programs in several processes: test_foreign_train.py. Beside a model each of these is refused.
        **{
            flag: [value(flag, *words)]
            for flag, words in {"--from": ("train.sh",), "--from-format": ("megatron",), "--model-config": ("config.json",), "--env": ("TP=2",), "--print-plan": (), "--nearest-model": (), "--from-scratch": ()}.items()
        },
        "--machine": [value("--machine", "cpu-100g"), value("--machine", "nowhere")],
        "--data": [value("--data", "all.safetensors", model="samples"), value("--data", "answer=all.safetensors", "--data", "x=all.safetensors", model="samples"), value("--data", "none.u16", "--tokens", "u16")],
        "--tokens": [value("--tokens", "bytes", needs=(("--data", ("--data", "tokens.txt")),), model="tokens"), value("--tokens", "i32", needs=(("--data", ("--data", "tokens.i32")),), model="tokens")],
        "--text": [value("--text", "1")],
        "--tokenizer": [value("--tokenizer", "bytes")],
        "--mask": [value("--mask", "tokens.mask", needs=(("--data", DATA["tokens"]),), model="tokens")],
        "--data-order": [value("--data-order", "sequential"), value("--data-order", "shuffled")],
        "--random-data": [value("--random-data", drop=("--data",))],
        "--weights": [value("--weights", "{model}.safetensors"), value("--weights", "kept-{model}"), value("--weights", "none.safetensors")],
        "--fresh": [value("--fresh", "*", needs=(WEIGHTS,)), value("--fresh", "nothing.*", needs=(WEIGHTS,)), value("--fresh", "*")],
        "--weights-part": [value("--weights-part", "{model}.safetensors", needs=(WEIGHTS,)), value("--weights-part", "none.safetensors", needs=(WEIGHTS,)), value("--weights-part", "{model}.safetensors")],
        "--output": [value("--output", "learned.safetensors")],
        "--checkpoint": [value("--checkpoint", "made"), value("--checkpoint", "kept-{model}")],
        "--checkpoint-every": [value("--checkpoint-every", "1", needs=(CHECKPOINT,)), value("--checkpoint-every", "0.5 epochs", needs=(CHECKPOINT,))],
        "--checkpoint-keep": [value("--checkpoint-keep", "1", needs=(CHECKPOINT, ("--checkpoint-every", ("--checkpoint-every", "1")))), value("--checkpoint-keep", "2")],
        "--resume": [value("--resume", needs=(("--checkpoint", ("--checkpoint", "kept-{model}")), ("--steps", ("--steps", "6")))), value("--resume", needs=(CHECKPOINT,))],
        "--tune": [value("--tune", "buckets", needs=(("--steps", ("--steps", "14")),)), value("--tune", "buckets")],
        "--eval-every": [value("--eval-every", "2", model="samples"), value("--eval-every", "1 epoch", model="samples"), value("--eval-every", "1", needs=(EVAL_DATA,), model="tokens")],
        "--eval-data": [value("--eval-data", "all.safetensors", needs=(EVAL,), model="samples"), value("--eval-data", "tokens.u16", needs=(EVAL,), model="tokens"), value("--eval-data", "none.u16", needs=(EVAL,))],
        "--eval-stop-after": [value("--eval-stop-after", "1", needs=(EVAL, ("--steps", ("--steps", "40"))), model="samples")],
        "--eval-stop-on": [value("--eval-stop-on", "right", needs=(EVAL,), model="samples"), value("--eval-stop-on", "loss")],
        "--steps": [value("--steps", "1"), value("--steps", "7")],
        "--epochs": [value("--epochs", "1.5", drop=("--steps",), model="samples"), value("--epochs", "0.3", needs=(EVAL_DATA,), drop=("--steps",), model="tokens")],
        "--seed": [value("--seed", "9")],
        "--log": [value("--log", "log.jsonl"), value("--log", "log.csv", "--log", "log.jsonl"), value("--log", "events.tfevents")],
        "--trace": [value("--trace", "trace.json")],
        "--trace-steps": [value("--trace-steps", "2", needs=(("--trace", ("--trace", "trace.json")),))],
        "--backend": [value("--backend", "cpu"), value("--backend", "cuda"), value("--backend", "null")],
        "--products": [value("--products", "portable"), value("--products", "pairs"), value("--products", "some")],
        "--nonfinite": [value("--nonfinite", "continue"), value("--nonfinite", "stop")],
        "--check-replicas": [value("--check-replicas", "1"), value("--check-replicas", "3")],
    },
    "eval": {
        "MODEL": [value("eval", "kept-{model}", drop=("--weights",)), value("eval", "{model}-eval.npx", drop=("--plan", "--set"))],
        **OF_MODELS,
        **OF_JOBS,
        **OF_GPUS,
        **OF_ALL,
        "--weights": [value("--weights", "kept-{model}"), value("--weights", "none.safetensors")],
        "--backend": [value("--backend", "cpu"), value("--backend", "cuda")],
        "--products": [value("--products", "portable"), value("--products", "pairs")],
        "--data": [value("--data", "all.safetensors", model="samples"), value("--data", "none.u16")],
        "--tokens": [value("--tokens", "bytes", needs=(("--data", ("--data", "tokens.txt")),), model="tokens"), value("--tokens", "i32", needs=(("--data", ("--data", "tokens.i32")),), model="tokens")],
        "--outputs": [value("--outputs", "said.safetensors")],
        "--predict": [value("--predict", model="samples"), value("--predict", "labels.csv", model="samples"), value("--predict", model="tokens")],
        "--output": [value("--output", "scores", needs=(("--predict", ("--predict",)),), model="samples"), value("--output", "scores")],
        "--text": [value("--text", "1")],
        "--tokenizer": [value("--tokenizer", "bytes")],
        "--part": [value("--part", "1", model="samples"), value("--part", "3")],
        "--weights-part": [value("--weights-part", "{model}.safetensors"), value("--weights-part", "none.safetensors")],
        "--log": [value("--log", "log.jsonl"), value("--log", "log.csv")],
    },
    "generate": {
        "MODEL": [value("generate", "tokens.npar")],
        **{flag: [value(*words)] for flag, words in {"--plan": ("--plan", "none"), "--train": ("--train", "base"), "--config": ("--config", "Narrow"), "--set": ("--set", "width=8"), "--world": ("--world", "1")}.items()},
        **{flag: OF_JOBS[flag] for flag in ("--alone", "--place", "--flight", "--check", "--nccl", "--mpi")},
        **OF_GPUS,
        **{flag: OF_ALL[flag] for flag in ("--timeout", "--quiet", "--json")},
        "--threads": [value("--threads", "1")],
        "--weights": [value("--weights", "tokens.safetensors")],
        "--weights-part": [value("--weights-part", "tokens.safetensors")],
        "--backend": [value("--backend", "cpu")],
        "--products": [value("--products", "pairs")],
        "--prompt": [value("--prompt", "ab", drop=("--prompt-tokens",))],
        "--prompt-file": [value("--prompt-file", "tokens.txt", drop=("--prompt-tokens",))],
        "--prompt-tokens": [value("--prompt-tokens", "1,2")],
        "--prompts": [value("--prompts", "tokens.txt", drop=("--prompt-tokens",))],
        "--batch": [value("--prompts", "tokens.txt", "--batch", "2", drop=("--prompt-tokens",))],
        "--tokenizer": [value("--tokenizer", "bytes")],
        "--count": [value("--count", "3")],
        "--temperature": [value("--temperature", "0.5")],
        "--top-k": [value("--top-k", "3")],
        "--top-p": [value("--top-p", "0.5")],
        "--seed": [value("--seed", "3")],
        "--window": [value("--window")],
        "--top": [value("--top", "2")],
    },
    "checkpoint show": {"CHECKPOINT": [value("checkpoint", "show", "kept-{model}/step-2"), value("checkpoint", "show", "none")], "--json": [value(drop=("--json",))]},
    "checkpoint verify": {"CHECKPOINT": [value("checkpoint", "verify", "kept-{model}/step-2"), value("checkpoint", "verify", "none")], "--json": [value(drop=("--json",))]},
    "checkpoint diff": {"FIRST": [value("checkpoint", "diff", "kept-{model}/step-4")], "SECOND": [value("{model}.safetensors")], "--only": [value("--only", "parameter")], "--json": [value(drop=("--json",))]},
    "checkpoint consolidate": {
        "CHECKPOINT": [value("checkpoint", "consolidate", "kept-{model}/step-2")],
        "--output": [value("-o", "elsewhere.safetensors")],
        "--shard-size": [value("--shard-size", "1kB", needs=(("--output", ("-o", "shards")),))],
        "--only": [value("--only", "parameter")],
        "--format": [value("--format", "pytorch", needs=(("--output", ("-o", "whole.pt")),))],
        "--json": [value(drop=("--json",))],
        "--alone": [value("--alone", apart=True)],
    },
    "checkpoint reshard": {
        "CHECKPOINT": [value("checkpoint", "reshard", "kept-{model}/step-2")],
        "MODEL": [value("{model}.npar", drop=("--shards",))],
        **{flag: [Value(each.words, needs=(("MODEL", ("{model}.npar",)),), drop=("--shards",)) for each in OF_MODELS[flag][:1]] for flag in OF_MODELS},
        "--shards": [value("--shards", "1")],
        "--output": [value("-o", "elsewhere")],
        "--json": [value(drop=("--json",))],
        "--alone": [value("--alone", apart=True)],
    },
}

# Commands that refuse to be one of several processes, with exit code and message. Those that only read work in each process separately.
REFUSED = {command: (2, f"npar {command} runs in one process") for command in ("generate", "checkpoint consolidate", "checkpoint reshard")}
EACH = ("checkpoint show", "checkpoint verify", "checkpoint diff")


@dataclasses.dataclass(frozen=True)
class Row:
    command: str
    flags: tuple
    values: tuple

    @property
    def model(self):
        return next((each.model for each in self.values if each.model), "samples")

    @property
    def words(self):
        """Of the command line; what the values say comes after what they need, which comes after the command's own."""
        line = {flag: words for flag, words in COMMANDS[self.command].items() if not any(flag in each.drop for each in self.values)}
        for flag, own in zip(self.flags, self.values):
            for needed, words in own.needs:
                if needed not in self.flags:
                    line[needed] = words
        for flag, own in zip(self.flags, self.values):
            if own.words:
                line[flag] = own.words
        data = DATA[self.model]
        return [word.format(model=self.model) for words in line.values() for part in words for word in (data if part == "{data}" else (part,))]

    @property
    def many(self):
        return next((each.many for each in self.values if each.many), REFUSED.get(self.command))

    @property
    def apart(self):
        return any(each.apart for each in self.values) or self.command in EACH

    @property
    def name(self):
        return f"{self.command}: {' '.join(word for each in self.values for word in each.words) or 'no ' + ' '.join(self.flags)}"

    def runs_over(self, transport):
        return all(each.only is None or transport in each.only for each in self.values) and (transport == "tcp" or self.command in ("run", "eval"))


def all_rows():
    """Every pair of flags of a command with one pair of their values, chosen by the pair alone."""
    rows = []
    for command, flags in FLAGS.items():
        for first, second in itertools.combinations(flags, 2):
            pairs = [pair for pair in itertools.product(flags[first], flags[second]) if None in (pair[0].model, pair[1].model) or pair[0].model == pair[1].model]
            if pairs:
                rows.append(Row(command, (first, second), random.Random(f"{command} {first} {second}").choice(pairs)))
    return rows


def sampled_rows(count, seed):
    """Of run about three in five, of each other command two at least, every flag of run and eval as often as may be."""
    chance = random.Random(seed)
    rows = {command: [row for row in all_rows() if row.command == command] for command in FLAGS}
    share = {"run": count * 3 // 5, "eval": count // 5}
    chosen = []
    for command, all_of_it in rows.items():
        used = dict.fromkeys(FLAGS[command], 0)
        for _ in range(min(share.get(command, 1), len(all_of_it))):
            row = min((row for row in all_of_it if row not in chosen), key=lambda row: (sum(used[flag] for flag in row.flags), chance.random()))
            chosen.append(row)
            for flag in row.flags:
                used[flag] += 1
    return chosen
