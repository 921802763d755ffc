#!/usr/bin/env python3
"""Tests the site of tools/web.sh in a headless Chromium: page_test.py SITE SCALAR

Both are folders in the repository. SCALAR has the module for plain C++, which only computes the bits
of the command. The server below has no special headers, and the site lies below a path."""

import functools
import http.server
import json
import pathlib
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser import BROWSER, PageCase

SITE, SCALAR = (pathlib.Path(sys.argv.pop(1)).resolve().relative_to(ROOT) for _ in range(2))
TOOLS = """
var pause = (ms) => new Promise((done) => setTimeout(done, ms));
var until = async (holds, what) => {
  for (let i = 0; i < 2400; ++i) { if (holds()) return; await pause(50); }
  throw new Error("waited in vain for " + what + ": " + byId("error").textContent);
};
var done = () => until(() => !running && byId("command").textContent, "the end of the text");
var story = () => [...document.querySelectorAll(".text")].map((one) => one.textContent).join("");
"""
BITS = """
var differences, cases;
Promise.all([import("/tests/web/bits.mjs"), import("/%s/gpt2.mjs")]).then(async ([bits, gpt2]) => {
  differences = (one) => bits.differences(gpt2, one);
  const read = async (path) => (await fetch("/" + path)).text();
  cases = await bits.casesOf(new URL("/", location), read);
  return cases.length;
})
"""
WORKER = """
import("./gpt2.mjs").then(async ({ loadInWorker }) => {
  const model = await loadInWorker("models/gpt2-stories");
  const write = (options, rest) => model.generate({ prompt: "Once", ...options }, rest);
  let pieces = "";
  const [{ text }] = await write({ max_new_tokens: 5 }, { onPiece: (one) => { pieces += one.text; } });
  const controller = new AbortController();
  const rest = { signal: controller.signal, onPiece: () => controller.abort("enough") };
  const aborted = await write({ max_new_tokens: 200 }, rest).catch((reason) => reason);
  const refused = await write({ top_p: NaN }).catch((error) => error.param);
  const failed = await loadInWorker({}).catch((error) => error.name);
  const pending = write().catch((error) => error.message);
  model.close();
  return [pieces !== "" && pieces === text, aborted, refused, failed, await pending];
})
"""
# Files that a visitor drops, as the page sees them.
DROP = """
var drop = (name, files) => {
  const entries = files.map((file) => ({ isFile: true, file: (give) => give(file) }));
  const readEntries = (take) => take(entries.splice(0, 3));  // some at a time
  const folder = { isDirectory: true, name, createReader: () => ({ readEntries }) };
  const event = new Event("drop");
  event.dataTransfer = { items: [{ webkitGetAsEntry: () => folder }] };
  dispatchEvent(event);
};
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipUnless(BROWSER, "there is no Chromium")
class PageTest(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        handler = functools.partial(Quiet, directory=ROOT)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.url = f"http://127.0.0.1:{server.server_port}/{SITE}/"

    def open(self, **settings):
        self.browser.load(self.url, **settings)
        self.browser.run(TOOLS + DROP + "until(() => options.size > 0, 'the options')")
        return self.browser

    def write(self, browser, prompt, tokens):
        browser.run(f"set(options.get('max_new_tokens'), '{tokens}'); "
                    f"byId('prompt').value = {json.dumps(prompt)}; byId('form').requestSubmit()")
        browser.run("done()")
        return browser.run("story()")

    def test_writes_the_story(self):
        readme = (ROOT / "README.md").read_text().split("```text\n")[1].split("\n```")[0]
        story = self.write(self.open(), "Once upon a time", 256)
        self.assertEqual(story.replace("\n", " "), readme.replace("\n", " "))

    def test_inspects(self):
        browser = self.open()
        self.write(browser, "Once upon a time", 3)
        browser.click("byId('inspect')")
        browser.run("until(() => byId('inspection').href, 'the page')")
        page = browser.run("fetch(byId('inspection').href).then((page) => page.text())")
        self.assertIn("LayerNorm", page)

    def test_refuses(self):
        browser = self.open()
        self.write(browser, "Once " * 2000, 3)
        self.assertIn("512", browser.run("byId('error').textContent"))

    def test_takes_a_folder(self):
        browser = self.open()
        browser.run("drop('broken', [new File(['{}'], 'config.json')]); "
                    "until(() => byId('error').textContent, 'the error')")
        self.assertIn("model.safetensors", browser.run("byId('error').textContent"))
        names = [file.name for file in (ROOT / SITE / "models/gpt2-stories").iterdir()]
        browser.run("Promise.all(%s.map(async (name) => new File([await (await fetch("
                    "'models/gpt2-stories/' + name)).blob()], name)))"
                    ".then((files) => { complain(''); drop('mine', files); })" % json.dumps(names))
        browser.run("until(() => byId('model').value === 'mine', 'the model')")
        self.assertIn("Once", self.write(browser, "Once", 5))
        self.assertIn("-m mine", browser.run("byId('command').textContent"))

    def test_has_a_button_for_a_folder(self):
        browser = self.open()
        self.assertTrue(browser.run("document.getElementById('folder').webkitdirectory"))
        names = [file.name for file in (ROOT / SITE / "models/gpt2-stories").iterdir()]
        browser.run("Promise.all(%s.map(async (name) => new File([await (await fetch("
                    "'models/gpt2-stories/' + name)).blob()], name)))"
                    ".then((files) => openFiles(files, 'mine'))" % json.dumps(names))
        browser.run("until(() => byId('model').value === 'mine', 'the model')")
        self.assertTrue(browser.run("document.querySelector('progress').hidden"))

    def test_has_a_model_in_a_worker(self):
        self.assertEqual(self.open().run(WORKER),
                         [True, "enough", "top_p", "Gpt2Error", "the model is closed"])

    def test_computes_the_bits_of_the_command(self):
        browser = self.open()
        for module in SITE, SCALAR:
            count = browser.run(BITS % module)
            self.assertGreater(count, 20)
            for i in range(count):
                self.assertEqual(browser.run(f"differences(cases[{i}])"), [], module)


if __name__ == "__main__":
    unittest.main()
