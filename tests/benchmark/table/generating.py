"""Section (h): the next token of one sequence. npar and transformers keep keys and values; whoever does it has to read every weight once, so that
reading as many bytes takes turns with them and is the limit that npar's share is of."""

import pathlib
import re
import subprocess
import tempfile

from pipe import Absent, Child
from rows import Row, row_of
from turns import attempt, ratio, take_turns

HERE = pathlib.Path(__file__).resolve().parent
PROMPT, TOKENS, QUICK_TOKENS = 16, 96, 8
# Random weights; the sizes are those of the published models.
MODELS = {"gpt2": "GPT-2 124M", "qwen2": "Qwen2 0.5B"}


class Npar:
    def __init__(self, options, folder, type, tokens):
        prompt = ",".join(str(3 + place) for place in range(PROMPT))
        self.command = [
            str(options.npar), "generate", str(folder), "--prompt-tokens", prompt, "--count", str(tokens), "--json", "--threads", str(options.threads),
            "--set", f"length={PROMPT + tokens}", "--set", f"compute={type}",
        ]  # fmt: skip

    def round(self):
        result = subprocess.run(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        rate = re.search(r"([0-9.e+]+) tokens/s from then on", result.stderr)
        if result.returncode or not rate:
            raise Absent(f"npar generate ended with {result.returncode}: {result.stderr[-300:].strip()}")
        return [1 / float(rate[1])], 0


class Asked:
    """A competitor in the child."""

    def __init__(self, child, do, **more):
        self.child, self.do, self.more = child, do, more

    def round(self):
        answer = self.child.ask(self.do, **self.more)
        return answer["seconds"], 0


def measure_one(options, table, model, type, folder):
    tokens = QUICK_TOKENS if options.quick else TOKENS
    title = MODELS[model] + (" (small)" if options.quick else "")
    request = {"model": model, "type": type, "folder": str(folder), "threads": options.threads, "small": options.quick}
    child = attempt(Child, options.python, HERE / "generating_child.py", request, options.thread_variables())
    if isinstance(child, Absent):
        table.add(Row(title, type, absent=str(child)))
        return
    try:
        options.versions["transformers"] = child.said["version"]
        competitors = {
            "npar": Npar(options, folder, type, tokens),
            "transformers": Asked(child, "generate", prompt=PROMPT, tokens=tokens),
            "limit": Asked(child, "read", bytes=child.said["bytes"]),
        }
        times = take_turns(competitors, options.rounds, lambda text: options.say(f"(h) {title} {type}, {text}"))
        share = ratio(times["npar"], times["limit"])
        table.add(row_of(f"{title}: npar", type, times["npar"], 1, "tokens/s", share=share))
        table.add(row_of("  transformers", type, times["transformers"], 1, "tokens/s", ratio=ratio(times["npar"], times["transformers"])))
        table.add(row_of(f"  {child.said['bytes'] / 1e6:,.0f} MB read once", type, times["limit"], 1, "tokens/s", ratio=share))
    finally:
        child.close()


def measure(options, table):
    table.section("h", f"the next token, batch 1, after a prompt of {PROMPT}, keys and values kept; 'of peak': of reading all weights once")
    for model in MODELS:
        for type in options.types:
            with tempfile.TemporaryDirectory() as folder:
                measure_one(options, table, model, type, pathlib.Path(folder, "model"))
