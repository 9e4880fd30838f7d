#!/usr/bin/env python3
"""Hugging Face's own models of stdlib's families, small and with random weights: records losses of 30 training steps, and what the gradients of
the first are, for npar to be compared with.

Needs PyTorch and transformers; the tests need only families_recorded.json, and make the same weights (random_weights.py). Run it in this folder to
record again:
    python3 families_reference.py
"""

import inspect
import json
import pathlib
import re
import struct
import sys
import types

import torch
import transformers
from torch.nn import functional
from transformers.models.bert import modeling_bert
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.mistral import modeling_mistral
from transformers.models.qwen2 import modeling_qwen2
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.roberta import modeling_roberta
from transformers.models.t5 import modeling_t5

import families_data
import random_weights
from families_data import BATCH, IGNORED, KINDS, LENGTH, STEPS

HERE = pathlib.Path(__file__).resolve().parent
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.01}
DECODER = dict(
    vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=32, rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 100.0},
)  # fmt: skip
ENCODER = dict(
    vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32, hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0, num_labels=KINDS,
)  # fmt: skip
TRANSLATOR = dict(
    vocab_size=61, d_model=16, d_kv=6, d_ff=24, num_heads=4, num_layers=2, num_decoder_layers=3, relative_attention_num_buckets=8,
    relative_attention_max_distance=10, dropout_rate=0.0,
)  # fmt: skip
# Name: its code, class, configuration.
FAMILIES = {
    "gemma2": (modeling_gemma2, "Gemma2ForCausalLM", transformers.Gemma2Config(
        **DECODER, head_dim=6, query_pre_attn_scalar=5, attn_logit_softcapping=2.0, final_logit_softcapping=3.0, sliding_window=5,
        pad_token_id=None)),  # else the rows of the token 0 have no gradient of their look-up
    "mistral": (modeling_mistral, "MistralForCausalLM", transformers.MistralConfig(**DECODER, sliding_window=5, head_dim=4)),
    "qwen2": (modeling_qwen2, "Qwen2ForCausalLM", transformers.Qwen2Config(**DECODER)),
    "qwen2_tied": (modeling_qwen2, "Qwen2ForCausalLM", transformers.Qwen2Config(**DECODER, tie_word_embeddings=True)),
    "bert": (modeling_bert, "BertForMaskedLM", transformers.BertConfig(**ENCODER)),
    "bert_classify": (modeling_bert, "BertForSequenceClassification", transformers.BertConfig(**ENCODER)),
    "bert_sentence": (modeling_bert, "BertModel", transformers.BertConfig(**ENCODER)),
    "roberta": (modeling_roberta, "RobertaForMaskedLM", transformers.RobertaConfig(**ENCODER, type_vocab_size=1, layer_norm_eps=1e-5)),
    "roberta_classify": (modeling_roberta, "RobertaForSequenceClassification", transformers.RobertaConfig(**ENCODER, type_vocab_size=2, layer_norm_eps=1e-5)),
    "t5": (modeling_t5, "T5ForConditionalGeneration", transformers.T5Config(**TRANSLATOR)),
    "t5_gated": (modeling_t5, "T5ForConditionalGeneration", transformers.T5Config(
        **TRANSLATOR, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    "qwen3": (modeling_qwen3, "Qwen3ForCausalLM", transformers.Qwen3Config(**DECODER, head_dim=6)),
}
# Where float64 is meant the code casts to float32, but for frequencies of rotary positions, which every checkpoint was trained with in float32.
FREQUENCIES = re.compile(r"^.*torch\.arange\(.*$", re.MULTILINE)
WIDER = {"torch.float32": "torch.float64", ".float()": ".double()", "dtype=torch.float)": "dtype=torch.float64)"}


def widened(module):
    """The same code in float64 throughout."""
    text = inspect.getsource(module)
    kept = FREQUENCIES.findall(text)
    text = FREQUENCIES.sub("@frequencies@", text)
    for narrow, wide in WIDER.items():
        text = text.replace(narrow, wide)
    for line in kept:
        text = text.replace("@frequencies@", line, 1)
    wide = types.ModuleType(module.__name__ + "_float64")
    wide.__package__, wide.__file__ = module.__package__, module.__file__
    sys.modules[wide.__name__] = wide
    exec(compile(text, wide.__name__, "exec"), wide.__dict__)
    return wide


def made(module, name, config):
    """Without what no loss needs."""
    model = getattr(module, name)(config, add_pooling_layer=False) if name.endswith("Model") else getattr(module, name)(config)
    if getattr(config, "scale_decoder_outputs", True) is False:  # T5 1.1, whose head transformers tied only of late
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    return model


# What a class is trained on; none is the stream of tokens.
TASKS = {"ForMaskedLM": "masked", "ForSequenceClassification": "classify", "Model": "sentence", "ForConditionalGeneration": "translate"}


def task_of(name):
    return next((task for ending, task in TASKS.items() if name.endswith(ending)), None)


def masked(model, part, pad):
    logits = model(input_ids=part["tokens"], attention_mask=part["tokens"] != pad).logits
    return functional.cross_entropy(logits.flatten(0, 1), part["targets"].flatten(), ignore_index=IGNORED)


def classify(model, part, pad):
    logits = model(input_ids=part["tokens"], attention_mask=part["tokens"] != pad, token_type_ids=part["segment"]).logits
    return functional.cross_entropy(logits, part["label"])


def sentence(model, part, pad):
    """As the package sentence-transformers pools: the mean of what is no padding, made 1 long."""
    there = part["tokens"] != pad
    hidden = model(input_ids=part["tokens"], attention_mask=there).last_hidden_state
    mean = (hidden * there[..., None]).sum(1) / there.sum(1)[:, None]
    return functional.mse_loss(functional.normalize(mean, dim=1), part["goal"].to(mean.dtype))


def translate(model, part, pad):
    logits = model(input_ids=part["read"], attention_mask=part["read"] != pad, decoder_input_ids=part["tokens"]).logits
    return functional.cross_entropy(logits.flatten(0, 1), part["targets"].flatten(), ignore_index=IGNORED)


def causal(model, rows, pad):
    logits = model(input_ids=rows[:, :-1]).logits
    return functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def batches_of(task, pad, stream):
    if not task:
        return stream
    whole = {name: torch.tensor(values).view(shape) for name, (_, shape, values) in families_data.data(task, pad).items()}
    whole = {name: tensor.long() if not tensor.is_floating_point() else tensor for name, tensor in whole.items()}
    return [{name: tensor[step * BATCH : (step + 1) * BATCH] for name, tensor in whole.items()} for step in range(STEPS)]


class Training:
    """A model as it is trained in one element type."""

    def __init__(self, module, name, config, weights, element):
        self.model, self.pad = made(module, name, config), config.pad_token_id
        self.loss = globals()[task_of(name) or "causal"]
        with torch.no_grad():
            for path, parameter in self.model.named_parameters():
                parameter.copy_(torch.tensor(weights[path].values).view(parameter.shape))
        self.model.to(element)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), **ADAMW)

    def gradients(self, batch):
        """The loss of a batch; its gradients are in the parameters."""
        self.optimizer.zero_grad()
        loss = self.loss(self.model, batch, self.pad)
        loss.backward()
        return loss.item()

    def losses(self, batches):
        found = []
        for batch in batches:
            found.append(self.gradients(batch))
            self.optimizer.step()
        return found


