#!/usr/bin/env python3
"""Tests the page of `gpt2 serve` in a headless Chromium.

  page_test.py GPT2 MODEL

GPT2 is the command and MODEL the folder of a model. The environment variable GPT2_BROWSER may name
the browser. The exit status is 4 if there is none, which CTest can count as skipped.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from browser import BROWSER, PageCase
from server import Server

PROMPT = "Once upon a time"
HOSTILE = "<script>document.title='attacked'</script><img src=x onerror=\"document.title='attacked'\">"
# Functions for the expressions of the tests.
TOOLS = """
var pause = (ms) => new Promise((done) => setTimeout(done, ms));
var until = async (holds, what) => {
  for (let i = 0; i < 600; ++i) { if (holds()) return; await pause(50); }
  throw new Error("waited in vain for " + what);
};
var ready = () => until(() => options.size > 0, "the options");
var done = () => until(() => !running && byId("command").textContent, "the end of the text");
var some = (count) => until(() => newTokens() >= count, "some tokens");
var option = (name, value) => { set(options.get(name), value); };
var tokens = () => [...document.querySelectorAll(".token")];
var shown = () => { const text = document.querySelector(".text").cloneNode(true);
  text.querySelectorAll("s").forEach((lost) => lost.remove()); return text.textContent; };
