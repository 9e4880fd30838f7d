"""Trainings of the Python module: runs that continue, that are interrupted, and that processes share."""

import shutil
import socket
import subprocess
import unittest

from driver import LONG
from python_module import BEGIN, PYTHON, PythonTest, environment


class RunsTest(PythonTest):
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


if __name__ == "__main__":
    unittest.main()
