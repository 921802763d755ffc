// Calls every function of the C interface with arguments that it must refuse: NULL, a handle of
// another kind, a length without a pointer, a number without a name, a struct without a size.
#include <math.h>
#include <string.h>

#include "gpt2/gpt2.h"
#include "support/check.h"

#define MODEL GPT2_MODELS_DIR "/gpt2-stories"

// Checks that the call returns the status, and that the message is one line that contains the text.
#define FAILS_WITH(status, call, text)              \
  do {                                              \
    CHECK((call) == (status));                      \
    CHECK(gpt2_last_status() == (status));          \
    CHECK(strstr(gpt2_last_error(), text) != NULL); \
    CHECK(strchr(gpt2_last_error(), '\n') == NULL); \
  } while (0)
#define REFUSED(call, text) FAILS_WITH(GPT2_INVALID_ARGUMENT, call, text)

// The same for a function that makes something: it must set `out` to NULL.
#define REFUSED_NEW(out, call, text)                  \
  do {                                                \
    memset(&(out), 0xff, sizeof(out)); /* not NULL */ \
    REFUSED(call, text);                              \
    CHECK((out) == NULL);                             \
  } while (0)

static const gpt2_token ids[] = {443, 452};
static gpt2_model* model;
static gpt2_tokenizer* tokenizer;
static gpt2_session* session;
static gpt2_cancel* other_kind;

#define WRONG(type) ((type*)(void*)other_kind)

static void test_runtime(void) {
  REFUSED(gpt2_cancel_new(NULL), "the output pointer is NULL");
  REFUSED(gpt2_cancel_set(NULL, 1), "a gpt2_cancel is NULL");
  REFUSED(gpt2_cancel_set((gpt2_cancel*)(void*)model, 1), "is not a gpt2_cancel");
  REFUSED(gpt2_force_isa(NULL), "the name of the instruction set is NULL");
  FAILS_WITH(GPT2_UNSUPPORTED, gpt2_force_isa("no such set"), "scalar");
}

static void test_model(void) {
  const gpt2_weight* weights = NULL;
  size_t n_weights = 0;
  gpt2_model* out;
  gpt2_bytes* path;
  gpt2_load_options options;
  REFUSED_NEW(path, gpt2_find_model(NULL, &path), "the name of the model is NULL");
  REFUSED_NEW(path, gpt2_find_model("", &path), "empty");
  REFUSED(gpt2_find_model(MODEL, NULL), "output");
  REFUSED_NEW(out, gpt2_model_load(NULL, NULL, &out), "the name of the model is NULL");
  REFUSED(gpt2_model_load(MODEL, NULL, NULL), "output");
  CHECK(gpt2_load_options_init(&options, sizeof options) == GPT2_OK);
  options.dtype = 6;
  REFUSED_NEW(out, gpt2_model_load(MODEL, &options, &out), "the dtype is 6");
  options.dtype = -1;
  REFUSED_NEW(out, gpt2_model_load(MODEL, &options, &out), "the dtype is -1");
  options.dtype = GPT2_DTYPE_STORED;
  options.cancel = (gpt2_cancel*)(void*)model;
  REFUSED_NEW(out, gpt2_model_load(MODEL, &options, &out), "is not a gpt2_cancel");
  REFUSED_NEW(out, gpt2_model_convert(NULL, GPT2_DTYPE_F32, &out), "a gpt2_model is NULL");
  REFUSED_NEW(out, gpt2_model_convert(WRONG(gpt2_model), GPT2_DTYPE_F32, &out),
              "is not a gpt2_model");
  REFUSED_NEW(out, gpt2_model_convert(model, 99, &out), "the dtype is 99");
  REFUSED(gpt2_model_convert(model, GPT2_DTYPE_F32, NULL), "output");
  REFUSED(gpt2_model_save_quantized(NULL, "x"), "a gpt2_model is NULL");
  REFUSED(gpt2_model_save_quantized(model, NULL), "the path is NULL");
  REFUSED(gpt2_model_save_quantized(model, "x"), "int8 and int4");
  REFUSED(gpt2_model_weights(NULL, &weights, &n_weights), "a gpt2_model is NULL");
  REFUSED(gpt2_model_weights(WRONG(gpt2_model), &weights, &n_weights), "is not a gpt2_model");
  REFUSED(gpt2_model_weights(model, NULL, &n_weights), "the output for the array is NULL");
  REFUSED(gpt2_model_weights(model, &weights, NULL), "the output for its length is NULL");
  CHECK(gpt2_model_get_info(NULL) == NULL);
  CHECK(gpt2_last_status() == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_model_get_info(WRONG(gpt2_model)) == NULL);
}

