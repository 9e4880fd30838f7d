"""npar as a library: installed, moved, and used by programs of tests/embedding that see nothing else of npar."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import json_schema
from driver import BUILD, LONG, ROOT, SANITIZED, block

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
        for component in ("Runtime", "Compiler", "Development", "Bundled"):
            run("cmake", "--install", BUILD, "--prefix", cls.folder / "first", "--strip", "--component", component)
        cls.place = cls.folder / "moved here"
        (cls.folder / "first").rename(cls.place)
        cls.page = [cls.folder / "page.cpp", cls.folder / "page.c"]
        cls.page[0].write_text(block(PAGE, "cpp"))
        cls.page[1].write_text(block(PAGE, "c"))

    def library(self, name):
        return self.place / "lib" / name

    def check(self, programs):
        """Runs programs, each in an empty folder with the page's models and without any environment but the sanitizers' options."""
        environment = {name: value for name, value in os.environ.items() if re.fullmatch(r"[A-Z]+SAN_OPTIONS", name)}
        for program in programs:
            if SANITIZED and program.name in NOT_UNDER:
                continue
            with self.subTest(program=program.name), tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "hello.npar").write_text(block(ROOT / "README.md", "npar"))
                (pathlib.Path(folder) / "deep.npar").write_text(block(PAGE, "npar"))
                printed = run(program, env=environment, cwd=folder)
                if program.stem.endswith("page"):
                    losses = [float(line.split()[-1]) for line in printed.splitlines()]
                    self.assertLess(losses[-1], losses[0] / 2)
                else:
                    self.assertEqual(printed, f"ok {program.name.split('_', 1)[1]}\n")
                if program.stem == "cpp_documents":
                    self.check_documents(pathlib.Path(folder))

    def check_documents(self, folder):
        """Validates the files SCHEMA.json and SCHEMA@WHAT.json of a folder by the installed schemas, and looks for schemas of the library without a file."""
        installed = self.place / "share" / "npar" / "schemas"
        self.assertEqual({path.name: path.read_bytes() for path in installed.iterdir()}, {path.name: path.read_bytes() for path in json_schema.FOLDER.glob("*.json")})
        found = {}
        for path in sorted(folder.glob("*.json")):
            found[path.stem.split("@")[0]] = True
            self.assertEqual(json_schema.validate(json.loads(path.read_text()), path.stem.split("@")[0]), [], path.name)
        self.assertEqual(sorted(found), json_schema.of_library())

    def test_programs_with_find_package(self):
        build = self.folder / "with cmake"
        flags = [f"-DCMAKE_{language}_FLAGS=-fsanitize={SANITIZED}" for language in ("C", "CXX") if SANITIZED]
        run("cmake", "-G", "Ninja", "-S", SOURCES, "-B", build, f"-DCMAKE_PREFIX_PATH={self.place}", f"-DEXTRA={';'.join(map(str, self.page))}", *flags)
        run("cmake", "--build", build, "-j", os.cpu_count())
        programs = sorted(path for path in build.iterdir() if re.match(r"(c|cpp)_", path.name))
        self.assertGreater(len(programs), 15)
        self.check(programs)

    @plain
    def test_programs_with_pkg_config(self):
        """In the short form few: what all do is shown by the test above."""
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed")
        sources = [*sorted(SOURCES.glob("c/*.c")), *sorted(SOURCES.glob("cpp/*.cpp")), *self.page]
        if not LONG:
            sources = [source for source in sources if source.stem in ("page", "no_exceptions")]
        self.assertGreater(len(sources), 2)
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "npar", env={**os.environ, "PKG_CONFIG_PATH": str(self.library("pkgconfig"))}))
        programs = []
        for source in sources:
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
        self.assertIn("compiler: 0, runtime: 1", self.find("OPTIONAL_COMPONENTS Compiler", place))
        run("g++", "-std=c++17", "-I", place / "include", SOURCES / "cpp" / "errors.cpp", "-o", self.folder / "alone", place / "lib" / "libnpar.so",
            f"-Wl,-rpath,{place / 'lib'}")
        result = subprocess.run([self.folder / "alone"], capture_output=True, text=True, env={})
        self.assertEqual(result.returncode, 1)
        self.assertIn("compiling needs libnpar_compiler.so.0", result.stdout)

    def find(self, arguments, place, languages="C CXX", code=0):
        """Configures a project that finds npar; returns what CMake prints."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "main.c").write_text("#include <npar/npar.h>\nint main(void) { return npar_abi() == 0; }\n")
            (pathlib.Path(folder) / "main.cpp").write_text("#include <npar/npar.hpp>\nint main() { return npar_abi() == 0; }\n")
            (pathlib.Path(folder) / "CMakeLists.txt").write_text(f"""
                cmake_minimum_required(VERSION 3.24)
                project(finder LANGUAGES {languages})
                find_package(npar 0.1 REQUIRED {arguments})
                add_executable(app main.{"cpp" if "CXX" in languages else "c"})
                target_link_libraries(app PRIVATE npar::npar)
                foreach(name Runtime Compiler Development)
                  if(npar_${{name}}_FOUND)
                    list(APPEND found 1)
                  else()
                    list(APPEND found 0)
                  endif()
                endforeach()
                list(GET found 0 runtime)
                list(GET found 1 compiler)
                list(GET found 2 development)
                message("compiler: ${{compiler}}, runtime: ${{runtime}}, development: ${{development}}")
                """)
            command = ["cmake", "-G", "Ninja", "-S", folder, "-B", f"{folder}/build", f"-DCMAKE_PREFIX_PATH={place}"]
            result = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(result.returncode != 0, code != 0, result.stderr)
            if code == 0:
                run("cmake", "--build", f"{folder}/build")
        return " ".join((result.stdout + result.stderr).split())

    @plain
    def test_components(self):
        for arguments in ("", "COMPONENTS Runtime", "COMPONENTS Runtime Compiler Development"):
            self.assertIn("compiler: 1, runtime: 1, development: 1", self.find(arguments, self.place))
        self.assertIn("compiler: 1", self.find("", self.place, languages="C"))
        self.assertIn("unknown component 'Complier': npar has Runtime, Compiler and Development", self.find("COMPONENTS Complier", self.place, code=1))

    def test_older_languages_are_refused_in_words(self):
        (self.folder / "old.cpp").write_text("#include <npar/npar.hpp>\n")
        result = subprocess.run(["g++", "-std=c++14", "-fsyntax-only", "-I", self.place / "include", self.folder / "old.cpp"], capture_output=True, text=True)
        self.assertIn("npar needs C++17", result.stderr)

    @plain
    def test_only_the_declared_functions_are_exported(self):
        def exported(library):
            lines = run("nm", "-D", "--defined-only", self.library(library)).splitlines()
            return {line.split()[-1] for line in lines}

        declared = set(re.findall(r"^NPAR_API [^;]*?\b(npar_\w+)\(", (HEADERS / "npar.h").read_text(), flags=re.M))
        self.assertGreaterEqual(len(declared), 40)
        self.assertEqual(exported("libnpar.so.0"), declared)
        self.assertEqual(exported("libnpar_compiler.so.0"), {"npar_compiler_table", "npar_driver_main"})

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
