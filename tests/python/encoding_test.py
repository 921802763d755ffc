"""Tests the calls of a tokenizer that transformers has, with the same results; support.py says how
it is run.

Ids come from tests/data/bundled_model.json, which HuggingFace's tokenizer has made. The rules of
padding and truncation are those of transformers' page "Padding and truncation".
"""

import json
import os
import pickle
import tempfile
import unittest

from support import MODEL, ModelTest, main, python

import gpt2cpp

try:
    import numpy
except ImportError:
    numpy = None

EOS = 4095


class EncodingTest(unittest.TestCase):
    def setUp(self):
        self.tokenizer = gpt2cpp.Tokenizer(MODEL)
        with open("tests/data/bundled_model.json") as file:
            prompts = json.load(file)["prompts"]
        self.ids = {prompt["prompt"]: prompt["prompt_ids"] for prompt in prompts}
        self.long, self.short = "Lily and Tom went to the beach.", "Once upon a time"
        self.assertGreater(len(self.ids[self.long]), len(self.ids[self.short]))

    def padded(self, text, length):
        ids = self.ids[text]
        return [*ids, *[EOS] * (length - len(ids))]

    def test_a_text_and_a_list(self):
        one = self.tokenizer(self.short)
        self.assertEqual(one, {"input_ids": self.ids[self.short], "attention_mask": [1] * 4})
        self.assertEqual((one.input_ids, one["input_ids"], dict(**one)["input_ids"]),
                         (self.ids[self.short],) * 3)
        both = self.tokenizer([self.short, self.long])
        self.assertEqual(both.input_ids, [self.ids[self.short], self.ids[self.long]])
        self.assertEqual(self.tokenizer([]), {"input_ids": [], "attention_mask": []})
        with self.assertRaisesRegex(AttributeError, "no labels: found input_ids, attention_mask"):
            one.labels

    def test_the_default_is_that_of_a_model(self):
        default = gpt2cpp.Tokenizer()
        self.assertEqual(default(self.short).input_ids, self.ids[self.short])
        self.assertEqual(pickle.loads(pickle.dumps(default)).description, default.description)
        stopped = dict(max_new_tokens=40, stop_strings=".")
        self.assertEqual(gpt2cpp.Model().generate("Once", tokenizer=default, **stopped),
                         gpt2cpp.Model(MODEL).generate("Once", **stopped))

    def test_padding_needs_a_token(self):
        self.assertIsNone(self.tokenizer.pad_token)
        with self.assertRaisesRegex(ValueError, "tokenizer.pad_token = tokenizer.eos_token"):
            self.tokenizer([self.short, self.long], padding=True)
        with self.assertRaisesRegex(ValueError, r"^pad_token: .*\[PAD\]"):
            self.tokenizer.pad_token = "[PAD]"
        with self.assertRaisesRegex(ValueError, "^pad_token_id: .*4096"):
            self.tokenizer.pad_token_id = 4096
        self.tokenizer.pad_token_id = EOS
        self.assertEqual(self.tokenizer.pad_token, "<|endoftext|>")
        self.tokenizer.pad_token = None
        self.assertIsNone(self.tokenizer.pad_token_id)

    def test_padding(self):
        self.tokenizer.pad_token = self.tokenizer.eos_token
        n = len(self.ids[self.long])
        for padding in (True, "longest"):
            batch = self.tokenizer([self.short, self.long], padding=padding)
            self.assertEqual(batch.input_ids, [self.padded(self.short, n), self.ids[self.long]])
            self.assertEqual(batch.attention_mask, [[1] * 4 + [0] * (n - 4), [1] * n])
        batch = self.tokenizer([self.short], padding="max_length", max_length=6)
        self.assertEqual(batch.input_ids, [self.padded(self.short, 6)])
        batch = self.tokenizer(self.short, padding=True, pad_to_multiple_of=3)
        self.assertEqual(batch.input_ids, self.padded(self.short, 6))
        left = [EOS, EOS, *self.ids[self.short]]
        batch = self.tokenizer(self.short, padding="max_length", max_length=6, padding_side="left")
        self.assertEqual((batch.input_ids, self.tokenizer.padding_side), (left, "right"))
        with self.assertRaisesRegex(ValueError, "^padding_side: .*up"):
            self.tokenizer(self.short, padding_side="up")
        self.tokenizer.padding_side = "left"
        batch = self.tokenizer(self.short, padding="max_length", max_length=6)
        self.assertEqual(batch.input_ids, [EOS, EOS, *self.ids[self.short]])
        self.assertEqual(batch.attention_mask, [0, 0, 1, 1, 1, 1])
        self.assertEqual(len(self.tokenizer(self.short, padding="max_length").input_ids), 512)
        long = self.tokenizer(self.long, padding="max_length", max_length=2)  # is not truncated
        self.assertEqual(long.input_ids, self.ids[self.long])

    def test_truncation(self):
        ids = self.ids[self.long]
        self.assertEqual(self.tokenizer(self.long, max_length=3).input_ids, ids)
        cut = self.tokenizer([self.long, self.short], truncation=True, max_length=3)
        self.assertEqual(cut, {"input_ids": [ids[:3], self.ids[self.short][:3]],
                               "attention_mask": [[1] * 3] * 2})
        self.tokenizer.truncation_side = "left"
        self.assertEqual(self.tokenizer(self.long, truncation=True, max_length=3).input_ids,
                         ids[-3:])
        self.assertEqual(len(self.tokenizer(self.long * 99, truncation=True).input_ids), 512)
        self.assertEqual(self.tokenizer(self.long, truncation=True, max_length=0).input_ids, [])

    def test_truncation_keeps_the_tokens_that_the_tokenizer_adds(self):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("vocab.json", "merges.txt"):
                os.symlink(os.path.abspath(f"{MODEL}/{name}"), f"{scratch}/{name}")
            with open(scratch + "/tokenizer_config.json", "w") as file:
                json.dump({"add_bos_token": True, "bos_token": "<|endoftext|>",
                           "truncation_side": "left"}, file)
            tokenizer = gpt2cpp.Tokenizer(scratch)
        ids = self.ids[self.long]
        self.assertEqual(tokenizer(self.long).input_ids, [EOS, *ids])
        self.assertEqual(tokenizer(self.long, truncation=True, max_length=3).input_ids,
                         [EOS, *ids[-2:]])
        tokenizer.truncation_side = "right"
        self.assertEqual(tokenizer(self.long, truncation=True, max_length=3).input_ids,
                         [EOS, *ids[:2]])
        self.assertEqual(tokenizer(self.long, truncation=True, max_length=3,
                                   add_special_tokens=False).input_ids, ids[:3])
        self.assertEqual(tokenizer.tokenize(self.long), tokenizer.convert_ids_to_tokens(ids))

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_arrays(self):
        self.tokenizer.pad_token = self.tokenizer.eos_token
        one = self.tokenizer(self.short, return_tensors="np")
        self.assertEqual((one.input_ids.tolist(), one.input_ids.dtype, one.attention_mask.shape),
                         ([self.ids[self.short]], numpy.int64, (1, 4)))
        both = self.tokenizer([self.short, self.long], return_tensors="np", padding=True)
        n = len(self.ids[self.long])
        self.assertEqual(both.input_ids.tolist(),
                         [self.padded(self.short, n), self.ids[self.long]])
        self.assertEqual(self.tokenizer.batch_decode(both.input_ids, skip_special_tokens=True),
                         [self.short, self.long])
        with self.assertRaisesRegex(ValueError, "different numbers of tokens.* give padding=True"):
            self.tokenizer([self.short, self.long], return_tensors="np")

    def test_without_numpy_there_are_no_arrays(self):
        printed = python("import sys; sys.modules['numpy'] = None\n"
                         f"import gpt2cpp; t = gpt2cpp.Tokenizer({MODEL!r})\n"
                         "try: t('Once', return_tensors='np')\n"
                         "except gpt2cpp.UnsupportedError as e: print(e)")
        self.assertEqual(printed, "return_tensors='np' needs numpy: install it\n")

    def test_wrong_arguments(self):
        for name, value in (("padding", "all"), ("padding", []), ("return_tensors", "pt"),
                            ("padding_side", "up")):
            with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, f"^{name}: expected "):
                self.tokenizer("Once", **{name: value})
        self.tokenizer.model_max_length = 2
        self.assertEqual(len(self.tokenizer(self.long, truncation=True).input_ids), 2)
        self.tokenizer.truncation_side = "up"
        with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, "^truncation_side: .*'up'"):
            self.tokenizer(self.long, truncation=True)


