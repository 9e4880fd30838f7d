"""A client of the language server: starts `npar lsp`, sends requests, collects what the server tells by itself."""

import json
import queue
import subprocess
import threading
import time
from pathlib import Path

CAPABILITIES = {"general": {"positionEncodings": ["utf-8", "utf-16"]}, "workspace": {"inlayHint": {"refreshSupport": False}}}


class RequestFailed(Exception):
    """The server answered with an error of the protocol."""


class Client:
    def __init__(self, npar, folder, capabilities=CAPABILITIES, timeout=120, environment=None):
        self.timeout, self.folder = timeout, Path(folder)
        self.process = subprocess.Popen([str(Path(npar).resolve()), "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment)
        self.messages, self.answers = queue.Queue(), {}
        self.diagnostics, self.versions, self.asked, self.number = {}, {}, [], 0  # asked: requests of the server
        threading.Thread(target=self._read, daemon=True).start()
        self.initialized = self.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities}) if capabilities is not None else None
        if capabilities is not None:
            self.notify("initialized", {})

    def _read(self):
        stream = self.process.stdout
        while True:
            length = None
            while (line := stream.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if length is None:
                return self.messages.put(None)  # the stream has ended
            self.messages.put(json.loads(stream.read(length)))

    def send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def begin(self, method, params):
        """Sends a request; its answer comes by `answer`."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return self.number

    def request(self, method, params):
        return self.answer(self.begin(method, params))

    def answer(self, number):
        end = time.monotonic() + self.timeout
        while number not in self.answers:
            self.take(self.messages.get(timeout=max(0.01, end - time.monotonic())))
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RequestFailed(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def take(self, message):
        if message is None:
            raise EOFError(f"the server ended with code {self.process.wait(timeout=30)}: {self.process.stderr.read().decode(errors='replace')[-2000:]}")
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
            self.versions[message["params"]["uri"]] = message["params"].get("version")
        elif "method" not in message:
            self.answers[message["id"]] = message
        elif "id" in message:
            self.asked.append(message)
            self.send({"id": message["id"], "result": None})

    def wait(self):
        """Until the server has compiled everything."""
        self.request("npar/wait", None)

    def uri(self, name):
        return name if ":" in name else (self.folder / name).resolve().as_uri()

    def open(self, name, text, wait=True):
        self.versions[self.uri(name)] = None
        self.notify("textDocument/didOpen", {"textDocument": {"uri": self.uri(name), "languageId": "npar", "version": 1, "text": text}})
        if wait:
            self.wait()
        return self.uri(name)

    def change(self, uri, changes, version):
        """`changes`: a whole text, or a list of changes of the protocol."""
        changes = [{"text": changes}] if isinstance(changes, str) else changes
        self.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes})

    def at(self, method, uri, line, character, **more):
        return self.request("textDocument/" + method, {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}, **more})

    def hover(self, uri, line, character):
        answer = self.at("hover", uri, line, character)
        return answer and answer["contents"]["value"]

    def close(self):
        """Ends the server as editors do; its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.stdin.close()
        code = self.process.wait(timeout=self.timeout)
        self.process.stdout.close(), self.process.stderr.close()
        return code


def place(text, word, which=0, encoding="utf-8", after=False):
    """Line and character of an occurrence of a word in a text."""
    offset = -1
    for _ in range(which + 1):
        offset = text.index(word, offset + 1)
    offset += len(word) if after else 0
    before = text[:offset]
    line = before[before.rfind("\n") + 1 :]
    return before.count("\n"), len(line.encode()) if encoding == "utf-8" else len(line.encode("utf-16-le")) // 2
