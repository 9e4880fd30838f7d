"""`npar generate`: the tokens and logits of transformers, under every plan; drawing at random; text, bytes and numbers in and out."""

import array
import json
import shutil
import unittest

from driver import REFERENCE, DriverTest, mesh, safetensors_file, settings

import random_weights

RECORDED = json.loads((REFERENCE / "generate_recorded.json").read_text())
MODELS = {
    "gpt2": (random_weights.GPT2, random_weights.gpt2_shapes),
    "llama": (random_weights.LLAMA, random_weights.llama_shapes),
}
PROMPT = ",".join(map(str, random_weights.PROMPT))
PLANS = {
    "tp": mesh(dp=1, pp=1, tp=2),
    "dp zero 3": dict(mesh(dp=3, pp=1, tp=1), zero=3),
    "dp tp and sequence": dict(mesh(dp=2, pp=1, tp=2), sequence="true"),
    "pp": mesh(dp=1, pp=2, tp=1),
}
BACKWARDS = """import "Embedding"
model Backwards(vocab = 256, width = 16, length = 12) {
    axis batch, seq = length, position = 12, vocab, embed = width
    input tokens, targets: i32[batch, seq]
    wte = Embedding(vocab, embed, 1.0)
    wpe = Embedding(position, embed, 1.0)
    x = wte(tokens) + wpe(length - 1 - index(seq))
    loss cross_entropy(project(x, wte.weight), targets, over = vocab)
}
train base for Backwards { batch 4 optimizer Sgd(lr = constant(0.1)) seed 1 }
"""
BYTES = {"vocab": 256, "context": 32, "width": 32, "heads": 4, "depth": 2}


