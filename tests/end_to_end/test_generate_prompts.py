"""`npar generate --prompts`: each prompt of a file gets the tokens and logits that it gets alone, whatever its length, the plan and the order."""

import json
import unittest

from driver import DriverTest, mesh, safetensors_file, settings

import random_weights

# One token; more than one step of a program for prompts takes; equal ones; an end beyond that of the others.
PROMPTS = [[5], [3, 14, 15, 9, 2, 6, 5], [4, 9, 1] * 10, [7, 3], [3, 14, 15, 9, 2, 6, 5], [7, 3, 1, 2] * 8]
COUNT = 6
MODEL = random_weights.GPT2
BYTES = {"vocab": 256, "context": 40, "width": 32, "heads": 4, "depth": 2}
PLANS = {
    "one rank": [],
    "bf16": settings(compute="bf16"),
    "fewer at once": ["--batch", 4],
    "dp tp": ["--plan", "three_d", *settings(mesh(dp=4, pp=1, tp=2))],
    "pp": ["--plan", "three_d", *settings(mesh(dp=1, pp=2, tp=1))],
}
WRONG = {
    "empty.txt": ("", ":1:1: the file is empty: give one prompt per line"),
    "hole.txt": ("one\n\ntwo\n", ":2:1: the line is empty, but each line is a prompt"),
    "long.txt": ("one\n" + 36 * "x" + "\n", ":2:1: 6 tokens after a prompt of 36 need a sequence of 41, but the model's length is 40"),
    "syntax.jsonl": ('{"prompt": "one"}\n{"prompt": one}\n', ":2:12: invalid JSON"),
    "rest.jsonl": ('{"prompt": "one"} 1\n', ":1:19: invalid JSON"),
    "key.jsonl": ('{"prompt": "one"}\n{"text": "two"}\n', ":2:1: unknown key 'text'"),
    "both.jsonl": ('{"prompt": "one", "tokens": [1]}\n', ":1:1: a prompt has one key, but 'prompt' and 'tokens' are given"),
    "none.jsonl": ("{}\n", ":1:1: a prompt needs the key 'prompt' or 'tokens'"),
    "bare.jsonl": ("[1, 2]\n", ":1:1: the line is a list"),
    "deep.jsonl": ('{"tokens": [[1]]}\n', ":1:1: 'tokens' has a list, but needs a list of token numbers"),
    "kind.jsonl": ('{"prompt": 5}\n', ":1:1: 'prompt' has a number, but needs a text"),
    "minus.jsonl": ('{"tokens": [1, -2]}\n', ":1:1: token 2 is -2, but tokens are whole numbers from 0"),
    "half.jsonl": ('{"tokens": [1.5]}\n', ":1:1: token 1 is 1.5, but tokens are whole numbers from 0"),
    "large.jsonl": ('{"tokens": [1]}\n{"tokens": [256]}\n', ":2:1: the prompt has token 256, but the model has 256 classes"),
    "nothing.jsonl": ('{"tokens": []}\n', ":1:1: the prompt is empty: give at least one token"),
}


class GeneratePromptsTest(DriverTest):
    def weights(self, model):
        safetensors_file.write(self.folder / "w.safetensors", random_weights.weights(random_weights.gpt2_shapes(model)))
        return ["gpt2", "--weights", "w.safetensors", *settings(model)]

    def write(self, prompts, name="prompts.jsonl"):
        (self.folder / name).write_text("".join(json.dumps({"tokens": prompt}) + "\n" for prompt in prompts))
        return ["--prompts", name]

    def generate(self, *flags):
        return self.npar_json("generate", *flags, "--quiet")

    def alone(self, *flags):
        return [self.generate(*flags, "--prompt-tokens", ",".join(map(str, prompt))) for prompt in PROMPTS]

    def test_as_alone(self):
        """Bit for bit, under a plan and in groups as well."""
        flags = [*self.weights(MODEL), *settings(length=40), "--count", COUNT, "--top", 4]
        for name, plan in PLANS.items():
            with self.subTest(plan=name):
                found = self.generate(*flags, *plan, *self.write(PROMPTS))
                expected = self.alone(*flags, *(plan if "--batch" not in plan else []))
                products = found.get("products")
                self.assertEqual(products is None, name != "bf16")
                for each, wanted in zip(found["prompts"], expected, strict=True):
                    self.assertEqual(products, wanted.pop("products", None))
                    wanted.pop("schema")
                    self.assertEqual(each, wanted)

    def test_drawn_beyond_the_length(self):
        """The draw of a token depends on seed and place. With --window each prompt leaves its own beginning behind."""
        flags = [*self.weights(MODEL), *settings(length=12), "--count", 9, "--window", "--temperature", 2, "--seed", 3]
        found = self.generate(*flags, *self.write(PROMPTS))["prompts"]
        self.assertEqual([each["tokens"] for each in found], [each["tokens"] for each in self.alone(*flags)])

    def test_compiled_program(self):
        """A program that computes whole sequences takes as many prompts at once as it has samples."""
        flags = self.weights(MODEL)
        self.npar("compile", "gpt2", "--plan", "none", *settings(MODEL, length=40, batch=4, micro=4), "--for", "generate", "-o", "g.npx")
        found = self.generate("g.npx", *flags[1:3], *self.write(PROMPTS), "--count", COUNT)["prompts"]
        expected = self.alone(*flags, *settings(length=40), "--count", COUNT)
        self.assertEqual([each["tokens"] for each in found], [each["tokens"] for each in expected])

    def test_text(self):
        """Texts are printed in the order of the file, each under its line; a line may end as on Windows."""
        flags = [*self.weights(BYTES), "--count", 5]
        (self.folder / "texts.txt").write_bytes("näive\r\nb\n".encode())
        (self.folder / "texts.jsonl").write_text('{"prompt": "näive"}\n{"tokens": [98]}\n')
        texts = [self.npar("generate", *flags, "--prompt", prompt, "--quiet").output for prompt in ("näive", "b")]
        for name in ("texts.txt", "texts.jsonl"):
            said = self.npar("generate", *flags, "--prompts", name, "--quiet").output
            self.assertEqual(said, f"--- {name}:1\n{texts[0]}\n--- {name}:2\n{texts[1]}")

    def test_wrong_files(self):
        flags = [*self.weights(BYTES), "--count", 6]
        for name, (content, message) in WRONG.items():
            with self.subTest(file=name):
                (self.folder / name).write_text(content)
                self.assertIn(f"npar: error: {name}{message}", self.npar("generate", *flags, "--prompts", name, code=1).error)

    def test_flags(self):
        flags = self.weights(BYTES)
        self.assertIn("--batch needs --prompts FILE", self.npar("generate", *flags, "--prompt", "a", "--batch", 2, code=2).error)
        wrong = self.npar("generate", *flags, "--prompt", "a", "--prompts", "p.txt", code=2).error
        self.assertIn("give only one of --prompt, --prompt-file, --prompt-tokens and --prompts", wrong)


if __name__ == "__main__":
    unittest.main()
