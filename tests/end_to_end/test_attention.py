"""Attention in general: keys of another sequence, conditions, biases, caps and dropped probabilities, under every plan as under one rank, against PyTorch."""

import json
import pathlib
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import attention_data  # of the reference

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE / "attention.npar"
PLANS = [
    {"cp": 2, "tp": 2},
    {"cp": 2, "dp": 2, "zero": 3},
    {"pp": 2, "again": "block", "rate": 0.3},
    {"cp": 4, "rate": 0.3},
]
MORE = [
    {"cp": 2, "dp": 2, "tp": 2, "zero": 3},
    {"cp": 2, "way": "gather", "dp": 2, "zero": 2},
    {"cp": 4, "way": "gather", "rate": 0.3},
    {"pp": 2, "cp": 2, "rate": 0.3, "again": "block"},
    {"tp": 2, "compute": "bf16", "rate": 0.1},
    {"cp": 2, "compute": "f32"},
]

# One causal sequence in zigzag order, heads in groups: a window, a slope, a table, and documents that do not see each other.
ZIGZAG = """
import "Embedding"
import "Linear"
model Zigzag(vocab = 13, width = 8, heads = 4, groups = 2, length = 16, window = 6, rate = 0.2) {
    axis batch, seq = length, key = length, vocab, embed = width, group = heads / groups, member = groups
    axis head = group * member, feature = width / heads, distance = 8
    input tokens, targets: i32[batch, seq]
    param slope: [group, member] = normal(0.5)
    param far: [distance, group] = normal(0.5)
    table = Embedding(vocab, embed)
    q = Linear(embed, [group, member, feature])
    k = Linear(embed, [group, feature])
    v = Linear(embed, [group, feature])
    o = Linear([group, member, feature], embed)
    x = table(tokens)
    document = cumsum(int(tokens == 0), over = seq)
    back = index(seq) - index(key)
    x = x + o(attention(q(x), k(x), v(x), over = seq, keys = key, causal = true, cap = 3.0, dropout = rate,
                        where = document == rename(document, from = seq, to = key) and back < window,
                        bias = slope * float(-back) + gather(far, back, over = distance) * sin(float(index(key)))))
    loss cross_entropy(project(x, table.weight), targets, over = vocab)
}
train base for Zigzag { batch 4 optimizer Sgd(lr = 0.1) }
plan divided(cp = 1, tp = 1, dp = 1) for Zigzag {
    mesh dp, cp, tp
    micro 2
    split { batch -> dp seq -> cp by WAY group, vocab pad -> tp }
}
"""


class PlansTest(DriverTest):
    """In float64, on random values of all inputs."""

    def verified(self, *arguments):
        report = self.npar_json("verify", *arguments, code=None)
        self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]] or report)

    def test_equal_to_one_rank(self):
        for chosen in PLANS + (MORE if LONG else []):
            with self.subTest(**chosen):
                self.verified(MODEL, "--plan", "divided", *settings(chosen))
        self.verified(MODEL, "--plan", "turned", *settings(rate=0.3))

    def test_zigzag(self):
        for way in ("ring(zigzag)", "gather", "ring") if LONG else ("ring(zigzag)",):
            (self.folder / "zigzag.npar").write_text(ZIGZAG.replace("WAY", way))
            self.verified("zigzag.npar", *settings(cp=2, tp=2))


class ReferenceTest(DriverTest):
    def test_against_pytorch(self):
        """Losses and gradient norms of three steps in float64, then biases (tests/reference/attention_reference.py); two samples have no key."""
        safetensors_file.write_values(self.folder / "data.safetensors", attention_data.data())
        recorded = json.loads((REFERENCE / "attention_recorded.json").read_text())
        first = {name: safetensors_file.Tensor(shape, values, "F64") for name, (shape, values) in attention_data.weights().items()}
        safetensors_file.write(self.folder / "first.safetensors", first)
        for plan in ({}, {"cp": 2, "tp": 2}):
            arguments = ["--plan", "divided", *settings(plan, compute="f64"), "--data", "data.safetensors", "--data-order", "sequential"]
            self.npar("run", MODEL, *arguments, "--weights", "first.safetensors", "--steps", 3, "--log", "log.jsonl", "--output", "last.safetensors")
            for line, expected in zip((self.folder / "log.jsonl").read_text().splitlines(), recorded["steps"], strict=True):
                found = json.loads(line)
                for what in ("loss", "grad_norm"):
                    self.assert_close(found[what], expected[what], 1e-9, f"{what} of step {expected['step']} under {plan}")
            last = safetensors_file.read(self.folder / "last.safetensors")
            for name, values in recorded["final"].items():
                for i, (found, expected) in enumerate(zip(last[name].values, values, strict=True)):
                    self.assertAlmostEqual(found, expected, delta=1e-9, msg=f"{name}[{i}] under {plan}")


class BitsTest(DriverTest):
    def test_same_bits(self):
        """Stages, recomputation and threads split no sum: the same probabilities are dropped, and parameters after three steps are those of
        one rank."""
        run = lambda plan, *more: self.npar_json("run", MODEL, "--plan", "divided", "--random-data", "--steps", 3, *settings(plan, rate=0.3), *more)["parameter_hash"]  # noqa: E731
        alone = run({})
        for plan, *more in (({}, "--threads", 1), ({"pp": 2}, "--threads", 3), ({"again": "block"},)):
            self.assertEqual(run(plan, *more), alone, plan)


class MemoryTest(DriverTest):
    def test_no_matrix_of_positions(self):
        """What is made of positions is made block by block: memory grows with the sequence, not with its square."""

        def arena(length):
            report = self.npar_json("inspect", MODEL, "--plan", "divided", *settings(length=length, batch=2, rate=0.1))
            return max(part["arena_bytes"] for part in report["classes"])

        self.assertLess(arena(2048), 2.1 * arena(1024))



if __name__ == "__main__":
    unittest.main()
