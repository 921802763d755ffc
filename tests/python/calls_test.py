"""Tests how calls of the Python package end: by Ctrl-C, exceptions of callbacks, close() and wrong
arguments, on several threads and in several processes.

support.py says how it is run.
"""

import asyncio
import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref
from unittest import mock

import support
from support import MODEL

import gpt2cpp
from gpt2cpp._handle import Owned

try:
    import numpy
except ImportError:
    numpy = None

ENDLESS = {"max_new_tokens": 10**9, "ignore_eos": True, "overflow": "slide"}


class ModelTest(support.ModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = cls.model.generate("Once", max_new_tokens=20)

    def assert_usable(self):
        self.assertEqual(self.model.generate("Once", max_new_tokens=20), self.expected)
        self.assertFalse([t for t in threading.enumerate() if t.name == "gpt2cpp"])

    @contextlib.contextmanager
    def interrupted(self, seconds=0.3):
        """Sends this process a SIGINT, and fails unless it arrives as a KeyboardInterrupt soon."""
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            yield
            time.sleep(5)  # a signal that came too late for the call
            self.fail("no KeyboardInterrupt")
        self.assertLess(time.monotonic() - begin, seconds + 3)
        timer.join()


class InterruptTest(ModelTest):
    def test_generate(self):
        with self.interrupted():
            self.model.generate("Once", **ENDLESS)
        self.assert_usable()

    def test_a_session_goes_on_afterwards(self):
        session = self.model.session()
        with self.interrupted():
            session.generate("Once", **ENDLESS)
        self.assertGreater(len(session), 1)
        tokens = session.tokens
        other = self.model.session()
        other.append(tokens)
        # This decodes greedily, because the noise of sampling depends on how many tokens slides
        # have dropped, and whether there was a slide depends on the speed of the machine.
        options = dict(max_new_tokens=5, do_sample=False)
        self.assertEqual(session.generate(**options), other.generate(**options))

    def test_a_stream_that_is_waited_for(self):
        stream = self.model.stream("Once", **ENDLESS)
        with self.interrupted():
            for _ in stream:
                pass
        self.assertEqual(list(stream), [])
        self.assert_usable()

    def test_a_stream_whose_reader_computes(self):
        with self.interrupted(), self.model.stream("Once", **ENDLESS) as stream:
            for _ in stream:
                sum(range(1000))
        self.assert_usable()

    def test_a_batch(self):
        with self.interrupted():
            self.model.generate(["Once", "The cat"] * 40, **ENDLESS)
        self.assert_usable()

    def test_inside_a_callback(self):
        def slow(ids, scores):
            sum(range(10000))

        with self.interrupted():
            self.model.generate("Once", logits_processor=slow, **ENDLESS)
        self.assert_usable()

    def test_beams(self):
        with self.interrupted():
            self.model.generate(["Once"] * 1000, num_beams=8, ignore_eos=True)
        self.assert_usable()

    def test_score_choices_and_embed(self):
        text = [443] * 200000
        for call in (lambda: self.model.score(text, stride=1),
                     lambda: self.model.choices(text[:10], [text[:500]] * 2000),
                     lambda: self.model.embed([text[:500]] * 2000)):
            with self.interrupted():
                call()
        self.assert_usable()


class Oops(Exception):
    pass


def fails(*_):
    raise Oops("on purpose")


class CallbackTest(ModelTest):
    def test_exceptions_come_out_of_the_call(self):
        calls = [
            lambda: gpt2cpp.Model(MODEL, dtype="int8", on_progress=fails),
            lambda: self.model.generate("Once", logits_processor=fails),
            lambda: self.model.generate("Once", on_prompt=fails),
            lambda: self.model.generate(["Once", "The"], logits_processor=fails, **ENDLESS),
            lambda: self.model.session().generate("Once", logits_processor=[fails]),
            lambda: list(self.model.stream("Once", logits_processor=fails)),
            lambda: self.model.generate("Once", num_beams=2, logits_processor=fails),
            lambda: self.model.generate("Once", num_beams=2, on_prompt=fails),
            lambda: self.model.score("The cat sat", on_progress=fails),
            lambda: self.model.choices("The cat", [" sat"], on_progress=fails),
            lambda: self.model.embed("The cat sat", on_progress=fails),
        ]
        for i, call in enumerate(calls):
            with self.subTest(i), self.assertRaisesRegex(Oops, "on purpose"):
                call()
        self.assert_usable()

    def test_a_stream_does_not_take_an_exception_for_its_end(self):
        # PEP 479: an exception that would end a loop without a word becomes a RuntimeError.
        async def read(stream):
            return [piece async for piece in stream]

        for kind in (StopIteration, StopAsyncIteration):
            def stops(*_):
                raise kind("on purpose")

            for call in (lambda: list(self.model.stream("Once", logits_processor=stops)),
                         lambda: asyncio.run(read(self.model.astream("Once", on_prompt=stops)))):
                with self.assertRaisesRegex(RuntimeError, f"^a callback raised {kind.__name__}$"
                                            ) as caught:
                    call()
                self.assertEqual(repr(caught.exception.__cause__), repr(kind("on purpose")))
        self.assert_usable()

    def test_exceptions_come_out_on_other_threads(self):
        caught = []

        def work():
            try:
                self.model.generate("Once", logits_processor=fails)
            except Oops as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(len(caught), 1)

    def test_false_stops(self):
        text = self.model.generate("Once", on_prompt=lambda read, total: False)
        self.assertEqual((text, text.finish_reason), ("", "cancelled"))
        for options in ({}, {"num_return_sequences": 2}):
            text = self.model.generate("Once", num_beams=2, on_prompt=lambda read, total: False,
                                       **options)
            text = text[0] if options else text
            self.assertEqual((text, text.finish_reason), ("", "cancelled"))
        with self.assertRaises(gpt2cpp.CancelledError):
            self.model.score("The cat sat", on_progress=lambda share: False)

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_the_false_of_numpy_stops(self):
        no = numpy.False_
        for options in ({"on_prompt": lambda *_: no}, {"on_progress": lambda _: no},
                        {"num_beams": 2, "on_prompt": lambda *_: no}):
            self.assertEqual(self.model.generate("Once", **options).finish_reason, "cancelled")
        for call in (lambda: self.model.score("The cat sat", on_progress=lambda _: no),
                     lambda: self.model.generate(["A", "B"], num_beams=2, max_new_tokens=2,
                                                 on_progress=lambda _: no)):
            with self.assertRaises(gpt2cpp.CancelledError):
                call()
        for other in (0, numpy.True_, numpy.zeros(2, bool), None):
            text = self.model.generate("Once", max_new_tokens=2, on_prompt=lambda *_: other)
            self.assertEqual(text.finish_reason, "length")

    def test_on_prompt_and_on_progress_see_the_end(self):
        seen, shares = [], []
        self.model.generate([443, 452], max_new_tokens=1, on_prompt=lambda *n: seen.append(n))
        self.model.score("The cat sat", on_progress=shares.append)
        self.assertEqual((seen[-1], shares[-1]), ((2, 2), 1.0))

    def test_a_processor_changes_the_scores(self):
        def only(ids, scores):
            self.assertEqual(len(scores), self.model.vocab_size)
            wanted = 11 if len(ids) % 2 else 12
            for id in range(len(scores)):
                if id != wanted:
                    scores[id] = -float("inf")

        text = self.model.generate([443], max_new_tokens=3, logits_processor=only)
        self.assertEqual(text.token_ids, [11, 12, 11])

    def test_a_processor_may_keep_its_arrays(self):
        kept, seen = [], []

        def keep(ids, scores):
            kept.append((ids, scores))
            seen.append((ids.tolist(), scores.tolist()))

        text = self.model.generate([443, 452], max_new_tokens=6, logits_processor=keep)
        self.model.generate(["The cat"] * 20, max_new_tokens=100)  # which uses its freed memory
        self.assertEqual([ids.tolist() for ids, _ in kept],
                         [[443, 452, *text.token_ids[:n]] for n in range(6)])
        self.assertEqual([(ids.tolist(), scores.tolist()) for ids, scores in kept], seen)

    def test_a_processor_that_returns_new_scores_is_refused(self):
        def in_place(ids, scores):
            scores[11] = 1e6
            return scores

        text = self.model.generate([443], max_new_tokens=2, logits_processor=in_place)
        self.assertEqual(text.token_ids, [11, 11])
        # transformers' processors return new scores, which would have no effect here.
        message = ("^logits_processor: the function must change the scores in place and return "
                   r"nothing, but it returned \[")
        for options in ({}, {"num_return_sequences": 2}, {"num_beams": 2}):
            with self.subTest(options), self.assertRaisesRegex(TypeError, message):
                self.model.generate("Once", logits_processor=[in_place, lambda _, s: s.tolist()],
                                    **options)
        self.assert_usable()


class ThreadTest(ModelTest):
    def test_one_model_on_many_threads(self):
        texts = []

        def work():
            for _ in range(5):
                texts.append(self.model.generate("Once", max_new_tokens=20))
                texts.append("".join(self.model.stream("Once", max_new_tokens=20)))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((set(texts), len(texts)), ({self.expected}, 80))

    def test_a_session_is_for_one_thread_at_a_time(self):
        session = self.model.session()
        with session.stream("Once", **ENDLESS) as stream:
            next(stream)
            for call in (lambda: session.generate("The"), lambda: session.tokens, session.fork,
                         lambda: session.logits([443]), lambda: session.truncate(0)):
                with self.assertRaisesRegex(ValueError, "in use by another thread or an open str"):
                    call()
        self.assertGreater(len(session), 1)

    def test_a_thread_that_cannot_start_leaves_the_session_usable(self):
        session = self.model.session()
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("no threads")):
            with self.assertRaisesRegex(RuntimeError, "no threads"):
                session.stream("Once", max_new_tokens=1)
        self.assertEqual(len(session.generate("Once", max_new_tokens=1).token_ids), 1)

    def test_ctrl_c_while_a_thread_starts_ends_its_text(self):
        start = threading.Thread.start

        def interrupted(thread):
            start(thread)
            raise KeyboardInterrupt

        before = threading.active_count()
        for _ in range(20):
            session = self.model.session()
            with mock.patch.object(threading.Thread, "start", interrupted):
                with self.assertRaises(KeyboardInterrupt):
                    session.stream("Once", **ENDLESS)
            session.truncate(0)
            text = session.generate("Once", do_sample=False, max_new_tokens=3)
            self.assertEqual(text, " upon a time")
        self.assertEqual(threading.active_count(), before)

    def test_a_thread_that_begins_after_ctrl_c_does_nothing(self):
        late = []

        def interrupted(thread):
            late.append(thread)
            raise KeyboardInterrupt

        for name in ("generate", "stream"):
            session = self.model.session()
            with self.subTest(name), mock.patch.object(type(session), "_write") as write:
                with mock.patch.object(threading.Thread, "start", interrupted):
                    with self.assertRaises(KeyboardInterrupt):
                        getattr(session, name)("Once")
                session.append([443])  # which another thread must not disturb
                late.pop().run()  # as if the system gave the thread no time before
                write.assert_not_called()

    def test_ctrl_c_leaves_a_session_free_wherever_it_comes(self):
        def interrupt(call, place):
            """Makes the call with a Ctrl-C at one of the places where Python handles signals: where
            a function begins, and after a function of C. Returns whether there was such a place."""
            places = 0

            def profile(frame, event, _):
                nonlocal places
                if event in ("call", "c_return") and "gpt2cpp" in frame.f_code.co_filename:
                    places += 1
                    if places == place:
                        sys.setprofile(None)
                        raise KeyboardInterrupt

            sys.setprofile(profile)
            try:
                call()
            except KeyboardInterrupt:
                pass
            finally:
                sys.setprofile(None)
            return places >= place

        for name, call in (
                ("logits", lambda: session.logits([443])), ("fork", lambda: session.fork()),
                ("generate", lambda: session.generate([443], max_new_tokens=2)),
                ("stream", lambda: list(session.stream([443], max_new_tokens=2)))):
            session, place = self.model.session(), 1
            while interrupt(call, place):
                with self.subTest(name, place=place):
                    session.truncate(0)
                session, place = self.model.session(), place + 1
            self.assertGreater(place, 10)
        self.assert_usable()

    def test_closing_during_a_call_is_safe(self):
        for _ in range(10):
            model = gpt2cpp.Model(MODEL, threads=2)
            session = model.session()
            stream = session.stream("Once", **ENDLESS)
            next(stream)
            session.close()
            model.close()
            next(stream)
            stream.close()

    def test_other_threads_run_during_a_call(self):
        count = 0
        thread = threading.Thread(target=lambda: self.model.generate("Once", max_new_tokens=300))
        thread.start()
        while thread.is_alive():
            count += 1
        self.assertGreater(count, 1000)


