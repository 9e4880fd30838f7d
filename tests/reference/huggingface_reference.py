#!/usr/bin/env python3
"""Small folders as transformers itself writes them, with random weights: what `npar import` reads and `npar export` must write again.

Needs PyTorch and transformers; the tests need only the files it wrote. Run it in this folder to record again:
    python3 huggingface_reference.py
With the names of folders it reads each with transformers instead and prints a hash of its tensors, type and logits: for what npar wrote.
    python3 huggingface_reference.py FOLDER...
"""

import hashlib
import json
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent / "huggingface"
GPT2 = dict(vocab_size=37, n_positions=12, n_embd=8, n_head=2, n_layer=2, bos_token_id=0, eos_token_id=0)
LLAMA = dict(
    vocab_size=37, hidden_size=16, intermediate_size=20, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
    max_position_embeddings=16, rms_norm_eps=1e-6, bos_token_id=0, eos_token_id=0,
)  # fmt: skip


def randomised(model, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.1 * noise if "ln_" in name or "norm" in name else 0.3 * noise)
    return model.to(dtype)


def folders():
    """Name, model, and how it is saved."""
    llama = transformers.LlamaForCausalLM
    yield "gpt2", randomised(transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2)), 1, torch.float32), {}
    yield "llama", randomised(llama(transformers.LlamaConfig(**LLAMA)), 2, torch.bfloat16), {"max_shard_size": "3KB"}
    tied = transformers.LlamaConfig(**LLAMA, tie_word_embeddings=True, head_dim=6, rope_parameters={"rope_type": "default", "rope_theta": 500.0})
    yield "llama_tied", randomised(llama(tied), 3, torch.float32), {}


def write_old_gpt2():
    """The names of the first GPT-2 files: without a prefix, with masks among the weights, and with a stored head, in float16."""
    model = randomised(transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2)), 4, torch.float16)
    folder = HERE / "gpt2_old"
    folder.mkdir(parents=True)
    tensors = {name.removeprefix("transformer."): value.contiguous().clone() for name, value in model.state_dict().items()}
    positions = GPT2["n_positions"]
    for block in range(GPT2["n_layer"]):
        tensors[f"h.{block}.attn.bias"] = torch.tril(torch.ones(positions, positions)).half().view(1, 1, positions, positions)
        tensors[f"h.{block}.attn.masked_bias"] = torch.tensor(-1e4).half()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 0, "embd_pdrop": 0.1,
        "eos_token_id": 0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": positions,
        "n_embd": 8, "n_head": 2, "n_layer": 2, "n_positions": positions, "resid_pdrop": 0.1, "summary_activation": None,
        "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}, "vocab_size": 37,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def digest(model):
    """Over names, types, shapes and bytes of all tensors."""
    state = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        state.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        state.update(value.contiguous().view(torch.uint8).numpy().tobytes())
    return state.hexdigest()[:16]


def describe(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=torch.arange(8)[None]).logits.float()
    return f"{digest(model)} {model.dtype} logits {logits.abs().sum():.6f}"


def main():
    if len(sys.argv) > 1:
        for folder in sys.argv[1:]:
            print(folder, describe(folder))
        return
    shutil.rmtree(HERE, ignore_errors=True)
    for name, model, options in folders():
        model.save_pretrained(HERE / name, **options)
        (HERE / name / "generation_config.json").unlink()
    write_old_gpt2()
    for folder in sorted(HERE.iterdir()):
        print(folder.name, describe(folder))


if __name__ == "__main__":
    main()
