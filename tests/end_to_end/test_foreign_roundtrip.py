"""A run goes into npar and out again as a run of the same program (`npar simulate --from FILE --as PROGRAM`): each setting that npar writes comes back
with its value, a second pass changes nothing, and nothing appears that was not in the file and is no size of the plan."""

import json
import pathlib
import random
import unittest

from driver import LONG, DriverTest

FILES = pathlib.Path(__file__).resolve().parent / "foreign"
COUNT = 60 if LONG else 6
# npar always writes these settings of a plan: sizes that the file may leave at 1, or to the launcher.
PLAN = {
    "megatron": {"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size", "micro-batch-size", "global-batch-size"},
    "torchtitan": {"training.local_batch_size", "training.global_batch_size", "training.seq_len", "training.mixed_precision_param",
                   "training.mixed_precision_reduce", "activation_checkpoint.mode", "parallelism.data_parallel_replicate_degree",
                   "parallelism.data_parallel_shard_degree", "parallelism.fsdp_reshard_after_forward", "parallelism.tensor_parallel_degree",
                   "parallelism.context_parallel_degree", "parallelism.pipeline_parallel_degree", "parallelism.pipeline_parallel_schedule",
                   "parallelism.pipeline_parallel_microbatch_size"},
    "deepspeed": {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "zero_optimization.stage"},
}
ENDING = {"megatron": ".sh", "torchtitan": ".toml", "deepspeed": ".json"}


def maybe(random, settings, **values):
    """Adds each setting with probability 0.7."""
    for name, value in values.items():
        if random.random() < 0.7:
            settings[name.replace("__", ".")] = random.choice(value) if isinstance(value, list) else value


def megatron(random):
    """(settings, devices). A setting without a value is True."""
    tp, pp, dp = random.choice([1, 2]), random.choice([1, 2]), random.choice([1, 2])
    settings = {"num-layers": 4, "hidden-size": 128, "num-attention-heads": 8, "seq-length": 64, "max-position-embeddings": 128, "vocab-size": 512,
                "make-vocab-size-divisible-by": 64, "tensor-model-parallel-size": tp, "pipeline-model-parallel-size": pp,
                "micro-batch-size": 2, "global-batch-size": 2 * dp * 4}
    if random.random() < 0.5:  # Llama
        settings.update({"swiglu": True, "normalization": "RMSNorm", "disable-bias-linear": True, "position-embedding-type": "rope",
                         "hidden-dropout": 0, "attention-dropout": 0, "untie-embeddings-and-output-weights": True})
        maybe(random, settings, **{"rotary-base": [10000, 500000, 1000000], "ffn-hidden-size": 256, "kv-channels": 16, "qk-layernorm": True})
        if random.random() < 0.5:
            settings.update({"group-query-attention": True, "num-query-groups": 4})
    else:
        maybe(random, settings, **{"position-embedding-type": ["rope", "learned_absolute"], "squared-relu": True, "hidden-dropout": [0, 0.1],
                                   "attention-dropout": [0, 0.1], "untie-embeddings-and-output-weights": True, "add-qkv-bias": True})
    maybe(random, settings, **{"norm-epsilon": [1e-6, 1e-5], "init-method-std": [0.006, 0.01]})
    settings["optimizer"] = random.choice(["adam", "sgd"])
    if settings["optimizer"] == "adam":
        maybe(random, settings, **{"adam-beta1": [0.9, 0.8], "adam-beta2": [0.95, 0.98], "adam-eps": [1e-6, 1e-8]})
    else:
        maybe(random, settings, **{"sgd-momentum": [0, 0.5]})
    maybe(random, settings, **{"lr": [3e-4, 6e-4], "weight-decay": [0.1, 0.05, 0], "clip-grad": [0.5, 0], "seed": [99, 4321]})
    if random.random() < 0.7:
        settings.update({"lr-decay-style": random.choice(["cosine", "linear"]), "lr-decay-iters": 3000, "lr": 3e-4})
        maybe(random, settings, **{"min-lr": [3e-5, 1e-6], "lr-warmup-iters": [100, 200]})
    settings[random.choice(["bf16", "fp16"])] = True
    if random.random() < 0.5:
        settings["use-distributed-optimizer"] = True
    maybe(random, settings, **{"overlap-grad-reduce": True})
    if settings.get("use-distributed-optimizer") and settings.get("overlap-grad-reduce"):
        maybe(random, settings, **{"overlap-param-gather": True})
    if tp > 1:
        maybe(random, settings, **{"sequence-parallel": True})
    if pp > 1 and random.random() < 0.5:
        settings["num-virtual-stages-per-pipeline-rank"] = 2
    if random.random() < 0.6:
        settings.update(random.choice([
            {"recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": 1},
            {"recompute-granularity": "full", "recompute-method": "block", "recompute-num-layers": 2},
            {"recompute-granularity": "selective", "recompute-modules": "core_attn mlp"},
            {"recompute-activations": True}]))
    maybe(random, settings, **{"fp8-format": "hybrid", "no-masked-softmax-fusion": True, "reset-attention-mask": True})
    return settings, tp * pp * dp


