#pragma once

// The C interface of the library (C99), for programs in C and for bindings of other languages. It
// has the functions of the C++ headers in this directory, with the same names and formulas, and its
// results have the same bits. Some comments below name a C++ header that has a longer description.
//
// CONVENTIONS
//
//  1. Status. A function that can fail returns a gpt2_status: GPT2_OK, which is 0, or the kind of
//     the error. gpt2_last_error() then returns the message. A function that fails has changed
//     nothing, unless its comment says otherwise. A function that returns a pointer instead (the
//     gpt2_..._get_info functions, gpt2_option_fields) returns NULL if it fails. No C++ exception
//     crosses this interface.
//  2. Outputs. Results are written through the pointers at the end of the argument list, which must
//     not be NULL. A function that fails sets a handle or result that it would have returned to
//     NULL, so that it can be freed without a check, and leaves other outputs as they were.
//  3. Handles (gpt2_model, gpt2_session and so on) are opaque. gpt2_X_load or gpt2_X_new makes one,
//     and gpt2_X_free frees it. Handles may be freed in any order, because a handle keeps the
//     objects that it needs alive: a session still works after its model has been freed.
//     gpt2_X_free(NULL) does nothing. A handle is freed once and not used afterwards, and no other
//     thread uses it while it is being freed; the behaviour is undefined otherwise.
//  4. Wrong handles. A NULL handle is refused with GPT2_INVALID_ARGUMENT. So is a handle of another
//     kind, which the library recognizes by a tag at the beginning of each handle. (gpt2_X_free
//     then frees nothing and sets the last error.) The tag often identifies a handle that has been
//     freed, too, but this cannot be guaranteed.
//  5. Results (gpt2_ids, gpt2_bytes, gpt2_generation, gpt2_beams, gpt2_generation_config,
//     gpt2_scores, gpt2_choices, gpt2_comparison) are structs that the library allocates and
//     gpt2_X_free frees. Programs may read the members of these structs and the data that they
//     point to, but must not change them. gpt2_X_free(NULL) does nothing.
//  6. Borrowed pointers. Pointers into a handle (logits, infos, the bytes of a token) are not
//     freed. Each comment says how long they are valid; none outlives its handle.
//  7. Options. A struct of options begins with its `size`, which lets it grow. Initialize it with
//     its gpt2_X_options_init(&options, sizeof options), which sets the size and the defaults, and
//     then change members. NULL instead of options stands for the defaults. A program that was
//     compiled with an older header gives a smaller size, and the members beyond this size have
//     their defaults. If a program was compiled with a newer header, its struct is larger: the
//     members that the library does not know must be zero, as the init function leaves them;
//     otherwise the function returns GPT2_UNSUPPORTED. The library reads options, and the data that
//     they point to, during the call only. Callbacks and their `user` must be usable for as long as
//     the comment says.
//  8. Texts are UTF-8, given as a pointer and a length in bytes. They may hold any bytes, zeros
//     included, and need no zero at the end. Names and paths end with a zero byte. All strings that
//     the library returns have a zero byte after their end, which their length does not count,
//     except for the bytes of a token.
//  9. NULL is allowed for a pointer whose length is 0, for options, for callbacks, and where a
//     comment says so. Any other NULL is refused with GPT2_INVALID_ARGUMENT.
// 10. Numbers. Lengths and counts are size_t. A member of type int32_t that answers a question is
//     false if it is 0, and true otherwise. Enumerations are int32_t with named values, which never
//     change their numbers; a value without a name is refused with GPT2_INVALID_ARGUMENT. A token
//     id of -1 in a result stands for "none".
// 11. Callbacks return 0 to stop and any other number to go on. They are called on the thread that
//     called the library, between forward passes unless their comments say otherwise. They must
//     return normally (no longjmp), and must not use the session or sampler of the call.
// 12. Threads. Any number of threads may use a model, tokenizer, engine or gpt2_cancel at the same
//     time. A session, a sampler or a result belongs to one thread at a time; the comment of
//     gpt2_scheduler_new says how threads may use a scheduler. After fork(), the child may use all
//     handles, except those that another thread of the parent was using.
// 13. Growth. Members are added at the end of options, infos and results. Functions, values and
//     members are not removed and do not change their meaning while GPT2_VERSION_MAJOR stays the
//     same, from version 1 on. Structs that are elements of arrays, such as gpt2_slice, do not
//     change. A program that may run with an older library than it was compiled with must compare
//     gpt2_version() with GPT2_VERSION before it reads a member that is new.

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

/// The weights of a GPT-2. Immutable; any number of threads may use one. (model.h)
typedef struct gpt2_model gpt2_model;
/// Text to token ids and back. Immutable; any number of threads may use one. (tokenizer.h)
typedef struct gpt2_tokenizer gpt2_tokenizer;
/// A team of threads and the memory for activations. Any number of threads may use one: their
/// passes run one after another. No result depends on which engine computes it. (engine.h)
typedef struct gpt2_engine gpt2_engine;
/// One sequence: its tokens, keys and values. Belongs to one thread at a time. (session.h)
typedef struct gpt2_session gpt2_session;
/// Chooses tokens from logits. Belongs to one thread at a time. (sampler.h)
typedef struct gpt2_sampler gpt2_sampler;
/// Writes many texts at once, in shared forward passes. (scheduler.h)
typedef struct gpt2_scheduler gpt2_scheduler;
/// A flag by which one thread stops the work of another. Any number of threads may use one.
typedef struct gpt2_cancel gpt2_cancel;

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
  GPT2_CANCELLED = 6,         ///< a callback or a gpt2_cancel stopped the work
  GPT2_INTERNAL = 7           ///< anything else: a bug in the library, or a C++ callback threw
};

/// The type in which a model holds its matrices. (types.h)
typedef int32_t gpt2_dtype;
enum {
  GPT2_DTYPE_STORED = 0,  ///< the type that the file has; the mapped file is used in place
  GPT2_DTYPE_F32 = 1,     ///< 32-bit floats
  GPT2_DTYPE_F16 = 2,     ///< 16-bit floats of IEEE 754
  GPT2_DTYPE_BF16 = 3,    ///< the upper 16 bits of an f32
  GPT2_DTYPE_INT8 = 4,    ///< quantized to 8 bits, in blocks of 64
  GPT2_DTYPE_INT4 = 5     ///< quantized to 4 bits, in blocks of 32
};

/// The type in which sessions hold keys and values. (types.h)
typedef int32_t gpt2_kv_type;
enum {
  GPT2_KV_AUTO = 0,  ///< f16 if the weights are int8 or int4, otherwise f32
  GPT2_KV_F32 = 1,   ///< 32-bit floats
  GPT2_KV_F16 = 2    ///< 16-bit floats, which change the results a little
};

/// Why a generation ended.
typedef int32_t gpt2_finish_reason;
enum {
  GPT2_FINISH_END_OF_TEXT = 0,   ///< a token that ends texts was drawn
  GPT2_FINISH_STOP_STRING = 1,   ///< one of the stop strings was written
  GPT2_FINISH_LENGTH = 2,        ///< max_new_tokens tokens were written
  GPT2_FINISH_CONTEXT_FULL = 3,  ///< the context, or the session's room, is full
  GPT2_FINISH_CANCELLED = 4      ///< a callback or a gpt2_cancel stopped it
};

/// Token ids: `count` of them at `data`. An argument of this type borrows memory that the caller
/// owns. A result of this type (of gpt2_tokenizer_encode) is freed by gpt2_ids_free.
typedef struct gpt2_ids {
  const gpt2_token* data;
  size_t count;
} gpt2_ids;

/// Bytes, usually UTF-8: `size` of them at `data`. An argument of this type borrows memory that the
/// caller owns. A result of this type (of gpt2_tokenizer_decode or gpt2_find_model) is freed by
/// gpt2_bytes_free.
typedef struct gpt2_bytes {
  const char* data;
  size_t size;
} gpt2_bytes;

/// A token that the model finds likely at some position of a text.
typedef struct gpt2_likely_token {
  gpt2_token id;
  float logprob;  ///< as in gpt2_token_logprob
} gpt2_likely_token;

/// The log-probability of a token, given all tokens before it: the natural logarithm of
/// softmax(logits), before any sampling option. (score.h)
typedef struct gpt2_token_logprob {
  float logprob;                 ///< NaN for a token that was not scored
  size_t rank;                   ///< how many tokens are likelier; 0 for the likeliest
  const gpt2_likely_token* top;  ///< the likeliest tokens, by rank
  size_t n_top;                  ///< the length of `top`: `top_logprobs` of the options
} gpt2_token_logprob;

/// Frees the result of gpt2_tokenizer_encode, and no other gpt2_ids.
GPT2_API void gpt2_ids_free(gpt2_ids* ids);
/// Frees the result of gpt2_tokenizer_decode or gpt2_find_model, and no other gpt2_bytes.
GPT2_API void gpt2_bytes_free(gpt2_bytes* bytes);

