"""Tests the adapter for the lm-evaluation-harness with stand-ins for its requests; support.py says
how it is run.

Expected numbers come from HuggingFace (tests/data/oracle/scoring and bundled_model.json), and
expected windows from the harness's documentation.
"""

import importlib
import json
import sys
import types
import unittest
from unittest import mock

from support import DATA, MODEL, Golden, ModelTest, main

import gpt2cpp
from gpt2cpp import lm_eval
from gpt2cpp.lm_eval import Gpt2CppLM, rolling_windows


class Instance:
    """The part of the harness's Instance that a model uses."""

    def __init__(self, *args):
        self.args = args


class Numbers:
    """A tokenizer for models without one: a text is the ids of its tokens."""

    def __init__(self, eos_token_id=0):
        self.eos_token_id, self.bos_token_id = eos_token_id, None

    def encode(self, text, add_special_tokens=True):
        return [int(word) for word in text.split()]

    def decode(self, ids):
        return " ".join(map(str, ids))


def joined(ids):
    return " ".join(map(str, ids))


class OracleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.golden = Golden(f"{DATA}/oracle/scoring/scoring.json")
        cls.models = {name: gpt2cpp.Model(f"{DATA}/oracle/cases/{name}")
                      for name in ("tiny_default", "head_dim_7")}

    def test_continuations(self):
        compared = 0
        for entry in self.golden.json["choices"]:
            if entry["model"] not in self.models:
                continue
            lm = Gpt2CppLM(self.models[entry["model"]], tokenizer=Numbers())
            requests = [Instance(joined(entry["context"]), " " + joined(ids))
                        for ids in entry["continuations"]]
            results = lm.loglikelihood(requests)
            self.assertEqual(len(results), len(requests))
            for (score, is_greedy), expected, greedy in zip(results, entry["sum"],
                                                            entry["greedy_match"]):
                self.assertAlmostEqual(score, expected, delta=2e-4 * max(1, abs(expected)))
                self.assertIs(is_greedy, greedy)
                compared += 1
        self.assertGreater(compared, 30)

    def test_an_empty_context_is_the_prefix_token(self):
        entry = next(entry for entry in self.golden.json["choices"]
                     if entry["model"] == "tiny_default" and len(entry["context"]) == 3)
        lm = Gpt2CppLM(self.models["tiny_default"], tokenizer=Numbers(entry["context"][-1]))
        alone = lm.loglikelihood([Instance("", joined(entry["continuations"][0]))])
        same = lm.loglikelihood([Instance(str(entry["context"][-1]),
                                          " " + joined(entry["continuations"][0]))])
        self.assertEqual(alone, same)

    def test_a_rolling_score_is_that_of_all_tokens_after_the_prefix(self):
        compared = 0
        for entry in self.golden.json["logprobs"]:
            if entry["model"] not in self.models:
                continue
            ids = entry["input_ids"]
            lm = Gpt2CppLM(self.models[entry["model"]], tokenizer=Numbers(ids[0]))
            window = entry["windows"][0]
            expected = self.golden.tensor(window["logprobs"])
            n = len(expected)  # the tokens after the first one of a window
            score, = lm.loglikelihood_rolling([Instance(joined(ids[1:n + 1]))])
            self.assertAlmostEqual(score, sum(expected), delta=2e-4 * n)
            compared += 1
        self.assertGreater(compared, 1)


class WindowTest(unittest.TestCase):
    def test_windows_are_those_of_the_documentation(self):
        # LM.loglikelihood_rolling in lm_eval/api/model.py: INPUT and PRED of three windows.
        inputs = [["BOS", 0, 1, 2], [3, 4, 5, 6], [5, 6, 7, 8]]
        preds = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        windows = list(rolling_windows(list(range(10)), "BOS", 4))
        self.assertEqual([context + continuation[:-1] for context, continuation in windows], inputs)
        self.assertEqual([continuation for _, continuation in windows], preds)

    def test_every_token_is_predicted_once(self):
        for n in range(30):
            for length in range(1, 9):
                windows = list(rolling_windows(list(range(n)), -1, length))
                self.assertEqual([id for _, ids in windows for id in ids], list(range(n)))
                for context, continuation in windows:
                    self.assertGreater(len(context), 0)
                    self.assertLessEqual(len(context) + len(continuation), length + 1)


