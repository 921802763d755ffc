"""The special tokens that the files of a tokenizer name, with the defaults of GPT2Tokenizer."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

from ._arrays import whole
from ._handle import Handle
from ._options import count, named
from .encoding import SIDES, UNLIMITED
from .errors import InvalidFileError, shown

NAMES = ("bos_token", "eos_token", "unk_token", "pad_token")
SETTINGS = ("pad_token", "padding_side", "truncation_side", "model_max_length")
"""The attributes that from_pretrained() sets."""

_CONFIG, _MAP = "tokenizer_config.json", "special_tokens_map.json"

# What _CONFIG may set, and transformers' defaults.
_SETTINGS = {"model_max_length": UNLIMITED, "padding_side": "right", "truncation_side": "right"}

Read = Callable[[str], Optional[bytes]]
"""Returns the content of a file beside the tokenizer's, or None if there is none."""


def directory_of(path: str) -> str:
    """The directory with the files of a tokenizer: the path, or where the file lies."""
    return path if os.path.isdir(path) else os.path.dirname(path)


def reader_of_directory(path: str) -> Read:
    """Reads the files in a directory, or beside a file."""
    directory = directory_of(path)

    def read(name: str) -> Optional[bytes]:
        try:
            with open(os.path.join(directory, name), "rb") as file:
                return file.read()
        except OSError:
            return None

    return read


def reader_of_memory(files: Mapping[str, Any]) -> Read:
    """Reads files in memory."""
    return lambda name: bytes(files[name]) if name in files else None


class Named:
    """The names of special tokens, and settings for transformers' calls."""

    def __init__(self, read: Read, default: Optional[str]):
        """`default` stands for the tokens that no file names. There is no default for padding."""
        config = read_object(read, _CONFIG)
        # As in the library, the map counts only if the config has no added_tokens_decoder. If both
        # files name a token, the map takes precedence.
        has_decoder = config.get("added_tokens_decoder") is not None
        named = {} if has_decoder else read_object(read, _MAP)
        self.tokens: Dict[str, Optional[str]] = {
            name: (_content(named.get(name)) or _content(config.get(name))
                   or (None if name == "pad_token" else default))
            for name in NAMES}
        listed = [_content(token) for file in (config, named)
                  for token in file.get("additional_special_tokens") or []]
        self.additional: List[str] = list(dict.fromkeys(text for text in listed if text))
        self.settings = {name: default if config.get(name) is None else config[name]
                         for name, default in _SETTINGS.items()}


def read_object(read: Read, name: str) -> Dict[str, Any]:
    """The object in a file of JSON; {} if there is none."""
    content = read(name)
    try:
        value = json.loads(content) if content else {}
    except ValueError:
        return {}  # the library has refused files that matter to it
    return value if isinstance(value, dict) else {}


def _content(token: Any) -> Optional[str]:
    """The text of a token, which a file may describe by an object."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def _side(name: str, value: Any) -> str:
    """The value of a setting that is "left" or "right"."""
    return SIDES[named(name, value, SIDES)]


def _length(name: str, value: Any) -> int:
    """The value of a setting that is a number of tokens. JSON may have a large one as a float."""
    is_whole = isinstance(value, float) and value.is_integer()
    number = whole(name, int(value) if is_whole else value)
    count(name, min(number, UNLIMITED), 1, UNLIMITED)
    return number


class _Setting:
    """An attribute of a tokenizer. `convert` raises an exception for a wrong value."""

    def __init__(self, convert: Callable[[str, Any], Any]):
        self._convert = convert

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, tokenizer: Optional[SpecialTokens], owner: Optional[type] = None) -> Any:
        return self if tokenizer is None else tokenizer.__dict__[self._name]

    def __set__(self, tokenizer: SpecialTokens, value: Any) -> None:
        tokenizer.__dict__[self._name] = self._convert(self._name, value)


class SpecialTokens(Handle):
    """The special tokens of a tokenizer, as attributes that have transformers' names."""

    if TYPE_CHECKING:  # a Tokenizer has these

        @property
        def eos_token(self) -> Optional[str]: ...

        def convert_ids_to_tokens(self, ids: Any) -> Any: ...

        def _id_of(self, token: Optional[str]) -> Optional[int]: ...

        def token_bytes(self, id: int) -> bytes: ...

    model_max_length = _Setting(_length)  # a Model sets its own; may be changed, like the next ones
    padding_side = _Setting(_side)
    truncation_side = _Setting(_side)

    def _set_special(self, read: Read, directory: str = "") -> None:
        """Takes the tokens and settings of the files, which lie in the directory or in memory."""
        has_default = self._id_of("<|endoftext|>") is not None
        special = Named(read, "<|endoftext|>" if has_default else None)
        self._tokens, self._additional = special.tokens, special.additional
        for name, value in special.settings.items():
            try:
                setattr(self, name, value)
            except (TypeError, ValueError) as error:
                raise InvalidFileError(f"{os.path.join(directory, _CONFIG)}: {error}") from None

    @property
    def bos_token(self) -> Optional[str]:
        """The token that begins a text; "<|endoftext|>" unless the files name another one."""
        return self._tokens["bos_token"]

    @property
    def unk_token(self) -> Optional[str]:
        """The token for unknown text, which does not occur in GPT-2."""
        return self._tokens["unk_token"]

    @property
    def pad_token(self) -> Optional[str]:
        """The token for padding; None until the files or the program name one. May be set."""
        return self._tokens["pad_token"]

    @pad_token.setter
    def pad_token(self, token: Optional[str]) -> None:
        if token is not None and self._id_of(token) is None:
            raise ValueError(f"pad_token: the vocabulary has no token {shown(token)}")
        self._tokens["pad_token"] = token

    @property
    def bos_token_id(self) -> Optional[int]:
        return self._id_of(self.bos_token)

    @property
    def unk_token_id(self) -> Optional[int]:
        return self._id_of(self.unk_token)

    @property
    def pad_token_id(self) -> Optional[int]:
        return self._id_of(self.pad_token)

    @pad_token_id.setter
    def pad_token_id(self, id: Optional[int]) -> None:
        if id is not None and not self.token_bytes(id):
            raise ValueError(f"pad_token_id: the vocabulary has no token {id}")
        self.pad_token = None if id is None else self.convert_ids_to_tokens(id)

    @property
    def special_tokens_map(self) -> Dict[str, Any]:
        """The special tokens that there are, by "bos_token" and so on."""
        named = {name: getattr(self, name) for name in NAMES}
        found: Dict[str, Any] = {name: token for name, token in named.items() if token is not None}
        if self._additional:
            found["additional_special_tokens"] = list(self._additional)
        return found

    @property
    def all_special_tokens(self) -> List[str]:
        """The special tokens, each once."""
        named = [getattr(self, name) for name in NAMES]
        return list(dict.fromkeys(token for token in [*named, *self._additional] if token))

    @property
    def all_special_ids(self) -> List[int]:
        """Their ids."""
        return [id for id in map(self._id_of, self.all_special_tokens) if id is not None]
