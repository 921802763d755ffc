#pragma once

// The C interface of the library (C99), for programs in C and for bindings of other languages. It
// does what the C++ headers in this directory do, and its results have the same bits.
// include/README.md has programs in C and Python, and the members of requests and results.
//
// CONVENTIONS
//
//  1. Status. A function that can fail returns a gpt2_status: GPT2_OK, which is 0, or the kind of
//     the error; gpt2_last_error() then returns the message. A function that fails has changed
//     nothing, unless its comment says otherwise. No C++ exception crosses this interface, and the
//     library never prints or exits.
//  2. Options are a JSON object in UTF-8 that ends with a zero byte. NULL and "{}" stand for the
//     defaults. A member that is unknown, or has a value of another type or out of its range, is
//     refused by its name with GPT2_INVALID_ARGUMENT. A new option changes no function.
//  3. Results that are data are JSON, too, in a gpt2_bytes. Numbers of 32 bits are written so that
//     they read back to the same bits; NaN and infinities are null. Programs must ignore members
//     that they do not know, because later versions add some.
//  4. Results (gpt2_bytes, gpt2_ids) are allocated by the library and freed by gpt2_free. Programs
//     read them, and must not change them.
//  5. Outputs are written through the pointers at the end of the argument list. They must not be
//     NULL, unless the comment says so. A function that fails sets a handle or a result that it
//     would have returned to NULL, so that it can be freed without a check.
//  6. Handles (gpt2_model, gpt2_run and so on) are opaque. gpt2_X_load or gpt2_X_new makes one, and
//     gpt2_X_free frees it. They may be freed in any order, because a handle keeps what it needs
//     alive. gpt2_X_free(NULL) does nothing. A NULL handle, or one of another kind, is refused with
//     GPT2_INVALID_ARGUMENT; a handle that has been freed often is, too, but that is not promised.
//  7. Texts that are an argument of their own are a pointer and a length in bytes, and may hold any
//     bytes. Names and paths are UTF-8 and end with a zero byte. NULL is allowed for an array of
//     length 0, for options, for callbacks, and where a comment says so.
//  8. Callbacks return 0 to stop the work, and any other number to go on. They are called on the
//     thread that called the library. They must return normally (no longjmp). While a callback of a
//     run is called, any function of the library may be called, except that its run and other runs
//     of the same scheduler must not be stepped, which is refused. All may be freed, even the run.
//  9. Threads. Any number of threads may use a model, a tokenizer or an engine at the same time.
//     Of the functions on any other handle, one thread at a time may call one, except for
//     gpt2_run_cancel; a second call that changes a session is refused. The runs of a scheduler
//     count as one handle together with it. The library has no thread of its own beside those that
//     share the work of a forward pass. After fork(), the child may use all handles, except those
//     that another thread of the parent was using.
// 10. Growth. gpt2_callbacks and gpt2_observer begin with their size, and may get more members.
//     From version 1 on, nothing is removed while GPT2_VERSION_MAJOR stays the same.

#include <stddef.h>
#include <stdint.h>

#include "gpt2/version.h"

#if defined(__GNUC__)
#define GPT2_API __attribute__((visibility("default")))
#else
#define GPT2_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// -- Types ---------------------------------------------------------------------------------------

/// The weights of a GPT-2. Immutable. (model.h)
typedef struct gpt2_model gpt2_model;
/// Text to token ids and back. Immutable. (tokenizer.h)
typedef struct gpt2_tokenizer gpt2_tokenizer;
/// A team of threads and the memory for activations. Passes of several threads run one after
/// another. No result depends on which engine computes it. (engine.h)
typedef struct gpt2_engine gpt2_engine;
/// One sequence: its tokens, keys and values. (session.h)
typedef struct gpt2_session gpt2_session;
/// Chooses tokens from logits. (sampler.h)
typedef struct gpt2_sampler gpt2_sampler;
/// Writes many texts in shared forward passes. (scheduler.h)
typedef struct gpt2_scheduler gpt2_scheduler;
/// A request that is being computed, step by step.
typedef struct gpt2_run gpt2_run;

/// A token's number: an index into the vocabulary, from 0 to vocab_size - 1.
typedef int32_t gpt2_token;

/// The status that a function returns. gpt2_status_name() returns its name.
typedef int32_t gpt2_status;
enum {
  GPT2_OK = 0,                ///< success
  GPT2_NOT_FOUND = 1,         ///< no such file, directory, model or token
  GPT2_INVALID_FILE = 2,      ///< a file breaks its own format, or contradicts another file
  GPT2_UNSUPPORTED = 3,       ///< a valid file or value that this library does not implement
  GPT2_INVALID_ARGUMENT = 4,  ///< an argument breaks the function's contract
  GPT2_OUT_OF_MEMORY = 5,     ///< an allocation failed
  GPT2_CANCELLED = 6,         ///< a callback or gpt2_run_cancel stopped the work
  GPT2_INTERNAL = 7           ///< anything else: a bug in the library
};

/// Token ids: `count` of them at `data`. As an argument, memory that the caller owns. As the result
/// of a function, freed by gpt2_free.
typedef struct gpt2_ids {
  const gpt2_token* data;
  size_t count;
} gpt2_ids;

