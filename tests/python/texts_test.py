"""Tests what the Python package does with texts that are too long, empty or wrong; support.py says
how it is run.
"""

import tempfile

from support import MODEL, ModelTest, command, main

import gpt2cpp

try:
    import numpy
except ImportError:
    numpy = None

LONG = [443, 452, 258, 401] * 150  # 600 tokens; the model takes 512


class TruncateTest(ModelTest):
    def test_a_prompt_loses_its_beginning_as_with_the_command(self):
        prompt = "Once upon a time" * 150
        self.assertEqual(self.model.tokenizer.encode(prompt), LONG)
        with tempfile.TemporaryDirectory() as scratch:
            with open(scratch + "/prompt", "w") as file:
                file.write(prompt)
            for n in (9, 511, 600):
                line = command("--json", "--truncate", "-n", n, "-f", file.name)[0]
                text = self.model.generate(prompt, truncate=True, max_new_tokens=n)
                self.assertEqual((text, text.token_ids, text.finish_reason),
                                 (line["text"], line["token_ids"], line["finish_reason"]))

    def test_there_is_room_for_the_new_tokens(self):
        # MANUAL.md: so that there is room for the new tokens or, if the context has no room for so
        # many, for one token.
        for options, kept in (({"max_new_tokens": 9}, 503), ({"max_new_tokens": 511}, 1),
                              ({"max_new_tokens": 512}, 511), ({}, 256)):
            with self.subTest(options):
                calls = [
                    lambda: self.model.generate(LONG, truncate=True, **options),
                    lambda: self.model.generate([LONG], truncate=True, **options)[0],
                    lambda: self.model.session().generate(LONG, truncate=True, **options),
                    lambda: self.model.generate(LONG, truncate=True, on_error="return", **options),
                    lambda: self.streamed(LONG, truncate=True, **options),
                ]
                expected = self.model.generate(LONG[-kept:], **options)
                for call in calls:
                    text = call()
                    self.assertEqual((text.token_ids, text.prompt_tokens, text.truncated_tokens),
                                     (expected.token_ids, kept, 600 - kept))
        beams = self.model.generate(LONG, truncate=True, num_beams=2, max_new_tokens=4)
        self.assertEqual((beams.prompt_tokens, beams.truncated_tokens), (508, 92))

    def streamed(self, prompt, **options):
        stream = self.model.stream(prompt, **options)
        for _ in stream:
            pass
        return stream.result

    def test_a_prompt_that_fits_stays_whole(self):
        text = self.model.generate(LONG[:512], truncate=True, max_new_tokens=9)
        self.assertEqual((text.prompt_tokens, text.truncated_tokens), (512, 0))

    def test_a_session_has_less_room(self):
        session = self.model.session(max_tokens=20)
        session.append([443] * 12)
        with self.assertRaisesRegex(ValueError, "prompt has 9 tokens, but there is room for 8 at"):
            session.generate([452] * 9)
        session.generate([452] * 9, truncate=True, max_new_tokens=2)
        self.assertEqual(session.tokens[:18], [443] * 12 + [452] * 6)

    def test_a_vector_is_that_of_the_first_tokens(self):
        text = list(range(600))
        vectors = self.model.embed([text, [443]], truncate=True)
        self.assertEqual(vectors.tolist()[0], self.model.embed(text[:512]).tolist())
        self.assertNotEqual(vectors.tolist()[0], self.model.embed(text[-512:]).tolist())
        self.assertEqual(self.model.embed(text, truncate=True).tolist(), vectors.tolist()[0])

    def test_a_score_is_that_of_the_first_window(self):
        text = list(range(600))
        whole = self.model.score(text)
        cut = self.model.score(text, truncate=True)
        self.assertEqual((whole.n_tokens, cut.n_tokens, cut.n_windows), (599, 511, 1))
        self.assertEqual(cut.nll, self.model.score(text[:512]).nll)
        self.assertEqual(self.model.score(text, context=100, truncate=True).n_tokens, 99)

    def test_without_it_messages_say_what_to_do(self):
        calls = [
            ("^the prompt has 600 tokens, but there is room for 512 at most: shorten it, or give "
             "truncate=True to leave out its beginning$", lambda: self.model.generate(LONG)),
            ("^the prompt has 600 tokens, but there is room for 512",
             lambda: self.model.generate(LONG, overflow="slide")),
            ("^the prompt has 600 tokens, but there is room for 512",
             lambda: self.model.generate(LONG, num_beams=2)),
            ("^text 1 of the list: the prompt has 600 tokens",
             lambda: self.model.generate(["Once", LONG])),
            ("^the text has 600 tokens, but the model takes at most 512: shorten or divide it, or "
             "give truncate=True to leave out its end$", lambda: self.model.embed(LONG)),
            ("^text 2 of the list: the text has 600 tokens",
             lambda: self.model.embed(["Once", "The", LONG])),
        ]
        for message, call in calls:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                call()
        with self.assertRaisesRegex(TypeError, "truncate: expected True or False, found 'end'"):
            self.model.generate("Once", truncate="end")


