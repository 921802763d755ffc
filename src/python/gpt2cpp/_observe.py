"""Observes and changes the values that a forward pass computes before the logits."""

from __future__ import annotations

import math
from ctypes import byref, memmove, sizeof
from functools import partial
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple,
                    Optional, Set, Tuple, Union)

from ._arrays import Buffer, FloatArray, ids_array, items, zeros
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


class Place(NamedTuple):
    """What a function of `change` is given: rows of these values, one for each token of a piece of
    the text. Observations[place] are the values that another pass had there."""

    name: str
    layer: int
    head: int
    """The head for attention_weights, which are changed head by head; 0 for everything else."""
    first: int
    """The position of the token of the first row: not 0 if the session has tokens already, or in a
    later piece of a text of more than about 512 tokens."""
    rows: int


def _layers_of(name: str, n_layer: int) -> range:
    """The layers that have these values."""
    if name.startswith("ln_f"):
        return range(n_layer, n_layer + 1)
    return range(1 if name == "embeddings" else n_layer)


def _keys_of(names: Iterable[str], n_layer: int) -> List[Key]:
    """The names with each of their layers."""
    return [(name, layer) for name in names for layer in _layers_of(name, n_layer)]


def _hooks_of(n_layer: int) -> Dict[str, List[Key]]:
    """The values of a model by TransformerLens's names, each with the values that it is made of."""
    hooks: Dict[str, List[Key]] = {
        hook.replace(".N.", f".{layer}."): [(name, layer)]
        for name, hook in zip(OBSERVED, _HOOKS) for layer in _layers_of(name, n_layer)}
    for layer in range(1, n_layer):
        hooks[f"blocks.{layer}.hook_resid_pre"] = [("block_output", layer - 1)]
    for layer in range(n_layer):
        for norm, stream in (("ln1", "pre"), ("ln2", "mid")):
            block = f"blocks.{layer}."
            hooks[f"{block}{norm}.hook_normalized"] = [
                *hooks[f"{block}hook_resid_{stream}"], *hooks[f"{block}{norm}.hook_scale"]]
    hooks["ln_final.hook_normalized"] = [("block_output", n_layer - 1),
                                         *hooks["ln_final.hook_scale"]]
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
    block_middle:       (n, n_embd) the residual stream after attention: the input of ln_2
    mlp_preactivations: (n, inner_dim) the output of mlp.c_fc: the input of the activation
    mlp_activations:    (n, inner_dim) the output of the activation: the input of mlp.c_proj
    mlp_output:         (n, n_embd) the output of the feed-forward layer, added to the stream
    block_output:       (n, n_embd) the residual stream after a block
    ln_f_output:        (n, n_embd) the output of ln_f; the logits are computed from it

    The attribute `logits` has the logits of the pass after each token, (n, vocab_size), whatever
    was observed. A Place, which functions of `change` are given, stands for the values there, so
    that values[:] = seen[place] patches one pass with values of another.

    The names of TransformerLens 4, those of a TransformerBridge without
    enable_compatibility_mode(), give values in TransformerLens's shape without the batch. They are
    no keys: keys() and items() have the names above. N is a layer:

    blocks.N.hook_resid_pre, blocks.N.hook_resid_mid, blocks.N.hook_resid_post
    blocks.N.hook_attn_out, blocks.N.hook_mlp_out, blocks.N.mlp.hook_pre, blocks.N.mlp.hook_post
    blocks.N.attn.hook_q, .hook_k, .hook_v, .hook_z:  (n, n_head, head_dim)
    blocks.N.attn.hook_pattern:  the attention_weights
    blocks.N.ln1, blocks.N.ln2, ln_final, each with
        .hook_scale:       (n, 1), which is 1 / rstd
        .hook_normalized:  (input - mean) * rstd, the value before weight and bias
        .hook_out:         the output
    """

    def __init__(self, n_layer: int, n_head: int, n_known: int = 0):
        """n_known is the position of the first token."""
        super().__init__()
        self._n_layer, self._n_head, self._hooks = n_layer, n_head, _hooks_of(n_layer)
        self._n_known = n_known
        self.compute_logits: Callable[[], FloatArray]

    def __getstate__(self) -> Dict[str, Any]:
        # A copy in another process has no logits: a converted model cannot be pickled.
        return {name: value for name, value in vars(self).items() if name != "compute_logits"}

    if TYPE_CHECKING:
        def __getitem__(self, key: Union[Key, Place, str]) -> FloatArray: ...

    def __missing__(self, key: Any) -> FloatArray:
        if isinstance(key, Place):
            return self._part(key, self[key[:2]])
        parts = self._hooks.get(key)
        if parts is None or not self.keys() >= {*parts}:
            raise KeyError(f"{key} was not observed: ask observe() for it")
        return _shaped_as_hook(key, parts[-1][0], [self[part] for part in parts], self._n_head)

    def __contains__(self, key: Any) -> bool:
        parts = [key[:2]] if isinstance(key, Place) else self._hooks.get(key, [key])
        return all(super(Observations, self).__contains__(part) for part in parts)

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default

    def _part(self, place: Place, values: FloatArray) -> FloatArray:
        """A copy of the rows of a place."""
        *heads, n_tokens, width = values.shape
        row = place.first - self._n_known
        if not 0 <= row <= n_tokens - place.rows:
            raise KeyError(f"{place}: the observed tokens begin at position {self._n_known} and "
                           f"end before {self._n_known + n_tokens}")
        cols = place.first + place.rows if heads else width
        part, address = zeros((place.rows, cols))
        begin = Buffer(values).address + 4 * width * (place.head * n_tokens + row)
        _copy_rows(address, cols, begin, width, place.rows, cols)
        return part

    @property
    def logits(self) -> FloatArray:
        """The logits of the pass after each token, computed when they are asked for."""
        return self.compute_logits()

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


def _shaped_as_hook(hook: str, name: str, parts: List[FloatArray], n_head: int) -> FloatArray:
    """Values in the shape that TransformerLens gives them, without the batch."""
    if hook.endswith("hook_normalized"):
        return _filled(parts[0].shape, (
            [(value - mean) * rstd for value in stream]
            for stream, (mean, _, rstd) in zip(parts[0].tolist(), parts[1].tolist())))
    values, = parts
    if hook.endswith("hook_scale"):
        return _filled((values.shape[0], 1), ([1 / rstd if rstd else math.inf]
                                              for _, _, rstd in values.tolist()))
    if name not in ("queries", "keys", "values", "head_outputs"):
        return values
    n_tokens, cols = values.shape
    by_head, _ = zeros((n_tokens, n_head, cols // n_head))
    memoryview(by_head).cast("B")[:] = memoryview(values).cast("B")
    return by_head


def _filled(shape: Tuple[int, ...], rows: Iterable[List[float]]) -> FloatArray:
    array, _ = zeros(shape)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            array[i, j] = value
    return array


Change = Callable[[FloatArray, Place], Any]
Changes = Union[Mapping[Key, Change], Mapping[str, Change], Mapping[Union[Key, str], Change]]
"""Functions by the name and layer of the values that they change, or by TransformerLens's name."""


