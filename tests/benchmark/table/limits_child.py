"""Measures the machine's limits in one process: matrix products of every library at hand, in turn, and copying memory."""

import argparse
import ctypes
import pathlib
import sys
import threading
import time

import pipe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import products  # noqa: E402


class Limits:
    def __init__(self, request):
        self.threads, self.library, missing = request["threads"], None, []
        try:
            self.library = products.load(request["build"])
        except OSError:
            missing = ["npar", "oneDNN"]
        try:
            import torch

            torch.set_num_threads(self.threads)
            self.torch = torch
        except ImportError:
            self.torch = None
            missing.append("PyTorch")
        self.said = {"missing": missing}

    def product(self, sizes, type, seconds):
        """GFLOP/s by library."""
        if not (self.torch or self.library):
            return {"rates": {}}
        options = argparse.Namespace(type=type, threads=self.threads)
        product = products.Product(self.library, self.torch, "forward", sizes, options)
        rates = product.rates(seconds, self.threads)
        product.close()
        return {"rates": rates}

    def copy(self, megabytes, times):
        """Bytes per second that are read and written when each thread copies its own memory, the best of `times`."""
        size = megabytes << 20
        pairs = [(ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)) for _ in range(self.threads)]
        for one, other in pairs:  # written once, so that the pages are there
            ctypes.memset(one, 1, size), ctypes.memset(other, 2, size)
        best = 0.0
        for _ in range(times):
            workers = [threading.Thread(target=ctypes.memmove, args=(one, other, size)) for one, other in pairs]
            begun = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            best = max(best, 2 * size * self.threads / (time.perf_counter() - begun))
        return {"rate": best}


if __name__ == "__main__":
    pipe.serve(Limits)
