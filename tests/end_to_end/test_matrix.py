"""`npar verify --all`: plans made of all features, each equal to one rank or refused at one of its lines."""

import json
import re
import unittest

from driver import LONG, ROOT, DriverTest, sample, settings

# Combinations that must be equal, not merely refused. Every feature is in one of GPT2.
GPT2 = [
    "dp,tp,sequence,zb_v",
    "nodes,tp,interleaved,dropout",
    "pad,zb_h1,unclipped",
    "tp_2d,dp,gpipe",
    "one_block,dualpipe_v",
    "zero3,tp,1f1b,stages,recompute_block",
    "zero2_per_step,ring_zigzag,valid_tokens",
    "zero3_hybrid,ulysses,naive,recompute_layer",
    "zero1_nodes,bucket,looped_bfs",
    "ring,tp,place_spread,recompute_every_2",
    "gather,pad,recompute_attention",
    "hierarchical,tp_blocks,v_half",
    "bf16,zero3_per_step,tp,sequence,place_inside",
    "fp16,zero2,1f1b,recompute_block",
    "keep,nodes,tp_vocabulary",
    "bf16_wide_gradients,tp_feedforward,zb_h2",
    "pad_attention,gather_pad",
    "gather_first,v_min",
    "embed_dp,tp_attention",
    "live,zero1,backward_first",
    "live,zb_auto,pad",
]
LLAMA = ["bf16_wide_gradients,tp,zero2_per_step", "ring_zigzag,zero3,recompute_block", "pad,interleaved"]
MLP = ["pad,dp,zb_auto"]
if LONG:
    GPT2 += [
        "zero2,sequence,zb_h1",
        "zero3_hybrid,ulysses,gpipe,recompute_layer",
        "zero1_nodes,bucket,pad",
        "ring,tp,dp,recompute_every_2",
        "hierarchical,tp,1f1b",
        "bf16,zero3,tp,sequence",
        "keep,bucket,nodes",
        "pad,ulysses",
        "gather_first,zero2",
        "embed_dp,1f1b",
        "live,tp,zero1,dp",
        "backward_first,zero3,stages,recompute_block",
    ]
    LLAMA += ["tp,dp,sequence,zb_v", "ulysses,1f1b,stages"]
    MLP += ["dp,tp,1f1b"]
PLANS = 500 if LONG else 6
# Half of what `npar verify --all` makes of a model in each direction: eight heads as there, an odd vocabulary, and a third of the time.
SHORT = {"vocab": 35, "context": 8, "length": 8, "width": 16, "heads": 8}
SIZES = {model: [] if LONG else settings(sizes) for model, sizes in {
    "gpt2": SHORT, "llama": {**SHORT, "kv_heads": 2, "mlp": 32}, "mlp": {"vocab": 35, "length": 8, "width": 16, "inner": 32},
}.items()}  # fmt: skip

# A loss that is not finite for any numbers: no plan is to blame, and none is equal to anything.
WRONG = """
model Wrong {
    axis batch, embed = 4
    input x: f32[batch, embed]
    param w: [embed] = normal(0.5)
    loss sum(log(-1.0 - abs(x * w)), over = embed)
}
train base for Wrong { batch 8 optimizer Sgd(lr = 0.1) }
"""


