"""Keys and values that `npar generate` keeps change no score: every family and plan, against a program that recomputes the whole
sequence."""

import json
import unittest

from driver import LONG, REFERENCE, ROOT, DriverTest, mesh, safetensors_file, settings

import random_weights

RECORDED = json.loads((REFERENCE / "families_recorded.json").read_text())["families"]
PLANS = {
    "tp": settings(mesh(dp=1, pp=1, tp=2)),
    "pp": settings(mesh(dp=1, pp=2, tp=1)),
    "dp tp and sequence": settings(mesh(dp=2, pp=1, tp=2), sequence="true"),
    "tp beyond the key/value heads": settings(mesh(dp=1, pp=1, tp=4)),
}
ROUTED_PLANS = {  # of models with experts
    "ep tp": settings(mesh(dp=1, pp=1, ep=2, tp=2)),
    "ep, sequence": settings(mesh(dp=1, pp=2, ep=4), sequence="true"),
}
LENGTH, COUNT = 24, 14
# One token; fewer than a program for prompts takes at a time (16), as many, more; more than the sequence takes.
PROMPTS = [[5], [3, 14, 15, 9, 2, 6, 5], [7, 3, 1, 2] * 4, [4, 9, 1] * 10, [4, 9, 1] * 7]
PLACES = """import "Embedding"
model Places(vocab = 17, width = 8, length = 12) {
    axis batch, seq = length, vocab, embed = width
    input tokens, targets: i32[batch, seq]
    wte = Embedding(vocab, embed)
    x = wte(tokens)
    x = x + sinusoid(index(embed), over = seq)
    loss cross_entropy(project(x, wte.weight), targets, over = vocab)
}
train base for Places { batch 2 optimizer Sgd(lr = 0.1) }
"""

BIASES = """import "Embedding"
import "Projection"
model Biases(vocab = 61, width = 8, length = 20, experts = 4) {
    axis batch, seq = length, vocab, embed = width, expert = experts, slot = 2
    input tokens, targets: i32[batch, seq]
    param w: [expert, embed] = normal(0.5)
    param b: [expert, embed] = normal(0.5)
    table  = Embedding(vocab, embed)
    router = Projection(embed, expert, 0.5)
    x = table(tokens)
    best = top_k(router(x), along = slot, over = expert)
    rows = dispatch(x, best, along = slot, to = expert)
    y = x + combine(rows * w + b, softmax(gather(router(x), best, over = expert), over = slot))
    loss cross_entropy(project(y, table.weight), targets, over = vocab)
}
train base for Biases { batch 2 optimizer Sgd(lr = 0.1) }
"""

# All features of scores, and parameters over the sequence.
SCORES = """import "Embedding"
import "Linear"
model Scores(vocab = 61, width = 16, heads = 4, places = 20, depth = 2) {
    axis batch, seq = places, key = places, vocab, embed = width, head = heads, feature = width / heads, distance = 4
    input tokens, targets: i32[batch, seq]
    param place: [seq, embed] = normal(0.5)
    param near: [head, seq, key] = normal(0.5)
    param slope: [head] = normal(0.5)
    param far: [distance, head] = normal(0.5)
    table = Embedding(vocab, embed)
    back = index(seq) - index(key)
    x = table(tokens) + place
    repeat h[depth] {
        q = Linear(embed, [head, feature])
        k = Linear(embed, [head, feature])
        v = Linear(embed, [head, feature])
        o = Linear([head, feature], embed)
        x = x + o(attention(q(x), k(x), v(x), over = seq, keys = key, causal = true, cap = 1.5, where = back < 7,
                            bias = slope * float(-back) + gather(far, where(back > 3, 3, back), over = distance) + near))
    }
    loss cross_entropy(project(x, table.weight), targets, over = vocab)
}
train base for Scores { batch 2 optimizer Sgd(lr = 0.1) }
"""

# Attention by hand, causal by a condition; what came before by a gather and by a cumsum; and what is not causal: by a condition the other
# way round, and by a mean.
LAYERS = """import "Embedding"
import "Linear"
layer Attend(embed, seq, key, head, feature, written = true) {
    q = Linear(embed, [head, feature])
    k = Linear(embed, [head, feature])
    v = Linear(embed, [head, feature])
    o = Linear([head, feature], embed)
    forward(x) {
        if written {
            scores = einsum(q(x), rename(k(x), from = seq, to = key), over = feature) / sqrt(feature)
            seen = where(SEEN, scores, -1e9)
            y = einsum(softmax(seen, over = key), rename(v(x), from = seq, to = key), over = key)
        } else {
            y = attention(q(x), k(x), v(x), over = seq, keys = key, causal = true)
        }
        return o(y)
    }
}
"""
WRITTEN = LAYERS + """
model Written(vocab = 61, width = 16, heads = 4, length = 20, depth = 2, written = true) {
    axis batch, seq = length, key = length, vocab, embed = width, head = heads, feature = width / heads
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    x = table(tokens)
    BEFORE
    repeat h[depth] {
        attend = Attend(embed, seq, key, head, feature, written)
        x = x + attend(x)
    }
    loss cross_entropy(project(x, table.weight), targets, over = vocab)
}
train base for Written { batch 2 optimizer Sgd(lr = 0.1) }
"""


