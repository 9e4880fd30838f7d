"""The effect on training of a missing wait, event, copy, launch or call of NCCL: it fails or gives other numbers.

The stand-in leaves out all calls that come from one place of npar's code (NPAR_STANDIN_LEAVE_OUT), as if they were not written there.
"""

import bisect
import os
import re
import shutil
import subprocess
import unittest

from driver import BUILD, LONG, ROOT, SMALL, DriverTest, mesh, settings

RUN = BUILD / "bin" / "npar_run_sessions"
SEVERAL = [BUILD / "bin" / "npar_cuda_devices_test", "--gtest_filter=CudaDevices.WhatGoesBetweenGpusHasTheBitsOfTheProcessor"]
STANDIN = BUILD / "lib" / "libnpar_standin_cuda.so"
TINY = {**SMALL, "depth": 2, "width": 16, "heads": 2, "length": 8, "vocab": 64, "batch": 8}
MODEL = ["gpt2", *settings(TINY), *settings(mesh(dp=2, pp=2), zero=1)]
TYPES = ["f64", "f32"]
# Attention with biases of every shape, in four pieces.
SCORES = [ROOT / "tests" / "end_to_end" / "attention.npar", "--plan", "divided", *settings(cp=4, rate=0.3, depth=1)]

# One rank on each of four GPUs: sums over two of them in buckets of every size, transfers between stages.
BETWEEN = ["gpt2", *settings(SMALL, depth=2, width=16, heads=2, length=8, vocab=64, batch=8), *settings(mesh(dp=2, pp=2, tp=1), zero=1)]

# Calls that can be left out without an effect, and why.
HARMLESS = {
    "cuStreamSynchronize in npar::engine::cuda::ThreadWork::~ThreadWork": "all work of the thread was waited for before",
    "cuCtxSynchronize in npar::engine::cuda::CudaBackend::release": "nothing uses memory that the engine gives back",
    "cuCtxSynchronize in npar::engine::cuda::CudaDevices::~CudaDevices": "all work was waited for before",
    "cuCtxSynchronize in npar::engine::cuda::CudaDevices::release": "nothing uses memory that the engine gives back",
    "cuCtxSynchronize in npar::engine::cuda::DeviceSums::~DeviceSums": "all sums were waited for before",
    "cuEventRecord in npar::engine::cuda::DeviceOrder::goOn": "what one communication starts is for places of their own; work that is drawn at random notices",
    "cuStreamWaitEvent in npar::engine::cuda::DeviceOrder::goOn": "what one communication starts is for places of their own; work that is drawn at random notices",
    "cuStreamSynchronize in npar::engine::cuda::CudaDevice::write": "tables are copied while a program loads, mostly long before a kernel reads them",
    "ncclCommGetAsyncError in npar::engine::cuda::NcclMessages::health": "it looks for errors, and this run has none",
    "ncclCommDestroy in npar::engine::cuda::NcclMessages::~NcclMessages": "the end of the process gives all back",
}  # fmt: skip
ALWAYS_NOTICED = ["cuEventRecord in npar::engine::cuda::Completions::whenDone", "cuMemcpyDtoHAsync_v2 in npar::engine::cuda::ThreadWork::copyOut"]
# Plans of runs whose GPUs are joined, and what each comes to that none before it did: messages by NCCL, its sums, its sums of shares.
NCCL = [
    ({"zero": 1}, {"ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"}),
    ({"zero": 0, "reduce": "library"}, {"ncclCommSplit", "ncclGroupStart", "ncclAllReduce", "ncclGroupEnd"}),
    ({"zero": 1, "reduce": "library", "width": 32}, {"ncclReduceScatter", "ncclAllGather"}),
]
SEEDS = 20  # orders of work that are tried


