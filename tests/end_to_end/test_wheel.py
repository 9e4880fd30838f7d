"""The wheel: built from the build folder, audited, installed into fresh environments, and used with NumPy, PyTorch and Triton around it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from driver import BUILD, LONG, ROOT, SANITIZED, block

HELLO = block(ROOT / "README.md", "npar")
# Two steps; with `about` None what is imported besides NumPy is nothing.
USE = """
import sys
before, after = sys.argv[1].split(","), sys.argv[2].split(",")
for name in filter(None, before):
    __import__(name)
import npar, numpy as np
p = npar.compile(open("hello.npar").read(), plan="two_by_two")
x = np.arange(512).reshape(16, 32) % 256
t = npar.Trainer(p)
losses = [t.step(tokens=x, targets=x[::-1]).loss for _ in range(2)]
for name in filter(None, after):
    __import__(name)
q = npar.compile(open("hello.npar").read(), plan="none")   # with another LLVM in the process
one = npar.Trainer(q)
losses += [one.step(tokens=x, targets=x[::-1]).loss]
w = np.from_dlpack(one.view("head.bias"))
if "torch" in before + after:
    import torch
    view = torch.from_dlpack(one.view("head.weight"))
    assert view.dtype == torch.float32 and view.shape == (256, 256) and view.data_ptr() == np.asarray(one.view("head.weight")).ctypes.data
    tokens = torch.from_numpy(x.copy())
    assert one.step(tokens=tokens.to(torch.int32).t().contiguous().t(), targets=tokens.flip(0).to(torch.uint8)).loss < losses[0]
    t["head.weight"] = torch.nn.Parameter(torch.ones(256, 256, dtype=torch.bfloat16))
    assert (t["head.weight"] == 1).all()
    t["head.weight"] = torch._neg_view(torch.ones(256, 256))
    assert (t["head.weight"] == -1).all()
    module = torch.nn.ParameterDict({name.replace(".", "_"): torch.nn.Parameter(torch.zeros(tensor.shape)) for name, tensor in t.state_dict().items()})
    module.load_state_dict({name.replace(".", "_"): tensor for name, tensor in t.state_dict().torch().items()})
    assert all((module[name.replace(".", "_")].detach().numpy() == tensor).all() for name, tensor in t.state_dict().items())
    linear = torch.nn.Linear(64, 256)                           # its weight is [out, in]
    linear.weight.data = torch.from_numpy(t["up.weight"].T.copy())
    linear.bias.data = torch.from_numpy(t["up.bias"])
    row = np.linspace(-1, 1, 64, dtype=np.float32)
    assert p.parameters["up.weight"].axes == ("embed", "hidden")
    assert np.allclose(linear(torch.from_numpy(row)).detach().numpy(), row @ t["up.weight"] + t["up.bias"], atol=1e-5)
    for wrong in (torch.ones(256, dtype=torch.complex64), torch.ones(256).to_sparse(), torch.ones(256).to(torch.float8_e4m3fn)):
        try:
            t["head.bias"] = wrong
        except TypeError as error:
            assert str(wrong.dtype) in str(error) and "pass a dense array" in str(error), error
    half = npar.Trainer(npar.compile(open("hello.npar").read().replace("micro 4", "micro 4  compute bf16"), plan="two_by_two"))
    piece = half.pieces("head.weight")[0]
    if piece.dtype == "bfloat16":
        assert torch.from_dlpack(piece).dtype == torch.bfloat16
    state = {"a": torch.arange(3, dtype=torch.int16), "b": torch.get_rng_state()}
    from npar._loader import state_of, text_of
    back = state_of(text_of(state))
    assert back["a"].dtype == torch.int16 and (back["b"] == state["b"]).all()
if "triton" in before + after:
    assert torch.ones(3).sum() == 3