class OnErrorTest(ModelTest):
    def test_a_list_of_prompts(self):
        prompts = ["The cat", LONG, [4096], "One day,", None]
        alone = {j: self.model.generate(prompts[j], max_new_tokens=5, sequence=j) for j in (0, 3)}
        texts = self.model.generate(prompts, max_new_tokens=5, on_error="return")
        self.assertEqual(len(texts), 5)
        self.assertEqual({j: texts[j] for j in alone}, alone)
        self.assertIsInstance(texts[1], gpt2cpp.InvalidArgumentError)
        self.assertIn("600 tokens", str(texts[1]))
        self.assertIn("token id 4096 is outside", str(texts[2]))
        self.assertIsInstance(texts[4], TypeError)

    def test_an_empty_prompt_begins_a_text(self):
        options = dict(max_new_tokens=5, do_sample=False)
        self.assertEqual(self.model.generate(["Once", ""], **options)[1],
                         self.model.generate("", **options))

    def test_a_length_that_some_prompts_exceed(self):
        texts = self.model.generate([[443] * 3, [443] * 8], max_length=6, on_error="return")
        self.assertEqual(len(texts[0].token_ids), 3)
        self.assertRegex(str(texts[1]), "max_length is 6 and includes the prompt")

    def test_beams(self):
        texts = self.model.generate(["The cat", LONG], num_beams=2, num_return_sequences=2,
                                    max_new_tokens=3, on_error="return")
        self.assertEqual([isinstance(text, ValueError) for text in texts],
                         [False, False, True, True])
        self.assertEqual(texts[:2], self.model.generate(
            "The cat", num_beams=2, num_return_sequences=2, max_new_tokens=3))

    def test_copies_of_a_prompt(self):
        texts = self.model.generate(LONG, num_return_sequences=2, on_error="return")
        self.assertEqual([type(text) for text in texts], [gpt2cpp.InvalidArgumentError] * 2)

    def test_vectors(self):
        vectors = self.model.embed(["The cat", LONG, "", [4096], "One day,"], on_error="return")
        self.assertIsInstance(vectors, list)
        self.assertEqual(vectors[0].tolist(), self.model.embed("The cat").tolist())
        self.assertEqual(vectors[4].tolist(), self.model.embed("One day,").tolist())
        for error, message in zip(vectors[1:4], ("600 tokens", "no tokens", "token id 4096")):
            self.assertIsInstance(error, ValueError)
            self.assertIn(message, str(error))

    def test_scores(self):
        texts = ["The cat sat", "", [443, 4096], [443, 452]]
        scores = self.model.score(texts, on_error="return")
        both = self.model.score([texts[0], texts[3]])
        self.assertEqual((scores.nll, scores.n_tokens), (both.nll, both.n_tokens))
        self.assertEqual([str(text) for text in (scores.texts[0], scores.texts[3])],
                         [str(text) for text in both.texts])
        self.assertIn("the text is empty", str(scores.texts[1]))
        self.assertIn("token id 4096", str(scores.texts[2]))

    def test_a_single_text(self):
        for result in (self.model.generate(LONG, on_error="return"),
                       self.model.embed(LONG, on_error="return"),
                       self.model.score("", on_error="return").texts[0]):
            self.assertIsInstance(result, gpt2cpp.InvalidArgumentError)

    def test_wrong_options_are_no_failures_of_texts(self):
        for options in ({"no_such": 1}, {"temperature": "hot"}, {"max_new_tokens": -1},
                        {"temperature": -5}, {"suppress_tokens": [4096]}, {"top_p": 2},
                        {"num_beams": 2, "no_such": 1},
                        {"num_beams": 2, "repetition_penalty": -1}):
            for prompt in (["Once", "The"], "Once"):
                with self.subTest(options), self.assertRaises((TypeError, ValueError)):
                    self.model.generate(prompt, on_error="return", **options)
        with self.assertRaisesRegex(ValueError, "on_error: expected one of raise, return"):
            self.model.embed(["Once"], on_error="ignore")

    def test_all_options_are_taken(self):
        options = dict(max_length=9, truncate=True, forced_eos_token_id=13, min_length=3, seed=2,
                       forced_bos_token_id=11, exponential_decay_length_penalty=(2, 1.1))
        for more in ({}, {"num_beams": 2}):
            if more:
                options.pop("seed", None)
            expected = self.model.generate(["The cat"], **options, **more)
            self.assertEqual(self.model.generate(["The cat"], on_error="return", **options, **more),
                             expected)

    def test_exceptions_of_callbacks_are_raised(self):
        class Oops(ValueError):
            pass

        def fails(*_):
            raise Oops

        for prompt in (["Once", "The"], "Once"):
            for options in ({}, {"num_beams": 2}):
                with self.subTest(prompt, options=options), self.assertRaises(Oops):
                    self.model.generate(prompt, on_error="return", logits_processor=fails,
                                        **options)


