"""Gradients reduced in buckets: fewer collectives of the same bytes and bits, launched while the last backward still runs."""

import re
import unittest

import volume
from driver import SMALL, DriverTest, settings

PLAN = """import "gpt2"

plan p(pp = 1, tp = 1, schedule = "1f1b", size = 0) for Gpt2 {
    mesh node = 2, dp = 2, pp, tp
    micro 1
    split {
        batch                   -> node, dp
        head, hidden, vocab pad -> tp
        h                       -> pp by schedule
    }
    bucket size kB
}
"""


class BucketTest(DriverTest):
    def setUp(self):
        super().setUp()
        (self.folder / "plan.npar").write_text(PLAN)

    def model(self, **more):
        small = {key: value for key, value in SMALL.items() if key != "micro"}
        return ["plan.npar", *settings(small, {"batch": 8}, more)]

    def test_verify(self):
        """Also with tied weights on two stages, with weight gradients that come later, and over sizes from one gradient to all."""
        for more in ({"size": 4}, {"size": 1000, "pp": 2, "tp": 2}, {"size": 20, "pp": 2, "schedule": "zb_h1"}):
            with self.subTest(**more):
                self.assertTrue(self.npar_json("verify", *self.model(**more))["ok"])

    def test_hierarchical(self):
        """Over the last mesh axis in shares, over the other one only those: a quarter of what both together would carry between nodes."""
        (self.folder / "plan.npar").write_text(PLAN.replace("bucket", "compute f32, reduce f32 hierarchical\n    bucket"))
        for more in ({"size": 0}, {"size": 20, "pp": 2, "tp": 2}):
            with self.subTest(**more):
                self.assertTrue(self.npar_json("verify", *self.model(**more))["ok"])
        between = volume.counts(self.npar_json("inspect", *self.model(size=0, width=128)), over="node")["all_reduce"]
        inside = volume.counts(self.npar_json("inspect", *self.model(size=0, width=128)), over="dp")
        self.assertEqual(inside["reduce_scatter"].count, between.count)
        self.assertLess(between.bytes, 0.51 * inside["reduce_scatter"].bytes)
        data = ["--data", self.text_file(), "--tokens", "bytes", "--steps", 3]
        hashes = [self.npar_json("run", *self.model(size=size), *data)["parameter_hash"] for size in (0, 30)]
        self.assertEqual(len(set(hashes)), 1, hashes)

    def test_bits_do_not_depend_on_buckets(self):
        data = ["--data", self.text_file(), "--tokens", "bytes", "--steps", 3]
        for stages in (1, 2):
            hashes = [self.npar_json("run", *self.model(size=size, pp=stages), *data)["parameter_hash"] for size in (0, 1, 30, 10000)]
            self.assertEqual(len(set(hashes)), 1, hashes)

    def test_parameters_that_are_updated_in_shares_are_gathered_together(self):
        """Whatever the size: the same bytes, the same bits, and with room for all one gather of each stage."""
        (self.folder / "plan.npar").write_text(PLAN.replace("bucket", "store { optimizer -> dp }\n    bucket"))
        alone, some, all_ = (
            volume.counts(self.npar_json("inspect", *self.model(size=size)), over="dp")["all_gather"] for size in (0, 30, 10000)
        )
        self.assertEqual(len({alone.bytes, some.bytes, all_.bytes}), 1)
        self.assertGreater(alone.count, some.count)
        self.assertEqual(all_.count, 1)
        data = ["--data", self.text_file(), "--tokens", "bytes", "--steps", 3]
        hashes = [self.npar_json("run", *self.model(size=size), *data)["parameter_hash"] for size in (0, 30, 10000)]
        self.assertEqual(len(set(hashes)), 1, hashes)
        self.assertTrue(self.npar_json("verify", *self.model(size=30, pp=2, tp=2))["ok"])

    def test_fewer_collectives_of_the_same_bytes(self):
        alone, gathered = (
            volume.counts(self.npar_json("inspect", *self.model(size=size)), over="node,dp")["all_reduce"] for size in (0, 10000)
        )
        self.assertEqual(gathered.bytes, alone.bytes)
        self.assertEqual(gathered.count, 2)  # all gradients, and the loss, which is no gradient
        self.assertGreater(alone.count, 4 * 12)

    def test_they_are_launched_before_the_last_backward_ends(self):
        text = self.npar("compile", *self.model(size=20, pp=2), "--emit=rank").output
        for program in text.split("\nclass stage")[1:]:
            begins = [float(begin) for begin in re.findall(r"# all_reduce of \d+ gradients.*, begin (\S+) end \S+ free", program)]
            self.assertGreater(len(begins), 2)
            self.assertEqual(begins, sorted(begins))
            self.assertLess(begins[0], 0)  # seconds before the update begins
            self.assertRegex(program, r"\n  \d+: \w+:?\d*  .*step \d+ after \w+:?\d* step \d+")


if __name__ == "__main__":
    unittest.main()
