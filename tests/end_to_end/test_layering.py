"""Who may see what: the engine links no LLVM, the compiler includes no engine dependency, ANTLR's headers appear in one folder."""

import re
import subprocess
import unittest
from pathlib import Path

from driver import BUILD, ROOT

SOURCES = (".h", ".cpp", ".td", ".inc")


def includes(folder, pattern):
    """Files of a folder with an `#include` that matches, as `path:line: text`."""
    found = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix not in SOURCES or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^">]+)', line)
            if match and re.match(pattern, match.group(1)):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    return found


# Calls that print, end the process or change what is shared in it. `abort` with arguments is a method.
OWN_PROCESS = re.compile(
    r"(?<![\w.>])(?<!\w::)(?<!void )(?:std::|::)?"
    r"(?:(?:_?exit|_Exit|quick_exit|(?:un)?setenv|putenv|signal|sigaction|f?chdir|setlocale|v?printf|puts|putchar|perror)\s*\(|(?:abort|terminate|v?fork)\s*\(\))"
    r"|\b(?:cout|cerr|clog|stdout|stderr)\b|\b(?:outs|errs|dbgs)\(\)"
)


def code_of(text):
    """The text of a source without comments and the contents of literals; lines keep their numbers."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    return re.sub(pattern, lambda match: "\n" * match.group().count("\n"), text, flags=re.DOTALL)


# These folders have the plain namespace `npar`: the headers of users, and the two JSON types, which all rooms use.
PLAIN = ("tools/api/include/npar", "engine/json")

# A namespace that opens at the start of a line, with or without code of its own.
NAMESPACE = re.compile(r"^(?:inline )?namespace (npar(?:::\w+)*)\s*\{(?:\s*(?:(?:class|struct) \w+|enum class \w+ : \w+);)*(\s*\})?", re.MULTILINE)


def misnamed(path, text):
    """Namespaces of a source that its path does not spell. Those with nothing but forward declarations are the other folder's."""
    wrong = []
    for match in NAMESPACE.finditer(code_of(text)):
        name, declares_only = match.groups()
        # Inside `npar::npar` every `npar::x` of the project would mean a name of that folder: the driver's namespace is `npar::driver`.
        left = iter(["driver" if folder == "npar" else folder for folder in path.parent.parts] + [path.stem.lower()])
        parts = name.split("::")[1:]
        if not declares_only and not (parts and all(part in left for part in parts)):
            wrong.append(name)
    return wrong


