"""Many texts at once, written by a scheduler."""

from __future__ import annotations

from ctypes import POINTER, byref, c_uint64
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Sequence

from . import _structs as c
from ._arrays import ids_array
from ._handle import Owned, defaults, new
from ._library import lib
from ._options import count
from ._progress import TokenCount, shown_progress
from ._texts import FAILURES, Failures
from ._work import Work
from .errors import Error, shown
from .options import GenerateArguments, without_lengths
from .results import Generation, generation_of

if TYPE_CHECKING:
    from ._numbers import Tokens
    from .model import Model


def _check_options(model: Model, options: Dict[str, Any]) -> None:
    """Refuses wrong options, which are no failures of texts."""
    GenerateArguments(without_lengths(options), 0, model.vocab_size, Work()).check(model)


class _Text(NamedTuple):
    """A text that the scheduler writes."""

    place: int  # in the list
    number: c_uint64  # in the scheduler
    truncated: int  # tokens at the beginning of the prompt
    arguments: GenerateArguments  # has callbacks, which are used until the text has ended


def write_texts(model: Model, prompts: Sequence[Tokens], options: Dict[str, Any],
                failures: Failures) -> List[Any]:
    """Continues all prompts in shared passes. Text j has the option `sequence` plus j."""
    if options.get("streamer") is not None:
        raise ValueError("streamer: takes a single text, found a list of prompts: give one prompt, "
                         "without num_return_sequences")
    on_progress = options.pop("on_progress", None)
    if on_progress is not None and not callable(on_progress):
        raise TypeError(f"on_progress: expected a function, found {shown(on_progress)}")
    _check_options(model, options)
    with shown_progress(on_progress, len(prompts)) as report:
        batch = _Batch(model, count("sequence", options.get("sequence") or 0))
        progress = None if report is None else TokenCount(report)
        for place, prompt in enumerate(prompts):
            try:
                ids, truncated, given = model._fitted(prompt, options)
            except FAILURES as error:
                failures.add(place, error)
                continue
            try:
                batch.submit(place, ids, truncated, given, progress)
            except Error as error:
                failures.add(place, error)
        texts = batch.run(failures)
        if progress is not None:
            progress.end()
        return failures.merge(texts)


def write_text(model: Model, prompt: Tokens, options: Dict[str, Any], failures: Failures) -> Any:
    """Continues one prompt, in a session of its own."""
    _check_options(model, options)
    try:
        ids, truncated, others = model._fitted(prompt, options)
    except FAILURES as error:
        return failures.add(0, error)
    try:
        text = model.session().generate(ids, **others)
    except Error as error:
        return failures.add(0, error)
    text.truncated_tokens = truncated
    return text


class _Batch:
    """A scheduler and its texts."""

    def __init__(self, model: Model, first_sequence: int):
        self._model, self._first, self._work = model, first_sequence, Work()
        self._texts: List[_Text] = []
        scheduler_options = defaults(c.SchedulerOptions, lib.gpt2_scheduler_options_init)
        model._set_engine(scheduler_options)
        self._scheduler: Owned = new(lib.gpt2_scheduler_new, model._use(),
                                     byref(scheduler_options), free=lib.gpt2_scheduler_free)

    def submit(self, place: int, ids: List[int], truncated: int, options: Dict[str, Any],
               progress: Any) -> None:
        arguments = GenerateArguments({**options, "sequence": self._first + place}, len(ids),
                                      self._model.vocab_size, self._work)
        if progress is not None:
            arguments.struct.on_token = c.OnToken(
                self._work.callback("on_token", progress.on_token))
        tokenizer, number = self._model.tokenizer, c_uint64()
        lib.gpt2_scheduler_submit(self._scheduler,
                                  None if tokenizer is None else tokenizer._use(),
                                  ids_array(ids), len(ids), byref(arguments.struct), byref(number))
        self._texts.append(_Text(place, number, truncated, arguments))
        if progress is not None:
            progress.total += arguments.struct.max_new_tokens

    def run(self, failures: Failures) -> List[Generation]:
        """Writes the texts and returns those that did not fail."""
        self._work.run(lambda: lib.gpt2_scheduler_run(self._scheduler))
        taken = []
        for text in self._texts:
            try:
                taken.append(self._take(text))
            except Error as error:
                failures.add(text.place, error)
        return taken

    def _take(self, text: _Text) -> Generation:
        result = POINTER(c.Generation)()
        lib.gpt2_scheduler_take(self._scheduler, text.number, byref(result))
        try:
            generation = generation_of(result.contents)
            generation.truncated_tokens = text.truncated
            return generation
        finally:
            lib.gpt2_generation_free(result)
