"""The Python module from the build folder: compiled programs, trainers, arrays in both directions, errors, and the notebook."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from driver import BUILD, LONG, ROOT, SANITIZED, block

FOLDER = ROOT / "tools" / "python"
PACKAGE = BUILD / "python" / "npar"
HERE = pathlib.Path(__file__).resolve().parent
SECRET = "7f0e1d2c3b4a5968" * 4


def interpreter():
    """The Python for which the module was built, or why there is none."""
    if SANITIZED:
        return None, "a sanitized library cannot be loaded by Python"
    if not (PACKAGE / "_native.abi3.so").exists():
        return None, "the Python module is not built: cmake lists the missing packages, and tools/test installs them"
    return (PACKAGE / "interpreter").read_text().strip(), ""


PYTHON, LACKING = interpreter()
slow = unittest.skipUnless(LONG, "NPAR_LONG is not set")
HELLO = block(ROOT / "README.md", "npar")
BEGIN = """
import logging, os, pickle, signal, sys, threading, time
import numpy as np
import npar
hello = open("hello.npar").read()
rng = np.random.default_rng(0)
x, y = rng.integers(0, 256, (16, 32)), rng.integers(0, 256, (16, 32))
"""


def environment(**more):
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name not in ("RANK", "WORLD_SIZE")}
    return {**own, "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1", **more}


@unittest.skipIf(PYTHON is None, LACKING)
class PythonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="npar-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "hello.npar").write_text(HELLO)

    def python(self, script, code=0, **more):
        """Runs a script after BEGIN; returns what it prints."""
        result = subprocess.run([PYTHON, "-c", BEGIN + script], cwd=self.folder, env=environment(**more), capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def test_compile_look_and_train(self):
        """What a program says of itself, a step from arrays of every kind, and the loss that the driver prints for the same data."""
        out = self.python("""
p = npar.compile(hello, plan="two_by_two", name="hello.npar")
assert p.inputs["tokens"] == npar.Input("tokens", "i32", ("batch", "seq"), (16, 32), 256), p.inputs
assert p.mesh == npar.Mesh({"dp": 2, "tp": 2}, 4, ((0, 1, 2, 3),)) and p.ranks == 4
assert p.parameters["head.weight"].split_by == ("tp",) and p.parameters["head.weight"].states[0] == "head.weight.exp_avg"
assert p.memory[0].arena == p.summary.classes[0]["arena_bytes"] and p.warnings == ()
why = p.why()
assert why[0].kind == "reduce_scatter" and why[0].rules == ("hello.npar:20:9  hidden -> tp",), why[0]
assert repr(why).startswith("Hello under plan two_by_two") and "leaving out 'hidden -> tp'" in why[0].removed_by
shown = p._repr_mimebundle_()
assert shown["image/svg+xml"].startswith("<svg") and "arena" in shown["text/plain"] and "script" not in shown["image/svg+xml"]
p.timeline().save("step.svg"); p.timeline().save("step.json"); p.page().save("page.html")
assert open("step.svg").read() == shown["image/svg+xml"] and "traceEvents" in open("step.json").read() and "srcdoc" in p.page()._repr_html_()
assert "between hosts" in repr(p.hosts(2)) and p.bytes_per_parameter().data[0]["bytes_per_parameter"]
p.save("hello.npx")
same = npar.open("hello.npx")
assert same.bytes() == p.bytes() == npar.from_bytes(p.bytes()).bytes() and same.warnings == ()
assert "dgx-a100" in npar.machines() and "gpt2" in npar.models()

t = npar.Trainer(p, threads=2)
first = t.step(tokens=x, targets=y)
assert first.step == 0 and t.steps == 1 and abs(first.loss - 5.545) < 0.01 and not first.skipped, first
one = npar.Trainer(npar.compile(hello, plan="none"))
assert abs(one.step(tokens=x, targets=y).loss - first.loss) < 1e-5
for kind in ("uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4"):
    t.step({"tokens": x.astype(kind), "targets": y.astype(kind)})
t.step(tokens=np.asfortranarray(x), targets=y.T[::1].T)
wide = np.zeros((16, 64), int); wide[:, ::2] = x
read_only = wide[:, ::2]; read_only.flags.writeable = False
t.step(tokens=read_only, targets=y[::-1])
t.step(tokens=x.tolist(), targets=memoryview(y))
packed = np.zeros((16, 32), [("a", "u1"), ("b", "i4")]); packed["b"] = x
t.step(tokens=packed["b"], targets=y)

def refused(kind, what, **arrays):
    try:
        t.step(**{"tokens": x, "targets": y, **arrays})
    except kind as error:
        assert what in str(error), error
    else:
        raise AssertionError(what)
