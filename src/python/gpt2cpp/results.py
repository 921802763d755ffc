"""The results of the functions of Model and Session."""

from __future__ import annotations

import html
import json
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .errors import Error


def _short(self: Any) -> str:
    """The members, with the lengths of lists in the place of their items."""
    members = (f"{name}=<{len(value)}>" if isinstance(value, list) else f"{name}={value!r}"
               for name, value in self._asdict().items())
    return f"{type(self).__name__}({', '.join(members)})"


def _plain(value: Any) -> Any:
    """A result as JSON has it: objects for its tuples with names, and null for NaN."""
    if isinstance(value, Error):
        return {"error": str(value)}
    if hasattr(value, "_asdict"):
        return {name: _plain(member) for name, member in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


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


class Generation(str):
    """The new text, without the prompt: a str with attributes.

    finish_reason:  "end_of_text", "stop_string", "length", "context_full" or "cancelled"
    token_ids:      the new tokens, without one that ended the text
    logprobs:       of each token, and of one that ended the text; None unless the option
                    `logprobs` is given
    score:          in a beam search: the sum of log-probabilities after the length_penalty
    prompt_tokens, drafted_tokens, accepted_tokens:  numbers of tokens
    truncated_tokens:  how many tokens `truncate` removed from the beginning of the prompt
    prompt_seconds, generation_seconds:  for reading the prompt, and for everything after it; not
                    measured in a beam search
    """

    finish_reason: str
    token_ids: List[int]
    logprobs: Optional[List[TokenLogprob]] = None
    score: Optional[float] = None
    prompt_tokens: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    truncated_tokens: int = 0
    prompt_seconds: float = 0.0
    generation_seconds: float = 0.0


class Page(str):
    """A page of HTML, to be written to a file. A notebook shows it."""

    def __repr__(self) -> str:
        return f"Page(of {len(self)} characters)"

    def _repr_html_(self) -> str:
        # In a frame, because the page has styles and ids of its own.
        return (f'<iframe srcdoc="{html.escape(self)}" style="width: 100%; height: 800px; '
                'border: 0"></iframe>')


class TextScore(NamedTuple):
    """The scores of a text.

    tokens:      of each token; the first one is not scored, because nothing predicts it
    perplexity:  exp(nll / the number of tokens that have a score)
    nll:         the sum of -logprob, in nats
    """

    tokens: List[TokenLogprob]
    perplexity: float
    nll: float

    __repr__ = _short


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

    json.dumps() would write NaN, which is no JSON: to_json() has null.
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

    __repr__ = _short

    def to_json(self) -> str:
        """The scores as a JSON object with the names of the members."""
        return json.dumps(_plain(self))


class Choice(NamedTuple):
    """The log-probability of a continuation.

    `sum` and `mean` are of the log-probabilities of its tokens. `greedy_match` is whether greedy
    decoding would continue the context with it.
    """

    tokens: List[TokenLogprob]
    sum: float
    mean: float
    greedy_match: bool

    __repr__ = _short


class Comparison(NamedTuple):
    """How well two models, a and b, predict a text.

    perplexity:      of a, and of b; lower is better
    change:          perplexity[1] / perplexity[0] - 1
    standard_error:  of `change`, over the windows; NaN for a single window
    n_tokens, n_windows:  what was scored
    """

    perplexity: Tuple[float, float]
    change: float
    standard_error: float
    n_tokens: int
    n_windows: int


def logprobs_of(tokens: List[Dict[str, Any]]) -> List[TokenLogprob]:
    """The tokens of a text in the library's JSON."""
    return [TokenLogprob(one["id"], _number(one["logprob"]), one.get("rank"),
                         [(top["id"], top["logprob"]) for top in one.get("top") or []])
            for one in tokens]


def _number(value: Optional[float]) -> float:
    """JSON has null for NaN."""
    return math.nan if value is None else value


def generation_of(text: Dict[str, Any]) -> Generation:
    """A text in the library's JSON."""
    result = Generation(text.get("text", ""))
    result.finish_reason, result.token_ids = text["finish_reason"], text["token_ids"]
    result.prompt_tokens, result.truncated_tokens = text["prompt_tokens"], text.get("truncated", 0)
    result.score = text.get("score")
    if "logprobs" in text:
        result.logprobs = logprobs_of(text["logprobs"])
    for name in ("drafted_tokens", "accepted_tokens", "prompt_seconds", "generation_seconds"):
        setattr(result, name, text.get("stats", {}).get(name, getattr(result, name)))
    return result


def scores_of(result: Dict[str, Any]) -> Scores:
    """Scores in the library's JSON."""
    estimates = {name: Estimate(_number(result.get(key)), _number(result.get(key + "_error")))
                 for name, key in _ESTIMATES.items()}
    texts = [TextScore(logprobs_of(text["logprobs"]), _number(text["perplexity"]),
                       -text["logprob"]) for text in result["texts"]]
    counts = {"n_" + unit: result[unit] for unit in ("tokens", "words", "bytes", "windows")}
    return Scores(perplexity=estimates["by_token"].value, nll=-result["logprob"], texts=texts,
                  **counts, **estimates)


_ESTIMATES = {"by_token": "perplexity", "by_word": "word_perplexity",
              "by_byte": "byte_perplexity", "bits_per_byte": "bits_per_byte"}
"""The members of Scores by their names in the library's JSON."""


def choice_of(choice: Dict[str, Any]) -> Choice:
    """A choice in the library's JSON."""
    return Choice(logprobs_of(choice["logprobs"]), choice["logprob"],
                  choice["logprob_per_token"], choice["greedy_match"])


def comparison_of(cost: Dict[str, Any]) -> Comparison:
    """A comparison in the library's JSON."""
    return Comparison((cost["perplexity_a"], cost["perplexity_b"]), _number(cost["change"]),
                      _number(cost["standard_error"]), cost["tokens"], cost["windows"])
