"""`npar verify` over plans: the emitted programs as the engine runs them, against one rank in float64."""

import json
import random
import subprocess
import unittest

from driver import ALTER, CHECKED, LONG, ROOT, SMALL, DriverTest, mesh, sample, settings

# Settings over CHECKED.
MATRIX = {
    "one rank": mesh(dp=1, pp=1, tp=1),
    "dp": mesh(dp=2, pp=1, tp=1),
    "tp": mesh(dp=1, pp=1, tp=2),
    "pp": mesh(dp=1, pp=2, tp=1),
    "dp tp": mesh(dp=2, pp=1, tp=2),
    "dp pp": mesh(dp=2, pp=2, tp=1),
    "tp pp": mesh(dp=1, pp=2, tp=2),
    "dp pp tp": mesh(dp=2, pp=2, tp=2),
    "tp = 4, vocabulary 257": {**mesh(dp=1, pp=1, tp=4), "vocab": 257},
    "tp = 2, vocabulary 257": {**mesh(dp=1, pp=1, tp=2), "vocab": 257},
    "tp = 4, sequence parallelism": {**mesh(dp=1, pp=1, tp=4), "sequence": "true", "micro": 4},
    "dp pp tp, sequence parallelism": {**mesh(dp=2, pp=2, tp=2), "sequence": "true", "reduce": "library"},
    "30 blocks on 4 stages": {**mesh(dp=1, pp=4, tp=1), "depth": 30, "width": 16},
    "5 blocks on 4 stages": {**mesh(dp=1, pp=4, tp=1), "depth": 5},
    "gpipe": {**mesh(dp=1, pp=4, tp=1), "schedule": "gpipe"},
    "1 micro-batch": {**mesh(dp=1, pp=2, tp=2), "micro": 16},
    "2 micro-batches": {**mesh(dp=1, pp=2, tp=2), "micro": 8},
    "4 micro-batches": {**mesh(dp=1, pp=2, tp=2), "micro": 4},
    "8 micro-batches": {**mesh(dp=1, pp=2, tp=2), "micro": 2},
    "dropout": {**mesh(dp=2, pp=2, tp=2), "dropout": 0.1},
    "64 ranks": {**mesh(dp=4, pp=4, tp=4), "micro": 1},
    # Targets that do not count, other numbers of them on every rank and in every micro-batch, one of which has none.
    "ignored targets, 1 micro-batch": {**mesh(dp=2, pp=1, tp=1), "ignore": -100, "micro": 8},
    "ignored targets, 2 micro-batches, tp": {**mesh(dp=1, pp=1, tp=2), "ignore": -100, "micro": 8},
    "ignored targets, dp pp tp, 4 micro-batches": {**mesh(dp=2, pp=2, tp=2), "ignore": -100},
    "ignored targets, 8 micro-batches, pp": {**mesh(dp=1, pp=4, tp=1), "ignore": 7},
    "ignored targets, sequence parallelism": {**mesh(dp=2, pp=2, tp=2), "ignore": -100, "sequence": "true"},
    "ignored targets, the first stage has the loss": {**mesh(dp=1, pp=2, tp=2), "ignore": -100, "schedule": "zb_v"},
}