refused(npar.InputError, "300", tokens=np.where(x == x[3, 4], 300, x))
refused(npar.InputError, "size along 'batch' is 8", tokens=x[:8])
refused(npar.InputError, "no input 'token'", token=x)
refused(TypeError, "complex", tokens=x.astype(complex))
refused(TypeError, "<U1", tokens=[["a"]])
refused(TypeError, "datetime", tokens=x.astype("datetime64[s]"))
refused(TypeError, "'tokens' is no array", tokens=[[1], [2, 3]])
refused(TypeError, "tokens.filled(value)", tokens=np.ma.masked_array(x, x == x[0, 0]))
assert t.steps == 13
print("loss", first.loss)
""")
        self.assertRegex(out, r"loss 5\.5")

    def test_arrays(self):
        """A view needs no copy and is live; pieces cover a parameter; a copy is one; writing reaches every rank; state dictionaries."""
        self.python("""
p = npar.compile(hello, plan="two_by_two")
t, one = npar.Trainer(p), npar.Trainer(npar.compile(hello, plan="none"))
try:
    t.view("head.weight")
except npar.InputError as error:
    assert "pieces" in str(error), error
else:
    raise AssertionError("a split parameter has no view")
view = one.view("head.weight")
live = np.from_dlpack(view)
assert view.shape == live.shape == (256, 256) and view.dtype == "float32" and not live.flags.writeable and view.read_only
assert np.shares_memory(live, np.asarray(view)) and np.shares_memory(live, np.from_dlpack(one.view("head.weight")))
before = live.copy(); own = view.copy()
try:
    view.__array__(np.float64, copy=False)
except ValueError as error:
    assert "needs a copy" in str(error), error
else:
    raise AssertionError("another type without a copy")
one.step(tokens=x, targets=y)
assert (live != before).any() and (own == before).all() and own.flags.writeable
del one, view
assert np.isfinite(live).all()                         # the memory lives as long as a view
whole = t["head.weight"]
assert whole.shape == (256, 256) and whole.dtype == np.float32 and whole.flags.writeable
built = np.full(whole.shape, np.nan, np.float32)
pieces = t.pieces("head.weight")
for piece in pieces:
    if piece.owned:
        assert not piece.flat
        built[tuple(slice(at, at + size) for at, size in zip(piece.start, piece.shape))] = np.from_dlpack(piece)
assert (built == whole).all() and {piece.rank for piece in pieces} == {0, 1, 2, 3}
t["head.weight"] = (whole.astype(np.float64) * 2)[:, ::-1]
assert (t["head.weight"] == (whole * 2)[:, ::-1]).all()
for _ in range(2):
    t.step(tokens=x, targets=y)
state = t.state_dict()
assert list(state) == list(p.parameters) and len(state) == 5 and "head.weight.exp_avg" in t and "nothing" not in t
whole_state = dict(t.state_dict(optimizer=True))
assert len(whole_state) == 16 and whole_state["#steps"] == t.steps > 1, t.steps
other = npar.Trainer(p)
fresh = other.hash()
assert fresh == npar.Trainer(p).hash() != t.hash()
try:                                                   # all or nothing: the last array is refused
    other.load_state_dict({**whole_state, "head.weight.exp_avg_sq": whole[:1]})
except npar.InputError as error:
    assert "has the shape [256, 256], and the array [1, 256]" in str(error) and other.hash() == fresh and other.steps == 0, error
other.load_state_dict(whole_state)
assert other.hash() == t.hash() and other.steps == t.steps
assert other.step(tokens=x, targets=y).loss == t.step(tokens=x, targets=y).loss and other.hash() == t.hash()
half = npar.compile(hello.replace("micro 4", "micro 4  compute fp16"))
one, two = npar.Trainer(half), npar.Trainer(half)
for _ in range(3):
    one.step(tokens=x, targets=y)
two.load_state_dict(dict(one.state_dict(optimizer=True)))
assert "#loss_scale" in one.state_dict(optimizer=True) and two.step(tokens=x, targets=y).loss == one.step(tokens=x, targets=y).loss and two.hash() == one.hash()
try:
    other.load_state_dict({"head.weight": whole, "x": whole})
except npar.InputError as error:
    assert "missing 'table.weight'" in str(error) and "unknown 'x'" in str(error), error
t.save_weights("w.safetensors")
assert npar.Trainer(p, weights="w.safetensors").hash() == t.hash()
llama = npar.Trainer(npar.compile("llama", plan="none", set={"depth": 1, "width": 32, "heads": 4, "kv_heads": 2, "vocab": 64, "length": 8, "mlp": 48, "batch": 2}), threads=1)
query = llama.program.parameters["model.layers.0.self_attn.q_proj.weight"]
assert query.stored_shape == (32, 32) != query.shape, query     # published checkpoints have one dimension for heads and their elements
stored = rng.random((32, 32)).astype(np.float32)
llama[query.name] = stored
assert (llama[query.name].reshape(32, 32) == stored).all()
capsule = other.pieces("head.bias")[0].__dlpack__()      # before DLPack 1
assert "dltensor" in repr(capsule) and "versioned" not in repr(capsule)
del capsule
""")

    def test_errors(self):
        """Carets in the text, fixes as data, an exception class per kind, an exception of a callback, and a fork."""
        out = self.python("""
