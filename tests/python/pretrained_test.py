"""Tests from_pretrained() with caches like HuggingFace's; support.py says how it is run."""

import os
import re
import tempfile
import unittest
from unittest import mock

from support import MODEL, main

import gpt2cpp

COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"
OTHER = "11c5a3d5811f50298f278a704980280950aedb10"


class TorchType:
    def __str__(self):
        return "torch.bfloat16"


class PretrainedTest(unittest.TestCase):
    """huggingface_hub's layout: models--OWNER--NAME with refs/REVISION and snapshots/COMMIT."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.repository = f"{scratch.name}/models--tellers--tales"
        environment = mock.patch.dict(os.environ, HF_HUB_CACHE=scratch.name)
        environment.start()
        self.addCleanup(environment.stop)
        self.snapshot(COMMIT, "main")
        self.snapshot(OTHER, "v2", "refs/pr/1")

    def snapshot(self, commit, *refs):
        """A model in the cache, as links to the files of the bundled one."""
        folder = f"{self.repository}/snapshots/{commit}"
        os.makedirs(folder)
        for name in os.listdir(MODEL):
            os.symlink(os.path.abspath(f"{MODEL}/{name}"), f"{folder}/{name}")
        for ref in refs:
            os.makedirs(os.path.dirname(f"{self.repository}/refs/{ref}"), exist_ok=True)
            with open(f"{self.repository}/refs/{ref}", "w") as file:
                file.write(commit)

    def test_a_revision_chooses_a_snapshot(self):
        for revision, commit in ((None, COMMIT), ("main", COMMIT), ("v2", OTHER), (OTHER, OTHER),
                                 ("refs/pr/1", OTHER)):
            with self.subTest(revision):
                model = gpt2cpp.Model.from_pretrained("tellers/tales", revision=revision)
                self.assertEqual(os.path.basename(model.path), commit)
                self.assertEqual(model.generate([443], max_new_tokens=3, do_sample=False).token_ids,
                                 gpt2cpp.Model(MODEL).generate([443], max_new_tokens=3,
                                                               do_sample=False).token_ids)
                tokenizer = gpt2cpp.Tokenizer.from_pretrained("tellers/tales", revision=revision)
                self.assertIn(commit, tokenizer.description + tokenizer._path)

    def test_a_path_has_no_revisions(self):
        for load in (gpt2cpp.Model.from_pretrained, gpt2cpp.Tokenizer.from_pretrained):
            load(MODEL, revision="v9", local_files_only=True).close()
            load(MODEL, local_files_only=False).close()

    def test_arguments_of_a_model(self):
        model = gpt2cpp.Model.from_pretrained("tellers/tales", dtype="int8", threads=1)
        self.assertEqual((model.dtype, model.threads), ("int8", 1))

    def test_settings_of_a_tokenizer(self):
        tokenizer = gpt2cpp.Tokenizer.from_pretrained(
            "tellers/tales", pad_token="<|endoftext|>", padding_side="left",
            truncation_side="left", model_max_length=3)
        batch = tokenizer(["Once upon a time", "Once"], padding=True, truncation=True)
        self.assertEqual(batch.input_ids, [[452, 258, 401], [4095, 4095, 443]])
        for name, wrong in (("padding_side", "up"), ("pad_token", "[PAD]")):
            with self.assertRaisesRegex(ValueError, f"^{name}: .*{wrong}"):
                gpt2cpp.Tokenizer.from_pretrained("tellers/tales", **{name: wrong})

    def test_arguments_that_only_transformers_has(self):
        hints = {"device": "leave it out, because gpt2cpp computes on the CPU alone",
                 "device_map": "leave it out, because gpt2cpp computes on the CPU alone",
                 "trust_remote_code": "leave it out, because no code of a model is executed",
                 "cache_dir": "set HF_HUB_CACHE in the environment instead",
                 "load_in_8bit": "give dtype='int8' instead",
                 "no_such": "is no argument of from_pretrained(): leave it out"}
        for name, hint in hints.items():
            for load in (gpt2cpp.Model.from_pretrained, gpt2cpp.Tokenizer.from_pretrained):
                with self.assertRaises(TypeError) as caught:
                    load("tellers/tales", **{name: True})
                self.assertEqual(str(caught.exception), f"{name}: {hint}")
        with self.assertRaisesRegex(TypeError, "^torch_dtype: is no argument of from_pretrained"):
            gpt2cpp.Tokenizer.from_pretrained("tellers/tales", torch_dtype="float16")
        with self.assertRaisesRegex(TypeError, "^no_such: is no argument"):
            gpt2cpp.Model.from_pretrained("tellers/tales", no_such=None)

    def test_arguments_that_change_nothing(self):
        same = dict(device_map="auto", low_cpu_mem_usage=True, trust_remote_code=False,
                    load_in_8bit=False, use_fast=True, cache_dir=None)
        for load in (gpt2cpp.Model.from_pretrained, gpt2cpp.Tokenizer.from_pretrained):
            self.assertEqual(repr(load("tellers/tales", **same)), repr(load("tellers/tales")))
        same.pop("device_map")
        gpt2cpp.pipeline(model="tellers/tales", device_map="cpu", **same)("Once")

    def test_dtypes_by_the_names_of_torch(self):
        for dtype, name in (("float32", "f32"), ("float16", "f16"), (TorchType(), "bf16")):
            model = gpt2cpp.Model.from_pretrained("tellers/tales", dtype=dtype)
            self.assertEqual((model.dtype, model.convert(dtype).dtype), (name, name))
        with self.assertRaisesRegex(ValueError, "^dtype: expected one of stored, f32, .*'float64'"):
            gpt2cpp.Model(MODEL, dtype="float64")

    def test_the_older_name_of_dtype(self):
        def piped(*name, **dtypes):
            return gpt2cpp.pipeline("text-generation", *name, **dtypes).model

        for load in (gpt2cpp.Model.from_pretrained, piped):
            for dtype, name in (("float32", "f32"), (TorchType(), "bf16"), ("int8", "int8")):
                self.assertEqual(load("tellers/tales", torch_dtype=dtype).dtype, name)
                self.assertEqual(load("tellers/tales", torch_dtype=dtype, dtype=None).dtype, name)
                self.assertEqual(load("tellers/tales", torch_dtype=None, dtype=dtype).dtype, name)
            for dtype, older in (("f32", "f32"), ("auto", "f16")):
                with self.assertRaisesRegex(TypeError, "^dtype, torch_dtype: both name the type "
                                                       "of the weights: give one of them$"):
                    load("tellers/tales", dtype=dtype, torch_dtype=older)
            with self.assertRaisesRegex(ValueError, "^dtype: expected one of .*'float64'"):
                load("tellers/tales", torch_dtype="float64")
        self.assertEqual(piped(torch_dtype="float32").dtype, "f32")

    def test_the_type_of_the_checkpoint(self):
        # As in transformers: "auto" keeps the type in which the checkpoint has the weights.
        expected = gpt2cpp.Model("tellers/tales")
        for model in (gpt2cpp.Model.from_pretrained("tellers/tales", torch_dtype="auto"),
                      gpt2cpp.Model.from_pretrained("tellers/tales", dtype="auto"),
                      gpt2cpp.pipeline(model="tellers/tales", dtype="auto").model,
                      gpt2cpp.pipeline(model="tellers/tales", torch_dtype="auto").model):
            self.assertEqual((model.path, model.dtype), (expected.path, expected.dtype))
        for auto in (dict(dtype="auto"), dict(torch_dtype="auto")):
            self.assertEqual(gpt2cpp.pipeline(**auto).model.dtype, gpt2cpp.Model().dtype)
        pipe = gpt2cpp.pipeline(model="tellers/tales", torch_dtype="auto")
        self.assertIn("Once", pipe("Once", max_new_tokens=2)[0]["generated_text"])

    def test_a_missing_model_is_not_downloaded(self):
        cases = [("tellers/tales", "v3", "run 'hf download tellers/tales --revision v3' first"),
                 ("tellers/poems", None, "run 'hf download tellers/poems' first"),
                 ("tellers/tales@v3", None, "run 'hf download tellers/tales --revision v3' first"),
                 ("tellers/tales", "../../tales", "--revision ../../tales' first")]
        for load in (gpt2cpp.Model.from_pretrained, gpt2cpp.Tokenizer.from_pretrained):
            for name, revision, end in cases:
                with self.subTest(name, revision=revision), \
                        self.assertRaises(FileNotFoundError) as caught:
                    load(name, revision=revision)
                message = str(caught.exception)
                self.assertTrue(message.endswith(end), message)
                self.assertIn("gpt2cpp downloads nothing", message)
                self.assertEqual(message.count("hf download"), 1)
            for name in ("no/such/model", "no such", "./no-such"):
                with self.assertRaisesRegex(FileNotFoundError, re.escape(name)) as caught:
                    load(name)
                self.assertNotIn("hf download", str(caught.exception))

    def test_arguments_of_a_wrong_type(self):
        for load in (gpt2cpp.Model.from_pretrained, gpt2cpp.Tokenizer.from_pretrained):
            with self.assertRaisesRegex(TypeError, "revision: expected the name of a branch"):
                load("tellers/tales", revision=5)
            with self.assertRaisesRegex(TypeError, "local_files_only: expected True or False"):
                load("tellers/tales", local_files_only="yes")


if __name__ == "__main__":
    main()
