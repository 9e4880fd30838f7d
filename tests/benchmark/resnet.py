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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "reference"))

BATCH, PIXELS, CLASSES, RATE, MOMENTUM, DECAY = 32, 64, 1000, 0.05, 0.9, 1e-4  # npar's ResNet has this momentum and decay
SETTINGS = [f"batch={BATCH}", f"samples={BATCH}", f"height={PIXELS}", f"width={PIXELS}", f"lr={RATE}", "pixels=floats"]


class Eager:
    def __init__(self, torch, model, image, label, layout):
        self.torch, self.model = torch, model.to(memory_format=layout)
        self.image, self.label = image.to(memory_format=layout), label
        self.optimizer = torch.optim.SGD(model.parameters(), RATE, momentum=MOMENTUM, weight_decay=DECAY)

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
        self.call("compile", "resnet", "--config", "resnet18", "--plan", "none", *(word for each in SETTINGS for word in ("--set", each)), "-o", "resnet18.npx")

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
    from resnet_reference import ResNet
    from safetensors.torch import save_file

    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    image, label = torch.randn(BATCH, 3, PIXELS, PIXELS), torch.randint(0, CLASSES, (BATCH,))
    made = lambda: ResNet("basic", [2, 2, 2, 2], [64, 128, 256, 512], 64, CLASSES)
    model = made()
    with tempfile.TemporaryDirectory() as folder:
        save_file({"image": image, "label": label.int()}, f"{folder}/pictures.safetensors")
        save_file(model.state_dict(), f"{folder}/weights.safetensors")
        runners = {"npar": Own(str(pathlib.Path(options.build, "bin", "npar").resolve()), folder, options.threads)}
        for name in ("contiguous_format", "channels_last"):
            own = made()
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