class StreamTest(ModelTest):
    def test_pieces_are_the_text(self):
        stream = self.model.stream("Once", max_new_tokens=20)
        self.assertIsNone(stream.result)
        pieces = list(stream)
        self.assertGreater(len(pieces), 10)
        self.assertNotIn("", pieces)
        self.assertEqual("".join(pieces), self.expected)
        self.assertEqual(stream.result.token_ids, self.expected.token_ids)
        self.assertEqual(list(stream), [])

    def test_a_loop_that_is_left_ends_the_text(self):
        for _ in self.model.stream("Once", **ENDLESS):
            break
        gc.collect()
        self.assert_usable()

    def test_a_stream_writes_no_more_than_two_pieces_ahead(self):
        session = self.model.session()
        stream = session.stream("Once", **ENDLESS)
        next(stream)
        time.sleep(0.3)
        stream.close()
        self.assertLess(len(session), 8)

    def test_an_open_stream_does_not_keep_the_process(self):
        code = ("import gpt2cpp\n"
                f"s = gpt2cpp.Model({MODEL!r}).stream('Once', max_new_tokens=10**9, "
                "ignore_eos=True, overflow='slide')\n"
                "print(next(s))")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, " upon\n", ""))

    def test_wrong_arguments_fail_at_once(self):
        with self.assertRaises(TypeError):
            self.model.stream("Once", no_such_option=1)


