"""What is counted is called by its name: tokens or samples, training steps or steps, what divides, which ranks; and columns never touch."""

import re
import unittest

from driver import ROOT, DriverTest, mesh, settings
import safetensors_file  # of the reference, as the driver has it on the path

BERT = {"vocab": 61, "context": 16, "width": 16, "heads": 2, "depth": 1, "length": 8, "batch": 4}

# A curve through points: a loss that is no cross entropy.
CURVE = """
import "Linear"
model Curve(points = 6) {
    axis batch, point = points, one = 1
    input x: f32[batch, point]
    input y: f32[batch, one]
    f = Linear(point, one)
    loss squared_error(f(x), y)
}
train base for Curve { batch 4 optimizer Sgd(lr = 0.1) }
data points for Curve { file "points.safetensors" x, y split 0.5, 0.25, 0.125 seed 1 }
"""


class UnitsTest(DriverTest):
    def curve(self):
        (self.folder / "curve.npar").write_text(CURVE)
        x, y = [i % 17 / 16 for i in range(40 * 6)], [i % 5 / 4 for i in range(40)]
        safetensors_file.write_values(self.folder / "points.safetensors", {"x": ("F32", [40, 6], x), "y": ("F32", [40, 1], y)})

    def test_speeds(self):
        """A model with one label per text counts samples; a model with a target per token counts tokens."""
        for task, unit in (("classify", "samples"), ("masked", "tokens")):
            with self.subTest(task=task):
                said = self.npar("run", "bert", "--plan", "none", "--random-data", "--steps", 1, *settings(BERT, task=task))
                self.assertRegex(said.output, rf"\d {unit}/s, ")
                self.assertIn(f" {unit}/s", said.error)
        self.assertIn("tokens_per_second", self.npar_json("run", "mlp", "--plan", "none", "--random-data", "--steps", 1))

    def test_what_a_run_does_not_read(self):
        self.curve()
        run = ["run", "curve.npar", "--steps", 1]
        rest = "the 12.5 % that are in no part"
        for flags, unread in (
            ([], f"part 2 of 3 (25 %) and part 3 of 3 (12.5 %) and {rest} of the data split; --eval-every N evaluates the last part"),
            (["--eval-every", 1], f"part 2 of 3 (25 %) and {rest} of the data split"),
            (["--eval-every", 1, "--eval-data", "points.safetensors"], f"part 2 of 3 (25 %) and part 3 of 3 (12.5 %) and {rest} of the data split: it evaluates on --eval-data"),
        ):
            with self.subTest(flags=flags):
                self.assertIn(f"npar: this run does not read {unread}\n", self.npar(*run, *flags).error)
        self.assertNotIn("does not read", self.npar("run", "mlp", "--random-data", "--steps", 1, "--plan", "none").error)

    def test_what_trains_nothing_has_no_training_steps(self):
        plan = ["--plan", "three_d", *settings(mesh(dp=1, pp=2, tp=2), vocab=64, width=32, heads=4, depth=4, length=16)]
        for view, flags in ([], []), (["why"], []), (["hosts"], ["--hosts", 2, "--per-host", 2]):
            with self.subTest(view=view):
                trained, evaluated = (self.npar("inspect", *view, "gpt2", *plan, *flags, *more).output for more in ([], ["--for", "eval"]))
                self.assertIn("training step", trained)
                self.assertNotIn("training step", evaluated)
                self.assertRegex(evaluated, r"per step\b")

    def test_batches(self):
        """Ranks share a batch only where some axis divides it."""
        alone = self.npar("inspect", "mlp", "--plan", "none", *settings(batch=8)).output
        self.assertIn("batch       8 samples: 1 micro-batch of 8\n", alone)
        self.assertIn("\nrank 0\n", alone)
        shared = self.npar("inspect", "mlp", *settings(mesh(dp=2, tp=2), batch=8)).output
        self.assertRegex(shared, r"batch       8 samples: \d+ micro-batch(es)? of \d on each data-parallel rank\n")

    def test_columns_stay_apart(self):
        """Mesh axes that a product cuts have long names: they end before the next column begins."""
        llama = {"vocab": 64, "width": 32, "heads": 4, "kv_heads": 2, "depth": 2, "length": 16}
        text = self.npar("inspect", "why", "llama", "--plan", "three_d", *settings(llama, mesh(dp=1, pp=1, tp=4))).output
        self.assertRegex(text, r"over tp\.0,tp\.1 +(forward|backward|update)")
        self.assertNotRegex(text, r"tp\.1[a-z]")

    def test_tables_are_made_of_cells(self):
        """In no format string do two padded fields touch: TableRow keeps cells apart whatever they hold."""
        found = []
        for folder in ("tools", "engine", "compiler", "dsl"):
            for path in sorted((ROOT / folder).rglob("*.cpp")):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    if re.search(r"\{:<[^}]*\}\{|\}\{:>[^}]*\}", line):
                        found.append(f"{path.relative_to(ROOT)}:{number}")
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