class MutantsTest(DriverTest):
    words = ()  # more of them for npar_run_sessions

    def setUp(self):
        super().setUp()
        if not shutil.which("nm"):
            self.skipTest("nm is not here (binutils)")
        self.read_symbols(RUN)

    def read_symbols(self, executable):
        symbols = subprocess.run(["nm", "-C", executable], capture_output=True, text=True, check=True).stdout
        symbols = symbols.replace("(anonymous namespace)::", "").splitlines()
        rows = sorted((int(row[0], 16), row[2]) for row in (line.split(" ", 2) for line in symbols) if row[0] and row[1] in "tT")
        self.addresses, self.names = [row[0] for row in rows], [row[1].split("(")[0] for row in rows]

    def name_of(self, site):
        call, place = site.split("@")
        return f"{call} in {self.names[bisect.bisect_right(self.addresses, int(place, 16)) - 1]}"

    def told(self, program, way="processes", **variables):
        """What is printed of losses and parameters, or how it failed. `way`: of two sessions, or how many of them and how."""
        devices = dict(os.environ, NPAR_CUDA_DRIVER=str(STANDIN), NPAR_NCCL=str(STANDIN), NPAR_STANDIN_DEVICES="4" if "gpus" in way else "2" if way == "joined" else "1", **variables)
        try:
            done = subprocess.run([RUN, program, *(way.split() if " " in way else ["2", way]), "cuda", "timeout=15", *self.words], cwd=self.folder, env=devices, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "hangs"
        self.sites = re.findall(r"calls of (\S+@\S+)", done.stderr)
        refused = re.findall(r"^stand-in for NCCL: refused: .*", done.stderr, re.MULTILINE)
        return sorted(done.stdout.splitlines()) + refused if done.returncode == 0 else f"exit code {done.returncode}"

    def sites_of(self, model, way="processes"):
        """Of a model that is trained: its program, what is printed, and the names of all places."""
        program = self.folder / "model.npx"
        self.npar("compile", *model, "--target", "cuda:sm_80", "-o", program)
        good = self.told(program, way, NPAR_STANDIN_SITES="1")
        self.assertEqual(len(good), 4 * int(way[0] if way[0].isdigit() else 2), good)  # of each session three steps and a hash
        sites = {site: self.name_of(site) for site in self.sites}
        return program, good, sites

    def test_each_is_noticed(self):
        tried = {}
        for compute in TYPES:
            program, good, sites = self.sites_of([*MODEL, *settings(compute=compute)])
            fresh = {site: name for site, name in sites.items() if site not in tried}
            tried |= fresh
            self.expect_noticed(program, good, {site: name for site, name in fresh.items() if LONG or name in ALWAYS_NOTICED})
        self.assertGreater(len(tried), 15)
        self.assertLessEqual({*ALWAYS_NOTICED, "cuLaunchKernel in npar::engine::cuda::CudaProducts::launch"}, set(tried.values()))

    @unittest.skipUnless(LONG, "NPAR_LONG is not set")
    def test_each_is_noticed_where_scores_change(self):
        program, good, sites = self.sites_of(SCORES)
        own = {site: name for site, name in sites.items() if "::CudaScores" in name}
        self.assertGreater(len(own), 10)
        self.expect_noticed(program, good, own)

    @unittest.skipUnless(LONG, "NPAR_LONG is not set")
    def test_each_is_noticed_where_steps_are_recorded(self):
        self.words = ("graphs",)
        program, good, sites = self.sites_of([*MODEL, *settings(compute="f32")])
        own = {site: name for site, name in sites.items() if "::replay" in name or "sendChanges" in name}
        self.assertGreater(len(own), 2)
        self.expect_noticed(program, good, own)

    @unittest.skipUnless(LONG, "NPAR_LONG is not set")
    def test_each_is_noticed_where_gpus_are_joined(self):
        tried = set()
        for plan, calls in NCCL:
            program, good, sites = self.sites_of(["gpt2", *settings(TINY, mesh(dp=2, pp=2), plan, compute="f64")], "joined")
            fresh = {site: name for site, name in sites.items() if site not in tried}
            tried |= fresh.keys()
            self.expect_noticed(program, good, fresh, "joined")
            self.assertLessEqual(calls, {name.split()[0] for name in fresh.values()})

    @unittest.skipUnless(LONG, "NPAR_LONG is not set")
    def test_each_is_noticed_between_gpus_of_a_process(self):
        """Waits of one GPU for another, copies between them, and the turns of the memory that they add up in."""
        way = "1 gpus=4 threads=4"
        program, good, sites = self.sites_of(BETWEEN, way)
        own = {site: name for site, name in sites.items() if re.search("::(DeviceOrder|DeviceSums|CudaDevices)::|PeerAsync", name)}
        self.assertGreater(len(own), 6)
        self.expect_noticed(program, good, own, way)
        self.read_symbols(SEVERAL[0])
        environment = dict(os.environ, NPAR_STANDIN_SITES="1")
        calls = subprocess.run(SEVERAL, env=environment, capture_output=True, text=True, check=True).stderr
        order = [site for site in re.findall(r"calls of (\S+@\S+)", calls) if "::DeviceOrder::goOn" in self.name_of(site)]
        self.assertEqual(len(order), 2)
        for site in order:
            with self.subTest(f"random work without {self.name_of(site)}"):
                self.assertEqual(subprocess.run(SEVERAL, env=dict(os.environ, NPAR_STANDIN_LEAVE_OUT=site), capture_output=True).returncode, 1)

    def expect_noticed(self, program, good, sites, way="processes"):
        for site, name in sites.items():
            with self.subTest(name):
                seeds = range(1, 2 if name in HARMLESS else SEEDS + 1)
                noticed = any(self.told(program, way, NPAR_STANDIN_LEAVE_OUT=site, NPAR_STANDIN_SEED=str(seed)) != good for seed in seeds)
                self.assertTrue(noticed or name in HARMLESS)


if __name__ == "__main__":
    unittest.main()