class EncodedTest(ModelTest):
    """What a tokenizer returned, as an argument."""

    def setUp(self):
        self.tokenizer = gpt2cpp.Tokenizer(MODEL)
        self.tokenizer.pad_token = self.tokenizer.eos_token

    def test_padding_is_left_out(self):
        prompts = ["The cat", "Once upon a time"]
        expected = self.model.generate(prompts, max_new_tokens=5)
        for side in ("left", "right"):
            self.tokenizer.padding_side = side
            batch = self.tokenizer(prompts, padding="max_length", max_length=9)
            self.assertEqual(len(batch.input_ids[0]), 9)
            self.assertEqual(self.model.generate(batch, max_new_tokens=5), expected)
            self.assertEqual(self.model.generate(**batch, max_new_tokens=5), expected)
            vectors, nll = self.model.embed(prompts).tolist(), self.model.score(prompts).nll
            self.assertEqual(self.model.embed(batch).tolist(), vectors)
            self.assertEqual(self.model.embed(**batch).tolist(), vectors)
            self.assertEqual((self.model.score(batch).nll, self.model.score(**batch).nll),
                             (nll, nll))
        for call in (self.model.embed, self.model.score):
            with self.assertRaisesRegex(ValueError, "^texts, input_ids: give only one of them$"):
                call("The cat", **batch)
            with self.assertRaisesRegex(ValueError, "^the text (is empty|has no tokens)"):
                call()

    def test_one_text(self):
        one = self.tokenizer("The cat")
        text = self.model.generate("The cat", max_new_tokens=5)
        for call in (lambda: self.model.generate(one, max_new_tokens=5),
                     lambda: self.model.generate(**one, max_new_tokens=5),
                     lambda: self.model.session().generate(one, max_new_tokens=5),
                     lambda: self.model.session().generate(**one, max_new_tokens=5),
                     lambda: "".join(self.model.stream(**one, max_new_tokens=5))):
            self.assertEqual(call(), text)
        logits = self.model.logits("The cat").tolist()
        self.assertEqual(self.model.logits(one).tolist(), logits)
        self.assertEqual(self.model.logits(**one).tolist(), logits)
        states = [row.tolist() for row in self.model.hidden_states("The cat")]
        self.assertEqual([row.tolist() for row in self.model.hidden_states(**one)], states)
        seen = self.model.observe(**one, what="block_output", layers=[2])
        self.assertEqual(seen["block_output", 2].tolist(), states[3])
        no_mask = self.model.generate(input_ids=one.input_ids, max_new_tokens=5)
        self.assertEqual(no_mask, text)
        if numpy is not None:
            batch = self.tokenizer(["The cat"], return_tensors="np")
            self.assertEqual(self.model.generate(**batch, max_new_tokens=5), [text])
            self.assertEqual("".join(self.model.stream(**batch, max_new_tokens=5)), text)
            self.assertEqual(self.model.logits(**batch).tolist(), logits)

    def test_calls_for_one_text_refuse_several(self):
        two = self.tokenizer(["The cat", "Once upon a time"], padding=True)
        for call in (self.model.logits, self.model.stream, self.model.session().generate):
            with self.assertRaisesRegex(TypeError, "^(text|prompt): expected one text or its token "
                                                   "ids, found .*: make a call for each text$"):
                call(**two)

    def test_a_model_is_not_called(self):
        inputs = self.tokenizer("The cat")
        for call in (lambda: self.model(**inputs), lambda: self.model([443], labels=[443])):
            with self.assertRaisesRegex(TypeError, r"^a Model is not a function: call "
                                                   r"model.logits\(inputs\), "
                                                   r"model.hidden_states\(inputs\) or, for the "
                                                   r"loss, model.score\(inputs\)$"):
                call()
        for call in (self.model.logits, self.model.hidden_states, self.model.score):
            call(inputs)  # as it says

    def test_names_that_only_transformers_has(self):
        for name, use in (("AutoTokenizer", "gpt2cpp.Tokenizer, or the tokenizer of a Model"),
                          ("GPT2LMHeadModel", "gpt2cpp.Model"),
                          ("set_seed", r"model.generate.text, seed=\.\.\.."),
                          ("TextStreamer", r"for piece in model.stream.text.")):
            with self.assertRaisesRegex(ImportError, f"^module 'gpt2cpp' has no attribute '{name}'"
                                                     f": use {use}$"):
                exec(f"from gpt2cpp import {name}")
            with self.assertRaisesRegex(AttributeError, f"has no attribute '{name}': use {use}$"):
                getattr(gpt2cpp, name)
            self.assertEqual((hasattr(gpt2cpp, name), getattr(gpt2cpp, name, 5)), (False, 5))
        with self.assertRaisesRegex(ImportError, "^cannot import name 'no_such' from 'gpt2cpp'"):
            exec("from gpt2cpp import no_such")
        with self.assertRaisesRegex(AttributeError, "'gpt2cpp' has no attribute 'no_such'$"):
            gpt2cpp.no_such
        text = self.model.generate("The cat", max_new_tokens=1)
        for object, name, use in ((self.model, "num_parameters", "model.parameter_count"),
                                  (self.model, "save_pretrained", "model.save_quantized.path."),
                                  (text, "text", "it as it is, because a Generation is a str")):
            kind = type(object).__name__
            with self.assertRaisesRegex(AttributeError, f"^'{kind}' object has no attribute "
                                                        f"'{name}': use {use}$"):
                getattr(object, name)
            with self.assertRaisesRegex(AttributeError, f"^'{kind}' object has no attribute 'x'$"):
                object.x
            self.assertFalse(hasattr(object, "x"))

    def test_names_that_need_no_other(self):
        files = "because a tokenizer has only the tokens that its files name"
        for object, name, advice in (
                (self.model, "cuda", "leave it out, because gpt2cpp computes on the CPU alone"),
                (self.model, "train", "leave it out, because gpt2cpp does not train"),
                (self.tokenizer, "apply_chat_template", "give a text, because GPT-2 has no chat "
                                                        "template"),
                (self.tokenizer, "add_tokens", f"leave it out, {files}"),
                (self.tokenizer, "add_special_tokens",
                 f"set tokenizer.pad_token = tokenizer.eos_token to pad, {files}"),
                (self.tokenizer, "save_pretrained", "copy its files from model.path, as "
                                                    "model.save_quantized(path) does")):
            with self.assertRaises(AttributeError) as caught:
                getattr(object, name)
            self.assertEqual(str(caught.exception), f"{type(object).__name__!r} object has no "
                                                    f"attribute {name!r}: {advice}")

    def test_what_generate_returned_needs_no_decoding(self):
        decode, options = self.tokenizer.decode, dict(max_new_tokens=3, do_sample=False)
        text, texts = (self.model.generate(one, **options) for one in ("Once", ["Once", "The"]))
        self.assertEqual((decode(text), decode(texts[0])), (text, text))
        self.assertEqual(self.tokenizer.batch_decode(texts), texts)
        for wrong in (texts, text[0], str(text)):
            with self.assertRaisesRegex(TypeError, "^token_ids: expected token ids, found ' .*', a "
                                                   "text already, as generate.. returns it: leave"):
                decode(wrong)

    def test_hints_are_needed(self):
        from gpt2cpp._hints import GENERATION, IMPORTS, MODEL, TOKENIZER
        text = self.model.generate("The cat", max_new_tokens=1)
        for object, hints in ((self.model, MODEL), (text, GENERATION), (gpt2cpp, IMPORTS),
                              (self.tokenizer, TOKENIZER)):
            self.assertFalse(hints.keys() & {*dir(object)})
            for advice in hints.values():
                self.assertRegex(advice, "^(use|give|set|copy|leave it out, because) (?!use )")

    def test_the_config_has_attributes(self):
        self.assertEqual((self.model.config.n_layer, self.model.config["n_layer"]), (6, 6))
        with self.assertRaisesRegex(AttributeError, "^no hidden_size: found .*n_layer"):
            self.model.config.hidden_size

    def test_a_model_is_on_the_cpu_and_ready(self):
        self.assertIs(self.model.to("cpu").eval(), self.model)
        inputs = self.tokenizer("The cat")
        self.assertIs(inputs.to(self.model.device), inputs)
        with self.assertRaisesRegex(gpt2cpp.UnsupportedError, "^device: expected cpu, because"):
            self.model.to("cuda")

    def test_a_mask_beside_ids(self):
        text = self.model.generate("The cat", max_new_tokens=5)
        ids = self.tokenizer.encode("The cat")
        padded, mask = [self.tokenizer.eos_token_id] * 2 + ids, [0, 0, *[1] * len(ids)]
        kinds = [list] if numpy is None else [list, numpy.array]
        for kind in kinds:
            self.assertEqual(self.model.generate(kind(padded), attention_mask=kind(mask),
                                                 max_new_tokens=5), text)
            self.assertEqual(self.model.generate(kind([padded]), attention_mask=kind([mask]),
                                                 max_new_tokens=5), [text])
            self.assertEqual("".join(self.model.stream(kind(padded), attention_mask=kind(mask),
                                                       max_new_tokens=5)), text)
            self.assertEqual(self.model.generate(kind([padded]), attention_mask=kind([mask]),
                                                 num_beams=2, max_new_tokens=5),
                             self.model.generate(["The cat"], num_beams=2, max_new_tokens=5))

    def test_a_prompt_beside_ids(self):
        for prompt in ("The cat", [443], ["The cat"], []):
            with self.assertRaisesRegex(ValueError, "^prompt, input_ids: give only one of them$"):
                self.model.generate(prompt, input_ids=[443])
        for call in (self.model.generate, self.model.stream, self.model.logits):
            with self.assertRaisesRegex(TypeError, "^input_ids: expected token ids, found 'Once'$"):
                call(input_ids="Once")
        with self.assertRaisesRegex(ValueError, "^text, input_ids: give only one of them$"):
            self.model.logits("The cat", input_ids=[443])

    def test_wrong_masks(self):
        pipe = gpt2cpp.pipeline(model=self.model)
        for error, message, prompt, mask in (
                (ValueError, "expected 2 items, as input_ids has, found 1$", [1, 2], [1]),
                (ValueError, "expected 2 items, as input_ids has, found 1$", [[1, 2]], [[1]]),
                (TypeError, "expected 0 or 1 for each token id, found 1$", [[1, 2]], [1]),
                (TypeError, "expected 0 or 1 for each token id, found 1$", [1, 2], 1),
                (TypeError, "expected 0 or 1 for each token id, found '11'$", [1, 2], "11"),
                (TypeError, r"expected True or False, found \[1, 1\]$", [1], [[1, 1]]),
                (TypeError, "expected True or False, found 2$", [1, 2], [1, 2]),
                (ValueError, "is for token ids, and cannot be combined with 'The cat': leave it "
                             "out$", "The cat", [1, 1]),
                (ValueError, "is for token ids, .* with 'The': leave it out$", ["The"], [[1]]),
                (ValueError, "is for token ids, .* with {", {"input_ids": [1]}, [1])):
            with self.subTest(prompt, mask=mask), \
                    self.assertRaisesRegex(error, "^attention_mask: " + message):
                self.model.generate(prompt, attention_mask=mask)
        with self.assertRaisesRegex(ValueError, "^attention_mask: is for token ids"):
            pipe("The cat", attention_mask=[1, 1])
        session = self.model.session()
        for call in (self.model.stream, self.model.astream, session.generate, session.stream):
            with self.assertRaisesRegex(ValueError, "^attention_mask: expected 2 items"):
                call([1, 2], attention_mask=[1])
            with self.assertRaisesRegex(ValueError, "^attention_mask: leaves no token"):
                call([1, 2], attention_mask=[0, 0])

    def test_wrong_dicts(self):
        for wrong, message in (({"ids": [1]}, "expected a dict with input_ids"),
                               ({"input_ids": [1, 2], "attention_mask": [1]},
                                "attention_mask: expected 2 items")):
            with self.assertRaisesRegex(ValueError, message):
                self.model.generate(wrong)
        with self.assertRaisesRegex(ValueError, "the text has 600 tokens, but the model takes at "
                                                "most 512: shorten or divide it$"):
            self.model.logits(LONG)
        for call in (self.model.hidden_states, self.model.observe):
            with self.assertRaisesRegex(ValueError, "^the text has 600 tokens, but the model takes "
                                                    "at most 512: shorten or divide it$"):
                call(LONG)