static void test_memory(void) {
  gpt2_model* out;
  gpt2_tokenizer* text;
  gpt2_load_options options;
  gpt2_memory_file file = {"config.json", "{}", 2};
  const gpt2_memory_file twice[] = {file, file};
  REFUSED_NEW(out, gpt2_model_load_memory(NULL, 1, NULL, &out), "the list of files is NULL");
  REFUSED_NEW(text, gpt2_tokenizer_load_memory(NULL, 1, &text), "the list of files is NULL");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_model_load_memory(NULL, 0, NULL, &out), "memory");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_tokenizer_load_memory(&file, 1, &text), "no tokenizer");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_model_load_memory(&file, 1, NULL, &out), "no weights");
  REFUSED_NEW(out, gpt2_model_load_memory(twice, 2, NULL, &out), "config.json");
  REFUSED_NEW(text, gpt2_tokenizer_load_memory(twice, 2, &text), "config.json");
  REFUSED(gpt2_model_load_memory(&file, 1, NULL, NULL), "output");
  REFUSED(gpt2_tokenizer_load_memory(&file, 1, NULL), "output");
  CHECK(gpt2_load_options_init(&options, sizeof options) == GPT2_OK);
  options.dtype = 6;
  REFUSED_NEW(out, gpt2_model_load_memory(&file, 1, &options, &out), "the dtype is 6");
  file.data = NULL;
  REFUSED_NEW(out, gpt2_model_load_memory(&file, 1, NULL, &out), "the data of a file is NULL");
  file.name = NULL;
  REFUSED_NEW(out, gpt2_model_load_memory(&file, 1, NULL, &out), "the name of a file is NULL");
}

static void test_tokenizer(void) {
  gpt2_tokenizer* out;
  gpt2_ids* list;
  gpt2_bytes* text;
  const char* data = NULL;
  size_t n = 0;
  int32_t is_special = 0;
  gpt2_token id = 0;
  REFUSED_NEW(out, gpt2_tokenizer_load(NULL, &out), "the name of the model is NULL");
  REFUSED(gpt2_tokenizer_load(MODEL, NULL), "output");
  REFUSED_NEW(list, gpt2_tokenizer_encode(NULL, "x", 1, NULL, &list), "a gpt2_tokenizer is NULL");
  REFUSED_NEW(list, gpt2_tokenizer_encode(WRONG(gpt2_tokenizer), "x", 1, NULL, &list),
              "is not a gpt2_tokenizer");
  REFUSED_NEW(list, gpt2_tokenizer_encode(tokenizer, NULL, 1, NULL, &list),
              "the text is NULL, but its length is 1");
  REFUSED_NEW(list, gpt2_tokenizer_encode(tokenizer, "x", SIZE_MAX, NULL, &list),
              "more than any memory holds");
  REFUSED(gpt2_tokenizer_encode(tokenizer, "x", 1, NULL, NULL), "output");
  CHECK(gpt2_tokenizer_encode(tokenizer, NULL, 0, NULL, &list) == GPT2_OK);
  CHECK(list->count == 0);
  gpt2_ids_free(list);
  REFUSED_NEW(text, gpt2_tokenizer_decode(NULL, ids, 2, &text), "a gpt2_tokenizer is NULL");
  REFUSED_NEW(text, gpt2_tokenizer_decode(tokenizer, NULL, 2, &text), "the list of ids is NULL");
  REFUSED_NEW(text, gpt2_tokenizer_decode(tokenizer, ids, SIZE_MAX / 2, &text), "memory");
  REFUSED(gpt2_tokenizer_decode(tokenizer, ids, 2, NULL), "output");
  REFUSED(gpt2_tokenizer_token_bytes(NULL, 1, &data, &n), "a gpt2_tokenizer is NULL");
  REFUSED(gpt2_tokenizer_token_bytes(tokenizer, 1, NULL, &n), "`data` is NULL");
  REFUSED(gpt2_tokenizer_token_bytes(tokenizer, 1, &data, NULL), "`n_bytes` is NULL");
  CHECK(data == NULL);
  CHECK(gpt2_tokenizer_token_bytes(tokenizer, -5, &data, &n) == GPT2_OK && n == 0);
  REFUSED(gpt2_tokenizer_is_special(NULL, 1, &is_special), "a gpt2_tokenizer is NULL");
  REFUSED(gpt2_tokenizer_is_special(tokenizer, 1, NULL), "`is_special` is NULL");
  REFUSED(gpt2_tokenizer_find(NULL, "x", 1, &id), "a gpt2_tokenizer is NULL");
  REFUSED(gpt2_tokenizer_find(tokenizer, NULL, 1, &id), "the content is NULL");
  REFUSED(gpt2_tokenizer_find(tokenizer, "x", 1, NULL), "`id` is NULL");
  REFUSED(gpt2_tokenizer_require_match(NULL, model), "a gpt2_tokenizer is NULL");
  REFUSED(gpt2_tokenizer_require_match(tokenizer, NULL), "a gpt2_model is NULL");
  CHECK(gpt2_tokenizer_get_info(NULL) == NULL);
}

