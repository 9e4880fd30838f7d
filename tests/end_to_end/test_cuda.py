"""Training, evaluation and generation on a GPU, emulated by a stand-in library (tests/engine/backends/standin): the processor's results."""

import json
import os
import re
import shutil
import subprocess
import unittest

from driver import BUILD, LONG, SMALL, DriverTest, mesh, sample, settings
from gpu_plans import FEW, GEMMA2, GPT2, LOOKING, RUN, TINY, OnGpus, degrees

STANDIN = BUILD / "lib" / "libnpar_standin_cuda.so"
CUBLASLT = BUILD / "lib" / "libnpar_standin_cublaslt.so"
CUDNN = BUILD / "lib" / "libnpar_standin_cudnn.so"
# The interpreter takes seconds for products of large models.
SIZES = SMALL if LONG else {**SMALL, "width": 16, "batch": 8, "vocab": 65, "depth": 2}
MPIS = [mpi for mpi in ("mpich", "openmpi") if (BUILD / "lib" / "npar" / f"libnpar_{mpi}.so").exists() and shutil.which(f"mpiexec.{mpi}")]
BUCKETS = """import "gpt2"

plan p for Gpt2 {
    mesh dp = 2
    micro 2
    split { batch -> dp }
    bucket 6 kB
}
"""
# Several GPUs of one session: name, model, flags of the plan, how many GPUs.
LLAMA = ["llama", *settings(FEW, context=16, mlp=32, kv_heads=2)]
SPREAD = [
    ("pp, three of four", LLAMA, settings(degrees(pp=2, tp=2), micro=1), 3),
    ("zero 3", LLAMA, settings(degrees(dp=4), zero=3, micro=1), 4),
    ("ring", [*LOOKING, *settings(depth=1)], settings(cp=2, tp=2), 2),
]
if LONG:
    SPREAD += [
        ("pp", LLAMA, settings(degrees(pp=2, tp=2), micro=1), 4),
        ("three of four", ["gpt2", *settings(FEW, context=16)], settings(degrees(dp=2, tp=2), zero=1, sequence="true"), 3),
        ("tp", ["gpt2", *settings(FEW, context=16)], settings(degrees(tp=2)), 2),
        ("buckets", ["plan.npar", *settings({name: value for name, value in FEW.items() if name != "micro"}, context=16)], [], 2),
    ]

# Plans with sums that NCCL may make: how they are run, which calls that comes to, and whether bits differ.
COLLECTIVES = ["ncclAllReduce", "ncclReduceScatter", "ncclAllGather"]
SUMS = [(degrees(dp=4) | {"zero": 1}, "4 joined", COLLECTIVES, True), (degrees(tp=4), "4 joined", COLLECTIVES[:1], True)]
MORE_SUMS = [
    (degrees(dp=2), "2 joined", COLLECTIVES[:1], False),
    (degrees(dp=4) | {"zero": 3}, "4 joined", COLLECTIVES, True),
    (degrees(dp=4) | {"zero": 3}, "2 joined", [], False),
    (degrees(dp=2, tp=2), "4 joined", COLLECTIVES[:1], False),
    (degrees(dp=2, tp=2), "2 joined", COLLECTIVES[:1], False),
    (degrees(dp=2, pp=2) | {"depth": 2}, "4 joined", COLLECTIVES[:1], False),
    (degrees(dp=4) | {"compute": "bf16"}, "4 joined", COLLECTIVES[:1], True),
]


def beside(events):
    """For each kind of collective: how many overlapped backward computation, their total number, and the number of overlapped steps."""
    lanes = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    spans = [(event, event["ts"], event["ts"] + event["dur"], lanes[event["pid"], event["tid"]]) for event in events if event["ph"] == "X"]
    backward = [span for span in spans if span[3] == "compute" and span[0]["cat"].startswith("B")]
    counts = {}
    for event, begin, end, lane in spans:
        if lane == "compute":
            continue
        inside = sum(step["pid"] == event["pid"] and begin <= began and ended <= end for step, began, ended, _ in backward)
        over, all_, steps = counts.get(kind := event["name"].split()[0], (0, 0, 0))
        counts[kind] = (over + bool(inside), all_ + 1, steps + inside)
    return counts


