"""The Python module from the build folder: compiled programs, trainers, arrays in both directions, errors, and questions about plans."""

import re
import subprocess
import unittest

from driver import ROOT
from python_module import BEGIN, FOLDER, PYTHON, PythonTest, environment, slow


class ModuleTest(PythonTest):
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
