"""Trains a model in PyTorch, eager or compiled, some steps whenever the driver asks: the process of one competitor (pipe.py)."""

import array
import contextlib
import ctypes
import math
import pathlib
import sys
import time

import pipe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "reference"))
import safetensors_file  # noqa: E402


def learning_rate(step, training):
    """Warm-up, then a half cosine to zero: the stdlib's cosine(peak, warmup, steps, final = 0)."""
    if step < training["warmup"]:
        return training["peak"] * (step + 1) / training["warmup"]
    part = min(1.0, (step - training["warmup"]) / (training["steps"] - training["warmup"]))
    return 0.5 * training["peak"] * (1 + math.cos(math.pi * part))


class Trainer:
    def __init__(self, request):
        import torch
        from torch_models import build

        torch.set_num_threads(request["threads"])
        self.torch, self.training, self.sizes = torch, request["training"], request["sizes"]
        self.device = request["device"]
        if self.device == "cuda" and not torch.cuda.is_available():
            raise pipe.Absent(f"PyTorch {torch.__version__} finds no GPU")
        more = {"experts_by": request["experts"]} if "experts" in request else {}
        self.model = build(request["model"], {**self.sizes, **more}, self.device)
        betas = (self.training["beta1"], self.training["beta2"])
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), betas=betas, eps=self.training["epsilon"], weight_decay=self.training["decay"], fused=True
        )
        stored = array.array("H", pathlib.Path(request["tokens"]).read_bytes())
        self.data, self.step = torch.tensor(stored, dtype=torch.int64), 0
        self.narrow = request["type"] == "bf16"
        self.loss = torch.compile(self.plain_loss) if request["compiled"] else self.plain_loss
        self.said = {"version": torch.__version__.split("+")[0], "parameters": sum(one.numel() for one in self.model.parameters())}

    def plain_loss(self, tokens, targets):
        return self.torch.nn.functional.cross_entropy(self.model(tokens).flatten(0, 1), targets.flatten())

    def batch(self):
        """The next samples of the file in their order, and from the first again after the last: what npar reads."""
        rows, length = self.sizes["batch"], self.sizes["length"]
        samples = (len(self.data) - 1) // length
        starts = [(self.step * rows + row) % samples * length for row in range(rows)]
        return (self.torch.stack([self.data[start + late : start + late + length] for start in starts]).to(self.device) for late in (0, 1))

    def now(self):
        """When all that was started is done."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()
        return time.perf_counter()

    def train_step(self):
        tokens, targets = self.batch()
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.training)
        begun = self.now()
        with self.torch.autocast(self.device, dtype=self.torch.bfloat16) if self.narrow else contextlib.nullcontext():
            loss = self.loss(tokens, targets)
        self.optimizer.zero_grad()
        loss.backward()
        norm = self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.training["clip"])
        self.optimizer.step()
        taken = self.now() - begun
        self.step += 1
        return taken, loss.item(), norm.item()

    def save(self, path):
        """The weights that it has, as npar reads them."""
        kept = {name: value.detach().cpu().contiguous() for name, value in self.model.stored().items()}  # until they are written
        views = {name: memoryview((ctypes.c_char * (4 * value.numel())).from_address(value.data_ptr())).cast("B") for name, value in kept.items()}
        safetensors_file.write(path, {name: safetensors_file.Tensor(value.shape, views[name]) for name, value in kept.items()})
        return {}

    def steps(self, count, forget=False):
        """Trains `count` steps; with `forget` what they took of memory, compiling included, is not counted later."""
        done = [self.train_step() for _ in range(count)]
        memory = self.most_memory(forget)
        seconds, losses, norms = zip(*done)
        return {"seconds": seconds, "loss": losses, "grad_norm": norms, "memory": memory}

    def most_memory(self, forget):
        """Bytes: of a GPU what its allocator has taken there at most, since `forget`. Others may have it while this one waits."""
        if self.device == "cpu":
            memory = pipe.peak_memory()
            if forget:
                pipe.forget_peak()
            return memory
        memory = self.torch.cuda.max_memory_reserved()
        self.torch.cuda.empty_cache()
        if forget:
            self.torch.cuda.reset_peak_memory_stats()
        return memory


def begin(request):
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise pipe.Absent(f"PyTorch is not installed for {sys.executable}: {error}") from None
    if request["model"] == "mixtral":
        try:
            import transformers  # noqa: F401
        except ImportError as error:
            raise pipe.Absent(f"transformers is not installed for {sys.executable}: {error}") from None
    return Trainer(request)


if __name__ == "__main__":
    pipe.serve(begin)