def torchtitan(random):
    pp, tp = random.choice([1, 2]), random.choice([1, 2])
    settings = {"model.name": "llama3", "model.flavor": "8B", "training.local_batch_size": 4, "training.seq_len": 2048, "parallelism.tensor_parallel_degree": tp,
                "parallelism.pipeline_parallel_degree": pp, "training.global_batch_size": 32}
    maybe(random, settings, optimizer__name=["AdamW", "Adam"], optimizer__lr=[3e-4, 1e-5], optimizer__beta1=[0.8], optimizer__beta2=[0.99], optimizer__eps=[1e-6],
          optimizer__weight_decay=[0.05, 0.0], optimizer__implementation="foreach", lr_scheduler__warmup_steps=[777, 10], training__max_norm=[0.5, 2.0],
          training__steps=[1000, 2000], debug__seed=[5, 42], compile__enable=True, model__converters=["float8"])
    if "model.converters" in settings:
        settings["model.converters"] = ["float8"]
    if random.random() < 0.5:
        settings["lr_scheduler.decay_type"] = random.choice(["linear", "cosine"])
        maybe(random, settings, lr_scheduler__min_lr_factor=[0.1, 0.05])
    if pp > 1:
        settings["parallelism.pipeline_parallel_schedule"] = random.choice(["1F1B", "GPipe", "Interleaved1F1B", "ZBVZeroBubble"])
    settings["activation_checkpoint.mode"] = random.choice(["none", "full", "selective"])
    if settings["activation_checkpoint.mode"] == "selective":
        settings["activation_checkpoint.selective_ac_option"] = random.choice(["2", "op", "4"])
    return settings, 8


