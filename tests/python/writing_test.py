"""Tests the ways of writing texts that transformers has: streamers, generation_config, pipelines,
progress; and asyncio. support.py says how it is run.

Expected ids come from tests/data/bundled_model.json, which PyTorch has made.
"""

import asyncio
import io
import json
import os
import queue
import sys
import tempfile
import threading
import types
import unittest
import warnings
from unittest import mock

import support
from support import MODEL, main

import gpt2cpp

try:
    import numpy
except ImportError:
    numpy = None

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


class Recorder:
    """A streamer that keeps what it gets."""

    def __init__(self):
        self.calls = []

    def put(self, ids):
        self.calls.append(ids)

    def end(self):
        self.calls.append("end")


class TextStreamer:
    """What transformers' TextStreamer does with what it gets, as its documentation shows."""

    def __init__(self, tokenizer):
        self.tokenizer, self.ids, self.is_prompt, self.text = tokenizer, [], True, None

    def put(self, value):
        if len(value.shape) > 1 and value.shape[0] > 1:
            raise ValueError("TextStreamer only supports batch size 1")
        if len(value.shape) > 1:
            value = value[0]
        if not self.is_prompt:
            self.ids.extend(value.tolist())
        self.is_prompt = False

    def end(self):
        self.text = self.tokenizer.decode(self.ids, skip_special_tokens=True)


class StreamerTest(ModelTest):
    def test_a_streamer_gets_the_prompt_and_then_each_token(self):
        calls = [lambda **o: self.model.generate(self.prompt, **o),
                 lambda **o: self.model.session().generate(self.prompt, **o),
                 lambda **o: list(self.model.stream(self.prompt, **o))]
        for call in calls:
            recorder = Recorder()
            call(streamer=recorder, **GREEDY)
            plain = [one if isinstance(one, (str, list)) else one.tolist()
                     for one in recorder.calls]
            self.assertEqual(plain, [[self.prompt_ids], *([id] for id in self.ids), "end"])

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_transformers_streamers_work(self):
        streamer = TextStreamer(self.model.tokenizer)
        self.model.generate(self.prompt, streamer=streamer, **GREEDY)
        self.assertEqual(streamer.text, self.text)

    def test_tokens_arrive_as_they_are_written(self):
        arrived, reader = queue.SimpleQueue(), threading.Event()

        class Waiting(Recorder):
            def put(self, ids):
                arrived.put(ids)
                reader.wait(60)

        thread = threading.Thread(target=lambda: self.model.generate(
            self.prompt, streamer=Waiting(), **GREEDY))
        thread.start()
        arrived.get(timeout=60)  # the prompt, while no token is written yet
        self.assertTrue(thread.is_alive())
        reader.set()
        thread.join()

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

    def test_a_streamer_takes_one_text(self):
        for options in ({"num_return_sequences": 2}, {"num_beams": 2}):
            with self.assertRaisesRegex(ValueError, "^streamer: "):
                self.model.generate(self.prompt, streamer=Recorder(), **options)
        for one in ([self.prompt], self.model.tokenizer([self.prompt])):
            streamer = Recorder()
            text, = self.model.generate(one, streamer=streamer, num_return_sequences=1,
                                        max_new_tokens=3)
            self.assertEqual(text, self.model.generate(self.prompt, max_new_tokens=3))
            self.assertEqual(len(streamer.calls), 5)  # the prompt, three tokens, the end
        with self.assertRaisesRegex(ValueError, "^streamer: takes a single text"):
            self.model.generate(["Once", "The"], streamer=Recorder())
        with self.assertRaisesRegex(TypeError, "streamer: expected an object with the methods"):
            self.model.generate(self.prompt, streamer=print)


class Config:
    """transformers' GenerationConfig, of which to_dict() is used."""

    def __init__(self, **options):
        self.options = options

    def to_dict(self):
        return {"transformers_version": "4.50.0", "_from_model_config": True, **self.options}


