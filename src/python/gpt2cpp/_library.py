"""Finds libgpt2.so, loads it and declares its functions.

The first of these is used:

1. the file that the environment variable GPT2CPP_LIBRARY names;
2. libgpt2.so in this package, where a wheel has it;
3. the installed library: in ~/.local, in the prefix of the Python interpreter, or where the system
   searches.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from ctypes import POINTER, c_char_p, c_int32, c_size_t, c_uint64, c_void_p
from typing import Any, Type

from . import _structs as c
from .errors import BY_STATUS, Error, InternalError, NotFoundError, UnsupportedError

__version__ = "0.1.0"  # the version of the package and of the gpt2.h that it matches

_VERSION = tuple(int(part) for part in __version__.split("."))
_SONAME = "libgpt2.so.%d.%d" % _VERSION[:2]
_OUT = POINTER(c_void_p)
_IDS = POINTER(c_int32)

# Functions that return a status, which _check turns into an exception.
_STATUS_FUNCTIONS = {
    "gpt2_cancel_new": [_OUT],
    "gpt2_cancel_set": [c_void_p, c_int32],
    "gpt2_load_options_init": [POINTER(c.LoadOptions), c_size_t],
    "gpt2_find_model": [c_char_p, POINTER(POINTER(c.Bytes))],
    "gpt2_model_load": [c_char_p, POINTER(c.LoadOptions), _OUT],
    "gpt2_model_load_memory": [POINTER(c.MemoryFile), c_size_t, POINTER(c.LoadOptions), _OUT],
    "gpt2_model_convert": [c_void_p, c_int32, _OUT],
    "gpt2_model_save_quantized": [c_void_p, c_char_p],
    "gpt2_model_weights": [c_void_p, POINTER(POINTER(c.Weight)), POINTER(c_size_t)],
    "gpt2_encode_options_init": [POINTER(c.EncodeOptions), c_size_t],
    "gpt2_tokenizer_load": [c_char_p, _OUT],
    "gpt2_tokenizer_load_memory": [POINTER(c.MemoryFile), c_size_t, _OUT],
    "gpt2_tokenizer_encode": [c_void_p, c_char_p, c_size_t, POINTER(c.EncodeOptions),
                              POINTER(POINTER(c.Ids))],
    "gpt2_tokenizer_decode": [c_void_p, _IDS, c_size_t, POINTER(POINTER(c.Bytes))],
    "gpt2_tokenizer_token_bytes": [c_void_p, c_int32, POINTER(c_void_p), POINTER(c_size_t)],
    "gpt2_tokenizer_is_special": [c_void_p, c_int32, POINTER(c_int32)],
    "gpt2_tokenizer_find": [c_void_p, c_char_p, c_size_t, POINTER(c_int32)],
    "gpt2_engine_options_init": [POINTER(c.EngineOptions), c_size_t],
    "gpt2_engine_new": [c_void_p, POINTER(c.EngineOptions), _OUT],
    "gpt2_engine_threads": [c_void_p, POINTER(c_int32)],
    "gpt2_session_options_init": [POINTER(c.SessionOptions), c_size_t],
    "gpt2_session_new": [c_void_p, POINTER(c.SessionOptions), _OUT],
    "gpt2_session_append": [c_void_p, _IDS, c_size_t],
    "gpt2_session_rewind": [c_void_p, c_size_t],
    "gpt2_session_slide": [c_void_p, c_size_t, c_size_t, POINTER(c_size_t)],
    "gpt2_session_fork": [c_void_p, _OUT],
    "gpt2_session_save": [c_void_p, c_char_p],
    "gpt2_session_load": [c_void_p, c_char_p, POINTER(c.SessionOptions), _OUT],
    "gpt2_forward": [POINTER(c.Slice), c_size_t],
    "gpt2_hidden_states": [POINTER(c.Slice), c_size_t, c_size_t],
    "gpt2_unembed": [c_void_p, c_void_p, c_void_p, c_size_t, c_int32, c_void_p],
    "gpt2_observer_init": [POINTER(c.Observer), c_size_t],
    "gpt2_observe": [POINTER(c.Slice), c_size_t, POINTER(c.Observer)],
    "gpt2_sampling_options_init": [POINTER(c.SamplingOptions), c_size_t],
    "gpt2_sequence_limits_init": [POINTER(c.SequenceLimits), c_size_t],
    "gpt2_sampler_new": [POINTER(c.SamplingOptions), c_size_t, POINTER(c.SequenceLimits), _OUT],
    "gpt2_sampler_sample": [c_void_p, c_void_p, _IDS, c_size_t, POINTER(c_int32)],
    "gpt2_sampler_process": [c_void_p, c_void_p, _IDS, c_size_t, POINTER(c_void_p)],
    "gpt2_generate_options_init": [POINTER(c.GenerateOptions), c_size_t],
    "gpt2_generate": [c_void_p, c_void_p, _IDS, c_size_t, POINTER(c.GenerateOptions),
                      POINTER(POINTER(c.Generation))],
    "gpt2_beam_options_init": [POINTER(c.BeamOptions), c_size_t],
    "gpt2_beam_search": [c_void_p, c_void_p, _IDS, c_size_t, POINTER(c.BeamOptions),
                         POINTER(POINTER(c.Beams))],
    "gpt2_generation_config_load": [c_char_p, POINTER(POINTER(c.GenerationConfig))],
    "gpt2_scheduler_options_init": [POINTER(c.SchedulerOptions), c_size_t],
    "gpt2_scheduler_new": [c_void_p, POINTER(c.SchedulerOptions), _OUT],
    "gpt2_scheduler_submit": [c_void_p, c_void_p, _IDS, c_size_t, POINTER(c.GenerateOptions),
                              POINTER(c_uint64)],
    "gpt2_scheduler_run": [c_void_p],
    "gpt2_scheduler_take": [c_void_p, c_uint64, POINTER(POINTER(c.Generation))],
    "gpt2_score_options_init": [POINTER(c.ScoreOptions), c_size_t],
    "gpt2_score": [c_void_p, POINTER(c.Ids), c_size_t, POINTER(c.ScoreOptions),
                   POINTER(POINTER(c.Scores))],
    "gpt2_score_choices": [c_void_p, _IDS, c_size_t, POINTER(c.Ids), c_size_t,
                           POINTER(c.ScoreOptions), POINTER(POINTER(c.Choices))],
    "gpt2_compare_options_init": [POINTER(c.CompareOptions), c_size_t],
    "gpt2_compare_perplexity": [c_void_p, c_void_p, _IDS, c_size_t, POINTER(c.CompareOptions),
                                POINTER(POINTER(c.Comparison))],
    "gpt2_embed_options_init": [POINTER(c.EmbedOptions), c_size_t],
    "gpt2_embed": [c_void_p, POINTER(c.Ids), c_size_t, POINTER(c.EmbedOptions), c_void_p],
}

_OTHER_FUNCTIONS = {
    "gpt2_last_error": (c_char_p, []),
    "gpt2_finish_reason_name": (c_char_p, [c_int32]),
    "gpt2_version": (c_int32, []),
    "gpt2_isa_name": (c_char_p, []),
    "gpt2_observed_name": (c_char_p, [c_int32]),
    "gpt2_observed_hook": (c_char_p, [c_int32]),
    "gpt2_thread_count": (c_int32, []),
    "gpt2_option_fields": (POINTER(c.OptionField), [c_int32, POINTER(c_size_t)]),
    "gpt2_model_get_info": (POINTER(c.ModelInfo), [c_void_p]),
    "gpt2_tokenizer_get_info": (POINTER(c.TokenizerInfo), [c_void_p]),
    "gpt2_session_get_info": (POINTER(c.SessionInfo), [c_void_p]),
    "gpt2_ids_free": (None, [POINTER(c.Ids)]),
    "gpt2_bytes_free": (None, [POINTER(c.Bytes)]),
    "gpt2_generation_free": (None, [POINTER(c.Generation)]),
    "gpt2_beams_free": (None, [POINTER(c.Beams)]),
    "gpt2_generation_config_free": (None, [POINTER(c.GenerationConfig)]),
    "gpt2_scores_free": (None, [POINTER(c.Scores)]),
    "gpt2_choices_free": (None, [POINTER(c.Choices)]),
    "gpt2_comparison_free": (None, [POINTER(c.Comparison)]),
    "gpt2_cancel_free": (None, [c_void_p]),
    "gpt2_model_free": (None, [c_void_p]),
    "gpt2_tokenizer_free": (None, [c_void_p]),
    "gpt2_engine_free": (None, [c_void_p]),
    "gpt2_session_free": (None, [c_void_p]),
    "gpt2_sampler_free": (None, [c_void_p]),
    "gpt2_scheduler_free": (None, [c_void_p]),
}


def _file() -> str:
    given = os.environ.get("GPT2CPP_LIBRARY")
    if given:
        return given
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    prefixes = [os.path.expanduser("~/.local"), sys.prefix]
    folders = [os.path.join(prefix, *folder) for prefix in prefixes
               for folder in (["lib"], ["lib64"], ["lib", multiarch])]
    package = os.path.join(os.path.dirname(__file__), "libgpt2.so")
    files = [package] + [os.path.join(folder, _SONAME) for folder in folders]
    return next((file for file in files if os.path.exists(file)), _SONAME)


def _load() -> ctypes.CDLL:
    file = _file()
    try:
        library = ctypes.CDLL(file)
    except OSError as error:
        raise NotFoundError(
            f"{file}: the library of gpt2.cpp cannot be loaded ({error}): install the wheel or "
            "the library, or set GPT2CPP_LIBRARY to the path of libgpt2.so") from None
    library.gpt2_version.restype = c_int32
    found = library.gpt2_version()
    version = (found // 10000, found // 100 % 100, found % 100)
    if version[:2] != _VERSION[:2] or version < _VERSION:
        raise UnsupportedError(
            f"{file}: expected version {__version__} of the library, found "
            f"{'.'.join(map(str, version))}: install the library that belongs to this package")
    return library


def _check(status: int, function: Any, _arguments: Any) -> int:
    if status == 0:
        return status
    kind: Type[Error] = InternalError
    if 0 < status < len(BY_STATUS):
        kind = BY_STATUS[status] or InternalError
    raise kind(lib.gpt2_last_error().decode("utf-8", "replace"))


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, arguments in _STATUS_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = c_int32, arguments
        function.errcheck = _check
    for name, (result, arguments) in _OTHER_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _declare(_load())
