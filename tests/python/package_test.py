"""Tests the Python package; support.py says how it is run.

Texts are compared with those of the command, and structs with the layout that the C compiler gives
to those of gpt2.h.
"""

import array
import ctypes
import doctest
import gc
import importlib.util
import inspect
import json
import mmap
import os
import pathlib
import pickle
import pkgutil
import re
import shutil
import sys
import tempfile
import unittest
import weakref

from support import CC, MODEL, ModelTest, bits, command, linked_model, main, numpy, python, run

import gpt2cpp
from gpt2cpp import _library


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
        declared = {**_library.STATUS_FUNCTIONS,
                    **{name: arguments for name, (_, arguments)
                       in _library.OTHER_FUNCTIONS.items()}}
        self.assertGreater(len(declared), 30)
        for name, arguments in declared.items():
            self.assertEqual(len(arguments), functions.get(name), name)
        for name in re.findall(r"GPT2_(\w+) = [1-7]\b", self.header.split("GPT2_OK")[1])[:7]:
            self.assertIn(name.lower(), gpt2cpp.errors.BY_CODE)

    def test_structs_have_the_layout_of_the_c_compiler(self):
        structs = {name: value for name, value in vars(_library).items()
                   if isinstance(value, type) and issubclass(value, ctypes.Structure)
                   and value.__module__ == _library.__name__}
        self.assertGreater(len(structs), 6)
        expected, prints = [], []
        for name, struct in structs.items():
            c_name = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
            expected.append(f"{name} {ctypes.sizeof(struct)}")
            prints.append(f'printf("{name} %zu\\n", sizeof(gpt2_{c_name}));')
            for member, _ in struct._fields_:
                field = getattr(struct, member)
                expected.append(f"{name} {member} {field.offset} {field.size}")
                prints.append(f'printf("{name} {member} %zu %zu\\n", offsetof(gpt2_{c_name}, '
                              f"{member}), sizeof ((gpt2_{c_name}*)0)->{member});")
        with tempfile.TemporaryDirectory() as scratch:
            with open(scratch + "/layout.c", "w") as file:
                file.write("#include <gpt2/gpt2.h>\n#include <stdio.h>\n#include <stddef.h>\n"
                           "int main(void) {\n" + "\n".join(prints) + "\nreturn 0;\n}\n")
            run(CC, "-Iinclude", scratch + "/layout.c", "-o", scratch + "/layout")
            self.assertEqual(run(scratch + "/layout").splitlines(), expected)

    def test_the_version_is_that_of_the_library(self):
        with open("include/gpt2/version.h") as file:
            version = re.search(r'GPT2_VERSION_STRING "([\d.]+)"', file.read()).group(1)
        self.assertEqual(gpt2cpp.__version__, version)
        with tempfile.TemporaryDirectory() as scratch:
            with open(scratch + "/old.c", "w") as file:
                file.write("int gpt2_version(void) { return 207; }\n")
            library = scratch + "/libgpt2.so"
            run(CC, "-shared", "-fPIC", scratch + "/old.c", "-o", library)
            for path, words in ((library, "0.2.7"), ("/nowhere/libgpt2.so", "/nowhere/")):
                message = python("try: import gpt2cpp\nexcept Exception as e: print(e)",
                                 GPT2CPP_LIBRARY=path)
                self.assertIn(words, message)

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

    def test_a_name_becomes_a_path(self):
        self.assertEqual(gpt2cpp.find_model("gpt2-stories"), MODEL)
        with self.assertRaisesRegex(FileNotFoundError, "no-such-model"):
            gpt2cpp.find_model("no-such-model")

    def test_every_option_is_declared(self):
        self.assertLessEqual({option["name"] for option in _library.described["options"]},
                             set(gpt2cpp.GenerateOptions.__annotations__))

    def test_help_and_completion_have_the_options_of_the_table(self):
        functions = (gpt2cpp.Model.generate, gpt2cpp.Model.stream, gpt2cpp.Session.generate,
                     gpt2cpp.Session.stream)
        for function in functions:
            parameters = inspect.signature(function).parameters
            for row in _library.described["options"]:
                self.assertEqual(parameters[row["name"]].default, row["default"])
                entry = function.__doc__.split(f"\n{row['name']}: ")[1].split("\n    Default: ")[1]
                self.assertEqual(entry.split("\n")[0],
                                 f"{row['default']!r}; expected: {row['form']}")
            self.assertIn("streamer", parameters)
        self.assertIn("\n    Default: 0.8; expected: 0 or a number from 1e-06 to 100\n",
                      gpt2cpp.Model.generate.__doc__)
        names = set(inspect.signature(gpt2cpp.Sampler).parameters)
        self.assertTrue({"vocab_size", "eos_token_id", "top_k"} <= names)
        self.assertNotIn("num_beams", names)


