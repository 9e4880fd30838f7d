#!/usr/bin/env python3
"""Hugging Face's own models of stdlib's families, small and with random weights: records losses of 30 training steps, and what the gradients
of the first and the loads of experts with a selection bias are, for npar to be compared with.

Needs PyTorch and transformers; the tests need only families_recorded.json, and make the same weights (random_weights.py). Run it in this folder to
record all families again, or those named:
    python3 families_reference.py [NAME ...]
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
from transformers import modeling_rope_utils
from transformers.core_model_loading import revert_weight_conversion
from transformers.models.bert import modeling_bert
from transformers.models.bloom import modeling_bloom
from transformers.models.deepseek_v2 import modeling_deepseek_v2
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.deit import modeling_deit
from transformers.models.distilbert import modeling_distilbert
from transformers.models.gemma import modeling_gemma
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.mixtral import modeling_mixtral
from transformers.models.olmo2 import modeling_olmo2
from transformers.models.olmoe import modeling_olmoe
from transformers.models.phi3 import modeling_phi3
from transformers.models.qwen2 import modeling_qwen2
from transformers.models.qwen2_moe import modeling_qwen2_moe
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.qwen3_moe import modeling_qwen3_moe
from transformers.models.roberta import modeling_roberta
from transformers.models.starcoder2 import modeling_starcoder2
from transformers.models.t5 import modeling_t5
from transformers.models.vit import modeling_vit
from transformers.models.xlm_roberta import modeling_xlm_roberta

import families_data
import expert_tensors
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
DISTILLED = dict(
    vocab_size=61, dim=16, hidden_dim=24, n_layers=2, n_heads=4, max_position_embeddings=32, dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0,
    num_labels=KINDS,
)  # fmt: skip

PICTURES = dict(
    hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, image_size=families_data.SIDE, patch_size=4, hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0, num_labels=KINDS,
)  # fmt: skip
LATENT = dict(
    moe_intermediate_size=12, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=1, n_group=4, topk_group=2, first_k_dense_replace=1, kv_lora_rank=8,
    qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=5, num_mtp_layers=0,
)  # fmt: skip


def rope(kind, theta=100.0, **numbers):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **numbers}}


def llama(scaling, **more):
    """Heads of 8 features, so that four frequencies differ."""
    return modeling_llama, "LlamaForCausalLM", transformers.LlamaConfig(**{**DECODER, "hidden_size": 32, **scaling, **more})


WIDE = {**DECODER, "hidden_size": 32}
# Name: its code, class, configuration.
FAMILIES = {
    "llama_llama3": llama(rope("llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
    "llama_linear": llama(rope("linear", factor=3.0), attention_bias=True, mlp_bias=True),
    "llama_yarn": llama(rope("yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=4.0, beta_slow=0.5)),
    "llama_yarn_mscale": llama(rope("yarn", factor=4.0, original_max_position_embeddings=16, mscale=0.7, mscale_all_dim=0.4, truncate=False)),
    "llama_dynamic": llama(rope("dynamic", factor=2.0), max_position_embeddings=8),
    "qwen2_yarn": (modeling_qwen2, "Qwen2ForCausalLM", transformers.Qwen2Config(
        **{**WIDE, **rope("yarn", factor=2.0, original_max_position_embeddings=16)})),
    "phi3": (modeling_phi3, "Phi3ForCausalLM", transformers.Phi3Config(
        **{**WIDE, **rope("default"), "num_key_value_heads": 4}, sliding_window=7, pad_token_id=None, original_max_position_embeddings=32)),
    "phi3_longrope": (modeling_phi3, "Phi3ForCausalLM", transformers.Phi3Config(
        **{**WIDE, **rope("longrope", short_factor=[1.0, 1.25, 1.5, 2.0], long_factor=[1.5, 2.0, 3.0, 4.5], original_max_position_embeddings=8)},
        original_max_position_embeddings=8, pad_token_id=None)),
    "phi3_longrope_short": (modeling_phi3, "Phi3ForCausalLM", transformers.Phi3Config(
        **{**WIDE, **rope("longrope", short_factor=[1.0, 1.25, 1.5], long_factor=[1.5, 2.0, 3.0], original_max_position_embeddings=20,
                          partial_rotary_factor=0.75)},
        original_max_position_embeddings=20, pad_token_id=None, tie_word_embeddings=True)),
    "gpt_neox": (modeling_gpt_neox, "GPTNeoXForCausalLM", transformers.GPTNeoXConfig(
        vocab_size=61, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5})),
    "gpt_neox_serial": (modeling_gpt_neox, "GPTNeoXForCausalLM", transformers.GPTNeoXConfig(
        vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32,
        use_parallel_residual=False, attention_bias=False, rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 1.0})),
    "gptj": (modeling_gptj, "GPTJForCausalLM", transformers.GPTJConfig(vocab_size=61, n_positions=32, n_embd=32, n_layer=2, n_head=4, rotary_dim=4)),
    "olmo2": (modeling_olmo2, "Olmo2ForCausalLM", transformers.Olmo2Config(**DECODER, pad_token_id=None)),
    "gemma": (modeling_gemma, "GemmaForCausalLM", transformers.GemmaConfig(**{**DECODER, "num_key_value_heads": 1}, head_dim=6, pad_token_id=None)),
    "gemma3": (modeling_gemma3, "Gemma3ForCausalLM", transformers.Gemma3TextConfig(
        **{**DECODER, "num_hidden_layers": 3, "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}},
        head_dim=6, query_pre_attn_scalar=5, sliding_window=5, pad_token_id=None, layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    "starcoder2": (modeling_starcoder2, "Starcoder2ForCausalLM", transformers.Starcoder2Config(
        **{**{key: value for key, value in DECODER.items() if key != "rms_norm_eps"}, "intermediate_size": 24}, sliding_window=5)),
    "bloom": (modeling_bloom, "BloomForCausalLM", transformers.BloomConfig(vocab_size=61, hidden_size=16, n_layer=2, n_head=4)),
    "bloom_six": (modeling_bloom, "BloomForCausalLM", transformers.BloomConfig(
        vocab_size=61, hidden_size=24, n_layer=2, n_head=6, apply_residual_connection_post_layernorm=True)),
    "xlm_roberta": (modeling_xlm_roberta, "XLMRobertaForMaskedLM", transformers.XLMRobertaConfig(**ENCODER, type_vocab_size=1, layer_norm_eps=1e-5)),
    "bert_regress": (modeling_bert, "BertForSequenceClassification", transformers.BertConfig(**{**ENCODER, "num_labels": 1})),
    "roberta_multi": (modeling_roberta, "RobertaForSequenceClassification", transformers.RobertaConfig(
        **ENCODER, type_vocab_size=2, layer_norm_eps=1e-5, problem_type="multi_label_classification")),
    "distilbert": (modeling_distilbert, "DistilBertForMaskedLM", transformers.DistilBertConfig(**DISTILLED)),
    "distilbert_classify": (modeling_distilbert, "DistilBertForSequenceClassification", transformers.DistilBertConfig(**DISTILLED)),
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
    "mixtral": (modeling_mixtral, "MixtralForCausalLM", transformers.MixtralConfig(**DECODER, num_local_experts=6, sliding_window=5)),
    "qwen3_moe": (modeling_qwen3_moe, "Qwen3MoeForCausalLM", transformers.Qwen3MoeConfig(
        **{**DECODER, "num_hidden_layers": 3}, moe_intermediate_size=10, head_dim=6, num_experts=6, num_experts_per_tok=3, norm_topk_prob=True,
        mlp_only_layers=[1])),
    "olmoe": (modeling_olmoe, "OlmoeForCausalLM", transformers.OlmoeConfig(**DECODER, num_experts=6, num_experts_per_tok=3, pad_token_id=None)),
    "qwen2_moe": (modeling_qwen2_moe, "Qwen2MoeForCausalLM", transformers.Qwen2MoeConfig(
        **{**DECODER, "num_hidden_layers": 3}, moe_intermediate_size=12, shared_expert_intermediate_size=20, num_experts=6, num_experts_per_tok=3,
        decoder_sparse_step=2)),
    "gpt_oss": (modeling_gpt_oss, "GptOssForCausalLM", transformers.GptOssConfig(
        **{**DECODER, **rope("yarn", theta=150.0, factor=4.0, original_max_position_embeddings=8, beta_fast=4.0, beta_slow=0.5, truncate=False)}, head_dim=8,
        num_local_experts=6, num_experts_per_tok=2, sliding_window=5, swiglu_limit=0.5)),
    "deepseek_v3": (modeling_deepseek_v3, "DeepseekV3ForCausalLM", transformers.DeepseekV3Config(
        **{**DECODER, **LATENT, **rope("yarn", factor=4.0, original_max_position_embeddings=8, mscale=1.0, mscale_all_dim=0.7), "num_hidden_layers": 3,
           "num_key_value_heads": 4}, q_lora_rank=10)),
    "deepseek_v2": (modeling_deepseek_v2, "DeepseekV2ForCausalLM", transformers.DeepseekV2Config(
        **{**DECODER, **{key: value for key, value in LATENT.items() if key != "num_mtp_layers"}, "num_key_value_heads": 4}, q_lora_rank=10,
        topk_method="group_limited_greedy", routed_scaling_factor=3.0)),
    "deepseek_v3_plain": (modeling_deepseek_v3, "DeepseekV3ForCausalLM", transformers.DeepseekV3Config(
        **{**DECODER, **LATENT, "num_key_value_heads": 4, "n_group": 1, "topk_group": 1, "n_shared_experts": 2, "norm_topk_prob": False}, q_lora_rank=None,
        rope_interleave=False, attention_bias=True)),
    "vit": (modeling_vit, "ViTForImageClassification", transformers.ViTConfig(**PICTURES)),
    "vit_floats": (modeling_vit, "ViTForImageClassification", transformers.ViTConfig(
        **{**PICTURES, "image_size": families_data.SIDE + 2}, num_channels=1, qkv_bias=False, hidden_act="gelu_pytorch_tanh", layer_norm_eps=1e-6)),
    "deit": (modeling_deit, "DeiTForImageClassification", transformers.DeiTConfig(**PICTURES)),
    "deit_teacher": (modeling_deit, "DeiTForImageClassificationWithTeacher", transformers.DeiTConfig(**PICTURES)),
}
# transformers casts to float32 in some places. Here these are float64, except frequencies of rotary positions: every checkpoint was trained with float32 there.
FREQUENCIES = re.compile(r"^.*torch\.arange\(.*$", re.MULTILINE)
WIDER = {"torch.float32": "torch.float64", ".float()": ".double()", "dtype=torch.float)": "dtype=torch.float64)", "dtype=torch.float,": "dtype=torch.float64,"}
# The parts of modeling_rope_utils that round: exponent, power and reciprocal to float32, the scaled frequencies once more at the end.
POWERS = {
    "inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.int64).to(device=device, dtype=torch.float) / dim))":
        "inv_freq = (1.0 / (base ** (torch.arange(0, dim, 2).float() / dim).double()).float()).double()",
    "pos_freqs = base ** (torch.arange(0, dim, 2).to(device=device, dtype=torch.float) / dim)":
        "pos_freqs = (base ** (torch.arange(0, dim, 2).float() / dim).double()).float()",
    "inv_freq_extrapolation = 1.0 / pos_freqs": "inv_freq_extrapolation = (1.0 / pos_freqs).double()",
    "inv_freq_interpolation = 1.0 / (factor * pos_freqs)": "inv_freq_interpolation = inv_freq_extrapolation / factor",
    "inv_freq = 1.0 / (ext_factors * base**inv_freq_shape)":
        "inv_freq = (1.0 / (base ** inv_freq_shape.double()).float()).double() / ext_factors.double()",
    "torch.arange(dim, dtype=torch.float32)": "torch.arange(dim, dtype=torch.float64)",
    ".to(device=device, dtype=torch.float)\n": ".double()\n",
    "    # Compute the inverse frequencies\n    base = base *": "    seq_len = float(seq_len)\n    base = base *",
    "return inv_freq, attention_factor": "return inv_freq.float(), attention_factor",
    "return inv_freq_llama, attention_factor": "return inv_freq_llama.float(), attention_factor",
}
# Constants of eight digits, and angles that are rounded to float32 like the frequencies.
EXACT = {
    "0.79788456 ": "0.7978845608028654 ", "0.1070322243 ": "0.10703222440890037 ",
    "torch.arange(num_pos, dtype=torch.int64).float()[:, None]": "torch.arange(num_pos).double()[:, None]",
}


def compiled(name, text, module):
    made = types.ModuleType(name)
    made.__package__, made.__file__ = module.__package__, module.__file__
    sys.modules[name] = made
    exec(compile(text, name, "exec"), made.__dict__)
    return made


def exact_frequencies():
    text = inspect.getsource(modeling_rope_utils)
    for rounded, exact in POWERS.items():
        assert rounded in text, rounded
        text = text.replace(rounded, exact)
    return compiled(modeling_rope_utils.__name__ + "_float64", text, modeling_rope_utils)


def widened(module):
    """The same code in float64 throughout."""
    text = inspect.getsource(module).replace("...modeling_rope_utils import", "...modeling_rope_utils_float64 import")
    kept = FREQUENCIES.findall(text)
    text = FREQUENCIES.sub("@frequencies@", text)
    for narrow, wide in WIDER.items():
        text = text.replace(narrow, wide)
    for line in kept:
        text = text.replace("@frequencies@", line, 1)
    for rounded, exact in EXACT.items():
        text = text.replace(rounded, exact)
    return compiled(module.__name__ + "_float64", text, module)


def made(module, name, config):
    model = getattr(module, name)(config)
    if getattr(config, "scale_decoder_outputs", True) is False:  # T5 1.1, whose head transformers tied only of late
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    return model


def parameters_of(model):
    """(path, parameter), each once; a tied head has the name of the embedding, as in files."""
    paths = dict(model.named_parameters())
    if model.config.model_type in ("vit", "deit"):
        return list(revert_weight_conversion(model, paths).items())
    tied = model._tied_weights_keys or {}
    named = [(tied[path] if path in tied and tied[path] not in paths else path, parameter) for path, parameter in paths.items()]
    return expert_tensors.stored(model, named)


# Each class is trained on one of these; a class that is not listed is trained on the stream of tokens.
TASKS = {"ForMaskedLM": "masked", "ForSequenceClassification": "classify", "ForImageClassification": "picture", "WithTeacher": "distill",
         "Model": "sentence", "ForConditionalGeneration": "translate"}


def task_of(name, config):
    task = next((task for ending, task in TASKS.items() if name.endswith(ending)), None)
    if task == "picture" and config.num_channels == 1:
        return "floats"
    if task == "classify" and config.num_labels == 1:
        return "regress"
    return "multi" if task == "classify" and config.problem_type == "multi_label_classification" else task


def masked(model, part, pad):
    logits = model(input_ids=part["tokens"], attention_mask=part["tokens"] != pad).logits
    return functional.cross_entropy(logits.flatten(0, 1), part["targets"].flatten(), ignore_index=IGNORED)


def classify(model, part, pad):
    """The loss is the model's own, by its problem_type."""
    pair = {"token_type_ids": part["segment"]} if "segment" in part else {}
    label = part["label"].to(model.dtype) if part["label"].is_floating_point() else part["label"]
    return model(input_ids=part["tokens"], attention_mask=part["tokens"] != pad, labels=label, **pair).loss


