"""What to use instead of the names that only transformers and TransformerLens have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

_MODEL = "gpt2cpp.Model"
_TOKENIZER = "gpt2cpp.Tokenizer, or the tokenizer of a Model"
_STREAM = "for piece in model.stream(text)"
_STOP = "model.generate(text, stop=...), or on_progress=f, where f returns False to stop"
_PROCESSOR = "model.generate(text, logits_processor=f), where f(ids, scores) changes the scores"

IMPORTS = {
    "AutoConfig": "model.config",
    "AutoModel": _MODEL,
    "AutoModelForCausalLM": _MODEL,
    "AutoTokenizer": _TOKENIZER,
    "GPT2Config": "model.config",
    "GPT2LMHeadModel": _MODEL,
    "GPT2Model": _MODEL,
    "GPT2Tokenizer": _TOKENIZER,
    "GPT2TokenizerFast": _TOKENIZER,
    "GenerationConfig": "a dict of options, as model.generate(text, generation_config=...) takes",
    "HookedTransformer": "gpt2cpp.Model, whose observe() takes the names of hooks",
    "LogitsProcessor": _PROCESSOR,
    "LogitsProcessorList": _PROCESSOR,
    "StoppingCriteria": _STOP,
    "StoppingCriteriaList": _STOP,
    "TextIteratorStreamer": _STREAM,
    "TextStreamer": _STREAM,
    "set_seed": "model.generate(text, seed=...)"}

_CPU = "nothing: gpt2cpp computes on the CPU alone"
_DTYPE = "gpt2cpp.Model(name, dtype=...)"
_TRAINING = "nothing: gpt2cpp does not train"
_OBSERVE = "model.observe(text)"
_CHANGE = "model.observe(text, change={(name, layer): f})"

MODEL = {
    "bfloat16": _DTYPE,
    "compute_transition_scores": "model.generate(text, logprobs=0).logprobs",
    "cpu": _CPU,
    "cuda": _CPU,
    "float": _DTYPE,
    "forward": "model.logits(text)",
    "get_input_embeddings": 'model.weights["wte.weight"]',
    "half": _DTYPE,
    "lm_head": "model.unembed(states)",
    "named_parameters": "model.weights.items()",
    "num_parameters": "model.parameter_count",
    "parameters": "model.weights.values()",
    "register_forward_hook": _CHANGE,
    "run_with_cache": _OBSERVE,
    "run_with_hooks": _CHANGE,
    "save_pretrained": "model.save_quantized(path)",
    "state_dict": "model.weights",
    "train": _TRAINING,
    "transformer": f"{_OBSERVE}, or model.weights"}

_CALL = "tokenizer(text), which also takes a list of texts"

TOKENIZER = {
    "apply_chat_template": "a text: GPT-2 has no chat template",
    "batch_encode_plus": _CALL,
    "encode_plus": _CALL,
    "pad": "tokenizer(texts, padding=True)",
    "vocab": "tokenizer.get_vocab()"}

GENERATION = {
    "generated_text": "it as it is: a Generation is a str",
    "scores": "model.generate(text, logprobs=0).logprobs",
    "sequences": "token_ids",
    "text": "it as it is: a Generation is a str",
    "tolist": "token_ids",
    "tokens": "token_ids"}


class Hinted:
    """An object whose missing attributes are explained by a table."""

    _hints: Mapping[str, str] = {}

    if not TYPE_CHECKING:  # for which every attribute would exist

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}"
                                 + hint(self._hints, name))


def hint(hints: Mapping[str, str], name: str) -> str:
    """The end of a message about a name that does not exist."""
    return f": use {hints[name]}" if name in hints else ""
