"""Losses over groups of consecutive samples: against their definition, under plans that divide the batch in other ways."""

import json
import math
import pathlib
import random

from driver import DriverTest, settings

import safetensors_file  # of the reference

TEXT = pathlib.Path(__file__).resolve().parent / "sample_groups.npar"
SUMS = TEXT.with_name("step_sums.npar")
BATCH, LENGTH, WIDTH, EXPERTS, CHOSEN, TOGETHER = 8, 4, 5, 4, 2, 4


def probabilities(gate, row):
    scores = [math.exp(sum(g * e for g, e in zip(gate[i], row))) for i in range(EXPERTS)]
    return [score / sum(scores) for score in scores]


def losses(gate, value, x, y):
    """The three losses of sample_groups.npar by their definition."""
    p = [[probabilities(gate, row) for row in sample] for sample in x]
    fit = [(sum(a * b for a, b in zip(p[b][s], value)) - y[b][s]) ** 2 for b in range(BATCH) for s in range(LENGTH)]
    balance = 0.0
    for start in range(0, BATCH, TOGETHER):
        rows = [row for sample in p[start : start + TOGETHER] for row in sample]
        best = [sorted(range(EXPERTS), key=lambda i, row=row: (-row[i], i))[:CHOSEN] for row in rows]
        balance += sum(
            EXPERTS * sum(i in chosen for chosen in best) / (len(rows) * CHOSEN) * sum(row[i] for row in rows) / len(rows) for i in range(EXPERTS)
        ) / (BATCH / TOGETHER)
    rows = [row for sample in p for row in sample]
    even = sum((sum(row[i] for row in rows) / len(rows)) ** 3 for i in range(EXPERTS))
    return {"fit": sum(fit) / len(fit), "balance": balance, "even": even}


def norm(weights, gate, value, x, y, step=1e-5):
    """The norm of the gradient of the weighted sum, by central differences."""
    squares = 0.0
    for table in [*gate, value]:
        for i, kept in enumerate(table):
            sides = []
            for table[i] in (kept - step, kept + step):
                found = losses(gate, value, x, y)
                sides.append(sum(weight * found[name] for name, weight in weights.items()))
            table[i] = kept
            squares += ((sides[1] - sides[0]) / (2 * step)) ** 2
    return math.sqrt(squares)


class SampleGroupsTest(DriverTest):
    def setUp(self):
        super().setUp()
        draws = random.Random(5)

        def table(*shape):
            # Multiples of 1/64: the file's float32 hold them exactly.
            return round(draws.gauss(0, 1) * 64) / 64 if not shape else [table(*shape[1:]) for _ in range(shape[0])]

        def flat(values):
            return [e for value in values for e in flat(value)] if isinstance(values, list) else [values]

        self.gate, self.value = table(EXPERTS, WIDTH), table(EXPERTS)
        self.x, self.y = table(BATCH, LENGTH, WIDTH), table(BATCH, LENGTH)
        write = safetensors_file.write_values
        write(self.folder / "data.safetensors", {"x": ("F32", [BATCH, LENGTH, WIDTH], flat(self.x)), "y": ("F32", [BATCH, LENGTH], flat(self.y))})
        write(self.folder / "weights.safetensors", {"gate": ("F32", [EXPERTS, WIDTH], flat(self.gate)), "value": ("F32", [EXPERTS], self.value)})

    def step(self, *arguments, text=TEXT):
        files = ["--data", "data.safetensors", "--data-order", "sequential", *(["--weights", "weights.safetensors"] if text == TEXT else [])]
        self.npar("run", text, *arguments, *files, "--steps", 1, "--quiet", "--log", "log.jsonl")
        return json.loads((self.folder / "log.jsonl").read_text())

    def test_by_definition(self):
        """In one micro-batch and in two, on one rank and on four: the groups are those of the batch."""
        weights = {"fit": 1, "balance": 0.5, "even": 0.25}
        for plan, changed in [("alone", {}), ("spread", {}), ("both", {}), ("alone", {"whole": "false", "micro": 4}), ("spread", {"whole": "false", "micro": 1})]:
            with self.subTest(plan=plan, **changed):
                names = list(weights)[: 2 if changed else 3]
                expected = losses(self.gate, self.value, self.x, self.y)
                found = self.step("--plan", plan, *settings(changed))
                for name in names:
                    self.assertAlmostEqual(found["losses"][name], expected[name], delta=1e-12)
                wanted = norm({name: weights[name] for name in names}, self.gate, self.value, self.x, self.y)
                self.assertAlmostEqual(found["grad_norm"], wanted, delta=1e-8)

    def test_verify(self):
        for plan, changed in [("both", {}), ("spread", {"whole": "false", "micro": 1})]:
            with self.subTest(plan=plan):
                report = self.npar_json("verify", TEXT, "--plan", plan, *settings(changed), code=None)
                self.assertTrue(report.get("ok"), report)

    def test_all_forward_passes_first(self):
        """GPipe with four micro-batches: choices are counted over all samples, and each stage adds its own summand of the loss."""
        expected = self.step("--plan", "alone", text=SUMS)
        for changed in [{}, {"mesh.pp": 1, "micro": 2}]:
            with self.subTest(**changed):
                found = self.step("--plan", "stages", *settings(changed), text=SUMS)
                for name in ("fit", "even"):
                    self.assertAlmostEqual(found["losses"][name], expected["losses"][name], delta=1e-12)
                self.assertAlmostEqual(found["grad_norm"], expected["grad_norm"], delta=1e-12)
        report = self.npar_json("verify", SUMS, "--plan", "stages", "--set", "recompute=block", code=None)
        self.assertTrue(report.get("ok"), report)

    def test_refused(self):
        """A group that a micro-batch cuts, and a statistic of the batch in several micro-batches."""
        error = self.npar("compile", TEXT, "--plan", "alone", "--set", "micro=2", "--set", "whole=false", code=1).error
        self.assertIn("a group of 4 samples does not fit into one micro-batch, which has 2 samples on all ranks together", error)
        self.assertIn("make 'micro' 2 times as large", error)
        error = self.npar("compile", TEXT, "--plan", "spread", "--set", "micro=1", code=1).error
        self.assertIn("the gradient of a sum over all samples of a step would have to reach other micro-batches", error)
        error = self.npar("compile", SUMS, "--plan", "stages", "--set", "schedule=1f1b", code=1).error
        self.assertIn("schedule '1f1b' begins with the backward pass of micro-batch 0 before the forward pass of", error)
        error = self.npar("compile", TEXT, "--plan", "alone", "--set", "together=3", "--set", "whole=false", code=1).error
        self.assertIn("the batch of 8 has no micro-batches of which 3 is a divisor: change the batch", error)

    def test_evaluation(self):
        """A loss over several samples is left out; the losses of each sample stay, whatever the number of samples in a micro-batch."""
        result = self.npar(
            "eval", TEXT, "--plan", "alone", "--set", "micro=1", "--data", "data.safetensors", "--weights", "weights.safetensors", "--json"
        )
        found = json.loads(result.output)
        self.assertEqual(list(found["losses"]), ["fit"])
        self.assertIn("loss 'balance' is left out of the evaluation: it is computed from several samples together", result.error)
        self.assertAlmostEqual(found["losses"]["fit"], losses(self.gate, self.value, self.x, self.y)["fit"], delta=1e-12)
