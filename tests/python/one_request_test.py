"""Gives one request to the command, a line of batch, the server, the C interface and the Python
package. All of them must write the same texts, with the same tokens and log-probabilities."""

import ctypes
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import urllib.request

import support

PROMPT = "Once upon a time, the cat"
OPTIONS = {"max_new_tokens": 24, "temperature": 0.9, "top_k": 30, "top_p": 0.95,
           "repetition_penalty": 1.1, "seed": 11, "stop": "moon"}
DEFAULTS = {"max_new_tokens": 24}  # every door has the same temperature, top_k and seed
TEXTS = 2
LIKELIEST = 3


def from_command(options):
    words = [PROMPT, "--json", "--samples", TEXTS, "--logprobs", LIKELIEST, "-m", support.MODEL]
    for name, value in options.items():
        words += ["--" + name.replace("_", "-"), value]
    return support.command("generate", *words)


def from_batch(options):
    request = {"prompt": PROMPT, "logprobs": LIKELIEST, **options}
    with tempfile.TemporaryDirectory() as folder:
        given, written = pathlib.Path(folder, "in.jsonl"), pathlib.Path(folder, "out.jsonl")
        given.write_text(json.dumps(request))
        support.run(support.COMMAND, "batch", "-m", support.MODEL, "--quiet", "--samples",
                    str(TEXTS), str(given), "-o", str(written))
        return [json.loads(line) for line in written.read_text().splitlines()]


def from_server(options):
    process = subprocess.Popen([support.COMMAND, "serve", "-m", support.MODEL, "--port", "0", "--quiet"],
                               stdout=subprocess.PIPE, encoding="utf-8")
    try:
        url = process.stdout.readline().strip()
        request = {"prompt": PROMPT, "n": TEXTS, "logprobs": LIKELIEST, "return_token_ids": True,
                   **options}
        with urllib.request.urlopen(url + "/v1/completions", json.dumps(request).encode()) as answer:
            choices = json.load(answer)["choices"]
        for choice in choices:
            numbers = choice["logprobs"]["token_logprobs"]
            choice["logprobs"] = [{"logprob": number} for number in numbers]
        return choices
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def from_c(options):
    library = ctypes.CDLL(os.environ["GPT2CPP_LIBRARY"])
    library.gpt2_last_error.restype = ctypes.c_char_p

    class Bytes(ctypes.Structure):
        _fields_ = [("data", ctypes.POINTER(ctypes.c_char)), ("size", ctypes.c_size_t)]

    def make(name, *arguments):
        handle = ctypes.c_void_p()
        if getattr(library, name)(*arguments, ctypes.byref(handle)) != 0:
            raise AssertionError(library.gpt2_last_error().decode())
        return handle

    request = {"prompt": PROMPT, "n": TEXTS, "logprobs": LIKELIEST, **options}
    model = make("gpt2_model_load", support.MODEL.encode(), None, None, None)
    tokenizer = make("gpt2_tokenizer_load", support.MODEL.encode())
    scheduler = make("gpt2_scheduler_new", model, None, None)
    run = make("gpt2_run_new", scheduler, tokenizer, b"generate", json.dumps(request).encode(), None)
    result = ctypes.cast(make("gpt2_run_result", run), ctypes.POINTER(Bytes)).contents
    return json.loads(ctypes.string_at(result.data, result.size))


def from_python(options):
    import gpt2cpp
    result = gpt2cpp.Model(support.MODEL).generate(
        PROMPT, num_return_sequences=TEXTS, logprobs=LIKELIEST, **options)
    return [{"text": str(one), "token_ids": one.token_ids,
             "logprobs": [{"logprob": token.logprob} for token in one.logprobs]} for one in result]


class OneRequestTest(unittest.TestCase):
    def check_same(self, write):
        """Checks that these texts, in our own form, are those of the command."""
        for options in (OPTIONS, DEFAULTS):
            own, expected = write(options), from_command(options)
            self.assertEqual(len(own), TEXTS)
            for one, other in zip(own, expected):
                self.assertEqual(one["text"], other["text"])
                self.assertEqual(one["token_ids"], other["token_ids"])
                self.assertEqual(support.bits(token["logprob"] for token in one["logprobs"]),
                                 support.bits(token["logprob"] for token in other["logprobs"]))

    def test_batch(self):
        self.check_same(from_batch)

    def test_c(self):
        self.check_same(from_c)

    def test_python(self):
        self.check_same(from_python)

    def test_server(self):
        self.check_same(from_server)


support.main()