wrong = hello.replace("hidden, vocab -> tp", "hiden, vocab -> tp")
try:
    npar.compile(wrong, name="wrong.npar")
except npar.CompileError as error:
    print(error)
    first = error.diagnostics[0]
    assert (first.file, first.line, first.severity) == ("wrong.npar", 20, "error"), first
    assert first.fixes[0].edits[0].text == "hidden", first.fixes
    assert npar.compile(error.apply(trust=("safe", "likely")), kernels=False).ranks == 4
    assert isinstance(error, ValueError) and isinstance(error, npar.Error)
for text, options in (("nowhere.npar", {}), (hello, {"plan": "other"})):
    try:
        npar.compile(text, **options)
    except npar.InputError as error:
        assert "nowhere" in str(error) or "other" in str(error), error
    else:
        raise AssertionError(text)
try:
    npar.compile(hello, kind="x")
except npar.UsageError as error:
    assert "generation" in str(error)
parts = {"Mine": "layer Mine(embed) { param w: [embed] = ones\\n  return (x: [..., embed]) { return x * w } }"}
def find(name):
    raise KeyError("from the function: " + name)
try:
    npar.compile(hello, imports=find)
except KeyError as error:
    assert "from the function" in str(error)
else:
    raise AssertionError("an exception of a callback was lost")

t = npar.Trainer(npar.compile(hello))
for call, kind, what in (
    (lambda: npar.compile(hello, imports={"Linear": 3}), TypeError, "the text of 'Linear' cannot be 3 (int)"),
    (lambda: npar.compile(hello, imports=lambda name: b"x"), TypeError, "(bytes)"),
    (lambda: t.load_state_dict(3), TypeError, "pass a dictionary of arrays by their names"),
    (lambda: t.train(data=3, steps=9), TypeError, "data is 3: pass a file"),
    (lambda: npar.Trainer(t.program, threads=1.5), TypeError, "threads cannot be 1.5 (float)"),
    (lambda: npar.Trainer(t.program, threads=0), npar.UsageError, "threads is 0: it must be 1 or more"),
    (lambda: npar.Trainer(t.program, timeout=0), npar.UsageError, "timeout is 0: it must be more than 0"),
    (lambda: npar.plan(hello, machine="dgx-a100", hosts=0), npar.UsageError, "hosts is 0: it must be 1 or more"),
    (lambda: npar.Trainer(t.program, seed=2**70), ValueError, "seed is 1180591620717411303424: it must be 0 to 18446744073709551615"),
    (lambda: npar.verify(npar.open(t.program.save("saved.npx"))), npar.UsageError, "pass the model's text"),
    (lambda: npar.compile(hello, set={"width": True}), npar.CompileError, "constant 'width' is an integer, true is not"),
    (lambda: t.run([], steps=3, checkpoint="x", checkpoint_every=0), npar.UsageError, "checkpoint_every is 0: it must be 1 or more"),
    (lambda: t.load_state_dict({f"n{i}": 0 for i in range(7)}), npar.InputError, "'n4' and 2 more"),
    (lambda: npar.compile(chr(0xdcff) + hello), TypeError, "text cannot be"),
    (lambda: npar.compile(hello, set=3), TypeError, "set has the type int: pass a dictionary of settings"),
    (lambda: npar.compile(hello, imports=5), TypeError, "imports has the type int"),
    (lambda: list(t.run([(x, y)], steps=1)), TypeError, "a batch has the type tuple: pass a dictionary of arrays by the names of the inputs: tokens, targets"),
    (lambda: t.generate("a", 0), npar.UsageError, "count is 0"),
    (lambda: t.generate("", 3), npar.UsageError, "the prompt is empty"),
    (lambda: t.generate([65.5], 3), TypeError, "pass whole numbers"),
    (lambda: t.generate("x" * 30, 20), npar.InputError, "shorten the prompt, or set count to at most 3"),
    (lambda: t.step(tokens=x, targets=np.where(y == y[0, 0], -100, y)), npar.InputError, "write cross_entropy(..., ignore = -100)"),
    (lambda: t.step(tokens=x.astype(float), targets=y), npar.InputError, "convert it to integers"),
    (lambda: t.step(tokens=x[:0], targets=y[:0]), npar.InputError, "size along 'batch' is 0"),
    (lambda: t.step(tokens=None, targets=y), TypeError, "'tokens' is None"),
    (lambda: t.run(None, steps=3), TypeError, "the loader has the type NoneType"),
    (lambda: t.run([], steps=3.5), TypeError, "steps is 3.5"),
    (lambda: t.evaluate([]), npar.InputError, "the loader gave no batch"),
    (lambda: t.train(steps=3, data="hello.npar", tokens="bytes", evaluate_every=1), npar.InputError, "set evaluate,"),
    (lambda: t[3], TypeError, "trainer[3]: pass the name of a parameter"),
    (lambda: t.view("nothing"), npar.InputError, "program.parameters lists"),
    (lambda: t.__setitem__("head.bias", np.ones(256, int)), npar.InputError, "convert it to floats"),
    (lambda: npar.Trainer(t.program, timeout="x"), TypeError, "timeout is 'x'"),
    (lambda: npar.Trainer(t.program, threads=-1), npar.UsageError, "threads is -1"),
    (lambda: npar.compile(" "), npar.UsageError, "the model text is empty"),
    (lambda: npar.compile(hello, set={"width": ""}), npar.UsageError, "a setting is empty"),
    (lambda: npar.from_bytes("x"), TypeError, "from_bytes takes bytes"),
    (lambda: pickle.dumps(t), TypeError, "save(folder)"),
    (lambda: pickle.dumps(t.pieces("head.bias")[0]), TypeError, "pickle a copy"),
    (lambda: npar.plan(hello, budget=0), npar.UsageError, "budget is 0"),
):
    try:
        call()
    except kind as error:
        assert what in str(error) and "npar_" not in str(error), error
    else:
        raise AssertionError(what)