/// Called with text as it becomes certain: whole UTF-8 characters, never a part of a stop string.
/// Called after every token, with no bytes if none became certain. The bytes are valid during the
/// call and have no zero byte after them.
typedef int (*gpt2_on_text)(void* user, const char* text, size_t n_bytes);
/// Called with each new token.
typedef int (*gpt2_on_token)(void* user, gpt2_token id);
/// Called before each piece of a prompt is read, and once more after the last piece: `read` of
/// `total` tokens have been read. A piece takes a fraction of a second.
typedef int (*gpt2_on_prompt)(void* user, size_t read, size_t total);
/// Called after each forward pass with the share of the work that is done, up to 1.
typedef int (*gpt2_on_progress)(void* user, double share);
/// A logits processor: changes the scores before a token is chosen. `scores` has one element for
/// each token of the vocabulary; -INFINITY removes a token, NaN is refused. `ids` are all tokens so
/// far. Must give the same scores whenever it gets the same arguments. If it returns 0, the
/// function that called it returns GPT2_CANCELLED. (LogitsProcessor in sampling_options.h)
typedef int (*gpt2_on_scores)(void* user, float* scores, size_t n_scores, const gpt2_token* ids,
                              size_t n_ids);

// -- Errors, version, machine --------------------------------------------------------------------

/// The message of the last call on this thread that failed: one line of UTF-8 that says what is
/// wrong and where, what was expected and what to do, truncated to 1,000 bytes. "" if no call has
/// failed. A call that succeeds does not change it. Valid until the next call on this thread that
/// fails. The memory belongs to the thread, so even GPT2_OUT_OF_MEMORY is reported without an
/// allocation.
///
/// Example:
///   gpt2_model* missing = NULL;
///   if (gpt2_model_load("no-such-model", NULL, &missing) != GPT2_OK) {
///     fprintf(stderr, "%s: %s\n", gpt2_status_name(gpt2_last_status()), gpt2_last_error());
///   }
GPT2_API const char* gpt2_last_error(void);
/// The status of the last call on this thread that failed, or GPT2_OK if none has failed.
GPT2_API gpt2_status gpt2_last_status(void);
/// The name of a status in lower case, such as "not_found"; "unknown" for another number. Static.
GPT2_API const char* gpt2_status_name(gpt2_status status);
/// The name of a finish reason, such as "stop_string"; "unknown" for another number. Static.
GPT2_API const char* gpt2_finish_reason_name(gpt2_finish_reason reason);

/// The version of the library in the format of GPT2_VERSION, which is the version of the header.
/// Any thread may call it.
///
/// Example:
///   if (gpt2_version() < GPT2_VERSION) puts("The library is older than the header");
GPT2_API int32_t gpt2_version(void);

/// The instruction set in use, such as "avx2": the one that the environment variable GPT2_ISA
/// names, or else the fastest one. Every instruction set gives the same bits. NULL if GPT2_ISA
/// names one that this machine cannot run. Static. (runtime.h)
GPT2_API const char* gpt2_isa_name(void);
/// Returns the instruction set with this index in the list of those that this machine can run, the
/// fastest first, or NULL if the list is shorter, which is not an error. The last is "scalar".
/// Static.
GPT2_API const char* gpt2_available_isa(size_t index);
/// From now on, uses the named instruction set in the whole process. GPT2_UNSUPPORTED if the
/// machine cannot run it. REQUIRES: no other thread is in a function of the library.
///
/// Example:
///   for (size_t i = 0; gpt2_available_isa(i) != NULL; ++i) {
///     gpt2_force_isa(gpt2_available_isa(i));  // and measure something
///   }
GPT2_API gpt2_status gpt2_force_isa(const char* name);
/// The max number of threads that a new engine uses by default: the number in OMP_NUM_THREADS or
/// else one for each physical core that the process may use, at most OMP_THREAD_LIMIT. At least 1.
GPT2_API int32_t gpt2_thread_count(void);

// -- Cancel --------------------------------------------------------------------------------------

/// Makes a flag that is not set. The options of gpt2_generate, gpt2_score and so on take one: if it
/// is set before or during the call, the work stops within a fraction of a second. One flag may
/// stop any number of calls.
///
/// Example:
///   gpt2_cancel* cancel = NULL;
///   gpt2_cancel_new(&cancel);
///   gpt2_generate_options options;
///   gpt2_generate_options_init(&options, sizeof options);
///   options.cancel = cancel;
///   gpt2_generation* story = NULL;
///   gpt2_generate_text(session, tokenizer, "The", 3, &options, &story);  // another thread may
///   gpt2_generation_free(story);                                         // call gpt2_cancel_set
///   gpt2_cancel_free(cancel);
GPT2_API gpt2_status gpt2_cancel_new(gpt2_cancel** out);
/// Sets the flag, or clears it if `is_set` is 0. It may be called from any thread, from a callback
/// and from a signal handler. A cleared flag can be used again.
GPT2_API gpt2_status gpt2_cancel_set(gpt2_cancel* cancel, int32_t is_set);
/// Frees the flag. A call that is using the flag continues, but can no longer be stopped by it.
GPT2_API void gpt2_cancel_free(gpt2_cancel* cancel);

// -- Model ---------------------------------------------------------------------------------------

/// How to load a model.
typedef struct gpt2_load_options {
  size_t size;
  gpt2_dtype dtype;  ///< default: GPT2_DTYPE_STORED. Others convert the matrices while loading.
  gpt2_on_progress on_progress;  ///< called after each matrix; stops the work by returning 0
  void* user;                    ///< for on_progress
  gpt2_cancel* cancel;           ///< default NULL
} gpt2_load_options;
/// Sets the defaults. `size` is sizeof *options. Like every gpt2_X_options_init, returns
/// GPT2_INVALID_ARGUMENT for NULL and for a size that no version of the struct has.
GPT2_API gpt2_status gpt2_load_options_init(gpt2_load_options* options, size_t size);

/// The properties of a model. Valid as long as the model.
typedef struct gpt2_model_info {
  size_t vocab_size;               ///< the number of tokens, and of logits
  size_t n_positions;              ///< the longest sequence (n_ctx), in tokens
  size_t n_embd;                   ///< channels: the size of a hidden state
  size_t n_layer;                  ///< transformer blocks
  size_t n_head;                   ///< attention heads of each block
  size_t n_inner;                  ///< channels inside the feed-forward layer
  size_t parameter_count;          ///< 124,439,808 for GPT-2 124M
  size_t bytes_per_token;          ///< bytes of weights that a pass over one token reads
  const gpt2_token* eos_token_id;  ///< tokens that end a text
  size_t n_eos_token_id;           ///< the number of these tokens; may be 0
  gpt2_token bos_token_id;         ///< or -1
  gpt2_dtype dtype;                ///< the type of the matrices; never GPT2_DTYPE_STORED
  const char* config_json;         ///< the whole config, as the text of a config.json
  const char* path;                ///< the path from which the model was loaded, as found by
                                   ///< gpt2_find_model; "" if it was loaded from memory
} gpt2_model_info;

/// Finds a model by its name and returns its path. Functions that take a model's name call it
/// themselves; use it to show the path to people or to pass it to other programs. A name is a path,
/// the name of a model in ./models, of the program's installation or of $GPT2_MODELS, or the name
/// of a model in the HuggingFace cache. Downloads nothing. GPT2_NOT_FOUND if there is none.
/// (model_files.h)
GPT2_API gpt2_status gpt2_find_model(const char* name, gpt2_bytes** path);
/// Loads a model by its name or path. Its files are mapped and must not change while the model is
/// in use. GPT2_NOT_FOUND, GPT2_INVALID_FILE and GPT2_UNSUPPORTED name the file; GPT2_CANCELLED if
/// on_progress or `cancel` stopped it. Cost: milliseconds; with another dtype, 0.2 seconds for
/// GPT-2 124M on all cores.
///
/// Example:
///   gpt2_load_options options;
///   gpt2_load_options_init(&options, sizeof options);
///   options.dtype = GPT2_DTYPE_INT8;
///   gpt2_model* small = NULL;
///   if (gpt2_model_load("models/gpt2-stories", &options, &small) == GPT2_OK) {
///     printf("%zu tokens at most\n", gpt2_model_get_info(small)->n_positions);
///   }
///   gpt2_model_free(small);
GPT2_API gpt2_status gpt2_model_load(const char* name, const gpt2_load_options* options,
                                     gpt2_model** out);
/// A file of a model that lies in memory. (model_files.h)
typedef struct gpt2_memory_file {
  const char* name;  ///< as in a model's directory: "config.json", "model.safetensors" and so on
  const void* data;  ///< its content, at any address; a multiple of 64 may be faster
  size_t size;       ///< in bytes
} gpt2_memory_file;
/// The same for files in memory. Messages show their names instead of paths. The model uses the
/// weights in place, without a copy, so these bytes must not change or be freed before the model,
/// its conversions, and the engines, sessions and schedulers that use them have been freed. The
/// names and the other files are needed during the call only. Fails as gpt2_model_load does;
/// GPT2_INVALID_ARGUMENT if two files have the same name.
///
/// Example:
///   char *config = NULL, *weights = NULL;  // of the files, from wherever a program has them
///   size_t config_size = 0, weights_size = 0;
///   const gpt2_memory_file files[] = {{"config.json", config, config_size},
///                                     {"model.safetensors", weights, weights_size}};
///   gpt2_model* in_memory = NULL;
///   if (gpt2_model_load_memory(files, 2, NULL, &in_memory) != GPT2_OK) puts(gpt2_last_error());
///   gpt2_model_free(in_memory);
GPT2_API gpt2_status gpt2_model_load_memory(const gpt2_memory_file* files, size_t n_files,
                                            const gpt2_load_options* options, gpt2_model** out);
/// Makes a model with the matrices converted to another type, for example as a draft. It shares the
/// parts that are not converted with `model`. GPT2_INVALID_ARGUMENT if the weights are already
/// quantized.
GPT2_API gpt2_status gpt2_model_convert(const gpt2_model* model, gpt2_dtype dtype,
                                        gpt2_model** out);
