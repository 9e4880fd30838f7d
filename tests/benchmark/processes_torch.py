#!/usr/bin/env python3
"""Training GPT-2 with several processes in PyTorch (gloo, one machine): the peer of npar's processes, for the same sizes and plan.

Needs a Python with PyTorch and nothing of npar. Starts dp x tp x pp processes of --threads threads, trains on random tokens (float32, AdamW,
clipping at 1) and prints one line of JSON: `plan, processes, seconds` (of each step but the first), `losses`,
`memory_bytes` (peak of each process). The losses of all plans of one batch agree but for rounding.

  dp   DistributedDataParallel, micro-batches but the last under no_sync
  tp   --tp-by hand: column and row parallel products with Megatron's two all-reduces each way, vocabulary-parallel head and loss; dp by DDP.
       --tp-by dtensor: torch.distributed.tensor's ColwiseParallel, RowwiseParallel and loss_parallel; dp by fully_shard, which keeps parameters
       between forward and backward (DDP does not take its tensors)
  pp   torch.distributed.pipelining, schedule 1F1B, with dp or alone; the head is a table of its own then

Example:  tests/benchmark/processes_torch.py --dp 4 --steps 10
          tests/benchmark/processes_torch.py --dp 2 --tp 2 --tp-by hand
"""

import argparse
import contextlib
import json
import os
import resource
import sys
import tempfile
import time