/// The result of a function: `size` bytes at `data`, with a zero byte after them that `size` does
/// not count. Freed by gpt2_free.
typedef struct gpt2_bytes {
  const char* data;
  size_t size;
} gpt2_bytes;

/// Frees a gpt2_bytes* or gpt2_ids* that a function has returned. Does nothing for NULL.
GPT2_API void gpt2_free(void* result);

/// Called between forward passes, and while a model is loaded between matrices: the share of the
/// work that is done, from 0 to 1. For a text that is being written: the share of its prompt that
/// has been read. Bindings can look for signals in it.
typedef int (*gpt2_on_progress)(void* user, double share);
/// Called for each new token of a text, in order. `index`: which text of the run, from 0. `text`:
/// what has become certain with this token, in whole characters and without any part of a stop
/// string; there may be none, with n_bytes 0. The bytes are valid during the call, and have no zero
/// byte after them. At the end of a text, `id` is -1 if only text is left that had been held back.
/// Beam searches call it for no token.
typedef int (*gpt2_on_token)(void* user, size_t index, gpt2_token id, const char* text,
                             size_t n_bytes);
/// A logits processor: changes the scores before a token is chosen. `scores` has one element for
/// each token of the vocabulary; -INFINITY removes a token, NaN is refused. `ids` are all tokens so
/// far. Must give the same scores whenever it gets the same arguments. If it returns 0, the call
/// fails with GPT2_CANCELLED. (LogitsProcessor in sampler.h)
typedef int (*gpt2_on_scores)(void* user, float* scores, size_t n_scores, const gpt2_token* ids,
                              size_t n_ids);

/// What a run needs beside its JSON. Begin with `gpt2_callbacks callbacks = {.size = sizeof
/// callbacks}`, which sets everything else to zero: no callbacks, no draft. They must be usable
/// until the run is freed or has finished.
typedef struct gpt2_callbacks {
  size_t size;                   ///< sizeof(gpt2_callbacks)
  void* user;                    ///< the first argument of each callback
  gpt2_on_token on_token;        ///< for runs that write texts
  gpt2_on_progress on_progress;  ///< for all runs; 0 cancels the run
  gpt2_on_scores on_scores;      ///< for runs that write texts; called after all other options
  const gpt2_model* draft;       ///< drafts tokens: a quantized copy of the model, or a smaller
                                 ///< model of the same vocabulary. Changes the speed, not the text.
} gpt2_callbacks;

// -- Errors, version, machine --------------------------------------------------------------------

/// The message of the last call on this thread that failed: one line of UTF-8 that says what is
/// wrong and where, what was expected and what to do, truncated to 1,000 bytes; "" if none has
/// failed. Valid until the next call on this thread that fails. The memory belongs to the thread,
/// so even GPT2_OUT_OF_MEMORY is reported without an allocation.
///
/// Example:
///   gpt2_model* missing = NULL;
///   const gpt2_status status = gpt2_model_load("no-such-model", NULL, NULL, NULL, &missing);
///   if (status != GPT2_OK) printf("%s: %s\n", gpt2_status_name(status), gpt2_last_error());
GPT2_API const char* gpt2_last_error(void);
/// The name of a status in lower case, such as "not_found"; "unknown" for another number. Static.
GPT2_API const char* gpt2_status_name(gpt2_status status);
/// The version of the library in the format of GPT2_VERSION, which is the version of the header.
GPT2_API int32_t gpt2_version(void);
/// From now on, uses the named instruction set in the whole process, instead of the fastest one or
/// the one in the environment variable GPT2_ISA. All give the same bits. GPT2_UNSUPPORTED if the
/// machine cannot run it. REQUIRES: no other thread is in a function of the library.
GPT2_API gpt2_status gpt2_force_isa(const char* name);
/// Describes the library and the machine, as {"version", "isa" (null if GPT2_ISA names one that the
/// machine cannot run), "isas" (the fastest first), "threads" (the default of engines), "dtypes",
/// "finish_reasons", "observed": [{"name", "hook" (TransformerLens's name)}, ...] in the order of
/// gpt2_observed, "options": the table of options of "generate", [{"name", "type", "role",
/// "origin", "min", "max", "also", "choices", "form", "default", "help"}, ...]}.
///
/// Example:
///   gpt2_bytes* json = NULL;
///   if (gpt2_describe(&json) == GPT2_OK) puts(json->data);
///   gpt2_free(json);
GPT2_API gpt2_status gpt2_describe(gpt2_bytes** json);

// -- Model ---------------------------------------------------------------------------------------

