"""Tests how calls of the Python package end: by Ctrl-C, exceptions of callbacks, close() and wrong
arguments, on several threads and in several processes.

support.py says how it is run.
"""

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
import unittest.mock
import weakref

import support
from support import MODEL, numpy

import gpt2cpp
from gpt2cpp._library import Owned

ENDLESS = {"max_new_tokens": 10**9, "ignore_eos": True, "overflow": "slide"}


class ModelTest(support.ModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.expected = cls.model.generate("Once", max_new_tokens=20)

    def assert_usable(self):
        self.assertEqual(self.model.generate("Once", max_new_tokens=20), self.expected)

    @contextlib.contextmanager
    def interrupted(self, seconds=0.15):
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
    def test_every_kind_of_call(self):
        text = [443] * 200000

        def slow(ids, scores):
            sum(range(10000))

        calls = {
            "generate": lambda: self.model.generate("Once", **ENDLESS),
            "a batch": lambda: self.model.generate(["Once", "The cat"] * 40, **ENDLESS),
            "a callback": lambda: self.model.generate("Once", logits_processor=slow, **ENDLESS),
            "beams": lambda: self.model.generate(["Once"] * 1000, num_beams=8, ignore_eos=True),
            "score": lambda: self.model.score(text, stride=1),
            "choices": lambda: self.model.choices(text[:10], [text[:500]] * 2000),
            "embed": lambda: self.model.embed([text[:500]] * 2000),
            "compare": lambda: self.model.compare_perplexity(self.model, text)}
        for name, call in calls.items():
            with self.subTest(name), self.interrupted():
                call()
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

    def test_a_stream(self):
        stream = self.model.stream("Once", **ENDLESS)
        with self.interrupted():
            for _ in stream:
                pass
        with self.interrupted(), self.model.stream("Once", **ENDLESS) as other:
            for _ in other:
                sum(range(1000))
        self.assertEqual((list(stream), stream.result), ([], None))
        self.assert_usable()

    def test_two_ctrl_c_during_a_slow_callback(self):
        session, calls = self.model.session(), 0

        def slow(*_):
            nonlocal calls
            calls += 1
            try:
                time.sleep(5)
            finally:
                time.sleep(5)

        first = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        with self.interrupted(0.6):
            first.start()
            session.generate("Once", logits_processor=slow, **ENDLESS)
        self.assertEqual(calls, 1)
        session.truncate(0)
        self.assert_usable()


class Oops(Exception):
    pass


def fails(*_):
    raise Oops("on purpose")


class CallbackTest(ModelTest):
    def test_exceptions_come_out_of_the_call(self):
        model = self.model
        calls = [
            lambda: gpt2cpp.Model(MODEL, dtype="int8", on_progress=fails),
            lambda: model.generate("Once", on_progress=fails),
            lambda: model.generate(["Once", "The"], logits_processor=fails, **ENDLESS),
            lambda: model.session().generate("Once", logits_processor=[fails]),
            lambda: list(model.stream("Once", logits_processor=fails)),
            lambda: model.generate("Once", num_beams=2, logits_processor=fails),
            lambda: model.generate("Once", on_error="return", logits_processor=fails),
            lambda: model.score("The cat sat", on_progress=fails),
            lambda: model.embed("The cat sat", on_progress=fails),
            lambda: model.compare_perplexity(model, "The cat sat", on_progress=fails)]
        for i, call in enumerate(calls):
            with self.subTest(i), self.assertRaisesRegex(Oops, "on purpose"):
                call()
        self.assert_usable()

    def test_a_stream_does_not_take_an_exception_for_its_end(self):
        def stops(*_):  # PEP 479: an exception that would end a loop becomes a RuntimeError
            raise StopIteration("on purpose")

        class Streamer:
            put, end = (lambda *_: None), stops

        class Early:
            put = stops

        for options in ({"logits_processor": stops}, {"on_progress": stops},
                        {"streamer": Streamer()}, {"streamer": Early()}):
            for call in (self.model.generate, lambda *a, **o: list(self.model.stream(*a, **o))):
                with self.assertRaisesRegex(RuntimeError, "StopIteration"):
                    call("Once", max_new_tokens=2, **options)

    def test_ids_do_not_end_a_loop_over_texts(self):
        class Ids:
            def __iter__(self):
                raise StopIteration

        for call in (self.model.score, self.model.generate, self.model.logits):
            with self.assertRaises(gpt2cpp.InvalidArgumentError):
                list(map(call, [Ids()]))

    def test_false_stops(self):
        for no in [False] if numpy is None else [False, numpy.False_]:
            for options in ({}, {"num_beams": 2}):
                text = self.model.generate("Once", on_progress=lambda _: no, **options)
                self.assertEqual((text, text.finish_reason), ("", "cancelled"))
            for call in (self.model.score, self.model.embed):
                with self.assertRaises(gpt2cpp.CancelledError):
                    call("The cat sat", on_progress=lambda _: no)
        for other in (0, None, "") if numpy is None else (0, numpy.True_, numpy.zeros(2, bool)):
            text = self.model.generate("Once", max_new_tokens=2, on_progress=lambda *_: other)
            self.assertEqual(text.finish_reason, "length")

    def test_a_processor_may_keep_its_arrays(self):
        kept, seen = [], []

        def keep(ids, scores):
            kept.append((ids, scores))
            seen.append((ids.tolist(), scores.tolist()))

        text = self.model.generate([443, 452], max_new_tokens=6, logits_processor=keep)
        self.model.generate(["The cat"] * 8, max_new_tokens=30)  # which uses its freed memory
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
        for options in ({}, {"num_return_sequences": 2}, {"num_beams": 2}):
            with self.subTest(options), self.assertRaisesRegex(ValueError, "^logits_processor: "):
                self.model.generate("Once", logits_processor=[in_place, lambda _, s: s.tolist()],
                                    **options)

    def test_a_callback_of_observe_may_end_a_stream(self):
        def end(values, place):
            for stream in streams:
                stream.close()
            streams.clear()
            gc.collect()

        long, streams = [443] * 500, []
        for session in (self.model.session(), None):
            stream = (session or self.model).stream(long, **ENDLESS)
            stream._run.step()  # reads of the prompt what a pass reads
            knot = [stream]
            knot.append(knot)  # so that the garbage collector frees it
            streams.append(self.model.stream(long, **ENDLESS))
            reader = threading.Thread(target=list, args=streams)
            reader.start()  # reads its prompt meanwhile
            del stream, knot
            self.model.observe("Once", "mlp_output", change={("mlp_output", 0): end})
            reader.join(60)
            self.assertFalse(reader.is_alive())
            if session is not None:
                session.truncate(0)
        self.assert_usable()

    def test_a_stream_closed_in_its_own_callback_ends(self):
        session = self.model.session()
        stream = session.stream("Once", logits_processor=lambda *_: stream.close(), **ENDLESS)
        self.assertEqual((list(stream), stream.result), ([], None))
        session.truncate(0)
        self.assert_usable()


class ThreadTest(ModelTest):
    def on_threads(self, n, work):
        threads = [threading.Thread(target=work) for _ in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_one_model_on_many_threads(self):
        texts = []

        def work():
            for _ in range(5):
                texts.append(self.model.generate("Once", max_new_tokens=20))
                texts.append("".join(self.model.stream("Once", max_new_tokens=20)))

        self.on_threads(8, work)
        self.assertEqual((set(texts), len(texts)), ({self.expected}, 80))

    def test_one_session_on_many_threads(self):
        session = self.model.session()
        self.on_threads(4, lambda: [session.logits([443]) for _ in range(10)])
        self.assertEqual(session.tokens, [443] * 40)

    def test_a_second_thread_on_a_stream_is_refused(self):
        begun, goes_on = threading.Event(), threading.Event()

        def wait(*_):
            begun.set()
            goes_on.wait(60)

        stream = self.model.stream("Once", max_new_tokens=20, logits_processor=wait)
        pieces = []
        reader = threading.Thread(target=lambda: pieces.extend(stream))
        reader.start()
        begun.wait(60)
        with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, "the stream is used twice"):
            next(stream)
        goes_on.set()
        reader.join(60)
        self.assertEqual("".join(pieces), self.expected)

    def test_closing_during_a_call_is_safe(self):
        for _ in range(10):
            model = gpt2cpp.Model(MODEL, threads=2)
            session = model.session()
            stream = session.stream("Once", **ENDLESS)
            next(stream)
            session.close()
            model.close()
            next(stream)
            thread = threading.Thread(target=lambda: list(stream))
            thread.start()
            stream.close()
            thread.join(60)
            self.assertFalse(thread.is_alive())

    def test_other_threads_run_during_a_call(self):
        count = 0
        thread = threading.Thread(target=lambda: self.model.generate("Once", max_new_tokens=300))
        thread.start()
        while thread.is_alive():
            count += 1
        self.assertGreater(count, 1000)


class MemoryTest(unittest.TestCase):
    @unittest.skipUnless(sys.platform == "linux", "needs a limit of memory")
    def test_a_run_without_enough_memory_raises_memory_error(self):
        """With less and less memory beyond what the process has mapped. c_api_allocation_test has
        every kind of run."""
        code = f"""if True:
            import ctypes, gpt2cpp, resource
            from gpt2cpp._runs import new_run
            model = gpt2cpp.Model({MODEL!r}, threads=1)
            failed = False
            for size in (24, 12):
                ctypes.CDLL(None).malloc_trim(0)
                with open("/proc/self/statm") as file:
                    mapped = int(file.read().split()[0]) * resource.getpagesize()
                limit = mapped + (1 << size)
                resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
                try:
                    new_run(model, "inspect", None, prompt=[5] * 400).result()
                except MemoryError:
                    failed = True
                finally:
                    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
            print(failed)"""
        self.assertEqual(support.python(code), "True\n")


class StreamTest(ModelTest):
    def test_pieces_are_the_text(self):
        threads = threading.active_count()
        stream = self.model.stream("Once", max_new_tokens=20)
        self.assertIsNone(stream.result)
        first = next(stream)
        self.assertEqual(threading.active_count(), threads)  # nothing goes on in the background
        pieces = [first, *stream]
        self.assertGreater(len(pieces), 10)
        self.assertNotIn("", pieces)
        self.assertEqual("".join(pieces), self.expected)
        self.assertEqual(stream.result.token_ids, self.expected.token_ids)
        self.assertEqual(list(stream), [])

    def test_a_stream_computes_only_what_is_asked_for(self):
        session = self.model.session()
        stream = session.stream("Once", **ENDLESS)
        next(stream)
        time.sleep(0.1)
        self.assertLess(len(session), 5)
        del stream  # as a loop that is left does
        gc.collect()
        session.truncate(0)

    def test_a_generator_that_is_collected_closes_its_stream(self):
        def write(stream):
            with stream:
                yield from stream

        for _ in range(3):
            stream = self.model.stream("Once", **ENDLESS)  # is finalized before the generator
            writer = write(stream)
            next(writer)
            knot = [stream, writer]
            knot.append(knot)
            del stream, writer, knot
            with unittest.mock.patch("sys.unraisablehook") as hook:
                gc.collect()
            hook.assert_not_called()

    def test_an_open_stream_does_not_keep_the_process(self):
        code = ("import gpt2cpp\n"
                f"s = gpt2cpp.Model({MODEL!r}).stream('Once', max_new_tokens=10**9, "
                "ignore_eos=True, overflow='slide')\n"
                "print(next(s))")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, " upon\n", ""))


