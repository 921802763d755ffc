"""What a tokenizer returns for a text or a list of texts: truncated, padded, as lists or arrays."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Dict, List, NamedTuple, Optional, Union

from ._arrays import int64_array, items
from ._cpu import OnCpu
from ._options import count, flag
from .errors import UnsupportedError, shown

UNLIMITED = int(1e30)  # transformers' VERY_LARGE_INTEGER: no model_max_length is known

_PADDINGS = {False: None, None: None, "do_not_pad": None, True: "longest", "longest": "longest",
             "max_length": "max_length"}

SIDES = ("left", "right")


class Attributes(Dict[str, Any]):
    """A dict whose items are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no {name}: found {', '.join(self)}") from None


class BatchEncoding(OnCpu, Attributes):
    """A dict with `input_ids` and `attention_mask`, which are attributes, too."""


def ids_of(encoding: Mapping[str, Any]) -> List[Any]:
    """The token ids in what a tokenizer returned, without padding: of one text, or of each text."""
    if "input_ids" not in encoding:
        raise ValueError(f"expected a dict with input_ids, as a tokenizer returns, found "
                         f"{shown(dict(encoding))}")
    ids, mask = encoding["input_ids"], encoding.get("attention_mask")
    return list(ids) if mask is None else without_padding(ids, mask)


def without_padding(ids: Any, mask: Any) -> List[Any]:
    """The token ids that have a 1 in the mask, not a 0: of one text, or of each text of a list,
    where a text may have none."""
    kept = _kept(ids, mask)
    if not kept and len(items("attention_mask", mask, "0 or 1 for each token id")) > 0:
        # [] would be taken for a list of no texts.
        raise ValueError("attention_mask: leaves no token of the text: give at least one 1")
    return kept


def _kept(ids: Any, mask: Any) -> List[Any]:
    if isinstance(ids, (str, Mapping)):
        raise ValueError("attention_mask: is for token ids, and cannot be combined with "
                         f"{shown(ids)}: leave it out")
    listed = items("input_ids", ids, "token ids")
    marks = items("attention_mask", mask, "0 or 1 for each token id")
    if len(marks) != len(listed):
        raise ValueError(f"attention_mask: expected {len(listed)} items, as input_ids has, found "
                         f"{len(marks)}")
    if listed and isinstance(listed[0], Integral):
        return [id for id, mark in zip(listed, marks) if flag("attention_mask", mark)]
    return [_kept(*pair) for pair in zip(listed, marks)]


def text_or_ids(name: str, text: Any, input_ids: Any, attention_mask: Any) -> Any:
    """The argument `name`, or the token ids that stand in its place, as in transformers' calls
    f(**tokenizer(text)); without padding if there is a mask."""
    if input_ids is not None:
        if not isinstance(text, str) or text:
            raise ValueError(f"{name}, input_ids: give only one of them")
        text = items("input_ids", input_ids, "token ids")
    return text if attention_mask is None else without_padding(text, attention_mask)


class Shape(NamedTuple):
    """How long the sequences become: the arguments of a tokenizer's call."""

    padding: Optional[str]  # None, "longest" or "max_length"
    length: Optional[int]  # to which texts are truncated, or padded
    is_cut: bool
    multiple: int  # of this, padded lengths are
    return_tensors: Optional[str]

    @classmethod
    def of(cls, padding: Union[bool, str], truncation: bool, max_length: Optional[int],
           pad_to_multiple_of: Optional[int], return_tensors: Optional[str],
           model_max_length: int) -> Shape:
        """Checks the arguments. Without max_length, the model's is used where there is one."""
        if padding.__hash__ is None or padding not in _PADDINGS:
            raise ValueError("padding: expected True, False, 'longest' or 'max_length', found "
                             f"{shown(padding)}")
        if return_tensors not in (None, "np"):
            raise ValueError("return_tensors: expected 'np' or None, found "
                             f"{shown(return_tensors)}: leave it out, or give 'np'")
        to, is_cut = _PADDINGS[padding], bool(flag("truncation", truncation))
        length = None if max_length is None else count("max_length", max_length)
        if length is None and model_max_length < UNLIMITED:
            length = model_max_length
        if length is None and to == "max_length":
            raise ValueError("padding='max_length' needs max_length, because the tokenizer's files "
                             "have no model_max_length")
        multiple = 1 if pad_to_multiple_of is None else count("pad_to_multiple_of",
                                                              pad_to_multiple_of)
        return cls(to, length, is_cut and length is not None, max(multiple, 1), return_tensors)

    def padded_length(self, lists: List[List[int]]) -> int:
        """The length of every padded sequence, at least."""
        longest = max(map(len, lists), default=0)
        is_fixed = self.padding == "max_length" and self.length is not None
        wanted: int = self.length if is_fixed else longest  # type: ignore[assignment]
        return -(-wanted // self.multiple) * self.multiple


def batch(lists: List[List[int]], shape: Shape, pad_id: Optional[int], side: str,
          is_list: bool) -> BatchEncoding:
    """The sequences, padded and converted to what the shape asks for."""
    masks = [[1] * len(ids) for ids in lists]
    if shape.padding is not None:
        if pad_id is None:
            raise ValueError("the tokenizer has no token for padding: choose one first, for "
                             "example with tokenizer.pad_token = tokenizer.eos_token")
        length = shape.padded_length(lists)
        lists = [_padded(ids, length, pad_id, side) for ids in lists]
        masks = [_padded(mask, length, 0, side) for mask in masks]
    if shape.return_tensors is None:
        return BatchEncoding(input_ids=lists if is_list else lists[0],
                             attention_mask=masks if is_list else masks[0])
    if len({len(ids) for ids in lists}) > 1:
        raise ValueError("the texts have different numbers of tokens, so they are not one array: "
                         "give padding=True, and truncation=True for texts that are too long")
    arrays = BatchEncoding(input_ids=int64_array(lists), attention_mask=int64_array(masks))
    if isinstance(arrays.input_ids, list):
        raise UnsupportedError("return_tensors='np' needs numpy: install it")
    return arrays


def _padded(numbers: List[int], length: int, pad: int, side: str) -> List[int]:
    padding = [pad] * (length - len(numbers))
    return numbers + padding if side == "right" else padding + numbers


def truncated(whole: List[int], bare: List[int], length: int, side: str) -> List[int]:
    """At most `length` tokens: leaves out tokens of the text (`bare`), and no special token.

    `whole` has the text and the special tokens that the tokenizer adds at its beginning or end.
    """
    added = len(whole) - len(bare)
    before = next((i for i in range(added + 1) if whole[i:i + len(bare)] == bare), 0)
    kept = max(min(length - added, len(bare)), 0)
    text = bare[:kept] if side == "right" else bare[len(bare) - kept:]
    return [*whole[:before], *text, *whole[before + len(bare):]]
