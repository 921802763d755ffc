"""One sequence: its tokens, keys and values."""

from __future__ import annotations

import os
import threading
from ctypes import POINTER, byref, c_int32, c_size_t
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional

from ._arrays import FloatArray, ids_array, row, whole, zeros
from ._library import Handle, Owned, Slice, get_json, lib
from ._observe import Changes, Observations, What, observe
from ._runs import Texts
from .encoding import Tokens, one_text, text_or_ids
from .errors import InvalidArgumentError
from .options import GenerateOptions, with_options
from .results import Generation
from .stream import Stream
from .tokenizer import PathLike, c_path

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MAGIC = b"gpt2sess"  # the first bytes of a file of a session


class Session(Handle):
    """A text that several calls continue, without computing anything twice.

    Made by Model.session(), Model.load_session() and fork(). If several threads use a session, each
    call waits for those of the others. While a stream in it has not ended, other calls that would
    change the session raise InvalidArgumentError.

    >>> import gpt2cpp
    >>> session = gpt2cpp.Model().session()
    >>> session.generate("Tom met a cat.", temperature=0, max_new_tokens=5)
    ' The cat said, "'
    >>> copy = session.fork()
    >>> session.generate(" Then", temperature=0, max_new_tokens=3)
    ', Tom,'
    >>> len(session) - len(copy)
    4
    """

    def __init__(self, model: Any, owned: Owned):
        super().__init__(owned)
        self._model, self._lock = model, threading.RLock()

    def __repr__(self) -> str:
        return "Session(closed)" if self.closed else f"Session(of {self._model!r})"

    def _info(self) -> Dict[str, int]:
        with self._lock:
            return get_json(lib.gpt2_session_info, self._use())

    @property
    def tokens(self) -> List[int]:
        """All tokens so far."""
        ids, n = POINTER(c_int32)(), c_size_t()
        with self._lock:
            lib.gpt2_session_tokens(self._use(), byref(ids), byref(n))
            return ids[:n.value] if n.value else []

    def __len__(self) -> int:
        return self._info()["position"]

    def __bool__(self) -> bool:
        return True

    @property
    def capacity(self) -> int:
        """The max number of tokens."""
        return self._info()["capacity"]

    @property
    def dropped(self) -> int:
        """The number of tokens that slides have dropped, also in generate(overflow="slide")."""
        return self._info()["dropped"]

    def append(self, tokens: Tokens) -> None:
        """Adds tokens without computing anything: the next call reads them before its own."""
        ids = self._encode("tokens", tokens)
        with self._lock:
            lib.gpt2_session_append(self._use(), ids, len(ids))

    def logits(self, tokens: Tokens = ()) -> FloatArray:
        """Appends the tokens and returns the logits after the last one: vocab_size floats."""
        return self._last(tokens, self._model.vocab_size, lib.gpt2_forward, None)

    def hidden_states(self, tokens: Tokens = (), layer: int = -1) -> FloatArray:
        """The same for the hidden state of the last token: n_embd floats.

        `layer` counts as in transformers: 0 stands for the embeddings, n_layer or -1 for the output
        of the last block after ln_f.
        """
        return self._last(tokens, self._model.n_embd, lib.gpt2_hidden_states,
                          whole("layer", layer, -2**31))

    def observe(self, tokens: Tokens = (), what: What = None,
                layers: Optional[Iterable[int]] = None, *,
                change: Optional[Changes] = None) -> Observations:
        """Appends the tokens; returns the values that the pass computes for new and waiting tokens.

        The arguments and names are those of Model.observe(). Attention weights have a column for
        each token of the session. The session keeps the keys and values that follow from changed
        values, so what comes after these tokens is computed from them.
        """
        ids = self._encode("tokens", tokens)
        with self._lock:
            return observe(self._model, self._use(), ids, what, layers, change)

    def _last(self, tokens: Tokens, width: int, function: Any, argument: Any) -> FloatArray:
        ids = self._encode("tokens", tokens)
        with self._lock:
            return row(rows_of_pass(self._use(), ids, 1, width, function, argument), 0)

    def truncate(self, n_tokens: int) -> None:
        """Removes all tokens after the first n_tokens."""
        with self._lock:
            lib.gpt2_session_rewind(self._use(), whole("n_tokens", n_tokens))

    def slide(self, keep: int, room: int = 1) -> int:
        """Makes room for `room` more tokens by dropping the oldest ones after the first `keep`.

        Returns how many were dropped: at least half of those after the first `keep`, or 0 if there
        was enough room. The next call computes the remaining ones anew.
        """
        dropped = c_size_t()
        with self._lock:
            lib.gpt2_session_slide(self._use(), whole("keep", keep), whole("room", room),
                                   byref(dropped))
        return dropped.value

    def fork(self) -> Session:
        """A second session in the same state. The two share the memory of their common tokens."""
        with self._lock:
            return Session(self._model, Owned(lib.gpt2_session_fork, self._use(),
                                              free=lib.gpt2_session_free))

    def save(self, path: PathLike) -> None:
        """Writes the session to a file, which Model.load_session() reads.

        Like the command's --save-state, replaces a file only if it is a session itself, or empty.
        For another file, raises InvalidArgumentError and leaves it as it is.
        """
        _require_replaceable(path)
        with self._lock:
            lib.gpt2_session_save(self._use(), c_path(path))

    @with_options(GenerateOptions)
    def generate(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> Generation:
        """Appends the prompt and its continuation by the model, and returns the continuation.

        Without a prompt, the text continues at its end. Options are as in Model.generate().
        """
        prompt, given = self._model.prompt_and_options(prompt, options)
        with self._lock:
            texts = Texts(self._model, given)
            text, = texts.run_in(self._use(), self._lock, prompt).result()
        texts.end()
        return text

    @with_options(GenerateOptions)
    def stream(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> Stream:
        """Like generate(), but returns an iterator over the pieces, like Model.stream().

        The session can be changed again when the stream has ended or is closed. It then holds the
        tokens of all pieces.
        """
        prompt, given = self._model.prompt_and_options(prompt, options)
        self._model.require_tokenizer()
        pieces: List[str] = []
        texts = Texts(self._model, given, on_text=pieces.append)
        return Stream(pieces, texts, texts.run_in(self._use(), self._lock, prompt))

    def _encode(self, name: str, tokens: Tokens) -> Any:
        given = one_text(name, text_or_ids(name, tokens))
        if isinstance(given, str):
            given = self._model.encode(name, given, add_special_tokens=len(self) == 0)
        return ids_array(name, given)


def rows_of_pass(session: Owned, ids: Any, n_rows: int, width: int, function: Any,
                 argument: Any) -> FloatArray:
    """What a pass over the ids computes for the last n_rows of them: (n_rows, width) floats."""
    out, address = zeros((n_rows, width))
    function(byref(Slice(session.address, ids, len(ids), address, n_rows)), 1, argument)
    return out


def _require_replaceable(path: PathLike) -> None:
    """Refuses a file that is neither a session nor empty. The library refuses what is no file."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(len(_MAGIC)) not in (b"", _MAGIC):
                raise InvalidArgumentError(f"{os.fsdecode(path)} is not the state of a session, so "
                                           "it is not replaced by one: give another file")