/// Finds a model by its name and returns its path. Functions that take a model's name call it
/// themselves. A name is a path, the name of a model in ./models, of the program's installation or
/// of $GPT2_MODELS, or the name of a model in the HuggingFace cache. Downloads nothing.
/// GPT2_NOT_FOUND if there is none. (model_files.h)
GPT2_API gpt2_status gpt2_find_model(const char* name, gpt2_bytes** path);
/// Loads a model by its name or path. `options`: "dtype" ("f32", "f16", "bf16", "int8" or "int4")
/// converts the matrices while loading; without it, the mapped file is used in place and must not
/// change. "base": for a LoRA adapter of PEFT, the name of its base, instead of the one that it
/// names itself. `on_progress` may be NULL. GPT2_NOT_FOUND, GPT2_INVALID_FILE and GPT2_UNSUPPORTED
/// name the file; GPT2_CANCELLED if on_progress stopped it. Cost: milliseconds; with another dtype,
/// 0.2 seconds for GPT-2 124M on all cores.
///
/// Example:
///   gpt2_model* small = NULL;
///   if (gpt2_model_load("models/gpt2-stories", "{\"dtype\": \"int8\"}", NULL, NULL, &small) ==
///       GPT2_OK) {
///     puts("loaded");
///   }
///   gpt2_model_free(small);
GPT2_API gpt2_status gpt2_model_load(const char* name, const char* options,
                                     gpt2_on_progress on_progress, void* user, gpt2_model** out);
/// A file of a model that lies in memory. (model_files.h)
typedef struct gpt2_memory_file {
  const char* name;  ///< as in a model's directory: "config.json", "model.safetensors" and so on
  const void* data;  ///< its content, at any address; a multiple of 64 may be faster
  size_t size;       ///< in bytes
} gpt2_memory_file;
/// The same for files in memory. The weights are used in place, so their bytes must not change or
/// be freed before everything that uses the model has been freed. The names and the other files are
/// needed during the call only. GPT2_INVALID_ARGUMENT if two files have the same name.
GPT2_API gpt2_status gpt2_model_load_memory(const gpt2_memory_file* files, size_t n_files,
                                            const char* options, gpt2_on_progress on_progress,
                                            void* user, gpt2_model** out);
/// Makes a model with the matrices converted to another type, for example as a draft. Shares the
/// parts that are not converted. GPT2_INVALID_ARGUMENT if the weights are already quantized.
GPT2_API gpt2_status gpt2_model_convert(const gpt2_model* model, const char* dtype,
                                        gpt2_model** out);
/// Writes a model whose weights are int8 or int4 to the new directory `path`, which gpt2_model_load
/// can map without converting anything. Copies the other files from the directory from which the
/// model was loaded. Writes either the whole directory or nothing. GPT2_INVALID_ARGUMENT if the
/// weights are not quantized, `path` exists or the model was loaded from memory; GPT2_INVALID_FILE
/// if the system refuses to write. (model.h)
GPT2_API gpt2_status gpt2_model_save_quantized(const gpt2_model* model, const char* path);
/// Describes the model, as `gpt2 info --json` does: {"config" (the members of a config.json; its
/// "n_positions" is the longest sequence, and its "eos_token_id" a list), "format" (of the files),
/// "parameters" (how many weights), "tensors" (how many), "ignored" (reason -> tensors that are not
/// used), "dtypes" (part of the model -> types in the files -> how many tensors), "dtype" (of the
/// matrices in memory), "kv_type" (of a session's keys and values by default), "memory" (in bytes:
/// "mapped_weights_bytes", "converted_weights_bytes", "keys_and_values_bytes" (of a session of
/// n_positions), "workspace_bytes" (of an engine), "read_for_each_token_bytes" (of weights)),
/// "warnings" (what may surprise, such as a head that is not used: a list of sentences), "path" (""
/// if it was loaded from memory), "config_path" and "tokenizer_path" (names for
/// gpt2_generation_config and gpt2_tokenizer_load: the path, or for an adapter that of its base)}.
GPT2_API gpt2_status gpt2_model_info(const gpt2_model* model, gpt2_bytes** json);
/// A tensor of a model: a matrix, a bias or the parameters of a LayerNorm. (weights.h)
typedef struct gpt2_weight {
  const char* name;     ///< HuggingFace's, without "transformer.": "h.0.attn.c_attn.weight"
  const void* data;     ///< the elements, at any alignment, row-major; must not be changed
  size_t size;          ///< of the data, in bytes
  const size_t* shape;  ///< as in files; the shape of the blocks if the type is int8 or int4
  size_t n_shape;       ///< the number of dimensions
  const char* dtype;    ///< of the elements: "f32", "f16", "bf16", "int8" or "int4"
} gpt2_weight;
/// Sets *weights to an array of all tensors of the model, and *n_weights to its length: wte, wpe,
/// the blocks in order, ln_f, and lm_head if it is not tied to wte. Nothing is copied. The array
/// and all that it points to are valid as long as the model handle. The layout of int8 and int4
/// data belongs to the library and may change.
GPT2_API gpt2_status gpt2_model_weights(const gpt2_model* model, const gpt2_weight** weights,
                                        size_t* n_weights);
/// Frees the handle. The weights live as long as another handle uses them.
GPT2_API void gpt2_model_free(gpt2_model* model);
/// How HuggingFace's generate() would write with a model if it were called without options: an
/// object that is a request of a "generate" run once it has a prompt. Reads the model's
/// generation_config.json or, if there is none, its config.json, where older models have the same
/// keys. If `json` is not NULL, reads this text instead of a file, and `name` may be NULL.
/// GPT2_NOT_FOUND if there is no model; GPT2_UNSUPPORTED for a key that would change the text and
/// is not implemented; GPT2_INVALID_FILE for a value of the wrong type or out of range.
/// (generation_config.h)
GPT2_API gpt2_status gpt2_generation_config(const char* name, const char* json, gpt2_bytes** out);

