"""Observes and changes the values that a forward pass computes before the logits."""

from __future__ import annotations

import math
from ctypes import byref, memmove, sizeof
from typing import (Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple,
                    Union)

from ._arrays import FloatArray, ids_array, items, zeros
from ._library import (Calls, Observer, OnObservation, Owned, Slice, Wants, described, get_json,
                       lib)
from .errors import InvalidArgumentError, shown, unexpected

Key = Tuple[str, int]
"""The name of values and their layer."""

What = Union[str, Key, Iterable[Union[str, Key]], None]
"""Names of values, of which a hook and a pair of name and layer name the layer, too."""

OBSERVED: Tuple[str, ...] = tuple(one["name"] for one in described["observed"])
"""The names of all values, in the order of the enumeration of gpt2.h."""

_HOOKS = tuple(one["hook"] for one in described["observed"])
"""TransformerLens's names of them, with N for the layer."""

_ATTENTION = OBSERVED.index("attention_weights")


def _layers_of(name: str, n_layer: int) -> range:
    """The layers that have these values."""
    if name.startswith("ln_f"):
        return range(n_layer, n_layer + 1)
    return range(1 if name == "embeddings" else n_layer)


def _keys_of(names: Iterable[str], n_layer: int) -> List[Key]:
    """The names with each of their layers."""
    return [(name, layer) for name in names for layer in _layers_of(name, n_layer)]


def _hooks_of(n_layer: int) -> Dict[str, Key]:
    """The values of a model by TransformerLens's names."""
    hooks = {hook.replace(".N.", f".{layer}."): (name, layer)
             for name, hook in zip(OBSERVED, _HOOKS) for layer in _layers_of(name, n_layer)}
    for layer in range(1, n_layer):
        hooks[f"blocks.{layer}.hook_resid_pre"] = "block_output", layer - 1
    return hooks


class Observations(Dict[Key, FloatArray]):
    """Observed values by name and layer, such as ["block_output", 3]. Layers count from 0; the
    layer is 0 for the embeddings, and n_layer for ln_f. With n tokens, the arrays are:

    embeddings:         (n, n_embd) wte + wpe, where the residual stream begins
    ln_1_statistics, ln_2_statistics, ln_f_statistics:
                        (n, 3) mean, variance and rstd of the input of these LayerNorms
    ln_1_output, ln_2_output:
                        (n, n_embd) the outputs of these LayerNorms
    queries, keys, values:
                        (n, n_embd) those of all heads, side by side
    attention_weights:  (n_head, n, n_keys) each token's weights of the tokens up to it, then zeros
    head_outputs:       (n, n_embd) the outputs of all heads: the input of attn.c_proj
    attn_output:        (n, n_embd) the output of attention, added to the residual stream
    mlp_activations:    (n, inner_dim) the output of the activation: the input of mlp.c_proj
    mlp_output:         (n, n_embd) the output of the feed-forward layer, added to the stream
    block_output:       (n, n_embd) the residual stream after a block
    ln_f_output:        (n, n_embd) the output of ln_f; the logits are computed from it

    TransformerLens's name of a value, such as ["blocks.3.hook_resid_post"], gives it in
    TransformerLens's shape without the batch: hook_scale is (n, 1), which is 1 / rstd, and hook_q,
    hook_k, hook_v and hook_z are (n, n_head, head_dim). These names are no keys: keys() and items()
    have the names above.
    """

    def __init__(self, n_layer: int, n_head: int):
        super().__init__()
        self._n_layer, self._n_head, self._hooks = n_layer, n_head, _hooks_of(n_layer)

    def __missing__(self, key: Any) -> FloatArray:
        place = self._hooks.get(key)
        if place not in self.keys():
            raise KeyError(f"{key} was not observed: ask observe() for it")
        return _shaped_as_hook(place[0], self[place], self._n_head)

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(self._hooks.get(key, key))

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default

    @property
    def hidden_states(self) -> List[FloatArray]:
        """The same as transformers' output_hidden_states=True, without the batch dimension."""
        last = self._n_layer - 1
        return [self["embeddings", 0], *(self["block_output", layer] for layer in range(last)),
                self["ln_f_output", last + 1]]

    @property
    def attentions(self) -> List[FloatArray]:
        """The same as transformers' output_attentions=True, without the batch dimension."""
        return [self["attention_weights", layer] for layer in range(self._n_layer)]


