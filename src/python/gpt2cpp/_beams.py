"""Beam search."""

from __future__ import annotations

from ctypes import POINTER, byref
from typing import TYPE_CHECKING, Any, Dict, List

from . import _structs as c
from ._arrays import ids_array
from ._library import lib
from ._work import Work
from .options import BeamArguments
from .results import Generation, beam_of

if TYPE_CHECKING:
    from .model import Model, Tokens


def search(model: Model, prompt: Tokens, num_return_sequences: int,
           options: Dict[str, Any]) -> List[Generation]:
    """The best texts that follow the prompt, best first; one if the work is stopped early."""
    work = Work()
    ids = ids_array(model._prompt(prompt))
    arguments = BeamArguments(options, len(ids), work)
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
    if texts:
        return texts
    cancelled = Generation()
    cancelled.finish_reason, cancelled.token_ids = "cancelled", []
    return [cancelled]
