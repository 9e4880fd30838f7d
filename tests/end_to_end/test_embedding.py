"""npar as a library: installed, moved, and used by programs of tests/embedding that see nothing else of npar."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from driver import BUILD, ROOT, SANITIZED, block

SOURCES = ROOT / "tests" / "embedding"
HEADERS = ROOT / "tools" / "api" / "include" / "npar"
PAGE = ROOT / "tools" / "EMBED.md"
# Libraries that every host has: the C and C++ libraries and their loader.
OF_THE_HOST = r"(linux-vdso|ld-linux-x86-64|ld-linux-aarch64|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so"
LOAD = "import ctypes, sys, time; t = time.perf_counter(); ctypes.CDLL(sys.argv[1]); print((time.perf_counter() - t) * 1e3)"


def run(*command, **named):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **named)
    assert result.returncode == 0, f"{command} ended with {result.returncode}:\n{result.stdout[-4000:]}"
    return result.stdout


# Programs that cannot run under a sanitizer.
NOT_UNDER = {"c_allocation": "replaces malloc, as the sanitizers do", "c_many_trainers": "measures memory, of which the sanitizers keep more"}
plain = unittest.skipIf(SANITIZED, "says something only of libraries without sanitizers")


class EmbeddingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for component in ("Runtime", "Compiler", "Development"):
            run("cmake", "--install", BUILD, "--prefix", cls.folder / "first", "--strip", "--component", component)
        cls.place = cls.folder / "moved here"
        (cls.folder / "first").rename(cls.place)
        cls.page = [cls.folder / "page.cpp", cls.folder / "page.c"]
        cls.page[0].write_text(block(PAGE, "cpp"))
        cls.page[1].write_text(block(PAGE, "c"))

    def library(self, name):
        return self.place / "lib" / name

    def check(self, programs):
        """Runs programs, each in an empty folder with the page's model and without any environment but the sanitizers' options."""
        self.assertGreater(len(programs), 15)
        environment = {name: value for name, value in os.environ.items() if re.fullmatch(r"[A-Z]+SAN_OPTIONS", name)}
        for program in programs:
            if SANITIZED and program.name in NOT_UNDER:
                continue
            with self.subTest(program=program.name), tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "hello.npar").write_text(block(ROOT / "README.md", "npar"))
                printed = run(program, env=environment, cwd=folder)
                if program.stem.endswith("page"):
                    losses = [float(line.split()[-1]) for line in printed.splitlines()]
                    self.assertLess(losses[-1], losses[0] / 2)
                else:
                    self.assertEqual(printed, f"ok {program.name.split('_', 1)[1]}\n")

    def test_programs_with_find_package(self):
        build = self.folder / "with cmake"
        flags = [f"-DCMAKE_{language}_FLAGS=-fsanitize={SANITIZED}" for language in ("C", "CXX") if SANITIZED]
        run("cmake", "-G", "Ninja", "-S", SOURCES, "-B", build, f"-DCMAKE_PREFIX_PATH={self.place}", f"-DEXTRA={';'.join(map(str, self.page))}", *flags)
        run("cmake", "--build", build, "-j", os.cpu_count())
        self.check(sorted(path for path in build.iterdir() if re.match(r"(c|cpp)_", path.name)))

    @plain
    def test_programs_with_pkg_config(self):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed")
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "npar", env={**os.environ, "PKG_CONFIG_PATH": str(self.library("pkgconfig"))}))
        programs = []
        for source in [*sorted(SOURCES.glob("c/*.c")), *sorted(SOURCES.glob("cpp/*.cpp")), *self.page]:
            language = source.suffix[1:]
            compiler = ["gcc", "-std=c11"] if language == "c" else ["g++", "-std=c++17"]
            programs.append(self.folder / f"{language}_{source.stem}")
            run(*compiler, *(["-fno-exceptions"] if source.stem == "no_exceptions" else []), source, "-o", programs[-1], *flags, "-lm", "-pthread",
                f"-Wl,-rpath,{self.place / 'lib'}")
        self.check(programs)

    @plain
    def test_a_host_without_the_compiler(self):
        """Compiled programs need only the component Runtime; find_package and npar_compile name the missing component."""
        place = self.folder / "no compiler"
        shutil.copytree(self.place, place, symlinks=True)
        for path in place.glob("lib/libnpar_compiler*"):
            path.unlink()
        result = subprocess.run(["cmake", "-G", "Ninja", "-S", SOURCES, "-B", self.folder / "refused", f"-DCMAKE_PREFIX_PATH={place}"], capture_output=True, text=True)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("component Compiler is not", " ".join(result.stderr.split()))
        run("g++", "-std=c++17", "-I", place / "include", SOURCES / "cpp" / "errors.cpp", "-o", self.folder / "alone", place / "lib" / "libnpar.so",
            f"-Wl,-rpath,{place / 'lib'}")
        result = subprocess.run([self.folder / "alone"], capture_output=True, text=True, env={})
        self.assertEqual(result.returncode, 1)
        self.assertIn("compiling needs libnpar_compiler.so.0", result.stdout)

    @plain
    def test_only_the_declared_functions_are_exported(self):
        def exported(library):
            lines = run("nm", "-D", "--defined-only", self.library(library)).splitlines()
            return {line.split()[-1] for line in lines}

        declared = set(re.findall(r"^NPAR_API [^;]*?\b(npar_\w+)\(", (HEADERS / "npar.h").read_text(), flags=re.M))
        self.assertGreaterEqual(len(declared), 40)
        self.assertEqual(exported("libnpar.so.0"), declared)
        self.assertEqual(exported("libnpar_compiler.so.0"), {"npar_compiler_table"})

    @plain
    def test_what_travels_along(self):
        for name in ("libnpar.so.0", "libnpar_compiler.so.0"):
            listing = run(shutil.which("ldd"), self.library(name), env={})
            outside = [line for line in listing.splitlines() if str(self.place) not in line and not re.search(OF_THE_HOST, line)]
            self.assertEqual(outside, [])
            loading = min(float(run(sys.executable, "-c", LOAD, self.library(name))) for _ in range(3))
            print(f"{name}: {self.library(name).stat().st_size / 1e6:.1f} MB stripped, loaded in {loading:.1f} ms")
        installed = [path for path in self.place.rglob("*") if path.is_file()]
        print(f"all components: {len(installed)} files, {sum(path.lstat().st_size for path in installed if not path.is_symlink()) / 1e6:.1f} MB")
        self.assertFalse([path for path in installed if "LLVM" in path.name or "MLIR" in path.name])
        for path in (*self.place.rglob("*.cmake"), *self.place.rglob("*.pc")):
            self.assertNotIn(str(BUILD), path.read_text())
            self.assertNotIn(str(self.folder), path.read_text())
            self.assertNotRegex(path.read_text(), r"(?m)^[^#]*find_dependency")

    def test_the_first_program_of_the_page_has_ten_lines(self):
        self.assertLessEqual(len(block(PAGE, "cpp").splitlines()), 10)


if __name__ == "__main__":
    unittest.main()
