"""`npar explain`: each question is answered by two plans, whose figures are those of `npar simulate` and decide yes or no."""

import unittest

from driver import DriverTest, sample, settings
from test_plan import SMALL, machine

KEYS = ["one_device", "tensor", "tensor_across", "pipeline", "zero1", "zero2", "zero3", "recompute", "sequence", "vocabulary", "context", "experts", "buffer", "interleaved", "zero_bubble", "micro", "bucket"]


class ExplainTest(DriverTest):
    def explain(self, model="gpt2", sizes=SMALL, batch=8, text=None, hosts=1, **options):
        (self.folder / "quartet.npar").write_text(text or machine(count=2))
        return self.npar_json("explain", model, "--machine", "quartet.npar", "--hosts", hosts, "--batch", batch, *settings(sizes), **options)

    def check(self, found):
        """Properties of all answers: the word comes first and agrees with the figures."""
        self.assertEqual([each["key"] for each in found["questions"]], KEYS)
        for each in found["questions"]:
            self.assertTrue(each["sentence"].lower().startswith(each["answer"]), each)
            one, other = each["with"], each["without"]
            if not one or not other or one["refused"] or other["refused"] or each["key"] == "one_device":
                continue
            for plan in (one, other):
                self.assertEqual(plan["ranks"], found["best"]["ranks"])
            self.assertNotEqual(one["choices"], other["choices"], each)
            if one["fits"] and other["fits"] and abs(one["seconds_per_step"] / other["seconds_per_step"] - 1) > 1e-3:
                self.assertEqual(each["answer"] == "yes", one["seconds_per_step"] < other["seconds_per_step"], each)
            elif one["fits"] != other["fits"]:
                self.assertEqual(each["answer"] == "yes", one["fits"], each)
        return {each["key"]: each for each in found["questions"]}

    found = None

    def usual(self):
        """The answers for gpt2 on two devices: of all tests that ask for them one search."""
        if self.found is None:
            ExplainTest.found = self.explain()
        (self.folder / "quartet.npar").write_text(machine(count=2))
        return self.found

    def test_answers_are_those_of_two_plans(self):
        found = self.usual()
        answers = self.check(found)
        for key, differs in (("zero1", "zero"), ("recompute", "recompute"), ("sequence", "sequence"), ("vocabulary", "split"), ("bucket", "bucket"), ("micro", "micro")):
            one, other = answers[key]["with"]["choices"], answers[key]["without"]["choices"]
            self.assertEqual({name for name in one if one[name] != other[name]}, {differs}, key)
            self.assertEqual(answers[key]["also"], [], key)
        self.assertEqual({answers["tensor"][side]["choices"]["mesh.tp"] for side in ("with", "without")}, {"1", "2"})
        self.assertIn("seq -> tp", answers["sequence"]["words"])
        self.assertIn("there is one host", answers["tensor_across"]["sentence"])
        self.assertTrue(all(each["seconds_per_step"] >= found["best"]["seconds_per_step"]
                            for answer in answers.values() if answer["key"] != "one_device"
                            for each in (answer["with"], answer["without"]) if each and not each["refused"] and each["fits"]))
        planned = self.npar_json("plan", "gpt2", "--machine", "quartet.npar", "--batch", 8, *settings(SMALL))["best"]
        self.assertLessEqual(found["best"]["seconds_per_step"], planned["seconds_per_step"])

    def test_what_fits_on_one_device_only_in_shares(self):
        """A device that holds less than one device needs with recomputation: ZeRO or a cut is named, and it fits."""
        whole = self.check(self.usual())["one_device"]
        self.assertEqual(whole["answer"], "yes")
        least = whole["with"]["memory_bytes"]
        between = self.check(self.explain(text=machine(count=2, memory=f"{least} B")))["one_device"]
        self.assertTrue(between["sentence"].startswith("Yes, with recomputation"), between)
        shared = self.check(self.explain(text=machine(count=2, memory=f"{least - 1} B")))["one_device"]
        self.assertEqual((shared["answer"], shared["without"]["fits"], shared["with"]["fits"]), ("no", False, True))
        self.assertEqual(shared["with"]["ranks"], 2)

    def test_across_hosts(self):
        """Links between hosts are slower: the same plan with its tensor parallelism across them loses."""
        answer = self.check(self.explain(hosts=2))["tensor_across"]
        self.assertEqual((answer["answer"], answer["with"]["choices"]["place"]), ("no", "tp,dp,pp"))
        self.assertGreater(answer["with"]["seconds_per_step"], answer["without"]["seconds_per_step"])

    def test_other_models(self):
        small = {"vocab": 64, "context": 32, "length": 16, "width": 32, "heads": 4, "depth": 2}
        models = {"llama": {**small, "kv_heads": 4}, "bert": small}
        for model, sizes in sample(models, "llama").items():
            self.check(self.explain(model, sizes, batch=4))

    def test_a_text_of_ones_own(self):
        (self.folder / "small.npar").write_text("""import "Linear"
model Small(width = 16) {
    axis batch, embed = width, hidden = 2 * width
    input x: f32[batch, embed]
    input answer: f32[batch, hidden]
    up = Linear(embed, hidden)
    loss squared_error(up(x), answer)
}
train base for Small { batch 16 optimizer Sgd(lr = 0.1, momentum = 0.9) }
""")
        answers = self.check(self.explain("small.npar", {"width": 32}))
        self.assertIn("no repeated blocks", answers["recompute"]["sentence"])
        text = self.npar("explain", "small.npar", "--machine", "quartet.npar", "--batch", 8, "--set", "width=32").output
        for answer in answers.values():
            self.assertIn(answer["question"], text)

    def test_nothing_fits(self):
        (self.folder / "quartet.npar").write_text(machine(count=2, memory="1 kB"))
        failed = self.npar("explain", "gpt2", "--machine", "quartet.npar", "--batch", 8, *settings(SMALL), code=1).error
        self.assertIn("no plan fits 1 host of 'quartet'", failed)

    def test_two_runs_say_the_same(self):
        (self.folder / "quartet.npar").write_text(machine(count=2))
        arguments = ("explain", "mlp", "--machine", "quartet.npar", "--batch", 4)
        self.assertEqual(self.npar(*arguments, "--jobs", 1).output, self.npar(*arguments, "--jobs", 3).output)


if __name__ == "__main__":
    unittest.main()
