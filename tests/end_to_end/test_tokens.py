"""`npar tokens`: the ids of the Python packages (tests/reference/tokenizer_reference.py), files that appear whole, texts of any size."""

import hashlib
import json
import os
import resource
import subprocess

from driver import LONG, NPAR, REFERENCE, SANITIZED, DriverTest, unittest

import tokenizer_reference

TOKENIZERS = REFERENCE / "tokenizers"
RECORDED = json.loads((TOKENIZERS / "recorded.json").read_text())


def numbers(path):
    size = {".u16": 2, ".i32": 4}[path.suffix]
    data = path.read_bytes()
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


class TokensTest(DriverTest):
    def tokens(self, name, text, out="tokens.i32", **options):
        """The ids that npar writes for a text."""
        self.tell(name, text, "--output", out, **options)
        return numbers(self.folder / out)

    def tell(self, name, text, *more, **options):
        path = self.folder / "given.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        result = self.npar("tokens", TOKENIZERS / name, "--text", path, *more, code=None, **options)
        self.assertEqual(result.returncode, 0, result.error)
        return result

    def check(self, name):
        recorded = RECORDED["ids"][name]
        self.assertEqual(self.tokens(name, (TOKENIZERS / "page.txt").read_bytes(), "page.u16"), recorded["page"])
        self.tokens(name, tokenizer_reference.soup())
        self.assertEqual(hashlib.sha256((self.folder / "tokens.i32").read_bytes()).hexdigest(), recorded["soup"])

    def test_gpt2(self):
        self.check("gpt2")

    def test_llama3(self):
        self.check("llama3")

    def test_tinyllama(self):
        self.check("tinyllama")

    def test_llama2_of_sentencepiece(self):
        self.check("llama2")

    def test_unigram_of_sentencepiece(self):
        self.check("unigram")

    def test_a_text_comes_back(self):
        text = tokenizer_reference.soup()
        for name in ("gpt2", "llama3", "tinyllama"):
            self.tokens(name, text, "t.i32")
            self.npar("tokens", TOKENIZERS / name, "--decode", "t.i32", "--skip-special", "--output", "back.txt")
            self.assertEqual((self.folder / "back.txt").read_bytes().decode(), text)

    def test_what_is_no_token_ends_before_anything_is_written(self):
        (self.folder / "old.u16").write_bytes(b"old!")
        (self.folder / "bad.i32").write_bytes(b"".join(i.to_bytes(4, "little") for i in (5, 6, 9999)))
        error = self.npar("tokens", TOKENIZERS / "gpt2", "--decode", "bad.i32", "--output", "old.u16", code=1).error
        self.assertIn("token 2 (from 0): 9999 is no id", error)
        self.assertEqual((self.folder / "old.u16").read_bytes(), b"old!")

    def test_an_id_that_does_not_fit_is_named(self):
        folder = self.folder / "large"
        folder.mkdir()
        vocabulary = json.loads((TOKENIZERS / "gpt2" / "vocab.json").read_text())
        vocabulary["z"] = 65536
        (folder / "vocab.json").write_text(json.dumps(vocabulary))
        (folder / "merges.txt").write_text((TOKENIZERS / "gpt2" / "merges.txt").read_text())
        (self.folder / "text").write_text("no such letter, then one: z")
        (self.folder / "t.u16").write_bytes(b"old!")
        error = self.npar("tokens", "large", "--text", "text", "--output", "t.u16", code=1).error
        self.assertRegex(error, r"token 65536, number \d+ \(from 0\), does not fit into 16 bits: give --output a name that ends in .i32")
        self.assertEqual((self.folder / "t.u16").read_bytes(), b"old!")
        self.npar("tokens", "large", "--text", "text", "--output", "t.i32")
        self.assertEqual(numbers(self.folder / "t.i32")[-1], 65536)

    def test_json_counts_and_shows(self):
        text = "All human beings<|endoftext|>\u20ac"
        summary = json.loads(self.tell("gpt2", text, "--count", "3", "--json").output)
        ids = self.tokens("gpt2", text)
        self.assertEqual({"schema": 1, "tokenizer": "byte-level BPE", "vocabulary": 757, "bytes": len(text.encode()), "tokens": len(ids), "largest": max(ids)},
                         {key: value for key, value in summary.items() if key != "first"})  # fmt: skip
        self.assertEqual([each["token"] for each in summary["first"]], ids[:3])
        self.assertTrue(text.startswith("".join(each["text"] for each in summary["first"])))
        shown = self.tell("gpt2", text, "--count", "100").output.splitlines()[1:]
        self.assertEqual([int(line.split()[1]) for line in shown], ids)

    def test_a_run_reads_what_was_written(self):
        self.tell("gpt2", (TOKENIZERS / "page.txt").read_bytes() * 2, "--output", "page.u16")
        sizes = {"vocab": 757, "width": 16, "heads": 2, "depth": 1, "length": 16, "batch": 4}
        flags = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
        summary = self.npar_json("run", "gpt2", "--plan", "none", *flags, "--data", "page.u16", "--tokens", "u16", "--steps", "2", "--quiet")
        self.assertIn("parameter_hash", summary)

    @unittest.skipIf(SANITIZED, "measures memory, of which the sanitizer takes more than the limit")
    def test_a_long_text_passes_through(self):
        """Neither the text nor its tokens are held in memory; a word of a megabyte is."""
        megabytes = 200 if LONG else 40
        page = (TOKENIZERS / "page.txt").read_bytes()
        path = self.folder / "long.txt"
        with open(path, "wb") as file:
            for _ in range(megabytes << 20 >> 10):
                file.write(page[:1023].decode(errors="ignore").encode().ljust(1023) + b"\n")

        def memory(*arguments):
            with open(os.devnull, "w") as nothing, subprocess.Popen([NPAR, "tokens", *map(str, arguments)], cwd=self.folder, stderr=nothing) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                return usage.ru_maxrss * 1024

        (self.folder / "short.txt").write_text("short")
        (self.folder / "word.txt").write_text("word" * (1 << 18))
        least = memory(TOKENIZERS / "gpt2", "--text", "short.txt", "--output", "short.i32")
        self.assertLess(memory(TOKENIZERS / "gpt2", "--text", path, "--output", "long.i32") - least, 32 << 20)
        self.assertEqual(path.stat().st_size, megabytes << 20)
        self.assertGreater((self.folder / "long.i32").stat().st_size, megabytes << 20)
        self.assertLess(memory(TOKENIZERS / "gpt2", "--text", "word.txt", "--output", "word.i32") - least, 200 << 20)

    def test_a_full_disk_leaves_nothing(self):
        (self.folder / "text").write_bytes(b"some words " * 100000)
        (self.folder / "t.i32").write_bytes(b"old!")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

        error = self.npar("tokens", TOKENIZERS / "gpt2", "--text", "text", "--output", "t.i32", code=1, preexec_fn=limit).error
        self.assertIn("cannot write 't.i32': File too large", error)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["t.i32", "text"])
        self.assertEqual((self.folder / "t.i32").read_bytes(), b"old!")


if __name__ == "__main__":
    unittest.main()
