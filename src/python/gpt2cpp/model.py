"""The weights of a GPT-2, and the functions that use them."""

from __future__ import annotations

import json
import os
from ctypes import byref, c_int32
from typing import (TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple,
                    Union, overload)

from . import _structs as c
from . import _beams, _generation_config, _numbers
from ._arrays import ids_array, ids_list, int32, items, whole, without_iterators
from ._batch import write_text, write_texts
from ._handle import Owned, defaults, new
from ._hub import PathLike, dtype_of, not_downloaded, pretrained_name, refuse_others
from ._library import lib
from ._numbers import Tokens, as_list
from ._option_help import with_options
from ._options import count, flag, named
from ._texts import Failures, fit_prompt
from ._work import OnProgress, Work
from .encoding import Attributes, ids_of, text_or_ids
from .errors import InvalidArgumentError, NotFoundError, shown
from .options import max_new_tokens_of, require_different
from .results import Generation
from .session import Session
from .stream import AsyncStream, Stream
from .tokenizer import Tokenizer, c_path, find_path, memory_files, require_own

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import GenerateOptions

DTYPES = ("stored", "f32", "f16", "bf16", "int8", "int4")
_TORCH_DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
KV_TYPES = ("auto", "f32", "f16")
_MAX_SAMPLES = 1 << 20  # GenerationConfig::kMaxSamples of the library


