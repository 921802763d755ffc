"""The options of generation, with HuggingFace's names, as the C interface has them."""

from __future__ import annotations

from ctypes import byref, memmove, pointer
from numbers import Integral
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple,
                    TypedDict, Union)

from . import _structs as c
from ._arrays import ids_array, ids_struct, int32, int32_array, items, zeros
from ._handle import defaults, new
from ._library import lib
from ._options import BEAMS, DRAWS, GENERATION, SAMPLING, Option, count, flag, texts
from ._progress import TokenCount
from ._streamer import StreamerCalls
from ._texts import require_known
from ._work import Work, stops
from .errors import InvalidArgumentError, did_you_mean, shown

if TYPE_CHECKING:
    from .model import Model

Processor = Callable[[Any, Any], Any]


class SamplingOptions(TypedDict, total=False):
    """How the next token is chosen: the options of a Sampler, and of generate() and stream().

    help(Model.generate) describes them. The defaults are those of the gpt2 command: temperature
    0.8, top_k 40, seed 0. Options that HuggingFace has as well have its names and formulas.
    """

    do_sample: bool
    temperature: float
    top_k: int
    top_n_sigma: float
    top_p: float
    min_p: float
    typical_p: float
    epsilon_cutoff: float
    eta_cutoff: float
    seed: int
    sequence: int
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    logit_bias: Dict[int, float]
    sequence_bias: Dict[Tuple[int, ...], float]
    no_repeat_ngram_size: int
    bad_words_ids: Sequence[Sequence[int]]
    suppress_tokens: Sequence[int]
    begin_suppress_tokens: Sequence[int]
    forced_bos_token_id: int
    forced_eos_token_id: Union[int, Sequence[int]]
    min_new_tokens: int
    min_length: int
    exponential_decay_length_penalty: Tuple[int, float]
    remove_invalid_values: bool
    renormalize_logits: bool


class GenerateOptions(SamplingOptions, total=False):
    """The options of generate() and stream(), in addition to those of SamplingOptions.

    help(Model.generate) describes them. The default of max_new_tokens is 256. Callbacks must not
    use the session of the call. They run on another thread if the main thread makes the call.
    """

    input_ids: Any
    attention_mask: Any
    max_new_tokens: int
    max_length: int
    stop: Union[str, Sequence[str]]
    stop_strings: Union[str, Sequence[str]]
    stop_tokens: Sequence[int]
    eos_token_id: Union[int, Sequence[int]]
    ignore_eos: bool
    overflow: str
    keep: int
    logprobs: int
    draft: Model
    prompt_lookup: bool
    max_draft_tokens: int
    constant_draft: bool
    logits_processor: Union[Processor, Sequence[Processor]]
    on_prompt: Callable[[int, int], Any]
    on_progress: Callable[[float], Any]
    streamer: Any
    truncate: bool
    generation_config: Any
    tokenizer: Any
    use_cache: bool
    num_beams: int
    length_penalty: float
    early_stopping: Union[bool, str]


class SamplingArguments:
    """The options of sampling for the C interface, and the objects that they refer to.

    ctypes keeps the targets of pointers in a struct alive; handles are in _kept.
    """

    def __init__(self, given: Dict[str, Any]):
        self._left = dict(given)
        self._kept: List[Any] = []
        self.sampling = defaults(c.SamplingOptions, lib.gpt2_sampling_options_init)
        self.sampling.temperature, self.sampling.top_k = 0.8, 40
        self._set_all(self.sampling, SAMPLING)
        do_sample = self._take("do_sample")
        if do_sample is not None and not flag("do_sample", do_sample):
            self.sampling.temperature = 0.0

    def refuse_others(self, why: str) -> None:
        """Refuses the options that have not been taken. `why` explains it for those that exist."""
        require_options(self._left)
        for name, value in self._left.items():
            if value is not None and value != _NEUTRAL.get(name) and value not in ([], ()):
                raise ValueError(f"{name}: {why}")

    def check(self, model: Model) -> None:
        """Raises an error if the library would refuse these options for every text."""
        limits = defaults(c.SequenceLimits, lib.gpt2_sequence_limits_init)
        new(lib.gpt2_sampler_new, byref(self.sampling), model.vocab_size, byref(limits),
            free=lib.gpt2_sampler_free)

    def _take(self, name: str) -> Any:
        """The value of an option, or None if it is not given, which stands for the default."""
        return self._left.pop(name, None)

    def _set_all(self, struct: Any, options: Dict[str, Option]) -> None:
        for name, option in options.items():
            value = self._take(name)
            if value is not None:
                option.set(struct, value)

    def _set(self, struct: Any, name: str, convert: Callable[[str, Any], int]) -> None:
        value = self._take(name)
        if value is not None:
            setattr(struct, name, convert(name, value))

    def _ignore(self, name: str, convert: Callable[[str, Any], int]) -> None:
        """Takes an option that has no effect, and checks its value."""
        value = self._take(name)
        if value is not None:
            convert(name, value)