def write(model):
    return str(model.generate("Once", max_new_tokens=20))


class ProcessTest(ModelTest):
    def test_children_that_were_forked_use_the_model(self):
        with multiprocessing.get_context("fork").Pool(2, initializer=self.inherit) as pool:
            self.assertEqual(pool.map(self.write_inherited, range(4)), [self.expected] * 4)
        self.assert_usable()

    @classmethod
    def inherit(cls):
        cls.inherited = cls.model

    @classmethod
    def write_inherited(cls, _):
        return write(cls.inherited)

    def test_children_that_were_spawned_load_the_model(self):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.map(write, [self.model]), [self.expected])

    def test_models_and_tokenizers_can_be_pickled(self):
        model = pickle.loads(pickle.dumps(gpt2cpp.Model(MODEL, dtype="int8", threads=1,
                                                        kv_type="f32")))
        self.assertEqual((model.dtype, model.threads), ("int8", 1))
        self.assertEqual(model.logits("Once upon").tolist(),
                         gpt2cpp.Model(MODEL, dtype="int8", kv_type="f32")
                         .logits("Once upon").tolist())
        tokenizer = pickle.loads(pickle.dumps(self.model.tokenizer))
        self.assertEqual(tokenizer.encode("Once"), [443])
        tokenizer.pad_token, tokenizer.padding_side = "<|endoftext|>", "left"
        copy = pickle.loads(pickle.dumps(tokenizer))
        self.assertEqual((copy.pad_token_id, copy.padding_side, copy.model_max_length),
                         (4095, "left", 512))
        self.assertEqual(pickle.loads(pickle.dumps(self.expected)).token_ids,
                         self.expected.token_ids)


