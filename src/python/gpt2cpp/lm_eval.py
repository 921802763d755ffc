"""An adapter for EleutherAI's lm-evaluation-harness: importing this module registers the model
"gpt2cpp" there, if the harness is installed.

    lm_eval --model gpt2cpp --model_args pretrained=openai-community/gpt2 --tasks lambada_openai

A harness that looks for plugins (entry points of the group lm_eval.models) finds the adapter of an
installed wheel by itself. Others need this module to be imported first:

    import gpt2cpp.lm_eval, lm_eval
    lm_eval.simple_evaluate("gpt2cpp", model_args="pretrained=gpt2", tasks=["lambada_openai"])

Requests are treated as the harness's own class for HuggingFace models (HFLM) treats them: how
context and continuation are divided into tokens, what is left out if they are too long, the windows
of a rolling log-likelihood, and where a text ends.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from .errors import InvalidArgumentError, NotFoundError, unexpected
from .model import Model
from .tokenizer import Tokenizer

try:
    from lm_eval.api.model import LM as _Base
    from lm_eval.api.registry import register_model as _register
except ImportError:  # the harness is not installed

    class _Base:  # type: ignore[no-redef]
        """The parts of the harness's class LM that do not need the harness."""

        def __init__(self) -> None:
            self._rank, self._world_size, self.cache_hook = 0, 1, None

        rank = property(lambda self: self._rank)
        world_size = property(lambda self: self._world_size)

        def set_cache_hook(self, cache_hook: Any) -> None:
            self.cache_hook = cache_hook

    _register = None

Pair = Tuple[List[int], List[int]]
"""A context and its continuation, as token ids."""

_LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens")