class GenerationConfigTest(ModelTest):
    def test_a_dict_has_options(self):
        text = self.model.generate(self.prompt, generation_config=GREEDY)
        self.assertEqual(text.token_ids, self.ids)
        text = self.model.generate(self.prompt, generation_config=GREEDY, max_new_tokens=3)
        self.assertEqual(text.token_ids, self.ids[:3])
        for config in ({**GREEDY, "num_return_sequences": 1}, {**GREEDY, "num_beams": 1}):
            texts = self.model.generate([self.prompt], generation_config=config)
            self.assertEqual(texts[0].token_ids, self.ids)
        self.assertEqual("".join(self.model.stream(self.prompt, generation_config=GREEDY)),
                         self.text)
        own = self.model.generate(self.prompt, generation_config=self.model.generation_config)
        self.assertEqual(own, self.model.generate(self.prompt, **self.model.generation_config))

    def test_an_object_is_read_as_the_file_is(self):
        # Greedy and max_length 20, unless the config says something else, as in transformers.
        text = self.model.generate(self.prompt, generation_config=Config())
        self.assertEqual(text.token_ids, self.ids)
        text = self.model.generate(self.prompt, generation_config=Config(max_new_tokens=5))
        self.assertEqual(text.token_ids, self.ids[:5])
        text = self.model.generate(self.prompt, generation_config=Config(max_new_tokens=5),
                                   max_length=6)
        self.assertEqual(text.token_ids, self.ids[:2])
        text = self.model.generate(self.prompt, generation_config=Config(
            max_new_tokens=5, sequence_bias={(self.ids[0],): -1e9}))
        self.assertNotEqual(text.token_ids[0], self.ids[0])
        text = self.model.generate(self.prompt, generation_config=Config(eos_token_id=self.ids[3]))
        self.assertEqual((text.token_ids, text.finish_reason), (self.ids[:3], "end_of_text"))
        text = self.model.generate(self.prompt, generation_config=Config(stop_strings=["little"]))
        self.assertEqual((text, text.finish_reason),
                         (self.text.split("little")[0], "stop_string"))
        config = Config(do_sample=True, temperature=1.5, top_k=9)
        self.assertEqual(
            self.model.generate(self.prompt, generation_config=config, seed=4),
            self.model.generate(self.prompt, temperature=1.5, top_k=9, max_length=20, seed=4))

    def test_eos_token_id_replaces_the_ends_of_texts(self):
        eos, end = self.model.eos_token_id[0], self.ids[3]
        calls = [lambda **o: self.model.generate(self.prompt, **o),
                 lambda **o: self.model.generate([self.prompt], **o)[0],
                 lambda **o: self.model.generate(self.prompt, num_beams=2, **o)]
        for call in calls:
            options = {"logit_bias": {eos: 100.0, end: 50.0}, "max_new_tokens": 3,
                       "use_cache": False, "pad_token_id": eos}
            if call is not calls[2]:
                options["do_sample"] = False
            self.assertEqual(call(**options).token_ids, [])
            for none in (eos, [eos], None):
                self.assertEqual(call(eos_token_id=none, **options).token_ids, [])
            self.assertEqual(call(eos_token_id=5, **options).token_ids, [eos] * 3)
            options["suppress_tokens"] = [eos]
            for other in (end, [5, end]):
                text = call(eos_token_id=other, **options)
                self.assertEqual((text.token_ids, text.finish_reason), ([], "end_of_text"))
            self.assertEqual(call(eos_token_id=5, stop_tokens=[end], **options).token_ids, [])

    def test_what_cannot_be_done_is_refused(self):
        with self.assertRaisesRegex(gpt2cpp.UnsupportedError,
                                    "^generation_config: guidance_scale is 2.*: leave it out$"):
            self.model.generate("Once", generation_config=Config(guidance_scale=2))
        with self.assertRaisesRegex(TypeError, "unknown option no_such"):
            self.model.generate("Once", generation_config={"no_such": 1})
        with self.assertRaisesRegex(TypeError, "generation_config: expected a dict of options or"):
            self.model.generate("Once", generation_config=5)


