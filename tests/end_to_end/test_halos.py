"""Windows under plans that split the axes they walk: equal to one rank, and ranks exchange only what they lack."""

import pathlib
import unittest

from driver import DriverTest, sample, settings

HERE = pathlib.Path(__file__).resolve().parent
# A window of seven rows on shards of one to four, strides of two from odd rows on, shards that are padded or empty.
PLANS = {
    "two ranks": {"sp": 2},
    "a last row alone": {"sp": 3},
    "two hops": {"sp": 4},
    "one rank has nothing": {"sp": 8},
    "one row each": {"sp": 6, "size": 6},
    "both axes": {"sp": 2, "cp": 2, "size": 8},
    "both axes, padded": {"sp": 3, "cp": 2, "size": 10},
    "columns": {"cp": 4, "size": 9},
    "no padding": {"sp": 2, "size": 16},
    "channels": {"tp": 2, "sp": 2, "size": 14},
    "samples": {"dp": 2, "sp": 2},
    "samples, channels, both axes": {"dp": 2, "tp": 2, "sp": 2, "cp": 2, "size": 8},
    "16-bit floats": {"sp": 3, "cp": 2, "size": 7, "compute": "bf16"},
}


class HalosTest(DriverTest):
    def test_plans(self):
        quick = ("a last row alone", "two hops", "one rank has nothing", "both axes", "both axes, padded", "columns", "channels", "samples")
        for name, plan in sample(PLANS, *quick).items():
            with self.subTest(plan=name):
                self.npar("verify", HERE / "halos.npar", *settings(plan))

    def test_product_of_mesh_axes(self):
        """The ranks of two mesh axes are one ring."""
        text = (HERE / "halos.npar").read_text()
        (self.folder / "m.npar").write_text(text.replace('"row*" pad    -> sp', '"row*" pad    -> sp, cp').replace('        "column*" pad -> cp\n', ""))
        self.npar("verify", "m.npar", *settings(sp=2, cp=2))

    def causes(self, **plan):
        """The collectives of windows by their cause: kind, and bytes that a rank sends per step."""
        (part,) = self.npar_json("inspect", "why", HERE / "halos.npar", *settings(plan))["classes"]
        return {(one["phase"], one["cause"]): (one["kind"], one["sent_bytes"]) for one in part["why"] if "'windows'" in one["cause"]}

    def test_what_is_sent(self):
        """Two ranks of five rows: a window of seven needs three rows of the other, one entry with stride two none."""
        causes = self.causes(sp=2, size=10)
        self.assertEqual({kind for kind, _ in causes.values()}, {"permute"})
        row = 9 * 4 * 4  # columns, samples of two micro-batches, bytes
        text = "'windows' needs entries of '{}' from other pieces, split by rule '{} pad -> sp'"
        self.assertEqual(causes[("forward", text.format("row", "row1"))], ("permute", 3 * 2 * row))  # of two channels
        self.assertEqual(causes[("backward", text.format("row1", "row"))], ("permute", 3 * row))
        for phase, axes in [("forward", ("row", "row3")), ("backward", ("row3", "row"))]:
            self.assertNotIn((phase, text.format(*axes)), causes)

    def test_what_is_gathered(self):
        """Two ranks of two rows: three rows of the other are all that it has."""
        gathered = {cause for (_, cause), (kind, _) in self.causes(sp=2, size=4).items() if kind == "all_gather"}
        text = "'windows' wants '{0}' whole on every rank of 'sp', whose ranks split this operation by rule '{1} pad -> sp': "
        text += "a piece of '{1}' needs most of it"
        self.assertLessEqual({text.format("row", "row1"), text.format("row1", "row")}, gathered)
        self.npar("verify", HERE / "halos.npar", *settings(sp=2, size=4))


if __name__ == "__main__":
    unittest.main()