class Gpt2CppLM(_Base):
    """The LM interface of the harness: loglikelihood, loglikelihood_rolling and generate_until.

    Requests are objects with `args`, as the harness's Instance. Results are in the order of the
    requests.
    """

    def __init__(self, pretrained: Union[str, Model] = "gpt2", *, tokenizer: Any = None,
                 revision: Optional[str] = None, dtype: Optional[str] = None,
                 threads: Optional[int] = None, max_length: Optional[int] = None,
                 max_gen_toks: int = 256, add_bos_token: bool = False, **_ignored: Any):
        """`pretrained` is a Model, or the name or path of one for Model.from_pretrained().

        tokenizer:     another Tokenizer, or the name of its model; default: that of the model
        max_length:    tokens of context and continuation; default: the model's n_positions
        max_gen_toks:  of a text for which the task does not say it
        add_bos_token: whether texts begin with the token that begins a text
        dtype:         "int8" and so on; "auto" and None: as the file has it

        The harness's batch_size, max_batch_size and device are ignored: texts share passes anyway.
        """
        super().__init__()
        if isinstance(pretrained, Model):
            self.model = pretrained
        else:
            self.model = Model.from_pretrained(
                pretrained, revision=revision, dtype=dtype, threads=threads)
        if isinstance(tokenizer, str):
            tokenizer = Tokenizer.from_pretrained(tokenizer)
        self.tokenizer: Any = self.model.tokenizer if tokenizer is None else tokenizer
        if self.tokenizer is None:
            raise NotFoundError(f"{self.model.path}: has no tokenizer, which the harness needs: "
                                "give tokenizer=")
        self.max_length = min(max_length or self.model.n_positions, self.model.n_positions)
        self.max_gen_toks, self.add_bos_token = max_gen_toks, add_bos_token

    batch_size, device = 1, "cpu"

    @property
    def eot_token_id(self) -> int:
        """The token that ends a text."""
        id = self.tokenizer.eos_token_id
        if id is None:
            raise InvalidArgumentError("the tokenizer has no token that ends a text")
        return id

    @property
    def prefix_token_id(self) -> int:
        """The token that precedes a text without a context, as in HFLM: bos, or else eot."""
        id = self.tokenizer.bos_token_id
        return self.eot_token_id if id is None else id

    @property
    def tokenizer_name(self) -> str:
        return self.model.path.replace("/", "__")

    def tok_encode(self, string: str, add_special_tokens: Optional[bool] = None) -> List[int]:
        """The token ids of a text."""
        add = self.add_bos_token if add_special_tokens is None else add_special_tokens
        ids = self.tokenizer.encode(string, add_special_tokens=add)
        if add and self.add_bos_token and ids[:1] != [self.prefix_token_id]:
            return [self.prefix_token_id, *ids]
        return ids

    def tok_decode(self, tokens: Union[int, Iterable[int]]) -> str:
        """The text of tokens."""
        return self.tokenizer.decode(tokens)

    # -- Requests --------------------------------------------------------------------------------

    def loglikelihood(self, requests: Sequence[Any],
                      disable_tqdm: bool = False) -> List[Tuple[float, bool]]:
        """For each (context, continuation): the log-probability of the continuation, and whether
        greedy decoding would continue the context with it.
        """
        texts = [request.args for request in requests]
        pairs = [self._cut(*self._encode_pair(*pair)) for pair in texts]
        results = self._score(pairs)
        for pair, result in zip(texts, results):
            self._cache("loglikelihood", pair, result)
        return results

    def loglikelihood_rolling(self, requests: Sequence[Any],
                              disable_tqdm: bool = False) -> List[float]:
        """For each (text,): the log-probability of the whole text, in windows of max_length."""
        windows = [list(rolling_windows(self.tok_encode(request.args[0], add_special_tokens=False),
                                        self.prefix_token_id, self.max_length))
                   for request in requests]
        scores = iter(self._score([pair for pairs in windows for pair in pairs]))
        results = [sum(next(scores)[0] for _ in pairs) for pairs in windows]
        for request, result in zip(requests, results):
            self._cache("loglikelihood_rolling", request.args, result)
        return results

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> List[str]:
        """For each (context, options): the text that follows, up to the first of options["until"].

        Greedy unless do_sample is true. Other options are those of Model.generate().
        """
        arguments = [request.args for request in requests]
        results = [""] * len(arguments)
        for places in _grouped(repr(options) for _, options in arguments):
            options = arguments[places[0]][1]
            texts = self._generate([arguments[place][0] for place in places], options)
            for place, text in zip(places, texts):
                results[place] = text
                self._cache("generate_until", arguments[place], text)
        return results

    # -- Their parts -----------------------------------------------------------------------------

    def _encode_pair(self, context: str, continuation: str) -> Pair:
        """Divides the tokens of the whole text. Spaces at the end of the context belong to the
        continuation, because GPT-2's tokens begin with a space.
        """
        if context == "":
            return [self.prefix_token_id], self.tok_encode(continuation, add_special_tokens=False)
        stripped = context.rstrip()
        continuation = context[len(stripped):] + continuation
        whole, before = self.tok_encode(stripped + continuation), self.tok_encode(stripped)
        return before or [self.prefix_token_id], whole[len(before):]

    def _cut(self, context: List[int], continuation: List[int]) -> Pair:
        """Leaves out the beginning of a context that is too long. The last token is predicted only,
        so both together may have max_length + 1 tokens.
        """
        room = self.max_length + 1 - len(continuation)
        if room < 1:
            raise InvalidArgumentError(
                f"a continuation has {len(continuation)} tokens, but the model takes at most "
                f"{self.max_length}: the task is not for models with so short a context")
        return context[-room:], continuation

    def _score(self, pairs: List[Pair]) -> List[Tuple[float, bool]]:
        """Continuations of the same context are computed together."""
        results: List[Tuple[float, bool]] = [(0.0, True)] * len(pairs)
        for places in _grouped(tuple(context) for context, _ in pairs):
            known = [place for place in places if pairs[place][1]]  # nothing has probability 1
            if known:
                choices = self.model.choices(pairs[known[0]][0],
                                             [pairs[place][1] for place in known])
                for place, choice in zip(known, choices):
                    results[place] = (choice.sum, choice.greedy_match)
        return results

    def _generate(self, contexts: List[str], given: Dict[str, Any]) -> List[str]:
        """The texts of requests that have the same options."""
        if not isinstance(given, dict):
            raise unexpected("the options of a request", "a dict", given)
        options = {name: value for name, value in given.items() if value is not None}
        until = options.pop("until", [])
        until = [until] if isinstance(until, str) else list(until)
        lengths = [options.pop(name) for name in _LENGTHS if name in options]
        n = int(lengths[0]) if lengths else self.max_gen_toks
        options["do_sample"] = (bool(options.get("do_sample"))
                                and options.get("temperature") != 0)
        prompts = [self._prompt(context, n) for context in contexts]
        texts = self.model.generate(prompts, max_new_tokens=n, stop=[one for one in until if one],
                                    **options)
        return [str(text) for text in texts]

    def _prompt(self, context: str, n: int) -> List[int]:
        """The end of the context, so that there is room for n tokens."""
        ids = self.tok_encode(context) or [self.prefix_token_id]
        return ids[-max(self.max_length - n, 1):]

    def _cache(self, method: str, request: Any, result: Any) -> None:
        if self.cache_hook is not None:
            self.cache_hook.add_partial(method, request, result)


def rolling_windows(tokens: List[int], prefix: int, max_length: int) -> Iterator[Pair]:
    """Divides a text so that each token is predicted once, with as much context as possible.

    The pairs are those of the harness's get_rolling_token_windows(context_len=1), made disjoint.

    >>> for pair in rolling_windows(list(range(10)), -1, 4):
    ...     print(*pair)
    [-1] [0, 1, 2, 3]
    [3] [4, 5, 6, 7]
    [5, 6, 7] [8, 9]
    """
    if tokens:
        yield [prefix], tokens[:max_length]
    for begin in range(max_length, len(tokens), max_length):
        end = min(begin + max_length, len(tokens))
        yield tokens[end - max_length - 1:begin], tokens[begin:end]


def _grouped(keys: Iterable[Any]) -> List[List[int]]:
    """The places of equal keys, in the order of the first ones."""
    places: Dict[Any, List[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())


if _register is not None:
    _register("gpt2cpp")(Gpt2CppLM)
