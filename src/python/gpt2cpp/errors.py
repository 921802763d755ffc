"""The exceptions of the package.

Each is derived from Error and, if Python has a matching class, from that class, too:

====================  =====================  ==========================================
code                  exception              also a
====================  =====================  ==========================================
not_found             NotFoundError          FileNotFoundError
invalid_file          InvalidFileError
unsupported           UnsupportedError
invalid_argument      InvalidArgumentError   ValueError
out_of_memory         OutOfMemoryError       MemoryError
cancelled             CancelledError
internal              InternalError
====================  =====================  ==========================================

An argument of the wrong type and an unknown option raise a TypeError.
"""

from __future__ import annotations

import difflib
import reprlib
from typing import Any, Iterable


class Error(Exception):
    """An error, described in one line. `code` is the name of the C interface's status."""

    code = "internal"


class NotFoundError(Error, FileNotFoundError):
    """There is no such file, directory, model or token."""

    code = "not_found"


class InvalidFileError(Error):
    """A file breaks its own format, contradicts another file, or cannot be written."""

    code = "invalid_file"


class UnsupportedError(Error):
    """A valid file or value that the library does not implement."""

    code = "unsupported"


class InvalidArgumentError(Error, ValueError):
    """An argument is out of range, or an object is closed or in use."""

    code = "invalid_argument"


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""

    code = "out_of_memory"


class CancelledError(Error):
    """A callback returned False."""

    code = "cancelled"


class InternalError(Error):
    """Anything else: a bug in the library."""


BY_STATUS = (None, NotFoundError, InvalidFileError, UnsupportedError, InvalidArgumentError,
             OutOfMemoryError, CancelledError, InternalError)


def shown(value: Any) -> str:
    """A value as messages show it: shortened, and on one line."""
    return " ".join(reprlib.repr(value).split())


def did_you_mean(name: Any, names: Iterable[Any]) -> str:
    """The end of a message about a wrong name: the most similar of the names, if one is similar."""
    similar = difflib.get_close_matches(str(name), map(str, names), 1)
    return f" (did you mean {similar[0]}?)" if similar else ""
