"""Tests the Python package; support.py says how it is run.

Texts are compared with those of the command, and structs with the layout that the C compiler gives
to those of gpt2.h.
"""

import array
import ctypes
import doctest
import gc
import json
import math
import mmap
import os
import pathlib
import pickle
import pkgutil
import pydoc
import re
import tempfile
import unittest
import weakref

from support import CC, COMMAND, MODEL, ModelTest, bits, command, main, python, run

import gpt2cpp
from gpt2cpp import _library

try:
    import numpy
except ImportError:
    numpy = None


class HeaderTest(unittest.TestCase):
    """The declarations are those of gpt2.h."""

    @classmethod
    def setUpClass(cls):
        with open("include/gpt2/gpt2.h") as file:
            cls.header = re.sub(r"//.*", "", file.read())

    def test_functions_have_the_parameters_of_the_header(self):
        functions = {
            name: 0 if parameters.strip() == "void" else parameters.count(",") + 1
            for name, parameters in
            re.findall(r"GPT2_API[^;()]*?(gpt2_\w+)\(([^;]*)\);", self.header)}
        self.assertGreater(len(functions), 40)
        declared = {**_library.STATUS_FUNCTIONS,
                    **{name: arguments for name, (_, arguments)
                       in _library.OTHER_FUNCTIONS.items()}}
        for name, arguments in declared.items():
            self.assertEqual(len(arguments), functions.get(name), name)

    def test_structs_have_the_layout_of_the_c_compiler(self):
        structs = dict((name, body) for body, name in re.findall(
            r"typedef struct gpt2_\w+ \{(.*?)\} gpt2_(\w+);", self.header, re.S))
        ours = {name: value for name, value in vars(_library).items()
                if isinstance(value, type) and issubclass(value, ctypes.Structure)
                and value.__module__ == _library.__name__}
        self.assertGreater(len(ours), 6)
        prints = []
        for name, struct in ours.items():
            c_name = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
            members = [member for member, _ in struct._fields_]
            self.assertEqual(members, re.findall(r"(\w+)(?=;)", structs[c_name]), name)
            for member in members:
                prints.append(f'printf("{name} {member} %zu %zu\\n", offsetof(gpt2_{c_name}, '
                              f"{member}), sizeof ((gpt2_{c_name}*)0)->{member});")
            prints.append(f'printf("{name} = %zu 0\\n", sizeof(gpt2_{c_name}));')
        with tempfile.TemporaryDirectory() as scratch:
            with open(scratch + "/layout.c", "w") as file:
                file.write("#include <gpt2/gpt2.h>\n#include <stdio.h>\n#include <stddef.h>\n"
                           "int main(void) {\n" + "\n".join(prints) + "\nreturn 0;\n}\n")
            run(CC, "-Iinclude", scratch + "/layout.c", "-o", scratch + "/layout")
            lines = run(scratch + "/layout").splitlines()
        for line in lines:
            name, member, number, size = line.split()
            struct = ours[name]
            if member == "=":
                self.assertEqual(ctypes.sizeof(struct), int(number), line)
            else:
                field = getattr(struct, member)
                self.assertEqual((field.offset, field.size), (int(number), int(size)), line)

    def test_statuses_have_an_exception(self):
        for name in re.findall(r"GPT2_(\w+) = [1-7]\b", self.header.split("GPT2_OK")[1])[:7]:
            self.assertIn(name.lower(), gpt2cpp.errors.BY_CODE)

    def test_the_version_is_that_of_the_project(self):
        with open("include/gpt2/version.h") as file:
            version = re.search(r'GPT2_VERSION_STRING "([\d.]+)"', file.read()).group(1)
        self.assertEqual(gpt2cpp.__version__, version)

    def test_another_version_of_the_library_is_refused(self):
        with tempfile.TemporaryDirectory() as scratch:
            with open(scratch + "/old.c", "w") as file:
                file.write("int gpt2_version(void) { return 207; }\n")
            library = scratch + "/libgpt2.so"
            run(CC, "-shared", "-fPIC", scratch + "/old.c", "-o", library)
            message = python("try: import gpt2cpp\nexcept Exception as e: print(e)",
                             GPT2CPP_LIBRARY=library)
        self.assertIn("0.2.7", message)

    def test_the_installed_library_is_found(self):
        for folder in ("lib", "lib64"):
            with tempfile.TemporaryDirectory() as home:
                os.makedirs(f"{home}/.local/{folder}")
                version = ".".join(gpt2cpp.__version__.split(".")[:2])
                file = f"{home}/.local/{folder}/libgpt2.so.{version}"
                os.symlink(os.path.realpath(os.environ["GPT2CPP_LIBRARY"]), file)
                found = python("from gpt2cpp import _library; print(_library.lib._name)",
                               HOME=home, GPT2CPP_LIBRARY="")
                self.assertEqual(found.strip(), file)

    def test_a_missing_library_is_named(self):
        message = python("try: import gpt2cpp\nexcept FileNotFoundError as e: print(e)",
                         GPT2CPP_LIBRARY="/nowhere/libgpt2.so")
        self.assertIn("/nowhere/libgpt2.so: the library", message)