class TypesTest(unittest.TestCase):
    """Type checkers accept a program that uses the package."""

    def check(self, *checker):
        path = os.path.abspath("src/python")
        run(*checker, "tests/python/typed.py",
            env={**os.environ, "MYPYPATH": path, "PYTHONPATH": path})

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "there is no mypy")
    def test_mypy(self):
        self.check(sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent",
                   "--cache-dir", os.devnull)

    @unittest.skipIf(shutil.which("pyright") is None, "there is no pyright")
    def test_pyright(self):
        self.check("pyright", "--pythonpath", sys.executable)


class GenerateTest(ModelTest):
    """python_one_request_test compares a sampled text with those of the other interfaces."""

    def assert_same(self, texts, lines):
        texts = texts if isinstance(texts, list) else [texts]
        self.assertEqual([(text, text.token_ids, text.finish_reason) for text in texts],
                         [(line["text"], line["token_ids"], line["finish_reason"])
                          for line in lines])

    def test_max_length_counts_the_tokens_of_a_session_but_not_those_that_it_dropped(self):
        for call in ("generate", "stream"):
            session = self.model.session()
            session.append([443, 452, 258, 401])
            list(getattr(session, call)([11, 308], max_length=9, ignore_eos=True))
            self.assertEqual(len(session), 9)
        session = self.model.session(max_tokens=8)
        session.append([443, 452, 258, 401] * 2)
        session.slide(keep=0)
        n = len(session)
        session.generate(max_length=n + 2, ignore_eos=True)
        self.assertEqual(len(session), n + 2)

    def test_lists_may_be_iterators_and_numbers_those_of_numpy(self):
        words = [[11], [443, 452]]
        for options in ({"do_sample": False}, {"num_beams": 2}):
            options["max_new_tokens"] = 3
            expected = self.model.generate("The cat", bad_words_ids=words, **options)
            for given in (map(iter, words), [iter(word) for word in words]):
                self.assertEqual(self.model.generate(["The cat"] * 2, bad_words_ids=given,
                                                     **options), [expected] * 2)
        expected = self.model.generate([443], max_new_tokens=3, top_p=0.5, suppress_tokens=[11])
        self.assertEqual(self.model.generate(iter([443]), max_new_tokens=3, top_p=0.5,
                                             suppress_tokens=iter([11])), expected)
        if numpy is not None:
            self.assertEqual(self.model.generate(
                numpy.array([443]), max_new_tokens=numpy.int64(3), top_p=numpy.float32(0.5),
                do_sample=numpy.True_, suppress_tokens=numpy.array([11])), expected)

    def test_the_generation_config_is_that_of_hf_defaults(self):
        for config in ({}, {"do_sample": True, "temperature": 1.25, "top_k": 30,
                            "min_new_tokens": 5, "bad_words_ids": [[11], [258, 401]],
                            "sequence_bias": [[[258], -3.5]], "max_new_tokens": 25,
                            "exponential_decay_length_penalty": [5, 1.01]},
                       {"num_beams": 3, "num_return_sequences": 2, "max_length": 15,
                        "early_stopping": "never"}):
            with self.subTest(config), linked_model(generation_config=config) as path:
                model = gpt2cpp.Model(path)
                self.assert_same(model.generate("The cat", **model.generation_config),
                                 command("--json", "--hf-defaults", "-m", path, "The cat"))

    def test_drafts_change_nothing(self):
        text = self.model.generate("Once", max_new_tokens=40, draft=self.model.convert("int4"))
        self.assertEqual(text, self.model.generate("Once", max_new_tokens=40))
        self.assertGreater(text.drafted_tokens, 0)
        self.assertEqual(text, self.model.generate("Once", max_new_tokens=40, prompt_lookup=True))

    def test_how_a_model_is_loaded(self):
        for option, words in (({"dtype": "int8"}, ["--dtype", "int8"]),
                              ({"kv_type": "f16"}, ["--kv", "f16"])):
            self.assert_same(gpt2cpp.Model(MODEL, **option).generate("Once"),
                             command("--json", *words, "Once"))
        converted = gpt2cpp.Model(MODEL, threads=1, kv_type="f32").convert("int8")
        self.assertEqual((converted.threads, converted.dtype), (1, "int8"))
        shares = []
        direct = gpt2cpp.Model(MODEL, dtype="int8", kv_type="f32", on_progress=shares.append)
        logits = converted.logits("Once upon").tolist()
        self.assertEqual(logits, direct.logits("Once upon").tolist())
        self.assertNotEqual(logits, self.model.convert("int8").logits("Once upon").tolist())
        self.assertEqual((shares, shares[-1]), (sorted(shares), 1.0))
        self.assertGreater(len(shares), 10)

    def test_a_path_need_not_be_utf_8(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = scratch + "/caf" + os.fsdecode(b"\xe9")
            os.symlink(os.path.abspath(MODEL), path)
            model, text = gpt2cpp.Model(path), self.model.generate("Once", max_new_tokens=4)
            self.assertEqual(model.generate("Once", max_new_tokens=4), text)
            for one in (model, model.convert("int8")):
                self.assertEqual((one.path, one.tokenizer_path), (path, path))
                self.assertEqual(one.generation_config, self.model.generation_config)
            copy = pickle.loads(pickle.dumps(gpt2cpp.Tokenizer(path)))
            self.assertEqual(copy.special_tokens_map, self.model.tokenizer.special_tokens_map)

    def test_quantized_models_alone_are_saved(self):
        with tempfile.TemporaryDirectory() as scratch:
            with self.assertRaises(ValueError):
                self.model.save_quantized(scratch + "/small")
            self.assertEqual(os.listdir(scratch), [])
            small = self.model.convert("int8")
            small.save_quantized(scratch + "/small")
            loaded = gpt2cpp.Model(scratch + "/small")
            self.assertEqual(loaded.dtype, "int8")
            self.assertEqual(loaded.generate("Once"), small.generate("Once"))


class MemoryTest(ModelTest):
    def files(self, kind=bytes):
        names = ("config.json", "model.safetensors", "vocab.json", "merges.txt")
        return {name: kind(pathlib.Path(MODEL, name).read_bytes()) for name in names}

    def test_a_model_in_memory_is_that_of_the_directory(self):
        expected = self.model.generate("Once", max_new_tokens=20)
        model = gpt2cpp.Model.from_bytes(self.files())
        self.assertEqual(model.generate("Once", max_new_tokens=20), expected)
        self.assertEqual((model.path, model.dtype), ("", self.model.dtype))
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

    def test_weights_are_used_where_they_lie_as_long_as_they_are_used(self):
        class Data(bytearray):
            pass

        files = self.files(Data)
        weights = weakref.ref(files["model.safetensors"])
        model = gpt2cpp.Model.from_bytes(files, threads=1)
        before = model.logits("Once upon").tolist()
        draft = model.convert("int8")
        session = draft.session().fork()
        weights()[-1000:] = bytes(1000)
        self.assertNotEqual(model.logits("Once upon").tolist(), before)
        with self.assertRaises(BufferError):
            weights().clear()
        del files
        model.close()
        draft.close()
        del model, draft
        gc.collect()
        self.assertIsNotNone(weights())
        session.generate("Once", max_new_tokens=5)
        del session
        gc.collect()
        self.assertIsNone(weights())

    def test_what_memory_cannot_do(self):
        files = self.files()
        model = gpt2cpp.Model.from_bytes({name: files[name] for name in
                                          ("config.json", "model.safetensors")})
        self.assertIsNone(model.tokenizer)
        for kind, call in (
                (gpt2cpp.Error, lambda: model.generate("Once")),
                (gpt2cpp.Error, lambda: model.stream([443])),
                (FileNotFoundError, lambda: model.generation_config),
                (TypeError, lambda: pickle.dumps(model)),
                (TypeError, lambda: pickle.dumps(gpt2cpp.Tokenizer.from_bytes(files))),
                (ValueError, lambda: model.convert("int8").save_quantized("/nowhere/at/all")),
                (ValueError, lambda: gpt2cpp.Model.from_bytes({"config.json": "a str"})),
                (gpt2cpp.InvalidFileError,
                 lambda: gpt2cpp.Model.from_bytes({**files, "model.safetensors": b""}))):
            with self.assertRaises(kind):
                call()
        text = model.generate([443], max_new_tokens=5)  # which has no text
        self.assertEqual((text, text.token_ids),
                         ("", self.model.generate([443], max_new_tokens=5).token_ids))


class SamplerTest(ModelTest):
    def test_a_loop_with_a_sampler_writes_what_generate_writes(self):
        for options in ({"seed": 3}, {"do_sample": False},
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
        forced = gpt2cpp.Sampler(4, top_k=2, temperature=1, prompt_length=1, max_length=2,
                                 eos_token_id=[3], forced_eos_token_id=3)
        logits = [0.5, 2.0, 1.0, -1.0]
        free = gpt2cpp.Sampler(4, top_k=2, temperature=1)
        inf = float("inf")
        self.assertEqual(forced.process(logits, [0]).tolist(), [-inf, -inf, -inf, 0.0])
        self.assertEqual(forced.sample(logits, [0]), 3)
        arrays = [logits, array.array("f", logits), array.array("d", logits), tuple(logits),
                  memoryview(bits(logits)).cast("f")]
        if numpy is not None:
            arrays += [numpy.array(logits), numpy.array([logits] * 2, numpy.float32)[1],
                       numpy.repeat(numpy.array(logits, numpy.float32), 2)[::2]]
        for numbers in arrays:
            self.assertEqual(free.process(numbers, [0]).tolist(), [-inf, 2.0, 1.0, -inf])
        free.close()
        with self.assertRaisesRegex(ValueError, "the Sampler is closed"):
            free.sample([0.0] * 4, [])


class SessionTest(ModelTest):
    def test_a_text_goes_on(self):
        whole = self.model.generate("Once", max_new_tokens=30)
        session = self.model.session()
        parts = [session.generate("Once", max_new_tokens=10),
                 session.generate(max_new_tokens=5), "".join(session.stream(max_new_tokens=15))]
        self.assertEqual("".join(parts), whole)
        self.assertEqual(session.tokens, [443, *whole.token_ids])
        self.assertEqual((len(session), session.capacity), (31, 512))

    def test_fork_and_truncate(self):
        session = self.model.session()
        session.append("Once upon a time")
        first = session.generate(", there", temperature=0, max_new_tokens=5)
        fork = session.fork()
        fork.truncate(4)
        self.assertEqual(fork.generate(", there", temperature=0, max_new_tokens=5), first)
        self.assertEqual(fork.tokens, session.tokens)

    def test_save_replaces_sessions_and_empty_files_alone(self):
        first, second = self.model.session(), self.model.session()
        first.append([443])
        second.generate("Once", max_new_tokens=10)
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "state")
            path.touch()
            first.save(path)
            second.save(os.fspath(path))
            loaded = self.model.load_session(path, max_tokens=100)
            self.assertEqual((loaded.capacity, loaded.tokens), (100, second.tokens))
            self.assertEqual(loaded.generate(max_new_tokens=9), second.generate(max_new_tokens=9))
            for content in (b"my novel", b"gpt2", path.read_bytes()[1:]):
                path.write_bytes(content)
                with self.assertRaisesRegex(ValueError, re.escape(str(path))):
                    first.save(path)
                self.assertEqual(path.read_bytes(), content)

    def test_a_full_session(self):
        session = self.model.session(max_tokens=10)
        ids = list(range(400, 410))
        session.append(ids)
        for options in ({}, {"truncate": True}):
            with self.assertRaises(gpt2cpp.InvalidArgumentError):
                session.generate(" more", **options)
        self.assertEqual(session.generate().finish_reason, "context_full")
        dropped = session.slide(keep=2)
        self.assertGreaterEqual(dropped, 4)
        self.assertEqual((session.dropped, session.tokens), (dropped, ids[:2] + ids[2 + dropped:]))
        self.assertEqual(session.slide(keep=2), 0)
        with self.assertRaises(ValueError):
            session.slide(keep=8, room=5)


def load_tests(loader, tests, pattern):
    for module in pkgutil.iter_modules(gpt2cpp.__path__, "gpt2cpp."):
        tests.addTests(doctest.DocTestSuite(module.name))
    tests.addTests(doctest.DocTestSuite(gpt2cpp))
    return tests


main()
