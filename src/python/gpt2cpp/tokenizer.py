"""Text to token ids and back, with the names of transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from ctypes import POINTER, byref, c_int32, c_size_t, c_void_p, string_at
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from ._arrays import Buffer, ids_array, is_number, items, plain, to_json
from ._library import Handle, Ids, MemoryFile, Owned, get_bytes, get_json, lib
from .encoding import SIDES, BatchEncoding, Shape, Token, batch, truncated
from .errors import InvalidArgumentError, UnsupportedError, unexpected

PathLike = Union[str, "os.PathLike[str]"]

_BUNDLED = "gpt2-stories"
_UNLIMITED = int(1e30)  # transformers' VERY_LARGE_INTEGER: no model_max_length is known
_SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token")


def _byte_names() -> List[str]:
    """GPT-2's names of the 256 bytes: printable ones unchanged, the others from U+0100 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte if byte in printable else 0x100 + others.index(byte)) for byte in range(256)]


_NAMES = _byte_names()
_BYTES = {name: byte for byte, name in enumerate(_NAMES)}


class Tokenizer(Handle):
    """The tokenizer of a model. Any number of threads may use one.

    The special tokens and settings have the names of transformers, and the defaults of its
    GPT2Tokenizer: bos_token, eos_token, unk_token and pad_token, each with an id such as
    pad_token_id; model_max_length; padding_side and truncation_side. pad_token is None until the
    files or the program name one.

    >>> import gpt2cpp
    >>> tokenizer = gpt2cpp.Model().tokenizer
    >>> tokenizer("Once upon a time")["input_ids"]
    [443, 452, 258, 401]
    >>> tokenizer.decode([443, 452])
    'Once upon'
    """

    vocab_size: int  # the number of tokens without added ones
    description: str  # the kind of the tokenizer and its files, for people
    model_max_length: int  # a Model sets its own
    padding_side: str
    truncation_side: str
    bos_token: Optional[str]
    eos_token: Optional[str]
    unk_token: Optional[str]
    bos_token_id: Optional[int]
    eos_token_id: Optional[int]
    unk_token_id: Optional[int]

    def __init__(self, name: Optional[PathLike] = None):
        """Loads the tokenizer in a model's directory, by the model's name or path, as Model()."""
        path = find_model(name)
        self._setup(Owned(lib.gpt2_tokenizer_load, c_path(path), free=lib.gpt2_tokenizer_free),
                    path)

    @classmethod
    def from_pretrained(cls, name_or_path: PathLike, *, revision: Optional[str] = None,
                        **settings: Any) -> Tokenizer:
        """Loads a tokenizer by the model's name on the hub, as Model.from_pretrained() does.

        The settings pad_token, padding_side, truncation_side and model_max_length take the place
        of those of the files.
        """
        unknown = settings.keys() - {"pad_token", *_SETTINGS}
        if unknown:
            raise InvalidArgumentError(f"{min(unknown)}: is no argument of from_pretrained()")
        tokenizer = cls(pretrained_name(name_or_path, revision))
        for name, value in settings.items():
            setattr(tokenizer, name, value)
        return tokenizer

    @classmethod
    def from_bytes(cls, files: Mapping[str, Any]) -> Tokenizer:
        """Loads a tokenizer from files in memory, as Model.from_bytes() loads a model."""
        tokenizer = cls.__new__(cls)
        structs, _ = memory_files(files)
        tokenizer._setup(Owned(lib.gpt2_tokenizer_load_memory, structs, len(structs),
                               free=lib.gpt2_tokenizer_free), None, files)
        return tokenizer

    def _setup(self, owned: Owned, path: Optional[str], files: Mapping[str, Any] = {}) -> None:
        super().__init__(owned)
        info = get_json(lib.gpt2_tokenizer_info, owned)
        path = path and exact_path(info["path"] or path, path)  # of an adapter, perhaps its base
        self._path, self._n_tokens = path, info["n_tokens"]
        self.vocab_size, self.description = info["vocab_size"], info["description"]
        self._special_ids = frozenset(info["special_ids"])
        self._is_byte_level = info["is_byte_level"]
        special = {**info["special_tokens"], "eos_token": info["end_of_text"]}
        self._additional = [self._name_of(id) for id in
                            dict.fromkeys(special.pop("additional_special_tokens"))]
        for name in _SPECIAL[:3]:
            setattr(self, name + "_id", special.get(name))
            setattr(self, name, self._name_of(special.get(name)))
        self.pad_token = self._name_of(special.get("pad_token"))
        config = read_object(path, files, "tokenizer_config.json")
        for name, value in _SETTINGS.items():
            given = config.get(name)
            setattr(self, name, value if given is None else given)

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._path is None:
            raise TypeError("a Tokenizer from memory cannot be pickled: load it by its path")
        return Tokenizer, (self._path,), {
            name: getattr(self, name) for name in ("_pad_token", *_SETTINGS)}

    def __repr__(self) -> str:
        return "Tokenizer(closed)" if self.closed else f"Tokenizer({self.description!r})"

    def __len__(self) -> int:
        """One more than the largest id, including added tokens."""
        return self._n_tokens

    # -- Texts -----------------------------------------------------------------------------------

    def encode(self, text: str, *, add_special_tokens: bool = True, parse_special: bool = True,
               post_process: bool = True) -> List[int]:
        """The token ids of a text.

        With parse_special=False, text that reads like a special token ("<|endoftext|>") is encoded
        as plain characters; use this for untrusted text. With post_process=False, adds only special
        tokens that stand before a text to be continued, and none around a whole text ("[SEP]").
        """
        options = to_json(add_special_tokens=add_special_tokens, parse_special=parse_special,
                          post_process=post_process)
        return self._call(lib.gpt2_tokenizer_encode, text, options, None)

    def _call(self, function: Callable[..., Any], text: str, options: bytes,
              *more: Any) -> List[int]:
        if not isinstance(text, str):
            raise unexpected("text", "a str", text)
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(f"text: {error}") from None
        result = POINTER(Ids)()
        function(self._use(), data, len(data), options, byref(result), *more)
        try:
            return result.contents.data[:result.contents.count] if result.contents.count else []
        finally:
            lib.gpt2_free(result)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of tokens, which may begin or end with a part of a character.

        Ids from len(self) on have none, as in transformers: a model may have more embeddings than
        its tokenizer has tokens.
        """
        numbers = ids_array("token_ids", ids)
        if any(number < 0 for number in numbers):
            raise unexpected("token_ids", "no negative id", min(numbers))
        return get_bytes(lib.gpt2_tokenizer_decode, self._use(), numbers, len(numbers))

    def decode(self, token_ids: Any, *, skip_special_tokens: bool = False) -> str:
        """The text of one token, of several, or of the tokens of a Generation.

        Bytes that are not valid UTF-8 become U+FFFD. Ids that the tokenizer does not have are left
        out, as in transformers.
        """
        ids = plain(getattr(token_ids, "token_ids", token_ids))
        listed = ids_array("token_ids", [ids] if is_number(ids) else ids)
        return self.decode_bytes(id for id in listed if not (
            skip_special_tokens and id in self._special_ids)).decode("utf-8", "replace")

    def batch_decode(self, sequences: Iterable[Any], *,
                     skip_special_tokens: bool = False) -> List[str]:
        """The text of each of the sequences, as decode() returns it."""
        return [self.decode(ids, skip_special_tokens=skip_special_tokens)
                for ids in items("sequences", sequences, "lists of token ids")]

    def __call__(self, text: Union[str, List[str]], *, add_special_tokens: bool = True,
                 padding: Union[bool, str] = False, truncation: bool = False,
                 max_length: Optional[int] = None, pad_to_multiple_of: Optional[int] = None,
                 padding_side: Optional[str] = None, return_tensors: Optional[str] = None,
                 split_special_tokens: bool = False,
                 return_offsets_mapping: bool = False) -> BatchEncoding:
        """Encodes a text or a list of texts: {"input_ids": ..., "attention_mask": ...}.

        padding:         True or "longest": as long as the longest text; "max_length": max_length
        truncation:      leaves out tokens after max_length
        max_length:      default: model_max_length
        padding_side:    "left" or "right"; default: that of the tokenizer
        return_tensors:  "np" for numpy arrays of shape (n_texts, n_tokens)
        split_special_tokens:    text that reads like a special token is plain text
        return_offsets_mapping:  adds offset_mapping: where the part of the text that each token
                                 stands for begins and ends, in bytes of UTF-8

        >>> import gpt2cpp
        >>> tokenizer = gpt2cpp.Model().tokenizer
        >>> tokenizer.pad_token = tokenizer.eos_token
        >>> batch = tokenizer(["Once upon a time", "Once"], padding=True, truncation=True,
        ...                   max_length=3)
        >>> batch.input_ids, batch["attention_mask"]
        ([[443, 452, 258], [443, 4095, 4095]], [[1, 1, 1], [1, 0, 0]])
        """
        length = self.model_max_length if max_length is None else max_length
        shape = Shape(padding, truncation, length if length < _UNLIMITED else None,
                      pad_to_multiple_of or 1, return_tensors)
        shape.check()
        is_list = not isinstance(text, str)
        texts = items("text", text, "a text or a list of texts") if is_list else [text]
        options = {"parse_special": not split_special_tokens, "post_process": True}
        lists = [self._encoded(one, add_special_tokens, options, shape, return_offsets_mapping)
                 for one in texts]
        side = self.padding_side if padding_side is None else padding_side
        return batch(lists, shape, self.pad_token_id, _side("padding_side", side), is_list,
                     return_offsets_mapping)

    def _encoded(self, text: str, add_special_tokens: bool, options: Dict[str, bool],
                 shape: Shape, with_offsets: bool) -> List[Token]:
        def encoded(add: bool) -> List[Token]:
            given = to_json(**options, add_special_tokens=add)
            ids = self._call(lib.gpt2_tokenizer_encode, text, given, None)
            if not with_offsets:
                return [(id, (0, 0)) for id in ids]
            offsets = self._call(lib.gpt2_tokenizer_offsets, text, given)
            return list(zip(ids, zip(offsets[::2], offsets[1::2])))

        whole = encoded(add_special_tokens)
        if not shape.truncation or shape.length is None or len(whole) <= shape.length:
            return whole
        bare = encoded(False) if add_special_tokens else whole
        return truncated(whole, bare, shape.length, _side("truncation_side", self.truncation_side))

    # -- Tokens ----------------------------------------------------------------------------------

    def tokenize(self, text: str) -> List[str]:
        """The names of the tokens of a text, without those that the tokenizer adds to it.

        >>> import gpt2cpp
        >>> gpt2cpp.Model().tokenizer.tokenize("Once upon a time")
        ['Once', '\u0120upon', '\u0120a', '\u0120time']
        """
        return list(self.convert_ids_to_tokens(self.encode(text, add_special_tokens=False)))

    def get_vocab(self) -> Dict[str, int]:
        """All tokens by their names, as convert_ids_to_tokens() gives them, and their ids."""
        return {self._name_of(id) or "": id for id in range(len(self)) if self.token_bytes(id)}

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one token, which may be a part of a character. b"" for an unknown id."""
        if not 0 <= id < len(self):
            return b""
        data, size = c_void_p(), c_size_t()
        lib.gpt2_tokenizer_token_bytes(self._use(), id, byref(data), byref(size))
        return string_at(data, size.value) if size.value else b""

    def is_special(self, id: int) -> bool:
        """Whether the token marks structure and is not part of a text."""
        return id in self._special_ids

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        """The name of one token, or of several, in vocab.json, where a space is "\u0120".

        None stands for an id that the tokenizer does not have.

        >>> import gpt2cpp
        >>> gpt2cpp.Model().tokenizer.convert_ids_to_tokens([443, 452])
        ['Once', '\u0120upon']
        """
        ids = plain(ids)
        if is_number(ids):
            return self._name_of(ids)
        return [self._name_of(id) for id in items("ids", ids, "a token id or a list of token ids")]

    def convert_tokens_to_ids(self, tokens: Union[str, List[str]]) -> Any:
        """The ids of tokens by their names; unk_token_id for a name that no token has."""
        if not isinstance(tokens, str):
            return [self.convert_tokens_to_ids(token)
                    for token in items("tokens", tokens, "a token or a list of tokens")]
        id = self._id_of(tokens)
        return self.unk_token_id if id is None else id

    def _name_of(self, id: Optional[int]) -> Optional[str]:
        if id is None or not 0 <= id < len(self):
            return None
        content = self.token_bytes(id)
        if self.is_special(id) or not self._is_byte_level:
            return content.decode("utf-8", "replace")
        return "".join(map(_NAMES.__getitem__, content))

    def _id_of(self, token: Optional[str]) -> Optional[int]:
        """The id of the token with this name, or None if there is none."""
        if token is None:
            return None
        contents = [token.encode("utf-8", "surrogatepass")]
        if self._is_byte_level and all(character in _BYTES for character in token):
            contents.insert(0, bytes(_BYTES[character] for character in token))
        for content in contents:
            id = c_int32()
            lib.gpt2_tokenizer_find(self._use(), content, len(content), byref(id))
            if id.value >= 0:
                return id.value
        return None

    # -- Special tokens --------------------------------------------------------------------------

    @property
    def pad_token(self) -> Optional[str]:
        """The token for padding; None until the files or the program name one. May be set."""
        return self._pad_token

    @pad_token.setter
    def pad_token(self, token: Optional[str]) -> None:
        if token is not None and self._id_of(token) is None:
            raise unexpected("pad_token", "a token of the vocabulary", token)
        self._pad_token = token

    @property
    def pad_token_id(self) -> Optional[int]:
        return self._id_of(self._pad_token)

    @pad_token_id.setter
    def pad_token_id(self, id: Optional[int]) -> None:
        if id is not None and not self.token_bytes(id):
            raise unexpected("pad_token_id", "an id of the vocabulary", id)
        self._pad_token = self._name_of(id)

    @property
    def special_tokens_map(self) -> Dict[str, Any]:
        """The special tokens that there are, by "bos_token" and so on."""
        named = {name: getattr(self, name) for name in _SPECIAL if getattr(self, name) is not None}
        return {**named, **({"additional_special_tokens": list(self._additional)}
                            if self._additional else {})}

    @property
    def all_special_tokens(self) -> List[str]:
        """The special tokens, each once."""
        named = [getattr(self, name) for name in _SPECIAL]
        return list(dict.fromkeys(token for token in [*named, *self._additional] if token))

    @property
    def all_special_ids(self) -> List[int]:
        """Their ids."""
        return [id for id in map(self._id_of, self.all_special_tokens) if id is not None]


