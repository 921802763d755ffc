"""A text that arrives piece by piece."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional

from ._runs import TextRun, Texts
from .results import Generation


class Stream(Iterator[str]):
    """An iterator over the pieces of a text. Each step computes what its piece needs, in the thread
    that asks for it; nothing goes on in the background.

    `result` is the whole text as a Generation when it has ended, and None before. Leaving a loop
    early ends the text; close() or a `with` block ends it at once. For asyncio, call
    `await asyncio.to_thread(next, stream, None)`.
    """

    def __init__(self, pieces: List[str], texts: Texts, run: TextRun):
        """The run appends to `pieces`."""
        self.result: Optional[Generation] = None
        self._pieces, self._texts, self._run = pieces, texts, run

    def __next__(self) -> str:
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
