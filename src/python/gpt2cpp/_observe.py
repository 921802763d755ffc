"""Observes the values that a forward pass computes before the logits."""

from __future__ import annotations

from ctypes import byref, memmove
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple, Union

from . import _structs as c
from ._arrays import FloatArray, ids_array, items, zeros
from ._handle import Owned, defaults
from ._library import lib
from ._options import named
from ._work import Work
from .errors import shown

if TYPE_CHECKING:
    from .model import Model

OBSERVED = ("embeddings", "ln_1_statistics", "attention_weights", "head_outputs", "attn_output",
            "ln_2_statistics", "mlp_output", "block_output", "ln_f_statistics", "ln_f_output",
            "ln_1_output", "queries", "keys", "values", "ln_2_output", "mlp_activations")

_ATTENTION = OBSERVED.index("attention_weights")


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
    """

    def __init__(self, n_layer: int):
        super().__init__()
        self._n_layer = n_layer

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


class _Recorder:
    """The callbacks of a pass, which copy the observed values to arrays."""

    def __init__(self, model: Model, n_tokens: int, n_known: int, work: Work):
        self.seen = Observations(model.n_layer)
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
        for i in range(piece.rows):
            memmove(to + 4 * i * width, piece.data + 4 * i * piece.stride, 4 * piece.cols)
        return not self._work.is_cancelled


def observe(model: Model, session: Owned, ids: List[int], what: Union[str, Iterable[str], None],
            layers: Optional[Iterable[int]]) -> Observations:
    work = Work()
    names = (OBSERVED if what is None else [what] if isinstance(what, str)
             else items("what", what, "names"))
    wanted = {named("what", name, OBSERVED) for name in names}
    known = range(model.n_layer + 1)
    only = known if layers is None else items("layers", layers, "numbers of blocks")
    for layer in only:
        if layer not in known:
            raise ValueError(f"layers: expected numbers from 0 to {model.n_layer}, found "
                             f"{shown(layer)}")
    info = lib.gpt2_session_get_info(session).contents
    n_known = info.position - info.waiting
    recorder = _Recorder(model, info.waiting + len(ids), n_known, work)
    observer = defaults(c.Observer, lib.gpt2_observer_init)
    observer.see = c.OnObservation(work.callback("see", recorder.see))
    observer.wants = c.Wants(work.callback(
        "wants", lambda kind, layer: kind in wanted and layer in only))
    tokens = ids_array(ids)
    slice = c.Slice(session.address, tokens, len(tokens), None, 0)
    work.run(lambda: lib.gpt2_observe(byref(slice), 1, byref(observer)))
    return recorder.seen