class CudaTest(OnGpus, DriverTest):
    smaller = {} if LONG else {
        "mlp": settings(width=16, inner=32, length=8, vocab=64, batch=8), "tp": settings(SIZES), "zero": settings(SIZES), "t5": settings(sources=12),
    }  # fmt: skip

    def setUp(self):
        super().setUp()
        self.devices = dict(os.environ, NPAR_CUDA_DRIVER=str(STANDIN), NPAR_NCCL=str(STANDIN), NPAR_STANDIN_DEVICES="4", NPAR_CUBLASLT=str(CUBLASLT), NPAR_CUDNN=str(CUDNN))

    def test_graphs_from_the_command_line(self):
        """What is recorded is started again with the numbers that the step has: here a drawn dropout, the learning rate, Adam's corrections."""
        model = ["gpt2", *settings(SIZES, depth=1, dropout=0.2), "--plan", "none", "--random-data", "--steps", 4, "--quiet"]
        processor = self.npar_json("run", *model)["parameter_hash"]
        for flags, launched in (([], 0), (["--cuda-graph"], 3)):
            done = self.npar("run", *model, "--backend", "cuda", *flags, "--json", env=dict(self.devices, NPAR_STANDIN_SITES="1"))
            self.assertEqual(json.loads(done.output)["parameter_hash"], processor)
            self.assertEqual(sum(map(int, re.findall(r"(\d+) calls of cuGraphLaunch", done.error))), launched)  # a rank alone: all of a step

    def test_parameters_of_a_size_are_updated_at_once(self):
        """Also the squares of their gradients: a place in the code launches kernels, but no more of them where the model is deeper."""
        launched = []
        for depth in (1, 3):
            run = ["run", "gpt2", *settings(SIZES, depth=depth), "--plan", "none", "--random-data", "--steps", 1, "--quiet", "--backend", "cuda"]
            error = self.npar(*run, env=dict(self.devices, NPAR_STANDIN_SITES="1")).error
            launched.append({(place, int(count)) for count, place in re.findall(r"(\d+) calls of cuLaunchKernel@(\w+)", error)})
        [(_, count)] = launched[0] & launched[1]
        program = self.folder / "model.npx"
        self.npar("compile", "gpt2", *settings(SIZES, depth=3), "--plan", "none", "--target", "cuda:sm_80", "-o", program)
        shapes = len(re.findall(rb"// kernel \w+ threads \d+ rows \d+ extent \d+ many", program.read_bytes()))
        self.assertGreater(shapes, 8)
        self.assertIn(count, range(shapes, shapes + 4))  # more where one waits for another

    def test_sums_of_the_library(self):
        """Under `reduce library` NCCL adds, in another order where a group has more than two ranks. Nothing else changes a bit."""
        self.devices["NPAR_STANDIN_SITES"] = "1"
        for plan, way, calls, differs in SUMS + (MORE_SUMS if LONG else []):
            with self.subTest(f"{plan}: {way}"):
                program = self.folder / "model.npx"
                self.npar("compile", "gpt2", *settings(SIZES, {"depth": 1, "width": 32, "vocab": 128, "reduce": "library"}, plan), "--target", "cuda:sm_80", "-o", program)
                ordered, library = self.told(program, "1"), self.told(program, *way.split(), "cuda")
                self.assertEqual({call for call in COLLECTIVES if f"calls of {call}@" in self.error}, set(calls))
                self.assertEqual(library != ordered, differs)
                near = 0.02 if plan.get("compute") == "bf16" else 1e-4
                for one, other in zip(ordered[1:], library[1:]):  # without the hash
                    for figure in ("loss", "norm"):
                        was, now = (float(re.search(rf"{figure} (\S+)", line)[1]) for line in (one, other))
                        self.assertLess(abs(now - was), near * abs(was), f"{one}, {other}")

    def test_a_process_with_several_gpus(self):
        (self.folder / "plan.npar").write_text(BUCKETS)
        for name, model, flags, gpus in SPREAD:
            program = self.folder / "model.npx"
            self.npar("compile", *model, *flags, "--target", "cuda:sm_80", "-o", program)
            processor = self.told(program, "1")
            for words in ([], ["graphs"]) if LONG or name == "zero 3" else ([],):
                with self.subTest(f"{name} {words}"):
                    self.assertEqual(self.told(program, "1", f"gpus={gpus}", "threads=2", *words, "cuda"), processor)

    def test_ranks_are_spread_over_gpus(self):
        """Ranks are spread over the host's GPUs by default; a checkpoint from there resumes on the processor, and tokens are generated on
        the GPUs."""
        model = ["gpt2", *settings(SMALL, depth=1, vocab=256)]
        plan = settings(degrees(dp=2, tp=2))
        run = ["run", *model, *plan, "--random-data", "--steps"]
        whole = self.npar_json(*run, 3, "--quiet")["parameter_hash"]
        said = self.npar(*run, 2, "--backend", "cuda", "--checkpoint", "spread", "--output", "w.safetensors", env=self.devices)
        self.assertIn("npar: rank 0 is on GPU 0 (270464 bytes), rank 1 on GPU 1 (270464 bytes), rank 2 on GPU 2 (270464 bytes), rank 3 on GPU 3 (270464 bytes)\n", said.error)
        self.assertEqual(self.npar_json(*run, 3, "--quiet", "--checkpoint", "spread", "--resume")["parameter_hash"], whole)
        said = self.npar(*run, 1, "--backend", "cuda", "--cuda-gpus", 2, env=self.devices)
        self.assertIn("npar: ranks 0 to 1 are on GPU 0 (540928 bytes), ranks 2 to 3 on GPU 1 (540928 bytes)\n", said.error)
        (self.folder / "prompts.txt").write_text("A text of\nB\n")
        generate = ["generate", *model, "--plan", "three_d", *settings(degrees(tp=2)), "--weights", "w.safetensors", "--prompts", "prompts.txt", "--count", 3, "--quiet"]
        self.assertEqual(self.npar(*generate, "--backend", "cuda", "--cuda-gpus", 2, env=self.devices).output, self.npar(*generate).output)
        for environment, flags, why in (
            ({}, ["--cuda-gpus", 9], "--cuda-gpus 9: this host has 4 GPUs that npar can see (npar devices shows them)"),
            ({"NPAR_STANDIN_DEVICES": "8"}, ["--cuda-gpus", 8], "--cuda-gpus 8: this process has 4 ranks, and a rank cannot use several GPUs: use a plan with more ranks"),
            ({"NPAR_STANDIN_ARCHITECTURE": "90,80"}, ["--cuda-gpus", 2], "is sm_80: the GPUs of a process must be of one kind"),
            ({"NPAR_STANDIN_MEMORY": "1600000"}, ["--cuda-gpus", 2], "the arenas of 2 ranks: GPU 0 (npar stand-in sm_90) has too little memory for the first step: "),
        ):
            with self.subTest(why):
                self.assertIn(why, self.npar(*run, 1, "--backend", "cuda", *flags, env=self.devices | environment, code=None).error)

    def test_products_of_the_library(self):
        """In float32 they have the processor's bits; of bf16 those that have other ones stay npar's own where bits are to match."""
        program = self.folder / "model.npx"
        self.devices["NPAR_CACHE"] = str(self.folder / "cache")
        for plan, products, ways in ((degrees(dp=2, tp=2), "library", ["1", "2 processes"]), (degrees(dp=2) | {"compute": "bf16"}, "matching", ["1"])):
            self.npar("compile", "gpt2", *settings(SIZES, depth=1), *settings(plan), "--target", "cuda:sm_80", "-o", program)
            processor = self.told(program, "1")
            for way in ways:
                with self.subTest(f"{products} {plan}: {way}"):
                    self.assertEqual(self.told(program, *way.split(), "cuda", f"products={products}"), processor)

    def test_products_in_tf32(self):
        """By whom ever they are made, they have the processor's bits, which are others than in float32."""
        program, found = self.folder / "model.npx", {}
        self.devices["NPAR_CACHE"] = str(self.folder / "cache")
        for compute in ("f32", "tf32"):
            self.npar("compile", "gpt2", *settings(SIZES, depth=1), *settings(degrees(dp=2, tp=2), compute=compute), "--target", "cuda:sm_80", "-o", program)
            found[compute] = self.told(program, "1")
        self.assertNotEqual(found["tf32"], found["f32"])
        for products in ("own", "matching", "library"):
            with self.subTest(products):
                self.assertEqual(self.told(program, "1", "cuda", f"products={products}"), found["tf32"])

    def test_products_of_the_library_from_the_command_line(self):
        self.devices["NPAR_CACHE"] = str(self.folder / "cache")
        model = ["gpt2", *settings(SIZES, depth=1), "--plan", "none", "--random-data", "--steps", 2]
        own = self.npar_json("run", *model, "--quiet", env=self.devices)["parameter_hash"]
        for _ in range(2):  # the second time choices are those that were kept
            said = self.npar("run", *model, "--backend", "cuda", "--cuda-products", "library", "--json", env=self.devices)
            self.assertEqual(json.loads(said.output)["parameter_hash"], own)
            self.assertRegex(said.error, r"npar: cuBLASLt 13\.1\.0 has (\d+) of \1 matrix products, \1 of them with the bits of npar's own, and \d+ bytes of workspace")
        kept = list((self.folder / "cache").glob("cublaslt-13.1.0-*.txt"))
        self.assertEqual(len(kept), 1)
        kept[0].write_bytes(kept[0].read_bytes()[:-5])
        said = self.npar("run", *model, "--backend", "cuda", "--cuda-products", "library", env=self.devices)
        self.assertIn("is damaged and ignored: all are tried again", said.error)
        devices = self.npar("devices", env=self.devices).output
        self.assertIn("cuBLASLt     13.1.0; multiplies with --cuda-products matching or library", devices)
        devices = self.npar("devices", env=dict(self.devices, NPAR_CUBLASLT="./nothing.so")).output
        self.assertRegex(devices, "cuBLASLt     there is no cuBLASLt: ./nothing.so: .*; matrix products are npar's own kernels")

    def test_attention_of_the_library(self):
        """In bf16 near the numbers of npar's own, the same each time."""
        sizes = settings(TINY | {"width": 32, "depth": 1, "length": 16, "context": 16})
        run = ["run", self.folder / "model.npx", "--random-data", "--steps", 3, "--json", "--backend", "cuda"]
        for name, model in sample({"gpt2": [], "llama": settings(mlp=32, kv_heads=2)}, "llama").items():
            self.npar("compile", name, *sizes, *model, *settings(compute="bf16"), "--plan", "none", "--target", "cuda:sm_90", "-o", "model.npx")
            own = self.npar_json(*run, env=self.devices)
            said = [self.npar(*run, "--cuda-attention", "library", env=self.devices) for _ in range(2)]
            library, again = (json.loads(one.output) for one in said)
            with self.subTest(name):
                self.assertRegex(said[0].error, r"npar: cuDNN 9\.19\.0 has 2 of 2 attentions, and \d+ bytes of workspace")
                self.assertEqual(library["parameter_hash"], again["parameter_hash"])
                self.assertNotEqual(library["parameter_hash"], own["parameter_hash"])
                self.assertAlmostEqual(library["loss"], own["loss"], delta=1e-3 * own["loss"])
        self.assertIn("cuDNN        9.19.0; computes attention with --cuda-attention library", self.npar("devices", env=self.devices).output)
        missing = dict(self.devices, NPAR_CUDNN="./nothing.so")
        self.assertRegex(self.npar("devices", env=missing).output, "cuDNN        there is no cuDNN: ./nothing.so: .*; attention is npar's own kernels")
        refused = self.npar(*run, "--cuda-attention", "library", env=missing, code=1)
        self.assertRegex(refused.error, "there is no cuDNN: ./nothing.so: .*; --cuda-attention own does not need it")

    def test_memory_is_compared_before_the_first_step(self):
        """All arenas together, plus the memory that attention's scores take."""
        run = ["run", *GEMMA2, "--plan", "none", "--random-data", "--steps", 1, "--backend", "cuda"]
        result = self.npar(*run, env=dict(self.devices, NPAR_STANDIN_MEMORY=str(448 << 10)), code=1)
        self.assertRegex(result.error, r"GPU 0 \(.*\) has too little memory for the first step: \d+ bytes are needed, and \d+ are free; \d+ are taken by contexts of kernels, \d+ are taken by what ranks compute in \(scores of attention")

    def test_no_step_begins_without_the_memory_for_all(self):
        """A little more each time than is enough for the arenas: what messages between GPUs work in is missing, or nothing is."""
        program = self.folder / "model.npx"
        self.npar("compile", "gpt2", *settings(TINY, degrees(dp=2), zero=3), "--target", "cuda:sm_80", "-o", program)

        def said(memory):
            command = [RUN, program, "2", "joined", "cuda", "steps=1"]
            return subprocess.run(command, env=self.devices | {"NPAR_STANDIN_MEMORY": str(memory)}, capture_output=True, text=True)

        small, kinds = 200 << 10, []
        needed, free = map(int, re.search(r"too little memory for the first step: (\d+) bytes are needed, and (\d+) are free", said(small).stderr).groups())
        while "good" not in kinds:
            end = said(small - free + needed + len(kinds) * 1024)
            early = re.match(r"(messages between GPUs|rank \d+): cannot allocate", end.stderr)
            self.assertTrue(early or end.returncode == 0, end.stderr)
            kinds.append(early[1] if early else "good")
        self.assertIn("messages between GPUs", kinds)

    def test_what_was_trained_is_used_alike(self):
        (self.folder / "text.txt").write_text("A text of a few words, more than once. " * 8)
        model = ["gpt2", *settings(SIZES, depth=1, vocab=256)]
        self.npar("run", *model, "--plan", "none", "--data", "text.txt", "--tokens", "bytes", "--steps", 2, "--output", "w.safetensors", "--quiet")
        for command in (
            ["eval", *model, "--weights", "w.safetensors", "--data", "text.txt", "--tokens", "bytes", "--json", "--quiet"],
            ["generate", *model, "--weights", "w.safetensors", "--prompt", "A text of", "--count", 4, "--quiet"],
        ):
            with self.subTest(command[0]):
                done = [self.npar(*command, *flags, env=self.devices | {"NPAR_STANDIN_SITES": "1"}) for flags in ([], ["--backend", "cuda"], ["--backend", "cuda", "--cuda-graph"])]
                self.assertEqual({each.output for each in done}, {done[0].output})
                launched = [sum(map(int, re.findall(r"(\d+) calls of cuGraphLaunch", each.error))) for each in done]
                self.assertEqual(launched[:2], [0, 0])
                self.assertGreater(launched[2], 0)
        if LONG:  # in float64, and on one rank in its own type
            self.npar("verify", "t5", *settings(vocab=64, length=8, width=16, inner=32, heads=2, head_dim=8, depth=1, batch=4), "--backend", "cuda", "--cuda-gpus", 2, env=self.devices)
        checks = self.npar("verify", "mlp", *settings(mesh(dp=2), batch=8, micro=4, width=16, inner=32, length=8, depth=1, vocab=64), "--backend", "cuda", "--cuda-gpus", 2, "--cuda-graph", env=self.devices).output
        self.assertIn("in f32: loss", checks)

    @unittest.skipUnless(MPIS, "npar was built without an MPI, or its mpiexec is not here")
    def test_gpus_of_processes_are_joined(self):
        run = ["run", "mlp", *settings(mesh(dp=2), width=16, inner=32, length=8, depth=1, vocab=64, batch=8), "--random-data", "--steps", 2, "--quiet"]
        processor = self.npar_json(*run)["parameter_hash"]
        joined = ["launch", "--mpi", MPIS[-1], "-n", 2, *run, "--backend", "cuda", "--nccl"]
        with self.subTest("joined"):
            self.assertEqual(self.npar_json(*joined, "always", env=self.devices)["parameter_hash"], processor)
        for name, environment, why in (
            ("no library", {"NPAR_NCCL": "/nowhere.so"}, "process 0: there is no NCCL: /nowhere.so"),
            ("another one", {"NPAR_STANDIN_FAULT": "nccl=21003"}, "process 0: NCCL has version 2.10.3, and 2.18.1 is needed: install a newer one"),
            ("one device", {"NPAR_STANDIN_DEVICES": "1"}, "process 0 and process 1 share a device"),
        ):
            with self.subTest(name):
                self.assertIn(why, self.npar(*joined, "always", env=self.devices | environment, code=1).error)
                done = self.npar(*joined, "auto", "--json", env=self.devices | environment)
                self.assertEqual(json.loads(done.output)["parameter_hash"], processor)

    @unittest.skipUnless(MPIS, "npar was built without an MPI, or its mpiexec is not here")
    def test_messages_go_beside_kernels(self):
        """Of two joined GPUs: while a collective is under way, steps of the same rank begin and end that so do not wait for it."""
        (self.folder / "plan.npar").write_text(BUCKETS)
        sizes = settings({key: value for key, value in FEW.items() if key != "micro"}, depth=4)
        for name, model, wanted in (
            ("ZeRO-3", [*GPT2, *settings(FEW, context=16, depth=4), *settings(degrees(dp=2), zero=3)], ("all_gather", "reduce_scatter")),
            ("buckets", ["plan.npar", *sizes, *settings(context=16)], ("all_reduce",)),
        ):
            trace = self.folder / "trace.json"
            run = ["run", *model, "--random-data", "--steps", 2, "--quiet", "--backend", "cuda", "--nccl", "always", "--trace", trace]
            self.npar("launch", "--mpi", MPIS[0], "-n", 2, *run, env=self.devices)
            counts = beside(json.loads(trace.read_text())["traceEvents"])
            print(f"{name}: " + ", ".join(f"{over} of {all_} {kind} in {steps} steps of backward" for kind, (over, all_, steps) in sorted(counts.items())))
            for kind in wanted:
                with self.subTest(f"{name}: {kind}"):
                    self.assertGreaterEqual(counts[kind][0], 1, counts)


if __name__ == "__main__":
    unittest.main()