static void test_engine(void) {
  gpt2_engine* out;
  gpt2_engine_options options;
  int32_t threads = 0;
  CHECK(gpt2_engine_options_init(&options, sizeof options) == GPT2_OK);
  REFUSED_NEW(out, gpt2_engine_new(NULL, NULL, &out), "a gpt2_model is NULL");
  REFUSED(gpt2_engine_new(model, NULL, NULL), "output");
  options.threads = -1;
  REFUSED_NEW(out, gpt2_engine_new(model, &options, &out), "-1");
  options.threads = 1025;
  REFUSED_NEW(out, gpt2_engine_new(model, &options, &out), "1025");
  options.threads = 0;
  options.kv_type = 3;
  REFUSED_NEW(out, gpt2_engine_new(model, &options, &out), "the kv_type is 3");
  options.kv_type = -1;
  REFUSED_NEW(out, gpt2_engine_new(model, &options, &out), "the kv_type is -1");
  REFUSED(gpt2_engine_threads(NULL, &threads), "a gpt2_engine is NULL");
  CHECK(gpt2_engine_new(model, NULL, &out) == GPT2_OK);
  REFUSED(gpt2_engine_threads(out, NULL), "`threads` is NULL");
  gpt2_engine_free(out);
}

static void test_session(void) {
  const float* logits = NULL;
  gpt2_session* out;
  gpt2_session_options options;
  gpt2_model* quantized = NULL;
  gpt2_engine* engine = NULL;
  const gpt2_token unknown[] = {443, -1};
  size_t dropped = 99;
  CHECK(gpt2_session_options_init(&options, sizeof options) == GPT2_OK);
  REFUSED_NEW(out, gpt2_session_new(NULL, NULL, &out), "a gpt2_model is NULL");
  REFUSED(gpt2_session_new(model, NULL, NULL), "output");
  options.max_tokens = 1000000;
  REFUSED_NEW(out, gpt2_session_new(model, &options, &out), "1000000");
  options.max_tokens = 0;
  options.engine = WRONG(gpt2_engine);
  REFUSED_NEW(out, gpt2_session_new(model, &options, &out), "is not a gpt2_engine");
  CHECK(gpt2_model_convert(model, GPT2_DTYPE_INT8, &quantized) == GPT2_OK);
  CHECK(gpt2_engine_new(quantized, NULL, &engine) == GPT2_OK);
  options.engine = engine;
  REFUSED_NEW(out, gpt2_session_new(model, &options, &out), "another model");
  gpt2_engine_free(engine);
  gpt2_model_free(quantized);

  REFUSED(gpt2_session_forward(NULL, ids, 2, &logits), "a gpt2_session is NULL");
  REFUSED(gpt2_session_forward(WRONG(gpt2_session), ids, 2, &logits), "is not a gpt2_session");
  REFUSED(gpt2_session_forward(session, NULL, 2, &logits), "the list of tokens is NULL");
  REFUSED(gpt2_session_forward(session, ids, SIZE_MAX, &logits), "memory");
  REFUSED(gpt2_session_forward(session, ids, 2, NULL), "`logits` is NULL");
  REFUSED(gpt2_session_forward(session, unknown, 2, &logits), "-1");
  REFUSED(gpt2_session_forward(session, NULL, 0, &logits), "at least one token");
  CHECK(logits == NULL);
  REFUSED(gpt2_session_append(NULL, ids, 2), "a gpt2_session is NULL");
  REFUSED(gpt2_session_append(session, NULL, 2), "the list of tokens is NULL");
  REFUSED(gpt2_session_rewind(NULL, 0), "a gpt2_session is NULL");
  REFUSED(gpt2_session_rewind(session, 1), "1");
  REFUSED(gpt2_session_slide(NULL, 0, 1, &dropped), "a gpt2_session is NULL");
  REFUSED(gpt2_session_slide(session, 0, 1, NULL), "`dropped` is NULL");
  REFUSED(gpt2_session_slide(session, 1, SIZE_MAX, &dropped), "room");
  CHECK(dropped == 99);
  REFUSED_NEW(out, gpt2_session_fork(NULL, &out), "a gpt2_session is NULL");
  REFUSED(gpt2_session_fork(session, NULL), "output");
  REFUSED(gpt2_session_assign(NULL, session, 0), "a gpt2_session is NULL");
  REFUSED(gpt2_session_assign(session, NULL, 0), "a gpt2_session is NULL");
  REFUSED(gpt2_session_save(NULL, "x"), "a gpt2_session is NULL");
  REFUSED(gpt2_session_save(session, NULL), "the path is NULL");
  REFUSED(gpt2_session_save(session, ""), "is empty");
  REFUSED(gpt2_session_save(session, MODEL), MODEL);  // a directory
  REFUSED_NEW(out, gpt2_session_load(NULL, "x", NULL, &out), "a gpt2_model is NULL");
  REFUSED_NEW(out, gpt2_session_load(model, NULL, NULL, &out), "the path is NULL");
  REFUSED(gpt2_session_load(model, "x", NULL, NULL), "output");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_session_load(model, "/nowhere", NULL, &out), "/nowhere");
  CHECK(gpt2_session_get_info(NULL) == NULL);
  CHECK(gpt2_session_get_info(session)->position == 0);
}

