"""Names in files of others do not reach a terminal as what it obeys: escape sequences, C1 controls, overrides of direction."""

import json
import subprocess
import unittest

from driver import ALTER, NPAR, SMALL, DriverTest, settings

OBEYED = "\x1b[2J\x7f\u009b31m\u202e"
ESCAPED = r"\u001b[2J\u007f\u009b31m\u202e"


class TerminalTest(DriverTest):
    def setUp(self):
        super().setUp()
        self.npar("compile", "gpt2", "--plan", "none", *settings(SMALL, depth=1), "-o", "good.npx")
        subprocess.run([ALTER, "terminal", "good.npx", "bad.npx"], cwd=self.folder, check=True, timeout=60)

    def obeyed(self, text):
        return [character for character in text if (ord(character) < 0x20 and character not in "\n\t") or 0x7f <= ord(character) < 0xa0 or character == "\u202e"]

    def strings(self, value):
        """All strings in what JSON says."""
        if isinstance(value, str):
            return [value]
        parts = value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else []
        return [text for part in parts for text in self.strings(part)]

    def test_labels_of_a_program(self):
        for command in (["inspect", "bad.npx"], ["inspect", "why", "bad.npx"], ["inspect", "bytes", "bad.npx"], ["verify", "bad.npx"],
                        ["run", "bad.npx", "--random-data", "--steps", 1], ["run", "bad.npx", "--random-data", "--steps", 1, "--weights", "none"],
                        ["run", "bad.npx", "--random-data", "--steps", 1, "--output", "w.safetensors"]):
            with self.subTest(command):
                done = subprocess.run([str(NPAR), *map(str, command)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
                self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
                self.assertEqual(self.obeyed((done.stdout + done.stderr).decode()), [])
        self.assertIn(ESCAPED, self.npar("inspect", "bad.npx").output)

    def test_json_says_the_same(self):
        output = self.npar("inspect", "bad.npx", "--json").output
        self.assertEqual(self.obeyed(output), [])
        self.assertIn(OBEYED, "".join(self.strings(json.loads(output))))

    def test_names_of_files(self):
        name = f"{OBEYED}.npx"
        self.assertIn(f"'{ESCAPED}.npx'", self.npar("inspect", name, code=1).error)
        (self.folder / name).write_bytes((self.folder / "good.npx").read_bytes()[:-1])
        error = self.npar("inspect", name, code=1).error
        self.assertIn(ESCAPED, error)
        self.assertEqual(self.obeyed(error), [])
        (self.folder / f"{OBEYED}.npar").write_text("model m {\n  wrong \x1b[2J\n}\n")
        error = self.npar("inspect", f"{OBEYED}.npar", code=1).error
        self.assertEqual(self.obeyed(error), [])

    def test_a_product_is_byte_for_byte(self):
        text = b"\x1b[2J\x00\x9b\xff\x7f\r\n"
        (self.folder / "text").write_bytes(text)
        self.npar("tokens", "bytes", "--text", "text", "--output", "t.u16")
        with open(self.folder / "out", "wb") as out:
            subprocess.run([str(NPAR), "tokens", "bytes", "--decode", "t.u16"], cwd=self.folder, stdout=out, check=True, timeout=60)
        self.assertEqual((self.folder / "out").read_bytes(), text)


if __name__ == "__main__":
    unittest.main()
