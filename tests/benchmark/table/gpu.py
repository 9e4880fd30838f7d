"""Sections (i), (j): a training step on one GPU, of npar in several ways, of PyTorch and of compiled PyTorch; planned and measured
memory."""

import json
import pathlib
import re
import subprocess
import tempfile

import training
from npar_program import Program, Rounds, call
from pipe import Absent
from rows import Row
from turns import attempt

MACHINES = pathlib.Path(__file__).resolve().parents[3] / "stdlib" / "machines"
KNOWN = {"H100": "dgx-h100", "H200": "dgx-h200", "A100": "dgx-a100"}  # by a word of the GPU's name: the file of a machine that has it
LIBRARIES = {"cublaslt": ("--cuda-products", "library"), "cudnn": ("--cuda-attention", "library")}  # by npar's name: flags that use it


class Gpu:
    """The GPU that npar uses."""

    def __init__(self, npar):
        """Raises Absent if there is no GPU."""
        said = json.loads(call([npar, "devices", "--json"])[0])
        if not said["gpus"]:
            raise Absent(said["trouble"] or "npar devices shows no GPU")
        gpu = said["gpus"][0]
        self.name, self.architecture, self.libraries = gpu["name"], gpu["architecture"], [name for name in LIBRARIES if said[name]]
        self.machine = next((file for word, file in KNOWN.items() if word in self.name), None)

    def peaks(self):
        """Stated FLOP/s by type, where the standard library has a machine with this GPU."""
        text = (MACHINES / f"{self.machine}.npar").read_text() if self.machine else ""
        return {type: 1e12 * float(peak) for type, peak in re.findall(r"\bproduct (\w+) \{[^}]*\bpeak ([\d.]+) TFLOP/s", text)}

    def target(self):
        """The newest of the two that --target has and the GPU runs."""
        return "cuda:sm_90" if int(self.architecture.split("_")[1]) >= 90 else "cuda:sm_80"


class TakenMemory:
    """A `with` during which nvidia-smi is asked over and over; then `bytes`: the most that the first GPU had given beyond what it had at the
    beginning, contexts included; 0 where there is no nvidia-smi."""

    COMMAND = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]  # MiB
    bytes = 0

    def __enter__(self):
        self.lines = tempfile.TemporaryFile()
        try:
            self.before = int(subprocess.run(self.COMMAND, capture_output=True, check=True).stdout)
            self.watcher = subprocess.Popen([*self.COMMAND, "--loop-ms=50"], stdout=self.lines)
        except (OSError, ValueError, subprocess.CalledProcessError):
            self.watcher = None
        return self

    def __exit__(self, *_):
        if self.watcher:
            self.watcher.kill()
            self.watcher.wait()
            self.lines.seek(0)
            whole = self.lines.read().decode().rpartition("\n")[0]
            self.bytes = max(0, max(map(int, whole.split()), default=0) - self.before) << 20
        self.lines.close()


class GpuRounds(Rounds):
    """Of a turn's memory, what the GPU has given."""

    def round(self):
        with TakenMemory() as taken:
            seconds, _ = super().round()
        return seconds, taken.bytes


class GpuContest(training.Contest):
    device, rounds = "cuda", GpuRounds

    def __init__(self, gpu, *arguments):
        self.gpu = gpu
        libraries = [flag for name in gpu.libraries for flag in LIBRARIES[name]]
        self.ways = {"npar": ("--backend", "cuda"), "npar, graphs": ("--backend", "cuda", "--cuda-graph")}
        if libraries:
            self.ways["npar, graphs and libraries"] = ("--backend", "cuda", "--cuda-graph", *libraries)
        super().__init__(*arguments)

    def compile(self):
        sizes = {**self.workload.sizes, "compute": self.type}
        return Program(self.options.npar, self.folder, "model", self.workload.model, "none", sizes, self.gpu.machine or "reference", "--target", self.gpu.target())

    def note(self, times):
        """Planned figures, compared with measured ones where both are known."""
        inspected = self.program.inspect()
        arena, said = inspected["classes"][0]["arena_bytes"], []
        if self.gpu.machine:
            said.append(f"planned {inspected['span_seconds']:.3g} s, {inspected['span_seconds'] / times.best:.2f} of measured")
        said.append(f"arena {arena / 2**20:,.0f} MiB" + (f", {arena / times.memory:.2f} of measured" if times.memory else ""))
        return "; ".join(said)


def measure(options, table, workload):
    table.section(workload.key, workload.title)
    gpu = attempt(Gpu, options.npar)
    if isinstance(gpu, Absent):
        table.add(Row("npar", absent=str(gpu)))
        return
    options.versions[gpu.name] = gpu.architecture
    training.measure_types(options, table, workload, gpu.peaks(), lambda *arguments: GpuContest(gpu, *arguments))
