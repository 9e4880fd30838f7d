"""The life of `npar lsp`: wrong messages, mutated texts, old results; the types of the protocol; a real editor."""

import json
import random
import shutil
import subprocess
import sys
import unittest

from driver import LONG, NPAR, ROOT, DriverTest
from lsp_client import RequestFailed, place
from test_lsp import HELLO, LspTest, STAGES


class LifeTest(LspTest):
    def test_exit_codes(self):
        client = self.client()
        self.assertEqual(client.close(), 0)
        client = self.client()
        client.notify("exit", None)
        self.assertEqual(client.process.wait(timeout=60), 1)
        client = self.client()
        client.process.stdin.close()
        self.assertEqual(client.process.wait(timeout=60), 1)

    def test_requests_out_of_place_are_refused(self):
        client = self.client(capabilities=None)
        with self.assertRaisesRegex(RequestFailed, "-32002"):
            client.request("textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}})
        client.request("initialize", {"capabilities": {}})
        for method, params in (("textDocument/hover", {}), ("textDocument/hover", {"textDocument": {"uri": "file:///not/open"}, "position": {"line": 0, "character": 0}}), ("textDocument/inlayHint", [])):
            with self.assertRaisesRegex(RequestFailed, "-32602"):
                client.request(method, params)
        with self.assertRaisesRegex(RequestFailed, "-32601"):
            client.request("no/suchMethod", {})
        client.notify("textDocument/didChange", {"textDocument": {"uri": "file:///not/open"}, "contentChanges": [{"text": "x"}]})
        client.notify("textDocument/didOpen", {"nothing": 1})
        uri = client.open("hello.npar", HELLO)
        self.assertEqual(client.diagnostics[uri], [])
        client.request("shutdown", None)
        with self.assertRaisesRegex(RequestFailed, "-32600"):
            client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})

    def test_messages_that_are_none_are_answered_and_end_no_server(self):
        client = self.client()
        deep = b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 100000 + b"]" * 100000 + b"}"
        for message, code, identity in (
            (b"not json!", -32700, None),
            (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', -32700, None),
            (deep, -32600, None),
            (b"[]", -32600, None),
            (b"3", -32600, None),
            (b'{"id":7,"method":"textDocument/hover"}', -32600, 7),
            (b'{"jsonrpc":"2.0","id":7,"method":8}', -32600, 7),
            (b'{"jsonrpc":"2.0"}', -32600, None),
        ):
            with self.subTest(message[:40]):
                client.process.stdin.write(b"content-length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n" % len(message) + message)
                client.process.stdin.flush()
                with self.assertRaisesRegex(RequestFailed, str(code)):
                    client.answer(identity)
        client.process.stdin.write(b"Content-Length: 67108865\r\n\r\n" + b" " * 67108865)
        with self.assertRaisesRegex(RequestFailed, "at most 67108864 are read"):
            client.answer(None)
        for header in (b"Content-Length: 0", b"Content-Length: -5", b"Length: 5"):
            client.process.stdin.write(header + b"\r\n\r\n")
        self.assertEqual(client.open("hello.npar", HELLO) in client.diagnostics, True)
        self.assertEqual(client.close(), 0)

    def test_old_results_are_dropped(self):
        """Of many changes in a row, what is told last is about the last one."""
        client = self.client()
        uri = client.open("hello.npar", HELLO)
        for version in range(2, 30):
            client.change(uri, HELLO.replace("width = 64", f"width = {2 * version}") + ("plan bad for Hello { mesh q = 2 }\n" if version % 2 else ""), version)
        client.wait()
        self.assertEqual(client.versions[uri], 29)
        self.assertTrue(self.errors(client, uri))
        client.change(uri, HELLO, 30)
        client.wait()
        self.assertEqual((client.versions[uri], client.diagnostics[uri]), (30, []))

    def test_mutated_texts_end_no_server(self):
        """Texts with a piece left out, doubled or exchanged, each with all requests at a random place."""
        client = self.client()
        rng = random.Random(47)
        paths = sorted((ROOT / "stdlib").rglob("*.npar"))
        texts = [path.read_text() for path in paths if len(path.read_text()) < 6000] + [HELLO, STAGES]
        uri = client.open("mutated.npar", HELLO)
        methods = ("hover", "definition", "completion", "documentHighlight")
        for version in range(2, 2002 if LONG else 52):
            text = rng.choice(texts)
            for _ in range(rng.randint(1, 3)):
                begin, end = sorted(rng.randint(0, len(text)) for _ in range(2))
                end = min(end, begin + rng.randint(0, 40))
                piece = rng.choice(("", text[begin:end] * 2, "{", "}", '"', "(", "é🙂", "\r", "\0", "->", rng.choice(texts)[:30]))
                text = text[:begin] + piece + text[end:]
            client.change(uri, text, version)
            lines = text.split("\n")
            line = rng.randrange(len(lines))
            for method in methods:
                client.at(method, uri, line, rng.randint(0, len(lines[line].encode())))
            client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
            client.request("textDocument/formatting", {"textDocument": {"uri": uri}, "options": {}})
            whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines), "character": 0}}
            client.request("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": whole, "context": {"diagnostics": []}})
            if version % 10 == 0:
                client.wait()
        client.change(uri, HELLO, 9999)
        client.wait()
        self.assertEqual(client.diagnostics[uri], [])
        self.assertEqual(client.close(), 0)

    @unittest.skipUnless(LONG, "long: measures while a text is typed, tests/benchmark/lsp_latency.py")
    def test_answers_come_within_100_ms_while_typing(self):
        table = subprocess.run([sys.executable, str(ROOT / "tests" / "benchmark" / "lsp_latency.py"), "--npar", str(NPAR), "--check", "stdlib/layers/Mlp.npar"], stdout=subprocess.PIPE, cwd=ROOT, text=True)
        self.assertEqual(table.returncode, 0, table.stdout)


