"""Chooses tokens from logits, for programs with their own loop."""

from __future__ import annotations

import threading
from ctypes import byref, c_int32, c_void_p, memmove
from typing import TYPE_CHECKING, Any, Iterable, Optional

from . import _structs as c
from ._arrays import Buffer, FloatArray, float_buffer, ids_array, ids_struct, zeros
from ._handle import Handle, defaults, new
from ._library import lib
from ._options import count
from .options import SamplingArguments

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import SamplingOptions


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

    def __init__(self, vocab_size: int, *, prompt_length: int = 0,
                 max_length: Optional[int] = None, eos_token_id: Iterable[int] = (),
                 dropped: int = 0, min_tokens_to_keep: int = 1, **options: Unpack[SamplingOptions]):
        """`vocab_size` is the number of logits. Some options need the other arguments.

        prompt_length:  tokens before the first one that is chosen
        max_length:     of the text, including the prompt; default: no limit
        eos_token_id:   tokens that end the text
        dropped:        the number of tokens that preceded the others and were dropped
        min_tokens_to_keep:  each of the filters keeps at least this many
        """
        arguments = SamplingArguments(dict(options))
        arguments.refuse_others("is not an option of a Sampler: see gpt2cpp.SamplingOptions")
        limits = defaults(c.SequenceLimits, lib.gpt2_sequence_limits_init)
        limits.eos_token_id = ids_struct(eos_token_id, "eos_token_id")
        limits.prompt_length = count("prompt_length", prompt_length)
        if max_length is not None:
            limits.max_length = count("max_length", max_length)
        limits.dropped = count("dropped", dropped)
        limits.min_tokens_to_keep = count("min_tokens_to_keep", min_tokens_to_keep)
        self.vocab_size = count("vocab_size", vocab_size)
        super().__init__(new(lib.gpt2_sampler_new, byref(arguments.sampling), self.vocab_size,
                             byref(limits), free=lib.gpt2_sampler_free))
        self._busy = threading.Lock()

    def sample(self, logits: Any, ids: Iterable[int]) -> int:
        """The token that follows `ids`, all tokens so far, in order."""
        token = c_int32()
        floats, tokens = self._floats(logits), ids_array(ids, "ids")
        with self._busy:
            lib.gpt2_sampler_sample(self._use(), floats.address, tokens, len(tokens), byref(token))
        return token.value

    def process(self, logits: Any, ids: Iterable[int]) -> FloatArray:
        """The scores from which the token would be chosen; -inf for removed tokens."""
        scores = c_void_p()
        floats, tokens = self._floats(logits), ids_array(ids, "ids")
        result, address = zeros((self.vocab_size,))
        with self._busy:
            lib.gpt2_sampler_process(self._use(), floats.address, tokens, len(tokens),
                                     byref(scores))
            memmove(address, scores, 4 * self.vocab_size)
        return result

    def _floats(self, logits: Any) -> Buffer:
        floats = float_buffer("logits", logits)
        if floats.size != 4 * self.vocab_size:
            raise ValueError(f"logits: expected {self.vocab_size} numbers, found "
                             f"{floats.size // 4}")
        return floats
