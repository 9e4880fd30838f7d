"""The Python module in notebooks: its cell magic, what reports show, and the notebook and the page of the documents."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

from driver import block
from python_module import FOLDER, HELLO, PYTHON, PythonTest, environment, slow

HERE = pathlib.Path(__file__).resolve().parent


class NotebooksTest(PythonTest):
    def test_cell_magic(self):
        """`%%npar` compiles a cell and binds a name; errors have carets and no traceback: in IPython if it is installed, else in a stand-in."""
        self.python("""
try:
    from IPython.core.interactiveshell import InteractiveShell
except ImportError:
    class InteractiveShell:                              # what the extension uses of it
        def __init__(self):
            self.user_ns, self.magics = {}, {}
        def register_magic_function(self, function, kind, name):
            assert kind == "cell"
            self.magics[name] = function
        def run_cell_magic(self, name, line, cell):
            return self.magics[name](line, cell)
shell = InteractiveShell()
npar.load_ipython_extension(shell)
made = shell.run_cell_magic("npar", "p --plan two_by_two --set width=32 --set mesh.tp=4 --no-kernels", hello)
assert shell.user_ns["p"] is made and made.ranks == 8 and "svg" in made._repr_mimebundle_()["image/svg+xml"]
shell.user_ns["parts"] = {"Mine": "layer Mine(embed) { forward(x) { return x + x } }"}
mine = hello.replace('import "Linear"', 'import "Linear"\\nimport "Mine"').replace("    loss", "    own = Mine(embed)\\n    loss").replace("up(table(tokens))", "up(own(table(tokens)))")
assert shell.run_cell_magic("npar", "q --imports parts --plan none --no-kernels", mine).ranks == 1
for line, cell, kind, what in (
    ("p", hello.replace("hidden, vocab -> tp", "hiden -> tp"), npar.CompileError, "^~~~~"), ("p q", hello, npar.UsageError, "unrecognized arguments: q"),
    ("", hello, npar.UsageError, "name"), ("1p", hello, npar.UsageError, "'1p' is not"), ("p --set width", hello, npar.UsageError, "KEY=VALUE"),
    ("p 'x", hello, npar.UsageError, "quotation"), ("p", " ", npar.UsageError, "no model text"), ("p --imports x", hello, npar.UsageError, "--imports x"),
):
    try:
        shell.run_cell_magic("npar", line, cell)
    except kind as error:
        shown = error._render_traceback_()
        assert what in "".join(shown) and not any("Traceback" in each for each in shown), shown
    else:
        raise AssertionError(line)
assert shell.user_ns["p"] is made
""")

    def test_reports_in_notebooks(self):
        """Reports are HTML tables with escaped texts, collectives the largest first with their totals."""
        self.python("""
from html.parser import HTMLParser

def cells(report):
    'The cells of the rows of a report, after a check that each tag is closed.'
    rows, open_tags = [], []
    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ("br", "img"):
                open_tags.append(tag)
            if tag == "tr":
                rows.append([])
            if tag in ("td", "th"):
                rows[-1].append("")
        def handle_endtag(self, tag):
            assert open_tags.pop() == tag, tag
        def handle_data(self, text):
            if open_tags[-1] in ("td", "th"):
                rows[-1][-1] += text
    Reader().feed(report._repr_html_())
    assert not open_tags, open_tags
    return rows

