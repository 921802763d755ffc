"""Prints, for each case of sampling_fields_test, what gpt2cpp says of one option.

Reads lines of JSON from standard input: [name, value]. Writes one line for each: "ok", or the name
of the exception and its message.
"""

import json
import sys

import gpt2cpp

for line in sys.stdin:
    name, value = json.loads(line)
    try:
        gpt2cpp.Sampler(512, **{name: value})
        print("ok")
    except gpt2cpp.Error as error:
        print(f"{type(error).__name__}: {error}".replace("\n", " "))
