"""What a tokenizer returns for a text or a list of texts: truncated, padded, as lists or arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._arrays import int64_array, is_list, items, plain
from .errors import InvalidArgumentError, UnsupportedError, unexpected

_PADDINGS = {False: None, None: None, "do_not_pad": None, True: "longest", "longest": "longest",
             "max_length": "max_length"}
SIDES = ("left", "right")

Tokens = Union[str, Sequence[int]]
"""A text, which is encoded, or its token ids. What a tokenizer returned for it is taken, too."""


class Attributes(Dict[str, Any]):
    """A dict whose items are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name}: found {', '.join(self)}") from None


class BatchEncoding(Attributes):
    """A dict with `input_ids` and `attention_mask`, which are attributes, too."""


def text_or_ids(name: str, text: Any, ids: Any = None, mask: Any = None) -> Any:
    """The argument `name`, or the token ids that stand in its place, as in transformers' calls
    f(**tokenizer(text)) and f(tokenizer(text)). Leaves out the padding if there is a mask."""
    if isinstance(text, Mapping):
        text, ids, mask = "", text.get("input_ids"), text.get("attention_mask")
        if ids is None:
            raise InvalidArgumentError(f"{name}: expected a dict with input_ids")
    if ids is None:
        return text
    if not isinstance(text, str) or text:
        raise InvalidArgumentError(f"{name}, input_ids: give only one of them")
    listed = items("input_ids", ids, "token ids")
    return listed if mask is None else _without_padding(listed, mask)


def _without_padding(ids: List[Any], mask: Any) -> List[Any]:
    """The token ids that have a 1 in the mask, not a 0: of one text, or of each text of a list."""
    marks = items("attention_mask", mask, "0 or 1 for each token id")
    if len(marks) != len(ids):
        raise unexpected("attention_mask", f"{len(ids)} items, as input_ids has", len(marks))
    if ids and is_list(ids[0]):
        return [_without_padding(items("input_ids", row, "token ids"), row_mask)
                for row, row_mask in zip(ids, marks)]
    return [id for id, mark in zip(ids, marks) if mark]


def as_list(name: str, texts: Any) -> Tuple[List[Any], bool]:
    """The texts, and whether the argument is a list of texts (not one text or its ids)."""
    if isinstance(texts, str):
        return [texts], False
    listed = items(name, texts, "a text, token ids or a list of them")
    has_texts = not listed or isinstance(listed[0], str) or is_list(listed[0])
    return ([text_of(name, one) for one in listed] if has_texts else [listed]), has_texts


def text_of(name: str, one: Any) -> Any:
    """An item of a list of texts: a text or its ids, also as a tokenizer returned them for it."""
    one = text_or_ids(name, one)
    while isinstance(one, (list, tuple)) and len(one) == 1 and is_list(one[0]):
        one = plain(one[0])
    return one


def one_text(name: str, text: Any) -> Any:
    """A text or its ids, which may be the only row of what a tokenizer returned for a list."""
    listed, has_texts = as_list(name, text)
    if has_texts and (len(listed) > 1 or listed and isinstance(listed[0], str)):
        raise unexpected(name, "one text or its token ids", text)
    return listed[0] if listed else listed


class Shape(NamedTuple):
    """How long the sequences become: the arguments of a tokenizer's call."""

    padding: Union[bool, str, None]
    truncation: bool
    length: Optional[int]  # to which texts are truncated, or padded; None if it is not limited
    multiple: int  # of this, padded lengths are
    return_tensors: Optional[str]

    def check(self) -> None:
        """Refuses values that are none of those that a call takes."""
        if self.padding.__hash__ is None or self.padding not in _PADDINGS:
            raise unexpected("padding", "True, False, 'longest' or 'max_length'", self.padding)
        if self.return_tensors not in (None, "np"):
            raise unexpected("return_tensors", "'np' or None", self.return_tensors)
        if self.padding == "max_length" and self.length is None:
            raise InvalidArgumentError("padding='max_length' needs max_length, because the files "
                                       "of the tokenizer have no model_max_length")

    def padded_length(self, lists: List[List[int]]) -> int:
        """The length of every padded sequence, at least."""
        wanted = self.length if self.padding == "max_length" else max(map(len, lists), default=0)
        return -(-(wanted or 0) // self.multiple) * self.multiple


Token = Tuple[int, Tuple[int, int]]
"""The id of a token, and where the part of the text that it stands for begins and ends."""


def batch(tokens: List[List[Token]], shape: Shape, pad_id: Optional[int], side: str,
          is_list: bool, with_offsets: bool) -> BatchEncoding:
    """The sequences, padded and converted to what the shape asks for."""
    lists: List[List[Any]] = [[id for id, _ in text] for text in tokens]
    offsets: List[List[Any]] = [[offset for _, offset in text] for text in tokens]
    masks = [[1] * len(ids) for ids in lists]
    if _PADDINGS[shape.padding] is not None:
        if pad_id is None:
            raise InvalidArgumentError("the tokenizer has no token for padding: choose one first, "
                                       "for example with tokenizer.pad_token = tokenizer.eos_token")
        length = shape.padded_length(lists)
        lists = [_padded(ids, length, pad_id, side) for ids in lists]
        masks = [_padded(mask, length, 0, side) for mask in masks]
        offsets = [_padded(pairs, length, (0, 0), side) for pairs in offsets]
    more = {"offset_mapping": offsets if is_list else offsets[0]} if with_offsets else {}
    if shape.return_tensors is None:
        return BatchEncoding(input_ids=lists if is_list else lists[0],
                             attention_mask=masks if is_list else masks[0], **more)
    if len({len(ids) for ids in lists}) > 1:
        raise InvalidArgumentError("the texts have different numbers of tokens, so they are not "
                                   "one array: give padding=True")
    arrays = BatchEncoding(input_ids=int64_array(lists), attention_mask=int64_array(masks),
                           **more)
    if isinstance(arrays.input_ids, list):
        raise UnsupportedError("return_tensors='np' needs numpy: install it")
    return arrays


def _padded(numbers: List[Any], length: int, pad: Any, side: str) -> List[Any]:
    padding = [pad] * (length - len(numbers))
    return numbers + padding if side == "right" else padding + numbers


def truncated(whole: List[Token], bare: List[Token], length: int, side: str) -> List[Token]:
    """At most `length` tokens: leaves out tokens of the text (`bare`), and no special token.

    `whole` has the text and the special tokens that the tokenizer adds at its beginning or end.
    """
    added = len(whole) - len(bare)
    before = next((i for i in range(added + 1) if whole[i:i + len(bare)] == bare), 0)
    kept = max(min(length - added, len(bare)), 0)
    text = bare[:kept] if side == "right" else bare[len(bare) - kept:]
    return [*whole[:before], *text, *whole[before + len(bare):]]
