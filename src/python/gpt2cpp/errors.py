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
"""

from __future__ import annotations

import reprlib
from typing import Any


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
    """An argument has the wrong type, is out of range or unknown, or an object is closed or in
    use.
    """

    code = "invalid_argument"


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""

    code = "out_of_memory"


class CancelledError(Error):
    """A callback returned False."""

    code = "cancelled"


class InternalError(Error):
    """Anything else: a bug in the library."""


BY_CODE = {kind.code: kind for kind in (
    NotFoundError, InvalidFileError, UnsupportedError, InvalidArgumentError, OutOfMemoryError,
    CancelledError, InternalError)}


def shown(value: Any) -> str:
    """A value as messages show it: shortened, and on one line."""
    return " ".join(reprlib.repr(value).split())


def unexpected(name: str, expected: str, value: Any) -> InvalidArgumentError:
    """The error for an argument that is not what is expected."""
    return InvalidArgumentError(f"{name}: expected {expected}, found {shown(value)}")