// -- Tokenizer -----------------------------------------------------------------------------------

/// Loads the tokenizer in a model's directory, by the model's name or path. GPT2_NOT_FOUND if there
/// is none, GPT2_UNSUPPORTED if its kind is not implemented. A tokenizer that does not belong to a
/// model is refused where both meet, with GPT2_INVALID_ARGUMENT. (tokenizer.h)
GPT2_API gpt2_status gpt2_tokenizer_load(const char* name, gpt2_tokenizer** out);
/// The same for files in memory: tokenizer.json, or vocab.json and merges.txt, and so on. Other
/// files of a model are ignored. The bytes are needed during the call only.
GPT2_API gpt2_status gpt2_tokenizer_load_memory(const gpt2_memory_file* files, size_t n_files,
                                                gpt2_tokenizer** out);
/// The token ids of a text; none for an empty text. `options`: "parse_special" (default true: the
/// text of a special token becomes that token), "add_special_tokens" (default true: adds what the
/// tokenizer's files demand before a text that the model continues) and "post_process" (default
/// false: adds instead what they put around a whole text, such as "[CLS]" and "[SEP]"). Unless it
/// is NULL, *lost is set to the number of bytes for which the vocabulary has no token.
///
/// Example:
///   gpt2_ids* ids = NULL;
///   gpt2_bytes* text = NULL;
///   if (gpt2_tokenizer_encode(tokenizer, "Once upon", 9, NULL, &ids, NULL) == GPT2_OK &&
///       gpt2_tokenizer_decode(tokenizer, ids->data, ids->count, &text) == GPT2_OK) {
///     printf("%zu tokens: %s\n", ids->count, text->data);
///   }
///   gpt2_free(ids);
///   gpt2_free(text);
GPT2_API gpt2_status gpt2_tokenizer_encode(const gpt2_tokenizer* tokenizer, const char* text,
                                           size_t n_bytes, const char* options, gpt2_ids** out,
                                           size_t* lost);
/// Which part of the text each of these tokens stands for: two numbers for each token, the offsets
/// in bytes at which the part begins and ends. They are equal for a token that stands for none.
GPT2_API gpt2_status gpt2_tokenizer_offsets(const gpt2_tokenizer* tokenizer, const char* text,
                                            size_t n_bytes, const char* options, gpt2_ids** out);
/// The text of tokens. At byte level, it is not checked to have whole characters. An id without a
/// token has no text.
GPT2_API gpt2_status gpt2_tokenizer_decode(const gpt2_tokenizer* tokenizer, const gpt2_token* ids,
                                           size_t n_ids, gpt2_bytes** out);
/// The bytes of one token, which may be a part of a character and have no zero byte after them.
/// None for an id without a token. Valid as long as the tokenizer. If the tokenizer is not of byte
/// level, these bytes are the token's name, such as "##ing".
GPT2_API gpt2_status gpt2_tokenizer_token_bytes(const gpt2_tokenizer* tokenizer, gpt2_token id,
                                                const char** data, size_t* n_bytes);
/// The id of the token with exactly these bytes, or -1 if there is none, which is not an error.
GPT2_API gpt2_status gpt2_tokenizer_find(const gpt2_tokenizer* tokenizer, const char* content,
                                         size_t n_bytes, gpt2_token* id);
/// Describes the tokenizer, as {"n_tokens" (one more than the largest id), "vocab_size" (without
/// added tokens, as in transformers), "end_of_text" (the token that ends a text, or null),
/// "special_ids" (tokens that mark structure and are no part of a text), "special_tokens" (those
/// that have a name in HuggingFace: "bos_token" and so on, and the list
/// "additional_special_tokens"), "is_byte_level" (whether a text is the bytes of its tokens),
/// "description"}.
GPT2_API gpt2_status gpt2_tokenizer_info(const gpt2_tokenizer* tokenizer, gpt2_bytes** json);
/// Frees the handle.
GPT2_API void gpt2_tokenizer_free(gpt2_tokenizer* tokenizer);

// -- Engine --------------------------------------------------------------------------------------

/// Makes an engine for the model. `options`: "threads" (1 to 1,024; default: one for each core that
/// the process may use, fewer for small models) and "kv_type" ("f32", "f16", which changes results
/// a little, or "auto": f16 if the weights are int8 or int4). Programs need an engine only to
/// choose these, or to compute on several threads at the same time: where other functions get NULL
/// for an engine, they use one that all of them share. An engine of another model is refused.
GPT2_API gpt2_status gpt2_engine_new(const gpt2_model* model, const char* options,
                                     gpt2_engine** out);
/// Frees the handle. The threads end with the last handle that uses the engine.
GPT2_API void gpt2_engine_free(gpt2_engine* engine);

// -- Session -------------------------------------------------------------------------------------