class GenerateTest(ModelTest):
    def assert_same(self, text, line):
        self.assertEqual(text, line["text"])
        self.assertEqual(text.token_ids, line["token_ids"])
        self.assertEqual(text.finish_reason, line["finish_reason"])

    def test_defaults_are_those_of_the_command(self):
        self.assert_same(self.model.generate("Once upon"), command("--json", "Once upon")[0])

    def test_options_are_those_of_the_command(self):
        cases = [
            ({"do_sample": False, "max_new_tokens": 20}, ["--greedy", "-n", 20]),
            ({"temperature": 1.5, "seed": 3}, ["--temperature", 1.5, "-s", 3]),
            ({"top_p": 0.5, "top_k": 0, "sequence": 4}, ["--top-p", 0.5, "--top-k", 0,
                                                         "--sequence", 4]),
            ({"repetition_penalty": 1.5, "min_p": 0.1}, ["--repetition-penalty", 1.5,
                                                         "--min-p", 0.1]),
            ({"stop": "."}, ["--stop", "."]),
            ({"stop_strings": ["!", "was"]}, ["--stop", "!", "--stop", "was"]),
            ({"no_repeat_ngram_size": 2, "temperature": 0},
             ["--no-repeat-ngram-size", 2, "--temperature", 0]),
            ({"presence_penalty": 1, "frequency_penalty": 0.5, "typical_p": 0.9},
             ["--presence-penalty", 1, "--frequency-penalty", 0.5, "--typical-p", 0.9]),
            ({"exponential_decay_length_penalty": (5, 1.5)},
             ["--exponential-decay-length-penalty", "5,1.5"]),
            ({"ignore_eos": True, "overflow": "slide", "keep": 4, "max_new_tokens": 600},
             ["--ignore-eos", "--overflow", "slide", "--keep", 4, "-n", 600]),
        ]
        for options, arguments in cases:
            with self.subTest(options):
                text = self.model.generate("The cat", **options)
                self.assert_same(text, command("--json", *arguments, "The cat")[0])

    def test_options_that_name_tokens(self):
        plain = self.model.generate("The cat", temperature=0, max_new_tokens=8)
        first = plain.token_ids[0]
        for options in ({"bad_words_ids": [[first]]}, {"suppress_tokens": [first]},
                        {"begin_suppress_tokens": [first]}, {"logit_bias": {first: -100}},
                        {"sequence_bias": {(first,): -1e9}}):
            with self.subTest(options):
                text = self.model.generate("The cat", temperature=0, max_new_tokens=8, **options)
                self.assertNotEqual(text.token_ids[0], first)
        text = self.model.generate("The cat", temperature=0, max_new_tokens=8, stop_tokens=[first])
        self.assertEqual((text, text.finish_reason), ("", "end_of_text"))
        text = self.model.generate([443], temperature=0, max_new_tokens=2,
                                   forced_bos_token_id=11)
        self.assertEqual(text.token_ids[0], 11)
        text = self.model.generate("The cat", max_new_tokens=3, forced_eos_token_id=11,
                                   stop_tokens=[11])
        self.assertEqual(len(text.token_ids), 2)

    def test_max_length_counts_the_prompt(self):
        ids = self.model.tokenizer.encode("The cat")
        self.assertEqual(len(self.model.generate(ids, max_length=len(ids) + 3).token_ids), 3)
        with self.assertRaisesRegex(ValueError, "max_length"):
            self.model.generate(ids, max_length=2)

    def test_max_length_counts_the_tokens_of_a_session(self):
        # As the command's before + prompt tokens, and as min_length. Dropped tokens do not count.
        before, prompt = [443, 452, 258, 401], [11, 308]
        for call in ("generate", "stream"):
            for given in (prompt, []):
                session = self.model.session()
                session.append(before)
                list(getattr(session, call)(given, max_length=9, ignore_eos=True))
                self.assertEqual(len(session), 9)
            with self.assertRaisesRegex(ValueError, "max_length"):
                getattr(session, call)(prompt, max_length=9)
        end = self.model.eos_token_id[0]
        session = self.model.session()
        session.append(before)
        text = session.generate(prompt, min_length=9, max_length=12, logit_bias={end: 100})
        self.assertEqual((len(text.token_ids), text.finish_reason), (3, "end_of_text"))
        session = self.model.session(max_tokens=8)
        session.append(before * 2)
        session.slide(keep=0)
        n = len(session)
        session.generate(max_length=n + 2, ignore_eos=True)
        self.assertEqual(len(session), n + 2)

    def test_logprobs_are_those_of_the_command(self):
        text = self.model.generate("The cat", max_new_tokens=6, logprobs=2)
        line = command("--json", "--logprobs", 2, "-n", 6, "The cat")[0]
        self.assertEqual(len(text.logprobs), 6)
        for ours, theirs in zip(text.logprobs, line["logprobs"]):
            self.assertEqual((ours.id, ours.rank), (theirs["id"], theirs["rank"]))
            self.assertEqual(bits([ours.logprob]), bits([theirs["logprob"]]))
            self.assertEqual([id for id, _ in ours.top], [top["id"] for top in theirs["top"]])

    def test_lists_may_be_iterators(self):
        text = self.model.generate("The cat", temperature=0, max_new_tokens=8)
        words = [[id] for id in text.token_ids[:2]]
        for more in ({}, {"num_beams": 2}):
            options = {"max_new_tokens": 3, **(more or {"do_sample": False})}
            expected = self.model.generate("The cat", bad_words_ids=words, **options)
            for given in (iter(words), map(iter, words), [iter(word) for word in words]):
                self.assertEqual(self.model.generate(["The cat"] * 2, bad_words_ids=given,
                                                     **options), [expected] * 2)
        self.assertEqual(self.model.generate(iter([443]), max_new_tokens=3),
                         self.model.generate([443], max_new_tokens=3))

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_numbers_may_be_those_of_numpy(self):
        self.assertEqual(
            self.model.generate(numpy.array([443]), max_new_tokens=numpy.int64(3),
                                top_p=numpy.float32(0.5), do_sample=numpy.True_,
                                suppress_tokens=numpy.array([11])),
            self.model.generate([443], max_new_tokens=3, top_p=0.5, do_sample=True,
                                suppress_tokens=[11]))

    def test_an_empty_prompt_begins_a_text(self):
        line = command("--json", "-n", 5, "")[0]
        self.assert_same(self.model.generate("", max_new_tokens=5), line)

    def test_several_samples_are_those_of_the_command(self):
        texts = self.model.generate("One day,", num_return_sequences=3, max_new_tokens=9)
        for text, line in zip(texts, command("--json", "--samples", 3, "-n", 9, "One day,")):
            self.assert_same(text, line)
        self.assertEqual(len(texts), 3)

    def test_the_generation_config_is_that_of_hf_defaults(self):
        cases = [
            {},
            {"do_sample": True, "temperature": 1.25, "top_k": 30, "top_p": 0.9,
             "min_new_tokens": 5, "repetition_penalty": 1.5, "bad_words_ids": [[11], [258, 401]],
             "sequence_bias": [[[258], -3.5]], "suppress_tokens": [13], "max_new_tokens": 25,
             "exponential_decay_length_penalty": [5, 1.01]},
            {"forced_eos_token_id": 13, "no_repeat_ngram_size": 2, "max_length": 12},
            {"num_beams": 4, "max_length": 15, "early_stopping": "never", "top_k": 7},
            {"num_beams": 3, "num_return_sequences": 2, "length_penalty": 2.0},
            {"do_sample": True, "num_return_sequences": 3},
        ]
        for config in cases:
            with self.subTest(config), tempfile.TemporaryDirectory() as scratch:
                for name in ("config.json", "model.safetensors", "vocab.json", "merges.txt"):
                    os.symlink(os.path.abspath(f"{MODEL}/{name}"), f"{scratch}/{name}")
                with open(scratch + "/generation_config.json", "w") as file:
                    json.dump(config, file)
                model = gpt2cpp.Model(scratch)
                texts = model.generate("The cat", **model.generation_config)
                lines = command("--json", "--hf-defaults", "-m", scratch, "The cat")
                texts = texts if isinstance(texts, list) else [texts]
                self.assertEqual(len(texts), len(lines))
                for text, line in zip(texts, lines):
                    self.assert_same(text, line)
        one = self.model.generate([443] * 30, **{**self.model.generation_config,
                                                "max_new_tokens": 2})
        self.assertEqual(len(one.token_ids), 2)

    def test_a_list_of_prompts_is_a_batch(self):
        prompts = ["The cat", "One day,", [443, 452]]
        texts = self.model.generate(prompts, max_new_tokens=20, seed=5)
        for j, prompt in enumerate(prompts):
            alone = self.model.generate(prompt, max_new_tokens=20, seed=5, sequence=j)
            self.assertEqual(texts[j], alone)
            self.assertEqual(texts[j].token_ids, alone.token_ids)
        self.assertEqual(self.model.generate([]), [])

    def test_drafts_change_nothing(self):
        draft = self.model.convert("int4")
        self.assertEqual(draft.dtype, "int4")
        text = self.model.generate("Once", max_new_tokens=40, draft=draft)
        self.assertEqual(text, self.model.generate("Once", max_new_tokens=40))
        self.assertGreater(text.drafted_tokens, 0)
        self.assertEqual(text, self.model.generate("Once", max_new_tokens=40, prompt_lookup=True))

    def test_a_converted_model_keeps_its_threads_and_its_type_of_keys_and_values(self):
        converted = gpt2cpp.Model(MODEL, threads=1, kv_type="f32").convert("int8")
        same = gpt2cpp.Model(MODEL, dtype="int8", kv_type="f32")
        self.assertEqual(converted.threads, 1)
        self.assertEqual(converted.logits("Once upon").tolist(),
                         same.logits("Once upon").tolist())
        self.assertNotEqual(converted.logits("Once upon").tolist(),
                            self.model.convert("int8").logits("Once upon").tolist())

    def test_threads_and_dtypes_change_no_bits_but_those_of_the_weights(self):
        one = gpt2cpp.Model(MODEL, threads=1)
        self.assertEqual(one.threads, 1)
        self.assertEqual(one.generate("Once"), self.model.generate("Once"))
        self.assertEqual(gpt2cpp.Model(MODEL, dtype="f32").generate("Once"),
                         self.model.generate("Once"))  # f16 values are f32 values
        small = gpt2cpp.Model(MODEL, dtype="int8")
        self.assertEqual(small.generate("Once"),
                         command("--json", "--dtype", "int8", "Once")[0]["text"])

    def test_types_of_keys_and_values_are_those_of_the_command(self):
        for kv_type in ("auto", "f32", "f16"):
            model = gpt2cpp.Model(MODEL, kv_type=kv_type)
            self.assert_same(model.generate("Once"), command("--json", "--kv", kv_type, "Once")[0])
        half = gpt2cpp.Model(MODEL, kv_type="f16", threads=1).logits("Once upon").tolist()
        self.assertEqual(half, model.logits("Once upon").tolist())
        self.assertNotEqual(half, self.model.logits("Once upon").tolist())

    def test_loading_tells_its_progress(self):
        shares = []
        gpt2cpp.Model(MODEL, dtype="int8", on_progress=shares.append)
        self.assertEqual((shares, shares[-1]), (sorted(shares), 1.0))
        self.assertGreater(len(shares), 10)

    def test_unicode_and_zero_bytes(self):
        for prompt in ("caf\u00e9 \U0001f600", "a\0b"):
            with self.subTest(prompt):
                self.assertEqual(self.model.tokenizer.decode_bytes(
                    self.model.tokenizer.encode(prompt)), prompt.encode())
                self.model.generate(prompt, max_new_tokens=1)

    def test_beams_are_those_of_the_command(self):
        cases = [
            ({"num_beams": 2}, ["--num-beams", 2]),
            ({"num_beams": 4, "length_penalty": -2, "early_stopping": "never",
              "no_repeat_ngram_size": 2},
             ["--num-beams", 4, "--length-penalty", -2, "--early-stopping", "never",
              "--no-repeat-ngram-size", 2]),
            ({"num_beams": 6, "early_stopping": True},
             ["--num-beams", 6, "--early-stopping", "true"]),
        ]
        for options, arguments in cases:
            with self.subTest(options):
                texts = self.model.generate("The moon", max_new_tokens=20, num_return_sequences=2,
                                            **options)
                lines = command("--json", "-n", 20, "--num-return-sequences", 2, *arguments,
                                "The moon")
                self.assertEqual(len(texts), 2)
                for text, line in zip(texts, lines):
                    self.assert_same(text, line)
                    self.assertEqual(bits([text.score]), bits([line["score"]]))
                one = self.model.generate("The moon", max_new_tokens=20, **options)
                self.assertIsInstance(one, gpt2cpp.Generation)
                self.assertEqual((one, one.prompt_tokens), (texts[0], 2))

    def test_beams_of_several_prompts(self):
        prompts = ["The cat", [443, 452]]
        texts = self.model.generate(prompts, num_beams=3, num_return_sequences=2, max_new_tokens=5)
        alone = [text for prompt in prompts for text in
                 self.model.generate(prompt, num_beams=3, num_return_sequences=2,
                                     max_new_tokens=5)]
        self.assertEqual(texts, alone)
        self.assertEqual(len(texts), 4)
        self.assertEqual(self.model.generate("Once", num_beams=1, max_new_tokens=9),
                         self.model.generate("Once", max_new_tokens=9))