print(*losses, w.shape)
"""


def python_with_torch():
    """An interpreter of this version that has PyTorch: NPAR_TORCH_PYTHON, else this one."""
    chosen = os.environ.get("NPAR_TORCH_PYTHON") or sys.executable
    found = subprocess.run([chosen, "-c", "import torch, sys, os; print(*sys.version_info[:2], os.path.dirname(os.path.dirname(torch.__file__)))"], capture_output=True, text=True)
    return (chosen, *found.stdout.split()) if found.returncode == 0 else None


@unittest.skipIf(SANITIZED, "a sanitized library cannot be loaded by Python")
@unittest.skipUnless(LONG, "NPAR_LONG is not set; in the short form test_python imports the module from the build folder")
class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = os.environ.get("NPAR_PYTHON") or str(BUILD / "python-tools" / "bin" / "python")
        lacking = [name for name in ("scikit_build_core", "nanobind", "auditwheel", "abi3audit") if subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode] if os.path.exists(python) else ["python"]
        if lacking:
            raise unittest.SkipTest(f"{python} lacks {', '.join(lacking)}: pip install -r tools/python/wheel-requirements.txt")
        folder = tempfile.TemporaryDirectory(prefix="npar test ")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "the build").symlink_to(BUILD)  # a path with spaces
        built = cls.build_wheel(python)
        print(built.stdout)
        assert built.returncode == 0, built.stdout + built.stderr
        (cls.wheel,) = (BUILD / "wheel").glob("npar-*.whl")
        (cls.folder / "hello.npar").write_text(HELLO)
        cls.python = python

    @classmethod
    def build_wheel(cls, python, **more):
        environment = {**os.environ, "NPAR_BUILD": str(cls.folder / "the build"), "NPAR_PYTHON": python, **more}
        return subprocess.run([ROOT / "tools" / "wheel"], env=environment, capture_output=True, text=True)

    def fresh(self, *packages):
        """An environment with the wheel and packages from the index."""
        place = self.folder / f"env{len(list(self.folder.glob('env*')))}"
        subprocess.run([self.python, "-m", "venv", place], check=True)
        own = place / "bin" / "python"
        done = subprocess.run([own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", self.wheel, *packages], capture_output=True, text=True)
        if done.returncode:
            self.skipTest("pip cannot install: " + done.stderr.strip().splitlines()[-1])
        return own

    def use(self, python, before="", after="", prefix=()):
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NPAR", "LD_"))}
        done = subprocess.run([*prefix, python, "-c", USE, before, after], cwd=self.folder, env=own, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_it_contains(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        for name in ("npar/__init__.py", "npar/_native.pyi", "npar/py.typed", "npar/_native.abi3.so", "npar/lib/libnpar.so.0", "npar/lib/libnpar_compiler.so.0",
                     "npar/lib/cmake/npar/nparConfig.cmake", "npar/include/npar/npar.h", "npar/share/npar/schemas/plan.schema.json", "npar/bin/npar",
                     "npar/doc/dsl/LANGUAGE.md", "npar/doc/dsl/PLANS.md", "npar/doc/tools/python/communication.ipynb", "npar/doc/stdlib/models/gpt2.npar"):
            self.assertIn(name, names)
        self.assertTrue(any("tbb" in name for name in names))
        (notices,) = [name for name in names if name.endswith("licenses/LICENSES/NOTICES")]
        self.assertIn("LLVM Exceptions", zipfile.ZipFile(self.wheel).read(notices).decode())
        (nanobind,) = [name for name in names if name.endswith("licenses/LICENSES/nanobind")]
        self.assertIn("Wenzel Jakob", zipfile.ZipFile(self.wheel).read(nanobind).decode())
        self.assertRegex(self.wheel.name, r"npar-[\d.]+-cp310-abi3-manylinux_2_\d+_x86_64\.whl")
        self.assertLessEqual(self.wheel.stat().st_size, 45_000_000)
        opened = [name for name in names if re.search(r"lib(cuda|nccl|mpi)", pathlib.PurePath(name).name)]
        self.assertEqual(opened, [])

    def test_with_numpy_alone(self):
        python = self.fresh("numpy")
        losses = [float(each) for each in self.use(python).split()[:3]]
        self.assertAlmostEqual(losses[0], losses[2], places=5)
        command = subprocess.run([python.parent / "npar", "inspect", "hello.npar"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(command.returncode, 0, command.stderr)
        self.assertIn("Hello", command.stdout)
        folder = subprocess.run([python, "-m", "npar", "--cmake-dir"], capture_output=True, text=True, check=True).stdout.strip()
        for flag, name in (("--docs", "tools/python/README.md"), ("--include-dir", "npar/npar.hpp"), ("--library-dir", "libnpar.so.0"), ("--schemas", "plan.schema.json")):
            shown = subprocess.run([python, "-m", "npar", flag], capture_output=True, text=True, check=True).stdout.strip()
            self.assertTrue((pathlib.Path(shown) / name).exists(), shown)
        source = self.folder / "cmake"
        source.mkdir()
        (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.24)\nproject(user LANGUAGES CXX)\nfind_package(npar REQUIRED COMPONENTS Compiler)\n"
                                               "add_executable(page page.cpp)\ntarget_link_libraries(page PRIVATE npar::npar)\n")
        (source / "page.cpp").write_text(block(ROOT / "tools" / "EMBED.md", "cpp"))
        for command in (["cmake", "-S", source, "-B", source / "build", f"-Dnpar_DIR={folder}"], ["cmake", "--build", source / "build"]):
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = subprocess.run([source / "build" / "page"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 100)

    def test_without_the_sources(self):
        """The wheel works where the sources and the build are hidden: it uses only its own folder."""
        hide = "for place in \"$0\" \"$1\"; do [ ! -e \"$place\" ] || mount -t tmpfs none \"$place\" || exit 77; done; shift; exec \"$@\""
        hidden = ["unshare", "-m", "sh", "-c", hide, str(ROOT), str(BUILD)]
        tried = subprocess.run([*hidden, "true"], capture_output=True, text=True)
        if tried.returncode:
            self.skipTest("needs the right to mount: " + tried.stderr.strip())
        python = self.fresh("numpy")
        self.assertEqual(self.use(python, prefix=hidden), self.use(python))
        command = subprocess.run([*hidden, python.parent / "npar", "inspect", "why", "hello.npar"], cwd=self.folder, capture_output=True, text=True)
        self.assertIn("hello.npar:20:17", command.stdout, command.stderr)
        listed = subprocess.run([*hidden, python, "-c", "import npar; print(npar.compile('gpt2', config='gpt2', set={'depth': 2}, kernels=False))"], capture_output=True, text=True, cwd=self.folder)
        self.assertIn("Gpt2", listed.stdout, listed.stderr)

    def test_a_newer_c_library_is_refused(self):
        kept = shutil.move(self.wheel, self.folder / self.wheel.name)  # the build empties its folder
        try:
            built = self.build_wheel(self.python, NPAR_GLIBC="2.28")
        finally:
            shutil.move(kept, self.wheel)
        self.assertNotEqual(built.returncode, 0)
        self.assertRegex(built.stderr, r"error: the wheel needs glibc 2\.\d+, and at most 2\.28 is promised: build on Debian 12, or set NPAR_GLIBC=")

    def test_without_numpy(self):
        python = self.fresh()
        script = ("import npar, array; t = npar.Trainer(npar.compile('hello.npar', plan='none')); x = memoryview(bytes(512)).cast('B', (16, 32));"
                  "print(t.step(tokens=x, targets=x).loss, t['head.weight'])")
        done = subprocess.run([python, "-c", script], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("npar.View of 'head.weight': float32[256, 256]", done.stdout)

    def test_with_torch_and_triton(self):
        found = python_with_torch()
        if not found:
            self.skipTest("no PyTorch: set NPAR_TORCH_PYTHON to a Python that has it")
        python = self.fresh()
        here = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True).stdout.split()
        if here != list(found[1:3]):
            self.skipTest(f"PyTorch is installed for Python {'.'.join(found[1:3])}, and the environment has {'.'.join(here)}")
        (place,) = (python.parent.parent / "lib").glob("python*/site-packages")
        (place / "torch.pth").write_text(found[3] + "\n")
        cases = [("torch", ""), ("", "torch")]
        if subprocess.run([python, "-c", "import triton"], capture_output=True).returncode == 0:
            cases += [("torch,triton", ""), ("", "torch,triton")]
        else:
            print("triton is not installed: not tested")
        for before, after in cases:
            with self.subTest(before=before, after=after):
                losses = [float(each) for each in self.use(python, before, after).split()[:3]]
                self.assertAlmostEqual(losses[0], losses[2], places=5)


if __name__ == "__main__":
    unittest.main()
