"""`npar inspect layout`: groups of ranks, blocks of stages, parts of parameters, against numbers worked out by hand and against what a checkpoint
stores; and the volume that `npar inspect` counts, against the ZeRO paper and against the traffic of `npar inspect hosts`."""

import math
import time
import unittest
import xml.etree.ElementTree

import checkpoint_files
from driver import SMALL, DriverTest, mesh, settings

MLP = {"vocab": 32, "width": 64, "inner": 128, "length": 8, "batch": 16, "micro": 4}
MASTER = ".master"


class LayoutTest(DriverTest):
    def layout(self, *words):
        return self.npar_json("inspect", "layout", *words)["layout"]

    def test_ranks_of_a_model_in_two_parts(self):
        """Sixteen ranks on two hosts, the model in two partitions: rank 0 shares the model with rank 1 and has replicas on 0, 2 ... 14."""
        plan = settings(SMALL, mesh(dp=8, pp=2, tp=1))
        layout = self.layout("gpt2", *plan, "--hosts", 2, "--per-host", 8)
        self.assertEqual(layout["model_groups"], [[rank, rank + 1] for rank in range(0, 16, 2)])
        self.assertEqual(layout["replica_groups"], [list(range(0, 16, 2)), list(range(1, 16, 2))])
        self.assertEqual(layout["ranks"][11], {"rank": 11, "stage": 1, "coordinates": [5, 1, 0], "host": 1, "local_rank": 3})
        self.assertEqual([axis["groups"] for axis in layout["axes"]], [layout["replica_groups"], layout["model_groups"], [[rank] for rank in range(16)]])
        text = self.npar("inspect", "layout", "gpt2", *plan, "--hosts", 2, "--per-host", 8).output
        self.assertIn("16 ranks, 8 copies of the model, each on 2 ranks\n", text)
        self.assertRegex(text, r"\n  9 +1 +1 +dp = 4, pp = 1, tp = 0 +1 +8-9 +1, 3, \.\.\. 15\n")

    def test_hosts_of_a_machine(self):
        """The machine's hosts, and an order of ranks in which equal parts of the replicas are together."""
        plan = settings(SMALL, mesh(dp=8, pp=2, tp=1))
        ranks = self.layout("gpt2", *plan, "--machine", "dgx-a100", "--place", "spread")["ranks"]
        self.assertEqual([(one["host"], one["local_rank"]) for one in ranks], [(rank % 2, rank // 2) for rank in range(16)])

    def test_blocks_of_chunks(self):
        """Interleaved: four blocks in four parts on two stages. The tied table is on the first stage and in the last part."""
        layout = self.layout("gpt2", *settings(SMALL, mesh(dp=1, pp=2, tp=1), schedule="interleaved", chunks=2))
        blocks = [[chunk["blocks"] for chunk in stage["chunks"]] for stage in layout["stages"]]
        self.assertEqual(blocks, [[["wte.weight", "wpe.weight", "h.0"], ["h.2"]], [["h.1"], ["wte.weight", "h.3", "ln_f.weight", "ln_f.bias"]]])
        tied = [(one["name"], one["stages"]) for stage in layout["stages"] for one in stage["parameters"] if one["tied"]]
        self.assertEqual(tied, [("wte.weight", [0, 1])] * 2)

    def pieces(self, model, *plan):
        """{tensor: its pieces} that ranks own, as a manifest has them, by `inspect layout`."""
        found = {}
        world = len(self.layout(model, *plan)["ranks"])
        for rank in range(world):
            for piece in self.layout(model, *plan, "--rank", rank)["rank"]["pieces"]:
                if piece["owned"] and piece["end"] > piece["begin"]:
                    name = piece["name"][: -len(MASTER)] if piece["name"].endswith(MASTER) else piece["name"]
                    found.setdefault(name, []).append((rank, piece["start"], piece["shape"], piece["begin"], piece["end"]))
        return {name: sorted(pieces) for name, pieces in found.items()}

    def test_pieces_are_those_of_a_checkpoint(self):
        """Slices, shares with padding, masters of 16-bit parameters: what the view says of each rank is what that rank's file holds."""
        plans = (
            ("gpt2", settings(SMALL, mesh(dp=2, pp=2, tp=2), zero=1)),
            ("mlp", settings(MLP, mesh(dp=4, tp=2), zero=3, compute="bf16", micro=2)),
        )
        for model, plan in plans:
            with self.subTest(model):
                self.npar("train", model, *plan, "--random-data", "--steps", 1, "--checkpoint", model, "--quiet")
                checkpoint = checkpoint_files.committed(self.folder / model)[-1]
                manifest = checkpoint_files.manifest(checkpoint)
                stored = {}
                for tensor in manifest["tensors"]:
                    if tensor["kind"] == "state" and not tensor["of"]:
                        continue  # of the training as a whole
                    for piece in tensor["pieces"]:
                        rank = int(manifest["files"][piece["file"]]["name"].removeprefix("rank-").removesuffix(".safetensors"))
                        stored.setdefault(tensor["name"], []).append((rank, piece["start"], piece["shape"], piece["begin"], piece["end"]))
                self.assertGreater(len(stored), 10)
                self.assertEqual(self.pieces(model, *plan), {name: sorted(pieces) for name, pieces in stored.items()})

    def test_shares(self):
        """ZeRO 1 over four ranks, as a table of a0 b0 c0 and so on: shares of whole blocks of 1,024 elements, the last shorter."""
        plan = settings(MLP, mesh(dp=4, tp=1), zero=1)
        layout = self.layout("mlp", *plan)
        stage = layout["stages"][0]
        found = {one["what"]: (one["shares_over"], one["reduced_later"]) for one in stage["parameters"][0]["stored"]}
        self.assertEqual(found, {"parameters": ([], False), "gradients": (["dp"], True), "momentum": (["dp"], False)})
        self.assertEqual(layout["axes"][0]["shares"], ["optimizer"])
        for rank in range(4):
            for piece in self.layout("mlp", *plan, "--rank", rank)["rank"]["pieces"]:
                elements = math.prod(piece["shape"])
                share = math.ceil(math.ceil(elements / 1024) / 4) * 1024
                begin, end = (0, elements) if piece["what"] == "parameters" else (rank * share, (rank + 1) * share)
                self.assertEqual((piece["begin"], piece["end"]), (min(begin, elements), min(end, elements)), piece)
        text = self.npar("inspect", "layout", "mlp", *plan).output
        self.assertRegex(text, r"\nshares of that part: elements \[begin, end\)\n  tensor +dp = 0 +dp = 1 +dp = 2 +dp = 3\n  table.weight +\[0, 1024\) +\[1024, 2048\) +- +-\n")
        self.assertRegex(text, r"layers\.\*\.up\.weight +2 +embed 64, hidden 128 +all +all, then 1/4 \{dp\} +1/4 \{dp\}\n")

    def test_experts(self):
        """Two of four experts on each rank of ep, everything else on both."""
        sizes = {"depth": 1, "width": 16, "heads": 2, "kv_heads": 2, "mlp": 8, "vocab": 32, "length": 8, "context": 8, "batch": 4, "experts": 4}
        layout = self.layout("mixtral", *settings(sizes, mesh(dp=1, pp=1, ep=2, tp=1)))
        local = {one["name"]: [(d["local"], d["over"]) for d in one["dimensions"] if d["axis"] == "expert"] for one in layout["stages"][0]["parameters"]}
        split = [dimensions for dimensions in local.values() if dimensions and dimensions[0][1]]
        self.assertEqual(split, [[(2, ["ep"])]] * 3)
        self.assertEqual(layout["axes"][2]["parameters"], ["expert"])

    def test_compiled_program_and_picture(self):
        plan = settings(SMALL, mesh(dp=2, pp=2, tp=2), zero=1)
        self.npar("compile", "gpt2", *plan, "-o", "a.npx")
        self.assertEqual(self.layout("a.npx"), self.layout("gpt2", *plan, "--svg", "a.svg"))
        texts = list(xml.etree.ElementTree.parse(self.folder / "a.svg").getroot().itertext())
        for rank in range(8):
            self.assertIn(f"rank {rank}", texts)
        self.assertIn("h.0-1", texts)

    def test_columns_of_a_rank(self):
        """Long names and rectangles move all rows, not their own."""
        header, *rows = self.npar("inspect", "layout", "gpt2", "--rank", 3).output.partition("\n\n  stored")[2].splitlines()
        self.assertGreater(len(rows), 100)
        for row in rows:
            self.assertRegex(row[len("  stored") :], rf"^.{{{len(header) - 1}}}\d( |$)")

    def test_thousands_of_ranks(self):
        begun = time.monotonic()
        plan = settings(SMALL, mesh(dp=512, pp=4, tp=4), batch=2048, micro=2, zero=1)
        text = self.npar("inspect", "layout", "gpt2", *plan, "--svg", "a.svg").output
        self.assertLess(len(text.splitlines()), 200)
        self.assertIn("8192 ranks, 512 copies of the model, each on 16 ranks", text)
        self.assertEqual(len(self.layout("gpt2", *plan)["ranks"]), 8192)
        self.assertLess(time.monotonic() - begun, 60)


class VolumeTest(DriverTest):
    def volume(self, *words):
        (part,) = self.npar_json("inspect", *words)["classes"]
        return part["volume"]

    def test_volume_of_zero(self):
        """Plain data parallelism and ZeRO 1 and 2 send 2 (n - 1) / n per parameter; ZeRO 3 gathers the weights of products once more. One micro-batch."""
        weights = MLP["width"] * (2 * 2 * MLP["inner"] + MLP["vocab"])
        for zero in range(4):
            plan = settings(MLP, mesh(dp=4, tp=1), zero=zero)
            volume = self.volume("mlp", *plan)
            share = 3 / 4
            expected = [2 * share, 0] if zero == 0 else [share, share] if zero < 3 else [share, share * (1 + weights / volume["parameters"])]
            self.assert_close(volume["gradient_times"], expected[0], 1e-3)
            self.assertAlmostEqual(volume["parameter_times"], expected[1], 12)
            self.assertAlmostEqual(volume["plain_times"], 2 * share, 12)
            self.assert_close(volume["to_plain"], sum(expected) / (2 * share), 1e-3)
            self.assertIn(f" x its parameters: gradients {expected[0]:.2f}, parameters {expected[1]:.2f}; ", self.npar("inspect", "mlp", *plan).output)
            traffic = self.npar_json("inspect", "hosts", "mlp", *plan, "--hosts", 1, "--per-host", 4)["placement"]["inside_bytes"]
            self.assert_close(4 * 4 * volume["times"] * volume["parameters"], traffic, 1e-2)  # which has the norm of the gradients, too

    def test_volume_under_slices(self):
        """Slices over tp have the volume of data parallelism over dp; what tp sends for activations does not count, nor does a single rank."""
        volume = self.volume("mlp", *settings(MLP, mesh(dp=2, tp=2)))
        self.assert_close(volume["to_plain"], 1, 1e-3)
        self.assertEqual(volume["plain_times"], 1)
        self.assertEqual(self.volume("mlp", *settings(MLP, mesh(dp=1, tp=2)))["to_plain"], 0)
        self.assertNotIn("volume ", self.npar("inspect", "mlp", *settings(MLP, mesh(dp=1, tp=2))).output)


if __name__ == "__main__":
    unittest.main()
