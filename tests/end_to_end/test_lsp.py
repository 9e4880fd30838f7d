"""`npar lsp`: what editors ask and what they are told, by a client of the protocol."""

import json
import unittest

from driver import NPAR, ROOT, DriverTest
from lsp_client import Client, place

HELLO = """import "Embedding"
import "Linear"

model Hello(vocab = 256, width = 64, length = 32) {
    axis batch, seq = length, vocab, embed = width, hidden = 4 * width
    input tokens, targets: i32[batch, seq]
    table = Embedding(vocab, embed)
    up    = Linear(embed, hidden)
    head  = Linear(hidden, vocab)
    x = relu(up(table(tokens)))
    loss cross_entropy(head(x), targets, over = vocab)
}

train base for Hello { batch 16  optimizer AdamW(lr = 1e-2) }

plan two for Hello {
    mesh dp = 2, tp = 2
    micro 4
    split {
        batch         -> dp
        hidden, vocab -> tp
    }
}
"""
STAGES = """import "gpt2"

plan stages for Gpt2 {
    mesh pp = 2
    micro 1
    split { h -> pp by zb_h1 }
}
"""
UTF16 = {"general": {"positionEncodings": ["utf-16"]}}


class LspTest(DriverTest):
    def client(self, **options):
        client = Client(NPAR, self.folder, **options)
        self.addCleanup(self.end, client)
        return client

    @staticmethod
    def end(client):
        if client.process.poll() is None:
            client.process.kill()
            client.process.wait()
        for stream in (client.process.stdin, client.process.stdout, client.process.stderr):
            stream.close()

    def errors(self, client, uri, severity=1):
        return [one["message"] for one in client.diagnostics.get(uri, []) if one["severity"] == severity]


