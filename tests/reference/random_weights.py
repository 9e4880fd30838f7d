"""Weights of small models from a seed, with the standard library only: the recording script and the tests make the same, and store none."""

import math
import random
import zlib

from safetensors_file import Tensor

GPT2 = {"vocab": 71, "context": 160, "width": 32, "heads": 4, "depth": 2}
LLAMA = {"vocab": 67, "context": 160, "width": 32, "mlp": 40, "heads": 4, "kv_heads": 2, "depth": 2, "theta": 100.0, "epsilon": 1e-5}
PROMPT = [3, 14, 15, 9, 26, 5, 35]
SEED = 17


def gpt2_shapes(model):
    width = model["width"]
    shapes = {"wte.weight": (model["vocab"], width), "wpe.weight": (model["context"], width)}
    for block in range(model["depth"]):
        sizes = {
            "ln_1.weight": (width,), "ln_1.bias": (width,), "attn.c_attn.weight": (width, 3 * width), "attn.c_attn.bias": (3 * width,),
            "attn.c_proj.weight": (width, width), "attn.c_proj.bias": (width,), "ln_2.weight": (width,), "ln_2.bias": (width,),
            "mlp.c_fc.weight": (width, 4 * width), "mlp.c_fc.bias": (4 * width,),
            "mlp.c_proj.weight": (4 * width, width), "mlp.c_proj.bias": (width,),
        }  # fmt: skip
        shapes.update({f"h.{block}.{name}": shape for name, shape in sizes.items()})
    shapes.update({"ln_f.weight": (width,), "ln_f.bias": (width,)})
    return shapes


def llama_shapes(model):
    width, mlp, keys = model["width"], model["mlp"], model["kv_heads"] * model["width"] // model["heads"]
    shapes = {"model.embed_tokens.weight": (model["vocab"], width)}
    for block in range(model["depth"]):
        sizes = {
            "self_attn.q_proj": (width, width), "self_attn.k_proj": (keys, width), "self_attn.v_proj": (keys, width),
            "self_attn.o_proj": (width, width), "mlp.gate_proj": (mlp, width), "mlp.up_proj": (mlp, width), "mlp.down_proj": (width, mlp),
            "input_layernorm": (width,), "post_attention_layernorm": (width,),
        }  # fmt: skip
        shapes.update({f"model.layers.{block}.{name}.weight": shape for name, shape in sizes.items()})
    shapes.update({"model.norm.weight": (width,), "lm_head.weight": (model["vocab"], width)})
    return shapes


def weights(shapes, seed=SEED):
    """{name: Tensor}: norms near 1, everything else wide enough that the best token is a clear one. Each number is a multiple of 2^-20, which
    float32 holds."""
    tensors = {}
    for name, shape in shapes.items():
        chance = random.Random(seed * 2**32 + zlib.crc32(name.encode()))
        count = 1
        for size in shape:
            count *= size
        scale = 0.2 if len(shape) == 1 else 0.5
        middle = 1.0 if ("ln_" in name or "norm" in name) and name.endswith("weight") else 0.0
        values = [middle + round((2 * chance.random() - 1) * scale * 2**20) / 2**20 for _ in range(count)]
        tensors[name] = Tensor(shape, values)
    return tensors


ROUTERS = ("mlp.gate.weight", "block_sparse_moe.gate.weight", "mlp.router.weight")
LIKING = (0.0, 0.6, -2.0)  # of the first experts; 0 for the others


def with_liking(tensors):
    """The weights, with routers that follow the first feature, which all positions have: one expert is in most choices, and another in none."""
    routers = [name for name in tensors if name.endswith(ROUTERS)]
    for name, tensor in tensors.items() if routers else ():
        width = tensor.shape[-1]
        if name.endswith("embed_tokens.weight"):
            tensor.values[::width] = [2.0] * tensor.shape[0]
        if name.endswith("post_attention_layernorm.weight"):
            tensor.values[0] = 1.0
        if name in routers:
            tensor.values[::width] = [*LIKING, *[0.0] * (tensor.shape[0] - len(LIKING))]
    return tensors


def tokens(model, count, seed=SEED):
    """A sequence that repeats itself now and then."""
    chance, sequence = random.Random(seed), []
    while len(sequence) < count:
        begin = chance.randrange(len(sequence) + 1) if chance.random() < 0.3 else 0
        sequence += sequence[begin : begin + 9] if begin else [chance.randrange(model["vocab"]) for _ in range(9)]
    return sequence[:count]


def digest(name, values, seed=SEED):
    """Returns three numbers that tell a gradient from another one: its norm, and its products with two random directions of that norm's scale."""
    chance = random.Random(seed * 2**32 + zlib.crc32(b"digest " + name.encode()))
    directions = [[chance.choice((-1, 1)) for _ in values] for _ in range(2)]
    dots = [math.fsum(value * sign for value, sign in zip(values, direction)) for direction in directions]
    return [math.sqrt(math.fsum(value * value for value in values)), *dots]