class ProcessTest(ModelTest):
    def test_children_that_were_forked_use_the_model(self):
        stream = self.model.stream("Once", max_new_tokens=20)
        first = next(stream)
        with multiprocessing.get_context("fork").Pool(2, initializer=self.inherit) as pool:
            self.assertEqual(pool.map(self.write_inherited, range(4)), [self.expected] * 4)
        self.assertEqual(first + "".join(stream), self.expected)

    @classmethod
    def inherit(cls):
        cls.inherited = cls.model

    @classmethod
    def write_inherited(cls, _):
        return str(cls.inherited.generate("Once", max_new_tokens=20))

    def test_models_and_tokenizers_can_be_pickled(self):
        model = pickle.loads(pickle.dumps(gpt2cpp.Model(MODEL, dtype="int8", threads=1,
                                                        kv_type="f32")))
        self.assertEqual((model.dtype, model.threads), ("int8", 1))
        tokenizer = gpt2cpp.Tokenizer(MODEL)
        tokenizer.pad_token, tokenizer.padding_side = "<|endoftext|>", "left"
        copy = pickle.loads(pickle.dumps(tokenizer))
        self.assertEqual((copy.encode("Once"), copy.pad_token_id, copy.padding_side),
                         ([443], 4095, "left"))
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
        self.assertEqual(session.logits([443]).tolist(), self.model.logits([443]).tolist()[0])

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


