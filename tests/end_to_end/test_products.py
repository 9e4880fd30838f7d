"""The order of sums in products of bf16: which one a run takes, that all commands name it, and what depends on it."""

import json
import os
import unittest

from driver import SMALL, DriverTest, mesh, settings

REMARK = "the checkpoint was trained with products of bf16 in the {} order, this run adds in the {} order: results agree with those of an uninterrupted run within rounding"


class ProductsTest(DriverTest):
    def run_of(self, *words, instructions=None, **more):
        """The summary of a run. Without `instructions` a set without pairs is no limit either."""
        model = ["gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=1, tp=2), {"compute": "bf16", **more})]
        environment = {**os.environ, **({"NPAR_INSTRUCTIONS": instructions} if instructions else {})}
        return self.npar_json("train", *model, "--data", self.text_file(), "--tokens", "bytes", *words, env=environment)

    def test_the_order_decides_the_bits_of_bf16_alone(self):
        for compute, differ in (("bf16", True), ("fp16", False), ("f32", False)):
            with self.subTest(compute=compute):
                found = {order: self.run_of("--products", order, "--steps", 2, compute=compute) for order in ("portable", "pairs", "fastest")}
                self.assertEqual(found["portable"]["parameter_hash"] != found["pairs"]["parameter_hash"], differ)
                for order in ("portable", "pairs"):
                    self.assertEqual(found[order].get("products"), order if differ else None)
                chosen = found["fastest"].get("products", "portable")
                self.assertEqual(found["fastest"]["parameter_hash"], found[chosen]["parameter_hash"])

    def test_a_processor_without_the_instruction_takes_the_portable_order(self):
        self.assertEqual(self.run_of("--steps", 1, instructions="avx512")["products"], "portable")

    def test_the_plan_decides_and_the_flag_overrides_it(self):
        for words, plan, order in (((), "pairs", "pairs"), ((), "portable", "portable"), (("--products", "portable"), "pairs", "portable")):
            self.assertEqual(self.run_of(*words, "--steps", 1, products=plan)["products"], order)

    def test_any_threads_and_stages_give_the_same_bits(self):
        hashes = {
            (threads, pp): self.run_of("--products", "pairs", "--threads", threads, "--steps", 2, **mesh(pp=pp))["parameter_hash"]
            for threads, pp in ((1, 1), (2, 1), (4, 2))
        }
        self.assertEqual(len(set(hashes.values())), 1, hashes)

    def test_the_log_names_it_in_the_first_step_and_where_it_changes(self):
        for order, steps in (("pairs", 2), ("pairs", 3), ("portable", 5)):
            self.run_of("--products", order, "--steps", steps, "--log", "log.jsonl", "--checkpoint", "kept", "--resume")
        lines = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        self.assertEqual([line.get("products") for line in lines], ["pairs", None, None, "portable", None])

    def test_a_run_resumes_in_another_order_and_says_so(self):
        kept = ("--checkpoint", "kept", "--checkpoint-every", 2)
        self.run_of("--products", "pairs", "--steps", 2, *kept)
        self.assertEqual(self.npar_json("checkpoint", "show", "kept/step-2")["products"], "pairs")
        self.assertIn("bf16, products pairs", self.npar("checkpoint", "show", "kept/step-2").output)
        model = ["gpt2", "--plan", "three_d", *settings(SMALL, mesh(dp=1, pp=1, tp=2), compute="bf16")]
        for order in ("pairs", "portable"):
            words = ("train", *model, "--data", self.text_file(), "--tokens", "bytes", "--resume", "--steps", {"pairs": 4, "portable": 6}[order], *kept)
            error = self.npar(*words, "--products", order).error
            self.assertEqual(REMARK.format("pairs", order) in error, order == "portable", error)

    def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(self):
        whole = self.run_of("--products", "pairs", "--steps", 4)["parameter_hash"]
        kept = ("--products", "pairs", "--checkpoint", "kept")
        self.run_of(*kept, "--steps", 2)
        self.assertEqual(self.run_of(*kept, "--resume", "--steps", 4)["parameter_hash"], whole)

    def test_checks_of_plans_and_generation_take_it(self):
        model = ["gpt2", *settings(SMALL, compute="bf16", vocab=65, width=16, length=8, depth=2)]
        self.npar("verify", *model, "--products", "pairs")
        made = {}
        for order in ("portable", "pairs"):
            self.npar("train", *model, "--plan", "none", "--random-data", "--steps", 1, "--output", "w.safetensors", "--products", "portable")
            made[order] = self.npar("generate", *model, "--weights", "w.safetensors", "--prompt-tokens", "1,2,3", "--count", 4, "--products", order).output
        self.assertTrue(all(made.values()))

    def test_an_unknown_order_is_refused(self):
        refused = self.npar("train", "gpt2", *settings(SMALL, compute="bf16"), "--plan", "none", "--random-data", "--steps", 1, "--products", "some", code=2)
        self.assertIn("--products: some not in {portable,pairs,fastest}", refused.error)


if __name__ == "__main__":
    unittest.main()
