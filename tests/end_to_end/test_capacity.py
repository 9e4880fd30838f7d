"""Experts with a limited number of rows: equal to masks over all pairs of choices, under every plan; what is refused and warned of."""

import json
import pathlib
import unittest

from driver import LONG, DriverTest, safetensors_file, settings

FILE = pathlib.Path(__file__).resolve().parent / "capacity.npar"
FORMS = {
    "positions": {},
    "choices": {"order": "choice"},
    "parts": {"part": 4, "rooms": 1},
    "parts of choices": {"part": 8, "order": "choice", "rooms": 2},
    "one choice": {"chosen": 1, "rooms": 2},
}
PLANS = [
    ("positions", {"mesh.dp": 2, "mesh.ep": 2, "mesh.sp": 2}),
    ("parts of choices", {"mesh.ep": 4, "mesh.tp": 2, "again": "block"}),
]
MORE = [
    ("choices", {"mesh.sp": 4, "mesh.pp": 2}),
    ("choices", {"mesh.dp": 4, "mesh.tp": 2}),
    ("parts", {"mesh.sp": 8, "mesh.ep": 2}),
    ("one choice", {"mesh.ep": 4, "mesh.pp": 2}),
    ("one choice", {"mesh.sp": 2, "mesh.ep": 2, "mesh.dp": 2}),
]


class CapacityTest(DriverTest):
    def steps(self, form, dense):
        self.npar("run", FILE, "--plan", "none", *settings(FORMS[form], dense=dense, micro=2, compute="f64"), "--random-data", "--steps", 3,
                  "--log", "log.jsonl", "--output", "out.safetensors")  # fmt: skip
        log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        return log, safetensors_file.read(self.folder / "out.safetensors")

    def test_equal_to_masks(self):
        """In float64: losses, norms and parameters after three steps."""
        for form in FORMS:
            with self.subTest(form):
                self.assert_equal_runs(self.steps(form, "false"), self.steps(form, "true"))

    def test_any_plan(self):
        for form, plan in PLANS + (MORE if LONG else []):
            with self.subTest(form, **plan):
                report = self.npar_json("verify", FILE, "--plan", "any", *settings(FORMS[form], plan), code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_dropped_share(self):
        """Without a limit nothing is dropped; without a room everything is."""
        self.npar("run", FILE, "--plan", "none", "--random-data", "--steps", 1, "--output", "out.safetensors")
        tokens = [(7 * i) % 31 for i in range(8 * 16)]
        safetensors_file.write_values(self.folder / "data.safetensors", {name: ("I32", [8, 16], tokens) for name in ("tokens", "targets")})
        for rooms, share in ((32, 0.0), (0, 1.0)):
            values = self.npar_json("eval", FILE, "--weights", "out.safetensors", "--data", "data.safetensors", *settings(rooms=rooms))
            self.assertEqual(values["metrics"]["dropped"], share)

    def test_later_choices(self):
        """In the order of choices a position depends on later ones: npar warns, and generates nothing."""
        warning = self.npar("run", FILE, "--plan", "none", *settings(order="choice"), "--random-data", "--steps", 1, "--output", "out.safetensors").error
        self.assertIn('the order "choice" is not causal', warning)
        generate = lambda code, **more: self.npar("generate", FILE, *settings(**more), "--weights", "out.safetensors", "--prompt-tokens", "1,2,3", "--count", 4, code=code)  # noqa: E731
        self.assertIn("not known during generation", generate(1, order="choice").error)
        self.assertIn("the whole sequence", generate(0).error)


if __name__ == "__main__":
    unittest.main()
