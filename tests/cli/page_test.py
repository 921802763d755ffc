#!/usr/bin/env python3
"""Tests the page that `gpt2 inspect -o` writes, in a headless Chromium.

  page_test.py GPT2 MODEL

GPT2 is the command and MODEL the folder of a model. The environment variable GPT2_BROWSER may name
the browser. The exit status is 4 if there is none, which CTest can count as skipped.
"""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from browser import BROWSER, Browser, PageCase

TEXT = "Once upon a time, there was a little girl named Lily. Lily had a ball."
HOSTILE = "</script><img src=x onerror=\"document.title='attacked'\"><!--<script>&amp;\n"
# The figures that show the chosen token.
OF_TOKEN = ["text", "guess", "steps", "outliers", "outlier_map", "maps", "stream", "matrix", "head",
            "lens", "lens_list", "parts", "parts_heads", "neurons"]
OF_NORM = ["short", "steps", "outliers", "outlier_map", "maps", "stream", "matrix", "head", "parts",
           "parts_heads", "neurons"]

# Functions for the expressions of the tests. see() returns what each figure shows, with the pixels of
# its canvases; changed(before) the names of the figures that show something else since then.
TOOLS = """
var FIGURES = %s;
var wait = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)));
var see = () => Object.fromEntries(FIGURES.map((id) => [id, byId(id).innerHTML +
    [...byId(id).querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()).join()]));
var changed = (before) => { const after = see();
  return FIGURES.filter((id) => before[id] !== after[id]); };
var drawn = async () => { while (FIGURES.some((id) => !byId(id).innerHTML)) await wait(); };
var texts = (selector) => [...document.querySelectorAll(selector)].map((e) => e.textContent);
""" % json.dumps(OF_TOKEN + ["short"])


class InspectBrowser(Browser):
    def open(self, file, fragment="", height=16000, **settings):
        """Opens a page in a window that is high enough for all figures to be drawn."""
        self.load(file.as_uri() + fragment, height=height, **settings)
        self.run(TOOLS + ("drawn()" if height > 10000 else "wait()"))

    def click(self, element):
        super().click(element)
        self.run("wait()")