same = pickle.loads(pickle.dumps(t.program))              # with its text, so that it can be compiled for an evaluation
e = npar.Trainer(npar.compile(hello, kind="evaluation"))    # the loss of a step is that of an evaluation of its batch
assert abs(e.step(tokens=x, targets=y).loss - npar.Trainer(t.program).step(tokens=x, targets=y).loss) < 1e-5
assert same.bytes() == t.program.bytes() and npar.Trainer(same).evaluate([{"tokens": x, "targets": y}]).loss > 0
heard = []
logging.getLogger("npar").addHandler(type("H", (logging.Handler,), {"emit": lambda self, record: heard.append(f"{record.levelname} {record.getMessage()}")})())
poisoned = npar.Trainer(t.program)
poisoned["head.bias"] = np.full(256, np.nan)
assert poisoned.step(tokens=x, targets=y).skipped and any("step 0 changed nothing" in each for each in heard), heard
assert np.isnan(poisoned.evaluate([{"tokens": x, "targets": y}]).loss) and "the loss is not finite" in heard[-1], heard
assert "; ".join(heard).count("changed nothing") == 1, heard  # an evaluation changes nothing anyway
results = [r.skipped for r in poisoned.run([{"tokens": x, "targets": y}], steps=3, nonfinite="continue")]
assert results == [True, True], results
try:
    list(poisoned.run([{"tokens": x, "targets": y}], steps=5))
except npar.RunError as error:
    assert "step 3 changed nothing: its loss is nan" in str(error), error
else:
    raise AssertionError("a run over NaN ends")
import json, pathlib
kept = npar.Trainer(t.program)
for r in kept.run([{"tokens": x, "targets": y}], steps=2, checkpoint="kept", checkpoint_every=1):
    pass
resumed = npar.Trainer(t.program).resume("kept")
resumed.save("again")
manifests = [pathlib.Path(folder, "step-2", "manifest.json") for folder in ("kept", "again")]
assert [json.loads(each.read_text())["learning_rate"] for each in manifests] == [r.learning_rate] * 2, manifests
manifests[0].write_text("{")
assert npar.Trainer(t.program).resume("kept").steps == 1 and heard[-1].startswith("WARNING") and "step-2' is skipped" in heard[-1], heard
child = os.fork()
if child == 0:
    try:
        t.step(tokens=x, targets=y)
    except npar.UsageError as error:
        assert "forked" in str(error)
        try:
            npar.compile(hello)
        except npar.UsageError as error:
            del t
            os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
t.step(tokens=x, targets=y)
""")
        self.assertIn("wrong.npar:20:9: error: ", out)
        self.assertRegex(out, r"\n +hiden, vocab -> tp .*\n +\^~~~~\n")

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

    def test_closed_trainers(self):
        """close and `with` give the memory back; a closed trainer refuses every use, and views of it stay."""
        self.python("""
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

p = npar.compile(hello, plan="none", set={"width": 1024})
with npar.Trainer(p) as t:
    t.step(tokens=x, targets=y)
    t.evaluate([{"tokens": x, "targets": y}])
    view = np.from_dlpack(t.view("head.bias"))
    before = resident()
assert np.isfinite(view).all()
t.close()
assert repr(t).endswith("; closed>"), repr(t)
for use in (lambda: t.step(tokens=x, targets=y), lambda: t["head.bias"], lambda: t.steps, t.stop, t.hash, lambda: t.run([], steps=1), lambda: t.save("run")):
    try:
        use()
    except npar.UsageError as error:
        assert "closed: make another" in str(error), error
    else:
        raise AssertionError("a closed trainer was used")
