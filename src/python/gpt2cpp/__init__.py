"""GPT-2 on the CPU: the Python interface of gpt2.cpp.

>>> import gpt2cpp
>>> model = gpt2cpp.Model()
>>> model.generate("Once upon a time", temperature=0, max_new_tokens=6)
', there was a little girl'

See Model, Session, Tokenizer and Sampler. help(Model.generate) describes the options.
"""

from __future__ import annotations

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from ._hints import IMPORTS as _IMPORTS, hint as _hint
from ._library import __version__, lib
from .errors import (CancelledError, Error, InternalError, InvalidArgumentError, InvalidFileError,
                     NotFoundError, OutOfMemoryError, UnsupportedError)
from ._observe import Observations, Place
from .model import Model, find_model
from .encoding import BatchEncoding
from .options import GenerateOptions, SamplingOptions
from .pipelines import TextGenerationPipeline, pipeline
from .results import Choice, Comparison, Estimate, Generation, Scores, TextScore, TokenLogprob
from .sampler import Sampler
from .session import Session
from .stream import AsyncStream, Stream
from .tokenizer import Tokenizer

__all__ = ["AsyncStream", "BatchEncoding", "CancelledError", "Choice", "Comparison", "Error",
           "Estimate", "GenerateOptions", "Generation", "InternalError", "InvalidArgumentError",
           "InvalidFileError", "Model", "NotFoundError", "Observations", "OutOfMemoryError",
           "Place", "Sampler", "SamplingOptions", "Scores", "Session", "Stream",
           "TextGenerationPipeline", "TextScore", "TokenLogprob", "Tokenizer", "UnsupportedError",
           "__version__", "find_model", "isa_name", "pipeline"]


def isa_name() -> str:
    """The instruction set in use, such as "avx2". All of them give the same bits."""
    name = lib.gpt2_isa_name()
    if name is None:
        raise UnsupportedError("GPT2_ISA names an instruction set that this machine cannot run")
    return str(name.decode())


if not _TYPE_CHECKING:  # for which every name would exist

    def __getattr__(name: str) -> _Any:
        """Explains what to use instead of a class or function of transformers."""
        message = f"module {__name__!r} has no attribute {name!r}{_hint(_IMPORTS, name)}"
        # `from gpt2cpp import name` replaces the message of an AttributeError by its own, so it
        # gets an ImportError. It asks for the name in this function of importlib.
        is_import = _sys._getframe(1).f_code.co_name == "_handle_fromlist"
        raise (ImportError if is_import and name in _IMPORTS else AttributeError)(message)