class ErrorTest(ModelTest):
    """All errors are gpt2cpp.Error; most are what the library says, which names the argument."""

    def assert_refused(self, name, call):
        with self.subTest(name), self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, name):
            call()

    def test_statuses_are_exceptions(self):
        with self.assertRaises(FileNotFoundError) as caught:
            gpt2cpp.Model("no-such-model")
        self.assertIsInstance(caught.exception, gpt2cpp.Error)
        self.assertEqual(caught.exception.code, "not_found")
        self.assertIn("no-such-model", str(caught.exception))
        self.assertTrue(issubclass(gpt2cpp.InvalidArgumentError, (gpt2cpp.Error, ValueError)))
        with self.assertRaises(gpt2cpp.InvalidFileError):
            self.model.load_session("README.md")

    def test_wrong_options(self):
        """The library checks ranges: these are the types that Python passes on or checks itself."""
        for options in (
                {"no_such": 1}, {"temperature": "hot"}, {"top_p": float("nan")},
                {"max_new_tokens": True}, {"bad_words_ids": [["word"]]}, {"sequence_bias": {5: 1}},
                {"stop": b"."}, {"stop": "caf\udce9"}, {"draft": self.model.session()},
                {"logits_processor": [5]}, {"on_progress": 5}, {"generation_config": 5},
                {"keep": object()}, {"generation_config": {"no_such": 1}}):
            name = [*options][0]
            name = "no_such" if options.get(name) == {"no_such": 1} else name
            self.assert_refused(name, lambda: self.model.generate("Once", **options))
            self.assert_refused(name, lambda: self.model.stream("Once", **options))

    def test_wrong_arguments(self):
        model, tokenizer, session = self.model, self.model.tokenizer, self.model.session()
        sampler = gpt2cpp.Sampler(4)
        cases = [
            ("prompt", lambda: model.generate(b"Once")),
            ("prompt", lambda: session.generate([1, "2"])),
            ("prompt", lambda: model.stream(["Once", "The"])),
            ("text", lambda: model.logits([2.5])), ("text", lambda: model.logits(["Once", "The"])),
            ("text", lambda: model.logits([2**40])), ("tokens", lambda: session.append(None)),
            ("max_tokens", lambda: model.session(2.5)), ("token", lambda: session.truncate(2**64)),
            ("token", lambda: session.truncate(-1)), ("keep", lambda: session.slide(-1)),
            ("texts", lambda: model.score(None)), ("texts", lambda: model.embed([1.5])),
            ("context", lambda: model.choices(None, ["a"])),
            ("continuations", lambda: model.choices("Once", "abc")),
            ("other", lambda: model.compare_perplexity(5, "The cat")),
            ("layer", lambda: model.hidden_states("a", layer="x")),
            ("pooling", lambda: model.embed("a", pooling="max")),
            ("dtype", lambda: model.convert("f64")),
            ("threads", lambda: gpt2cpp.Model(MODEL, threads="two")),
            ("path", lambda: gpt2cpp.Model(MODEL + "\0")),
            ("on_progress", lambda: model.score("The cat", on_progress=5)),
            ("text", lambda: tokenizer.encode(5)), ("text", lambda: tokenizer("caf\udce9")),
            ("parse_special", lambda: tokenizer.encode("a", parse_special="no")),
            ("token_ids", lambda: tokenizer.decode([[443], [452]])),
            ("tokens", lambda: tokenizer.convert_tokens_to_ids(5)),
            ("files", lambda: gpt2cpp.Model.from_bytes(None)),
            ("config.json", lambda: gpt2cpp.Tokenizer.from_bytes({"config.json": "text"})),
            ("logits", lambda: sampler.sample(None, [])),
            ("logits", lambda: sampler.sample([0.0] * 3, [])),
            ("ids", lambda: sampler.sample([0.0] * 4, b"abcd")),
            ("vocab_size", lambda: gpt2cpp.Sampler(-1)),
            ("on_error", lambda: model.embed(["Once"], on_error="ignore"))]
        for name, call in cases:
            self.assert_refused(name, call)
        self.assertEqual(len(session), 0)
        self.assert_usable()


if __name__ == "__main__":
    # A shell starts background commands with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    support.main()
