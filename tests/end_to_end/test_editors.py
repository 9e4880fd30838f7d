"""The grammar for editors (tools/editors/npar.tmLanguage.json) knows the words of the language, and only those."""

import json
import re
import unittest

from driver import ROOT

EDITORS = ROOT / "tools/editors"
GRAMMAR = json.loads((EDITORS / "npar.tmLanguage.json").read_text())
TYPES = {"f64", "f32", "tf32", "bf16", "fp16", "i32", "u8", "u16"}  # words that the front end checks
CONSTANTS = {"true", "false", "none"}


def patterns(node):
    """All patterns of the grammar, in their order."""
    if isinstance(node, dict):
        if "match" in node or "begin" in node:
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from patterns(inner)


def words():
    """Word -> the names of the scopes that list it, of patterns that are lists of words alone."""
    found = {}
    for pattern in patterns(GRAMMAR["repository"]):
        if match := re.fullmatch(r"\\b\(([a-z_0-9|]+)\)\\b", pattern.get("match", "")):
            for word in match[1].split("|"):
                found.setdefault(word, []).append(pattern["name"])
    return found


def scope(text, offset=0):
    """The scope of the first pattern that matches at an offset, as an editor would find it outside of texts in quotes."""
    for include in GRAMMAR["patterns"]:
        for pattern in patterns(GRAMMAR["repository"][include["include"][1:]]):
            if re.compile(pattern.get("match") or pattern["begin"]).match(text, offset):
                return pattern.get("name") or pattern["captures"]["1"]["name"]
    return None


class EditorsTest(unittest.TestCase):
    def test_words_are_the_grammars(self):
        keywords = set(re.findall(r"^[A-Z]+: '([a-z_]+)';", (ROOT / "dsl/grammar/Npar.g4").read_text(), flags=re.M))
        self.assertGreater(len(keywords), 50)
        self.assertEqual(set(words()) - TYPES - CONSTANTS, keywords - CONSTANTS)
        self.assertEqual({word: names for word, names in words().items() if len(names) > 1}, {})

    def test_texts_are_colored(self):
        line = 'repeat h[2] { x = Linear(a, b)(x) + 1.5e-3 * foo("a") }  # text'
        at = lambda word: scope(line, line.index(word))  # noqa: E731
        self.assertEqual(at("repeat"), "keyword.control.npar")
        self.assertEqual(at("Linear"), "entity.name.type.npar")
        self.assertEqual(at("1.5e-3"), "constant.numeric.npar")
        self.assertEqual(at("foo"), "entity.name.function.npar")
        self.assertEqual(at('"a'), "string.quoted.double.npar")
        self.assertEqual(at("# text"), "comment.line.number-sign.npar")
        self.assertEqual(at("+"), "keyword.operator.npar")
        self.assertIsNone(at("x ="))
        self.assertEqual(scope("model Gpt2(vocab = 8) {"), "keyword.declaration.npar")
        self.assertEqual(scope("1f1b"), "constant.numeric.npar")

    def test_the_extension_uses_what_is_there(self):
        package = json.loads((EDITORS / "vscode/package.json").read_text())
        language, grammar = package["contributes"]["languages"][0], package["contributes"]["grammars"][0]
        json.loads((EDITORS / "vscode" / language["configuration"]).read_text())
        self.assertTrue((EDITORS / "vscode" / package["main"]).is_file())
        self.assertEqual((grammar["language"], grammar["scopeName"]), (language["id"], GRAMMAR["scopeName"]))
        self.assertIn(f"cp ../{grammar['path'][2:]} .", package["scripts"]["package"])
        settings = package["contributes"]["configuration"]["properties"]
        self.assertTrue(all(f"'{name.split('.')[1]}'" in (EDITORS / "vscode/extension.js").read_text() for name in settings))


if __name__ == "__main__":
    unittest.main()
