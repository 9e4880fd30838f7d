"""Drawings and pages of a program, which notebooks show and files keep."""

import html
import os
import pathlib
from typing import Callable, Union


class Picture:
    """An SVG drawing. A notebook shows it; `save` writes it."""

    def __init__(self, svg: str, text: str = "", trace: Union[str, Callable[[], str]] = ""):
        self.svg, self.text, self._trace = svg, text, trace

    def save(self, path) -> pathlib.Path:
        """Writes the drawing, or, if the name ends in .json, the trace for ui.perfetto.dev."""
        path = pathlib.Path(path)
        if path.suffix == ".json":
            return _write(path, self.trace)
        if path.suffix != ".svg":
            raise ValueError(f"'{path}': a timeline is saved as .svg, or as .json for ui.perfetto.dev")
        return _write(path, self.svg)

    @property
    def trace(self) -> str:
        """The same as trace events (JSON) for ui.perfetto.dev or chrome://tracing."""
        return self._trace() if callable(self._trace) else self._trace

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self.text or f"<drawing of {len(self.svg)} bytes: save('step.svg') writes it>"


class Page:
    """An HTML page to explore in a browser. A notebook shows it in a frame; `save` writes it."""

    def __init__(self, html_text: str):
        self.html = html_text

    def save(self, path) -> pathlib.Path:
        return _write(path, self.html)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="700" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<page of {len(self.html)} bytes: save('page.html') writes it>"


class Report:
    """A text that the terminal shows as it is, with the same content as `data` (JSON as Python values)."""

    def __init__(self, text: str, data):
        self.text, self.data = text, data

    def __repr__(self) -> str:
        return self.text.rstrip("\n")


def _write(path, text: str) -> pathlib.Path:
    path = pathlib.Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    finally:
        if partial.exists():
            partial.unlink()
    return path