class NumbersTest(ModelTest):
    """Logits, hidden states, scores and embeddings."""

    def test_logits_and_greedy_tokens_are_those_of_pytorch(self):
        with open("tests/data/bundled_model.json") as file:
            prompts = json.load(file)["prompts"]
        for case in prompts:
            with self.subTest(case["prompt"]):
                text = self.model.generate(case["prompt"], do_sample=False, ignore_eos=True,
                                           max_new_tokens=len(case["greedy_ids"]))
                self.assertEqual(text.token_ids, case["greedy_ids"])
                if "last_position_logits" not in case:
                    continue
                theirs = case["last_position_logits"]
                tolerance = 2e-5 * (max(theirs) - min(theirs))  # as in generate_test.cpp
                logits = self.model.logits(case["prompt"]).tolist()[-1]
                self.assertEqual(len(logits), len(theirs))
                for one, other in zip(logits, theirs):
                    self.assertLessEqual(abs(one - other), tolerance)
        self.assertIn("last_position_logits", prompts[0])

    def test_logits_of_each_token(self):
        ids = self.model.tokenizer.encode("The cat sat on the mat.")
        logits = self.model.logits(ids)
        self.assertEqual((logits.shape, logits.format if numpy is None else logits.dtype),
                         ((len(ids), self.model.vocab_size), "f" if numpy is None else "float32"))
        for i in range(len(ids)):
            session = self.model.session()
            self.assertEqual(bits(session.logits(ids[:i + 1]).tolist()), bits(logits.tolist()[i]))
        scores = self.model.score(ids)
        for i, token in enumerate(scores.texts[0].tokens[1:]):
            row = logits.tolist()[i]
            logprob = row[ids[i + 1]] - max(row) - math.log(
                math.fsum(math.exp(x - max(row)) for x in row))
            self.assertAlmostEqual(token.logprob, logprob, delta=1e-5 * abs(logprob) + 1e-5)
            self.assertEqual(token.rank, sum(x > row[ids[i + 1]] for x in row))

    def test_embeddings_are_those_of_the_command(self):
        texts = ["The cat", "One day, a dog"]
        with tempfile.TemporaryDirectory() as scratch:
            with open(scratch + "/texts", "w") as file:
                file.write("\n".join(texts) + "\n")
            for pooling, layer in [("mean", -1), ("last", 3), ("mean", 0)]:
                lines = command("embed", scratch + "/texts", "--pooling", pooling,
                                *([] if layer < 0 else ["--layer", layer]))
                vectors = self.model.embed(texts, pooling=pooling, layer=layer).tolist()
                for vector, line in zip(vectors, lines):
                    self.assertEqual(bits(vector), bits(line["embedding"]))
                self.assertEqual(self.model.embed(texts[1], pooling=pooling, layer=layer).tolist(),
                                 vectors[1])

    def test_hidden_states_of_each_layer(self):
        n_layer = self.model.n_layer
        for layer in range(-n_layer - 1, n_layer + 1):
            states = self.model.hidden_states("The cat sat", layer=layer).tolist()
            last = self.model.embed("The cat sat", pooling="last", layer=layer).tolist()
            self.assertEqual(states[-1], last)
            session = self.model.session()
            self.assertEqual(session.hidden_states("The cat sat", layer=layer).tolist(), last)

    def test_scores_are_those_of_the_command(self):
        with open("models/README.md") as file:
            text = file.read()
        scores = self.model.score(text, stride=100)
        line = command("score", "--json", "--stride", 100, "models/README.md")[0]
        self.assertEqual((scores.n_tokens, scores.n_words, scores.n_bytes, scores.n_windows),
                         (line["tokens"], line["words"], line["bytes"], line["windows"]))
        self.assertEqual((-scores.nll, scores.perplexity, scores.bits_per_byte.value),
                         (line["logprob"], line["perplexity"], line["bits_per_byte"]))
        self.assertEqual(scores.by_word, (line["word_perplexity"], line["word_perplexity_error"]))
        first, second = scores.texts[0].tokens[:2]
        self.assertTrue(math.isnan(first.logprob))
        self.assertEqual((first.rank, first.top), (None, []))  # nothing predicts it
        self.assertIsInstance(second.rank, int)

    def test_a_list_of_texts_is_scored_together(self):
        texts = ["The cat sat", [443, 452, 258, 401]]
        scores = self.model.score(texts, top_logprobs=1)
        self.assertEqual([[token.id for token in text.tokens] for text in scores.texts],
                         [self.model.tokenizer.encode(texts[0]), texts[1]])
        self.assertAlmostEqual(scores.nll, sum(self.model.score(text).nll for text in texts))
        for text, score in zip(texts, scores.texts):
            alone = self.model.score(text)
            self.assertEqual((score.perplexity, score.nll), (alone.perplexity, alone.nll))
        self.assertEqual(scores.texts[1].tokens[2].top[0][0], 258)  # "Once upon" -> " a"

    def test_comparisons_are_those_of_the_command(self):
        with open("models/README.md") as file:
            text = file.read()
        line = json.loads(run(COMMAND, "info", "--json", "--dtype", "int8", "--text",
                              "models/README.md"))["cost"]
        shares = []
        cost = self.model.compare_perplexity(self.model.convert("int8"), text,
                                             on_progress=shares.append)
        self.assertEqual((list(cost.perplexity), cost.n_tokens, cost.n_windows),
                         (line["perplexity"], line["tokens"], line["windows"]))
        self.assertEqual(cost.max_logit_change, line["max_logit_change"])
        self.assertEqual((len(shares), shares[-1]), (cost.n_windows, 1.0))
        # Floats have 24 bits. So the error of a logprob above -16 is less than 16 / 2**24 < 1e-6.
        self.assertLess(abs(self.model.score(text).perplexity / cost.perplexity[0] - 1), 1e-6)
        half = gpt2cpp.Model(MODEL, kv_type="f16")
        same = self.model.compare_perplexity(half, "The cat sat on the mat.")
        self.assertNotEqual(*same.perplexity)
        self.assertTrue(math.isnan(same.standard_error))

    def test_choices_are_those_of_the_command(self):
        context, texts = "The cat", [" sat", " moon was", " was"]
        choices = self.model.choices(context, texts)
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump({"context": context, "choices": texts}, file)
            file.flush()
            line = command("score", "--choices", file.name)[0]
        self.assertEqual([choice.sum for choice in choices],
                         [choice["logprob"] for choice in line["choices"]])
        self.assertEqual([choice.greedy_match for choice in choices], [False, False, True])

    def test_without_numpy_arrays_are_memoryviews(self):
        printed = python(
            "import sys; sys.modules['numpy'] = None\n"
            f"import gpt2cpp; m = gpt2cpp.Model({MODEL!r})\n"
            "x = m.logits([443, 452]); v = m.embed('The cat'); w = m.embed([])\n"
            "def f(ids, scores):\n  scores[ids[0]] = 1e6\n"
            "t = m.generate([443], max_new_tokens=1, logits_processor=f)\n"
            "print(type(x).__name__, x.shape, x[1, 258], v.shape, len(w), t.token_ids)")
        logits = self.model.logits([443, 452]).tolist()
        self.assertEqual(printed, f"memoryview (2, 4096) {logits[1][258]} (256,) 0 [443]\n")

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_with_numpy_arrays_are_written_in_place(self):
        logits = self.model.logits(numpy.array([443, 452]))
        self.assertTrue(logits.flags.owndata and logits.flags.writeable)
        self.assertEqual(self.model.embed([]).shape, (0, 256))
        seen = []

        def greedy(ids, scores):
            seen.append((type(ids), ids.tolist(), scores.dtype))
            best = scores.argmax()
            scores[:] = -numpy.inf
            scores[best] = 0

        text = self.model.generate([443], max_new_tokens=3, logits_processor=greedy)
        self.assertEqual(text, self.model.generate([443], max_new_tokens=3, temperature=0))
        self.assertEqual(seen[1], (numpy.ndarray, [443, *text.token_ids[:1]], numpy.float32))


