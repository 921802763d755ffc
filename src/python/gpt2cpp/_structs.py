"""The structs and callbacks of gpt2/gpt2.h, with the same members in the same order."""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int, c_int32
from ctypes import c_size_t, c_uint64, c_void_p

OnText = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
OnToken = CFUNCTYPE(c_int, c_void_p, c_int32)
OnPrompt = CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t)
OnProgress = CFUNCTYPE(c_int, c_void_p, c_double)
OnScores = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t)
OnStep = CFUNCTYPE(c_int, c_void_p, c_void_p)
Wants = CFUNCTYPE(c_int, c_void_p, c_int32, c_size_t)


class Ids(Structure):
    _fields_ = [("data", POINTER(c_int32)), ("count", c_size_t)]


class Bytes(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class LikelyToken(Structure):
    _fields_ = [("id", c_int32), ("logprob", c_float)]


class TokenLogprob(Structure):
    _fields_ = [("logprob", c_float), ("rank", c_size_t), ("top", POINTER(LikelyToken)),
                ("n_top", c_size_t)]


class LoadOptions(Structure):
    _fields_ = [("size", c_size_t), ("dtype", c_int32), ("on_progress", OnProgress),
                ("user", c_void_p), ("cancel", c_void_p)]


class ModelInfo(Structure):
    _fields_ = [("vocab_size", c_size_t), ("n_positions", c_size_t), ("n_embd", c_size_t),
                ("n_layer", c_size_t), ("n_head", c_size_t), ("n_inner", c_size_t),
                ("parameter_count", c_size_t), ("bytes_per_token", c_size_t),
                ("eos_token_id", POINTER(c_int32)), ("n_eos_token_id", c_size_t),
                ("bos_token_id", c_int32), ("dtype", c_int32), ("config_json", c_char_p),
                ("path", c_char_p)]


class Weight(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("size", c_size_t),
                ("shape", POINTER(c_size_t)), ("n_shape", c_size_t), ("dtype", c_int32)]


class MemoryFile(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("size", c_size_t)]


class EncodeOptions(Structure):
    _fields_ = [("size", c_size_t), ("parse_special", c_int32), ("add_special_tokens", c_int32)]


class TokenizerInfo(Structure):
    _fields_ = [("n_tokens", c_size_t), ("end_of_text", c_int32), ("description", c_char_p),
                ("vocab_size", c_size_t)]


class EngineOptions(Structure):
    _fields_ = [("size", c_size_t), ("threads", c_int32), ("kv_type", c_int32)]


class SessionOptions(Structure):
    _fields_ = [("size", c_size_t), ("engine", c_void_p), ("max_tokens", c_size_t)]


class SessionInfo(Structure):
    _fields_ = [("tokens", POINTER(c_int32)), ("position", c_size_t), ("waiting", c_size_t),
                ("capacity", c_size_t), ("dropped", c_size_t)]


class Slice(Structure):
    _fields_ = [("session", c_void_p), ("tokens", POINTER(c_int32)), ("n_tokens", c_size_t),
                ("out", c_void_p), ("n_out", c_size_t)]


class Observation(Structure):
    _fields_ = [("what", c_int32), ("layer", c_size_t), ("head", c_size_t), ("slice", c_size_t),
                ("first", c_size_t), ("rows", c_size_t), ("cols", c_size_t),
                ("stride", c_size_t), ("data", c_void_p)]


OnObservation = CFUNCTYPE(c_int, c_void_p, POINTER(Observation))


class Intervention(Structure):
    _fields_ = Observation._fields_


OnIntervention = CFUNCTYPE(c_int, c_void_p, POINTER(Intervention))


class Observer(Structure):
    _fields_ = [("size", c_size_t), ("see", OnObservation), ("wants", Wants),
                ("user", c_void_p), ("change", OnIntervention), ("changes", Wants)]


class SequenceBias(Structure):
    _fields_ = [("ids", Ids), ("bias", c_float)]


class LogitBias(Structure):
    _fields_ = [("id", c_int32), ("bias", c_float)]


class OptionField(Structure):
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("offset", c_size_t), ("type", c_int32),
                ("role", c_int32), ("origin", c_int32), ("min", c_double), ("max", c_double),
                ("also", c_double)]


class SamplingOptions(Structure):
    """_options.py sets its members to those that the library lists."""


class SequenceLimits(Structure):
    _fields_ = [("size", c_size_t), ("eos_token_id", Ids), ("prompt_length", c_size_t),
                ("max_length", c_size_t), ("dropped", c_size_t),
                ("min_tokens_to_keep", c_size_t)]


class GenerateOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("max_new_tokens", c_size_t), ("sampling", POINTER(SamplingOptions)),
        ("stop_tokens", Ids), ("stop", POINTER(Bytes)), ("n_stop", c_size_t),
        ("ignore_eos", c_int32), ("overflow", c_int32), ("keep", c_size_t),
        ("hash_logits", c_int32), ("wants_logprobs", c_int32), ("top_logprobs", c_size_t),
        ("draft", c_void_p), ("prompt_lookup", c_int32), ("constant_draft", c_int32),
        ("max_draft_tokens", c_size_t), ("on_text", OnText), ("on_token", OnToken),
        ("on_prompt", OnPrompt), ("user", c_void_p), ("cancel", c_void_p)]


class Generation(Structure):
    _fields_ = [
        ("finish_reason", c_int32), ("tokens", POINTER(c_int32)), ("n_tokens", c_size_t),
        ("text", c_void_p), ("n_text", c_size_t), ("logprobs", POINTER(TokenLogprob)),
        ("logits_hash", c_uint64), ("prompt_tokens", c_size_t), ("drafted_tokens", c_size_t),
        ("accepted_tokens", c_size_t), ("dropped_tokens", c_size_t),
        ("prompt_seconds", c_double), ("generation_seconds", c_double)]


class BeamOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("engine", c_void_p), ("num_beams", c_size_t),
        ("num_return_sequences", c_size_t), ("length_penalty", c_double),
        ("early_stopping", c_int32), ("diversity_penalty", c_float),
        ("num_beam_groups", c_size_t), ("pad_token_id", c_int32), ("ignore_eos", c_int32),
        ("max_new_tokens", c_size_t), ("sampling", POINTER(SamplingOptions)),
        ("stop_tokens", Ids), ("hash_logits", c_int32), ("on_prompt", OnPrompt),
        ("on_step", OnStep), ("user", c_void_p), ("cancel", c_void_p)]


class Beam(Structure):
    _fields_ = [("tokens", POINTER(c_int32)), ("n_tokens", c_size_t), ("text", c_void_p),
                ("n_text", c_size_t), ("score", c_double), ("finish_reason", c_int32)]


class Beams(Structure):
    _fields_ = [("data", POINTER(Beam)), ("count", c_size_t)]


class GenerationConfig(Structure):
    _fields_ = [("do_sample", c_int32), ("sampling", POINTER(SamplingOptions)),
                ("beams", POINTER(BeamOptions)), ("num_return_sequences", c_size_t),
                ("max_length", c_size_t), ("max_new_tokens", c_size_t)]


class SchedulerOptions(Structure):
    _fields_ = [("size", c_size_t), ("engine", c_void_p), ("max_memory", c_size_t),
                ("max_sequences", c_size_t)]


class ScoreOptions(Structure):
    _fields_ = [("size", c_size_t), ("engine", c_void_p), ("tokenizer", c_void_p),
                ("context", c_size_t), ("stride", c_size_t), ("top_logprobs", c_size_t),
                ("on_progress", OnProgress), ("user", c_void_p), ("cancel", c_void_p)]


class TextScore(Structure):
    _fields_ = [("tokens", POINTER(TokenLogprob)), ("n_tokens", c_size_t), ("nll", c_double),
                ("perplexity", c_double)]


class Estimate(Structure):
    _fields_ = [("value", c_double), ("standard_error", c_double)]


class Scores(Structure):
    _fields_ = [("texts", POINTER(TextScore)), ("n_texts", c_size_t), ("tokens", c_size_t),
                ("words", c_size_t), ("bytes", c_size_t), ("windows", c_size_t),
                ("nll", c_double), ("by_token", Estimate), ("by_word", Estimate),
                ("by_byte", Estimate), ("bits_per_byte", Estimate)]


class Choice(Structure):
    _fields_ = [("tokens", POINTER(TokenLogprob)), ("n_tokens", c_size_t), ("sum", c_double),
                ("mean", c_double), ("greedy_match", c_int32)]


class Choices(Structure):
    _fields_ = [("data", POINTER(Choice)), ("count", c_size_t)]


class CompareOptions(Structure):
    _fields_ = [("size", c_size_t), ("engine_a", c_void_p), ("engine_b", c_void_p),
                ("on_progress", OnProgress), ("user", c_void_p), ("cancel", c_void_p)]


class Comparison(Structure):
    _fields_ = [("tokens", c_size_t), ("windows", c_size_t), ("perplexity_a", c_double),
                ("perplexity_b", c_double), ("change", c_double), ("standard_error", c_double),
                ("max_logit_change", c_double)]


class EmbedOptions(Structure):
    _fields_ = [("size", c_size_t), ("engine", c_void_p), ("layer", c_size_t),
                ("on_progress", OnProgress), ("user", c_void_p), ("cancel", c_void_p),
                ("pooling", c_int32)]
