"""Tests what the Python package does with texts that are too long, empty or wrong, and with what a
tokenizer returned; support.py says how it is run.
"""

import subprocess
import sys

from support import COMMAND, MODEL, ModelTest, main, numpy, run

import gpt2cpp

LONG = [443, 452, 258, 401] * 150  # 600 tokens; the model takes 512


class ProgramTest(ModelTest):
    def test_the_package_writes_the_text_of_the_command(self):
        text = "Once upon a time"
        self.assertEqual(run(sys.executable, "-m", "gpt2cpp", text), run(COMMAND, text))
        wrong = subprocess.run([sys.executable, "-m", "gpt2cpp"], capture_output=True)
        self.assertEqual((wrong.returncode, wrong.stdout), (1, b""))


class TruncateTest(ModelTest):
    def test_a_prompt_loses_its_beginning(self):
        prompt = "Once upon a time" * 150
        self.assertEqual(self.model.tokenizer.encode(prompt), LONG)
        kept = self.model.generate(LONG[97:], max_new_tokens=9)
        for text in (self.model.generate(prompt, truncate=True, max_new_tokens=9),
                     self.model.generate([LONG], truncate=True, max_new_tokens=9)[0],
                     self.model.session().generate(LONG, truncate=True, max_new_tokens=9)):
            self.assertEqual((text.token_ids, text.finish_reason, text.prompt_tokens,
                              text.truncated_tokens),
                             (kept.token_ids, kept.finish_reason, 503, 97))
        beams = self.model.generate(LONG, truncate=True, num_beams=2, max_new_tokens=4)
        self.assertEqual((beams.prompt_tokens, beams.truncated_tokens), (508, 92))
        session = self.model.session(max_tokens=20)  # which has less room
        session.append([443] * 12)
        session.generate([452] * 9, truncate=True, max_new_tokens=2)
        self.assertEqual(session.tokens[:18], [443] * 12 + [452] * 6)

    def test_vectors_and_scores_of_the_first_tokens(self):
        text = list(range(600))
        vectors = self.model.embed([text, [443]], truncate=True)
        self.assertEqual(vectors.tolist()[0], self.model.embed(text[:512]).tolist())
        self.assertEqual(self.model.embed(text, truncate=True).tolist(), vectors.tolist()[0])
        whole, cut = self.model.score(text), self.model.score(text, truncate=True)
        self.assertEqual((whole.n_tokens, cut.n_tokens, cut.n_windows), (599, 511, 1))
        self.assertEqual(cut.nll, self.model.score(text[:512]).nll)
        self.assertEqual(self.model.score(text, context=100, truncate=True).n_tokens, 99)

    def test_what_is_wrong_is_named_with_its_place_in_a_list(self):
        for wrong, found in ((LONG, "600"), (None, "None")):
            with self.assertRaisesRegex(ValueError, "^text 1 of the list: .*" + found):
                self.model.generate(["Once", wrong])