class ObserveTest(ModelTest):
    """python_oracle_test.py compares the numbers with HuggingFace's."""

    def test_a_session_is_observed_in_parts(self):
        ids = self.model.tokenizer.encode("The cat sat on the mat and was happy.")
        whole = self.model.observe(ids)
        n_layer, n_head = self.model.n_layer, self.model.n_head
        self.assertEqual(len(whole), 3 + 13 * n_layer)
        self.assertEqual(whole["attention_weights", 1].shape, (n_head, len(ids), len(ids)))
        self.assertEqual(whole["ln_2_statistics", 1].shape, (len(ids), 3))
        self.assertEqual(bits(whole["ln_f_output", n_layer].tolist()[-1]),
                         bits(self.model.hidden_states(ids)[-1].tolist()[-1]))

        session = self.model.session()
        session.logits(ids[:3])
        session.append(ids[3:5])
        part = session.observe(ids[5:])
        self.assertEqual(session.tokens, ids)
        self.assertEqual(set(part), set(whole))
        for key, numbers in part.items():
            rows, expected = numbers.tolist(), whole[key].tolist()
            if key[0] == "attention_weights":
                self.assertEqual(rows, [head[3:] for head in expected])
            else:
                self.assertEqual(rows, expected[3:])

    def test_hooks_of_transformer_lens(self):
        # Its documentation: hook_scale is (batch, pos, 1), hook_z (batch, pos, head, d_head), and
        # hook_resid_pre of a block is hook_resid_post of the one before it.
        whole = self.model.observe("The cat sat")
        hooks = {"blocks.0.hook_resid_pre": ("embeddings", 0),
                 "blocks.2.hook_resid_post": ("block_output", 2),
                 "blocks.4.hook_resid_pre": ("block_output", 3),
                 "blocks.1.attn.hook_z": ("head_outputs", 1),
                 "blocks.5.ln2.hook_scale": ("ln_2_statistics", 5),
                 "ln_final.hook_normalized": ("ln_f_output", 6),
                 "blocks.3.attn.hook_pattern": ("attention_weights", 3)}
        seen = self.model.observe("The cat sat", hooks)
        self.assertEqual(sorted(seen), sorted(hooks.values()))
        for hook, place in hooks.items():
            self.assertEqual(seen[place].tolist(), whole[place].tolist())
            if not hook.endswith(("hook_z", "hook_scale")):
                self.assertEqual(seen.get(hook).tolist(), whole[place].tolist())
        z, scale = seen["blocks.1.attn.hook_z"], seen["blocks.5.ln2.hook_scale"]
        self.assertEqual((z.shape, scale.shape), ((3, 4, 64), (3, 1)))
        self.assertEqual(sum(z.tolist()[1], []), whole["head_outputs", 1].tolist()[1])
        rstd = whole["ln_2_statistics", 5].tolist()[1][2]
        self.assertAlmostEqual(scale.tolist()[1][0], 1 / rstd, places=5)
        self.assertIn("blocks.2.hook_resid_post", seen)
        self.assertNotIn("blocks.3.hook_mlp_out", seen)
        self.assertIsNone(seen.get("blocks.3.hook_mlp_out"))
        with self.assertRaisesRegex(KeyError, "blocks.3.hook_mlp_out was not observed"):
            seen["blocks.3.hook_mlp_out"]
        ours, theirs = (self.model.observe("The cat", "ln_f_output", change={place: zero})
                        for place in (("mlp_output", 2), "blocks.2.hook_mlp_out"))
        self.assertEqual(ours["ln_f_output", 6].tolist(), theirs["ln_f_output", 6].tolist())
        seen = self.model.observe("The cat", change={("ln_1_statistics", 0): zero})
        self.assertEqual(seen["blocks.0.ln1.hook_scale"].tolist(), [[float("inf")]] * 2)

    def test_only_what_is_wanted_is_observed(self):
        for what, layers, expected in (
                (("mlp_output", "embeddings"), [0, 2],
                 {("embeddings", 0), ("mlp_output", 0), ("mlp_output", 2)}),
                (["mlp_output", "ln_f_output"], [2, 6], {("mlp_output", 2), ("ln_f_output", 6)}),
                (("mlp_output", 2), None, {("mlp_output", 2)}),
                ([("mlp_output", 2), "embeddings"], None, {("mlp_output", 2), ("embeddings", 0)})):
            self.assertEqual(set(self.model.observe("The cat", what, layers)), expected)
        seen = self.model.observe("The cat", "block_output", [3])
        for key in ("keys", ("keys", 3), ("block_output", 4), "no such", "hidden_states"):
            with self.assertRaises(KeyError):
                seen.hidden_states if key == "hidden_states" else seen[key]

    def test_wrong_arguments(self):
        for name, arguments in (
                ("what", dict(what="mlp")), ("what", dict(what=("mlp_output", 6))),
                ("what", dict(what=["mlp_output", 2])), ("what", dict(what=("mlp", 2))),
                ("what", dict(what="blocks.6.hook_attn_out")),
                ("what", dict(what="blocks.01.hook_attn_out")), ("layers", dict(layers=[-1])),
                ("layers", dict(what="mlp_output", layers=[6])),
                ("layers", dict(what="ln_f_output", layers=[0])),
                ("layers", dict(what=("mlp_output", 2), layers=[2])),
                ("change", dict(change=zero)), ("change", dict(change={("keys", 6): zero})),
                ("change", dict(change={("embeddings", 1): zero})),
                ("change", dict(change={"keys": zero})), ("change", dict(change={("keys", 0): 5})),
                ("change", dict(change={"blocks.1.hook_resid_mid": zero})),
                ("change", dict(change={"blocks.0.ln1.hook_scale": zero})),
                ("change", dict(change={"blocks.2.hook_mlp_out": zero, ("mlp_output", 2): zero})),
                ("change", dict(change={("keys", 0): lambda values, place: 0}))):
            with self.subTest(arguments), self.assertRaisesRegex(ValueError, f"^{name}: "):
                self.model.observe("The cat", **arguments)


