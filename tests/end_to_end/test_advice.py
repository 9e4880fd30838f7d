"""Advice that a machine can follow is followed: what a help says is written into the text, until npar has nothing more to say."""

import re
import unittest

from driver import ROOT, DriverTest

WRONG = ROOT / "tests" / "dsl" / "wrong"
PLACE = r"^(\S+?):(\d+):(\d+): "
HEAD = """import "Embedding"
import "LayerNorm"
import "Linear"
model Tiny(vocab = 16, width = 8, length = 4) {
    axis batch, seq = length, vocab, embed = width, side = 2, half = 4
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    parts = Linear(embed, [side, half])
    whole = Linear([side, half], embed)
    x = tanh(table(tokens))
"""
END = """    loss cross_entropy(project(x, table.weight), targets, over = vocab)
}
train base for Tiny { batch 8 optimizer Sgd(lr = 0.1) }
plan p for Tiny {
    mesh tp = 2
    micro 2
    split {
%s
    }
}
"""


class AdviceTest(DriverTest):
    def say(self, text):
        (self.folder / "t.npar").write_text(text)
        result = self.npar("inspect", "t.npar", code=None)
        return result.returncode, result.error

    def follow(self, text, rewrite, most=6):
        """Applies `rewrite(lines, error)` until the text is good."""
        for _ in range(most):
            code, error = self.say(text)
            if code == 0:
                return text
            lines = text.splitlines()
            self.assertTrue(rewrite(lines, error), "no advice to follow:\n" + error)
            text = "\n".join(lines) + "\n"
        self.fail("the advice leads nowhere:\n" + error)

    @staticmethod
    def exempt(lines, error):
        found = list(re.finditer(PLACE + r"help: .* or an exemption: '(.*)'$", error, re.M))
        for match in reversed(found):
            lines.insert(int(match[2]) - 1, "        " + match[4])
        return bool(found)

    def test_exemptions_lead_to_a_plan(self):
        for body, rule in [
            ("    x = x + x[seq = 0]\n", "seq -> tp"),
            ("    y = parts(x)\n    x = whole(stack([y[side = 1], y[side = 0]], side, before = half))\n", "side -> tp"),
            ("    y = parts(x)\n    x = whole(attention(y, y, y))\n", "half -> tp"),
        ]:
            with self.subTest(rule=rule):
                text = self.follow(HEAD + body + END % f"        {rule}", self.exempt, most=2)  # all exemptions are in the first message
                self.assertIn("-> none in op", text)

    def test_a_second_name_with_the_same_path(self):
        def rename(lines, error):
            match = re.search(PLACE + r"help: `under` opens no scope.*`(\w+) as \"(.*)\"`$", error, re.M)
            if not match:
                return False
            at = int(match[2]) - 1
            lines[at] = re.sub(r"\b\w+ = LayerNorm", f'{match[4]} as "{match[5]}" = LayerNorm', lines[at])
            lines[at + 1 :] = [line.replace("norm(x)", match[4] + "(x)") for line in lines[at + 1 :]]
            return True

        body = """    under "a" {
        norm = LayerNorm(embed)
        x = norm(x)
    }
    under "b" {
        norm = LayerNorm(embed)
        x = norm(x)
    }
"""
        text = self.follow(HEAD + body + END % "        vocab -> tp", rename)
        self.assertIn('norm_2 as "norm" = LayerNorm(embed)', text)

    def test_reserved_words_as_paths(self):
        def take(lines, error):
            match = re.search(PLACE + r"help: '(\w+)' is a reserved word.*`repeat blocks\[...\] as (\".*\")`$", error, re.M)
            if match:
                at = int(match[2]) - 1
                lines[at] = lines[at].replace(match[4] + "[2]", f"blocks[2] as {match[5]}")
            return bool(match)

        self.follow(HEAD + "    repeat layer[2] { x = x * 2 }\n" + END % "        vocab -> tp", take)

    def test_attention_says_what_it_takes(self):
        """Both ways out of a product axis that joins heads and features."""
        body = """    axis heads = 2, chunk = 2, value = chunk * half
    param a: [embed, heads, chunk, half] = ones
    param b: [embed, heads, value] = ones
    y = attention(einsum(x, a, over = embed), einsum(x, a, over = embed), einsum(x, b, over = embed))
    x = x + mean(y, over = [%s]) * mean(x, over = embed)
"""

        def own(lines, error):
            match = re.search(r"help: .*`axis value = 1 \* ...`", error)
            at = next(i for i, line in enumerate(lines) if "value = chunk" in line)
            lines[at] = lines[at].replace("value = chunk", "value = 1 * chunk")
            return bool(match)

        def meant(lines, error):
            match = re.search(r"help: .* name the feature: `(.*)`", error)
            at = next(i for i, line in enumerate(lines) if "attention(" in line)
            lines[at] = lines[at][:-1] + f", {match[1]})"
            return bool(match)

        for rest, rewrite in [("heads, value", own), ("heads, chunk, half", meant)]:
            with self.subTest(rest=rest):
                text = HEAD + body.replace("x = x + mean", "x = x * 2\n    z = mean") % rest + END % "        vocab -> tp"
                self.follow(text, rewrite, most=2)

    def test_did_you_mean(self):
        """Of every wrong text of the front end: the word that is meant, put where the caret is, is not refused as unknown again."""
        followed = 0
        for path in sorted(WRONG.glob("*.npar")):
            source = path.read_text().splitlines()
            told = any(line.startswith("#> " + path.name) and "help: did you mean" in line for line in source)
            if not told or any(re.match(r"# (plan|train|config|set): ", line) for line in source):
                continue
            text = "\n".join(line for line in source if not line.startswith("#>")) + "\n"
            _, error = self.say(text)
            lines, fixed = text.splitlines(), []
            for match in reversed(list(re.finditer(PLACE + r"help: did you mean '(.*)'\?$", error, re.M))):
                if match[1] != "t.npar":
                    continue
                row, column = int(match[2]) - 1, int(match[3]) - 1
                wrong = re.match(r"\"[^\"]*\"|\w+", lines[row][column:])[0]
                word = f'"{match[4]}"' if wrong[0] == '"' else match[4]
                lines[row] = lines[row][:column] + word + lines[row][column + len(wrong) :]
                fixed.append((wrong, word))
            if not fixed:
                continue
            followed += len(fixed)
            _, again = self.say("\n".join(lines) + "\n")
            for wrong, _ in fixed:
                self.assertNotRegex(again, rf"(unknown|no) \w+( \w+)? '{re.escape(wrong)}'", f"{path.name}: {fixed}")
        self.assertGreater(followed, 15)

    def test_what_is_stored_in_shares_is_not_advised_again(self):
        plan = END.replace("mesh tp = 2", "mesh dp = 2") % "        batch -> dp"
        for stored in ("optimizer", "optimizer, gradients", "optimizer, gradients, parameters"):
            limited = plan.rstrip().removesuffix("}") + f"    store {{ {stored} -> dp }}\n    require memory <= %s\n}}\n"
            error = self.say(HEAD + limited % "1 kB")[1]
            needed = int(re.search(r"\((\d+) bytes\), but the plan allows", error)[1])
            error = self.say(HEAD + limited % f"{needed - 1} B")[1]
            self.assertIn("the plan allows", error)
            for word in stored.split(", "):
                self.assertNotRegex(error, rf"help: `store {{[^}}]*{word}")


if __name__ == "__main__":
    unittest.main()
