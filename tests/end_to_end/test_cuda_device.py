"""The GPUs of this machine give the processor's results. Skipped without a GPU; NPAR_LONG=1 runs many plans."""

import json
import os
import re
import subprocess
import unittest

from driver import BUILD, NPAR, SMALL, DriverTest, mesh, settings
from gpu_plans import OnGpus

# The tests of npar_cuda_test that compare with the processor; the others are about stand-in libraries and their faults.
COMPARED = "*BackendConformance*:CudaAttention.*:CudaScores.*:CudaNumbers.*"
# The same for npar_cuda_devices_test, which needs three GPUs.
BETWEEN = "*BackendConformance*:CudaDevices.WhatGoesBetweenGpusHasTheBitsOfTheProcessor:CudaDevices.LargeReductionsGoInRounds:CudaDevices.ThreadsReduceAtTheSameTime"


def found():
    """The GPUs that npar would use, and why there is none."""
    done = subprocess.run([NPAR, "devices", "--json"], capture_output=True, text=True)
    said = json.loads(done.stdout) if done.returncode == 0 else {"gpus": [], "trouble": done.stderr}
    troubles = [gpu["trouble"] for gpu in said["gpus"]] + [said["trouble"]]
    return [gpu for gpu in said["gpus"] if not gpu["trouble"]], next(filter(None, troubles), "npar devices shows no GPU")


GPUS, WHY = found()


@unittest.skipUnless(GPUS, WHY)
class CudaDeviceTest(OnGpus, DriverTest):
    gpus = len(GPUS)
    equal_products = "matching"

    def setUp(self):
        super().setUp()
        self.devices = dict(os.environ)

    def compare(self, program, tests):
        """Runs some of its tests; each library that the environment names nothing for is the real one."""
        real = {name: os.environ.get(name, "") for name in ("NPAR_CUDA_DRIVER", "NPAR_NCCL", "NPAR_CUBLASLT", "NPAR_CUDNN")}
        done = subprocess.run([BUILD / "bin" / program, f"--gtest_filter={tests}"], env=self.devices | real, capture_output=True, text=True, timeout=1200)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-2000:])
        self.assertRegex(done.stdout, r"\[  PASSED  \] [1-9]\d* tests")

    def test_kernels_products_and_attention(self):
        self.compare("npar_cuda_test", COMPARED)

    @unittest.skipUnless(len(GPUS) >= 3, f"{len(GPUS)} GPUs are here, and 3 are needed")
    def test_between_gpus(self):
        self.compare("npar_cuda_devices_test", BETWEEN)

    def test_libraries(self):
        """cuBLASLt where its bits match changes none; cuBLASLt and cuDNN come close, the same each time, also from a graph."""
        model = ["gpt2", *settings(SMALL, depth=2, compute="bf16"), *settings(mesh(dp=2)), "--random-data", "--steps", 4, "--products", "portable", "--quiet"]
        self.devices["NPAR_CACHE"] = str(self.folder / "cache")
        processor = self.npar_json("run", *model)
        on_gpu = ["run", *model, "--backend", "cuda"]
        self.assertEqual(self.npar_json(*on_gpu, "--cuda-products", "matching", "--cuda-graph", env=self.devices)["parameter_hash"], processor["parameter_hash"])
        available = self.npar("devices", env=self.devices).output
        flags = [word for library, flag in (("cuBLASLt", "--cuda-products"), ("cuDNN", "--cuda-attention")) if re.search(rf"^{library} +[\d.]+;", available, re.M) for word in (flag, "library")]
        if not flags:
            self.skipTest("neither cuBLASLt nor cuDNN is here")
        runs = [self.npar_json(*on_gpu, *flags, *graph, env=self.devices) for graph in ([], [], ["--cuda-graph"])]
        self.assertEqual(len({run["parameter_hash"] for run in runs}), 1)
        self.assert_close(runs[0]["loss"], processor["loss"], 4e-3, " ".join(flags))


if __name__ == "__main__":
    unittest.main()