assert not os.path.exists("run")
del view
assert before - resident() > 2 * p.memory[0].parameters, (before, resident(), p.memory)
""")

    def test_outputs(self):
        """An output of a model is read by its name after a step of a program that only goes forward."""
        self.python("""
p = npar.compile(hello.replace("    loss", "    output pred = up(table(tokens))\\n    loss"), plan="two_by_two", kind="evaluation")
t = npar.Trainer(p)
t.step(tokens=x, targets=y)
assert p.outputs["output.pred"].shape == (16, 32, 256), p.outputs
assert np.allclose(t["output.pred"], t["table.weight"][x] @ t["up.weight"] + t["up.bias"], atol=1e-5)
""")

    def test_warnings_print(self):
        """Without a logging set-up warnings are on standard error and remarks are not; logging.basicConfig shows both."""
        script = "npar.Trainer(npar.compile(hello, plan='none', set={'world': 2}))"
        for begin, remarks in (("", False), ("logging.basicConfig(level=logging.INFO)\n", True)):
            result = subprocess.run([PYTHON, "-c", BEGIN + begin + script], cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=300)
            self.assertIn("warning: setting 'world' has no effect: no plan is taken\n   world=2\n   ^~~~~", result.stderr)
            self.assertEqual("INFO:npar:" in result.stderr, remarks, result.stderr)

    def test_runs_continue(self):
        """A run with a resumable loader, cut in two, ends with the parameters of one that was not, under another plan too."""
        self.python("""
data = rng.integers(0, 256, (90, 33)).astype(np.uint8)
def loader():
    return npar.ArrayLoader({"tokens": data[:, :-1], "targets": data[:, 1:]}, batch=16, seed=3)
p = npar.compile(hello, plan="two_by_two")
whole = npar.Trainer(p)
results = list(whole.run(loader(), steps=12, evaluate=list(loader().once()), evaluate_every=6))
assert [r.step for r in results] == list(range(12)) and [r.step for r in results if r.evaluation] == [5, 11]
assert results[11].evaluation.loss < results[5].evaluation.loss < 5.6 and results[0].checkpoint is None
part = npar.Trainer(p)
for r in part.run(loader(), steps=7, checkpoint="run", checkpoint_every=2, checkpoint_keep=2):
    pass
assert sorted(name for name in os.listdir("run") if name.startswith("step-")) == ["step-6", "step-7"], os.listdir("run")
assert r.checkpoint.endswith("step-7")
again = loader()
rest = npar.Trainer(p)
later = list(rest.run(again, steps=12, checkpoint="run", resume=True))
assert [r.step for r in later] == list(range(7, 12)) and rest.hash() == whole.hash() and again.state_dict()["done"] == 12
assert [r.loss for r in later] == [r.loss for r in results[7:]]
assert list(npar.Trainer(p).run(loader(), steps=12, checkpoint="run", resume=True)) == []   # a finished script that runs again
one = npar.Trainer(npar.compile(hello, plan="none")).resume("run", loader=loader())
assert one.steps == 12 and np.allclose(one["head.weight"], whole["head.weight"])
for wrong, what in ((iter([]), "no more batches"), ([], "no more batches")):
    try:
        next(npar.Trainer(p).run(wrong, steps=3))
    except npar.InputError as error:
        assert what in str(error)
class Strange(list):
    def state_dict(self):
        return {"a": object()}
try:
    npar.Trainer(p).run(Strange(), steps=2, checkpoint="strange")
except npar.InputError as error:
    assert "state['a'] has the type object" in str(error), error
else:
    raise AssertionError("a state that a checkpoint cannot keep is found at once")
fresh = npar.Trainer(p)
open("file", "w").write("x")
for options, kind, what in (                                  # at once, not when the work is done
    ({"checkpoint": "run"}, npar.InputError, "pass resume=True"), ({"checkpoint": "file"}, npar.InputError, "cannot be written"),
    ({"checkpoint": "/proc/x"}, npar.InputError, "cannot be written"), ({"checkpoint": "new", "checkpoint_keep": -1}, npar.UsageError, "checkpoint_keep is -1"),
    ({"checkpoint": "new", "checkpoint_every": 1.5}, TypeError, "checkpoint_every is 1.5"), ({"evaluate": 3}, TypeError, "evaluate has the type int"),
    ({"evaluate": [], "evaluate_every": -1}, npar.UsageError, "evaluate_every is -1"),
):
    try:
        fresh.run(loader(), steps=2, **options)
    except kind as error:
        assert what in str(error), error
    else:
        raise AssertionError(options)
assert fresh.steps == 0
try:
    fresh.train(random_data=True, steps=9, checkpoint="stopped", on_step=lambda r: r.step < 1)
except npar.Stopped:
    pass
