"""Integers, comparisons and choices, and what looks along an axis: every plan as one rank, against PyTorch, and bit for bit where no sum is split."""

import json
import math
import pathlib
import struct
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import integers_data  # of the reference

HERE = pathlib.Path(__file__).resolve().parent
PLANS = {
    "integers": [
        {"mesh.dp": 2, "mesh.tp": 2, "zero": 2},
        {"mesh.pp": 2, "mesh.tp": 2, "sequence": "true"},
    ],
    "along": [
        {"mesh.sp": 2, "mesh.tp": 2},
    ],
    "patches": [{"dp": 2, "tp": 2, "pp": 2}],
    "packed": [{"sp": 2, "tp": 2}],
    "positions": [{"tp": 4, "pp": 2}],
}
MORE = {
    "integers": [
        {"mesh.tp": 4, "zero": 0},
        {"mesh.tp": 5, "vocab": 13},
        {"mesh.dp": 2, "mesh.pp": 2, "schedule": "zb_h1", "zero": 2},
        {"mesh.dp": 4, "zero": 3},
        {"mesh.pp": 2, "again": "block"},
        {"mesh.dp": 2, "mesh.tp": 2, "compute": "bf16"},
    ],
    "along": [{"mesh.dp": 2, "mesh.tp": 2, "zero": 1}, {"mesh.tp": 4}, {"mesh.sp": 4}, {"mesh.sp": 4, "mesh.tp": 2}, {"mesh.dp": 4, "zero": 3}, {"mesh.tp": 2, "chosen": 6}],
    "patches": [{"tp": 4, "heads": 4}],
    "packed": [{"dp": 4, "compute": "bf16"}],
    "positions": [{"dp": 2, "tp": 2}],
}


# One sample a step, so that each loss is one value: which of the operations `kind` counts, of x and y.
PAIRS = """
model Pairs(kinds = 13) {
    axis batch
    input kind, x, y: i32[batch]
    param w: [] = ones
    truth = x < y and not x == y or y == 5
    value = where(kind == 0, x + y, where(kind == 1, x - y, where(kind == 2, x * y, where(kind == 3, x / y, where(kind == 4, x % y,
            where(kind == 5, int(x < y), where(kind == 6, int(x <= y), where(kind == 7, int(x > y), where(kind == 8, int(x >= y),
            where(kind == 9, int(x == y), where(kind == 10, int(x != y), where(kind == 11, int(truth), abs(x)))))))))))))
    loss float(value) + 0.0 * w
}
train base for Pairs { batch 1 optimizer Sgd(lr = 0.0) }
plan alone for Pairs { micro 1 compute f64 }
"""

# `x / y` makes what no data may have: NaN and infinity.
FLOATS = """
model Floats() {
    axis batch
    input kind: i32[batch]
    input x, y: f32[batch]
    param w: [] = ones
    z = x / y
    value = where(kind == 0, int(z), where(kind == 1, int(z < 1.0), where(kind == 2, int(z == z), where(kind == 3, int(z != z),
            where(kind == 4, int(z >= 1.0), int(not z < 1.0))))))
    loss float(value) + 0.0 * w
}
train base for Floats { batch 1 optimizer Sgd(lr = 0.0) }
plan alone for Floats { micro 1 }
"""

# The order of the entries of a row as digits, the first largest one as one more. `parts` divides the row's axis.
ORDER = """
model Order(count = 6, chosen = 4) {
    axis batch, entry = count, slot = chosen
    input x, y: f32[batch, entry]
    param w: [] = ones
    z = x / y
    digit = where(index(slot) == 0, 1, where(index(slot) == 1, 10, where(index(slot) == 2, 100, 1000)))
    loss float(sum(top_k(z, along = slot, over = entry) * digit, over = slot) + 10000 * argmax(z, over = entry)) + 0.0 * w
}
train base for Order { batch 1 optimizer Sgd(lr = 0.0) }
plan parted(parts = 1) for Order { mesh tp = parts micro 1 split { entry pad -> tp } compute f64 }
"""