/// Writes a model whose weights are int8 or int4 to the new directory `path`, which gpt2_model_load
/// can map without converting anything. Copies the other files from the directory from which the
/// model was loaded. Writes either the whole directory or nothing. GPT2_INVALID_ARGUMENT if the
/// weights are not quantized, `path` exists or the model was loaded from memory; GPT2_INVALID_FILE
/// if the system refuses to write. (model.h)
GPT2_API gpt2_status gpt2_model_save_quantized(const gpt2_model* model, const char* path);
/// Returns the properties of the model.
GPT2_API const gpt2_model_info* gpt2_model_get_info(const gpt2_model* model);
/// A tensor of a model: a matrix, a bias or the parameters of a LayerNorm. (weights.h)
typedef struct gpt2_weight {
  const char* name;     ///< HuggingFace's, without "transformer.": "h.0.attn.c_attn.weight"
  const void* data;     ///< the elements, at any alignment, row-major; must not be changed
  size_t size;          ///< of the data, in bytes
  const size_t* shape;  ///< as in files; the shape of the blocks if the type is int8 or int4
  size_t n_shape;       ///< the number of dimensions
  gpt2_dtype dtype;     ///< the type of the elements, never GPT2_DTYPE_STORED
} gpt2_weight;
/// Sets *weights to an array of all tensors of the model, and *n_weights to its length: wte, wpe,
/// the blocks in order, ln_f, and lm_head if it is not tied to wte. Nothing is copied. The array
/// and all that it points to are valid as long as the model handle. The layout of int8 and int4
/// data belongs to the library and may change.
///
/// Example:
///   const gpt2_weight* weights = NULL;
///   size_t n_weights = 0;
///   if (gpt2_model_weights(model, &weights, &n_weights) == GPT2_OK) {
///     for (size_t i = 0; i < n_weights; ++i) printf("%s %zu\n", weights[i].name, weights[i].size);
///   }
GPT2_API gpt2_status gpt2_model_weights(const gpt2_model* model, const gpt2_weight** weights,
                                        size_t* n_weights);
/// Frees the handle. The weights live as long as a session, an engine or another handle uses them.
GPT2_API void gpt2_model_free(gpt2_model* model);

// -- Tokenizer -----------------------------------------------------------------------------------

/// How a text becomes tokens.
typedef struct gpt2_encode_options {
  size_t size;
  int32_t parse_special;       ///< default 1: encode the text of a special token as that token
  int32_t add_special_tokens;  ///< default 1: add the tokens that the tokenizer's files demand
} gpt2_encode_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_encode_options_init(gpt2_encode_options* options, size_t size);

/// The properties of a tokenizer. Valid as long as the tokenizer.
typedef struct gpt2_tokenizer_info {
  size_t n_tokens;          ///< one more than the largest id
  gpt2_token end_of_text;   ///< the token that ends a text, or -1
  const char* description;  ///< for people: the files and the kind
  size_t vocab_size;        ///< the number of tokens without added ones: transformers' vocab_size
} gpt2_tokenizer_info;

/// Loads the tokenizer in a model's directory, by the model's name or path. GPT2_NOT_FOUND if there
/// is none, GPT2_UNSUPPORTED if it is not of GPT-2's kind. (tokenizer.h)
GPT2_API gpt2_status gpt2_tokenizer_load(const char* name, gpt2_tokenizer** out);
/// The same for files in memory: tokenizer.json, or vocab.json and merges.txt, and so on. Other
/// files of a model are ignored. The bytes are needed during the call only.
GPT2_API gpt2_status gpt2_tokenizer_load_memory(const gpt2_memory_file* files, size_t n_files,
                                                gpt2_tokenizer** out);
/// The token ids of a text, in a result that gpt2_ids_free frees; none for an empty text.
///
/// Example:
///   gpt2_ids* ids = NULL;
///   gpt2_bytes* text = NULL;
///   if (gpt2_tokenizer_encode(tokenizer, "Once upon", 9, NULL, &ids) == GPT2_OK &&
///       gpt2_tokenizer_decode(tokenizer, ids->data, ids->count, &text) == GPT2_OK) {
///     printf("%zu tokens: %s\n", ids->count, text->data);
///   }
///   gpt2_ids_free(ids);
///   gpt2_bytes_free(text);
GPT2_API gpt2_status gpt2_tokenizer_encode(const gpt2_tokenizer* tokenizer, const char* text,
                                           size_t n_bytes, const gpt2_encode_options* options,
                                           gpt2_ids** out);
/// The bytes of tokens, one after another, in a result that gpt2_bytes_free frees. They are not
/// checked to be whole characters. An id without a token has no bytes.
GPT2_API gpt2_status gpt2_tokenizer_decode(const gpt2_tokenizer* tokenizer, const gpt2_token* ids,
                                           size_t n_ids, gpt2_bytes** out);
/// The bytes of one token, which may be a part of a character and have no zero byte after them.
/// None for an id without a token. Valid as long as the tokenizer.
GPT2_API gpt2_status gpt2_tokenizer_token_bytes(const gpt2_tokenizer* tokenizer, gpt2_token id,
                                                const char** data, size_t* n_bytes);
/// Sets *is_special to whether the id is a token that marks structure and is not part of a text.
GPT2_API gpt2_status gpt2_tokenizer_is_special(const gpt2_tokenizer* tokenizer, gpt2_token id,
                                               int32_t* is_special);
/// The id of the token with exactly these bytes, or -1 if there is none, which is not an error.
GPT2_API gpt2_status gpt2_tokenizer_find(const gpt2_tokenizer* tokenizer, const char* content,
                                         size_t n_bytes, gpt2_token* id);
/// GPT2_INVALID_ARGUMENT if the model cannot have been trained with the tokenizer.
GPT2_API gpt2_status gpt2_tokenizer_require_match(const gpt2_tokenizer* tokenizer,
                                                  const gpt2_model* model);
/// Returns the properties of the tokenizer.
GPT2_API const gpt2_tokenizer_info* gpt2_tokenizer_get_info(const gpt2_tokenizer* tokenizer);
/// Frees the handle.
GPT2_API void gpt2_tokenizer_free(gpt2_tokenizer* tokenizer);

// -- Engine --------------------------------------------------------------------------------------

/// How to make an engine.
typedef struct gpt2_engine_options {
  size_t size;
  int32_t threads;  ///< from 1 to 1,024; default 0: gpt2_thread_count(), fewer for small models
  gpt2_kv_type kv_type;  ///< keys and values of the engine's sessions; default GPT2_KV_AUTO
} gpt2_engine_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_engine_options_init(gpt2_engine_options* options, size_t size);

/// Makes an engine for the model. Programs need one only to choose the number of threads or the
/// type of keys and values, or to compute on several threads at the same time: all calls whose
/// options give no engine share one engine of the model. GPT2_INVALID_ARGUMENT for an option out of
/// range.
///
/// Example:
///   gpt2_engine_options options;
///   gpt2_engine_options_init(&options, sizeof options);
///   options.threads = 2;
///   gpt2_engine* engine = NULL;
///   gpt2_engine_new(model, &options, &engine);
///   gpt2_session_options in_engine;
///   gpt2_session_options_init(&in_engine, sizeof in_engine);
///   in_engine.engine = engine;
///   gpt2_session* own = NULL;
///   gpt2_session_new(model, &in_engine, &own);
///   gpt2_session_free(own);
///   gpt2_engine_free(engine);
GPT2_API gpt2_status gpt2_engine_new(const gpt2_model* model, const gpt2_engine_options* options,
                                     gpt2_engine** out);
/// Sets *threads to the max number of threads that a pass of the engine uses.
GPT2_API gpt2_status gpt2_engine_threads(const gpt2_engine* engine, int32_t* threads);
/// Frees the handle. The threads end with the last session that uses the engine.
GPT2_API void gpt2_engine_free(gpt2_engine* engine);

// -- Session -------------------------------------------------------------------------------------

/// How to make a session.
typedef struct gpt2_session_options {
  size_t size;
  const gpt2_engine* engine;  ///< of the model; default NULL: the one that all share
  size_t max_tokens;          ///< the max number of tokens; default 0: n_positions
} gpt2_session_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_session_options_init(gpt2_session_options* options, size_t size);

/// The state of a session. Valid until the next call that changes the session.
typedef struct gpt2_session_info {
  const gpt2_token* tokens;  ///< the tokens so far, including those that wait
  size_t position;           ///< the number of tokens
  size_t waiting;            ///< how many of the last tokens have not been computed
  size_t capacity;           ///< how many tokens there is room for
  size_t dropped;            ///< how many tokens slides have dropped since the session was empty
} gpt2_session_info;

/// One sequence's part in a pass. All pointers refer to memory that the caller owns.
typedef struct gpt2_slice {
  gpt2_session* session;
  const gpt2_token* tokens;  ///< appended to the session
  size_t n_tokens;           ///< the number of tokens; may be 0 if tokens wait in the session
  float* out;                ///< (n_out, vocab_size) logits, or (n_out, n_embd) hidden states
  size_t n_out;              ///< write them for this many of the last tokens; may be 0
} gpt2_slice;

