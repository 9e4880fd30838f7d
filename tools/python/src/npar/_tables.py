"""Small HTML tables, in which notebooks show reports.

They set no colors, so that they are readable in every theme.
"""

import base64
import html
from typing import Any, Iterable, Sequence


def size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A table with a title above it and a note below it. A column whose name begins with ">" is aligned to the right; no columns: no names."""
    styles = ["text-align:right;white-space:nowrap" if column.startswith(">") else "text-align:left" for column in columns]

    def row(kind: str, cells: Sequence[Any]) -> str:
        styled = zip(styles or ["text-align:left"] * len(cells), cells)
        each = (f'<{kind} style="{style};vertical-align:top;padding:0.15em 0.7em">{_escaped(cell)}</{kind}>' for style, cell in styled)
        return f"<tr>{''.join(each)}</tr>"

    head = f"<thead>{row('th', [column.lstrip('>') for column in columns])}</thead>" if columns else ""
    body = "".join(row("td", each) for each in rows)
    shown = f"<table>{head}<tbody>{body}</tbody></table>" if body else ""
    return f"<div><strong>{_escaped(title)}</strong>{shown}{f'<div>{_escaped(note)}</div>' if note else ''}</div>"


def folded(title: str, text: str) -> str:
    """A text that a click on its title shows."""
    return f"<details><summary>{_escaped(title)}</summary><pre>{html.escape(text.rstrip())}</pre></details>"


def image(svg: str) -> str:
    """A drawing as an image, whose names cannot meet those of other drawings on the page."""
    return f'<img alt="timeline" style="max-width:100%" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'


def _escaped(value: Any) -> str:
    return html.escape(str(value)).replace("\n", "<br>")
