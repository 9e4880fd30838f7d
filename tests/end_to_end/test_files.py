"""Files that a command writes: never over one that it reads, never half, never two runs in one, and wherever a path leads."""

import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest

from driver import BUILD, NPAR, ROOT, SMALL, DriverTest, listen, settings
from slurm import free_port

ONE = ["gpt2", "--plan", "none", *settings(SMALL)]
MLP = ["mlp", *settings(width=8, inner=8, depth=1, length=8)]  # compiled in no time, without a cache too
MODEL = ROOT / "stdlib" / "models" / "mlp.npar"


class CollisionTest(DriverTest):
    """The same file by any name: nothing is written, what was there stays."""

    def refused(self, *command, kept):
        before = {name: (self.folder / name).read_bytes() for name in kept}
        error = self.npar(*command, code=2).error
        self.assertIn("name the same file", error)
        for name, text in before.items():
            self.assertEqual((self.folder / name).read_bytes(), text, name)
        return error

    def test_compile(self):
        shutil.copy(MODEL, self.folder / "m.npar")
        os.link(self.folder / "m.npar", self.folder / "hard")
        (self.folder / "soft").symlink_to("m.npar")
        (self.folder / "sub").mkdir()
        for name in ("m.npar", "./m.npar", "sub/../m.npar", self.folder / "m.npar", "hard", "soft"):
            with self.subTest(name=name):
                self.refused("compile", "m.npar", "-o", name, kept=["m.npar"])

    def test_what_only_the_text_names(self):
        """Imports and schedules are known when the text is read; the standard library's texts are inputs like others."""
        library = self.folder / "library"
        shutil.copytree(ROOT / "stdlib", library)
        plan = (ROOT / "stdlib" / "plans" / "three_d.npar").read_text()
        plan = plan.replace("by schedule(chunks)", 'by "mine.csv"').replace('schedule = "1f1b", chunks = 0, ', "")
        (self.folder / "m.npar").write_text((ROOT / "stdlib" / "models" / "gpt2.npar").read_text().replace('import "three_d"', "") + plan)
        shutil.copy(library / "layers" / "Mlp.npar", self.folder / "Mlp.npar")
        (self.folder / "mine.csv").write_text("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        model = ["m.npar", *settings({**SMALL, "batch": 4, "mesh.dp": 1, "mesh.tp": 1})]
        environment = {**os.environ, "NPAR_STDLIB": str(library)}
        for name in ("Mlp.npar", "mine.csv", "library/layers/LayerNorm.npar"):
            for command in (
                ["compile", *model, "-o", name],
                ["run", *model, "--random-data", "--steps", 1, "--trace", name],
                ["inspect", *model, "--html", name],
                ["inspect", "compare", "gpt2", "m.npar", *model[1:], "--svg", name],
            ):
                with self.subTest(command=command):
                    before = (self.folder / name).read_bytes()
                    refusal = self.npar(*command, code=2, env=environment).error
                    self.assertRegex(refusal, "name the same file|has the suffix of another format")
                    self.assertEqual((self.folder / name).read_bytes(), before)

    def test_run(self):
        self.text_file()
        self.npar("run", *ONE, "--random-data", "--steps", 1, "--quiet", "--output", "w")
        train = ["run", *ONE, "--data", "text.txt", "--tokens", "bytes", "--steps", 1, "--weights", "w"]
        for name in ("text.txt", "w"):
            for flag in ("--log", "--trace", "--output"):
                with self.subTest(flag=flag, name=name):
                    self.refused(*train, flag, name, kept=["text.txt", "w"])
        for flag in ("--trace", "--output"):
            self.refused(*train, "--log", "x", flag, "x.partial", kept=[])
        shutil.copy(self.folder / "text.txt", self.folder / "x.partial")
        self.refused("run", *ONE, "--data", "x.partial", "--tokens", "bytes", "--log", "x", kept=["x.partial"])

    def test_inspect(self):
        self.npar("compile", *ONE, "-o", "one.npx")
        self.npar("compile", *ONE, "-o", "other.npx")
        self.npar("run", "one.npx", "--random-data", "--steps", 1, "--quiet", "--trace", "t.json")
        for flag in ("--svg", "--html", "--trace"):
            for view, other in (("compare", "other.npx"), ("actual", "t.json")):
                for name in ("one.npx", other):
                    with self.subTest(flag=flag, name=name):
                        self.refused("inspect", view, "one.npx", other, flag, name, kept=[name])

    def test_standard_output_is_an_output(self):
        """A file that is renamed over the one that standard output goes to would take what was printed with it."""
        with open(self.folder / "out", "wb") as out:
            self.assertIn("standard output", self.npar("inspect", *ONE, "--svg", "out", code=2, stdout=out).error)

    def test_devices_are_shared(self):
        self.npar("run", *ONE, "--random-data", "--steps", 1, "--log", "/dev/null", "--trace", "/dev/null", "--output", "/dev/null")


class WhereAPathLeadsTest(DriverTest):
    def test_standard_output_by_its_name(self):
        """A name of standard output (here in place of /dev/stdout) is written to whatever that is, and stays: no file is renamed over it."""
        link = self.folder / "stdout"
        link.symlink_to("/proc/self/fd/1")
        self.assertEqual(self.npar("compile", *ONE, "-o", "stdout").stdout[:8], b"NPARNPX1")
        with open(self.folder / "out", "w+b") as out:
            self.npar("compile", *ONE, "-o", "stdout", stdout=out)
        self.assertEqual((self.folder / "out").read_bytes()[:8], b"NPARNPX1")
        with open(self.folder / "out", "w+b") as out:
            self.npar("run", *ONE, "--random-data", "--steps", 2, "--quiet", "--log", "stdout", stdout=out)
        lines = (self.folder / "out").read_text().splitlines()
        self.assertEqual([json.loads(line)["step"] for line in lines[:2]], [0, 1])
        self.assertIn("after 2 steps", lines[2])
        self.assertTrue(link.is_symlink())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out", "stdout"])

    def test_pipe(self):
        os.mkfifo(self.folder / "pipe")
        got = []
        reader = threading.Thread(target=lambda: got.append((self.folder / "pipe").read_bytes()))
        reader.start()
        self.npar("run", *ONE, "--random-data", "--steps", 2, "--quiet", "--log", "pipe")
        reader.join()
        self.assertEqual(len(got[0].splitlines()), 2)

    def test_symbolic_links_stay(self):
        (self.folder / "there").mkdir()
        for name, command in [
            ("p", ["compile", *ONE, "-o"]),
            ("l", ["run", *ONE, "--random-data", "--steps", 1, "--quiet", "--log"]),
        ]:
            (self.folder / name).symlink_to(f"there/{name}")
            for _ in range(2):  # to a file that is not there yet, then to one that is
                self.npar(*command, name)
                self.assertTrue((self.folder / name).is_symlink())
                self.assertGreater((self.folder / "there" / name).stat().st_size, 100)


class SharedLogTest(DriverTest):
    def test_second_run_is_refused(self):
        endless = [str(NPAR), "run", *map(str, ONE), "--random-data", "--steps", "1000000", "--log", "log", "--quiet"]
        first = subprocess.Popen(endless, cwd=self.folder, stdout=subprocess.DEVNULL)
        try:
            partial = self.folder / "log.partial"
            while not (partial.exists() and partial.stat().st_size > 0):
                self.assertIsNone(first.poll())
                time.sleep(0.01)
            error = self.npar("run", *ONE, "--random-data", "--steps", 1, "--log", "log", code=1).error
            self.assertIn("another run is writing", error)
            self.assertIn("log.partial", error)
        finally:
            first.kill()  # as a crash: nothing is tidied up
            first.wait()
        lines = partial.read_text().split("\n")[:-1]  # whole ones, of one run
        self.assertEqual([json.loads(line)["step"] for line in lines], list(range(len(lines))))
        self.npar("run", *ONE, "--random-data", "--steps", 2, "--quiet", "--log", "log")  # the leftovers block no later run
        self.assertEqual(len((self.folder / "log").read_text().splitlines()), 2)
        self.assertFalse(partial.exists())

    def test_second_run_is_refused_where_the_file_system_ignores_flock(self):
        environment = {**os.environ, "LD_PRELOAD": str(BUILD / "lib" / "npar_failing_calls.so"), "NPAR_FAIL_FLOCK": "ignore"}
        for flag, lock, expected in [("--log", "out.partial.lock", "/out.partial': wait for it or stop it"),
                                     ("--checkpoint", "out/.npar-lock", "cannot write to 'out': another run is using it (process ")]:
            with self.subTest(flag=flag):
                endless = [str(NPAR), "run", *map(str, ONE), "--random-data", "--steps", "1000000", flag, "out", "--quiet"]
                first = subprocess.Popen(endless, cwd=self.folder, stdout=subprocess.DEVNULL, env=environment)
                try:
                    while not (self.folder / lock).exists() or not (self.folder / lock).stat().st_size:
                        self.assertIsNone(first.poll())
                        time.sleep(0.01)
                    self.assertIn(expected, self.npar("run", *ONE, "--random-data", "--steps", 1, flag, "out", code=1, env=environment).error)
                finally:
                    first.kill()
                    first.wait()
                begun = time.monotonic()  # a process killed on this machine delays no other
                self.npar("run", *ONE, "--random-data", "--steps", 2, "--quiet", flag, "out", env=environment)
                self.assertLess(time.monotonic() - begun, 50)
                self.assertFalse((self.folder / lock).exists())
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                (self.folder / "out").unlink(missing_ok=True)

    def test_what_grows_is_no_link_and_no_pipe(self):
        (self.folder / "precious").write_text("text")
        for make in (lambda path: path.symlink_to("precious"), os.mkfifo, lambda path: path.mkdir()):
            make(self.folder / "log.partial")
            error = self.npar("run", *ONE, "--random-data", "--steps", 1, "--log", "log", code=1, timeout=60).error
            self.assertRegex(error, "cannot write '.*/log.partial', which grows into 'log': it is not a regular file; remove it")
            (self.folder / "log.partial").rmdir() if (self.folder / "log.partial").is_dir() else (self.folder / "log.partial").unlink()
        self.assertEqual((self.folder / "precious").read_text(), "text")
        self.assertFalse((self.folder / "log").exists())

    def test_refused_run_touches_nothing(self):
        partial = self.folder / "log.partial"
        partial.write_text("old\n")
        with open(partial) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.npar("run", *ONE, "--random-data", "--steps", 1, "--log", "log", code=1)
        self.npar("run", *ONE, "--set", "nothing=1", "--random-data", "--steps", 1, "--log", "log", code=1)
        self.assertEqual(partial.read_text(), "old\n")
        self.npar("run", *ONE, "--set", "nothing=1", "--random-data", "--steps", 1, "--log", "new", code=1)
        self.assertFalse((self.folder / "new.partial").exists())


class UnwritableTest(DriverTest):
    def test_full_device(self):
        for flag, command in [
            ("--log", ["run", *ONE, "--random-data", "--steps", 2]),
            ("--trace", ["run", *ONE, "--random-data", "--steps", 2]),
            ("--output", ["run", *ONE, "--random-data", "--steps", 2]),
            ("-o", ["compile", *ONE]),
            ("--svg", ["inspect", *ONE]),
            ("--html", ["inspect", *ONE]),
            ("--trace", ["inspect", *ONE]),
        ]:
            with self.subTest(flag=flag):
                error = self.npar(*command, flag, "/dev/full", code=1).error
                self.assertIn("cannot write", error)
                self.assertIn("'/dev/full': No space left on device", error)

    def test_one_that_fails_does_not_take_the_others_along(self):
        error = self.npar("run", *ONE, "--random-data", "--steps", 5, "--log", "/dev/full", "--trace", "t", "--output", "w", code=1).error
        self.assertIn("/dev/full", error)
        self.assertTrue((self.folder / "t").exists() and (self.folder / "w").exists())

    def test_limit_of_file_size(self):
        """`ulimit -f` sends SIGXFSZ, which ends a process by default."""
        self.npar("compile", *ONE, "-o", "p.npx")

        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        for name, command in [("s", ["inspect", "p.npx", "--svg", "s"]), ("kernels", ["compile", *ONE, "-o", "o"])]:
            with self.subTest(name=name):
                error = self.npar(*command, code=1, preexec_fn=small).error
                self.assertIn(name, error)
                self.assertIn("File too large", error)
        with open(self.folder / "out", "wb") as out:
            self.assertIn("standard output", self.npar("inspect", "p.npx", "--json", code=1, preexec_fn=small, stdout=out).error)

    def test_no_folder_for_temporary_files(self):
        """Only `verify --all` and `verify --pairs` need one; and caches are for speed."""
        missing = {**os.environ, "TMPDIR": str(self.folder / "missing")}
        self.npar("compile", *MLP, "-o", "p.npx", env=missing)
        for command in (["verify", "--all", "mlp", "--plans", 1], ["verify", "mlp", "--pairs", "--features", "dp"]):
            error = self.npar(*command, code=1, env=missing).error
            self.assertIn("missing", error)
            self.assertIn("TMPDIR", error)
        (self.folder / "file").write_text("")
        for cache in ("/proc/none", str(self.folder / "file")):
            error = self.npar("compile", *MLP, "-o", "p.npx", env={**os.environ, "NPAR_CACHE": cache}).error
            self.assertIn(f"'{cache}' (NPAR_CACHE)", error)
        bare = {name: value for name, value in os.environ.items() if name not in ("HOME", "NPAR_CACHE", "XDG_CACHE_HOME", "TMPDIR")}
        self.npar("compile", *MLP, "-o", "p.npx", env=bare)

    def test_a_cache_that_others_can_write_is_not_used(self):
        """Its files would be executed."""
        cache = self.folder / "cache"
        compile_with = lambda **places: self.npar("compile", *MLP, "-o", "p.npx", env={**os.environ, **places}).error
        self.assertNotIn("trusted", compile_with(NPAR_CACHE=str(cache)))
        entries = {path.name: path.read_bytes() for path in cache.iterdir()}
        self.assertTrue(entries)
        self.assertEqual({path.stat().st_mode & 0o777 for path in cache.iterdir()}, {0o600})
        self.assertEqual(cache.stat().st_mode & 0o777, 0o700)
        good = (self.folder / "p.npx").read_bytes()
        for name, content in entries.items():
            (cache / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        self.assertNotIn("trusted", compile_with(NPAR_CACHE=str(cache)))  # damaged ones are written again
        self.assertEqual({path.name: path.read_bytes() for path in cache.iterdir()}, entries)
        self.assertEqual((self.folder / "p.npx").read_bytes(), good)
        one = sorted(entries)
        for name, other in zip(one, one[1:] + one[:1]):
            (cache / name).write_bytes(entries[other])
        compile_with(NPAR_CACHE=str(cache))  # entries under each other's names
        self.assertEqual({path.name: path.read_bytes() for path in cache.iterdir()}, entries)
        self.assertEqual((self.folder / "p.npx").read_bytes(), good)
        cache.chmod(0o777)
        for path in cache.iterdir():
            path.write_bytes(b"")
        error = compile_with(NPAR_CACHE=str(cache))
        self.assertEqual(error.count("is not trusted, others can write it (mode 0777): chmod go-w"), 1, error)
        self.assertEqual((self.folder / "p.npx").read_bytes(), good)
        self.assertEqual({path.stat().st_size for path in cache.iterdir()}, {0})
        default = self.folder / "home" / ".cache" / "npar"
        default.mkdir(parents=True)
        default.chmod(0o770)
        places = {name: value for name, value in os.environ.items() if name not in ("NPAR_CACHE", "XDG_CACHE_HOME")}
        error = self.npar("compile", *MLP, "-o", "p.npx", env={**places, "HOME": str(self.folder / "home")}).error
        self.assertEqual(error.count(".cache/npar' is not trusted, others can write it (mode 0770)"), 1, error)
        self.assertEqual(list(default.iterdir()), [])

    def test_this_machines_file_is_nobody_elses(self):
        folder = self.folder / "cache" / "npar" / "machines"
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        error = self.npar("inspect", *MLP, "--machine", "here", code=1, env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}).error
        self.assertIn("cannot keep this machine's file: '", error)
        self.assertIn("machines' is not trusted, others can write it (mode 0777): chmod go-w", error)

    def test_two_processes_fill_one_cache(self):
        environment = {**os.environ, "NPAR_CACHE": str(self.folder / "cache")}
        both = [subprocess.Popen([NPAR, "compile", *MLP, "-o", f"{i}.npx"], cwd=self.folder, env=environment,
                                 stderr=subprocess.DEVNULL) for i in range(2)]
        self.assertEqual([one.wait() for one in both], [0, 0])
        self.assertEqual((self.folder / "0.npx").read_bytes(), (self.folder / "1.npx").read_bytes())
        self.assertEqual([path.name for path in (self.folder / "cache").iterdir() if path.suffix != ".o"], [])


class SignalTest(DriverTest):
    def start(self, *command, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("preexec_fn", listen)
        return subprocess.Popen([str(NPAR), *map(str, command)], cwd=self.folder, stderr=subprocess.PIPE, **options)

    def wait_for(self, path):
        end = time.monotonic() + 60
        while not ((self.folder / path).exists() and (self.folder / path).stat().st_size):
            self.assertLess(time.monotonic(), end, f"no {path}")
            time.sleep(0.01)

    def endless(self, *more, **options):
        return self.start("run", *ONE, "--random-data", "--steps", 1000000, "--log", "log", "--output", "w", "--trace", "t", *more, **options)

    def test_run_ends_after_the_step(self):
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=one):
                run = self.endless()
                self.wait_for("log.partial")
                run.send_signal(one)
                output, error = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 4, error)
                self.assertIn(f"stopped by {one.name} after".encode(), error)
                steps = len((self.folder / "log").read_text().splitlines())
                self.assertIn(f"after {steps} steps".encode(), output)
                for name in ("log", "w", "t"):
                    (self.folder / name).unlink()
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_ignored_hangup_stays_ignored(self):
        run = self.endless(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for("log.partial")
        run.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGTERM)
        self.assertIn(b"stopped by SIGTERM", run.communicate(timeout=60)[1])

    def test_before_the_first_step(self):
        run = self.start("run", "gpt2", "--plan", "none", "--set", "length=64", "--set", "batch=2", "--set", "micro=1", "--random-data", "--log", "log")
        end = time.monotonic() + 60
        while not (self.folder / "log.partial").exists() and time.monotonic() < end:
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
        _, error = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 4, error)
        self.assertIn(b"stopped by SIGTERM before the first step", error)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_before_the_others_have_come(self):
        """The handlers are installed before anything else happens: an end without a message would leave the other processes guessing."""
        alone = {**os.environ, "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        for command in (["run", *ONE, "--random-data"], ["verify", *MLP]):
            run = self.start(*command, env=alone)
            status, end = pathlib.Path(f"/proc/{run.pid}/status"), time.monotonic() + 60
            while not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & 1 << signal.SIGTERM - 1:
                self.assertLess(time.monotonic(), end, "SIGTERM is not caught")
                time.sleep(0.01)
            run.send_signal(signal.SIGTERM)
            self.assertEqual((run.communicate(timeout=60)[1], run.returncode), (b"npar: error: stopped by SIGTERM\n", 4), command)

    def test_verify_says_what_it_does_and_why_it_ends(self):
        check = self.start("verify", *MLP, "--set", "batch=4096", "--set", "micro=1", "--full")
        said = next((line for line in check.stderr if line.startswith(b"npar: comparing ")), None)
        self.assertRegex(said or b"", rb"npar: comparing [^\n]+, \d+ s")
        check.send_signal(signal.SIGTERM)
        self.assertEqual(check.communicate(timeout=60)[1].splitlines()[-1], b"npar: error: stopped by SIGTERM")
        self.assertEqual(check.returncode, 4)

    def test_verify_all_leaves_nothing(self):
        places = self.folder / "tmp"
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            places.mkdir()
            check = self.start("verify", "--all", "gpt2", "--plans", 60, env={**os.environ, "TMPDIR": str(places)})
            while not any(places.glob("*/*.npar")):
                self.assertIsNone(check.poll())
                time.sleep(0.01)
            check.send_signal(one)
            error = check.communicate(timeout=60)[1]
            self.assertEqual(check.returncode, 4, error)
            self.assertIn(f"stopped by {one.name}".encode(), error)
            self.assertEqual(list(places.iterdir()), [])
            places.rmdir()

    def test_progress_that_nobody_reads_is_no_reason_to_lose_a_training(self):
        run = self.start("run", *ONE, "--random-data", "--steps", 200, "--log", "log", "--output", "w")
        run.stderr.readline()
        run.stderr.close()
        self.assertIn(b"after 200 steps", run.stdout.read())
        run.stdout.close()
        self.assertEqual(run.wait(timeout=60), 0)
        self.assertTrue((self.folder / "log").exists() and (self.folder / "w").exists())

    def test_reader_that_goes_away(self):
        """As `npar ... | head -1`."""
        places = self.folder / "tmp"
        places.mkdir()
        for command, codes in [
            (["inspect", *ONE, "--set", "depth=8", "--json"], (1, -signal.SIGPIPE)),  # more than a pipe holds
            (["verify", "--all", "mlp", "--plans", 12], (1,)),
        ]:
            check = self.start(*command, env={**os.environ, "TMPDIR": str(places)})
            check.stdout.readline()
            check.stdout.close()
            error = check.stderr.read()
            check.stderr.close()
            self.assertIn(check.wait(timeout=60), codes, error)
            self.assertNotIn(b"internal", error)
            self.assertEqual(list(places.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
