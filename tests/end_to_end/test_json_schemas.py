"""Every JSON document of npar has a schema in tools/api/schemas: each command with --json runs, and what it prints has no member without one."""

import collections
import concurrent.futures
import copy
import json
import random
import re
import shlex
import shutil
import subprocess
import time
import unittest

import json_schema
from driver import NPAR, ROOT, DriverTest, safetensors_file
from json_schema import Schema
from test_images import FOLDER as PICTURES
from test_positions import LARGE
from test_process_flags import Together

EXPERTS = "mixtral --machine dgx-a100 --set vocab=64 --set context=16 --set width=32 --set mlp=32 --set heads=4 --set kv_heads=4 --set depth=2"
TOKENS = """
import "Embedding"
import "Linear"
model Tiny(vocab = 256, width = 8, length = 8) {
    axis batch, seq = length, vocab, embed = width, hidden = 2 * width
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    up    = Linear(embed, hidden)
    head  = Linear(hidden, vocab)
    loss cross_entropy(head(relu(up(table(tokens)))), targets, over = vocab, ignore = -100)
}
train base for Tiny { batch 8 optimizer AdamW(lr = 1e-2) for "table.*" as "tables" { } }
plan pair(dp = 2, tp = 2) for Tiny {
    mesh dp, tp
    micro 2
    split { batch -> dp
            hidden, vocab -> tp }
    store { optimizer -> dp
            optimizer -> host }
}
"""
# Several losses and a metric, frozen parameters, a state, a data block with a part for evaluation.
SAMPLES = """
model Guesser(channels = 8, labels = 3) {
    axis batch, channel = channels, label = labels
    input x: f32[batch, channel]
    input answer: i32[batch]
    param w: [channel, label] = normal(0.02)
    param fixed: [label] = zeros
    state shift: [label] = zeros
    scores = project(x, w) + fixed - shift
    update shift = 0.9 * shift + 0.1 * mean(scores, over = batch)
    log shift = shift
    loss answer = cross_entropy(scores, answer, over = label) where answer != 2
    loss size = mean(scores * scores, over = label) weight 0.01
    metric right = accuracy(argmax(scores, over = label), answer)
    output scores
}
data all for Guesser { file "samples.safetensors" x, answer split 0.75, 0.25 seed 3 }
train base for Guesser { batch 4 optimizer Sgd(lr = 0.1) freeze "fixed" }
plan one for Guesser { mesh dp = 1 micro 4 split { batch -> dp } }
"""
TEXTS = """
model Opinions(vocab = 256, length = 8, labels = 2) {
    axis batch, seq = length, vocab, label = labels
    input tokens: i32[batch, seq]
    input answer: i32[batch]
    param table: [vocab, label] = normal(0.02)
    scores = sum(gather(table, tokens, over = vocab), over = seq)
    loss cross_entropy(scores, answer, over = label)
    output scores
}
data all for Opinions { text "texts.csv" tokens = encode("text", tokenizer = "bytes", pad = 0), answer = class("label") }
train base for Opinions { batch 2 optimizer Sgd(lr = 0.1) }
"""
MIXED = 'machine mixed {\n    hosts 1 of "dgx-h100"\n    hosts 1 of "dgx-a100"\n    link cluster { bandwidth 20 GB/s  latency 10 us }\n}\n'
DEADLOCK = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"
GPT2 = ROOT / "tests" / "reference" / "huggingface" / "gpt2"
FOREIGN = ROOT / "tests" / "end_to_end" / "foreign"
RUN = "train tiny.npx --data text.txt --tokens bytes --quiet"

