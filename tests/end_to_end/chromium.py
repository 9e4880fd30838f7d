"""Drives a headless Chromium over the DevTools protocol's pipe: JSON messages that end in a zero byte, no port and no library."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
TIMEOUT = 300


class PageError(Exception):
    pass


class Chromium:
    """One tab on a file. `messages` holds what the console said and every exception that no one caught."""

    def __init__(self, width=1400, height=900, dark=False):
        self.profile = tempfile.mkdtemp(prefix="npar-chromium-")
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()

        def place_pipes():  # the protocol's: 3 to read from, 4 to write to
            first, second = os.dup(read_commands), os.dup(write_answers)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=place_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_commands)
        os.close(write_answers)
        self.buffer, self.number, self.session, self.messages, self.loaded = b"", 0, None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.prefer("dark" if dark else "light")

    def close(self):
        try:
            self.call("Browser.close")
        except (PageError, OSError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def next_message(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise PageError("chromium does not answer")
            more = os.read(self.answers, 1 << 16)
            if not more:
                raise PageError("chromium ended")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        method, facts = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.messages.append("exception: " + json.dumps(facts["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(f"console.{facts['type']}: {json.dumps(facts['args'])[:2000]}")
        elif method == "Log.entryAdded":
            self.messages.append(f"{facts['entry']['level']}: {facts['entry']['text']}")
        elif method == "Network.requestWillBeSent" and not facts["request"]["url"].startswith(("file:", "data:")):
            self.messages.append(f"request: {facts['request']['url']}")
        elif method == "Page.javascriptDialogOpening":
            self.messages.append(f"dialog: {facts['message']}")
        elif method == "Page.loadEventFired":
            self.loaded = True
        return message

    def call(self, method, **parameters):
        self.number += 1
        number, deadline = self.number, time.monotonic() + TIMEOUT
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next_message(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        self.loaded = False
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        deadline = time.monotonic() + TIMEOUT
        while not self.loaded:
            self.next_message(deadline)
        self.settle()

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise PageError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y, count=1):
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=count)
        self.settle()

    def drag(self, x0, y0, x1, y1):
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        self.mouse("mouseMoved", (x0 + x1) / 2, (y0 + y1) / 2, button="left", buttons=1)
        self.mouse("mouseMoved", x1, y1, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, by):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by)
        self.settle()

    def key(self, name):
        text = {"text": name} if len(name) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name)
        self.settle()

    def screenshot(self, path, whole=True):
        picture = base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
        pathlib.Path(path).write_bytes(picture)
        return picture
