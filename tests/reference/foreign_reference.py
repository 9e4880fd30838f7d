#!/usr/bin/env python3
"""Has Megatron-LM's argument parser (with its checks of arguments) and torchtitan's configuration read what `npar inspect --as` writes; records the
text that they took, and what they understood of it.

Needs their sources, PyTorch, tyro, tomli and einops; the tests need only foreign_recorded.json. Of torchtitan the sources are those of a release
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("npar", "megatron", "torchtitan"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--check", action="store_true", help="compare with what was recorded, write nothing")
    options = parser.parse_args()
    readers = {"megatron": lambda *rest: megatron(options.megatron, *rest), "torchtitan": lambda *rest: torchtitan(options.torchtitan, *rest)}
    recorded = {}
    for name, (program, devices, arguments) in foreign_data.PLANS.items():
        if program in readers:
            text = written(options.npar, program, arguments)
            recorded[name] = {"text": text, "understood": readers[program](text, devices)}
    path = HERE / "foreign_recorded.json"
    if not options.check:
        path.write_text(json.dumps(recorded, indent=1) + "\n")
    elif recorded != json.loads(path.read_text()):
        sys.exit("what they understand is not what was recorded")


if __name__ == "__main__":
    main()