def deepspeed(random):
    dp, steps = random.choice([2, 4]), random.choice([1, 2])
    settings = {"train_batch_size": 2 * dp * steps, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": steps,
                "zero_optimization.stage": random.choice([0, 1, 2, 3])}
    maybe(random, settings, gradient_clipping=[0.25, 1.0], zero_optimization__overlap_comm=[True, False], zero_optimization__reduce_bucket_size=[1000000],
          zero_optimization__contiguous_gradients=[False], fp16__enabled=True, communication_data_type="fp32")
    if settings.get("fp16.enabled"):
        maybe(random, settings, fp16__loss_scale=[128], fp16__hysteresis=[4])
    else:
        settings.pop("communication_data_type", None)
    if random.random() < 0.8:
        settings["optimizer.type"] = random.choice(["AdamW", "Adam", "SGD", "Lamb"])
        maybe(random, settings, optimizer__params__lr=[3e-5, 1e-3], optimizer__params__weight_decay=[0.1, 0.0])
        if settings["optimizer.type"] == "SGD":
            maybe(random, settings, optimizer__params__momentum=[0.9])
        else:
            maybe(random, settings, optimizer__params__betas=[[0.8, 0.95]], optimizer__params__eps=[1e-6])
        if settings["optimizer.type"] == "Adam":
            settings["optimizer.params.adam_w_mode"] = False
    if "optimizer.params.lr" in settings and random.random() < 0.8:
        kind = random.choice(["WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "OneCycle"])
        settings.update({"scheduler.type": kind})
        if kind != "OneCycle":
            settings.update({"scheduler.params.warmup_num_steps": 500, "scheduler.params.warmup_type": random.choice(["linear", "log"])})
        if kind in ("WarmupDecayLR", "WarmupCosineLR"):
            settings["scheduler.params.total_num_steps"] = 10000
        if kind in ("WarmupLR", "WarmupDecayLR"):
            settings.update({"scheduler.params.warmup_min_lr": 0, "scheduler.params.warmup_max_lr": settings["optimizer.params.lr"]})
        if kind == "OneCycle":
            settings["scheduler.params.cycle_min_lr"] = 1e-5
    return settings, dp


def nested(settings):
    tree = {}
    for name, value in settings.items():
        *sections, last = name.split(".")
        inner = tree
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[last] = value
    return tree


def flat(tree, prefix=""):
    settings = {}
    for name, value in tree.items():
        settings.update(flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value})
    return settings


def text_of(program, settings):
    if program == "megatron":
        return "pretrain_gpt.py" + "".join(f" \\\n  --{name}" + ("" if value is True else f" {value}") for name, value in settings.items()) + "\n"
    if program == "deepspeed":
        return json.dumps(nested(settings))
    text = ""
    for section, values in nested(settings).items():
        text += f"[{section}]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    return text


def settings_of(program, text):
    if program == "megatron":
        found = {}
        for line in text.splitlines():
            flag, _, value = line.partition(" ")
            found[flag[2:]] = value or True
        return found
    if program == "deepspeed":
        return flat(json.loads(text))
    found, section = {}, ""
    for line in filter(None, text.splitlines()):
        if line[0] == "[":
            section = line[1:-1]
        else:
            name, _, value = line.partition(" = ")
            found[f"{section}.{name}"] = json.loads(value)
    return found


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        return a == b if isinstance(a, list) else str(a) == str(b)


class RoundTripTest(DriverTest):
    def passed(self, program, text, devices):
        path = self.folder / ("run" + ENDING[program])
        path.write_text(text)
        model = () if program != "deepspeed" else ("--model-config", self.folder / "model.json")
        return self.npar("simulate", "--from", path, "--world", devices, *model, "--machine", "dgx-a100", "--as", program).output

    def check(self, program, make):
        (self.folder / "model.json").write_text((FILES / "small.json").read_text())
        for seed in range(COUNT):
            settings, devices = make(random.Random(seed))
            with self.subTest(program=program, seed=seed, settings=settings):
                out = self.passed(program, text_of(program, settings), devices)
                found = settings_of(program, out)
                lost = {name: (value, found.get(name)) for name, value in settings.items() if name not in found or not same(value, found[name])}
                self.assertEqual(lost, {}, out)
                self.assertEqual(set(found) - set(settings) - PLAN[program], set(), out)
                self.assertEqual(self.passed(program, out, devices), out)

    def test_megatron(self):
        self.check("megatron", megatron)

    def test_torchtitan(self):
        self.check("torchtitan", torchtitan)

    def test_deepspeed(self):
        self.check("deepspeed", deepspeed)

    def test_values_go_through_npars_text(self):
        """`--print-plan`, then `npar inspect --as`: all numbers of training come back, from a text without the file."""
        for seed in range(COUNT):
            settings, devices = megatron(random.Random(1000 + seed))
            with self.subTest(seed=seed, settings=settings):
                (self.folder / "run.sh").write_text(text_of("megatron", settings))
                plan = self.npar("simulate", "--from", "run.sh", "--world", devices, "--machine", "dgx-a100", "--print-plan").output
                (self.folder / "made.npar").write_text(plan)
                found = settings_of("megatron", self.npar("inspect", "made.npar", "--config", "megatron", "--as", "megatron").output)
                for name in ("lr", "min-lr", "lr-decay-style", "lr-decay-iters", "lr-warmup-iters", "weight-decay", "clip-grad", "seed", "adam-beta1", "adam-beta2",
                             "adam-eps", "sgd-momentum", "optimizer", "norm-epsilon", "rotary-base", "kv-channels", "num-query-groups", "hidden-dropout",
                             "attention-dropout", "swiglu", "squared-relu", "qk-layernorm", "disable-bias-linear", "normalization"):
                    if name in settings:
                        self.assertTrue(same(settings[name], found.get(name)), (name, settings[name], found.get(name)))


if __name__ == "__main__":
    unittest.main()