try:
    from lsprotocol import converters, types
except ImportError:
    types = None


@unittest.skipUnless(types, "lsprotocol is not installed (pip install pytest-lsp), whose types describe every message of the protocol")
class ProtocolTypesTest(LspTest):
    def test_answers_have_the_types_of_the_protocol(self):
        """By types that are generated from the specification. They refuse unknown kinds and missing members."""
        converter, client = converters.get_converter(), self.client()
        seen = []

        def checked(message):
            if message and message.get("method") == "textDocument/publishDiagnostics":
                seen.append(converter.structure(message, types.PublishDiagnosticsNotification))
            take(message)

        take, client.take = client.take, checked
        converter.structure({"jsonrpc": "2.0", "id": 1, "result": client.initialized}, types.InitializeResponse)
        text = HELLO.replace("hidden, vocab -> tp", "hiden, vocab -> tp")
        uri = client.open("hello.npar", text)
        client.open("twice.npar", HELLO + "\nplan two for Hello { mesh dp = 2 micro 4 split { batch -> dp } }\n")
        document = {"textDocument": {"uri": uri}}
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": text.count("\n"), "character": 0}}
        for method, params in (
            ("hover", {"position": {"line": 4, "character": 10}}),
            ("hover", {"position": {"line": 19, "character": 9}}),
            ("definition", {"position": {"line": 9, "character": 15}}),
            ("references", {"position": {"line": 9, "character": 15}, "context": {"includeDeclaration": True}}),
            ("documentHighlight", {"position": {"line": 9, "character": 15}}),
            ("completion", {"position": {"line": 9, "character": 8}}),
            ("documentSymbol", {}),
            ("inlayHint", {"range": whole}),
            ("formatting", {"options": {"tabSize": 4, "insertSpaces": True}}),
            ("codeAction", {"range": whole, "context": {"diagnostics": []}}),
        ):
            with self.subTest(method):
                result = client.request("textDocument/" + method, {**document, **params})
                _, response, _, _ = types.METHOD_TO_TYPES["textDocument/" + method]
                answer = converter.structure({"jsonrpc": "2.0", "id": 1, "result": result}, response)
                if method not in ("inlayHint", "formatting"):
                    self.assertTrue(answer.result)
        self.assertTrue(any(one.params.diagnostics for one in seen))


@unittest.skipUnless(LONG, "long: starts an editor")
@unittest.skipUnless(shutil.which("nvim"), "Neovim is not installed (apt-get install neovim)")
class NeovimTest(DriverTest):
    """The settings of tools/EDITORS.md in the Neovim that Debian packages."""

    def test_diagnostics_hover_and_definition(self):
        page = (ROOT / "tools" / "EDITORS.md").read_text()
        settings = page.split("```lua\n")[1].split("```")[0]
        (self.folder / "init.lua").write_text(settings.replace('cmd = { "npar"', "cmd = { " + json.dumps(str(NPAR))))
        (self.folder / "hello.npar").write_text(HELLO.replace("relu(up", "relu(op"))
        (self.folder / "good.npar").write_text(HELLO)
        (self.folder / "ask.lua").write_text(
            """
local function ask(method, line, character)
  local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = line, character = character } }
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
  for _, answer in pairs(answers or {}) do return answer.result end
end
local lines = {}
vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end)
for _, one in ipairs(vim.diagnostic.get(0)) do table.insert(lines, "diagnostic " .. one.lnum .. " " .. one.message) end
vim.cmd("edit good.npar")
vim.wait(30000, function() return vim.tbl_count(vim.lsp.buf_get_clients(0)) > 0 end)
ask("npar/wait", 0, 0) -- until the compiler has finished
table.insert(lines, "hover " .. ask("textDocument/hover", HOVER).contents.value)
table.insert(lines, "definition " .. vim.inspect(ask("textDocument/definition", USE).range))
vim.fn.writefile(vim.split(table.concat(lines, "\\n"), "\\n"), "told.txt")
""".replace("HOVER", "{}, {}".format(*place(HELLO, "hidden"))).replace("USE", "{}, {}".format(*place(HELLO, "up(table")))
        )
        subprocess.run(["nvim", "--headless", "-u", "init.lua", "hello.npar", "-c", "luafile ask.lua", "-c", "qall!"], cwd=self.folder, timeout=120, env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        told = (self.folder / "told.txt").read_text()
        self.assertRegex(told, r"diagnostic 9 unknown")
        self.assertRegex(told, r"hover [\s\S]*size 256")
        self.assertRegex(told, r"definition [\s\S]*line = 7")


if __name__ == "__main__":
    unittest.main()