class KeptTest(DriverTest):
    def bring(self, family):
        """Flags of a model of the family with random weights."""
        if family == "gpt2":
            model = random_weights.GPT2
            safetensors_file.write(self.folder / "w.safetensors", random_weights.weights(random_weights.gpt2_shapes(model)))
            return "gpt2", settings(model)
        known = RECORDED[family]
        folder = self.folder / "checkpoint"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(known["config"]))
        weights = random_weights.weights({path: tuple(shape) for path, shape in known["shapes"].items()})
        for path in (folder / "model.safetensors", self.folder / "w.safetensors"):
            safetensors_file.write(path, weights)
        report = self.npar_json("import", folder)
        return report["model"], settings({key: json.dumps(value) for key, value in report["settings"].items()})

    def generate(self, *flags):
        return self.npar_json("generate", *flags, "--weights", "w.safetensors", "--count", COUNT, "--window", "--top", 4, "--quiet")

    def compare(self, found, expected):
        self.assertEqual(found["tokens"], expected["tokens"])
        for best, wanted in zip(found["best"], expected["best"]):
            for one, other in zip(best, wanted):
                self.assertEqual(one["token"], other["token"])
                self.assertLessEqual(abs(one["logit"] - other["logit"]), 1e-9 * max(1, abs(other["logit"])))

    def check(self, family, library="three_d", plans=PLANS, prompts=PROMPTS):
        model, flags = self.bring(family)
        flags = [*flags, *settings(length=LENGTH, compute="f64")]
        self.npar("compile", model, "--plan", "none", *flags, *settings(batch=1), "--for", "generate", "-o", "whole.npx")
        for prompt in prompts:
            tokens = ["--prompt-tokens", ",".join(map(str, prompt))]
            expected = self.generate("whole.npx", *tokens)
            with self.subTest(family=family, prompt=len(prompt)):
                found = self.npar("generate", model, *flags, *tokens, "--weights", "w.safetensors", "--count", 2, "--window")
                self.assertNotIn("whole sequence", found.error)
                self.compare(self.generate(model, *flags, *tokens), expected)
        # 21 tokens and 14 more pass through a moving window of 24.
        for name, plan in plans.items():
            with self.subTest(family=family, plan=name):
                self.compare(self.generate(model, *flags, "--plan", library, *plan, *tokens), expected)

    def test_gpt2(self):
        self.check("gpt2")

    def test_gemma2(self):
        self.check("gemma2")

    def test_mistral(self):
        self.check("mistral")

    def test_qwen3(self):
        self.check("qwen3")

    def test_experts(self):
        """Rows of the few positions of a step go to their experts."""
        for family in ("mixtral", "deepseek_v3", "qwen3_moe") if LONG else ("mixtral",):
            self.check(family, "four_d", ROUTED_PLANS, PROMPTS if LONG else PROMPTS[::2])

    def test_types(self):
        """16 bits: the greatest scores are those of the whole sequence, up to roundings of other orders."""
        model, flags = self.bring("gpt2")
        for compute in ("bf16", "fp16"):
            sizes = [*flags, *settings(length=LENGTH, compute=compute)]
            self.npar("compile", model, "--plan", "none", *sizes, *settings(batch=1), "--for", "generate", "-o", "whole.npx")
            tokens = ["--prompt-tokens", "3,14,15,9", "--count", 1]
            expected, found = (self.npar_json("generate", *flags, "--weights", "w.safetensors", *tokens, "--top", 71, "--quiet")["best"][0]
                               for flags in (["whole.npx"], [model, *sizes]))  # fmt: skip
            scores = {each["token"]: each["logit"] for each in expected}
            for each in found:
                self.assertLessEqual(abs(each["logit"] - scores[each["token"]]), 0.25)

    def trained(self, path, name):
        self.npar("run", path, "--plan", "none", "--data", REFERENCE / "tokens.u16", "--tokens", "u16", "--steps", 2,
                  *settings(compute="f64", vocab=61), "--output", "w.safetensors", "--quiet")  # fmt: skip
        flags = [path, "--plan", "none", *settings(compute="f64", vocab=61)]
        self.npar("compile", *flags, *settings(batch=1), "--for", "generate", "-o", "whole.npx")
        tokens = ["--prompt-tokens", "3,14,15", "--window"]
        return self.npar("generate", *flags, "--weights", "w.safetensors", *tokens, "--count", COUNT), self.generate("whole.npx", *tokens), [*flags, *tokens]

    def test_without_attention(self):
        """Positions are known without anything that looks back."""
        said, expected, flags = self.trained(ROOT / "tests" / "end_to_end" / "positions.npar", "Free")
        self.assertNotIn("whole sequence", said.error)
        self.compare(self.generate(*flags), expected)

    def test_scores(self):
        (self.folder / "scores.npar").write_text(SCORES)
        said, expected, flags = self.trained("scores.npar", "Scores")
        self.assertNotIn("whole sequence", said.error)
        self.compare(self.generate(*flags), expected)

    def test_biases_of_experts(self):
        """Each row finds its expert's bias by the place of its choice."""
        (self.folder / "biases.npar").write_text(BIASES)
        said, expected, flags = self.trained("biases.npar", "Biases")
        self.assertNotIn("whole sequence", said.error)
        self.compare(self.generate(*flags), expected)

    def test_what_cannot_be_kept(self):
        """A model that counts places of its sequence otherwise is warned of at its line, and says the same."""
        (self.folder / "places.npar").write_text(PLACES)
        said, expected, flags = self.trained("places.npar", "Places")
        self.assertIn("places.npar:7:13: warning: 'sinusoid' counts the places of 'seq': each generated token recomputes the whole sequence", said.error)
        self.compare(self.generate(*flags), expected)

    def written(self, seen="index(seq) >= index(key)", before=""):
        (self.folder / "written.npar").write_text(WRITTEN.replace("SEEN", seen).replace("BEFORE", before))
        self.npar("run", "written.npar", "--random-data", "--steps", 2, *settings(compute="f64"), "--output", "w.safetensors", "--quiet")
        return ["written.npar", "--weights", "w.safetensors", "--prompt-tokens", "3,14,15", *settings(compute="f64")]

    def test_causal_by_a_condition(self):
        """The whole sequence is computed again for each token, with a warning; the tokens are those of attention that is kept."""
        flags = self.written()
        said = self.npar("generate", *flags, "--count", 2)
        self.assertRegex(said.error, r"written.npar:\d+:\d+: warning: positions of 'seq' are mixed here, and not by causal attention: each generated token recomputes the whole sequence")
        more = ["--count", COUNT, "--top", 4, "--window", "--quiet"]
        kept = self.npar_json("generate", *flags, *settings(written="false"), *more)
        self.compare(self.npar_json("generate", *flags, *more), kept)
        # Through a window that moves, and as a compiled program.
        long = ["--prompt-tokens", ",".join(map(str, range(18)))]
        flags[3:5] = long
        kept = self.npar_json("generate", *flags, *settings(written="false"), *more)
        self.compare(self.npar_json("generate", *flags, *more), kept)
        self.npar("compile", "written.npar", "--plan", "none", *settings(compute="f64", batch=1), "--for", "generate", "-o", "whole.npx")
        self.compare(self.npar_json("generate", "whole.npx", "--weights", "w.safetensors", *long, *more), kept)

    def test_causal_by_a_gather_and_a_cumsum(self):
        """What is looked back at is known; with as much as a model has places, so that nothing depends on how long it is compiled."""
        for before in ("x = x + gather(rename(x, from = seq, to = key), where(index(seq) > 0, index(seq) - 1, 0), over = key)", "x = x + 0.1 * cumsum(x, over = seq)", "x = x + 0.01 * float(cumsum(tokens, over = seq))"):
            with self.subTest(before=before):
                flags = self.written(before=before)
                said = self.npar("generate", *flags, "--count", 5, "--json")
                self.assertIn("the whole sequence", said.error)
                self.assertNotIn("'rename'", said.error)
                tokens = json.loads(said.output)["tokens"]
                for known in range(1, 5):
                    flags[4] = ",".join(map(str, [3, 14, 15, *tokens[:known]]))
                    self.assertEqual(self.npar_json("generate", *flags, "--count", 1, "--quiet")["tokens"], tokens[known : known + 1])

    def test_what_looks_ahead_is_refused(self):
        for name, seen, before in (
            ("later keys", "index(seq) <= index(key)", ""),
            ("all keys", "index(key) >= 0", ""),
            ("a mean", "index(seq) >= index(key)", "x = x + mean(x, over = seq)"),
        ):
            with self.subTest(name=name):
                wrong = self.npar("generate", *self.written(seen, before), "--count", 2, code=1)
                self.assertRegex(wrong.error, r"npar: error: the model cannot generate: its scores after \d tokens? change with later tokens, which are not yet known\n")
                self.assertIn("npar: help: make no position depend on later ones", wrong.error)

    def test_places_by_length(self):
        """A table of as many places as the model has positions stays whole, also where less is generated."""
        flags = self.written(before="param place: [seq, embed] = normal(0.5)\n    x = x + place")
        self.assertEqual(len(self.npar_json("generate", *flags, "--count", 3, "--quiet")["tokens"]), 3)
        self.assertEqual(len(self.npar_json("generate", *flags, *settings(written="false"), "--count", 3, "--quiet")["tokens"]), 3)


if __name__ == "__main__":
    unittest.main()