/// Makes an empty session. `options`: "max_tokens" (default: n_positions). `engine` may be NULL.
/// Memory for keys and values is used as tokens are added: 75.5 MB for 1,024 tokens of GPT-2 124M
/// in f32.
///
/// Example:
///   gpt2_session* greedy = NULL;
///   const float* logits = NULL;  // 4,096 of them: the vocabulary of the bundled model
///   gpt2_token next = 443;       // "Once"
///   gpt2_session_new(model, NULL, NULL, &greedy);
///   for (int i = 0; i < 5 && gpt2_session_forward(greedy, &next, 1, &logits) == GPT2_OK; ++i) {
///     next = 0;
///     for (size_t id = 1; id < 4096; ++id) {
///       if (logits[id] > logits[next]) next = (gpt2_token)id;
///     }
///   }
///   gpt2_session_free(greedy);
GPT2_API gpt2_status gpt2_session_new(const gpt2_model* model, const gpt2_engine* engine,
                                      const char* options, gpt2_session** out);
/// Appends the tokens, computes them and those that wait, and returns the logits after the last
/// one: vocab_size floats, which are not copied. They are valid until the next call that changes
/// the session. GPT2_INVALID_ARGUMENT for an id outside the vocabulary, if there is no room for the
/// tokens, and for no tokens if none wait. Like every function that changes a session, refuses one
/// in which a run has not finished.
GPT2_API gpt2_status gpt2_session_forward(gpt2_session* session, const gpt2_token* tokens,
                                          size_t n_tokens, const float** logits);
/// Appends tokens without computing anything: the next pass reads them together with its own.
GPT2_API gpt2_status gpt2_session_append(gpt2_session* session, const gpt2_token* tokens,
                                         size_t n_tokens);
/// Removes all tokens after the first `position` ones. GPT2_INVALID_ARGUMENT if there are fewer.
GPT2_API gpt2_status gpt2_session_rewind(gpt2_session* session, size_t position);
/// Makes room for `room` more tokens, if there is not enough: drops the oldest tokens after the
/// first `keep` ones, at least half of them. The remaining ones after the first `keep` wait until
/// the next pass, which recomputes them, because positions are absolute in GPT-2. Sets *dropped
/// to the number of dropped tokens. GPT2_INVALID_ARGUMENT if keep + room is more than the capacity.
GPT2_API gpt2_status gpt2_session_slide(gpt2_session* session, size_t keep, size_t room,
                                        size_t* dropped);
/// Makes a second session in the same state, on the same engine. Computes nothing; the two share
/// memory for their common tokens, in blocks of 256, and may be used by different threads.
GPT2_API gpt2_status gpt2_session_fork(const gpt2_session* session, gpt2_session** out);
/// Writes the session to a file, which gpt2_session_load reads. Writes either the whole file, which
/// replaces an existing one, or nothing. GPT2_INVALID_ARGUMENT if the path is empty or that of
/// something which cannot be replaced; GPT2_INVALID_FILE if the system reports an error.
GPT2_API gpt2_status gpt2_session_save(const gpt2_session* session, const char* path);
/// Makes a session from a file, with the options of gpt2_session_new. It continues with the same
/// bits as the session that was saved. The file must come from the same model and weight type,
/// which is checked by samples, and have keys and values of the engine's type; GPT2_INVALID_FILE
/// otherwise.
GPT2_API gpt2_status gpt2_session_load(const gpt2_model* model, const gpt2_engine* engine,
                                       const char* path, const char* options, gpt2_session** out);
/// Returns the tokens so far, including those that wait, and their number. They are not copied, and
/// are valid until the next call that changes the session.
GPT2_API gpt2_status gpt2_session_tokens(const gpt2_session* session, const gpt2_token** ids,
                                         size_t* n_ids);
/// Describes the session, as {"position" (the number of tokens), "waiting" (how many of the last
/// tokens have not been computed), "capacity" (how many tokens there is room for), "dropped" (how
/// many tokens slides have dropped)}.
GPT2_API gpt2_status gpt2_session_info(const gpt2_session* session, gpt2_bytes** json);
/// Frees the handle. A run in the session goes on.
GPT2_API void gpt2_session_free(gpt2_session* session);

// -- Passes --------------------------------------------------------------------------------------

/// One sequence's part in a pass. All pointers refer to memory that the caller owns.
typedef struct gpt2_slice {
  gpt2_session* session;
  const gpt2_token* tokens;  ///< appended to the session
  size_t n_tokens;           ///< the number of tokens; may be 0 if tokens wait in the session
  float* out;                ///< (n_out, vocab_size) logits, or (n_out, n_embd) hidden states
  size_t n_out;              ///< write them for this many of the last tokens; may be 0
} gpt2_slice;

