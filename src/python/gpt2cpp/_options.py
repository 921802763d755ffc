"""The options that the library lists: their members in the structs of options, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_size_t, c_uint64
from ctypes import Structure, c_void_p, cast, sizeof
from numbers import Integral
from typing import Any, Callable, Dict, List, Sequence, Tuple

from . import _structs as c
from ._arrays import ids_list, ids_struct, ids_structs, int32, items, whole
from ._library import lib
from .errors import did_you_mean, shown

DRAWS = 0  # a role: the option has an effect only if tokens are drawn
HUGGINGFACE = 0  # an origin: generation_config.json may have the option

EARLY_STOPPING = (False, True, "never")
_NAMES: Dict[str, Sequence[Any]] = {"overflow": ("stop", "slide"), "early_stopping": EARLY_STOPPING}


def flag(name: str, value: Any) -> int:
    """The value of the argument `name`, which is a bool, or 0 or 1."""
    try:
        return {False: 0, True: 1}[value]
    except (KeyError, TypeError):
        raise TypeError(f"{name}: expected True or False, found {shown(value)}") from None


def real(name: str, value: Any) -> float:
    """The value of the argument `name` as a float."""
    try:
        if not isinstance(value, str):
            return float(value)
    except TypeError:
        pass
    except OverflowError:
        raise ValueError(f"{name}: the number is too large for a float") from None
    raise TypeError(f"{name}: expected a number, found {shown(value)}")


def count(name: str, value: Any, at_least: int = 0, at_most: int = 2**64 - 1) -> int:
    """The value of the argument `name`, which is a number that the library's size_t can hold. The
    library knows its range."""
    number = whole(name, value)
    if not at_least <= number <= at_most:
        limit = f"of at {f'least {at_least}' if number < at_least else f'most {at_most}'}"
        raise ValueError(f"{name}: expected a whole number {limit}, found {value}")
    return number


def named(option: str, name: Any, names: Sequence[Any]) -> int:
    """The number of a name among others."""
    # A numpy array, which is not hashable, would be compared element by element.
    if name.__hash__ is None or name not in names:
        hint = did_you_mean(name, names) if isinstance(name, str) else ""
        raise ValueError(f"{option}: expected one of {', '.join(map(str, names))}, "
                         f"found {shown(name)}{hint}")
    return names.index(name)


def pairs_of(name: str, value: Any) -> Any:
    """The keys and values of a dict."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name}: expected a dict, found {shown(value)}")
    return value.items()


def _ids(name: str, value: Any) -> c.Ids:
    return ids_struct([value] if isinstance(value, Integral) else value, name)


def _sequence_bias(name: str, value: Any) -> Any:
    pairs = [c.SequenceBias(ids_struct(ids, name), real(name, bias))
             for ids, bias in pairs_of(name, value)]
    return (c.SequenceBias * len(pairs))(*pairs)


def _logit_bias(name: str, value: Any) -> Any:
    biases = [c.LogitBias(int32(name, id), real(name, bias)) for id, bias in pairs_of(name, value)]
    return (c.LogitBias * len(biases))(*biases)


def texts(name: str, value: Any) -> List[str]:
    """The texts of an argument that is a text or a list of texts."""
    listed = [value] if isinstance(value, str) else items(name, value, "a text or a list of texts")
    for text in listed:
        if not isinstance(text, str):
            raise TypeError(f"{name}: expected texts, found {shown(text)}")
    return listed


