"""Ranks on hosts: `place` in plans and --place, and the counts of `npar inspect --hosts`, against numbers worked out by hand."""

import unittest

from driver import SMALL, DriverTest, mesh, settings

MLP = {"vocab": 32, "width": 16, "inner": 32, "length": 8, "batch": 16}
SCALARS = 8  # bytes of the loss, which is reduced with the gradients
ACTIVATION = 4 * SMALL["batch"] * SMALL["length"] * SMALL["width"]  # bytes of [batch, seq, embed] in float32

# Bytes of each kind of collective over a ring: sent by all ranks of a group of n together, for b bytes of input per rank.
RING = {
    "all_reduce": lambda n, b: 2 * (n - 1) * b,
    "reduce_scatter": lambda n, b: (n - 1) * b,
    "all_to_all": lambda n, b: (n - 1) * b,
    "all_gather": lambda n, b: n * (n - 1) * b,
    "permute": lambda n, b: n * b,
}

PLACED = """import "gpt2"
plan placed(dp = 2, pp = 2, tp = 2) for Gpt2 {
    mesh dp, pp, tp
    micro 2
    place %s
    split {
        batch -> dp
        head, hidden -> tp
        h -> pp by 1f1b
    }
}
"""


class PlaceTest(DriverTest):
    def placed(self, model, *flags, hosts, per_host, place=None):
        """The JSON of a placement, and its rows as {(over, kind): (inside, between)}."""
        flags = [*flags, *(["--place", place] if place else [])]
        summary = self.npar_json("inspect", "hosts", model, *flags, "--hosts", hosts, "--per-host", per_host)
        rows = {(row["over"], row["kind"]): (row["inside_bytes"], row["between_bytes"]) for row in summary["placement"]["traffic"]}
        return summary, rows

    def test_data_parallel(self):
        """All-reduces of P gradients over four ranks: 2 * 3 * 4 P bytes; with two ranks on each of two hosts, one peer of three is near."""
        flags = settings(MLP, mesh(dp=4, tp=1), micro=4)
        for hosts, near in ((1, 3), (2, 1), (4, 0)):
            summary, rows = self.placed("mlp", *flags, hosts=hosts, per_host=4 // hosts)
            to_one_peer = 2 * (4 * summary["parameters"] + SCALARS)
            self.assertEqual(rows, {("dp", "all_reduce"): (near * to_one_peer, (3 - near) * to_one_peer)})

    def test_tensor_parallel(self):
        """Two blocks more are eight more all-reduces of an activation over two ranks, 2 * 1 * A each; inside a host, or between two."""
        for hosts in (1, 2):
            totals = []
            for depth in (4, 6):
                flags = settings(SMALL, mesh(dp=1, pp=1, tp=2), {"depth": depth, "micro": 16})
                totals.append(self.placed("gpt2", *flags, hosts=hosts, per_host=2 // hosts)[1][("tp", "all_reduce")])
            self.assertEqual([after - before for before, after in zip(*totals)], [16 * ACTIVATION, 0] if hosts == 1 else [0, 16 * ACTIVATION])

    def test_pipeline(self):
        """Each of three cuts is passed once forward and once backward by every sample; with two stages on a host only the one in the middle
        crosses. So does the gradient of the tied table, which the first and the last stage send each other."""
        table = 4 * SMALL["vocab"] * SMALL["width"]
        flags = settings(SMALL, mesh(dp=1, pp=4, tp=1))
        summary, rows = self.placed("gpt2", *flags, hosts=2, per_host=2)
        self.assertEqual(rows[("pp", "send")], (2 * 2 * ACTIVATION, 2 * ACTIVATION + 2 * table))
        first, last = summary["placement"]["hosts"]
        self.assertEqual(first["sent_bytes"], last["sent_bytes"])
        self.assertEqual(self.placed("gpt2", *flags, hosts=2, per_host=2, place="spread")[1], rows)  # one axis has one order

    def test_all_three(self):
        """Eight ranks on two hosts: the slowest axis crosses and no other."""
        flags = settings(SMALL, mesh(dp=2, pp=2, tp=2))
        for place, crosses in (("dp, pp, tp", "dp"), ("cluster", "dp"), ("pp, dp inside tp", "pp"), ("spread", "tp"), ("dp inside pp, tp", "dp")):
            summary, rows = self.placed("gpt2", *flags, hosts=2, per_host=4, place=place)
            for (over, kind), (inside, between) in rows.items():
                if over == crosses:
                    self.assertEqual(inside, 0, (place, kind))
                elif crosses not in over.split(","):
                    self.assertEqual(between, 0, (place, kind))
            self.assertEqual(summary["placement"]["between_bytes"], sum(between for _, between in rows.values()))
            ranks = [rank for host in summary["placement"]["hosts"] for rank in host["ranks"]]
            self.assertEqual(sorted(ranks), list(range(8)))

    def test_zero(self):
        """ZeRO-3, one micro-batch: over four ranks each of P parameters is gathered for the forward pass, 3 * 4 P bytes, the W weights of
        products for the backward pass too, and P gradients are scattered. Blocks of 1,024 are padding for the most part, which is not sent.
        Of four ranks on two hosts each has one peer near and two far."""
        summary, rows = self.placed("mlp", *settings(MLP, mesh(dp=4, tp=1), zero=3, micro=4), hosts=2, per_host=2)
        weights = MLP["width"] * (2 * 2 * MLP["inner"] + MLP["vocab"])
        gathered, scattered = 4 * (summary["parameters"] + weights), 4 * summary["parameters"]
        self.assertEqual(rows[("dp", "all_gather")], (gathered, 2 * gathered))
        self.assertEqual(rows[("dp", "reduce_scatter")], (scattered, 2 * scattered))

    def test_volume_of_a_ring(self):
        """Whatever the plan, inside and between together are what a ring sends, counted from what each rank puts in."""
        plans = (
            settings(SMALL, mesh(dp=2, pp=2, tp=2)),
            settings(SMALL, mesh(dp=4, pp=1, tp=2)),
            settings(SMALL, mesh(dp=2, pp=1, tp=4), sequence="true"),
            settings(SMALL, mesh(dp=2, pp=4, tp=1), schedule="zb_v", depth=8, micro=1),
        )
        for flags in plans:
            summary, _ = self.placed("gpt2", *flags, hosts=4, per_host=2, place="spread")
            total = 0
            for part in summary["classes"]:
                ranks = sum(last - first + 1 for first, last in part["ranks"])
                for one in part["collectives"]:
                    n = 1
                    for axis in one["over"].split(","):
                        n *= summary["mesh"][axis]
                    total += RING[one["kind"]](n, one["bytes"]) * ranks // n
                total += ranks * sum(one["bytes"] for one in part["transfers"])
            placement = summary["placement"]
            self.assertEqual(placement["inside_bytes"] + placement["between_bytes"], total, flags)
            self.assertEqual(sum(host["sent_bytes"] for host in placement["hosts"]), placement["between_bytes"])
            self.assertEqual(sum(host["received_bytes"] for host in placement["hosts"]), placement["between_bytes"])

    def test_of_the_plan(self):
        """The plan's own place holds, in a compiled program too; a flag goes before it."""
        (self.folder / "placed.npar").write_text(PLACED % "pp, dp inside tp")
        small = settings({name: value for name, value in SMALL.items() if name != "micro"})
        self.npar("compile", "placed.npar", *small, "-o", "placed.npx")
        for model, flags in (("placed.npar", small), ("placed.npx", [])):
            summary, _ = self.placed(model, *flags, hosts=2, per_host=4)
            self.assertEqual([host["ranks"] for host in summary["placement"]["hosts"]], [[0, 1, 4, 5], [2, 3, 6, 7]])
            self.assertEqual(summary["placement"]["place"], {"order": "pp, dp, tp", "inside": "tp", "source": "place at placed.npar:5:5"})
            summary, _ = self.placed(model, *flags, hosts=2, per_host=4, place="cluster")
            self.assertEqual([host["ranks"] for host in summary["placement"]["hosts"]], [[0, 1, 2, 3], [4, 5, 6, 7]])
            refused = self.npar("inspect", "hosts", model, *flags, "--hosts", 8, "--per-host", 1, code=1)
            self.assertIn("place at placed.npar:5:5: a host of 1 rank has no room for whole groups of 2", refused.error)
            self.assertIn("(tp = 2); hosts of 2, 4 or 8 ranks would do", refused.error)
        printed = self.npar("compile", "placed.npar", *small, "--emit=rank").output
        self.assertIn("placed pp, dp inside tp at placed.npar:5", printed)
        before = self.npar_json("inspect", "hosts", "gpt2", *settings(SMALL), "--hosts", 2, "--per-host", 4)["placement"]["place"]
        self.assertEqual(before, {"order": "dp, pp, tp", "inside": "", "source": ""})

    def test_a_thousand_ranks(self):
        """GPT-3 175B on 128 hosts of 8, which takes two seconds, for counting goes by classes of ranks. Each of 192 micro-batches of each
        replica passes 15 cuts, forward and backward, once for each of eight ranks (tp); the tied table's parts are exchanged once, in
        bfloat16."""
        large = {"width": 12288, "heads": 96, "depth": 96, "vocab": 51200, "context": 2048, "batch": 1536, "micro": 1, "compute": "bf16"}
        summary, rows = self.placed("gpt2", *settings(large, mesh(pp=16, tp=8, dp=8)), hosts=128, per_host=8)
        activation, part = 2 * 2048 * 12288, 2 * 51200 * 12288 // 8
        self.assertEqual(rows[("pp", "send")], (0, 64 * (192 * 15 * 2 * activation + 2 * part)))
        self.assertEqual(rows[("tp", "all_reduce")][1], 0)
        self.assertEqual(rows[("dp", "all_reduce")][0], 0)
        self.assertEqual(summary["placement"]["hosts"][127]["ranks"], list(range(1016, 1024)))


if __name__ == "__main__":
    unittest.main()
