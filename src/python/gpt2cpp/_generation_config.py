"""Model.generation_config: what generation_config.json says, as options of generate(); and the
option generation_config, which takes such options."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from ctypes import POINTER, byref, c_size_t
from typing import Any, Callable, Dict

from . import _structs as c
from ._library import lib
from ._options import BEAMS, DRAWS, EARLY_STOPPING, HUGGINGFACE, SAMPLING, Option
from ._special_tokens import read_object, reader_of_directory
from .errors import Error, shown
from .tokenizer import c_path


def merged(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options, after those of the option generation_config, over which they take precedence."""
    others = dict(options)
    config = others.pop("generation_config", None)
    if config is None:
        return others
    if isinstance(config, Mapping):
        base = dict(config)
    elif callable(getattr(config, "to_dict", None)):
        base = _read(config.to_dict())
    else:
        raise TypeError("generation_config: expected a dict of options or transformers' "
                        f"GenerationConfig, found {shown(config)}")
    if others.get("max_new_tokens") is None and others.get("max_length") is not None:
        base.pop("max_new_tokens", None)  # because it would take precedence over max_length
    return {**base, **others}


def _read(config: Dict[str, Any]) -> Dict[str, Any]:
    """The options in the dict of a GenerationConfig, as load() reads them from a file."""
    config = dict(config)
    biases, stop = config.get("sequence_bias"), config.pop("stop_strings", None)
    if isinstance(biases, Mapping):
        config["sequence_bias"] = [[list(ids), bias] for ids, bias in biases.items()]
    options = _read_file(config)
    if stop is not None:
        options["stop_strings"] = stop
    if config.get("eos_token_id") is not None:
        options["eos_token_id"] = config["eos_token_id"]
    return options


def _read_file(config: Dict[str, Any]) -> Dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in (("config.json", {"model_type": "gpt2"}),
                              ("generation_config.json", config)):
            with open(os.path.join(scratch, name), "w") as file:
                json.dump(content, file)
        try:
            return load(scratch)
        except Error as error:
            message = str(error).replace(file.name, "generation_config")
            raise type(error)(message.replace("; remove it from the file", ": leave it out")
                              ) from None


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


def load_for_task(path: str, task: str) -> Dict[str, Any]:
    """The options of load(), with those that config.json has for a task in their place."""
    read = reader_of_directory(path)
    config = read_object(read, "config.json")
    tasks = config.get("task_specific_params")
    changes = tasks.get(task) if isinstance(tasks, Mapping) else None
    if not isinstance(changes, Mapping):
        return load(path)
    file = read_object(read, "generation_config.json") or config
    return _read({**file, "eos_token_id": None, **changes})  # the model has read eos_token_id


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
