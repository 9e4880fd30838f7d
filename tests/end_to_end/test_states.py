"""States of a model and numbers of the training log: the same under every plan as an independent computation from whole batches gives, saved and resumed, left alone by
steps that do not count."""

import json
import pathlib
import unittest

from driver import LONG, REFERENCE, DriverTest, safetensors_file, settings

import states_data  # of the reference

MODEL = pathlib.Path(__file__).resolve().parent / "states.npar"
BIAS = "moe.gate.e_score_correction_bias"
PLANS = {
    "dp, ep": {"mesh.dp": 2, "mesh.ep": 2, "zero": 3, "again": "block"},
    "pp, tp": {"mesh.pp": 2, "mesh.tp": 2, "schedule": "zb_h1"},
    "sp": {"mesh.sp": 2, "mesh.ep": 2, "sequences": 1, "again": "block"},
    "zb_v": {"mesh.pp": 2, "schedule": "zb_v", "depth": 4},
    "padded": {"mesh.ep": 3, "experts": 5, "batch": 12},
    "bf16": {"mesh.dp": 2, "compute": "bf16"},
    "fp16": {"mesh.ep": 2, "compute": "fp16"},
}
SMALL = """import "Embedding"
model Counting(vocab = 16, width = 4, length = 4) {{
    axis batch, seq = length, vocab, embed = width
    input tokens, targets: i32[batch, seq]
    state seen: [embed] = ones
    table = Embedding(vocab, embed)
    x = table(tokens)
    update seen = seen + sum(float(tokens), over = [batch, seq])
    log total = sum(tokens, over = [batch, seq])
    log share = mean(float(tokens), over = [batch, seq])
    loss {loss}
}}
train base for Counting {{ batch 4 optimizer Sgd(lr = {rate}) }}
plan two for Counting {{ mesh dp = 2 micro 1 split {{ batch -> dp }} }}
"""


