"""Section (a): the limits of the machine, by the best library at hand. Other sections give shares of these peaks."""

import pathlib

from pipe import Absent, Child
from rows import Row

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ((2048, 2048, 2048), (2048, 768, 3072), (2048, 3072, 768))  # rows, inputs, outputs
LIBRARIES = {"PyTorch": "PyTorch", "oneDNN": "oneDNN", "npar": "npar"}
WHY = {
    "PyTorch": "PyTorch is not installed for the Python given by --python",
    "oneDNN": "libproduct_benchmark.so is not built: ninja -C build product_benchmark (it needs libdnnl-dev)",
}
WHY["npar"] = WHY["oneDNN"]


def best_rates(child, type, seconds):
    best = {}
    for shape in SHAPES:
        for name, rate in child.ask("product", sizes=shape, type=type, seconds=seconds)["rates"].items():
            best[name] = max(best.get(name, 0.0), rate)
    return best


def measure(options, table):
    """Adds the rows; returns the peak in FLOP/s by type."""
    table.section("a", f"limits of {options.threads} threads: the best product of {', '.join('x'.join(map(str, shape)) for shape in SHAPES)}; a copy")
    peaks = {}
    try:
        child = Child(options.python, HERE / "limits_child.py", {"build": str(options.build), "threads": options.threads}, options.thread_variables())
    except Absent as reason:
        table.add(Row("products", absent=str(reason)))
        return peaks
    try:
        for type in options.types:
            options.say(f"(a) {type}")
            rates = best_rates(child, type, 0.1 if options.quick else 1.5)
            peaks[type] = 1e9 * max(rates.values(), default=0.0)
            for name, title in LIBRARIES.items():
                if name in rates:
                    table.add(Row(title, type, rates[name], unit="GFLOP/s", share=1e9 * rates[name] / peaks[type]))
                else:
                    table.add(Row(title, type, absent=WHY[name]))
        table.add(Row("copy, read and written", "", child.ask("copy", megabytes=16 if options.quick else 256, times=8)["rate"] * 1e-9, unit="GB/s"))
    except Absent as reason:
        table.add(Row("products", absent=str(reason)))
    finally:
        child.close()
    return peaks