class MatrixTest(DriverTest):
    def verify_all(self, *arguments, **options):
        return self.npar_json("verify", "--all", *arguments, code=None, timeout=7200, **options)

    def check(self, report):
        for model in report["models"]:
            for plan in model["plans"]:
                with self.subTest(model=model["model"], plan=plan["name"], features=plan["features"]):
                    self.assertIn(plan["verdict"], ("ok", "refused"), plan)
                    if plan["verdict"] == "ok":
                        self.assertLess(plan["max_relative_error"], 1e-10)
                    else:
                        self.assertTrue(plan["rule"] and plan["reason"], plan)
        self.assertTrue(report["ok"])

    def test_named_combinations_are_equal(self):
        every = re.search(r"there are (.*)", self.npar("verify", "--all", "gpt2", "--combine", "no_such_feature", code=2).error)[1].split(", ")
        self.assertGreater(len(every), 50)
        self.assertEqual(set(every) - set(",".join(GPT2).split(",")), set(), "a feature that no combination has: add one")
        for model, combinations in (("gpt2", GPT2), ("llama", LLAMA), ("mlp", MLP)):
            report = self.verify_all(model, *SIZES[model], *(word for one in combinations for word in ("--combine", one)))
            self.check(report)
            self.assertEqual(report["models"][0]["ok"], len(combinations), report)

    def test_matrix(self):
        """Features alone and random combinations: a sample, or a thousand. The seeds are neighbours, so that every feature is there in the long form."""
        models, alone = [], set()
        for model, seed in (("gpt2", 1), ("llama", 2)):
            report = self.verify_all(model, *SIZES[model], "--plans", PLANS, "--seed", seed)
            self.check(report)
            models += report["models"]
        for model in models:
            self.assertEqual(len(model["plans"]), PLANS)
            self.assertLessEqual(model["refused"], 0.25 * len(model["plans"]), "most plans are for checking, not for refusing")
            names = [plan["name"] for plan in model["plans"]]
            self.assertTrue(any(name.startswith("random_") for name in names), names)
            alone |= {name for name in names if name.startswith("only_")}
        self.assertGreater(max(plan["world"] for model in models for plan in model["plans"]), 8)
        self.assertGreater(len(alone), 45 if LONG else 3)

    def test_the_number_of_plans(self):
        """Exactly as many as asked for, half of them random where that is too few for all features; other seeds, other features."""
        seen = {}
        for count, seed, random in ((1, 1, 0), (2, 1, 1), (4, 1, 2), (4, 2, 2)):
            report = self.verify_all("mlp", *SIZES["mlp"], "--plans", count, "--seed", seed)
            names = [plan["name"] for plan in report["models"][0]["plans"]]
            self.assertEqual(len(names), count)
            self.assertEqual(names[0], "plain")
            self.assertEqual(sum(name.startswith("random_") for name in names), random)
            seen[count, seed] = names
        self.assertNotEqual(seen[4, 1], seen[4, 2])
        for wrong in (0, -1, 100001, 10**20, "many", 1.5):
            self.npar("verify", "--all", "mlp", "--plans", wrong, code=2)

    def test_the_same_seed_makes_the_same_plans(self):
        first, second = (self.npar("verify", "--all", "gpt2", "--seed", 3, "--plans", n, "--print-plan", "random_2").output for n in (80, 99))
        self.assertEqual(first, second)
        self.assertEqual(first, self.npar("verify", "--all", "gpt2", "--seed", 3, "--plans", 40, "--print-plan", "random_2").output)
        other = self.npar("verify", "--all", "gpt2", "--seed", 4, "--plans", 80, "--print-plan", "random_2").output
        self.assertNotEqual(first, other)
        self.assertTrue(first.startswith((ROOT / "stdlib" / "models" / "gpt2.npar").read_text()))

    def test_a_refusal_names_the_line(self):
        report = self.verify_all("gpt2", "--combine", "one_block,sequence")
        (plan,) = report["models"][0]["plans"]
        self.assertEqual((plan["verdict"], plan["rule"]), ("refused", "seq -> tp"))
        self.assertIn("needs it whole", plan["reason"])
        self.assertTrue(report["ok"])

    def test_sizes_that_the_text_refuses(self):
        """A limit of the model's own is no failure of a plan: the sizes of the matrix are chosen within it, what cannot be is refused with its words."""
        text = (ROOT / "stdlib" / "models" / "mlp.npar").read_text()
        model = self.folder / "mine.npar"
        model.write_text(text.replace("depth = 2", "depth = 2, most = 2").replace("    axis batch", '    require depth <= most, "too deep"\n    axis batch', 1))
        report = self.verify_all("mine.npar", "--combine", "dp", "--combine", "zb_v")
        plans = report["models"][0]["plans"]
        self.assertEqual([plan["verdict"] for plan in plans], ["ok", "refused"])
        self.assertIn("the model refuses these sizes: ", plans[1]["reason"])
        self.assertIn("too deep", plans[1]["reason"])
        self.assertTrue(report["ok"])
        # A width that must be a multiple of 12, and more than the matrix would choose; a length that is what it is.
        model.write_text(text.replace("    axis batch", '    require width % 12 == 0 and width > 40, "odd width"\n    require length == 64, "other length"\n    axis batch', 1))
        report = self.verify_all("mine.npar", "--combine", "dp,tp", "--set", "width=60")
        self.assertEqual([plan["verdict"] for plan in report["models"][0]["plans"]], ["ok"], report)

    def test_a_text_with_an_import_beside_it(self):
        """Run in the text's own folder or elsewhere: the drafts are written to a third one."""
        (self.folder / "texts").mkdir()
        text = (ROOT / "stdlib" / "models" / "mlp.npar").read_text()
        (self.folder / "texts" / "Mine.npar").write_text((ROOT / "stdlib" / "layers" / "Linear.npar").read_text().replace("layer Linear", "layer Mine"))
        self.assertIn("Linear(", text)
        (self.folder / "texts" / "m.npar").write_text(text.replace('import "Linear"', 'import "Mine"').replace("Linear(", "Mine("))
        for cwd, name in ((self.folder / "texts", "m.npar"), (self.folder, "texts/m.npar")):
            report = self.verify_all(name, "--combine", "dp", "--combine", "tp", cwd=cwd)
            self.assertEqual([plan["verdict"] for plan in report["models"][0]["plans"]], ["ok", "ok"], report)

    def test_what_is_neither_equal_nor_refused_fails(self):
        """A model whose numbers can be compared with nothing; `again` shows the plan again."""
        (self.folder / "wrong.npar").write_text(WRONG)
        result = self.npar("verify", "--all", "wrong.npar", "--combine", "dp", "--json", code=3)
        (plan,) = json.loads(result.output)["models"][0]["plans"]
        self.assertEqual(plan["verdict"], "failed")
        self.assertIn("refused without a line of the plan", plan["reason"])
        self.assertIn("--print-plan combined_0", plan["again"])
        printed = self.npar("verify", "--all", "wrong.npar", "--combine", "dp", "--print-plan", "combined_0").output
        self.assertIn("batch -> dp", printed)

    def test_usage(self):
        self.assertIn("unknown feature 'zb_w'", self.npar("verify", "--all", "gpt2", "--combine", "dp,zb_w", code=2).error)
        self.assertIn("one choice of 'schedule'", self.npar("verify", "--all", "gpt2", "--combine", "gpipe,zb_v", code=2).error)
        self.assertIn("one choice of 'data'", self.npar("verify", "--all", "gpt2", "--combine", "dp,zero1_nodes", code=2).error)
        self.assertIn("has nothing for 'ulysses'", self.npar("verify", "mlp", "--pairs", "--features", "dp,ulysses", code=2).error)
        self.npar("verify", "--all", "gpt2", "--plan", "three_d", code=2)
        self.npar("verify", "gpt2", "mlp", code=2)
        self.npar("verify", "gpt2", "--combine", "dp", code=2)
        self.npar("verify", "--all", "missing", code=1)
        for setting in ("batch=3", "micro=1", "mesh.dp=4", "compute=bf16", "recompute=block"):
            for command in (("verify", "--all", "mlp", "--combine", "dp"), ("verify", "mlp", "--pairs", "--features", "dp")):
                error = self.npar(*command, "--set", setting, code=2).error
                self.assertIn(f"'--set {setting}' sets a plan, but npar makes its own plans here", error)
        self.npar("verify", "--all", "gpt2", "--print-plan", "random_9999", code=2)