assert [r.step for r in fresh.run(loader(), steps=np.int64(fresh.steps + 1), checkpoint="stopped")] == [fresh.steps - 1]
fresh = npar.Trainer(p)
assert fresh.evaluate(loader()).loss == fresh.evaluate(loader().once()).loss       # an endless loader, each batch once
for arguments, what in ((({"tokens": [[1], [2]]}, 1.5), "batch is 1.5"), (({"tokens": np.array(3)}, 1), "without rows"), (({"tokens": x, "targets": y[:3]}, 1), "same number of rows")):
    try:
        npar.ArrayLoader(*arguments)
    except npar.InputError as error:
        assert what in str(error), error
    else:
        raise AssertionError(what)
assert next(iter(npar.ArrayLoader({"tokens": [[1, 2], [3, 4]]}, 2, shuffle=False)))["tokens"].tolist() == [[1, 2], [3, 4]]
forward = npar.Trainer(npar.compile(hello, kind="evaluation", plan="none"))
for call, what in ((lambda: forward.run(loader(), steps=2), "only goes forward"), (lambda: fresh.evaluate(loader(), program=p), "not compiled for evaluation")):
    try:
        call()
    except npar.UsageError as error:
        assert what in str(error), error
    else:
        raise AssertionError(what)
for folder in ("run", "not yet there"):
    try:
        npar.Trainer(p).run([{"tokens": x, "targets": y}], steps=30, checkpoint=folder, resume=True)
    except npar.UsageError as error:
        assert "load_state_dict" in str(error)
    else:
        raise AssertionError("a loader without a state cannot continue")
from npar._loader import state_of, text_of
state = {"a": [1, 2.5, None, True, float("inf")], 3: (b"x", np.float32(2)), "rng": rng.bit_generator.state, "big": 2**100, "array": x[::2]}
back = state_of(text_of(state))
assert (back.pop("array") == state.pop("array")).all() and back == state, back
""")

    def test_simulate(self):
        """Slow ranks and links, jitter, failures, assumptions and pictures; wrong ones are refused by their names in Python."""
        self.python("""
def step(**options):
    return npar.simulate(hello, machine="dgx-a100", **options)
plain = step()
slow = step(slow={"rank=3": 1.5, "dp=0": 1.2}, slow_links={"host": 2}, jitter=0.05, jitter_samples=20, jitter_seed=7)
assert slow.seconds_per_step > plain.seconds_per_step == slow.disturbed.undisturbed_seconds_per_step
assert slow.disturbed.slow == ["rank=3:1.5", "dp=0:1.2"] and slow.jitter.samples == 20, slow
assert step(slow="rank=3:1.5").seconds_per_step == step(slow=["rank=3:1.5"]).seconds_per_step > plain.seconds_per_step
assert step(device_mtbf=5e4, checkpoint_seconds=30, restart_seconds=600, total_tokens=1e9).failures.interval_steps > 1
assert step(task_times=[1, 2, 1, 0.1], devices=4, hosts=1, place="tp, dp").seconds_per_step > 2 * 3e-3 - 1e-9
assert step(rows_sent=(0.5, 0.25), post_validated=True, overlapped_gathers=True, unfused_sums=True, unmoved_work=True).seconds_per_step > 0
assert "<svg" in slow.timeline().svg and "traceEvents" in slow.timeline().trace and "slowed" in slow.page().html
for options, kind, what in (
    ({"slow": "x"}, npar.UsageError, "slow[0] is 'x': name ranks"), ({"slow": [3]}, TypeError, "slow is [3]"),
    ({"slow": {"rank=99": 2}}, npar.InputError, "slow = rank=99:2: there is no rank 99"), ({"slow_links": {"moon": 2}}, npar.UsageError, "pair, host, rack or cluster"),
    ({"task_times": [1]}, npar.UsageError, "task_times has 1 numbers"), ({"jitter_seed": 1}, npar.UsageError, "need jitter"),
    ({"host_mtbf": 3}, npar.UsageError, "checkpoint_seconds and restart_seconds"), ({"devices": 99}, npar.UsageError, "devices = 99"),
    ({"jitter": "a"}, TypeError, "jitter is 'a'"), ({"hosts": -1}, npar.UsageError, "hosts is -1"), ({"slows": 1}, TypeError, "simulate() has no argument 'slows'"),
):
    try:
        step(**options)
    except kind as error:
        assert str(error).startswith(what) or what in str(error), error
        assert "npar_" not in str(error) and "--" not in str(error), error
    else:
        raise AssertionError(options)
""")

    @slow
    def test_verify_simulate_plan_generate(self):
        """The reports, remarks by logging, generation, and training on files that a function ends."""
        self.python("""
