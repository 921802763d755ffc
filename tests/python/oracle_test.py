"""Compares beam search and observations of the Python package with HuggingFace's numbers;
support.py says how it is run.
"""

import array
import os
import unittest

from oracle import DATA, Golden, flat
from support import main

import gpt2cpp

def options_of(arguments):
    """Options of generate() from those of transformers' generate()."""
    options = dict(arguments)
    if options["eos_token_id"] is None:
        options["eos_token_id"] = []  # because None means the model's own
    if "sequence_bias" in options:
        options["sequence_bias"] = {tuple(ids): float(bias)
                                    for ids, bias in options["sequence_bias"]}
    return options


class BeamTest(unittest.TestCase):
    def test_sequences_and_scores(self):
        golden = Golden(f"{DATA}/oracle/decoding/beams.json")
        models, compared = {}, 0
        for entry in golden.json["entries"]:
            path = f"{DATA}/{golden.json['models'][entry['model']]['checkpoint']}"
            options = options_of(entry["generate"])
            if (options["num_beams"] == 1 or options.pop("num_beam_groups", 1) > 1
                    or not os.path.exists(path)):
                continue
            if path not in models:
                models[path] = gpt2cpp.Model(path)
            with self.subTest(entry["id"], options=options):
                texts = models[path].generate(entry["input_ids"], **options)
                self.assertEqual([text.token_ids for text in texts],
                                 [self.until_end(row, options) for row in entry["new_ids"]])
                for text, score in zip(texts, entry["sequences_scores"]):
                    self.assertAlmostEqual(text.score, score, delta=2e-4)  # as in beam_search_test
                compared += 1
        self.assertGreater(compared, 120)

    @staticmethod
    def until_end(row, options):
        """Cuts a row at the first token that ends texts, after which HuggingFace pads it."""
        ends = options["eos_token_id"]
        end = ends if isinstance(ends, int) else ends[0] if ends else None
        return row[:row.index(end)] if end in row else row


class ObserveTest(unittest.TestCase):
    def assert_near(self, arrays, expected):
        actual = flat([one.tolist() for one in arrays])
        self.assertEqual(len(actual), len(expected))
        tolerance = 2e-5 * max(1.0, max(expected) - min(expected))  # oracle_test derives it
        worst = max(abs(a - b) for a, b in zip(actual, expected))
        self.assertLessEqual(worst, tolerance)

    def test_what_a_pass_computes(self):
        golden = Golden(f"{DATA}/oracle/inside/inside.json")
        self.assertGreaterEqual(len(golden.json["cases"]), 6)
        for case in golden.json["cases"]:
            with self.subTest(case["id"]):
                self.check_case(case, lambda name: golden.tensor(case["t"][name]))

    def check_case(self, case, tensor):
        model = gpt2cpp.Model(f"{DATA}/oracle/cases/{case['model']}")
        seen = model.observe(case["input_ids"])
        layers = range(model.n_layer)
        self.assert_near(seen.hidden_states, tensor("hidden_states"))
        self.assert_near(model.hidden_states(case["input_ids"]), tensor("hidden_states"))
        self.assert_near(seen.attentions, tensor("attentions"))
        self.assert_near([seen["block_output", model.n_layer - 1]], tensor("pre_ln_f"))
        self.assert_near([seen["attn_output", i] for i in layers], tensor("attn_out"))
        self.assert_near([seen["mlp_output", i] for i in layers], tensor("mlp_out"))
        norms = [seen[f"ln_{j}_statistics", i].tolist() for i in layers for j in (1, 2)]
        norms.append(seen["ln_f_statistics", model.n_layer].tolist())
        for column, name in enumerate(("ln_mean", "ln_var", "ln_rstd")):
            numbers = [row[column] for rows in norms for row in rows]
            self.assert_near([memoryview(array.array("f", numbers))], tensor(name))


class UnembedTest(unittest.TestCase):
    def test_logits_of_hidden_states(self):
        for name in ("tiny_default", "head_dim_7", "untied"):
            golden = Golden(f"{DATA}/oracle/cases/{name}/golden.json")
            model = gpt2cpp.Model(f"{DATA}/oracle/cases/{name}")
            for prompt in golden.json["prompts"]:
                states = golden.tensor(prompt["hidden_final"])
                rows = [states[i:i + model.n_embd] for i in range(0, len(states), model.n_embd)]
                self.assert_near(model.unembed(rows).tolist(), golden.tensor(prompt["logits"]))
                last = model.unembed(rows[-1])
                self.assertEqual(last.tolist(), model.unembed(rows).tolist()[-1])

    def test_states_before_ln_f_need_it(self):
        golden = Golden(f"{DATA}/oracle/inside/inside.json")
        for case in golden.json["cases"]:
            model = gpt2cpp.Model(f"{DATA}/oracle/cases/{case['model']}")
            before = golden.tensor(case["t"]["pre_ln_f"])
            rows = [before[i:i + model.n_embd] for i in range(0, len(before), model.n_embd)]
            logits = model.logits(case["input_ids"]).tolist()  # which oracle_test compares
            self.assert_near(model.unembed(rows, ln_f=True).tolist(), flat(logits))

    def assert_near(self, rows, expected):
        actual = flat(rows)
        self.assertEqual(len(actual), len(expected))
        tolerance = 2e-5 * max(1.0, max(expected) - min(expected))  # oracle_test derives it
        self.assertLessEqual(max(abs(a - b) for a, b in zip(actual, expected)), tolerance)


if __name__ == "__main__":
    main()
