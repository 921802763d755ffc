"""Arguments that are texts: cuts those that are too long, and collects the failures of a list."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Tuple

from ._options import named
from .errors import Error, InvalidArgumentError

ON_ERROR = ("raise", "return")
FAILURES = (Error, TypeError, ValueError, OverflowError)
"""What a text that cannot be used raises."""


class Failures:
    """The texts of a list that failed, by their places.

    With on_error="raise", the first failure is raised; its message begins with the number of the
    text, counted from 0. With on_error="return", the exception stands in the list of results.
    """

    def __init__(self, on_error: str, is_list: bool):
        self.returned = bool(named("on_error", on_error, ON_ERROR))
        self._is_list = is_list
        self.by_place: Dict[int, Exception] = {}

    def add(self, place: int, error: Exception) -> Exception:
        """Notes a failure and returns it, or raises it."""
        if not self.returned:
            raise numbered(error, place) if self._is_list else error
        self.by_place[place] = error
        return error

    def convert(self, texts: Iterable[Any], function: Callable[[Any], Any]) -> List[Any]:
        """function(text) for each of the texts, without those that failed."""
        values = []
        for place, text in enumerate(texts):
            try:
                values.append(function(text))
            except FAILURES as error:
                self.add(place, error)
        return values

    def merge(self, results: Iterable[Any]) -> List[Any]:
        """The results of those that did not fail, and the exceptions of the others, in order."""
        merged = list(results)
        for place in sorted(self.by_place):
            merged.insert(place, self.by_place[place])
        return merged


def numbered(error: Exception, place: int) -> Exception:
    """The same error with the number of the text, counted from 0, in its message."""
    if type(error) not in (TypeError, ValueError, OverflowError) and not isinstance(error, Error):
        return error  # of the caller's own iterator; it may need other arguments
    return type(error)(f"text {place} of the list: {error}")


def require_known(ids: Iterable[int], vocab_size: int, where: str = "") -> None:
    """Raises an error for an id outside the vocabulary. Its message begins with `where`."""
    for id in ids:
        if not 0 <= id < vocab_size:
            raise InvalidArgumentError(f"{where}token id {id} is outside the model's vocabulary of "
                                       f"{vocab_size}")


def fit_text(ids: List[int], room: int, truncate: bool) -> List[int]:
    """At most the first `room` tokens, as transformers' truncation=True keeps them."""
    if not ids:
        raise InvalidArgumentError("the text has no tokens: give at least one")
    if len(ids) > room and not truncate:
        raise InvalidArgumentError(
            f"the text has {len(ids)} tokens, but the model takes at most {room}: shorten or "
            "divide it, or give truncate=True to leave out its end")
    return ids[:room]


def fit_continuation(n_context: int, ids: List[int], n_positions: int, truncate: bool) -> None:
    """Raises an error for a continuation that is empty or too long. The model does not read the
    last token, so one more than n_positions fits."""
    if not ids:
        raise InvalidArgumentError("the continuation has no tokens: give at least one")
    if len(ids) > n_positions:
        raise InvalidArgumentError(f"the continuation has {len(ids)} tokens, but the model takes "
                                   f"at most {n_positions}: shorten it")
    if n_context + len(ids) > n_positions + 1 and not truncate:
        raise InvalidArgumentError(
            f"the context and the continuation have {n_context + len(ids)} tokens, but the model "
            f"takes at most {n_positions + 1}: shorten the context, or give truncate=True to leave "
            "out its beginning")


def fit_prompt(ids: List[int], room: int, truncate: bool,
               max_new_tokens: int) -> Tuple[List[int], int]:
    """The end of a prompt that is too long, and how many tokens were removed, as --truncate does.

    Removes so many that there is room for max_new_tokens or, if the room is not larger than that,
    for one token.
    """
    if len(ids) <= room:
        return ids, 0
    if not truncate:
        raise InvalidArgumentError(
            f"the prompt has {len(ids)} tokens, but there is room for {room} at most: shorten it, "
            "or give truncate=True to leave out its beginning")
    new = max_new_tokens if max_new_tokens < room else 1
    removed = len(ids) - max(room - new, 1)
    return ids[removed:], removed