class Model(_numbers.Model):
    """A GPT-2 with its tokenizer. Any number of threads may use one.

    >>> model = Model()
    >>> model.generate("Once upon a time", temperature=0, max_new_tokens=6)
    ', there was a little girl'
    >>> model.vocab_size, model.n_embd
    (4096, 256)
    """

    def __init__(self, name: Optional[PathLike] = None, *, dtype: Optional[str] = None,
                 threads: Optional[int] = None, kv_type: Optional[str] = None,
                 on_progress: OnProgress = None):
        """Loads a model by its name or path, as `gpt2 -m` finds it; downloads nothing.

        name:     default: the small model that is part of the project
        dtype:    "f32", "f16", "bf16", "int8" or "int4"; default: the type of the file. "float32",
                  "float16" and "bfloat16" are other names, as is torch.float32
        threads:  the max number of threads; 0 (default): one for each physical core, and fewer
                  for small models
        kv_type:  the type of keys and values: "f32" or "f16"; default: f16 if the dtype is int8
                  or int4, and f32 otherwise
        on_progress:  called with the share of the weights converted so far
        """
        self._setup(_loaded(lib.gpt2_model_load, c_path(find_path(name)), dtype=dtype,
                            on_progress=on_progress), threads, kv_type)
        self._arguments: Optional[Tuple[Any, ...]] = (name, dtype, threads, kv_type)
        self._set_tokenizer(lambda: Tokenizer(self.path))

    @classmethod
    def from_pretrained(cls, name_or_path: PathLike, *, revision: Optional[str] = None,
                        local_files_only: bool = True, dtype: Optional[str] = None,
                        torch_dtype: Optional[str] = None, threads: Optional[int] = None,
                        kv_type: Optional[str] = None, on_progress: OnProgress = None,
                        **others: Any) -> Model:
        """Loads a model by its name on the HuggingFace hub, or by its path, like transformers.

        `revision` is a branch, a tag or the whole hash of a commit, as the cache has them. The
        model must be in HuggingFace's cache, or in one of the other places where `gpt2 -m` looks;
        nothing is downloaded, whatever local_files_only is. torch_dtype is another name of dtype,
        and "auto" means the type of the file. The other arguments are Model()'s. Those that only
        transformers has raise a TypeError that says what to do instead, unless they change nothing,
        as device_map="cpu" does.

        >>> Model.from_pretrained("no/such-model", revision="v2")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        gpt2cpp.errors.NotFoundError: ... run 'hf download no/such-model --revision v2' first
        """
        refuse_others(others)
        dtype = dtype_of(dtype, torch_dtype)
        flag("local_files_only", local_files_only)
        name = pretrained_name(name_or_path, revision)
        try:
            path = find_model(name)
        except NotFoundError as error:
            raise not_downloaded(error) from None
        return cls(path, dtype=dtype, threads=threads, kv_type=kv_type, on_progress=on_progress)

    @classmethod
    def from_bytes(cls, files: Mapping[str, Any], *, dtype: Optional[str] = None,
                   threads: Optional[int] = None, kv_type: Optional[str] = None,
                   on_progress: OnProgress = None) -> Model:
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
        self._tokenizer: Optional[Tokenizer] = _if_found(load)
        if self._tokenizer is not None:
            limit = min(self._tokenizer.model_max_length, self.n_positions)
            self._tokenizer.model_max_length = limit

    def _setup(self, owned: Owned, threads: Optional[int] = None,
               kv_type: Optional[str] = None) -> None:
        super().__init__(owned)
        self._engine: Optional[Owned] = None
        self._engine_options = threads, kv_type
        if threads is not None or kv_type is not None:
            options = defaults(c.EngineOptions, lib.gpt2_engine_options_init)
            options.threads = int32("threads", threads or 0)
            options.kv_type = named("kv_type", kv_type or "auto", KV_TYPES)
            self._engine = new(lib.gpt2_engine_new, owned, byref(options),
                               free=lib.gpt2_engine_free)
        info = lib.gpt2_model_get_info(owned).contents
        for name in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner",
                     "parameter_count", "bytes_per_token"):
            setattr(self, name, getattr(info, name))
        self.bos_token_id = info.bos_token_id if info.bos_token_id >= 0 else None
        self.dtype = DTYPES[info.dtype]
        self.path = os.fsdecode(info.path)
        self.config = Attributes(json.loads(info.config_json))
        self.eos_token_id = ids_list(info.eos_token_id, info.n_eos_token_id)

    vocab_size: int  # the number of tokens, and of logits
    n_positions: int  # the longest sequence, in tokens
    n_embd: int  # the size of a hidden state
    n_layer: int
    n_head: int
    n_inner: int
    parameter_count: int
    bytes_per_token: int  # bytes of weights that are read for one token
    bos_token_id: Optional[int]
    dtype: str
    path: str  # "" if it was loaded from memory
    config: Attributes  # as config.json has it: config["n_layer"], config.n_layer
    eos_token_id: List[int]  # the tokens that end a text

    def __reduce__(self) -> Tuple[Any, ...]:
        # A spawned process loads the files again, which takes milliseconds.
        if self._arguments is None:
            raise TypeError("a Model that was converted or loaded from memory cannot be pickled: "
                            "load it by its path, with dtype=")
        return _load, self._arguments, {"_tokenizer": self._tokenizer}

    def __repr__(self) -> str:
        place = repr(self.path) if self.path else "in memory"
        return "Model(closed)" if self.closed else f"Model({place}, {self.dtype})"

    @property
    def tokenizer(self) -> Optional[Tokenizer]:
        """The tokenizer in the model's directory; None if there is none."""
        return self._tokenizer

    @property
    def threads(self) -> int:
        """The max number of threads that compute. Without the argument `threads`, passes use fewer
        threads if the work is too small for all of them.
        """
        self._use()
        engine = self._engine
        if engine is None:
            return lib.gpt2_thread_count()
        threads = c_int32()
        lib.gpt2_engine_threads(engine, byref(threads))
        return threads.value

    @property
    def generation_config(self) -> Dict[str, Any]:
        """The options that the model's generation_config.json asks for, as --hf-defaults does.

        Read from the file, or from config.json if there is none. With them, generate() writes as
        transformers does with this model if it is called without options:

        >>> model = Model()
        >>> model.generation_config["do_sample"], model.generation_config["max_length"]
        (False, 20)
        >>> len(model.generate([443, 452], **model.generation_config).token_ids)
        18
        """
        self._use()
        if not self.path:
            raise NotFoundError("the model in memory: has no generation_config.json on disk: give "
                                "the options themselves")
        return _generation_config.load(self.path)

    def close(self) -> None:
        super().close()
        self._engine = None

    # -- Texts -----------------------------------------------------------------------------------

    @overload
    def generate(self, prompt: Tokens = "",  # type: ignore[misc]
                 **options: Unpack[GenerateOptions]) -> Generation: ...

    @overload
    def generate(self, prompt: Union[Tokens, Sequence[Tokens]] = "", *,
                 num_return_sequences: Optional[int] = None, on_error: str = "raise",
                 **options: Unpack[GenerateOptions]) -> List[Generation]: ...

    @with_options
    def generate(self, prompt: Union[Tokens, Sequence[Tokens]] = "", *,
                 num_return_sequences: Optional[int] = None, on_error: str = "raise",
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
        prompt, given = self._given(prompt, options)
        configured = given.pop("num_return_sequences", None)
        number = configured if num_return_sequences is None else num_return_sequences
        prompts, is_batch = as_list("prompt", prompt)
        is_list = is_batch or number is not None
        failures = Failures(on_error, is_list)
        copies = 1 if number is None else count("num_return_sequences", number, 1, _MAX_SAMPLES)
        beams = given.get("num_beams")
        if beams is not None and whole("num_beams", beams) != 1:
            texts = _beams.search_all(self, prompts, copies, given, failures)
        elif is_list and len(prompts) * copies != 1:
            require_different(copies, given)
            texts = write_texts(self, [one for one in prompts for _ in range(copies)], given,
                                failures)
        else:
            texts = [write_text(self, prompts[0], given, failures)]
        return texts if is_list else texts[0]

    def stream(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> Stream:
        """Like generate(), but returns an iterator over the pieces of the text as it is written.

        >>> stream = Model().stream("Once", temperature=0, max_new_tokens=3)
        >>> list(stream)
        [' upon', ' a', ' time']
        >>> stream.result.finish_reason
        'length'
        """
        return self.session().stream(prompt, **options)

    def astream(self, prompt: Tokens = "", **options: Unpack[GenerateOptions]) -> AsyncStream:
        """Like stream(), for asyncio: other tasks run while this one waits for a piece.

        >>> import asyncio
        >>> async def pieces(model):
        ...     return [piece async for piece in model.astream("Once", do_sample=False,
        ...                                                    max_new_tokens=3)]
        >>> asyncio.run(pieces(Model()))
        [' upon', ' a', ' time']
        """
        return self.session().astream(prompt, **options)

    def session(self, max_tokens: Optional[int] = None) -> Session:
        """An empty session with room for max_tokens tokens, by default the model's n_positions."""
        options = self._session_options(max_tokens)
        return Session(self, new(lib.gpt2_session_new, self._use(), byref(options),
                                 free=lib.gpt2_session_free))

    def load_session(self, path: PathLike, max_tokens: Optional[int] = None) -> Session:
        """Loads a session from a file of Session.save(). It continues with the same bits."""
        options = self._session_options(max_tokens)
        return Session(self, new(lib.gpt2_session_load, self._use(), c_path(path),
                                 byref(options), free=lib.gpt2_session_free))

    # -- Weights ---------------------------------------------------------------------------------

    def convert(self, dtype: str) -> Model:
        """The same model with its matrices converted to another type, for example as a draft.

        It has the `threads` and the kv_type that this model was loaded with.
        """
        converted = Model.__new__(Model)
        converted._setup(new(lib.gpt2_model_convert, self._use(), _index_of(dtype),
                             free=lib.gpt2_model_free), *self._engine_options)
        converted._arguments = None
        converted._tokenizer = self._tokenizer
        return converted

    def save_quantized(self, path: PathLike) -> None:
        """Writes a model of type int8 or int4 to a new directory, which Model() loads."""
        if self.dtype not in ("int8", "int4"):
            raise InvalidArgumentError("only int8 and int4 weights can be saved, found "
                                       f'{self.dtype}: load them with Model(path, dtype="int8")')
        lib.gpt2_model_save_quantized(self._use(), c_path(path))

    # -- For the other modules of the package ----------------------------------------------------

    def _set_engine(self, options: Any) -> None:
        engine = self._engine
        options.engine = None if engine is None else engine.address
        options.kept = engine

    def _session_options(self, max_tokens: Optional[int]) -> c.SessionOptions:
        options = defaults(c.SessionOptions, lib.gpt2_session_options_init)
        self._set_engine(options)
        if max_tokens is not None:
            options.max_tokens = count("max_tokens", max_tokens)
        return options

    def _require_tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            raise NotFoundError(f"{self.path or 'the model in memory'}: has no tokenizer, which "
                                "texts need: give token ids")
        return self._tokenizer

    def _given(self, prompt: Any, options: Mapping[str, Any]) -> Tuple[Any, Dict[str, Any]]:
        """The prompt, which may be the option input_ids, and the other options with those of
        generation_config. Refuses any tokenizer but the model's. The options hold no iterators,
        because each text of a list reads them; a streamer may be an iterator itself."""
        given = {name: value if name == "streamer" else without_iterators(value)
                 for name, value in _generation_config.merged(options).items()}
        tokenizer = given.pop("tokenizer", None)
        if tokenizer is not None:
            require_own(tokenizer, self._require_tokenizer())
        ids, mask = given.pop("input_ids", None), given.pop("attention_mask", None)
        return text_or_ids("prompt", prompt, ids, mask), given

    def _encode(self, name: str, text: Tokens, *, add_special_tokens: bool = True) -> List[int]:
        """The token ids of the argument `name`."""
        if isinstance(text, Mapping):
            text = ids_of(text)
        if isinstance(text, str):
            return self._require_tokenizer().encode(text, add_special_tokens=add_special_tokens)
        ids = items(name, text, "a text or token ids")
        if ids and hasattr(ids[0], "__iter__"):
            if len(ids) > 1 or isinstance(ids[0], str):
                raise TypeError(f"{name}: expected one text or its token ids, found {shown(ids)}: "
                                "make a call for each text")
            ids = ids[0]  # the only row of what a tokenizer returned for a list
        return list(ids_array(ids, name, "a text or token ids"))

    def _fitted(self, prompt: Tokens,
                options: Dict[str, Any]) -> Tuple[List[int], int, Dict[str, Any]]:
        """The tokens of a prompt, how many were removed from its beginning, and the options."""
        others = dict(options)
        truncate = bool(flag("truncate", others.pop("truncate", None) or False))
        return (*fit_prompt(self._prompt(prompt), self.n_positions, truncate,
                            max_new_tokens_of(others)), others)

    def _prompt(self, prompt: Tokens) -> List[int]:
        """The tokens of a prompt. If it is empty, the model begins a new text."""
        ids = self._encode("prompt", prompt)
        if ids:
            return ids
        end = self.bos_token_id if self._tokenizer is None else self._tokenizer.eos_token_id
        first = [end] if end is not None else self.eos_token_id[:1]
        if not first:
            raise InvalidArgumentError("the prompt is empty, and the model has no end-of-text "
                                       "token to begin with: give a prompt")
        return first


def find_model(name: PathLike) -> str:
    """The path of the model that Model(name) loads. Downloads nothing.

    >>> find_model(Model().path) == Model().path
    True
    """
    return find_path(name)


def _load(name: Optional[PathLike], dtype: Optional[str], threads: Optional[int],
          kv_type: Optional[str]) -> Model:
    return Model(name, dtype=dtype, threads=threads, kv_type=kv_type)


def _index_of(dtype: Any) -> int:
    """The library's number of a type, which torch may call "torch.float32"."""
    name = _TORCH_DTYPES.get(str(dtype).replace("torch.", ""), dtype)
    return named("dtype", name, DTYPES)


def _loaded(function: Callable[..., int], *arguments: Any, dtype: Optional[str],
            on_progress: OnProgress, kept: Tuple[Any, ...] = ()) -> Owned:
    """The handle of a model that the function loads."""
    work = Work()
    options = defaults(c.LoadOptions, lib.gpt2_load_options_init)
    options.dtype = _index_of(dtype or "stored")
    work.set_progress(options, on_progress)
    return work.run(lambda: new(function, *arguments, byref(options), free=lib.gpt2_model_free,
                                kept=kept))


def _if_found(load: Callable[[], Tokenizer]) -> Optional[Tokenizer]:
    try:
        return load()
    except NotFoundError:
        return None
