"""One sequence: its tokens, keys and values."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from ctypes import POINTER, byref, c_size_t
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Tuple

from . import _structs as c
from ._arrays import FloatArray, ids_array, ids_list, zeros
from ._handle import Handle, Owned, new
from ._hub import PathLike
from ._library import lib
from ._observe import Changes, Observations, What, observe
from ._options import count, flag
from ._texts import fit_prompt
from ._work import Work
from .errors import InvalidArgumentError
from .options import GenerateArguments, max_new_tokens_of
from .results import Generation, generation_of
from .stream import AsyncStream, Stream
from .tokenizer import c_path

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._numbers import Tokens
    from .model import Model
    from .options import GenerateOptions

_MAGIC = b"gpt2sess"  # the first bytes of a file of a session


class Session(Handle):
    """A text that several calls continue, without computing anything twice.

    Made by Model.session(), Model.load_session() and fork(). A session belongs to one thread at a
    time; a call while another thread or an open stream uses it raises InvalidArgumentError.

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

    def __init__(self, model: Model, owned: Owned):
        super().__init__(owned)
        self._model = model
        self._reserved: Dict[str, object] = {}  # "by": the call that uses the session

    @contextmanager
    def _exclusive(self) -> Iterator[Owned]:
        """Reserves the session for a call.

        The dict tells which call has reserved the session, even if Ctrl-C comes right then; a lock
        would not. Python raises KeyboardInterrupt after the call of a function, so no function is
        called between the end of the work and the release.
        """
        owned, call = self._use(), object()
        try:
            if self._reserved.setdefault("by", call) is not call:
                raise InvalidArgumentError("the Session is in use by another thread or an open "
                                           "stream: wait, close the stream, or give each a fork()")
            yield owned
        finally:
            if "by" in self._reserved and self._reserved["by"] is call:
                del self._reserved["by"]

    def __repr__(self) -> str:
        return "Session(closed)" if self.closed else f"Session(of {self._model!r})"

    @property
    def tokens(self) -> List[int]:
        """All tokens so far."""
        with self._exclusive() as owned:
            info = lib.gpt2_session_get_info(owned).contents
            return ids_list(info.tokens, info.position)

    def __len__(self) -> int:
        with self._exclusive() as owned:
            return lib.gpt2_session_get_info(owned).contents.position

    def __bool__(self) -> bool:
        return True

    @property
    def capacity(self) -> int:
        """The max number of tokens."""
        with self._exclusive() as owned:
            return lib.gpt2_session_get_info(owned).contents.capacity

    @property
    def dropped(self) -> int:
        """The number of tokens that slides have dropped, also in generate(overflow="slide")."""
        with self._exclusive() as owned:
            return lib.gpt2_session_get_info(owned).contents.dropped

    def append(self, tokens: Tokens) -> None:
        """Adds tokens without computing anything: the next call reads them before its own."""
        ids = ids_array(self._encode("tokens", tokens))
        with self._exclusive() as owned:
            lib.gpt2_session_append(owned, ids, len(ids))

    def logits(self, tokens: Tokens = ()) -> FloatArray:
        """Appends the tokens and returns the logits after the last one: vocab_size floats."""
        return self._forward(tokens, self._model.vocab_size, lib.gpt2_forward)

    def hidden_states(self, tokens: Tokens = (), layer: int = -1) -> FloatArray:
        """The same for the hidden state of the last token: n_embd floats.

        `layer` counts as in transformers: 0 stands for the embeddings, n_layer or -1 for the output
        of the last block after ln_f.
        """
        index = self._model._layer(layer)
        return self._forward(tokens, self._model.n_embd,
                             lambda slices, n: lib.gpt2_hidden_states(slices, n, index))

    def observe(self, tokens: Tokens = (), what: What = None,
                layers: Optional[Iterable[int]] = None, *,
                change: Optional[Changes] = None) -> Observations:
        """Appends the tokens; returns the values that the pass computes for new and waiting tokens.

        The arguments and names are those of Model.observe(). Attention weights have a column for
        each token of the session. The session keeps the keys and values that follow from changed
        values, so what comes after these tokens is computed from them.
        """
        ids = self._encode("tokens", tokens)
        with self._exclusive() as owned:
            return observe(self._model, owned, ids, what, layers, change)

    def _forward(self, tokens: Tokens, width: int, function: Any) -> FloatArray:
        ids = ids_array(self._encode("tokens", tokens))
        out, address = zeros((width,))
        with self._exclusive() as owned:
            function(byref(c.Slice(owned.address, ids, len(ids), address, 1)), 1)
        return out

    def truncate(self, n_tokens: int) -> None:
        """Removes all tokens after the first n_tokens."""
        position = count("n_tokens", n_tokens)
        with self._exclusive() as owned:
            lib.gpt2_session_rewind(owned, position)

    def slide(self, keep: int, room: int = 1) -> int:
        """Makes room for `room` more tokens by dropping the oldest ones after the first `keep`.

        Returns how many were dropped: at least half of those after the first `keep`, or 0 if there
        was enough room. The next call computes the remaining ones anew.
        """
        dropped = c_size_t()
        with self._exclusive() as owned:
            lib.gpt2_session_slide(owned, count("keep", keep), count("room", room),
                                   byref(dropped))
        return dropped.value

    def fork(self) -> Session:
        """A second session in the same state. The two share the memory of their common tokens."""
        with self._exclusive() as owned:
            return Session(self._model, new(lib.gpt2_session_fork, owned,
                                            free=lib.gpt2_session_free))

    def save(self, path: PathLike) -> None:
        """Writes the session to a file, which Model.load_session() reads.

        Like the command's --save-state, replaces a file only if it is a session itself, or empty.
        For another file, raises InvalidArgumentError and leaves it as it is.
        """
        name = c_path(path)
        with self._exclusive() as owned:
            _require_replaceable(path)
            lib.gpt2_session_save(owned, name)

    def generate(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> Generation:
        """Appends the prompt and its continuation by the model, and returns the continuation.

        Without a prompt, the text continues at its end. Options are as in Model.generate().
        """
        work = Work()
        ids, truncated, arguments = self._prepared(prompt, options, work)
        with self._exclusive() as owned:
            arguments.begin(ids)
            text = work.run(lambda: self._write(owned, ids, arguments))
        arguments.end()
        text.truncated_tokens = truncated
        return text

    def stream(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> Stream:
        """Like generate(), but returns an iterator over the pieces, like Model.stream().

        The session can be used again when the stream has ended. If it is closed early, the session
        holds all pieces written, which may be a few more than the pieces read.
        """
        self._model._require_tokenizer()
        work = Work()
        ids, truncated, arguments = self._prepared(prompt, options, work)
        reserved = ExitStack()

        def write(on_text: Any) -> Generation:
            arguments.struct.on_text = on_text
            arguments.begin(ids)
            text = self._write(owned, ids, arguments)
            arguments.end()
            text.truncated_tokens = truncated
            return text

        try:
            owned = reserved.enter_context(self._exclusive())
            return Stream(work, write, reserved.close)
        except BaseException:
            reserved.close()
            raise

    def astream(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> AsyncStream:
        """Like stream(), for asyncio: `async for piece in session.astream(...)`."""
        return AsyncStream(self.stream(prompt, **options))

    def _write(self, owned: Owned, ids: List[int], arguments: GenerateArguments) -> Generation:
        result = POINTER(c.Generation)()
        tokenizer = self._model.tokenizer
        prompt = ids_array(ids)
        lib.gpt2_generate(owned, None if tokenizer is None else tokenizer._use(), prompt, len(ids),
                          byref(arguments.struct), byref(result))
        try:
            return generation_of(result.contents)
        finally:
            lib.gpt2_generation_free(result)

    def _encode(self, name: str, tokens: Tokens) -> List[int]:
        return self._model._encode(name, tokens, add_special_tokens=len(self) == 0)

    def _prepared(self, prompt: Tokens, options: Any,
                  work: Work) -> Tuple[List[int], int, GenerateArguments]:
        """The tokens of the prompt, how many were removed from its beginning, and the options."""
        prompt, given = self._model._given(prompt, options)
        truncate = bool(flag("truncate", given.pop("truncate", None) or False))
        ids, position = self._prompt(prompt), len(self)
        slides = given.get("overflow") == "slide"
        if ids and position == self.capacity and not slides:
            raise InvalidArgumentError(
                f"the session is full with {position} tokens, so it has no room for a prompt: give "
                "overflow='slide' to drop the oldest ones")
        held = min(position, count("keep", given.get("keep") or 0)) if slides else position
        ids, removed = fit_prompt(ids, self.capacity - held, truncate, max_new_tokens_of(given))
        return ids, removed, GenerateArguments(given, position + len(ids), self._model.vocab_size,
                                               work)

    def _prompt(self, tokens: Tokens) -> List[int]:
        ids = self._encode("prompt", tokens)
        return ids if ids or len(self) > 0 else self._model._prompt(ids)


def _require_replaceable(path: PathLike) -> None:
    """Refuses a file that is neither a session nor empty. The library refuses what is no file."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(len(_MAGIC)) not in (b"", _MAGIC):
                raise InvalidArgumentError(f"{os.fsdecode(path)} is not the state of a session, so "
                                           "it is not replaced by one: give another file")
