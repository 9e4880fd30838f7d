"""Sections (i), (j), (k): a training step on a GPU, of npar in several ways, of PyTorch and of compiled PyTorch; planned and measured
memory; where the time goes. In (k) two ranks of npar alone, which communicate."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import training
from breakdown import COMMUNICATION, breakdown
from npar_program import Program, Rounds, call
from pipe import Absent
from rows import Row
from turns import attempt

MACHINES = pathlib.Path(__file__).resolve().parents[3] / "stdlib" / "machines"
KNOWN = {"H100": "dgx-h100", "H200": "dgx-h200", "A100": "dgx-a100"}  # by a word of the GPU's name: the file of a machine that has it
LIBRARIES = {"cublaslt": ("--cuda-products", "library"), "cudnn": ("--cuda-attention", "library")}  # by npar's name: flags that use it
GRAPH = "--cuda-graph"
TRACED = 4  # steps; the first is left out
MINUTES, SECONDS = 5, 2  # that a limited run may take, and that npar's turn takes in it
SHARES = {"i": 0.35, "j": 0.85}  # by section, of the time that is left where it is limited; the last section has all


class Gpu:
    """The GPU that npar uses."""

    def __init__(self, npar):
        """Raises Absent if there is no GPU."""
        said = json.loads(call([npar, "devices", "--json"])[0])
        if not said["gpus"]:
            raise Absent(said["trouble"] or "npar devices shows no GPU")
        gpu, self.count = said["gpus"][0], len(said["gpus"])
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


def ways_of(libraries):
    """npar's flags by name of a way, the fastest first as far as is known. `libraries`: names of those at hand."""
    every = [flag for name in libraries for flag in LIBRARIES[name]]
    ways = {"npar, libraries, graphs": [*every, GRAPH], "npar, libraries": every} if every else {}
    if len(libraries) == len(LIBRARIES):
        ways["npar, cuBLASLt only, graphs"] = [*LIBRARIES["cublaslt"], GRAPH]
    ways |= {"npar, graphs": [GRAPH], "npar": []}
    if "cublaslt" in libraries:
        ways["npar, matching products, graphs"] = ["--cuda-products", "matching", GRAPH]
    return {name: ("--backend", "cuda", *flags) for name, flags in ways.items()}


class GpuContest(training.Contest):
    device, rounds = "cuda", GpuRounds

    def __init__(self, gpu, budget, options, workload, *arguments):
        self.gpu, self.budget, self.ways = gpu, budget, ways_of(gpu.libraries)
        if workload.ranks > 1:  # npar's fastest way, with graphs and without
            self.competitors, self.ways = {}, dict(list(self.ways.items())[:2])
        super().__init__(options, workload, *arguments)

    def compile(self):
        sizes, plan = {**self.workload.sizes, "compute": self.type}, "none"
        if self.workload.ranks > 1:
            sizes, plan = {**sizes, "mesh.dp": self.workload.ranks, "micro": 1}, "data"
        where = (self.gpu.machine or "reference", "--target", self.gpu.target())
        return Program(self.options.npar, self.folder, "model", self.workload.model, plan, sizes, *where, budget=self.budget)

    def note(self, times):
        """Planned figures, compared with measured ones where both are known."""
        inspected = self.program.inspect()
        ranks = self.workload.ranks // min(self.gpu.count, self.workload.ranks)  # on the first GPU, whose memory is measured
        arena, said = ranks * inspected["classes"][0]["arena_bytes"], []
        if self.gpu.machine:
            said.append(f"planned {inspected['span_seconds']:.3g} s, {inspected['span_seconds'] / times.best:.2f} of measured")
        said.append(f"arena {arena / 2**20:,.0f} MiB" + (f", {arena / times.memory:.2f} of measured" if times.memory else ""))
        return "; ".join(said)

    def explain(self, times):
        """Rows of the time of each part of a step, by a trace of npar's fastest way. A trace records no graphs."""
        measured = [name for name in self.ways if not times[name].absent]
        if not measured:
            return []
        fastest = min(measured, key=lambda name: times[name].best)
        traced = attempt(self.trace, [flag for flag in self.ways[fastest] if flag != GRAPH])
        if isinstance(traced, Absent):
            return [Row(f"trace of '{fastest}'", self.type, absent=str(traced))]
        whole, groups, kernels = breakdown(traced, self.workload.logits())
        note = f"{times[fastest].median * 1e3:.3g} ms without the trace; in it each step of the program waits for the one before it"
        rows = [Row(f"trace of '{fastest}'", self.type, 1e3 * whole.best, 1e3 * whole.median, "ms", note=note)]
        rows += [self.row_of_part(name, part, whole) for name, part in groups.items()]
        return rows + [self.row_of_part("  " + name, part, whole, " of " + line) for (name, line), part in kernels.items()]

    def row_of_part(self, name, part, whole, of=""):
        """A part of the trace's step, with the share of the peak that its products reach."""
        operations, peak = self.workload.operations().get(name, 0) / self.workload.ranks, self.gpu.peaks().get(self.type)
        share = operations / part.best / peak if operations and peak else None
        if name == COMMUNICATION:
            note = f"{part.count} collectives, several at once, and while the rank computes"
        else:
            note = f"{100 * part.median / whole.median:.1f} % of it" + (f", {part.count} steps{of}" if part.count else "")
        return Row("  " + name, self.type, 1e3 * part.best, 1e3 * part.median, "ms", share=share, note=note)

    def trace(self, flags):
        """A short run's trace. With --traces it is kept with its program, for `npar inspect actual`."""
        folder = pathlib.Path(self.options.traces or self.folder)
        path = folder / f"{self.workload.key}-{self.type}.json"
        self.program.run(TRACED, *self.data, "--threads", self.options.threads, *flags, "--trace", path, "--trace-steps", TRACED)
        if self.options.traces:
            shutil.copyfile(self.program.path, path.with_suffix(".npx"))
        return json.loads(path.read_text())


def measure_all(options, table, workloads):
    """All models, in the time that there is."""
    for workload in workloads:
        share = 1 if workload is workloads[-1] else SHARES[workload.key]
        measure(options, table, workload, options.budget.part(share))


def measure(options, table, workload, budget):
    table.section(workload.key, workload.title)
    gpu = attempt(Gpu, options.npar)
    if isinstance(gpu, Absent):
        table.add(Row("npar", absent=str(gpu)))
        return
    options.versions[gpu.name] = gpu.architecture

    def contest(options, workload, type, folder):
        share = budget.part(1 / (len(options.types) - options.types.index(type)))
        return GpuContest(gpu, share, options, workload, type, folder)

    peaks = {type: peak * min(gpu.count, workload.ranks) for type, peak in gpu.peaks().items()}
    training.measure_types(options, table, workload, peaks, contest)
