"""Gives the same requests to the command, batch, the server, the C interface, the Python package
and, if tools/web.sh has made it of the same sources, the module for WebAssembly. All of them must
write the same texts, with the same tokens and log-probabilities, or refuse the request and name the
same member."""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import support
from server import Server

PROMPT = "Once upon a time, the cat"
COMMON = {"prompt": PROMPT, "max_new_tokens": 12, "logprobs": 3}
BEAMS = {"num_beams": 3, "logprobs": None}  # a null is an absent member

RIGHT = [
    {},
    {"seed": 11}, {"seed": -1}, {"seed": 2**64 - 1},
    {"temperature": 0}, {"temperature": 0.9, "top_k": 30, "top_p": 0.95, "repetition_penalty": 1.1},
    {"top_k": 0}, {"top_p": 0.5}, {"min_p": 0.1}, {"typical_p": 0.7}, {"epsilon_cutoff": 0.01},
    {"eta_cutoff": 0.02}, {"presence_penalty": 1.5, "frequency_penalty": 0.5},
    {"no_repeat_ngram_size": 2, "max_new_tokens": 40}, {"top_n_sigma": 1.5},
    {"exponential_decay_length_penalty": [3, 1.4]},
    {"min_new_tokens": 5}, {"min_length": 12}, {"renormalize_logits": True},
    {"suppress_tokens": [262, 263]}, {"begin_suppress_tokens": [262]},
    {"logit_bias": {"262": 4.5, "11": -100}}, {"sequence_bias": [[[262], 2.0]]},
    {"bad_words": ["was"]}, {"bad_words_ids": [[262], [11, 262]]},
    {"forced_bos_token_id": 40}, {"forced_eos_token_id": 0},
    {"stop": "and"}, {"stop": ["moon", " the"]}, {"stop": "\n"},
    {"num_return_sequences": 3}, {"num_return_sequences": 2, "temperature": 0},
    {**BEAMS}, {**BEAMS, "num_return_sequences": 2, "length_penalty": 0.5},
    {**BEAMS, "early_stopping": True}, {"ignore_eos": True, "overflow": "slide", "keep": 2},
    {"prompt": "a <|endoftext|> b"}, {"prompt": ""},
    {"prompt": "caf\u00e9 \u2603"}, {"remove_invalid_values": True},
]

WRONG = [  # with the member that a refusal names
    ({"temperature": -1}, "temperature"), ({"temperature": "hot"}, "temperature"),
    ({"top_p": 1.5}, "top_p"), ({"top_k": -1}, "top_k"), ({"top_k": 2.5}, "top_k"),
    ({"min_p": 2}, "min_p"), ({"seed": "tomorrow"}, "seed"), ({"max_new_tokens": -1}, "max_new_tokens"),
    ({"num_beams": 0}, "num_beams"), ({"num_beams": 3}, "logprobs"), ({"num_return_sequences": 0}, "num_return_sequences"),
    ({**BEAMS, "num_return_sequences": 4}, "num_return_sequences"), ({**BEAMS, "keep": 1}, "keep"),
    ({"logprobs": 101}, "logprobs"), ({"stop": ""}, "stop"),
    ({"logit_bias": {"999999": 1}}, "logit_bias"), ({"suppress_tokens": [999999]}, "suppress_tokens"),
    ({"overflow": "fly"}, "overflow"), ({"repetition_penalty": 0}, "repetition_penalty"),
    ({"tempature": 1}, "tempature"),
]


def texts(records):
    """What is compared of the texts that a door has written, in our own form."""
    return [(one["text"], one["token_ids"],
             [support.bits([token["logprob"], *(top["logprob"] for top in token["top"])])
              for token in one.get("logprobs") or []]) for one in records]


def word(value):
    if isinstance(value, dict):
        return [f"{key}={number}" for key, number in value.items()]
    return value if isinstance(value, list) else [value]


def option_words(name, value):
    """The words of the command for a member."""
    option = "--" + name.replace("_", "-")
    if name == "early_stopping":
        return [option, "true"]
    if value is True:
        return [option]
    if name in ("stop", "bad_words", "logit_bias"):  # may be repeated
        return [part for one in word(value) for part in (option, one)]
    if name == "bad_words_ids":
        return [part for ids in value for part in (option, ",".join(map(str, ids)))]
    if name == "sequence_bias":
        return [part for ids, bias in value for part in (option, ",".join(map(str, ids)) + f"={bias}")]
    return [option, ",".join(map(str, word(value)))]


def from_command(requests):
    for request in requests:
        words = [support.COMMAND, "generate", "--json", "-m", support.MODEL]
        for name, value in request.items():
            if name != "prompt" and value is not None:
                words += map(str, option_words(name, value))
        done = subprocess.run([*words, "--", request["prompt"]], capture_output=True, encoding="utf-8")
        if done.returncode == 0:
            yield texts(map(json.loads, done.stdout.splitlines()))
        else:
            assert done.returncode == 2
            yield done.stderr.replace("--samples", "num_return_sequences").replace("-", "_")