static int nothing_seen(void* user, const gpt2_observation* observation) {
  (void)user, (void)observation;
  CHECK(0);
  return 0;
}

static void test_passes(void) {
  float out[1];
  gpt2_slice slice = {session, ids, 2, NULL, 1};
  gpt2_observer observer;
  CHECK(gpt2_observer_init(&observer, sizeof observer) == GPT2_OK);
  REFUSED(gpt2_forward(NULL, 1), "the list of slices is NULL");
  REFUSED(gpt2_hidden_states(NULL, 1, 0), "the list of slices is NULL");
  CHECK(gpt2_forward(NULL, 0) == GPT2_OK);
  REFUSED(gpt2_forward(&slice, 1), "the output of a slice is NULL");
  REFUSED(gpt2_hidden_states(&slice, 1, 0), "the output of a slice is NULL");
  slice.out = out;
  slice.n_out = SIZE_MAX / 4;
  REFUSED(gpt2_forward(&slice, 1), "memory");
  slice.n_out = 3;
  REFUSED(gpt2_forward(&slice, 1), "at most one row for each token");
  slice.n_out = 0;
  REFUSED(gpt2_hidden_states(&slice, 1, 1000), "1000");
  slice.tokens = NULL;
  REFUSED(gpt2_forward(&slice, 1), "the list of tokens is NULL");
  slice.session = NULL;
  REFUSED(gpt2_forward(&slice, 1), "a gpt2_session is NULL");
  REFUSED(gpt2_unembed(NULL, NULL, out, 1, 0, out), "a gpt2_model is NULL");
  REFUSED(gpt2_unembed(model, WRONG(gpt2_engine), out, 1, 0, out), "is not a gpt2_engine");
  REFUSED(gpt2_unembed(model, NULL, NULL, 1, 0, out), "the array of hidden states is NULL");
  REFUSED(gpt2_unembed(model, NULL, out, 1, 0, NULL), "the output for the logits is NULL");
  REFUSED(gpt2_unembed(model, NULL, out, SIZE_MAX / 4, 0, out), "memory");
  CHECK(gpt2_unembed(model, NULL, NULL, 0, 0, NULL) == GPT2_OK);
  REFUSED(gpt2_observe(&slice, 1, NULL), "the observer is NULL");
  REFUSED(gpt2_observe(&slice, 1, &observer), "needs a function `see` or `change`");
  observer.see = nothing_seen;
  REFUSED(gpt2_observe(&slice, 1, &observer), "a gpt2_session is NULL");
  REFUSED(gpt2_observe(NULL, 1, &observer), "the list of slices is NULL");
  CHECK(gpt2_observe(NULL, 0, &observer) == GPT2_OK);
  observer.size = 0;
  REFUSED(gpt2_observe(NULL, 0, &observer), "size 0");
  const gpt2_slice twice[] = {{session, ids, 2, NULL, 0}, {session, ids, 2, NULL, 0}};
  REFUSED(gpt2_forward(twice, 2), "twice");
  CHECK(gpt2_session_get_info(session)->position == 0);
}

static void test_sampler(void) {
  const float logits[] = {1.0f, 2.0f, 3.0f}, invalid[] = {1.0f, NAN, 3.0f};
  const float* scores = NULL;
  gpt2_sampler* sampler = NULL;
  gpt2_sampler* out;
  gpt2_token token = -1;
  gpt2_sampling_options options;
  CHECK(gpt2_sampling_options_init(&options, sizeof options) == GPT2_OK);
  REFUSED(gpt2_sampler_new(NULL, 3, NULL, NULL), "output");
  REFUSED_NEW(out, gpt2_sampler_new(NULL, 0, NULL, &out), "vocab_size");
  options.temperature = -1.0f;
  REFUSED_NEW(out, gpt2_sampler_new(&options, 3, NULL, &out), "temperature");
  options.temperature = 1.0f;
  options.n_logit_bias = 1;
  REFUSED_NEW(out, gpt2_sampler_new(&options, 3, NULL, &out), "logit_bias is NULL");
  options.n_logit_bias = 0;
  options.n_bad_words_ids = 1;
  REFUSED_NEW(out, gpt2_sampler_new(&options, 3, NULL, &out), "bad_words_ids is NULL");
  options.n_bad_words_ids = 0;
  options.n_sequence_bias = 1;
  REFUSED_NEW(out, gpt2_sampler_new(&options, 3, NULL, &out), "sequence_bias is NULL");
  options.n_sequence_bias = 0;
  options.suppress_tokens.count = 1;
  REFUSED_NEW(out, gpt2_sampler_new(&options, 3, NULL, &out), "suppress_tokens is NULL");
  options.suppress_tokens.count = 0;
  options.forced_bos_token_id = -2;
  REFUSED_NEW(out, gpt2_sampler_new(&options, 3, NULL, &out), "-2");

  CHECK(gpt2_sampler_new(NULL, 3, NULL, &sampler) == GPT2_OK);
  REFUSED(gpt2_sampler_sample(NULL, logits, NULL, 0, &token), "a gpt2_sampler is NULL");
  REFUSED(gpt2_sampler_sample(WRONG(gpt2_sampler), logits, NULL, 0, &token),
          "is not a gpt2_sampler");
  REFUSED(gpt2_sampler_sample(sampler, NULL, NULL, 0, &token), "the array of logits is NULL");
  REFUSED(gpt2_sampler_sample(sampler, logits, NULL, 1, &token), "the list of ids is NULL");
  REFUSED(gpt2_sampler_sample(sampler, logits, NULL, 0, NULL), "`token` is NULL");
  REFUSED(gpt2_sampler_sample(sampler, invalid, NULL, 0, &token), "NaN");
  CHECK(token == -1);
  REFUSED(gpt2_sampler_process(NULL, logits, NULL, 0, &scores), "a gpt2_sampler is NULL");
  REFUSED(gpt2_sampler_process(sampler, NULL, NULL, 0, &scores), "the array of logits is NULL");
  REFUSED(gpt2_sampler_process(sampler, logits, NULL, 0, NULL), "`scores` is NULL");
  CHECK(gpt2_sampler_sample(sampler, logits, NULL, 0, &token) == GPT2_OK);
  gpt2_sampler_free(sampler);
}

