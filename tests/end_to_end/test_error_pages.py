"""The pages of `npar explain-code`: each has an example that is refused with its code, and one that is accepted. Here the examples with
commands run; ErrorPagesTest compiles those that are a text alone."""

import os
import re
import subprocess
import unittest

from driver import NPAR, ROOT, DriverTest

WITHOUT = {"I1": "no text and no command is known to cause an error of npar's own"}


class Example:
    def __init__(self, text):
        blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S) for kind in ("npar", "sh")}
        self.texts, self.commands = blocks["npar"], blocks["sh"]

    def run(self, folder):
        """The commands, where the text is model.npar."""
        for text in self.texts:
            (folder / "model.npar").write_text(text)
        environment = {**os.environ, "PATH": f"{NPAR.resolve().parent}:{os.environ['PATH']}"}
        return subprocess.run(["sh", "-ec", self.commands[0]], cwd=folder, capture_output=True, text=True, env=environment, timeout=300)


def pages():
    """{code: (refused, accepted)}"""
    found = {}
    for path in sorted((ROOT / "dsl" / "errors").glob("*.md")):
        for code, text in re.findall(r"^## ([A-Z]\d+): .*?\n(.*?)(?=^## |\Z)", path.read_text(), re.M | re.S):
            parts = re.split(r"^(?:Refused|Accepted):$", text, flags=re.M)
            found[code] = tuple(Example(part) for part in parts[1:])
    return found


class ErrorPagesTest(DriverTest):
    def test_every_page_has_its_examples(self):
        self.assertEqual({code for code, examples in pages().items() if len(examples) != 2 or not all(one.texts or one.commands for one in examples)}, set(WITHOUT))

    def test_commands_are_refused_and_accepted(self):
        count = 0
        for code, examples in pages().items():
            if not examples or not examples[0].commands:
                continue
            with self.subTest(code):
                refused, accepted = (one.run(self.folder) for one in examples)
                self.assertNotEqual(refused.returncode, 0)
                self.assertRegex(refused.stderr, rf"error: .* \[{code}\]\n")
                self.assertEqual(accepted.returncode, 0, accepted.stderr)
            count += 1
        self.assertGreater(count, 7)


if __name__ == "__main__":
    unittest.main()
