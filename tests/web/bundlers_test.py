#!/usr/bin/env python3
"""Tests the npm package in a clean project: its types with tsc, and a page that each bundler of the
package's README makes, in Chromium: bundlers_test.py PACKAGE.tgz

Installs typescript, vite, webpack and esbuild with npm."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser import BROWSER, PageCase
from server import QuietHandler, serve_folder

PACKAGE = pathlib.Path(sys.argv.pop(1)).resolve()
README = (ROOT / "src/web/npm/README.md").read_text()
APP = """
import * as gpt2 from "gpt2-cpp";
globalThis.written = (async () => {
  const texts = [];
  for (const make of [gpt2.load, gpt2.loadInWorker]) {
    const model = await make("/models/gpt2-stories");
    const [{ text }] = await model.generate({ prompt: "Once", max_new_tokens: 3, temperature: 0 });
    texts.push(text);
    model.close();
  }
  return texts;
})();
"""
TYPES = """
import { Gpt2Error, load, loadInWorker } from "gpt2-cpp";

export async function use(files: File[]): Promise<number> {
  const model = await load("hub:distilbert/distilgpt2", { dtype: "int8", revision: "main",
    onProgress: ({ file, loaded, total }) => console.log(file, loaded / total) });
  const [{ text, stats }] = await model.generate({ prompt: Int32Array.of(1, 2), top_p: 0.5 });
  const { perplexity, texts } = await model.score({ texts: ["Once upon"], logprobs: 1 });
  const { best, choices } = await model.choices({ context: "Once", choices: [" upon", " a"] });
  const { data } = await model.embed({ input: text, pooling: "last" });
  const { norms, lens, next } = await model.inspect({ prompt: "Once", skip_head: ["2.1"] });
  const worker = await loadInWorker(files);
  await worker.load("models/other");
  // @ts-expect-error
  await model.score({ text: "Once" });
  // @ts-expect-error
  await load("x", { dtyp: "int8" });
  try { model.close(); } catch (error) { if (error instanceof Gpt2Error) console.log(error.param); }
  return perplexity + texts[0].bits_per_byte + best + choices[0].logprob + data[0].embedding[0]
    + norms.length + lens[0][0].kl + (next[0].logprob ?? 0) + stats.prompt_seconds;
}
"""


class Handler(QuietHandler):
    def translate_path(self, path):
        models = path.startswith("/models/")
        return str(ROOT) + path if models else super().translate_path(path)


@unittest.skipUnless(BROWSER, "there is no Chromium")
class BundlersTest(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        project = tempfile.TemporaryDirectory()
        cls.addClassCleanup(project.cleanup)
        cls.project = pathlib.Path(project.name)
        write = lambda name, text: (cls.project / name).write_text(text)
        write("package.json", '{"type": "module", "private": true}')
        write("app.js", APP)
        write("check.ts", TYPES)
        write("index.html", '<!doctype html><script type="module" src="/app.js"></script>')
        line = re.search(r"\| Vite \| `(.*?)`", README)[1]
        write("vite.config.js", f"export default {{ {line} }};")
        cls.run_in_project(f"npm install --silent --no-audit --no-fund {PACKAGE} typescript vite "
                           "webpack webpack-cli esbuild")

    @classmethod
    def run_in_project(cls, command):
        done = subprocess.run(["bash", "-c", command], cwd=cls.project, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout

    def works(self, folder):
        server = serve_folder(self, folder, Handler)
        self.browser.load(f"http://127.0.0.1:{server.server_port}/")
        self.assertEqual(self.browser.run("written"), [" upon a time"] * 2)

    def bundle(self, command):
        self.run_in_project(f"rm -rf dist && mkdir dist && {command}")
        page = self.project / "dist/index.html"
        if not page.exists():
            page.write_text('<!doctype html><script type="module" src="app.js"></script>')
        self.works(self.project / "dist")

    def test_types(self):
        self.run_in_project("npx tsc --noEmit --strict --target es2022 --module nodenext check.ts")

    def test_vite(self):
        self.bundle("npx vite build")

    def test_webpack(self):
        self.bundle("npx webpack --mode production --entry ./app.js --output-filename app.js")

    def test_esbuild(self):
        line = re.search(r"\| esbuild \| `(.*?)`", README)[1]
        self.bundle(f"npx esbuild app.js --bundle --format=esm --outdir=dist && {line}")


if __name__ == "__main__":
    unittest.main()