# A sequence in zigzag order, also under other names.
RING = """
import "Attention"
import "Embedding"
import "LayerNorm"
model Ring(vocab = 13, width = 8, heads = 2, length = 8, count = 3) {
    axis batch, early = 2, later = length - 2, seq = early + later, key = length, vocab, embed = width
    axis head = heads, feature = width / heads, slot = count
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    norm = LayerNorm(embed)
    attn = Attention(embed, head, feature, causal = true)
    x = attn(norm(table(tokens) + 0.1 * float(cumsum(tokens, over = seq))))
    x = x + 0.1 * cumsum(x, over = seq)
    scores = einsum(x, rename(x, from = seq, to = key), over = embed)
    seen = softmax(where(index(key) <= index(seq) and rename(tokens, from = seq, to = key) > 3, scores, -1e9), over = key)
    x = x + einsum(seen, rename(x, from = seq, to = key), over = key)
    best = top_k(x, along = slot, over = seq)
    first = argmax(x, over = seq)
    x = x + 0.01 * float(sum(best, over = slot) + 10 * first + index(seq))
    loss cross_entropy(project(x, table.weight), targets, over = vocab)
}
train base for Ring { batch 4 optimizer Sgd(lr = 0.1) }
plan divided(cp = 1, tp = 1) for Ring { mesh cp, tp micro 2 split { seq -> cp by ring(zigzag) head, vocab pad -> tp } }
"""

STOPPED = """
model Stopped(width = 4) {
    axis batch, embed = width
    input x: f32[batch, embed]
    param w, kept: [embed] = normal(0.5)
    loss sum(w * stop_gradient(kept + w) * x, over = embed)
}
train base for Stopped { batch 4 optimizer Sgd(lr = 0.5) }
plan divided(tp = 1, dp = 1) for Stopped { mesh dp, tp micro 2 split { batch -> dp embed -> tp } }
""".replace("param w, kept: [embed] = normal(0.5)", "param w: [embed] = normal(0.5)\n    param kept: [embed] = normal(0.5)")


class PlansTest(DriverTest):
    """In float64, on random values of all inputs."""

    def test_equal_to_one_rank(self):
        for model, plans in PLANS.items():
            for chosen in plans + (MORE[model] if LONG else []):
                with self.subTest(model=model, **chosen):
                    report = self.npar_json("verify", HERE / f"{model}.npar", *settings(chosen), code=None)
                    self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_zigzag_order(self):
        """Running sums, orders and masks follow positions, not places in memory; operations that find rows by their place are refused."""
        (self.folder / "ring.npar").write_text(RING)
        for chosen in ({"cp": 2, "tp": 2}, {"cp": 4}):
            report = self.npar_json("verify", "ring.npar", *settings(chosen), code=None)
            self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])
        for operation, line in (("gather", "x = x + gather(x, first, over = seq)"), ("part", "x = x + mean(x[seq = early], over = early)")):
            (self.folder / "wrong.npar").write_text(RING.replace("    loss", f"    {line}\n    loss"))
            error = self.npar("inspect", "wrong.npar", *settings(cp=2), code=1).error
            self.assertRegex(error, f"axis 'seq' cannot be in zigzag order: operation '{operation}' counts its positions")


    def test_same_bits(self):
        """Stages, recomputation and the order of ranks split no sum: the parameters after three steps are those of one rank."""
        for model, plans in {"integers": [{"mesh.pp": 2}, {"again": "block"}, {"mesh.pp": 2, "schedule": "zb_h1"}]}.items():
            run = lambda plan: self.npar_json("run", HERE / f"{model}.npar", "--random-data", "--steps", 3, *settings(plan))["parameter_hash"]  # noqa: B023, E731
            alone = run({})
            for plan in plans:
                self.assertEqual(run(plan), alone, plan)

    def test_bf16_looks_for_a_maximum_among_what_it_was_taken_of(self):
        """A norm's result is f32, its maximum of 16 bits: they are compared in one type, where the largest is always found."""
        text = RING.replace("first = argmax(x, over = seq)", "first = argmax(norm(x), over = seq) + max(int(norm(x) > x), over = seq)")
        (self.folder / "norm.npar").write_text(text)
        report = self.npar_json("verify", "norm.npar", *settings(compute="bf16", tp=2), code=None)
        self.assertTrue(report.get("ok"), report)