static int never_called(void* user, const char* text, size_t n_bytes) {
  (void)user, (void)text, (void)n_bytes;
  CHECK(0);
  return 0;
}

static void test_generate(void) {
  gpt2_generation* out;
  gpt2_generate_options options;
  gpt2_sampling_options sampling;
  CHECK(gpt2_sampling_options_init(&sampling, sizeof sampling) == GPT2_OK);
  CHECK(gpt2_generate_options_init(&options, sizeof options) == GPT2_OK);
  REFUSED_NEW(out, gpt2_generate(NULL, tokenizer, ids, 2, NULL, &out), "a gpt2_session is NULL");
  REFUSED_NEW(out, gpt2_generate(WRONG(gpt2_session), tokenizer, ids, 2, NULL, &out),
              "is not a gpt2_session");
  REFUSED_NEW(out, gpt2_generate(session, WRONG(gpt2_tokenizer), ids, 2, NULL, &out),
              "is not a gpt2_tokenizer");
  REFUSED_NEW(out, gpt2_generate(session, tokenizer, NULL, 2, NULL, &out), "the prompt is NULL");
  REFUSED_NEW(out, gpt2_generate(session, tokenizer, NULL, 0, NULL, &out), "prompt");
  REFUSED(gpt2_generate(session, tokenizer, ids, 2, NULL, NULL), "output");
  REFUSED_NEW(out, gpt2_generate_text(NULL, tokenizer, "x", 1, NULL, &out), "a gpt2_session");
  REFUSED_NEW(out, gpt2_generate_text(session, NULL, "x", 1, NULL, &out), "a gpt2_tokenizer");
  REFUSED_NEW(out, gpt2_generate_text(session, tokenizer, NULL, 1, NULL, &out),
              "the prompt is NULL");
  REFUSED(gpt2_generate_text(session, tokenizer, "x", 1, NULL, NULL), "output");

  const gpt2_generate_options defaults = options;
#define REFUSED_OPTION(owner, set, text) \
  options = defaults;                    \
  options.set;                           \
  REFUSED_NEW(out, gpt2_generate(session, owner, ids, 2, &options, &out), text)
  REFUSED_OPTION(tokenizer, overflow = 2, "overflow is 2");
  REFUSED_OPTION(tokenizer, overflow = -1, "overflow is -1");
  REFUSED_OPTION(tokenizer, n_stop = 1, "stop is NULL");
  REFUSED_OPTION(tokenizer, stop_tokens.count = 1, "stop_tokens is NULL");
  REFUSED_OPTION(tokenizer, max_draft_tokens = 65, "65");
  REFUSED_OPTION(tokenizer, draft = WRONG(gpt2_model), "is not a gpt2_model");
  REFUSED_OPTION(tokenizer, cancel = (gpt2_cancel*)(void*)model, "is not a gpt2_cancel");
  REFUSED_OPTION(NULL, on_text = never_called, "on_text is set, but there is no tokenizer");
  sampling.top_p = 2.0f;
  REFUSED_OPTION(tokenizer, sampling = &sampling, "top_p");
  sampling.size = 0;
  REFUSED_OPTION(tokenizer, sampling = &sampling, "size 0");
  CHECK(gpt2_session_get_info(session)->position == 0);
}