class GenerateTest(DriverTest):
    def model_flags(self, name):
        model, shapes = MODELS[name]
        safetensors_file.write(self.folder / f"{name}.safetensors", random_weights.weights(shapes(model)))
        return [name, "--weights", f"{name}.safetensors", *settings(model)]

    def generate(self, *flags):
        return self.npar_json("generate", *flags, "--quiet")

    def clear(self, name):
        """How many of the recorded tokens lead clearly: after the first that does not, float32 may go another way."""
        leads = RECORDED[name]["leads"]
        return next((i for i, lead in enumerate(leads) if lead < 1e-3), len(leads))

    def test_against_transformers(self):
        for name, (model, _) in MODELS.items():
            with self.subTest(model=name):
                count = len(RECORDED[name]["tokens"])
                found = self.generate(*self.model_flags(name), "--prompt-tokens", PROMPT, "--count", count, "--top", model["vocab"])
                clear = self.clear(name)
                self.assertGreaterEqual(clear, 50)
                self.assertEqual(found["prompt_tokens"], random_weights.PROMPT)
                self.assertEqual(len(found["tokens"]), count)
                self.assertEqual(found["tokens"][:clear], RECORDED[name]["tokens"][:clear])
                logits = {each["token"]: each["logit"] for each in found["best"][0]}
                self.assertEqual(len(logits), model["vocab"])
                for token, logit in enumerate(RECORDED[name]["logits"]):
                    self.assertLessEqual(abs(logits[token] - logit), 1e-4, f"logit of token {token}")

    def test_every_plan_says_the_same(self):
        flags = self.model_flags("gpt2")
        for name, plan in PLANS.items():
            with self.subTest(plan=name):
                found = self.generate(*flags, "--plan", "three_d", *settings(plan, length=40), "--prompt-tokens", PROMPT, "--count", 12)
                self.assertEqual(found["tokens"], RECORDED["gpt2"]["tokens"][:12])

    def test_compiled_program(self):
        flags = self.model_flags("gpt2")
        sizes = settings(MODELS["gpt2"][0], length=40, batch=2)
        self.npar("compile", "gpt2", "--plan", "none", *sizes, "--for", "generate", "-o", "g.npx")
        found = self.generate("g.npx", *flags[1:3], "--prompt-tokens", PROMPT, "--count", 12)
        self.assertEqual(found["tokens"], RECORDED["gpt2"]["tokens"][:12])

    def test_drawing_is_by_seed(self):
        flags = [*self.model_flags("gpt2"), "--prompt-tokens", PROMPT, "--count", 30]
        best = self.generate(*flags)["tokens"]
        one, same, other = (self.generate(*flags, "--temperature", 2, "--seed", seed)["tokens"] for seed in (1, 1, 2))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)
        self.assertNotEqual(one, best)
        # Drawing from the best token alone gives the best token.
        self.assertEqual(self.generate(*flags, "--top-k", 1)["tokens"], best)
        self.assertEqual(self.generate(*flags, "--temperature", 0.5, "--top-p", 1e-9, "--seed", 5)["tokens"], best)
        narrow = self.generate(*flags, "--temperature", 1, "--top-k", 3, "--top", 3, "--seed", 3)
        for token, best_three in zip(narrow["tokens"], narrow["best"]):
            self.assertIn(token, [each["token"] for each in best_three])

    def test_beyond_the_length(self):
        """More tokens than the model has positions are refused, or only the last ones are used."""
        flags = [*self.model_flags("gpt2"), "--prompt-tokens", PROMPT]
        wrong = self.npar("generate", *flags, "--count", 160, code=1)
        self.assertIn("160 tokens after a prompt of 7 need a sequence of 166, but the model's length is 160", wrong.error)
        found = self.generate(*flags, *settings(length=12), "--count", 30, "--window")["tokens"]
        self.assertEqual(found[:6], RECORDED["gpt2"]["tokens"][:6])
        last = ",".join(map(str, (random_weights.PROMPT + found)[-13:-1]))
        again = self.generate(*flags[:-1], last, "--count", 1)["tokens"]
        self.assertEqual(again, found[-1:])

    def test_folders(self):
        """A checkpoint knows its model, and so does a folder as Hugging Face has them: the same text and loss as by model and weights."""
        (self.folder / "text.txt").write_text("to be or not to be, that is the question. " * 100)
        sizes = settings(BYTES)
        self.npar(
            "run", "gpt2", "--plan", "three_d", *sizes, *settings(mesh(dp=2, pp=2, tp=2), batch=8, micro=2, peak=0.01, warmup=2),
            "--data", "text.txt", "--tokens", "bytes", "--steps", 20, "--checkpoint", "kept", "--output", "w.safetensors", "--quiet",
        )  # fmt: skip
        self.npar("export", "kept", "--output", "huggingface")
        prompt, data = ["--prompt", "to be", "--count", 20], ["--data", "text.txt", "--tokens", "bytes"]
        named = ["gpt2", *sizes, "--weights", "w.safetensors"]
        text, loss = self.generate(*named, *prompt), self.npar_json("eval", *named, *data, "--quiet")
        for folder in ("kept", "huggingface"):
            with self.subTest(folder=folder):
                self.assertEqual(self.generate(folder, "--tokenizer", "bytes", *prompt), text)
                self.assertEqual(self.npar_json("eval", folder, *data, "--quiet"), loss)

    def test_tokenizers_beside_the_weights(self):
        """Text goes in with the ids that the Python packages give, and what comes out is what `npar tokens --decode` makes of the ids."""
        recorded = json.loads((REFERENCE / "tokenizers" / "recorded.json").read_text())
        model = {"vocab": 757, "context": 96, "width": 16, "heads": 2, "depth": 1}
        safetensors_file.write(self.folder / "w.safetensors", random_weights.weights(random_weights.gpt2_shapes(model)))
        for name in ("gpt2", "llama3"):
            with self.subTest(tokenizer=name):
                self.npar("export", "w.safetensors", "--model", "gpt2", *settings(model), "--output", name)
                for path in (REFERENCE / "tokenizers" / name).iterdir():
                    shutil.copy(path, self.folder / name)
                for case in ("ends in spaces   ", "ababab", "👩\u200d👩\u200d👧 🇩🇪 \U0010ffff \ue000"):
                    (self.folder / "prompt.txt").write_text(case)
                    self.npar("tokens", name, "--text", "prompt.txt", "--output", "prompt.i32")
                    expected = array.array("i", (self.folder / "prompt.i32").read_bytes()).tolist()
                    if case in recorded["cases"]:
                        self.assertEqual(expected, recorded["ids"][name]["cases"][recorded["cases"].index(case)])
                    found = self.generate(name, "--prompt", case, "--count", 30, "--window", "--temperature", 2)
                    self.assertEqual(found["prompt_tokens"], expected)
                    (self.folder / "said.i32").write_bytes(array.array("i", found["prompt_tokens"] + found["tokens"]).tobytes())
                    self.npar("tokens", name, "--decode", "said.i32", "--skip-special", "--output", "said.txt")
                    said = (self.folder / "said.txt").read_bytes().decode(errors="replace")
                    self.assertTrue(said.startswith(case))
                    self.assertEqual(found["text"], said[len(case) :])

    def test_a_length_that_the_text_computes_with(self):
        """Fewer positions are computed only where the length is a size and nothing else: here positions are counted from the end."""
        (self.folder / "backwards.npar").write_text(BACKWARDS)
        self.npar("run", "backwards.npar", "--random-data", "--steps", 1, "--output", "w.safetensors", "--quiet")
        flags = ["backwards.npar", "--weights", "w.safetensors", "--prompt-tokens", "104,101,120", "--top", 3]
        firsts = [self.generate(*flags, "--count", count) for count in (1, 2, 9)]
        self.assertEqual([found["tokens"][0] for found in firsts], [firsts[0]["tokens"][0]] * 3)
        self.assertEqual([found["best"][0] for found in firsts], [firsts[0]["best"][0]] * 3)

    def test_text_of_a_byte_model(self):
        """A model of bytes that was trained on few words says these, as text; standard output has nothing else."""
        data = self.folder / "text.txt"
        data.write_text("the näive café says: déjà vu, déjà vu. " * 200, encoding="utf-8")
        sizes = settings(BYTES)
        self.npar(
            "run", "gpt2", "--plan", "none", *sizes, *settings(batch=8, peak=0.01, warmup=5, steps=150), "--data", "text.txt", "--tokens", "bytes",
            "--steps", 150, "--output", "w.safetensors", "--quiet",
        )  # fmt: skip
        flags = ["gpt2", *sizes, "--weights", "w.safetensors", "--quiet", "--count", 26, "--window"]
        found = self.npar("generate", *flags, "--prompt", "the n").output
        self.assertEqual(found, "the näive café says: déjà vu\n"[: len(found) - 1] + "\n")
        self.assertGreater(len(found), 20)
        (self.folder / "prompt.txt").write_bytes("the n".encode())
        self.assertEqual(self.npar("generate", *flags, "--prompt-file", "prompt.txt").output, found)
        said = self.npar_json("generate", *flags, "--prompt-tokens", ",".join(map(str, b"the n")))
        self.assertEqual(bytes(said["tokens"]).decode(), said["text"])
        self.assertEqual("the n" + said["text"] + "\n", found)
        # A character that is not whole at the end is shown as it is, and JSON stays JSON.
        cut = self.npar_json("generate", *flags[:-2], 2, "--prompt", "the n")
        self.assertEqual(cut["tokens"][0], 0xC3)


if __name__ == "__main__":
    unittest.main()