# (schema, command without --json[, exit code]): first what makes the files that the others read, in order, then the others, at the same time.
FIRST = [
    ("train", f"{RUN} --steps 2 --checkpoint run --log run.jsonl --output w.safetensors --trace trace.json"),
    ("train", f"{RUN} --steps 3 --checkpoint other --seed 5"),
    ("train", "train two.npar --steps 2 --set compute=fp16 --log half.jsonl --quiet"),
    ("train", "train two.npar --steps 1 --set compute=bf16 --log narrow.jsonl --quiet"),
    ("train", "train two.npar --machine own.npar --epochs 1.5 --log two.jsonl --output two.safetensors --checkpoint two --quiet"),
    ("train", "train pictures.npar --steps 1 --checkpoint pictures --quiet"),
    ("train", "train texts.npar --steps 1 --checkpoint texts --quiet"),
    ("train", f"{RUN} --epochs 2 --log epoch.jsonl".replace(".npx", ".npar") + " --tune buckets"),
]
THEN = [
    ("train", f"{RUN} --steps 1 --backend null"),
    ("checkpoint-show", "checkpoint show run"),
    ("checkpoint-show", "checkpoint show pictures"),
    ("checkpoint-verify", "checkpoint verify run"),
    ("checkpoint-diff", "checkpoint diff run other", 3),
    ("checkpoint-diff", "checkpoint diff w.safetensors two.safetensors", 3),
    ("checkpoint-consolidate", "checkpoint consolidate run -o all.safetensors"),
    ("checkpoint-reshard", "checkpoint reshard run --shards 2 -o cut"),
    ("eval", "eval tiny.npar --weights w.safetensors --data text.txt --tokens bytes --quiet"),
    ("eval", "eval two.npar --weights two.safetensors --log eval.jsonl --quiet"),
    ("eval", "eval two.npar --weights two.safetensors --set compute=bf16 --quiet"),
    ("eval", "eval texts --data texts.csv --predict --quiet"),
    ("generate", "generate tiny.npar --weights w.safetensors --set compute=bf16 --prompt abc --count 2 --top 2 --quiet"),
    ("generate-prompts", "generate tiny.npar --weights w.safetensors --set compute=bf16 --prompts prompts.txt --count 2 --top 2 --quiet"),
    ("data-show", "data show tiny.npar --data text.txt --tokens bytes --count 1"),
    ("data-show", "data show pictures.npar --count 1"),
    ("data-show", "data show texts.npar --count 1"),
    ("devices", "devices"),
    ("doctor", "doctor", None),  # the machine that runs this may have problems
    ("inspect", "inspect two.npar"),
    ("inspect", "inspect gpt2 --set depth=2 --set width=8 --set heads=2 --set vocab=64 --set context=8"),
    ("inspect", "inspect olmoe --plan none --set depth=1 --set width=8 --set heads=2 --set kv_heads=2 --set mlp=8 --set vocab=16 --set length=8 --set batch=1"),
    ("inspect", "inspect why tiny.npx"),
    ("inspect", "inspect bytes tiny.npx"),
    ("inspect", "inspect hosts tiny.npx --hosts 2 --per-host 2"),
    ("inspect", "inspect layout tiny.npx --hosts 2 --per-host 2 --rank 3"),
    ("inspect", "inspect compare tiny.npx two.npar"),
    ("inspect", "inspect actual tiny.npx trace.json"),
    ("inspect-annotate", "inspect annotate tiny.npar"),
    ("inspect-saved", "inspect saved tiny.npar"),
    ("inspect-saved", "inspect saved olmoe --plan none --set depth=1 --set width=8 --set heads=2 --set kv_heads=2 --set mlp=8 --set vocab=16 --set length=8 --set batch=1"),
    ("explain", "explain two.npar --machine dgx-a100 --hosts 1"),
    ("plan", "plan two.npar --machine dgx-a100 --hosts 1"),
    ("explain", f"explain {EXPERTS} --batch 8"),
    ("plan", f"plan {EXPERTS} --hosts 1 --batch 8 --fix mesh.pp=1 --fix mesh.ep=4 --fix micro=1 --fix recompute=none --fix zero=0 --fix sequence=false --fix bucket=none"),
    ("plan", f"plan --from {FOREIGN / 'small.sh'} --machine dgx-a100 --hosts 1 --fix mesh.tp=8 --fix micro=16 --fix recompute=none"),
    ("simulate", "simulate tiny.npar --machine dgx-a100 --slow rank=1:1.5 --jitter 5% --mtbf 50000 --checkpoint-seconds 30 --restart-seconds 600 --total-tokens 300B"),
    ("simulate", "simulate tiny.npar --machine mixed.npar --set mesh.dp=8 --set batch=16"),
    ("simulate", f"simulate {EXPERTS} --set dp=1 --set ep=4 --set batch=8"),
    ("simulate", "simulate --from run.sh --machine p4d --hosts 1"),
    ("sweep", "sweep tiny.npar --machine dgx-a100 --over micro=1,3"),
    ("sweep", "sweep mlp --plan data --set batch=16 --set micro=4 --machine dgx-a100 --ways dp,ddp"),
    ("sweep", f"sweep {EXPERTS} --set dp=1 --set ep=4 --set batch=8 --over micro=1,2"),
    ("schedule", "schedule --kind 1f1b --stages 2 --microbatches 2"),
    ("schedule", "schedule --from-csv deadlock.csv --check --format=json", 3),
    ("schedule-diff", "schedule diff gpipe 1f1b --stages 2 --microbatches 3"),
    ("schedule-explain", "schedule explain --kind zb_h1 --stages 2 --microbatches 2"),
    ("verify", "verify two.npar --set compute=bf16"),
    ("verify", f"verify {ROOT / 'tests' / 'end_to_end' / 'near_ties.npar'}"),
    ("verify", "verify large.npar", 3),
    ("verify-pairs", "verify --pairs two.npar --features dp"),
    ("verify-all", "verify --all two.npar --plans 1"),
    ("tokens", "tokens bytes --text text.txt --count 2"),
    ("import", f"import {GPT2}"),
    ("import", "import experts.json"),
    ("import-list", "import --list bert"),
    ("import-list", "import --list two.npar"),
    ("export", f"export {GPT2} -o exported"),
    ("machine-show", "machine show reference"),
    ("machine-show", "machine show mixed.npar"),
]
# Commands that other tests run and check by their schema, since they take long.
ELSEWHERE = {"machine measure": "test_machine.py"}
# Members that no case has, by schema: failures that a sound npar does not have, GPUs, stragglers, and what ELSEWHERE and test_embedding.py check.
UNSEEN = {
    "checkpoint-diff": {"other_type"},
    "inspect": {"rank", "seconds", "stage", "typical_seconds"},
    "log": {"checkpoint_error"},
    "devices": {"architecture", "free_bytes", "memory_bytes", "multiprocessors", "name", "reaches", "trouble"},
    "parts": {"error", "for", "step"},
    "plan": {"from_run"},
    "train": {"stopped_early"},
    "verify": {"one_rank_too"},
    "verify-all": {"again", "output"},
    "verify-pairs": {"again", "output"},
    **dict.fromkeys(("error", "library", "machine-measure", "program-hosts", "program-inputs", "program-mesh", "program-parameters")),
}


