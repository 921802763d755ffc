"""Streamers with transformers' protocol: put() gets the ids of the prompt, then each new one."""

from __future__ import annotations

from typing import Any, List

from ._arrays import int64_array
from .errors import shown


class StreamerCalls:
    """The calls of a streamer's methods.

    With numpy, put() gets arrays of int64: one of shape (1, n) for the prompt, then one of shape
    (1,) for each token, as transformers gives it tensors. Without numpy, it gets lists. The token
    that ends a text is not part of it and is not put.
    """

    def __init__(self, streamer: Any):
        for method in ("put", "end"):
            if not callable(getattr(streamer, method, None)):
                raise TypeError("streamer: expected an object with the methods put() and end(), "
                                f"found {shown(streamer)}")
        self._streamer = streamer

    def begin(self, prompt: List[int]) -> None:
        self._streamer.put(int64_array([prompt]))

    def on_token(self, id: int) -> None:
        self._streamer.put(int64_array([id]))

    def end(self) -> None:
        self._streamer.end()
