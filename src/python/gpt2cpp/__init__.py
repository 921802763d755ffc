"""GPT-2 on the CPU: the Python interface of gpt2.cpp.

>>> import gpt2cpp
>>> model = gpt2cpp.Model()
>>> model.generate("Once upon a time", temperature=0, max_new_tokens=6)
', there was a little girl'

See Model, Session, Tokenizer and Sampler. help(Model.generate) describes the options.
"""

from __future__ import annotations

from ._library import __version__, described as _described
from ._observe import Observations, Place
from .encoding import BatchEncoding
from .errors import (CancelledError, Error, InternalError, InvalidArgumentError, InvalidFileError,
                     NotFoundError, OutOfMemoryError, UnsupportedError)
from .model import Model
from .options import GenerateOptions, SamplingOptions
from .results import (Choice, Comparison, Estimate, Generation, Page, Scores, TextScore,
                      TokenLogprob)
from .sampler import Sampler
from .session import Session
from .stream import Stream
from .tokenizer import Tokenizer, find_model

__all__ = ["BatchEncoding", "CancelledError", "Choice", "Comparison", "Error", "Estimate",
           "GenerateOptions", "Generation", "InternalError", "InvalidArgumentError",
           "InvalidFileError", "Model", "NotFoundError", "Observations", "OutOfMemoryError",
           "Page", "Place", "Sampler", "SamplingOptions", "Scores", "Session", "Stream",
           "TextScore", "TokenLogprob", "Tokenizer", "UnsupportedError", "__version__", "find_model",
           "isa_name"]


def isa_name() -> str:
    """The instruction set in use, such as "avx2". All of them give the same bits."""
    name = _described["isa"]
    if name is None:
        raise UnsupportedError("GPT2_ISA names an instruction set that this machine cannot run")
    return str(name)
