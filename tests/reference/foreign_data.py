"""Plans that are written for other programs (`npar inspect --as`): what npar is asked for, and on how many devices; files of Accelerate."""

# Names the program, the devices and the arguments of each plan that is written: {name: (program, devices, arguments)}.
GPT2 = ("gpt2", "--set", "vocab=1024", "--set", "length=128", "--set", "width=256", "--set", "heads=8", "--set", "batch=32")
LLAMA_SIZES = ("--set", "length=2048", "--set", "batch=64", "--set", "sequence=true")
LLAMA = ("llama", "--config", "Llama-3-8B", *LLAMA_SIZES)
TITAN = ("llama", "--config", "Llama-3.1-8B", *LLAMA_SIZES)  # torchtitan's llama3 has its scaled rotary positions
PLANS = {
    "gpt2": ("megatron", 8, GPT2),
    "gpt2 zero 1": ("megatron", 8, (*GPT2, "--set", "zero=1", "--set", "compute=bf16")),
    "gpt2 zero 3": ("megatron", 4, (*GPT2, "--set", "mesh.pp=1", "--set", "zero=3", "--set", "recompute=block")),
    "gpt2 every 3": ("megatron", 4, (*GPT2, "--set", "mesh.dp=1", "--set", "recompute=3")),
    "llama interleaved": ("megatron", 16, (*LLAMA, "--set", "mesh.dp=4", "--set", "schedule=interleaved", "--set", "chunks=2", "--set", "zero=1")),
    "titan": ("torchtitan", 8, (*TITAN, "--set", "zero=3", "--set", "recompute=block")),
    "titan gpipe": ("torchtitan", 8, (*TITAN, "--set", "zero=2", "--set", "schedule=gpipe")),
    "titan interleaved": ("torchtitan", 16, (*TITAN, "--set", "mesh.dp=4", "--set", "zero=3", "--set", "schedule=interleaved", "--set", "chunks=2")),
    "titan zb_v": ("torchtitan", 8, (*TITAN, "--set", "schedule=zb_v", "--set", "zero=2")),
    "titan data": ("torchtitan", 4, (*TITAN, "--set", "mesh.dp=4", "--set", "mesh.pp=1", "--set", "mesh.tp=1", "--set", "zero=3")),
    "deepspeed zero 2": ("deepspeed", 8, (*GPT2, "--set", "mesh.dp=8", "--set", "mesh.pp=1", "--set", "mesh.tp=1", "--set", "zero=2", "--set", "compute=bf16")),
    "deepspeed": ("deepspeed", 8, (*GPT2, "--set", "zero=1", "--set", "compute=fp16")),
}

# Files of Accelerate, which npar only reads.
ACCELERATE = {
    "ddp": "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\nmixed_precision: bf16\n",
    "alone": "distributed_type: 'NO'\nmixed_precision: fp16\n",
    "fsdp": "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config:\n  fsdp_activation_checkpointing: true\n"
            "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n",
    "fsdp no shares": "distributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n  fsdp_sharding_strategy: NO_SHARD\n",
    "fsdp 2": "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n",
    "megatron": "distributed_type: MEGATRON_LM\nnum_processes: 8\nmixed_precision: bf16\nmegatron_lm_config:\n  megatron_lm_tp_degree: 2\n"
                "  megatron_lm_pp_degree: 2\n  megatron_lm_num_micro_batches: 4\n  megatron_lm_gradient_clipping: 0.5\n"
                "  megatron_lm_sequence_parallelism: true\n  megatron_lm_use_distributed_optimizer: true\n",
    "deepspeed": "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\ndeepspeed_config:\n  gradient_accumulation_steps: 2\n"
                 "  gradient_clipping: 0.5\n  zero_stage: 3\n",
    "deepspeed alone": "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config: {}\n",
}