p = npar.compile(hello, plan="two_by_two", name="<b>.npar", kernels=False)
why = p.why()
assert [each.sent_bytes for each in why] == sorted((each.sent_bytes for each in why), reverse=True) and why[0].kind == "reduce_scatter", why
assert why.sent_bytes == sum(each.sent_bytes for each in why) and why.collectives == sum(each.count for each in why) == 20
rows = cells(why)
assert rows[0][:3] == ["sent", "times", "collective"] and rows[1][:3] == ["128 KiB", "2", "reduce_scatter over tp"] and len(rows) == 11, rows
assert "<b>.npar:20:9  hidden -> tp" in rows[1] and "<b>" not in why._repr_html_() and "in 20 collectives" in why._repr_html_()
assert "3 smaller ones" in why._repr_html_() and cells(npar.compile(hello, plan="none", kernels=False).why()) == []
stages = npar.compile("gpt2", config="gpt2", set={"depth": 2, "width": 64, "heads": 2, "vocab": 512}, kernels=False).why()
assert stages.sent_bytes == max(sum(each.sent_bytes for each in stages if each.stage == stage) for stage in (0, 1)), stages
assert cells(stages)[0][0] == "stage" and [each.sent_bytes for each in stages] == sorted((each.sent_bytes for each in stages), reverse=True)
assert cells(p.summary)[1][0] == "0-3" and "all_gather over tp" in cells(p.summary)[1][-1], cells(p.summary)
step = npar.simulate(p, machine="dgx-a100")
assert ["bubble", "0.0 %"] in cells(step) and "data:image/svg+xml;base64," in step._repr_html_() and "<img" not in pickle.loads(pickle.dumps(step))._repr_html_()
checks = [{"name": "losses", "ok": True, "max_relative_error": 1e-12, "detail": "a < b"}, {"name": "memory", "ok": False, "detail": ""}]
report = npar.VerifyReport({"plan": "two_by_two", "ok": False, "checks": checks})
assert cells(report)[1:] == [["ok", "losses", "1.0e-12", "a < b"], ["FAILED", "memory", "", ""]] and "FAILED" in repr(report), cells(report)
best = npar.plan(hello, machine="dgx-a100", budget=1)
assert len(cells(best)) == 6 and cells(best)[1][0] in repr(best) and "mesh.dp" in cells(best)[1][2] and "<pre>" in best._repr_html_(), cells(best)
""")

    def test_explain_and_annotate(self):
        """Both have the members of the command's JSON, from texts and from programs; a plan that explain cannot use is refused."""
        self.python("""
lines = npar.annotate(hello, plan="two_by_two", name="hello.npar")
assert lines.plan == "two_by_two" and lines.file == "hello.npar" and len(repr(lines).splitlines()) == len(lines.lines) == 8, lines
(rule,) = [each for each in lines.lines if "vocab -> tp" in each["text"]]
assert "reduce_scatter" in rule["effects"][0] and "#= " in repr(lines) and lines == npar.annotate(npar.compile(hello, plan="two_by_two", name="hello.npar", kernels=False))
said = npar.explain(hello, machine="dgx-a100", jobs=2)
assert said.questions[1]["question"] == "Is tensor parallelism worth it?" and said.questions[1]["sentence"] in repr(said), said
assert said.questions[1]["sentence"] in __import__("html").unescape(said._repr_html_()) and "34 plans simulated" in repr(said), said
assert npar.explain(npar.compile(hello, plan="none", kernels=False), machine="dgx-a100") == said
for call, what in ((lambda: npar.explain(hello, plan="two_by_two"), "explain makes its own plans: leave plan empty"), (lambda: npar.explain(hello, hosts=0), "hosts is 0"),
                   (lambda: npar.annotate(hello, plan="none"), "'none' has none")):
    try:
        call()
    except npar.UsageError as error:
        assert what in str(error) and "npar_" not in str(error), error
    else:
        raise AssertionError(what)
""")

    def test_reprs_of_data(self):
        """The reprs of a loader and of a state dictionary list what they hold."""
        self.python("""
loader = npar.ArrayLoader({"tokens": x.astype(np.uint8), "targets": y.tolist()}, batch=5, seed=3)
assert repr(loader) == "<npar.ArrayLoader: tokens [16, 32] uint8, targets [16, 32] int64; batches of 5 rows, 3 per epoch, shuffled with seed 3; 0 batches done>", loader
t = npar.Trainer(npar.compile(hello, plan="two_by_two"))
shown = repr(t.state_dict(optimizer=True))
assert shown.startswith("<npar.StateDict: 5 parameters with 98,816 values, 11 states of the training; gathered when read: table.weight [256, 64], "), shown
assert "states" not in repr(t.state_dict())
""")

    def test_notebook(self):
        """The notebook runs, and what it stores is what it shows: texts and drawings, except numbers that depend on the machine."""
        notebook = FOLDER / "communication.ipynb"
        script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import json, notebook; print(json.dumps(notebook.execute({str(notebook)!r})))"
        result = subprocess.run([PYTHON, "-c", script], cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        shown = json.loads(result.stdout.splitlines()[-1])
        sys.path.insert(0, str(HERE))
        import notebook as runner

        code = [cell for cell in runner.cells(notebook) if cell["cell_type"] == "code"]
        self.assertEqual(len(code), len(shown))
        for cell, (printed, forms) in zip(code, shown):
            stored = {"".join(each["text"]) for each in cell["outputs"] if each["output_type"] == "stream"}
            self.assertEqual({printed} - {""}, stored, "run tests/end_to_end/notebook.py tools/python/communication.ipynb --write")
            for each in cell["outputs"]:
                if each["output_type"] == "execute_result":
                    self.assertEqual(set(each["data"]), set(forms))

    @slow
    def test_the_page_runs(self):
        """All Python blocks of the page, one after the other."""
        blocks = re.findall(r"^```python\n(.*?)^```", (FOLDER / "README.md").read_text(), flags=re.M | re.S)
        self.assertGreater(len(blocks), 5)
        self.assertEqual(block(FOLDER / "README.md", "npar"), HELLO)
        (self.folder / "book.txt").write_text(HELLO * 50)
        self.python("\n".join(blocks))


if __name__ == "__main__":
    unittest.main()