class OnErrorTest(ModelTest):
    def assert_failed(self, results, places):
        self.assertEqual([isinstance(one, gpt2cpp.InvalidArgumentError) for one in results],
                         [place in places for place in range(len(results))])

    def test_prompts(self):
        prompts = ["The cat", LONG, [4096], "One day,", None, ""]
        alone = {j: self.model.generate(prompts[j], max_new_tokens=5, sequence=j)
                 for j in (0, 3, 5)}
        texts = self.model.generate(prompts, max_new_tokens=5, on_error="return")
        self.assert_failed(texts, {1, 2, 4})
        self.assertEqual({j: texts[j] for j in alone}, alone)
        texts = self.model.generate([[443] * 3, [443] * 8], max_length=6, on_error="return")
        self.assert_failed(texts, {1})
        beams = dict(num_beams=2, num_return_sequences=2, max_new_tokens=3)
        texts = self.model.generate(["The cat", LONG], on_error="return", **beams)
        self.assert_failed(texts, {2, 3})
        self.assertEqual(texts[:2], self.model.generate("The cat", **beams))
        self.assert_failed([self.model.generate(LONG, on_error="return")], {0})

    def test_vectors_scores_and_choices(self):
        vectors = self.model.embed(["The cat", LONG, "", [4096], "One day,"], on_error="return")
        self.assert_failed(vectors, {1, 2, 3})
        self.assertEqual(vectors[4].tolist(), self.model.embed("One day,").tolist())
        texts = ["The cat sat", None, [443, 4096], [443, 452]]
        scores = self.model.score(texts, on_error="return")
        self.assert_failed(scores.texts, {1, 2})
        both = self.model.score([texts[0], texts[3]])
        self.assertEqual((scores.nll, scores.n_tokens), (both.nll, both.n_tokens))
        choices = self.model.choices("The cat", [" sat", "", LONG], on_error="return")
        self.assert_failed(choices, {1, 2})
        self.assertEqual(choices[0].sum, self.model.choices("The cat", [" sat"])[0].sum)

    def test_wrong_options_are_no_failures_of_texts(self):
        for options in ({"no_such": 1}, {"temperature": "hot"}, {"suppress_tokens": [4096]},
                        {"num_beams": 2, "repetition_penalty": -1}):
            for prompt in (["Once", "The"], "Once"):
                with self.subTest(options), self.assertRaises(gpt2cpp.InvalidArgumentError):
                    self.model.generate(prompt, on_error="return", **options)


