"""Tests the calls of a tokenizer that transformers has, with the same results; support.py says how
it is run.

Ids come from tests/data/bundled_model.json, which HuggingFace's tokenizer has made. The rules of
padding and truncation are those of transformers' page "Padding and truncation".
"""

import json
import os
import pathlib
import pickle
import unittest

from support import MODEL, ModelTest, linked_model, main, numpy, python

import gpt2cpp

EOS = 4095


class TokenizerTest(ModelTest):
    """Names and results are those of GPT2TokenizerFast."""

    def test_methods_of_transformers(self):
        tokenizer = self.model.tokenizer
        with open(MODEL + "/vocab.json") as file:
            vocab = json.load(file)
        names = sorted(vocab, key=vocab.get)
        self.assertEqual(tokenizer.get_vocab(), vocab)
        self.assertEqual(tokenizer.convert_ids_to_tokens(range(len(names))), names)
        self.assertEqual(tokenizer.convert_tokens_to_ids(names), list(range(len(names))))
        self.assertEqual(tokenizer.convert_tokens_to_ids(["Once", "no such token"]), [443, 4095])
        self.assertEqual((tokenizer.vocab_size, len(tokenizer)), (4096, 4096))
        self.assertEqual((tokenizer.eos_token_id, tokenizer.eos_token), (4095, "<|endoftext|>"))
        self.assertEqual(tokenizer.encode("<|endoftext|>"), [4095])
        self.assertGreater(len(tokenizer.encode("<|endoftext|>", parse_special=False)), 1)
        self.assertEqual(tokenizer.decode([443, 4095], skip_special_tokens=True), "Once")
        self.assertEqual(tokenizer.batch_decode([[443], [452]]), ["Once", " upon"])
        # The fast tokenizer leaves out ids that it does not have, and has no name for them.
        self.assertEqual((tokenizer.decode([443, 4096, 452]), tokenizer.decode(99999)),
                         ("Once upon", ""))
        self.assertEqual(tokenizer.convert_ids_to_tokens([443, 4096]), ["Once", None])
        text = self.model.generate("Once", max_new_tokens=3)
        self.assertEqual(tokenizer.batch_decode([text, [443]]), [text, "Once"])
        # A word of two merges in merges.txt, and a byte that is no character of its own.
        self.assertEqual(tokenizer.tokenize("Once upon"), ["Once", "\u0120upon"])
        self.assertEqual("".join(tokenizer.tokenize("\u2603")), "\u00e2\u013a\u0125")

    def test_texts_of_any_bytes(self):
        tokenizer = self.model.tokenizer
        for text in ("caf\u00e9 \U0001f600", "a\0b", "\u2603"):
            self.assertEqual(tokenizer.decode_bytes(tokenizer.encode(text)), text.encode())
            self.model.generate(text, max_new_tokens=1)
        self.assertEqual(tokenizer.decode(tokenizer.encode("\u2603")[:1]), "\ufffd")

    def test_ids_that_no_c_number_holds_are_unknown(self):
        tokenizer = self.model.tokenizer
        self.assertEqual(tokenizer.token_bytes(443), b"Once")
        for id in (-1, len(tokenizer), 2**31, 2**32 + 443, 2**64 + 443):
            self.assertEqual(tokenizer.token_bytes(id), b"")
            self.assertFalse(tokenizer.is_special(id))
        self.assertFalse(tokenizer.is_special(2**32 + tokenizer.eos_token_id))


