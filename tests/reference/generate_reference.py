#!/usr/bin/env python3
"""Hugging Face's own GPT-2 and Llama on random weights: records the logits, greedy tokens and losses that npar is compared with.

Needs PyTorch and transformers; the tests need only the file it wrote. Run it in this folder to record again:
    python3 generate_reference.py
"""

import json
import pathlib

import torch
import transformers
from torch.nn import functional

import random_weights

HERE = pathlib.Path(__file__).resolve().parent
COUNT = 100  # greedy tokens
LENGTH, TOKENS = 24, 500  # of a sample, of the file that is evaluated: its last sample is not full


def gpt2():
    model = random_weights.GPT2
    config = transformers.GPT2Config(
        vocab_size=model["vocab"], n_positions=model["context"], n_embd=model["width"], n_layer=model["depth"], n_head=model["heads"],
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
    )  # fmt: skip
    built = transformers.GPT2LMHeadModel(config)
    load(built.transformer, random_weights.gpt2_shapes(model))
    built.tie_weights()
    return model, built


def llama():
    model = random_weights.LLAMA
    config = transformers.LlamaConfig(
        vocab_size=model["vocab"], hidden_size=model["width"], intermediate_size=model["mlp"], num_hidden_layers=model["depth"],
        num_attention_heads=model["heads"], num_key_value_heads=model["kv_heads"], max_position_embeddings=model["context"],
        rms_norm_eps=model["epsilon"], rope_parameters={"rope_type": "default", "rope_theta": model["theta"]},
        tie_word_embeddings=False, attention_dropout=0.0, use_cache=False,
    )  # fmt: skip
    built = transformers.LlamaForCausalLM(config)
    load(built, random_weights.llama_shapes(model))
    return model, built


def load(module, shapes):
    tensors = random_weights.weights(shapes)
    state = {name: torch.tensor(list(tensor.values)).reshape(tensor.shape) for name, tensor in tensors.items()}
    missing, unexpected = module.load_state_dict(state, strict=False)
    assert not unexpected and all(name.endswith(("attn.bias", "masked_bias", "inv_freq")) for name in missing), (missing, unexpected)


@torch.no_grad()
def greedy(built):
    """The prompt's logits, the tokens that follow, and by how much the best logit of each step leads."""
    sequence, leads = list(random_weights.PROMPT), []
    first = built(input_ids=torch.tensor([sequence])).logits[0]
    assert first.dtype == torch.float32
    for _ in range(COUNT):
        last = built(input_ids=torch.tensor([sequence])).logits[0, -1]
        best = torch.topk(last, 2).values
        leads.append((best[0] - best[1]).item())
        sequence.append(int(last.argmax()))
    return {
        "logits": [round(value, 7) for value in first[-1].tolist()],
        "tokens": sequence[len(random_weights.PROMPT) :],
        "leads": [round(lead, 6) for lead in leads],
    }


@torch.no_grad()
def evaluate(model, built):
    """The mean over all tokens except the first, each sample by itself."""
    tokens, total = random_weights.tokens(model, TOKENS), 0.0
    for begin in range(0, TOKENS - 1, LENGTH):
        inputs, targets = tokens[begin : begin + LENGTH], tokens[begin + 1 : begin + LENGTH + 1]
        logits = built(input_ids=torch.tensor([inputs[: len(targets)]])).logits[0]
        total += functional.cross_entropy(logits.double(), torch.tensor(targets), reduction="sum").item()
    return total / (TOKENS - 1)


def main():
    torch.set_num_threads(1)
    recorded = {"length": LENGTH, "count": TOKENS, "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    for name, (model, built) in {"gpt2": gpt2(), "llama": llama()}.items():
        built.eval()
        recorded[name] = {"loss": evaluate(model, built), **greedy(built)}
        leads = recorded[name]["leads"]
        print(f"{name}: loss {recorded[name]['loss']:.6f}, least lead {min(leads):.2e}, tokens {len(set(recorded[name]['tokens']))} different")
    (HERE / "generate_recorded.json").write_text(json.dumps(recorded) + "\n")


if __name__ == "__main__":
    main()