/// Makes an empty session. Memory for keys and values is used as tokens are added: 75.5 MB for
/// 1,024 tokens of GPT-2 124M in f32. GPT2_INVALID_ARGUMENT if max_tokens is more than n_positions,
/// or for an engine of another model.
///
/// Example:
///   gpt2_session* greedy = NULL;
///   const float* logits = NULL;  // vocab_size of them
///   gpt2_token next = 443;       // "Once"
///   gpt2_session_new(model, NULL, &greedy);
///   const size_t vocab_size = gpt2_model_get_info(model)->vocab_size;
///   for (int i = 0; i < 5 && gpt2_session_forward(greedy, &next, 1, &logits) == GPT2_OK; ++i) {
///     next = 0;
///     for (size_t id = 1; id < vocab_size; ++id) {
///       if (logits[id] > logits[next]) next = (gpt2_token)id;
///     }
///   }
///   gpt2_session_free(greedy);
GPT2_API gpt2_status gpt2_session_new(const gpt2_model* model, const gpt2_session_options* options,
                                      gpt2_session** out);
/// Appends the tokens, computes them and those that wait, and returns the logits after the last
/// one: vocab_size floats, which are not copied. They are valid until the next call that changes
/// the session. GPT2_INVALID_ARGUMENT for an id outside the vocabulary, if there is no room for the
/// tokens, and for no tokens if none wait.
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
/// to the number of dropped tokens: 0 if there was enough room. GPT2_INVALID_ARGUMENT if there was
/// not enough room and keep + room is more than the capacity. (session.h)
GPT2_API gpt2_status gpt2_session_slide(gpt2_session* session, size_t keep, size_t room,
                                        size_t* dropped);
/// Makes a second session in the same state, on the same engine. Computes nothing; the two share
/// memory for their common tokens, in blocks of 256, and may be used by different threads.
GPT2_API gpt2_status gpt2_session_fork(const gpt2_session* session, gpt2_session** out);
/// Makes the session equal to the first `position` tokens of `other`, a session of the same model
/// with keys and values of the same type, without computing anything. Copies the keys and values of
/// at most 255 tokens. A search can reorder its sequences with this function.
GPT2_API gpt2_status gpt2_session_assign(gpt2_session* session, const gpt2_session* other,
                                         size_t position);
/// Writes the session to a file, which gpt2_session_load reads. Writes either the whole file, which
/// replaces an existing one, or nothing. GPT2_INVALID_ARGUMENT if the path is empty or that of
/// something which cannot be replaced, such as a directory; GPT2_INVALID_FILE if the system reports
/// an error. (session.h)
GPT2_API gpt2_status gpt2_session_save(const gpt2_session* session, const char* path);
/// Makes a session from a file. It continues with the same bits as the session that was saved. The
/// file must come from the same model and weight type, which is checked by samples, and have keys
/// and values of the engine's type; GPT2_INVALID_FILE otherwise.
GPT2_API gpt2_status gpt2_session_load(const gpt2_model* model, const char* path,
                                       const gpt2_session_options* options, gpt2_session** out);
/// Returns the state of the session. Must be called by the thread that the session belongs to.
GPT2_API const gpt2_session_info* gpt2_session_get_info(gpt2_session* session);
/// Frees the session.
GPT2_API void gpt2_session_free(gpt2_session* session);

/// One forward pass over several sessions of one model, which reads the weights once for all of
/// them. The engine of the first session runs it; the others may be on other engines. Each logit
/// has the same bits as in a separate pass. Allocates only a list of the slices.
/// GPT2_INVALID_ARGUMENT as for gpt2_session_forward, for a session that appears twice, for
/// sessions of different models, and if n_out is more than the tokens of a slice. Does nothing for
/// no slices.
///
/// Example:
///   const gpt2_token once[] = {443, 452}, cat = 361;
///   const size_t vocab_size = gpt2_model_get_info(model)->vocab_size;
///   float* logits = malloc(2 * vocab_size * sizeof *logits);
///   const gpt2_slice slices[] = {{session, once, 2, logits, 1},
///                                {session_b, &cat, 1, logits + vocab_size, 1}};
///   if (gpt2_forward(slices, 2) != GPT2_OK) fprintf(stderr, "%s\n", gpt2_last_error());
///   free(logits);
GPT2_API gpt2_status gpt2_forward(const gpt2_slice* slices, size_t n_slices);
/// The same pass for hidden states instead of logits. `layer` counts as in HuggingFace: 0 stands
/// for the embeddings, n_layer for the output of the last block after ln_f. GPT2_INVALID_ARGUMENT
/// for a larger layer. Does nothing if there are no slices, whatever the layer, because there is
/// then no model to compare it with. (embed.h)
GPT2_API gpt2_status gpt2_hidden_states(const gpt2_slice* slices, size_t n_slices, size_t layer);
/// Computes the logits that the model would have if its last hidden states were these: reads
/// (n_states, n_embd) floats and writes (n_states, vocab_size) floats to `logits`, memory that the
/// caller owns and that must not overlap `states`. Applies ln_f to the states first if `apply_ln_f`
/// is true, as states from before the last layer need. The states of layer n_layer have been
/// through ln_f already; without it, their logits have the same bits as those of gpt2_forward.
/// `engine` may be NULL: the one that all share. (embed.h)
///
/// Example:
///   const gpt2_token ids[] = {443, 452, 258};
///   const gpt2_model_info* sizes = gpt2_model_get_info(model);
///   float* state = malloc(sizes->n_embd * sizeof *state);
///   float* lens = malloc(sizes->vocab_size * sizeof *lens);
///   const gpt2_slice slice = {session, ids, 3, state, 1};
///   if (gpt2_hidden_states(&slice, 1, 2) == GPT2_OK &&
///       gpt2_unembed(model, NULL, state, 1, 1, lens) == GPT2_OK) {
///     printf("%f\n", (double)lens[258]);  // if the model ended after its second block
///   }
///   free(lens);
///   free(state);
GPT2_API gpt2_status gpt2_unembed(const gpt2_model* model, const gpt2_engine* engine,
                                  const float* states, size_t n_states, int32_t apply_ln_f,
                                  float* logits);

// -- Observer ------------------------------------------------------------------------------------

/// The values of a pass that can be observed and changed. Each comment gives the shape of a row;
/// there is one row for each token. HuggingFace's `hidden_states` are the embeddings, then the
/// block_output of every block but the last, then ln_f_output. Its `attentions` are the
/// attention_weights. (observer.h)
typedef int32_t gpt2_observed;
enum {
  GPT2_OBSERVED_EMBEDDINGS = 0,         ///< (n_embd) wte + wpe
  GPT2_OBSERVED_LN_1_STATISTICS = 1,    ///< (3) mean, variance and rstd of the input of ln_1
  GPT2_OBSERVED_ATTENTION_WEIGHTS = 2,  ///< (keys) one head's weights of the tokens up to this one
  GPT2_OBSERVED_HEAD_OUTPUTS = 3,       ///< (n_embd) all heads, side by side: the input of c_proj
  GPT2_OBSERVED_ATTN_OUTPUT = 4,        ///< (n_embd) the output of attention
  GPT2_OBSERVED_LN_2_STATISTICS = 5,    ///< (3) the same for the input of ln_2
  GPT2_OBSERVED_MLP_OUTPUT = 6,         ///< (n_embd) the output of the feed-forward layer
  GPT2_OBSERVED_BLOCK_OUTPUT = 7,       ///< (n_embd) the residual stream after a block
  GPT2_OBSERVED_LN_F_STATISTICS = 8,    ///< (3) the same for the input of ln_f
  GPT2_OBSERVED_LN_F_OUTPUT = 9,        ///< (n_embd) the logits are computed from it
  GPT2_OBSERVED_LN_1_OUTPUT = 10,       ///< (n_embd) the input of attn.c_attn
  GPT2_OBSERVED_QUERIES = 11,           ///< (n_embd) the queries of all heads, side by side
  GPT2_OBSERVED_KEYS = 12,              ///< (n_embd) the keys of all heads, side by side
  GPT2_OBSERVED_VALUES = 13,            ///< (n_embd) the values of all heads, side by side
  GPT2_OBSERVED_LN_2_OUTPUT = 14,       ///< (n_embd) the input of mlp.c_fc
  GPT2_OBSERVED_MLP_ACTIVATIONS = 15    ///< (inner_dim) the input of mlp.c_proj
};
/// The name in lower case, such as "attention_weights"; "unknown" for another number. Static.
GPT2_API const char* gpt2_observed_name(gpt2_observed what);
/// TransformerLens's name of the values, with N for the layer, such as "blocks.N.hook_attn_out";
/// "unknown" for another number. Static. (observed_names.h)
GPT2_API const char* gpt2_observed_hook(gpt2_observed what);

/// Some of the values that a pass computes: rows for consecutive tokens of one slice. Valid until
/// the callback returns.
typedef struct gpt2_observation {
  gpt2_observed what;
  size_t layer;       ///< the block, from 0; 0 for the embeddings and n_layer for ln_f
  size_t head;        ///< the head for attention_weights; 0 for everything else
  size_t slice;       ///< the index of the slice in the call
  size_t first;       ///< the position of row 0's token in its session
  size_t rows;        ///< the number of rows, one for each token
  size_t cols;        ///< the number of floats in a row
  size_t stride;      ///< the number of floats from one row to the next
  const float* data;  ///< element (i, j) is data[i * stride + j]
} gpt2_observation;
/// Called during the pass with each observation, in the order in which they are computed. If it
/// returns 0, the observer is not called again; the pass goes on to its end, and GPT2_CANCELLED is
/// returned. Must not use the engine of the pass, nor sessions on that engine.
typedef int (*gpt2_on_observation)(void* user, const gpt2_observation* seen);