/// The values of a pass that can be observed and changed. Each comment gives the shape of a row;
/// there is one row for each token. HuggingFace's `hidden_states` are the embeddings, then the
/// block_output of every block but the last, then ln_f_output; its `attentions` are the
/// attention_weights. gpt2_describe has the names. (observer.h)
typedef int32_t gpt2_observed;
enum {
  GPT2_OBSERVED_EMBEDDINGS = 0,          ///< (n_embd) wte + wpe
  GPT2_OBSERVED_LN_1_STATISTICS = 1,     ///< (3) mean, variance and rstd of the input of ln_1
  GPT2_OBSERVED_ATTENTION_WEIGHTS = 2,   ///< (keys) one head's weights of the tokens up to this one
  GPT2_OBSERVED_HEAD_OUTPUTS = 3,        ///< (n_embd) all heads, side by side: the input of c_proj
  GPT2_OBSERVED_ATTN_OUTPUT = 4,         ///< (n_embd) the output of attention
  GPT2_OBSERVED_LN_2_STATISTICS = 5,     ///< (3) the same for the input of ln_2
  GPT2_OBSERVED_MLP_OUTPUT = 6,          ///< (n_embd) the output of the feed-forward layer
  GPT2_OBSERVED_BLOCK_OUTPUT = 7,        ///< (n_embd) the residual stream after a block
  GPT2_OBSERVED_LN_F_STATISTICS = 8,     ///< (3) the same for the input of ln_f
  GPT2_OBSERVED_LN_F_OUTPUT = 9,         ///< (n_embd) the logits are computed from it
  GPT2_OBSERVED_LN_1_OUTPUT = 10,        ///< (n_embd) the input of attn.c_attn
  GPT2_OBSERVED_QUERIES = 11,            ///< (n_embd) the queries of all heads, side by side
  GPT2_OBSERVED_KEYS = 12,               ///< (n_embd) the keys of all heads, side by side
  GPT2_OBSERVED_VALUES = 13,             ///< (n_embd) the values of all heads, side by side
  GPT2_OBSERVED_LN_2_OUTPUT = 14,        ///< (n_embd) the input of mlp.c_fc
  GPT2_OBSERVED_MLP_ACTIVATIONS = 15,    ///< (n_inner) the input of mlp.c_proj
  GPT2_OBSERVED_BLOCK_MIDDLE = 16,       ///< (n_embd) the residual stream after attention
  GPT2_OBSERVED_MLP_PREACTIVATIONS = 17  ///< (n_inner) the output of mlp.c_fc
};

/// Some of the values that a pass computes: rows for consecutive tokens of one slice. Valid until
/// the callback returns.
typedef struct gpt2_observation {
  gpt2_observed what;
  size_t layer;   ///< the block, from 0; 0 for the embeddings and n_layer for ln_f
  size_t head;    ///< the head for attention_weights; 0 for everything else
  size_t slice;   ///< the index of the slice in the call
  size_t first;   ///< the position of row 0's token in its session
  size_t rows;    ///< the number of rows, one for each token
  size_t cols;    ///< the number of floats in a row
  size_t stride;  ///< the number of floats from one row to the next
  float* data;    ///< element (i, j) is data[i * stride + j]; only `change` may write to it
} gpt2_observation;
/// Called during the pass, in the order in which the values are computed. If it returns 0, the
/// observer is not called again; the pass goes on to its end, and the call fails with
/// GPT2_CANCELLED. Must not use the engine of the pass, nor sessions on that engine.
typedef int (*gpt2_on_observation)(void* user, const gpt2_observation* values);
/// Called before the pass, for each combination of `what` and `layer`: whether to show it.
typedef int (*gpt2_wants)(void* user, gpt2_observed what, size_t layer);

/// The callbacks that observe and change a pass. Begin with `gpt2_observer observer = {.size =
/// sizeof observer}`, and set `see` or `change`.
typedef struct gpt2_observer {
  size_t size;                 ///< sizeof(gpt2_observer)
  void* user;                  ///< for the callbacks
  gpt2_on_observation see;     ///< is shown the values
  gpt2_wants wants;            ///< whether to call `see`; NULL: for everything
  gpt2_on_observation change;  ///< changes the values in place, before `see` is shown them. The
                               ///< pass goes on with any numbers, including infinities and NaN.
  gpt2_wants changes;          ///< whether to call `change`; NULL: for everything
} gpt2_observer;

/// One forward pass over several sessions of one model, which reads the weights once for all of
/// them. The engine of the first session runs it; the others may be on other engines. Each logit
/// has the same bits as in a separate pass. `observer` may be NULL; it is shown the values of all
/// tokens, and changes nothing unless its `change` does; a slice of more than about 512 tokens is
/// shown in several pieces. GPT2_INVALID_ARGUMENT as for gpt2_session_forward, for a session that
/// appears twice, for sessions of different models, and if n_out is more than the tokens of a
/// slice. Does nothing for no slices. (engine.h, observer.h)
///
/// Example:
///   const gpt2_token once[] = {443, 452}, cat = 361;
///   const size_t vocab_size = 4096;  // of the bundled model
///   float* logits = malloc(2 * vocab_size * sizeof *logits);
///   const gpt2_slice slices[] = {{session, once, 2, logits, 1},
///                                {session_b, &cat, 1, logits + vocab_size, 1}};
///   if (gpt2_forward(slices, 2, NULL) != GPT2_OK) fprintf(stderr, "%s\n", gpt2_last_error());
///   free(logits);
GPT2_API gpt2_status gpt2_forward(const gpt2_slice* slices, size_t n_slices,
                                  const gpt2_observer* observer);
