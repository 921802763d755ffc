"""The results of the functions of Model and Session."""

from __future__ import annotations

import math
from ctypes import string_at
from typing import Any, List, NamedTuple, Optional, Tuple

from . import _structs as c
from ._arrays import ids_list
from ._hints import GENERATION, Hinted
from ._library import lib


class TokenLogprob(NamedTuple):
    """The log-probability of a token, given all tokens before it.

    `logprob` is the natural logarithm of softmax(logits), before any sampling option. `rank` is the
    number of likelier tokens. `top` lists the likeliest tokens as pairs of id and logprob. A token
    that was not scored, such as the first one of a text, has the logprob NaN and the rank None.
    """

    id: int
    logprob: float
    rank: Optional[int]
    top: List[Tuple[int, float]]


class Generation(Hinted, str):
    """The new text, without the prompt: a str with attributes.

    finish_reason:  "end_of_text", "stop_string", "length", "context_full" or "cancelled"
    token_ids:      the new tokens, without one that ended the text
    logprobs:       of each token; None unless the option `logprobs` is given
    score:          in a beam search: the sum of log-probabilities after the length_penalty
    prompt_tokens, drafted_tokens, accepted_tokens, dropped_tokens:  numbers of tokens
    truncated_tokens:  how many tokens `truncate` removed from the beginning of the prompt
    prompt_seconds, generation_seconds:  for reading the prompt, and for everything after it; not
                    measured in a beam search
    """

    _hints = GENERATION
    finish_reason: str
    token_ids: List[int]
    logprobs: Optional[List[TokenLogprob]] = None
    score: Optional[float] = None
    prompt_tokens: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    dropped_tokens: int = 0
    truncated_tokens: int = 0
    prompt_seconds: float = 0.0
    generation_seconds: float = 0.0


class TextScore(NamedTuple):
    """The scores of a text.

    tokens:      of each token; the first one is not scored, because nothing predicts it
    perplexity:  exp(nll / the number of tokens that have a score)
    nll:         the sum of -logprob, in nats
    """

    tokens: List[TokenLogprob]
    perplexity: float
    nll: float


class Estimate(NamedTuple):
    """A number that is estimated from windows; NaN if there is nothing to estimate it from."""

    value: float
    standard_error: float


class Scores(NamedTuple):
    """How well the model predicts some texts, all of them together.

    perplexity:     exp(nll / n_tokens); lower is better
    by_token, by_word, by_byte, bits_per_byte:  with standard errors
    nll:            the sum of -logprob, in nats
    n_tokens, n_words, n_bytes, n_windows:  the numbers of units scored
    texts:          the scores of each text; with on_error="return", the exceptions of those that
                    failed
    """

    perplexity: float
    texts: List[TextScore]
    nll: float
    n_tokens: int
    n_words: int
    n_bytes: int
    n_windows: int
    by_token: Estimate
    by_word: Estimate
    by_byte: Estimate
    bits_per_byte: Estimate


class Choice(NamedTuple):
    """The log-probability of a continuation.

    `sum` and `mean` are of the log-probabilities of its tokens. `greedy_match` is whether greedy
    decoding would continue the context with it.
    """

    tokens: List[TokenLogprob]
    sum: float
    mean: float
    greedy_match: bool


class Comparison(NamedTuple):
    """How well two models, a and b, predict a text, and how far apart they are.

    perplexity:        of a, and of b; lower is better
    change:            perplexity[1] / perplexity[0] - 1
    standard_error:    of `change`, over the windows; NaN for a single window
    max_logit_change:  the largest difference of any logit, as a magnitude
    n_tokens, n_windows:  what was scored
    """

    perplexity: Tuple[float, float]
    change: float
    standard_error: float
    max_logit_change: float
    n_tokens: int
    n_windows: int


def logprobs_of(data: Any, ids: List[int]) -> List[TokenLogprob]:
    """The TokenLogprob structs at `data`, one for each id."""
    return [TokenLogprob(id, t.logprob, None if math.isnan(t.logprob) else t.rank,
                         [(u.id, u.logprob) for u in t.top[:t.n_top]])
            for id, t in zip(ids, data[:len(ids)])]


def _text_of(result: Any) -> Generation:
    """The common part of gpt2_generation and gpt2_beam."""
    text = Generation(string_at(result.text, result.n_text), "utf-8", "replace")
    text.finish_reason = lib.gpt2_finish_reason_name(result.finish_reason).decode()
    text.token_ids = ids_list(result.tokens, result.n_tokens)
    return text


def beam_of(result: c.Beam, prompt_tokens: int) -> Generation:
    """A copy of the library's result."""
    text = _text_of(result)
    text.score, text.prompt_tokens = result.score, prompt_tokens
    return text


def generation_of(result: c.Generation) -> Generation:
    """A copy of the library's result."""
    text = _text_of(result)
    text.logprobs = logprobs_of(result.logprobs, text.token_ids) if result.logprobs else None
    for name in ("prompt_tokens", "drafted_tokens", "accepted_tokens", "dropped_tokens",
                 "prompt_seconds", "generation_seconds"):
        setattr(text, name, getattr(result, name))
    return text


def scores_of(result: c.Scores, texts: List[List[int]]) -> Scores:
    """A copy of the library's result for these texts."""
    estimates = {name: Estimate(getattr(result, name).value, getattr(result, name).standard_error)
                 for name in ("by_token", "by_word", "by_byte", "bits_per_byte")}
    return Scores(perplexity=result.by_token.value, nll=result.nll, n_tokens=result.tokens,
                  n_words=result.words, n_bytes=result.bytes, n_windows=result.windows,
                  texts=[TextScore(logprobs_of(text.tokens, ids), text.perplexity, text.nll)
                         for text, ids in zip(result.texts[:len(texts)], texts)], **estimates)


def choices_of(result: c.Choices, texts: List[List[int]]) -> List[Choice]:
    """A copy of the library's result for these continuations."""
    return [Choice(logprobs_of(result.data[i].tokens, ids), result.data[i].sum,
                   result.data[i].mean, bool(result.data[i].greedy_match))
            for i, ids in enumerate(texts)]


def comparison_of(result: c.Comparison) -> Comparison:
    """A copy of the library's result."""
    return Comparison((result.perplexity_a, result.perplexity_b), result.change,
                      result.standard_error, result.max_logit_change, result.tokens,
                      result.windows)