heard = []
logging.getLogger("npar").addHandler(type("H", (logging.Handler,), {"emit": lambda self, record: heard.append(f"{record.levelname} {record.getMessage()}")})())
logging.getLogger("npar").setLevel(logging.INFO)
report = npar.verify(hello, plan="two_by_two", threads=2)
assert report and report.ok and "gradients" in repr(report) and report.raise_if_failed() is report and len(report.checks) > 10
p = npar.compile(hello, plan="two_by_two", kernels=False)
step = npar.simulate(p, machine="dgx-a100")
assert 0 < step.seconds_per_step < 1 and "ms per step" in repr(step), step
best = npar.plan(hello, machine="dgx-a100", budget=4)
assert best.best["seconds_per_step"] > 0 and "mesh" in best.text and best.tried and "ms" in repr(best)
found = npar.compile(best.text, kernels=False)                # with the model's text in it
assert found.bytes() and found.mesh == best.compile(kernels=False).mesh == npar.plan(p, machine="dgx-a100", budget=4).compile(kernels=False).mesh
own = 'import "gpt2"\\nconfig "tiny" for Gpt2(depth = 2, width = 64, heads = 2)\\ntrain base for Gpt2 { batch 8  optimizer AdamW(lr = 1e-3) }\\n'
open("own.npar", "w").write(own)
for model, options in ((own, {}), ("own.npar", {}), ("gpt2", {"config": "gpt2", "set": {"depth": 2, "width": 64, "heads": 2}}), (hello, {"set": {"width": 32}})):
    text = npar.plan(model, machine="dgx-a100", budget=1, **options).text
    size = {"GPT-2": 3_382_080, "Hello": 45_440}["GPT-2" if "Gpt2" in text else "Hello"]
    assert npar.compile(text, kernels=False).summary.parameters == size, text
assert found.mesh.axes == {axis: size for axis, size in found.mesh.axes.items() if f"{axis} = {size}" in best.text}, best.text
t = npar.Trainer(npar.compile(hello, plan="none"))
assert any("memory" in each.lower() or "MiB" in each for each in heard), heard
seen = []
made = t.generate("The ", 5, on_token=lambda token, text: seen.append(token))
assert len(made.tokens) == 5 and list(made.tokens) == seen and isinstance(made.text, str)
open("book.txt", "wb").write(bytes(range(32, 127)) * 60)
report = t.train(data="book.txt", tokens="bytes", steps=3)
assert report["steps"] == 3 and t.steps == 3
assert t.evaluate("book.txt", tokens="bytes").loss < 6
steps = []
try:
    t.train(data="book.txt", tokens="bytes", steps=99, on_step=lambda r: steps.append(r) or len(steps) < 2)
except npar.Stopped:
    assert len(steps) in (2, 3), steps
else:
    raise AssertionError("not stopped")
""")

    def test_interrupt(self):
        """Ctrl-C ends a compilation and a training on files by KeyboardInterrupt, after which the trainer works."""
        self.python("""
signal.signal(signal.SIGINT, signal.default_int_handler)   # a background job of a shell ignores it
def soon(seconds):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begun = time.monotonic()
soon(0.3)
try:
    for _ in range(100):
        npar.compile("gpt2", set={"depth": 24})
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
t = npar.Trainer(npar.compile(hello, plan="none"))
soon(0.3)
try:
    t.train(random_data=True, steps=10**7)
except KeyboardInterrupt:
    pass
done = t.steps
t.step(tokens=x, targets=y)
assert t.steps == done + 1 > 1
running = threading.Thread(target=lambda: [npar.compile(hello, kernels=False) for _ in range(3)])
running.start()
count = 0
while running.is_alive():                               # without the interpreter's lock
    count += 1
assert count > 1000
""")

    def test_the_end_of_python(self):
        """Threads of the kind daemon inside npar end with Python; views and trainers in globals and cycles do no harm; no sub-interpreters."""
        begin = BEGIN + "t = npar.Trainer(npar.compile(hello, plan='none'), threads=1)\n"
        for work in (
            "t.train(random_data=True, steps=10**9)", "[npar.compile(hello, kernels=False) for _ in range(10**9)]",
            "[t.step(tokens=x, targets=y) for _ in range(10**9)]", "npar.simulate(hello, machine='dgx-a100', jitter=0.1, jitter_samples=1000000)",
        ):
            script = f"{begin}threading.Thread(target=lambda: {work}, daemon=True).start()\ntime.sleep(0.2)"
            ended = subprocess.run([PYTHON, "-c", script], cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=300)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""), work)
        self.python("""
t = npar.Trainer(npar.compile(hello, plan="none"), threads=1)
threading.Thread(target=lambda: t.train(random_data=True, steps=10**9), daemon=True).start()
time.sleep(0.2)
child = os.fork()
if child == 0:
    signal.alarm(10)                                     # a child does not wait for a call of its parent
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
""")
        self.python("t = npar.Trainer(npar.compile(hello, plan='none'))\n"
                    "t.me, npar.kept = t, (t, np.from_dlpack(t.view('head.bias')), t.run([{'tokens': x, 'targets': y}], steps=3))")
        script = """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
try:
    print(interpreters.run_string(interpreters.create(), "import npar"))
