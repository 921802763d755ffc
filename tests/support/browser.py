"""A headless Chromium for the tests of pages. BROWSER is its command, or None if there is none. The
environment variable GPT2_BROWSER may name it."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
BROWSER = os.environ.get("GPT2_BROWSER") or next(filter(shutil.which, BROWSERS), None)
LIMIT = 120  # seconds to wait for an answer or for a page
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """A Chromium with one tab. It speaks the DevTools protocol through two pipes: each message is
    JSON and ends with a NUL."""

    def __init__(self, folder):
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--no-first-run", f"--user-data-dir={folder}", "--remote-debugging-pipe"]
        # The browser reads from 3 and writes to 4.
        shell = ["sh", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "sh"]
        self.process = subprocess.Popen(shell + command, pass_fds=(theirs_in, theirs_out),
                                        stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.out, self.input = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb", buffering=0)
        self.count, self.buffer, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Network":
            self.call(domain + ".enable")

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(timeout=20)
        self.out.close()
        self.input.close()

    def receive(self):
        while b"\0" not in self.buffer:
            seconds = max(0, self.deadline - time.monotonic())
            if not select.select([self.input], [], [], seconds)[0]:
                raise TimeoutError(f"waited {LIMIT} s in vain for {self.awaited}")
            part = self.input.read(1 << 20)
            assert part, "the browser has ended"
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.count += 1
        self.awaited, self.deadline = f"{method} {parameters}", time.monotonic() + LIMIT
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        self.out.flush()
        while (answer := self.receive()).get("id") != self.count:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def seen(self, method):
        """Returns the events of a kind since the last load()."""
        return [event["params"] for event in self.events if event["method"] == method]

    def load(self, url, width=1200, height=900, scheme="light"):
        """Opens a page."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        # The blank page in between makes sure that a page with another fragment is loaded anew.
        for one in "about:blank", url:
            self.events = []
            self.call("Page.navigate", url=one)
            while not self.seen("Page.loadEventFired"):
                self.events.append(self.receive())

    def run(self, expression):
        """Returns the value of an expression, which may be a promise. Fails after LIMIT seconds."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        faults = self.seen("Runtime.exceptionThrown")
        assert not faults, faults
        return answer["result"].get("value")

    def press(self, *keys, modifiers=0):
        for key in keys:
            for kind in "keyDown", "keyUp":
                text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, modifiers=modifiers,
                          windowsVirtualKeyCode=KEYS[key], **text)

    def click(self, element):
        """Clicks on the middle of what an expression finds."""
        x, y = self.run(f"(() => {{ const box = ({element}).getBoundingClientRect(); "
                        "return [box.left + box.width / 2, box.top + box.height / 2]; })()")
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


class PageCase(unittest.TestCase):
    """A test case with a browser, which uses the folder."""

    browser_class = Browser

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = cls.browser_class(cls.folder.name)
        cls.addClassCleanup(cls.browser.close)
