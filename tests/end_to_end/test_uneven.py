"""Machines of several kinds of hosts: steps, memory and peaks of each kind, blocks dealt by the pace of hosts, and the search on them."""

import re
import unittest

from driver import DriverTest, settings

SIZES = {"vocab": 512, "width": 1024, "heads": 16, "depth": 12, "length": 1024, "context": 1024, "batch": 64, "compute": "bf16"}
TENSOR = {"mesh.dp": 1, "mesh.pp": 2, "mesh.tp": 8, "micro": 4, "schedule": "1f1b"}
PEAKS = {"dgx-h100": 989e12, "dgx-a100": 312e12}  # FLOP/s in bf16, by the makers


def machine(*kinds, bandwidth=20, latency=10):
    hosts = "".join(f'    hosts {count} of "{name}"\n' for count, name in kinds)
    return f"machine mixed {{\n{hosts}    link cluster {{ bandwidth {bandwidth} GB/s  latency {latency} us }}\n}}\n"


def device(rate, memory="1 GB", link=10):
    """A host of two small devices."""
    return f"""machine pair {{
    device {{ count 2 devices  memory {memory}  reserved 0 B  fragments 0 % }}
    step {{ launch 1 us }}
    memory {{ far {rate} GB/s  move {rate} GB/s }}
    kernel {{ operation 0 ps  function 0 ps }}
    link host {{ bandwidth {link} GB/s  latency 5 us }}
    link cluster {{ bandwidth 1 GB/s  latency 20 us }}
    product f32 {{ rate {rate} GFLOP/s  rows 1 rows  columns 1 columns  depth 1 terms  peak {2 * rate} GFLOP/s }}
    attention f32 {{ rate {rate} GFLOP/s  rows 0 rows }}
    attention_grad f32 {{ rate {rate} GFLOP/s  rows 0 rows }}
}}
"""


