# How lit finds and runs the text tests: *.mlir through npar-opt, *.npar and *.test through npar. Run by tests/run.py, or by hand:
#   lit -sv tests/compiler/passes/place --param build=build
import os
import pathlib
import subprocess

import lit.formats

root = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(lit_config.params.get("build") or os.environ.get("NPAR_BUILD") or root / "build").resolve()

config.name = "npar"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".npar", ".test"]
config.excludes = ["inputs", "Inputs", "reference", "end_to_end", "benchmark", "corpus", "recorded"]
config.test_source_root = str(root / "tests")
config.test_exec_root = str(build / "tests" / "lit")

try:
    llvm = subprocess.run(["llvm-config-22", "--bindir"], capture_output=True, text=True, check=True).stdout.strip()
except OSError:
    llvm = "/usr/lib/llvm-22/bin"
config.environment["PATH"] = os.pathsep.join([str(build / "bin"), llvm, os.environ.get("PATH", "")])
for name in ("HOME", "NPAR_CACHE", "NPAR_STDLIB"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
config.substitutions.append(("%stdlib", str(root / "stdlib")))
config.substitutions.append(("%root", str(root)))
for tool in ("npar", "npar-opt"):
    if (build / "bin" / tool).exists():
        config.available_features.add(tool)
