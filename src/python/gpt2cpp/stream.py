"""A text that arrives piece by piece."""

from __future__ import annotations

import threading
from typing import Any, Iterator, List, Optional

from ._runs import TextRun, Texts
from .errors import InvalidArgumentError
from .results import Generation


class Stream(Iterator[str]):
    """An iterator over the pieces of a text. Each step computes what its piece needs, in the thread
    that asks for it; nothing goes on in the background.

    `result` is the whole text as a Generation when it has ended, and None before. Leaving a loop
    early ends the text; close() or a `with` block ends it at once. One thread at a time may ask for
    a piece. For asyncio, call `await asyncio.to_thread(next, stream, None)`.
    """

    def __init__(self, pieces: List[str], texts: Texts, run: TextRun):
        """The run appends to `pieces`."""
        self.result: Optional[Generation] = None
        self._pieces, self._texts, self._run = pieces, texts, run
        self._lock = threading.Lock()

    def __next__(self) -> str:
        if not self._lock.acquire(blocking=False):
            raise InvalidArgumentError("the stream is used twice: by two threads, or by a callback "
                                       "of its own")
        try:
            return self._next()
        finally:
            self._lock.release()

    def _next(self) -> str:
        try:
            while not self._pieces and self._run.step():
                pass
            if self._run.closed:  # before, in a callback, or by another thread
                raise StopIteration
            if self._pieces:
                return self._pieces.pop(0)
            self.result, = self._run.result()
            self._texts.end()
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Ends the text, if it has not ended."""
        self._run.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
