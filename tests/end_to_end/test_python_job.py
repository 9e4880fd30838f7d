"""Trainers of several processes: calls that differ are errors that name both, before any data move, and no process waits without a limit."""

import socket
import subprocess
import unittest

from python_module import BEGIN, PYTHON, PythonTest, environment

JOB = BEGIN + """
rank = int(os.environ["RANK"])
t = npar.Trainer(npar.compile(hello, plan="two_by_two"), threads=1, timeout=float(os.environ["SECONDS"]))
batch = {"tokens": x, "targets": y}
def error_of(call):
    try:
        call()
    except npar.Error as error:
        return f"{type(error).__name__}: {error}"
    return "no error"
def put(name, value):
    t[name] = np.full(t.program.parameters[name].shape, value, np.float32)
"""


class PythonJobTest(PythonTest):
    def processes(self, script, count=2, seconds=60):
        """Returns the lines that each process prints; `seconds` is the trainers' time limit."""
        with socket.socket() as at:
            at.bind(("127.0.0.1", 0))
            port = at.getsockname()[1]
        started = [
            subprocess.Popen(
                [PYTHON, "-c", JOB + script], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=environment(RANK=str(rank), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NPAR_HOST="a", SECONDS=str(seconds)),
            )
            for rank in range(count)
        ]
        ended = [each.communicate(timeout=300) for each in started]
        for each, (out, errors) in zip(started, ended):
            self.assertEqual(each.returncode, 0, out + errors)
        return [out.splitlines() for out, _ in ended]

    def test_calls_that_differ(self):
        """Both processes get one text, which names both calls; nothing changes; then they train on."""
        here, there = self.processes("""
t.save_weights("w.safetensors"), t.save("run")
if rank == 0:
    other = np.fromfile("w.safetensors", np.uint8)
    other[-1] ^= 1
    other.tofile("w1.safetensors")
    os.mkdir("mine"), os.rename("w.safetensors", "mine/w0.safetensors")
before, state = t.hash(), dict(t.state_dict())
for calls in (
    (lambda: t["up.weight"], lambda: t["up.weight.exp_avg"]),
    (lambda: t["up.weight"], lambda: t["up.bias"]),
    (t.hash, lambda: t.step(batch)),
    (lambda: put("up.bias", 1), t.hash),
    (lambda: t.save("a"), lambda: t.save("b")),
    (lambda: t.resume("run"), lambda: t.save_weights("v.safetensors")),
    (lambda: t.evaluate([batch]), lambda: list(t.run([batch], steps=2))),
    (lambda: npar.Trainer(t.program), lambda: dict(t.state_dict())),
    (lambda: put("up.bias", 1), lambda: put("up.bias", 2)),
    (lambda: t.load_state_dict(state), lambda: t.load_state_dict({**state, "up.bias": state["up.bias"] + 1})),
    (lambda: t.step(batch), lambda: t.step(tokens=y, targets=x)),
    (lambda: t.load_weights("mine/w0.safetensors"), lambda: t.load_weights("w1.safetensors")),
    (lambda: t["nothing"], lambda: t["nothing"]),
    (lambda: t.save_weights("no/w.safetensors"), lambda: t.save_weights("no/w.safetensors")),
    (lambda: t.step(batch), lambda: t.step(tokens=x[:8], targets=y[:8])),
    (lambda: npar.Trainer(t.program, seed=1), lambda: npar.Trainer(t.program, seed=2)),
):
    print(error_of(calls[rank]))
os.chdir(("mine", ".")[rank])
print(error_of(lambda: t.load_weights("w0.safetensors")))
if rank:
    os.symlink("w1.safetensors", "w0.safetensors")
print(error_of(lambda: t.load_weights("w0.safetensors")))
t.load_state_dict(dict(reversed(state.items())) if rank else state)
assert t.hash() == before and t.steps == 0
put("up.bias", 1)
print(t.step(batch).loss, t.hash())
""")
        same = ": all processes of a job must make the same calls in the same order"
        expected = [
            ("reads 'up.weight'", "reads 'up.weight.exp_avg'"),
            ("reads 'up.weight'", "reads 'up.bias'"),
            ("hashes the parameters", "takes step 0"),
            ("writes 'up.bias'", "hashes the parameters"),
            ("saves a checkpoint in 'a'", "saves a checkpoint in 'b'"),
            ("resumes from the newest checkpoint in 'run'", "saves its weights to 'v.safetensors'"),
            ("creates a trainer for evaluation", "sets the length of its run to 2 steps, with 1 in an epoch"),
            ("creates a trainer", "reads 'table.weight'"),
        ]
        for first, second in expected:
            text = f"UsageError: process 0 on 'a' {first}, but process 1 on 'a' {second}{same}"
            self.assertEqual((here.pop(0), there.pop(0)), (text, text))
        of = " of process 1 on 'a' differs from that of process 0 on 'a': "
        for text in (
            f"InputError: the array for 'up.bias'{of}every process must pass whole and equal arrays",
            f"InputError: the names and arrays{of}every process must pass whole and equal arrays",
            f"InputError: the batch{of}every process must pass the whole global batch",
            "UsageError: process 0 on 'a' loads weights from 'mine/w0.safetensors', but process 1 on 'a' loads weights from 'w1.safetensors'" + same,
            "InputError: the program has no variable 'nothing'; program.parameters lists its parameters",
            "InputError: cannot write 'no/w.safetensors': No such file or directory",  # process 0 writes
        ):
            self.assertEqual((here.pop(0), there.pop(0)), (text, text))
        own = "input 'tokens' takes i32 [batch 16, seq 32], and the array's size along 'batch' is 8"
        self.assertEqual((here.pop(0), there.pop(0)), (f"InputError: process 1 on 'a' fails before it takes step 0: {own}", f"InputError: {own}"))
        text = f"InputError: the compiled program or the seed{of}all processes of a job must have the same"
        self.assertEqual((here.pop(0), there.pop(0)), (text, text))
        own = "cannot read weights 'w0.safetensors': No such file or directory"
        self.assertEqual((here.pop(0), there.pop(0)), (f"InputError: process 1 on 'a' fails before it loads weights from 'w0.safetensors': {own}", f"InputError: {own}"))
        text = f"InputError: the content of 'w0.safetensors'{of}all processes must read the same weights"
        self.assertEqual((here.pop(0), there.pop(0)), (text, text))
        self.assertEqual(here, there)

    def test_a_call_alone(self):
        """It fails when the other process makes its next call, ends, or makes none within the time limit."""
        here, there = self.processes("""
if rank == 0:
    print(error_of(t.hash))
for _ in range(2 - rank):
    print(error_of(lambda: t.step(batch)))
""")
        both = "UsageError: process 0 on 'a' hashes the parameters, but process 1 on 'a' takes step 0: all"
        ended = "UsageError: process 0 on 'a' takes step 0, but process 1 on 'a' leaves the job, because its program ends or has closed its trainers: all"
        gone = "RunError: process 0 on 'a' takes step 0, but "
        self.assertEqual(len(here), 3)
        for line, text in zip(here + there, (both, ended, gone, both)):
            self.assertEqual(line[: len(text)], text)
        here, there = self.processes("""
if rank == 0:
    print(error_of(lambda: t["up.bias"]))
    open("waited", "w").close()
while not os.path.exists("waited"):
    time.sleep(0.05)
print(error_of(t.hash))
""", seconds=1)
        waited = "process 0 on 'a' reads 'up.bias', but process 0 waited 1 s for process 1 to do the same"
        self.assertEqual(here[0], "Timeout: " + waited)
        self.assertEqual(there, ["Timeout: process 1 on 'a' hashes the parameters, but the job has ended: " + waited])

    def test_trainers_and_threads(self):
        """Messages number the trainers; two threads with a trainer each share one order of calls, which alone is wrong here."""
        here, there = self.processes("""
u = npar.Trainer(t.program, threads=1)
print(error_of((t.hash, u.hash)[rank]))
seen = []
threads = [threading.Thread(target=lambda each=each: seen.extend(error_of(each.hash) for _ in range(50))) for each in (t, u)]
[each.start() for each in threads], [each.join() for each in threads]
assert len(seen) == 100 and all(each == "no error" or "hashes the parameters (trainer" in each for each in seen), seen
assert t.hash() == u.hash()
""")
        text = "UsageError: process 0 on 'a' hashes the parameters (trainer 1), but process 1 on 'a' hashes the parameters (trainer 2): "
        self.assertEqual((here[0][: len(text)], there[0][: len(text)]), (text, text))


if __name__ == "__main__":
    unittest.main()
