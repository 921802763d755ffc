#!/usr/bin/env python3
"""Writes a GPT-2 with random weights as a HuggingFace directory (config.json, model.safetensors).

The weights are the same as those of `gpt2 bench --size`: element i of the t-th tensor is a hash of
(t, i). So engines that read HuggingFace's files can be measured on the same model. Needs numpy.

    tools/make_random_model.py --size 124M --dtype f32 OUT
"""
import argparse
import json
import os
import struct
import tempfile

import numpy as np

SIZES = {  # n_embd, n_layer, n_head
    "124M": (768, 12, 12),
    "355M": (1024, 24, 16),
    "774M": (1280, 36, 20),
    "1558M": (1600, 48, 25),
}
VOCAB_SIZE, N_POSITIONS = 50257, 1024


def tensors(n_embd, n_layer):
    """Yields the names and shapes of the tensors, in the order that numbers them."""
    yield "wte.weight", (VOCAB_SIZE, n_embd)
    yield "wpe.weight", (N_POSITIONS, n_embd)
    for layer in range(n_layer):
        h = f"h.{layer}."
        for norm in ("ln_1", "ln_2"):
            yield h + norm + ".weight", (n_embd,)
            yield h + norm + ".bias", (n_embd,)
        for name, k, n in (("attn.c_attn", n_embd, 3 * n_embd), ("attn.c_proj", n_embd, n_embd),
                           ("mlp.c_fc", n_embd, 4 * n_embd), ("mlp.c_proj", 4 * n_embd, n_embd)):
            yield h + name + ".weight", (k, n)
            yield h + name + ".bias", (n,)
    yield "ln_f.weight", (n_embd,)
    yield "ln_f.bias", (n_embd,)


def random_values(number, name, count):
    """Returns uniform numbers with a standard deviation of 0.02.

    They lie around 1 for the weights of LayerNorms, and around 0 for all others.
    """
    bits = np.arange(count, dtype=np.uint32)
    bits *= np.uint32(0x9E3779B1)
    bits += np.uint32(number * 0x85EBCA6B & 0xFFFFFFFF)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits ^= bits >> np.uint32(shift)
        bits *= np.uint32(factor)
    bits ^= bits >> np.uint32(16)
    values = (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24) - np.float32(0.5)
    values *= np.float32(0.0692820323)  # 0.02 * sqrt(12)
    if ".ln_" in "." + name and name.endswith(".weight"):
        values += np.float32(1.0)
    return values


def encode(values, dtype):
    if dtype == "f32":
        return values.tobytes()
    if dtype == "f16":
        return values.astype(np.float16).tobytes()
    bits = values.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
            >> np.uint32(16)).astype(np.uint16).tobytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="124M")
    parser.add_argument("--dtype", choices=["f32", "f16", "bf16"], default="f32")
    parser.add_argument("out", help="the directory to write")
    args = parser.parse_args()
    n_embd, n_layer, n_head = SIZES[args.size]

    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors(n_embd, n_layer):
        end = offset + int(np.prod(shape)) * (4 if args.dtype == "f32" else 2)
        header[name] = {"dtype": args.dtype.upper(), "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    os.makedirs(args.out, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=args.out, delete=False) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for number, (name, shape) in enumerate(tensors(n_embd, n_layer)):
            file.write(encode(random_values(number, name, int(np.prod(shape))), args.dtype))
    os.chmod(file.name, 0o644)
    os.replace(file.name, os.path.join(args.out, "model.safetensors"))
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": n_embd,
              "n_layer": n_layer, "n_head": n_head, "vocab_size": VOCAB_SIZE,
              "n_positions": N_POSITIONS}
    with open(os.path.join(args.out, "config.json"), "w") as file:
        json.dump(config, file, indent=2)


if __name__ == "__main__":
    main()
