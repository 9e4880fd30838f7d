"""GPT-2 in JAX on several host devices of one process, as a competitor (pipe.py): data and tensor parallelism by sharded arrays, which XLA's
partitioner (GSPMD) turns into collectives."""

import functools
import math
import os
import sys
import time

import pipe


def parameters(options):
    """Name: (shape, axes of the mesh by dimension), the layouts of Megatron's tensor parallelism."""
    width, inner, feature = options["width"], 4 * options["width"], options["width"] // options["heads"]
    shapes = {"wte": ((options["vocab"], width), ("tp", None)), "wpe": ((options["length"], width), ()), "ln_f": ((2, width), ())}
    for block in range(options["depth"]):
        shapes.update({
            f"{block}.ln_1": ((2, width), ()),
            f"{block}.qkv": ((width, 3, options["heads"], feature), (None, None, "tp", None)),
            f"{block}.qkv_bias": ((3, options["heads"], feature), (None, "tp", None)),
            f"{block}.out": ((options["heads"], feature, width), ("tp", None, None)),
            f"{block}.out_bias": ((width,), ()),
            f"{block}.ln_2": ((2, width), ()),
            f"{block}.up": ((width, inner), (None, "tp")),
            f"{block}.up_bias": ((inner,), ("tp",)),
            f"{block}.down": ((inner, width), ("tp", None)),
            f"{block}.down_bias": ((width,), ()),
        })  # fmt: skip
    return shapes


def initial(name, shape, key, jax):
    numpy = jax.numpy
    if "ln_" in name:
        return numpy.stack([numpy.ones(shape[1:]), numpy.zeros(shape[1:])])
    return numpy.zeros(shape) if name.endswith("bias") else 0.02 * jax.random.normal(key, shape)


def mean_loss(weights, tokens, options, jax):
    """Of one micro-batch: [micro, length + 1] -> a number."""
    numpy = jax.numpy

    def normed(x, ln):
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * ln[0] + ln[1]

    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = weights["wte"][inputs] + weights["wpe"]
    for block in range(options["depth"]):
        w = functools.partial(lambda block, name: weights[f"{block}.{name}"], block)
        qkv = numpy.einsum("ble,ephf->blphf", normed(x, w("ln_1")), w("qkv")) + w("qkv_bias")
        seen = jax.nn.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], is_causal=True)
        x = x + numpy.einsum("blhf,hfe->ble", seen, w("out")) + w("out_bias")
        x = x + jax.nn.gelu(normed(x, w("ln_2")) @ w("up") + w("up_bias")) @ w("down") + w("down_bias")
    logits = normed(x, weights["ln_f"]) @ weights["wte"].T
    picked = numpy.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()


def training_step(state, tokens, options, jax):
    """Micro-batches one after the other, clipping at 1, AdamW. tokens: [micro-batches, micro * dp, length + 1]."""
    numpy, tree = jax.numpy, jax.tree.map
    weights, first, second, step = state
    zero = tree(numpy.zeros_like, weights)

    def add(sums, micro):
        loss, gradients = jax.value_and_grad(mean_loss)(weights, micro, options, jax)
        return tree(numpy.add, sums, (loss, gradients)), None

    (loss, gradients), _ = jax.lax.scan(add, (numpy.zeros(()), zero), tokens)
    loss, gradients = tree(lambda x: x / tokens.shape[0], (loss, gradients))
    norm = numpy.sqrt(sum((x * x).sum() for x in jax.tree.leaves(gradients)))
    gradients = tree(lambda x: x * numpy.minimum(1.0, 1.0 / (norm + 1e-6)), gradients)
    step = step + 1
    first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = tree(lambda v, g: 0.95 * v + 0.05 * g * g, second, gradients)
    rise, spread = 1 - 0.9**step, 1 - 0.95**step
    weights = tree(lambda w, m, v: w * (1 - 3e-5) - 3e-4 * (m / rise) / (numpy.sqrt(v / spread) + 1e-8), weights, first, second)
    return (weights, first, second, step), loss


class Ranks:
    def __init__(self, options):
        if options["pp"] > 1:
            raise pipe.Absent("JAX has no pipeline of its own for such a step")
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options['dp'] * options['tp']}"
        os.environ["JAX_PLATFORMS"] = "cpu"
        try:
            import jax
            import numpy
        except ImportError as error:
            raise pipe.Absent(f"JAX is not installed for {sys.executable}: {error}") from None
        self.jax, self.options, self.said = jax, options, {"version": jax.__version__}
        devices = numpy.array(jax.devices()).reshape(options["dp"], options["tp"])
        mesh = jax.sharding.Mesh(devices, ("dp", "tp"))  # whose layouts XLA chooses where none is given

        def put(value, *axes):
            return jax.device_put(value, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes)))

        shapes, key = parameters(options), jax.random.key(1)
        weights = {}
        for name, (shape, axes) in shapes.items():
            key, own = jax.random.split(key)
            weights[name] = put(initial(name, shape, own, jax), *axes)
        zeros = [{name: put(jax.numpy.zeros(shape), *axes) for name, (shape, axes) in shapes.items()} for _ in range(2)]
        self.state, self.key = (weights, *zeros, put(jax.numpy.zeros(()))), key
        self.put = lambda tokens: put(tokens, None, "dp")
        self.compiled = jax.jit(lambda state, tokens: training_step(state, tokens, options, jax), donate_argnums=0)

    def train_step(self):
        options = self.options
        self.key, own = self.jax.random.split(self.key)
        together = options["micro"] * options["dp"]
        tokens = self.jax.random.randint(own, (options["batch"] // together, together, options["length"] + 1), 0, options["vocab"])
        tokens = self.jax.block_until_ready(self.put(tokens))
        begun = time.perf_counter()
        self.state, loss = self.jax.block_until_ready(self.compiled(self.state, tokens))
        return time.perf_counter() - begun, float(loss)

    def steps(self, count):
        done = [self.train_step() for _ in range(count)]
        if not all(math.isfinite(loss) for _, loss in done):
            raise pipe.Absent("JAX's loss is not finite")
        return {"seconds": [seconds for seconds, _ in done], "losses": [loss for _, loss in done], "memory": pipe.peak_memory()}


if __name__ == "__main__":
    pipe.serve(Ranks)