def zero(values, place):
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = 0


class InterventionTest(ModelTest):
    ids = [443, 452, 258, 401, 317]

    def logits(self, seen):
        return self.model.unembed(seen["ln_f_output", self.model.n_layer]).tolist()

    def test_own_activations_change_no_bit(self):
        plain = self.model.observe(self.ids)
        other = self.model.observe(self.ids[::-1])
        places = []

        def patch(values, place, seen=plain):
            places.append(place)
            own = seen[place.name, place.layer].tolist()
            rows = own[place.head] if place.name == "attention_weights" else own
            for i, row in enumerate(rows[place.first:]):
                for j, number in enumerate(row):
                    values[i, j] = number

        seen = self.model.observe(self.ids, change=dict.fromkeys(plain, patch))
        self.assertEqual(len(places), 3 + self.model.n_layer * (12 + self.model.n_head))
        self.assertIn(gpt2cpp.Place("attention_weights", 1, 3, 0), places)
        for key, numbers in plain.items():
            self.assertEqual(seen[key].tolist(), numbers.tolist(), key)
        self.assertEqual(self.logits(seen), self.model.logits(self.ids).tolist())

        def patch_other(values, place):
            patch(values, place, other)

        seen = self.model.observe(self.ids, "ln_f_output", change={("embeddings", 0): patch_other})
        self.assertEqual(self.logits(seen), self.model.logits(self.ids[::-1]).tolist())

    def test_changes_are_seen_and_kept_by_the_session(self):
        copies = []

        def double(values, place):
            for i in range(values.shape[0]):
                for j in range(values.shape[1]):
                    values[i, j] *= 2
            copies.append(values)
            return values

        plain = self.model.observe(self.ids)
        session = self.model.session()
        session.logits(self.ids[:2])
        seen = session.observe(self.ids[2:], "values", [1], change={("values", 1): double})
        self.assertEqual(list(seen), [("values", 1)])
        doubled = [[2 * number for number in row] for row in plain["values", 1].tolist()[2:]]
        self.assertEqual(seen["values", 1].tolist(), doubled)
        self.assertEqual(copies[0].tolist(), doubled)  # a copy, which nothing overwrites
        last = self.model.session()
        last.logits(self.ids)
        self.assertNotEqual(session.logits([258]).tolist(), last.logits([258]).tolist())

    def test_a_function_that_fails_ends_the_call(self):
        calls = []

        def fail(values, place):
            calls.append(place)
            raise KeyError("enough")

        session = self.model.session()
        with self.assertRaisesRegex(KeyError, "enough"):
            session.observe(self.ids, change={("keys", 0): fail, ("keys", 1): fail})
        self.assertEqual(calls, [gpt2cpp.Place("keys", 0, 0, 0)])
        for use in (self.model.logits, self.model.generate, self.model.score):
            with self.assertRaisesRegex(ValueError, "callback"):
                self.model.observe(self.ids, change={("keys", 0): lambda *_: use(self.ids)})
        self.assertEqual(session.tokens, self.ids)


