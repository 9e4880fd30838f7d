"""Plans for routed experts: each computes what one rank computes, for three models, with padding and with experts that no token chooses."""

import itertools
import json
import pathlib
import re
import unittest

from driver import LONG, DriverTest, mesh, settings

HERE = pathlib.Path(__file__).resolve().parent

# The train block of a model, a plan of expert_plans.npar and its settings. `*`: checked in the short form too. Where `open` is half of the
# experts or less, one rank of two receives no row; with ep = 8 that of the last expert never does.
PLANS = """
  mixtral  samples  ep=2
  mixtral  samples  ep=4 again=block
  mixtral  samples  ep=8 sequences=1
  mixtral  samples  ep=2 tp=2
* mixtral  samples  ep=2 cp=2 tp=2 open=4
  mixtral  samples  ep=2 pp=2
  mixtral  samples  ep=2 pp=2 schedule=interleaved
  mixtral  samples  ep=2 pp=2 schedule=zb_v
  mixtral  samples  ep=2 pp=2 schedule=dualpipe_v batch=16
  mixtral  samples  ep=2 pp=2 tp=2 schedule=dualpipe_v again=block batch=16
  mixtral  samples  ep=2 dp=2 zero=1
  mixtral  samples  ep=2 dp=2 zero=2 cp=2
  mixtral  samples  ep=2 dp=2 zero=3
  mixtral  samples  ep=2 dp=2 zero=3 again=block pp=2 sequences=1
  mixtral  samples  ep=4 dp=2 tp=2 zero=3 sequences=1 open=6
  mixtral  samples  ep=8 tp=2 sequences=1 again=block
  mixtral  samples  ep=4 pp=2 cp=2 sequences=1 schedule=zb_h1
  mixtral  samples  ep=2 cp=4 open=2
  mixtral  samples  ep=2 chosen=1
  mixtral  samples  ep=4 experts=6 zero=1
* mixtral  samples  ep=2 dp=2 way=gather zero=3 again=block
  mixtral  samples  ep=4 experts=6 way=gather pp=2 sequences=1 schedule=zb_v
  mixtral  samples  ep=8 way=gather sequences=1 tp=2
  mixtral  tensors  ep=2
  mixtral  tensors  ep=4 again=block zero=1 dp=2
  mixtral  tensors  ep=2 cp=2 pp=2
  mixtral  tensors  ep=2 dp=2 zero=3 pp=2 schedule=zb_v
  mixtral  tensors  ep=4 open=2
  mixtral  wide     ep=2 cp=2
  mixtral  wide     ep=2 cp=4 dp=2 zero=2
* mixtral  wide     ep=4 cp=2 tp=2 sequences=1 again=block
  mixtral  wide     ep=2 cp=2 pp=2 schedule=interleaved open=4
  qwen     samples  ep=2
  qwen     samples  ep=4
* qwen     samples  ep=8 dp=2 zero=3 sequences=1 again=block
  qwen     samples  ep=2 tp=2 again=block
  qwen     samples  ep=4 cp=2
  qwen     samples  ep=4 cp=2 tp=2 sequences=1 zero=0
  qwen     samples  ep=2 pp=2 schedule=1f1b
  qwen     samples  ep=4 pp=2 schedule=zb_v sequences=1
  qwen     samples  ep=2 pp=4 schedule=1f1b
  qwen     samples  ep=2 pp=2 schedule=dualpipe_v batch=16
  qwen     samples  ep=2 pp=2 cp=2 schedule=interleaved again=block
  qwen     samples  ep=2 dp=2 zero=1 again=block
  qwen     samples  ep=2 dp=4 zero=2 sequences=1
  qwen     samples  ep=4 dp=2 zero=3 open=8
  qwen     samples  ep=8 tp=2 sequences=1 open=6
  qwen     samples  ep=2 chosen=8 open=9
  qwen     samples  ep=2 way=all_to_all tp=2 zero=2
  qwen     samples  ep=8 way=gather sequences=1 compute=bf16
  qwen     tensors  ep=4
  qwen     tensors  ep=2 cp=2 dp=2 zero=3
  qwen     tensors  ep=2 pp=2 schedule=zb_v again=block
  qwen     wide     ep=2 cp=2 tp=2
  qwen     wide     ep=2 cp=8
  qwen     wide     ep=2 cp=2 pp=2 dp=2 zero=2 sequences=1
* deepseek samples  ep=2 tp=2 pp=2 schedule=dualpipe_v batch=16
  deepseek samples  ep=2
  deepseek samples  ep=4 tp=2
  deepseek samples  ep=8 sequences=1 again=block
  deepseek samples  ep=2 cp=2 zero=1 dp=2
  deepseek samples  ep=2 dp=2 zero=2 tp=2
  deepseek samples  ep=4 dp=2 zero=3 sequences=1
  deepseek samples  ep=2 pp=2 schedule=interleaved
  deepseek samples  ep=2 pp=2 schedule=zb_v again=block
  deepseek samples  ep=4 pp=2 cp=2 schedule=1f1b sequences=1
  deepseek samples  ep=2 pp=2 schedule=dualpipe_v batch=16 open=4
  deepseek samples  ep=2 pp=4 sequences=1
  deepseek tensors  ep=2 dense=true dp=2 zero=3
* deepseek tensors  ep=4 dense=true again=block pp=2
  deepseek tensors  ep=2 dense=true cp=2 schedule=zb_v pp=2
  deepseek wide     ep=2 cp=2 zero=1 dp=2
  deepseek wide     ep=4 cp=2 tp=2 sequences=1 open=4
* mixtral  shares   ep=2 dp=2 zero=2 compute=bf16
  mixtral  wide     ep=2 cp=2 compute=bf16 again=block
  qwen     samples  ep=4 tp=2 compute=bf16 again=block
  qwen     tensors  ep=2 pp=2 compute=bf16
  deepseek samples  ep=4 pp=2 sequences=1 compute=bf16 seed=2
  deepseek samples  ep=2 cp=2 compute=tf32
  mixtral  samples  ep=2 buffer=1.1
  mixtral  samples  ep=4 open=2 buffer=1
  mixtral  samples  ep=4 buffer=1 again=block
  mixtral  samples  ep=8 buffer=1.5 sequences=1 open=6
  mixtral  samples  ep=2 cp=2 tp=2 open=4 buffer=1
* mixtral  samples  ep=4 pp=2 sequences=1 schedule=zb_v buffer=1 dp=2 zero=2 open=2
  mixtral  samples  ep=2 chosen=1 buffer=0.4
  mixtral  samples  ep=1 buffer=0.3 pp=2
  mixtral  samples  ep=4 experts=6 way=gather buffer=1 zero=1
* mixtral  samples  ep=2 dp=2 way=gather zero=3 again=block buffer=0.7
  mixtral  samples  ep=2 dp=2 zero=2 compute=bf16 buffer=1
  mixtral  tensors  ep=4 again=block zero=1 dp=2 buffer=1
  mixtral  wide     ep=2 cp=2 pp=2 schedule=interleaved open=4 buffer=1
  qwen     samples  ep=4 tp=2 compute=bf16 again=block buffer=1.2
  qwen     samples  ep=8 dp=2 zero=3 sequences=1 buffer=2 open=9
  qwen     wide     ep=2 cp=2 tp=2 buffer=1
* deepseek samples  ep=2 tp=2 pp=2 schedule=dualpipe_v batch=16 buffer=1 again=block
  deepseek samples  ep=4 dp=2 zero=3 sequences=1 recompute=2 buffer=1
  deepseek tensors  ep=2 dense=true cp=2 schedule=zb_v pp=2 buffer=0.5
"""
MESH = ("dp", "pp", "cp", "ep", "tp")
TWO = """import "Projection"
model Two(width = 8, length = 6, experts = 8) {
    axis batch, seq = length, embed = width, other = width, expert = experts, slot = 4
    input x: f32[batch, seq, embed]
    param w: [expert, embed, other] = normal(0.3)
    param v: [expert, other, embed] = normal(0.3)
    router = Projection(embed, expert, 0.5)
    p = softmax(router(x), over = expert)
    best = top_k(p, along = slot, over = expert)
    weight = gather(p, best, over = expert)
    y = combine(einsum(dispatch(x, best, along = slot, to = expert), w, over = embed), weight)
    z = combine(einsum(dispatch(y, best + 0, along = slot, to = expert), v, over = other), weight)
    loss sum(z * z, over = embed)
}
train base for Two { batch 8 optimizer Sgd(lr = 0.1) }
plan shared(buffer = none) for Two {
    mesh ep = 4
    micro 1
    split { expert -> ep in op grouped  batch -> ep }
    experts buffer buffer
}
"""

