"""Runs programs like those in transformers' documentation of GPT-2, with the imports and the spelling
of the calls that the package's README names. support.py says how it is run.

Expected values come from tests/data/bundled_model.json, which PyTorch has made, from
tests/data/oracle, or from the definitions of top_k and top_p.
"""

import json
import math
import os
import unittest

from oracle import DATA, Golden
from support import MODEL, main

from gpt2cpp import Model, pipeline

try:
    import numpy
except ImportError:
    numpy = None


def log_softmax(row):
    top = max(row)
    total = top + math.log(sum(math.exp(x - top) for x in row))
    return [x - total for x in row]


class GenerationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open("tests/data/bundled_model.json") as file:
            golden = json.load(file)["prompts"]
        cls.prompts = [one["prompt"] for one in golden]
        cls.expected = [one["greedy_text"] for one in golden]
        cls.n_new = len(golden[0]["greedy_ids"])
        cls.model = Model.from_pretrained(MODEL)
        cls.tokenizer = cls.model.tokenizer
        cls.tokenizer.pad_token, cls.tokenizer.padding_side = cls.tokenizer.eos_token, "left"

    def test_pipeline(self):
        generator = pipeline("text-generation", model=MODEL)
        found = generator(self.prompts[0], max_new_tokens=self.n_new, do_sample=False)
        self.assertEqual(found[0]["generated_text"], self.prompts[0] + self.expected[0])

    def test_generate_and_decode(self):
        for tensors in (None, "np") if numpy is not None else (None,):
            inputs = self.tokenizer(self.prompts, padding=True, return_tensors=tensors)
            outputs = self.model.generate(
                **inputs, max_new_tokens=self.n_new, do_sample=False, use_cache=True,
                pad_token_id=self.tokenizer.eos_token_id, eos_token_id=self.tokenizer.eos_token_id)
            texts = self.tokenizer.batch_decode(outputs, skip_special_tokens=True)
            self.assertEqual(texts, self.expected)
            self.assertEqual(self.tokenizer.decode(outputs[0], skip_special_tokens=True), texts[0])

    def test_numbers_for_what_the_tokenizer_returned(self):
        for tensors in (None, "np") if numpy is not None else (None,):
            inputs = self.tokenizer(self.prompts[:1], return_tensors=tensors)
            logits = self.model.logits(self.prompts[0]).tolist()
            self.assertEqual(self.model.logits(inputs).tolist(), logits)
            self.assertEqual(self.model.logits(inputs.input_ids).tolist(), logits)
            self.assertEqual(self.model.hidden_states(inputs)[-1].tolist(),
                             self.model.hidden_states(self.prompts[0])[-1].tolist())

    def test_streamer(self):
        tokenizer, pieces = self.tokenizer, []

        class Streamer:
            is_prompt = True

            def put(self, ids):
                if not self.is_prompt:
                    pieces.append(tokenizer.decode(ids))
                self.is_prompt = False

            def end(self):
                pieces.append(None)

        self.model.generate(**tokenizer(self.prompts[0]), streamer=Streamer(), do_sample=False,
                            max_new_tokens=self.n_new)
        self.assertEqual("".join(pieces[:-1]), self.expected[0])
        self.assertIsNone(pieces[-1])

    def test_sampling_stays_in_the_nucleus(self):
        top_k, top_p = 50, 0.9
        samples = self.model.generate(self.prompts[0], do_sample=True, top_k=top_k, top_p=top_p,
                                      temperature=1.0, max_new_tokens=12, num_return_sequences=3)
        self.assertEqual(len(set(samples)), 3)
        prompt = self.tokenizer(self.prompts[0]).input_ids
        for sample in samples:
            ids = [*prompt, *sample.token_ids]
            for row, id in zip(self.model.logits(ids).tolist()[len(prompt) - 1:], sample.token_ids):
                best = sorted(row, reverse=True)[:top_k]
                shares = [math.exp(x) for x in log_softmax(best)]
                larger = sum(share for x, share in zip(best, shares) if x > row[id])
                self.assertGreaterEqual(row[id], best[-1])
                self.assertLess(larger, top_p + 1e-5)

    def test_greedy_with_every_processor(self):
        golden, models, compared = Golden(f"{DATA}/oracle/decoding/greedy.json"), {}, 0
        for entry in golden.json["entries"]:
            path = f"{DATA}/{golden.json['models'][entry['model']]['checkpoint']}"
            if "nan_steps" in entry or not os.path.exists(path):
                continue  # HuggingFace chose a token whose score was NaN
            options, expected = dict(entry["generate"], do_sample=False), entry["new_ids"]
            if "sequence_bias" in options:
                options["sequence_bias"] = {tuple(ids): float(bias)
                                            for ids, bias in options["sequence_bias"]}
            ends = options["eos_token_id"]
            if ends is None:
                options["eos_token_id"] = []  # because None means the model's own
            elif expected[-1] in (ends if isinstance(ends, list) else [ends]):
                expected = expected[:-1]  # the token that ends a text is not part of it
            models.setdefault(path, Model(path))
            with self.subTest(entry["id"], options=options):
                text = models[path].generate(entry["input_ids"], **options)
                self.assertEqual(text.token_ids, expected)
            compared += 1
        self.assertGreater(compared, 100)


class NumbersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.golden = Golden(f"{DATA}/oracle/scoring/scoring.json")

    def of_existing_models(self, entries):
        for entry in entries:
            path = f"{DATA}/{self.golden.json['models'][entry['model']]['checkpoint']}"
            if os.path.exists(path):
                yield Model(path), entry

    @staticmethod
    def perplexity(model, ids, max_length, stride):
        """The perplexity of a text in windows that overlap, each token counted once; and the mean
        loss of each window that predicts a token."""
        losses, means, end = [], [], 0
        for begin in range(0, len(ids), stride):
            last, end = end, min(begin + max_length, len(ids))
            window = ids[begin:end]
            rows = map(log_softmax, model.logits(window).tolist())
            new = [-row[id] for row, id in zip(rows, window[1:])][-(end - last):]
            losses += new
            means += [sum(new) / len(new)] if new else []
            if end == len(ids):
                break
        return math.exp(sum(losses) / len(losses)), means

    def test_perplexity_with_a_stride(self):
        texts = {(one["model"], one["text"]): one["input_ids"]
                 for one in self.golden.json["logprobs"]}
        compared = 0
        for model, entry in self.of_existing_models(self.golden.json["perplexity"]):
            ids = texts[entry["model"], entry["text"]][:entry["n_tokens"]]
            found, means = self.perplexity(model, ids, entry["window"], entry["stride"])
            windows = [one["loss_f64"] for one in entry["windows"] if one["predicted"]]
            self.assertEqual(len(means), len(windows))
            for mean, loss in zip(means, windows):
                self.assertAlmostEqual(mean, loss, delta=1e-4)
            expected = entry["ppl_token_weighted_f64"]
            scores = model.score(ids, context=entry["window"], stride=entry["stride"])
            for ppl in (found, scores.perplexity):
                self.assertAlmostEqual(ppl / expected, 1, delta=1e-4)
            compared += 1
        self.assertGreater(compared, 20)

    def test_perplexity_with_a_start_token(self):
        # What the package "evaluate" computes by default: exp of the mean loss of all tokens of a
        # text, of which the first one follows bos_token.
        model = Model(MODEL)
        tokenizer = model.tokenizer
        texts = ["The cat sat on the mat.", "Once"]
        scores = model.score([[tokenizer.bos_token_id, *tokenizer.encode(text)] for text in texts])
        for text, score in zip(texts, scores.texts):
            ids = tokenizer.encode(text)
            rows = map(log_softmax, model.logits([tokenizer.bos_token_id, *ids]).tolist())
            losses = [-row[id] for row, id in zip(rows, ids)]
            self.assertAlmostEqual(score.perplexity / math.exp(sum(losses) / len(ids)), 1,
                                   delta=1e-4)

    def test_embeddings(self):
        compared = 0
        for model, entry in self.of_existing_models(self.golden.json["embeddings"]):
            texts = [text["input_ids"] for text in entry["texts"]]
            vectors = {"mean": model.embed(texts), "last": model.embed(texts, pooling="last"),
                       "mean_input_layer": model.embed(texts, layer=0)}
            for i, text in enumerate(entry["texts"]):
                states = model.hidden_states(texts[i])[-1].tolist()
                of_states = [sum(column) / len(states) for column in zip(*states)]
                self.assert_near(of_states, text["mean"])
                for name, rows in vectors.items():
                    self.assert_near(rows.tolist()[i], text[name])
                    compared += 1
        self.assertGreater(compared, 20)

    def assert_near(self, found, tensor):
        expected = self.golden.tensor(tensor)
        self.assertEqual(len(found), len(expected))
        tolerance = 2e-5 * max(1.0, max(expected) - min(expected))  # oracle_test derives it
        self.assertLessEqual(max(abs(a - b) for a, b in zip(found, expected)), tolerance)


if __name__ == "__main__":
    main()