/// The same for values that can be changed, in place: the pass goes on with what the callback
/// leaves in the rows, which may be any numbers, including infinities and NaN. observer.h says what
/// a pass computes from changed statistics and attention weights, and what a session keeps.
typedef struct gpt2_intervention {
  gpt2_observed what;
  size_t layer;   ///< the block, from 0; 0 for the embeddings and n_layer for ln_f
  size_t head;    ///< the head for attention_weights; 0 for everything else
  size_t slice;   ///< the index of the slice in the call
  size_t first;   ///< the position of row 0's token in its session
  size_t rows;    ///< the number of rows, one for each token
  size_t cols;    ///< the number of floats in a row
  size_t stride;  ///< the number of floats from one row to the next
  float* data;    ///< element (i, j) is data[i * stride + j]
} gpt2_intervention;
/// Called as gpt2_on_observation is, with the same rows, but before it: that function is shown the
/// changed values. Must write only to the elements of the rows.
typedef int (*gpt2_on_intervention)(void* user, const gpt2_intervention* values);

/// Called before the pass, for each combination of `what` and `layer`. Returns whether to observe
/// it, or to change it.
typedef int (*gpt2_wants)(void* user, gpt2_observed what, size_t layer);

/// The callbacks that observe and change a pass.
typedef struct gpt2_observer {
  size_t size;
  gpt2_on_observation see;      ///< default NULL: sees nothing; then `change` must not be NULL
  gpt2_wants wants;             ///< whether to call `see`; default NULL: for everything
  void* user;                   ///< for the callbacks
  gpt2_on_intervention change;  ///< default NULL: changes nothing
  gpt2_wants changes;           ///< whether to call `change`; default NULL: for everything
} gpt2_observer;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_observer_init(gpt2_observer* observer, size_t size);

/// Runs the same pass as gpt2_forward, and shows the observer the values that it computes for every
/// token, including tokens whose logits are not requested. The results have the same bits unless
/// the observer changes a value. A slice of more than about 512 tokens is shown in several pieces.
/// Fails as gpt2_forward does, and with GPT2_INVALID_ARGUMENT if both `see` and `change` are NULL.
/// (observer.h)
///
/// Example:
///   const gpt2_token once[] = {443, 452, 258, 401};
///   const gpt2_slice slice = {session, once, 4, NULL, 0};  // no logits
///   gpt2_observer observer;
///   gpt2_observer_init(&observer, sizeof observer);
///   observer.see = on_observation;  // yours
///   if (gpt2_observe(&slice, 1, &observer) != GPT2_OK) puts(gpt2_last_error());
GPT2_API gpt2_status gpt2_observe(const gpt2_slice* slices, size_t n_slices,
                                  const gpt2_observer* observer);

// -- Sampling ------------------------------------------------------------------------------------

/// A bias that is added to the score of the last of the ids if the text so far ends with the
/// others.
typedef struct gpt2_sequence_bias {
  gpt2_ids ids;  ///< at least one
  float bias;    ///< from -1e30 to 1e30, or -INFINITY
} gpt2_sequence_bias;

/// A number, from -100 to 100, that is added to the logit of a token.
typedef struct gpt2_logit_bias {
  gpt2_token id;
  float bias;
} gpt2_logit_bias;

/// How the next token is chosen, with HuggingFace's names, formulas and order. With the defaults,
/// tokens are drawn from the model's own distribution. SamplingOptions in sampling_options.h
/// describes each member, with its range.
typedef struct gpt2_sampling_options {
  size_t size;
  float temperature;       ///< default 1; 0: always the token with the highest score (greedy)
  float top_p;             ///< default 1: keep all
  size_t top_k;            ///< default 0: keep all
  float min_p;             ///< default 0
  float typical_p;         ///< default 1
  float epsilon_cutoff;    ///< default 0
  float eta_cutoff;        ///< default 0
  uint64_t seed;           ///< default 0; the same seed draws the same tokens, on every machine
  uint64_t sequence;       ///< default 0; those that share a seed draw independently of one another
  float presence_penalty;  ///< default 0; OpenAI's
  float frequency_penalty;                  ///< default 0; OpenAI's
  float repetition_penalty;                 ///< default 1
  int32_t remove_invalid_values;            ///< default 0
  size_t no_repeat_ngram_size;              ///< default 0: none
  size_t min_length;                        ///< default 0; counts the tokens of the prompt, too
  size_t min_new_tokens;                    ///< default 0
  const gpt2_sequence_bias* sequence_bias;  ///< n_sequence_bias of them
  size_t n_sequence_bias;
  const gpt2_logit_bias* logit_bias;  ///< OpenAI's; n_logit_bias of them
  size_t n_logit_bias;
  const gpt2_ids* bad_words_ids;  ///< sequences that are never completed: n_bad_words_ids of them
  size_t n_bad_words_ids;
  gpt2_ids suppress_tokens;        ///< tokens that are never chosen
  gpt2_ids begin_suppress_tokens;  ///< never as the first token after the prompt
  gpt2_ids forced_eos_token_id;    ///< the last token, if the text reaches its max length
  gpt2_token forced_bos_token_id;  ///< default -1: none
  int32_t renormalize_logits;      ///< default 0
  double decay_factor;  ///< exponential_decay_length_penalty: its factor; default 1, which is none
  size_t decay_start;   ///< and the number of new tokens after which it begins
  gpt2_on_scores on_scores;  ///< called last; samplers and schedulers keep it and `user`
  void* user;                ///< for on_scores
  float top_n_sigma;         ///< default 0: keep all
} gpt2_sampling_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_sampling_options_init(gpt2_sampling_options* options, size_t size);

/// Facts about the text that some sampling options need. gpt2_generate sets them itself; a program
/// that calls a sampler in its own loop passes them to gpt2_sampler_new. (SequenceLimits in
/// sampling_options.h)
typedef struct gpt2_sequence_limits {
  size_t size;
  gpt2_ids eos_token_id;      ///< tokens that end the text
  size_t prompt_length;       ///< default 0: the first tokens of `ids`, before the continuation
  size_t max_length;          ///< default SIZE_MAX; counts the tokens of the prompt, too
  size_t dropped;             ///< default 0: the number of tokens dropped before `ids`
  size_t min_tokens_to_keep;  ///< default 1: each of the filters keeps at least this many
} gpt2_sequence_limits;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_sequence_limits_init(gpt2_sequence_limits* limits, size_t size);

/// Makes a sampler for logits of vocab_size tokens. `limits` may be NULL. GPT2_INVALID_ARGUMENT for
/// an option out of range or an id outside the vocabulary. Cost: 24 bytes for each token of the
/// vocabulary.
///
/// Example:
///   gpt2_sampling_options options;
///   gpt2_sampling_options_init(&options, sizeof options);
///   options.temperature = 0.8f;
///   options.top_k = 40;
///   gpt2_sampler* sampler = NULL;
///   const float* logits = NULL;
///   gpt2_token next = 443;
///   gpt2_sampler_new(&options, gpt2_model_get_info(model)->vocab_size, NULL, &sampler);
///   for (int i = 0; i < 5; ++i) {
///     if (gpt2_session_forward(session, &next, 1, &logits) != GPT2_OK) break;
///     const gpt2_session_info* so_far = gpt2_session_get_info(session);
///     gpt2_sampler_sample(sampler, logits, so_far->tokens, so_far->position, &next);
///   }
///   gpt2_sampler_free(sampler);
GPT2_API gpt2_status gpt2_sampler_new(const gpt2_sampling_options* options, size_t vocab_size,
                                      const gpt2_sequence_limits* limits, gpt2_sampler** out);
/// Chooses the token that follows `ids`, all tokens so far, from vocab_size logits. It depends only
/// on the options, the ids and the logits. GPT2_INVALID_ARGUMENT if logits are NaN or +INFINITY, or
/// if the options have removed every token; GPT2_CANCELLED if on_scores returned 0.
GPT2_API gpt2_status gpt2_sampler_sample(gpt2_sampler* sampler, const float* logits,
                                         const gpt2_token* ids, size_t n_ids, gpt2_token* token);
/// Returns the scores from which the token would be chosen: vocab_size floats, valid until the next
/// call with this sampler. Fails as gpt2_sampler_sample does.
GPT2_API gpt2_status gpt2_sampler_process(gpt2_sampler* sampler, const float* logits,
                                          const gpt2_token* ids, size_t n_ids,
                                          const float** scores);
/// Frees the sampler.
GPT2_API void gpt2_sampler_free(gpt2_sampler* sampler);

// -- Generate ------------------------------------------------------------------------------------

/// The action to take when the session is full and the text has not ended.
typedef int32_t gpt2_overflow;
enum {
  GPT2_OVERFLOW_STOP = 0,  ///< the text ends: GPT2_FINISH_CONTEXT_FULL
  GPT2_OVERFLOW_SLIDE = 1  ///< drop the oldest tokens after the first `keep`, and continue
};

