"""Model.weights: the tensors of a model by their names."""

from __future__ import annotations

import array
import struct
from collections.abc import Mapping
from ctypes import POINTER, byref, c_size_t, c_ubyte
from typing import TYPE_CHECKING, Any, Dict, Iterator, Tuple

from ._library import Owned, Weight, lib
from .errors import UnsupportedError

if TYPE_CHECKING:
    import numpy
    import numpy.typing

_NUMPY_TYPES = {b"f32": "<f4", b"f16": "<f2", b"bf16": "<u2"}  # numpy has no bfloat16
_PREFIX = "transformer."


class Weights(Mapping[str, "numpy.typing.NDArray[Any]"]):
    """The tensors by transformers' names, as numpy arrays that cannot be written.

    The arrays use the memory of the model, without a copy, and keep it alive. Only bfloat16, which
    numpy does not have, is copied to float32. Without numpy, they are memoryviews of float32, for
    which float16 is copied, too. Shapes are those of the file: the weight of a linear
    layer (Conv1D) has a row for each input. Names with and without "transformer." are known, and
    lm_head.weight, which is wte.weight if the two are tied. Iterating gives the names of the file
    without "transformer.", as in transformers' GPT2Model.state_dict().
    """

    def __init__(self, owned: Owned, is_tied: bool, model: str):
        """`model` is how repr() shows the model."""
        weights, n = POINTER(Weight)(), c_size_t()
        lib.gpt2_model_weights(owned, byref(weights), byref(n))
        self._owned, self._is_tied, self._model = owned, is_tied, model
        self._by_name: Dict[str, Weight] = {one.name.decode(): one for one in weights[:n.value]}

    def __repr__(self) -> str:
        return f"Weights({len(self)} tensors of {self._model})"

    def __getitem__(self, name: str) -> Any:
        weight = self._by_name[self._own_name(name)]
        if weight.dtype not in _NUMPY_TYPES:
            raise UnsupportedError(f"{name}: is quantized, so it has no array of its elements: "
                                   "load the model that it was made from, without dtype=")
        return _array(self._owned, weight)

    def _own_name(self, name: Any) -> Any:
        """The name in the file."""
        if self._is_tied and name == "lm_head.weight":
            return "wte.weight"
        if isinstance(name, str) and name not in self._by_name and name.startswith(_PREFIX):
            return name[len(_PREFIX):]
        return name

    def __contains__(self, name: object) -> bool:
        return self._own_name(name) in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def shape(self, name: str) -> Tuple[int, ...]:
        """The shape of a tensor, also of one that is quantized: the shape of its blocks."""
        weight = self._by_name[self._own_name(name)]
        return tuple(weight.shape[:weight.n_shape])


def _array(owned: Owned, weight: Weight) -> Any:
    memory = (c_ubyte * weight.size).from_address(weight.data)
    memory.owner = owned  # the array keeps the memory, and the memory keeps the model
    # As this view cannot be written, numpy refuses to make the array writable.
    content = memoryview(memory).toreadonly().cast("B")
    shape = tuple(weight.shape[:weight.n_shape])
    try:
        import numpy
    except ImportError:
        return _memoryview(content, weight.dtype, shape)
    flat = numpy.frombuffer(content, _NUMPY_TYPES[weight.dtype])
    if weight.dtype == b"bf16":
        flat = (flat.astype("<u4") << 16).view("<f4")
        flat.flags.writeable = False
    return flat.reshape(shape)


def _memoryview(content: memoryview, dtype: bytes, shape: Tuple[int, ...]) -> memoryview:
    """The elements as 32-bit floats. Other types, which memoryview does not have, are copied."""
    if dtype != b"f32":
        halves = array.array("H", content.tobytes())
        floats = (array.array("I", (half << 16 for half in halves)) if dtype == b"bf16"
                  else array.array("f", struct.unpack(f"<{len(halves)}e", content)))
        content = memoryview(floats).cast("B")
    return content.cast("f", shape).toreadonly()
