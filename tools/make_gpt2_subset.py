#!/usr/bin/env python3
"""Writes the part of GPT-2's vocabulary that some texts need: tests/data/tokenizer/gpt2_subset.json.

    tools/make_gpt2_subset.py VOCABULARY > tests/data/tokenizer/gpt2_subset.json

VOCABULARY is a directory with GPT-2's merges.txt and vocab.json, which are not part of this
repository. The texts and HuggingFace's token ids for them are a part of tokenizer_cases.jsonl.

The script encodes each text with all of GPT-2's merges, checks the ids, and keeps every merge that
could be applied at any step. With only these merges, an encoder has the same choices at each step,
so it must arrive at the same ids. Each merge is written with its rank, the number of merges before
it. The id of its token is 256 + rank.
"""
import json
import os
import re
import sys
import unicodedata

MOST_BYTES = 29_000
END_OF_TEXT = "<|endoftext|>"
ABOUT = ("Facts about GPT-2's tokenizer, for tests/text/gpt2_ids_test.cpp: texts with the token ids "
         "that HuggingFace gives them, and those merges (rank, left, right) of GPT-2's vocabulary that "
         "could apply on the way to them. Made by tools/make_gpt2_subset.py.")
HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "../tests/data/tokenizer/tokenizer_cases.jsonl")


def byte_alphabet():
    """Returns the printable character that stands for each byte."""
    itself = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in itself]
    return {**{b: chr(b) for b in itself}, **{b: chr(256 + i) for i, b in enumerate(others)}}


ALPHABET = byte_alphabet()


def kind(char):
    """Returns a letter for the class of a character in GPT-2's pattern.

    The classes are letters, numbers, white space (with the space itself apart) and all others.
    """
    category = unicodedata.category(char)[0]
    if char == " ":
        return " "
    if char.isspace() and char not in "\x1c\x1d\x1e\x1f":
        return "s"
    return {"L": "L", "N": "N"}.get(category, "o")


PATTERN = re.compile(r" ?L+| ?N+| ?o+|[ s]+(?![^ s])|[ s]+")
CONTRACTION = re.compile(r"'(s|t|re|ve|m|ll|d)")


def split(text):
    """Yields the words into which GPT-2's pre-tokenizer splits a text."""
    kinds = "".join(map(kind, text))
    at = 0
    while at < len(text):
        end = (CONTRACTION.match(text, at) or PATTERN.match(kinds, at)).end()
        yield text[at:end]
        at = end


def encode(text, ranks, possible):
    """Yields the tokens of a text, and adds every pair that could be merged to `possible`."""
    first, *others = text.split(END_OF_TEXT)
    for word in split(first):
        parts = [ALPHABET[b] for b in word.encode()]
        while True:
            pairs = [pair for pair in zip(parts, parts[1:]) if pair in ranks]
            possible.update(pairs)
            if not pairs:
                break
            best = min(pairs, key=ranks.get)
            merged, i = [], 0
            while i < len(parts):
                is_best = tuple(parts[i:i + 2]) == best
                merged.append("".join(best) if is_best else parts[i])
                i += 2 if is_best else 1
            parts = merged
        yield from parts
    for other in others:
        yield END_OF_TEXT
        yield from encode(other, ranks, possible)


def main():
    directory = sys.argv[1]
    with open(os.path.join(directory, "vocab.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)
    with open(os.path.join(directory, "merges.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if not line.startswith("#version")]
    ranks = {tuple(line.split(" ")): rank for rank, line in enumerate(lines)}
    assert all(vocabulary[left + right] == 256 + rank for (left, right), rank in ranks.items())

    with open(CASES, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    merges, chosen, size = set(), [], len(ABOUT)
    # The first cases were written by hand. The others were drawn at random.
    for case in cases[:400] + cases[400::7]:
        text = case["text"]
        if not 0 < len(text.encode()) <= 60:
            continue
        possible = set()
        tokens = list(encode(text, ranks, possible))
        assert [vocabulary[token] for token in tokens] == case["ids"], case
        new = possible - merges
        cost = len(json.dumps(case, ensure_ascii=False).encode()) + 2
        cost += sum(len(json.dumps([50000, *pair], ensure_ascii=False).encode()) + 2 for pair in new)
        if size + cost > MOST_BYTES:
            break
        merges |= new
        chosen.append({"text": text, "ids": case["ids"]})
        size += cost

    def lines_of(items):
        return ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)

    by_rank = sorted((ranks[pair], *pair) for pair in merges)
    print('{"about": %s,\n"merges": [\n%s],\n"cases": [\n%s]}' %
          (json.dumps(ABOUT), lines_of(by_rank), lines_of(chosen)))


main()
