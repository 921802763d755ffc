"""Compares the Python package with HuggingFace's numbers, in calls that are spelled as those of
transformers; support.py says how it is run. sampler_test and beam_search_test compare texts and
scores with HuggingFace's for every option, and one_request_test those of Python with the command's.
"""

import json
import os
import unittest
import urllib.request

from support import COMMAND, DATA, MODEL, Golden, flat, main, numpy
from server import Server

import gpt2cpp


class OracleTest(unittest.TestCase):
    def test_a_batch_as_in_the_documentation_of_gpt2(self):
        with open("tests/data/bundled_model.json") as file:
            golden = json.load(file)["prompts"]
        model = gpt2cpp.Model.from_pretrained(MODEL)
        tokenizer = model.tokenizer
        tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "left"
        for tensors in (None, "np") if numpy is not None else (None,):
            inputs = tokenizer([one["prompt"] for one in golden], padding=True,
                               return_tensors=tensors)
            outputs = model.generate(
                **inputs, max_new_tokens=len(golden[0]["greedy_ids"]), do_sample=False,
                use_cache=True, pad_token_id=tokenizer.eos_token_id,
                eos_token_id=tokenizer.eos_token_id)
            self.assertEqual(tokenizer.batch_decode(outputs, skip_special_tokens=True),
                             [one["greedy_text"] for one in golden])

    def assert_near(self, found, expected):
        found = flat(found)
        self.assertEqual(len(found), len(expected))
        tolerance = 2e-5 * max(1.0, max(expected) - min(expected))  # oracle_test derives it
        self.assertLessEqual(max(abs(a - b) for a, b in zip(found, expected)), tolerance)

    def test_what_a_pass_computes(self):
        golden = Golden(f"{DATA}/oracle/inside/inside.json")
        self.assertGreaterEqual(len(golden.json["cases"]), 6)
        for case in golden.json["cases"]:
            with self.subTest(case["id"]):
                self.check_pass(case, lambda name: golden.tensor(case["t"][name]))

    def check_pass(self, case, tensor):
        model = gpt2cpp.Model(f"{DATA}/oracle/cases/{case['model']}")
        seen = model.observe(case["input_ids"])
        for arrays, name in (
                (seen.hidden_states, "hidden_states"), (seen.attentions, "attentions"),
                (model.hidden_states(case["input_ids"]), "hidden_states"),
                ([seen["mlp_output", i] for i in range(model.n_layer)], "mlp_out")):
            self.assert_near([one.tolist() for one in arrays], tensor(name))

    def test_an_adapter_and_its_base(self):
        folder = f"{DATA}/oracle/adapters"
        base = f"{folder}/base"
        with open(f"{folder}/dora/expected.json") as file:
            expected = json.load(file)
        model = gpt2cpp.Model.from_pretrained(f"{folder}/dora", base=base)
        for row, logits in zip(model.logits(expected["ids"]).tolist(), expected["logits"]):
            self.assert_near(row, logits)
        self.assertTrue(os.path.samefile(model.config_path, base))
        self.assertIsNone(model.tokenizer)
        with self.assertRaises(gpt2cpp.InvalidArgumentError):
            gpt2cpp.Model(base, base=base)


class HarnessTest(unittest.TestCase):
    """Sends the requests of lm-evaluation-harness (its model local-completions, with
    tokenizer_backend=remote) to gpt2 serve, and computes what the harness does from the answers."""

    names = ("tiny_default", "head_dim_7")

    @classmethod
    def setUpClass(cls):
        models = [word for name in cls.names
                  for word in ("-m", f"{name}={DATA}/oracle/cases/{name}")]
        server = Server(COMMAND, *models)
        cls.addClassCleanup(server.end)
        cls.url = server.url + "/v1/completions"
        cls.golden = Golden(f"{DATA}/oracle/scoring/scoring.json").json

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
            if entry["model"] not in self.names or longest > 64:
                continue
            pairs = [(entry["context"], ids) for ids in entry["continuations"]]
            found = self.scores(entry["model"], pairs)
            for (score, is_greedy), expected, greedy in zip(found, entry["sum"],
                                                            entry["greedy_match"], strict=True):
                self.assertAlmostEqual(score, expected, delta=2e-4 * max(1, abs(expected)))
                self.assertIs(is_greedy, greedy)
                compared += 1
        self.assertGreater(compared, 30)


main()