class ProgressTest(ModelTest):
    def test_shares_grow_to_1(self):
        for call in (lambda **o: self.model.generate(self.prompt, **GREEDY, **o),
                     lambda **o: self.model.generate([self.prompt] * 3, **GREEDY, **o),
                     lambda **o: list(self.model.stream(self.prompt, **GREEDY, **o)),
                     lambda **o: self.model.generate(["The", "Once"], num_beams=2,
                                                     max_new_tokens=3, **o)):
            shares = []
            call(on_progress=shares.append)
            self.assertEqual((shares, shares[-1], shares.count(1.0)), (sorted(shares), 1.0, 1))
            self.assertGreater(len(shares), 1)

    def test_the_shares_are_those_of_the_tokens(self):
        shares = []
        self.model.generate(self.prompt, on_progress=shares.append, **{**GREEDY,
                                                                       "max_new_tokens": 4})
        self.assertEqual(shares, [0.25, 0.5, 0.75, 1.0])
        for length in ({"max_new_tokens": 4}, {"max_length": len(self.prompt_ids) + 4}):
            shares.clear()
            self.model.generate([self.prompt] * 2, on_progress=shares.append,
                                **{"do_sample": False, "ignore_eos": True, **length})
            self.assertEqual(shares, [n / 8 for n in range(1, 9)])

    def test_false_stops(self):
        text = self.model.generate(self.prompt, on_progress=lambda share: share < 0.2, **GREEDY)
        self.assertEqual((text.token_ids, text.finish_reason), (self.ids[:4], "cancelled"))
        shares = []
        texts = self.model.generate([self.prompt] * 3, **GREEDY,
                                    on_progress=lambda share: shares.append(share) or False)
        self.assertEqual({text.finish_reason for text in texts}, {"cancelled"})
        self.assertEqual(len(shares), 1)
        with self.assertRaises(gpt2cpp.CancelledError):
            self.model.generate(["Once", "The"], num_beams=2, on_progress=lambda share: False)

    def test_wrong_arguments(self):
        for options in ({}, {"num_return_sequences": 2}, {"num_beams": 2}):
            with self.assertRaisesRegex(TypeError, "on_progress: expected a function, found 5"):
                self.model.generate("Once", on_progress=5, **options)


class Terminal(io.StringIO):
    def isatty(self):
        return True


class BarTest(ModelTest):
    """A stand-in for tqdm, which may not be installed."""

    def setUp(self):
        self.bars = bars = []

        class Bar:
            def __init__(self, total, **options):
                self.total, self.n, self.is_closed = total, 0, False
                bars.append(self)

            def update(self, n):
                self.n += n
                return False  # which stops the work if a caller's on_progress returns it

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.is_closed = True

        patch = mock.patch.dict(sys.modules, tqdm=types.SimpleNamespace(tqdm=Bar))
        patch.start()
        self.addCleanup(patch.stop)

    def use(self, n, **options):
        self.model.generate(["Once"] * n, max_new_tokens=2, **options)
        self.model.embed(["Once"] * n, **options)
        self.model.score(["Once upon"] * n, **options)

    def test_long_lists_have_a_bar_on_a_terminal(self):
        with mock.patch.object(sys, "stderr", Terminal()):
            self.use(20)
        self.assertEqual([(bar.n, bar.total, bar.is_closed) for bar in self.bars],
                         [(20, 20, True)] * 3)

    def test_others_have_none(self):
        self.use(20)  # standard error is no terminal
        with mock.patch.object(sys, "stderr", None):
            self.use(20)
        with mock.patch.object(sys, "stderr", Terminal()):
            self.use(3)
            self.use(20, on_progress=lambda share: None)
            with mock.patch.dict(sys.modules, tqdm=None):
                self.use(20)
            self.assertEqual(sys.stderr.getvalue(), "")
        self.assertEqual(self.bars, [])



