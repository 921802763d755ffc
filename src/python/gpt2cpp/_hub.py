"""Names of models on the HuggingFace hub, as from_pretrained() takes them."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Union

from ._hints import CPU
from .errors import NotFoundError, shown

PathLike = Union[str, "os.PathLike[str]"]


def pretrained_name(name: PathLike, revision: Optional[str]) -> PathLike:
    """The name by which the library finds a revision of a model: NAME@REVISION.

    As in transformers, a path to a directory has no revisions.
    """
    if revision is None or os.path.isdir(name):
        return name
    if not isinstance(revision, str):
        raise TypeError("revision: expected the name of a branch, a tag or a commit, found "
                        f"{shown(revision)}")
    return f"{os.fspath(name)}@{revision}"


def dtype_of(dtype: Any, torch_dtype: Any) -> Any:
    """The type of the weights, which older versions of transformers call torch_dtype.

    "auto" becomes None, the type of the file.
    """
    if dtype is not None and torch_dtype is not None:
        raise TypeError("dtype, torch_dtype: both name the type of the weights: give one of them")
    given = torch_dtype if dtype is None else dtype
    return None if str(given) == "auto" else given


INSTEAD = {
    "device": (("cpu", -1), CPU),
    "device_map": (("cpu", "auto"), CPU),
    "low_cpu_mem_usage": ((True, False), "leave it out, because files are mapped, not copied"),
    "load_in_8bit": ((False,), "give dtype='int8' instead"),
    "load_in_4bit": ((False,), "give dtype='int4' instead"),
    "quantization_config": ((), "give dtype='int8' or dtype='int4' instead"),
    "use_fast": ((True, False), "leave it out, because there is one tokenizer"),
    "trust_remote_code": ((False,), "leave it out, because no code of a model is executed"),
    "cache_dir": ((), "set HF_HUB_CACHE in the environment instead")}
"""Arguments that only transformers has: the values that change nothing, as None does, and what to
do instead of giving others."""


def refuse_others(others: Mapping[str, Any]) -> None:
    """Refuses arguments that from_pretrained() does not have, unless they change nothing."""
    for name, value in others.items():
        harmless, advice = INSTEAD.get(name, ((), "is no argument of from_pretrained(): leave it "
                                                  "out"))
        if name not in INSTEAD or str(value) not in map(str, (*harmless, None)):
            raise TypeError(f"{name}: {advice}")


def not_downloaded(error: NotFoundError) -> NotFoundError:
    """The error for a model that is not on this machine, with the command that downloads it.

    An error that advises no download stays as it is: no model on the hub can have that name.
    """
    where, advice, rest = str(error).partition("; 'hf download ")
    if not advice:
        return error
    model, _, _ = rest.partition("'")
    return NotFoundError(f"{where}; gpt2cpp downloads nothing when it loads a model: run "
                         f"'hf download {model}' first")
