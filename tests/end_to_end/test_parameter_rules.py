"""Rules of train blocks for parameters: what is frozen costs nothing but its place and stays as it is, what is not is trained as PyTorch's
groups of parameters train it, the same under every plan."""

import json
import re
import unittest

import volume
from driver import LONG, REFERENCE, SMALL, DriverTest, mesh, safetensors_file, sample, settings

RECORDED = json.loads((REFERENCE / "rules_recorded.json").read_text())
SIZES = {**SMALL, "width": 48, "vocab": 101, "length": 8, "depth": 4}


def rule_lines(case):
    """The rules of a recorded case as the language writes them."""
    lines = ["freeze " + ", ".join(f'"{pattern}"' for pattern in case["freeze"])] if case["freeze"] else []
    for name, patterns, factor, decay in case["rules"]:
        changes = ([] if factor is None else [f"lr * {factor}"]) + ([] if decay is None else [f"decay {decay}"])
        lines.append("for " + ", ".join(f'"{pattern}"' for pattern in patterns) + f' as "{name}" {{ {" ".join(changes)} }}')
    return lines


class RulesTest(DriverTest):
    def text(self, rules, model="gpt2", optimizer="AdamW(lr = 1e-2, decay = 0.1)", name="ruled.npar"):
        """A file with a train block of these rules for a model of the standard library."""
        name_of = {"gpt2": "Gpt2", "mlp": "Mlp"}[model]
        lines = "\n".join("    " + rule for rule in rules)
        path = self.folder / name
        path.write_text(f'import "{model}"\ntrain ruled for {name_of} {{\n    batch 16\n    optimizer {optimizer}\n    clip 0.5\n{lines}\n}}\n')
        return path


class ReferenceTest(RulesTest):
    """Beside PyTorch's param_groups and requires_grad in float64 (tests/reference/rules_reference.py)."""

    def compare(self, name, plans, model, optimizer, initial):
        case = RECORDED[name]
        train = case["train"]
        text = self.text(rule_lines(case), model, optimizer)
        expected = safetensors_file.read(REFERENCE / f"rules_{name}_final.safetensors")
        before = safetensors_file.read(REFERENCE / initial)
        for plan in plans:
            with self.subTest(case=name, plan=plan):
                self.npar(
                    "run", text, *plan, *settings(case["model"], batch=train["batch"], clip=train["clip"], compute="f64"),
                    "--weights", REFERENCE / initial, "--data", REFERENCE / "tokens.u16", "--tokens", "u16", "--data-order", "sequential",
                    "--steps", train["steps"], "--log", "log.jsonl", "--output", "final.safetensors", "--quiet",
                )  # fmt: skip
                log = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
                self.assertEqual(len(log), len(case["log"]))
                for entry, other in zip(log, case["log"]):
                    for key in ("loss", "grad_norm", "lr"):
                        self.assert_close(entry[key], other[key], 1e-11, f"{key} of step {entry['step']}")
                    self.assertEqual(set(entry.get("grad_norms", {})), set(other.get("grad_norms", {})))
                    for group, norm in other.get("grad_norms", {}).items():
                        self.assert_close(entry["grad_norms"][group], norm, 1e-11, f"norm of '{group}' in step {entry['step']}")
                weights = safetensors_file.read(self.folder / "final.safetensors")
                for path, tensor in before.items():
                    if path not in expected:
                        self.assertEqual(list(weights[path].values), list(tensor.values), f"'{path}' is frozen")
                for path, tensor in expected.items():
                    apart = max(abs(a - b) for a, b in zip(weights[path].values, tensor.values))
                    self.assertLessEqual(apart, 1e-11, f"final weights '{path}'")

    def test_adamw(self):
        train = RECORDED["gpt2"]["train"]
        optimizer = "AdamW(lr = cosine({peak}, {warmup}, {steps}, {final}), betas = ({beta1}, {beta2}), epsilon = {epsilon}, decay = {decay})"
        plans = [["--plan", "none"], ["--plan", "three_d", *settings(mesh(dp=2, pp=2, tp=2), micro=2, zero=1)]]
        for name, some in (("gpt2", plans), ("gpt2_tied", plans[1:])):
            self.compare(name, some, "gpt2", optimizer.format(**train), "initial.safetensors")

    def test_sgd(self):
        train = RECORDED["mlp"]["train"]
        optimizer = "Sgd(lr = linear({peak}, {warmup}, {end}, {final}), momentum = {momentum}, decay = {decay})".format(**train)
        plans = [["--plan", "none"], ["--plan", "data", *settings(mesh(dp=2, tp=2), zero=3)]]
        self.compare("mlp", plans, "mlp", optimizer, "mlp_initial.safetensors")


