"""Names of a text and names of npar's own are apart: whatever a stage prints, and every key of what npar says, may name a parameter, an input,
an axis, a layer, a constant, a loss, a plan."""

import json
import re

from driver import LONG, DriverTest

RESERVED = set(
    "and axis false for forward if import input layer loss mesh model not or param plan repeat require return split train true none batch".split()
)
SETTINGS = {"batch", "clip", "seed", "micro", "compute", "reduce", "products", "recompute", "data", "world"}
MEASURES = {"samples"}  # an evaluation says by it how many there were
CALLED = {"cross_entropy", "project"}  # operations of the text below, which layers of these names would hide
FIRST = ("micro", "update", "start", "count", "formula_0", "loss", "grad_norm", "scores_0", "logits", "lr", "step", "master", "exp_avg")
STAGES = ("nn", "grad", "dist", "pipe", "rank")
# Losses that ignore targets, attention with a formula, clipping, a state of each optimizer, stages, dropout: what has internal names.
TEXT = """
import "Embedding"
import "Linear"
model M(vocab = 16, length = 4) {
    axis batch, seq = length, key = length, vocab, embed = 8, head = 2, feature = 4, sort = 2
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    x = table(tokens)
    repeat h[2] {
        q = Linear(embed, [head, feature])
        o = Linear([head, feature], embed)
        x = x + dropout(o(attention(q(x), q(x), q(x), over = seq, keys = key, causal = true, bias = float(index(key)))), 0.1)
    }
    kind = Linear(embed, sort)
    loss words = cross_entropy(project(x, table.weight), targets, over = vocab, ignore = 0)
    loss sorts = cross_entropy(kind(x[seq = 0]), tokens[seq = 0] / 8, over = sort) weight 0.5
    metric right = accuracy(argmax(kind(x[seq = 0]), over = sort), tokens[seq = 0] / 8)
    output x
}
train t for M { batch 8 optimizer AdamW(lr = 1e-3) clip 1.0 }
plan p for M { mesh dp = 2, tp = 2, pp = 2 micro 2 split { batch -> dp  head, vocab -> tp  h -> pp } store { optimizer, gradients -> dp } compute fp16 }
"""
ORDINARY = """
axis batch, embed = 4, class = 3
input x: f32[batch, embed]
input y: i32[batch]
param ordinary: [class, embed] = normal(0.1)
"""
END = "train t for M { batch 8 optimizer AdamW(lr = 1e-3) clip 1.0 }\nplan p for M { mesh dp = 2 micro 2 split { batch -> dp } store { optimizer -> dp } }\n"


def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