# The same with a function between the products, whose rows a plan can bring to all ranks.
BETWEEN = TWO.replace("combine(einsum(dispatch(x,", "combine(silu(einsum(dispatch(x,").replace("over = embed), weight)", "over = embed)), weight)")


def plans():
    """Pairs of a plan and whether the short form checks it. A plan is a train block, the name of a plan and its settings."""
    for line in PLANS.strip("\n").splitlines():
        train, plan, *given = line[2:].split()
        named = dict(one.split("=") for one in given)
        yield (train, plan, {"mesh." + name if name in MESH else name: value for name, value in named.items()}), line[0] == "*"


class PlansTest(DriverTest):
    """In float64, on random values of all inputs, with finite differences."""

    def test_equal_to_one_rank(self):
        for (train, plan, chosen), always in plans():
            if not always and not LONG:
                continue
            with self.subTest(train=train, plan=plan, **chosen):
                seed = ["--seed", chosen.pop("seed", 1)]
                report = self.npar_json("verify", HERE / "expert_plans.npar", "--train", train, "--plan", plan, *settings(chosen), *seed, code=None)
                self.assertTrue(report.get("ok"), [check for check in report.get("checks", []) if not check["ok"]])

    def test_layers_that_need_different_numbers_of_rows(self):
        """Choices of one layer differ, those of another may be equal, so that a rank reserves more rows for it."""
        (self.folder / "two.npar").write_text(TWO)
        for buffer in ("none", 1.4):
            self.assertTrue(self.npar_json("verify", "two.npar", *settings(buffer=buffer))["ok"])

    def test_rows_of_all_ranks(self):
        """Ranks that share experts have the same samples, so they bring their rows together: an operation on all rows has ends of no rank."""
        rules = ("expert -> ep by all_to_all in op grouped", "expert -> none in op silu  expert -> ep in op grouped")
        for rule, buffer in itertools.product(rules, ("none", 1)):
            with self.subTest(rule, buffer=buffer):
                text = BETWEEN.replace("expert -> ep in op grouped  batch -> ep", rule)
                (self.folder / "between.npar").write_text(text.replace("experts buffer buffer", "experts buffer buffer  compute f64"))
                self.assertTrue(self.npar_json("verify", "between.npar", *settings(buffer=buffer), code=None)["ok"])

    def inspect(self, *arguments, view=()):
        return self.npar("inspect", *view, HERE / "expert_plans.npar", *arguments).output

    def test_the_way_of_rows(self):
        """Positions with more choices than ranks with other samples are gathered, unless the rule says another way; other samples decide."""
        for train, plan, chosen, gathered in (
            ("mixtral", "samples", {"mesh.ep": 2}, False),
            ("qwen", "samples", {"mesh.ep": 2}, True),
            ("qwen", "samples", {"mesh.ep": 4}, False),
            ("qwen", "samples", {"mesh.ep": 2, "way": "all_to_all"}, False),
            ("mixtral", "samples", {"mesh.ep": 2, "way": "gather"}, True),
            ("mixtral", "tensors", {"mesh.ep": 2}, True),
        ):
            with self.subTest(train=train, plan=plan, **chosen):
                flags = ["--train", train, "--plan", plan, *settings(chosen)]
                (routing, *_) = json.loads(self.inspect(*flags, "--json", view=["saved"]))["routings"]
                self.assertEqual(routing["way"], "gather" if gathered else "all_to_all")
                listing = self.inspect(*flags)
                floats = re.search(r"all_to_all +over ep +\d+ times +(\S+ \S+)", listing)
                self.assertEqual(bool(re.search("reduce_scatter +over ep", listing)), gathered, listing)
                self.assertTrue(floats or gathered, listing)

    def test_experts_that_do_not_divide(self):
        error = self.npar("inspect", HERE / "mixtral.npar", "--train", "adam", "--plan", "experts", *settings(experts=5), code=1).error
        self.assertEqual(error.count("error: axis 'expert' of size 5 is not divisible by mesh axis 'ep' of size 3"), 1)
        self.assertIn("or pad it: 'expert pad -> ...'", error)


