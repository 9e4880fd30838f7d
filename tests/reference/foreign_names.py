#!/usr/bin/env python3
"""Lists the names of all settings that the other programs' own parsers know, with their defaults, in foreign_names.json. The test of the
classes of names (test_foreign_names.py) finds the names without a class there.

Needs Megatron-LM's and torchtitan's sources (see foreign_reference.py), the packages deepspeed, accelerate and transformers, and the files that
HUGGINGFACE has: training_args.py of older releases of transformers and of optimum-neuron, and the example scripts run_clm.py, run_mlm.py, run_glue.py and
run_image_classification.py. To list again:
    python3 foreign_names.py --megatron MEGATRON --torchtitan TORCHTITAN --huggingface FILE ...
"""

import argparse
import ast
import contextlib
import dataclasses
import enum
import importlib.metadata
import io
import json
import os
import pathlib
import re
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
SMALLEST = "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1".split()


def word(value):
    """A default as a file would have it; empty: none."""
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or value is dataclasses.MISSING or type(value).__name__ == "PydanticUndefinedType":
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return " ".join(word(one) for one in value) or "[]"
    return str(value)


def megatron(sources):
    """Flags without dashes and with `_` for `-`, and the names in the list of arguments that Megatron-LM prints."""
    sys.path.insert(0, sources)
    if not hasattr(typing, "override"):  # of Python 3.12
        typing.override = lambda function: function
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
    with contextlib.redirect_stdout(io.StringIO()):
        from megatron.training import arguments

        arguments.get_device_arch_version = lambda: 10
        parser = arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
        sys.argv = ["pretrain_gpt.py", *SMALLEST]
        found = arguments.parse_args()
        arguments.validate_args(found)
    names = {name: word(value) for name, value in vars(found).items() if not name.startswith("_")}
    for action in parser._actions:
        for flag in action.option_strings:
            if flag.startswith("--"):
                names.setdefault(flag[2:].replace("-", "_"), word(action.default) if action.nargs != 0 else "")
    return names


def torchtitan(sources):
    sys.path.insert(0, sources)
    from torchtitan.config import JobConfig

    names = {}

    def add(prefix, config):
        for field in dataclasses.fields(config):
            value = getattr(config, field.name)
            if dataclasses.is_dataclass(value):
                add(f"{prefix}{field.name}.", value)
            else:
                names[prefix + field.name] = word(value)

    add("", JobConfig())
    return names


def deepspeed():
    """Sections are pydantic models where DeepSpeed has one; the others are read from its constants by hand."""
    from deepspeed.comm.config import CommsLoggerConfig
    from deepspeed.compile.config import CompileConfig
    from deepspeed.monitor.config import CometConfig, CSVConfig, TensorBoardConfig, WandbConfig
    from deepspeed.profiling.config import DeepSpeedFlopsProfilerConfig
    from deepspeed.runtime import config, constants, precision_config
    from deepspeed.runtime.activation_checkpointing import config as checkpointing
    from deepspeed.runtime.swap_tensor import constants as swapping
    from deepspeed.runtime.tensor_parallel.config import TPTrainingConfig
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig

    names = {}

    def add(prefix, model):
        for name, field in model.model_fields.items():
            inside = [one for one in (field.annotation, *typing.get_args(field.annotation)) if hasattr(one, "model_fields")]
            for key in dict.fromkeys([name, *([field.alias] if field.alias else [])]):
                if inside:
                    add(f"{prefix}{key}.", inside[0])
                else:
                    names[prefix + key] = word(field.default)

    add("zero_optimization.", DeepSpeedZeroConfig)
    add("tensor_parallel.", TPTrainingConfig)
    for section, model in (("tensorboard", TensorBoardConfig), ("wandb", WandbConfig), ("csv_monitor", CSVConfig), ("comet", CometConfig),
                           ("comms_logger", CommsLoggerConfig), ("compile", CompileConfig), ("hybrid_engine", config.HybridEngineConfig),
                           ("fp16", precision_config.DeepSpeedFP16Config), ("bf16", precision_config.DeepSpeedBF16Config)):
        add(section + ".", model)
    for name in names.copy():
        if name.startswith("bf16."):
            names["bfloat16." + name[5:]] = names[name]
    source = pathlib.Path(config.__file__).read_text() + pathlib.Path(sys.modules[DeepSpeedZeroConfig.__module__].__file__).read_text()
    for key in re.findall(r"get_scalar_param\(\s*param_dict,\s*(\w+)", source):
        if hasattr(constants, key):
            names[getattr(constants, key)] = word(getattr(constants, key + "_DEFAULT", None))
    for key in ("COMMUNICATION_DATA_TYPE", "SEQ_PARALLEL_COMMUNICATION_DATA_TYPE", "GRADIENT_CLIPPING", "MEMORY_BREAKDOWN"):
        names[getattr(constants, key)] = word(getattr(constants, key + "_DEFAULT", None))
    for prefix, section in (("AMP_", "amp"), ("TORCH_AUTOCAST_", "torch_autocast"), ("EIGENVALUE_", "eigenvalue"), ("PLD_", "progressive_layer_drop")):
        for key, value in vars(constants).items():
            if key.startswith(prefix) and isinstance(value, str) and key + "_DEFAULT" in vars(constants):
                names[f"{section}.{value}"] = word(getattr(constants, key + "_DEFAULT"))
    for key in ("GRAD_ACCUM_DTYPE", "PARAM_DTYPE", "BUFFER_DTYPE"):
        names[f"data_types.{getattr(constants, key)}"] = ""
    for key, value in vars(checkpointing).items():
        if key.startswith("ACT_CHKPT_") and isinstance(value, str) and key + "_DEFAULT" in vars(checkpointing):
            names[f"activation_checkpointing.{value}"] = word(getattr(checkpointing, key + "_DEFAULT"))
    for key, value in vars(swapping).items():
        if key.startswith("AIO_") and isinstance(value, str) and key + "_DEFAULT" in vars(swapping):
            names[f"aio.{value}"] = word(getattr(swapping, key + "_DEFAULT"))
    for name in ("enabled", "recompute_fwd_factor", "profile_step", "module_depth", "top_modules", "detailed", "output_file"):
        names[f"flops_profiler.{name}"] = word(getattr(DeepSpeedFlopsProfilerConfig({}), name))
    for name in ("optimizer.type", "optimizer.legacy_fusion", "scheduler.type", "pipeline.stages", "pipeline.partition", "pipeline.seed_layers",
                 "pipeline.activation_checkpoint_interval", "pipeline.pipe_partitioned", "pipeline.grad_partitioned"):
        names[name] = ""
    return names