class PipelineTest(ModelTest):
    def test_a_text(self):
        pipe = gpt2cpp.pipeline("text-generation", model=self.model)
        # The bundled model's config asks for nothing, so transformers writes 20 tokens greedily.
        self.assertEqual(pipe(self.prompt), [{"generated_text": self.prompt + self.text}])
        self.assertEqual(pipe(self.prompt, return_full_text=False),
                         [{"generated_text": self.text}])
        bare = gpt2cpp.pipeline(model=self.model, return_full_text=False, batch_size=8,
                                truncation=True, num_return_sequences=1, on_error="raise")
        self.assertEqual(bare(self.prompt), [{"generated_text": self.text}])
        self.assertEqual(bare(self.prompt, return_full_text=True), pipe(self.prompt))
        cut = self.model.tokenizer.decode(self.ids[:3])
        for options in ({"max_new_tokens": 3}, {"max_length": 7}):
            self.assertEqual(pipe(self.prompt, **options), [{"generated_text": self.prompt + cut}])

    def test_lists_and_copies(self):
        pipe = gpt2cpp.pipeline(model=MODEL, max_new_tokens=2)
        two = self.model.tokenizer.decode(self.ids[:2])
        one = [{"generated_text": self.prompt + two}]
        self.assertEqual(pipe([self.prompt, self.prompt]), [one, one])
        self.assertEqual(pipe([]), [])
        copies = pipe(self.prompt, num_return_sequences=3, do_sample=True)
        self.assertEqual([sorted(copy) for copy in copies], [["generated_text"]] * 3)
        self.assertEqual([len(two) for two in pipe([self.prompt] * 2, num_return_sequences=3,
                                                   num_beams=3)], [3, 3])

    def test_the_config_of_a_model_has_options_for_the_task(self):
        # As the config.json of GPT-2 on the hub, whose pipeline draws 50 tokens by default.
        with tempfile.TemporaryDirectory() as scratch:
            for name in os.listdir(MODEL):
                os.symlink(os.path.abspath(f"{MODEL}/{name}"), f"{scratch}/{name}")
            with open(f"{MODEL}/config.json") as file:
                config = json.load(file)
            config["task_specific_params"] = {"text-generation": {"do_sample": True,
                                                                  "max_length": 50}}
            config["eos_token_id"] = 50256  # which the vocabulary does not have
            os.remove(f"{scratch}/config.json")
            with open(f"{scratch}/config.json", "w") as file:
                json.dump(config, file)
            pipe = gpt2cpp.pipeline("text-generation", model=scratch)
        text = self.model.generate(self.prompt, do_sample=True, temperature=1, top_k=50,
                                   max_length=50)
        self.assertEqual(pipe(self.prompt, return_full_text=False), [{"generated_text": text}])
        copies = pipe(self.prompt, max_length=30, num_return_sequences=5)
        self.assertEqual(len({copy["generated_text"] for copy in copies}), 5)

    def test_failures(self):
        pipe = gpt2cpp.pipeline(model=self.model, max_new_tokens=2)
        long = self.prompt * 600
        good, bad = pipe([self.prompt, long], on_error="return")
        self.assertIn("generated_text", good[0])
        self.assertIsInstance(bad[0], ValueError)
        advice = "shorten it, or give truncation=True to leave out its beginning$"
        self.assertRegex(str(bad[0]), advice)
        for prompt in (long, [self.prompt, long]):
            with self.assertRaisesRegex(ValueError, advice):
                pipe(prompt)
        for name, hint in (("foo", "see help.TextGenerationPipeline."),
                           ("handle_long_generation", "give truncation=True")):
            with self.assertRaisesRegex(TypeError, f"^unknown option {name}: {hint}$"):
                pipe(self.prompt, **{name: 1})
            with self.assertRaisesRegex(TypeError, f"^unknown option {name}: {hint}$"):
                gpt2cpp.pipeline(model=self.model, **{name: 1})
        with self.assertWarnsRegex(UserWarning, "^temperature: without effect, because .*: give "
                                                "do_sample=True to draw tokens$"):
            pipe(self.prompt, temperature=0.7)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pipe(self.prompt, do_sample=True, temperature=0.7)
        self.assertEqual(pipe([long], truncation=True, batch_size=8)[0][0]["generated_text"],
                         long + self.model.generate(long, truncate=True, max_new_tokens=2,
                                                    do_sample=False))
        with self.assertRaisesRegex(TypeError, "^batch_size: expected"):
            pipe(self.prompt, batch_size="8")
        with self.assertRaisesRegex(TypeError, "^text_inputs: expected a text or a list of texts, "
                                               "found 5$"):
            pipe(5)
        with self.assertRaisesRegex(TypeError, "^text_inputs: expected texts, found {.*'user'}$"):
            pipe([{"role": "user", "content": "Hello"}])
        with self.assertRaisesRegex(gpt2cpp.UnsupportedError, "task: expected 'text-generation'"):
            gpt2cpp.pipeline("summarization", model=self.model)
        for cpu in (dict(device="cpu"), dict(device=-1), dict(device_map="auto"), dict(device=None)):
            gpt2cpp.pipeline(model=self.model, **cpu)
        for wrong in (dict(device=0), dict(device="cuda"), dict(device_map={"": 0})):
            with self.assertRaisesRegex(TypeError, "^device(_map)?: leave it out, because gpt2cpp "
                                                   "computes on the CPU alone$"):
                gpt2cpp.pipeline(model=self.model, **wrong)
        for late in (dict(dtype="f32"), dict(torch_dtype="f32"), dict(revision="v1")):
            with self.assertRaisesRegex(TypeError, "^dtype, revision: the model is loaded already"):
                gpt2cpp.pipeline(model=self.model, **late)
        for own in (MODEL, gpt2cpp.Tokenizer.from_pretrained(MODEL), self.model.tokenizer):
            gpt2cpp.pipeline(model=self.model, tokenizer=own)
            stopped = dict(max_new_tokens=40, do_sample=False, stop_strings=".", tokenizer=own)
            self.assertEqual(self.model.generate("Once", **stopped),
                             self.model.generate("Once", max_new_tokens=40, do_sample=False,
                                                 stop="."))
            self.assertEqual("".join(self.model.stream("Once", **stopped)),
                             self.model.generate("Once", **stopped))
        for other in (5, gpt2cpp.Tokenizer("tests/data/tokenizer/small")):
            with self.assertRaisesRegex(gpt2cpp.UnsupportedError,
                                        "^tokenizer: expected that of the model, .*: leave it out$"):
                gpt2cpp.pipeline(model=self.model, tokenizer=other)
            with self.assertRaisesRegex(gpt2cpp.UnsupportedError, "^tokenizer: expected that"):
                self.model.generate("Once", stop_strings=".", tokenizer=other)
        with self.assertRaisesRegex(FileNotFoundError, "hf download no/model --revision v2"):
            gpt2cpp.pipeline(model="no/model", revision="v2")


