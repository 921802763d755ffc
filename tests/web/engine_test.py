#!/usr/bin/env python3
"""Tests the site of tools/web.sh and its modules in each engine that is there: V8 (Chromium),
SpiderMonkey (Firefox) and JavaScriptCore (WebKitGTK): engine_test.py SITE WASM RELAXED

All are folders in the repository. The last two have one module each. A page runs the test and
posts its answers to the server below."""

import glob
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser import BROWSER
from server import QuietHandler, serve_folder

SITE, WASM, RELAXED = (str(pathlib.Path(sys.argv.pop(1)).resolve().relative_to(ROOT))
                       for _ in range(3))
LIMIT = 240  # seconds for an answer
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
MINI_BROWSER = next(iter(glob.glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser")), None)
PAGE = b'<!doctype html><body><script type="module" src="/tests/web/engine.mjs"></script>'


class Handler(QuietHandler):
    def do_GET(self):
        self.server.paths.append(self.path.split("?")[0])
        if self.path.startswith("/engine"):
            self.reply(PAGE, {"Content-Type": "text/html"})
        else:
            super().do_GET()

    def translate_path(self, path):
        return super().translate_path(path.replace("/etag/", "/", 1).replace("/unsized/", "/", 1))

    def send_header(self, name, value):
        if name != "Content-Length" or not self.path.startswith("/etag/unsized/"):
            super().send_header(name, value)

    def end_headers(self):
        if self.path.startswith("/etag/"):
            self.send_header("ETag", '"1"')
        super().end_headers()

    def do_POST(self):
        self.server.answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.reply(b"", {})

    def reply(self, body, headers):
        self.send_response(200)
        for name, value in {**headers, "Content-Length": len(body)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class EngineCase:
    """The tests of one engine: command(folder) returns what opens a page, without the address."""

    modules = [WASM, RELAXED]
    environment = {}

    @classmethod
    def setUpClass(cls):
        server = serve_folder(cls, ROOT, Handler)
        server.answers, server.paths = queue.Queue(), []
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        folders = ",".join([SITE, *cls.modules])
        url = f"http://127.0.0.1:{server.server_port}/engine?folders={folders}"
        process = subprocess.Popen([*cls.command(folder.name), url], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "HOME": folder.name, **cls.environment})
        cls.addClassCleanup(process.wait)
        cls.addClassCleanup(os.killpg, process.pid, 9)
        cls.answers, cls.paths = {}, server.paths
        while "end" not in cls.answers:
            try:
                answer = server.answers.get(timeout=LIMIT)
            except queue.Empty:
                raise TimeoutError(f"waited {LIMIT} s in vain; so far: {cls.answers}") from None
            cls.answers[answer["name"]] = answer.get("value", answer.get("error"))

    def test_loads_from_everywhere(self):
        texts = self.answers["sources"]
        self.assertEqual(texts, [texts[0]] * 2)
        self.assertNotEqual(texts[0], "no text")

    def test_has_a_model_in_a_worker(self):
        self.assertEqual(self.answers["worker"],
                         ["enough", "top_p", "Gpt2Error", "no", "the model is closed"])

    def test_keeps_files(self):
        *texts, kept = self.answers["cache"]
        self.assertEqual(texts, [texts[0]] * 3)
        self.assertEqual(kept.count("model.safetensors"), 1)

    def test_writes_and_inspects_the_story(self):
        readme = (ROOT / "README.md").read_text().split("```text\n")[1].split("\n```")[0]
        error, story, has_page = self.answers["story"]
        self.assertEqual(error, "")
        self.assertEqual(story.replace("\n", " "), readme.replace("\n", " "))
        self.assertTrue(has_page)

    def test_computes_the_bits_of_the_command(self):
        for module in self.modules:
            self.assertEqual(self.answers[module], [], module)

    def test_fetches_one_module(self):
        found = {path for path in self.paths if path.startswith(f"/{SITE}/") and ".wasm" in path}
        name = "gpt2_relaxed" if RELAXED in self.modules else "gpt2"
        self.assertEqual(found, {f"/{SITE}/{name}.wasm"})


@unittest.skipUnless(BROWSER, "there is no Chromium")
class ChromiumTest(EngineCase, unittest.TestCase):
    @classmethod
    def command(cls, folder):
        return [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                f"--user-data-dir={folder}"]


@unittest.skipUnless(FIREFOX, "there is no Firefox")
class FirefoxTest(EngineCase, unittest.TestCase):
    @classmethod
    def command(cls, folder):
        return [FIREFOX, "--headless", "--no-remote", "--profile", folder]


@unittest.skipUnless(MINI_BROWSER and shutil.which("Xvfb"), "there is no WebKitGTK, or no Xvfb")
class WebKitTest(EngineCase, unittest.TestCase):
    """With relaxed SIMD, which JavaScriptCore does not have by default. It rounds twice, so that the
    site must not take the relaxed module."""

    modules = [WASM]
    environment = {"WEBKIT_DISABLE_COMPOSITING_MODE": "1", "JSC_useWasmRelaxedSIMD": "1"}

    @classmethod
    def command(cls, folder):
        screen = subprocess.Popen(["Xvfb", "-displayfd", "1", "-nolisten", "tcp"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(screen.stdout.close)
        cls.addClassCleanup(screen.wait)
        cls.addClassCleanup(screen.kill)
        cls.environment["DISPLAY"] = f":{int(screen.stdout.readline())}"
        return [MINI_BROWSER]


if __name__ == "__main__":
    unittest.main()