var focused = () => document.activeElement;
"""
ENDLESS = """option('max_new_tokens', '100000'); option('ignore_eos', 'true');
option('overflow', '"slide"'); byId('prompt').value = 'Once'"""


class PageTest(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Server(GPT2, "-m", MODEL)
        cls.addClassCleanup(cls.server.end)

    def open(self, fragment="", server=None, wait="ready()", **settings):
        self.browser.load((server or self.server).url + "/" + fragment, **settings)
        self.browser.run(TOOLS + wait)
        return self.browser

    def write(self, prompt=PROMPT, server=None, width=1200, scheme="light", **values):
        """Opens the page and lets it write a text."""
        browser = self.open(server=server, width=width, scheme=scheme)
        values = {"max_new_tokens": 20, **values}
        for name, value in values.items():
            browser.run(f"option({json.dumps(name)}, {json.dumps(json.dumps(value))})")
        browser.run(f"byId('prompt').value = {json.dumps(prompt)}")
        browser.click("byId('write')")
        browser.run("done()")
        return browser

    def text(self):
        return self.browser.run("wholeText(state.texts[0])")

    def tokenize(self, text):
        body = json.dumps({"prompt": text}).encode()
        with urllib.request.urlopen(self.server.url + "/tokenize", body) as answer:
            return json.load(answer)["tokens"]

    def check_command(self):
        """Runs the command that the page shows, and returns its text."""
        command = self.browser.run("byId('command').textContent")
        folder = pathlib.Path(self.folder.name)
        link = folder / "gpt2"
        if not link.exists():
            link.symlink_to(pathlib.Path(GPT2).resolve())
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        result = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        written = result.stdout.decode("utf-8", "replace")
        text = self.text()
        self.assertEqual(written.removesuffix("\n"), text.removesuffix("\n"))
        return command

    def test_writes_the_text_of_the_command(self):
        browser = self.write(seed=7, stop=[" the", "it's\n"], top_k=0, logit_bias={"11": -2.5},
                             exponential_decay_length_penalty=[5, 1.01], suppress_tokens=[13, 14],
                             sequence_bias=[[[11, 12], -1.5]], presence_penalty=-0.5)
        self.assertTrue(self.text().startswith(PROMPT), self.text())
        self.assertEqual(browser.run("shown()"), self.text())
        self.assertIn("'--stop= the'", self.check_command())
        titles = browser.run("tokens().map((token) => token.title)")
        self.assertEqual(len(titles), browser.run("newTokens()"))
        for title in titles:
            self.assertRegex(title, r", (less than )?[0-9.]+%$")

    def test_special_tokens_are_no_part_of_the_text(self):
        end = self.tokenize("<|endoftext|>")
        self.assertEqual(len(end), 1)
        browser = self.write(ignore_eos=True, stop=["day"], logit_bias={end[0]: 6}, max_new_tokens=60)
        shown = browser.run("shown()")
        self.assertIn("<|endoftext|>", shown)
        self.assertEqual(shown.replace("<|endoftext|>", ""), self.text())
        self.assertEqual(browser.run("document.querySelectorAll('s').length"), 1)

    def test_prompts_that_a_shell_could_change(self):
        for prompt in "", "- milk", "-", "It's $HOME `ls` \\n \"x\"\nand more ", HOSTILE:
            with self.subTest(prompt=prompt):
                self.write(prompt)
                self.check_command()

    def test_stop_keeps_what_is_written(self):
        browser = self.open()
        browser.run(ENDLESS)
        browser.click("byId('write')")
        browser.run("some(3)")
        browser.click("byId('stop')")
        browser.run("done()")
        count = browser.run("newTokens()")
        self.assertLess(count, 100000)
        self.assertIn(f"Stopped after {count} token", browser.run("byId('status').textContent"))
        self.assertEqual(browser.run("pause(300).then(() => newTokens())"), count)
        self.assertEqual(browser.run("byId('error').textContent"), "")

    def test_alternative_continues_the_text(self):
        browser = self.write()
        before = browser.run("tokens().slice(0, 5).map((token) => token.textContent)")
        browser.click("tokens()[5]")
        other = browser.run("[...document.querySelectorAll('.other:not([aria-current])')][1]"
                            ".children[1].textContent").replace("\u2423", " ")
        browser.click("document.querySelectorAll('.other:not([aria-current])')[1]")
        browser.run("done()")
        after = browser.run("tokens().map((token) => token.textContent)")
        self.assertEqual(after[:6], before + [other])
        self.assertEqual(len(after), 26)
        self.assertTrue(browser.run("tokens()[5].classList.contains('chosen')"))
        self.check_command()
        browser.click("tokens()[1]")
        browser.click("byId('prompt')")
        self.assertTrue(browser.run("byId('detail').hidden"))
        browser.run("history.back(); until(() => byId('prefix').hidden, 'the link before')")
        browser.run("done()")
        self.assertEqual(browser.run("tokens().slice(0, 5).map((token) => token.textContent)"), before)
        self.assertEqual(len(browser.run("tokens().map((token) => token.title)")), 20)

    def test_link_reproduces_the_text(self):
        browser = self.write(seed=18446744073709551615, stop=["\n", "a\\n"], temperature=1.3, top_p=0.9)
        browser.click("tokens()[3]")
        browser.click("document.querySelectorAll('.other')[2]")
        browser.run("done()")
        text, link = self.text(), browser.run("location.href")
        colours = browser.run("tokens().map((token) => token.className + token.title)")
        self.assertIn("seed=18446744073709551615", link)
        self.open("#" + urllib.parse.urlsplit(link).fragment)
        self.assertEqual(browser.run("byId('prompt').value"), PROMPT)
        self.assertIn("4 tokens", browser.run("byId('prefix').textContent"))
        browser.run("done()")  # the link alone writes its text
        self.assertEqual(self.text(), text)
        self.assertEqual(browser.run("location.href"), link)
        again = browser.run("tokens().map((token) => token.className.replace(' chosen', '') + token.title)")
        self.assertEqual(again, [colour.replace(" chosen", "") for colour in colours])

    def test_keyboard_alone(self):
        browser = self.open()
        browser.run("option('max_new_tokens', '20')")
        browser.press("Tab")
        self.assertEqual(browser.run("focused().id"), "prompt")
        browser.call("Input.insertText", text=PROMPT)
        browser.press("Enter", modifiers=2)
        browser.run("done()")
        self.assertEqual(browser.run("byId('said').textContent"), self.text()[len(PROMPT):])
        for _ in range(20):
            browser.press("Tab")
            if browser.run("focused().classList.contains('token')"):
                break
        browser.press("ArrowRight", "ArrowRight", "ArrowLeft")
        self.assertEqual(browser.run("focused().dataset.token"), "1")
        self.assertNotEqual(browser.run("getComputedStyle(focused()).outlineStyle"), "none")
        browser.press("Enter")
        self.assertTrue(browser.run("focused().matches('#detail .other')"))
        browser.press("Escape")
        self.assertEqual(browser.run("[byId('detail').hidden, focused().dataset.token]"), [True, "1"])
        browser.press("End", "Enter", "ArrowDown", "Enter")
        self.assertEqual(browser.run("done().then(() => newTokens())"), 20)
        self.assertEqual(browser.run("[state.prefix.length, focused().dataset.token]"), [20, "19"])

    def test_hostile_text_is_harmless(self):
        browser = self.write(HOSTILE)
        browser.click("tokens()[1]")
        self.assertTrue(browser.run("shown()").startswith(HOSTILE))
        self.assertEqual(browser.run("[document.title, document.querySelectorAll('img').length]"),
                         ["gpt2 serve", 0])

    def test_tokens_that_are_parts_of_characters(self):
        browser = self.open()
        browser.run("""beginTexts("x"); ["bytes:\\\\xf0\\\\x9f", "bytes:\\\\x99", "bytes:\\\\x82", "", "\\n"]
          .forEach((text, id) => addToken(textAt(0), { id, text, logprob: -1, top: [] }))""")
        self.assertEqual(browser.run("tokens().map((token) => [token.textContent, token.dataset.mark])"),
                         [["", "f0 9f"], ["", "99"], ["\U0001f642", None], ["", "#3"], ["\n", "\u21b5"]])
        self.assertEqual(browser.run("shown()"), "x\U0001f642\n")

    def test_errors_are_sentences(self):
        browser = self.open()
        browser.run("option('temperature', '-1'); byId('prompt').value = 'x'")
        browser.click("byId('write')")
        browser.run("until(() => byId('error').textContent, 'an error')")
        self.assertRegex(browser.run("byId('error').textContent"), "^Temperature: expected .*found -1.*[.]$")
        browser.run("option('temperature', '1'); byId('option_suppress_tokens').value = '[1,'")
        browser.click("byId('write')")
        self.assertRegex(browser.run("byId('error').textContent"), "^suppress_tokens: expected .*[.]$")

    def test_key(self):
        server = Server(GPT2, "-m", MODEL, "--api-key", "secret")
        self.addCleanup(server.end)
        browser = self.open(server=server, wait="until(() => byId('error').textContent, 'an error')")
        self.assertIn("wants an API key", browser.run("byId('error').textContent"))
        self.assertEqual(browser.run("focused().id"), "key")
        browser.call("Input.insertText", text="wrong")
        browser.press("Enter")
        browser.run("until(() => /does not know/.test(byId('error').textContent), 'an error')")
        browser.run("byId('key').value = ''; byId('key').focus()")
        browser.call("Input.insertText", text="secret")
        browser.click("byId('key_use')")
        browser.run("ready()")
        self.assertTrue(browser.run("byId('key_box').hidden"))
        browser.run("option('max_new_tokens', '5')")
        browser.click("byId('write')")
        browser.run("done()")
        self.assertEqual(browser.run("newTokens()"), 5)

    def test_beam_search_and_several_texts(self):
        for values in {"num_beams": 3, "num_return_sequences": 2}, {"num_return_sequences": 3}:
            with self.subTest(values=values):
                browser = self.write(**values)
                count = values["num_return_sequences"]
                self.assertEqual(browser.run("state.texts.length"), count)
                command = browser.run("byId('command').textContent")
                self.assertIn(f"--num-return-sequences={count}", command)
                self.assertEqual(browser.run("byId('error').textContent"), "")

    def test_inspection_opens(self):
        browser = self.write()
        browser.run("var blob; var create = URL.createObjectURL;"
                    "URL.createObjectURL = (page) => { blob = page; return create(page); }")
        browser.click("byId('inspect')")
        browser.run("until(() => !byId('inspection').hidden, 'the page')")
        page = browser.run("blob.text()")
        deadline = time.monotonic() + 20  # the page's own script sets its title
        while not any(target["title"].startswith("gpt2 inspect: " + PROMPT)
                      for target in browser.call("Target.getTargets")["targetInfos"]):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.assertIn("<title>gpt2 inspect</title>", page)
        file = pathlib.Path(self.folder.name) / "inspection.html"
        subprocess.run([GPT2, "inspect", "-m", MODEL, "-o", file, self.text()], check=True)
        shown, written = (text.split('type="application/json">')[1].split("</script>")[0]
                          for text in (page, file.read_text(encoding="utf-8")))
        self.assertEqual({**json.loads(shown), "model": MODEL}, json.loads(written))

    def test_nothing_comes_from_outside(self):
        browser = self.write()
        urls = {event["request"]["url"] for event in browser.seen("Network.requestWillBeSent")}
        self.assertGreater(len(urls), 3)
        for url in urls:
            self.assertTrue(url.startswith((self.server.url, "data:")), url)
        outside = "fetch('http://127.0.0.1:1/').then(() => 'sent', (error) => error.name)"
        self.assertEqual(browser.run(outside), "TypeError")
        with urllib.request.urlopen(self.server.url) as answer:
            policy = answer.headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertIn("connect-src 'self'", policy)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if not BROWSER:
        print("page_test.py: found no Chromium; skipped")
        sys.exit(4)
    GPT2, MODEL = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