class LifetimeTest(ModelTest):
    def test_use_after_close_raises(self):
        model = gpt2cpp.Model(MODEL)
        with model.session() as session, gpt2cpp.Tokenizer(MODEL) as tokenizer:
            session.generate("Once", max_new_tokens=1)
        model.close()
        model.close()
        self.assertTrue(model.closed and session.closed and tokenizer.closed)
        for name, call in [("Model", lambda: model.generate("Once")),
                           ("Model", lambda: model.logits("Once")),
                           ("Model", lambda: model.score("Once upon")),
                           ("Model", lambda: model.threads),
                           ("Session", lambda: session.tokens),
                           ("Session", lambda: session.stream("Once")),
                           ("Tokenizer", lambda: tokenizer.encode("Once"))]:
            with self.assertRaisesRegex(ValueError, f"the {name} is closed"):
                call()
        self.assertEqual(repr(model), "Model(closed)")

    def test_a_session_outlives_its_model(self):
        model = gpt2cpp.Model(MODEL)
        session = model.session()
        model.close()
        self.assertEqual(session.generate("Once", max_new_tokens=20), self.expected)

    def test_handles_are_freed_with_their_objects(self):
        gc.collect()

        def count():
            return sum(isinstance(o, Owned) for o in gc.get_objects())

        before = count()
        session = gpt2cpp.Model(MODEL, threads=1).session()
        freed = weakref.ref(session._use())
        session.generate("Once", max_new_tokens=2)
        self.assertGreater(count(), before)
        del session
        gc.collect()
        self.assertIsNone(freed())
        self.assertEqual(count(), before)


