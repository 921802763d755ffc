#!/usr/bin/env python3
"""Tests the site of tools/web.sh in a headless Chromium: page_test.py SITE

SITE is a folder in the repository. The server below has no special headers, and the site lies below
a path. engine_test.py tests what needs no driver, in every engine."""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser import BROWSER, PageCase
from server import serve_folder

SITE = pathlib.Path(sys.argv.pop(1)).resolve().relative_to(ROOT)
TOOLS = """
var pause = (ms) => new Promise((done) => setTimeout(done, ms));
var until = async (holds, what) => {
  for (let i = 0; i < 2400; ++i) { if (holds()) return; await pause(50); }
  throw new Error("waited in vain for " + what + ": " + byId("error").textContent);
};
var done = () => until(() => !running && byId("command").textContent, "the end of the text");
var story = () => [...document.querySelectorAll(".text")].map((one) => one.textContent).join("");
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


@unittest.skipUnless(BROWSER, "there is no Chromium")
class PageTest(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = serve_folder(cls, ROOT)
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

    def test_refuses(self):
        browser = self.open()
        self.write(browser, "Once " * 2000, 3)
        self.assertIn("512", browser.run("byId('error').textContent"))

    def test_takes_a_folder(self):
        browser = self.open()
        self.assertTrue(browser.run("document.getElementById('folder').webkitdirectory"))
        browser.run("drop('broken', [new File(['{}'], 'config.json')]); "
                    "until(() => byId('error').textContent, 'the error')")
        self.assertIn("model.safetensors", browser.run("byId('error').textContent"))
        names = [file.name for file in (ROOT / SITE / "models/gpt2-stories").iterdir()]
        for name, take in ("mine", "drop('mine', files)"), ("another", "openFiles(files, 'another')"):
            browser.run("Promise.all(%s.map(async (name) => new File([await (await fetch("
                        "'models/gpt2-stories/' + name)).blob()], name)))"
                        ".then((files) => { complain(''); %s; })" % (json.dumps(names), take))
            browser.run(f"until(() => byId('model').value === '{name}', 'the model')")
            self.assertTrue(browser.run("document.querySelector('progress').hidden"))
        self.assertIn("Once", self.write(browser, "Once", 5))
        self.assertIn("-m another", browser.run("byId('command').textContent"))


if __name__ == "__main__":
    unittest.main()
