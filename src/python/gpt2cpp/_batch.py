"""Many texts at once, written by a scheduler."""

from __future__ import annotations

from ctypes import POINTER, byref, c_uint64
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from . import _structs as c
from ._arrays import ids_array
from ._handle import Owned, defaults, new
from ._library import lib
from ._options import count
from ._work import Work
from .errors import Error
from .options import GenerateArguments
from .results import Generation, generation_of

if TYPE_CHECKING:
    from .model import Model, Tokens


def write_texts(model: Model, prompts: Sequence[Tokens],
                options: Dict[str, Any]) -> List[Generation]:
    """Continues all prompts in shared passes. Text j has the option `sequence` plus j."""
    work = Work()
    scheduler_options = defaults(c.SchedulerOptions, lib.gpt2_scheduler_options_init)
    model._set_engine(scheduler_options)
    scheduler = new(lib.gpt2_scheduler_new, model._use(), byref(scheduler_options),
                    free=lib.gpt2_scheduler_free)
    first = count("sequence", options.get("sequence", 0))
    kept = []  # callbacks are used until the texts have ended
    texts = []
    for j, prompt in enumerate(prompts):
        ids = model._prompt(prompt)
        arguments = GenerateArguments({**options, "sequence": first + j}, len(ids), work)
        kept.append(arguments)
        texts.append(_submit(scheduler, model, ids, arguments))
    work.run(lambda: lib.gpt2_scheduler_run(scheduler))
    return [_take(scheduler, text, j) for j, text in enumerate(texts)]


def _submit(scheduler: Owned, model: Model, ids: List[int],
            arguments: GenerateArguments) -> c_uint64:
    tokenizer = model.tokenizer
    text = c_uint64()
    lib.gpt2_scheduler_submit(scheduler, None if tokenizer is None else tokenizer._use(),
                              ids_array(ids), len(ids), byref(arguments.struct), byref(text))
    return text


def _take(scheduler: Owned, text: c_uint64, j: int) -> Generation:
    result = POINTER(c.Generation)()
    try:
        lib.gpt2_scheduler_take(scheduler, text, byref(result))
    except Error as error:
        raise type(error)(f"text {j} of the list: {error}") from None
    try:
        return generation_of(result.contents)
    finally:
        lib.gpt2_generation_free(result)
