#!/usr/bin/env python3
"""Hugging Face's own LlamaForCausalLM on random weights: records the loss and the gradients that npar is compared with.

Needs PyTorch and transformers; the tests need only the files it wrote. Run it in this folder, after gpt2_reference.py, to record again:
    python3 llama_reference.py
"""

import inspect
import json
import pathlib
import struct
import sys
import types

import torch
import transformers
from torch.nn import functional
from transformers.models.llama import modeling_llama

import safetensors_file

HERE = pathlib.Path(__file__).resolve().parent
MODEL = {
    "vocab": 61, "context": 32, "width": 16, "mlp": 24, "heads": 4, "kv_heads": 2, "depth": 2, "length": 16,
    "theta": 100.0, "epsilon": 1e-5,
}  # fmt: skip
BATCH = 8


def widened():
    """The same implementation in float64: it casts norms, softmax and rotary angles to float32 whatever it computes in.

    The frequencies stay rounded to float32, as every checkpoint of the family was trained with."""
    text = inspect.getsource(modeling_llama)
    for narrow, wide in (
        ("torch.float32", "torch.float64"),
        ("position_ids[..., None].float()", "position_ids[..., None].double()"),
        ("self.inv_freq.to(device=x.device, dtype=torch.float)", "self.inv_freq.to(device=x.device, dtype=torch.float64)"),
    ):
        assert narrow in text, f"transformers has changed: '{narrow}'"
        text = text.replace(narrow, wide)
    module = types.ModuleType("transformers.models.llama.modeling_llama_float64")
    module.__package__, module.__file__ = modeling_llama.__package__, modeling_llama.__file__
    sys.modules[module.__name__] = module
    exec(compile(text, "modeling_llama_float64", "exec"), module.__dict__)
    return module


def build(implementation):
    config = transformers.LlamaConfig(
        vocab_size=MODEL["vocab"], hidden_size=MODEL["width"], intermediate_size=MODEL["mlp"], num_hidden_layers=MODEL["depth"],
        num_attention_heads=MODEL["heads"], num_key_value_heads=MODEL["kv_heads"], max_position_embeddings=MODEL["context"],
        rms_norm_eps=MODEL["epsilon"], rope_parameters={"rope_type": "default", "rope_theta": MODEL["theta"]},
        tie_word_embeddings=False, attention_dropout=0.0, use_cache=False,
    )  # fmt: skip
    config._attn_implementation = "eager"
    return implementation.LlamaForCausalLM(config)


def initial_weights():
    """Every tensor random, the norms included, so that none of them can be wrong unnoticed; numbers that float32 holds."""
    generator = torch.Generator().manual_seed(21)
    weights = {}
    for name, parameter in build(modeling_llama).named_parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float32)
        weights[name] = 1.0 + 0.1 * noise if "norm" in name else 0.3 * noise
    return weights


def loss_and_gradients(implementation, weights, rows, element):
    model = build(implementation)
    model.load_state_dict(weights)
    model.to(element)
    logits = model(input_ids=rows[:, :-1]).logits
    assert logits.dtype == element
    loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
    loss.backward()
    return loss.item(), {name: parameter.grad for name, parameter in model.named_parameters()}


def main():
    torch.set_num_threads(1)
    data = (HERE / "tokens.u16").read_bytes()
    tokens, length = torch.tensor(struct.unpack(f"<{len(data) // 2}H", data)), MODEL["length"]
    rows = torch.stack([tokens[i * length : i * length + length + 1] for i in range(BATCH)])
    weights = initial_weights()
    loss, gradients = {}, {}
    for name, implementation, element in (("f32", modeling_llama, torch.float32), ("f64", widened(), torch.float64)):
        loss[name], gradients[name] = loss_and_gradients(implementation, weights, rows, element)

    def tensors(values, kind):
        return {name: safetensors_file.Tensor(value.shape, value.flatten().tolist(), kind) for name, value in values.items()}

    safetensors_file.write(HERE / "llama_initial.safetensors", tensors(weights, "F32"))
    safetensors_file.write(HERE / "llama_gradients.safetensors", tensors(gradients["f64"], "F64"))
    recorded = {
        "model": MODEL, "batch": BATCH, "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "loss": loss,
    }  # fmt: skip
    (HERE / "llama_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")
    apart = max((gradients["f32"][name] - value).abs().max().item() / value.abs().max().item() for name, value in gradients["f64"].items())
    print(f"loss {loss['f64']:.6f}; float32 compared with float64: loss {abs(loss['f32'] / loss['f64'] - 1):.1e} apart, gradients {apart:.1e}")


if __name__ == "__main__":
    main()
