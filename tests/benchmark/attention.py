#!/usr/bin/env python3
"""npar's attention beside PyTorch's scaled_dot_product_attention in one process, taking turns: GFLOP/s forward and backward of the best of many
runs, and npar's ratio. Operations are counted as those of the products that the algorithm needs: two forward and five backward, half with a
causal mask.

Needs PyTorch, and: ninja -C build attention_benchmark
Example:  tests/benchmark/attention.py --build build --type bf16 --threads 2
"""

import argparse
import ctypes
import math
import os
import pathlib
import sys
import time

import torch

POINTER, SIZE = ctypes.c_void_p, ctypes.c_int64


def load(build):
    library = ctypes.CDLL(str(pathlib.Path(build).resolve() / "lib" / "libattention_benchmark.so"))
    library.npar_attention.restype = POINTER
    library.npar_scratch.restype = SIZE
    return library


class Attention:
    """One attention with its operands; `forward` and `backward` by competitor."""

    def __init__(self, library, heads, sequence, width, causal, options):
        dtype = torch.bfloat16 if options.type == "bf16" else torch.float32
        shape = (1, heads, sequence, width)
        self.library = library
        self.operations = 4.0 * heads * sequence * sequence * width * (0.5 if causal else 1.0)
        self.own = POINTER(library.npar_attention(int(options.type == "bf16"), *map(SIZE, (heads, sequence, width)), int(causal), options.threads))
        if not self.own:
            sys.exit("error: NPAR_INSTRUCTIONS may be plain, avx2, avx512, pairs or tiles")
        q, k, v, dout = (torch.randn(shape, dtype=dtype) for _ in range(4))
        out, dq, dk, dv = (torch.zeros(shape, dtype=dtype) for _ in range(4))
        lse = torch.zeros(heads, sequence)
        tracked = [x.clone().requires_grad_() for x in (q, k, v)]

        def own(function, *tensors):
            function(self.own, *(POINTER(x.data_ptr()) for x in tensors))

        def forward():
            self.result = torch.nn.functional.scaled_dot_product_attention(*tracked, is_causal=causal)

        def backward():
            for x in tracked:
                x.grad = None
            self.result.backward(dout)

        self.runs = {
            "npar": (lambda: own(library.npar_forward, q, k, v, out, lse), lambda: own(library.npar_backward, q, k, v, out, lse, dout, dq, dk, dv)),
            "PyTorch": (forward, backward),
        }
        self.mine, self.theirs = (out, dq, dk, dv), lambda: (self.result, *(x.grad for x in tracked))

    def seconds(self, budget, threads):
        """The best forward and backward of each."""
        best = {name: [math.inf, math.inf] for name in self.runs}
        # A single thread is measured by its own time, which other work on the machine affects less than wall time.
        clock = time.thread_time if threads == 1 else time.perf_counter
        end = time.perf_counter() + budget
        while time.perf_counter() < end or math.inf in best["PyTorch"]:
            for name, directions in self.runs.items():
                for i, run in enumerate(directions):
                    begin = clock()
                    run()
                    best[name][i] = min(best[name][i], clock() - begin)
        return best

    def difference(self):
        """The largest difference between the two, relative to the largest number."""
        return max(((a.float() - b.float()).abs().max() / b.float().abs().max()).item() for a, b in zip(self.mine, self.theirs()))

    def close(self):
        self.library.npar_free(self.own)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--type", default="f32", choices=("f32", "bf16"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=8192, help="heads times sequence")
    parser.add_argument("--sequences", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--seconds", type=float, default=3, help="for each row")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    library = load(options.build)
    print(f"{options.type}, {options.threads} threads, PyTorch {torch.__version__}, load {os.getloadavg()[0]:.1f}; GFLOP/s forward, backward, both; npar's scratch")
    print(f"{'heads x sequence x width':>26}{'mask':>8}{'npar':>18}{'PyTorch':>24}{'ratio':>18}{'MiB':>8}{'differ':>9}")
    for width in options.widths:
        for sequence in options.sequences:
            heads = max(options.threads, options.tokens // sequence)
            for causal in (False, True):
                attention = Attention(library, heads, sequence, width, causal, options)
                best = attention.seconds(options.seconds, options.threads)
                columns = ""
                for name in ("npar", "PyTorch"):
                    ahead, back = best[name]
                    rates = (attention.operations / ahead, 2.5 * attention.operations / back, 3.5 * attention.operations / (ahead + back))
                    columns += "".join(f"{rate * 1e-9:8.1f}" for rate in rates)
                own, other = best["npar"], best["PyTorch"]
                ratios = (other[0] / own[0], other[1] / own[1], sum(other) / sum(own))
                scratch = library.npar_scratch(attention.own) / 2**20
                print(f"{f'{heads} x {sequence} x {width}':>26}{'causal' if causal else 'none':>8}{columns}" + "".join(f"{ratio:6.2f}" for ratio in ratios)
                      + f"{scratch:8.1f}{attention.difference():9.1e}", flush=True)
                attention.close()


if __name__ == "__main__":
    main()