def missing_cases(commands):
    """Commands with --json, of {command: its help}, that no case runs."""
    run = [words for _, words, *_ in (*FIRST, *THEN)] + ["autopsy records", *ELSEWHERE]
    return [name for name, text in commands.items() if re.search(r"^ +--json\b", text, re.M) and not any(f"{words} ".startswith(f"{name} ") for words in run)]


def damaged(document, chance):
    """A copy in which a value somewhere is missing or of another kind."""
    copied = copy.deepcopy(document)
    at, key = copied, chance.choice(list(copied))
    while isinstance(at[key], (dict, list)) and at[key] and chance.random() < 0.8:
        at = at[key]
        key = chance.choice(list(at) if isinstance(at, dict) else range(len(at)))
    if isinstance(at, dict) and chance.random() < 0.5:
        del at[key]
    else:
        at[key] = chance.choice([None, True, -1, 0.5, "text", [], {}])
    return copied


class JsonSchemasTest(Together, DriverTest):
    def setUp(self):
        super().setUp()
        for name, text in (("tiny.npar", TOKENS), ("two.npar", SAMPLES), ("texts.npar", TEXTS), ("texts.csv", "text,label\ngood,yes\nbad,no\n"), ("large.npar", LARGE.replace("COMPUTE", "fp16")), ("mixed.npar", MIXED), ("deadlock.csv", DEADLOCK)):
            (self.folder / name).write_text(text)
        (self.folder / "pictures.npar").write_text(PICTURES.replace("STEPS", "pictures: resize"))
        for kind in "abc":
            (self.folder / "photos" / kind).mkdir(parents=True)
            for name in ("rgb.png", "rgba.png"):
                shutil.copy(ROOT / "tests" / "reference" / "pictures" / name, self.folder / "photos" / kind)
        (self.folder / "prompts.txt").write_text("abc\nde\n")
        (self.folder / "experts.json").write_text('{"model_type": "deepseek_v3"}')
        (self.folder / "run.sh").write_text(f"{(FOREIGN / 'small.sh').read_text().rstrip()} --frobnicate 1\n")
        shutil.copy(ROOT / "stdlib" / "machines" / "reference.npar", self.folder / "own.npar")
        self.text_file(600)
        values = [(i * 7 % 11) / 11 for i in range(24 * 8)]
        safetensors_file.write_values(self.folder / "samples.safetensors", {"x": ("F32", [24, 8], values), "answer": ("I32", [24], [i % 3 for i in range(24)])})
        self.documents = collections.defaultdict(list)

    def check(self, schema, text, command):
        document = json.loads(text)
        self.assertEqual(json_schema.validate(document, schema), [], command)
        self.documents[schema].append(document)

    def run_case(self, case):
        schema, command, code = (*case, 0)[:3]
        words = shlex.split(command)
        result = self.npar(*words, *([] if "--format=json" in words else ["--json"]), code=code)
        self.check(schema, result.output, command)

    def run_together(self):
        """Trains in two processes, then again, and kills one of them: the other prints a report in place of the summary, and the flight records show the same."""
        folders = [self.folder, self.folder / "second"]
        folders[1].mkdir()
        for name in ("tiny.npx", "text.txt"):
            shutil.copy(self.folder / name, folders[1])
        words = f"{RUN} --steps 1 --threads 1 --json".split()
        (code, output, error), _ = self.over("tcp", words, folders)
        self.assertEqual(code, 0, error)
        self.check("train", output, "a job")
        words = f"{RUN} --steps 1000000 --threads 1 --log failed.jsonl --flight records --json".split()
        started = self.start_over_tcp(words, folders)
        rows = self.folder / "failed.jsonl.partial"
        until = time.monotonic() + 60
        while not (rows.exists() and rows.stat().st_size) and started[0].poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        started[1].kill()
        (code, output, error), _ = self.ended(started, words)
        self.assertEqual(code, 4, error)
        self.check("failure", output, "a job that failed")
        self.run_case(("autopsy", "autopsy records", 3))

    def help_of(self, *path):
        """{command: its help}, of a command and those inside it."""
        text = subprocess.run([NPAR, *path, "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout
        inner = re.findall(r"^  ([a-z]+)  ", text, re.M)
        return {" ".join(path): text, **{name: help for word in inner for name, help in self.help_of(*path, word).items()}}

    def test_documents(self):
        self.npar("compile", "tiny.npar", "-o", "tiny.npx")
        for case in FIRST:
            self.run_case(case)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            helps = pool.submit(self.help_of)
            running = [pool.submit(self.run_together), *(pool.submit(self.run_case, case) for case in THEN)]
            for (name, *_), one in zip([("failure",), *THEN], running):
                with self.subTest(name):
                    one.result()
        for log in ("run.jsonl", "half.jsonl", "narrow.jsonl", "two.jsonl", "epoch.jsonl", "eval.jsonl"):
            for line in (self.folder / log).read_text().splitlines():
                self.check("log", line, log)
        self.assertEqual(missing_cases(helps.result()), [], "add a case above and a schema in tools/api/schemas")
        ran = {*self.documents, *(name for name, unseen in UNSEEN.items() if unseen is None), "parts"}
        self.assertEqual(sorted(ran), json_schema.names(), "a schema without a case")
        for name in json_schema.names():
            with self.subTest(name):
                self.assert_members_are_seen(name)
        self.compare_with_jsonschema()

    def assert_members_are_seen(self, name):
        """A misspelt name in a schema is a member that no document has."""
        if UNSEEN.get(name, set()) is not None:
            unseen = {member for part in Schema.of(name).parts() for member, schema in part.members().items() if not schema.is_applied()}
            self.assertLessEqual(unseen, UNSEEN.get(name, set()), name)

    def compare_with_jsonschema(self):
        """Documents, and copies with a fault, are right or wrong for the package jsonschema too, where it is installed."""
        try:
            import jsonschema
            import referencing
        except ImportError:
            return
        registry = referencing.Registry().with_resources((f"{name}{json_schema.SUFFIX}", referencing.Resource.from_contents(json_schema.read(name))) for name in json_schema.names())
        chance = random.Random(7)
        wrong = 0
        for name, documents in self.documents.items():
            jsonschema.Draft202012Validator.check_schema(json_schema.read(name))
            validator = jsonschema.Draft202012Validator(json_schema.read(name), registry=registry)
            for document in [documents[0], *(damaged(documents[0], chance) for _ in range(10))]:
                right = not Schema.of(name).errors(document, closed=False)
                self.assertEqual(validator.is_valid(document), right, f"{name}: {json.dumps(document)[:2000]}")
                wrong += not right
        self.assertGreater(wrong, 100)

    def test_commands_without_a_case_are_found(self):
        self.assertEqual(missing_cases({"train": "  --json   x", "made up": "  --json   x", "checkpoint": "", "inspect new": "  -h\n  --json"}), ["made up", "inspect new"])

    def test_schemas_describe_each_member(self):
        page = (ROOT / "tools" / "STABILITY.md").read_text()
        for name in json_schema.names():
            self.assertIn(f"`{name}`" if name != "parts" else "`parts.schema.json`", page)
            whole = Schema.of(name)
            self.assertEqual(whole.content["$schema"], "https://json-schema.org/draft/2020-12/schema")
            for part in whole.parts():
                self.assertTrue(all(each.content for each in part.referred()))
                for member, schema in part.members().items():
                    self.assertRegex(schema.content.get("description", ""), r"^[^\n]*[^\n.]$", f"{name}: {member}")


if __name__ == "__main__":
    unittest.main()
