"""The models that are trained, by the names of npar's constants, and what a training step of each computes."""

import dataclasses

# Training settings of npar's standard library (stdlib/models: train base); the same for every competitor.
TRAINING = {"peak": 3e-4, "warmup": 100, "steps": 2000, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "decay": 0.1, "clip": 1.0}

GPT2 = {"vocab": 50257, "context": 1024, "width": 768, "heads": 12, "depth": 12, "length": 512, "batch": 4}
LLAMA = {"vocab": 16384, "context": 512, "width": 768, "mlp": 2048, "heads": 12, "kv_heads": 4, "depth": 12, "length": 512, "batch": 4}
MIXTRAL = {
    "vocab": 8192, "width": 512, "mlp": 1792, "heads": 8, "kv_heads": 4, "depth": 4, "experts": 8, "chosen": 2, "theta": 1e4, "length": 512, "batch": 4,
}  # fmt: skip
RANKS = {"vocab": 512, "context": 128, "width": 256, "heads": 8, "depth": 8, "length": 128, "batch": 16, "micro": 2}


@dataclasses.dataclass(frozen=True)
class Workload:
    """A training step that competitors do. `sizes` are those of `model` in the standard library, with `batch`."""

    key: str
    title: str
    model: str
    sizes: dict
    ranks: int = 1  # data-parallel, each with its part of the batch

    @property
    def tokens(self):
        return self.sizes["batch"] * self.sizes["length"]

    def operations(self):
        """Floating-point operations of the matrix products of a training step, forward and backward, by the part of the model. Of causal
        attention the half counts that is needed, whatever a competitor computes."""
        size = self.sizes
        width, length = size["width"], size["length"]
        if "kv_heads" in size:
            keys = width * size["kv_heads"] // size["heads"]
            weights = 2 * width * width + 2 * width * keys + 3 * width * size["mlp"] * size.get("chosen", 1) + width * size.get("experts", 0)
        else:
            weights = 12 * width * width
        forward = {
            "product of the logits": 2 * width * size["vocab"], "other products": 2 * size["depth"] * weights,
            "attention": 2 * size["depth"] * length * width,
        }  # fmt: skip
        return {name: 3 * each * self.tokens for name, each in forward.items()}

    def product_operations(self):
        """All of `operations`."""
        return sum(self.operations().values())

    def logits(self):
        """The name of the logits' product in npar's traces."""
        return {"gpt2": "matmul", "llama": "matmul lm_head", "mixtral": "matmul lm_head"}[self.model]

    def small(self):
        """The same kind of step that takes no time: to see that everything runs."""
        size = {**self.sizes, "depth": 1, "length": 32, "width": 8 * self.sizes["heads"]}
        size |= {name: min(most, size[name]) for name, most in (("vocab", 512), ("mlp", 256), ("batch", 2)) if name in size}
        return dataclasses.replace(self, title=self.title + ", shrunk", sizes=size)


def sizes_in_words(sizes):
    return f"{sizes['depth']} blocks, width {sizes['width']}, vocabulary {sizes['vocab']:,}, batch {sizes['batch']} x {sizes['length']}"


def workload(key, name, model, sizes, ranks=1):
    return Workload(key, f"{name}: {sizes_in_words(sizes)}", model, sizes, ranks)


TRAINED = {
    one.key: one
    for one in (
        workload("b", "GPT-2 124M", "gpt2", GPT2),
        workload("b4", "GPT-2", "gpt2", {**GPT2, "vocab": 8192, "context": 512, "depth": 4}),
        workload("c", "small GPT", "gpt2", {"vocab": 512, "context": 128, "width": 256, "heads": 8, "depth": 4, "length": 128, "batch": 8}),
        workload("d", "Llama-style 100M", "llama", LLAMA),
        workload("m", "Mixtral, 2 of 8 experts", "mixtral", MIXTRAL),
    )
}

# Models of sizes that are typical for GPUs.
GPT2_ON_GPU = {**GPT2, "length": 1024, "batch": 8}
LLAMA_1B = {"vocab": 32000, "context": 2048, "width": 2048, "mlp": 5632, "heads": 32, "kv_heads": 4, "depth": 22, "length": 2048, "batch": 2}
ON_GPU = {
    one.key: one
    for one in (
        workload("i", "GPT-2 124M on a GPU", "gpt2", GPT2_ON_GPU),
        workload("j", "Llama-style 1B on a GPU", "llama", LLAMA_1B),
        workload("k", "GPT-2 124M, data parallelism of 2 ranks on GPUs", "gpt2", GPT2_ON_GPU, ranks=2),
    )
}