/// Options for gpt2_generate. GenerationOptions in generate.h describes each member.
typedef struct gpt2_generate_options {
  size_t size;
  size_t max_new_tokens;                  ///< default 256, up to 10^9; 0: only read the prompt
  const gpt2_sampling_options* sampling;  ///< default NULL: the defaults of sampling
  gpt2_ids stop_tokens;                   ///< also end the text, like the model's own
  const gpt2_bytes* stop;                 ///< strings that end the text: n_stop, none empty
  size_t n_stop;
  int32_t ignore_eos;        ///< default 0; continue after end-of-text tokens of the model
  gpt2_overflow overflow;    ///< default GPT2_OVERFLOW_STOP
  size_t keep;               ///< default 0; see gpt2_overflow
  int32_t hash_logits;       ///< default 0; compute gpt2_generation.logits_hash
  int32_t wants_logprobs;    ///< default 0; fill gpt2_generation.logprobs
  size_t top_logprobs;       ///< default 0: the length of gpt2_token_logprob.top
  const gpt2_model* draft;   ///< default NULL; drafts tokens: a quantized copy of the model, or a
                             ///< smaller model of the same vocabulary
  int32_t prompt_lookup;     ///< default 0; draft tokens from the text so far
  int32_t constant_draft;    ///< default 0; always draft max_draft_tokens
  size_t max_draft_tokens;   ///< default 12; from 1 to 64
  gpt2_on_text on_text;      ///< needs a tokenizer
  gpt2_on_token on_token;    ///< with a tokenizer, called for each token before on_text
  gpt2_on_prompt on_prompt;  ///< if it stops the work, the prompt is taken back (generate.h)
  void* user;                ///< for the three callbacks
  gpt2_cancel* cancel;       ///< default NULL
} gpt2_generate_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_generate_options_init(gpt2_generate_options* options, size_t size);

/// The new tokens and their text, with counts and times. gpt2_generation_free frees it.
typedef struct gpt2_generation {
  gpt2_finish_reason finish_reason;    ///< why it ended
  const gpt2_token* tokens;            ///< the new tokens, without a token that ended the text
  size_t n_tokens;                     ///< the number of tokens
  const char* text;                    ///< the whole text; "" without a tokenizer
  size_t n_text;                       ///< the length of the text in bytes
  const gpt2_token_logprob* logprobs;  ///< one for each of the tokens; NULL unless wants_logprobs
  uint64_t logits_hash;                ///< a hash of all logits from which a token was drawn
  size_t prompt_tokens;                ///< the length of the prompt given to this call
  size_t drafted_tokens;               ///< how many tokens were drafted
  size_t accepted_tokens;              ///< how many drafted tokens were accepted
  size_t dropped_tokens;               ///< how many tokens slides dropped
  double prompt_seconds;               ///< the time for reading the prompt
  double generation_seconds;           ///< the time for everything after the prompt
} gpt2_generation;
/// Frees a result.
GPT2_API void gpt2_generation_free(gpt2_generation* generation);

/// Appends the prompt to the session, and then draws and appends tokens until one of the reasons in
/// gpt2_finish_reason ends the text. Afterwards the session holds its earlier tokens, the prompt
/// and the new tokens, so another call, with a new prompt or with none, continues the text. If
/// on_text, on_token, on_prompt or `cancel` stops the work, returns GPT2_OK with the finish reason
/// GPT2_FINISH_CANCELLED and the tokens written so far. If `tokenizer` is NULL, the result has no
/// text, and stop strings and on_text are refused.
///
/// GPT2_INVALID_ARGUMENT for an empty prompt if the session has no token, either (to begin a new
/// text, give the token gpt2_tokenizer_info::end_of_text), a prompt that does not fit, an option
/// out of range, a tokenizer of another model, and logits with NaN or +INFINITY; GPT2_CANCELLED if
/// on_scores returned 0; GPT2_OUT_OF_MEMORY. If it fails after tokens were written, the session
/// holds them. The same arguments write the same text, bit for bit, on every machine. (generate.h)
///
/// Example:
///   const gpt2_token once[] = {443, 452};
///   gpt2_generation* more = NULL;
///   if (gpt2_generate(session, tokenizer, once, 2, NULL, &more) == GPT2_OK) {
///     printf("%s (%s)\n", more->text, gpt2_finish_reason_name(more->finish_reason));
///   }
///   gpt2_generation_free(more);
GPT2_API gpt2_status gpt2_generate(gpt2_session* session, const gpt2_tokenizer* tokenizer,
                                   const gpt2_token* prompt, size_t n_prompt,
                                   const gpt2_generate_options* options, gpt2_generation** out);
/// The same for a prompt that is a text, which is encoded with the default options. Needs a
/// tokenizer. To begin a new text, give "<|endoftext|>" or what the tokenizer calls this token.
///
/// Example:
///   gpt2_generation* story = NULL;
///   if (gpt2_generate_text(session, tokenizer, "The cat", 7, NULL, &story) == GPT2_OK) {
///     puts(story->text);
///   }
///   gpt2_generation_free(story);
GPT2_API gpt2_status gpt2_generate_text(gpt2_session* session, const gpt2_tokenizer* tokenizer,
                                        const char* prompt, size_t n_bytes,
                                        const gpt2_generate_options* options,
                                        gpt2_generation** out);

// -- The table of options ------------------------------------------------------------------------

/// The table that an option belongs to, named after the struct that has its members.
typedef int32_t gpt2_option_table;
enum {
  GPT2_OPTIONS_SAMPLING = 0,    ///< gpt2_sampling_options
  GPT2_OPTIONS_GENERATION = 1,  ///< gpt2_generate_options
  GPT2_OPTIONS_BEAMS = 2        ///< gpt2_beam_options
};

/// How a struct holds the value of an option. If two members hold it, they are adjacent.
typedef int32_t gpt2_option_type;
enum {
  GPT2_OPTION_FLOAT = 0,          ///< float
  GPT2_OPTION_DOUBLE = 1,         ///< double
  GPT2_OPTION_SIZE = 2,           ///< size_t
  GPT2_OPTION_UINT64 = 3,         ///< uint64_t
  GPT2_OPTION_FLAG = 4,           ///< int32_t: 0 is false
  GPT2_OPTION_ENUM = 5,           ///< int32_t with named values
  GPT2_OPTION_TOKEN = 6,          ///< gpt2_token; -1: none
  GPT2_OPTION_IDS = 7,            ///< gpt2_ids
  GPT2_OPTION_ID_LISTS = 8,       ///< const gpt2_ids* and size_t
  GPT2_OPTION_SEQUENCE_BIAS = 9,  ///< const gpt2_sequence_bias* and size_t
  GPT2_OPTION_LOGIT_BIAS = 10,    ///< const gpt2_logit_bias* and size_t
  GPT2_OPTION_TEXTS = 11,         ///< const gpt2_bytes* and size_t
  GPT2_OPTION_DECAY = 12,         ///< double (the factor) and size_t (the start)
  GPT2_OPTION_MAYBE_SIZE = 13     ///< int32_t (whether it is set) and size_t
};

/// What an option does. (OptionRole in option_fields.h)
typedef int32_t gpt2_option_role;
enum {
  GPT2_ROLE_DRAWS = 0,          ///< has an effect only if tokens are drawn
  GPT2_ROLE_LIMITS_LENGTH = 1,  ///< makes a text end earlier or later
  GPT2_ROLE_PENALIZES = 2,      ///< makes tokens less likely that the text already has
  GPT2_ROLE_NAMES_TOKENS = 3,   ///< changes the scores of single tokens
  GPT2_ROLE_SEARCHES = 4,       ///< the shape of a beam search
  GPT2_ROLE_REPORTS = 5         ///< adds something to the result
};

/// Where the name and the meaning of an option come from. (OptionOrigin in option_fields.h)
typedef int32_t gpt2_option_origin;
enum {
  GPT2_ORIGIN_HUGGINGFACE = 0,  ///< generation_config.json may have it
  GPT2_ORIGIN_OPENAI = 1,       ///< OpenAI's completions
  GPT2_ORIGIN_OWN = 2           ///< gpt2.cpp
};

/// One option: all that a front end or a binding has to know about it.
typedef struct gpt2_option_field {
  const char* name;       ///< HuggingFace's or OpenAI's, such as "min_p"
  const char* help;       ///< one line for people
  size_t offset;          ///< of the (first) member in the struct
  gpt2_option_type type;  ///< of the member
  gpt2_option_role role;  ///< what the option does
  gpt2_option_origin origin;
  double min;             ///< the lowest number that the value may contain, if it contains numbers
  double max;             ///< the highest
  double also;            ///< one more number that is allowed
} gpt2_option_field;

/// Returns the rows of a table and sets their number. They live as long as the program. Fails with
/// GPT2_INVALID_ARGUMENT for a table that does not exist. (option_fields.h)
///
/// Example:
///   size_t n_fields = 0;
///   const gpt2_option_field* fields = gpt2_option_fields(GPT2_OPTIONS_SAMPLING, &n_fields);
///   for (size_t i = 0; i < n_fields; ++i) printf("%s: %s\n", fields[i].name, fields[i].help);
GPT2_API const gpt2_option_field* gpt2_option_fields(gpt2_option_table table, size_t* count);

// -- Beam search ---------------------------------------------------------------------------------

/// Determines when a beam search ends, once the number of ended sequences has reached the number of
/// beams. (beam_search.h)
typedef int32_t gpt2_early_stopping;
enum {
  GPT2_EARLY_STOPPING_NO = 0,    ///< when no open beam is likely to end with a better score
  GPT2_EARLY_STOPPING_YES = 1,   ///< at once
  GPT2_EARLY_STOPPING_NEVER = 2  ///< when no open beam can end with a better score
};

/// The choices of a beam search in one step. All pointers are valid until the callback returns.
typedef struct gpt2_beam_step {
  size_t new_tokens;         ///< new tokens of each beam so far: 1 in the first step
  size_t num_beams;          ///< the length of the three arrays that follow
  const gpt2_token* tokens;  ///< the new token of each beam
  const size_t* parents;     ///< the beam of the last step that each beam continues
  const float* scores;       ///< the sum of each beam's log-probabilities
  const gpt2_token* best;    ///< the new tokens of the open beam with the highest sum
  size_t n_best;             ///< the length of `best`; 0 if all beams have ended
  uint64_t logits_hash;      ///< a hash of all logits so far; 0 without hash_logits
} gpt2_beam_step;
/// Called after each step of a beam search.
typedef int (*gpt2_on_step)(void* user, const gpt2_beam_step* step);

