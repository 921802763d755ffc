"""Tests from_pretrained() with caches like HuggingFace's; support.py says how it is run."""

import os
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
            load(MODEL, revision="v9").close()

    def test_arguments_of_a_model(self):
        model = gpt2cpp.Model.from_pretrained("tellers/tales", dtype="int8", threads=1)
        self.assertEqual((model.dtype, model.threads), ("int8", 1))

    def test_settings_of_a_tokenizer(self):
        tokenizer = gpt2cpp.Tokenizer.from_pretrained(
            "tellers/tales", pad_token="<|endoftext|>", padding_side="left",
            truncation_side="left", model_max_length=3)
        batch = tokenizer(["Once upon a time", "Once"], padding=True, truncation=True)
        self.assertEqual(batch.input_ids, [[452, 258, 401], [4095, 4095, 443]])
        for wrong in ("pad_token", "no_such"):
            with self.assertRaisesRegex(gpt2cpp.InvalidArgumentError, f"^{wrong}: "):
                gpt2cpp.Tokenizer.from_pretrained("tellers/tales", **{wrong: "[PAD]"})

    def test_dtypes_by_the_names_of_torch(self):
        load = gpt2cpp.Model.from_pretrained
        for dtype, name in (("float32", "f32"), ("float16", "f16"), (TorchType(), "bf16"),
                            ("auto", gpt2cpp.Model(MODEL).dtype)):
            self.assertEqual(load("tellers/tales", dtype=dtype).dtype, name)
            self.assertEqual(load("tellers/tales", torch_dtype=dtype).dtype, name)
            self.assertEqual(gpt2cpp.pipeline(model="tellers/tales", dtype=dtype).model.dtype, name)

    def test_a_missing_model_is_not_downloaded(self):
        for name, revision, words in (
                ("tellers/tales", "v3", "tellers/tales@v3"),
                ("no/model", None, "no/model.*hf download")):
            for load in (gpt2cpp.Model.from_pretrained, gpt2cpp.Tokenizer.from_pretrained):
                with self.assertRaisesRegex(FileNotFoundError, words):
                    load(name, revision=revision)


if __name__ == "__main__":
    main()