regress = multi = classify


def picture(model, part, pad):
    pixels = part["image"] if part["image"].is_floating_point() else (part["image"].double() / 255 - 0.5) / 0.5
    return model(pixel_values=pixels.to(model.dtype), labels=part["label"]).loss


floats = picture


def distill(model, part, pad):
    """As DeiT was trained: the second head learns a teacher's choice (Touvron et al. 2021, equation 3)."""
    result = model(pixel_values=((part["image"].double() / 255 - 0.5) / 0.5).to(model.dtype))
    own = functional.cross_entropy(result.cls_logits, part["label"])
    return (own + functional.cross_entropy(result.distillation_logits, part["choice"])) / 2


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


def batches_of(task, pad, stream, segments):
    if not task:
        return stream
    whole = {name: torch.tensor(values).view(shape) for name, (_, shape, values) in families_data.data(task, pad, segments).items()}
    whole = {name: tensor.long() if not tensor.is_floating_point() else tensor for name, tensor in whole.items()}
    return [{name: tensor[step * BATCH : (step + 1) * BATCH] for name, tensor in whole.items()} for step in range(STEPS)]


class Training:
    """A model as it is trained in one element type."""

    def __init__(self, module, name, config, weights, element):
        functions = modeling_rope_utils.ROPE_INIT_FUNCTIONS  # by which models fill their buffers again after they are made
        rounded = dict(functions)
        if element == torch.float64:
            functions.update(sys.modules[modeling_rope_utils.__name__ + "_float64"].ROPE_INIT_FUNCTIONS)
        self.model, self.pad = made(module, name, config), getattr(config, "pad_token_id", None)
        functions.update(rounded)
        self.loss = globals()[task_of(name, config) or "causal"]
        with torch.no_grad():
            for path, parameter in parameters_of(self.model):
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