class MemoryTest(ModelTest):
    def files(self, kind=bytes):
        names = ("config.json", "model.safetensors", "vocab.json", "merges.txt")
        files = {}
        for name in names:
            with open(f"{MODEL}/{name}", "rb") as file:
                files[name] = kind(file.read())
        return files

    def test_a_model_in_memory_is_that_of_the_directory(self):
        expected = self.model.generate("Once", max_new_tokens=20)
        model = gpt2cpp.Model.from_bytes(self.files())
        self.assertEqual(model.generate("Once", max_new_tokens=20), expected)
        self.assertEqual((model.path, model.dtype, model.threads),
                         ("", self.model.dtype, self.model.threads))
        self.assertIn("in memory", repr(model))
        small = gpt2cpp.Model.from_bytes(self.files(bytearray), dtype="int8", threads=1)
        self.assertEqual((small.dtype, small.threads), ("int8", 1))
        tokenizer = gpt2cpp.Tokenizer.from_bytes(self.files(memoryview))
        self.assertEqual(tokenizer.encode("Once"), [443])
        with open(f"{MODEL}/model.safetensors", "rb") as file, \
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as weights:
            mapped = gpt2cpp.Model.from_bytes({**self.files(), "model.safetensors": weights})
            self.assertEqual(mapped.generate("Once", max_new_tokens=20), expected)
            with self.assertRaises(BufferError):
                weights.close()
            mapped.close()
            del mapped

    def test_weights_are_used_where_they_lie(self):
        files = self.files(bytearray)
        model = gpt2cpp.Model.from_bytes(files)
        before = model.logits("Once upon").tolist()
        weights = files["model.safetensors"]
        weights[-1000:] = bytes(1000)
        self.assertNotEqual(model.logits("Once upon").tolist(), before)
        with self.assertRaises(BufferError):
            weights.clear()

    def test_weights_are_kept_as_long_as_they_are_used(self):
        class Data(bytearray):
            pass

        expected = self.model.generate("Once", max_new_tokens=5)
        files = self.files(Data)
        weights = weakref.ref(files["model.safetensors"])
        model = gpt2cpp.Model.from_bytes(files, threads=1)
        del files
        draft = model.convert("int8")
        session = draft.session().fork()
        model.close()
        draft.close()
        del model, draft
        gc.collect()
        self.assertIsNotNone(weights())
        session.generate("Once", max_new_tokens=5)
        del session
        gc.collect()
        self.assertIsNone(weights())
        self.assertEqual(self.model.generate("Once", max_new_tokens=5), expected)

    def test_what_memory_cannot_do(self):
        files = self.files()
        model = gpt2cpp.Model.from_bytes({name: files[name] for name in
                                          ("config.json", "model.safetensors")})
        self.assertIsNone(model.tokenizer)
        for kind, call in (
                (gpt2cpp.Error, lambda: model.generate("Once")),
                (FileNotFoundError, lambda: model.generation_config),
                (TypeError, lambda: pickle.dumps(model)),
                (TypeError, lambda: pickle.dumps(gpt2cpp.Tokenizer.from_bytes(files))),
                (ValueError, lambda: model.convert("int8").save_quantized("/nowhere/at/all")),
                (ValueError, lambda: gpt2cpp.Model.from_bytes({"config.json": "a str"})),
                (gpt2cpp.InvalidFileError,
                 lambda: gpt2cpp.Model.from_bytes({**files, "model.safetensors": b""}))):
            with self.assertRaises(kind):
                call()


