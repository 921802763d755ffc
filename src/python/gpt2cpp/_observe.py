"""Observes and changes the values that a forward pass computes before the logits."""

from __future__ import annotations

import math
import re
from ctypes import byref, memmove
from numbers import Integral
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple,
                    Optional, Set, Tuple, Union)

from . import _structs as c
from ._arrays import FloatArray, ids_array, items, zeros
from ._handle import Owned, defaults
from ._library import lib
from ._options import named, pairs_of
from ._work import Work
from .errors import did_you_mean, shown

if TYPE_CHECKING:
    from .model import Model


def _names_by(function: Callable[[int], bytes]) -> Tuple[str, ...]:
    names: List[str] = []
    while (name := function(len(names))) != b"unknown":
        names.append(name.decode())
    return tuple(names)


OBSERVED = _names_by(lib.gpt2_observed_name)
"""The names of all values, in the order of the enumeration of gpt2.h."""

_HOOKS = _names_by(lib.gpt2_observed_hook)
"""TransformerLens's names of them, with N for the layer."""

_ATTENTION = OBSERVED.index("attention_weights")


def _layers_of(name: str, n_layer: int) -> range:
    """The layers that have these values."""
    if name.startswith("ln_f"):
        return range(n_layer, n_layer + 1)
    return range(1 if name == "embeddings" else n_layer)


def _place_of(hook: Any, n_layer: int) -> Optional[Tuple[str, int]]:
    """The name and layer of the values that TransformerLens calls `hook`; None for another name."""
    if not isinstance(hook, str):
        return None
    if hook in _HOOKS and ".N." not in hook:
        name = OBSERVED[_HOOKS.index(hook)]
        return name, _layers_of(name, n_layer)[0]
    match = re.fullmatch(r"blocks\.(0|[1-9][0-9]{0,8})(\..*)", hook)
    if match is None or int(match[1]) >= n_layer:
        return None
    layer, template = int(match[1]), f"blocks.N{match[2]}"
    if template == "blocks.N.hook_resid_pre":  # of block 0, it is one of _HOOKS
        return "block_output", layer - 1
    return (OBSERVED[_HOOKS.index(template)], layer) if template in _HOOKS else None


def _is_hook(name: Any) -> bool:
    return isinstance(name, str) and "hook_" in name


def _all_places(names: Iterable[str], n_layer: int) -> List[Tuple[str, int]]:
    """The names with each of their layers."""
    return [(name, layer) for name in names for layer in _layers_of(name, n_layer)]


def _require_place(argument: str, key: Any, n_layer: int) -> Tuple[str, int]:
    """The place that a hook or a pair of name and layer means."""
    place = _place_of(key, n_layer) if _is_hook(key) else key
    if place is None:
        raise ValueError(f"{argument}: expected one of {', '.join(_HOOKS)}, with N from 0 to "
                         f"{n_layer - 1}, found {shown(key)}")
    if place not in _all_places(OBSERVED, n_layer):
        raise ValueError(f"{argument}: expected names and layers as in {(OBSERVED[7], 0)}, "
                         f"with layers from 0 to {n_layer - 1} (0 for the embeddings, {n_layer} "
                         f"for ln_f), found {shown(place)}")
    return place


What = Union[str, Tuple[str, int], Iterable[Union[str, Tuple[str, int]]], None]
"""Names of values, of which a hook and a pair of name and layer name the layer, too."""


def _is_pair(what: Any) -> bool:
    return isinstance(what, tuple) and len(what) == 2 and isinstance(what[1], Integral)


def _places(what: What, layers: Optional[Iterable[int]], n_layer: int) -> Set[Tuple[str, int]]:
    """The names and layers of the values that these arguments of observe() ask for."""
    given: List[Any] = (list(OBSERVED) if what is None
                        else [what] if isinstance(what, str) or _is_pair(what)
                        else items("what", what, "names"))
    placed = [key for key in given if _is_hook(key) or isinstance(key, tuple)]
    if placed and layers is not None:
        raise ValueError(f"layers: cannot be given with {shown(placed[0])}, which names its layer: "
                         "leave it out")
    names = [OBSERVED[named("what", name, OBSERVED)] for name in given if name not in placed]
    of_names = _all_places(names, n_layer)
    if layers is None:
        return {*of_names, *(_require_place("what", key, n_layer) for key in placed)}
    existing = [layer for _, layer in of_names]
    first, last = min(existing, default=0), max(existing, default=-1)
    wanted = items("layers", layers, "numbers of blocks")
    for layer in wanted:
        if layer not in range(first, last + 1):
            raise ValueError(f"layers: expected numbers from {first} to {last}"
                             f"{' (ln_f)' if last == n_layer else ''}, found {shown(layer)}")
    return {place for place in of_names if place[1] in wanted}


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


