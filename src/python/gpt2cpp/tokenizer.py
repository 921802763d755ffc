"""Text to token ids and back, with the names of transformers."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from ctypes import POINTER, byref, c_int32, c_size_t, c_void_p, string_at
from numbers import Integral
from typing import Any, Dict, Iterable, List, NoReturn, Optional, Tuple, Union

from . import _structs as c
from ._arrays import Buffer, ids_array, ids_list, items
from ._byte_names import BYTES_BY_NAME, BYTE_NAMES
from ._handle import Handle, defaults, new
from ._hints import ENCODE, TOKENIZER, Hinted, hint
from ._hub import PathLike, not_downloaded, pretrained_name, refuse_others
from ._library import lib
from ._options import flag, named, utf8
from ._special_tokens import (SETTINGS, SpecialTokens, directory_of, reader_of_directory,
                              reader_of_memory)
from .encoding import SIDES, BatchEncoding, Shape, batch, truncated
from .errors import InvalidArgumentError, NotFoundError, UnsupportedError, shown
from .results import Generation

_BUNDLED = "gpt2-stories"


class Tokenizer(Hinted, SpecialTokens):
    """GPT-2's byte-level BPE. Any number of threads may use one.

    >>> import gpt2cpp
    >>> tokenizer = gpt2cpp.Model().tokenizer
    >>> tokenizer("Once upon a time")["input_ids"]
    [443, 452, 258, 401]
    >>> tokenizer.decode([443, 452])
    'Once upon'
    """

    _hints = TOKENIZER

    def __init__(self, name: Optional[PathLike] = None):
        """Loads the tokenizer in a model's directory, by the model's name or path, as Model()."""
        path = find_path(name)
        super().__init__(new(lib.gpt2_tokenizer_load, c_path(path), free=lib.gpt2_tokenizer_free))
        self._path: Optional[str] = path
        self._set_special(reader_of_directory(path), directory_of(path))

    @classmethod
    def from_pretrained(cls, name_or_path: PathLike, *, revision: Optional[str] = None,
                        local_files_only: bool = True, **others: Any) -> Tokenizer:
        """Loads a tokenizer by the model's name on the hub, as Model.from_pretrained() does.

        pad_token, padding_side, truncation_side and model_max_length are set instead of those of
        the files.
        """
        settings = {name: others.pop(name) for name in SETTINGS if name in others}
        refuse_others(others)
        flag("local_files_only", local_files_only)
        try:
            tokenizer = cls(find_path(pretrained_name(name_or_path, revision)))
        except NotFoundError as error:
            raise not_downloaded(error) from None
        for name, value in settings.items():
            setattr(tokenizer, name, value)
        return tokenizer

    @classmethod
    def from_bytes(cls, files: Mapping[str, Any]) -> Tokenizer:
        """Loads a tokenizer from files in memory, as Model.from_bytes() loads a model."""
        tokenizer = cls.__new__(cls)
        structs, _ = memory_files(files)
        Handle.__init__(tokenizer, new(lib.gpt2_tokenizer_load_memory, structs, len(structs),
                                       free=lib.gpt2_tokenizer_free))
        tokenizer._path = None
        tokenizer._set_special(reader_of_memory(files))
        return tokenizer

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._path is None:
            raise TypeError("a Tokenizer from memory cannot be pickled: load it by its path")
        state = {name: getattr(self, name) for name in (
            "_tokens", "model_max_length", "padding_side", "truncation_side")}
        return Tokenizer, (self._path,), state

    def __repr__(self) -> str:
        return "Tokenizer(closed)" if self.closed else f"Tokenizer({self.description!r})"

    def encode(self, text: str, *, add_special_tokens: bool = True,
               parse_special: bool = True, **others: NoReturn) -> List[int]:
        """The token ids of a text.

        With parse_special=False, text that reads like a special token ("<|endoftext|>") is encoded
        as plain characters; use this for untrusted text. There are no other arguments: `others`
        raise a TypeError that says what to do instead.
        """
        for name in others:  # which are NoReturn, so that type checkers refuse them, too
            raise TypeError(f"Tokenizer.encode() got an unexpected keyword argument {name!r}"
                            f"{hint(ENCODE, name)}")
        options = defaults(c.EncodeOptions, lib.gpt2_encode_options_init)
        options.add_special_tokens = flag("add_special_tokens", add_special_tokens)
        options.parse_special = flag("parse_special", parse_special)
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, found {shown(text)}")
        data = utf8("text", text)
        result = POINTER(c.Ids)()
        lib.gpt2_tokenizer_encode(self._use(), data, len(data), byref(options), byref(result))
        try:
            return ids_list(result.contents.data, result.contents.count)
        finally:
            lib.gpt2_ids_free(result)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of tokens, which may begin or end with a part of a character.

        Ids from len(self) on have none, as in transformers: a model may have more embeddings than
        its tokenizer has tokens. Raises InvalidArgumentError for a negative id.
        """
        numbers = ids_array(ids, "token_ids")
        if any(number < 0 for number in numbers):
            raise InvalidArgumentError(f"token_ids: expected no negative id, found {min(numbers)}")
        result = POINTER(c.Bytes)()
        lib.gpt2_tokenizer_decode(self._use(), numbers, len(numbers), byref(result))
        try:
            return string_at(result.contents.data, result.contents.size)
        finally:
            lib.gpt2_bytes_free(result)

    def decode(self, token_ids: Union[int, Iterable[int], Generation], *,
               skip_special_tokens: bool = False) -> str:
        """The text of tokens, or of the tokens of a Generation.

        Bytes that are not valid UTF-8 become U+FFFD. Ids that the tokenizer does not have are left
        out, as in transformers, because a model may have more embeddings than its tokenizer has
        tokens. Raises InvalidArgumentError for a negative id.
        """
        ids: Any = getattr(token_ids, "token_ids", token_ids)
        ids = [ids] if isinstance(ids, (Integral, str)) else items("token_ids", ids, "token ids")
        for text in ids:
            if isinstance(text, str):
                raise TypeError(f"token_ids: expected token ids, found {shown(text)}, a text "
                                "already, as generate() returns it: leave decode() out")
        if skip_special_tokens:
            ids = [id for id in ids if not self.is_special(id)]
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def batch_decode(self, sequences: Iterable[Union[Iterable[int], Generation]], *,
                     skip_special_tokens: bool = False) -> List[str]:
        """The text of each of the sequences, as decode() returns it."""
        return [self.decode(ids, skip_special_tokens=skip_special_tokens) for ids in sequences]

    def __call__(self, text: Union[str, List[str]], *, add_special_tokens: bool = True,
                 padding: Union[bool, str] = False, truncation: bool = False,
                 max_length: Optional[int] = None, pad_to_multiple_of: Optional[int] = None,
                 padding_side: Optional[str] = None,
                 return_tensors: Optional[str] = None) -> BatchEncoding:
        """Encodes a text or a list of texts: {"input_ids": ..., "attention_mask": ...}.

        padding:         True or "longest": as long as the longest text; "max_length": max_length
        truncation:      leaves out tokens after max_length
        max_length:      default: model_max_length
        padding_side:    "left" or "right"; default: that of the tokenizer
        return_tensors:  "np" for numpy arrays of shape (n_texts, n_tokens)

        >>> import gpt2cpp
        >>> tokenizer = gpt2cpp.Model().tokenizer
        >>> tokenizer.pad_token = tokenizer.eos_token
        >>> batch = tokenizer(["Once upon a time", "Once"], padding=True, truncation=True,
        ...                   max_length=3)
        >>> batch.input_ids, batch["attention_mask"]
        ([[443, 452, 258], [443, 4095, 4095]], [[1, 1, 1], [1, 0, 0]])
        """
        shape = Shape.of(padding, truncation, max_length, pad_to_multiple_of, return_tensors,
                         self.model_max_length)
        is_list = not isinstance(text, str)
        texts = items("text", text, "a text or a list of texts") if is_list else [text]
        lists = [self._encoded(one, add_special_tokens, shape) for one in texts]
        side = (self.padding_side if padding_side is None
                else SIDES[named("padding_side", padding_side, SIDES)])
        return batch(lists, shape, self.pad_token_id, side, is_list)

    def _encoded(self, text: str, add_special_tokens: bool, shape: Shape) -> List[int]:
        ids = self.encode(text, add_special_tokens=add_special_tokens)
        if not shape.is_cut or shape.length is None or len(ids) <= shape.length:
            return ids
        bare = self.encode(text, add_special_tokens=False) if add_special_tokens else ids
        return truncated(ids, bare, shape.length, self.truncation_side)

    def tokenize(self, text: str) -> List[str]:
        """The names of the tokens of a text, without those that the tokenizer adds to it.

        >>> import gpt2cpp
        >>> gpt2cpp.Model().tokenizer.tokenize("Once upon a time")
        ['Once', '\u0120upon', '\u0120a', '\u0120time']
        """
        return list(self.convert_ids_to_tokens(self.encode(text, add_special_tokens=False)))

    def get_vocab(self) -> Dict[str, int]:
        """All tokens by their names, as convert_ids_to_tokens() gives them, and their ids."""
        return {self.convert_ids_to_tokens(id): id for id in range(len(self))
                if self.token_bytes(id)}

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one token, which may be a part of a character. b"" for an unknown id."""
        if not self._has(id):
            return b""
        data, size = c_void_p(), c_size_t()
        lib.gpt2_tokenizer_token_bytes(self._use(), id, byref(data), byref(size))
        return string_at(data, size.value) if size.value else b""

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        """The name of one token, or of several, in vocab.json, where a space is "\u0120".

        None stands for an id that the tokenizer does not have.

        >>> import gpt2cpp
        >>> gpt2cpp.Model().tokenizer.convert_ids_to_tokens([443, 452])
        ['Once', '\u0120upon']
        """
        if not isinstance(ids, Integral):
            return [self.convert_ids_to_tokens(id)
                    for id in items("ids", ids, "a token id or a list of token ids")]
        id = int(ids)
        if not self._has(id):
            return None
        content = self.token_bytes(id)
        if self.is_special(id):
            return content.decode("utf-8", "replace")
        return "".join(map(BYTE_NAMES.__getitem__, content))

    def convert_tokens_to_ids(self, tokens: Union[str, List[str]]) -> Any:
        """The ids of tokens by their names; unk_token_id for a name that no token has."""
        if not isinstance(tokens, str):
            return [self.convert_tokens_to_ids(token)
                    for token in items("tokens", tokens, "a token or a list of tokens")]
        id = self._id_of(tokens)
        return self.unk_token_id if id is None else id

    def _id_of(self, token: Optional[str]) -> Optional[int]:
        """The id of the token with this name, or None if there is none."""
        if token is None:
            return None
        content = bytes(BYTES_BY_NAME.get(character, 0) for character in token)
        named = all(character in BYTES_BY_NAME for character in token)
        id = self._find(content) if named else None
        return id if id is not None else self._find(token.encode("utf-8", "surrogatepass"))

    def _has(self, id: int) -> bool:
        """Whether there is a token with this id. ctypes would truncate ids of more than 32 bits."""
        try:
            return 0 <= operator.index(id) < len(self)
        except TypeError:
            raise TypeError(f"id: expected a whole number, found {shown(id)}") from None

    def _find(self, content: bytes) -> Optional[int]:
        id = c_int32()
        lib.gpt2_tokenizer_find(self._use(), content, len(content), byref(id))
        return id.value if id.value >= 0 else None

    def is_special(self, id: int) -> bool:
        """Whether the token marks structure and is not part of a text."""
        if not self._has(id):
            return False
        result = c_int32()
        lib.gpt2_tokenizer_is_special(self._use(), id, byref(result))
        return bool(result.value)

    def _info(self) -> c.TokenizerInfo:
        return lib.gpt2_tokenizer_get_info(self._use()).contents

    @property
    def vocab_size(self) -> int:
        """The number of tokens without added ones, as in transformers."""
        return self._info().vocab_size

    def __len__(self) -> int:
        """One more than the largest id, including added tokens."""
        return self._info().n_tokens

    @property
    def eos_token_id(self) -> Optional[int]:
        """The token that ends a text."""
        id = self._info().end_of_text
        return id if id >= 0 else None

    @property
    def eos_token(self) -> Optional[str]:
        """The name of the token that ends a text, usually "<|endoftext|>"."""
        id = self.eos_token_id
        return None if id is None else self.token_bytes(id).decode("utf-8", "replace")

    @property
    def description(self) -> str:
        """The kind of the tokenizer and its files, for people."""
        return self._info().description.decode("utf-8", "replace")


def c_path(path: PathLike) -> bytes:
    """The path for C. Refuses a zero byte, which would end the path early."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"the path {path!r} has a zero byte: give one without")
    return name