_SETTINGS = {"model_max_length": _UNLIMITED, "padding_side": "right", "truncation_side": "right"}
"""What tokenizer_config.json may set, and transformers' defaults."""


def _side(name: str, side: Any) -> str:
    if side not in SIDES:
        raise unexpected(name, "left or right", side)
    return side


def read_object(path: Optional[str], files: Mapping[str, Any], name: str) -> Dict[str, Any]:
    """The object in a file of JSON beside the tokenizer's, or in memory; {} if there is none."""
    try:
        if path is None:
            value = json.loads(bytes(files.get(name, b"")))
        else:
            directory = path if os.path.isdir(path) else os.path.dirname(path)
            with open(os.path.join(directory, name), "rb") as file:
                value = json.load(file)
    except (OSError, ValueError):
        return {}  # the library has refused files that matter to it
    return value if isinstance(value, dict) else {}


def c_path(path: PathLike) -> bytes:
    """The path for C. Refuses a zero byte, which would end the path early."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise unexpected("the path", "no zero byte", path)
    return name


def exact_path(shown: str, *paths: str) -> str:
    """The one of the paths that JSON shows, which has U+FFFD for bytes that are not UTF-8."""
    return next((path for path in paths if os.fsencode(path).decode("utf-8", "replace") == shown),
                shown)


def find_model(name: Optional[PathLike] = None) -> str:
    """The path of the model that Model(name) loads. Downloads nothing.

    >>> find_model() == find_model("gpt2-stories")
    True
    """
    name = _BUNDLED if name is None else name
    return os.fsdecode(get_bytes(lib.gpt2_find_model, c_path(name)))


def pretrained_name(name: PathLike, revision: Optional[str]) -> str:
    """The name by which the library finds a revision of a model: NAME@REVISION.

    As in transformers, a path to a directory has no revisions.
    """
    text = os.fspath(name)
    return text if revision is None or os.path.isdir(text) else f"{text}@{revision}"


def require_own(given: Any, own: Optional[Tokenizer]) -> None:
    """Refuses a tokenizer, or the name of one, that is not that of the model."""
    if given is None or given is own:
        return
    name = given if isinstance(given, str) else getattr(given, "_path", None)
    path = own and own._path
    if not (name and path and os.path.samefile(find_model(name), path)):
        raise UnsupportedError("tokenizer: expected that of the model: leave it out")


def memory_files(files: Mapping[str, Any]) -> Tuple[Any, Tuple[Buffer, ...]]:
    """An array of gpt2_memory_file, and the memory that its pointers refer to."""
    if not isinstance(files, Mapping):
        raise unexpected("files", "a dict of names and contents", files)
    buffers = []
    for name, data in files.items():
        try:
            buffers.append(Buffer(data))
        except TypeError:
            raise unexpected(f"files: {name}", "bytes", data) from None
    structs = [MemoryFile(c_path(name), buffer.address, buffer.size)
               for name, buffer in zip(files, buffers)]
    return (MemoryFile * len(structs))(*structs), tuple(buffers)