/// Options for gpt2_beam_search. BeamOptions in beam_search.h and BeamSearchOptions in
/// beam_search.h describe each member.
typedef struct gpt2_beam_options {
  size_t size;
  const gpt2_engine* engine;              ///< of the model; default NULL: the one that all share
  size_t num_beams;                       ///< default 1; from 1 to 1,024
  size_t num_return_sequences;            ///< default 1; from 1 to num_beams
  double length_penalty;                  ///< default 1; from -20 to 20
  gpt2_early_stopping early_stopping;     ///< default GPT2_EARLY_STOPPING_NO
  float diversity_penalty;                ///< default 0; above 0 with several groups
  size_t num_beam_groups;                 ///< default 1; divides num_beams
  gpt2_token pad_token_id;                ///< default -1: the first token that ends a sequence
  int32_t ignore_eos;                     ///< as in gpt2_generate_options
  size_t max_new_tokens;                  ///< default 256, from 1 to 10^9
  const gpt2_sampling_options* sampling;  ///< default NULL. Nothing is drawn, so temperature, the
                                          ///< filters top_k ... eta_cutoff, and seed do nothing
  gpt2_ids stop_tokens;                   ///< as in gpt2_generate_options
  int32_t hash_logits;                    ///< default 0; compute gpt2_beam_step.logits_hash
  gpt2_on_prompt on_prompt;
  gpt2_on_step on_step;
  void* user;           ///< for the two callbacks
  gpt2_cancel* cancel;  ///< default NULL
} gpt2_beam_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_beam_options_init(gpt2_beam_options* options, size_t size);

/// One of the sequences that a beam search returns.
typedef struct gpt2_beam {
  const gpt2_token* tokens;  ///< the new tokens, without one that ended the sequence
  size_t n_tokens;           ///< the number of tokens
  const char* text;          ///< their text; "" without a tokenizer
  size_t n_text;             ///< the length of the text in bytes
  double score;              ///< the sum of log-probabilities after the length_penalty
  gpt2_finish_reason finish_reason;
} gpt2_beam;

/// The best sequences, best first. gpt2_beams_free frees them.
typedef struct gpt2_beams {
  const gpt2_beam* data;
  size_t count;  ///< num_return_sequences, or 0 if the work was stopped before the first step
} gpt2_beams;
/// Frees a result.
GPT2_API void gpt2_beams_free(gpt2_beams* beams);

/// Searches for the most probable continuations of a prompt, as HuggingFace's generate() does with
/// num_beams. If `tokenizer` is NULL, the result has no texts, and only the model's own end-of-text
/// tokens and stop_tokens end a sequence. If on_prompt, on_step or `cancel` stops the work, returns
/// GPT2_OK and the sequences found so far: none before the first step, and num_return_sequences
/// afterwards, some of which may have GPT2_FINISH_CANCELLED.
///
/// GPT2_INVALID_ARGUMENT for an empty prompt, one that does not fit, an option out of range, a
/// tokenizer of another model, logits with NaN or +INFINITY, and if every token ends a sequence;
/// GPT2_CANCELLED if on_scores returned 0; GPT2_OUT_OF_MEMORY. (beam_search.h)
///
/// Example:
///   const gpt2_token once[] = {443, 452};
///   gpt2_beam_options options;
///   gpt2_beam_options_init(&options, sizeof options);
///   options.num_beams = 4;
///   options.num_return_sequences = 2;
///   gpt2_beams* beams = NULL;
///   if (gpt2_beam_search(model, tokenizer, once, 2, &options, &beams) == GPT2_OK) {
///     for (size_t i = 0; i < beams->count; ++i) {
///       printf("%f: %s\n", beams->data[i].score, beams->data[i].text);
///     }
///   }
///   gpt2_beams_free(beams);
GPT2_API gpt2_status gpt2_beam_search(const gpt2_model* model, const gpt2_tokenizer* tokenizer,
                                      const gpt2_token* prompt, size_t n_prompt,
                                      const gpt2_beam_options* options, gpt2_beams** out);

// -- Generation config ---------------------------------------------------------------------------

/// How HuggingFace's generate() would write with a model if it were called without options.
/// gpt2_generation_config_free frees it, and with it what its members point to.
typedef struct gpt2_generation_config {
  int32_t do_sample;                      ///< draw tokens; if false, `sampling` is greedy
  const gpt2_sampling_options* sampling;  ///< for gpt2_generate_options and gpt2_sampler_new
  const gpt2_beam_options* beams;         ///< for gpt2_beam_search, with the same sampling, if its
                                          ///< num_beams is more than 1
  size_t num_return_sequences;            ///< otherwise: how many texts are drawn from one prompt
  size_t max_length;                      ///< in tokens; counts the tokens of the prompt, too
  size_t max_new_tokens;  ///< instead of max_length; SIZE_MAX if the file does not say
} gpt2_generation_config;
/// Frees a result.
GPT2_API void gpt2_generation_config_free(gpt2_generation_config* config);
/// Reads the generation_config.json of a model by the model's name or path, or, if there is none,
/// its config.json, where older models have the same keys. Token ids may be outside the model's
/// vocabulary, which the functions that use them refuse. GPT2_NOT_FOUND if there is no model;
/// GPT2_UNSUPPORTED for a key that would change the text and is not implemented; GPT2_INVALID_FILE
/// for a value of the wrong type or out of range. (generation_config.h)
///
/// Example:
///   gpt2_generation_config* config = NULL;
///   if (gpt2_generation_config_load("models/gpt2-stories", &config) == GPT2_OK) {
///     gpt2_generate_options options;
///     gpt2_generate_options_init(&options, sizeof options);
///     options.sampling = config->sampling;
///     gpt2_generation* as_in_python = NULL;
///     gpt2_generate_text(session, tokenizer, "The cat", 7, &options, &as_in_python);
///     gpt2_generation_free(as_in_python);
///   }
///   gpt2_generation_config_free(config);
GPT2_API gpt2_status gpt2_generation_config_load(const char* name, gpt2_generation_config** out);

// -- Scheduler -----------------------------------------------------------------------------------

/// The limits of a scheduler.
typedef struct gpt2_scheduler_options {
  size_t size;
  const gpt2_engine* engine;  ///< of the model; default NULL: the one that all share
  size_t max_memory;          ///< bytes of keys and values; default 0: half of the free memory
  size_t max_sequences;       ///< texts that are written at once; default 32
} gpt2_scheduler_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_scheduler_options_init(gpt2_scheduler_options* options, size_t size);

/// Makes a scheduler, which writes many texts at once. Each text and its result have the same bits
/// as with gpt2_generate in a separate session. Any thread may call gpt2_scheduler_submit and
/// gpt2_scheduler_take at any time; only one thread at a time may call step or run, and callbacks
/// are called on this thread. A callback may submit texts and take results.
///
/// Example:
///   gpt2_scheduler* scheduler = NULL;
///   gpt2_scheduler_new(model, NULL, &scheduler);
///   const gpt2_token prompts[] = {443, 361};
///   uint64_t ids[2] = {0, 0};
///   for (int i = 0; i < 2; ++i) {
///     gpt2_scheduler_submit(scheduler, tokenizer, &prompts[i], 1, NULL, &ids[i]);
///   }
///   gpt2_scheduler_run(scheduler);
///   for (int i = 0; i < 2; ++i) {
///     gpt2_generation* text = NULL;
///     if (gpt2_scheduler_take(scheduler, ids[i], &text) == GPT2_OK) puts(text->text);
///     gpt2_generation_free(text);
///   }
///   gpt2_scheduler_free(scheduler);
GPT2_API gpt2_status gpt2_scheduler_new(const gpt2_model* model,
                                        const gpt2_scheduler_options* options,
                                        gpt2_scheduler** out);
/// Adds a text to be written, with arguments as for gpt2_generate, and returns a number for
/// gpt2_scheduler_take. Callbacks and `user` must be usable until the text has ended. Some
/// arguments are checked only when the text begins; gpt2_scheduler_take then returns their status.
GPT2_API gpt2_status gpt2_scheduler_submit(gpt2_scheduler* scheduler,
                                           const gpt2_tokenizer* tokenizer,
                                           const gpt2_token* prompt, size_t n_prompt,
                                           const gpt2_generate_options* options, uint64_t* id);
/// Runs one forward pass over the texts that are being written, and sets *has_more to whether there
/// is more to do. Does not report the errors of single texts: gpt2_scheduler_take does.
GPT2_API gpt2_status gpt2_scheduler_step(gpt2_scheduler* scheduler, int32_t* has_more);
/// Runs passes until all texts have ended.
GPT2_API gpt2_status gpt2_scheduler_run(gpt2_scheduler* scheduler);
/// The result of a text, which can be taken once. While the text has not ended, sets *out to NULL
/// and returns GPT2_OK. Otherwise returns the status that gpt2_generate would have returned for the
/// text, or GPT2_NOT_FOUND if no text has this number or its result has been taken.
GPT2_API gpt2_status gpt2_scheduler_take(gpt2_scheduler* scheduler, uint64_t id,
                                         gpt2_generation** out);
/// Frees the scheduler, and abandons the texts that have not ended.
GPT2_API void gpt2_scheduler_free(gpt2_scheduler* scheduler);

// -- Score ---------------------------------------------------------------------------------------

