"""Section (h): the next token of one sequence, and of several at once; and the tokens of a prompt. npar and transformers keep keys and values.
For the next token all weights have to be read once, so that reading as many bytes takes turns with them and is the limit that npar's share is
of. A prompt is compared with npar's own evaluation of a sequence of the same length, which computes the logits of all tokens, too."""

import array
import json
import pathlib
import re
import subprocess
import tempfile

from pipe import Absent, Child
from rows import Row, row_of
from training import BEFORE
from turns import attempt, ratio, take_turns

HERE = pathlib.Path(__file__).resolve().parent
PROMPT, TOKENS, QUICK_TOKENS = 16, 96, 8
LONG, QUICK_LONG = 512, 32  # tokens of a long prompt
SEVERAL = 8  # prompts at once
# Random weights; the sizes are those of the published models.
MODELS = {"gpt2": "GPT-2 124M", "qwen2": "Qwen2 0.5B"}


def run_npar(options, command, folder, type, length, *more, npar=None):
    """What the command says on standard error. `length`: of the sequence. `npar`: another driver than the options'."""
    arguments = [command, folder, *more, "--threads", options.threads, "--set", f"length={length}", "--set", f"compute={type}"]
    result = subprocess.run([str(npar or options.npar), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        raise Absent(f"npar {command} ended with {result.returncode}: {result.stderr[-300:].strip()}")
    return result.stderr


class Npar:
    """Generates after `prompts` prompts; the seconds are those of a token after the first ones."""

    def __init__(self, options, folder, type, tokens, prompts=1, npar=None):
        prompt, file, self.npar = list(range(3, 3 + PROMPT)), folder.parent / "prompts.jsonl", npar
        file.write_text((json.dumps({"tokens": prompt}) + "\n") * prompts)
        given = ("--prompts", file) if prompts > 1 else ("--prompt-tokens", ",".join(map(str, prompt)))
        self.arguments = (options, "generate", folder, type, PROMPT + tokens, *given, "--count", tokens, "--json")

    def round(self):
        rate = re.search(r"([0-9.e+]+) tokens/s from then on", run_npar(*self.arguments, npar=self.npar))
        return [1 / float(rate[1])], 0


class NparPrompt:
    """The seconds of a token of a prompt, up to the first generated token."""

    def __init__(self, options, folder, type, prompt):
        self.prompt, tokens = prompt, ",".join(str(3 + place) for place in range(prompt))
        self.arguments = (options, "generate", folder, type, prompt + 1, "--prompt-tokens", tokens, "--count", 2, "--json")

    def round(self):
        first = re.search(r"first token after ([0-9.e+-]+) s", run_npar(*self.arguments))
        return [float(first[1]) / self.prompt], 0


class NparForward:
    """The seconds of a token in an evaluation of samples of the same length."""

    def __init__(self, options, folder, type, length):
        file = folder.parent / "tokens.i32"
        file.write_bytes(array.array("i", [3 + place % 400 for place in range(4 * length + 1)]).tobytes())
        self.arguments = (options, "eval", folder, type, length, "--data", file, "--set", "batch=1")

    def round(self):
        rates = re.findall(r"([0-9,.e+]+) tokens/s", run_npar(*self.arguments))
        return [1 / float(rate.replace(",", "")) for rate in rates], 0


class Asked:
    """A competitor in the child."""

    def __init__(self, child, do, **more):
        self.child, self.do, self.more = child, do, more

    def round(self):
        answer = self.child.ask(self.do, **self.more)
        return answer["seconds"], 0


def measure_one(options, table, model, type, folder):
    tokens, long = (QUICK_TOKENS, QUICK_LONG) if options.quick else (TOKENS, LONG)
    title = MODELS[model] + (" (small)" if options.quick else "")
    request = {"model": model, "type": type, "folder": str(folder), "threads": options.threads, "small": options.quick}
    child = attempt(Child, options.python, HERE / "generating_child.py", request, options.thread_variables())
    if isinstance(child, Absent):
        table.add(Row(title, type, absent=str(child)))
        return

    def measured(what, competitors):
        return take_turns(competitors, options.rounds, lambda text: options.say(f"(h) {title} {type}, {what}, {text}"))

    def add(name, times, **more):
        table.add(row_of(name, type, times, 1, "tokens/s", **more))

    try:
        options.versions["transformers"] = child.said["version"]
        times = measured("a token", {
            "npar": Npar(options, folder, type, tokens),
            "transformers": Asked(child, "generate", prompt=PROMPT, tokens=tokens, batch=1),
            "limit": Asked(child, "read", bytes=child.said["bytes"]),
            **({BEFORE: Npar(options, folder, type, tokens, npar=options.before)} if options.before else {}),
        })  # fmt: skip
        share = ratio(times["npar"], times["limit"])
        add(f"{title}: npar", times["npar"], share=share)
        add("  transformers", times["transformers"], ratio=ratio(times["npar"], times["transformers"]))
        add(f"  {child.said['bytes'] / 1e6:,.0f} MB read once", times["limit"], ratio=share)
        if options.before:
            add(f"  {BEFORE}", times[BEFORE], ratio=ratio(times["npar"], times[BEFORE]), share=ratio(times[BEFORE], times["limit"]))
        times = measured("several prompts", {
            "npar": Npar(options, folder, type, tokens, SEVERAL),
            "transformers": Asked(child, "generate", prompt=PROMPT, tokens=tokens, batch=SEVERAL),
        })  # fmt: skip
        add(f"  {SEVERAL} prompts: npar", times["npar"])
        add("    transformers", times["transformers"], ratio=ratio(times["npar"], times["transformers"]))
        times = measured("a prompt", {
            "npar": NparPrompt(options, folder, type, long),
            "transformers": Asked(child, "read_prompt", prompt=long),
            "eval": NparForward(options, folder, type, long),
        })  # fmt: skip
        add(f"  prompt of {long}: npar", times["npar"])
        add("    transformers", times["transformers"], ratio=ratio(times["npar"], times["transformers"]))
        add("    npar eval", times["eval"], ratio=ratio(times["npar"], times["eval"]))
    finally:
        child.close()


def measure(options, table):
    table.section("h", f"the next token after prompts of {PROMPT}, keys and values kept, and long prompts; 'of peak': of reading all weights once")
    for model in MODELS:
        for type in options.types:
            with tempfile.TemporaryDirectory() as folder:
                measure_one(options, table, model, type, pathlib.Path(folder, "model"))