def utf8(name: str, text: str) -> bytes:
    """The text for C. Refuses a lone surrogate, which UTF-8 does not have."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: expected characters that UTF-8 can encode, found "
                         f"{shown(text[error.start])} at index {error.start}: replace or remove it"
                         ) from None


def _texts(name: str, value: Any) -> Any:
    coded = [utf8(name, text) for text in texts(name, value)]
    array = (c.Bytes * len(coded))(*(c.Bytes(cast(c_char_p(text), c_void_p), len(text))
                                     for text in coded))
    array.coded = coded  # keeps the bytes alive
    return array


def _decay(name: str, value: Any) -> Tuple[float, int]:
    pair = items(name, value, "a pair of start and factor")
    if len(pair) != 2:
        raise ValueError(f"{name}: expected a pair of start and factor, found {shown(value)}")
    return real(name, pair[1]), count(name, pair[0])


class _Kind:
    """A gpt2_option_type: the types of its members, and how values are converted.

    put(name, value) returns what the first member holds, or a pair for two members. If the members
    are an array and its length, it returns the array alone. get(first, ...) returns the value; None
    stands for an option without one. `names` are the members' names in gpt2.h if they do not come
    from the option's.
    """

    def __init__(self, members: Sequence[Any], put: Callable[[str, Any], Any],
                 get: Callable[..., Any] = lambda value: value, names: Sequence[str] = ()):
        self.members, self.put, self.get, self.names = members, put, get, names


# In the order of gpt2_option_type.
_KINDS = (
    _Kind([c_float], real),
    _Kind([c_double], real),
    _Kind([c_size_t], count),
    _Kind([c_uint64], count),
    _Kind([c_int32], flag, bool),
    _Kind([c_int32], lambda name, value: named(name, value, _NAMES[name])),
    _Kind([c_int32], int32, lambda id: None if id < 0 else id),
    _Kind([c.Ids], _ids, lambda ids: ids_list(ids.data, ids.count)),
    _Kind([POINTER(c.Ids), c_size_t], lambda name, value: ids_structs(value, name),
          lambda lists, n: [ids_list(ids.data, ids.count) for ids in lists[:n]]),
    _Kind([POINTER(c.SequenceBias), c_size_t], _sequence_bias,
          lambda biases, n: {tuple(ids_list(bias.ids.data, bias.ids.count)): bias.bias
                             for bias in biases[:n]}),
    _Kind([POINTER(c.LogitBias), c_size_t], _logit_bias,
          lambda biases, n: {bias.id: bias.bias for bias in biases[:n]}),
    _Kind([POINTER(c.Bytes), c_size_t], _texts),
    _Kind([c_double, c_size_t], _decay,
          lambda factor, start: None if factor == 1 else (start, factor),
          ["decay_factor", "decay_start"]),
    _Kind([c_int32, c_size_t], lambda name, value: (1, count(name, value))),
)


class Option:
    """A row of the table of options."""

    def __init__(self, row: c.OptionField):
        self.name, self.help = row.name.decode(), row.help.decode()
        self.offset, self.role, self.origin = row.offset, row.role, row.origin
        self._kind = _KINDS[row.type]
        self.members: List[str] = []  # the names of its members in the struct

    def fields(self) -> List[Tuple[str, Any]]:
        """The members that a struct needs for this option, as in _fields_."""
        names = self._kind.names or [self.name, "n_" + self.name]
        return list(zip(names, self._kind.members))

    def set(self, struct: Any, value: Any) -> None:
        """Sets the members to a value. Raises an exception that names the option."""
        put = self._kind.put(self.name, value)
        if len(self.members) == 2 and not isinstance(put, tuple):
            put = put, len(put)
        for member, part in zip(self.members, put if len(self.members) == 2 else [put]):
            setattr(struct, member, part)

    def get(self, struct: Any) -> Any:
        """The value that the members hold, or None."""
        return self._kind.get(*(getattr(struct, member) for member in self.members))


def _options(table: int) -> List[Option]:
    n = c_size_t()
    rows = lib.gpt2_option_fields(table, byref(n))
    return [Option(row) for row in rows[:n.value]]


def _find_members(options: List[Option], struct: Any) -> Dict[str, Option]:
    names = [field[0] for field in struct._fields_]
    index_at = {getattr(struct, name).offset: i for i, name in enumerate(names)}
    for option in options:
        first = index_at[option.offset]
        option.members = names[first:first + len(option.fields())]
    return {option.name: option for option in options}


def _sampling_fields(options: List[Option]) -> List[Tuple[str, Any]]:
    """The members of gpt2_sampling_options. The table does not list on_scores and user: they are
    where it leaves room for two pointers. New options follow them, where necessary after a member
    that fills the padding and is called by its offset."""
    fields: List[Tuple[str, Any]] = [("size", c_size_t)]
    for option in options:
        end, begin = _place_of_last([*fields, *option.fields()], len(option.fields()))
        if option.offset - end >= 2 * sizeof(c_void_p):
            fields += [("on_scores", c.OnScores), ("user", c_void_p)]
        elif option.offset != begin:
            fields.append((f"reserved_{end}", c_int32))
        fields += option.fields()
    return fields


def _place_of_last(fields: List[Tuple[str, Any]], count: int) -> Tuple[int, int]:
    """Where the members before the last `count` ones end, and where these begin."""
    struct = type("Listed", (Structure,), {"_fields_": fields})
    before, first = (getattr(struct, fields[i][0]) for i in (-count - 1, -count))
    return before.offset + before.size, first.offset


_sampling = sorted(_options(0), key=lambda option: option.offset)
c.SamplingOptions._fields_ = _sampling_fields(_sampling)
SAMPLING = _find_members(_sampling, c.SamplingOptions)
GENERATION = _find_members(_options(1), c.GenerateOptions)
BEAMS = _find_members(_options(2), c.BeamOptions)