class LayeringTest(unittest.TestCase):
    def test_namespaces_are_named_after_folders(self):
        """What follows `npar::` are folders of the path, in order, and last the file itself (dsl/Ast.h: `npar::dsl::ast`). Rooms of a library may
        share its namespace. A schema's `wire` is apart from the values it carries."""
        found, seen = [], 0
        for top in ("dsl", "compiler", "engine", "tools"):
            for path in sorted((ROOT / top).rglob("*")):
                place = path.relative_to(ROOT)
                if path.suffix not in (*SOURCES, ".cu", ".fbs") or not path.is_file() or any(place.is_relative_to(plain) for plain in PLAIN):
                    continue
                text = path.read_text(errors="replace")
                if path.suffix == ".fbs":
                    text = "".join(f"namespace npar{name.replace('.', '::')} {{\n" for name in re.findall(r"^namespace npar((?:\.\w+)*?)(?:\.wire)?;", text, re.MULTILINE))
                seen += "namespace npar::" in text
                found += [f"{place}: {name}" for name in misnamed(place, text)]
        self.assertEqual(found, [])
        self.assertGreater(seen, 1000)

    def test_misnamed_namespaces_are_found(self):
        for path, name in (("engine/files/Folders.h", "npar::program"), ("compiler/emit/Emit.h", "npar"), ("engine/comm/tcp/Listen.h", "npar::tcp::engine"), ("tools/npar/Main.cpp", "npar::npar")):
            self.assertEqual(misnamed(Path(path), f"namespace {name} {{\nclass X;\nint f();\n}}"), [name])
        for path, name in (("engine/files/Folders.h", "npar::files"), ("engine/comm/tcp/Listen.h", "npar::engine"), ("dsl/Ast.h", "npar::dsl::ast"), ("tools/npar/job/Job.cpp", "npar::driver")):
            self.assertEqual(misnamed(Path(path), f"namespace {name} {{\nint f();\n}}"), [])
        self.assertEqual(misnamed(Path("engine/files/Folders.h"), "namespace npar::engine {\nclass Observer;\n}"), [])

    def test_engine_includes_no_compiler(self):
        self.assertEqual(includes("engine", r"(mlir|llvm|mlir-c|llvm-c|lld|compiler|dsl|tools)/"), [])

    def test_the_engine_knows_devices_by_their_interface(self):
        """The runtime makes a backend by its name; what is in one (kernels, products) is seen by itself alone."""
        others = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "engine").iterdir()) if path.is_dir() and path.name not in ("backends", "product", "attention")]
        self.assertEqual([line for folder in others for line in includes(folder, r"engine/(backends/\w+|product|attention)/")], [])
        self.assertEqual(includes("engine/comm", r"engine/(backends|runtime|control)/"), [])

    def test_who_runs_ranks_knows_no_control_channel(self):
        """The channel looks at sessions and is told of failures through interfaces of theirs (StepObserver, FailureChannel)."""
        self.assertEqual(includes("engine/runtime", r"engine/control/"), [])
        self.assertTrue(includes("engine/control", r"engine/(runtime/StepObserver|comm/process/FailureChannel)\.h"))

    def test_libraries_leave_their_process_alone(self):
        """Other programs load dsl, compiler, engine, tools/lib and tools/api: only the driver prints, ends the process or changes its state."""
        found = []
        for folder in ("dsl", "compiler", "engine", "tools/lib", "tools/api"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix in (*SOURCES, ".cu", ".c", ".in") and path.is_file():
                    for match in OWN_PROCESS.finditer(code_of(path.read_text(errors="replace"))):
                        line = match.string.count("\n", 0, match.start()) + 1
                        found.append(f"{path.relative_to(ROOT)}:{line}: {match.group()}")
        self.assertEqual(found, [])

    def test_calls_on_the_process_are_told_from_methods(self):
        self.assertEqual(code_of('a("exit(1)"); // abort()\n/* fork()\n */ b'), "a(); \n\n b")
        for code in ("std::abort();", "::_exit(1)", "if (x) exit (2)", "::setenv(a, b, 0)", "std::signal(2, h)", "std::cout << 1", "fflush(stdout)", "llvm::errs() << 1", "std::printf(x)"):
            self.assertRegex(code, OWN_PROCESS)
        for code in ("communicator->abort()", "Messages::abort() {", "virtual void abort() = 0", "abort(reason)", "on_exit(f)", "std::snprintf(x)", "struct sigaction action", "cerrno"):
            self.assertNotRegex(code, OWN_PROCESS)

    def test_backends_alone_follow_device_addresses(self):
        """`devicePointer` makes a pointer of an address: right in the backend whose memory it is, wrong wherever memory may be a device's."""
        files = [
            str(path.relative_to(ROOT))
            for folder in ("compiler", "engine", "tools")
            for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in SOURCES and "devicePointer" in path.read_text(errors="replace")
        ]
        self.assertTrue(files)
        self.assertEqual([name for name in files if not name.startswith(("engine/backends/", "engine/device/"))], [])

    def test_one_folder_sees_the_libraries_of_text(self):
        tops = [*(f"engine/{path.name}" for path in sorted((ROOT / "engine").iterdir()) if path.is_dir() and path.name != "text"), "compiler", "dsl", "tools"]
        self.assertEqual([line for top in tops for line in includes(top, r"(pcre2|sentencepiece)")], [])
        self.assertEqual(includes("engine/text", r"engine/(?!(text|files|json|status)/)"), [])

    def test_one_file_sees_the_libraries_of_pictures(self):
        """Their errors jump over functions; what is outside of Codecs.cpp does not know of it."""
        tops = ["compiler", "dsl", "engine", "tools"]
        self.assertEqual({line.split(":")[0] for top in tops for line in includes(top, r"(png\.h|jpeglib|jerror|setjmp|csetjmp)")}, {"engine/pictures/Codecs.cpp"})
        self.assertEqual({line.split(":")[0] for top in tops for line in includes(top, r"zlib")}, {"engine/data/IdxFile.cpp", "engine/pytorch/ZipWriter.cpp"})
        self.assertEqual(includes("engine/pictures", r"engine/(?!(pictures|files|numbers|program/Enums_generated|status)\b)"), [])

    def test_one_folder_sees_the_library_of_json(self):
        """Its own types end the process when memory runs out; the types of engine/json do not."""
        tops = [*(f"engine/{path.name}" for path in sorted((ROOT / "engine").iterdir()) if path.is_dir() and path.name != "json"), "compiler", "dsl", "tools"]
        self.assertEqual([line for top in tops for line in includes(top, r"nlohmann")], [])
        self.assertEqual(includes("engine/json", r"(engine/(?!json/)|compiler/|dsl/|tools/)"), [])

    def test_one_folder_sees_the_cryptography(self):
        """Keys stay in engine/network, which hands out proofs and no bytes of them."""
        tops = [*(f"engine/{path.name}" for path in sorted((ROOT / "engine").iterdir()) if path.is_dir() and path.name != "network"), "compiler", "dsl", "tools"]
        self.assertEqual([line for top in tops for line in includes(top, r"sodium")], [])
        self.assertEqual(includes("engine/network", r"engine/(?!(network|files/Descriptor\.h|status)\b)"), [])

    def test_compiler_and_dsl_include_no_engine_dependency(self):
        pattern = r"(tbb/|oneapi/|dnnl|omp\.h|mpi|cuda|cublas|cudnn|nccl)"
        self.assertEqual(includes("compiler", pattern) + includes("dsl", pattern), [])

    def test_compiler_sees_only_the_seam_of_the_engine(self):
        """engine/readable belongs to the seam: it includes no other folder, and pictures of schedules need its cells and escapes."""
        self.assertEqual(includes("engine/readable", r"(engine/(?!readable/)|compiler/|dsl/|tools/)"), [])
        self.assertEqual(includes("compiler", r"(engine/(?!(program|status|numbers|files|json|readable)/)|tools/)"), [])

    def test_dsl_sees_only_the_enumerations_of_a_program(self):
        """An enumeration that the language and a program share is written once, in Enums.fbs, its words in Words.h, the table of element types in Elements.h, and
        the names of options in OptionNames.h."""
        self.assertEqual(includes("dsl", r"(engine/(?!program/(Enums_generated|Elements|Words)\.h|status/OptionNames\.h)|compiler/|tools/)"), [])

    def test_mlir_is_seen_by_the_compiler_only(self):
        """The language server alone uses LLVM's transport of the protocol."""
        seen = includes("dsl", r"(mlir|llvm)/") + includes("tools/npar", r"(mlir|llvm)/") + includes("tools/lib", r"(mlir|llvm)/")
        self.assertEqual([line for line in seen if not re.match(r"tools/npar/lsp/\w+\.(h|cpp):\d+: #include <llvm/Support/(JSON|raw_ostream|LSP/Transport)\.h>", line)], [])

    def test_what_shows_programs_needs_no_run_time(self):
        self.assertEqual(includes("engine/show", r"(engine/(?!(show|program|status|json|readable)/)|CLI/)"), [])

    def test_every_schedule_is_registered(self):
        """A schedule is a function `Made name(const Request &)` in a file of its own: one that the registry lacks, no plan can ask for."""
        folder = ROOT / "compiler" / "schedules"
        made = {name for path in folder.glob("*.cpp") for name in re.findall(r"^Made (\w+)\(const Request &", path.read_text(), re.MULTILINE)}
        registered = set(re.findall(r"\{\"\w+\", .*?, (?:true|false), (\w+)", (folder / "Registry.cpp").read_text()))
        self.assertGreater(len(made), 10)
        self.assertEqual(made, registered)

    def test_antlr_headers_in_one_folder(self):
        files = {line.split(":")[0] for folder in ("dsl", "compiler", "engine", "tools") for line in includes(folder, r"antlr4|Npar(Lexer|Parser)")}
        self.assertEqual({str(Path(name).parent) for name in files}, {"dsl/parse"}, files)

    def test_parser_headers_stay_in_their_folder(self):
        """Of the headers of dsl/parse those that show ANTLR are for that folder alone."""
        showing = {line.split(":")[0] for line in includes("dsl/parse", r"antlr4|Npar(Lexer|Parser)|dsl/parse/ExpressionBuilder") if ".h:" in line}
        self.assertIn("dsl/parse/ExpressionBuilder.h", showing)
        pattern = "|".join(map(re.escape, sorted(showing))) + "$"
        outside = [line for folder in ("dsl", "compiler", "engine", "tools") for line in includes(folder, pattern) if not line.startswith("dsl/parse/")]
        self.assertEqual(outside, [])

    def test_schedules_cost_and_memory_see_no_mlir(self):
        folders = ("compiler/schedules", "compiler/cost", "compiler/memory")
        self.assertEqual([line for folder in folders for line in includes(folder, r"(mlir|llvm)/")], [])

    def test_attribute_names_are_written_once(self):
        """Phases name an attribute by its object in ModuleAttributes.h, never by a literal. Names of operations may be literals."""
        home = "compiler/attributes/ModuleAttributes.h"
        others = {"nn.variables"}  # the resource that reads and writes of variables affect
        for path in sorted((ROOT / "compiler/dialects").rglob("*.td")):
            dialect = path.relative_to(ROOT / "compiler/dialects").parts[0]
            others |= {f"{dialect}.{name}" for name in re.findall(r'^def \w+ : \w+Op\w*<"(\w+)"', path.read_text(), re.MULTILINE)}
        self.assertIn("pipe.fragment", others)
        found = {}
        for path in sorted((ROOT / "compiler").rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                    for name in re.findall(r'"((?:npar|nn|dist|pipe|rank)\.[a-z_][\w.]*)"', re.sub(r"//.*", "", line)):
                        found.setdefault(str(path.relative_to(ROOT)), []).append((number, name))
        declared = [name for _, name in found.pop(home)]
        self.assertGreater(len(declared), 40)
        self.assertEqual(len(declared), len(set(declared)), "two objects for one attribute")
        self.assertEqual([f"{path}:{number}: {name}" for path, uses in found.items() for number, name in uses if name not in others], [])

    def test_operations_are_asked_by_typed_accessors(self):
        """An attribute's name is a literal only where an operation of any kind is asked for what its kind may declare."""
        declared = {"causal", "axes", "op", "stage"}
        found = []
        for path in sorted((ROOT / "compiler").rglob("*.cpp")):
            if path.relative_to(ROOT / "compiler").parts[0] in ("attributes", "dialects"):
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                names = re.findall(r'(?:get|set|has|remove)(?:Discardable)?Attr(?:OfType<[\w:]+>)?\("(\w+)"', line)
                found += [f"{path.relative_to(ROOT)}:{number}: {name}" for name in names if name not in declared]
        self.assertEqual(found, [])

    def test_folders_include_each_other_in_one_direction(self):
        """Of any two folders at most one may reach the other through includes, at any depth."""
        reached = {}
        for top in ("dsl", "compiler", "engine", "tools"):
            for path in (ROOT / top).rglob("*"):
                if path.suffix in SOURCES and path.is_file():
                    folder = str(path.parent.relative_to(ROOT))
                    for line in path.read_text(errors="replace").splitlines():
                        match = re.match(r'\s*#?\s*include\s*"((dsl|compiler|engine|tools)/[^"]+)/[^/"]+"', line)
                        if match and match.group(1) != folder:
                            reached.setdefault(folder, {}).setdefault(match.group(1), path.name)
        cycles = []
        for start in sorted(reached):
            for folder in reached[start]:
                if start in self.reach(folder, reached):
                    cycles.append(f"{start}/{reached[start][folder]} includes {folder}, which leads back")
        self.assertEqual(cycles, [])

    @staticmethod
    def reach(start, reached):
        seen, ahead = set(), [start]
        while ahead:
            folder = ahead.pop()
            if folder not in seen:
                seen.add(folder)
                ahead += reached.get(folder, {})
        return seen

    def test_engine_libraries_need_no_llvm_symbol(self):
        libraries = [path for path in sorted((BUILD / "lib").glob("libnpar_*.a")) if path.name in self.engine_libraries()]
        self.assertTrue(libraries, "no engine library is built")
        for library in libraries:
            listing = subprocess.run(["nm", "-C", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
            foreign = [line for line in listing.splitlines() if re.search(r"\b(llvm|mlir)::", line)]
            self.assertEqual(foreign, [], library.name)

    def engine_libraries(self):
        """Names of the libraries that the CMake files of engine/ define."""
        names = set()
        for path in (ROOT / "engine").rglob("CMakeLists.txt"):
            names |= {f"lib{name}.a" for name in re.findall(r"add_library\((\w+)", path.read_text())}
        return names

    def test_kernels_for_an_instruction_set_share_no_code(self):
        """Of functions that several objects define the linker keeps one for all: it must not be one that only some processors can run."""
        for part in ("product", "attention"):
            library = BUILD / "lib" / f"libnpar_{part}.a"
            if not library.exists():
                self.skipTest(f"npar_{part} is not built: it is for x86-64 alone")
            objects = [f"{path.name}.o" for path in (ROOT / "engine" / part).glob("*.cpp") if "#pragma GCC target" in path.read_text()]
            self.assertGreaterEqual(len(objects), 3)
            listing = subprocess.run(["nm", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
            symbols = dict(re.findall(r"^(\S+\.o):\n((?:.+\n?)*)", listing, re.MULTILINE))
            self.assertLessEqual(set(objects), set(symbols))
            shared = [f"{name}: {line}" for name in objects for line in symbols[name].splitlines() if re.match(r"\S+ [WVu] ", line)]
            self.assertEqual(shared, [])

    def test_engine_programs_load_no_llvm(self):
        """The tests of the engine are programs with an engine and no compiler: they must start without LLVM's libraries."""
        names = set()
        for path in (ROOT / "tests" / "engine").rglob("CMakeLists.txt"):
            names |= set(re.findall(r"add_executable\((\w+)", path.read_text()))
        programs = [BUILD / "bin" / name for name in sorted(names) if (BUILD / "bin" / name).exists()]
        self.assertTrue(programs, "no engine test is built")
        for program in programs:
            needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            self.assertNotRegex(needed, r"lib(LLVM|MLIR)", program.name)


if __name__ == "__main__":
    unittest.main()
