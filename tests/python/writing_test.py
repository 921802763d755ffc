"""Tests how transformers loads models and writes texts: from_pretrained(), streamers,
generation_config; and progress. support.py says how it is run.

Expected ids come from tests/data/bundled_model.json, which PyTorch has made.
"""

import json
import os
import tempfile
from unittest import mock

import support
from support import MODEL, main, numpy

import gpt2cpp

GREEDY = {"do_sample": False, "ignore_eos": True, "max_new_tokens": 16}


class ModelTest(support.ModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open("tests/data/bundled_model.json") as file:
            first = json.load(file)["prompts"][0]
        cls.prompt, cls.prompt_ids = first["prompt"], first["prompt_ids"]
        cls.ids = first["greedy_ids"][:16]
        cls.text = cls.model.tokenizer.decode(cls.ids)


class PretrainedTest(ModelTest):
    """huggingface_hub's layout: models--OWNER--NAME with refs/REVISION and snapshots/COMMIT."""

    commit = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
    other = "11c5a3d5811f50298f278a704980280950aedb10"

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        environment = mock.patch.dict(os.environ, HF_HUB_CACHE=scratch.name)
        environment.start()
        self.addCleanup(environment.stop)
        repository = f"{scratch.name}/models--tellers--tales"
        os.makedirs(f"{repository}/snapshots")
        os.makedirs(f"{repository}/refs/refs/pr")
        for ref, commit in (("main", self.commit), ("v2", self.other), ("refs/pr/1", self.other)):
            with open(f"{repository}/refs/{ref}", "w") as file:
                file.write(commit)
        for commit in (self.commit, self.other):
            os.symlink(os.path.abspath(MODEL), f"{repository}/snapshots/{commit}")

    def test_a_revision_chooses_a_snapshot(self):
        for revision, commit in ((None, self.commit), ("main", self.commit), ("v2", self.other),
                                 (self.other, self.other), ("refs/pr/1", self.other)):
            with self.subTest(revision):
                model = gpt2cpp.Model.from_pretrained("tellers/tales", revision=revision)
                self.assertEqual(os.path.basename(model.path), commit)
                tokenizer = gpt2cpp.Tokenizer.from_pretrained("tellers/tales", revision=revision)
                self.assertIn(commit, tokenizer.description + tokenizer._path)
        gpt2cpp.Model.from_pretrained(MODEL, revision="v9").close()  # a path has no revisions
        for name, revision, words in (("tellers/tales", "v3", "tellers/tales@v3"),
                                      ("no/model", None, "no/model")):
            for load in (gpt2cpp.Model.from_pretrained, gpt2cpp.Tokenizer.from_pretrained):
                with self.assertRaisesRegex(FileNotFoundError, words):
                    load(name, revision=revision)

    def test_settings(self):
        tokenizer = gpt2cpp.Tokenizer.from_pretrained(
            "tellers/tales", pad_token="<|endoftext|>", padding_side="left",
            truncation_side="left", model_max_length=3)
        batch = tokenizer(["Once upon a time", "Once"], padding=True, truncation=True)
        self.assertEqual(batch.input_ids, [[452, 258, 401], [4095, 4095, 443]])
        for wrong in ("pad_token", "no_such"):
            with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, f"^{wrong}: "):
                gpt2cpp.Tokenizer.from_pretrained("tellers/tales", **{wrong: "[PAD]"})

        class TorchType:
            def __str__(self):
                return "torch.bfloat16"

        load = gpt2cpp.Model.from_pretrained
        for dtype, name in (("float32", "f32"), (TorchType(), "bf16"), ("int8", "int8"),
                            ("auto", self.model.dtype)):
            for option in ("dtype", "torch_dtype"):
                model = load("tellers/tales", threads=1, **{option: dtype})
                self.assertEqual((model.dtype, model.threads), (name, 1))


class Recorder:
    """A streamer that keeps what it gets."""

    def __init__(self):
        self.calls = []

    def put(self, ids):
        self.calls.append(ids)

    def end(self):
        self.calls.append("end")


class StreamerTest(ModelTest):
    def test_a_streamer_gets_the_prompt_and_then_each_token(self):
        for call in (self.model.generate, self.model.session().generate,
                     lambda *a, **o: list(self.model.stream(*a, **o))):
            recorder = Recorder()
            call(self.prompt, streamer=recorder, **GREEDY)
            plain = [one if isinstance(one, (str, list)) else one.tolist()
                     for one in recorder.calls]
            self.assertEqual(plain, [[self.prompt_ids], *([id] for id in self.ids), "end"])
        if numpy is not None:  # as transformers' tensors: (1, n) for the prompt, (1,) for a token
            self.assertEqual([one.shape for one in recorder.calls[:2]],
                             [(1, len(self.prompt_ids)), (1,)])

    def test_exceptions_of_a_streamer_end_the_text(self):
        class Failing(Recorder):
            def put(self, ids):
                super().put(ids)
                if len(self.calls) == 4:
                    raise ZeroDivisionError

        streamer = Failing()
        with self.assertRaises(ZeroDivisionError):
            self.model.generate(self.prompt, streamer=streamer, **GREEDY)
        self.assertEqual(len(streamer.calls), 4)
        for prompt, options in ((["Once", "The"], {}), ("Once", {"num_return_sequences": 2})):
            with self.assertRaisesRegex(ValueError, "^streamer: "):  # it takes one text
                self.model.generate(prompt, streamer=Recorder(), **options)