def inspect(*arguments):
    """Returns the page that the command writes."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        subprocess.run([GPT2, "inspect", "-m", MODEL, "-o", page, *arguments], check=True)
        return page.read_text(encoding="utf-8")


DATA = re.compile(r'(<script id="data" type="application/json">)(.*?)(</script>)', re.S)


def data_of(page):
    return json.loads(DATA.search(page).group(2))


def with_data(page, data):
    text = json.dumps(data).replace("<", "\\u003c")
    return DATA.sub(lambda match: match.group(1) + text + match.group(3), page)


def number(text):
    return float(text.replace("\u2212", "-"))


class PageTest(PageCase):
    browser_class = InspectBrowser

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = inspect(TEXT)
        cls.data = data_of(cls.page)

    def open(self, page, *arguments, **settings):
        file = pathlib.Path(self.folder.name) / "page.html"
        file.write_text(page, encoding="utf-8")
        self.browser.open(file, *arguments, **settings)
        return self.browser

    def test_worked_example_has_the_numbers_of_the_article(self):
        browser = self.open(self.page)
        bars = browser.run('texts(".example .value")')
        self.assertEqual([number(bar) for bar in bars],
                         [4, 6, 8, 2, -1, 1, 3, -3, -0.447, 0.447, 1.342, -1.342,
                          0.106, 1.894, 3.683, -1.683])
        mean, variance, length = map(number, browser.run('texts(".example [data-stat]")')[:3])
        self.assertEqual((mean, variance), (5, 5))
        self.assertAlmostEqual(length, 120 ** 0.5, 2)

    def test_steps_agree_with_the_report(self):
        epsilon = self.data["config"]["layer_norm_epsilon"]
        for norm in 0, 3, len(self.data["norms"]) - 1:
            with self.subTest(norm=norm):
                browser = self.open(self.page, f"#token=5&norm={norm}")
                stats = list(map(number, browser.run('texts("[data-step] .model [data-stat]")')))
                mean, variance, length = stats[0::3], stats[1::3], stats[2::3]
                seen = self.data["norms"][norm]["tokens"][5]
                self.assertAlmostEqual(mean[0] / seen["mean"], 1, 3)
                self.assertAlmostEqual(variance[0] / seen["variance"], 1, 3)
                self.assertAlmostEqual(length[0] / seen["input_norm"], 1, 3)
                self.assertEqual((mean[1], variance[1]), (0, variance[0]))
                self.assertLess(abs(mean[2]), 1e-6)
                self.assertAlmostEqual(variance[2], seen["variance"] / (seen["variance"] + epsilon), 5)
                self.assertAlmostEqual(length[3] / seen["output_norm"], 1, 3)

    def test_changed_statistics(self):
        data = data_of(self.page)
        seen = data["norms"][1]["tokens"][5]
        seen.update(used_mean=0.5, used_rstd=2.0)
        browser = self.open(with_data(self.page, data), "#token=5&norm=1")
        self.assertEqual(browser.run("stepsOf([1, 3], [2, 2], [1, 1], "
                                     "{ used_mean: 2, used_rstd: 3 })[3]"), [-5, 7])
        mean = list(map(number, browser.run("""texts('[data-step] .model [data-stat="mean"]')""")))
        for step, expected in enumerate([seen["mean"], seen["mean"] - 0.5, 2 * (seen["mean"] - 0.5)]):
            self.assertAlmostEqual(mean[step], expected, 3)
        notes = browser.run('texts("[data-step] .note")')
        self.assertEqual(["was changed" in note for note in notes], [False, True, True, False])
        self.assertIn("subtracts 0.5000", notes[1])
        self.assertIn("was changed", browser.run('byId("short").textContent'))
        browser.press("ArrowLeft")
        self.assertNotIn("was changed", browser.run('wait().then(() => byId("steps").textContent)'))

    def test_a_frame_of_a_notebook_shows_the_page(self):
        frame = f'<iframe srcdoc="{html.escape(self.page)}"></iframe>'
        browser = self.open("<!doctype html>" + frame, height=900)
        shown = browser.run('frames[0].document.getElementById("token_name").textContent')
        self.assertTrue(shown.startswith("token "), shown)

    def test_contributions_add_up(self):
        data = data_of(self.page)
        for changes in 0, 2.5:
            last = data["contributions"][-1]
            last.update(changes=changes, logit=last["logit"] + changes)
            browser = self.open(with_data(self.page, data), f"#token={len(data['tokens']) - 1}")
            total, logit = map(number, browser.run('texts("#parts .stats b")'))
            self.assertAlmostEqual(total, logit, 2)
            self.assertEqual("change of the stream" in browser.run('texts("#parts .shares span")'),
                             changes != 0)

    def test_vectors_with_a_far_dimension_are_counted(self):
        data = data_of(self.page)
        for norm in data["norms"]:
            for token in norm["tokens"]:
                for outlier in token["outliers"]:
                    outlier["normalized"] = 3.5
        vectors = len(data["norms"]) * len(data["tokens"])
        self.assertIn(f"None of the {vectors} vectors in this text has a dimension more than 4",
                      self.open(with_data(self.page, data)).run('byId("short").textContent'))
        for token in 2, 7:
            data["norms"][3]["tokens"][token]["outliers"][0].update(dimension=9, normalized=-4.5)
        shown = self.open(with_data(self.page, data)).run('byId("short").textContent')
        self.assertIn(f"2 of the {vectors} vectors in this text have a dimension more than 4", shown)
        self.assertIn("dimension 9 (in 2), and most of all at h.1.ln_2 (2 of them)", shown)

    def test_opens_on_the_furthest_outlier_of_a_token_inside_the_text(self):
        data = {**data_of(self.page), "changes": ["--skip-mlp 1"]}
        for token, value in (0, 90), (4, -80), (len(data["tokens"]) - 1, 90):
            data["norms"][3]["tokens"][token]["outliers"][1]["normalized"] = value
        browser = self.open(with_data(self.page, data), height=900)
        self.assertEqual(browser.run("[state.token, state.norm]"), [4, 3])
        title, facts = browser.run("[document.title, byId('facts').textContent]")
        self.assertEqual(title, "gpt2 inspect: " + TEXT[:60])
        self.assertTrue(facts.endswith("; changed: --skip-mlp 1"), facts)

    def test_choice_of_a_token_or_normalization_changes_its_figures(self):
        browser = self.open(self.page, "#token=5&norm=3")
        browser.run("var before = see();")
        browser.click('document.querySelectorAll("#text button")[6]')
        self.assertEqual(browser.run("changed(before)"), OF_TOKEN)
        self.assertIn("token=6", browser.run("location.hash"))
        self.assertIn("token 6", browser.run('byId("token_name").textContent'))
        self.assertEqual(browser.run('document.activeElement.getAttribute("aria-pressed")'), "true")
        browser.press("ArrowRight", "ArrowRight")  # keys keep the focus on the chosen token
        self.assertEqual(browser.run("wait().then(() => document.activeElement.textContent)"),
                         self.data["tokens"][8]["text"])
        browser.run("""var before = see(); byId("norm").value = 0;
                       byId("norm").dispatchEvent(new Event("change")); wait()""")
        self.assertEqual(sorted(browser.run("changed(before)")), sorted(OF_NORM))
        self.assertIn("h.0.ln_1", browser.run('byId("model_head").textContent'))

    def test_keys_move_through_tokens_and_normalizations(self):
        browser = self.open(self.page, "#token=1&norm=1", height=900)
        for key, expected in [("ArrowRight", [2, 1]), ("ArrowLeft", [1, 1]), ("ArrowLeft", [0, 1]),
                              ("ArrowLeft", [0, 1]), ("ArrowDown", [0, 2]), ("ArrowUp", [0, 1])]:
            browser.press(key)
            self.assertEqual(browser.run("[state.token, state.norm]"), expected)

    def test_click_on_a_head_or_heat_map_chooses_it(self):
        browser = self.open(self.page)
        browser.run("var before = see();")
        browser.click("""document.querySelector('[data-head="1.2"]')""")
        self.assertLessEqual({"matrix", "head", "parts_heads"}, set(browser.run("changed(before)")))
        self.assertEqual(browser.run("[chosenLayer(), state.head]"), [1, 2])
        self.assertEqual(browser.run("document.querySelectorAll('#heads [aria-pressed=true]').length"), 1)
        browser.click('document.querySelector("#maps .field")')
        # The middle may lie between two columns.
        self.assertAlmostEqual(browser.run("state.token"), len(self.data["tokens"]) / 2, delta=1)
        self.assertEqual(browser.run("state.norm"), len(self.data["norms"]) // 2)

    def test_colours_of_the_system(self):
        look = "[isDark(), getComputedStyle(document.body).backgroundColor, see().text]"
        light = self.open(self.page, height=900).run(look)
        dark = self.open(self.page, height=900, scheme="dark").run(look)
        self.assertEqual([light[0], dark[0]], [False, True])
        self.assertFalse(set(light) & set(dark))

    def test_narrow_window_does_not_scroll_sideways(self):
        for page in self.page, inspect("Supercalifragilistic" * 5), inspect("\n" * 9 + " " * 60):
            browser = self.open(page, width=360)
            inner, whole = browser.run("[innerWidth, document.documentElement.scrollWidth]")
            self.assertEqual(inner, 360)
            self.assertLessEqual(whole, 360)

    def test_hostile_text_is_harmless(self):
        hostile = inspect(HOSTILE)
        count = len(data_of(hostile)["tokens"])
        everywhere = json.loads(json.dumps(data_of(hostile)), object_hook=lambda item: {
            **item, **({"text": HOSTILE} if "text" in item else {}), "model": HOSTILE})
        for page in hostile, with_data(hostile, everywhere):
            browser = self.open(page)
            browser.press("ArrowLeft")
            title, *seen = browser.run("wait().then(() => [document.title, texts('img').length, "
                                       "texts('#text button').length])")
            self.assertTrue(title.startswith("gpt2 inspect: </script>"), title)
            self.assertEqual(seen, [0, count])

    def test_one_token_and_tokens_without_text(self):
        for arguments in (["Once"], ["--tokens", "5"], ["--tokens", "5 6 7"]):
            with self.subTest(arguments=arguments):
                browser = self.open(inspect(*arguments))
                browser.press("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp")
                shown = ["Once"] if arguments == ["Once"] else ["#" + i for i in arguments[1].split()]
                self.assertEqual(browser.run('texts("#text button")'), shown)
                self.assertEqual(browser.run("FIGURES.filter((id) => !see()[id])"), [])

    def test_comparison_with_the_model_without_changes(self):
        page = inspect("--identity-norm", "ln_2.0", "--skip-head", "2.1", TEXT)
        browser = self.open(page, "#token=5&norm=1")
        seen = data_of(page)["norms"][1]["tokens"][5]
        if "used_rstd" in seen:
            stats = list(map(number, browser.run('texts("[data-step] .model [data-stat]")')))
            self.assertAlmostEqual(stats[5] / seen["input_norm"], 1, 3)  # step 2 subtracts 0
            self.assertAlmostEqual(stats[11] / seen["output_norm"], 1, 3)
        self.assertEqual(browser.run('texts("#maps figcaption")')[4],
                         "Distance to the model without changes")
        self.assertIn("loss of the model without changes", browser.run('byId("facts").textContent'))

    def test_figures_out_of_sight_are_drawn_soon_and_changed_later(self):
        browser = self.open(self.page, height=700)
        browser.run("drawn().then(() => { window.before = see(); })")
        browser.press("ArrowLeft")
        changed = browser.run("wait().then(() => changed(before))")
        self.assertIn("text", changed)
        self.assertNotIn("neurons", changed)
        browser.run('byId("neurons").scrollIntoView(); wait()')
        self.assertIn("neurons", browser.run("changed(before)"))

    def test_nothing_comes_from_outside(self):
        self.assertNotRegex(DATA.sub("", self.page), r"(src|href)=.(?!data:,)|@import|url\(|fetch\(")
        requests = [event["request"]["url"][:5] for event in
                    self.open(self.page).seen("Network.requestWillBeSent")]
        self.assertLessEqual(set(requests), {"file:", "data:"})
        self.assertEqual(requests.count("file:"), 1)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if not BROWSER:
        print("page_test.py: found no Chromium; skipped")
        sys.exit(4)
    GPT2, MODEL = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
