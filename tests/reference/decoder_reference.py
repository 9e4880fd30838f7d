#!/usr/bin/env python3
"""Hugging Face's StarCoder 2 (rotary positions, LayerNorm, GELU, biases, grouped queries) in float64, for the model `decoder` with its default
structure: losses of 30 training steps.

Needs PyTorch and transformers; the tests need only decoder_recorded.json, and make the same weights (random_weights.py). To record again:
    python3 decoder_reference.py
"""

import json
import struct

import torch
import transformers
from transformers.models.starcoder2 import modeling_starcoder2

import families_reference
import random_weights
from families_data import BATCH, LENGTH, STEPS

SIZES = {"vocab": 61, "context": 32, "width": 16, "inner": 24, "heads": 4, "kv_heads": 2, "depth": 2, "theta": 100.0, "epsilon": 1e-5}
CONFIG = transformers.Starcoder2Config(
    vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
    norm_epsilon=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 100.0}, use_bias=True, tie_word_embeddings=True, sliding_window=None,
    hidden_act="gelu_pytorch_tanh", attention_dropout=0.0, residual_dropout=0.0, embedding_dropout=0.0,
)  # fmt: skip


def our(path):
    """The parameter's name in npar's model."""
    return path.replace("mlp.c_fc", "mlp.up_proj").replace("mlp.c_proj", "mlp.down_proj")


def main():
    torch.set_num_threads(1)
    CONFIG._attn_implementation, CONFIG.use_cache = "eager", False
    content = (families_reference.HERE / "tokens.u16").read_bytes()
    tokens = torch.tensor(struct.unpack(f"<{len(content) // 2}H", content))
    stream = [torch.stack([tokens[(step * BATCH + row) * LENGTH :][: LENGTH + 1] for row in range(BATCH)]) for step in range(STEPS)]
    shapes = {path: list(parameter.shape) for path, parameter in families_reference.made(modeling_starcoder2, "Starcoder2ForCausalLM", CONFIG).named_parameters()}
    weights = random_weights.weights({our(path): tuple(shape) for path, shape in shapes.items()})
    wide = families_reference.widened(modeling_starcoder2)
    training = families_reference.Training(wide, "Starcoder2ForCausalLM", CONFIG, {path: weights[our(path)] for path in shapes}, torch.float64)
    losses = training.losses(stream)
    print(f"loss {losses[0]:.6f} to {losses[-1]:.6f}")
    recorded = {"sizes": SIZES, "batch": BATCH, "length": LENGTH, "adamw": families_reference.ADAMW, "losses": losses,
                "shapes": {our(path): shape for path, shape in shapes.items()}}
    (families_reference.HERE / "decoder_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
