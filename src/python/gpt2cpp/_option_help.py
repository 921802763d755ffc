"""help(Model.generate): the options, as the library's tables describe them."""

from __future__ import annotations

import inspect
from textwrap import fill, indent
from typing import Any, Callable, TypeVar

from ._options import BEAMS, GENERATION, SAMPLING
from .options import GenerateOptions

Function = TypeVar("Function", bound=Callable[..., Any])

_HELP = {
    "do_sample": "False always takes the likeliest token, like a temperature of 0",
    "input_ids": "Token ids instead of a prompt, as in transformers' generate(**tokenizer(...))",
    "attention_mask": "0 for each token id that is padding and is left out, 1 for the others",
    "max_length": "Max length of the text including the prompt and the tokens that a session has "
                  "before it; not used with max_new_tokens",
    "stop_strings": "The same as stop",
    "stop_tokens": "Tokens that end the text, in addition to those of the model and the tokenizer",
    "eos_token_id": "The tokens that end the text, instead of those of the model and the tokenizer",
    "draft": "Drafts tokens: a quantized copy of the model, or a small one of the same vocabulary",
    "prompt_lookup": "Draft tokens from the text so far",
    "max_draft_tokens": "The max number of tokens in a draft",
    "constant_draft": "Always draft that many, however few of them are kept",
    "logits_processor": "f(ids, scores), or several, which change the array of scores in place and "
                        "return nothing",
    "on_prompt": "f(read, total); returns False to stop",
    "on_progress": "f(share of max_new_tokens); returns False to stop",
    "streamer": "An object with transformers' methods put(ids) and end(); for a single text",
    "truncate": "Leave out the beginning of a prompt that is longer than the context",
    "generation_config": "Options as a dict, or transformers' GenerationConfig; those that are "
                         "given themselves take precedence",
    "tokenizer": "That of the model, which transformers asks for beside stop_strings; never needed",
    "use_cache": "Has no effect: keys and values are always cached, which changes no text",
    "num_beams": "Only Model.generate(): above 1, search for the most probable text with so many "
                 "beams, which draws nothing"}
"""The options that only Python has, or that the tables describe for the command alone."""

def _help_of(name: str) -> str:
    if name in _HELP:
        return _HELP[name]
    if name in BEAMS:
        return f"Beam search: {BEAMS[name].help}"
    return (SAMPLING.get(name) or GENERATION[name]).help


def with_options(function: Function) -> Function:
    """Adds a paragraph about each option of generate() to the documentation of a function."""
    paragraphs = [f"{name}: {kind.__forward_arg__}\n{indent(fill(_help_of(name), 92), '    ')}"
                  for name, kind in GenerateOptions.__annotations__.items()]
    function.__doc__ = "\n".join([f"{inspect.getdoc(function)}\n\nOptions:\n", *paragraphs, ""])
    return function