class UnevenTest(DriverTest):
    def file(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def mixed(self, *kinds, **link):
        return self.file("mixed.npar", machine(*kinds, **link))

    def simulate(self, where, sizes, *flags, model="gpt2"):
        return self.npar_json("simulate", model, "--machine", where, *settings(SIZES, sizes), *flags)

    def blocks(self, where, sizes, model="gpt2"):
        said = self.npar("inspect", "annotate", model, "--machine", where, *settings(SIZES, sizes)).output
        return [int(count) for count in re.search(r"#= \d+ stages? of ([\d, ]+) blocks", said)[1].split(", ")]

    def by_hand(self, *counts):
        return self.file("hand.npar", f"""import "gpt2"
plan hand for Gpt2 {{
    mesh dp = 1, pp = 2, tp = 8
    micro 4
    split {{
        batch -> dp
        head, hidden, vocab pad -> tp
        h -> pp by 1f1b stages [{", ".join(map(str, counts))}]
    }}
    compute bf16
}}
train base for Gpt2 {{ batch 64 optimizer AdamW(lr = 1e-3) }}
""")

    def hand(self, where, *counts):
        sizes = {name: value for name, value in SIZES.items() if name not in ("batch", "compute")}
        return self.npar_json("simulate", self.by_hand(*counts), "--machine", where, *settings(sizes))

    def test_blocks_go_by_the_pace_of_hosts(self):
        mixed = self.mixed((1, "dgx-h100"), (1, "dgx-a100"))
        first, second = self.blocks(mixed, TENSOR)
        self.assertEqual(first + second, 12)
        self.assertGreater(first, second)
        self.assertEqual(self.blocks("dgx-h100", TENSOR), [6, 6])
        found = {counts: self.hand(mixed, *counts)["seconds_per_step"] for counts in ((6, 6), (first - 1, second + 1), (first, second),
                                                                                      (first + 1, second - 1))}
        self.assertLess(found[first, second], 1.02 * min(found.values()), "communication that overlaps with work is not balanced")
        self.assertLess(found[first, second], found[6, 6])
        dealt = self.simulate(mixed, TENSOR)["seconds_per_step"]
        self.assertLess(dealt, found[6, 6])
        self.assertLess(self.simulate("dgx-h100", TENSOR)["seconds_per_step"], dealt)
        self.assertLess(dealt, self.simulate("dgx-a100", TENSOR)["seconds_per_step"])

    def test_each_stage_computes_as_on_its_own_kind(self):
        """Under equal blocks the first stage takes what it takes on H100 hosts alone, the second what it takes on A100 hosts."""
        both, h100, a100 = (self.hand(where, 6, 6) for where in (self.mixed((1, "dgx-h100"), (1, "dgx-a100")), "dgx-h100", "dgx-a100"))
        times = lambda said: [{name: seconds for name, seconds in part["work"].items()} for part in said["classes"]]
        for kind in times(both)[0]:
            self.assertAlmostEqual(times(both)[0][kind] / times(h100)[0][kind], 1, 9, kind)
            self.assertAlmostEqual(times(both)[1][kind] / times(a100)[1][kind], 1, 9, kind)
        turned = self.hand(self.mixed((1, "dgx-a100"), (1, "dgx-h100")), 6, 6)
        self.assertAlmostEqual(turned["classes"][0]["computing"] / a100["classes"][0]["computing"], 1, 9)
        self.assertAlmostEqual(turned["classes"][1]["computing"] / h100["classes"][1]["computing"], 1, 9)

    def test_mfu_is_of_all_devices(self):
        said = self.simulate(self.mixed((1, "dgx-h100"), (1, "dgx-a100")), TENSOR)
        peak = 8 * sum(PEAKS.values())
        self.assertAlmostEqual(said["mfu"], said["model_flops"] / (said["seconds_per_step"] * peak), 12)
        self.assertEqual([(kind["machine"], kind["hosts"], kind["ranks"], kind["stages"]) for kind in said["kinds"]],
                         [("dgx-h100", 1, 8, [0]), ("dgx-a100", 1, 8, [1])])

    def test_kinds_that_are_alike_are_one_machine(self):
        """Two kinds of dgx-a100 with its own link between them, as two hosts of it."""
        for sizes in (TENSOR, {"mesh.dp": 2, "mesh.pp": 2, "mesh.tp": 4, "zero": 1}):
            two, one = (self.simulate(where, sizes) for where in (self.mixed((1, "dgx-a100"), (1, "dgx-a100"), latency=12), "dgx-a100"))
            self.assertEqual([kind["machine"] for kind in two.pop("kinds")], ["dgx-a100"] * 2)
            self.assertEqual((two.pop("machine"), one.pop("machine")), ("mixed", "dgx_a100"))
            self.assertEqual(two, one)

    def test_the_link_between_kinds(self):
        """Messages between the stages go over it: 4 MB per micro-batch and rank, half of which in the way of a step's critical path."""
        fast, slow = (self.hand(self.mixed((1, "dgx-h100"), (1, "dgx-a100"), bandwidth=speed), 8, 4) for speed in (20, 0.02))
        bytes_sent = fast["bytes"]["pp"]
        self.assertEqual(bytes_sent, slow["bytes"]["pp"])
        self.assertGreater(slow["seconds_per_step"], bytes_sent / 0.02e9)
        self.assertLess(fast["seconds_per_step"], bytes_sent / 0.02e9)

    def test_a_stage_on_several_kinds_goes_at_the_slowest_pace(self):
        """One stage, replicas on both kinds: they compute as long as on A100 hosts, and sum over the link between kinds."""
        sizes = {"mesh.dp": 16, "mesh.pp": 1, "mesh.tp": 1, "micro": 4}
        both, a100 = (self.simulate(where, sizes) for where in (self.mixed((1, "dgx-h100"), (1, "dgx-a100"), latency=12), "dgx-a100"))
        self.assertAlmostEqual(both["classes"][0]["computing"] / a100["classes"][0]["computing"], 1, 9)
        self.assertEqual([kind["stages"] for kind in both["kinds"]], [[0], [0]])
        slow = self.simulate(self.mixed((1, "dgx-h100"), (1, "dgx-a100"), bandwidth=1), sizes)
        self.assertGreater(slow["seconds_per_step"], 1.5 * both["seconds_per_step"])

    def test_places_decide_on_which_kind_a_stage_stands(self):
        sizes = {"mesh.dp": 2, "mesh.pp": 2, "mesh.tp": 4, "micro": 4, "schedule": "1f1b"}
        mixed = self.mixed((1, "dgx-h100"), (1, "dgx-a100"))
        plain = self.simulate(mixed, sizes)
        self.assertEqual([kind["stages"] for kind in plain["kinds"]], [[0, 1], [0, 1]])
        for place in ("pp,dp,tp", "pp, dp inside tp"):
            apart = self.simulate(mixed, sizes, "--place", place)
            self.assertEqual([kind["stages"] for kind in apart["kinds"]], [[0], [1]])
            self.assertLess(apart["seconds_per_step"], plain["seconds_per_step"])
        # The words that order all axes: replicas together, in the mesh's order; or apart, so that each stage is on both kinds.
        self.assertEqual(self.simulate(mixed, sizes, "--place", "cluster"), plain)
        spread, a100 = (self.simulate(where, sizes, "--place", "spread") for where in (mixed, "dgx-a100"))
        self.assertEqual([kind["stages"] for kind in spread["kinds"]], [[0, 1], [0, 1]])
        for own, slow in zip(spread["classes"], a100["classes"]):
            self.assertAlmostEqual(own["computing"] / slow["computing"], 1, 9)
        # Blocks are distributed as for a plan with its own `place`.
        text = """import "gpt2"
plan apart for Gpt2 {
    mesh dp = 2, pp = 2, tp = 4
    micro 4
    %s
    split { batch -> dp  head, hidden, vocab pad -> tp  h -> pp by 1f1b }
    compute bf16
}
train base for Gpt2 { batch 64 optimizer AdamW(lr = 1e-3) }
"""
        own = settings({name: value for name, value in SIZES.items() if name not in ("batch", "compute")})
        said, flagged = (self.npar_json("simulate", self.file(name, text % place), "--machine", mixed, *own, *flags)
                         for name, place, flags in (("said.npar", "place pp, dp, tp", []), ("plain.npar", "", ["--place", "pp,dp,tp"])))
        self.assertEqual(said["seconds_per_step"], flagged["seconds_per_step"])
        self.assertLess(said["classes"][1]["parameter_bytes"], said["classes"][0]["parameter_bytes"])

    def test_memory_of_each_kind(self):
        """Replicas of 16 bytes a parameter: fine with 80 GB, too much for the 40 GB of the cards of p4d."""
        sizes = {"mesh.dp": 16, "mesh.pp": 1, "mesh.tp": 1, "micro": 1, "width": 4096, "depth": 14, "heads": 32, "length": 128, "context": 128}
        large, small = (self.simulate(self.mixed((1, "dgx-a100"), (1, other)), sizes) for other in ("dgx-a100", "p4d"))
        self.assertEqual(large["memory_bytes"], small["memory_bytes"] + 0)
        self.assertTrue(40 * 2**30 < large["memory_bytes"] < 76 * 2**30, large["memory_bytes"])
        self.assertTrue(large["fits"])
        self.assertFalse(small["fits"])
        self.assertEqual(small["device_bytes"], 40 * 2**30)
        self.assertIn("does not fit into", self.npar("simulate", "gpt2", "--machine", "mixed.npar", *settings(SIZES, sizes)).output)

    def test_the_price_is_that_of_each_kind(self):
        """Where a kind has no price, the machine has none."""
        price = lambda name: self.npar_json("machine", "show", name)["figures"].get("host.price", 0)
        mixed = self.mixed((1, "p4d"), (1, "p3dn.24xlarge"))
        said = self.simulate(mixed, dict(TENSOR, compute="fp16"))
        self.assertGreater(price("p4d"), 0)
        self.assertAlmostEqual(said["dollars_per_step"] / (said["seconds_per_step"] / 3600 * (price("p4d") + price("p3dn.24xlarge"))), 1, 9)
        self.assertNotIn("dollars_per_step", self.simulate(self.mixed((1, "p4d"), (1, "dgx2-v100")), dict(TENSOR, compute="fp16")))

    def plan(self, *flags, fast=1000, slow=250, memory="1 GB", code=0):
        self.file("fast.npar", device(fast)), self.file("slow.npar", device(slow, memory))
        self.file("mixed.npar", machine((1, "fast.npar"), (1, "slow.npar"), bandwidth=1, latency=20))
        small = settings({"vocab": 64, "context": 64, "width": 64, "heads": 4, "depth": 8, "length": 64})
        command = ["plan", "gpt2", "--machine", "mixed.npar", "--batch", 16, *small, *flags]
        return self.npar_json(*command) if code == 0 else self.npar(*command, code=code).error

    def test_the_search_puts_stages_on_kinds(self):
        fixes = [word for fix in ("mesh.tp=1", "recompute=none", "zero=0", "bucket=none", "micro=1") for word in ("--fix", fix)]
        found = self.plan(*fixes)
        choices = found["best"]["choices"]
        self.assertGreater(int(choices["mesh.pp"]), 1)
        deal = re.search(r"# Blocks of the stages, dealt by the pace of their slowest hosts: (.*)\.", found["text"])[1]
        # The reported figures are those of the text, simulated by the command that it names.
        self.file("best.npar", found["text"])
        said = self.npar_json(*re.search(r"^#   npar (simulate FILE .*)$", found["text"], re.MULTILINE)[1].replace("FILE", "best.npar").split())
        self.assertEqual(said["seconds_per_step"], found["best"]["seconds_per_step"])
        counts = re.search(r"stages of ([\d, ]+) blocks", self.npar("inspect", "annotate", "best.npar", "--machine", "mixed.npar").output)[1]
        self.assertGreater(int(counts.split(", ")[0]), int(counts.split(", ")[-1]))
        told = [(int(count), kind) for times, count, kind in re.findall(r"(?:(\d+) stages of )?(\d+) on (\w+\.npar)", deal) for _ in range(int(times or 1))]
        self.assertEqual(", ".join(str(count) for count, _ in told), counts)
        self.assertEqual([kind for _, kind in told], ["fast.npar"] * (len(told) // 2) + ["slow.npar"] * (len(told) // 2))
        # Both orders are tried, at least where only two stages are asked for, and nothing is below its bound: the products of 8 blocks of 12 width^2 for 16 x 64 tokens, where stages
        # on one kind each go at 1000 and 250 GFLOP/s, stages on both at 250.
        flops, orders = 6 * 8 * 12 * 64**2 * 16 * 64, set()
        for each in found["tried"] + self.plan(*fixes, "--fix", "mesh.pp=2")["tried"]:
            mesh, place = [int(each["choices"][f"mesh.{axis}"]) for axis in ("dp", "pp")], each["choices"]["place"]
            apart = mesh[1] == 4 or (mesh[1] == 2 and place == "pp,dp")
            self.assertGreater(each["seconds_per_step"], flops / (2 * 1250e9 if apart else 4 * 250e9))
            self.assertGreaterEqual(each["seconds_per_step"], found["best"]["seconds_per_step"])
            orders.add((*mesh, place))
        self.assertTrue({(2, 2, "pp,dp"), (2, 2, "dp,pp"), (1, 4, "dp,pp"), (4, 1, "dp,pp")} <= orders)

    def test_the_search_leaves_out_what_one_kind_cannot_hold(self):
        """About 3.3 MB of parameters, gradients and optimizer: replicas fit where both kinds have 4 MB, and where one has 2 MB not."""
        fixes = ["--fix", "mesh.pp=1", "--fix", "mesh.tp=1", "--fix", "zero=0", "--fix", "micro=1", "--fix", "recompute=none"]
        self.assertEqual(self.plan(*fixes)["pruned"], 0)
        refused = self.plan(*fixes, memory="2 MB", code=1)
        self.assertIn("no plan fits 2 hosts of 'mixed'", refused)
        self.assertNotIn("hosts: dp", refused)  # the file has the number of hosts

    def test_what_is_refused(self):
        mixed = self.mixed((1, "dgx-h100"), (1, "dgx-a100"))
        for command, message in (
                (["plan", "gpt2", "--hosts", 3], "--hosts 3: machine 'mixed' has 2 hosts, and a plan fills all of them"),
                (["explain", "gpt2"], "explain needs hosts of one kind")):
            self.assertIn(message, self.npar(*command, "--machine", mixed, code=2).error)
        for command, message in (
                (["simulate", "gpt2", "--hosts", 1, *settings(SIZES, TENSOR)], "the mesh has 16 ranks, which take the first 2 hosts of 'mixed'"),
                (["simulate", "gpt2", *settings(SIZES, TENSOR, {"mesh.dp": 2})], "the plan has 32 ranks, the hosts of machine 'mixed' hold 16"),
                (["simulate", "gpt2", "--place", "dp, xx", *settings(SIZES, TENSOR)], "place: unknown mesh axis 'xx'")):
            self.assertIn(message, self.npar(*command, "--machine", mixed, code=1).error)


if __name__ == "__main__":
    unittest.main()