class PlaceTest(ModelTest):
    def test_a_wrong_text_of_a_list_is_numbered_from_0(self):
        # Python counts from 0, and so does every function that takes a list.
        message = "^text 1 of the list: token id 4096 is outside the model's vocabulary of 4096$"
        for call in (self.model.generate, self.model.score, self.model.embed,
                     lambda texts: self.model.choices("The cat", texts)):
            with self.assertRaisesRegex(ValueError, message):
                call([[443, 452], [443, 4096], [443, 452]])
        for call in (self.model.score, self.model.embed):
            with self.assertRaisesRegex(ValueError, "^token id -1 is outside the model's voc"):
                call([443, -1])


    def test_every_list_of_prompts_numbers_its_texts(self):
        for prompts in ([LONG], [LONG, "The cat"]):
            for options in ({}, {"num_beams": 2}):
                with self.subTest(len(prompts), options=options), self.assertRaisesRegex(
                        ValueError, "^text 0 of the list: the prompt has 600 tokens"):
                    self.model.generate(prompts, **options)
                with self.assertRaisesRegex(ValueError, "^text 0 of the list: max_length is 9 "):
                    self.model.generate([[443] * 9, *prompts[1:]], max_length=9, **options)
        for options in ({}, {"num_beams": 2}):
            with self.assertRaisesRegex(ValueError, "^the prompt has 600 tokens"):
                self.model.generate(LONG, **options)

    def test_a_wrong_option_is_no_matter_of_a_text(self):
        for prompts in ("Once", ["Once"], ["Once", "The"]):
            for options in ({}, {"num_beams": 2}):
                with self.subTest(prompts, options=options), self.assertRaisesRegex(
                        ValueError, "^forced_bos_token_id has the token 9999"):
                    self.model.generate(prompts, forced_bos_token_id=9999, **options)