class EncodingTest(unittest.TestCase):
    def setUp(self):
        self.tokenizer = gpt2cpp.Tokenizer(MODEL)
        with open("tests/data/bundled_model.json") as file:
            prompts = json.load(file)["prompts"]
        ids = {prompt["prompt"]: prompt["prompt_ids"] for prompt in prompts}
        self.long, self.short = "Lily and Tom went to the beach.", "Once upon a time"
        self.long_ids, self.short_ids = ids[self.long], ids[self.short]
        self.assertGreater(len(self.long_ids), len(self.short_ids))

    def encoded(self, text, **options):
        return self.tokenizer(text, **options).input_ids

    def test_a_text_and_a_list(self):
        one = self.tokenizer(self.short)
        self.assertEqual(one, {"input_ids": self.short_ids, "attention_mask": [1] * 4})
        self.assertEqual((one.input_ids, dict(**one)["input_ids"]), (self.short_ids,) * 2)
        self.assertEqual(self.encoded([self.short, self.long]), [self.short_ids, self.long_ids])
        self.assertEqual(self.tokenizer([]), {"input_ids": [], "attention_mask": []})
        with self.assertRaisesRegex(AttributeError, "labels"):
            one.labels

    def test_offsets_and_special_tokens_in_a_text(self):
        text = "Caf\u00e9<|endoftext|> Once"
        for split in (False, True):
            for one in (self.tokenizer(text, split_special_tokens=split,
                                       return_offsets_mapping=True),
                        {name: row[0] for name, row in self.tokenizer(
                            [text], split_special_tokens=split,
                            return_offsets_mapping=True).items()}):
                self.assertEqual([self.tokenizer.token_bytes(id) for id in one["input_ids"]],
                                 [text.encode()[begin:end]
                                  for begin, end in one["offset_mapping"]])
                self.assertEqual(EOS in one["input_ids"], not split)
        self.assertNotIn("offset_mapping", self.tokenizer(text))

    def test_a_model_takes_another_tokenizer(self):
        tiny = "tests/data/oracle/adapters/base"
        for given in (MODEL, self.tokenizer):
            model = gpt2cpp.Model.from_pretrained(tiny, tokenizer=given)
            self.assertEqual(model.tokenizer.encode(self.short), self.short_ids)
            self.assertEqual(pickle.loads(pickle.dumps(model)).tokenizer.encode(self.short),
                             self.short_ids)
        self.assertEqual(self.tokenizer.model_max_length, 512)
        with self.assertRaises(FileNotFoundError):
            gpt2cpp.Model(tiny, tokenizer="no/such")

    def test_the_default_is_that_of_a_model(self):
        default = gpt2cpp.Tokenizer()
        self.assertEqual(default(self.short).input_ids, self.short_ids)
        self.assertEqual(pickle.loads(pickle.dumps(default)).description, default.description)
        self.assertEqual(gpt2cpp.Model(MODEL).tokenizer.model_max_length, 512)

    def test_padding_needs_a_token(self):
        self.assertIsNone(self.tokenizer.pad_token)
        with self.assertRaisesRegex(ValueError, "pad_token"):
            self.tokenizer([self.short, self.long], padding=True)
        for name, wrong in (("pad_token", "[PAD]"), ("pad_token_id", 4096)):
            with self.assertRaisesRegex(ValueError, f"^{name}: "):
                setattr(self.tokenizer, name, wrong)
        self.tokenizer.pad_token_id = EOS
        self.assertEqual(self.tokenizer.pad_token, "<|endoftext|>")
        self.tokenizer.pad_token = None
        self.assertIsNone(self.tokenizer.pad_token_id)

    def test_padding(self):
        self.tokenizer.pad_token = self.tokenizer.eos_token
        n = len(self.long_ids)
        for padding in (True, "longest"):
            batch = self.tokenizer([self.short, self.long], padding=padding)
            self.assertEqual(batch.input_ids, [self.short_ids + [EOS] * (n - 4), self.long_ids])
            self.assertEqual(batch.attention_mask, [[1] * 4 + [0] * (n - 4), [1] * n])
        to_6 = dict(padding="max_length", max_length=6)
        right, left = self.short_ids + [EOS] * 2, [EOS] * 2 + self.short_ids
        self.assertEqual(self.encoded([self.short], **to_6), [right])
        self.assertEqual(self.encoded(self.short, padding=True, pad_to_multiple_of=3), right)
        self.assertEqual(self.encoded(self.short, padding_side="left", **to_6), left)
        self.assertEqual(self.encoded(self.short, **to_6), right)
        self.tokenizer.padding_side = "left"
        self.assertEqual(self.tokenizer(self.short, **to_6),
                         {"input_ids": left, "attention_mask": [0, 0, 1, 1, 1, 1]})
        self.assertEqual(len(self.encoded(self.short, padding="max_length")), 512)
        self.assertEqual(self.encoded(self.long, padding="max_length", max_length=2),
                         self.long_ids)  # is not truncated

    def test_truncation(self):
        self.assertEqual(self.encoded(self.long, max_length=3), self.long_ids)
        cut = self.tokenizer([self.long, self.short], truncation=True, max_length=3)
        self.assertEqual(cut, {"input_ids": [self.long_ids[:3], self.short_ids[:3]],
                               "attention_mask": [[1] * 3] * 2})
        self.tokenizer.truncation_side = "left"
        self.assertEqual(self.encoded(self.long, truncation=True, max_length=3),
                         self.long_ids[-3:])
        self.assertEqual(len(self.encoded(self.long * 99, truncation=True)), 512)
        self.assertEqual(self.encoded(self.long, truncation=True, max_length=0), [])
        self.tokenizer.model_max_length = 2
        self.assertEqual(len(self.encoded(self.long, truncation=True)), 2)

    def test_truncation_keeps_the_tokens_that_the_tokenizer_adds(self):
        settings = {"add_bos_token": True, "bos_token": "<|endoftext|>", "truncation_side": "left"}
        with linked_model(["vocab.json", "merges.txt"], tokenizer_config=settings) as path:
            self.tokenizer = gpt2cpp.Tokenizer(path)
        ids, to_3 = self.long_ids, dict(truncation=True, max_length=3)
        self.assertEqual(self.encoded(self.long), [EOS, *ids])
        self.assertEqual(self.encoded(self.long, **to_3), [EOS, *ids[-2:]])
        self.tokenizer.truncation_side = "right"
        self.assertEqual(self.encoded(self.long, **to_3), [EOS, *ids[:2]])
        self.assertEqual(self.encoded(self.long, add_special_tokens=False, **to_3), ids[:3])
        self.assertEqual(self.tokenizer.tokenize(self.long),
                         self.tokenizer.convert_ids_to_tokens(ids))

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_arrays(self):
        self.tokenizer.pad_token = self.tokenizer.eos_token
        one = self.tokenizer(self.short, return_tensors="np")
        self.assertEqual((one.input_ids.tolist(), one.input_ids.dtype, one.attention_mask.shape),
                         ([self.short_ids], numpy.int64, (1, 4)))
        both = self.tokenizer([self.short, self.long], return_tensors="np", padding=True)
        self.assertEqual(both.input_ids.tolist(), self.encoded([self.short, self.long],
                                                               padding=True))
        self.assertEqual(self.tokenizer.batch_decode(both.input_ids, skip_special_tokens=True),
                         [self.short, self.long])
        with self.assertRaisesRegex(ValueError, "padding=True"):
            self.tokenizer([self.short, self.long], return_tensors="np")

    def test_without_numpy_there_are_no_arrays(self):
        printed = python("import sys; sys.modules['numpy'] = None\n"
                         f"import gpt2cpp; t = gpt2cpp.Tokenizer({MODEL!r})\n"
                         "try: t('Once', return_tensors='np')\n"
                         "except gpt2cpp.UnsupportedError as e: print(e)")
        self.assertIn("numpy", printed)

    def test_wrong_arguments(self):
        for name, value in (("padding", "all"), ("padding", []), ("return_tensors", "pt"),
                            ("padding_side", "up")):
            with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, f"^{name}: "):
                self.tokenizer("Once", **{name: value})
        self.tokenizer.truncation_side = "up"
        with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, "^truncation_side: .*'up'"):
            self.tokenizer(self.long, truncation=True, max_length=2)