class _TextArguments(SamplingArguments):
    """The common part of the options of generation and of beam search.

    `n_prompt` is the number of tokens before the first new one, also those of a session.
    """

    def __init__(self, struct: Any, given: Dict[str, Any], n_prompt: int, vocab_size: int,
                 work: Work):
        super().__init__(given)
        self.struct = struct
        self._kept.append(work.cancel_flag)
        self.struct.cancel = work.cancel_flag.address
        self._set_length(n_prompt)
        self._set_ends(vocab_size)
        self._ignore("use_cache", flag)
        self._ignore("pad_token_id", int32)
        on_prompt = self._take("on_prompt")
        if on_prompt is not None:
            self.struct.on_prompt = c.OnPrompt(work.callback("on_prompt", on_prompt))
        processors = self._take("logits_processor")
        if processors is not None:
            name = "logits_processor"
            listed = ([processors] if callable(processors)
                      else items(name, processors, "a function or a list of functions"))
            self.sampling.on_scores = c.OnScores(work.callback(name, _process_with(name, listed)))
        self.struct.sampling = pointer(self.sampling)

    def _set_ends(self, vocab_size: int) -> None:
        """Sets the tokens that end the text. eos_token_id replaces those of the model."""
        self._set(self.struct, "ignore_eos", flag)
        if self._left.get("eos_token_id") is not None:
            self.struct.ignore_eos = 1
        tokens: List[int] = []
        for name in ("stop_tokens", "eos_token_id"):
            ends = self._take(name)
            if ends is not None:
                is_one = name == "eos_token_id" and isinstance(ends, Integral)
                ids = ids_array([ends] if is_one else ends, name)
                require_known(ids, vocab_size, f"{name}: ")
                tokens += ids
        self.struct.stop_tokens = ids_struct(tokens)

    def _set_length(self, n_prompt: int) -> None:
        max_length = self._take("max_length")
        if max_length is not None and self._left.get("max_new_tokens") is None:
            if count("max_length", max_length) <= n_prompt:
                raise InvalidArgumentError(
                    f"max_length is {max_length} and includes the prompt, but the text has "
                    f"{n_prompt} tokens already: give max_new_tokens")
            self.struct.max_new_tokens = max_length - n_prompt
        self._set(self.struct, "max_new_tokens", count)


class GenerateArguments(_TextArguments):
    """The options for drawing one text."""

    streamer: Optional[StreamerCalls] = None

    def __init__(self, given: Dict[str, Any], n_prompt: int, vocab_size: int, work: Work):
        struct = defaults(c.GenerateOptions, lib.gpt2_generate_options_init)
        super().__init__(struct, given, n_prompt, vocab_size, work)
        self._join_stop_strings()
        self._set_all(self.struct, GENERATION)
        self._set(self.struct, "prompt_lookup", flag)
        self._set(self.struct, "constant_draft", flag)
        self._set(self.struct, "max_draft_tokens", count)
        self._watch(work)
        draft = self._take("draft")
        if draft is not None:
            from .model import Model
            if not isinstance(draft, Model):
                raise TypeError('draft: expected a Model, such as model.convert("int4"), found '
                                f"{shown(draft)}")
            owned = draft._use()
            self._kept.append(owned)
            self.struct.draft = owned.address
        self.refuse_others("is for a beam search: give Model.generate() a num_beams of at least 2, "
                           "too")

    def _watch(self, work: Work) -> None:
        """Sets the callback that gets each new token, for streamer and on_progress."""
        streamer, on_progress = self._take("streamer"), self._take("on_progress")
        watchers: List[Any] = []
        if streamer is not None:
            self.streamer = StreamerCalls(streamer)
            watchers.append(self.streamer)
        if on_progress is not None:
            if not callable(on_progress):
                raise TypeError(f"on_progress: expected a function, found {shown(on_progress)}")
            watchers.append(TokenCount(on_progress, self.struct.max_new_tokens))
        self._watchers = watchers
        if watchers:
            self.struct.on_token = c.OnToken(work.callback(
                "on_token", lambda id: not any([stops(one.on_token(id)) for one in watchers])))

    def begin(self, prompt: List[int]) -> None:
        """Shows the prompt to the streamer."""
        if self.streamer is not None:
            self.streamer.begin(prompt)

    def end(self) -> None:
        """Tells the watchers that the text has ended."""
        for watcher in self._watchers:
            watcher.end()

    def _join_stop_strings(self) -> None:
        """Adds stop_strings, which is HuggingFace's name, to stop."""
        given = {name: self._take(name) for name in ("stop", "stop_strings")}
        joined = [text for name, value in given.items() if value is not None
                  for text in texts(name, value)]
        if joined:
            self._left["stop"] = joined