class Config:
    """transformers' GenerationConfig, of which to_dict() is used."""

    def __init__(self, **options):
        self.options = options

    def to_dict(self):
        return {"transformers_version": "4.50.0", "_from_model_config": True, **self.options}


class GenerationConfigTest(ModelTest):
    def test_a_dict_has_options(self):
        for options, n in (({}, 16), ({"max_new_tokens": 3}, 3)):
            text = self.model.generate(self.prompt, generation_config=GREEDY, **options)
            self.assertEqual(text.token_ids, self.ids[:n])
        self.assertEqual("".join(self.model.stream(self.prompt, generation_config=GREEDY)),
                         self.text)

    def test_an_object_is_read_as_the_file_is(self):
        # Greedy and 20 new tokens, unless the config says something else, as in transformers.
        for config, options, n in ((Config(), {}, 20), (Config(max_new_tokens=5), {}, 5),
                                   (Config(max_length=20), {}, 20 - len(self.prompt_ids)),
                                   (Config(max_new_tokens=5), {"max_length": 6}, 2),
                                   (Config(eos_token_id=self.ids[3]), {}, 3)):
            text = self.model.generate(self.prompt, generation_config=config, **options)
            self.assertEqual(text.token_ids[:16], self.ids[:n])
            self.assertEqual(len(text.token_ids), n)
        text = self.model.generate(self.prompt, generation_config=Config(
            max_new_tokens=5, sequence_bias={(self.ids[0],): -1e9}))
        self.assertNotEqual(text.token_ids[0], self.ids[0])
        config = Config(do_sample=True, temperature=1.5, top_k=9)
        self.assertEqual(
            self.model.generate(self.prompt, generation_config=config, seed=4),
            self.model.generate(self.prompt, temperature=1.5, top_k=9, max_new_tokens=20,
                                seed=4))
        with self.assertRaisesRegex(gpt2cpp.UnsupportedError, "guidance_scale"):
            self.model.generate("Once", generation_config=Config(guidance_scale=2))

    def test_eos_token_id_replaces_the_ends_of_texts(self):
        eos, end = self.model.eos_token_id[0], self.ids[3]
        for call in (lambda **o: self.model.generate([self.prompt], do_sample=False, **o)[0],
                     lambda **o: self.model.generate(self.prompt, num_beams=2, **o)):
            options = {"logit_bias": {eos: 100.0, end: 50.0}, "max_new_tokens": 3,
                       "use_cache": False, "pad_token_id": eos}
            for none in (eos, [eos], None):
                self.assertEqual(call(eos_token_id=none, **options).token_ids, [])
            for other in (5, []):
                self.assertEqual(call(eos_token_id=other, **options).token_ids, [eos] * 3)
            options["suppress_tokens"] = [eos]
            text = call(eos_token_id=[5, end], **options)
            self.assertEqual((text.token_ids, text.finish_reason), ([], "end_of_text"))
            self.assertEqual(call(eos_token_id=5, stop_tokens=[end], **options).token_ids, [])


class ProgressTest(ModelTest):
    def test_shares_are_those_of_the_tokens(self):
        four = {**GREEDY, "max_new_tokens": 4}
        for call, n in ((lambda **o: self.model.generate(self.prompt, **o), 4),
                        (lambda **o: self.model.generate([self.prompt] * 2, **o), 8),
                        (lambda **o: list(self.model.stream(self.prompt, **o)), 4)):
            shares = []
            call(on_progress=shares.append, **four)
            self.assertEqual(shares, sorted(shares))
            self.assertEqual({*shares} - {0.0}, {i / n for i in range(1, n + 1)})
            self.assertEqual(shares.count(1.0), 1)
        shares = []
        self.model.generate(["The", "Once"], num_beams=2, max_new_tokens=3,
                            on_progress=shares.append)
        self.assertGreater(len(shares), 2)


class TokenizerTest(ModelTest):
    def test_the_tokenizer_is_that_of_the_model(self):
        stopped = dict(max_new_tokens=40, do_sample=False, stop_strings=".")
        for own in (MODEL, gpt2cpp.Tokenizer.from_pretrained(MODEL), self.model.tokenizer):
            self.assertEqual(self.model.generate("Once", tokenizer=own, **stopped),
                             "".join(self.model.stream("Once", **stopped)))
        other = gpt2cpp.Tokenizer("tests/data/tokenizer/small")
        with self.assertRaisesRegex(gpt2cpp.UnsupportedError, "^tokenizer: "):
            self.model.generate("Once", tokenizer=other, **stopped)

    def test_n_is_the_number_of_texts(self):
        texts = self.model.generate("Once", n=2, max_new_tokens=4)
        self.assertEqual(texts, self.model.generate("Once", num_return_sequences=2,
                                                    max_new_tokens=4))
        beams = dict(n=2, num_beams=2, max_new_tokens=3)
        both = self.model.generate(["Once", "The"], **beams)
        self.assertEqual(both[2:], self.model.generate("The", **beams))
        self.assertEqual(self.model.generate([], n=2), [])


main()
