"""Plans that are written for other programs (`npar inspect --as`): what npar is asked for, and on how many devices."""

# What is written for each plan: {name: (program, devices, arguments)}.
GPT2 = ("gpt2", "--set", "vocab=1024", "--set", "length=128", "--set", "width=256", "--set", "heads=8", "--set", "batch=32")
LLAMA = ("llama", "--config", "Llama-3-8B", "--set", "length=2048", "--set", "batch=64", "--set", "sequence=true")
PLANS = {
    "gpt2": ("megatron", 8, GPT2),
    "gpt2 zero 1": ("megatron", 8, (*GPT2, "--set", "zero=1", "--set", "compute=bf16")),
    "gpt2 zero 3": ("megatron", 4, (*GPT2, "--set", "mesh.pp=1", "--set", "zero=3", "--set", "recompute=block")),
    "gpt2 every 3": ("megatron", 4, (*GPT2, "--set", "mesh.dp=1", "--set", "recompute=3")),
    "llama interleaved": ("megatron", 16, (*LLAMA, "--set", "mesh.dp=4", "--set", "schedule=interleaved", "--set", "chunks=2", "--set", "zero=1")),
    "titan": ("torchtitan", 8, (*LLAMA, "--set", "zero=3", "--set", "recompute=block")),
    "titan gpipe": ("torchtitan", 8, (*LLAMA, "--set", "zero=2", "--set", "schedule=gpipe")),
    "titan interleaved": ("torchtitan", 16, (*LLAMA, "--set", "mesh.dp=4", "--set", "schedule=interleaved", "--set", "chunks=2")),
    "titan zb_v": ("torchtitan", 8, (*LLAMA, "--set", "schedule=zb_v", "--set", "zero=2")),
    "titan data": ("torchtitan", 4, (*LLAMA, "--set", "mesh.dp=4", "--set", "mesh.pp=1", "--set", "mesh.tp=1", "--set", "zero=3")),
    "deepspeed zero 2": ("deepspeed", 8, (*GPT2, "--set", "mesh.dp=8", "--set", "mesh.pp=1", "--set", "mesh.tp=1", "--set", "zero=2", "--set", "compute=bf16")),
    "deepspeed": ("deepspeed", 8, (*GPT2, "--set", "zero=1", "--set", "compute=fp16")),
}
