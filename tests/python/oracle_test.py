"""Compares the Python package with HuggingFace's numbers, in calls that are spelled as those of
transformers; support.py says how it is run.
"""

import json
import os
import unittest

from support import DATA, MODEL, Golden, flat, main

import gpt2cpp

try:
    import numpy
except ImportError:
    numpy = None


class OracleTest(unittest.TestCase):
    def models_of(self, golden, entries):
        """Yields the model of each entry with it, where its files are here."""
        models = {}
        for entry in entries:
            path = f"{DATA}/{golden.json['models'][entry['model']]['checkpoint']}"
            if os.path.exists(path):
                if path not in models:
                    models[path] = gpt2cpp.Model(path)
                yield models[path], entry

    def assert_near(self, found, expected):
        found = flat(found)
        self.assertEqual(len(found), len(expected))
        tolerance = 2e-5 * max(1.0, max(expected) - min(expected))  # oracle_test derives it
        self.assertLessEqual(max(abs(a - b) for a, b in zip(found, expected)), tolerance)


class DecodingTest(OracleTest):
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

    def test_greedy_texts_and_beams(self):
        for name, expected_count in (("decoding/greedy", 100), ("decoding/beams", 120),
                                     ("today/decoding/greedy", 70), ("today/decoding/beams", 104)):
            golden, compared = Golden(f"{DATA}/oracle/{name}.json"), 0
            for model, entry in self.models_of(golden, golden.json["entries"]):
                options = dict(entry["generate"])
                if len(options.get("suppress_tokens", ())) == model.vocab_size:
                    continue  # no token is left, which HuggingFace does not notice
                if name.endswith("greedy"):
                    options["do_sample"] = False
                elif options["num_beams"] == 1:
                    continue
                ends = options["eos_token_id"]
                if ends is None:
                    options["eos_token_id"] = []  # because None means the model's own
                if "sequence_bias" in options:
                    options["sequence_bias"] = {tuple(ids): float(bias)
                                                for ids, bias in options["sequence_bias"]}
                with self.subTest(entry["id"], options=options):
                    self.check(model, entry, options)
                compared += 1
            self.assertGreaterEqual(compared, expected_count)

    def check(self, model, entry, options):
        found = model.generate(entry["input_ids"], **options)
        found = found if isinstance(found, list) else [found]
        rows, ends = entry["new_ids"], options["eos_token_id"]
        rows = rows if isinstance(rows[0], list) else [rows]
        ends = ends if isinstance(ends, list) else [ends]
        for text, row in zip(found, rows):  # HuggingFace's have the token that ends them, and pads
            end = next((i for i, id in enumerate(row) if id in ends), len(row))
            self.assertEqual(text.token_ids, row[:end])
        self.assertEqual(len(found), len(rows))
        for text, score in zip(found, entry.get("sequences_scores") or ()):
            self.assertAlmostEqual(text.score, score, delta=2e-4)  # as in beam_search_test


class NumbersTest(OracleTest):
    """The tests of the library compare all numbers of a pass, and numbers_test those of Python with
    the command's. These have names of transformers."""

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


if __name__ == "__main__":
    main()
