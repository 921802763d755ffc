"""Beam search."""

from __future__ import annotations

from ctypes import POINTER, byref
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

from . import _structs as c
from ._arrays import ids_array
from ._library import lib
from ._progress import shown_progress
from ._texts import FAILURES, Failures
from ._work import Work, stops
from .errors import CancelledError, Error, shown
from .options import BeamArguments, without_lengths
from .results import Generation, beam_of

if TYPE_CHECKING:
    from ._numbers import Tokens
    from .model import Model


def search_all(model: Model, prompts: Sequence[Tokens], num_return_sequences: int,
               options: Dict[str, Any], failures: Failures) -> List[Any]:
    """The texts of search() for each of the prompts, one after another."""
    on_progress = options.pop("on_progress", None)
    if on_progress is not None and not callable(on_progress):
        raise TypeError(f"on_progress: expected a function, found {shown(on_progress)}")
    # A wrong option is no failure of a text.
    BeamArguments(without_lengths(options), 0, model.vocab_size, Work()).check(model)
    results: List[Any] = []
    with shown_progress(on_progress, len(prompts)) as report:
        for place, prompt in enumerate(prompts):
            try:
                fitted = model._fitted(prompt, options)
            except FAILURES as error:
                results += [failures.add(place, error)] * num_return_sequences
                continue
            try:
                results += search(model, fitted, num_return_sequences)
            except Error as error:
                results += [failures.add(place, error)] * num_return_sequences
            if report is not None and stops(report((place + 1) / len(prompts))):
                raise CancelledError("on_progress returned False")
    return results


def search(model: Model, fitted: Tuple[List[int], int, Dict[str, Any]],
           num_return_sequences: int) -> List[Generation]:
    """The best texts that follow a prompt, best first; one if the work is stopped early.

    `fitted` is the result of Model._fitted() for the prompt.
    """
    work = Work()
    tokens, truncated, options = fitted
    ids = ids_array(tokens)
    arguments = BeamArguments(options, len(ids), model.vocab_size, work)
    arguments.struct.num_return_sequences = num_return_sequences
    model._set_engine(arguments.struct)
    owned, tokenizer = model._use(), None if model.tokenizer is None else model.tokenizer._use()

    def call() -> List[Generation]:
        result = POINTER(c.Beams)()
        lib.gpt2_beam_search(owned, tokenizer, ids, len(ids), byref(arguments.struct),
                             byref(result))
        try:
            found = result.contents
            return [beam_of(beam, len(ids)) for beam in found.data[:found.count]]
        finally:
            lib.gpt2_beams_free(result)

    texts = work.run(call)
    for text in texts:
        text.truncated_tokens = truncated
    if texts:
        return texts
    cancelled = Generation()
    cancelled.finish_reason, cancelled.token_ids = "cancelled", []
    return [cancelled]
