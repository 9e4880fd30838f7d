"""Tests for every GPU, the stand-in's (test_cuda.py) and a real one (test_cuda_device.py): training there has the processor's bits."""

import re
import subprocess
import unittest

from driver import BUILD, LONG, ROOT, SMALL, mesh, settings

RUN = BUILD / "bin" / "npar_run_sessions"
GPT2 = ["gpt2", *settings(SMALL, depth=4)]
LOOKING = [ROOT / "tests" / "end_to_end" / "attention.npar", "--plan", "divided"]  # biases of every shape
FEW = {"vocab": 64, "length": 16 if LONG else 8, "width": 16, "heads": 4, "depth": 2, "batch": 4, "micro": 2}
STEPS = 3 if LONG else 2  # the second one has parameters that the first has changed, and starts graphs that it has recorded
BERT = ["bert", *settings(FEW, context=16)]
T5 = ["t5", *settings(FEW, sources=40, inner=32, head_dim=8)]
GEMMA2 = ["gemma2", *settings(FEW, context=16, mlp=32, kv_heads=2, head_dim=8, window=4, cap=2.0)]

WINDOWS = [ROOT / "tests" / "end_to_end" / "windows.npar", *settings(depth=1)]  # convolutions with strides and groups, and pooling
EXPERTS = [ROOT / "tests" / "end_to_end" / "experts.npar", "--plan", "shared"]  # one has most rows, another one none

# Name, model, flags of the plan, and how it is run: sessions, which have a GPU each, then words of npar_run_sessions.
PLANS = [
    ("mlp", ["mlp"], [], ["1 graphs"]),
    ("tp", GPT2, settings(mesh(dp=2, tp=2)), ["2 processes", "4 joined graphs"]),
    ("zero", GPT2, settings(mesh(dp=4), zero=3), ["2 processes graphs", "2 joined"]),
    # Attention whose scores the program changes: hidden keys, biases with slopes, a cap and a window.
    ("bert", BERT, settings(mesh(dp=2)), ["1"]),
    ("t5", T5, settings(mesh(tp=2)), ["1 graphs"]),
    ("experts", EXPERTS, settings(mesh(ep=2), sequences=2), ["1"]),
    ("gemma2 f64", GEMMA2, settings(mesh(dp=2), compute="f64"), ["1"]),
    ("convolutions", WINDOWS, settings(dp=2, gp=2), ["1 graphs"]),
]
LONGER = [
    # Ranks cut out what others need of split axes, and put it together.
    ("halos", [ROOT / "tests" / "end_to_end" / "halos.npar"], settings(sp=3, cp=2), ["1 graphs", "3 processes"]),
    ("tp", GPT2, settings(mesh(dp=2, tp=2)), ["1 graphs"]),
    ("mlp dp", ["mlp"], settings(mesh(dp=2)), ["1", "2 processes"]),
    ("pp", GPT2, settings(mesh(pp=4), schedule="zb_h1"), ["1", "1 graphs", "4 processes", "4 joined", "4 joined graphs"]),
    ("fp16", GPT2, settings(mesh(dp=2), compute="fp16"), ["1"]),
    ("bf16", GPT2, settings(mesh(dp=2), compute="bf16"), ["1"]),
    ("f64", GPT2, settings(mesh(dp=2), compute="f64"), ["1"]),
    ("experts bf16", EXPERTS, settings(mesh(dp=2, tp=2), compute="bf16"), ["1", "2 processes"]),
    ("experts f64", EXPERTS, settings(mesh(ep=4), zero=3, compute="f64"), ["1 graphs", "4 joined"]),
    ("convolutions f64", WINDOWS, settings(dp=2, tp=2, zero=3, compute="f64"), ["2 processes"]),
    ("convolutions bf16", WINDOWS, settings(sp=2, compute="bf16"), ["1"]),
    ("convolutions fp16", WINDOWS, settings(dp=2, compute="fp16"), ["1"]),
    ("mnist_cnn tf32", ["mnist_cnn", *settings(size=12, first=4, second=6, width=8, batch=8)], settings(mesh(dp=2), compute="tf32"), ["1"]),
    ("t5 f64", T5, settings(mesh(tp=2), compute="f64"), ["1"]),
    ("gemma2", GEMMA2, settings(mesh(dp=2)), ["1"]),
    ("bert dropout", BERT, settings(mesh(dp=2), attention_dropout=0.1), ["1"]),
    ("bert bf16", BERT, settings(mesh(tp=2), compute="bf16", dropout=0.1, attention_dropout=0.1), ["1"]),
    ("t5 fp16", T5, settings(mesh(dp=2), compute="fp16", dropout=0.1), ["1"]),
    ("ring", LOOKING, settings(cp=2, tp=2), ["1", "2 processes"]),
    ("gather", LOOKING, settings(cp=4, way="gather", rate=0.3), ["2 processes"]),
    ("window", ["gemma2", *settings(FEW, length=300, context=300, mlp=16, kv_heads=2, head_dim=8, window=40, cap=2.0)], [], ["1"]),
    ("gemma2 pp", GEMMA2, settings(mesh(pp=2, tp=2)), ["1"]),
]


