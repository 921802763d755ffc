"""Finds libgpt2.so, loads it and declares its functions; handles, JSON and callbacks.

The first of these libraries is used:

1. the file that the environment variable GPT2CPP_LIBRARY names;
2. libgpt2.so in this package, where a wheel has it;
3. the installed library: in ~/.local, in the prefix of the Python interpreter, or where the system
   searches.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import sysconfig
import threading
import weakref
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32
from ctypes import c_size_t, c_void_p, string_at
from typing import Any, Callable, Optional, Tuple, TypeVar

from .errors import BY_CODE, CancelledError, InternalError, InvalidArgumentError, NotFoundError
from .errors import UnsupportedError, unexpected

Self = TypeVar("Self", bound="Handle")

__version__ = "0.1.0"  # the version of the package and of the gpt2.h that it matches

_VERSION = tuple(int(part) for part in __version__.split("."))
_SONAME = "libgpt2.so.%d.%d" % _VERSION[:2]

# -- Structs and callbacks -----------------------------------------------------------------------


class Ids(Structure):
    _fields_ = [("data", POINTER(c_int32)), ("count", c_size_t)]


class Bytes(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class MemoryFile(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("size", c_size_t)]


class Weight(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("size", c_size_t),
                ("shape", POINTER(c_size_t)), ("n_shape", c_size_t), ("dtype", c_char_p)]


class Slice(Structure):
    _fields_ = [("session", c_void_p), ("tokens", POINTER(c_int32)), ("n_tokens", c_size_t),
                ("out", c_void_p), ("n_out", c_size_t)]


class Observation(Structure):
    _fields_ = [("what", c_int32), ("layer", c_size_t), ("head", c_size_t), ("slice", c_size_t),
                ("first", c_size_t), ("rows", c_size_t), ("cols", c_size_t),
                ("stride", c_size_t), ("data", c_void_p)]


class Callbacks(Structure):
    _fields_ = [
        ("size", c_size_t), ("user", c_void_p),
        ("on_token", CFUNCTYPE(c_int, c_void_p, c_size_t, c_int32, c_void_p, c_size_t)),
        ("on_progress", CFUNCTYPE(c_int, c_void_p, c_double)),
        ("on_scores", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t)),
        ("draft", c_void_p)]


OnToken, OnProgress, OnScores = (kind for _, kind in Callbacks._fields_[2:5])
OnObservation = CFUNCTYPE(c_int, c_void_p, POINTER(Observation))
Wants = CFUNCTYPE(c_int, c_void_p, c_int32, c_size_t)


class Observer(Structure):
    _fields_ = [("size", c_size_t), ("user", c_void_p), ("see", OnObservation), ("wants", Wants),
                ("change", OnObservation), ("changes", Wants)]


# -- Functions -----------------------------------------------------------------------------------

_BYTES = POINTER(Bytes)  # once, because another interpreter that imports ctypes resets its types
_OUT, _IDS, _JSON, _SIZE = POINTER(c_void_p), POINTER(c_int32), POINTER(_BYTES), c_size_t
_LOAD = [c_char_p, OnProgress, c_void_p, _OUT]  # the last parameters of functions that load

# Functions that return a status, which _check turns into an exception.
STATUS_FUNCTIONS = {
    "gpt2_describe": [_JSON],
    "gpt2_find_model": [c_char_p, _JSON],
    "gpt2_model_load": [c_char_p, *_LOAD],
    "gpt2_model_load_memory": [POINTER(MemoryFile), _SIZE, *_LOAD],
    "gpt2_model_convert": [c_void_p, c_char_p, _OUT],
    "gpt2_model_save_quantized": [c_void_p, c_char_p],
    "gpt2_model_info": [c_void_p, _JSON],
    "gpt2_model_weights": [c_void_p, POINTER(POINTER(Weight)), POINTER(c_size_t)],
    "gpt2_generation_config": [c_char_p, c_char_p, _JSON],
    "gpt2_tokenizer_load": [c_char_p, _OUT],
    "gpt2_tokenizer_load_memory": [POINTER(MemoryFile), _SIZE, _OUT],
    "gpt2_tokenizer_encode": [c_void_p, c_char_p, _SIZE, c_char_p, POINTER(POINTER(Ids)),
                              POINTER(c_size_t)],
    "gpt2_tokenizer_offsets": [c_void_p, c_char_p, _SIZE, c_char_p, POINTER(POINTER(Ids))],
    "gpt2_tokenizer_decode": [c_void_p, _IDS, _SIZE, _JSON],
    "gpt2_tokenizer_token_bytes": [c_void_p, c_int32, _OUT, POINTER(c_size_t)],
    "gpt2_tokenizer_find": [c_void_p, c_char_p, _SIZE, _IDS],
    "gpt2_tokenizer_info": [c_void_p, _JSON],
    "gpt2_engine_new": [c_void_p, c_char_p, _OUT],
    "gpt2_session_new": [c_void_p, c_void_p, c_char_p, _OUT],
    "gpt2_session_append": [c_void_p, _IDS, _SIZE],
    "gpt2_session_rewind": [c_void_p, _SIZE],
    "gpt2_session_slide": [c_void_p, _SIZE, _SIZE, POINTER(c_size_t)],
    "gpt2_session_fork": [c_void_p, _OUT],
    "gpt2_session_save": [c_void_p, c_char_p],
    "gpt2_session_load": [c_void_p, c_void_p, c_char_p, c_char_p, _OUT],
    "gpt2_session_tokens": [c_void_p, POINTER(_IDS), POINTER(c_size_t)],
    "gpt2_session_info": [c_void_p, _JSON],
    "gpt2_forward": [POINTER(Slice), _SIZE, POINTER(Observer)],
    "gpt2_hidden_states": [POINTER(Slice), _SIZE, c_int32],
    "gpt2_unembed": [c_void_p, c_void_p, c_void_p, _SIZE, c_int32, c_void_p],
    "gpt2_embed": [c_void_p, c_void_p, POINTER(Ids), _SIZE, c_char_p, OnProgress, c_void_p,
                   c_void_p],
    "gpt2_compare": [c_void_p, c_void_p, c_void_p, c_void_p, _IDS, _SIZE, OnProgress, c_void_p,
                     _JSON],
    "gpt2_sampler_new": [c_char_p, _SIZE, OnScores, c_void_p, _OUT],
    "gpt2_sampler_sample": [c_void_p, c_void_p, _IDS, _SIZE, _IDS],
    "gpt2_sampler_process": [c_void_p, c_void_p, _IDS, _SIZE, _OUT],
    "gpt2_scheduler_new": [c_void_p, c_void_p, c_char_p, _OUT],
    "gpt2_run_new": [c_void_p, c_void_p, c_char_p, c_char_p, POINTER(Callbacks), _OUT],
    "gpt2_run_in_session": [c_void_p, c_void_p, c_char_p, POINTER(Callbacks), _OUT],
    "gpt2_run_step": [c_void_p, POINTER(c_int32)],
    "gpt2_run_result": [c_void_p, _JSON],
    "gpt2_run_cancel": [c_void_p],
}

OTHER_FUNCTIONS = {
    "gpt2_last_error": (c_char_p, []),
    "gpt2_status_name": (c_char_p, [c_int32]),
    "gpt2_version": (c_int32, []),
    "gpt2_free": (None, [c_void_p]),
    **{f"gpt2_{kind}_free": (None, [c_void_p]) for kind in (
        "model", "tokenizer", "engine", "session", "sampler", "scheduler", "run")},
}


def _file() -> str:
    given = os.environ.get("GPT2CPP_LIBRARY")
    if given:
        return given
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    prefixes = [os.path.expanduser("~/.local"), sys.prefix]
    folders = [os.path.join(prefix, *folder) for prefix in prefixes
               for folder in (["lib"], ["lib64"], ["lib", multiarch])]
    package = os.path.join(os.path.dirname(__file__), "libgpt2.so")
    files = [package] + [os.path.join(folder, _SONAME) for folder in folders]
    return next((file for file in files if os.path.exists(file)), _SONAME)


def _load() -> ctypes.CDLL:
    file = _file()
    try:
        library = ctypes.CDLL(file)
    except OSError as error:
        raise NotFoundError(
            f"{file}: the library of gpt2.cpp cannot be loaded ({error}): install the wheel or "
            "the library, or set GPT2CPP_LIBRARY to the path of libgpt2.so") from None
    library.gpt2_version.restype = c_int32
    found = library.gpt2_version()
    version = (found // 10000, found // 100 % 100, found % 100)
    if version[:2] != _VERSION[:2] or version < _VERSION:
        raise UnsupportedError(
            f"{file}: expected version {__version__} of the library, found "
            f"{'.'.join(map(str, version))}: install the library that belongs to this package")
    return library


def _check(status: int, _function: Any, _arguments: Any) -> int:
    if status == 0:
        return status
    kind = BY_CODE.get(lib.gpt2_status_name(status).decode(), InternalError)
    raise kind(lib.gpt2_last_error().decode("utf-8", "replace"))


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, arguments in STATUS_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes, function.errcheck = c_int32, arguments, _check
    for name, (result, arguments) in OTHER_FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _declare(_load())

# -- Handles and results -------------------------------------------------------------------------


class Owned:
    """A handle that a function of the library makes and returns through its last argument.

    The library frees it when Python has no more references to this object. A call holds a reference
    to its arguments, so nothing is freed during a call on another thread. `kept` is memory that the
    library uses until then, as does the memory of the handles among the arguments: a session, for
    example, uses the weights of its model.
    """

    __slots__ = ("_as_parameter_", "kept", "__weakref__")

    def __init__(self, function: Callable[..., int], *arguments: Any,
                 free: Callable[[c_void_p], None], kept: Tuple[Any, ...] = ()):
        self._as_parameter_ = pointer = c_void_p()
        self.kept = kept
        for argument in arguments:
            if isinstance(argument, Owned):
                self.kept += argument.kept
        # Nothing is freed at the end of the program, when daemon threads may still be in a call.
        weakref.finalize(self, _release, free, pointer).atexit = False
        function(*arguments, byref(pointer))

    @property
    def address(self) -> Optional[int]:
        """The pointer as a member of a struct. The caller keeps a reference to this object."""
        return self._as_parameter_.value


def _release(free: Callable[[c_void_p], None], pointer: c_void_p) -> None:
    free(pointer)
    pointer.value = None  # for a generator that still uses the object, which was garbage like it


class Handle:
    """An object that can be closed, and is closed at the end of a `with` block."""

    def __init__(self, owned: Owned):
        self._owned: Optional[Owned] = owned

    def _use(self) -> Owned:
        owned = self._owned
        if owned is None:
            raise InvalidArgumentError(f"the {type(self).__name__} is closed: make a new one")
        return owned

    def close(self) -> None:
        """Frees the memory, as soon as no call on another thread uses it. May be called twice."""
        self._owned = None

    @property
    def closed(self) -> bool:
        """Whether close() has been called."""
        return self._owned is None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def get_bytes(function: Callable[..., int], *arguments: Any) -> bytes:
    """The bytes that a function returns through its last argument."""
    result = _BYTES()
    try:
        function(*arguments, byref(result))
        return string_at(result.contents.data, result.contents.size)
    finally:
        lib.gpt2_free(result)


def get_json(function: Callable[..., int], *arguments: Any) -> Any:
    """What a function returns as JSON through its last argument."""
    return json.loads(get_bytes(function, *arguments))


described = get_json(lib.gpt2_describe)
"""What the library says about itself, its options and the machine."""

# -- Callbacks -----------------------------------------------------------------------------------

class Calls:
    """The callbacks of a call, and the exception of one of them, which ended the call.

    Python raises KeyboardInterrupt in the main thread between two instructions. In a callback, it
    is kept, like any other exception, until the call has returned. If it comes right before the
    instructions that keep it, ctypes passes it to sys.unraisablehook, which keeps it, too.
    """

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None
        self.is_stopped = False  # because a callback returned False

    def guard(self, function: Callable[..., Any]) -> Callable[..., int]:
        """A callback that answers whether the result of `function` is true; 0 if it raised."""

        def guarded(_user: Optional[int], *arguments: Any) -> int:
            try:
                return int(self.error is None and bool(function(*arguments)))
            except BaseException as error:
                self.error = error
                return 0

        return guarded

    def goes_on(self, name: str, function: Callable[..., Any]) -> Callable[..., int]:
        """A callback that ends the call by raising an exception or returning False."""
        if not callable(function):
            raise unexpected(name, "a function", function)

        def answer(*arguments: Any) -> bool:
            result = function(*arguments)
            # numpy's False is another object, whose class is bool_ or, since 2.0, bool.
            if type(result).__name__ in ("bool", "bool_") and not result:
                self.is_stopped = True
            return not self.is_stopped

        return self.guard(answer)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Makes the call, and raises the exception of a callback, if there is one."""
        hook, result = sys.unraisablehook, None
        is_main = threading.current_thread() is threading.main_thread()
        try:
            if is_main:
                sys.unraisablehook = lambda args: self._keep(args, hook)
            result = function(*arguments)
        except CancelledError:
            if self.error is None:
                raise
        except StopIteration as error:
            self.error = error
        finally:
            if is_main:
                sys.unraisablehook = hook
        error, self.error = self.error, None
        try:
            if isinstance(error, StopIteration):  # which would end a loop over a stream
                raise RuntimeError("a callback raised StopIteration") from error
            if error is not None:
                raise error
        finally:
            del error  # whose traceback refers to this function, and so to the run
        return result

    def _keep(self, args: Any, hook: Callable[[Any], Any]) -> None:
        if not isinstance(args.exc_value, KeyboardInterrupt):
            hook(args)
        elif self.error is None:
            self.error = args.exc_value

    def progress(self, on_progress: Optional[Callable[[float], Any]]) -> Any:
        """The callback for progress. Without a function, it only looks for Ctrl-C."""
        given = (lambda _: None) if on_progress is None else on_progress
        return OnProgress(self.goes_on("on_progress", given))