class StatesTest(DriverTest):
    def write_data(self):
        safetensors_file.write_values(self.folder / "data.safetensors", states_data.data())
        first = {name: safetensors_file.Tensor(shape, values, "F64") for name, (shape, values) in states_data.weights().items()}
        safetensors_file.write(self.folder / "first.safetensors", first)

    def train(self, *more, steps=states_data.STEPS, **chosen):
        """The lines of the log, the tensors afterwards, the summary."""
        summary = self.npar_json("run", MODEL, "--plan", "shared", *settings(chosen), "--weights", "first.safetensors", "--data", "data.safetensors",
                                 "--data-order", "sequential", "--steps", steps, "--log", "log.jsonl", "--output", "out.safetensors", *more)  # fmt: skip
        log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return log, {name: tensor.values for name, tensor in safetensors_file.read(self.folder / "out.safetensors").items()}, summary

    def test_against_whole_batches(self):
        """tests/reference/states_reference.py, in float64; four micro-batches and more."""
        self.write_data()
        recorded = json.loads((REFERENCE / "states_recorded.json").read_text())
        for plan in [{}, PLANS["dp, ep"], PLANS["pp, tp"]] + ([PLANS["sp"]] if LONG else []):
            with self.subTest(**plan):
                log, tensors, _ = self.train(**{**plan, "compute": "f64"})
                for step, line in enumerate(log):
                    self.assert_close(line["loss"], recorded["losses"][step], 1e-9, f"loss of step {step}")
                    for layer, loads in enumerate(recorded["loads"][step]):
                        name = f"layers.{layer}.moe."
                        self.assertEqual([line["logged"][f"{name}load.{i}"] for i in range(len(loads))], loads)
                        self.assertEqual(line["logged"][name + "dead"], loads.count(0))
                for name, values in recorded["states"].items():
                    for found, expected in zip(tensors[name], values, strict=True):
                        self.assertAlmostEqual(found, expected, delta=1e-12, msg=name)

    def test_equal_bits_under_every_plan(self):
        """Counts are exact, so the bias has the same bits whatever a plan does with sums of floats; and nothing that is recomputed counts twice."""
        self.write_data()
        bits = lambda **plan: [self.train(**plan)[1][f"layers.{layer}.{BIAS}"] for layer in range(states_data.DEPTH)]  # noqa: E731
        alone = bits()
        for plan in (PLANS["dp, ep"], PLANS["pp, tp"], PLANS["sp"]):
            with self.subTest(**plan):
                self.assertEqual(bits(**plan), alone)

    def test_verify(self):
        for name, plan in PLANS.items() if LONG else [(name, PLANS[name]) for name in ("dp, ep", "zb_v", "bf16")]:
            with self.subTest(name):
                report = self.npar_json("verify", MODEL, "--plan", "shared", *settings(plan), code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_resumed_under_another_plan(self):
        self.write_data()
        saving = ["--checkpoint", "saved", "--checkpoint-every", 4]
        whole = self.train(compute="f64", steps=8)
        self.train(*saving, compute="f64", steps=4)
        same = self.train(*saving, "--resume", compute="f64", steps=8)
        self.assertEqual(same[2]["state_hash"], whole[2]["state_hash"])
        self.assertEqual(same[2]["parameter_hash"], whole[2]["parameter_hash"])
        for path in (self.folder / "saved").glob("step-8"):
            self.npar("checkpoint", "verify", path)
        self.train("--checkpoint", "other", "--checkpoint-every", 4, compute="f64", steps=4)
        moved = self.train("--checkpoint", "other", "--checkpoint-every", 4, "--resume", steps=8, **{**PLANS["dp, ep"], "compute": "f64"})
        for name, values in whole[1].items():
            self.assertLess(max(abs(a - b) for a, b in zip(moved[1][name], values, strict=True)), 1e-11, name)

    def test_frozen(self):
        self.write_data()
        (self.folder / "frozen.npar").write_text(f'import "{MODEL.with_suffix("")}"\n'
                                                 'train still for Balancing { batch 16 optimizer AdamW(lr = 1e-2) freeze "*correction_bias" }\n')  # fmt: skip
        self.npar("run", "frozen.npar", "--train", "still", "--plan", "none", "--weights", "first.safetensors", "--data", "data.safetensors", "--steps", 3,
                  "--output", "out.safetensors")  # fmt: skip
        found, first = safetensors_file.read(self.folder / "out.safetensors"), states_data.weights()
        self.assertEqual(list(found[f"layers.0.{BIAS}"].values), first[f"layers.0.{BIAS}"][1])
        self.assertNotEqual(list(found["layers.0.moe.average"].values), first["layers.0.moe.average"][1])

    def small(self, loss="cross_entropy(project(x, table.weight), targets, over = vocab)", rate="0.1", more=""):
        (self.folder / "m.npar").write_text(SMALL.format(loss=loss, rate=rate) + more)

    def count(self, plan, *more, steps=1):
        self.npar("run", "m.npar", "--plan", plan, "--steps", steps, "--log", "log.jsonl", "--output", "out.safetensors", *more)
        line = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()][-1]
        return line["logged"], safetensors_file.read(self.folder / "out.safetensors")["seen"].values, line

    def test_samples_that_fill_up_do_not_count(self):
        block = 'data d for Counting { file "d.safetensors" tokens, targets sequential pad last }\n'
        self.small("cross_entropy(project(x, table.weight), targets, over = vocab, ignore = -100)", more=block)
        tokens = [i % 15 + 1 for i in range(24)]  # six samples: the second batch has two
        safetensors_file.write_values(self.folder / "d.safetensors", {name: ("I32", [6, 4], tokens) for name in ("tokens", "targets")})
        for plan in ("none", "two"):
            logged, seen, _ = self.count(plan, steps=2)
            self.assertEqual(logged["total"], sum(tokens[16:]))
            self.assertAlmostEqual(logged["share"], sum(tokens[16:]) / 8, delta=1e-6)
            self.assertEqual(list(seen), [1.0 + sum(tokens)] * 4)

    def test_a_step_that_does_not_count(self):
        """Its gradients are not finite: the state keeps its value, the log has the numbers."""
        self.small("log(sum(0.0 * x, over = embed)) * sum(x, over = embed)")
        tokens = [3] * 16
        safetensors_file.write_values(self.folder / "d.safetensors", {name: ("I32", [4, 4], tokens) for name in ("tokens", "targets")})
        logged, seen, line = self.count("none", "--data", "d.safetensors", "--nonfinite", "continue")
        self.assertTrue(line["skipped"])
        self.assertEqual(logged["total"], 48)
        self.assertEqual(list(seen), [1.0] * 4)

    def test_a_state_that_is_not_finite(self):
        """The end of the run finds it if no loss does; messages call it a state."""
        for loss, said in (
            ("cross_entropy(project(x, table.weight), targets, over = vocab)", "state 'seen' is not finite after the last of 3 steps; no weights are written"),
            ("cross_entropy(project(x * seen, table.weight), targets, over = vocab)", "training step 2: state 'seen' is not finite, after its update (loss "),
        ):
            self.small(loss)
            text = (self.folder / "m.npar").read_text().replace("update seen = seen + ", "update seen = 1e30 * (seen + 1.0) * ")
            (self.folder / "m.npar").write_text(text)
            self.assertIn(said, self.npar("run", "m.npar", "--plan", "none", "--random-data", "--steps", 3, "--quiet", code=4).error)


if __name__ == "__main__":
    unittest.main()