class VerifyTest(DriverTest):
    def verify(self, *arguments, **options):
        report = self.npar_json("verify", *arguments, code=None, **options)
        bad = [check for check in report["checks"] if not check["ok"]]
        self.assertTrue(report["ok"] and not bad, bad)
        names = " ".join(check["name"] for check in report["checks"])
        for expected in ("loss", "gradients", "parameters", "memory used as planned", "finite differences", "deadlock"):
            self.assertIn(expected, names)
        self.assertEqual("reduce library" in names, "reduce=library" in arguments)

    def test_losses_in_which_nothing_counts(self):
        """0 equals 0, which proves nothing: reported for one of several losses, refused for the only one."""
        text = """
model Rated(channels = 4) {
    axis batch, channel = channels
    input x: f32[batch, channel]
    input y: f32[batch]
    param w: [channel] = normal(0.5)
    z = project(x, w)
    LOSSES
}
train base for Rated { batch 8 optimizer Sgd(lr = 1e-3) }
"""
        never = "squared_error(z, y) where y > 100.0"
        (self.folder / "m.npar").write_text(text.replace("LOSSES", f"loss {never}"))
        self.assertIn("no position counts in the loss in 3 steps on random data: there is nothing to compare", self.npar("verify", "m.npar", code=1).error)
        (self.folder / "m.npar").write_text(text.replace("LOSSES", f"loss rare = {never}  loss size = z * z  loss often = squared_error(z, y) where y > 0.0"))
        report = self.npar_json("verify", "m.npar")
        self.assertEqual([(check["name"], check["detail"][:10]) for check in report["checks"] if check["name"].startswith("loss '")], [("loss 'rare'", "not compar")])

    def test_the_own_type_of_a_plan(self):
        """After float64 the plan as it is written, whatever memory it allows that float64 needs more of."""
        plan = settings(CHECKED, mesh(dp=2, pp=1, tp=2))
        for compute in sample(["f32", "bf16", "fp16"], "f32", "bf16"):
            with self.subTest(compute=compute):
                checks = {check["name"]: check for check in self.npar_json("verify", "gpt2", *plan, "--set", f"compute={compute}")["checks"]}
                for name, low in ((f"in {compute}: loss", 0), (f"in {compute}: gradient norm", 1e-9)):
                    self.assertGreater(checks[name]["max_relative_error"], low, "it is rounded")
        exact = self.npar_json("verify", "gpt2", *plan, "--set", "compute=f64")
        self.assertFalse([check for check in exact["checks"] if check["name"].startswith("in ")])
        needed = max(part["arena_bytes"] for part in self.npar_json("inspect", "gpt2", *plan)["classes"])
        text = (ROOT / "stdlib" / "models" / "gpt2.npar").read_text()
        (self.folder / "mine.npar").write_text(text.replace("    compute f32\n", f"    compute f32\n    require memory <= {needed} B\n"))
        self.verify("mine.npar", *plan)

    def test_plain_plan_none(self):
        self.verify("gpt2", "--plan", "none", *settings(CHECKED))

    def test_mlp_with_momentum(self):
        self.verify("mlp", *settings(mesh(dp=2, tp=2), vocab=33, width=16, inner=32, length=8))

    def test_too_large(self):
        """The help names the model's own constants; what it says can be followed."""
        large = settings(vocab=1000000)
        error = self.npar("verify", "gpt2", *large, code=1).error
        self.assertIn("are too many for a check in float64", error)
        (help,) = [line for line in error.splitlines() if line.startswith("npar: help: shrink the model, such as --set ")]
        self.verify("gpt2", *large, *help.split("such as ")[1].split(",")[0].split())
        text = RELU
        for usual, own in (("vocab = 16", "words = 3000000"), ("vocab, embed =", "vocab = words, embed ="), ("inner", "hide"), ("length", "span"), ("width", "broad")):
            text = text.replace(usual, own)
        (self.folder / "mine.npar").write_text(text)
        self.assertIn("help: shrink the model by its constants words, broad, hide, span, or", self.npar("verify", "mine.npar", code=1).error)

    def test_relu_of_many_units(self):
        """260,000 units: every large stride of the finite differences contains a kink, which must not be taken for a wrong gradient."""
        (self.folder / "relu.npar").write_text(RELU)
        self.verify("relu.npar", "--seed", 2)

    def test_a_near_tie(self):
        """A choice that rounding decides is no error of a plan: the numbers of a seed at which one rank itself leaps are left out, and the line is named."""
        (self.folder / "ties.npar").write_text(TIES)
        line = next(number for number, text in enumerate(TIES.splitlines(), 1) if "chosen =" in text)
        said = "".join(self.npar("verify", "ties.npar", "--seed", seed).output for seed in (5, 7))
        self.assertIn("near tie", said)
        self.assertIn(f"the choice at ties.npar:{line}:", said)

    def test_plans_drawn_at_random(self):
        """Any combination: sizes that do not divide, uneven stages, one micro-batch or many."""
        chance = random.Random(5)
        for _ in range(60 if LONG else 2):
            dp, pp, tp = (chance.choice([1, 2, 3, 4]), chance.choice([1, 2, 3, 5]), chance.choice([1, 2, 4]))
            micro, micros = chance.choice([1, 2, 3]), chance.choice([1, 2, 3, 5])
            changes = {
                **mesh(dp=dp, pp=pp, tp=tp), "micro": micro, "batch": dp * micro * micros, "depth": pp + chance.choice([0, 1, 3]),
                "vocab": chance.choice([17, 64, 101]), "width": 16, "length": chance.choice([4, 8, 12]),
                "schedule": chance.choice(["1f1b", "gpipe"]), "sequence": chance.choice(["true", "false"]),
                "dropout": chance.choice([0.0, 0.2]), "seed": chance.randrange(100), "ignore": chance.choice(["none", -100, 3]),
            }  # fmt: skip
            with self.subTest(**changes):
                self.verify("gpt2", "--plan", "three_d", *settings(CHECKED, changes))


def add_case(name, changes):
    def test(self):
        self.verify("gpt2", "--plan", "three_d", *settings(CHECKED, changes))

    setattr(VerifyTest, "test_" + "".join(letter if letter.isalnum() else "_" for letter in name), test)


SHORT = (
    "dp pp tp", "tp = 4, vocabulary 257", "dp pp tp, sequence parallelism", "5 blocks on 4 stages", "1 micro-batch", "dropout", "64 ranks",
    "ignored targets, dp pp tp, 4 micro-batches", "ignored targets, the first stage has the loss",
)  # fmt: skip
for case, changes in sample(MATRIX, *SHORT).items():
    add_case(case, changes)