class Observations(Dict[Tuple[str, int], FloatArray]):
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
    TransformerLens's shape without the batch: hook_scale is
    (n, 1), which is 1 / rstd, and hook_q, hook_k, hook_v and hook_z are (n, n_head, head_dim).
    These names are no keys: keys() and items() have the names above.
    """

    def __init__(self, n_layer: int, n_head: int):
        super().__init__()
        self._n_layer, self._n_head = n_layer, n_head

    def __missing__(self, key: Any) -> FloatArray:
        place = _place_of(key, self._n_layer) or key
        if place not in self:
            exists = {*OBSERVED, *_all_places(OBSERVED, self._n_layer)}
            if place in exists - {name for name, _ in self}:
                raise _not_observed(key, key)
            raise KeyError(f"{key}{did_you_mean(key, self)}")
        return _shaped_as_hook(place[0], self[place], self._n_head)

    def __contains__(self, key: Any) -> bool:
        place = _place_of(key, self._n_layer)
        return super().__contains__(key if place is None else place)

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default

    @property
    def hidden_states(self) -> List[FloatArray]:
        """The same as transformers' output_hidden_states=True, without the batch dimension."""
        last = self._n_layer - 1
        return self._all("hidden_states", [
            ("embeddings", 0), *(("block_output", layer) for layer in range(last)),
            ("ln_f_output", last + 1)])

    @property
    def attentions(self) -> List[FloatArray]:
        """The same as transformers' output_attentions=True, without the batch dimension."""
        return self._all("attentions", _all_places(["attention_weights"], self._n_layer))

    def _all(self, name: str, places: List[Tuple[str, int]]) -> List[FloatArray]:
        """The values of these places, which the property `name` consists of."""
        if any(place not in self for place in places):
            raise _not_observed(name, list(dict.fromkeys(what for what, _ in places)))
        return [self[place] for place in places]


def _not_observed(key: Any, what: Any) -> KeyError:
    return KeyError(f"{key} was not observed: ask observe() for {what!r}")


class Place(NamedTuple):
    """Which values of a pass a function of `change` is given."""

    name: str
    layer: int
    head: int
    """The head for attention_weights, which are changed head by head; 0 for everything else."""
    first: int
    """The position of the token of the first row: not 0 if the session has tokens already, or in a
    later piece of a text of more than about 512 tokens."""


Changes = Mapping[Union[Tuple[str, int], str], Callable[[FloatArray, Place], Any]]
"""Functions by the name and layer of the values that they change, or by TransformerLens's name."""


def _copy_rows(to: int, to_stride: int, source: int, stride: int, rows: int, cols: int) -> None:
    """Copies rows of floats from one address to another; the strides are in floats."""
    for i in range(rows):
        memmove(to + 4 * i * to_stride, source + 4 * i * stride, 4 * cols)


class _Recorder:
    """The callbacks of a pass, which copy the observed values to arrays."""

    def __init__(self, model: Model, n_tokens: int, n_known: int, work: Work):
        self.seen = Observations(model.n_layer, model.n_head)
        self._n_head, self._n_tokens, self._n_known = model.n_head, n_tokens, n_known
        self._work = work
        self._addresses: Dict[Tuple[str, int], int] = {}

    def see(self, pointer: Any) -> bool:
        piece = pointer.contents
        is_attention = piece.what == _ATTENTION
        width = self._n_known + self._n_tokens if is_attention else piece.cols
        key = OBSERVED[piece.what], piece.layer
        if key not in self.seen:
            rows = (self._n_tokens, width)
            shape = (self._n_head, *rows) if is_attention else rows
            self.seen[key], self._addresses[key] = zeros(shape)
        row = piece.head * self._n_tokens + piece.first - self._n_known
        to = self._addresses[key] + 4 * row * width
        _copy_rows(to, width, piece.data, piece.stride, piece.rows, piece.cols)
        return not self._work.is_cancelled


class _Changer:
    """The callbacks of a pass that let functions change copies of the values. A function may keep
    its copy, whereas the library soon overwrites the values themselves."""

    def __init__(self, model: Model, change: Changes, work: Work):
        self._work = work
        self._functions: Dict[Tuple[str, int], Callable[[FloatArray, Place], Any]] = {}
        for key, function in pairs_of("change", change):
            place = _require_place("change", key, model.n_layer)
            if place != key and place[0].endswith("_statistics"):
                raise ValueError(f"change: {shown(key)} is 1 / rstd, which cannot be changed by "
                                 f"this name: give {place}")
            if place in self._functions:
                raise ValueError(f"change: two functions are given for {place}")
            if not callable(function):
                raise TypeError(f"change: expected a function, found {shown(function)}")
            self._functions[place] = function

    def changes(self, kind: int, layer: int) -> bool:
        return (OBSERVED[kind], layer) in self._functions

    def change(self, pointer: Any) -> bool:
        piece = pointer.contents
        place = Place(OBSERVED[piece.what], piece.layer, piece.head, piece.first)
        values, address = zeros((piece.rows, piece.cols))
        sizes = piece.rows, piece.cols
        _copy_rows(address, piece.cols, piece.data, piece.stride, *sizes)
        result = self._functions[place.name, place.layer](values, place)
        if result is not None and result is not values:
            raise TypeError(f"change: the function for {shown(place[:2])} must change its array in "
                            f"place and return nothing, but it returned {shown(result)}")
        _copy_rows(piece.data, piece.stride, address, piece.cols, *sizes)
        return not self._work.is_cancelled


def observe(model: Model, session: Owned, ids: List[int], what: What,
            layers: Optional[Iterable[int]], change: Optional[Changes]) -> Observations:
    work, wanted = Work(), _places(what, layers, model.n_layer)
    info = lib.gpt2_session_get_info(session).contents
    n_known = info.position - info.waiting
    recorder = _Recorder(model, info.waiting + len(ids), n_known, work)
    observer = defaults(c.Observer, lib.gpt2_observer_init)
    observer.see = c.OnObservation(work.callback("see", recorder.see))
    observer.wants = c.Wants(work.callback(
        "wants", lambda kind, layer: (OBSERVED[kind], layer) in wanted))
    if change is not None:
        changer = _Changer(model, change, work)
        observer.change = c.OnIntervention(work.callback("change", changer.change))
        observer.changes = c.Wants(work.callback("changes", changer.changes))
    tokens = ids_array(ids)
    slice = c.Slice(session.address, tokens, len(tokens), None, 0)
    work.run(lambda: lib.gpt2_observe(byref(slice), 1, byref(observer)))
    return recorder.seen
