"""Arrays as arguments and results: numpy's if it is installed, or else the standard library's."""

from __future__ import annotations

import array
import ctypes
import operator
import weakref
from collections.abc import Iterator
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_int32, c_ssize_t, c_void_p
from ctypes import py_object, string_at
from typing import TYPE_CHECKING, Any, Iterable, List, Tuple, Union

from . import _structs as c
from .errors import shown

if TYPE_CHECKING:
    import numpy
    import numpy.typing

FloatArray = Union["numpy.typing.NDArray[numpy.float32]", memoryview]
"""An array that functions return: a numpy array of float32, or a memoryview without numpy."""


def items(name: str, value: Any, expected: str) -> List[Any]:
    """The items of the argument `name`. Refuses str and bytes, because they are not lists."""
    try:
        iterator = None if isinstance(value, (str, bytes, bytearray)) else iter(value)
    except TypeError:
        iterator = None
    if iterator is None:
        raise TypeError(f"{name}: expected {expected}, found {shown(value)}")
    return list(iterator)


def without_iterators(value: Any) -> Any:
    """The value with lists in place of its iterators, which can be read only once."""
    if isinstance(value, (Iterator, list, tuple)):
        return [without_iterators(item) for item in value]
    return value


def is_bool(value: Any) -> bool:
    """Whether the value is a bool of Python or numpy, whose class is bool_ or, since 2.0, bool."""
    return type(value).__name__ in ("bool", "bool_")


def whole(name: str, value: Any, expected: str = "a whole number") -> int:
    """The value of the argument `name`, which must be a whole number, and no bool."""
    try:
        if not is_bool(value):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name}: expected {expected}, found {shown(value)}")


def int32(name: str, value: Any, expected: str = "a whole number") -> int:
    """The value of the argument `name`, which must fit in an int32_t."""
    number = whole(name, value, expected)
    try:
        return array.array("i", [number])[0]
    except OverflowError:
        raise OverflowError(f"{name}: expected a number of 32 bits, found {shown(value)}"
                            ) from None


def ids_array(ids: Iterable[int], name: str = "tokens", expected: str = "token ids") -> Any:
    """Token ids as a ctypes array. Raises OverflowError for ids that do not fit in 32 bits."""
    listed = items(name, ids, expected)
    numbers = array.array("i", [int32(name, id, "a token id, which is a whole number")
                                for id in listed])
    return (c_int32 * len(numbers)).from_buffer(numbers) if numbers else (c_int32 * 0)()


def ids_struct(ids: Iterable[int], name: str = "tokens") -> c.Ids:
    """Token ids as a gpt2_ids, which keeps their memory alive."""
    numbers = ids_array(ids, name)
    return c.Ids(numbers, len(numbers))


def ids_structs(lists: Iterable[Iterable[int]], name: str = "tokens") -> Any:
    """Lists of token ids as a ctypes array of gpt2_ids, which keeps their memory alive."""
    structs = [ids_struct(ids, name) for ids in items(name, lists, "lists of token ids")]
    return (c.Ids * len(structs))(*structs)


def ids_list(data: Any, count: int) -> List[int]:
    """A list of the `count` ids at the pointer `data`."""
    return data[:count] if count else []


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


def float_buffer(name: str, numbers: Any) -> Buffer:
    """The numbers as floats: an array of float32 is used in place, anything else is copied."""
    try:
        given = memoryview(numbers)
        if given.format == "f" and given.c_contiguous:
            return Buffer(given)
    except TypeError:
        pass  # they lie in no array
    listed = items(name, numbers, "numbers")
    try:
        return Buffer(array.array("f", listed))
    except TypeError:
        raise TypeError(f"{name}: expected numbers, found {shown(listed)}") from None


def float_rows(name: str, value: Any, width: int) -> Tuple[Any, Tuple[int, ...], int]:
    """Rows of `width` floats: what keeps their memory, the shape of the rows, and the address."""
    numpy = _numpy()
    if numpy is not None:
        array = numpy.ascontiguousarray(value, numpy.float32)
        _require_width(name, array.shape[-1], width)
        return array, array.shape[:-1], array.ctypes.data
    shape: Tuple[int, ...] = ()
    if isinstance(value, memoryview) and value.ndim > 1:
        shape, last = tuple(value.shape[:-1]), value.shape[-1]
        numbers: Any = value.cast("B").cast("f")
    else:
        numbers = items(name, value, "rows of numbers")
        if numbers and hasattr(numbers[0], "__iter__"):
            rows = [items(name, one, "numbers") for one in numbers]
            shape, last = (len(rows),), min(map(len, rows))
            numbers = [number for one in rows for number in one]
            if len(numbers) != last * len(rows):
                raise ValueError(f"{name}: expected rows of the same length")
        else:
            last = len(numbers)
    _require_width(name, last, width)
    buffer = float_buffer(name, numbers)
    return buffer, shape, buffer.address


def _require_width(name: str, found: int, width: int) -> None:
    if found != width:
        raise ValueError(f"{name}: expected rows of {width} numbers, found {found}")


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
    size = 1
    for extent in shape:
        size *= extent
    if size == 0:
        return memoryview(b"").cast("f"), 0  # a memoryview with several dimensions cannot be empty
    memory = (c_float * size)()
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


def row(array: FloatArray, index: int) -> FloatArray:
    """One row of an array of two dimensions, without a copy."""
    if not isinstance(array, memoryview):
        return array[index]
    floats = array.cast("B").cast("f")
    n = len(floats) // len(array)
    return floats[index * n:(index + 1) * n]