class EncodedTest(ModelTest):
    """What a tokenizer returned, as an argument."""

    def setUp(self):
        self.tokenizer = gpt2cpp.Tokenizer(MODEL)
        self.tokenizer.pad_token = self.tokenizer.eos_token

    def test_padding_is_left_out(self):
        prompts = ["The cat", "Once upon a time"]
        expected = self.model.generate(prompts, max_new_tokens=5)
        vectors, nll = self.model.embed(prompts).tolist(), self.model.score(prompts).nll
        for side in ("left", "right"):
            for tensors in (None,) if numpy is None else (None, "np"):
                batch = self.tokenizer(prompts, padding="max_length", max_length=9,
                                       padding_side=side, return_tensors=tensors)
                self.assertEqual(self.model.generate(batch, max_new_tokens=5), expected)
                self.assertEqual(self.model.generate(**batch, max_new_tokens=5), expected)
                self.assertEqual(self.model.embed(**batch).tolist(), vectors)
                self.assertEqual(self.model.score(batch).nll, nll)

    def test_one_text(self):
        text = self.model.generate("The cat", max_new_tokens=5)
        logits = self.model.logits("The cat").tolist()
        state = self.model.hidden_states("The cat")[3].tolist()
        for tensors in (None,) if numpy is None else (None, "np"):
            one = self.tokenizer("The cat", return_tensors=tensors)
            for call in (self.model.session().generate,
                         lambda *a, **o: "".join(self.model.stream(*a, **o))):
                self.assertEqual(call(**one, max_new_tokens=5), text)
            self.assertEqual(self.model.session().generate(one, max_new_tokens=5), text)
            for arguments in ((one,), (one.input_ids,)):
                self.assertEqual(self.model.logits(*arguments).tolist(), logits)
            self.assertEqual(self.model.hidden_states(**one)[3].tolist(), state)
            seen = self.model.observe(**one, what="block_output", layers=[2])
            self.assertEqual(seen["block_output", 2].tolist(), state)

    def test_tensors(self):
        """As torch's: a tensor gives tensors, one of no dimension is a number but has __iter__, and
        one of a single number has __index__, whatever its dimension."""
        class Tensor:
            def __init__(self, content):
                self.content = content.content if isinstance(content, Tensor) else content

            def tolist(self):
                return self.content

            def __iter__(self):
                if not isinstance(self.content, list):
                    raise TypeError("iteration over a 0-d tensor")
                return iter([Tensor(one) for one in self.content])

            def __len__(self):
                return len([*self])

            def __index__(self):
                content = self.content
                while isinstance(content, list) and len(content) == 1:
                    content, = content
                if isinstance(content, list):
                    raise TypeError("only integer tensors of a single element have an index")
                return content

        model, tokenizer = self.model, self.tokenizer
        ids = tokenizer.encode("Once upon a time")
        greedy = dict(max_new_tokens=5, do_sample=False)
        text = model.generate(ids, **greedy)
        logits, nll = model.logits(ids).tolist(), model.score(ids).nll
        session, sampler = model.session(), gpt2cpp.Sampler(model.vocab_size, do_sample=False)
        row, rows, listed = Tensor(ids), Tensor([ids]), [Tensor(id) for id in ids]
        for one in (row, rows, listed, [row]):
            given = [text] if one in (rows, [row]) else text
            self.assertEqual(model.generate(one, **greedy), given)
            self.assertEqual(session.generate(one, **greedy), text)
            session.truncate(0)
            self.assertEqual(model.logits(one).tolist(), logits)
            self.assertEqual(model.score(one).nll, nll)
            self.assertEqual(sampler.sample(logits[-1], one), text.token_ids[0])
            self.assertEqual(tokenizer.decode(one), "Once upon a time")
            self.assertEqual([*model.choices(one, [row, listed])],
                             [*model.choices(ids, [ids, ids])])
        padded = Tensor([ids, [443] + [4095] * 3])
        marks = Tensor([[1] * 4, [1, 0, 0, 0]])
        batch = dict(input_ids=padded, attention_mask=marks)
        expected = [text, model.generate([443], **greedy)]
        self.assertEqual(model.generate(batch, **greedy), expected)
        self.assertEqual(model.generate(**batch, **greedy), expected)
        for each in ([rows, Tensor([[443]])], [{"input_ids": rows}, {"input_ids": Tensor([443])}]):
            self.assertEqual(model.generate(each, **greedy), expected)
            self.assertEqual(model.score(each).nll, nll)  # without the single token
            self.assertEqual(model.choices("The", each), model.choices("The", [ids, [443]]))
            self.assertEqual(model.embed(each).tolist(), model.embed([ids, [443]]).tolist())
        self.assertEqual(tokenizer.batch_decode(padded)[1], "Once" + 3 * "<|endoftext|>")
        self.assertEqual(model.generate(ids, logit_bias={Tensor(443): 100}, **greedy),
                         model.generate(ids, logit_bias={443: 100}, **greedy))
        self.assertEqual(tokenizer.decode(Tensor(443)), "Once")
        self.assertEqual(tokenizer.convert_ids_to_tokens(Tensor([443])), ["Once"])
        self.assertEqual(model.embed([Tensor([443]), row]).tolist(),
                         model.embed([[443], ids]).tolist())
        for call in (lambda: model.logits(padded), lambda: model.score(Tensor(443)),
                     lambda: model.logits(Tensor([1.5])), lambda: tokenizer.decode(padded)):
            with self.assertRaises(gpt2cpp.InvalidArgumentError):
                call()

    def test_wrong_combinations(self):
        one, two = self.tokenizer("The cat"), self.tokenizer(["The cat", "Once"], padding=True)
        cases = [
            ("input_ids", lambda: self.model.generate("The cat", input_ids=[443])),
            ("input_ids", lambda: self.model.embed("The cat", **one)),
            ("input_ids", lambda: self.model.logits(input_ids="Once")),
            ("input_ids", lambda: self.model.logits({"attention_mask": [1]})),
            ("attention_mask", lambda: self.model.generate(input_ids=[1, 2], attention_mask=[1])),
            ("text", lambda: self.model.logits(**two)),
            ("prompt", lambda: self.model.session().generate(**two))]
        for name, call in cases:
            with self.subTest(name), self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, name):
                call()

    def test_the_config_has_attributes(self):
        self.assertEqual((self.model.config.n_layer, self.model.config["n_layer"]), (6, 6))
        with self.assertRaisesRegex(AttributeError, "hidden_size"):
            self.model.config.hidden_size


main()