class VocabularyTest(ModelTest):
    def test_the_vocabulary_is_that_of_the_file(self):
        with open(MODEL + "/vocab.json") as file:
            self.assertEqual(self.model.tokenizer.get_vocab(), json.load(file))

    def test_tokens_are_those_of_the_merges(self):
        # A word of two merges in merges.txt, and a byte that is no character of its own.
        self.assertEqual(self.model.tokenizer.tokenize("Once upon"), ["Once", "\u0120upon"])
        self.assertEqual("".join(self.model.tokenizer.tokenize("\u2603")), "\u00e2\u013a\u0125")
        self.assertEqual(self.model.tokenizer.tokenize(""), [])


class SpecialTokensTest(unittest.TestCase):
    def tokenizer(self, **files):
        """A tokenizer with side files, from a directory; and the same from memory."""
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("vocab.json", "merges.txt"):
                os.symlink(os.path.abspath(f"{MODEL}/{name}"), f"{scratch}/{name}")
            for name, content in files.items():
                with open(f"{scratch}/{name}.json", "w") as file:
                    json.dump(content, file)
            contents = {}
            for name in os.listdir(scratch):
                with open(f"{scratch}/{name}", "rb") as file:
                    contents[name] = file.read()
            tokenizer = gpt2cpp.Tokenizer(scratch)
        memory = gpt2cpp.Tokenizer.from_bytes(contents)
        self.assertEqual(memory.special_tokens_map, tokenizer.special_tokens_map)
        self.assertEqual(memory.model_max_length, tokenizer.model_max_length)
        return tokenizer

    def test_defaults_are_those_of_gpt2(self):
        tokenizer = self.tokenizer()
        self.assertEqual(tokenizer.special_tokens_map, {
            "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
            "unk_token": "<|endoftext|>"})
        self.assertEqual((tokenizer.bos_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id),
                         (EOS, EOS, None))
        self.assertEqual((tokenizer.all_special_tokens, tokenizer.all_special_ids),
                         (["<|endoftext|>"], [EOS]))
        self.assertEqual(tokenizer.model_max_length, int(1e30))
        self.assertEqual((tokenizer.padding_side, tokenizer.truncation_side), ("right", "right"))
        with self.assertRaisesRegex(ValueError, "padding='max_length' needs max_length"):
            tokenizer("Once", padding="max_length")

    def test_files_name_others(self):
        tokenizer = self.tokenizer(
            tokenizer_config={"pad_token": {"content": "[PAD]", "lstrip": False, "rstrip": False,
                                            "normalized": False, "single_word": False},
                              "bos_token": "The", "model_max_length": 64, "padding_side": "left",
                              "additional_special_tokens": ["[a]"]},
            special_tokens_map={"bos_token": "Once", "unk_token": "?",
                                "additional_special_tokens": ["[b]", "[a]"]})
        self.assertEqual(tokenizer.special_tokens_map, {
            "bos_token": "Once", "eos_token": "<|endoftext|>", "unk_token": "?",
            "pad_token": "[PAD]", "additional_special_tokens": ["[a]", "[b]"]})
        self.assertEqual((tokenizer.pad_token_id, tokenizer.bos_token_id), (4096, 443))
        self.assertEqual((tokenizer.vocab_size, len(tokenizer)), (4096, 4099))
        self.assertEqual(tokenizer.get_vocab()["[b]"], 4098)
        self.assertEqual(tokenizer.convert_tokens_to_ids(["[b]", "no such token"]),
                         [4098, tokenizer.unk_token_id])
        self.assertEqual(tokenizer.unk_token_id, tokenizer.encode("?")[0])
        self.assertEqual(tokenizer.all_special_tokens,
                         ["Once", "<|endoftext|>", "?", "[PAD]", "[a]", "[b]"])
        self.assertEqual((tokenizer.model_max_length, tokenizer.padding_side), (64, "left"))
        ids = tokenizer(["Once", "a"], padding="max_length", max_length=2).input_ids
        self.assertEqual([ids[0][0], ids[1][0]], [4096, 4096])
        self.assertEqual(tokenizer.decode([4096, 443, 64], skip_special_tokens=True), "a")

    def test_the_map_does_not_count_beside_a_decoder(self):
        end = {"content": "<|endoftext|>", "special": True}
        tokenizer = self.tokenizer(
            tokenizer_config={"added_tokens_decoder": {str(EOS): end}},
            special_tokens_map={"bos_token": "Once", "eos_token": "!",
                                "additional_special_tokens": ["[a]"]})
        self.assertEqual((tokenizer.bos_token, tokenizer.eos_token), ("<|endoftext|>",) * 2)
        self.assertEqual(tokenizer.all_special_tokens, ["<|endoftext|>"])

    def test_a_file_may_leave_settings_open(self):
        for limit in (None, int(1e30), 1e30):  # transformers writes int(1e30)
            tokenizer = self.tokenizer(tokenizer_config={
                "model_max_length": limit, "padding_side": None, "truncation_side": None})
            self.assertEqual((tokenizer.model_max_length, tokenizer.padding_side,
                              tokenizer.truncation_side), (int(1e30), "right", "right"))

    def test_the_tokenizer_of_a_model_has_its_length(self):
        self.assertEqual(gpt2cpp.Model(MODEL).tokenizer.model_max_length, 512)


if __name__ == "__main__":
    main()
