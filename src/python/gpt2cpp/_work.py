"""Long calls: Ctrl-C ends them, and they raise the exceptions of their callbacks."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import Any, Callable, Optional, Tuple, TypeVar

from . import _structs as c
from ._arrays import is_bool
from ._handle import new
from ._library import lib
from .errors import shown

T = TypeVar("T")

OnProgress = Optional[Callable[[float], Any]]


def stops(answer: Any) -> bool:
    """Whether a callback has returned False, or numpy's False, which is another object."""
    return is_bool(answer) and not answer


class Work:
    """One such call, with the flag that cancels it.

    Python raises KeyboardInterrupt in the main thread, whatever that thread is doing: inside a
    callback, ctypes would print and discard it. So a call by the main thread, including its
    callbacks, runs on a separate thread while the main thread waits. Other threads make their
    calls themselves.
    """

    def __init__(self) -> None:
        self.cancel_flag = new(lib.gpt2_cancel_new, free=lib.gpt2_cancel_free)
        self.is_cancelled = False
        self._error: Optional[BaseException] = None

    def cancel(self) -> None:
        """Ends the call within a fraction of a second. Any thread may call it."""
        self.is_cancelled = True
        lib.gpt2_cancel_set(self.cancel_flag, 1)

    def callback(self, name: str, function: Callable[..., Any]) -> Callable[..., int]:
        """Wraps a callback. It ends the call by raising an exception or returning False."""
        if not callable(function):
            raise TypeError(f"{name}: expected a function, found {shown(function)}")

        def guarded(_user: Optional[int], *arguments: Any) -> int:
            try:
                return int(not stops(function(*arguments)))
            except BaseException as error:
                self._error = error
                self.cancel()  # in a batch, this ends the other texts
                return 0

        return guarded

    def set_progress(self, options: Any, on_progress: OnProgress) -> None:
        """Sets the members of a struct of options that report progress and stop the call.

        The struct must not outlive this Work.
        """
        options.cancel = self.cancel_flag.address
        if on_progress is not None:
            options.on_progress = c.OnProgress(self.callback("on_progress", on_progress))

    def run(self, call: Callable[[], T]) -> T:
        """Returns the result of `call`, or raises the exception of it or of a callback."""
        if threading.current_thread() is not threading.main_thread():
            return self.call_here(call)
        outcome: queue.SimpleQueue[Tuple[Optional[T], Optional[BaseException]]]
        outcome = queue.SimpleQueue()

        def work() -> None:
            try:
                outcome.put((self.call_here(call), None))
            except BaseException as error:
                outcome.put((None, error))

        thread = threading.Thread(target=work, name="gpt2cpp", daemon=True)
        try:
            thread.start()
            result, error = outcome.get()
            thread.join()  # so that it has ended if a fork() follows
        except BaseException:
            self.cancel()
            while thread.is_alive():  # it still uses the arguments of the call
                with suppress(KeyboardInterrupt):
                    thread.join()
            raise
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    def call_here(self, call: Callable[[], T]) -> T:
        """Makes the call on this thread."""
        try:
            result = call()
        except Exception:
            if self._error is None:
                raise
        if self._error is not None:
            raise self._error
        return result