def from_batch(requests):
    for request in requests:  # each in the first line of a file, which has the first sequence
        if "num_beams" in request:
            yield None  # batch has no beam search
            continue
        with tempfile.TemporaryDirectory() as folder:
            given, written = pathlib.Path(folder, "in.jsonl"), pathlib.Path(folder, "out.jsonl")
            given.write_text(json.dumps({"num_return_sequences": 1, **request}))
            subprocess.run([support.COMMAND, "batch", "-m", support.MODEL, "--quiet", "--samples", "3",
                            given, "-o", written], stderr=subprocess.DEVNULL)
            records = [json.loads(line) for line in written.read_text().splitlines()]
        yield records[0]["error"] if "error" in records[0] else texts(records)


def from_server(requests):
    server = Server(support.COMMAND, "-m", support.MODEL)
    try:
        for request in requests:
            body = json.dumps({**request, "return_token_ids": True}).encode()
            try:
                with urllib.request.urlopen(server.url + "/v1/completions", body) as answer:
                    choices = json.load(answer)["choices"]
                for one in choices:
                    if one["logprobs"] is not None:
                        numbers = one["logprobs"]["token_logprobs"]
                        tops = [sorted(top.values(), reverse=True)[:COMMON["logprobs"]]  # and that of the token
                                for top in one["logprobs"]["top_logprobs"]]
                        one["logprobs"] = [{"logprob": number, "top": [{"logprob": x} for x in top]}
                                           for number, top in zip(numbers, tops, strict=True)]
                yield texts(choices)
            except urllib.error.HTTPError as error:
                yield json.load(error)["error"]["param"]
                error.close()
    finally:
        server.end()


def from_c(requests):
    library = ctypes.CDLL(os.environ["GPT2CPP_LIBRARY"])
    library.gpt2_last_error.restype = ctypes.c_char_p

    class Bytes(ctypes.Structure):
        _fields_ = [("data", ctypes.POINTER(ctypes.c_char)), ("size", ctypes.c_size_t)]

    def make(name, *arguments):
        handle = ctypes.c_void_p()
        if getattr(library, name)(*arguments, ctypes.byref(handle)) != 0:
            raise ValueError(library.gpt2_last_error().decode())
        return handle

    model = make("gpt2_model_load", support.MODEL.encode(), None, None, None)
    tokenizer = make("gpt2_tokenizer_load", support.MODEL.encode())
    scheduler = make("gpt2_scheduler_new", model, None, None)
    for request in requests:
        try:
            text = json.dumps(request).encode()
            run = make("gpt2_run_new", scheduler, tokenizer, b"generate", text, None)
            result = make("gpt2_run_result", run)
        except ValueError as error:
            yield str(error)
            continue
        result = ctypes.cast(result, ctypes.POINTER(Bytes)).contents
        yield texts(json.loads(ctypes.string_at(result.data, result.size)))


def from_python(requests):
    import gpt2cpp
    model = gpt2cpp.Model(support.MODEL)
    for request in requests:
        try:
            result = model.generate(**request)
        except ValueError as error:
            yield str(error)
            continue
        result = result if isinstance(result, list) else [result]
        yield texts({"text": str(one), "token_ids": one.token_ids,
                     "logprobs": [{"logprob": token.logprob, "top": [{"logprob": x} for _, x in token.top]}
                                  for token in one.logprobs or []]}
                    for one in result)


SITE = pathlib.Path("build/site/gpt2.mjs")

IN_NODE = """
import { readFileSync } from "node:fs";
const [module, folder] = process.argv.slice(1);
const model = await (await import(module)).load(folder);
for (const request of JSON.parse(readFileSync(0))) {
  console.log(JSON.stringify(await model.generate(request).catch((error) => error.message)));
}
"""


def from_wasm(requests):
    done = support.run("node", "--input-type=module", "--eval", IN_NODE, str(SITE.resolve()), support.MODEL,
                       input=json.dumps(requests))
    for request, line in zip(requests, done.splitlines(), strict=True):
        if request.get("seed") == 2**64 - 1:
            yield None  # a number of JavaScript has 53 bits
            continue
        answer = json.loads(line)
        yield answer if isinstance(answer, str) else texts(answer)


class OneRequestTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.requests = [{**COMMON, **more} for more in RIGHT + [more for more, _ in WRONG]]
        cls.expected = list(from_command(cls.requests))

    def check(self, answers):
        for request, found, expected in zip(self.requests, answers, self.expected, strict=True):
            with self.subTest(request=request):
                if found is not None and not isinstance(expected, str):
                    self.assertEqual(found, expected)
        self.check_refusals(answers)

    def check_refusals(self, answers):
        for (more, member), found in zip(WRONG, answers[len(RIGHT):], strict=True):
            with self.subTest(request=more):
                if found is not None:
                    self.assertIn(member, found)

    def test_command(self):
        for request, found in zip(RIGHT, self.expected):
            with self.subTest(request=request):
                self.assertNotIsInstance(found, str)
        self.check_refusals(self.expected)

    def test_batch(self):
        self.check(list(from_batch(self.requests)))

    def test_c(self):
        self.check(list(from_c(self.requests)))

    def test_python(self):
        self.check(list(from_python(self.requests)))

    def test_server(self):
        self.check(list(from_server(self.requests)))

    @unittest.skipUnless(shutil.which("node") and SITE.exists(), "needs Node, and tools/web.sh")
    def test_wasm(self):
        answers = list(from_wasm(self.requests))
        self.check(answers)
        self.assertEqual(answers[len(RIGHT)],
                         "temperature: expected 0 or a number from 1e-06 to 100, found -1")


support.main()