class AdapterTest(ModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lm = Gpt2CppLM(cls.model)
        with open("tests/data/bundled_model.json") as file:
            cls.prompts = json.load(file)["prompts"]

    def test_spaces_at_the_end_of_a_context_belong_to_the_continuation(self):
        one, other = self.lm.loglikelihood([Instance("Once upon", " a time"),
                                            Instance("Once upon ", "a time")])
        self.assertEqual(one, other)

    def test_results_are_in_the_order_of_the_requests(self):
        requests = [Instance(context, word) for word in (" cat", " dog", "") for context in
                    ("The little", "One day, the")]
        together = self.lm.loglikelihood(requests)
        self.assertEqual(together, [self.lm.loglikelihood([one])[0] for one in requests])
        self.assertEqual(together[-1], (0.0, True))
        self.assertEqual(self.lm.loglikelihood([]), [])

    def test_a_long_context_loses_its_beginning(self):
        long = "Once upon a time" * 200
        ids = self.model.tokenizer.encode(long)
        choice, = self.model.choices(ids[-511:], [" there was"])
        self.assertEqual(self.lm.loglikelihood([Instance(long, " there was")])[0][0], choice.sum)
        with self.assertRaisesRegex(ValueError, "a continuation has 800 tokens"):
            self.lm.loglikelihood([Instance("A", long)])
        self.assertEqual(Gpt2CppLM(self.model, max_length=8).max_length, 8)
        self.assertEqual(Gpt2CppLM(self.model, max_length=8000).max_length, 512)

    def test_texts_are_those_of_pytorch_until_a_stop_string(self):
        cases = [case for case in self.prompts if "<|endoftext|>" not in case["prompt"]]
        requests = [Instance(case["prompt"], {"until": ["\n\n"], "max_gen_toks": 12})
                    for case in cases]
        self.assertEqual(self.lm.generate_until(requests),
                         [self.model.tokenizer.decode(case["greedy_ids"][:12]) for case in cases])
        prompt, text = self.prompts[0]["prompt"], self.prompts[0]["greedy_text"]
        until = text.split(".")[0]
        self.assertLess(len(until), len(text))
        for options in ({"until": "."}, {"until": ["no such", ".", ""], "temperature": 0.0,
                                         "do_sample": True}):
            found, = self.lm.generate_until([Instance(prompt, {"max_gen_toks": 40, **options})])
            self.assertEqual(found, until)
        long = "Once upon a time" * 200  # the end of which leaves room for the text
        found, = self.lm.generate_until([Instance(long, {"max_gen_toks": 100})])
        expected = self.model.generate(self.model.tokenizer.encode(long)[-412:],
                                       do_sample=False, max_new_tokens=100)
        self.assertEqual(found, expected)
        with self.assertRaisesRegex(ValueError, "the options of a request"):
            self.lm.generate_until([Instance(prompt, ["."])])

    def test_results_are_cached(self):
        calls = []
        lm = Gpt2CppLM(self.model)
        lm.set_cache_hook(types.SimpleNamespace(add_partial=lambda *call: calls.append(call)))
        score, = lm.loglikelihood([Instance("The", " cat")])
        rolling, = lm.loglikelihood_rolling([Instance("The cat")])
        options = {"max_gen_toks": 1}
        text, = lm.generate_until([Instance("The", options)])
        self.assertEqual(calls, [("loglikelihood", ("The", " cat"), score),
                                 ("loglikelihood_rolling", ("The cat",), rolling),
                                 ("generate_until", ("The", options), text)])

    def test_arguments_of_the_harness(self):
        lm = Gpt2CppLM(MODEL, dtype="auto", batch_size=8, max_batch_size=None, device="cuda:0")
        self.assertEqual((lm.rank, lm.world_size, lm.eot_token_id, lm.prefix_token_id),
                         (0, 1, 4095, 4095))
        self.assertEqual(lm.model.dtype, self.model.dtype)
        self.assertEqual(Gpt2CppLM(MODEL, dtype="int8").model.dtype, "int8")
        self.assertEqual(lm.tok_decode(lm.tok_encode("Once upon")), "Once upon")
        self.assertEqual(Gpt2CppLM(self.model, add_bos_token=True).tok_encode("Once"), [4095, 443])
        with self.assertRaisesRegex(FileNotFoundError, "no/model"):
            Gpt2CppLM("no/model")
        with self.assertRaisesRegex(FileNotFoundError, "has no tokenizer, which the harness needs"):
            Gpt2CppLM(f"{DATA}/oracle/cases/tiny_default")


class RegistryTest(unittest.TestCase):
    def test_the_adapter_registers_itself_if_the_harness_is_installed(self):
        registered = {}

        class LM:
            def __init__(self):
                self.is_harness = True
                self.cache_hook = None

        def register_model(name):
            return lambda cls: registered.setdefault(name, cls)

        modules = {"lm_eval": types.ModuleType("lm_eval"),
                   "lm_eval.api": types.ModuleType("lm_eval.api"),
                   "lm_eval.api.model": types.SimpleNamespace(LM=LM),
                   "lm_eval.api.registry": types.SimpleNamespace(register_model=register_model)}
        self.addCleanup(importlib.reload, lm_eval)
        with mock.patch.dict(sys.modules, modules):
            importlib.reload(lm_eval)
            adapter = registered["gpt2cpp"]
            self.assertTrue(issubclass(adapter, LM))
            self.assertTrue(adapter(MODEL).is_harness)


if __name__ == "__main__":
    main()
