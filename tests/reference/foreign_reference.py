#!/usr/bin/env python3
"""Has Megatron-LM's argument parser (with its checks of arguments), torchtitan's configuration and DeepSpeed's configuration class read what `npar
inspect --as` writes; records the text that they took, and what they understood of it. Has Accelerate's plugins read files that npar reads.

Needs the sources of the first two, PyTorch, tyro, tomli, einops, deepspeed and accelerate; the tests need only foreign_recorded.json. Of torchtitan the sources are those of a release
that reads TOML (before February 2026: torchtitan/config/job_config.py). To record again, for each of the two folders of sources:
    python3 foreign_reference.py --npar ../../build/bin/npar --megatron MEGATRON --torchtitan TORCHTITAN
"""

import argparse
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

import foreign_data

HERE = pathlib.Path(__file__).resolve().parent
OF_MEGATRON = (
    "world_size", "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size", "data_parallel_size", "micro_batch_size",
    "global_batch_size", "virtual_pipeline_model_parallel_size", "sequence_parallel", "use_distributed_optimizer", "use_megatron_fsdp",
    "data_parallel_sharding_strategy", "recompute_granularity", "recompute_method", "recompute_num_layers", "bf16", "fp16",
    "accumulate_allreduce_grads_in_fp32", "use_tp_pp_dp_mapping", "num_layers", "hidden_size", "ffn_hidden_size", "num_query_groups", "seq_length")
OF_TORCHTITAN = ("parallelism", "training", "activation_checkpoint", "optimizer", "model")


def written(npar, program, arguments):
    return subprocess.run([npar, "inspect", *arguments, "--as", program], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()


def megatron(sources, text, devices):
    """Without a GPU: the one question about it is answered by hand."""
    if sources not in sys.path:
        sys.path.insert(0, sources)
    if not hasattr(typing, "override"):  # of Python 3.12
        typing.override = lambda function: function
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(devices))
    from megatron.training import arguments

    arguments.get_device_arch_version = lambda: 10
    sys.argv = ["pretrain_gpt.py", *text.split()]
    with contextlib.redirect_stdout(io.StringIO()):
        found = arguments.parse_args()
        arguments.validate_args(found)
    return {name: getattr(found, name) for name in OF_MEGATRON}


def torchtitan(sources, text, devices):
    if sources not in sys.path:
        sys.path.insert(0, sources)
    from torchtitan.config import ConfigManager
    from torchtitan.distributed import ParallelDims

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.toml"
        path.write_text(text)
        config = ConfigManager().parse_args(["--job.config_file", str(path)])
    mesh = config.parallelism
    ParallelDims(dp_replicate=mesh.data_parallel_replicate_degree, dp_shard=mesh.data_parallel_shard_degree, cp=mesh.context_parallel_degree,
                 tp=mesh.tensor_parallel_degree, pp=mesh.pipeline_parallel_degree, ep=1, etp=1, world_size=devices)
    whole = dataclasses.asdict(config)
    given = __import__("tomli").loads(text)
    return {section: {name: whole[section][name] for name in given[section]} for section in OF_TORCHTITAN if section in given}


def deepspeed(text, ranks):
    """`ranks`: of data parallelism, which DeepSpeed asks its communication for."""
    from deepspeed.runtime import config

    config.dist.get_rank, config.dist.get_world_size = lambda *_: 0, lambda *_: ranks
    found = config.DeepSpeedConfig(json.loads(text))
    return {"train_batch_size": found.train_batch_size, "train_micro_batch_size_per_gpu": found.train_micro_batch_size_per_gpu,
            "gradient_accumulation_steps": found.gradient_accumulation_steps, "zero": int(found.zero_config.stage),
            "overlap_comm": found.zero_config.overlap_comm, "bf16": found.bfloat16_config.enabled, "fp16": found.float16_config.enabled,
            "gradient_clipping": found.gradient_clipping, "optimizer": found.optimizer_name, "params": found.optimizer_params,
            "scheduler": found.scheduler_name, "schedule": found.scheduler_params}


def accelerate(text):
    """What the launcher and the plugin for the kind of run make of a file; a CUDA device is made up."""
    import torch
    from accelerate.commands import launch
    from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin, MegatronLMPlugin, dataclasses as plugins
    from accelerate.utils.launch import prepare_multi_gpu_env

    plugins.is_cuda_available, torch.cuda.current_device = lambda: True, lambda: 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.yaml"
        path.write_text(text)
        arguments = launch.launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
        arguments, _, _ = launch._validate_launch_command(arguments)
    found = {"num_processes": arguments.num_processes, "mixed_precision": arguments.mixed_precision}
    before = dict(os.environ)
    try:
        environment = prepare_multi_gpu_env(arguments)
        if arguments.use_deepspeed:
            arguments.deepspeed_fields_from_accelerate_config = ""
            environment = launch.prepare_deepspeed_cmd_env(arguments)[1]
        os.environ.update(environment)
        if arguments.use_fsdp:
            plugin = FullyShardedDataParallelPlugin()
            found.update(sharding=str(plugin.sharding_strategy), reshard=plugin.reshard_after_forward, recompute=plugin.activation_checkpointing)
        elif arguments.use_megatron_lm:
            plugin = MegatronLMPlugin()
            found.update({name: getattr(plugin, name) for name in ("tp_degree", "pp_degree", "num_micro_batches", "gradient_clipping", "sequence_parallelism",
                                                                  "use_distributed_optimizer")})
        elif arguments.use_deepspeed:
            plugin = DeepSpeedPlugin()
            found.update({name: getattr(plugin, name) for name in ("zero_stage", "gradient_accumulation_steps", "gradient_clipping")})
    finally:
        os.environ.clear()
        os.environ.update(before)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("npar", "megatron", "torchtitan"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--check", action="store_true", help="compare with what was recorded, write nothing")
    options = parser.parse_args()
    readers = {"megatron": lambda *rest: megatron(options.megatron, *rest), "torchtitan": lambda *rest: torchtitan(options.torchtitan, *rest),
               "deepspeed": lambda text, devices: deepspeed(text, devices // json.loads(text).get("pipeline", {}).get("stages", 1)
                                                            // json.loads(text).get("tensor_parallel", {}).get("autotp_size", 1))}
    recorded = {}
    for name, (program, devices, arguments) in foreign_data.PLANS.items():
        text = written(options.npar, program, arguments)
        recorded[name] = {"text": text, "understood": readers[program](text, devices)}
    for name, text in foreign_data.ACCELERATE.items():
        recorded["accelerate " + name] = {"text": text, "understood": accelerate(text)}
    path = HERE / "foreign_recorded.json"
    if not options.check:
        path.write_text(json.dumps(recorded, indent=1) + "\n")
    elif recorded != json.loads(path.read_text()):
        sys.exit("what they understand is not what was recorded")


if __name__ == "__main__":
    main()
