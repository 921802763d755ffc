"""What to do instead of using the names that only transformers and TransformerLens have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

_MODEL = "use gpt2cpp.Model"
_TOKENIZER = "use gpt2cpp.Tokenizer, or the tokenizer of a Model"
_STREAM = "use for piece in model.stream(text)"
_STOP = "use model.generate(text, stop=...), or on_progress=f, where f returns False to stop"
_PROCESSOR = "use model.generate(text, logits_processor=f), where f(ids, scores) changes the scores"

IMPORTS = {
    "AutoConfig": "use model.config",
    "AutoModel": _MODEL,
    "AutoModelForCausalLM": _MODEL,
    "AutoTokenizer": _TOKENIZER,
    "GPT2Config": "use model.config",
    "GPT2LMHeadModel": _MODEL,
    "GPT2Model": _MODEL,
    "GPT2Tokenizer": _TOKENIZER,
    "GPT2TokenizerFast": _TOKENIZER,
    "GenerationConfig": "use a dict, which model.generate(text, generation_config=...) takes",
    "HookedTransformer": "use gpt2cpp.Model, whose observe() takes the names of hooks",
    "LogitsProcessor": _PROCESSOR,
    "LogitsProcessorList": _PROCESSOR,
    "StoppingCriteria": _STOP,
    "StoppingCriteriaList": _STOP,
    "TextIteratorStreamer": _STREAM,
    "TextStreamer": _STREAM,
    "set_seed": "use model.generate(text, seed=...)"}

CPU = "leave it out, because gpt2cpp computes on the CPU alone"
_DTYPE = "use gpt2cpp.Model(name, dtype=...)"
_TRAINING = "leave it out, because gpt2cpp does not train"
_OBSERVE = "use model.observe(text)"
_CHANGE = "use model.observe(text, change={(name, layer): f})"

MODEL = {
    "bfloat16": _DTYPE,
    "compute_transition_scores": "use model.generate(text, logprobs=0).logprobs",
    "cpu": CPU,
    "cuda": CPU,
    "float": _DTYPE,
    "forward": "use model.logits(text)",
    "get_input_embeddings": 'use model.weights["wte.weight"]',
    "half": _DTYPE,
    "lm_head": "use model.unembed(states)",
    "named_parameters": "use model.weights.items()",
    "num_parameters": "use model.parameter_count",
    "parameters": "use model.weights.values()",
    "register_forward_hook": _CHANGE,
    "run_with_cache": _OBSERVE,
    "run_with_hooks": _CHANGE,
    "save_pretrained": "use model.save_quantized(path)",
    "state_dict": "use model.weights",
    "train": _TRAINING,
    "transformer": f"{_OBSERVE}, or model.weights"}

_CALL = "use tokenizer(text), which also takes a list of texts"
_FILES = "because a tokenizer has only the tokens that its files name"

TOKENIZER = {
    "add_special_tokens": f"set tokenizer.pad_token = tokenizer.eos_token to pad, {_FILES}",
    "add_tokens": f"leave it out, {_FILES}",
    "apply_chat_template": "give a text, because GPT-2 has no chat template",
    "batch_encode_plus": _CALL,
    "encode_plus": _CALL,
    "pad": "use tokenizer(texts, padding=True)",
    "save_pretrained": "copy its files from model.path, as model.save_quantized(path) does",
    "vocab": "use tokenizer.get_vocab()"}

_CUT = "use tokenizer(text, truncation=True, max_length=...).input_ids"

ENCODE = {
    "max_length": _CUT,
    "padding": "use tokenizer(text, padding=...).input_ids",
    "return_tensors": "use tokenizer(text, return_tensors='np').input_ids",
    "truncation": _CUT}
"""Arguments of Tokenizer.encode()."""

GENERATION = {
    "generated_text": "use it as it is, because a Generation is a str",
    "scores": "use model.generate(text, logprobs=0).logprobs",
    "sequences": "use token_ids",
    "text": "use it as it is, because a Generation is a str",
    "tolist": "use token_ids",
    "tokens": "use token_ids"}


class Hinted:
    """An object whose missing attributes are explained by a table."""

    _hints: Mapping[str, str] = {}

    if not TYPE_CHECKING:  # for which every attribute would exist

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}"
                                 + hint(self._hints, name))


def hint(hints: Mapping[str, str], name: str) -> str:
    """The end of a message about a name or an argument that does not exist."""
    return f": {hints[name]}" if name in hints else ""