static void test_beams(void) {
  gpt2_beams* out;
  gpt2_beam_options options;
  CHECK(gpt2_beam_options_init(&options, sizeof options) == GPT2_OK);
  REFUSED_NEW(out, gpt2_beam_search(NULL, tokenizer, ids, 2, NULL, &out), "a gpt2_model is NULL");
  REFUSED_NEW(out, gpt2_beam_search(WRONG(gpt2_model), tokenizer, ids, 2, NULL, &out),
              "is not a gpt2_model");
  REFUSED_NEW(out, gpt2_beam_search(model, WRONG(gpt2_tokenizer), ids, 2, NULL, &out),
              "is not a gpt2_tokenizer");
  REFUSED_NEW(out, gpt2_beam_search(model, tokenizer, NULL, 2, NULL, &out), "the prompt is NULL");
  REFUSED_NEW(out, gpt2_beam_search(model, tokenizer, NULL, 0, NULL, &out), "no tokens");
  REFUSED(gpt2_beam_search(model, tokenizer, ids, 2, NULL, NULL), "output");

  const gpt2_beam_options defaults = options;
#define REFUSED_BEAMS(set, text) \
  options = defaults;            \
  options.set;                   \
  REFUSED_NEW(out, gpt2_beam_search(model, tokenizer, ids, 2, &options, &out), text)
  REFUSED_BEAMS(num_beams = 0, "num_beams must be a whole number from 1 to 1024, got 0");
  REFUSED_BEAMS(num_return_sequences = 2, "num_return_sequences");
  REFUSED_BEAMS(length_penalty = NAN, "length_penalty");
  REFUSED_BEAMS(early_stopping = 3, "early_stopping is 3");
  REFUSED_BEAMS(early_stopping = -1, "early_stopping is -1");
  REFUSED_BEAMS(num_beam_groups = 2, "num_beam_groups");
  REFUSED_BEAMS(diversity_penalty = 1.0f, "diversity_penalty");
  REFUSED_BEAMS(pad_token_id = -2, "pad_token_id is -2");
  REFUSED_BEAMS(max_new_tokens = 0, "max_new_tokens");
  REFUSED_BEAMS(stop_tokens.count = 1, "stop_tokens is NULL");
  REFUSED_BEAMS(engine = WRONG(gpt2_engine), "is not a gpt2_engine");
  REFUSED_BEAMS(cancel = (gpt2_cancel*)(void*)model, "is not a gpt2_cancel");
  REFUSED_BEAMS(size = 0, "size 0");
}

static void test_generation_config(void) {
  gpt2_generation_config* out;
  REFUSED_NEW(out, gpt2_generation_config_load(NULL, &out), "the name of the model is NULL");
  REFUSED(gpt2_generation_config_load(MODEL, NULL), "output");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_generation_config_load("no-such-model", &out), "no-such-model");
}

static void test_scheduler(void) {
  gpt2_scheduler* scheduler = NULL;
  gpt2_scheduler* out;
  gpt2_generation* text;
  gpt2_scheduler_options options;
  uint64_t id = 0;
  int32_t has_more = 0;
  CHECK(gpt2_scheduler_options_init(&options, sizeof options) == GPT2_OK);
  REFUSED_NEW(out, gpt2_scheduler_new(NULL, NULL, &out), "a gpt2_model is NULL");
  REFUSED(gpt2_scheduler_new(model, NULL, NULL), "output");
  options.max_sequences = 0;
  REFUSED_NEW(out, gpt2_scheduler_new(model, &options, &out), "max_sequences");
  CHECK(gpt2_scheduler_new(model, NULL, &scheduler) == GPT2_OK);
  REFUSED(gpt2_scheduler_submit(NULL, tokenizer, ids, 2, NULL, &id), "a gpt2_scheduler is NULL");
  REFUSED(gpt2_scheduler_submit(scheduler, WRONG(gpt2_tokenizer), ids, 2, NULL, &id), "is not a");
  REFUSED(gpt2_scheduler_submit(scheduler, tokenizer, NULL, 2, NULL, &id), "the prompt is NULL");
  REFUSED(gpt2_scheduler_submit(scheduler, tokenizer, ids, 2, NULL, NULL), "`id` is NULL");
  REFUSED(gpt2_scheduler_step(NULL, &has_more), "a gpt2_scheduler is NULL");
  REFUSED(gpt2_scheduler_step(scheduler, NULL), "`has_more` is NULL");
  REFUSED(gpt2_scheduler_run(NULL), "a gpt2_scheduler is NULL");
  REFUSED_NEW(text, gpt2_scheduler_take(NULL, 1, &text), "a gpt2_scheduler is NULL");
  REFUSED(gpt2_scheduler_take(scheduler, 1, NULL), "output");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_scheduler_take(scheduler, 1, &text), "the number 1");
  gpt2_scheduler_free(scheduler);
}