def find_path(name: Optional[PathLike]) -> str:
    """The path of the model with this name; None stands for the bundled one. Downloads nothing."""
    if name in (None, _BUNDLED):
        path = os.path.join(os.path.dirname(__file__), "models", _BUNDLED)
        name = path if os.path.isdir(path) else _BUNDLED  # a wheel has it in the package
    result = POINTER(c.Bytes)()
    lib.gpt2_find_model(c_path(name), byref(result))
    try:
        return os.fsdecode(string_at(result.contents.data, result.contents.size))
    finally:
        lib.gpt2_bytes_free(result)


def require_own(given: Any, own: Tokenizer) -> None:
    """Refuses a tokenizer, or the name of one, that is not that of the model."""
    name = given if isinstance(given, str) else getattr(given, "_path", None)
    if given is own:
        return
    if name is not None and own._path is not None and os.path.samefile(find_path(name), own._path):
        return
    raise UnsupportedError(f"tokenizer: expected that of the model, found {shown(given)}: leave it "
                           "out")


def memory_files(files: Mapping[str, Any]) -> Tuple[Any, Tuple[Buffer, ...]]:
    """An array of gpt2_memory_file, and the memory that its pointers refer to."""
    if not isinstance(files, Mapping):
        raise TypeError(f"files: expected a dict of names and contents, found {shown(files)}")
    buffers = tuple(_content(name, data) for name, data in files.items())
    structs = [c.MemoryFile(c_path(name), buffer.address, buffer.size)
               for name, buffer in zip(files, buffers)]
    return (c.MemoryFile * len(structs))(*structs), buffers


def _content(name: str, data: Any) -> Buffer:
    try:
        return Buffer(data)
    except TypeError:
        raise TypeError(f"files: expected the bytes of {shown(name)}, found {shown(data)}"
                        ) from None
