"""The table: rows under section titles, a dash with a numbered reason for what is not there."""

import dataclasses
import json

COLUMNS = (("", 34), ("type", 6), ("best", 10), ("median", 10), ("unit", 10), ("npar is", 9), ("of peak", 9), ("memory", 10))


@dataclasses.dataclass
class Row:
    """`best` and `median` are speeds in `unit`. `ratio`: how many times as fast npar is as this row; `share`: of the machine's peak."""

    name: str
    type: str = ""
    best: float = None
    median: float = None
    unit: str = ""
    ratio: float = None
    share: float = None
    memory: int = None
    note: str = ""
    absent: str = ""


def speed(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def row_of(name, type, times, amount, unit, ratio=None, share=None, note=""):
    """Of a competitor's times, `amount` units a step."""
    if times.absent:
        return Row(name, type, absent=times.absent)
    return Row(name, type, amount / times.best, amount / times.median, unit, ratio, share, times.memory or None, note)


class Table:
    """Prints each row when it is known; remembers all for --json."""

    def __init__(self, out=print):
        self.out, self.sections, self.reasons = out, [], []

    def header(self, lines):
        for line in lines:
            self.out(line)
        self.out("")
        self.out(" ".join(f"{title:<{width}}" if place < 2 else f"{title:>{width}}" for place, (title, width) in enumerate(COLUMNS)))

    def section(self, key, title):
        self.sections.append({"section": key, "title": title, "rows": []})
        self.out(f"\n({key}) {title}")

    def add(self, row):
        self.sections[-1]["rows"].append({key: value for key, value in dataclasses.asdict(row).items() if value not in (None, "")})
        cells = [
            "  " + row.name, row.type, "-" if row.absent else speed(row.best), "-" if row.absent else speed(row.median), row.unit,
            "" if row.ratio is None else f"{row.ratio:.2f} x", "" if row.share is None else f"{100 * row.share:.0f} %",
            "" if row.memory is None else f"{row.memory / 2**20:,.0f} MiB",
        ]  # fmt: skip
        if row.absent:
            cells[5] = f"[{self.reason(row.absent)}]"
        line = " ".join(f"{cell:<{width}}" if place < 2 else f"{cell:>{width}}" for place, (cell, (_, width)) in enumerate(zip(cells, COLUMNS)))
        self.out((line + ("  " + row.note if row.note else "")).rstrip())

    def text(self, line):
        self.sections[-1].setdefault("text", []).append(line)
        self.out("  " + line)

    def reason(self, text):
        """The number of a reason; the same reason has one number."""
        if text not in self.reasons:
            self.reasons.append(text)
        return self.reasons.index(text) + 1

    def footer(self, lines):
        self.out("")
        for number, text in enumerate(self.reasons, 1):
            self.out(f"[{number}] {text}")
        for line in lines:
            self.out(line)

    def save(self, path, machine):
        with open(path, "w") as file:
            json.dump({"machine": machine, "sections": self.sections}, file, indent=1)
            file.write("\n")
