#!/usr/bin/env python3
"""Writes tests/fuzz/corpus/directory: small model directories, as fuzz_directory.cpp reads them.

    tests/fuzz/directory_corpus.py [FOLDER]
"""
import json
import pathlib
import struct
import sys

N_EMBD, N_HEAD, N_LAYER, N_POSITIONS, VOCAB = 4, 2, 1, 3, 6
CONFIG = {
    "model_type": "gpt2", "n_embd": N_EMBD, "n_head": N_HEAD, "n_layer": N_LAYER,
    "n_positions": N_POSITIONS, "vocab_size": VOCAB,
}
VOCABULARY = {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "<|endoftext|>": 4, "c": 5}


def shapes(transposed=False):
    h = "h.0."
    linears = {h + "attn.c_attn": (N_EMBD, 3 * N_EMBD), h + "attn.c_proj": (N_EMBD, N_EMBD),
               h + "mlp.c_fc": (N_EMBD, 4 * N_EMBD), h + "mlp.c_proj": (4 * N_EMBD, N_EMBD)}
    result = {"wte.weight": (VOCAB, N_EMBD), "wpe.weight": (N_POSITIONS, N_EMBD)}
    for name, (k, n) in linears.items():
        result[name + ".weight"] = (n, k) if transposed else (k, n)
        result[name + ".bias"] = (n,)
    for name in (h + "ln_1", h + "ln_2", "ln_f"):
        result[name + ".weight"] = result[name + ".bias"] = (N_EMBD,)
    return result


def count(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def half_floats(number):
    """Returns `number` f16 values: 0, 0.25, 0.5 ... 1.5, and again from 0."""
    return b"".join(struct.pack("<e", i % 7 / 4) for i in range(number))


def safetensors(tensors):
    """Returns the bytes of a file of tensors, given as {name: (dtype, shape, bytes)}."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def f16_tensors(names=None):
    return {name: ("F16", shape, half_floats(count(shape)))
            for name, shape in shapes().items() if names is None or name in names}


def int4_tensors():
    """Returns tensors as save_quantized writes them.

    Matrices are in panels of 32 columns, and these in blocks of 32 rows (k).
    """
    result = {}
    for name, shape in shapes().items():
        if len(shape) == 2 and name != "wpe.weight":
            n, k = shape if name == "wte.weight" else reversed(shape)
            block = half_floats(32) + bytes(i % 256 for i in range(32 * 32 // 2))
            blocks = ((n + 31) // 32, (k + 31) // 32)
            result[name] = ("U8", (*blocks, len(block)), block * count(blocks))
        else:
            result[name] = ("F16", shape, half_floats(count(shape)))
    return result


# -- PyTorch, opcode by opcode ---------------------------------------------------------------------

def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def integer(value):
    return b"J" + struct.pack("<i", value)


def py_tuple(items):
    return b"(" + b"".join(items) + b"t"


def tensor(key, shape):
    storage = py_tuple([text("storage"), b"ctorch\nHalfStorage\n", text(key), text("cpu"),
                        integer(count(shape))]) + b"Q"
    strides = [count(shape[i + 1:]) for i in range(len(shape))]
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + py_tuple(
        [storage, integer(0), py_tuple(map(integer, shape)), py_tuple(map(integer, strides)),
         b"\x89", b"}"]) + b"R"


def py_dict(items):
    return b"}(" + b"".join(text(name) + value for name, value in items.items()) + b"u"


def state_dict(transposed):
    """Returns a pickled state dict and its storages.

    All tensors of the same size share one storage, which keeps the file small.
    """
    sizes = shapes(transposed)
    return (py_dict({name: tensor(str(count(shape)), shape) for name, shape in sizes.items()}),
            {str(count(shape)): half_floats(count(shape)) for shape in sizes.values()})


def zip_of(members):
    """Returns a zip archive whose members are neither compressed nor protected by CRCs.

    With CRCs, a reader would refuse almost every input that the fuzzer changes for its CRC alone.
    """
    local, central = b"", b""
    for name, content in members.items():
        sizes = struct.pack("<IIIHH", 0, len(content), len(content), len(name), 0)
        fixed = struct.pack("<HHHHH", 0, 0, 0, 0, 0)
        central += (b"PK\x01\x02" + struct.pack("<H", 0) + fixed + sizes +
                    struct.pack("<HHHII", 0, 0, 0, 0, len(local)) + name.encode())
        local += b"PK\x03\x04" + fixed + sizes + name.encode() + content
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(central), len(local), 0)
    return local + central + b"PK\x05\x06" + end


def pytorch(pickle, storages):
    members = {"x/data.pkl": b"\x80\x02" + pickle + b"."}
    members.update({"x/data/" + key: content for key, content in storages.items()})
    return zip_of(members)


def nanogpt():
    pickle, storages = state_dict(transposed=True)
    args = {"n_layer": N_LAYER, "n_head": N_HEAD, "n_embd": N_EMBD, "block_size": N_POSITIONS,
            "vocab_size": VOCAB}
    return pytorch(py_dict({"model": pickle, "model_args": py_dict(
        {name: integer(value) for name, value in args.items()})}), storages)


# -- The directories -------------------------------------------------------------------------------

def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else pathlib.Path(__file__).parent / "corpus/directory")
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {"vocab.json": compact(VOCABULARY), "merges.txt": b"a b\n"}
    tokenizer = {"model": {"type": "BPE", "vocab": VOCABULARY, "merges": ["a b"]},
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True},
                 "added_tokens": [{"id": 6, "content": "[x]", "special": True}]}
    first = [name for name in shapes() if name < "h.0.m"]
    index = {name: "shard1" if name in first else "shard2" for name in shapes()}
    inputs = {
        "safetensors": {"config.json": compact(CONFIG),
                        "generation_config.json": compact({"eos_token_id": [4]}),
                        "model.safetensors": safetensors(f16_tensors()), **vocabulary},
        "pytorch": {"config.json": compact({**CONFIG, "activation_function": "relu"}),
                    "pytorch_model.bin": pytorch(*state_dict(transposed=False)),
                    "tokenizer.json": compact(tokenizer)},
        "shards": {"config.json": compact(CONFIG),
                   "model.safetensors.index.json": compact({"weight_map": index}),
                   "shard1": safetensors(f16_tensors(first)),
                   "shard2": safetensors(f16_tensors(set(index) - set(first)))},
        "nanogpt": {"ckpt.pt": nanogpt(), **vocabulary,
                    "added_tokens.json": compact({"[x]": 6}),
                    "special_tokens_map.json": compact({"pad_token": "[x]"}),
                    "tokenizer_config.json": compact({"add_bos_token": True})},
        "int4": {"config.json": compact({**CONFIG, "gpt2_cpp": {"dtype": "int4"}}),
                 "model.safetensors": safetensors(int4_tensors()), "ckpt.pt": b""},
    }
    for name, files in inputs.items():
        (folder / name).write_bytes(b"".join(
            b"%%% " + file.encode() + b"\n" + content for file, content in files.items()))


main()