class PlansTest(RulesTest):
    RULES = ['freeze "wpe.*", "h.0.*", "h.2.attn.*"', 'for "*.bias", "*ln_*" as "no decay" { decay 0 }', 'for "wte.*" { lr * 3 }']

    def verify(self, rules, *changes):
        report = self.npar_json("verify", self.text(rules), "--plan", "three_d", *settings(SIZES, *changes), code=None)
        self.assertTrue(report["ok"], [check for check in report["checks"] if not check["ok"]])

    def test_equal_to_one_rank(self):
        """Also where whole stages are frozen: they have nothing to do backward."""
        first = ['freeze "wpe.*", "wte.*", "h.0.*", "h.1.*"']
        last = ['freeze "h.*", "ln_f.*"']
        cases = [
            (self.RULES, {**mesh(dp=2, pp=2, tp=2), "zero": 2, "sequence": "true", "micro": 4}),
            (self.RULES, {**mesh(dp=2, pp=2, tp=1), "zero": 3, "schedule": "zb_h1"}),
            (self.RULES, {**mesh(dp=2, pp=1, tp=2), "zero": 3, "compute": "bf16", "micro": 8}),
            (first, {**mesh(dp=1, pp=4, tp=1), "schedule": "1f1b"}),
            (last, {**mesh(dp=1, pp=4, tp=1), "schedule": "zb_h1"}),
            (last, {**mesh(dp=2, pp=2, tp=1), "schedule": "interleaved", "chunks": 2, "recompute": "block"}),
        ]
        if LONG:
            cases += [(self.RULES, mesh(dp=4, pp=1, tp=1)), (first, {**mesh(dp=2, pp=2, tp=1), "zero": 3, "schedule": "zb_h1"})]
        for rules, changes in sample(cases, cases[0], cases[2], cases[4]):
            with self.subTest(rules=rules, **{name.replace(".", "_"): value for name, value in changes.items()}):
                self.verify(rules, changes)

    def test_plans_that_reorder_no_sum_share_their_bits(self):
        """Rates, decays, clipping by what is trained, and the sums of squares in groups."""
        hashes = {}
        for stage in ({"zero": 0}, {"zero": 1}, {"zero": 2, "per_step": "true"}, {"zero": 3, "per_step": "true"}):
            found = self.npar_json(
                "run", self.text(self.RULES), "--plan", "three_d", *settings(SIZES, mesh(dp=2, pp=2, tp=2), stage, sequence="true", micro=4),
                "--random-data", "--steps", 3, "--seed", 3, "--quiet",
            )  # fmt: skip
            hashes[str(stage)] = found["parameter_hash"]
        self.assertEqual(len(set(hashes.values())), 1, hashes)