class DiagnosticsTest(LspTest):
    def test_errors_of_every_phase_come_and_go(self):
        client = self.client()
        uri = client.open("hello.npar", HELLO)
        self.assertEqual(client.diagnostics[uri], [])
        broken = HELLO.replace("relu(up(table(tokens)))", "relu(up(table(tokens))")
        client.change(uri, broken, 2)
        client.wait()
        self.assertTrue(any("expected" in one for one in self.errors(client, uri)), client.diagnostics[uri])
        unknown = HELLO.replace("relu(up", "relu(op")
        client.change(uri, unknown, 3)
        client.wait()
        (error,) = client.diagnostics[uri]
        self.assertIn("unknown", error["message"])
        self.assertEqual(error["code"], "L5")  # for npar explain-code
        self.assertEqual(client.versions[uri], 3)
        line, character = place(unknown, "op(table")
        self.assertEqual(error["range"], {"start": {"line": line, "character": character}, "end": {"line": line, "character": character + 2}})
        # The compiler: what the plan allows is not enough.
        small = HELLO.replace("    micro 4\n", "    micro 4\n    require memory <= 1 KiB\n")
        client.change(uri, small, 4)
        client.wait()
        (error,) = client.diagnostics[uri]
        self.assertIn("1024 bytes", error["message"])
        self.assertEqual(error["range"]["start"]["line"], 18)
        client.change(uri, HELLO, 5)
        client.wait()
        self.assertEqual(client.diagnostics[uri], [])
        self.assertEqual(client.close(), 0)

    def test_a_fix_of_npar_is_a_change_of_the_editor(self):
        """The change makes the error go away, in texts with characters of several units before it."""
        for encoding, capabilities in (("utf-8", {"general": {"positionEncodings": ["utf-8"]}}), ("utf-16", {})):
            with self.subTest(encoding):
                client = self.client(capabilities=capabilities)
                self.assertEqual(client.initialized["capabilities"]["positionEncoding"], encoding)
                text = HELLO.replace("    loss cross_entropy", '    require width > 1, "宽🙂" loss cross_entropy').replace("over = vocab)", "over = vocb) # 注🙂")
                uri = client.open("fix.npar", text)
                (error,) = client.diagnostics[uri]
                (action,) = [one for one in client.request("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": error["range"], "context": {"diagnostics": [error]}}) if one.get("isPreferred")]
                self.assertEqual(action["kind"], "quickfix")
                (edit,) = action["edit"]["changes"][uri]
                client.change(uri, [{"range": edit["range"], "text": edit["newText"]}], 2)
                client.wait()
                self.assertEqual(client.diagnostics[uri], [])

    def test_positions_count_units_of_the_encoding(self):
        text = HELLO.replace("    x = relu", '    require width > 1, "宽🙂" x = relu')
        for encoding, capabilities in (("utf-8", {"general": {"positionEncodings": ["utf-8"]}}), ("utf-16", UTF16)):
            client = self.client(capabilities=capabilities)
            uri = client.open("place.npar", text)
            line, character = place(text, "up(table", encoding=encoding)
            hover = client.at("hover", uri, line, character)
            self.assertEqual(hover["range"], {"start": {"line": line, "character": character}, "end": {"line": line, "character": character + 2}})
            definition = client.at("definition", uri, line, character)
            self.assertEqual(definition["range"]["start"], {"line": 7, "character": 4})
            # A change behind such characters, by positions.
            client.change(uri, [{"range": {"start": {"line": line, "character": character}, "end": {"line": line, "character": character + 2}}, "text": "down"}], 2)
            client.wait()
            (error,) = client.diagnostics[uri]
            self.assertEqual((error["range"]["start"]["character"], error["range"]["end"]["character"]), (character, character + 4))

    def test_formatting_is_that_of_npar_fmt(self):
        client = self.client()
        text = HELLO.replace("    micro 4", "  micro    4")
        uri = client.open("hello.npar", text)
        options = {"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": True}}
        (edit,) = client.request("textDocument/formatting", options)
        (self.folder / "formatted.npar").write_text(text)
        self.npar("fmt", "formatted.npar")
        self.assertEqual(edit["newText"], (self.folder / "formatted.npar").read_text())
        client.change(uri, edit["newText"], 2)
        self.assertEqual(client.request("textDocument/formatting", options), [])
        client.change(uri, text + "plan (", 3)
        self.assertEqual(client.request("textDocument/formatting", options), [], "a text with errors stays as it is")

    def test_notes_are_related_places(self):
        client = self.client()
        uri = client.open("twice.npar", HELLO + "\nplan two for Hello { mesh dp = 2 micro 4 split { batch -> dp } }\n")
        error = next(one for one in client.diagnostics[uri] if "twice" in one["message"])
        (related,) = error["relatedInformation"]
        self.assertEqual((related["message"], related["location"]["uri"], related["location"]["range"]["start"]["line"]), ("first declared here", uri, 15))

    def test_an_open_text_hides_the_file_and_concerns_those_that_import_it(self):
        (self.folder / "Scale.npar").write_text("layer Scale(embed) { param weight: [embed] = ones forward(x) = x * weight }\n")
        client = self.client()
        main = client.open("main.npar", HELLO.replace('import "Linear"', 'import "Linear"\nimport "Scale"').replace("relu(up(table(tokens)))", "relu(up(s(table(tokens))))").replace("    up ", "    s = Scale(embed)\n    up "))
        self.assertEqual(client.diagnostics[main], [])
        layer = client.open("Scale.npar", "layer Scale(embed) { param weight: [embed] = ones forward(x) = x * wight }\n")
        self.assertTrue(any("wight" in one for one in self.errors(client, layer)), client.diagnostics)
        client.change(layer, "layer Scale(embed) { param weight: [embed] = ones forward(x) = x * weight }\n", 2)
        client.wait()
        self.assertEqual((client.diagnostics[layer], client.diagnostics[main]), ([], []))
        definition = client.at("definition", main, *place("model", "model"))
        self.assertIsNone(definition)

    def test_an_import_by_another_spelling_is_the_open_text(self):
        (self.folder / "inner").mkdir()
        client = self.client()
        layer = client.open("Scale.npar", "layer Scale(embed) { param weight: [embed] = ones forward(x) = x * wight }\n")
        main = client.open("inner/main.npar", HELLO.replace('import "Linear"', 'import "Linear"\nimport "../Scale"').replace("relu(up(", "relu(up(s(").replace("(tokens)))", "(tokens))))").replace("    up ", "    s = Scale(embed)\n    up "))
        self.assertTrue(any("wight" in one for one in self.errors(client, layer)), client.diagnostics)
        self.assertEqual(client.at("definition", main, 8, 9)["uri"], layer)
        client.change(layer, "layer Scale(embed) { param weight: [embed] = ones forward(x) = x * weight }\n", 2)
        client.wait()
        self.assertEqual((client.diagnostics[layer], client.diagnostics[main]), ([], []))

    def test_files_that_change_on_the_disk(self):
        """The editor is asked to watch them; without a watcher, saving a text looks at the disk again."""
        capabilities = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
        client = self.client(capabilities=capabilities)
        main = client.open("main.npar", HELLO.replace('import "Linear"', 'import "Linear"\nimport "Scale"').replace("relu(up(", "relu(up(s(").replace("(tokens)))", "(tokens))))").replace("    up ", "    s = Scale(embed)\n    up "))
        (asked,) = client.asked
        self.assertEqual((asked["method"], asked["params"]["registrations"][0]["registerOptions"]["watchers"]), ("client/registerCapability", [{"globPattern": "**/*.npar"}]))
        layer = "layer Scale(embed) { param weight: [embed] = ones forward(x) = x * weight }\n"
        for text, tell, expected in (
            (None, None, 'cannot find import "Scale"'),
            (layer, ("textDocument/didSave", {"textDocument": {"uri": main}}), None),
            (layer.replace("[embed] = ones", "[embd] = ones"), ("workspace/didChangeWatchedFiles", {"changes": []}), "embd"),
            (layer, ("workspace/didChangeWatchedFiles", {"changes": []}), None),
        ):
            with self.subTest(expected):
                if text:
                    (self.folder / "Scale.npar").write_text(text)
                    client.notify(*tell)
                    client.wait()
                errors = self.errors(client, main) + self.errors(client, (self.folder / "Scale.npar").as_uri())
                self.assertEqual([error for error in errors if not expected or expected not in error], [])
                self.assertEqual(bool(errors), bool(expected))

    def test_imports_of_a_text_without_a_model(self):
        client = self.client()
        layer = 'import "Linear"\nlayer Twice(embed) {\n    inner = Linear(embed, embed)\n    forward(x) = inner(inner(x))\n}\n'
        uri = client.open("Twice.npar", layer.replace('"Linear"', '"Liner"'))
        self.assertEqual(self.errors(client, uri)[0].split("\n")[0], 'cannot find import "Liner"')
        client.change(uri, layer, 2)
        client.wait()
        self.assertEqual(client.diagnostics[uri], [])

    def test_texts_without_files_and_odd_names(self):
        client = self.client()
        uri = client.open("untitled:Untitled-1", HELLO.replace("tokens)))", "token)))"))
        self.assertIn("unknown", client.diagnostics[uri][0]["message"])
        odd = self.folder / "a b%c 文.npar"
        uri = client.open(str(odd), HELLO)
        self.assertIn("%20", uri)
        self.assertEqual(client.diagnostics[uri], [])
        definition = client.at("definition", uri, *place(HELLO, "Linear(embed"))
        self.assertTrue(definition["uri"].endswith("/layers/Linear.npar"), definition)
        self.assertEqual(client.at("definition", uri, *place(HELLO, "up(table"))["uri"], uri)
        # An editor may escape more than npar does: what it was told goes away by its own spelling.
        uri = client.open((self.folder / "a(b).npar").as_uri().replace("(", "%28").replace(")", "%29"), HELLO.replace("tokens)))", "token)))"))
        self.assertEqual(len(client.diagnostics[uri]), 1)
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        client.wait()
        self.assertEqual(client.diagnostics[uri], [])