class One:
    """A whole number of a type that Python does not know, as an array without dimensions is one."""

    def __index__(self):
        return 1


class ErrorTest(ModelTest):
    def test_statuses_are_exceptions(self):
        with self.assertRaises(FileNotFoundError) as caught:
            gpt2cpp.Model("no-such-model")
        self.assertIsInstance(caught.exception, gpt2cpp.Error)
        self.assertEqual(caught.exception.code, "not_found")
        self.assertIn("no-such-model", str(caught.exception))
        with self.assertRaises(gpt2cpp.InvalidArgumentError):
            self.model.generate("Once", temperature=-1)
        with self.assertRaises(gpt2cpp.InvalidFileError):
            self.model.load_session("README.md")

    def test_the_text_of_a_batch_that_failed_is_named(self):
        with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, "text 1 of the list: .*600"):
            self.model.generate(["Once", [443] * 600], max_new_tokens=5)
        self.assert_usable()

    def test_wrong_options(self):
        cases = [
            (TypeError, "unknown option temprature .did you mean temperature", {"temprature": 1}),
            (TypeError, "unknown option num_beam .did you mean num_beams", {"num_beam": 2}),
            (ValueError, "length_penalty: is for a beam search", {"length_penalty": 2}),
            *((ValueError, f"^{name}: cannot be combined with num_beams: leave one of them out$",
               {"num_beams": 2, name: value})
              for name, value in {"do_sample": True, "seed": 1, "stop": ".", "stop_strings": ".",
                                  "streamer": sys.stdout, "logprobs": 2, "draft": self.model,
                                  "overflow": "slide"}.items()),
            (ValueError, "num_beams must be .* from 1 to 1024, got 0", {"num_beams": 0}),
            (ValueError, "num_return_sequences", {"num_beams": 2, "num_return_sequences": 3}),
            *((ValueError, f"^num_return_sequences: expected .* of at least 1, found {n}$",
               {"num_return_sequences": n, **beams})
              for n in (0, -1) for beams in ({}, {"num_beams": 2})),
            (ValueError, "^num_return_sequences: expected .* of at most 1048576, found 1048577$",
             {"num_return_sequences": 1048577}),
            (ValueError, "early_stopping: expected one of False, True, never, found 'no'",
             {"num_beams": 2, "early_stopping": "no"}),
            (TypeError, "top_k: expected a whole number, found 'x'", {"top_k": "x"}),
            (TypeError, "top_k: expected a whole number, found 1.5", {"top_k": 1.5}),
            (TypeError, "max_new_tokens: expected a whole number, found True",
             {"max_new_tokens": True}),
            (TypeError, "pad_token_id: expected a whole number, found False",
             {"pad_token_id": False}),
            (TypeError, "stop_tokens: expected a token id, which is a whole number, found True",
             {"stop_tokens": [True]}),
            (ValueError, "top_k: expected a whole number of at least 0", {"top_k": -1}),
            (ValueError, "seed: expected .* of at most 18446744073709551615", {"seed": 2**64}),
            (TypeError, "temperature: expected a number", {"temperature": "hot"}),
            (ValueError, "overflow: expected one of stop, slide", {"overflow": "wrap"}),
            (TypeError, "temperature: expected a number, found '1'", {"temperature": "1"}),
            (TypeError, "do_sample: expected True or False, found 'no'", {"do_sample": "no"}),
            (TypeError, "do_sample: expected True or False, found 2", {"do_sample": 2}),
            (TypeError, "ignore_eos: expected True or False, found 'no'", {"ignore_eos": "no"}),
            (TypeError, r"prompt_lookup: expected True or False, found \[\]",
             {"prompt_lookup": []}),
            (OverflowError, "suppress_tokens: expected a number of 32 bits, found 2147483648",
             {"suppress_tokens": [2**31]}),
            (ValueError, "", {"suppress_tokens": [4096]}),
            (TypeError, "suppress_tokens: expected token ids, found 'ab'",
             {"suppress_tokens": "ab"}),
            (TypeError, "suppress_tokens: expected token ids, found b'abcd'",
             {"suppress_tokens": b"abcd"}),
            (TypeError, "stop_tokens: expected token ids, found 5", {"stop_tokens": 5}),
            (TypeError, "eos_token_id: expected token ids, found 'x'", {"eos_token_id": "x"}),
            (TypeError, "use_cache: expected True or False, found 'no'", {"use_cache": "no"}),
            (TypeError, "pad_token_id: expected a whole number, found 'x'", {"pad_token_id": "x"}),
            (TypeError, "bad_words_ids: expected a token id, which is a whole number, found 'word'",
             {"bad_words_ids": [["word"]]}),
            (TypeError, "bad_words_ids: expected lists of token ids, found 5",
             {"bad_words_ids": 5}),
            (TypeError, "bad_words_ids: expected token ids, found 5", {"bad_words_ids": [5]}),
            (TypeError, "forced_bos_token_id: expected a whole number",
             {"forced_bos_token_id": "x"}),
            (TypeError, "pad_token_id: expected a whole number, found 'x'",
             {"num_beams": 2, "pad_token_id": "x"}),
            (TypeError, r"logit_bias: expected a dict, found \[5\]", {"logit_bias": [5]}),
            (TypeError, "logit_bias: expected a number, found 'x'", {"logit_bias": {5: "x"}}),
            (TypeError, "sequence_bias: expected a dict, found 5", {"sequence_bias": 5}),
            (TypeError, "sequence_bias: expected token ids, found 5", {"sequence_bias": {5: 1}}),
            (TypeError, "exponential_decay_length_penalty: expected a pair of start and factor",
             {"exponential_decay_length_penalty": 5}),
            (ValueError, "exponential_decay_length_penalty: expected a pair of start and factor",
             {"exponential_decay_length_penalty": [5]}),
            (TypeError, "stop: expected a text or a list of texts, found b'.'", {"stop": b"."}),
            (TypeError, "stop_strings: expected texts, found 5", {"stop_strings": [5]}),
            (TypeError, "^draft: expected a Model, such as .*, found 5", {"draft": 5}),
            (TypeError, "draft: expected a Model, .* Session", {"draft": self.model.session()}),
            (TypeError, "on_prompt: expected a function, found 5", {"on_prompt": 5}),
            (TypeError, "logits_processor: expected a function or a list of functions, found 5",
             {"logits_processor": 5}),
            (TypeError, "logits_processor: expected functions, found 5",
             {"logits_processor": [5]}),
            (ValueError, "", {"max_new_tokens": -1}),
            (ValueError, "^eos_token_id: token id 4096 is outside the model's vocabulary of 4096$",
             {"eos_token_id": 4096}),
            (ValueError, "eos_token_id: token id -1 is outside", {"eos_token_id": [443, -1]}),
            (ValueError, "stop_tokens: token id 99999 is outside", {"stop_tokens": [99999]}),
            (ValueError, "eos_token_id: token id 4096 is outside",
             {"num_beams": 2, "eos_token_id": 4096}),
        ]
        for kind, message, options in cases:
            with self.subTest(options), self.assertRaisesRegex(kind, message):
                self.model.generate("Once", **options)
        for call in (lambda: self.model.hidden_states("Once", layer=7),
                     lambda: self.model.embed("Once", pooling="max"),
                     lambda: self.model.logits(""), lambda: self.model.generate([4096]),
                     lambda: gpt2cpp.Model(MODEL, dtype="f64"),
                     lambda: gpt2cpp.Model(MODEL, kv_type="int8"),
                     lambda: gpt2cpp.Model(MODEL, threads=-1),
                     lambda: gpt2cpp.Model(MODEL + "\0"), lambda: gpt2cpp.Tokenizer(MODEL + "\0"),
                     lambda: self.model.session().truncate(-1),
                     lambda: self.model.session().truncate(2**64),  # not 0, as a C number
                     lambda: self.model.session().generate("Once", num_beams=2),
                     lambda: self.model.stream("Once", num_beams=2)):
            with self.assertRaises(ValueError):
                call()

    def test_a_bool_is_no_number(self):
        bools = [True, False] if numpy is None else [True, False, numpy.True_, numpy.False_]
        for wrong in bools:
            for name, call in (
                    ("max_new_tokens", lambda: self.model.generate("a", max_new_tokens=wrong)),
                    ("num_beams", lambda: self.model.generate("a", num_beams=wrong)),
                    ("num_return_sequences",
                     lambda: self.model.generate("a", num_return_sequences=wrong)),
                    ("layer", lambda: self.model.embed("a", layer=wrong)),
                    ("layer", lambda: self.model.hidden_states("a", layer=wrong))):
                with self.subTest((name, wrong)), self.assertRaisesRegex(
                        TypeError, f"^{name}: expected a whole number, found {wrong!r}$"):
                    call()
        for call in (lambda one: self.model.generate("Once", max_new_tokens=one),
                     lambda one: self.model.embed("Once", layer=one)):
            self.assertEqual(str(call(1)), str(call(One())))

    def test_options_that_only_transformers_has(self):
        advice = {"max_time": "give an on_progress that returns False when the time is over",
                  "stopping_criteria": "give stop, stop_tokens or an on_progress that returns "
                                       "False",
                  "prefix_allowed_tokens_fn": "give a logits_processor that sets the other scores "
                                              "to -inf",
                  "return_dict_in_generate": "leave it out, because texts have token_ids and "
                                             "finish_reason",
                  "output_scores": "give logprobs=5, for example, and read logprobs of the text",
                  "handle_long_generation": "give truncate=True",
                  "inputs": "give the prompt as the first argument",
                  "assistant_model": "give draft"}
        for name, text in advice.items():
            for options in ({}, {"num_beams": 2}, {"num_return_sequences": 2}):
                with self.assertRaises(TypeError) as caught:
                    self.model.generate("Once", **{name: True}, **options)
                self.assertEqual(str(caught.exception), f"unknown option {name}: {text}")
            with self.assertRaisesRegex(TypeError, f"^unknown option {name}: "):
                self.model.stream("Once", **{name: True})
        with self.assertRaisesRegex(TypeError, "^unknown option num_return_sequences: use Model"):
            self.model.stream("Once", num_return_sequences=2)
        # What max_time advises.
        begin = time.monotonic()
        text = self.model.generate(
            "Once", on_progress=lambda _: time.monotonic() < begin + 0.1, **ENDLESS)
        self.assertEqual(text.finish_reason, "cancelled")
        self.assertGreater(len(text.token_ids), 0)

    def test_messages_about_unknown_arguments_name_the_public_class(self):
        for call in (self.model.embed, self.model.score, self.model.logits, self.model.observe):
            with self.assertRaisesRegex(TypeError, "^(Model.)?[a-z]+.. got an unexpected keyword"):
                call("Once", no_such=1)

    def test_arguments_of_a_wrong_type_are_named(self):
        model, tokenizer, session = self.model, self.model.tokenizer, self.model.session()
        sampler = gpt2cpp.Sampler(4)
        cases = [
            ("prompt: expected a text, token ids or a list of them, found 5",
             lambda: model.generate(5)),
            ("prompt: expected a text, token ids or a list of them, found b'Once'",
             lambda: model.generate(b"Once")),
            ("prompt: expected a text or token ids, found None",
             lambda: model.generate(["Once", None])),
            ("prompt: expected a text or token ids, found None", lambda: model.stream(None)),
            ("prompt: expected a token id, which is a whole number, found '258'",
             lambda: session.generate([1, "258"])),
            ("text: expected a token id, which is a whole number, found 2.5",
             lambda: model.logits([2.5])),
            (r"token_ids: expected a token id, which is a whole number, found \[443\]",
             lambda: tokenizer.decode([[443]])),
            ("max_tokens: expected a whole number, found 2.5", lambda: model.session(2.5)),
            (r"^text: expected one text or its token ids, found \['Once', 'The'\]: make a call for "
             "each text$", lambda: model.logits(["Once", "The"])),
            (r"found \['Once'\]: make a call for each",
             lambda: model.hidden_states(["Once"])),
            (r"^prompt: expected one text or its token ids, found \[\[443\], \[452\]\]: make",
             lambda: session.generate([[443], [452]])),
            ("tokens: expected a text or token ids, found None", lambda: session.append(None)),
            ("text: expected a text or token ids, found None", lambda: model.logits(None)),
            ("texts: expected a text, token ids or a list of them", lambda: model.score(None)),
            ("texts: expected a text or token ids, found 1.5", lambda: model.embed([1.5])),
            ("context: expected a text or token ids", lambda: model.choices(None, ["a"])),
            ("continuations: expected a list of texts or token ids, found 'abc'",
             lambda: model.choices("Once", "abc")),
            ("other: expected a Model, such as .*, found 5",
             lambda: model.compare_perplexity(5, "The cat")),
            ("layer: expected a whole number, found 'x'",
             lambda: model.hidden_states("a", layer="x")),
            ("layers: expected numbers of blocks, found 5", lambda: model.observe("a", layers=5)),
            ("what: expected names, found 5", lambda: model.observe("a", 5)),
            ("threads: expected a whole number", lambda: gpt2cpp.Model(MODEL, threads="two")),
            ("on_progress: expected a function", lambda: model.score("The cat", on_progress=5)),
            ("text: expected a str, found 5", lambda: tokenizer.encode(5)),
            ("text: expected a text or a list of texts, found 5", lambda: tokenizer(5)),
            ("parse_special: expected True or False, found 'no'",
             lambda: tokenizer.encode("a", parse_special="no")),
            ("token_ids: expected token ids, found None", lambda: tokenizer.decode(None)),
            ("tokens: expected a token or a list", lambda: tokenizer.convert_tokens_to_ids(5)),
            ("files: expected a dict of names and contents, found None",
             lambda: gpt2cpp.Model.from_bytes(None)),
            ("files: expected the bytes of 'config.json', found 'text'",
             lambda: gpt2cpp.Tokenizer.from_bytes({"config.json": "text"})),
            ("logits: expected numbers, found None", lambda: sampler.sample(None, [])),
            (r"logits: expected numbers, found \['a'", lambda: sampler.sample(["a"] * 4, [])),
            ("logits: expected numbers, found b'abcdabcd",
             lambda: sampler.sample(b"abcd" * 4, [])),
            ("ids: expected token ids, found b'abcd'", lambda: sampler.sample([0.0] * 4, b"abcd")),
            ("eos_token_id: expected token ids, found 5",
             lambda: gpt2cpp.Sampler(4, eos_token_id=5)),
        ]
        for message, call in cases:
            with self.subTest(message), self.assertRaisesRegex(TypeError, message):
                call()
        for layers in ([0, "x"], [0, None], [[0]]):
            with self.assertRaisesRegex(ValueError, "layers: expected numbers from 0 to"):
                model.observe("a", layers=layers)
        self.assertEqual(len(session), 0)


if __name__ == "__main__":
    # A shell starts background commands with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    support.main()