class TooShortTest(ModelTest):
    def test_an_empty_list_has_no_score(self):
        for empty in ([], (), iter([])):
            with self.assertRaisesRegex(ValueError, "^the list of texts is empty, so there is "
                                                    "nothing to score: give at least one text$"):
                self.model.score(empty)
        self.assertEqual(len(self.model.embed([])), 0)

    def test_a_text_of_less_than_two_tokens_has_no_score(self):
        for text, found in (("", "is empty"), ("Once", "has one token"), ([443], "has one token")):
            message = (f"the text {found}, so there is nothing to score: give at least two tokens, "
                       "because nothing predicts the first one$")
            with self.assertRaisesRegex(ValueError, "^" + message):
                self.model.score(text)
            with self.assertRaisesRegex(ValueError, "^text 1 of the list: " + message):
                self.model.score(["The cat", text])


class ChoicesTest(ModelTest):
    def test_a_long_context_loses_its_beginning(self):
        message = ("^text 0 of the list: the context and the continuation have 601 tokens, but the "
                   "model takes at most 513: shorten the context, or give truncate=True to leave "
                   "out its beginning$")
        with self.assertRaisesRegex(ValueError, message):
            self.model.choices(LONG, [[258]])
        choices = self.model.choices(LONG, [[258], [401, 317]], truncate=True)
        self.assertEqual(choices, self.model.choices(LONG[-511:], [[258], [401, 317]]))
        for truncate in (False, True):
            whole = self.model.choices([443], [LONG[:512]], truncate=truncate)
            self.assertEqual(len(whole[0].tokens), 512)
            with self.assertRaisesRegex(ValueError, "continuation has 513 tokens, but the model "
                                                    "takes at most 512: shorten it$"):
                self.model.choices([443], [LONG[:513]], truncate=truncate)

    def test_a_continuation_that_fails_alone(self):
        given = [" sat", "", LONG, [4096], None, " was"]
        choices = self.model.choices("The cat", given, on_error="return")
        self.assertEqual([choices[0], choices[5]], self.model.choices("The cat", [" sat", " was"]))
        for error, message in zip(choices[1:5], ("no tokens", "600 tokens", "token id 4096",
                                                 "expected a text")):
            self.assertIn(message, str(error))
        self.assertEqual(len(self.model.choices("The cat", [""], on_error="return")), 1)
        for wrong in (dict(context=""), dict(on_error="ignore"), dict(truncate="end")):
            with self.subTest(wrong), self.assertRaises((TypeError, ValueError)):
                self.model.choices(**{"context": "The cat", "continuations": [" sat"],
                                      "on_error": "return", **wrong})


if __name__ == "__main__":
    main()
