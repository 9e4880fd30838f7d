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
}


class HalosTest(DriverTest):
    def test_plans(self):
        for name, plan in sample(PLANS, "a last row alone", "one rank has nothing", "both axes, padded", "channels").items():
            with self.subTest(plan=name):
                self.npar("verify", HERE / "halos.npar", *settings(plan))

    def test_product_of_mesh_axes(self):
        """The ranks of two mesh axes are one ring."""
        text = (HERE / "halos.npar").read_text()
        (self.folder / "m.npar").write_text(text.replace('"row*" pad    -> sp', '"row*" pad    -> sp, cp').replace('        "column*" pad -> cp\n', ""))
        self.npar("verify", "m.npar", *settings(sp=2, cp=2))

    def entries(self, **plan):
        """Collectives of windows, of the only class of ranks."""
        shown = self.npar_json("inspect", "why", HERE / "halos.npar", *settings(plan))
        (part,) = shown["classes"]
        return [entry for entry in part["why"] if "'windows'" in entry["cause"]]

    def test_what_is_sent(self):
        """Rows of 2 samples of 9 columns and 2 channels in f32, between 2 ranks of 5 rows: the window of 7 needs 3 from each side."""


if __name__ == "__main__":
    unittest.main()
