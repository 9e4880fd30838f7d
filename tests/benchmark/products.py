#!/usr/bin/env python3
"""npar's matrix products against PyTorch's and oneDNN's in one process, taking turns: GFLOP/s of the best of many runs, and npar's ratio to
the better of the others. A row for each product of GPT-2's layers: forward, and backward for the input (dx) and for the weights (dw).

PyTorch is left out where it is not installed. Needs: ninja -C build product_benchmark
Example:  tests/benchmark/products.py --build build --type bf16 --threads 2
"""

import argparse
import ctypes
import math
import mmap
import os
import pathlib
import sys
import time

WEIGHTS = ["768x2304", "768x768", "768x3072", "3072x768", "768x8192", "768x50257"]
POINTER, SIZE = ctypes.c_void_p, ctypes.c_int64


def load(build):
    """Bound to its own oneDNN and OpenMP, whatever PyTorch brings."""
    library = ctypes.CDLL(str(pathlib.Path(build).resolve() / "lib" / "libproduct_benchmark.so"), mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
    library.npar_product.restype = library.dnnl_product.restype = POINTER
    return library


class Operand:
    """Memory of its own, in large pages like those of npar's arenas, written once; wrapped in a tensor if PyTorch is installed."""

    def __init__(self, torch, rows, columns, bf16):
        width = 2 if bf16 else 4
        memory = mmap.mmap(-1, rows * columns * width)
        memory.madvise(mmap.MADV_HUGEPAGE)
        self.bytes = (ctypes.c_uint8 * len(memory)).from_buffer(memory)
        ctypes.memset(self.bytes, 0x3C, len(memory))  # 0.0115 in both types
        self.address = POINTER(ctypes.addressof(self.bytes))
        if torch:
            dtype = torch.bfloat16 if bf16 else torch.float32
            self.tensor = torch.frombuffer(self.bytes, dtype=dtype).view(rows, columns)


class Product:
    """One product with its operands, and functions that run it by name. Without a library (None) PyTorch alone."""

    def __init__(self, library, torch, kind, sizes, options):
        # Y[tokens,outputs] = X[tokens,inputs] W; dX = dY W^T; dW = X^T dY
        tokens, inputs, outputs = sizes
        m, n, k, left, right = {
            "forward": (tokens, outputs, inputs, 0, 0),
            "dx": (tokens, inputs, outputs, 0, 1),
            "dw": (inputs, outputs, tokens, 1, 0),
        }[kind]
        bf16 = int(options.type == "bf16")
        self.shape, self.operations, self.library = f"{m} x {n} x {k}", 2.0 * m * n * k, library
        a, b, c = (Operand(torch, *both, bf16) for both in ((k, m) if left else (m, k), (n, k) if right else (k, n), (m, n)))
        addresses = (a.address, b.address, c.address)
        shape = (SIZE(m), SIZE(n), SIZE(k), left, right, options.threads)
        self.runs, self.own, self.other = {}, None, None
        if library:
            self.own = POINTER(library.npar_product(bf16, *shape))
            if not self.own:
                sys.exit("error: NPAR_INSTRUCTIONS may be plain, avx2, avx512, pairs or tiles")
            self.runs["npar"] = lambda: library.npar_run(self.own, *addresses)
        if torch:
            first, second = a.tensor.t() if left else a.tensor, b.tensor.t() if right else b.tensor
            self.runs["PyTorch"] = lambda: torch.mm(first, second, out=c.tensor)
        self.other = POINTER(library.dnnl_product(bf16, *shape)) if library else None
        if self.other:
            self.runs["oneDNN"] = lambda: library.dnnl_run(self.other, *addresses)
        self.operands = (a, b, c)

    def rates(self, seconds, threads):
        """GFLOP/s of the best run of each. One that is far slower than the others does not take all the time."""
        best, spent = dict.fromkeys(self.runs, math.inf), dict.fromkeys(self.runs, 0.0)
        # A single thread is measured by its own time, which other work on the machine affects less than wall time.
        clock = time.thread_time if threads == 1 else time.perf_counter
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or math.inf in best.values():
            for name, run in self.runs.items():
                if spent[name] <= seconds / 2:
                    begin = clock()
                    run()
                    took = clock() - begin
                    spent[name] += took
                    best[name] = min(best[name], took)
        return {name: self.operations * 1e-9 / took for name, took in best.items()}

    def close(self):
        if self.own:
            self.library.npar_free(self.own)
        if self.other:
            self.library.dnnl_free(self.other)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--type", default="f32", choices=("f32", "bf16"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--seconds", type=float, default=3, help="for each product")
    parser.add_argument("--weights", nargs="+", default=WEIGHTS, metavar="INPUTSxOUTPUTS")
    options = parser.parse_args()
    try:
        import torch

        torch.set_num_threads(options.threads)
    except ImportError:
        torch = None
        print("PyTorch is not installed: left out")
    library = load(options.build)
    names = ("npar", "PyTorch", "oneDNN")
    print(f"{options.type}, {options.threads} threads, load {os.getloadavg()[0]:.1f}; GFLOP/s, and ratios to the better of PyTorch and oneDNN")
    print(f"{'':8}{'m x n x k':>20}" + "".join(f"{name:>9}" for name in names) + f"{'ratio':>8}")
    for weights in options.weights:
        for kind in ("forward", "dx", "dw"):
            product = Product(library, torch, kind, (options.tokens, *map(int, weights.split("x"))), options)
            rates = product.rates(options.seconds, options.threads)
            product.close()
            others = max(rates.get("PyTorch", 0.0), rates.get("oneDNN", 0.0))
            ratio = f"{rates['npar'] / others:8.2f}" if others else f"{'-':>8}"
            print(f"{kind:8}{product.shape:>20}" + "".join(f"{rates[name]:9.1f}" if name in rates else f"{'-':>9}" for name in names) + ratio, flush=True)


if __name__ == "__main__":
    main()
