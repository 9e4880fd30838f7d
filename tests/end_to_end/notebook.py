"""Runs notebooks without Jupyter: executes the code cells and keeps what each shows, as Jupyter would.

  python notebook.py FILE.ipynb             runs it, and prints what each cell shows
  python notebook.py FILE.ipynb --write     stores the outputs in the file
  python notebook.py FILE.ipynb --html OUT  writes a page with texts, code and outputs
"""

import ast
import contextlib
import html
import io
import json
import pathlib
import re
import sys
import traceback


def cells(path):
    return json.loads(pathlib.Path(path).read_text())["cells"]


def bundle(value):
    """The forms in which a notebook can show a value."""
    if value is None:
        return None
    shown = {"text/plain": repr(value)}
    for name, kind in (("_repr_svg_", "image/svg+xml"), ("_repr_html_", "text/html")):
        if hasattr(value, name):
            shown[kind] = getattr(value, name)()
    if hasattr(value, "_repr_mimebundle_"):
        shown.update(value._repr_mimebundle_())
    return shown


def execute(path):
    """Runs all code cells in order; returns for each what it printed and what its last expression shows. An exception ends it."""
    names = {"__name__": "__main__"}
    results = []
    for number, cell in enumerate(cells(path)):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), f"<cell {number}>")
        last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"<cell {number}>", "exec"), names)
            value = eval(compile(last, f"<cell {number}>", "eval"), names) if last else None
        results.append((printed.getvalue(), bundle(value)))
    return results


def lines(text):
    return text.splitlines(keepends=True)


def write(path, results):
    """Stores the outputs in the notebook."""
    notebook = json.loads(pathlib.Path(path).read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, (cell, (printed, shown)) in enumerate(zip(code, results), 1):
        cell["execution_count"] = count
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines(printed)}] if printed else []
        if shown:
            data = {kind: lines(text) for kind, text in shown.items()}
            cell["outputs"].append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    pathlib.Path(path).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def page(path, results):
    """The notebook as one HTML page."""
    parts = ["<!doctype html><meta charset='utf-8'><title>notebook</title><style>body{font:16px/1.5 sans-serif;max-width:1240px;margin:24px auto;padding:0 20px}"
             "pre{font:13px/1.4 'DejaVu Sans Mono',monospace;background:#f6f6f6;padding:10px;overflow-x:auto}pre.out{background:#fff;border-left:3px solid #888}"
             "code{background:#f0f0f0}svg{max-width:100%}</style>"]
    outputs = iter(results)
    for cell in cells(path):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for block in source.split("\n\n"):
                heading = re.match(r"(#+) (.*)", block)
                text = html.escape(heading[2] if heading else block)
                text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", re.sub(r"`(.+?)`", r"<code>\1</code>", text))
                parts.append(f"<h{len(heading[1])}>{text}</h{len(heading[1])}>" if heading else f"<p>{text}</p>")
            continue
        parts.append(f"<pre>{html.escape(source)}</pre>")
        printed, shown = next(outputs)
        if printed:
            parts.append(f"<pre class='out'>{html.escape(printed)}</pre>")
        if shown:
            parts.append(shown.get("image/svg+xml") or shown.get("text/html") or f"<pre class='out'>{html.escape(shown['text/plain'])}</pre>")
    return "\n".join(parts)


def main():
    path = sys.argv[1]
    try:
        results = execute(path)
    except Exception:
        traceback.print_exc()
        return 1
    if "--write" in sys.argv:
        write(path, results)
    elif "--html" in sys.argv:
        pathlib.Path(sys.argv[sys.argv.index("--html") + 1]).write_text(page(path, results))
    else:
        for printed, shown in results:
            print(printed + (shown["text/plain"] if shown else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
