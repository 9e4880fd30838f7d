"""Only linear operations between a table and a head split by `vocab -> tp`: the gradient of the rows stays partial, their indices are whole."""

import pathlib
import unittest

from driver import DriverTest, settings

TEXT = pathlib.Path(__file__).resolve().parent / "linear.npar"


class LinearTest(DriverTest):
    def test_equal_to_one_rank(self):
        for chosen in (
            {"tp": 2},
            {"tp": 4},
            {"tp": 2, "dp": 2},
            {"tp": 4, "vocab": 7},
            {"tp": 2, "sequence": "true"},
            {"tp": 4, "vocab": 7, "sequence": "true"},
            {"tp": 2, "head_only": "true", "sequence": "true"},
            {"tp": 2, "recompute": '["head", "table"]'},
        ):
            with self.subTest(**chosen):
                report = self.npar_json("verify", TEXT, *settings(chosen), code=None)
                self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_indices_are_never_sent(self):
        """The rows' gradient, partial over `tp`, goes to the split of the indices, not these to the gradient."""
        chosen = settings(head_only="true", sequence="true")
        for line in self.npar("compile", TEXT, *chosen, "--emit=dist").output.splitlines():
            if "= dist." in line:
                self.assertNotIn("xi32", line)


if __name__ == "__main__":
    unittest.main()