class QuestionsTest(LspTest):
    def test_hovers(self):
        client = self.client()
        uri = client.open("hello.npar", HELLO)

        def hover(word, which=0):
            return client.hover(uri, *place(HELLO, word, which)) or ""

        for word, which, parts in (
            ("hidden", 0, ["4 * width", "size 256", "over tp (2)", "line 21", "128 on each rank"]),
            ("batch", 0, ["16 samples per training step", "8 per micro-batch"]),
            ("seq", 0, ["size 32", "no rule splits it"]),
            ("vocab", 3, ["size 256", "over tp (2)"]),
            ("x = relu", 0, ["f32[batch, seq, hidden]", "batch 8, seq 32, hidden 256", "hidden : 256 {tp}", "4 × 32 × 128 elements, 64.0 KiB"]),
            ("tokens", 0, ["i32[batch, seq]", "512 B"]),
            ("width", 0, ["`64`"]),
            ("up    =", 0, ["layer `up`", "16640 parameters", "layer Linear(in, out, deviation = 0.02)"]),
            ("Linear(embed", 0, ["layer Linear(in, out, deviation = 0.02)", "y = x W + b"]),
            ("cross_entropy", 0, ["cross_entropy(", "operation"]),
            ("tp", 0, ["size 2", "all_reduce"]),
            ("micro", 0, ["batch 16 = 2 data-parallel ranks × 2 micro-batches × 4 samples"]),
            ("two", 0, ["4 ranks: dp = 2, tp = 2", "arena"]),
            ("AdamW", 0, ["optimizer AdamW(lr", "Loshchilov"]),
            ("-> tp", 0, ["This line causes", "all_reduce over tp", "sums over 'vocab'"]),
            ("Hello", 0, ["model Hello(", "parameters"]),
            ('"Linear"', 0, ["y = x W + b"]),
        ):
            with self.subTest(word):
                text = hover(word, which)
                for part in parts:
                    self.assertIn(part, text)

    def test_hovers_of_pipelines_and_parameters(self):
        client = self.client()
        small = STAGES.replace('import "gpt2"\n', 'import "gpt2"\nconfig "small" for Gpt2(vocab = 64, context = 16, width = 16, heads = 2, depth = 4)\ntrain quick for Gpt2 { batch 8 optimizer AdamW(lr = 1e-3) }\n')
        uri = client.open("stages.npar", small)
        self.assertEqual(client.diagnostics[uri], [])
        schedule = client.hover(uri, *place(small, "zb_h1"))
        self.assertIn("```text", schedule)
        self.assertRegex(schedule, r"zb_h1: 2 stages, 8 micro-batches")
        self.assertRegex(client.hover(uri, *place(small, "micro")), r"bubble \d+\.\d %")
        library = client.open(str(ROOT / "stdlib" / "layers" / "Linear.npar"), (ROOT / "stdlib" / "layers" / "Linear.npar").read_text())
        text = (ROOT / "stdlib" / "layers" / "Linear.npar").read_text()
        weight = client.hover(library, *place(text, "weight:"))
        for part in ("2 × `h.*.attn.c_attn.weight`", "on a rank", "optimizer", "exp_avg, exp_avg_sq", "owned by rank 0", "owned by rank 1"):
            self.assertIn(part, weight)

    def test_hovers_tell_of_the_text_alone(self):
        """Not of another open text that has parameters of the same layer."""
        client = self.client()
        other = client.open("other.npar", HELLO.replace("Hello", "Other"))
        uri = client.open("hello.npar", HELLO)
        self.assertNotEqual(uri, other)
        text = HELLO.replace("relu(up(table(tokens)))", "relu(up(table(tokens))) + sum(table.weight, over = [vocab, embed])")
        client.change(uri, text, 2)
        client.wait()
        shown = client.hover(uri, *place(text, "weight"))
        self.assertIn("`table.weight`: `f32[vocab, embed]`", shown)
        self.assertNotIn("2 ×", shown)

    def test_a_wrong_plan_adds_nothing_to_what_others_tell(self):
        client = self.client()
        text = HELLO + "plan wrong for Hello { mesh dp = 2 micro 1 split { bach -> dp } }\n"
        uri = client.open("hello.npar", text)
        self.assertTrue(self.errors(client, uri))
        self.assertEqual(client.hover(uri, *place(text, "tokens")).count("i32[batch, seq]`"), 1)

    def test_large_texts(self):
        """Signatures and comments of 9,000 layers are found in one pass over the text."""
        client = self.client()
        text = "".join(f"# {i}\nlayer L{i}(embed) {{ param weight: [embed] = ones forward(x) = x * weight }}\n" for i in range(9000))
        uri = client.open("large.npar", text)
        items = client.at("completion", uri, *place(text, "x * weight", 4000))["items"]
        self.assertEqual([one["documentation"]["value"] for one in items if one["label"] == "L77"], ["77"])

    def test_hints_tell_what_lines_of_a_plan_do(self):
        client = self.client()
        uri = client.open("hello.npar", HELLO)
        lines = HELLO.count("\n")
        hints = client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": {"start": {"line": 0, "character": 0}, "end": {"line": lines, "character": 0}}})
        labels = {hint["position"]["line"]: hint["label"] for hint in hints}
        annotated = json.loads(self.npar("inspect", "annotate", "--json", self.written("hello.npar", HELLO)).stdout)
        expected = {line["line"] - 1: "; ".join(line["effects"]) for line in annotated["lines"] if line["effects"]}
        self.assertTrue(expected)
        self.assertEqual(labels, expected)

    def written(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_definitions_and_references(self):
        client = self.client()
        uri = client.open("hello.npar", HELLO)

        def target(word, which=0):
            found = client.at("definition", uri, *place(HELLO, word, which))
            return found["uri"] == uri and (found["range"]["start"]["line"], found["range"]["start"]["character"])

        self.assertEqual(target("hidden, vocab ->"), place(HELLO, "hidden"))
        self.assertEqual(target("tp", 1), place(HELLO, "tp = 2"))
        self.assertEqual(target("Hello", 1), place(HELLO, "Hello"))
        self.assertEqual(target("head(x)"), place(HELLO, "head "))
        uses = client.at("references", uri, *place(HELLO, "hidden"), context={"includeDeclaration": False})
        self.assertEqual(sorted(one["range"]["start"]["line"] for one in uses), [7, 8, 20])
        # An argument of a layer is declared in the layer's text.
        text = HELLO.replace("Linear(embed, hidden)", "Linear(embed, hidden, deviation = 0.1)")
        client.change(uri, text, 2)
        client.wait()
        found = client.at("definition", uri, *place(text, "deviation"))
        self.assertTrue(found["uri"].endswith("/Linear.npar"), found)

    def test_outline(self):
        client = self.client()
        uri = client.open("hello.npar", HELLO)
        outline = client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        self.assertEqual([one["name"] for one in outline], ["Hello", "base", "two"])
        self.assertEqual([one["name"] for one in outline[0]["children"] if one["detail"] == "axis"], ["batch", "seq", "vocab", "embed", "hidden"])
        self.assertEqual((outline[0]["range"]["start"]["line"], outline[0]["range"]["end"]["line"]), (3, 11))

    def test_completion_by_context(self):
        client = self.client()
        uri = client.open("hello.npar", HELLO)
        version = 1

        def labels(change, word):
            """The text with `change` in place of `word`; completion at the `|` of the change."""
            nonlocal version
            version += 1
            text = HELLO.replace(word, change, 1)
            spot = place(text, "|")
            client.change(uri, text.replace("|", ""), version)
            answer = client.at("completion", uri, *spot)
            return {item["label"]: item for item in answer["items"]}

        self.assertTrue({"hidden", "vocab", "seq", "embed"} <= set(found := labels("hid|", "hidden, vocab -> tp")) and "tp" not in found)
        self.assertEqual(set(labels("batch         -> |", "batch         -> dp")), {"dp", "tp", "none"})
        self.assertTrue({"1f1b", "zb_h1", "gpipe"} <= set(labels("batch -> dp by |", "batch         -> dp")))
        found = labels("    y = Lay|\n    x =", "    x =")
        self.assertEqual(found["LayerNorm"]["additionalTextEdits"][0]["newText"], 'import "LayerNorm"\n')
        self.assertTrue({"Linear", "relu", "up", "tokens"} <= set(found))
        self.assertIn("layer Linear(in, out, deviation = 0.02)", found["Linear"]["detail"])
        self.assertTrue({"AdamW", "Lion"} <= set(labels("optimizer |", "optimizer AdamW(lr = 1e-2)")))
        self.assertTrue({"lr", "betas", "decay"} <= set(labels("AdamW(|", "AdamW(lr = 1e-2)")))
        self.assertTrue({"mesh", "split", "store", "micro", "recompute"} <= set(labels("    micro 4\n    |\n", "    micro 4\n")))
        self.assertTrue({"weight", "bias"} <= set(labels("    y = up.|\n    x =", "    x =")))
        self.assertTrue({"Attention", "gpt2", "three_d"} <= set(labels('import "|"', 'import "Linear"')))
        self.assertTrue({"model", "layer", "plan"} <= set(labels("|\nmodel Hello", "model Hello")))
        self.assertEqual(set(labels("train base for |", "train base for Hello")) & {"Hello", "mesh"}, {"Hello"})

    def test_while_a_text_has_errors_the_last_good_one_serves(self):
        client = self.client()
        uri = client.open("hello.npar", HELLO)
        broken = HELLO.replace("    x = relu", "    z = (\n    x = relu")
        client.change(uri, broken, 2)
        self.assertIn("size 256", client.hover(uri, *place(broken, "hidden, vocab ->")))
        self.assertEqual(client.at("definition", uri, *place(broken, "up(table"))["range"]["start"]["line"], 7)


if __name__ == "__main__":
    unittest.main()
