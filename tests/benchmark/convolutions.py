#!/usr/bin/env python3
"""npar's convolutions against PyTorch's in one process, taking turns: GFLOP/s of the best of many runs, and npar's speed relative to PyTorch's.
Forward, gradient of the image (dx) and of the weights (dw) of the layers of ResNet-50 and of the MNIST net, in float32, channels last.

A row gives the layer as: image size, window, stride, channels, filters. Results are compared first.
Needs: ninja -C build convolution_benchmark
Example:  tests/benchmark/convolutions.py --build build --threads 2
"""

import argparse
import ctypes
import math
import os
import pathlib
import sys
import time

# Memory that PyTorch frees stays in the process: fresh pages in every run would count against it.
KEPT = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592"}

# Image, window, stride, padding, channels, filters.
RESNET = [(224, 7, 2, 3, 3, 64)]
for size, narrow, wide, before in ((56, 64, 256, 64), (28, 128, 512, 256), (14, 256, 1024, 512), (7, 512, 2048, 1024)):
    stride = 1 if size == 56 else 2
    RESNET += [(size * stride, 1, 1, 0, before, narrow), (size * stride, 3, stride, 1, narrow, narrow), (size, 1, 1, 0, narrow, wide)]
    RESNET += [(size * stride, 1, stride, 0, before, wide)] if stride == 2 else []
    RESNET += [(size, 1, 1, 0, wide, narrow)] + ([(size, 3, 1, 1, narrow, narrow)] if stride == 2 else [])
MNIST = [(28, 3, 1, 0, 1, 32), (26, 3, 1, 0, 32, 64)]
KINDS = ("forward", "dx", "dw")


def lists(shape):
    """What npar_convolution reads."""
    flat = []

    def add(values):
        flat.extend([len(values), *values])

    for name in "mnk":
        add(shape[name])
    for strides, windows in (shape["a"], shape["b"]):
        add(strides)
        flat.append(len(windows))
        for size, stride, steps, before, spread in windows:
            add(steps)
            add([size, stride, before, spread])
    return (ctypes.c_int64 * len(flat))(*flat)


def shapes(samples, layer):
    """Forward, gradient of the image and of the weights, in this order."""
    image, window, stride, padding, channels, filters = layer
    out = (image + 2 * padding - window) // stride + 1
    area = window * window * channels
    x = [(image, image * channels, padding, 1), (image, channels, padding, 1)]
    y = [(out, out * filters, -padding, stride), (out, filters, -padding, stride)]

    def walk(axes, first, second):
        return [(size, step, steps, before, spread) for (size, step, before, spread), steps in zip(axes, (first, second))]

    # Weights are [filter, y, x, channel] in memory.
    yield {
        "m": [samples, out, out], "n": [filters], "k": [window, window, channels],
        "a": ([image * image * channels, 0, 0, 0, 0, 1], walk(x, [0, stride, 0, 1, 0, 0], [0, 0, stride, 0, 1, 0])),
        "b": ([window * channels, channels, 1, area], []),
    }
    yield {
        "m": [samples, image, image], "n": [channels], "k": [window, window, filters],
        "a": ([out * out * filters, 0, 0, 0, 0, 1], walk(y, [0, 1, 0, -1, 0, 0], [0, 0, 1, 0, -1, 0])),
        "b": ([window * channels, channels, area, 1], []),
    }
    yield {
        "m": [filters], "n": [window, window, channels], "k": [samples, out, out],
        "a": ([1, out * out * filters, out * filters, filters], []),
        "b": ([image * image * channels, 0, 0, 0, 0, 1], walk(x, [0, stride, 0, 1, 0, 0], [0, 0, stride, 0, 1, 0])),
    }


