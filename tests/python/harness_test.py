"""Sends the requests of lm-evaluation-harness (its model local-completions, with
tokenizer_backend=remote) to gpt2 serve, and computes what the harness does from the answers.

Expected numbers come from HuggingFace: tests/data/oracle/scoring.
"""

import json
import subprocess
import unittest
import urllib.request

import support

NAMES = ("tiny_default", "head_dim_7")


class HarnessTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        words = [support.COMMAND, "serve", "--port", "0", "--quiet", "-m", support.MODEL]
        for name in NAMES:
            words += ["-m", f"{name}={support.DATA}/oracle/cases/{name}"]
        cls.server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      encoding="utf-8")
        cls.url = cls.server.stdout.readline().strip()
        cls.golden = support.Golden(f"{support.DATA}/oracle/scoring/scoring.json").json

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()

    def ask(self, path, **body):
        data = json.dumps(body).encode() if body else None
        with urllib.request.urlopen(self.url + path, data) as answer:
            return json.load(answer)

    def scores(self, model, pairs):
        """The sum of the log-probabilities of each continuation, and whether it is the likeliest."""
        answer = self.ask("/v1/completions", model=model, prompt=[c + t for c, t in pairs],
                          temperature=0, max_tokens=1, logprobs=1, seed=1234, echo=True)
        for choice, (context, _) in zip(answer["choices"], pairs, strict=True):
            numbers = choice["logprobs"]["token_logprobs"][len(context):-1]
            likeliest = choice["logprobs"]["top_logprobs"][len(context):-1]
            yield sum(numbers), all(number == max(top.values())
                                    for number, top in zip(numbers, likeliest))

    def test_continuations(self):
        compared = 0
        for entry in self.golden["choices"]:
            # The harness sends at most n_positions tokens, of which there are 64.
            longest = len(entry["context"]) + max(map(len, entry["continuations"]))
            if entry["model"] not in NAMES or longest > 64:
                continue
            pairs = [(entry["context"], ids) for ids in entry["continuations"]]
            found = self.scores(entry["model"], pairs)
            for (score, is_greedy), expected, greedy in zip(found, entry["sum"],
                                                            entry["greedy_match"], strict=True):
                self.assertAlmostEqual(score, expected, delta=2e-4 * max(1, abs(expected)))
                self.assertIs(is_greedy, greedy)
                compared += 1
        self.assertGreater(compared, 30)

    def test_a_text_after_which_the_model_ends_keeps_the_score_of_its_last_token(self):
        text = "And they all lived happily ever after."
        ids = self.ask("/tokenize", prompt=text, add_special_tokens=False)["tokens"]
        self.assertEqual(self.ask("/detokenize", tokens=ids)["prompt"], text)
        answer = self.ask("/v1/completions", prompt=[ids], temperature=0, max_tokens=1, logprobs=1,
                          echo=True)
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        self.assertEqual(answer["usage"]["completion_tokens"], 1)
        self.assertEqual(len(answer["choices"][0]["logprobs"]["token_logprobs"]), len(ids) + 1)

    def test_special_tokens(self):
        info = self.ask("/tokenizer_info")
        self.assertEqual(info["eos_token"], "<|endoftext|>")
        end = self.ask("/tokenize", prompt=info["eos_token"], add_special_tokens=False)["tokens"]
        self.assertEqual(len(end), 1)


support.main()