class BeamArguments(_TextArguments):
    """The options of a beam search."""

    def __init__(self, given: Dict[str, Any], n_prompt: int, vocab_size: int, work: Work):
        struct = defaults(c.BeamOptions, lib.gpt2_beam_options_init)
        super().__init__(struct, given, n_prompt, vocab_size, work)
        self._set_all(self.struct, BEAMS)
        for name in DRAWING:
            if given.get(name):
                self._left[name] = given[name]
        self.refuse_others("cannot be combined with num_beams: leave one of them out")


def _process_with(name: str,
                  processors: List[Processor]) -> Callable[[int, int, int, int], None]:
    for processor in processors:
        if not callable(processor):
            raise TypeError(f"{name}: expected functions, found {shown(processor)}")

    def process(scores: int, n_scores: int, ids: int, n_ids: int) -> None:
        # The functions may keep these copies, as they may keep transformers' tensors, whereas the
        # library soon overwrites and frees its own arrays.
        array, address = zeros((n_scores,))
        memmove(address, scores, 4 * n_scores)
        tokens = int32_array(ids, n_ids)
        for processor in processors:
            result = processor(tokens, array)
            if result is not None and result is not array:
                raise TypeError(f"{name}: the function must change the scores in place and return "
                                f"nothing, but it returned {shown(result)}")
        memmove(scores, address, 4 * n_scores)

    return process


DRAWING = ("do_sample", *(name for name, option in SAMPLING.items() if option.role == DRAWS))
# Values that ask for nothing, as None does.
_NEUTRAL = {"num_beams": 1, "length_penalty": 1, "early_stopping": False,
            "overflow": "stop", "keep": 0, "prompt_lookup": False,
            "constant_draft": False, "ignore_eos": False, "truncate": False}

# What to do instead of giving an option that only transformers has.
_INSTEAD = {
    "inputs": "give the prompt as the first argument",
    "bos_token_id": "leave it out, because the model has its own",
    "max_time": "give an on_progress that returns False when the time is over",
    "stopping_criteria": "give stop, stop_tokens or an on_progress that returns False",
    "stop_sequence": "give stop",
    "prefix_allowed_tokens_fn": "give a logits_processor that sets the other scores to -inf",
    "force_words_ids": "give sequence_bias",
    "constraints": "give sequence_bias",
    "assistant_model": "give draft",
    "num_assistant_tokens": "give max_draft_tokens",
    "prompt_lookup_num_tokens": "give prompt_lookup=True and max_draft_tokens",
    "past_key_values": "use Model.session(), which keeps them",
    "return_dict_in_generate": "leave it out, because texts have token_ids and finish_reason",
    "output_scores": "give logprobs=5, for example, and read logprobs of the text",
    "output_logits": "use Model.logits()",
    "output_hidden_states": "use Model.hidden_states()",
    "output_attentions": 'use Model.observe(text, "attention_weights")',
    "handle_long_generation": "give truncate=True",
    "num_return_sequences": "use Model.generate(), because a stream or a session writes one text",
    "return_tensors": "use Model.generate(), whose texts have token_ids",
    "clean_up_tokenization_spaces": "leave it out, because no spaces are removed"}


def unknown(name: str, names: Iterable[str], where: str) -> TypeError:
    """The error for an option that is none of the names. `where` is the place that lists them."""
    advice = _INSTEAD.get(name)
    hint = did_you_mean(name, names) if advice is None else f": {advice}"
    return TypeError(f"unknown option {name}{hint or ': see ' + where}")


def require_options(names: Iterable[str]) -> None:
    """Refuses names that are no options of generate()."""
    for name in names:
        if name not in GenerateOptions.__annotations__:
            raise unknown(name, GenerateOptions.__annotations__, "help(Model.generate)")


def require_different(number: int, options: Dict[str, Any]) -> None:
    """Refuses several texts of one prompt that are all the same, as transformers does."""
    given = {name: options.get(name) for name in ("do_sample", "temperature")}
    if number > 1 and SamplingArguments(given).sampling.temperature == 0:
        raise ValueError(f"num_return_sequences is {number}, but without do_sample and beams all "
                         "texts are the same: leave it out, or give do_sample=True or num_beams")


def without_lengths(options: Dict[str, Any]) -> Dict[str, Any]:
    """The options but those whose meaning depends on the prompt."""
    return {**options, "max_length": None, "truncate": None}


def max_new_tokens_of(options: Dict[str, Any]) -> int:
    """The max number of new tokens if it does not depend on the prompt; 1 with max_length."""
    given = options.get("max_new_tokens")
    if given is not None:
        return count("max_new_tokens", given)
    if options.get("max_length") is not None:
        return 1
    return int(defaults(c.GenerateOptions, lib.gpt2_generate_options_init).max_new_tokens)