class SamplerTest(ModelTest):
    def test_a_loop_with_a_sampler_writes_what_generate_writes(self):
        for options in ({"seed": 3}, {"do_sample": False}, {"top_p": 0.9, "temperature": 1.2},
                        {"repetition_penalty": 1.3, "suppress_tokens": [11]}):
            with self.subTest(options):
                sampler = gpt2cpp.Sampler(self.model.vocab_size, **options)
                session = self.model.session()
                session.append("Once upon")
                ids = []
                for _ in range(12):
                    ids.append(sampler.sample(session.logits(), session.tokens))
                    session.append(ids[-1:])
                text = self.model.generate("Once upon", max_new_tokens=12, **options)
                self.assertEqual(ids, text.token_ids)

    def test_scores_and_numbers_of_any_kind(self):
        sampler = gpt2cpp.Sampler(4, top_k=2, temperature=1, prompt_length=1, max_length=2,
                                  eos_token_id=[3], forced_eos_token_id=3)
        logits = [0.5, 2.0, 1.0, -1.0]
        free = gpt2cpp.Sampler(4, top_k=2, temperature=1)
        inf = float("inf")
        self.assertEqual(free.process(logits, [0]).tolist(), [-inf, 2.0, 1.0, -inf])
        self.assertEqual(sampler.process(logits, [0]).tolist(), [-inf, -inf, -inf, 0.0])
        self.assertEqual(sampler.sample(logits, [0]), 3)
        arrays = [array.array("f", logits), array.array("d", logits), tuple(logits),
                  memoryview(bits(logits)).cast("f")]
        if numpy is not None:
            arrays += [numpy.array(logits), numpy.array([logits] * 2, numpy.float32)[1],
                       numpy.repeat(numpy.array(logits, numpy.float32), 2)[::2]]
        for numbers in arrays:
            self.assertEqual(free.process(numbers, [0]).tolist(), [-inf, 2.0, 1.0, -inf])

    def test_a_closed_sampler(self):
        sampler = gpt2cpp.Sampler(4)
        sampler.close()
        with self.assertRaisesRegex(ValueError, "the Sampler is closed"):
            sampler.sample([0.0] * 4, [])


class FindModelTest(unittest.TestCase):
    def test_a_name_becomes_a_path(self):
        self.assertEqual(gpt2cpp.find_model("gpt2-stories"), MODEL)
        with self.assertRaisesRegex(FileNotFoundError, "no-such-model"):
            gpt2cpp.find_model("no-such-model")


class SessionTest(ModelTest):
    def test_a_text_goes_on(self):
        whole = self.model.generate("Once", max_new_tokens=30)
        session = self.model.session()
        parts = [session.generate("Once", max_new_tokens=10),
                 session.generate(max_new_tokens=5), "".join(session.stream(max_new_tokens=15))]
        self.assertEqual("".join(parts), whole)
        self.assertEqual(session.tokens, [443, *whole.token_ids])
        self.assertEqual((len(session), session.capacity), (31, 512))

    def test_ids_that_no_c_number_holds_are_unknown(self):
        tokenizer = self.model.tokenizer
        self.assertEqual(tokenizer.token_bytes(443), b"Once")
        for id in (-1, len(tokenizer), 2**31, 2**32 + 443, 2**64 + 443):
            self.assertEqual(tokenizer.token_bytes(id), b"")
            self.assertFalse(tokenizer.is_special(id))
        self.assertFalse(tokenizer.is_special(2**32 + tokenizer.eos_token_id))
    def test_fork_and_truncate(self):
        session = self.model.session()
        session.append("Once upon a time")
        first = session.generate(", there", temperature=0, max_new_tokens=5)
        fork = session.fork()
        fork.truncate(4)
        self.assertEqual(fork.generate(", there", temperature=0, max_new_tokens=5), first)
        self.assertEqual(fork.tokens, session.tokens)

    def test_save_and_load(self):
        session = self.model.session()
        session.generate("Once", max_new_tokens=10)
        with tempfile.TemporaryDirectory() as scratch:
            session.save(scratch + "/state")
            loaded = self.model.load_session(scratch + "/state", max_tokens=100)
        self.assertEqual(loaded.capacity, 100)
        self.assertEqual(loaded.generate(max_new_tokens=9), session.generate(max_new_tokens=9))

    def test_save_replaces_sessions_and_empty_files_alone(self):
        first, second = self.model.session(), self.model.session()
        first.append([443])
        second.append([443, 452])
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "state")
            path.touch()
            first.save(path)
            second.save(os.fspath(path))
            self.assertEqual(self.model.load_session(path).tokens, [443, 452])
            for content in (b"my novel", b"gpt2", path.read_bytes()[1:]):
                path.write_bytes(content)
                with self.assertRaisesRegex(ValueError, re.escape(str(path))):
                    first.save(path)
                self.assertEqual(path.read_bytes(), content)

    def test_a_loop_of_ones_own(self):
        session = self.model.session()
        token, ids = 443, []
        for _ in range(8):
            logits = session.logits([token]).tolist()
            token = logits.index(max(logits))
            ids.append(token)
        text = self.model.generate([443], temperature=0, max_new_tokens=8)
        self.assertEqual(ids, text.token_ids)

    def test_a_full_session_slides(self):
        session = self.model.session(max_tokens=10)
        ids = list(range(400, 410))
        session.append(ids)
        session.logits()
        dropped = session.slide(keep=2)
        self.assertGreaterEqual(dropped, 4)
        self.assertEqual((session.dropped, session.tokens), (dropped, ids[:2] + ids[2 + dropped:]))
        self.assertEqual(session.slide(keep=2), 0)
        self.assertEqual(session.logits([9]).tolist(),
                         self.model.session().logits(ids[:2] + ids[2 + dropped:] + [9]).tolist())
        with self.assertRaises(ValueError):
            session.slide(keep=8, room=5)

    def test_a_full_session(self):
        session = self.model.session(max_tokens=4)
        session.append([1, 2, 3, 4])
        for options in ({}, {"truncate": True}):
            with self.assertRaises(gpt2cpp.InvalidArgumentError):
                session.generate(" more", **options)
        self.assertEqual(session.generate().finish_reason, "context_full")
        session.generate(" more", overflow="slide", max_new_tokens=2)
        self.assertGreater(session.dropped, 0)

    def test_the_room_of_a_session_ends_a_text(self):
        text = self.model.session(max_tokens=10).generate("Once", ignore_eos=True)
        self.assertEqual(text.finish_reason, "context_full")


