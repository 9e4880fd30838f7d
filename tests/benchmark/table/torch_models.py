"""GPT-2 and Llama in PyTorch as a careful user writes them: fused attention, linear layers, names of Hugging Face's files. Mixtral is transformers'.
Random weights."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.c_attn, self.c_proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, dim=2))
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.c_proj(seen.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """The head is tied to the table of tokens."""

    def __init__(self, vocab, context, width, heads, depth, **_):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.h:
            x = block(x)
        return functional.linear(self.ln_f(x), self.wte.weight)

    def stored(self):
        """Its tensors as in Hugging Face's files: weights of GPT-2's layers are stored as [in, out]."""
        layers = {name + ".weight" for name, module in self.named_modules() if isinstance(module, nn.Linear)}
        return {name: value.t() if name in layers else value for name, value in self.named_parameters()}


class Rotary(nn.Module):
    """Turns the pair (i, i + half) of each head's features by position * theta^(-i / half)."""

    def __init__(self, length, feature, theta=10000.0):
        super().__init__()
        half = feature // 2
        angles = torch.outer(torch.arange(length).float(), theta ** (-torch.arange(half).float() / half))
        self.register_buffer("cosine", angles.cos().repeat(1, 2))
        self.register_buffer("sine", angles.sin().repeat(1, 2))

    def forward(self, x):
        first, second = x.chunk(2, dim=-1)
        return (x * self.cosine + torch.cat((-second, first), dim=-1) * self.sine).to(x.dtype)


class GroupedAttention(nn.Module):
    def __init__(self, width, heads, kv_heads):
        super().__init__()
        self.feature, self.groups = width // heads, heads // kv_heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, kv_heads * self.feature, bias=False)
        self.v_proj = nn.Linear(width, kv_heads * self.feature, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x, rotary):
        batch, length, width = x.shape
        query, key, value = (layer(x).view(batch, length, -1, self.feature).transpose(1, 2) for layer in (self.q_proj, self.k_proj, self.v_proj))
        query, key = rotary(query), rotary(key).repeat_interleave(self.groups, dim=1)
        seen = functional.scaled_dot_product_attention(query, key, value.repeat_interleave(self.groups, dim=1), is_causal=True)
        return self.o_proj(seen.transpose(1, 2).reshape(batch, length, width))


class SwiGlu(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaBlock(nn.Module):
    def __init__(self, width, mlp, heads, kv_heads):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.self_attn, self.mlp = GroupedAttention(width, heads, kv_heads), SwiGlu(width, mlp)

    def forward(self, x, rotary):
        x = x + self.self_attn(self.input_layernorm(x), rotary)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, vocab, width, mlp, heads, kv_heads, depth, length, **_):
        super().__init__()
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(vocab, width)
        self.model.layers = nn.ModuleList(LlamaBlock(width, mlp, heads, kv_heads) for _ in range(depth))
        self.model.norm = nn.RMSNorm(width, eps=1e-5)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.rotary = Rotary(length, width // heads)

    def forward(self, tokens):
        x = self.model.embed_tokens(tokens)
        for block in self.model.layers:
            x = block(x, self.rotary)
        return self.lm_head(self.model.norm(x))

    def stored(self):
        return dict(self.named_parameters())


class Mixtral(nn.Module):
    """`experts_by`: how transformers computes experts."""

    def __init__(self, vocab, width, mlp, heads, kv_heads, depth, experts, chosen, theta, length, experts_by, **_):
        import transformers

        super().__init__()
        config = transformers.MixtralConfig(
            vocab_size=vocab, hidden_size=width, intermediate_size=mlp, num_hidden_layers=depth, num_attention_heads=heads, num_key_value_heads=kv_heads,
            num_local_experts=experts, num_experts_per_tok=chosen, max_position_embeddings=length, rms_norm_eps=1e-5, sliding_window=None, use_cache=False,
            rope_parameters={"rope_type": "default", "rope_theta": theta}, attn_implementation="sdpa", experts_implementation=experts_by,
        )  # fmt: skip
        self.whole = transformers.MixtralForCausalLM(config)

    def forward(self, tokens):
        return self.whole(input_ids=tokens).logits

    def stored(self):
        """Its tensors as in Hugging Face's files, which have a tensor for each expert's matrix."""
        import expert_tensors  # of tests/reference, as torch_train.py has it on the path

        return dict(expert_tensors.stored(self.whole, self.whole.named_parameters()))


def build(model, sizes, device="cpu", seed=1):
    """A model with the same random weights for the same seed, drawn where it is: a processor takes long for large ones."""
    with torch.device(device):
        built = {"gpt2": Gpt2, "llama": Llama, "mixtral": Mixtral}[model](**sizes)
    chance = torch.Generator(device).manual_seed(seed)
    with torch.no_grad():
        for name, parameter in built.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.02, generator=chance)
            elif name.endswith("bias"):
                parameter.zero_()
    return built
