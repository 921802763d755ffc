"""pipeline("text-generation", model=...), as in transformers."""

from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Union

from .errors import UnsupportedError, shown
from .model import Model
from .options import merged
from .tokenizer import PathLike, Tokenizer, read_object, require_own

_TASK = "text-generation"


class TextGenerationPipeline:
    """Continues texts. The options of a call are those of Model.generate().

    Options that neither the call nor pipeline() gives are, as in transformers, those of the model's
    generation_config.json and, before them, what its config.json has in task_specific_params.
    """

    def __init__(self, model: Model, *, return_full_text: bool = True, **options: Any):
        self.model, self.tokenizer = model, model.require_tokenizer()
        self._is_full, self._own = return_full_text, options
        self._configured = model.generation_config if model.path else {}
        config = read_object(model.config_path, {}, "config.json") if model.path else {}
        tasks = config.get("task_specific_params") or {}
        if _TASK in tasks:  # which may ask for drawing: with transformers' defaults
            drawing = {"temperature": 1.0, "top_k": 50}
            self._configured = merged({"generation_config": {**drawing, **self._configured},
                                       **tasks[_TASK]})

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
        prompts = list(text_inputs) if is_list else [text_inputs]
        full = self._is_full if return_full_text is None else return_full_text
        found = self.model.generate(prompts, **self._given(options))
        n = len(found) // len(prompts) if prompts else 1
        results = [[_result(prompt if full else "", text) for text in found[i * n:(i + 1) * n]]
                   for i, prompt in enumerate(prompts)]
        return results if is_list else results[0]

    def _given(self, options: Dict[str, Any]) -> Dict[str, Any]:
        """The options of a call over those of the pipeline and those of the model."""
        given = merged({"generation_config": self._own, **merged(options)})
        given = merged({"generation_config": self._configured, **given})
        given.pop("batch_size", None)
        truncation = given.pop("truncation", None)
        return given if truncation is None else {**given, "truncate": truncation}


def _result(prompt: str, text: Any) -> Any:
    if isinstance(text, Exception):  # with on_error="return"
        return text
    return {"generated_text": prompt + text}


def pipeline(task: str = _TASK, model: Union[Model, PathLike, None] = None, *,
             tokenizer: Union[Tokenizer, str, None] = None,
             revision: Optional[str] = None, dtype: Any = None, torch_dtype: Any = None,
             **options: Any) -> TextGenerationPipeline:
    """A pipeline for a model, or for the name or path of one. Downloads nothing.

    `options` are used in every call that does not give them itself. The tokenizer is that of the
    model, and no other can be given. torch_dtype is another name of dtype.

    >>> pipe = pipeline("text-generation", max_new_tokens=2, do_sample=False)
    >>> pipe(["Once upon", "Once upon a time"], return_full_text=False)
    [[{'generated_text': ' a time'}], [{'generated_text': ', there'}]]
    """
    if task != _TASK:
        raise UnsupportedError(f"task: expected {_TASK!r}, found {shown(task)}")
    if not isinstance(model, Model):
        model = Model.from_pretrained("gpt2-stories" if model is None else model,
                                      revision=revision, dtype=dtype, torch_dtype=torch_dtype)
    require_own(tokenizer, model.tokenizer)
    return TextGenerationPipeline(model, **options)
