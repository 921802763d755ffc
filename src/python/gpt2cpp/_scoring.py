"""Model.score(), choices() and embed(): their arguments and results in C."""

from __future__ import annotations

from ctypes import POINTER, byref
from typing import TYPE_CHECKING, List

from . import _structs as c
from ._arrays import FloatArray, ids_array, ids_structs, zeros
from ._handle import defaults
from ._library import lib
from ._options import count, named
from ._work import OnProgress, Work
from .results import Choice, Comparison, Scores, choices_of, comparison_of, scores_of

if TYPE_CHECKING:
    from ._numbers import Model

_POOLINGS = ("mean", "last")


def score(model: Model, lists: List[List[int]], context: int, stride: int, top_logprobs: int,
          on_progress: OnProgress) -> Scores:
    work = Work()
    options = defaults(c.ScoreOptions, lib.gpt2_score_options_init)
    model._set_engine(options)
    tokenizer = None if model.tokenizer is None else model.tokenizer._use()
    options.tokenizer = None if tokenizer is None else tokenizer.address
    options.context = count("context", context)
    options.stride = count("stride", stride)
    options.top_logprobs = count("top_logprobs", top_logprobs)
    work.set_progress(options, on_progress)
    owned, texts, result = model._use(), ids_structs(lists), POINTER(c.Scores)()
    work.run(lambda: lib.gpt2_score(owned, texts, len(lists), byref(options), byref(result)))
    try:
        return scores_of(result.contents, lists)
    finally:
        lib.gpt2_scores_free(result)


def choices(model: Model, context: List[int], lists: List[List[int]], top_logprobs: int,
            on_progress: OnProgress) -> List[Choice]:
    work = Work()
    options = defaults(c.ScoreOptions, lib.gpt2_score_options_init)
    model._set_engine(options)
    options.top_logprobs = count("top_logprobs", top_logprobs)
    work.set_progress(options, on_progress)
    owned, ids, texts = model._use(), ids_array(context), ids_structs(lists)
    result = POINTER(c.Choices)()
    work.run(lambda: lib.gpt2_score_choices(owned, ids, len(ids), texts, len(lists),
                                            byref(options), byref(result)))
    try:
        return choices_of(result.contents, lists)
    finally:
        lib.gpt2_choices_free(result)


def compare(a: Model, b: Model, tokens: List[int],
            on_progress: OnProgress) -> Comparison:
    work = Work()
    options = defaults(c.CompareOptions, lib.gpt2_compare_options_init)
    engines = a._engine, b._engine  # which live until the call is over
    options.engine_a, options.engine_b = (None if engine is None else engine.address
                                          for engine in engines)
    work.set_progress(options, on_progress)
    models, ids, result = (a._use(), b._use()), ids_array(tokens), POINTER(c.Comparison)()
    work.run(lambda: lib.gpt2_compare_perplexity(*models, ids, len(ids), byref(options),
                                                 byref(result)))
    try:
        return comparison_of(result.contents)
    finally:
        lib.gpt2_comparison_free(result)


def embed(model: Model, lists: List[List[int]], layer: int, pooling: str,
          on_progress: OnProgress) -> FloatArray:
    work = Work()
    options = defaults(c.EmbedOptions, lib.gpt2_embed_options_init)
    model._set_engine(options)
    options.layer = layer
    options.pooling = named("pooling", pooling, _POOLINGS)
    work.set_progress(options, on_progress)
    owned, texts = model._use(), ids_structs(lists)
    out, address = zeros((len(lists), model.n_embd))
    work.run(lambda: lib.gpt2_embed(owned, texts, len(lists), byref(options), address))
    return out
