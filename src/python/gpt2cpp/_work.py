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


class Worker(threading.Thread):
    """A thread that calls a function, unless it is given up before.

    Ctrl-C may interrupt start() before the thread begins. If nobody waits for the thread then, it
    must not begin later, because the arguments of the call may be in use by another one.
    """

    def __init__(self, function: Callable[[], Any]):
        super().__init__(target=function, name="gpt2cpp", daemon=True)
        self._is_decided = threading.Lock()  # taken first by run() or by give_up()

    def run(self) -> None:
        if self._is_decided.acquire(blocking=False):
            super().run()

    def give_up(self) -> bool:
        """Returns whether the function will never be called. Otherwise, join() waits for it."""
        return self._is_decided.acquire(blocking=False)


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

        worker = Worker(work)
        try:
            worker.start()
            result, error = outcome.get()
            worker.join()  # so that it has ended if a fork() follows
        except BaseException:
            self.cancel()
            is_running = not worker.give_up()
            while is_running and worker.is_alive():  # it still uses the arguments of the call
                with suppress(KeyboardInterrupt):
                    worker.join()
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