except Exception as error:
    print(error)
"""
        ended = subprocess.run([PYTHON, "-c", script], cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=300)
        self.assertIn("main interpreter only", ended.stdout, ended.stderr)

    def test_processes_share_the_ranks(self):
        """Processes with torchrun's variables: the losses and parameters of one; another batch, and a process that is gone, end all."""
        (self.folder / "job.py").write_text(BEGIN + """
p = npar.compile(hello, plan="two_by_two")
t = npar.Trainer(p, threads=1, timeout=60)
losses = [t.step(tokens=x, targets=y).loss for _ in range(3)]
ranks = {piece.rank for piece in t.pieces("head.weight")}
t.save("run")
again = npar.Trainer(p, threads=1, timeout=60).resume("run")
assert again.steps == 3 and again.hash() == t.hash()
assert t.evaluate([{"tokens": x, "targets": y}]).loss < losses[-1]
more = [r for r in again.run([{"tokens": x, "targets": y}], steps=5, evaluate=[{"tokens": x, "targets": y}], checkpoint="run")]
losses += [r.loss for r in more] + [more[-1].evaluation.loss]
if "RANK" in os.environ:
    for call, what in ((lambda: t.train(steps=9, random_data=True), "train on batches"), (lambda: t.evaluate("hello.npar", tokens="bytes"), "evaluate batches"),
                       (lambda: t.generate("a", 2), "save its weights, and generate")):
        try:
            call()
        except npar.UsageError as error:
            assert what in str(error), error
        else:
            raise AssertionError(what)
print(losses, t.hash(), float(t["head.weight"].sum()), sorted(ranks), flush=True)
if "end" in sys.argv:
    process = int(os.environ.get("RANK", 0))
    if sys.argv[-1] == "gone" and process:
        os._exit(5)
    try:
        for _ in range(50):
            t.step(tokens=x if not process else x[::-1].copy(), targets=y)
    except npar.Error as error:
        print("ended:", error)
""")
        alone = subprocess.run([PYTHON, "job.py"], cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        expected, ranks = alone.stdout.strip().rsplit(" [", 1)
        self.assertEqual(ranks, "0, 1, 2, 3]")
        for processes, how, words in ((2, "batch", "differs from that of process 0"), (2, "gone", "process 1"), (4, "batch", "differs from that of process 0"))[: 3 if LONG else 1]:
            shutil.rmtree(self.folder / "run")
            with socket.socket() as at:
                at.bind(("127.0.0.1", 0))
                port = at.getsockname()[1]
            started = [
                subprocess.Popen([PYTHON, "job.py", "end", how], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=environment(RANK=str(rank), WORLD_SIZE=str(processes), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
                for rank in range(processes)
            ]
            ended = [each.communicate(timeout=300) for each in started]
            for rank, (out, errors) in enumerate(ended):
                first = out.splitlines()[0] if out else ""
                own = range(4 // processes * rank, 4 // processes * (rank + 1))
                self.assertEqual(first, f"{expected} {list(own)}", errors)
            self.assertIn(words, ended[0][0].split("ended:")[1])

    def test_variables_of_a_launcher(self):
        """A trainer in an incomplete job names the way of Python; a job of one process is none."""
        script = """
try:
    npar.Trainer(npar.compile(hello), threads=1)
except npar.InputError as error:
    assert "with job='none'" in str(error) and "--" not in str(error), error
else:
    raise AssertionError("a job without its other process")
assert npar.Trainer(npar.compile(hello), threads=1, job="none").steps == 0
"""
        self.python(script, RANK="0", WORLD_SIZE="2")
        self.python(script, RANK="5", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
        self.python("npar.Trainer(npar.compile(hello), threads=1).train(random_data=True, steps=1)", RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")

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

    def test_stubs(self):
        """The stub of the native module names what it has, and `python -m npar --version` the version of the build."""
        stub = (FOLDER / "src" / "npar" / "_native.pyi").read_text()
        named = self.python("""
from npar import _native
for name in sorted(vars(_native)):
    if not name.startswith("_"):
        print(name)
        for each in sorted(vars(getattr(_native, name))) if isinstance(getattr(_native, name), type) else ():
            if not each.startswith("_"):
                print(f"{name}.{each}")
""").split()
        listed, owner = [], ""
        for line in stub.splitlines():
            found = re.match(r"(    )?(?:class|def) (\w+)|(\w+): ", line)
            if found and not line.startswith(" "):
                owner = found[2] or found[3]
                listed.append(owner)
            elif found and found[2] != "__init__":
                listed.append(f"{owner}.{found[2]}")
        self.assertEqual(sorted(set(listed)), named)
        result = subprocess.run([PYTHON, "-m", "npar", "--version"], env=environment(), capture_output=True, text=True)
        self.assertEqual(result.stdout.strip(), re.search(r"project\(npar VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1])


if __name__ == "__main__":
    unittest.main()