/// The same pass for hidden states instead of logits. `layer` counts as in HuggingFace: 0 stands
/// for the embeddings, n_layer for the output of the last block after ln_f; negative numbers count
/// from the end, so that -1 is n_layer. GPT2_INVALID_ARGUMENT for any other number. (embed.h)
GPT2_API gpt2_status gpt2_hidden_states(const gpt2_slice* slices, size_t n_slices, int32_t layer);
/// Computes the logits that the model would have if its last hidden states were these: reads
/// (n_states, n_embd) floats and writes (n_states, vocab_size) floats to `logits`, which must not
/// overlap `states`. Applies ln_f to the states first if `apply_ln_f` is not 0, as states from
/// before the last layer need; those of layer n_layer have been through ln_f already. `engine` may
/// be NULL. (embed.h)
GPT2_API gpt2_status gpt2_unembed(const gpt2_model* model, const gpt2_engine* engine,
                                  const float* states, size_t n_states, int32_t apply_ln_f,
                                  float* logits);
/// Embeds texts: writes a vector of n_embd floats for each to `vectors`, memory of (n_texts,
/// n_embd) floats that the caller owns. `options`: "pooling" ("mean" of the hidden states, the
/// default, or "last") and "layer" (as for gpt2_hidden_states; default n_layer). The vectors are
/// not normalized. Texts share passes, and each vector has the same bits as if its text were alone.
/// `engine` and `on_progress` may be NULL. GPT2_INVALID_ARGUMENT, before any work, for a text
/// without tokens or with more than n_positions; GPT2_CANCELLED if on_progress stopped it.
/// (embed.h)
GPT2_API gpt2_status gpt2_embed(const gpt2_model* model, const gpt2_engine* engine,
                                const gpt2_ids* texts, size_t n_texts, const char* options,
                                gpt2_on_progress on_progress, void* user, float* vectors);
/// Scores a text with two models of one vocabulary, such as a model and its quantized copy, as
/// {"tokens", "windows", "perplexity_a", "perplexity_b", "change" (perplexity_b / perplexity_a -
/// 1), "standard_error" (of the change)}. Both may be one model, with engines that hold keys and
/// values in different types. The engines and `on_progress` may be NULL.
/// GPT2_INVALID_ARGUMENT, before any work, for fewer than two tokens and for vocabularies that
/// differ in size; GPT2_CANCELLED if on_progress stopped it. (score.h)
GPT2_API gpt2_status gpt2_compare(const gpt2_model* model_a, const gpt2_engine* engine_a,
                                  const gpt2_model* model_b, const gpt2_engine* engine_b,
                                  const gpt2_token* ids, size_t n_ids, gpt2_on_progress on_progress,
                                  void* user, gpt2_bytes** json);

// -- Sampler -------------------------------------------------------------------------------------

/// Makes a sampler for logits of vocab_size tokens, for programs that draw in a loop of their own.
/// `options`: those of a "generate" run with the same defaults ("temperature", "top_k", "seed" ...;
/// those that do not change how a token is chosen have no effect), and what such a run knows about
/// its text: "eos_token_id" (tokens that end it), "prompt_length", "max_length" (counts the tokens
/// of the prompt), "dropped" (tokens before `ids`) and "min_tokens_to_keep". `on_scores` may be
/// NULL; the sampler keeps it and `user`.
/// GPT2_INVALID_ARGUMENT for an id outside the vocabulary. Cost: 24 bytes for each token of it.
/// (sampler.h)
///
/// Example:
///   gpt2_sampler* sampler = NULL;
///   const float* logits = NULL;
///   const gpt2_token* ids = NULL;
///   size_t n_ids = 0;
///   gpt2_token next = 443;
///   gpt2_sampler_new("{\"temperature\": 0.8, \"top_k\": 40}", 4096, NULL, NULL, &sampler);
///   for (int i = 0; i < 5; ++i) {
///     if (gpt2_session_forward(session, &next, 1, &logits) != GPT2_OK) break;
///     gpt2_session_tokens(session, &ids, &n_ids);
///     gpt2_sampler_sample(sampler, logits, ids, n_ids, &next);
///   }
///   gpt2_sampler_free(sampler);
GPT2_API gpt2_status gpt2_sampler_new(const char* options, size_t vocab_size,
                                      gpt2_on_scores on_scores, void* user, gpt2_sampler** out);
/// Chooses the token that follows `ids`, all tokens so far, from vocab_size logits. It depends only
/// on the options, the ids and the logits. GPT2_INVALID_ARGUMENT if logits are NaN or +INFINITY, or
/// if the options have removed every token; GPT2_CANCELLED if on_scores returned 0.
GPT2_API gpt2_status gpt2_sampler_sample(gpt2_sampler* sampler, const float* logits,
                                         const gpt2_token* ids, size_t n_ids, gpt2_token* token);
/// Returns the scores from which the token would be chosen: vocab_size floats, valid until the next
/// call with this sampler. Fails as gpt2_sampler_sample does, but not if every token is removed.
GPT2_API gpt2_status gpt2_sampler_process(gpt2_sampler* sampler, const float* logits,
                                          const gpt2_token* ids, size_t n_ids,
                                          const float** scores);
/// Frees the sampler.
GPT2_API void gpt2_sampler_free(gpt2_sampler* sampler);

// -- Runs ----------------------------------------------------------------------------------------

/// Makes a scheduler, whose runs share forward passes. Each text has the same bits as if it were
/// written alone. `options`: "max_memory" (bytes of keys and values; default: half of the free
/// memory) and "max_sequences" (texts that are written at once; default 32). `engine` may be NULL.
GPT2_API gpt2_status gpt2_scheduler_new(const gpt2_model* model, const gpt2_engine* engine,
                                        const char* options, gpt2_scheduler** out);