class NamesTest(DriverTest):
    def internal(self):
        """Symbols, attributes, words in quotes and axes of every stage; keys of JSON and of a log; names in a checkpoint."""
        (self.folder / "m.npar").write_text(TEXT)
        names = set()
        for stage in STAGES:
            for kind in ("run", "eval", "generate") if stage == "rank" else ("run",):
                printed = self.npar("compile", "m.npar", f"--emit={stage}", *(("--for", kind) if kind != "run" else ())).output
                names.update(re.findall(r'@"?([A-Za-z_][\w.$-]*)', printed))
                names.update(re.findall(r'"([A-Za-z_][\w.-]*)"', printed))
                names.update(re.findall(r"([A-Za-z_][\w.]*) = ", printed))
                names.update(name.strip() for axes in re.findall(r"axes<([^>]*)>", printed) for name in axes.split(","))
        self.npar("run", "m.npar", "--random-data", "--steps", 2, "--set", "compute=f32", "--log", "log.jsonl", "--quiet")
        for line in (self.folder / "log.jsonl").read_text().splitlines():
            names.update(keys(json.loads(line)))
        names.update(keys(self.npar_json("inspect", "m.npar")))
        names = {name.split(".")[0] for name in names} | names
        names = {name for name in names if not re.search(r"(_[1-9]\d*|[a-z]\d+)$", name)}  # one of each series
        return sorted(name for name in names if re.fullmatch(r"[A-Za-z_][\w.]*\w|[A-Za-z_]", name) and ".." not in name)

    def check(self, text, *command):
        """Compiles the text, down to the programs of ranks, or runs another command."""
        (self.folder / "names.npar").write_text(text)
        name, *flags = command or ("compile", "--emit=rank")
        report = self.npar(name, "names.npar", *flags, "--plan", "p", code=None)
        self.assertEqual(report.returncode, 0, f"{text}\n{report.output[-1500:]}{report.error[-3000:]}")

    def check_model(self, body, *command, constants=""):
        layer = "layer Scale(embed) {\nparam weight: [embed] = ones\nforward(x) = x * weight\n}\n"
        self.check(layer + f"model M{constants} {{{ORDINARY}z = x\n{body}loss cross_entropy(project(z, ordinary), y, over = class)\n}}\n" + END, *command)

    def parts(self, names):
        """A few at a time: kernels of hundreds of parameters take long to compile. Without NPAR_LONG the first part of most kinds of names."""
        names = sorted(names, key=lambda name: (name not in FIRST, name))
        return [names[i : i + 24] for i in range(0, len(names) if LONG else min(len(names), 24), 24)]

    def test_every_internal_name(self):
        paths = self.internal()
        for must in ("micro", "update", "start", "count", "formula_0", "loss", "grad_norm"):
            self.assertIn(must, paths)
        words = [name for name in paths if "." not in name and name not in RESERVED]
        self.assertGreater(len(words), 100)
        free = [word for word in words if word not in ("x", "y", "z", "w", "embed", "class", "ordinary", "weight", "M", "t", "p", "dp")]
        points = [name for name in paths if "." in name and not any(name.startswith(other + ".") for other in paths if "." in other)]

        with self.subTest("parameters"):
            self.check_model("".join(f"param {word}: [embed] = ones\nz = z * {word}\n" for word in self.parts(free)[0]), "verify")
            for start in range(0, len(words), 24):
                self.check_model("".join(f'param w{i} as "{word}": [embed] = ones\nz = z * w{i}\n' for i, word in enumerate(words[start : start + 24])))
            for part in self.parts(points):
                self.check_model("".join(f'param w{i} as "{name}": [embed] = ones\nz = z * w{i}\n' for i, name in enumerate(part)))
        with self.subTest("inputs, axes, layers, repeats, constants"):
            for part in self.parts(free):
                self.check_model("".join(f"input {word}: f32[batch]\nz = z + {word}\n" for word in part))
                self.check_model("".join(f"axis {word} = {2 + i % 3}\nparam a{i}: [{word}, embed] = ones\nz = z * sum(a{i}, over = {word})\n" for i, word in enumerate(part)))
                self.check_model("".join(f"{word} = Scale(embed)\nz = {word}(z)\n" for word in part if word not in CALLED))
                self.check_model("".join(f"repeat {word}[2] {{\nscale = Scale(embed)\nz = scale(z)\n}}\n" for word in part))
            for part in self.parts(set(free) - SETTINGS):
                self.check_model("".join(f"z = z + {word}\n" for word in part), constants="(" + ", ".join(f"{word} = 1" for word in part) + ")")
        with self.subTest("losses, metrics, outputs"):
            for part in self.parts(set(words) - MEASURES):
                losses, metrics = part[::2], part[1::2]
                body = "".join(f"loss {word} = cross_entropy(project(x, ordinary), y, over = class)\n" for word in losses)
                body += "".join(f"metric {word} = accuracy(argmax(project(x, ordinary), over = class), y)\n" for word in metrics)
                self.check("model M {" + ORDINARY + body + "".join(f"output {word} = x\n" for word in part) + "}\n" + END)
                self.npar("run", "names.npar", "--random-data", "--steps", 1, "--log", "names.jsonl", "--quiet")
                told = json.loads((self.folder / "names.jsonl").read_text().splitlines()[-1])
                self.assertEqual(sorted(told["losses"]), sorted(losses))
        with self.subTest("plans, train blocks, mesh axes"):
            model = "model M {" + ORDINARY + "loss cross_entropy(project(x, ordinary), y, over = class)\n}\n"
            plans = [word for word in words if word not in ("p", "dp")]
            body = "".join(f"plan {word} for M {{ mesh dp = 2 micro 2 split {{ batch -> dp }} }}\n" for word in plans)
            body += "".join(f"train {word} for M {{ batch 8 optimizer Sgd(lr = 0.1) }}\n" for word in words if word != "t")
            self.check(model + body + END, "compile", "--emit=rank", "--train", "t")
            for part in self.parts(plans):
                axes = part[:14]
                self.check(model + f"train t for M {{ batch 8 optimizer Sgd(lr = 0.1) }}\nplan p for M {{ mesh dp = 2, {', '.join(f'{word} = 1' for word in axes)} micro 2 "
                           f"split {{ batch -> dp, {', '.join(axes)} }} }}\n")

    def test_generation(self):
        """A parameter that shares no axis with the sequence was taken for a function of the program, and lost."""
        for name in ("start", "count", "micro", "update", "logits", "formula_0", "kept"):
            with self.subTest(name):
                (self.folder / "m.npar").write_text(
                    f"""import "Embedding"
                    model M(vocab = 256, length = 8) {{
                        axis batch, seq = length, vocab, embed = 8, stream = 2
                        input tokens, targets: i32[batch, seq]
                        table = Embedding(vocab, embed)
                        param {name}: [stream] = ones
                        xs = table(tokens) * {name}
                        loss cross_entropy(project(mean(xs, over = stream), table.weight), targets, over = vocab)
                    }}
                    train t for M {{ batch 8 optimizer Sgd(lr = 0.1) }}
                    """
                )
                self.npar("compile", "m.npar", "--for", "generate", "-o", "m.npx")