class BytesTest(DriverTest):
    """Rows and bytes at the sizes of published models, which are compiled and not run."""

    def routing(self, train, ep, length=16, **more):
        flags = settings(more, {"mesh.ep": ep, "batch": ep, "sequences": 1, "depth": 1, "open": more["experts"], "length": length, "compute": "bf16"})
        saved = self.npar_json("inspect", "saved", HERE / "expert_plans.npar", "--train", train, "--plan", "samples", *flags)
        (routing,) = saved["routings"]
        return routing

    def test_dispatch_of_deepseek_v3(self):
        """A row per choice: 470 MB of 4,096 positions, of which a rank keeps its own part and sends the rest."""
        ep = 64
        found = self.routing("deepseek", ep, 4096, width=7168, inner=2048, heads=128, kv_heads=128, experts=256, chosen=8)
        self.assertEqual(found["dispatch_bytes"], 4096 * 8 * 7168 * 2)
        self.assertEqual(round(found["dispatch_bytes"] / 1e6), 470)
        self.assertEqual(found["elsewhere_bytes"], found["dispatch_bytes"] * (ep - 1) // ep)
        self.assertEqual((found["worst_rows"], found["balanced_rows"]), (4096 * 8 * 32, 4096 * 8))

    def test_messages_of_existing_rows(self):
        """A message has a row per choice; the worst case is given too. In each block rows go and come back, and so do their gradients; the
        weights of choices go, and their gradients come back."""
        flags = ["--train", "mixtral", "--plan", "samples", *settings({"mesh.ep": 4})]
        (part,) = self.npar_json("inspect", "why", HERE / "expert_plans.npar", *flags)["classes"]
        rows = [one for one in part["why"] if one["kind"] == "all_to_all" and one["worst_sent_bytes"] > one["sent_bytes"]]
        times, choices, width = 4 * 2, 2 * 8 * 2, 16  # blocks and micro-batches
        self.assertEqual(sum(one["count"] for one in rows), times * (4 + 2))
        sent = times * choices * (4 * width + 2) * 4 * 3 // 4  # 3 of 4 ranks are others
        self.assertEqual(sum(one["sent_bytes"] for one in rows), sent)
        self.assertEqual(sum(one["worst_sent_bytes"] for one in rows), 4 * sent)
        self.assertEqual({one["from"].split(" : ")[1].split(", ")[1] for one in rows}, {"rows of expert"})

    def test_worst_case(self):
        """The worst case is T k min(ep, E / k) rows; what is kept for the backward pass grows with it."""
        for train, experts, chosen, ep, ratio in (
            ("mixtral", 8, 2, 2, 2),
            ("mixtral", 8, 2, 8, 4),
            ("qwen", 128, 8, 32, 16),
            ("qwen", 64, 8, 16, 8),
            ("qwen", 128, 4, 64, 32),
        ):
            with self.subTest(experts=experts, chosen=chosen, ep=ep):
                found = self.routing(train, ep, experts=experts, chosen=chosen)
                self.assertEqual(found["balanced_rows"], 16 * chosen)
                self.assertEqual(found["worst_rows"], ratio * 16 * chosen)
                self.assertEqual(found["worst_bytes"], ratio * found["balanced_bytes"])
                self.assertGreaterEqual(found["balanced_bytes"], found["balanced_rows"] * (16 + 2 * (20 if train == "mixtral" else 6)) * 2)

    def test_rows_of_a_buffer(self):
        """The rounds have room for the worst case, the backward pass keeps no rows, and it makes again what it would keep of a round."""
        sizes = {"experts": 64, "chosen": 8, "width": 64, "inner": 48}
        whole = self.routing("qwen", 16, **sizes)
        for buffer, rounds in ((8, 1), (4, 2), (3, 3), (1, 8), (0.5, 16)):
            with self.subTest(buffer=buffer):
                found = self.routing("qwen", 16, **sizes, buffer=buffer)
                self.assertEqual(found["rounds"], rounds)
                self.assertEqual(found["balanced_rows"], whole["balanced_rows"])
                self.assertGreaterEqual(found["worst_rows"], whole["worst_rows"])
                self.assertEqual(found["buffer_rows"] * rounds, found["worst_rows"])
                self.assertLessEqual(found["buffer_rows"], buffer * found["balanced_rows"] + 16)  # whole rows of each of 16 samples
                self.assertEqual(found["worst_bytes"], whole["worst_bytes"] if rounds == 1 else 0)
                if rounds > 1:
                    self.assertEqual(found["buffer_bytes"] * whole["worst_rows"], whole["worst_bytes"] * found["buffer_rows"])

    def test_a_buffer_bounds_memory(self):
        """Rounds use the memory of one, also where the schedule splits the backward; some of it is the sums of the rounds."""
        flags = {"width": 64, "inner": 128, "length": 64, "depth": 2, "sequences": 1, "batch": 16, "experts": 32, "open": 32, "chosen": 4}
        for more in (mesh(ep=8), {**mesh(ep=8, pp=2), "schedule": "zb_h1"}, {**mesh(ep=8), "again": "block"}):
            with self.subTest(**more):
                bytes = [
                    max(
                        one["activation_bytes"]
                        for one in self.npar_json(
                            "inspect", HERE / "expert_plans.npar", "--train", "qwen", "--plan", "samples", *settings(flags, more, buffer=buffer)
                        )["classes"]
                    )
                    for buffer in ("none", 2, 1, 0.5)
                ]
                self.assertEqual(bytes, sorted(bytes, reverse=True))
                self.assertLess(bytes[2], 0.6 * bytes[0])


    def test_gradients_in_16_bits_stay_with_their_experts(self):
        """A rule for the products also holds for the rounding of their gradients, which would be gathered otherwise."""
        sizes = settings(vocab=64, context=16, width=16, mlp=32, heads=2, kv_heads=2, depth=1, experts=8, batch=64, dp=1, ep=4, compute="bf16")
        self.assertNotRegex(self.npar("compile", "mixtral", *sizes, "--emit=dist").output, r"all_gather .*experts")


class OverlapTest(DriverTest):
    """What a rank computes while rows are on their way."""

    DEEPSEEK = [HERE / "expert_plans.npar", "--train", "deepseek", "--plan", "samples"]
    LARGE = settings({"mesh.ep": 4, "open": 16, "compute": "bf16"}, sequences=1, depth=3, width=2048, inner=1024, heads=16, kv_heads=16, length=2048, experts=16)

    def test_the_expert_of_all_positions(self):
        """Its products follow each dispatch."""
        program = self.npar("compile", *self.DEEPSEEK, *self.LARGE, "--set", "batch=4", "--emit=rank").output
        (forward,) = re.findall(r"^fragment F0: forward\n(.*?)^$", program, re.MULTILINE | re.DOTALL)
        steps = forward.splitlines()
        sent = [place for place, step in enumerate(steps) if re.search("all_to_all [0-9]{8} elements", step)]
        self.assertEqual(len(sent), 6, "rows go out and come back in three layers")
        for dispatch in sent[::2]:
            self.assertIn("shared_experts", steps[dispatch + 1])

    def test_the_other_micro_batch(self):
        """DualPipeV hides rows of one micro-batch behind the other one. Without overlapping tasks the same order has the same bits."""
        pairs = self.npar("schedule", "--kind=dualpipe_v", "--stages=2", "--microbatches=4", "--format=csv").output
        self.assertGreater(pairs.count("OVERLAP_F_B"), 4)
        (self.folder / "apart.csv").write_text(re.sub(r"\(([^;]*);([^)]*)\)OVERLAP_F_B", r"\1,\2", pairs))
        seconds, bits, memory = {}, {}, {}
        for schedule in ("dualpipe_v", str(self.folder / "apart.csv")):
            flags = [*self.DEEPSEEK, *settings({"mesh.pp": 2}, schedule=schedule, batch=16)]
            said = self.npar_json("simulate", *flags, *self.LARGE, "--machine", "dgx-h100")
            seconds[schedule], memory[schedule] = said["seconds_per_step"], said["memory_bytes"]
            bits[schedule] = self.npar_json("run", *flags, *settings({"mesh.ep": 2}), "--random-data", "--steps", 2, "--quiet")["parameter_hash"]
        overlapped, apart = seconds
        self.assertLess(seconds[overlapped], seconds[apart])
        self.assertEqual(bits[overlapped], bits[apart])
        self.assertLess(memory[overlapped], 1.1 * memory[apart])


class PlannerTest(DriverTest):
    def test_searches_expert_parallelism(self):
        """The plan found shares experts among ranks with other samples, and computes what one rank computes."""
        flags = ["--train", "mixtral", "--machine", "dgx-a100", "--hosts", 1, "--batch", 16]
        tried = self.npar_json("plan", HERE / "expert_plans.npar", *flags)["tried"]
        self.assertGreater(len({one["choices"]["mesh.ep"] for one in tried}), 1)
        self.npar("plan", HERE / "expert_plans.npar", *flags, "--fix", "mesh.ep=4", "--fix", "mesh.dp=2", "-o", "best.npar")
        text = (self.folder / "best.npar").read_text()
        self.assertRegex(text, "expert +-> ep in op grouped")
        self.assertRegex(text, "batch +-> dp, ep")
        self.assertTrue(self.npar_json("verify", "best.npar")["ok"])
        error = self.npar("plan", HERE / "expert_plans.npar", *flags, "--fix", "mesh.ep=5", code=2).error
        self.assertIn("'mesh.ep' is one of 1, 2, 4, 8", error)


if __name__ == "__main__":
    unittest.main()
