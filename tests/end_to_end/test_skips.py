"""Tensors that skip stages, and weights tied on any stages: on 1, 2 and 4 stages, under schedules of every shape."""

import pathlib
import unittest

from driver import DriverTest, mesh, sample, settings

TEXT = pathlib.Path(__file__).resolve().parent / "skips.npar"


def plan(schedule="1f1b", recompute=None, middle=2, **sizes):
    more = {} if recompute is None else {"recompute": recompute}
    return [TEXT, *settings(mesh(**sizes), {"schedule": schedule, "middle": middle}, more)]


class SkipsTest(DriverTest):
    def verify(self, *model):
        report = self.npar_json("verify", *model, code=None)
        self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def hash(self, *model):
        return self.npar_json("run", *model, "--data", self.text_file(), "--tokens", "bytes", "--steps", 3)["parameter_hash"]

    def test_equal_to_one_rank(self):
        cases = [
            ("1f1b", {"pp": 2}),
            ("1f1b", {"pp": 4}),
            ("gpipe", {"pp": 4, "dp": 2}),
            ("zb_h1", {"pp": 4}),
            ("zb_v", {"pp": 2}),
            ("1f1b", {"pp": 2, "tp": 2}),
        ]
        for schedule, sizes in sample(cases, *cases[2:4], cases[5]):
            with self.subTest(schedule=schedule, **sizes):
                self.verify(*plan(schedule, **sizes))
        with self.subTest(schedule="interleaved"):
            self.verify(*plan("interleaved", pp=2), "--set", "chunks=2")
        with self.subTest(schedule="zb_v", pp=4):
            self.verify(*plan("zb_v", pp=4, middle=6))

    def test_schedules_share_their_bits(self):
        reference = self.hash(*plan(pp=1))
        for schedule, stages in (("1f1b", 2), ("1f1b", 4), ("zb_h1", 4), ("zb_v", 2), ("gpipe", 4)):
            with self.subTest(schedule=schedule, stages=stages):
                self.assertEqual(self.hash(*plan(schedule, pp=stages)), reference)

    def test_recomputed(self):
        reference = self.hash(*plan(pp=1))
        for recompute in ("block", "2", '["inner.*", "last"]'):
            for schedule, stages in (("1f1b", 1), ("1f1b", 4), ("zb_v", 2)):
                with self.subTest(recompute=recompute, schedule=schedule, stages=stages):
                    self.assertEqual(self.hash(*plan(schedule, recompute, pp=stages)), reference)


if __name__ == "__main__":
    unittest.main()
