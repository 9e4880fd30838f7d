"""`npar lsp` while texts are typed character by character: its answers are right at every word. lsp_latency.py measures how fast they are."""

import re
import unittest

from driver import LONG, ROOT
from test_lsp import LspTest

TEXTS = ["models/mlp.npar", "plans/three_d.npar", "optimizers/AdamW.npar"]
LONGER = ["models/gpt2.npar", "models/resnet.npar", "layers/Attention.npar"]


def words(text):
    """(begin, end, word) of each word outside of comments and strings."""
    code = re.sub(r'#.*|"[^"]*"', lambda match: " " * len(match[0]), text)
    return [(match.start(), match.end(), match[0]) for match in re.finditer(r"[A-Za-z_]\w*", code)]


def spot(text, offset):
    return text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset) - 1


class TypingTest(LspTest):
    def test_answers_while_typing(self):
        for name in TEXTS + (LONGER if LONG else []):
            with self.subTest(name):
                self.type((ROOT / "stdlib" / name).read_text())

    def type(self, text):
        client = self.client()
        whole = client.open("whole.npar", text)
        ends = {end: word for _, end, word in words(text)}
        defined = {end: client.at("definition", whole, *spot(text, end)) for end in ends}
        told = {end: client.hover(whole, *spot(text, end)) for end in ends}
        uri = client.open("typed.npar", "", wait=False)
        # After the first letter of a use: the name that is declared in the lines above.
        above = {end for end, place in defined.items() if place and place["uri"] == whole and place["range"]["start"]["line"] < spot(text, end)[0]}
        uses = {begin + 1: word for begin, end, word in words(text) if end in above and text[begin - 1] != "."}
        offered = 0
        for place, character in enumerate(text):
            line, column = spot(text, place)
            client.change(uri, [{"range": {"start": {"line": line, "character": column}, "end": {"line": line, "character": column}}, "text": character}], place + 2)
            here = spot(text, place + 1)
            if place + 1 in uses:
                items = client.at("completion", uri, *here)["items"]
                self.assertIn(uses[place + 1], [item["label"] for item in items], f"line {line + 1}")
                self.assertEqual(items[0]["textEdit"]["range"]["start"], {"line": line, "character": column})
                offered += 1
            if place + 1 in ends:  # a word that is complete means what it means in the whole text, or is not known yet
                found, right = client.at("definition", uri, *here), defined[place + 1]
                if found:
                    self.assertEqual(found, {**right, "uri": right["uri"].replace(whole, uri)}, f"{ends[place + 1]} in line {line + 1}")
                if hover := client.at("hover", uri, *here):
                    self.assertEqual((hover["range"]["end"]["line"], hover["range"]["end"]["character"]), here)
        self.assertGreater(offered, 8)
        client.wait()
        self.assertEqual((client.versions[uri], client.diagnostics[uri]), (len(text) + 1, []))
        self.assertEqual({end: client.hover(uri, *spot(text, end)) for end in ends}, told)
        self.assertEqual(client.close(), 0)


if __name__ == "__main__":
    unittest.main()
