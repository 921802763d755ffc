"""Model.generation_config: what generation_config.json says, as options of generate()."""

from __future__ import annotations

from ctypes import POINTER, byref, c_size_t
from typing import Any, Callable, Dict

from . import _structs as c
from ._library import lib
from ._options import BEAMS, DRAWS, EARLY_STOPPING, HUGGINGFACE, SAMPLING, Option
from .tokenizer import c_path

def load(path: str) -> Dict[str, Any]:
    """The options in the generation_config.json of a model."""
    result = POINTER(c.GenerationConfig)()
    lib.gpt2_generation_config_load(c_path(path), byref(result))
    try:
        config = result.contents
        beams = config.beams.contents
        options = {"do_sample": bool(config.do_sample), **_sampling(config)}
        if beams.num_beams > 1:
            options.update(_beams(beams))
        elif config.num_return_sequences > 1:
            options["num_return_sequences"] = config.num_return_sequences
        has_new = config.max_new_tokens != c_size_t(-1).value
        name = "max_new_tokens" if has_new else "max_length"
        return {**options, name: getattr(config, name)}
    finally:
        lib.gpt2_generation_config_free(result)


def _sampling(config: c.GenerationConfig) -> Dict[str, Any]:
    return _values(SAMPLING, config.sampling.contents,
                   lambda option: option.origin == HUGGINGFACE
                   and (bool(config.do_sample) or option.role != DRAWS))


def _beams(beams: c.BeamOptions) -> Dict[str, Any]:
    options = _values(BEAMS, beams, lambda option: True)
    options["early_stopping"] = EARLY_STOPPING[beams.early_stopping]
    if beams.num_return_sequences == 1:
        del options["num_return_sequences"]
    return options


def _values(options: Dict[str, Option], struct: Any,
            is_wanted: Callable[[Option], bool]) -> Dict[str, Any]:
    values = {name: option.get(struct) for name, option in options.items() if is_wanted(option)}
    return {name: value for name, value in values.items() if value is not None}