def gradient(parameter):
    """0 for a parameter that the loss does not need, such as the pooler of vectors of sentences."""
    return torch.zeros(parameter.shape) if parameter.grad is None else parameter.grad


def count_choices(model):
    """{path of a selection bias: how many choices its experts had}; filled when the model runs."""
    loads = {}
    for path, router in model.named_modules():
        if hasattr(router, "e_score_correction_bias"):
            name, experts = path + ".e_score_correction_bias", len(router.e_score_correction_bias)
            router.register_forward_hook(lambda _, inputs, found, name=name, experts=experts: loads.update(
                {name: torch.bincount(found[2].flatten(), minlength=experts).tolist()}))  # fmt: skip
    return loads


def record(module, name, config, stream):
    written = config.to_diff_dict()  # before the model's loss writes into it
    config._attn_implementation, config._experts_implementation, config.use_cache = "eager", "eager", False
    batches = batches_of(task_of(name, config), getattr(config, "pad_token_id", None), stream, config.model_type != "distilbert")
    shapes = {path: tuple(parameter.shape) for path, parameter in parameters_of(made(module, name, config))}
    weights = random_weights.with_liking(random_weights.weights(shapes))
    wide = widened(module)
    first = Training(wide, name, config, weights, torch.float64)
    loads = count_choices(first.model)
    first.gradients(batches[0])
    gradients = {path: random_weights.digest(path, gradient(parameter).flatten().tolist()) for path, parameter in parameters_of(first.model)}
    losses = {
        "f64": Training(wide, name, config, weights, torch.float64).losses(batches),
        "f32": Training(module, name, config, weights, torch.float32).losses(batches),
    }
    apart = max(abs(narrow / exact - 1) for narrow, exact in zip(losses["f32"], losses["f64"]))
    assert apart < 1e-5, apart
    print(f"{config.model_type:8} loss {losses['f64'][0]:.6f} to {losses['f64'][-1]:.6f}; float32 and float64 are {apart:.1e} apart")
    written["architectures"] = [name]
    if written.pop("scale_decoder_outputs", True) is False:
        written["tie_word_embeddings"] = False
    written.pop("use_cache", None)
    recorded = {"task": task_of(name, config), "config": written, "shapes": {path: list(shape) for path, shape in shapes.items()}, "gradients": gradients, "losses": losses}
    return {**recorded, "loads": loads} if loads else recorded


def main():
    torch.set_num_threads(1)
    exact_frequencies()
    data = (HERE / "tokens.u16").read_bytes()
    tokens = torch.tensor(struct.unpack(f"<{len(data) // 2}H", data))
    sample = lambda i: tokens[i * LENGTH : i * LENGTH + LENGTH + 1]  # noqa: E731
    batches = [torch.stack([sample(step * BATCH + row) for row in range(BATCH)]) for step in range(STEPS)]
    file = HERE / "families_recorded.json"
    families = {name: record(*FAMILIES[name], batches) for name in sys.argv[1:] or FAMILIES}
    before = json.loads(file.read_text())["families"] if sys.argv[1:] else {}
    recorded = {
        "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "batch": BATCH, "length": LENGTH, "adamw": ADAMW,
        "families": {**before, **families},
    }  # fmt: skip
    file.write_text(json.dumps(recorded, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
