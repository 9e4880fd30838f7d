#!/usr/bin/env python3
"""A training step of ResNet-18 in float32, npar's against PyTorch's eager mode: batch 32, pictures of 64 x 64 pixels, SGD with momentum.

Both start from the same weights and take two steps on the same pictures first; their losses must agree. Then they take turns. PyTorch runs
with channels first and channels last; npar is compared with the faster one.
Needs: ninja -C build npar; a Python with torch and safetensors
Example:  tests/benchmark/resnet.py --build build --threads 2
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from convolutions import KEPT

BATCH, PIXELS, CLASSES, WIDTHS = 32, 64, 1000, (64, 128, 256, 512)


def blocks():
    """Name, channels before and after, and stride of each block."""
    before = WIDTHS[0]
    for stage, width in enumerate(WIDTHS, 1):
        for number in (1, 2):
            yield f"block{stage}{number}", before, width, 2 if stage > 1 and number == 1 else 1
            before = width


def text():
    """The model in npar's language. Parameters are called as in the PyTorch model."""
    axes = ["channel = 3, row = 64, column = 64, class = 1000", "sh = 7, sw = 7, kh = 3, kw = 3, ph = 1, pw = 1"]
    axes += ["row0 = 32, column0 = 32", "row1 = 16, column1 = 16, wide1 = 64"]
    layers, steps = [], []

    def convolution(name, place, before, after, window, stride, padding):
        places, channels = ([*before[1:], *after[1:]], [before[0], after[0]])
        layers.append(f"{name}{place} = Conv({', '.join(channels + places)}, {window}, stride = {stride}, padding = {padding}, biased = false)")
        layers.append(f"{name}norm{place} = BatchNorm({after[0]}, [batch, {after[1]}, {after[2]}], samples = {BATCH})")
        return lambda x: f"{name}norm{place}({name}{place}({x}))"

    first = convolution("stem", "", ("channel", "row", "column"), ("wide1", "row0", "column0"), "sh, sw", 2, 3)
    layers.append("pool = MaxPool(row0, column0, row1, column1, kh, kw, stride = 2, padding = 1)")
    steps.append(f"x = pool(relu({first('image')}))")
    at, size = ("wide1", "row1", "column1"), 16
    for name, _, width, stride in blocks():
        size //= stride
        end = at if stride == 1 else tuple(kind + name for kind in ("wide", "row", "column"))
        inside = tuple(kind + name for kind in ("inner", "y", "z"))
        axes.append(f"{inside[0]} = {width}, {inside[1]} = {size}, {inside[2]} = {size}")
        if stride > 1:
            axes.append(f"{end[0]} = {width}, {end[1]} = {size}, {end[2]} = {size}")
        one = convolution(name, "one", at, inside, "kh, kw", stride, 1)
        two = convolution(name, "two", inside, end, "kh, kw", 1, 1)
        skip = convolution(name, "skip", at, end, "ph, pw", stride, 0) if stride > 1 else str
        steps.append(f"x = relu({two('relu(' + one('x') + ')')} + {skip('x')})")
        at = end
    layers.append(f"fc = Projection({at[0]}, class, biased = true)")
    steps.append(f"loss cross_entropy(fc(mean(x, over = [{at[1]}, {at[2]}])), label, over = class)")
    lines = [f"axis {each}" for each in ["batch", *axes]] + ["input image: f32[batch, channel, row, column]", "input label: i32[batch]"]
    imports = "".join(f'import "{name}"\n' for name in ("BatchNorm", "Conv", "MaxPool", "Projection"))
    body = "".join(f"    {line}\n" for line in lines + layers + steps)
    return f"{imports}\nmodel ResNet18() {{\n{body}}}\n\ntrain base for ResNet18 {{ batch {BATCH}  optimizer Sgd(lr = 0.05, momentum = 0.9) }}\n"