static void test_score_and_embed(void) {
  const gpt2_ids text = {ids, 2}, null_text = {NULL, 2}, empty = {NULL, 0};
  gpt2_scores* scores;
  gpt2_choices* choices;
  gpt2_score_options score;
  gpt2_embed_options embed;
  float vector[1];
  CHECK(gpt2_score_options_init(&score, sizeof score) == GPT2_OK);
  CHECK(gpt2_embed_options_init(&embed, sizeof embed) == GPT2_OK);
  REFUSED_NEW(scores, gpt2_score(NULL, &text, 1, NULL, &scores), "a gpt2_model is NULL");
  REFUSED_NEW(scores, gpt2_score(model, NULL, 1, NULL, &scores), "the list of texts is NULL");
  REFUSED_NEW(scores, gpt2_score(model, &null_text, 1, NULL, &scores),
              "item 0 of the list of texts is NULL, but its length is 2");
  REFUSED(gpt2_score(model, &text, 1, NULL, NULL), "output");
  score.context = 1;
  REFUSED_NEW(scores, gpt2_score(model, &text, 1, &score, &scores), "context");
  score.tokenizer = WRONG(gpt2_tokenizer);
  REFUSED_NEW(scores, gpt2_score(model, &text, 1, &score, &scores), "is not a gpt2_tokenizer");

  REFUSED_NEW(choices, gpt2_score_choices(NULL, ids, 2, &text, 1, NULL, &choices), "is NULL");
  REFUSED_NEW(choices, gpt2_score_choices(model, NULL, 2, &text, 1, NULL, &choices), "the context");
  REFUSED_NEW(choices, gpt2_score_choices(model, ids, 2, NULL, 1, NULL, &choices), "continuations");
  REFUSED_NEW(choices, gpt2_score_choices(model, ids, 2, &empty, 1, NULL, &choices), "no tokens");
  REFUSED(gpt2_score_choices(model, ids, 2, &text, 1, NULL, NULL), "output");

  REFUSED(gpt2_embed(NULL, &text, 1, NULL, vector), "a gpt2_model is NULL");
  REFUSED(gpt2_embed(model, NULL, 1, NULL, vector), "the list of texts is NULL");
  REFUSED(gpt2_embed(model, &empty, 1, NULL, vector), "no tokens");
  REFUSED(gpt2_embed(model, &text, 1, NULL, NULL), "the array of vectors is NULL");
  embed.pooling = 2;
  REFUSED(gpt2_embed(model, &text, 1, &embed, vector), "pooling is 2");
  embed.pooling = GPT2_POOLING_LAST;
  embed.layer = 1000;
  REFUSED(gpt2_embed(model, &text, 1, &embed, vector), "1000");
}

static void test_compare(void) {
  const gpt2_token unknown[] = {443, -1};
  gpt2_comparison* out;
  gpt2_compare_options options;
  CHECK(gpt2_compare_options_init(&options, sizeof options) == GPT2_OK);
  REFUSED_NEW(out, gpt2_compare_perplexity(NULL, model, ids, 2, NULL, &out), "a gpt2_model is");
  REFUSED_NEW(out, gpt2_compare_perplexity(model, NULL, ids, 2, NULL, &out), "a gpt2_model is");
  REFUSED_NEW(out, gpt2_compare_perplexity(model, WRONG(gpt2_model), ids, 2, NULL, &out),
              "is not a gpt2_model");
  REFUSED_NEW(out, gpt2_compare_perplexity(model, model, NULL, 2, NULL, &out),
              "the list of tokens is NULL");
  REFUSED_NEW(out, gpt2_compare_perplexity(model, model, NULL, 0, NULL, &out), "two tokens");
  REFUSED_NEW(out, gpt2_compare_perplexity(model, model, unknown, 2, NULL, &out), "-1");
  REFUSED(gpt2_compare_perplexity(model, model, ids, 2, NULL, NULL), "output");
  const gpt2_compare_options defaults = options;
#define REFUSED_COMPARE(set, text) \
  options = defaults;              \
  options.set;                     \
  REFUSED_NEW(out, gpt2_compare_perplexity(model, model, ids, 2, &options, &out), text)
  REFUSED_COMPARE(engine_a = WRONG(gpt2_engine), "is not a gpt2_engine");
  REFUSED_COMPARE(engine_b = WRONG(gpt2_engine), "is not a gpt2_engine");
  REFUSED_COMPARE(cancel = (gpt2_cancel*)(void*)model, "is not a gpt2_cancel");
  REFUSED_COMPARE(size = 0, "size 0");
}