def degrees(dp=1, pp=1, tp=1):
    return mesh(dp=dp, pp=pp, tp=tp)


# Plans for both models, in turn in one session, in two processes, in two processes whose GPUs are joined.
TINY = {"vocab": 64, "context": 8, "length": 8, "width": 16, "heads": 4, "depth": 4, "batch": 8, "micro": 2}
MODELS = {"gpt2": [], "llama": settings(mlp=32, kv_heads=2)}
MANY = [
    degrees(), degrees(dp=2), degrees(tp=2), degrees(tp=4), degrees(tp=2) | {"sequence": "true"}, degrees(dp=4) | {"zero": 3}, degrees(dp=2) | {"zero": 2}, degrees(dp=2) | {"zero": 2, "per_step": "true"},
    degrees(pp=2), degrees(pp=2) | {"schedule": "gpipe"}, degrees(pp=2) | {"schedule": "interleaved", "chunks": 2}, degrees(pp=2) | {"schedule": "zb_h1"}, degrees(pp=4) | {"schedule": "zb_h2"},
    degrees(pp=2) | {"schedule": "zb_v"}, degrees(pp=2) | {"schedule": "dualpipe_v"}, degrees(dp=2, pp=2), degrees(dp=2, tp=2) | {"zero": 1}, degrees(pp=2, tp=2) | {"sequence": "true"},
    degrees(dp=2, pp=2, tp=2), degrees(dp=2, tp=2) | {"compute": "bf16"},
]  # fmt: skip


class OnGpus:
    """A test case is also a DriverTest, and has `devices`: the environment of a process on GPUs."""

    gpus = 4  # number of GPUs
    smaller = {}  # flags, for some of PLANS, that make the model smaller if the GPU is slow
    equal_products = "library"  # word of --cuda-products by which cuBLASLt has the processor's bits in float32

    def has_gpus_for(self, way):
        """Checks the number of GPUs: each of `joined` sessions needs its own, a session with `gpus=N` needs N; other sessions share one."""
        needed = re.findall(r"(\d+) joined|gpus=(\d+)", way)
        return all(int(joined or spread) <= self.gpus for joined, spread in needed)

    def told(self, program, *words):
        """The lines that all sessions print, without duplicates: they must print the same."""
        command = [str(RUN), str(program), *words, f"steps={STEPS}"]
        result = subprocess.run(command, cwd=self.folder, env=self.devices, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, f"{' '.join(command)}\n{result.stdout}{result.stderr}")
        self.error = result.stderr
        return sorted(set(result.stdout.splitlines()))

    def test_plans_compute_what_the_processor_computes(self):
        for name, model, flags, ways in PLANS + (LONGER if LONG else []):
            program = self.folder / "model.npx"
            self.npar("compile", *model, *self.smaller.get(name, ()), *flags, "--target", "cuda:sm_80", "-o", program)
            processor = self.told(program, "1")
            self.assertEqual(len(processor), STEPS + 1, processor)  # and a hash
            for way in filter(self.has_gpus_for, ways):
                with self.subTest(f"{name}: {way}"):
                    self.assertEqual(self.told(program, *way.split(), "cuda"), processor)

    @unittest.skipUnless(LONG, "NPAR_LONG is not set")
    def test_many_plans(self):
        self.devices["NPAR_CACHE"] = str(self.folder / "cache")
        for model, more in MODELS.items():
            for number, plan in enumerate(MANY):
                program = self.folder / "model.npx"
                self.npar("compile", model, *settings(TINY), *more, *settings(plan), "--target", "cuda:sm_80", "-o", program)
                processor = self.told(program, "1")
                products = "products=matching" if plan.get("compute") == "bf16" else f"products={self.equal_products}"
                ways = ["1 cuda"] if plan == degrees() else ["1 cuda", "2 joined cuda"] if number % 2 == 0 else ["2 processes cuda", "2 joined cuda"]
                if plan != degrees():
                    ways.append("1 gpus=2 threads=2 cuda")
                for way in filter(self.has_gpus_for, [*ways, f"{ways[0]} {products}"]):
                    with self.subTest(f"{model}: {plan}: {way}"):
                        self.assertEqual(self.told(program, *way.split()), processor)

    def test_checkpoints_go_on_elsewhere(self):
        model = ["mlp", *settings(mesh(dp=2), width=16, inner=32, length=8, depth=1, vocab=64, batch=8)]

        def trained(steps, backend, *more):
            return self.npar_json("run", *model, "--random-data", "--steps", steps, "--quiet", "--backend", backend, *more, env=self.devices)["parameter_hash"]

        whole = trained(4, "cpu")
        for first, then in (("cpu", "cuda"), ("cuda", "cpu")):
            with self.subTest(f"{first}, then {then}"):
                trained(2, first, "--checkpoint", first)
                self.assertEqual(trained(4, then, "--checkpoint", first, "--resume"), whole)