class ReferenceTest(DriverTest):
    """Losses and gradient norms of three steps in float64, against PyTorch's (tests/reference/integers_reference.py)."""

    def test_against_pytorch(self):
        safetensors_file.write_values(self.folder / "data.safetensors", integers_data.data())
        recorded = json.loads((REFERENCE / "integers_recorded.json").read_text())
        for model in integers_data.shapes():
            plans = PLANS[model]
            first = {name: safetensors_file.Tensor(shape, values, "F64") for name, (shape, values) in integers_data.weights(model).items()}
            safetensors_file.write(self.folder / "first.safetensors", first)
            for plan in plans:
                arguments = settings(plan, compute="f64")
                self.npar("run", HERE / f"{model}.npar", *arguments, "--data", "data.safetensors", "--data-order", "sequential", "--weights", "first.safetensors", "--steps", 3, "--log", "log.jsonl")
                for line, expected in zip((self.folder / "log.jsonl").read_text().splitlines(), recorded[model], strict=True):
                    found = json.loads(line)
                    for what in ("loss", "grad_norm"):
                        self.assert_close(found[what], expected[what], 1e-9, f"{model}: {what} of step {expected['step']}")


class ValuesTest(DriverTest):
    """What the language reference says of integers beyond 32 bits, divisors of 0, NaN and ties."""

    def losses(self, text, tensors, *arguments):
        (self.folder / "m.npar").write_text(text)
        safetensors_file.write_values(self.folder / "d.safetensors", tensors)
        count = next(iter(tensors.values()))[1][0]
        self.npar("run", "m.npar", "--data", "d.safetensors", "--data-order", "sequential", "--steps", count, "--log", "log.jsonl", *arguments)
        return [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def test_integers(self):
        least, most = -(2**31), 2**31 - 1
        wrap = lambda value: (value + 2**31) % 2**32 - 2**31  # noqa: E731

        def quotient(x, y):
            return 0 if y == 0 else wrap(int(math.copysign(abs(x) // abs(y), x * y)))

        functions = [
            lambda x, y: wrap(x + y), lambda x, y: wrap(x - y), lambda x, y: wrap(x * y), quotient, lambda x, y: x - quotient(x, y) * y if (x, y) != (least, -1) else 0,
            lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x > y, lambda x, y: x >= y, lambda x, y: x == y, lambda x, y: x != y,
            lambda x, y: (x < y and x != y) or y == 5, lambda x, y: wrap(abs(x)),
        ]  # fmt: skip
        pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (5, 5), (3, 0), (-3, 0), (most, 1), (least, -1), (least, 1), (most, most), (123456789, 1000), (0, 5), (6, 5)]
        cases = [(kind, x, y) for kind in range(len(functions)) for x, y in pairs]
        found = self.losses(PAIRS, {name: ("I32", [len(cases)], [case[i] for case in cases]) for i, name in enumerate(("kind", "x", "y"))})
        self.assertEqual([(case, loss) for case, loss in zip(cases, found, strict=True)], [((kind, x, y), float(functions[kind](x, y))) for kind, x, y in cases])

    def test_nan_and_infinity(self):
        expected = {  # int(z), z < 1, z == z, z != z, z >= 1, not z < 1
            (0.0, 0.0): [0, 0, 0, 1, 0, 1],
            (1.0, 0.0): [2**31 - 1, 0, 1, 0, 1, 1],
            (-1.0, 0.0): [-(2**31), 1, 1, 0, 0, 0],
            (-7.0, 2.0): [-3, 1, 1, 0, 0, 0],
            (3e9, 1.0): [2**31 - 1, 0, 1, 0, 1, 1],
            (7.0, 4.0): [1, 0, 1, 0, 1, 1],
        }
        cases = [(kind, *pair, value) for pair, values in expected.items() for kind, value in enumerate(values)]
        tensors = {"kind": ("I32", [len(cases)], [case[0] for case in cases])}
        tensors.update({name: ("F32", [len(cases)], [case[i + 1] for case in cases]) for i, name in enumerate(("x", "y"))})
        for compute in ("f64", "f32"):
            found = self.losses(FLOATS, tensors, *settings(compute=compute))
            near = [(case, loss) for case, loss in zip(cases, found, strict=True) if abs(loss - case[-1]) > 2**-23 * abs(case[-1])]
            self.assertEqual(near, [], compute)

    def test_ties_go_to_the_lower_entry(self):
        none = math.nan
        rows = [
            [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], [1, 1, 1, 1, 1, 1], [2, 3, 3, 2, 3, 2], [-1, -1, 0, -2, 0, -1], [-math.inf, 1, -math.inf, -math.inf, -math.inf, -math.inf],
            [1, none, 5, none, 2, 3], [none] * 6, [0, 1, 2, math.inf, none, math.inf],
        ]  # fmt: skip

        def expected(row):
            order = sorted(range(len(row)), key=lambda i: (0, 0, i) if math.isnan(row[i]) else (1, -row[i], i))
            return sum(entry * 10**i for i, entry in enumerate(order[:4])) + 10000 * order[0]

        parts = {math.inf: (1, 0), -math.inf: (-1, 0)}
        split = [(0, 0) if math.isnan(value) else parts.get(value, (value, 1)) for row in rows for value in row]
        tensors = {name: ("F32", [len(rows), 6], [pair[i] for pair in split]) for i, name in enumerate(("x", "y"))}
        for ranks in (1, 2, 4):
            self.assertEqual(self.losses(ORDER, tensors, "--set", f"parts={ranks}"), [expected(row) for row in rows], f"{ranks} ranks")

    def test_logsumexp_overflows_nowhere(self):
        rows = [[1e4] * 6, [-1e4] * 6, [0, 1, 2, 3, 4, 5], [-math.inf, 3, -math.inf, -math.inf, 1000, -math.inf], [3e38, 0, 0, 0, 0, 0]]
        numbers = [(-1, 0) if value == -math.inf else (value, 1) for row in rows for value in row]
        tensors = {name: ("F32", [len(rows), 6], [pair[i] for pair in numbers]) for i, name in enumerate(("x", "y"))}
        text = ORDER.replace("loss float(", "loss 0.0 * float(").replace("+ 0.0 * w", "+ logsumexp(z, over = entry) + 0.0 * w")
        for ranks in (1, 4):
            for row, found in zip(rows, self.losses(text, tensors, *settings(parts=ranks)), strict=True):
                most = struct.unpack("f", struct.pack("f", max(row)))[0]
                self.assert_close(found, most + math.log(sum(math.exp(value - max(row)) for value in row)), 1e-12, f"{row}")


class StopTest(DriverTest):
    def test_what_is_stopped_stays(self):
        """The parameter before the stop does not change, the other one does; no plan changes that."""
        (self.folder / "m.npar").write_text(STOPPED)
        for plan in ({}, {"tp": 2, "dp": 2}):
            checks = {check["name"]: check for check in self.npar_json("verify", "m.npar", *settings(plan))["checks"]}
            self.assertIn("left out", checks["finite differences"]["detail"])
            for steps in (1, 3):
                self.npar("run", "m.npar", "--random-data", "--steps", steps, "--output", f"{steps}.safetensors", *settings(plan))
            one, three = (safetensors_file.read(self.folder / f"{steps}.safetensors") for steps in (1, 3))
            self.assertEqual(list(one["kept"].values), list(three["kept"].values))
            self.assertNotEqual(list(one["w"].values), list(three["w"].values))


if __name__ == "__main__":
    unittest.main()