/// How to score texts. ScoreOptions in score.h describes the windows.
typedef struct gpt2_score_options {
  size_t size;
  const gpt2_engine* engine;        ///< of the model; default NULL: the one that all share
  const gpt2_tokenizer* tokenizer;  ///< default NULL; counts words and bytes
  size_t context;                   ///< tokens of a window; default 0: n_positions
  size_t stride;                    ///< between windows; default 0: 512, or half a window if less
  size_t top_logprobs;              ///< default 0: the length of gpt2_token_logprob.top
  gpt2_on_progress on_progress;     ///< stops the work by returning 0
  void* user;                       ///< for on_progress
  gpt2_cancel* cancel;              ///< default NULL
} gpt2_score_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_score_options_init(gpt2_score_options* options, size_t size);

/// The log-probability of each token of a text, given the tokens before it in its window. The first
/// token of a text has no score.
typedef struct gpt2_text_score {
  const gpt2_token_logprob* tokens;
  size_t n_tokens;
  double nll;         ///< the sum of -logprob of the tokens that have a score, in nats
  double perplexity;  ///< the perplexity by token of this text; NaN if no token has a score
} gpt2_text_score;

/// A number that is estimated from windows. NaN if there is nothing to estimate it from.
typedef struct gpt2_estimate {
  double value;
  double standard_error;
} gpt2_estimate;

/// The scores of some texts, and how well the model predicts all of them together (Perplexity in
/// score.h). gpt2_scores_free frees it.
typedef struct gpt2_scores {
  const gpt2_text_score* texts;  ///< one for each text, in order
  size_t n_texts;
  size_t tokens;                ///< the number of scored tokens
  size_t words;                 ///< how many words begin in these tokens; 0 without a tokenizer
  size_t bytes;                 ///< the number of bytes of these tokens; 0 without a tokenizer
  size_t windows;               ///< how many windows score a token
  double nll;                   ///< the sum of -logprob, in nats
  gpt2_estimate by_token;       ///< the perplexity: exp(nll / tokens)
  gpt2_estimate by_word;        ///< exp(nll / words); NaN without a tokenizer
  gpt2_estimate by_byte;        ///< exp(nll / bytes); NaN without a tokenizer
  gpt2_estimate bits_per_byte;  ///< NaN without a tokenizer
} gpt2_scores;
/// Frees a result.
GPT2_API void gpt2_scores_free(gpt2_scores* scores);

/// Computes the log-probabilities of texts, in windows, as HuggingFace's page "Perplexity of
/// fixed-length models" does. Texts share passes, and the result for each text has the same bits as
/// if it were scored alone. A text of fewer than two tokens has no score: its perplexity is NaN.
/// GPT2_INVALID_ARGUMENT, before any work, for options out of range and ids outside the vocabulary;
/// GPT2_CANCELLED if on_progress or `cancel` stopped it.
///
/// Example:
///   const gpt2_token ids[] = {443, 452, 258, 401};
///   const gpt2_ids text = {ids, 4};
///   gpt2_scores* scores = NULL;
///   if (gpt2_score(model, &text, 1, NULL, &scores) == GPT2_OK) {
///     printf("perplexity %.3f\n", scores->by_token.value);
///   }
///   gpt2_scores_free(scores);
GPT2_API gpt2_status gpt2_score(const gpt2_model* model, const gpt2_ids* texts, size_t n_texts,
                                const gpt2_score_options* options, gpt2_scores** out);

/// The log-probability of a continuation.
typedef struct gpt2_choice {
  const gpt2_token_logprob* tokens;  ///< the scores of its tokens
  size_t n_tokens;
  double sum;            ///< the sum of their log-probabilities
  double mean;           ///< sum / n_tokens
  int32_t greedy_match;  ///< whether greedy decoding would continue the context with it
} gpt2_choice;

/// The scores of continuations, in order. gpt2_choices_free frees it.
typedef struct gpt2_choices {
  const gpt2_choice* data;
  size_t count;
} gpt2_choices;
/// Frees a result.
GPT2_API void gpt2_choices_free(gpt2_choices* choices);

/// Scores continuations of one context, for example the answers to a question. Ignores the options
/// `tokenizer`, `context` and `stride`. GPT2_INVALID_ARGUMENT, before any work, if the context or a
/// continuation is empty, or if both together have more than n_positions + 1 tokens; GPT2_CANCELLED
/// if on_progress or `cancel` stopped it.
///
/// Example:
///   const gpt2_token context = 443, a = 452, b = 361;
///   const gpt2_ids both[] = {{&a, 1}, {&b, 1}};
///   gpt2_choices* choices = NULL;
///   if (gpt2_score_choices(model, &context, 1, both, 2, NULL, &choices) == GPT2_OK) {
///     puts(choices->data[0].mean > choices->data[1].mean ? "a" : "b");
///   }
///   gpt2_choices_free(choices);
GPT2_API gpt2_status gpt2_score_choices(const gpt2_model* model, const gpt2_token* context,
                                        size_t n_context, const gpt2_ids* continuations,
                                        size_t n_continuations, const gpt2_score_options* options,
                                        gpt2_choices** out);

/// How to compare two models.
typedef struct gpt2_compare_options {
  size_t size;
  const gpt2_engine* engine_a;   ///< of the first model; default NULL: the one that all share
  const gpt2_engine* engine_b;   ///< of the second one; default NULL: the one that all share
  gpt2_on_progress on_progress;  ///< stops the work by returning 0
  void* user;                    ///< for on_progress
  gpt2_cancel* cancel;           ///< default NULL
} gpt2_compare_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_compare_options_init(gpt2_compare_options* options, size_t size);

/// How well two models predict a text, and how far apart they are. gpt2_comparison_free frees it.
typedef struct gpt2_comparison {
  size_t tokens;            ///< the number of scored tokens: all but the first
  size_t windows;           ///< the number of windows in which they were scored
  double perplexity_a;      ///< the perplexity of the first model; lower is better
  double perplexity_b;      ///< the perplexity of the second one
  double change;            ///< perplexity_b / perplexity_a - 1
  double standard_error;    ///< the error of `change`, over the windows; NaN for one window
  double max_logit_change;  ///< the largest difference of any logit, as a magnitude
} gpt2_comparison;
/// Frees a result.
GPT2_API void gpt2_comparison_free(gpt2_comparison* comparison);

/// Scores a text with two models of one vocabulary, such as a model and its quantized copy. Both
/// may be one model, if the engines hold keys and values in different types. GPT2_INVALID_ARGUMENT,
/// before any work, for fewer than two tokens or positions, for vocabularies that differ in size,
/// and for an id outside the vocabulary; GPT2_CANCELLED if on_progress or `cancel` stopped it.
/// (score.h describes the windows)
///
/// Example:
///   const gpt2_token ids[] = {443, 452, 258, 401};
///   gpt2_model* small = NULL;
///   gpt2_comparison* cost = NULL;
///   if (gpt2_model_convert(model, GPT2_DTYPE_INT8, &small) == GPT2_OK &&
///       gpt2_compare_perplexity(model, small, ids, 4, NULL, &cost) == GPT2_OK) {
///     printf("%+.2f %%\n", 100.0 * cost->change);
///   }
///   gpt2_comparison_free(cost);
///   gpt2_model_free(small);
GPT2_API gpt2_status gpt2_compare_perplexity(const gpt2_model* a, const gpt2_model* b,
                                             const gpt2_token* tokens, size_t n_tokens,
                                             const gpt2_compare_options* options,
                                             gpt2_comparison** out);

// -- Embed ---------------------------------------------------------------------------------------

/// How the hidden states of a text's tokens become one vector.
typedef int32_t gpt2_pooling;
enum {
  GPT2_POOLING_MEAN = 0,  ///< their mean
  GPT2_POOLING_LAST = 1   ///< the hidden state of the last token
};

/// How to embed texts.
typedef struct gpt2_embed_options {
  size_t size;
  const gpt2_engine* engine;     ///< of the model; default NULL: the one that all share
  size_t layer;                  ///< as in gpt2_hidden_states; default SIZE_MAX: n_layer
  gpt2_on_progress on_progress;  ///< stops the work by returning 0
  void* user;                    ///< for on_progress
  gpt2_cancel* cancel;           ///< default NULL
  gpt2_pooling pooling;          ///< default GPT2_POOLING_MEAN
} gpt2_embed_options;
/// Sets the defaults.
GPT2_API gpt2_status gpt2_embed_options_init(gpt2_embed_options* options, size_t size);

/// Writes a vector of n_embd floats for each text to `vectors`, memory that the caller owns, with
/// room for (n_texts, n_embd) floats. The vectors are not normalized. Texts share passes, and each
/// vector has the same bits as if its text were embedded alone. GPT2_INVALID_ARGUMENT, before any
/// work, for a text without tokens or with more than n_positions; GPT2_CANCELLED if on_progress or
/// `cancel` stopped it.
///
/// Example:
///   const gpt2_token ids[] = {443, 452, 258, 401};
///   const gpt2_ids text = {ids, 4};
///   float* vector = malloc(gpt2_model_get_info(model)->n_embd * sizeof *vector);
///   if (gpt2_embed(model, &text, 1, NULL, vector) == GPT2_OK) printf("%f\n", (double)vector[0]);
///   free(vector);
GPT2_API gpt2_status gpt2_embed(const gpt2_model* model, const gpt2_ids* texts, size_t n_texts,
                                const gpt2_embed_options* options, float* vectors);

#ifdef __cplusplus
}  // extern "C"
#endif
