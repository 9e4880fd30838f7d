"""Two ways to write the same model give the same losses: parts of sums that are products, and operands with their axes in other orders."""

import json
import pathlib

from driver import DriverTest, settings

HERE = pathlib.Path(__file__).resolve().parent


class PartsTest(DriverTest):
    def losses(self, text, **chosen):
        self.npar("run", text, "--plan", "none", "--random-data", "--steps", 4, "--set", "compute=f64", *settings(chosen), "--log", "log.jsonl", "--quiet")
        return [json.loads(line)["loss"] for line in (self.folder / "log.jsonl").read_text().splitlines()]

    def check(self, text, name, one, other, plans):
        first, second = (self.losses(text, **{name: word}) for word in (one, other))
        self.assertGreater(len(set(first)), 1)
        for a, b in zip(first, second):
            self.assert_close(a, b, 1e-12)
        for chosen in plans:
            with self.subTest(**chosen):
                report = self.npar_json("verify", text, *settings(chosen), code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_parts_that_are_products(self):
        self.check(HERE / "parts.npar", "written", "parts", "entries", ({"dp": 2, "tp": 2}, {"dp": 1, "tp": 2, "cp": 2}))

    def test_axes_in_other_orders(self):
        self.check(HERE / "orders.npar", "order", "other", "usual", ({"dp": 2, "tp": 2}, {"dp": 1, "tp": 1, "cp": 2, "way": "ring"}))
