"""Progress: the share of the work that is done, for on_progress= and for tqdm's bar."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Iterator

from ._work import OnProgress, stops

_LONG = 16  # texts; shorter lists take too little time for a bar


class TokenCount:
    """Reports the share of the tokens that are written, of `total` at most."""

    def __init__(self, on_progress: Any, total: int = 0):
        self._on_progress, self.total, self._written = on_progress, total, 0
        self._goes_on = True

    def on_token(self, _id: int) -> bool:
        self._written += 1
        if self._goes_on and self._written < self.total:
            self._goes_on = not stops(self._on_progress(self._written / self.total))
        return self._goes_on

    def end(self) -> None:
        """Reports the end, which may come before `total`, unless on_progress stopped the work."""
        if self._goes_on:
            self._on_progress(1.0)


@contextmanager
def shown_progress(on_progress: OnProgress, n_texts: int) -> Iterator[OnProgress]:
    """Gives on_progress, or a function that moves a bar if it is None and the list is long.

    The bar is tqdm's, if it is installed, on standard error, if that is a terminal.
    """
    made = None if on_progress is not None or n_texts < _LONG else _bar(n_texts)
    if made is None:
        yield on_progress
        return
    with made as bar:

        def move(share: float) -> None:  # returns nothing, because False would stop the work
            bar.update(int(share * n_texts) - bar.n)

        yield move


def _bar(n_texts: int) -> Any:
    """A bar of tqdm, or None."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=n_texts, unit="text", delay=1, leave=False, file=sys.stderr)