class SpecialTokensTest(unittest.TestCase):
    def tokenizer(self, **files):
        """A tokenizer with side files, from a directory; and the same from memory."""
        with linked_model(["vocab.json", "merges.txt"], **files) as path:
            contents = {name: pathlib.Path(path, name).read_bytes() for name in os.listdir(path)}
            tokenizer = gpt2cpp.Tokenizer(path)
        memory = gpt2cpp.Tokenizer.from_bytes(contents)
        self.assertEqual(memory.special_tokens_map, tokenizer.special_tokens_map)
        self.assertEqual(memory.model_max_length, tokenizer.model_max_length)
        return tokenizer

    def test_defaults_are_those_of_gpt2(self):
        unset = {"padding_side": None, "truncation_side": None}
        for settings in ({}, {"tokenizer_config": {"model_max_length": None, **unset}},
                         {"tokenizer_config": {"model_max_length": 1e30, **unset}}):
            tokenizer = self.tokenizer(**settings)
            self.assertEqual(tokenizer.special_tokens_map, {
                "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>",
                "unk_token": "<|endoftext|>"})
            self.assertEqual((tokenizer.bos_token_id, tokenizer.pad_token_id), (EOS, None))
            self.assertEqual((tokenizer.all_special_tokens, tokenizer.all_special_ids),
                             (["<|endoftext|>"], [EOS]))
            self.assertEqual((tokenizer.model_max_length, tokenizer.padding_side,
                              tokenizer.truncation_side), (int(1e30), "right", "right"))
        with self.assertRaisesRegex(ValueError, "max_length"):
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
                         [4098, tokenizer.encode("?")[0]])
        self.assertEqual(tokenizer.all_special_tokens,
                         ["Once", "<|endoftext|>", "?", "[PAD]", "[a]", "[b]"])
        self.assertEqual(tokenizer.model_max_length, 64)
        ids = tokenizer(["Once", "a"], padding="max_length", max_length=2).input_ids
        self.assertEqual([ids[0][0], ids[1][0]], [4096, 4096])
        self.assertEqual(tokenizer.decode([4096, 443, 64], skip_special_tokens=True), "a")


main()