class AsyncTest(ModelTest):
    def test_pieces_are_the_text(self):
        async def read():
            stream = self.model.astream(self.prompt, **GREEDY)
            return [piece async for piece in stream], stream.result

        pieces, result = asyncio.run(read())
        self.assertEqual("".join(pieces), self.text)
        self.assertEqual(result.token_ids, self.ids)
        self.assertGreater(len(pieces), 10)

    def test_other_tasks_run_while_one_waits(self):
        async def both():
            async def read(prompt):
                return "".join([piece async for piece in self.model.astream(prompt, **GREEDY)])

            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0)

            clock = asyncio.ensure_future(tick())
            texts = await asyncio.gather(read(self.prompt), read(self.prompt), read("The cat"))
            clock.cancel()
            return texts, ticks

        texts, ticks = asyncio.run(both())
        self.assertEqual(texts, [self.text] * 2 + [self.model.generate("The cat", **GREEDY)])
        self.assertGreater(ticks, 10)

    ENDLESS = {"max_new_tokens": 10**9, "ignore_eos": True, "overflow": "slide"}

    def test_a_text_that_is_left_ends(self):
        async def leave():
            async with self.model.astream("Once", **self.ENDLESS) as stream:
                async for _ in stream:
                    break
            session = self.model.session()
            async for _ in session.astream("Once", **self.ENDLESS):
                break

        asyncio.run(leave())
        self.assertFalse([t for t in threading.enumerate() if t.name == "gpt2cpp"])

    def test_a_cancelled_task_ends_its_text(self):
        stream = None  # which outlives the task, so that no garbage collection ends the text

        async def cancel():
            async def read():
                nonlocal stream
                stream = self.model.astream("Once", **self.ENDLESS)
                async for _ in stream:
                    pass

            task = asyncio.ensure_future(read())
            await asyncio.sleep(0.2)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            # The thread that waited for the next piece may be in its last instructions.
            for _ in range(100):
                if not [t for t in threading.enumerate() if t.name == "gpt2cpp"]:
                    break
                await asyncio.sleep(0.02)

        asyncio.run(cancel())
        self.assertFalse([t for t in threading.enumerate() if t.name == "gpt2cpp"])

    def test_exceptions_reach_the_task(self):
        async def read():
            def fails(*_):
                raise ZeroDivisionError

            async for _ in self.model.astream("Once", logits_processor=fails):
                pass

        with self.assertRaises(ZeroDivisionError):
            asyncio.run(read())


if __name__ == "__main__":
    main()
