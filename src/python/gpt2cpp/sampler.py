"""Chooses tokens from logits, for programs with their own loop."""

from __future__ import annotations

import threading
from ctypes import byref, c_int32, c_void_p, memmove
from typing import TYPE_CHECKING, Any, Iterable, Optional

from ._arrays import FloatArray, float_rows, ids_array, to_json, whole, zeros
from ._library import Handle, OnScores, Owned, lib
from .options import SamplingOptions, request_of, require_known, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Sampler(Handle):
    """Chooses the next token from logits, as generate() does with the same options.

    >>> import gpt2cpp
    >>> model = gpt2cpp.Model()
    >>> session, sampler = model.session(), gpt2cpp.Sampler(model.vocab_size, seed=7)
    >>> session.append("Once upon a time")
    >>> for _ in range(6):
    ...     session.append([sampler.sample(session.logits(), session.tokens)])
    >>> text = model.tokenizer.decode(session.tokens)
    >>> text == "Once upon a time" + model.generate("Once upon a time", seed=7, max_new_tokens=6)
    True
    """

    @with_options(SamplingOptions)
    def __init__(self, vocab_size: int, *, prompt_length: Optional[int] = None,
                 max_length: Optional[int] = None, eos_token_id: Optional[Iterable[int]] = None,
                 dropped: Optional[int] = None, min_tokens_to_keep: Optional[int] = None,
                 **options: Unpack[SamplingOptions]):
        """`vocab_size` is the number of logits. Some options need the other arguments.

        prompt_length:  tokens before the first one that is chosen
        max_length:     of the text, including the prompt; default: no limit
        eos_token_id:   tokens that end the text
        dropped:        the number of tokens that preceded the others and were dropped
        min_tokens_to_keep:  each of the filters keeps at least this many
        """
        require_known(options, SamplingOptions.__annotations__)
        json = to_json(**request_of(options), prompt_length=prompt_length, max_length=max_length,
                       eos_token_id=eos_token_id, dropped=dropped,
                       min_tokens_to_keep=min_tokens_to_keep)
        self.vocab_size, self._lock = whole("vocab_size", vocab_size), threading.Lock()
        super().__init__(Owned(lib.gpt2_sampler_new, json, self.vocab_size, OnScores(), None,
                               free=lib.gpt2_sampler_free))

    def sample(self, logits: Any, ids: Iterable[int]) -> int:
        """The token that follows `ids`, all tokens so far, in order."""
        token = c_int32()
        floats, _ = float_rows("logits", logits, self.vocab_size)
        tokens = ids_array("ids", ids)
        with self._lock:
            lib.gpt2_sampler_sample(self._use(), floats.address, tokens, len(tokens), byref(token))
        return token.value

    def process(self, logits: Any, ids: Iterable[int]) -> FloatArray:
        """The scores from which the token would be chosen; -inf for removed tokens."""
        scores = c_void_p()
        floats, _ = float_rows("logits", logits, self.vocab_size)
        tokens = ids_array("ids", ids)
        result, address = zeros((self.vocab_size,))
        with self._lock:
            lib.gpt2_sampler_process(self._use(), floats.address, tokens, len(tokens),
                                     byref(scores))
            memmove(address, scores, 4 * self.vocab_size)
        return result
