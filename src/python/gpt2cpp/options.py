"""The options of generation, with HuggingFace's names."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from operator import index
from textwrap import fill, indent
from typing import (Any, Callable, Dict, Iterable, List, Sequence, Tuple, Type, TypedDict, TypeVar,
                    Union)

from ._arrays import is_number, items, to_json
from ._library import Handle, described, get_json, lib
from .errors import InvalidArgumentError, unexpected

Function = TypeVar("Function", bound=Callable[..., Any])
Processor = Callable[[Any, Any], Any]

TABLE = {option["name"]: option for option in described["options"]}
"""The library's table of options."""

_LOWEST = -1e30  # of a bias; a token with it is as good as removed
_LENGTHS = ("max_length", "max_new_tokens")


class SamplingOptions(TypedDict, total=False):
    """How the next token is chosen: the options of a Sampler, and of generate() and stream().

    help(Model.generate) describes them. Options that HuggingFace has as well have its names and
    formulas.
    """

    do_sample: bool
    temperature: float
    top_h: float
    top_k: int
    top_n_sigma: float
    top_p: float
    min_p: float
    typical_p: float
    epsilon_cutoff: float
    eta_cutoff: float
    seed: int
    sequence: int
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    logit_bias: Dict[int, float]
    sequence_bias: Dict[Tuple[int, ...], float]
    no_repeat_ngram_size: int
    bad_words: Sequence[str]
    bad_words_ids: Sequence[Sequence[int]]
    suppress_tokens: Sequence[int]
    begin_suppress_tokens: Sequence[int]
    forced_bos_token_id: int
    forced_eos_token_id: Union[int, Sequence[int]]
    min_new_tokens: int
    min_length: int
    exponential_decay_length_penalty: Tuple[int, float]
    remove_invalid_values: bool
    renormalize_logits: bool


class GenerateOptions(SamplingOptions, total=False):
    """The options of generate() and stream(), in addition to those of SamplingOptions."""

    input_ids: Any
    attention_mask: Any
    max_new_tokens: int
    max_length: int
    stop: Union[str, Sequence[str]]
    stop_strings: Union[str, Sequence[str]]
    stop_tokens: Sequence[int]
    eos_token_id: Union[int, Sequence[int]]
    ignore_eos: bool
    overflow: str
    keep: int
    skip_special_tokens: bool
    logprobs: int
    draft: Handle
    prompt_lookup: bool
    logits_processor: Union[Processor, Sequence[Processor]]
    on_progress: Callable[[float], Any]
    streamer: Any
    truncate: bool
    generation_config: Any
    tokenizer: Any
    use_cache: bool
    pad_token_id: int
    num_return_sequences: int
    num_beams: int
    length_penalty: float
    early_stopping: Union[bool, str]


def require_known(options: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuses options with other names, before their values are looked at."""
    unknown = options.keys() - {*names}
    if unknown:
        raise InvalidArgumentError(f"unknown option {min(unknown)!r}: remove it")


def merged(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options, after those of the option generation_config, over which they take precedence.
    A length takes the place of the other length, too."""
    require_known(options, {*GenerateOptions.__annotations__, "n"})
    others = {name: value for name, value in options.items() if value is not None}
    if "n" in others and "num_return_sequences" not in others:  # OpenAI's name
        others["num_return_sequences"] = others.pop("n")
    config = others.pop("generation_config", {})
    if callable(getattr(config, "to_dict", None)):
        given = {name: value for name, value in config.to_dict().items() if value is not None}
        ends = {name: given[name] for name in ("eos_token_id",) if name in given}
        config = get_json(lib.gpt2_generation_config, None, to_json(**_with_lists(given)))
        config.update(ends)  # which the library takes for those of the model
    if not isinstance(config, Mapping):
        raise unexpected("generation_config", "a dict or transformers' GenerationConfig", config)
    has_length = any(name in others for name in _LENGTHS)
    return {**{name: value for name, value in config.items()
               if not (has_length and name in _LENGTHS)}, **others}


def request_of(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options as members of a request."""
    request = _with_lists(options)
    for name in ("use_cache", "pad_token_id"):  # which change no text here
        request.pop(name, None)
    ends = request.pop("eos_token_id", None)
    if ends is not None:
        stops = [ends] if is_number(ends) else items("eos_token_id", ends, "token ids")
        request.update(ignore_eos=True, stop_tokens=[*request.get("stop_tokens", []), *stops])
    return request


def _with_lists(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options without infinity and dicts whose keys are neither texts nor int, which JSON does
    not have."""
    result = dict(options)
    of_ids, of_tokens = options.get("sequence_bias"), options.get("logit_bias")
    if isinstance(of_ids, Mapping):
        result["sequence_bias"] = [(ids, _LOWEST if bias == -math.inf else bias)
                                   for ids, bias in of_ids.items()]
    if isinstance(of_tokens, Mapping):
        result["logit_bias"] = {index(id) if is_number(id) else id: bias
                                for id, bias in of_tokens.items()}
    return result


_HELP = {
    "do_sample": "False always takes the likeliest token, like a temperature of 0",
    "input_ids": "Token ids instead of a prompt, as in transformers' generate(**tokenizer(...))",
    "attention_mask": "0 for each token id that is padding and is left out, 1 for the others",
    "max_length": "Max length of the text including the prompt and the tokens that a session has "
                  "before it; not used with max_new_tokens",
    "stop_strings": "The same as stop",
    "stop_tokens": "Tokens that end the text, in addition to those of the model and the tokenizer",
    "eos_token_id": "The tokens that end the text, instead of those of the model and the tokenizer",
    "draft": "Drafts tokens: a quantized copy of the Model, or a small one of the same vocabulary",
    "prompt_lookup": "Draft tokens from the text so far",
    "logits_processor": "f(ids, scores), or several, which change the array of scores in place and "
                        "return nothing",
    "on_progress": "f(share of the tokens that may be written); returns False to stop. Called "
                   "between passes",
    "streamer": "An object with transformers' methods put(ids) and end(); for a single text",
    "truncate": "Leave out the beginning of a prompt that is longer than the context",
    "generation_config": "Options as a dict, or transformers' GenerationConfig; those that are "
                         "given themselves take precedence",
    "tokenizer": "That of the model, which transformers asks for beside stop_strings; never needed",
    "use_cache": "Has no effect: keys and values are always cached, which changes no text",
    "pad_token_id": "Has no effect, because results have no padding",
    "num_return_sequences": "Write several texts for each prompt"}
"""The options that only Python has, or that the table of the library does not list."""


def _entry(name: str, kind: str) -> str:
    """The paragraph about an option, with its range and its default if the table has it."""
    row = TABLE.get(name)
    lines = [f"{name}: {kind}", indent(fill(_HELP.get(name) or TABLE[name]["help"], 92), "    ")]
    if row is not None:
        lines.append(f"    Default: {row['default']!r}; expected: {row['form']}")
    return "\n".join(lines)


def with_options(kind: Type[Any]) -> Callable[[Function], Function]:
    """Adds the options of a kind to the signature of a function, from which editors and notebooks
    complete their names, and a paragraph about each of them to its documentation."""
    types = {name: one.__forward_arg__ for name, one in kind.__annotations__.items()}

    def add(function: Function) -> Function:
        function.__doc__ = "\n".join([f"{inspect.getdoc(function)}\n\nOptions:\n",
                                      *(_entry(*item) for item in types.items()), ""])
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind != one.VAR_KEYWORD]
        options = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=types[name],
                                     default=TABLE.get(name, {}).get("default"))
                   for name in types if name not in signature.parameters]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *options])
        return function

    return add