class ResumeTest(RulesTest):
    """Checkpoints of runs that freeze parameters, resumed with the same rules and with others."""

    SIZES = {**SIZES, "depth": 2}
    FIRST = ['freeze "h.0.*", "wpe.*"', 'for "*.bias" { decay 0 }']
    OTHER = ['freeze "h.1.*", "wpe.*"']

    def train(self, rules, steps, *flags):
        summary = self.npar(
            "run", self.text(rules), "--plan", "three_d", *settings(self.SIZES, mesh(dp=2, pp=1, tp=1), zero=1, batch=8, micro=4), "--random-data",
            "--steps", steps, "--seed", 3, "--json", *flags,
        )  # fmt: skip
        return json.loads(summary.output)["parameter_hash"], summary.error

    def weights(self, name):
        return {path: list(tensor.values) for path, tensor in safetensors_file.read(self.folder / name).items()}

    def test_the_same_rules_go_on_bit_for_bit(self):
        whole, _ = self.train(self.FIRST, 4)
        self.train(self.FIRST, 2, "--checkpoint", "run", "--resume")
        again, said = self.train(self.FIRST, 4, "--checkpoint", "run", "--resume")
        self.assertEqual(again, whole)
        self.assertNotIn("frozen", said)

    def test_other_rules_say_what_becomes_of_states(self):
        self.train(self.FIRST, 2, "--checkpoint", "run", "--resume", "--output", "before.safetensors")
        _, said = self.train(self.OTHER, 3, "--checkpoint", "run", "--resume", "--output", "after.safetensors")
        self.assertIn("the checkpoint was written with 12 parameters, first 'h.0.ln_1.weight', frozen: their optimizer state starts at zero", said)
        self.assertIn("written while 12 parameters, first 'h.1.ln_1.weight', were trained; they are now frozen, and their optimizer state is discarded", said)
        before, after = self.weights("before.safetensors"), self.weights("after.safetensors")
        for path, values in before.items():
            self.assertEqual(after[path] == values, path.startswith(("h.1.", "wpe.")), path)
        self.npar("checkpoint", "verify", "run")
        names = {tensor["name"] for tensor in self.npar_json("checkpoint", "show", "run")["tensors"]}
        self.assertIn("h.0.ln_1.weight.exp_avg", names)
        self.assertFalse([name for name in names if name.startswith(("h.1.", "wpe.")) and ".exp_avg" in name])


class CostTest(RulesTest):
    """What is frozen has no gradient to add up, no optimizer state and no place for them: counted."""

    FROZEN = ['freeze "h.*"']

    def summary(self, rules, **more):
        changes = {**mesh(dp=2, pp=2, tp=1), "micro": 4, **more}
        return self.npar_json("inspect", self.text(rules), "--plan", "three_d", *settings(SIZES, changes))

    def test_no_gradient_collectives(self):
        """Over dp, counted: with all blocks frozen the first stage reduces two tables, the last one its use of the table and its norm."""
        micros, tied, small = 2, 101 * 48, 48
        position = 32 * 48
        for stage, whole, gradients in ((0, 2 + 2 * 12, [tied, position]), (1, 3 + 2 * 12, [small, small, tied])):
            counts = [volume.counts(self.summary(rules, zero=3), over="dp", stage=stage)["reduce_scatter"].count for rules in ([], self.FROZEN)]
            self.assertEqual(counts, [micros * whole, micros * len(gradients)])
            reduced = volume.counts(self.summary(self.FROZEN, zero=0), over="dp", stage=stage)["all_reduce"]
            self.assertEqual(reduced.bytes, 4 * sum(gradients) + (8 if stage == 1 else 0))  # the loss is the last stage's

    def test_nothing_is_kept_but_values(self):
        program = self.npar("compile", self.text(self.FROZEN), "--plan", "three_d", *settings(SIZES, mesh(dp=2, pp=2, tp=1), zero=3), "--emit=rank").output
        kept = set(re.findall(r"^  (h\.\S+|ln_f\.\S+): \w+", program, re.MULTILINE))
        self.assertTrue({"ln_f.weight.grad.0", "ln_f.weight.exp_avg", "h.0.ln_1.weight"} <= kept, sorted(kept))
        self.assertEqual([name for name in kept if name.startswith("h.") and (".grad." in name or ".exp_avg" in name)], [])

    def test_memory(self):
        trained = 101 * 48 + 32 * 48 + 2 * 48
        part = self.summary(self.FROZEN, **{"mesh.pp": 1, "mesh.dp": 1})
        self.assertEqual(part["parameters"] - part["frozen_parameters"], trained)
        self.assertEqual(part["classes"][0]["optimizer_bytes"], 2 * 4 * trained)
        self.assertLess(part["classes"][0]["gradient_bytes"], 4 * (trained + 101 * 48) + 1024)  # the tied table has two uses


if __name__ == "__main__":
    unittest.main()