def record(module, name, config, stream):
    config._attn_implementation, config.use_cache = "eager", False
    batches = batches_of(task_of(name), config.pad_token_id, stream)
    shapes = {path: tuple(parameter.shape) for path, parameter in made(module, name, config).named_parameters()}
    weights = random_weights.weights(shapes)
    wide = widened(module)
    first = Training(wide, name, config, weights, torch.float64)
    first.gradients(batches[0])
    gradients = {path: random_weights.digest(path, parameter.grad.flatten().tolist()) for path, parameter in first.model.named_parameters()}
    losses = {
        "f64": Training(wide, name, config, weights, torch.float64).losses(batches),
        "f32": Training(module, name, config, weights, torch.float32).losses(batches),
    }
    apart = max(abs(narrow / exact - 1) for narrow, exact in zip(losses["f32"], losses["f64"]))
    assert apart < 1e-5, apart
    print(f"{config.model_type:8} loss {losses['f64'][0]:.6f} to {losses['f64'][-1]:.6f}; float32 beside float64: {apart:.1e} apart")
    written = config.to_diff_dict()
    written["architectures"] = [name]
    if written.pop("scale_decoder_outputs", True) is False:
        written["tie_word_embeddings"] = False
    written.pop("use_cache", None)
    return {"task": task_of(name), "config": written, "shapes": {path: list(shape) for path, shape in shapes.items()}, "gradients": gradients, "losses": losses}


def main():
    torch.set_num_threads(1)
    data = (HERE / "tokens.u16").read_bytes()
    tokens = torch.tensor(struct.unpack(f"<{len(data) // 2}H", data))
    sample = lambda i: tokens[i * LENGTH : i * LENGTH + LENGTH + 1]  # noqa: E731
    batches = [torch.stack([sample(step * BATCH + row) for row in range(BATCH)]) for step in range(STEPS)]
    recorded = {
        "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "batch": BATCH, "length": LENGTH, "adamw": ADAMW,
        "families": {name: record(*family, batches) for name, family in FAMILIES.items()},
    }  # fmt: skip
    (HERE / "families_recorded.json").write_text(json.dumps(recorded, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