/// Frees the handle. The runs of the scheduler go on.
GPT2_API void gpt2_scheduler_free(gpt2_scheduler* scheduler);

/// Makes a run of a request, which is a JSON object. Checks the request, and computes nothing.
///
///   kind           the request has                       the result is
///   "generate"     "prompt" (a text or ids, or a list    [{"text", "token_ids", "finish_reason",
///                  of these), options of the table         "prompt_tokens", "seed", "sequence" or
///                  (gpt2_describe), "n", "best_of",        "score", "logprobs", "stats"}, ...],
///                  "num_beams", "max_length",              one for each text, as the lines of
///                  "truncate" ...                          `gpt2 batch`
///   "completions"  OpenAI's completions and chat:        the body of OpenAI's answer
///   "chat"         "prompt" or "messages" and so on
///   "responses"    OpenAI's responses: "input"           the body of OpenAI's answer
///   "embeddings"   OpenAI's: "input"                     the body of OpenAI's answer
///   "score"        "texts"                               the perplexity and log-probabilities
///   "choices"      "context", "choices"                  the log-probability of each choice
///   "inspect"      "prompt"                              the JSON of `gpt2 inspect --json`
///   "inspect_page" "prompt"                              the page of `gpt2 inspect -o`, as a text
///   "tokenize"     "prompt", "offsets", ...              {"tokens", "count", "max_model_len", ...}
///   "detokenize"   "tokens"                              {"prompt"}
///
/// Runs have the defaults of the command: temperature 0.8, top_k 40, seed 0 (or "random") and
/// max_new_tokens 256, but 16 for "completions". A "generate" run also takes "stop_tokens" (ids
/// that end the text, too), "prompt_lookup" (drafts tokens from the text so far) and "hash_logits".
///
/// `tokenizer` may be NULL: texts are then given and returned as token ids. `callbacks` may be
/// NULL. GPT2_INVALID_ARGUMENT for an unknown kind, for JSON that is not an object, for an unknown
/// or wrong member, which the message names, for a prompt that does not fit, and for a tokenizer of
/// another model.
///
/// Example:
///   gpt2_scheduler* scheduler = NULL;
///   gpt2_run* run = NULL;
///   gpt2_bytes* story = NULL;
///   gpt2_scheduler_new(model, NULL, NULL, &scheduler);
///   if (gpt2_run_new(scheduler, tokenizer, "generate",
///                    "{\"prompt\": \"The cat\", \"max_new_tokens\": 9}", NULL, &run) == GPT2_OK &&
///       gpt2_run_result(run, &story) == GPT2_OK) {
///     puts(story->data);
///   }
///   gpt2_free(story);
///   gpt2_run_free(run);
///   gpt2_scheduler_free(scheduler);
GPT2_API gpt2_status gpt2_run_new(gpt2_scheduler* scheduler, const gpt2_tokenizer* tokenizer,
                                  const char* kind, const char* request,
                                  const gpt2_callbacks* callbacks, gpt2_run** out);
/// Makes a run of kind "generate" that continues the text of a session with the request's prompt,
/// which is one text and may be empty if the session has tokens. Until the run has finished or is
/// freed, functions that change the session refuse it. Then the session holds its earlier tokens,
/// the prompt and the new tokens, so that another run continues them.
GPT2_API gpt2_status gpt2_run_in_session(gpt2_session* session, const gpt2_tokenizer* tokenizer,
                                         const char* request, const gpt2_callbacks* callbacks,
                                         gpt2_run** out);
/// Runs one forward pass of the scheduler, which takes all of its runs on, or of the session, and
/// sets *more to whether the run has more to do. (A beam search, scores, embeddings, an inspection
/// and the log-probabilities of a prompt are computed in one step, with on_progress called between
/// passes.) If the run fails, it has finished, and this function and gpt2_run_result return its
/// status from then on: GPT2_INVALID_ARGUMENT for logits that are NaN or +INFINITY, GPT2_CANCELLED
/// if on_scores returned 0, GPT2_OUT_OF_MEMORY. Once all runs but one have finished, stepping that
/// one is enough. Does nothing for a run that has finished.
GPT2_API gpt2_status gpt2_run_step(gpt2_run* run, int32_t* more);
/// Runs the steps that are left, and returns the result. If the run was cancelled by a callback or
/// gpt2_run_cancel, texts end with what has been written so far and the finish reason "cancelled";
/// any other run has no result, and the status is GPT2_CANCELLED.
GPT2_API gpt2_status gpt2_run_result(gpt2_run* run, gpt2_bytes** json);
/// Ends the run after the current pass. Any thread may call it at any time before the run is freed,
/// and so may callbacks and signal handlers.
GPT2_API gpt2_status gpt2_run_cancel(gpt2_run* run);
/// Frees the run, even within a callback of its own. Cancels it if it has not finished. Waits for
/// nothing, and calls no callback any more.
GPT2_API void gpt2_run_free(gpt2_run* run);

#ifdef __cplusplus
}  // extern "C"
#endif
