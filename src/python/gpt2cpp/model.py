"""The weights of a GPT-2, and the functions that use them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple,
                    Union, overload)

from ._arrays import FloatArray, float_rows, ids_array, items, row, to_json, whole, zeros
from ._library import Calls, Handle, Ids, Owned, described, get_json, lib
from ._observe import Changes, Observations, What
from ._runs import Texts, new_run
from ._weights import Weights
from .encoding import Attributes, Tokens, as_list, one_text, text_of, text_or_ids
from .errors import Error, InvalidArgumentError, NotFoundError, unexpected
from .options import GenerateOptions, merged, with_options
from .results import (Choice, Comparison, Generation, Page, Scores, choice_of, comparison_of,
                      scores_of)
from .session import Session, rows_of_pass
from .stream import Stream
from .tokenizer import (PathLike, Tokenizer, c_path, exact_path, find_model, memory_files,
                        pretrained_name, require_own)

if TYPE_CHECKING:
    from typing_extensions import Unpack

_TORCH_DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "auto": None}


class Model(Handle):
    """A GPT-2 with its tokenizer. Any number of threads may use one.

    >>> model = Model()
    >>> model.generate("Once upon a time", temperature=0, max_new_tokens=6)
    ', there was a little girl'
    >>> model.vocab_size, model.n_embd
    (4096, 256)
    """

    vocab_size: int  # the number of tokens, and of logits
    n_positions: int  # the longest sequence, in tokens
    n_embd: int  # the size of a hidden state
    n_layer: int
    n_head: int
    n_inner: int
    parameter_count: int
    bytes_per_token: int  # bytes of weights that are read for one token
    bos_token_id: Optional[int]
    eos_token_id: List[int]  # the tokens that end a text
    dtype: str
    path: str  # "" if it was loaded from memory
    config_path: str  # where the config and the tokenizer are: for an adapter, in its base
    tokenizer_path: str
    warnings: List[str]  # what may surprise: a head that is not used, for example
    config: Attributes  # as config.json has it: config["n_layer"], config.n_layer
    tokenizer: Optional[Tokenizer]  # the one in the model's directory; None if there is none

    def __init__(self, name: Optional[PathLike] = None, *, base: Optional[PathLike] = None,
                 tokenizer: Union[Tokenizer, PathLike, None] = None, dtype: Any = None,
                 threads: Optional[int] = None, kv_type: Optional[str] = None,
                 on_progress: Optional[Callable[[float], Any]] = None):
        """Loads a model by its name or path, as `gpt2 -m` finds it; downloads nothing.

        name:     default: the small model that is part of the project. An adapter of PEFT is merged
                  into its base
        base:     the base of an adapter; default: the model that the adapter names
        tokenizer:  another one, or the name of its model; default: that of the model
        dtype:    "f32", "f16", "bf16", "int8" or "int4"; default: the type of the file. "float32",
                  "float16" and "bfloat16" are other names, as is torch.float32
        threads:  the max number of threads; default: one for each physical core, and fewer for
                  small models
        kv_type:  the type of keys and values: "f32" or "f16"; default: f16 if the dtype is int8
                  or int4, and f32 otherwise
        on_progress:  called with the share of the weights converted so far
        """
        path = find_model(name)
        base = None if base is None else os.fspath(base)
        self._setup(_loaded(lib.gpt2_model_load, c_path(path), dtype=dtype, base=base,
                            on_progress=on_progress), threads, kv_type, path, base or "")
        self._arguments: Optional[Tuple[Any, ...]] = (name, base, dtype, threads, kv_type)
        if tokenizer is None:
            self._set_tokenizer(lambda: Tokenizer(self.tokenizer_path))
        else:
            self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)

    @classmethod
    def from_pretrained(cls, name_or_path: PathLike, *, revision: Optional[str] = None,
                        dtype: Any = None, torch_dtype: Any = None, **options: Any) -> Model:
        """Loads a model by its name on the HuggingFace hub, or by its path, like transformers.

        `revision` is a branch, a tag or the whole hash of a commit, as the cache has them. The
        model must be in HuggingFace's cache, or in one of the other places where `gpt2 -m` looks;
        nothing is downloaded. torch_dtype is another name of dtype, and "auto" means the type of
        the file. The other options are Model()'s.

        >>> Model.from_pretrained("no/such-model", revision="v2")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        gpt2cpp.errors.NotFoundError: ...no/such-model@v2...
        """
        return cls(pretrained_name(name_or_path, revision),
                   dtype=torch_dtype if dtype is None else dtype, **options)

    @classmethod
    def from_bytes(cls, files: Mapping[str, Any], *, dtype: Any = None,
                   threads: Optional[int] = None, kv_type: Optional[str] = None,
                   on_progress: Optional[Callable[[float], Any]] = None) -> Model:
        """Loads a model from files in memory. The keys are their names in a model's directory.

        The contents are bytes or anything else with the buffer protocol, such as an mmap. The model
        uses the weights in place, so they must not change. They are kept alive as long as the
        model or a session uses them.

        >>> from pathlib import Path
        >>> files = {file.name: file.read_bytes() for file in Path(Model().path).iterdir()}
        >>> Model.from_bytes(files).generate("Once upon", temperature=0, max_new_tokens=2)
        ' a time'
        """
        model = cls.__new__(cls)
        structs, buffers = memory_files(files)
        model._setup(_loaded(lib.gpt2_model_load_memory, structs, len(structs), dtype=dtype,
                             on_progress=on_progress, kept=buffers), threads, kv_type)
        model._arguments = None
        model._set_tokenizer(lambda: Tokenizer.from_bytes(files))
        return model

    def _set_tokenizer(self, load: Callable[[], Tokenizer]) -> None:
        try:
            self.tokenizer = load()
        except NotFoundError:
            self.tokenizer = None
            return
        self.tokenizer.model_max_length = min(self.tokenizer.model_max_length, self.n_positions)

    def _setup(self, owned: Owned, threads: Optional[int], kv_type: Optional[str],
               *paths: str) -> None:
        super().__init__(owned)
        self._engine_options = threads, kv_type
        self._engine: Optional[Owned] = None
        if threads is not None or kv_type is not None:
            self._engine = Owned(lib.gpt2_engine_new, owned,
                                 to_json(threads=threads, kv_type=kv_type),
                                 free=lib.gpt2_engine_free)
        info = get_json(lib.gpt2_model_info, owned)
        members = {**info["config"], **info, "parameter_count": info["parameters"],
                   "bytes_per_token": info["memory"]["read_for_each_token_bytes"]}
        for name in Model.__annotations__.keys() & members.keys():
            setattr(self, name, members[name])
        for name in ("path", "config_path", "tokenizer_path"):
            setattr(self, name, exact_path(info[name], *paths))
        self.config = Attributes(info["config"])

    def __reduce__(self) -> Tuple[Any, ...]:
        # A spawned process loads the files again, which takes milliseconds.
        if self._arguments is None:
            raise TypeError("a Model that was converted or loaded from memory cannot be pickled: "
                            "load it by its path, with dtype=")
        return _load, self._arguments, {"tokenizer": self.tokenizer}

    def __repr__(self) -> str:
        place = repr(self.path) if self.path else "in memory"
        return "Model(closed)" if self.closed else f"Model({place}, {self.dtype})"

    @property
    def threads(self) -> int:
        """The max number of threads that compute. Without the argument `threads`, passes use fewer
        threads if the work is too small for all of them.
        """
        return self._engine_options[0] or described["threads"]

    @property
    def generation_config(self) -> Dict[str, Any]:
        """The options that the model's generation_config.json asks for, as --hf-defaults does.

        Read from the file, or from config.json if there is none. With them, generate() writes as
        transformers does with this model if it is called without options:

        >>> model = Model()
        >>> model.generation_config["do_sample"], model.generation_config["max_new_tokens"]
        (False, 20)
        >>> len(model.generate([443, 452], **model.generation_config).token_ids)
        20
        """
        if not self.path:
            raise NotFoundError("the model in memory: has no generation_config.json on disk: give "
                                "the options themselves")
        return get_json(lib.gpt2_generation_config, c_path(self.config_path), None)

    def close(self) -> None:
        super().close()
        self._engine = None

    # -- Texts -----------------------------------------------------------------------------------

    @overload
    def generate(self, prompt: Tokens = "",  # type: ignore[misc]
                 **options: Unpack[GenerateOptions]) -> Generation: ...

    @overload
    def generate(self, prompt: Union[Tokens, Sequence[Tokens]] = "", *, on_error: str = "raise",
                 **options: Unpack[GenerateOptions]) -> List[Generation]: ...

    @with_options(GenerateOptions)
    def generate(self, prompt: Union[Tokens, Sequence[Tokens]] = "", *, on_error: str = "raise",
                 **options: Unpack[GenerateOptions]) -> Any:
        """Returns the continuation of the prompt as a Generation, which is a str.

        For a list of prompts, returns a list of texts, which are written in shared passes. With
        num_return_sequences=N and one prompt, returns N texts. Text j is the same as a single text
        with the option sequence=j. With on_error="return", a prompt that cannot be continued does
        not fail the others: its exception stands in the place of its text. The prompts may be what
        a tokenizer returned, also as in transformers' call generate(**tokenizer(...)); their
        padding is left out.

        num_beams=N searches for the most probable text, with N beams; num_return_sequences is then
        the number of texts for each prompt, best first. Each has a `score`.

        >>> model = Model()
        >>> texts = model.generate(["The cat", "One day,"], max_new_tokens=4, do_sample=False)
        >>> [text.finish_reason for text in texts]
        ['length', 'length']
        >>> model.generate("The cat", num_beams=3, max_new_tokens=4)
        ' and the dog were'
        """
        given = self._options(options)
        prompts, is_list = as_list("prompt", text_or_ids(
            "prompt", prompt, given.pop("input_ids", None), given.pop("attention_mask", None)))
        copies, first = given.get("num_return_sequences"), given.get("sequence") or 0
        n = copies or 1
        texts, scheduler = Texts(self, given, len(prompts) * n), self.new_scheduler()
        texts.check(scheduler)
        draws = given.get("num_beams", 1) == 1
        runs = _attempts(on_error, (partial(texts.run, one, scheduler,
                                            sequence=first + i * n if draws else None)
                                    for i, one in enumerate(prompts)), is_list)
        results = _attempts(on_error, (partial(_result, run) for run in runs), is_list)
        texts.end()
        found = [text for one in results for text in ([one] * n if isinstance(one, Error) else one)]
        return found if is_list or copies is not None else found[0]

    @with_options(GenerateOptions)
    def stream(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> Stream:
        """Like generate(), but returns an iterator over the pieces of the text as it is written.

        >>> stream = Model().stream("Once", temperature=0, max_new_tokens=3)
        >>> list(stream)
        [' upon', ' a', ' time']
        >>> stream.result.finish_reason
        'length'
        """
        return self.session().stream(prompt, **options)

    def session(self, max_tokens: Optional[int] = None) -> Session:
        """An empty session with room for max_tokens tokens, by default the model's n_positions."""
        return Session(self, Owned(lib.gpt2_session_new, self._use(), self._engine,
                                   to_json(max_tokens=max_tokens), free=lib.gpt2_session_free))

    def load_session(self, path: PathLike, max_tokens: Optional[int] = None) -> Session:
        """Loads a session from a file of Session.save(). It continues with the same bits."""
        return Session(self, Owned(lib.gpt2_session_load, self._use(), self._engine, c_path(path),
                                   to_json(max_tokens=max_tokens), free=lib.gpt2_session_free))

    # -- Numbers ---------------------------------------------------------------------------------

    def logits(self, text: Tokens = "", *, input_ids: Any = None,
               attention_mask: Any = None) -> FloatArray:
        """The logits after each token of the text: (n_tokens, vocab_size) floats.

        The text may be what a tokenizer returned, also as in logits(**tokenizer(...)). This is one
        forward pass. Ctrl-C cannot interrupt it and takes effect when it is over. The same is true
        of hidden_states() with a layer, and of these two functions of a Session.
        """
        ids = self.encode("text", text, input_ids, attention_mask)
        return self._rows(ids, self.vocab_size, lib.gpt2_forward, None)

    @overload
    def hidden_states(self, text: Tokens = "", *, input_ids: Any = None,
                      attention_mask: Any = None) -> Tuple[FloatArray, ...]: ...

    @overload
    def hidden_states(self, text: Tokens, layer: int) -> FloatArray: ...

    @overload
    def hidden_states(self, text: Tokens = "", *, layer: int, input_ids: Any = None,
                      attention_mask: Any = None) -> FloatArray: ...

    def hidden_states(self, text: Tokens = "", layer: Optional[int] = None, *,
                      input_ids: Any = None, attention_mask: Any = None) -> Any:
        """The hidden states of each token: n_layer + 1 arrays of (n_tokens, n_embd) floats.

        The result is the tuple of transformers' output_hidden_states=True, without the dimension of
        the batch: the embeddings first, and last the output of the last block after ln_f. With a
        `layer`, returns that array alone: 0 stands for the embeddings, n_layer or -1 for the last.
        """
        ids = self.encode("text", text, input_ids, attention_mask)
        if layer is None:
            seen = self.observe(ids, ("embeddings", "block_output", "ln_f_output"))
            return tuple(seen.hidden_states)
        return self._rows(ids, self.n_embd, lib.gpt2_hidden_states, whole("layer", layer, -2**31))

    def _rows(self, ids: List[int], width: int, function: Any, argument: Any) -> FloatArray:
        with self.session() as session:
            return rows_of_pass(session._use(), ids_array("text", ids), len(ids), width, function,
                                argument)

    def unembed(self, states: Any, *, ln_f: bool = False) -> FloatArray:
        """The logits for hidden states: (..., vocab_size) floats for (..., n_embd) floats.

        This is transformers' model.lm_head(states) or, with ln_f=True,
        model.lm_head(model.transformer.ln_f(states)). The last of the hidden_states() has been
        through ln_f; the others have not, so a logit lens asks for it. Without numpy, the states
        are a list of floats or a list of such lists.

        >>> model = Model()
        >>> states = model.hidden_states("Once upon a")
        >>> lens = model.unembed(states[model.n_layer - 1], ln_f=True)
        >>> lens.shape == model.unembed(states[-1]).shape == (3, model.vocab_size)
        True
        """
        given, shape = float_rows("states", states, self.n_embd)
        out, address = zeros((*shape, self.vocab_size))
        lib.gpt2_unembed(self._use(), self._engine, given.address, given.size // (4 * self.n_embd),
                         int(bool(ln_f)), address)
        return out

    @property
    def weights(self) -> Weights:
        """The tensors by transformers' names, as read-only numpy arrays. Nothing is copied.

        >>> weights = Model().weights
        >>> "h.0.attn.c_attn.weight" in weights, weights.shape("wte.weight")
        (True, (4096, 256))
        """
        return Weights(self._use(), bool(self.config["tie_word_embeddings"]), repr(self))

    def observe(self, text: Tokens = "", what: What = None,
                layers: Optional[Iterable[int]] = None, *,
                change: Optional[Changes] = None, input_ids: Any = None,
                attention_mask: Any = None) -> Observations:
        """The values that a pass over the text computes. Observations lists names and shapes.

        `what` is one name or several, and `layers` are the numbers of blocks. By default, all
        values are observed, which takes much memory for long texts. A name may also be that of a
        hook of TransformerLens, such as "blocks.3.hook_attn_out", which names the layer, so that
        `layers` must not be given. A pair such as ("attn_output", 3) does so, too.

        `change` intervenes in the pass: a dict of functions by name and layer, such as
        {("head_outputs", 3): f}. The pass calls f(values, place) with a row of values for each
        token and a Place, and goes on with what f leaves in the array. What is observed are the
        changed values. The function must not use the model, whose functions raise an error in it.
        It gets the shapes that Observations lists, also if the key is a hook of TransformerLens. If
        mean or rstd of statistics are changed, the LayerNorm uses these (the variance has no
        effect); attention weights are changed head by head.

        >>> model = Model()
        >>> seen = model.observe("Once upon a time", "attention_weights", layers=[0])
        >>> list(seen), seen["attention_weights", 0].shape
        ([('attention_weights', 0)], (4, 4, 4))

        The most probable next token if the feed-forward layer of block 2 adds nothing:

        >>> def zero(values, place):
        ...     for i in range(values.shape[0]):
        ...         for j in range(values.shape[1]):
        ...             values[i, j] = 0  # with numpy: values[:] = 0
        >>> seen = model.observe("Once upon a", "ln_f_output", change={("mlp_output", 2): zero})
        >>> logits = model.unembed(seen["ln_f_output", model.n_layer]).tolist()[-1]
        >>> model.tokenizer.decode(logits.index(max(logits)))
        ' time'
        """
        ids = self.encode("text", text, input_ids, attention_mask)
        with self.session() as session:
            return session.observe(ids, what, layers, change=change)

    def inspect(self, text: Tokens = "", *, input_ids: Any = None, attention_mask: Any = None,
                top: Optional[int] = None, skip_layer: Optional[Sequence[int]] = None,
                skip_head: Optional[Sequence[str]] = None,
                skip_mlp: Optional[Sequence[int]] = None,
                identity_norm: Optional[Sequence[str]] = None,
                on_progress: Optional[Callable[[float], Any]] = None) -> Page:
        """What the model computes for a text, as the page that a notebook or a browser shows.

        `top` is the number of predictions in lists. The other options change the pass, which is
        then compared with the unchanged one: skip_layer=[2], skip_head=["2.1"], skip_mlp=[2] and
        identity_norm=["ln_1.2"].

        >>> Model().inspect("The cat")[:15]
        '<!doctype html>'
        """
        ids = self.encode("text", text, input_ids, attention_mask)
        return Page(new_run(self, "inspect_page", on_progress, prompt=ids, top=top,
                            skip_layer=skip_layer, skip_head=skip_head, skip_mlp=skip_mlp,
                            identity_norm=identity_norm).result())

    # -- Scores and vectors ----------------------------------------------------------------------

    def score(self, texts: Union[Tokens, Sequence[Tokens]] = "", *, input_ids: Any = None,
              attention_mask: Any = None, add_bos: bool = False, context: Optional[int] = None,
              stride: Optional[int] = None, top_logprobs: Optional[int] = None,
              truncate: bool = False, on_error: str = "raise",
              on_progress: Optional[Callable[[float], Any]] = None) -> Scores:
        """Computes how well the model predicts a text, or a list of texts: together, and each one.

        Nothing predicts the first token, so a text of fewer than two has the perplexity NaN. With
        add_bos=True, the token that begins texts stands before each one, so that its first token
        counts: the model's bos token, or else its end-of-text token.
        The texts may be what a tokenizer returned, also as in score(**tokenizer(...)).

        Long texts are scored in windows of `context` tokens that begin `stride` tokens apart, as
        transformers' page "Perplexity of fixed-length models" does. With truncate=True, only the
        first window is scored, as transformers scores a text that its tokenizer has truncated.
        With on_error="return", a text that cannot be scored does not fail the others: its exception
        stands in `texts` of the result. on_progress is called with the share of the work done so
        far.

        >>> scores = Model().score("The cat sat on the mat.")
        >>> round(scores.perplexity)
        31
        >>> both = Model().score(["The cat sat on the mat.", "The mat sat on the cat."])
        >>> [round(text.perplexity) for text in both.texts]
        [31, 259]
        """
        listed, is_list = as_list("texts", text_or_ids("texts", texts, input_ids, attention_mask))
        if truncate:
            end = (context or self.n_positions) - int(add_bos)
            listed = [self.encode("texts", one)[:end] for one in listed]
        options = {"add_bos": add_bos, "context": context, "stride": stride,
                   "logprobs": top_logprobs or 0}
        usable = _Usable(on_error, listed, lambda one: new_run(self, "score", None, texts=[one],
                                                               **options))
        run = new_run(self, "score", on_progress, texts=usable.texts, **options)
        scores = scores_of(run.result())
        return scores._replace(texts=usable.merge(scores.texts))

    def choices(self, context: Tokens, continuations: Sequence[Tokens], *,
                add_bos: bool = False, top_logprobs: Optional[int] = None, truncate: bool = False,
                on_error: str = "raise",
                on_progress: Optional[Callable[[float], Any]] = None) -> List[Choice]:
        """Computes the log-probability of each continuation of the context. With add_bos=True, the
        token that begins texts stands before the context, which may be empty.

        truncate=True leaves out the beginning of the context, so that the longest continuation
        fits. With on_error="return", a continuation that cannot be scored does not fail the others:
        its exception stands in the place of its Choice.

        >>> cat, sky = Model().choices("The cat", [" was happy", " sky seven"])
        >>> cat.mean > sky.mean
        True
        """
        listed = [text_of("continuations", one) for one in
                  items("continuations", continuations, "a list of texts or token ids")]
        before: Any = one_text("context", text_or_ids("context", context))
        if truncate:
            longest = max((len(self.encode("continuations", one, add_special_tokens=False))
                           for one in listed), default=0)
            room = max(self.n_positions + 1 - longest, 1) - int(add_bos)
            before = self.encode("context", before)
            before = before[max(len(before) - room, 0):]
        options = {"context": before, "add_bos": add_bos, "logprobs": top_logprobs or 0}
        usable = _Usable(on_error, listed, lambda one: new_run(self, "choices", None,
                                                               choices=[one], **options))
        run = new_run(self, "choices", on_progress, choices=usable.texts, **options)
        return usable.merge(map(choice_of, run.result()["choices"]))

    def compare_perplexity(self, other: Model, text: Tokens, *,
                           on_progress: Optional[Callable[[float], Any]] = None) -> Comparison:
        """Scores a text with this model and another, such as its quantized copy.

        The perplexities agree with that of score() in 7 digits or so, because score() rounds the
        logprob of each token to a float, and this function does not.

        >>> model = Model()
        >>> cost = model.compare_perplexity(model.convert("int8"), "The cat sat on the mat.")
        >>> abs(cost.change) < 0.1
        True
        """
        if not isinstance(other, Model):
            raise unexpected("other", 'a Model, such as model.convert("int4")', other)
        ids, calls = ids_array("text", self.encode("text", text)), Calls()
        return comparison_of(calls.run(
            get_json, lib.gpt2_compare, self._use(), self._engine, other._use(), other._engine,
            ids, len(ids), calls.progress(on_progress), None))

    def embed(self, texts: Union[Tokens, Sequence[Tokens]] = "", *, input_ids: Any = None,
              attention_mask: Any = None, layer: Optional[int] = None,
              pooling: Optional[str] = None, truncate: bool = False, on_error: str = "raise",
              on_progress: Optional[Callable[[float], Any]] = None) -> Any:
        """A vector for a text: n_embd floats; or one for each text of a list: (n_texts, n_embd).

        The texts may be what a tokenizer returned, also as in embed(**tokenizer(...)).
        The vector is the mean of the text's hidden states or, with pooling="last", the last one.
        truncate=True leaves out the end of a text that is longer than n_positions, as the
        tokenizer's truncation=True does. With on_error="return", the result for a list is a list of
        vectors, and the exception of a text that has none stands in its place.
        """
        listed, is_list = as_list("texts", text_or_ids("texts", texts, input_ids, attention_mask))

        def encoded(one: Any) -> List[int]:
            ids = self.encode("texts", one)
            return ids[:self.n_positions] if truncate else ids

        usable = _Usable(on_error, listed, lambda one: new_run(self, "embeddings", None,
                                                               input=[encoded(one)]))
        arrays = [ids_array("texts", encoded(one)) for one in usable.texts]
        structs = (Ids * len(arrays))(*(Ids(ids, len(ids)) for ids in arrays))
        out, address = zeros((len(arrays), self.n_embd))
        calls = Calls()
        calls.run(lib.gpt2_embed, self._use(), self._engine, structs, len(structs),
                  to_json(layer=layer, pooling=pooling), calls.progress(on_progress), None, address)
        if is_list and on_error == "raise":
            return out
        rows = usable.merge(row(out, i) for i in range(len(arrays)))
        return rows if is_list else rows[0]

    # -- Weight types ----------------------------------------------------------------------------

    def convert(self, dtype: str) -> Model:
        """The same model with its matrices converted to another type, for example as a draft.

        It has the `threads` and the kv_type that this model was loaded with.
        """
        converted = Model.__new__(Model)
        converted._setup(Owned(lib.gpt2_model_convert, self._use(), str(_dtype(dtype)).encode(),
                               free=lib.gpt2_model_free), *self._engine_options, self.path,
                         self.config_path, self.tokenizer_path)
        converted._arguments, converted.tokenizer = None, self.tokenizer
        return converted

    def save_quantized(self, path: PathLike) -> None:
        """Writes a model of type int8 or int4 to a new directory, which Model() loads."""
        lib.gpt2_model_save_quantized(self._use(), c_path(path))

    # -- For the other modules of the package ----------------------------------------------------

    def new_scheduler(self) -> Owned:
        return Owned(lib.gpt2_scheduler_new, self._use(), self._engine, None,
                     free=lib.gpt2_scheduler_free)

    @property
    def owned_tokenizer(self) -> Optional[Owned]:
        return None if self.tokenizer is None else self.tokenizer._use()

    def require_tokenizer(self) -> Tokenizer:
        if self.tokenizer is None:
            raise NotFoundError(f"{self.path or 'the model in memory'}: has no tokenizer, which "
                                "texts need: give token ids")
        return self.tokenizer

    def _options(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        """The options with those of generation_config, without the tokenizer."""
        given = merged(options)
        require_own(given.pop("tokenizer", None), self.tokenizer)
        return given

    def prompt_and_options(self, prompt: Any,
                           options: Mapping[str, Any]) -> Tuple[Any, Dict[str, Any]]:
        """The prompt of a single text, which may be the option input_ids, and the other options."""
        given = self._options(options)
        return one_text("prompt", text_or_ids("prompt", prompt, given.pop("input_ids", None),
                                              given.pop("attention_mask", None))), given

    def encode(self, name: str, text: Any, input_ids: Any = None, attention_mask: Any = None, *,
               add_special_tokens: bool = True) -> List[int]:
        """The token ids of the argument `name`."""
        text = one_text(name, text_or_ids(name, text, input_ids, attention_mask))
        if not isinstance(text, str):
            return list(ids_array(name, text))
        tokenizer = self.require_tokenizer()
        ids = tokenizer.encode(text, add_special_tokens=add_special_tokens, post_process=False)
        if max(ids, default=0) >= self.vocab_size:
            one = max(ids)
            raise InvalidArgumentError(
                f"{name}: expected token ids from 0 to {self.vocab_size - 1}, got {one}, which is "
                f"{tokenizer.decode([one])!r} in the tokenizer of {self.path}")
        return ids


def _load(name: Optional[PathLike], base: Optional[str], dtype: Any, threads: Optional[int],
          kv_type: Optional[str]) -> Model:
    return Model(name, base=base, dtype=dtype, threads=threads, kv_type=kv_type)


def _dtype(dtype: Any) -> Any:
    """The library's name of a type, which torch may call "torch.float32"."""
    name = str(dtype).replace("torch.", "")
    return None if dtype is None else _TORCH_DTYPES.get(name, name)


def _loaded(function: Callable[..., int], *arguments: Any, dtype: Any, on_progress: Any,
            base: Optional[str] = None, kept: Tuple[Any, ...] = ()) -> Owned:
    """The handle of a model that the function loads."""
    calls = Calls()
    return calls.run(lambda: Owned(function, *arguments, to_json(dtype=_dtype(dtype), base=base),
                                   calls.progress(on_progress), None, free=lib.gpt2_model_free,
                                   kept=kept))


def _result(run: Any) -> Any:
    if isinstance(run, Error):
        raise run
    return run.result()


def _attempts(on_error: str, functions: Iterable[Callable[[], Any]], is_list: bool) -> List[Any]:
    """The results of the functions, one for each text of a list. With on_error="return", the Error
    that a function raises stands in the place of its result."""
    if on_error not in ("raise", "return"):
        raise unexpected("on_error", "'raise' or 'return'", on_error)
    results: List[Any] = []
    for place, function in enumerate(functions):
        try:
            results.append(function())
        except Error as error:
            if on_error == "raise":
                where = f"text {place} of the list: " if is_list else ""
                raise type(error)(where + str(error)) from None
            results.append(error)
    return results


class _Usable:
    """The texts of a list without those that `check` raises an Error for. With on_error="raise",
    all of them, because the library raises it."""

    def __init__(self, on_error: str, texts: List[Any], check: Callable[[Any], Any]):
        functions = [] if on_error == "raise" else [partial(check, text) for text in texts]
        self._checked = _attempts(on_error, functions, True) or texts
        self.texts = [text for text, one in zip(texts, self._checked)
                      if not isinstance(one, Error)]

    def merge(self, results: Iterable[Any]) -> List[Any]:
        """The results of the texts, and the errors of the others in their places."""
        ordered = [*results][::-1]
        return [one if isinstance(one, Error) else ordered.pop() for one in self._checked]
