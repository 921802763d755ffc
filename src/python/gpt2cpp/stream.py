"""A text that arrives piece by piece."""

from __future__ import annotations

import asyncio
import queue
import threading
import weakref
from ctypes import string_at
from typing import Any, AsyncIterator, Callable, Iterator, Optional

from . import _structs as c
from ._work import Work, Worker
from .results import Generation

_AHEAD = 2  # the max number of pieces written ahead of the reader


class _Writer:
    """The thread that writes. It does not refer to the Stream, so the Stream can be collected."""

    def __init__(self, work: Work, write: Callable[[Any], Generation],
                 on_end: Callable[[], None]):
        self.work = work
        self.on_end = on_end
        self.room = threading.Semaphore(_AHEAD)
        self.pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()  # strings; the last item is the
                                                                   # outcome
        on_text = c.OnText(work.callback("on_text", self.on_text))
        self.worker = Worker(lambda: self.run(lambda: write(on_text)))

    def on_text(self, address: int, size: int) -> bool:
        if size:
            self.room.acquire()
            self.pieces.put(string_at(address, size).decode("utf-8", "replace"))
        return not self.work.is_cancelled

    def run(self, write: Callable[[], Generation]) -> None:
        outcome: Any = None
        try:
            outcome = self.work.call_here(write)
        except BaseException as error:
            outcome = error
        self.on_end()
        self.pieces.put(outcome)

    def stop(self) -> None:
        self.work.cancel()
        self.room.release()
        if self.worker.give_up():
            self.on_end()
        elif self.worker is not threading.current_thread():
            self.worker.join()


class Stream(Iterator[str]):
    """An iterator over the pieces of a text. At most two are written ahead of the reader.

    `result` is the whole text as a Generation when it has ended, and None before. Leaving
    a loop early, an exception and Ctrl-C end the text; close() or a `with` block ends it at once.
    A Stream belongs to one thread at a time.
    """

    def __init__(self, work: Work, write: Callable[[Any], Generation],
                 on_end: Callable[[], None] = lambda: None):
        """Begins to write: `write` gets the callback that receives the text."""
        self.result: Optional[Generation] = None
        self._writer = _Writer(work, write, on_end)
        self._stop = weakref.finalize(self, self._writer.stop)
        try:
            self._writer.worker.start()
        except BaseException:  # no thread could start, or Ctrl-C came while one was starting
            self._stop()
            raise

    def __next__(self) -> str:
        if not self._stop.alive:
            raise StopIteration
        try:
            piece = self._writer.pieces.get()
        except BaseException:
            self.close()
            raise
        if type(piece) is str:
            self._writer.room.release()
            return piece
        self.close()
        if isinstance(piece, (StopIteration, StopAsyncIteration)):  # which would end the loop
            raise RuntimeError(f"a callback raised {type(piece).__name__}") from piece
        if isinstance(piece, BaseException):
            raise piece
        self.result = piece
        raise StopIteration

    def close(self) -> None:
        """Ends the text, if it has not ended."""
        self._stop()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class AsyncStream(AsyncIterator[str]):
    """A Stream for asyncio: while it waits for a piece, other tasks run.

    `result` is the whole text when it has ended. Leaving the loop early and cancelling the task end
    the text; aclose() or an `async with` block ends it at once.
    """

    def __init__(self, stream: Stream):
        self._stream = stream

    @property
    def result(self) -> Optional[Generation]:
        """The whole text as a Generation when it has ended, and None before."""
        return self._stream.result

    async def __anext__(self) -> str:
        loop = asyncio.get_running_loop()
        try:
            piece = await loop.run_in_executor(None, _next_or_none, self._stream)
        except BaseException:  # the task is cancelled, for example
            self._stream.close()
            raise
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """Ends the text, if it has not ended."""
        await asyncio.get_running_loop().run_in_executor(None, self._stream.close)

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()


def _next_or_none(stream: Stream) -> Optional[str]:
    """The next piece; None at the end, because a coroutine cannot raise StopIteration."""
    return next(stream, None)