# A choice between two sums that differ in the order of their terms alone, in the samples whose integer is 0.
TIES = """
model Ties(words = 24) {
    axis batch, embed = 64, word = words
    input x: f32[batch, embed]
    input y: f32[batch]
    input best: i32[batch]
    param w: [embed] = normal(0.5)
    param table: [word] = normal(0.5)
    one = project(x, w)
    two = sum(x * w, over = embed)
    near = where(best == 0, two, two - 1.0)
    chosen = where(one >= near, 1.0, 0.5)
    loss squared_error(one * chosen * (1.0 + gather(table, best, over = word)), y)
}
train base for Ties { batch 8 optimizer Sgd(lr = 0.1) }
plan parts(tp = 2) for Ties { mesh tp micro 2 split { embed -> tp } }
"""

RELU = """
import "Embedding"
import "LayerNorm"
import "Linear"
model Relu(vocab = 16, width = 4, inner = 16384, length = 16) {
    axis batch, seq = length, vocab, embed = width, hidden = inner
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    x = table(tokens)
    repeat layers[1] {
        norm = LayerNorm(embed)
        up   = Linear(embed, hidden)
        down = Linear(hidden, embed)
        x = x + down(relu(up(norm(x))))
    }
    head = Linear(embed, vocab)
    loss cross_entropy(head(x), targets, over = vocab)
}
train base for Relu {
    batch 1
    optimizer Sgd(lr = 0.1)
}
"""


class WrongProgramTest(DriverTest):
    """Programs that are sealed correctly but wrong inside: verify names the failed check, and exits with 3."""

    PROGRAM = [*settings(CHECKED, compute="f64")]

    def setUp(self):
        super().setUp()
        self.npar("compile", "gpt2", *self.PROGRAM, "-o", "good.npx")

    def altered(self, what):
        subprocess.run([ALTER, what, "good.npx", f"{what}.npx"], cwd=self.folder, check=True, timeout=60)
        return f"{what}.npx"

    def failing(self, *arguments):
        report = json.loads(self.npar("verify", *arguments, "--json", code=3).output)
        self.assertFalse(report["ok"])
        return {check["name"]: check["detail"] for check in report["checks"] if not check["ok"]}

    def test_structure(self):
        for what, check, detail in [
            ("operand", "well formed", "outside its region"),
            ("event", "sends and receives match", "which never sends it"),
            ("operator", "collectives agree", "operator"),
            ("order", "no deadlock", "wait for each other"),
            ("owner", "every element owned", "owned by no rank"),
            ("reuse", "memory as planned", "at the same time"),
        ]:
            with self.subTest(what):
                program = self.altered(what)
                for failing in (self.failing(program), self.failing("gpt2", *settings(CHECKED), "--program", program)):
                    self.assertIn(check, failing)
                    self.assertIn(detail, failing[check])
                self.assertIn("FAILED", self.npar("verify", program, code=3).output)
                self.assertIn(check, self.npar("run", program, "--random-data", "--steps", 1, code=1).error)

    def test_mathematics(self):
        """Every rank agrees to take a maximum for a sum: only the comparison with one rank shows it."""
        program = self.altered("maximum")
        self.npar("verify", program)
        self.assertLessEqual({"loss", "gradients", "parameters"}, set(self.failing("gpt2", *settings(CHECKED), "--program", program)))

    def test_good_program(self):
        self.npar("verify", "good.npx")
        report = self.npar_json("verify", "gpt2", *settings(CHECKED), "--program", "good.npx")
        self.assertTrue(report["ok"])
        self.assertIn("gradients", [check["name"] for check in report["checks"]])

    def test_what_cannot_be_compared(self):
        self.npar("compile", "gpt2", *settings(CHECKED), "-o", "f32.npx")
        self.assertIn("compute=f64", self.npar("verify", "gpt2", *settings(CHECKED), "--program", "f32.npx", code=1).error)
        for change in ({"batch": 8}, {"width": 32}, {"depth": 3}):
            with self.subTest(change):
                error = self.npar("verify", "gpt2", *settings(CHECKED, change), "--program", "good.npx", code=1).error
                self.assertIn("cannot be compared", error)
        self.npar("verify", "good.npx", "--program", "good.npx", code=2)
        self.npar("verify", "good.npx", "--set", "batch=8", code=2)
        self.npar("verify", "gpt2", "--plan", "three_d", "--program", "good.npx", code=2)
        self.npar("verify", "gpt2", "--program", "none.npx", code=1)

    def test_timeout(self):
        """No step of any program ends within a microsecond; the watchdog needs a moment to see it."""
        larger = settings(SMALL, width=128, length=64, context=64)
        for command in (["run", "good.npx", "--random-data", "--steps", 100000], ["verify", "gpt2", *larger]):
            self.assertIn("no progress for 1e-06 s in training step ", self.npar(*command, "--timeout", 1e-6, code=5).error)


if __name__ == "__main__":
    unittest.main()