class _Places:
    """The values of a model, as the arguments of observe() name them."""

    def __init__(self, n_layer: int):
        self._n_layer, self._hooks = n_layer, _hooks_of(n_layer)
        self._all = _keys_of(OBSERVED, n_layer)

    def of(self, argument: str, key: Any) -> List[Key]:
        """The places of the values that a hook is made of, or that of a pair of name and layer."""
        parts = self._hooks.get(key, []) if isinstance(key, str) else [key]
        if not parts or any(part not in self._all for part in parts):
            last = self._n_layer - 1
            raise unexpected(argument, "names of values as help(gpt2cpp.Observations) lists them, "
                             f"pairs such as ('mlp_output', {last}), or hooks such as "
                             f"'blocks.{last}.hook_mlp_out'", key)
        return parts

    def wanted(self, what: What, layers: Optional[Iterable[int]]) -> Set[Key]:
        """The names and layers that `what` and `layers` of observe() ask for."""
        if isinstance(what, str) or what in self._all:
            what = [what]  # type: ignore[list-item]
        given = OBSERVED if what is None else items("what", what, "names")
        names = [name for name in given if name in OBSERVED]
        placed = [place for key in given if key not in OBSERVED for place in self.of("what", key)]
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
        self.seen = Observations(n_layer, n_head, n_known)
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
            place = places.of("change", key)[-1]
            if place in self._functions or not callable(function):
                raise unexpected(f"change: {shown(place)}", "one function", function)
            if place != key and place[0].endswith("_statistics"):
                raise InvalidArgumentError(f"change: {shown(key)} is computed for observers alone: "
                                           f"give {place}")
            self._functions[place] = function

    def changes(self, kind: int, layer: int) -> bool:
        return (OBSERVED[kind], layer) in self._functions

    def change(self, pointer: Any) -> None:
        piece = pointer.contents
        place = Place(OBSERVED[piece.what], piece.layer, piece.head, piece.first, piece.rows)
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


def observe(model: Any, session: Owned, ids: List[int], what: What,
            layers: Optional[Iterable[int]], change: Optional[Changes]) -> Observations:
    """The values of a pass over the ids, and over those that wait in the session."""
    calls, places = Calls(), _Places(model.n_layer)
    wanted, info = places.wanted(what, layers), get_json(lib.gpt2_session_info, session)
    recorder = _Recorder(model.n_layer, model.n_head, info["waiting"] + len(ids),
                         info["position"] - info["waiting"])
    last = "ln_f_output", model.n_layer  # from which Observations.logits are computed
    observer = Observer(
        sizeof(Observer), see=OnObservation(calls.goes_on("see", recorder.see)),
        wants=Wants(calls.guard(lambda kind, layer: (OBSERVED[kind], layer) in {*wanted, last})))
    if change is not None:
        changer = _Changer(places, change)
        observer.change = OnObservation(calls.goes_on("change", changer.change))
        observer.changes = Wants(calls.guard(changer.changes))
    tokens = ids_array("tokens", ids)
    slice = Slice(session.address, tokens, len(tokens), None, 0)
    calls.run(lib.gpt2_forward, byref(slice), 1, byref(observer))
    seen = recorder.seen
    seen.compute_logits = partial(model.unembed, seen[last])
    if last not in wanted:
        del seen[last]
    return seen
