#!/usr/bin/env python3
"""Names and shapes of the tensors that transformers writes of a small T5 and a small Mixtral, and T5's loss and gradient norm over three steps in float64.

Needs PyTorch and transformers; the test needs only the file it wrote. In this folder:
    python3 names_reference.py

transformers computes norms and the buckets of positions in float32 whatever the model is in: its source runs here with that widened, as in
llama_reference.py.
"""

import inspect
import json
import pathlib
import re
import sys
import tempfile
import types

import torch
from safetensors import safe_open
from transformers import MixtralConfig, MixtralForCausalLM, T5Config
from transformers.models.t5 import modeling_t5

import random_weights
from names_data import BATCH, STEPS, T5, data

torch.set_default_dtype(torch.float64)


def widened():
    text = inspect.getsource(modeling_t5)
    for narrow, wide in (("torch.float32", "torch.float64"), (".float()", ".double()")):
        assert narrow in text, f"transformers has changed: '{narrow}'"
        text = text.replace(narrow, wide)
    module = types.ModuleType("transformers.models.t5.modeling_t5_float64")
    module.__package__, module.__file__ = modeling_t5.__package__, modeling_t5.__file__
    sys.modules[module.__name__] = module
    exec(compile(text, "modeling_t5_float64", "exec"), module.__dict__)
    return module


def shapes_of(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        with safe_open(f"{folder}/model.safetensors", "pt") as file:
            return {name: file.get_slice(name).get_shape() for name in sorted(file.keys())}


def main():
    mixtral = MixtralForCausalLM(MixtralConfig(
        vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4, num_local_experts=4,
    ))  # fmt: skip
    model = widened().T5ForConditionalGeneration(T5Config(
        vocab_size=T5["vocab"], d_model=T5["width"], d_kv=T5["width"] // T5["heads"], d_ff=T5["inner"], num_layers=T5["depth"],
        num_decoder_layers=T5["decoder_depth"], num_heads=T5["heads"], relative_attention_num_buckets=T5["buckets"],
        relative_attention_max_distance=T5["farthest"], dropout_rate=0.0, feed_forward_proj="relu", layer_norm_epsilon=1e-6,
        attn_implementation="eager",
    ))  # fmt: skip
    recorded = {"t5": shapes_of(model), "mixtral": shapes_of(mixtral), "log": []}
    weights = random_weights.weights(recorded["t5"])
    state = {name: torch.tensor(tensor.values).reshape(tensor.shape) for name, tensor in weights.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all(name.endswith(("embed_tokens.weight", "lm_head.weight")) for name in missing), (missing, unexpected)
    whole = {name: torch.tensor(tensor.values).reshape(tensor.shape) for name, tensor in data().items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    for step in range(STEPS):
        part = {name: tensor[step * BATCH : (step + 1) * BATCH].long() for name, tensor in whole.items()}
        loss = model(input_ids=part["read"], decoder_input_ids=part["tokens"], labels=part["targets"]).loss
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        recorded["log"].append({"step": step, "loss": loss.item(), "grad_norm": norm.item()})
    text = re.sub(r"\[\s+([\d,\s]+?)\s+\]", lambda found: "[" + ", ".join(found[1].replace(",", " ").split()) + "]", json.dumps(recorded, indent=1))
    pathlib.Path(__file__).with_name("names_recorded.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
