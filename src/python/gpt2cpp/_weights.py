"""Model.weights: the tensors of a model by their names."""

from __future__ import annotations

import array
import struct
from collections.abc import Mapping
from ctypes import POINTER, byref, c_size_t, c_ubyte
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Tuple

from . import _structs as c
from ._handle import Owned
from ._library import lib
from .errors import UnsupportedError, did_you_mean

if TYPE_CHECKING:
    import numpy
    import numpy.typing

_NUMPY_TYPES = {1: "<f4", 2: "<f2", 3: "<u2"}  # by gpt2_dtype; numpy has no bfloat16
_F32, _BF16 = 1, 3
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
        weights, n = POINTER(c.Weight)(), c_size_t()
        lib.gpt2_model_weights(owned, byref(weights), byref(n))
        self._owned = owned
        self._by_name: Dict[str, c.Weight] = {one.name.decode(): one for one in weights[:n.value]}
        self._is_tied = is_tied
        self._model = model

    def __repr__(self) -> str:
        return f"Weights({len(self)} tensors of {self._model})"

    def __getitem__(self, name: str) -> Any:
        weight = self._weight(name)
        if weight.dtype not in _NUMPY_TYPES:
            raise UnsupportedError(f"{name}: is quantized, so it has no array of its elements: "
                                   "load the model that it was made from, without dtype=")
        return _array(self._owned, weight)

    def _weight(self, name: str) -> c.Weight:
        weight = self._find(name)
        if weight is None:
            advice = did_you_mean(name, self._by_name) or ": list(model.weights) has the names"
            raise KeyError(f"{name}{advice}")
        return weight

    def _find(self, name: Any) -> Optional[c.Weight]:
        if isinstance(name, str):
            if self._is_tied and name == "lm_head.weight":
                name = "wte.weight"
            elif name not in self._by_name and name.startswith(_PREFIX):
                name = name[len(_PREFIX):]
        return self._by_name.get(name)

    def __contains__(self, name: object) -> bool:
        return self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def shape(self, name: str) -> Tuple[int, ...]:
        """The shape of a tensor, also of one that is quantized: the shape of its blocks."""
        weight = self._weight(name)
        return tuple(weight.shape[:weight.n_shape])


def _array(owned: Owned, weight: c.Weight) -> Any:
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
    if weight.dtype == _BF16:
        flat = (flat.astype("<u4") << 16).view("<f4")
        flat.flags.writeable = False
    return flat.reshape(shape)


def _memoryview(content: memoryview, dtype: int, shape: Tuple[int, ...]) -> memoryview:
    """The elements as 32-bit floats. Other types, which memoryview does not have, are copied."""
    if dtype != _F32:
        halves = array.array("H", content.tobytes())
        floats = (array.array("I", (half << 16 for half in halves)) if dtype == _BF16
                  else array.array("f", struct.unpack(f"<{len(halves)}e", content)))
        content = memoryview(floats).cast("B")
    return content.cast("f", shape).toreadonly()
