"""Model.generation_config: what generation_config.json says, as options of generate()."""

from __future__ import annotations

from ctypes import POINTER, byref, c_size_t
from typing import Any, Dict

from . import _structs as c
from ._arrays import ids_list
from ._library import lib
from .options import EARLY_STOPPING, FILTERS
from .tokenizer import c_path

_NUMBERS = ("repetition_penalty", "no_repeat_ngram_size", "min_length", "min_new_tokens",
            "remove_invalid_values", "renormalize_logits")
_LISTS = ("suppress_tokens", "begin_suppress_tokens", "forced_eos_token_id")


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
    sampling = config.sampling.contents
    drawing = FILTERS if config.do_sample else ()
    options = {name: getattr(sampling, name) for name in (*drawing, *_NUMBERS)}
    for name in _LISTS:
        ids = getattr(sampling, name)
        options[name] = ids_list(ids.data, ids.count)
    options["bad_words_ids"] = [ids_list(ids.data, ids.count) for ids in
                                sampling.bad_words_ids[:sampling.n_bad_words_ids]]
    options["sequence_bias"] = {tuple(ids_list(bias.ids.data, bias.ids.count)): bias.bias
                                for bias in sampling.sequence_bias[:sampling.n_sequence_bias]}
    if sampling.forced_bos_token_id >= 0:
        options["forced_bos_token_id"] = sampling.forced_bos_token_id
    if sampling.decay_factor != 1:
        options["exponential_decay_length_penalty"] = (sampling.decay_start,
                                                       sampling.decay_factor)
    return options


def _beams(beams: c.BeamOptions) -> Dict[str, Any]:
    options = {name: getattr(beams, name) for name in
               ("num_beams", "length_penalty", "num_beam_groups", "diversity_penalty")}
    options["early_stopping"] = EARLY_STOPPING[beams.early_stopping]
    if beams.num_return_sequences > 1:
        options["num_return_sequences"] = beams.num_return_sequences
    if beams.pad_token_id >= 0:
        options["pad_token_id"] = beams.pad_token_id
    return options
