"""Exceptions: one class per kind of failure, and located errors of texts as data."""

import dataclasses
import json
from typing import List, Optional, Tuple

from ._words import in_python_words


@dataclasses.dataclass(frozen=True)
class Edit:
    """Replaces the bytes [begin, end) of a file's UTF-8 text."""

    file: str
    begin: int
    end: int
    text: str


@dataclasses.dataclass(frozen=True)
class Fix:
    """A way to correct an error. `trust`: "safe", "likely" or "template", which needs to be completed."""

    title: str
    trust: str
    edits: Tuple[Edit, ...]


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """An error, warning or note at a place in a text. Lines and columns count from 1; `begin` and `end` are bytes of the file."""

    severity: str
    message: str
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]
    begin: Optional[int]
    end: Optional[int]
    code: str
    notes: Tuple["Diagnostic", ...]
    fixes: Tuple[Fix, ...]

    @classmethod
    def _of(cls, data: dict) -> "Diagnostic":
        at = data.get("at") or {}
        fixes = tuple(
            Fix(fix["title"], fix.get("trust", ""), tuple(Edit(e["file"], e["begin"], e["end"], e["text"]) for e in fix.get("edits", ())))
            for fix in data.get("fixes", ())
        )
        return cls(
            data.get("severity", "error"), data["message"], at.get("file"), at.get("line"), at.get("column"), at.get("begin"), at.get("end"),
            data.get("code", ""), tuple(cls._of(note) for note in data.get("notes", ())), fixes,
        )

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file and self.line else ""
        return f"{place}{self.severity}: {self.message}"


class Error(Exception):
    """The base of all errors of npar. `code` is the name of the kind, such as "bad_input"."""

    code = "error"

    def __init__(self, message: str, diagnostics: Tuple[Diagnostic, ...] = ()):
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class InputError(Error, ValueError):
    """A model text, data, weights, an array or a compiled program is wrong."""

    code = "bad_input"


class CompileError(InputError):
    """A text is wrong. str() shows file, line, caret and help of each error; `diagnostics` has them as data."""

    _source: Optional[Tuple[str, str]] = None  # name and text of what was compiled

    def apply(self, text: Optional[str] = None, trust: Tuple[str, ...] = ("safe",)) -> str:
        """The text with the first fix of each error that has one of this trust. `text` defaults to what was compiled."""
        name = None
        if text is None:
            if self._source is None:
                raise UsageError("apply: the text that was compiled is not known here; pass it as `text`")
            name, text = self._source
        edits: List[Edit] = []
        for diagnostic in self.diagnostics:
            fix = next((fix for fix in diagnostic.fixes if fix.trust in trust and fix.edits), None)
            if fix and (name is None or all(edit.file == name for edit in fix.edits)):
                edits.extend(fix.edits)
        data = text.encode()
        end = len(data)
        for edit in sorted(edits, key=lambda each: (each.begin, each.end), reverse=True):
            if edit.end <= end:  # else it overlaps one that was applied
                data = data[: edit.begin] + edit.text.encode() + data[edit.end :]
                end = edit.begin
        return data.decode()


class UsageError(Error, ValueError):
    """Arguments do not fit together."""

    code = "usage"


class CheckFailed(Error):
    """A check found a difference."""

    code = "check_failed"


class RunError(Error, RuntimeError):
    """Memory, files or processes failed while something ran."""

    code = "run_failed"


class Timeout(Error, TimeoutError):
    """Nothing progressed for the time allowed."""

    code = "timeout"


class InternalError(Error, RuntimeError):
    """A fault of npar itself. Please report it."""

    code = "internal"


class Stopped(Error):
    """`stop()` ended the work. All finished steps are valid."""

    code = "stopped"


_classes = {1: InputError, 2: UsageError, 3: CheckFailed, 4: RunError, 5: Timeout, 6: InternalError, 7: Stopped}


def exception_of(code: int, text: str, data: str) -> Error:
    """Makes the exception of an error of the library."""
    diagnostics = tuple(Diagnostic._of(each) for each in json.loads(data).get("diagnostics", ())) if data else ()
    kind = CompileError if code == 1 and diagnostics else _classes.get(code, Error)
    return kind(text if diagnostics else in_python_words(text), diagnostics)


def warnings_of(data: str) -> List[Diagnostic]:
    return [Diagnostic._of(each) for each in json.loads(data)]