def torch_model(torch):
    nn = torch.nn

    class ResNet18(nn.Module):
        def __init__(self):
            super().__init__()
            self.add("stem", 3, WIDTHS[0], 7, 2)
            for name, before, width, stride in blocks():
                self.add(name + "one", before, width, 3, stride)
                self.add(name + "two", width, width, 3, 1)
                if stride > 1:
                    self.add(name + "skip", before, width, 1, stride)
            self.fc = nn.Linear(WIDTHS[-1], CLASSES)

        def add(self, name, before, after, window, stride):
            base, place = ("stem", "") if name == "stem" else (name[:7], name[7:])
            self.add_module(name, nn.Conv2d(before, after, window, stride, window // 2, bias=False))
            self.add_module(f"{base}norm{place}", nn.BatchNorm2d(after))

        def normed(self, block, place, x):
            return getattr(self, f"{block}norm{place}")(getattr(self, block + place)(x))

        def forward(self, x):
            relu = torch.relu
            x = nn.functional.max_pool2d(relu(self.normed("stem", "", x)), 3, 2, 1)
            for name, _, _, stride in blocks():
                y = self.normed(name, "two", relu(self.normed(name, "one", x)))
                x = relu(y + (self.normed(name, "skip", x) if stride > 1 else x))
            return self.fc(x.mean((2, 3)))

    return ResNet18()


class Eager:
    def __init__(self, torch, model, image, label, layout):
        self.torch, self.model = torch, model.to(memory_format=layout)
        self.image, self.label = image.to(memory_format=layout), label
        self.optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)

    def step(self):
        self.optimizer.zero_grad()
        loss = self.torch.nn.functional.cross_entropy(self.model(self.image), self.label)
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def turn(self, steps):
        took = []
        for _ in range(steps):
            begin = time.perf_counter()
            self.step()
            took.append(time.perf_counter() - begin)
        return took[1:]


class Own:
    def __init__(self, npar, folder, threads):
        self.npar, self.folder, self.threads = npar, folder, threads
        self.call("compile", "resnet18.npar", "--plan", "none", "-o", "resnet18.npx")

    def call(self, *words):
        done = subprocess.run([self.npar, *map(str, words)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: npar {words[0]}: {done.stderr}")

    def run(self, steps):
        """Entries of the log, one a step."""
        self.call("train", "resnet18.npx", "--data", "pictures.safetensors", "--weights", "weights.safetensors", "--steps", steps, "--threads",
                  self.threads, "--quiet", "--log", "log.jsonl")  # fmt: skip
        return [json.loads(line) for line in pathlib.Path(self.folder, "log.jsonl").read_text().splitlines()]

    def turn(self, steps):
        return [BATCH / entry["samples_per_second"] for entry in self.run(steps)][1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=15, help="in a turn; the first one is left out")
    options = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in KEPT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEPT})
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    image, label = torch.randn(BATCH, 3, PIXELS, PIXELS), torch.randint(0, CLASSES, (BATCH,))
    model = torch_model(torch)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "resnet18.npar").write_text(text())
        save_file({"image": image, "label": label.int()}, f"{folder}/pictures.safetensors")
        save_file(model.state_dict(), f"{folder}/weights.safetensors")
        runners = {"npar": Own(str(pathlib.Path(options.build, "bin", "npar").resolve()), folder, options.threads)}
        for name in ("contiguous_format", "channels_last"):
            own = torch_model(torch)
            own.load_state_dict(model.state_dict())
            runners[f"PyTorch, {name}"] = Eager(torch, own, image, label, getattr(torch, name))
        found = [entry["loss"] for entry in runners["npar"].run(2)]
        for name in list(runners)[1:]:
            expected = [runners[name].step() for _ in found]
            if any(abs(own - other) > 1e-4 * abs(other) for own, other in zip(found, expected)):
                sys.exit(f"error: losses are {found}, those of {name} {expected}")
        print(f"ResNet-18, batch {BATCH}, {PIXELS} x {PIXELS}, float32, {options.threads} threads, load {os.getloadavg()[0]:.1f}; ms of a step")
        took = {name: [] for name in runners}
        for _ in range(options.rounds):
            for name, runner in runners.items():
                took[name] += runner.turn(options.steps)
        for name, values in took.items():
            print(f"{name:28}best {min(values) * 1e3:7.1f}  median {statistics.median(values) * 1e3:7.1f}")
        others = [values for name, values in took.items() if name != "npar"]
        ratios = [min(statistic(values) for values in others) / statistic(took["npar"]) for statistic in (min, statistics.median)]
        print(f"npar's speed relative to the faster one: {ratios[0]:.2f} by the best step, {ratios[1]:.2f} by the median")


if __name__ == "__main__":
    main()
