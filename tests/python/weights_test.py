"""Tests Model.weights against the checkpoints' own bytes; support.py says how it is run."""

import gc
import json
import struct
import unittest
import weakref

from support import DATA, MODEL, ModelTest, flat, main, numpy, python

import gpt2cpp

CASES = f"{DATA}/oracle/cases"


def stored(path):
    """The tensors of a safetensors file by their names: shapes and numbers."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or name.endswith((".attn.bias", "masked_bias")):
            continue
        begin, end = entry["data_offsets"]
        content = data[begin:end]
        if entry["dtype"] == "BF16":  # the upper half of a float
            halves = struct.unpack(f"<{len(content) // 2}H", content)
            content = struct.pack(f"<{len(halves)}I", *(half << 16 for half in halves))
        code, width = ("e", 2) if entry["dtype"] == "F16" else ("f", 4)
        tensors[name.replace("transformer.", "")] = (
            tuple(entry["shape"]), struct.unpack(f"<{len(content) // width}{code}", content))
    return tensors


class WeightsTest(ModelTest):
    def test_weights_are_those_of_the_file(self):
        for name in ("untied", "tiny_default", "weights_bf16", "weights_f16", "st_quirky"):
            with self.subTest(name):
                model = gpt2cpp.Model(f"{CASES}/{name}")
                tensors = stored(f"{CASES}/{name}/model.safetensors")
                if model.config["tie_word_embeddings"]:
                    tensors.pop("lm_head.weight", None)
                self.assertEqual(set(model.weights), set(tensors))
                self.assertEqual(len(model.weights), len(tensors))
                for key, (shape, numbers) in tensors.items():
                    array = model.weights[key]
                    self.assertEqual((tuple(array.shape), model.weights.shape(key)),
                                     (shape, shape))
                    self.assertEqual(flat(array.tolist()), list(numbers), key)

    def test_names_of_transformers(self):
        weights = self.model.weights
        for name, same in (("transformer.h.0.ln_1.bias", "h.0.ln_1.bias"),
                           ("lm_head.weight", "wte.weight")):
            self.assertIn(name, weights)
            self.assertEqual(weights[name].tolist(), weights[same].tolist())
        for name in ("h.6.ln_1.bias", "transformer.lm_head.bias", "", 5, None):
            self.assertNotIn(name, weights)
            with self.assertRaises(KeyError):
                weights[name]
        self.assertIn("76 tensors", repr(weights))  # and not all of their numbers

    def test_they_cannot_be_written_and_keep_their_memory(self):
        model = gpt2cpp.Model(MODEL)
        for name in ("h.0.ln_1.weight", "h.5.mlp.c_fc.weight"):
            array = model.weights[name]
            with self.assertRaises((ValueError, TypeError)):
                array[0] = 1
            if numpy is not None:
                with self.assertRaises(ValueError):
                    array.flags.writeable = True
        before = array.tolist()
        model.close()
        del model
        gc.collect()
        self.assertEqual(array.tolist(), before)

    @unittest.skipIf(numpy is None, "there is no numpy")
    def test_they_are_not_copied(self):
        def address(array):
            return array.__array_interface__["data"][0]

        one, other = self.model.weights["wte.weight"], self.model.weights["lm_head.weight"]
        self.assertEqual((one.dtype, address(one)), (numpy.float16, address(other)))
        self.assertFalse(one.flags.owndata or one.flags.writeable)
        self.assertEqual(self.model.weights["ln_f.weight"].dtype, numpy.float32)
        bf16 = gpt2cpp.Model(f"{CASES}/weights_bf16").weights["wte.weight"]
        self.assertEqual((bf16.dtype, bf16.flags.writeable), (numpy.float32, False))

    def test_quantized_matrices_have_no_elements(self):
        weights = self.model.convert("int8").weights
        with self.assertRaisesRegex(gpt2cpp.UnsupportedError, "wte.weight: is quantized"):
            weights["wte.weight"]
        self.assertEqual(weights["ln_f.bias"].tolist(), self.model.weights["ln_f.bias"].tolist())

    def test_without_numpy(self):
        printed = python(
            "import sys; sys.modules['numpy'] = None\n"
            f"import gpt2cpp; w = gpt2cpp.Model({CASES + '/weights_bf16'!r}).weights\n"
            "x = w['wte.weight']; print(type(x).__name__, x.format, x.shape, x.readonly, x[3, 1])")
        shape, numbers = stored(f"{CASES}/weights_bf16/model.safetensors")["wte.weight"]
        self.assertEqual(printed,
                         f"memoryview f {shape} True {numbers[3 * shape[1] + 1]}\n")


main()