class Layer:
    def __init__(self, torch, library, samples, layer, threads):
        image, window, stride, padding, channels, filters = layer
        out = (image + 2 * padding - window) // stride + 1
        last = torch.channels_last
        x = torch.randn(samples, channels, image, image).contiguous(memory_format=last)
        y = torch.randn(samples, filters, out, out).contiguous(memory_format=last)
        w = torch.randn(filters, channels, window, window).contiguous(memory_format=last)
        own = [torch.zeros(samples, out, out, filters), torch.zeros(samples, image, image, channels), torch.zeros(filters, window, window, channels)]
        operands = [(x, w), (y, w), (y, x)]
        self.library, self.handles, self.keep = library, [], (x, y, w, own)
        self.operations = 2.0 * samples * out * out * filters * window * window * channels
        self.runs = []
        backward = lambda mask: torch.ops.aten.convolution_backward(y, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, mask)
        theirs = [
            lambda: torch.nn.functional.conv2d(x, w, None, stride, padding),
            lambda: backward([True, False, False])[0],
            lambda: backward([False, True, False])[1],
        ]
        for shape, (a, b), c, other, kind in zip(shapes(samples, layer), operands, own, theirs, KINDS):
            handle = ctypes.c_void_p(library.npar_convolution(lists(shape), math.prod(shape["n"]), threads))
            if not handle:
                sys.exit("error: NPAR_INSTRUCTIONS may be plain, avx2, avx512, pairs or tiles")
            addresses = [ctypes.c_void_p(each.data_ptr()) for each in (a, b, c)]
            run = lambda handle=handle, addresses=addresses: library.npar_run(handle, *addresses)
            run()
            expected = other().permute(0, 2, 3, 1)
            if not (error := float((c - expected).abs().max() / expected.abs().max())) <= 1e-4:  # nor NaN
                sys.exit(f"error: {layer} {kind}: results differ by {error:.1e} of the largest one")
            self.handles.append(handle)
            self.runs.append({"npar": run, "PyTorch": other})

    def close(self):
        for handle in self.handles:
            self.library.npar_free(handle)


def rates(runs, operations, seconds, threads):
    best = dict.fromkeys(runs, math.inf)
    # A single thread is measured by its own time, which other work on the machine affects less than wall time.
    clock = time.thread_time if threads == 1 else time.perf_counter
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or math.inf in best.values():
        for name, run in runs.items():
            # Threads of the other library spin for some milliseconds after its turn.
            turn = time.perf_counter() + 0.04
            while (begin := time.perf_counter()) < turn:
                begin = clock()
                run()
                best[name] = min(best[name], clock() - begin)
    return {name: operations * 1e-9 / took for name, took in best.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--samples", type=int, default=8, help="images; eight times as many for MNIST")
    parser.add_argument("--seconds", type=float, default=1, help="for each row")
    parser.add_argument("--only", default="", help="rows whose text contains this")
    options = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in KEPT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEPT})
    import torch

    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    library = ctypes.CDLL(str(pathlib.Path(options.build).resolve() / "lib" / "libconvolution_benchmark.so"))
    library.npar_convolution.restype = ctypes.c_void_p
    print(f"float32, {options.threads} threads, {options.samples} images, load {os.getloadavg()[0]:.1f}; GFLOP/s")
    ratios = {kind: [] for kind in KINDS}
    for network, samples, layers in (("resnet50", options.samples, RESNET), ("mnist", 8 * options.samples, MNIST)):
        for layer in layers:
            image, window, stride, _, channels, filters = layer
            name = f"{network} {image} {window}x{window}/{stride} {channels}-{filters}"
            if options.only not in name:
                continue
            made = Layer(torch, library, samples, layer, options.threads)
            for kind, runs in zip(KINDS, made.runs):
                if kind == "dx" and channels <= 3:
                    continue  # no gradient of pictures is asked for
                found = rates(runs, made.operations, options.seconds, options.threads)
                ratios[kind].append(found["npar"] / found["PyTorch"])
                print(f"{name:34}{kind:8}" + "".join(f"{found[each]:9.1f}" for each in runs) + f"{ratios[kind][-1]:8.2f}", flush=True)
            made.close()
    everything = [ratio for each in ratios.values() for ratio in each]
    for kind, values in [*ratios.items(), ("all", everything)]:
        if values:
            print(f"geometric mean, {kind}: {math.exp(sum(map(math.log, values)) / len(values)):.2f} of {len(values)} rows")


if __name__ == "__main__":
    main()
