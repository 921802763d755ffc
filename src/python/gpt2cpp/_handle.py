"""Handles of the library as Python objects."""

from __future__ import annotations

import weakref
from ctypes import Structure, byref, c_void_p, sizeof
from types import TracebackType
from typing import Any, Callable, Optional, Tuple, Type, TypeVar

from .errors import InvalidArgumentError

Options = TypeVar("Options", bound=Structure)
Self = TypeVar("Self", bound="Handle")


class Owned:
    """A pointer. The library frees it when Python has no more references to this object.

    A call holds a reference to its arguments, so nothing is freed during a call on another thread.
    `kept` is memory that the library uses until then.
    """

    __slots__ = ("_as_parameter_", "kept", "__weakref__")

    def __init__(self, pointer: c_void_p, free: Callable[[c_void_p], None],
                 kept: Tuple[Any, ...] = ()):
        self._as_parameter_ = pointer
        self.kept = kept
        # Free nothing at exit: daemon threads may still be in a call, and all memory is released.
        weakref.finalize(self, free, pointer).atexit = False

    @property
    def address(self) -> int:
        """The pointer as a member of a struct. The caller keeps a reference to this object."""
        assert self._as_parameter_.value is not None
        return self._as_parameter_.value


def new(function: Callable[..., int], *arguments: Any, free: Callable[[c_void_p], None],
        kept: Tuple[Any, ...] = ()) -> Owned:
    """Calls a function that returns a new handle through its last argument.

    The new handle also keeps the memory alive that the handles among the arguments keep alive: a
    session, for example, uses the weights of its model.
    """
    pointer = c_void_p()
    function(*arguments, byref(pointer))
    for argument in arguments:
        if isinstance(argument, Owned):
            kept += argument.kept
    return Owned(pointer, free, kept)


def defaults(kind: Type[Options], init: Callable[..., int]) -> Options:
    """Returns a struct of options with its defaults."""
    options = kind()
    init(byref(options), sizeof(options))
    return options


class Handle:
    """An object that can be closed, and is closed at the end of a `with` block."""

    def __init__(self, owned: Owned):
        self._owned: Optional[Owned] = owned

    def _use(self) -> Owned:
        owned = self._owned
        if owned is None:
            raise InvalidArgumentError(f"the {type(self).__name__} is closed: make a new one")
        return owned

    def close(self) -> None:
        """Frees the memory, as soon as no call on another thread uses it. May be called twice."""
        self._owned = None

    @property
    def closed(self) -> bool:
        """Whether close() has been called."""
        return self._owned is None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()