#define TEST_INIT(kind)                                                                 \
  do {                                                                                  \
    gpt2_##kind options;                                                                \
    REFUSED(gpt2_##kind##_init(NULL, sizeof options), "the struct of options is NULL"); \
    REFUSED(gpt2_##kind##_init(&options, 0), "the size 0");                             \
    REFUSED(gpt2_##kind##_init(&options, sizeof(void*)), "the size 8");                 \
    REFUSED(gpt2_##kind##_init(&options, sizeof options + 1), "sizeof");                \
    REFUSED(gpt2_##kind##_init(&options, SIZE_MAX - 7), "sizeof");                      \
    CHECK(gpt2_##kind##_init(&options, sizeof options) == GPT2_OK);                     \
    CHECK(options.size == sizeof options);                                              \
  } while (0)

static void test_option_fields(void) {
  size_t count = 99;
  CHECK(gpt2_cancel_set(NULL, 1) == GPT2_INVALID_ARGUMENT);  // sets another message
  for (gpt2_option_table table = -1; table <= GPT2_OPTIONS_BEAMS + 1; ++table) {
    const int is_table = table >= 0 && table <= GPT2_OPTIONS_BEAMS;
    CHECK((gpt2_option_fields(table, &count) != NULL) == is_table);
    if (is_table) continue;
    CHECK(gpt2_last_status() == GPT2_INVALID_ARGUMENT);
    CHECK(strstr(gpt2_last_error(), table < 0 ? "the table is -1" : "the table is 3") != NULL);
  }
}

static void test_option_structs(void) {
  TEST_INIT(load_options);
  TEST_INIT(encode_options);
  TEST_INIT(engine_options);
  TEST_INIT(session_options);
  TEST_INIT(sampling_options);
  TEST_INIT(sequence_limits);
  TEST_INIT(observer);
  TEST_INIT(generate_options);
  TEST_INIT(beam_options);
  TEST_INIT(scheduler_options);
  TEST_INIT(score_options);
  TEST_INIT(compare_options);
  TEST_INIT(embed_options);

  // Every function that reads a struct refuses one that was not initialized.
  const gpt2_load_options load = {0, 0, NULL, NULL, NULL};
  const gpt2_encode_options encode = {0, 0, 0};
  const gpt2_engine_options engine = {1, 0, 0};
  const gpt2_session_options sessions = {8, NULL, 0};
  const gpt2_scheduler_options schedulers = {17, NULL, 0, 0};
  gpt2_model* a;
  gpt2_ids* b;
  gpt2_engine* c;
  gpt2_session* d;
  gpt2_scheduler* e;
  REFUSED_NEW(a, gpt2_model_load(MODEL, &load, &a), "the size 0");
  REFUSED_NEW(b, gpt2_tokenizer_encode(tokenizer, "x", 1, &encode, &b), "the size 0");
  REFUSED_NEW(c, gpt2_engine_new(model, &engine, &c), "the size 1");
  REFUSED_NEW(d, gpt2_session_new(model, &sessions, &d), "the size 8");
  REFUSED_NEW(d, gpt2_session_load(model, "x", &sessions, &d), "the size 8");
  REFUSED_NEW(e, gpt2_scheduler_new(model, &schedulers, &e), "the size 17");
}

// None of these frees anything. For a handle of another kind, they set the last error.
static void test_free(void) {
  gpt2_ids_free(NULL);
  gpt2_bytes_free(NULL);
  gpt2_generation_free(NULL);
  gpt2_beams_free(NULL);
  gpt2_generation_config_free(NULL);
  gpt2_scores_free(NULL);
  gpt2_choices_free(NULL);
  gpt2_comparison_free(NULL);
  gpt2_cancel_free(NULL);
  gpt2_model_free(NULL);
  gpt2_tokenizer_free(NULL);
  gpt2_engine_free(NULL);
  gpt2_session_free(NULL);
  gpt2_sampler_free(NULL);
  gpt2_scheduler_free(NULL);
  gpt2_model_free(WRONG(gpt2_model));
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_model") != NULL);
  gpt2_tokenizer_free(WRONG(gpt2_tokenizer));
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_tokenizer") != NULL);
  gpt2_engine_free(WRONG(gpt2_engine));
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_engine") != NULL);
  gpt2_session_free(WRONG(gpt2_session));
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_session") != NULL);
  gpt2_sampler_free(WRONG(gpt2_sampler));
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_sampler") != NULL);
  gpt2_scheduler_free(WRONG(gpt2_scheduler));
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_scheduler") != NULL);
  gpt2_cancel_free((gpt2_cancel*)(void*)model);
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_cancel") != NULL);
  CHECK(gpt2_cancel_set(other_kind, 1) == GPT2_OK);  // it lives
  CHECK(gpt2_model_get_info(model) != NULL);
}

int main(void) {
  CHECK(gpt2_model_load(MODEL, NULL, &model) == GPT2_OK);
  CHECK(gpt2_tokenizer_load(MODEL, &tokenizer) == GPT2_OK);
  CHECK(gpt2_session_new(model, NULL, &session) == GPT2_OK);
  CHECK(gpt2_cancel_new(&other_kind) == GPT2_OK);
  test_runtime();
  test_model();
  test_memory();
  test_tokenizer();
  test_engine();
  test_session();
  test_passes();
  test_sampler();
  test_generate();
  test_beams();
  test_generation_config();
  test_scheduler();
  test_score_and_embed();
  test_compare();
  test_option_fields();
  test_option_structs();
  test_free();
  gpt2_cancel_free(other_kind);
  gpt2_session_free(session);
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
  return failures != 0;
}
