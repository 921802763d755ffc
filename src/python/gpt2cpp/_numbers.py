"""The functions of a model that return numbers."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import byref
from numbers import Integral
from typing import (TYPE_CHECKING, Any, Callable, Iterable, List, NoReturn, Optional, Sequence,
                    Tuple, TypeVar, Union, overload)

from . import _structs as c
from . import _scoring
from ._arrays import FloatArray, float_rows, ids_array, items, row, whole, zeros
from ._cpu import OnCpu
from ._handle import Handle, Owned
from ._hints import MODEL, Hinted
from ._library import lib
from ._observe import Changes, Observations, What
from ._options import count, flag
from ._progress import shown_progress
from ._texts import Failures, fit_continuation, fit_text, require_known
from ._weights import Weights
from ._work import OnProgress
from .encoding import Attributes, ids_of, text_or_ids
from .errors import InvalidArgumentError, shown
from .results import Choice, Comparison, Scores

if TYPE_CHECKING:
    from .session import Session

Self = TypeVar("Self", bound="Model")

Tokens = Union[str, Sequence[int]]
"""A text, which is encoded, or its token ids. What a tokenizer returned for it is taken, too."""


class Model(Hinted, OnCpu, Handle):
    """The part of gpt2cpp.Model that computes logits, hidden states, scores and vectors. It has the
    same name, because messages of Python name the class of a method."""

    _hints = MODEL
    vocab_size: int
    n_positions: int
    n_embd: int
    n_layer: int
    config: Attributes
    tokenizer: Any
    _engine: Optional[Owned]

    if TYPE_CHECKING:  # gpt2cpp.Model has these

        def session(self) -> Session: ...

        def _encode(self, name: str, text: Tokens, *,
                    add_special_tokens: bool = True) -> List[int]: ...

        def _set_engine(self, options: Any) -> None: ...

    def eval(self: Self) -> Self:
        """Returns the model itself, which is always ready to be evaluated."""
        return self

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Raises a TypeError, which says what to call instead of transformers' model(**inputs)."""
        raise TypeError("a Model is not a function: call model.logits(inputs), "
                        "model.hidden_states(inputs) or, for the loss, model.score(inputs)")

    def logits(self, text: Tokens = "", *, input_ids: Any = None,
               attention_mask: Any = None) -> FloatArray:
        """The logits after each token of the text: (n_tokens, vocab_size) floats.

        The text may be what a tokenizer returned, also as in logits(**tokenizer(...)). This is one
        forward pass. Ctrl-C cannot interrupt it and takes effect when it is over. The same is true
        of hidden_states() with a layer, and of these two functions of a Session.
        """
        given = text_or_ids("text", text, input_ids, attention_mask)
        return self._rows(given, self.vocab_size, lib.gpt2_forward)

    @overload
    def hidden_states(self, text: Tokens = "", *, input_ids: Any = None,
                      attention_mask: Any = None) -> Tuple[FloatArray, ...]: ...

    @overload
    def hidden_states(self, text: Tokens, layer: int) -> FloatArray: ...

    @overload
    def hidden_states(self, text: Tokens = "", *, layer: int, input_ids: Any = None,
                      attention_mask: Any = None) -> FloatArray: ...

    def hidden_states(self, text: Tokens = "", layer: Optional[int] = None, *,
                      input_ids: Any = None, attention_mask: Any = None) -> Any:
        """The hidden states of each token: n_layer + 1 arrays of (n_tokens, n_embd) floats.

        The result is the tuple of transformers' output_hidden_states=True, without the dimension of
        the batch: the embeddings first, and last the output of the last block after ln_f. With a
        `layer`, returns that array alone: 0 stands for the embeddings, n_layer or -1 for the last.
        """
        text = text_or_ids("text", text, input_ids, attention_mask)
        if layer is None:
            return tuple(self.observe(text, ("embeddings", "block_output", "ln_f_output"))
                         .hidden_states)
        index = self._layer(layer)
        return self._rows(text, self.n_embd,
                          lambda slices, n: lib.gpt2_hidden_states(slices, n, index))

    def unembed(self, states: Any, *, ln_f: bool = False) -> FloatArray:
        """The logits for hidden states: (..., vocab_size) floats for (..., n_embd) floats.

        This is transformers' model.lm_head(states) or, with ln_f=True,
        model.lm_head(model.transformer.ln_f(states)). The last of the hidden_states() has been
        through ln_f; the others have not, so a logit lens asks for it. Without numpy, the states
        are a list of floats or a list of such lists.

        >>> from gpt2cpp import Model
        >>> model = Model()
        >>> states = model.hidden_states("Once upon a")
        >>> lens = model.unembed(states[model.n_layer - 1], ln_f=True)
        >>> lens.shape == model.unembed(states[-1]).shape == (3, model.vocab_size)
        True
        """
        given, shape, address = float_rows("states", states, self.n_embd)
        n = 1
        for extent in shape:
            n *= extent
        out, out_address = zeros((*shape, self.vocab_size))
        lib.gpt2_unembed(self._use(), self._engine, address, n, flag("ln_f", ln_f), out_address)
        del given  # which the library has read
        return out

    @property
    def weights(self) -> Weights:
        """The tensors by transformers' names, as read-only numpy arrays. Nothing is copied.

        >>> from gpt2cpp import Model
        >>> weights = Model().weights
        >>> "h.0.attn.c_attn.weight" in weights, weights.shape("wte.weight")
        (True, (4096, 256))
        """
        return Weights(self._use(), bool(self.config["tie_word_embeddings"]), repr(self))

    def observe(self, text: Tokens = "", what: What = None,
                layers: Optional[Iterable[int]] = None, *,
                change: Optional[Changes] = None, input_ids: Any = None,
                attention_mask: Any = None) -> Observations:
        """The values that a pass over the text computes. Observations lists names and shapes.

        `what` is one name or several, and `layers` are the numbers of blocks. By default, all
        values are observed, which takes much memory for long texts. A name may also be that of a
        hook of TransformerLens, such as "blocks.3.hook_attn_out", which names the layer, so that
        `layers` must not be given. A pair such as ("attn_output", 3) does so, too.

        `change` intervenes in the pass: a dict of functions by name and layer, such as
        {("head_outputs", 3): f}. The pass calls f(values, place) with a row of values for each
        token and a Place, and goes on with what f leaves in the array. What is observed are the
        changed values. The function must not use the model, whose functions raise an error in it.
        It gets the shapes that Observations lists, also if the key is a hook of TransformerLens. If
        mean or rstd of statistics are changed, the LayerNorm uses these (the variance has no
        effect); attention weights are changed head by head.

        >>> from gpt2cpp import Model
        >>> model = Model()
        >>> seen = model.observe("Once upon a time", "attention_weights", layers=[0])
        >>> list(seen), seen["attention_weights", 0].shape
        ([('attention_weights', 0)], (4, 4, 4))

        The most probable next token if the feed-forward layer of block 2 adds nothing:

        >>> def zero(values, place):
        ...     for i in range(values.shape[0]):
        ...         for j in range(values.shape[1]):
        ...             values[i, j] = 0  # with numpy: values[:] = 0
        >>> seen = model.observe("Once upon a", "ln_f_output", change={("mlp_output", 2): zero})
        >>> logits = model.unembed(seen["ln_f_output", model.n_layer]).tolist()[-1]
        >>> model.tokenizer.decode(logits.index(max(logits)))
        ' time'
        """
        ids = self._ids(text_or_ids("text", text, input_ids, attention_mask))
        with self.session() as session:
            return session.observe(ids, what, layers, change=change)

    def _rows(self, text: Tokens, width: int, function: Callable[[Any, int], int]) -> FloatArray:
        ids = ids_array(self._ids(text))
        with self.session() as session:
            out, address = zeros((len(ids), width))
            function(byref(c.Slice(session._use().address, ids, len(ids), address, len(ids))), 1)
        return out

    def _ids(self, text: Tokens) -> List[int]:
        """The tokens of a text that one pass reads."""
        ids = self._encode("text", text)
        if not ids:
            raise InvalidArgumentError("the text has no tokens: give at least one")
        if len(ids) > self.n_positions:
            raise InvalidArgumentError(f"the text has {len(ids)} tokens, but the model takes at "
                                       f"most {self.n_positions}: shorten or divide it")
        return ids

    def score(self, texts: Union[Tokens, Sequence[Tokens]] = "", *, input_ids: Any = None,
              attention_mask: Any = None, context: int = 0, stride: int = 0, top_logprobs: int = 0,
              truncate: bool = False, on_error: str = "raise",
              on_progress: OnProgress = None) -> Scores:
        """Computes how well the model predicts a text, or a list of texts: together, and each one.

        A list needs at least one text, and a text two tokens, because nothing predicts the first
        one. Otherwise there is nothing to score, which is an InvalidArgumentError.

        The texts may be what a tokenizer returned, also as in score(**tokenizer(...)).

        Long texts are scored in windows of `context` tokens that begin `stride` tokens apart, as
        transformers' page "Perplexity of fixed-length models" does. With truncate=True, only the
        first window is scored, as transformers scores a text that its tokenizer has truncated.
        With on_error="return", a text that cannot be scored does not fail the others: its exception
        stands in `texts` of the result. on_progress is called with the share of the work done so
        far.

        >>> from gpt2cpp import Model
        >>> scores = Model().score("The cat sat on the mat.")
        >>> round(scores.perplexity)
        31
        >>> both = Model().score(["The cat sat on the mat.", "The mat sat on the cat."])
        >>> [round(text.perplexity) for text in both.texts]
        [31, 259]
        """
        given = text_or_ids("texts", texts, input_ids, attention_mask)
        listed, is_list = as_list("texts", given)
        if not listed:
            raise InvalidArgumentError("the list of texts is empty, so there is nothing to score: "
                                       "give at least one text")
        failures, cut = Failures(on_error, is_list), bool(flag("truncate", truncate))
        window = count("context", context) or self.n_positions

        def converted(text: Tokens) -> List[int]:
            ids = self._encode("texts", text)
            if len(ids) < 2:
                raise InvalidArgumentError(
                    f"the text {'has one token' if ids else 'is empty'}, so there is nothing to "
                    "score: give at least two tokens, because nothing predicts the first one")
            require_known(ids, self.vocab_size)
            return ids[:window] if cut else ids

        lists = failures.convert(listed, converted)
        with shown_progress(on_progress, len(listed)) as report:
            scores = _scoring.score(self, lists, context, stride, top_logprobs, report)
        return scores._replace(texts=failures.merge(scores.texts))

    def choices(self, context: Tokens, continuations: Sequence[Tokens], *,
                top_logprobs: int = 0, truncate: bool = False, on_error: str = "raise",
                on_progress: OnProgress = None) -> List[Choice]:
        """Computes the log-probability of each continuation of the context.

        truncate=True leaves out the beginning of the context, so that the longest continuation
        fits. With on_error="return", a continuation that cannot be scored does not fail the others:
        its exception stands in the place of its Choice.

        >>> from gpt2cpp import Model
        >>> cat, sky = Model().choices("The cat", [" was happy", " sky seven"])
        >>> cat.mean > sky.mean
        True
        """
        name = "continuations"
        failures, cut = Failures(on_error, is_list=True), bool(flag("truncate", truncate))
        before = self._encode("context", context)

        def converted(text: Tokens) -> List[int]:
            ids = self._encode(name, text, add_special_tokens=False)
            fit_continuation(len(before), ids, self.n_positions, cut)
            require_known(ids, self.vocab_size)
            return ids

        lists = failures.convert(items(name, continuations, "a list of texts or token ids"),
                                 converted)
        room = self.n_positions + 1 - max(map(len, lists), default=0)
        return failures.merge(_scoring.choices(self, before[-room:], lists, top_logprobs,
                                               on_progress))

    def compare_perplexity(self, other: Model, text: Tokens, *,
                           on_progress: OnProgress = None) -> Comparison:
        """Scores a text with this model and another, such as its quantized copy.

        The perplexities agree with that of score() in 7 digits or so, because score() rounds the
        logprob of each token to a float, and this function does not.

        >>> from gpt2cpp import Model
        >>> model = Model()
        >>> cost = model.compare_perplexity(model.convert("int8"), "The cat sat on the mat.")
        >>> abs(cost.change) < 0.1
        True
        """
        if not isinstance(other, Model):
            raise TypeError('other: expected a Model, such as model.convert("int4"), found '
                            f"{shown(other)}")
        return _scoring.compare(self, other, self._encode("text", text), on_progress)

    def embed(self, texts: Union[Tokens, Sequence[Tokens]] = "", *, input_ids: Any = None,
              attention_mask: Any = None, layer: int = -1, pooling: str = "mean",
              truncate: bool = False, on_error: str = "raise",
              on_progress: OnProgress = None) -> Any:
        """A vector for a text: n_embd floats; or one for each text of a list: (n_texts, n_embd).

        The texts may be what a tokenizer returned, also as in embed(**tokenizer(...)).
        The vector is the mean of the text's hidden states or, with pooling="last", the last one.
        truncate=True leaves out the end of a text that is longer than n_positions, as the
        tokenizer's truncation=True does. With on_error="return", the result for a list is a list of
        vectors, and the exception of a text that has none stands in its place.
        """
        given = text_or_ids("texts", texts, input_ids, attention_mask)
        listed, is_list = as_list("texts", given)
        failures, cut = Failures(on_error, is_list), bool(flag("truncate", truncate))

        def converted(text: Tokens) -> List[int]:
            ids = fit_text(self._encode("texts", text), self.n_positions, cut)
            require_known(ids, self.vocab_size)
            return ids

        lists, index = failures.convert(listed, converted), self._layer(layer)
        with shown_progress(on_progress, len(listed)) as report:
            vectors = _scoring.embed(self, lists, index, pooling, report)
        if is_list and not failures.returned:
            return vectors
        rows = failures.merge(row(vectors, i) for i in range(len(lists)))
        return rows if is_list else rows[0]

    def _layer(self, layer: int) -> int:
        number = whole("layer", layer)
        index = number + self.n_layer + 1 if number < 0 else number
        if not 0 <= index <= self.n_layer:
            raise InvalidArgumentError(f"layer: expected a number from {-self.n_layer - 1} to "
                                       f"{self.n_layer}, found {layer}")
        return index


def as_list(name: str, texts: Any) -> Tuple[List[Tokens], bool]:
    """The texts, and whether the argument is a list of texts (not one text or its ids)."""
    if isinstance(texts, str):
        return [texts], False
    if isinstance(texts, Mapping):
        texts = ids_of(texts)
    listed = items(name, texts, "a text, token ids or a list of them")
    is_one = len(listed) > 0 and isinstance(listed[0], Integral)
    return ([listed] if is_one else listed), not is_one