def accelerate():
    """What `accelerate config` writes, with the sections' names, which are flags of `accelerate launch`."""
    from accelerate.commands.config.config_args import ClusterConfig
    from accelerate.commands.launch import launch_command_parser

    names = {field.name: word(field.default) for field in dataclasses.fields(ClusterConfig)}
    sections = {"fsdp_": "fsdp_config", "megatron_lm_": "megatron_lm_config", "parallelism_config_": "parallelism_config", "fp8_": "fp8_config",
                "dynamo_": "dynamo_config", "mpirun_": "mpirun_config", "deepspeed_": "deepspeed_config", "zero": "deepspeed_config",
                "offload_": "deepspeed_config", "gradient_": "deepspeed_config"}
    for action in launch_command_parser()._actions:
        section = next((section for start, section in sections.items() if action.dest.startswith(start)), None)
        if section:
            key = action.dest[4:] if section == "fp8_config" else action.dest
            names[f"{section}.{key}"] = word(action.default)
    for name in list(names):  # a section is no setting
        if any(other.startswith(name + ".") for other in names):
            del names[name]
    return names


def huggingface(files):
    """The fields of the installed TrainingArguments, and those of the classes of arguments in other files, which are not run."""
    from transformers import TrainingArguments

    names = {}
    for field in dataclasses.fields(TrainingArguments):
        names[field.name] = "" if field.default_factory is not dataclasses.MISSING else word(field.default)
    for path in files:
        for node in ast.walk(ast.parse(pathlib.Path(path).read_text())):
            if not isinstance(node, ast.ClassDef) or not node.name.endswith(("Arguments", "ArgumentsMixin")):
                continue
            for field in node.body:
                if not isinstance(field, ast.AnnAssign):
                    continue
                default = field.value
                if isinstance(default, ast.Call):
                    default = next((one.value for one in default.keywords if one.arg == "default"), None)
                names.setdefault(field.target.id, word(default.value) if isinstance(default, ast.Constant) else "")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("megatron", "torchtitan"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--huggingface", nargs="+", required=True)
    options = parser.parse_args()
    version = importlib.metadata.version
    found = {
        "accelerate": {"version": version("accelerate"), "names": accelerate()},
        "deepspeed": {"version": version("deepspeed"), "names": deepspeed()},
        "huggingface": {"version": version("transformers"), "names": huggingface(options.huggingface)},
        "torchtitan": {"version": "eeca21577", "names": torchtitan(options.torchtitan)},
        "megatron": {"version": "d98e8a64dd", "names": megatron(options.megatron)},
    }
    for one in found.values():
        one["names"] = dict(sorted(one["names"].items()))
    (HERE / "foreign_names.json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