class TokenizerTest(ModelTest):
    """Names and results are those of GPT2TokenizerFast."""

    def test_methods_of_transformers(self):
        tokenizer = self.model.tokenizer
        with open(MODEL + "/vocab.json") as file:
            vocab = json.load(file)
        names = sorted(vocab, key=vocab.get)
        self.assertEqual(tokenizer.convert_ids_to_tokens(range(len(names))), names)
        self.assertEqual(tokenizer.convert_tokens_to_ids(names), list(range(len(names))))
        self.assertEqual(tokenizer.convert_tokens_to_ids("no such token"), tokenizer.unk_token_id)
        self.assertEqual(tokenizer.convert_tokens_to_ids(["Once", "no such token"]), [443, 4095])
        self.assertEqual((tokenizer.vocab_size, len(tokenizer)), (4096, 4096))
        self.assertEqual((tokenizer.eos_token_id, tokenizer.eos_token), (4095, "<|endoftext|>"))
        self.assertEqual(tokenizer.encode("<|endoftext|>"), [4095])
        self.assertGreater(len(tokenizer.encode("<|endoftext|>", parse_special=False)), 1)
        self.assertEqual(tokenizer.decode([443, 4095], skip_special_tokens=True), "Once")
        self.assertEqual(tokenizer.decode(443), "Once")
        self.assertEqual(tokenizer.batch_decode([[443], [452]]), ["Once", " upon"])
        # The fast tokenizer leaves out ids that it does not have, and has no name for them.
        self.assertEqual((tokenizer.decode([443, 4096, 452]), tokenizer.decode(99999)),
                         ("Once upon", ""))
        self.assertEqual(tokenizer.decode([443, 4096], skip_special_tokens=True), "Once")
        self.assertEqual(tokenizer.convert_ids_to_tokens([443, 4096]), ["Once", None])
        text = self.model.generate("Once", max_new_tokens=3)
        self.assertEqual(tokenizer.batch_decode([text, [443]]), [text, "Once"])
        self.assertEqual(tokenizer(["Once", ""]), {"input_ids": [[443], []],
                                                   "attention_mask": [[1], []]})

    def test_half_a_character_becomes_a_replacement(self):
        ids = self.model.tokenizer.encode("\u2603")
        self.assertGreater(len(ids), 1)
        self.assertEqual(self.model.tokenizer.decode(ids[:1]), "\ufffd")
        self.assertEqual(self.model.tokenizer.decode_bytes(ids), "\u2603".encode())

    def test_a_model_without_a_tokenizer_takes_ids(self):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("config.json", "model.safetensors"):
                os.symlink(os.path.abspath(f"{MODEL}/{name}"), f"{scratch}/{name}")
            model = gpt2cpp.Model(scratch)
        self.assertIsNone(model.tokenizer)
        text = model.generate([443], max_new_tokens=5)
        self.assertEqual((text, text.token_ids),
                         ("", self.model.generate([443], max_new_tokens=5).token_ids))
        for call in (lambda: model.generate("Once"), lambda: model.stream([443])):
            with self.assertRaises(gpt2cpp.Error):
                call()


class QuantizedTest(ModelTest):
    def test_a_quantized_model_is_saved_and_loaded(self):
        with tempfile.TemporaryDirectory() as scratch:
            small = self.model.convert("int8")
            small.save_quantized(scratch + "/small")
            loaded = gpt2cpp.Model(scratch + "/small")
            self.assertEqual(loaded.dtype, "int8")
            self.assertEqual(loaded.generate("Once"), small.generate("Once"))

    def test_other_weights_are_not_saved(self):
        with tempfile.TemporaryDirectory() as scratch:
            with self.assertRaises(ValueError):
                self.model.save_quantized(scratch + "/small")
            self.assertEqual(os.listdir(scratch), [])


class HelpTest(unittest.TestCase):
    def test_the_help_of_generate_describes_every_option(self):
        text = pydoc.render_doc(gpt2cpp.Model.generate, renderer=pydoc.plaintext)
        self.assertIn("Returns the continuation of the prompt", text)
        listed = gpt2cpp.GenerateOptions.__annotations__
        for name in listed:
            self.assertRegex(text, rf"\n    {name}: \w.*\n        \w")
        for option in _library.described["options"]:
            self.assertIn(option["name"], listed)


class PageTest(ModelTest):
    def test_the_table_names_calls_that_exist(self):
        with open("src/python/gpt2cpp/README.md") as file:
            rows = [line.split("|")[1:3] for line in file if line.startswith("| `")]
        objects = {"model": self.model, "tokenizer": self.model.tokenizer,
                   "session": self.model.session(), "scores": self.model.score("The cat"),
                   "Model": gpt2cpp.Model, "Tokenizer": gpt2cpp.Tokenizer}
        checked = 0
        for theirs, ours in rows:
            here = theirs if ours.strip().startswith("the same") else ours
            for owner, name in re.findall(r"\b(\w+)\.(\w+)", here):
                if owner in objects:
                    self.assertTrue(hasattr(objects[owner], name), f"{owner}.{name}")
                    checked += 1
            if ours.strip().startswith("the same"):
                for name in re.findall(r"`(\w+)`", theirs):
                    self.assertTrue(hasattr(self.model.tokenizer, name), name)
        self.assertGreater(checked, 20)


def load_tests(loader, tests, pattern):
    for module in pkgutil.iter_modules(gpt2cpp.__path__, "gpt2cpp."):
        tests.addTests(doctest.DocTestSuite(module.name))
    tests.addTests(doctest.DocTestSuite(gpt2cpp))
    return tests


if __name__ == "__main__":
    main()