def _shaped_as_hook(name: str, values: FloatArray, n_head: int) -> FloatArray:
    """A copy of values in the shape that TransformerLens gives them, without the batch."""
    n_tokens, cols = values.shape[-2:]
    if name.endswith("_statistics"):
        scale, _ = zeros((n_tokens, 1))
        for i in range(n_tokens):
            scale[i, 0] = 1 / values[i, 2] if values[i, 2] else math.inf
        return scale
    if name not in ("queries", "keys", "values", "head_outputs"):
        return values
    by_head, _ = zeros((n_tokens, n_head, cols // n_head))
    memoryview(by_head).cast("B")[:] = memoryview(values).cast("B")
    return by_head


class Place(NamedTuple):
    """Which values of a pass a function of `change` is given."""

    name: str
    layer: int
    head: int
    """The head for attention_weights, which are changed head by head; 0 for everything else."""
    first: int
    """The position of the token of the first row: not 0 if the session has tokens already, or in a
    later piece of a text of more than about 512 tokens."""


Changes = Mapping[Union[Key, str], Callable[[FloatArray, Place], Any]]
"""Functions by the name and layer of the values that they change, or by TransformerLens's name."""


class _Places:
    """The values of a model, as the arguments of observe() name them."""

    def __init__(self, n_layer: int):
        self._n_layer, self._hooks = n_layer, _hooks_of(n_layer)
        self._all = _keys_of(OBSERVED, n_layer)

    def of(self, argument: str, key: Any) -> Key:
        """The place that a hook or a pair of name and layer means."""
        place = self._hooks.get(key, key) if isinstance(key, str) else key
        if place not in self._all:
            last = self._n_layer - 1
            raise unexpected(argument, "names of values as help(gpt2cpp.Observations) lists them, "
                             f"pairs such as ('mlp_output', {last}), or hooks such as "
                             f"'blocks.{last}.hook_mlp_out'", key)
        return place

    def wanted(self, what: What, layers: Optional[Iterable[int]]) -> Set[Key]:
        """The names and layers that `what` and `layers` of observe() ask for."""
        if isinstance(what, str) or what in self._all:
            what = [what]  # type: ignore[list-item]
        given = OBSERVED if what is None else items("what", what, "names")
        names = [name for name in given if name in OBSERVED]
        placed = [self.of("what", key) for key in given if key not in OBSERVED]
        of_names = _keys_of(names, self._n_layer)
        if layers is None:
            return {*of_names, *placed}
        numbers = items("layers", layers, "numbers of blocks")
        existing = {layer for _, layer in of_names}
        if placed or not existing.issuperset(numbers):
            raise unexpected("layers", "numbers of layers that all these names have", numbers)
        return {place for place in of_names if place[1] in numbers}


def _copy_rows(to: int, to_stride: int, source: int, stride: int, rows: int, cols: int) -> None:
    """Copies rows of floats from one address to another; the strides are in floats."""
    for i in range(rows):
        memmove(to + 4 * i * to_stride, source + 4 * i * stride, 4 * cols)


class _Recorder:
    """The callback of a pass that copies the observed values to arrays."""

    def __init__(self, n_layer: int, n_head: int, n_tokens: int, n_known: int):
        self.seen = Observations(n_layer, n_head)
        self._n_head, self._n_tokens, self._n_known = n_head, n_tokens, n_known
        self._addresses: Dict[Key, int] = {}

    def see(self, pointer: Any) -> None:
        piece = pointer.contents
        is_attention = piece.what == _ATTENTION
        width = self._n_known + self._n_tokens if is_attention else piece.cols
        key = OBSERVED[piece.what], piece.layer
        if key not in self._addresses:
            rows = (self._n_tokens, width)
            shape = (self._n_head, *rows) if is_attention else rows
            self.seen[key], self._addresses[key] = zeros(shape)
        row = piece.head * self._n_tokens + piece.first - self._n_known
        to = self._addresses[key] + 4 * row * width
        _copy_rows(to, width, piece.data, piece.stride, piece.rows, piece.cols)


class _Changer:
    """The callbacks of a pass that let functions change copies of the values. A function may keep
    its copy, whereas the library soon overwrites the values themselves."""

    def __init__(self, places: _Places, change: Changes):
        if not isinstance(change, Mapping):
            raise unexpected("change", "a dict of functions", change)
        self._functions: Dict[Key, Callable[[FloatArray, Place], Any]] = {}
        for key, function in change.items():
            place = places.of("change", key)
            if place in self._functions or not callable(function):
                raise unexpected(f"change: {shown(place)}", "one function", function)
            if place != key and place[0].endswith("_statistics"):
                raise InvalidArgumentError(f"change: {shown(key)} is 1 / rstd, which cannot be "
                                           f"changed by this name: give {place}")
            self._functions[place] = function

    def changes(self, kind: int, layer: int) -> bool:
        return (OBSERVED[kind], layer) in self._functions

    def change(self, pointer: Any) -> None:
        piece = pointer.contents
        place = Place(OBSERVED[piece.what], piece.layer, piece.head, piece.first)
        sizes = piece.rows, piece.cols
        values, address = zeros(sizes)
        _copy_rows(address, piece.cols, piece.data, piece.stride, *sizes)
        require_in_place("change", self._functions[place[:2]](values, place), values)
        _copy_rows(piece.data, piece.stride, address, piece.cols, *sizes)


def require_in_place(name: str, result: Any, values: Any) -> None:
    """Refuses the result of a function that should have changed its array."""
    if result is not None and result is not values:
        raise InvalidArgumentError(f"{name}: the function must change its array in place and "
                                   f"return nothing, but it returned {shown(result)}")


def observe(n_layer: int, n_head: int, session: Owned, ids: List[int], what: What,
            layers: Optional[Iterable[int]], change: Optional[Changes]) -> Observations:
    """The values of a pass over the ids, and over those that wait in the session."""
    calls, places = Calls(), _Places(n_layer)
    wanted, info = places.wanted(what, layers), get_json(lib.gpt2_session_info, session)
    recorder = _Recorder(n_layer, n_head, info["waiting"] + len(ids),
                         info["position"] - info["waiting"])
    observer = Observer(
        sizeof(Observer), see=OnObservation(calls.goes_on("see", recorder.see)),
        wants=Wants(calls.guard(lambda kind, layer: (OBSERVED[kind], layer) in wanted)))
    if change is not None:
        changer = _Changer(places, change)
        observer.change = OnObservation(calls.goes_on("change", changer.change))
        observer.changes = Wants(calls.guard(changer.changes))
    tokens = ids_array("tokens", ids)
    slice = Slice(session.address, tokens, len(tokens), None, 0)
    calls.run(lib.gpt2_forward, byref(slice), 1, byref(observer))
    return recorder.seen
