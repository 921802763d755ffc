"""Runs: requests that the library computes pass by pass, in the thread that asks for the result."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from ctypes import byref, c_int32, memmove, sizeof, string_at
from typing import Any, Callable, Dict, List, Optional

from ._arrays import int32_array, int64_array, items, to_json, zeros
from ._library import Callbacks, Calls, OnScores, OnToken, Owned, get_json, lib
from ._observe import require_in_place
from .errors import InvalidArgumentError, unexpected
from .options import TABLE, request_of
from .results import Generation, generation_of


class Run:
    """A request of any kind. `lock` keeps other threads from what it uses during a pass."""

    def __init__(self, calls: Calls, callbacks: Callbacks, lock: Any,
                 function: Callable[..., int], *arguments: Any):
        self._calls, self._lock = calls, lock
        with lock:
            self._owned: Optional[Owned] = Owned(function, *arguments, byref(callbacks),
                                                 free=lib.gpt2_run_free, kept=(callbacks,))

    def step(self) -> bool:
        """Computes one pass, and returns whether there is more to do."""
        owned, more = self._owned, c_int32()
        if owned is not None:
            with self._lock:
                self._calls.run(lib.gpt2_run_step, owned, byref(more))
        return bool(more.value) and self._owned is not None

    def result(self) -> Any:
        """Computes what is left, and returns the result."""
        while self.step():
            pass
        with self._lock:
            return self._calls.run(get_json, lib.gpt2_run_result, self._owned)

    def close(self) -> None:
        """Ends the run after the pass that another thread may be computing."""
        owned, self._owned = self._owned, None
        if owned is not None and owned.address:
            lib.gpt2_run_cancel(owned)

    @property
    def closed(self) -> bool:
        return self._owned is None


def new_run(model: Any, kind: str, on_progress: Any, /, **request: Any) -> Run:
    """A run that writes no text, in a scheduler of its own."""
    calls = Calls()
    callbacks = Callbacks(sizeof(Callbacks), on_progress=calls.progress(on_progress))
    return Run(calls, callbacks, threading.RLock(), lib.gpt2_run_new, model.new_scheduler(),
               model.owned_tokenizer, kind.encode(), to_json(**request))


class TextRun(Run):
    """The texts that continue one prompt."""

    def result(self) -> List[Generation]:
        return [generation_of(text) for text in super().result()]


class Texts:
    """The options of generate(), for one run or for several that end together."""

    def __init__(self, model: Any, options: Mapping[str, Any], n_texts: int = 1,
                 on_text: Optional[Callable[[str], Any]] = None):
        given = dict(options)
        self._model, self._calls, self._on_text = model, Calls(), on_text
        self._streamer, self._n_texts = given.pop("streamer", None), n_texts
        self._on_progress, self._n_tokens = given.pop("on_progress", None), 0
        if self._on_progress is not None and not callable(self._on_progress):
            raise unexpected("on_progress", "a function", self._on_progress)
        if self._streamer is not None and n_texts != 1:
            raise InvalidArgumentError("streamer: takes a single text: give one prompt")
        draft, processors = given.pop("draft", None), given.pop("logits_processor", None)
        # As JSON has them, because several runs read them, whereas an iterator is read only once.
        self._request = json.loads(to_json(**request_of(given)))
        self._set_callbacks(draft, processors)

    def _set_callbacks(self, draft: Any, processors: Any) -> None:
        self._callbacks = callbacks = Callbacks(sizeof(Callbacks))
        if self._on_progress is not None or "num_beams" in self._request:
            callbacks.on_progress = self._calls.progress(self._report)
        if self._on_text or self._streamer or self._on_progress:
            callbacks.on_token = OnToken(self._calls.goes_on("on_token", self._on_token))
        if processors is not None:
            name = "logits_processor"
            listed = ([processors] if callable(processors)
                      else items(name, processors, "a function or a list of functions"))
            callbacks.on_scores = OnScores(self._calls.goes_on(name, _process_with(name, listed)))
        if draft is not None:
            if type(draft) is not type(self._model):
                raise unexpected("draft", 'a Model, such as model.convert("int4")', draft)
            self._draft = draft._use()  # until the run has it
            callbacks.draft = self._draft.address

    def run(self, prompt: Any, scheduler: Owned, **others: Any) -> TextRun:
        """A run in a scheduler, with the prompt and the options, and others in their place."""
        return self._new(threading.RLock(), prompt, others, lib.gpt2_run_new, scheduler,
                         self._model.owned_tokenizer, b"generate")

    def check(self, scheduler: Owned) -> None:
        """Refuses wrong options, which are no failures of a text. The prompt is one that fits."""
        request = to_json(**{**self._request, "max_length": None, "prompt": [0]})
        Run(self._calls, self._callbacks, threading.RLock(), lib.gpt2_run_new, scheduler,
            self._model.owned_tokenizer, b"generate", request).close()

    def run_in(self, session: Owned, lock: Any, prompt: Any) -> TextRun:
        """A run in a session."""
        return self._new(lock, prompt, {}, lib.gpt2_run_in_session, session,
                         self._model.owned_tokenizer)

    def _new(self, lock: Any, prompt: Any, others: Dict[str, Any], *arguments: Any) -> TextRun:
        if isinstance(prompt, (str, list, tuple)) and not prompt:
            prompt = [[]]  # one prompt without tokens
        if prompt is None:  # which would be left out
            raise unexpected("prompt", "a text or token ids", prompt)
        request = to_json(**{**self._request, **others, "prompt": prompt})
        run = TextRun(self._calls, self._callbacks, lock, *arguments, request)
        if self._streamer is not None:
            self._calls.run(self._streamer.put,
                            int64_array([self._model.encode("prompt", prompt)]))
        return run

    def end(self) -> None:
        """Tells the streamer and on_progress that all texts have ended."""
        if self._streamer is not None:
            self._calls.run(self._streamer.end)
        if self._on_progress is not None and not self._calls.is_stopped:
            self._calls.run(self._on_progress, 1.0)

    def _on_token(self, _index: int, id: int, text: int, size: int) -> Any:
        if size and self._on_text is not None:
            self._on_text(string_at(text, size).decode("utf-8", "replace"))
        if id < 0:
            return None
        self._n_tokens += 1
        if self._streamer is not None:
            self._streamer.put(int64_array([id]))
        return self._report()

    def _report(self, *_: float) -> Any:
        """Calls on_progress with the share of the tokens that are written, of those that may be."""
        limit = (self._request.get("max_new_tokens") or self._request.get("max_length")
                 or TABLE["max_new_tokens"]["default"])
        share = self._n_tokens / (self._n_texts * limit)
        if self._on_progress is not None and share < 1:
            return self._on_progress(share)


def _process_with(name: str, processors: List[Any]) -> Callable[[int, int, int, int], None]:
    for processor in processors:
        if not callable(processor):
            raise unexpected(name, "functions", processor)

    def process(scores: int, n_scores: int, ids: int, n_ids: int) -> None:
        # The functions may keep these copies, as they may keep transformers' tensors, whereas the
        # library soon overwrites and frees its own arrays.
        array, address = zeros((n_scores,))
        memmove(address, scores, 4 * n_scores)
        tokens = int32_array(ids, n_ids)
        for processor in processors:
            require_in_place(name, processor(tokens, array), array)
        memmove(scores, address, 4 * n_scores)

    return process
