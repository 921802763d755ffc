"""Compares beam search of the Python package with HuggingFace's; python_support.py says how it is
run.
"""

import json
import os
import unittest

from python_support import main

import gpt2cpp

DATA = "tests/data"


def options_of(arguments):
    """Options of generate() from those of transformers' generate()."""
    options = dict(arguments, ignore_eos=True)
    end = options.pop("eos_token_id")
    options["stop_tokens"] = [] if end is None else [end] if isinstance(end, int) else end
    if "sequence_bias" in options:
        options["sequence_bias"] = {tuple(ids): float(bias)
                                    for ids, bias in options["sequence_bias"]}
    return options


class BeamTest(unittest.TestCase):
    def test_sequences_and_scores(self):
        with open(f"{DATA}/oracle/decoding/beams.json") as file:
            golden = json.load(file)
        models, compared = {}, 0
        for entry in golden["entries"]:
            path = f"{DATA}/{golden['models'][entry['model']]['checkpoint']}"
            if entry["generate"]["num_beams"] == 1 or not os.path.exists(path):
                continue
            if path not in models:
                models[path] = gpt2cpp.Model(path)
            options = options_of(entry["generate"])
            with self.subTest(entry["id"], options=options):
                texts = models[path].generate(entry["input_ids"], **options)
                self.assertEqual([text.token_ids for text in texts],
                                 [self.until_end(row, options) for row in entry["new_ids"]])
                for text, score in zip(texts, entry["sequences_scores"]):
                    self.assertAlmostEqual(text.score, score, delta=2e-4)  # as in beam_search_test
                compared += 1
        self.assertGreater(compared, 150)

    @staticmethod
    def until_end(row, options):
        """HuggingFace's row shows the first token that ends texts, and then pads."""
        ends = options["stop_tokens"][:1]
        return row[:row.index(ends[0])] if ends and ends[0] in row else row


if __name__ == "__main__":
    main()
