"""pipeline("text-generation", model=...), as in transformers."""

from __future__ import annotations

import warnings
from typing import Any, Dict, Optional, Sequence, Union

from ._generation_config import load_for_task
from ._hub import INSTEAD, PathLike, dtype_of, refuse_others
from ._options import count, flag, texts
from .errors import InvalidArgumentError, UnsupportedError, shown
from .model import Model
from .options import DRAWING, require_options
from .tokenizer import Tokenizer, require_own

_TASK = "text-generation"
_OF_CALLS = {"batch_size", "truncation", "num_return_sequences", "on_error"}
"""Options of a call that are no options of a text."""


class TextGenerationPipeline:
    """Continues texts. The options of a call are those of Model.generate().

    Options that neither the call nor pipeline() gives are, as in transformers, those of the model's
    generation_config.json and, before them, what its config.json has in task_specific_params.
    """

    def __init__(self, model: Model, *, return_full_text: Optional[bool] = None, **options: Any):
        try:
            require_options(options.keys() - _OF_CALLS)
        except TypeError as error:
            raise _renamed(error) from None
        self.model, self.tokenizer = model, model._require_tokenizer()
        self._is_full = return_full_text is None or bool(flag("return_full_text", return_full_text))
        self._own = options
        self._options = {**(load_for_task(model.path, _TASK) if model.path else {}), **options}

    def __call__(self, text_inputs: Union[str, Sequence[str]], *,
                 return_full_text: Optional[bool] = None, **options: Any) -> Any:
        """[{"generated_text": text}] for a text; a list of such lists for a list of texts.

        The text begins with the prompt unless return_full_text is False. truncation=True leaves out
        the beginning of a prompt that is longer than the context. batch_size has no effect: all
        texts of a call share their passes.

        >>> pipe = pipeline("text-generation")
        >>> pipe("Once upon a time", max_new_tokens=6, do_sample=False)
        [{'generated_text': 'Once upon a time, there was a little girl'}]
        """
        is_list = not isinstance(text_inputs, str)
        prompts = texts("text_inputs", text_inputs)
        full = (self._is_full if return_full_text is None
                else bool(flag("return_full_text", return_full_text)))
        given = self._given(options)
        _warn_of_ignored({**self._own, **options}, given)
        number = given.get("num_return_sequences")
        try:
            if not is_list and number is None:
                found = [self.model.generate(prompts[0], **given)]
            else:
                found = self.model.generate(prompts, **given)
        except (InvalidArgumentError, TypeError) as error:
            raise _renamed(error)
        n = len(found) // len(prompts) if prompts else 1
        results = [[_result(prompt, text, full) for text in found[i * n:(i + 1) * n]]
                   for i, prompt in enumerate(prompts)]
        return results if is_list else results[0]

    def _given(self, options: Dict[str, Any]) -> Dict[str, Any]:
        """The options of a call over those of the pipeline. A length replaces the other length."""
        base = dict(self._options)
        if "max_length" in options or "max_new_tokens" in options:
            base.pop("max_length", None)
            base.pop("max_new_tokens", None)
        given = {**base, **options}
        size, truncation = given.pop("batch_size", None), given.pop("truncation", None)
        if size is not None:
            count("batch_size", size)
        if truncation is not None:
            given["truncate"] = bool(flag("truncation", truncation))
        return given


def _warn_of_ignored(asked: Dict[str, Any], given: Dict[str, Any]) -> None:
    """Warns, as transformers does, of options for drawing if no token is drawn."""
    names = [name for name in DRAWING if name != "do_sample" and asked.get(name) is not None]
    draws = given.get("do_sample") is None or given["do_sample"]
    if names and not draws and given.get("num_beams") in (None, 1):
        warnings.warn(f"{', '.join(names)}: without effect, because the most probable tokens are "
                      "taken: give do_sample=True to draw tokens", stacklevel=3)


_NAMES = {"truncate=True": "truncation=True",
          "help(Model.generate)": "help(TextGenerationPipeline)"}
"""What Model.generate() advises in its messages, and what is the same for a pipeline."""


def _renamed(error: Exception) -> Exception:
    for theirs, ours in _NAMES.items():
        if theirs in str(error):
            error.args = (str(error).replace(theirs, ours),)
    return error


def _result(prompt: str, text: Any, is_full: bool) -> Any:
    if isinstance(text, Exception):  # with on_error="return"
        return _renamed(text)
    return {"generated_text": (prompt if is_full else "") + str(text)}


def pipeline(task: str = _TASK, model: Union[Model, PathLike, None] = None, *,
             tokenizer: Union[Tokenizer, str, None] = None,
             revision: Optional[str] = None, dtype: Optional[str] = None,
             torch_dtype: Optional[str] = None, **options: Any) -> TextGenerationPipeline:
    """A pipeline for a model, or for the name or path of one. Downloads nothing.

    `options` are used in every call that does not give them itself. The tokenizer is that of the
    model, and no other can be given. torch_dtype is another name of dtype. The device is the CPU:
    the options device and device_map are refused if they ask for another one.

    >>> pipe = pipeline("text-generation", max_new_tokens=2, do_sample=False)
    >>> pipe(["Once upon", "Once upon a time"], return_full_text=False)
    [[{'generated_text': ' a time'}], [{'generated_text': ', there'}]]
    """
    if task != _TASK:
        raise UnsupportedError(f"task: expected {_TASK!r}, found {shown(task)}")
    refuse_others({name: options.pop(name) for name in INSTEAD.keys() & options.keys()})
    dtype = dtype_of(dtype, torch_dtype)
    if isinstance(model, Model) and (dtype is not None or revision is not None):
        raise TypeError("dtype, revision: the model is loaded already: give its name instead, or "
                        "leave them out")
    if not isinstance(model, Model):
        model = (Model(dtype=dtype) if model is None
                 else Model.from_pretrained(model, revision=revision, dtype=dtype))
    if tokenizer is not None:
        require_own(tokenizer, model._require_tokenizer())
    return TextGenerationPipeline(model, **options)