def models(options):
    """The classes, made here because only processes that train import PyTorch."""
    import torch
    from torch import distributed, nn
    from torch.nn import functional

    class Attention(nn.Module):
        """The columns of `qkv` go by head, so that a part of them is whole heads."""

        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(options.width, 3 * options.width)
            self.out = nn.Linear(options.width, options.width)

        def forward(self, x):
            batch, length, _ = x.shape
            all_heads = self.qkv(x).view(batch, length, -1, 3 * (options.width // options.heads)).transpose(1, 2)
            query, key, value = all_heads.chunk(3, dim=-1)
            seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.out(seen.transpose(1, 2).reshape(batch, length, -1))

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(options.width, 4 * options.width)
            self.down = nn.Linear(4 * options.width, options.width)

        def forward(self, x):
            return self.down(functional.gelu(self.up(x), approximate="tanh"))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(options.width), nn.LayerNorm(options.width)
            self.attn, self.mlp = Attention(), Mlp()

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class Gpt2(nn.Module):
        """Stage `stage` of `stages`: the first embeds, the last gives logits. One stage ties its head to the table of tokens."""

        def __init__(self, stage=0, stages=1):
            super().__init__()
            self.first, self.last = stage == 0, stage == stages - 1
            if self.first:
                self.wte, self.wpe = nn.Embedding(options.vocab, options.width), nn.Embedding(options.length, options.width)
            mine = range(options.depth * stage // stages, options.depth * (stage + 1) // stages)
            self.h = nn.ModuleDict({str(number): Block() for number in mine})
            if self.last:
                self.ln_f = nn.LayerNorm(options.width)
                self.head = nn.Linear(options.width, options.vocab, bias=False)
                if self.first:
                    self.head.weight = self.wte.weight
            for name, parameter in self.named_parameters():  # by name, so that every plan starts from the same values
                generator = torch.Generator().manual_seed(sum(ord(c) * (i + 1) for i, c in enumerate(name.replace("head", "wte"))))
                with torch.no_grad():
                    if parameter.dim() > 1:
                        parameter.copy_(0.02 * torch.randn(parameter.shape, generator=generator))
                    elif name.endswith("bias"):
                        parameter.zero_()

        def forward(self, x):
            if self.first:
                x = self.wte(x) + self.wpe(torch.arange(options.length))
            for block in self.h.values():
                x = block(x)
            return self.head(self.ln_f(x)) if self.last else x

    class Sum(torch.autograd.Function):
        """Megatron's g: adds over the group forward, passes the gradient on."""

        @staticmethod
        def forward(context, x, group):
            x = x.contiguous()
            distributed.all_reduce(x, group=group)
            return x

        @staticmethod
        def backward(context, gradient):
            return gradient, None

    class Copy(torch.autograd.Function):
        """Megatron's f: the identity forward, adds the gradients over the group."""

        @staticmethod
        def forward(context, x, group):
            context.group = group
            return x.view_as(x)

        @staticmethod
        def backward(context, gradient):
            gradient = gradient.contiguous()
            distributed.all_reduce(gradient, group=context.group)
            return gradient, None

    return Gpt2, Sum, Copy


def split_by_hand(model, group, rank, ranks, options):
    """Keeps this rank's part of the products and puts Megatron's all-reduces around them. Returns the loss function."""
    import torch
    from torch import distributed, nn
    from torch.nn import functional

    _, Sum, Copy = models(options)

    def part(parameter, dimension):
        return nn.Parameter(parameter.detach().chunk(ranks, dim=dimension)[rank].clone())

    def columns(module):
        module.weight = part(module.weight, 0)
        if module.bias is not None:
            module.bias = part(module.bias, 0)
        plain = module.forward
        module.forward = lambda x: plain(Copy.apply(x, group))

    def rows(module):
        module.weight = part(module.weight, 1)
        module.forward = lambda x: Sum.apply(functional.linear(x, module.weight), group) + module.bias

    for block in model.h.values():
        columns(block.attn.qkv), rows(block.attn.out), columns(block.mlp.up), rows(block.mlp.down)
    # The table of tokens is split by rows: a rank looks up what it has, the sum is the row.
    rows_here, share = model.wte, options.vocab // ranks
    rows_here.weight = part(rows_here.weight, 0)
    low = rank * share

    def embed(tokens):
        mine = (tokens >= low) & (tokens < low + share)
        found = functional.embedding(torch.where(mine, tokens - low, 0), rows_here.weight)
        return Sum.apply(found * mine.unsqueeze(-1), group)

    rows_here.forward = embed
    model.head.weight = rows_here.weight
    plain = model.head.forward
    model.head.forward = lambda x: plain(Copy.apply(x, group))

    def loss(logits, targets):
        """Cross-entropy of logits that are split over the vocabulary."""
        largest = logits.detach().amax(-1)
        distributed.all_reduce(largest, op=distributed.ReduceOp.MAX, group=group)
        logits = logits - largest.unsqueeze(-1)
        sums = Sum.apply(logits.exp().sum(-1), group)
        mine = (targets >= low) & (targets < low + share)
        own = logits.gather(-1, torch.where(mine, targets - low, 0).unsqueeze(-1)).squeeze(-1) * mine
        return (sums.log() - Sum.apply(own, group)).mean()

    return loss


def split_by_dtensor(model, mesh):
    """torch.distributed.tensor's own plan of the same split. Returns the loss function."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.nn import functional

    plan = {"wte": RowwiseParallel(input_layouts=Replicate()), "head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)}
    for number in model.h:
        plan.update({f"h.{number}.attn.qkv": ColwiseParallel(), f"h.{number}.attn.out": RowwiseParallel()})
        plan.update({f"h.{number}.mlp.up": ColwiseParallel(), f"h.{number}.mlp.down": RowwiseParallel()})
    parallelize_module(model, mesh, plan)
    model.head.weight = model.wte.weight
    return lambda logits, targets: functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def clip(parameters, counted, groups):
    """By the norm over the ranks of `groups`, over which parameters are split; `counted` are those that no other rank counts."""
    import torch
    from torch import distributed

    def local(parameter):
        return parameter.grad.to_local() if hasattr(parameter.grad, "to_local") else parameter.grad

    total = torch.stack([local(parameter).double().square().sum() for parameter in counted]).sum()
    for group in groups:
        distributed.all_reduce(total, group=group)
    factor = torch.clamp(1.0 / (total.sqrt() + 1e-6), max=1.0).float()
    for parameter in parameters:
        local(parameter).mul_(factor)


def train(rank, options, store, asked):
    """One of the processes. `asked`: where process 0 hears how many steps to do, 0 to end, and answers."""
    import torch
    from torch import distributed, nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.nn import functional

    torch.set_num_threads(options.threads)
    world = options.dp * options.tp * options.pp
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (options.dp, options.pp, options.tp), mesh_dim_names=("dp", "pp", "tp"))
    dp, pp, tp = (mesh[name].get_local_rank() for name in ("dp", "pp", "tp"))
    Gpt2, _, _ = models(options)
    model = Gpt2(pp, options.pp)

    def loss_of(logits, targets):
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    around, split_groups, split = contextlib.nullcontext, [], set()
    by_dtensor = options.tp > 1 and options.tp_by == "dtensor"
    if by_dtensor:
        from torch.distributed.fsdp import fully_shard
        from torch.distributed.tensor.parallel import loss_parallel

        loss_of, around = split_by_dtensor(model, mesh["tp"]), loss_parallel
        model = fully_shard(model, mesh=mesh["dp"], reshard_after_forward=False)
        split = {id(one) for one in model.parameters() if len(one.placements) == 2 and one.placements[1].is_shard()}
        split_groups += [mesh["dp"].get_group(), mesh["tp"].get_group()]
    elif options.tp > 1:
        whole = {name: parameter.numel() for name, parameter in model.named_parameters()}
        loss_of = split_by_hand(model, mesh["tp"].get_group(), tp, options.tp, options)
        split = {id(parameter) for name, parameter in model.named_parameters() if parameter.numel() < whole[name]}
        split_groups.append(mesh["tp"].get_group())
    if options.pp > 1:
        split_groups.append(mesh["pp"].get_group())
    inner = model
    if options.dp > 1 and not by_dtensor:
        model = nn.parallel.DistributedDataParallel(model, process_group=mesh["dp"].get_group(), gradient_as_bucket_view=True)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1)
    micros = options.batch // (options.dp * options.micro)
    schedule = None
    if options.pp > 1:
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B

        stage = PipelineStage(model, pp, options.pp, torch.device("cpu"), group=mesh["pp"].get_group())
        schedule = Schedule1F1B(stage, micros, loss_fn=loss_of)

    def backward(tokens, targets):
        """The mean loss over this rank's part of the batch; its gradients are accumulated."""
        if schedule:
            losses = []
            schedule.step(*([tokens] if inner.first else []), **({"target": targets, "losses": losses} if inner.last else {}))
            return torch.stack(losses).mean().detach() if inner.last else torch.zeros(())
        total = torch.zeros(())
        for micro, (some, wanted) in enumerate(zip(tokens.chunk(micros), targets.chunk(micros))):
            last = micro == micros - 1
            if by_dtensor:
                model.set_requires_gradient_sync(last)
            with model.no_sync() if options.dp > 1 and not by_dtensor and not last else contextlib.nullcontext(), around():
                loss = loss_of(model(some), wanted) / micros
                loss.backward()
            loss = loss.detach()
            total += loss.full_tensor() if hasattr(loss, "full_tensor") else loss
        return total

    chance = torch.Generator().manual_seed(1)

    def step():
        """Its seconds and the loss."""
        tokens = torch.randint(options.vocab, (options.batch, options.length + 1), generator=chance).chunk(options.dp)[dp]
        distributed.barrier()
        begun = time.monotonic()
        optimizer.zero_grad()
        loss = backward(tokens[:, :-1], tokens[:, 1:])
        clip(parameters, [parameter for parameter in parameters if tp == 0 or id(parameter) in split], split_groups)
        optimizer.step()
        taken = time.monotonic() - begun
        distributed.all_reduce(loss)
        return taken, loss.item() / (options.dp * options.tp)

    while True:
        count = torch.tensor(asked.recv() if rank == 0 else 0)
        distributed.broadcast(count, 0)
        if not count:
            break
        done = [step() for _ in range(count)]
        memory = [None] * world
        distributed.all_gather_object(memory, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        if rank == 0:
            asked.send({"seconds": [seconds for seconds, _ in done], "losses": [loss for _, loss in done], "memory_bytes": memory})
    distributed.destroy_process_group()


class Job:
    """The processes of one plan, which train whenever they are asked to and sleep in between."""

    def __init__(self, options):
        from torch import multiprocessing

        self.folder, (self.asking, asked) = tempfile.TemporaryDirectory(), multiprocessing.Pipe()
        os.environ.update(OMP_NUM_THREADS=str(options.threads), MKL_NUM_THREADS=str(options.threads))
        count = options.dp * options.tp * options.pp
        self.processes = multiprocessing.spawn(train, (options, os.path.join(self.folder.name, "store"), asked), nprocs=count, join=False)

    def steps(self, count):
        """Raises RuntimeError where a process has ended."""
        from multiprocessing.connection import wait

        self.asking.send(count)
        wait([self.asking, *self.processes.sentinels])
        if not self.asking.poll():
            self.processes.join()  # raises what the process raised
            raise RuntimeError("a process of PyTorch has ended")
        return self.asking.recv()

    def close(self):
        self.asking.send(0)
        while not self.processes.join():
            pass
        self.folder.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in {"dp": 4, "tp": 1, "pp": 1, "steps": 10, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, value in {"vocab": 512, "width": 256, "heads": 8, "depth": 4, "length": 128, "batch": 16, "micro": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--tp-by", choices=("hand", "dtensor"), default="hand")
    options = parser.parse_args()
    if options.batch % (options.dp * options.micro) or options.heads % options.tp or options.vocab % options.tp:
        parser.error("batch must divide by dp * micro, heads and vocab by tp")
    if options.pp > 1 and (options.tp > 1 or options.batch // (options.dp * options.micro) < options.pp):
        parser.error("pp goes with dp alone, and with at least pp micro-batches")
    job = Job(options)
    answer = job.steps(options.steps + 1)
    job.close()
    plan = {"dp": options.dp, "tp": options.tp, "pp": options.pp}
    if options.tp > 1:
        plan["tp_by"] = options.tp_by
    print(json.dumps({"plan": plan, "processes": len(answer["memory_bytes"]), **answer, "seconds": answer["seconds"][1:], "losses": answer["losses"][1:]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
