#!/usr/bin/env python3
"""Texts of models changed at random: each is accepted or refused at a line, soon, in little memory; what is accepted verifies.

By hand:  tests/end_to_end/mutants.py [--seed N] [--count N] [--first N] [--verify N] [--jobs N]
Mutant K of seed S is the same everywhere: `--seed S --first K --count 1` runs it again; `--print` shows it instead.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STDLIB = ROOT / "stdlib"
NPAR = pathlib.Path(os.environ.get("NPAR_BUILD") or ROOT / "build").resolve() / "bin" / "npar"
SECONDS, SECONDS_OF_CHECK = 20, 300  # of processor time, for others may share the machine: to answer; to verify what was accepted
MEMORY = 4 << 30  # address space

# So that an accepted mutant is verified in a moment. A word after `=` in the head of a model.
SMALL = {"vocab": 37, "context": 8, "length": 8, "sources": 8, "width": 16, "heads": 4, "kv_heads": 2, "head_dim": 4, "rotated": 2, "mlp": 24, "inner": 24, "dense_mlp": 24,
         "shared_mlp": 24, "experts": 16, "latent": 8, "plain": 4, "value": 4, "turn": 4, "depth": 2, "first": 8, "second": 8, "size": 32, "classes": 10, "batch": 8}  # fmt: skip
NUMBERS = ["0", "1", "2", "3", "-1", "1.5", "0.0", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "1e308", "1e-320", "1e999"]
TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_]\w*|\d[\w.]*|->|<=|>=|==|!=|#[^\n]*|[^\s\w]')
WORDS = set("import layer model config train plan param axis input loss repeat under forward split store mesh micro compute keep recompute bucket "
            "require batch optimizer clip seed for if by in op not and or".split())  # fmt: skip
LOCATED = re.compile(r"^[^\s:][^:\n]*:\d+:\d+: error: ", re.MULTILINE)
NO_TEXT = re.compile(r"^[^\s:][^:\n]*: error: .*(this is binary data, not text: byte 0x.. at offset \d+|has \d+ bytes, at most)", re.MULTILINE)
REFUSALS = ("is not finite", "are too many for a check in float64", "not enough memory", "cannot allocate", "GiB", "TiB")

UNSTABLE = "one rank itself changes abruptly with each of the"  # with a learning rate of 5, say: numbers prove nothing about a plan


def kind(word):
    return "word" if word in WORDS else "name" if word[0].isalpha() or word[0] == "_" else "number" if word[0].isdigit() else word[0] if word[0] in '"#' else "sign"


def small(text):
    """The text at a small size: the numbers in the head of its model, and the batch."""
    head = lambda match: re.sub(r"\b(\w+) = \d+\b(?!\.)", lambda one: f"{one[1]} = {SMALL.get(one[1], one[0].split()[-1])}", match[0])  # noqa: E731
    text = re.sub(r"^model \w+\([^{]*\{", head, text, flags=re.MULTILINE)
    return re.sub(r"^(\s+batch) \d+$", rf"\1 {SMALL['batch']}", text, flags=re.MULTILINE)


def whole(body):
    """A text with what it imports before it, so that this changes too."""
    layers, seen, waiting = [], set(), [body]
    while waiting:
        for name in re.findall(r'^import "(\w+)"$', waiting.pop(), re.MULTILINE):
            layer = STDLIB / "layers" / f"{name}.npar"
            if name not in seen and layer.exists():
                seen.add(name)
                layers.insert(0, layer.read_text())
                waiting.append(layers[0])
    text = "\n".join([*layers, body])
    return small(re.sub(r'^import "(\w+)"\n', lambda match: "" if match[1] in seen else match[0], text, flags=re.MULTILINE))


def chosen(text):
    """The text with its last train block and its last plan: without a flag there must be one."""
    for word in ("train", "plan"):
        for block in re.findall(rf"^{word} [^\n]*\{{\n.*?^\}}\n", text, re.MULTILINE | re.DOTALL)[:-1]:
            text = text.replace(block, "", 1)
    return text


def corpus():
    """The texts to change, those that are right first."""
    models = sorted((STDLIB / "models").glob("*.npar"))
    right = [whole(path.read_text()) for path in models] + [small(path.read_text()) for path in models]
    right += [whole(path.read_text()) for path in (*sorted((ROOT / "tests" / "end_to_end").glob("*.npar")), ROOT / "tests" / "dsl" / "warnings.npar")]
    pages = "".join((ROOT / "dsl" / page).read_text() for page in ("LANGUAGE.md", "PLANS.md"))
    examples = [whole(text) for text in re.findall(r"^```npar\n(.*?)^```$", pages, re.MULTILINE | re.DOTALL)]
    right += [text for text in examples if not re.search(r'^import "[a-z]', text, re.MULTILINE)]  # of a model in its own, large size
    wrong = [path.read_text() for path in sorted((ROOT / "tests" / "dsl" / "wrong").glob("*.npar"))]
    right = [chosen(text) for text in right]
    return right, [re.sub(r"^#.*\n", "", text, flags=re.MULTILINE) for text in wrong]


class Mutator:
    def __init__(self):
        self.right, self.wrong = corpus()
        self.words = sorted({word for text in self.right + self.wrong for word in TOKEN.findall(text)})

    def mutant(self, seed, number):
        chance = random.Random(f"{seed} {number}")
        text = chance.choice(self.right if chance.random() < 0.95 else self.wrong)
        for _ in range(chance.choice((1, 1, 1, 1, 1, 2, 2, 3, 6))):
            text = chance.choice((self.delete, self.double, self.swap, self.replace, self.exchange, self.exchange, self.exchange, self.number,
                                  self.number, self.number, self.noise, self.move_line, self.move_line, self.splice))(text, chance)  # fmt: skip
        return text.encode("utf-8", "surrogateescape")

    @staticmethod
    def tokens(text, chance, count=1):
        found = list(TOKEN.finditer(text))
        return sorted(chance.sample(found, min(count, len(found))), key=lambda match: match.start())

    def delete(self, text, chance):
        for match in self.tokens(text, chance):
            return text[: match.start()] + text[match.end() :]
        return text

    def double(self, text, chance):
        for match in self.tokens(text, chance):
            return f"{text[: match.end()]} {match[0]}{text[match.end() :]}"
        return text

    def swap(self, text, chance):
        chosen = self.tokens(text, chance, 2)
        if len(chosen) < 2:
            return text
        first, second = chosen
        return text[: first.start()] + second[0] + text[first.end() : second.start()] + first[0] + text[second.end() :]

    def replace(self, text, chance):
        """A word by any other one of the corpus."""
        for match in self.tokens(text, chance):
            return text[: match.start()] + chance.choice(self.words) + text[match.end() :]
        return text

    def exchange(self, text, chance):
        """A word by another one of its kind, mostly of the text itself, which means something there."""
        for match in self.tokens(text, chance):
            words = self.words if chance.random() < 0.2 else TOKEN.findall(text)
            return text[: match.start()] + chance.choice([one for one in words if kind(one) == kind(match[0])] or [match[0]]) + text[match.end() :]
        return text

    def number(self, text, chance):
        found = [match for match in TOKEN.finditer(text) if match[0][0].isdigit()]
        if not found:
            return text
        match = chance.choice(found)
        number = chance.choice(NUMBERS) if chance.random() < 0.5 else str(chance.randint(1, 16))
        return text[: match.start()] + number + text[match.end() :]

    def noise(self, text, chance):
        data = bytearray(text.encode("utf-8", "surrogateescape"))
        for _ in range(chance.choice((1, 1, 4))):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256) if chance.random() < 0.3 else chance.randrange(32, 127)
        return data.decode("utf-8", "surrogateescape")

    def move_line(self, text, chance):
        lines = text.splitlines(keepends=True)
        if lines:
            lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
        return "".join(lines)

    def splice(self, text, chance):
        """The beginning of one text, the end of another: mostly at the begin of a line."""
        lines, others = text.splitlines(keepends=True), chance.choice(self.right).splitlines(keepends=True)
        if not lines or not others:
            return text
        return "".join(lines[: chance.randrange(len(lines))] + others[chance.randrange(len(others)) :])


def run(arguments, folder, most=SECONDS, with_output=False):
    """Exit code (negative: a signal), standard error (with standard output if asked for), seconds of processor time."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    environment = dict(os.environ, NPAR_STDLIB=str(STDLIB), OMP_NUM_THREADS="1")
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([NPAR, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=said if with_output else subprocess.DEVNULL,
                                   stderr=said, preexec_fn=limit, env=environment)  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return process.returncode, said.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime


def compiles_long(code, said):
    """True if an accepted text is so large (a thousand blocks, for example) that it compiles until its CPU limit, with progress reports."""
    return code == -signal.SIGXCPU and ": error: " not in said and "npar: compiling '" in said


def judge(code, said):
    """What is wrong with an answer to `npar inspect`; empty when nothing is."""
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code != 0 and not LOCATED.search(said) and not NO_TEXT.search(said):
        return f"exit code {code} without a location"
    return "internal error" if "internal error" in said else ""


def judge_verify(code, said):
    if code == 0 or (code in (1, 4) and any(word in said for word in REFUSALS)) or (code == 3 and UNSTABLE in said):
        return ""
    return f"accepted, but 'npar verify' ends with {code}"


class Trial:
    """Runs mutants `first` to `first + count - 1` of a seed; `report` is called with each finding."""

    def __init__(self, seed, first, count, verify, jobs, report):
        self.seed, self.first, self.count, self.verify, self.jobs, self.report = seed, first, count, verify, jobs, report
        self.mutator = Mutator()
        self.codes, self.findings, self.slowest, self.verified, self.long = {}, 0, (0.0, first), 0, []

    def inspect(self, number, folder):
        path = pathlib.Path(folder) / f"m{number}.npar"
        path.write_bytes(self.mutator.mutant(self.seed, number))
        return run(["inspect", path.name], folder)

    def check(self, number, folder):
        return run(["verify", f"m{number}.npar", "--threads", "1"], folder, SECONDS_OF_CHECK, with_output=True)

    def found(self, number, what, said):
        self.findings += 1
        text = self.mutator.mutant(self.seed, number).decode(errors="backslashreplace")
        again = f"tests/end_to_end/mutants.py --seed {self.seed} --first {number} --count 1 --verify 1"
        self.report(f"mutant {number}: {what}\nagain: {again}\n{said[:2000]}\n--- the mutant ---\n{text}\n---")

    def run(self):
        accepted = []
        with tempfile.TemporaryDirectory(prefix="npar-mutants-") as folder, concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            numbers = range(self.first, self.first + self.count)
            for number, (code, said, seconds) in zip(numbers, pool.map(lambda number: self.inspect(number, folder), numbers)):
                self.codes[code] = self.codes.get(code, 0) + 1
                self.slowest = max(self.slowest, (seconds, number))
                if compiles_long(code, said):
                    self.long.append(number)
                elif what := judge(code, said):
                    self.found(number, what, said)
                elif code == 0:
                    accepted.append(number)
                    continue
                (pathlib.Path(folder) / f"m{number}.npar").unlink()
            drawn = sorted(random.Random(self.seed).sample(accepted, min(self.verify, len(accepted))))
            for number, (code, said, _) in zip(drawn, pool.map(lambda number: self.check(number, folder), drawn)):
                self.verified += code == 0
                if what := judge_verify(code, said):
                    self.found(number, what, said)
        return self

    def summary(self):
        codes = ", ".join(f"{count} with {code}" for code, count in sorted(self.codes.items()))
        seconds, number = self.slowest
        return (f"mutants {self.count}: exit codes {codes}; slowest {seconds:.1f} s (mutant {number}); "
                f"{self.verified} of the accepted verify; {len(self.long)} compile on {self.long}; {self.findings} findings")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("seed", 1), ("first", 0), ("count", 1000), ("verify", 10), ("jobs", os.cpu_count())):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--print", action="store_true", help="write the mutants to standard output, run nothing")
    options = parser.parse_args()
    if options.print:
        mutator = Mutator()
        for number in range(options.first, options.first + options.count):
            sys.stdout.buffer.write(mutator.mutant(options.seed, number))
        return 0
    begun = time.monotonic()
    trial = Trial(options.seed, options.first, options.count, options.verify, options.jobs, print).run()
    print(f"{trial.summary()}; {time.monotonic() - begun:.0f} s")
    return 1 if trial.findings else 0


if __name__ == "__main__":
    sys.exit(main())