class CompatTest(DriverTest):
    def test_pairs(self):
        features = sample(["dp", "nodes", "tp", "one_block", "sequence", "zb_h1"], "dp", "nodes", "tp", "zb_h1")
        report = self.npar_json("verify", "mlp", *SIZES["mlp"], "--pairs", "--features", ",".join(features))
        self.assertTrue(report["ok"])
        verdicts = {tuple(pair["features"]): pair["verdict"] for pair in report["pairs"]}
        self.assertEqual(verdicts[("dp", "dp")], "ok")
        self.assertEqual(verdicts[("tp", "zb_h1")], "ok")
        self.assertEqual(verdicts[("dp", "nodes")], "refused")  # two ways to take the batch
        self.assertEqual(len(verdicts), len(features) * (len(features) + 1) // 2, "no pair is left out")
        self.assertLessEqual(set(verdicts.values()), {"ok", "refused"})
        for pair in report["pairs"]:
            self.assertEqual(bool(pair["reason"]), pair["verdict"] == "refused", pair)
            self.assertEqual(pair["world"] is None, "a plan has one choice of" in pair["reason"], pair)

    def test_whole_table(self):
        """Every pair of all features; half an hour for both models."""
        if not LONG:
            self.skipTest("with tools/test --long")
        for model in ("gpt2", "llama"):
            report = self.npar_json("verify", model, "--pairs", timeout=7200)
            self.assertTrue(report["ok"], [pair for pair in report["pairs"] if pair["verdict"] == "failed"])
            count = len(report["features"])
            self.assertEqual(len(report["pairs"]), count * (count + 1) // 2)

    def test_table(self):
        """A refusal is a footnote with its line."""
        text = self.npar("verify", "gpt2", *SIZES["gpt2"], "--pairs", "--features", "one_block,sequence").output
        self.assertRegex(text, r"Gpt2: 2 features, alone and in pairs: 2 ok, 1 refused, 0 failed")
        self.assertRegex(text, r"1  'seq -> tp': axis 'seq' cannot be split")


if __name__ == "__main__":
    unittest.main()
