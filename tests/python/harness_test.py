"""Sends the requests of lm-evaluation-harness (its model local-completions, with
tokenizer_backend=remote) to gpt2 serve, and computes what the harness does from the answers.

Expected numbers come from HuggingFace: tests/data/oracle/scoring.
"""

import json
import unittest
import urllib.request

import support
from server import Server

NAMES = ("tiny_default", "head_dim_7")


class HarnessTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        models = [word for name in NAMES
                  for word in ("-m", f"{name}={support.DATA}/oracle/cases/{name}")]
        server = Server(support.COMMAND, *models)
        cls.addClassCleanup(server.end)
        cls.url = server.url + "/v1/completions"
        cls.golden = support.Golden(f"{support.DATA}/oracle/scoring/scoring.json").json

    def scores(self, model, pairs):
        """The log-probability of each continuation, and whether it is the likeliest."""
        body = dict(model=model, prompt=[c + t for c, t in pairs], temperature=0, max_tokens=1,
                    logprobs=1, seed=1234, echo=True)
        with urllib.request.urlopen(self.url, json.dumps(body).encode()) as reply:
            answer = json.load(reply)
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


support.main()
