"""Arrays as arguments and results: numpy's if it is installed, or else the standard library's."""

from __future__ import annotations

import array
import ctypes
import json
import operator
import weakref
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_int32, c_ssize_t, c_void_p
from ctypes import py_object, string_at
from math import prod
from typing import TYPE_CHECKING, Any, Iterable, List, Tuple

from .errors import InvalidArgumentError, unexpected

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    FloatArray = numpy.typing.NDArray[numpy.float32]
else:
    FloatArray = Any
    """An array that functions return: a numpy array of float32. Without numpy, it is a memoryview,
    of which type checkers are not told, because a program has one or the other."""


def plain(value: Any) -> Any:
    """The list or the number that an array of numpy or a tensor of torch has, or the value."""
    return value.tolist() if hasattr(value, "tolist") else value


def items(name: str, value: Any, expected: str) -> List[Any]:
    """The items of the argument `name`. Refuses str and bytes, because they are not lists."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return [plain(item) for item in plain(value)]
    except (TypeError, StopIteration):  # the latter would end a loop over the caller's texts
        pass
    raise unexpected(name, expected, value)


def is_list(value: Any) -> bool:
    """Whether the value, one of those of items(), has items itself and is no text."""
    return hasattr(value, "__iter__") and not isinstance(value, str)


def is_number(value: Any) -> bool:
    """Whether the value is a whole number."""
    try:
        return operator.index(value) is not None
    except TypeError:
        return False


def whole(name: str, value: Any, at_least: int = 0) -> int:
    """A number for C. ctypes would cut one that is too large, and the library knows the range."""
    try:
        number = operator.index(value)
        if at_least <= number < 2**31:
            return number
    except TypeError:
        pass
    raise unexpected(name, "a whole number" if at_least else "a number from 0 on", value)


def to_json(**members: Any) -> bytes:
    """A JSON object for the library, without the members that are None.

    Numbers and arrays of numpy, and iterators, are converted. The library checks the values.
    """
    texts = []
    for name, value in members.items():
        try:
            if value is not None:
                text = json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False)
                texts.append(json.dumps(name).encode() + b": " + text.encode())
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{name}: {error}") from None
    return b"{" + b", ".join(texts) + b"}"


def _plain(value: Any) -> Any:
    """The value as json.dumps() knows it."""
    if isinstance(value, (bytes, bytearray)):
        raise TypeError("expected a text, found bytes")
    for method in ("tolist", "__index__", "__float__", "__iter__"):
        if hasattr(value, method):
            return list(value) if method == "__iter__" else getattr(value, method)()
    raise TypeError(f"expected numbers, texts or lists of them, found {type(value).__name__}")


def ids_array(name: str, ids: Iterable[int]) -> Any:
    """Token ids, which may be the only row of a list or of an array, as a ctypes array."""
    listed = items(name, ids, "token ids")
    if len(listed) == 1 and is_list(listed[0]):
        listed = items(name, listed[0], "token ids")
    try:
        numbers = array.array("i", listed)
    except (TypeError, OverflowError):
        raise unexpected(name, "token ids, which are whole numbers of 32 bits", listed) from None
    return (c_int32 * len(numbers)).from_buffer(numbers) if numbers else (c_int32 * 0)()


class _PyBuffer(Structure):
    """Py_buffer of Python's C interface."""

    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t),
                ("itemsize", c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", c_char_p), ("shape", c_void_p), ("strides", c_void_p),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [py_object, POINTER(_PyBuffer), c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes, _release_buffer.restype = [POINTER(_PyBuffer)], None


class Buffer:
    """The memory of bytes, an array, an mmap and so on. It does not move while the Buffer lives.

    Needed because ctypes itself gives no address for read-only memory.
    """

    def __init__(self, data: Any):
        view = _PyBuffer()
        _get_buffer(data, ctypes.byref(view), 0)
        weakref.finalize(self, _release_buffer, ctypes.byref(view)).atexit = False
        self.address, self.size = view.buf, view.len


def float_rows(name: str, value: Any, width: int) -> Tuple[Buffer, Tuple[int, ...]]:
    """Rows of `width` floats: their memory, and the shape of the rows, which is () for one row.

    An array of float32 is used in place; anything else is copied.
    """
    try:
        numpy = _numpy()
        if numpy is not None:
            value = numpy.ascontiguousarray(value, numpy.float32)
        elif not (isinstance(value, memoryview) and value.format == "f" and value.c_contiguous):
            value = _memory_of(items(name, value, "numbers"))
        found, shape = value.shape[-1], tuple(value.shape[:-1])
    except (TypeError, ValueError):
        raise unexpected(name, "numbers, or rows of them", value) from None
    if found != width:
        raise unexpected(name, f"rows of {width} numbers", found)
    return Buffer(value), shape


def _memory_of(listed: List[Any]) -> memoryview:
    """Numbers, or rows of equal length, as floats."""
    if not listed or not hasattr(listed[0], "__iter__"):
        return memoryview(array.array("f", listed))
    rows = [array.array("f", one) for one in listed]
    flat = array.array("f", b"".join(one.tobytes() for one in rows))
    if {len(one) for one in rows} != {len(rows[0])}:
        raise ValueError("expected rows of equal length")
    return memoryview(flat).cast("B").cast("f", (len(rows), len(rows[0])))


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def zeros(shape: Tuple[int, ...]) -> Tuple[FloatArray, int]:
    """An array for the library to fill, and the address of its memory."""
    numpy = _numpy()
    if numpy is not None:
        result = numpy.zeros(shape, numpy.float32)
        return result, result.ctypes.data
    if prod(shape) == 0:
        return memoryview(b"").cast("f"), 0  # a memoryview with several dimensions cannot be empty
    memory = (c_float * prod(shape))()
    return memoryview(memory).cast("B").cast("f", shape), ctypes.addressof(memory)


def int64_array(numbers: Any) -> Any:
    """Numbers, or rows of equal length, as a numpy array of int64; without numpy, as they are."""
    numpy = _numpy()
    return numbers if numpy is None else numpy.array(numbers, numpy.int64)


def int32_array(address: int, count: int) -> Any:
    """A copy of the numbers at the address: a numpy array of int32, or a memoryview without it."""
    numbers = array.array("i", string_at(address, 4 * count))
    numpy = _numpy()
    return memoryview(numbers) if numpy is None else numpy.array(numbers)


def row(matrix: FloatArray, index: int) -> FloatArray:
    """One row of an array of two dimensions, without a copy."""
    if not isinstance(matrix, memoryview):
        return matrix[index]
    floats, n = matrix.cast("B").cast("f"), matrix.shape[1]
    return floats[index * n:(index + 1) * n]
