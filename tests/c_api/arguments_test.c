// Calls every function of the C interface with arguments that it must refuse: NULL, a handle of
// another kind, a length without a pointer, JSON that is wrong, a struct without a size. One guard
// checks the outputs of all functions, and one the kinds of all handles, so a few calls test these.
#include <math.h>
#include <string.h>

#include "gpt2/gpt2.h"
#include "support/check.h"

#define MODEL GPT2_MODELS_DIR "/gpt2-stories"

// Checks that the call returns the status, and that the message is one line that contains the text.
#define FAILS_WITH(status, call, text)                                     \
  do {                                                                     \
    CHECK((call) == (status));                                             \
    if (strstr(gpt2_last_error(), text) == NULL) {                         \
      fprintf(stderr, "expected %s, found %s\n", text, gpt2_last_error()); \
      CHECK(!#call);                                                       \
    }                                                                      \
    CHECK(strchr(gpt2_last_error(), '\n') == NULL);                        \
  } while (0)
#define REFUSED(call, text) FAILS_WITH(GPT2_INVALID_ARGUMENT, call, text)

// The same for a function that makes something: it must set `out` to NULL.
#define REFUSED_NEW(out, call, text)                  \
  do {                                                \
    memset(&(out), 0xff, sizeof(out)); /* not NULL */ \
    REFUSED(call, text);                              \
    CHECK((out) == NULL);                             \
  } while (0)

// A handle of another kind than any function expects; see main().
#define WRONG(type) ((type*)other_kind)

static const gpt2_token ids[] = {443, 452};
static gpt2_model* model;
static gpt2_tokenizer* tokenizer;
static gpt2_session* session;
static gpt2_scheduler* scheduler;
static void* other_kind;

static void test_model(void) {
  const gpt2_weight* weights = NULL;
  size_t n_weights = 0;
  gpt2_model* out;
  gpt2_bytes* bytes;
  REFUSED(gpt2_force_isa(NULL), "the name of the instruction set is NULL");
  FAILS_WITH(GPT2_UNSUPPORTED, gpt2_force_isa("no such set"), "scalar");
  REFUSED(gpt2_describe(NULL), "output");
  REFUSED_NEW(bytes, gpt2_find_model(NULL, &bytes), "the name of the model is NULL");
  REFUSED_NEW(bytes, gpt2_find_model("", &bytes), "empty");
  REFUSED(gpt2_find_model(MODEL, NULL), "output");
  REFUSED_NEW(out, gpt2_model_load(NULL, NULL, NULL, NULL, &out), "the name of the model is NULL");
  REFUSED(gpt2_model_load(MODEL, NULL, NULL, NULL, NULL), "output");
  REFUSED_NEW(out, gpt2_model_convert(NULL, "f32", &out), "a gpt2_model is NULL");
  REFUSED_NEW(out, gpt2_model_convert(WRONG(gpt2_model), "f32", &out), "is not a gpt2_model");
  REFUSED_NEW(out, gpt2_model_convert(model, "int9", &out), "int9");
  REFUSED_NEW(out, gpt2_model_convert(model, NULL, &out), "the dtype is NULL");
  REFUSED(gpt2_model_save_quantized(NULL, "x"), "a gpt2_model is NULL");
  REFUSED(gpt2_model_save_quantized(model, NULL), "the path is NULL");
  REFUSED(gpt2_model_save_quantized(model, "x"), "int8 and int4");
  REFUSED(gpt2_model_weights(NULL, &weights, &n_weights), "a gpt2_model is NULL");
  REFUSED(gpt2_model_weights(model, NULL, &n_weights), "the output for the array is NULL");
  REFUSED(gpt2_model_weights(model, &weights, NULL), "the output for its length is NULL");
  REFUSED_NEW(bytes, gpt2_model_info(NULL, &bytes), "a gpt2_model is NULL");
  REFUSED_NEW(bytes, gpt2_model_info(WRONG(gpt2_model), &bytes), "is not a gpt2_model");
  REFUSED_NEW(bytes, gpt2_generation_config(NULL, NULL, &bytes), "the name of the model is NULL");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_generation_config("no-such-model", NULL, &bytes), "no-such");
  FAILS_WITH(GPT2_INVALID_FILE, gpt2_generation_config(NULL, "{\"top_k\": -1}", &bytes), "top_k");
  FAILS_WITH(GPT2_UNSUPPORTED, gpt2_generation_config(NULL, "{\"guidance_scale\": 2}", &bytes),
             "guidance_scale");
}

static void test_memory(void) {
  gpt2_model* out;
  gpt2_tokenizer* text;
  gpt2_memory_file file = {"config.json", "{}", 2};
#define LOAD(files, n) gpt2_model_load_memory(files, n, NULL, NULL, NULL, &out)
  REFUSED_NEW(out, LOAD(NULL, 1), "the list of files is NULL");
  REFUSED_NEW(text, gpt2_tokenizer_load_memory(NULL, 1, &text), "the list of files is NULL");
  file.data = NULL;
  REFUSED_NEW(out, LOAD(&file, 1), "the data of a file is NULL");
  file.name = NULL;
  REFUSED_NEW(out, LOAD(&file, 1), "the name of a file is NULL");
}

static void test_tokenizer(void) {
  gpt2_tokenizer* out;
  gpt2_ids* list;
  gpt2_bytes* text;
  const char* data = NULL;
  size_t n = 0;
  gpt2_token id = 0;
  REFUSED_NEW(out, gpt2_tokenizer_load(NULL, &out), "the name of the model is NULL");
#define ENCODE(tokenizer, text, n) gpt2_tokenizer_encode(tokenizer, text, n, NULL, &list, NULL)
  REFUSED_NEW(list, ENCODE(NULL, "x", 1), "a gpt2_tokenizer is NULL");
  REFUSED_NEW(list, ENCODE(WRONG(gpt2_tokenizer), "x", 1), "is not a gpt2_tokenizer");
  REFUSED_NEW(list, ENCODE(tokenizer, NULL, 1), "the text is NULL, but its length is 1");
  REFUSED_NEW(list, ENCODE(tokenizer, "x", SIZE_MAX), "more than any memory holds");
  CHECK(ENCODE(tokenizer, NULL, 0) == GPT2_OK);
  CHECK(list->count == 0);
  gpt2_free(list);
  REFUSED_NEW(text, gpt2_tokenizer_decode(NULL, ids, 2, &text), "a gpt2_tokenizer is NULL");
  REFUSED_NEW(text, gpt2_tokenizer_decode(tokenizer, NULL, 2, &text), "the list of ids is NULL");
  REFUSED_NEW(text, gpt2_tokenizer_decode(tokenizer, ids, SIZE_MAX / 2, &text), "memory");
  REFUSED(gpt2_tokenizer_token_bytes(NULL, 1, &data, &n), "a gpt2_tokenizer is NULL");
  REFUSED(gpt2_tokenizer_token_bytes(tokenizer, 1, NULL, &n), "`data` is NULL");
  REFUSED(gpt2_tokenizer_token_bytes(tokenizer, 1, &data, NULL), "`n_bytes` is NULL");
  CHECK(data == NULL);
  CHECK(gpt2_tokenizer_token_bytes(tokenizer, -5, &data, &n) == GPT2_OK && n == 0);
  REFUSED(gpt2_tokenizer_find(NULL, "x", 1, &id), "a gpt2_tokenizer is NULL");
  REFUSED(gpt2_tokenizer_find(tokenizer, NULL, 1, &id), "the content is NULL");
  REFUSED(gpt2_tokenizer_find(tokenizer, "x", 1, NULL), "`id` is NULL");
  REFUSED_NEW(text, gpt2_tokenizer_info(NULL, &text), "a gpt2_tokenizer is NULL");
}

static void test_session(void) {
  const float* logits = NULL;
  const gpt2_token* tokens = NULL;
  gpt2_session* out;
  gpt2_bytes* json;
  gpt2_model* quantized = NULL;
  gpt2_engine* engine = NULL;
  size_t dropped = 99;
  REFUSED_NEW(engine, gpt2_engine_new(NULL, NULL, &engine), "a gpt2_model is NULL");
  REFUSED_NEW(out, gpt2_session_new(NULL, NULL, NULL, &out), "a gpt2_model is NULL");
  REFUSED_NEW(out, gpt2_session_new(model, WRONG(gpt2_engine), NULL, &out), "not a gpt2_engine");
  CHECK(gpt2_model_convert(model, "int8", &quantized) == GPT2_OK);
  CHECK(gpt2_engine_new(quantized, NULL, &engine) == GPT2_OK);
  REFUSED_NEW(out, gpt2_session_new(model, engine, NULL, &out), "another model");
  gpt2_engine_free(engine);
  gpt2_model_free(quantized);

  REFUSED(gpt2_session_forward(NULL, ids, 2, &logits), "a gpt2_session is NULL");
  REFUSED(gpt2_session_forward(WRONG(gpt2_session), ids, 2, &logits), "is not a gpt2_session");
  REFUSED(gpt2_session_forward(session, NULL, 2, &logits), "the list of tokens is NULL");
  REFUSED(gpt2_session_forward(session, ids, SIZE_MAX, &logits), "memory");
  REFUSED(gpt2_session_forward(session, ids, 2, NULL), "`logits` is NULL");
  REFUSED(gpt2_session_forward(session, NULL, 0, &logits), "at least one token");
  CHECK(logits == NULL);
  REFUSED(gpt2_session_append(NULL, ids, 2), "a gpt2_session is NULL");
  REFUSED(gpt2_session_append(session, NULL, 2), "the list of tokens is NULL");
  REFUSED(gpt2_session_rewind(NULL, 0), "a gpt2_session is NULL");
  REFUSED(gpt2_session_slide(NULL, 0, 1, &dropped), "a gpt2_session is NULL");
  REFUSED(gpt2_session_slide(session, 0, 1, NULL), "`dropped` is NULL");
  REFUSED(gpt2_session_slide(session, 1, SIZE_MAX, &dropped), "room");
  CHECK(dropped == 99);
  REFUSED_NEW(out, gpt2_session_fork(NULL, &out), "a gpt2_session is NULL");
  REFUSED(gpt2_session_save(NULL, "x"), "a gpt2_session is NULL");
  REFUSED(gpt2_session_save(session, NULL), "the path is NULL");
  REFUSED_NEW(out, gpt2_session_load(NULL, NULL, "x", NULL, &out), "a gpt2_model is NULL");
  REFUSED_NEW(out, gpt2_session_load(model, NULL, NULL, NULL, &out), "the path is NULL");
  FAILS_WITH(GPT2_NOT_FOUND, gpt2_session_load(model, NULL, "/nowhere", NULL, &out), "/nowhere");
  REFUSED(gpt2_session_tokens(NULL, &tokens, &dropped), "a gpt2_session is NULL");
  REFUSED(gpt2_session_tokens(session, NULL, &dropped), "the output for the array is NULL");
  REFUSED(gpt2_session_tokens(session, &tokens, NULL), "the output for its length is NULL");
  REFUSED_NEW(json, gpt2_session_info(NULL, &json), "a gpt2_session is NULL");
}

static int never_called(void* user, const gpt2_observation* observation) {
  (void)user, (void)observation;
  CHECK(0);
  return 0;
}

// A session that is in a pass takes no other call.
static int use_again(void* user, const gpt2_observation* observation) {
  (void)observation;
  REFUSED(gpt2_session_append(session, ids, 1), "used twice");
  *(int*)user = 1;
  return 0;
}

static void test_passes(void) {
  float out[1];
  gpt2_slice slice = {session, ids, 2, NULL, 1};
  gpt2_observer observer = {.size = sizeof observer};
  const gpt2_token* tokens = NULL;
  size_t n_tokens = 1;
  REFUSED(gpt2_forward(NULL, 1, NULL), "the list of slices is NULL");
  REFUSED(gpt2_hidden_states(NULL, 1, 0), "the list of slices is NULL");
  CHECK(gpt2_forward(NULL, 0, NULL) == GPT2_OK);
  REFUSED(gpt2_forward(&slice, 1, NULL), "the output of a slice is NULL");
  REFUSED(gpt2_hidden_states(&slice, 1, 0), "the output of a slice is NULL");
  slice.out = out;
  slice.n_out = SIZE_MAX / 4;
  REFUSED(gpt2_forward(&slice, 1, NULL), "memory");
  slice.n_out = 3;
  REFUSED(gpt2_forward(&slice, 1, NULL), "at most one row for each token");
  slice.n_out = 0;
  REFUSED(gpt2_hidden_states(&slice, 1, 7), "expected -7 to 6, found 7");
  REFUSED(gpt2_hidden_states(&slice, 1, -8), "found -8");
  REFUSED(gpt2_forward(&slice, 1, &observer), "needs a function `see` or `change`");
  int is_called = 0;
  observer.see = use_again;
  observer.user = &is_called;
  CHECK(gpt2_forward(&slice, 1, &observer) == GPT2_CANCELLED && is_called);
  CHECK(gpt2_session_rewind(session, 0) == GPT2_OK);
  observer.see = never_called;
  slice.tokens = NULL;
  REFUSED(gpt2_forward(&slice, 1, NULL), "the list of tokens is NULL");
  slice.session = NULL;
  REFUSED(gpt2_forward(&slice, 1, &observer), "a gpt2_session is NULL");
  CHECK(gpt2_forward(NULL, 0, &observer) == GPT2_OK);
  observer.size = 0;
  REFUSED(gpt2_forward(NULL, 0, &observer), "found 0");
  CHECK(gpt2_session_tokens(session, &tokens, &n_tokens) == GPT2_OK && n_tokens == 0);
  REFUSED(gpt2_unembed(NULL, NULL, out, 1, 0, out), "a gpt2_model is NULL");
  REFUSED(gpt2_unembed(model, WRONG(gpt2_engine), out, 1, 0, out), "is not a gpt2_engine");
  REFUSED(gpt2_unembed(model, NULL, NULL, 1, 0, out), "the array of hidden states is NULL");
  REFUSED(gpt2_unembed(model, NULL, out, 1, 0, NULL), "the output for the logits is NULL");
  REFUSED(gpt2_unembed(model, NULL, out, SIZE_MAX / 4, 0, out), "memory");
  CHECK(gpt2_unembed(model, NULL, NULL, 0, 0, NULL) == GPT2_OK);
}

static void test_embed_and_compare(void) {
  const gpt2_ids text = {ids, 2}, null_text = {NULL, 2};
  const gpt2_token unknown[] = {443, -1};
  gpt2_bytes* json;
  float vector[1];
#define EMBED(model, texts, vectors) gpt2_embed(model, NULL, texts, 1, NULL, NULL, NULL, vectors)
  REFUSED(EMBED(NULL, &text, vector), "a gpt2_model is NULL");
  REFUSED(EMBED(model, NULL, vector), "the list of texts is NULL");
  REFUSED(EMBED(model, &null_text, vector), "item 0 of the list of texts is NULL");
  REFUSED(EMBED(model, &text, NULL), "the array of vectors is NULL");
#define COMPARE(a, engine, b, list, n) gpt2_compare(a, engine, b, NULL, list, n, NULL, NULL, &json)
  REFUSED_NEW(json, COMPARE(NULL, NULL, model, ids, 2), "a gpt2_model is NULL");
  REFUSED_NEW(json, COMPARE(model, NULL, NULL, ids, 2), "a gpt2_model is NULL");
  REFUSED_NEW(json, COMPARE(model, NULL, model, NULL, 2), "the list of ids is NULL");
  REFUSED_NEW(json, COMPARE(model, NULL, model, NULL, 0), "two tokens");
  REFUSED_NEW(json, COMPARE(model, NULL, model, unknown, 2), "-1");
}

static void test_sampler(void) {
  const float logits[] = {1.0f, 2.0f, 3.0f}, invalid[] = {1.0f, NAN, 3.0f};
  const float* scores = NULL;
  gpt2_sampler* sampler = NULL;
  gpt2_sampler* out;
  gpt2_token token = -1;
  REFUSED_NEW(out, gpt2_sampler_new(NULL, 0, NULL, NULL, &out), "vocab_size");
  REFUSED_NEW(out, gpt2_sampler_new("{\"suppress_tokens\": [3]}", 3, NULL, NULL, &out), "3");
  CHECK(gpt2_sampler_new(NULL, 3, NULL, NULL, &sampler) == GPT2_OK);
  REFUSED(gpt2_sampler_sample(NULL, logits, NULL, 0, &token), "a gpt2_sampler is NULL");
  REFUSED(gpt2_sampler_sample(WRONG(gpt2_sampler), logits, NULL, 0, &token), "not a gpt2_sampler");
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

static void test_runs(void) {
  gpt2_scheduler* made;
  gpt2_run *run = NULL, *out;
  gpt2_bytes* json;
  int32_t more = 0;
  const gpt2_callbacks callbacks = {.size = 1},
                       bad_draft = {sizeof bad_draft, NULL, NULL, NULL, NULL, WRONG(gpt2_model)};
  const char* const request = "{\"prompt\": \"x\"}";
  REFUSED_NEW(made, gpt2_scheduler_new(NULL, NULL, NULL, &made), "a gpt2_model is NULL");
#define RUN(scheduler, tokenizer, kind, callbacks) \
  gpt2_run_new(scheduler, tokenizer, kind, request, callbacks, &out)
  REFUSED_NEW(out, RUN(NULL, tokenizer, "generate", NULL), "a gpt2_scheduler is NULL");
  REFUSED_NEW(out, RUN(WRONG(gpt2_scheduler), tokenizer, "generate", NULL), "gpt2_scheduler");
  REFUSED_NEW(out, RUN(scheduler, WRONG(gpt2_tokenizer), "generate", NULL), "gpt2_tokenizer");
  REFUSED_NEW(out, RUN(scheduler, tokenizer, NULL, NULL), "the kind is NULL");
  REFUSED_NEW(out, RUN(scheduler, tokenizer, "generates", NULL), "generate, ");
  REFUSED_NEW(out, RUN(scheduler, tokenizer, "generate", &callbacks), "found 1");
  REFUSED_NEW(out, RUN(scheduler, tokenizer, "generate", &bad_draft), "is not a gpt2_model");
  REFUSED_NEW(out, RUN(scheduler, NULL, "chat", NULL), "needs a tokenizer");
#define IN_SESSION(session, tokenizer, callbacks) \
  gpt2_run_in_session(session, tokenizer, request, callbacks, &out)
  REFUSED_NEW(out, IN_SESSION(NULL, tokenizer, NULL), "a gpt2_session is NULL");
  REFUSED_NEW(out, IN_SESSION(session, tokenizer, &callbacks), "found 1");
  CHECK(RUN(scheduler, tokenizer, "generate", NULL) == GPT2_OK);
  run = out;
  REFUSED(gpt2_run_step(NULL, &more), "a gpt2_run is NULL");
  REFUSED(gpt2_run_step(WRONG(gpt2_run), &more), "is not a gpt2_run");
  REFUSED(gpt2_run_step(run, NULL), "`more` is NULL");
  REFUSED_NEW(json, gpt2_run_result(NULL, &json), "a gpt2_run is NULL");
  REFUSED(gpt2_run_cancel(NULL), "a gpt2_run is NULL");
  REFUSED(gpt2_run_cancel(WRONG(gpt2_run)), "is not a gpt2_run");
  gpt2_run_free(run);
}

// Every function that takes JSON refuses a member that it does not know, and names one that is
// wrong. tests/requests has what is wrong in a request.
static void test_json(void) {
  const gpt2_ids text = {ids, 2};
  float vector[1024];
  gpt2_model* loaded;
  gpt2_ids* encoded;
  gpt2_engine* engine;
  gpt2_session* made;
  gpt2_sampler* sampler;
  gpt2_scheduler* other;
  gpt2_run* run;
#define LOAD_WITH(json, text) \
  REFUSED_NEW(loaded, gpt2_model_load(MODEL, json, NULL, NULL, &loaded), text)
  LOAD_WITH("{\"dtype\": \"int9\"}", "dtype");
  LOAD_WITH("{\"type\": \"int8\"}", "type");
  LOAD_WITH("[]", "object");
  LOAD_WITH("{\"dtype\": \"int8\"", "options");
  LOAD_WITH("{\"dtype\": \"\xff\"}", "UTF-8");
  LOAD_WITH("", "empty");
#define ENCODE_WITH(json, name) \
  REFUSED_NEW(encoded, gpt2_tokenizer_encode(tokenizer, "x", 1, json, &encoded, NULL), name)
  ENCODE_WITH("{\"parse_special\": 1}", "parse_special");
  ENCODE_WITH("{\"special\": true}", "special");
#define ENGINE_WITH(json, name) REFUSED_NEW(engine, gpt2_engine_new(model, json, &engine), name)
  ENGINE_WITH("{\"threads\": 1025}", "1025");
  ENGINE_WITH("{\"kv_type\": \"int8\"}", "f16");
  ENGINE_WITH("{\"thread\": 1}", "thread");
#define SESSION_WITH(json, name) REFUSED_NEW(made, gpt2_session_new(model, NULL, json, &made), name)
  SESSION_WITH("{\"max_tokens\": 1000000}", "1000000");
  SESSION_WITH("{\"tokens\": 1}", "tokens");
  REFUSED_NEW(made, gpt2_session_load(model, NULL, "x", "{\"tokens\": 1}", &made), "tokens");
#define EMBED_WITH(json, name) \
  REFUSED(gpt2_embed(model, NULL, &text, 1, json, NULL, NULL, vector), name)
  EMBED_WITH("{\"pooling\": \"max\"}", "mean or last");
  EMBED_WITH("{\"layer\": 1.5}", "1.5");
  EMBED_WITH("{\"layer\": 18446744073709551615}", "18446744073709551615");  // not -1
  REFUSED_NEW(sampler, gpt2_sampler_new("{\"temprature\": 1}", 3, NULL, NULL, &sampler),
              "temprature");
#define SCHEDULER_WITH(json, name) \
  REFUSED_NEW(other, gpt2_scheduler_new(model, NULL, json, &other), name)
  SCHEDULER_WITH("{\"max_sequences\": 0}", "max_sequences");
  SCHEDULER_WITH("{\"sequences\": 1}", "sequences");
  REFUSED_NEW(run, gpt2_run_new(scheduler, tokenizer, "generate", "{}", NULL, &run), "prompt");
  REFUSED_NEW(run,
              gpt2_run_in_session(session, tokenizer, "{\"prompt\": [1], \"n\": 2}", NULL, &run),
              "session");
}

// None of these frees anything. For a handle of another kind, they set the last error.
static void test_free(void) {
  gpt2_bytes* json = NULL;
  gpt2_free(NULL);
#define TEST_FREE(kind)                   \
  gpt2_##kind##_free(NULL);               \
  gpt2_##kind##_free(WRONG(gpt2_##kind)); \
  CHECK(strstr(gpt2_last_error(), "is not a gpt2_" #kind) != NULL)
  TEST_FREE(model);
  TEST_FREE(tokenizer);
  TEST_FREE(engine);
  TEST_FREE(sampler);
  TEST_FREE(scheduler);
  TEST_FREE(run);
  other_kind = model;
  TEST_FREE(session);
  CHECK(gpt2_model_info(model, &json) == GPT2_OK);  // it lives
  gpt2_free(json);
}

int main(void) {
  gpt2_sampler* sampler = NULL;
  CHECK(gpt2_model_load(MODEL, NULL, NULL, NULL, &model) == GPT2_OK);
  CHECK(gpt2_tokenizer_load(MODEL, &tokenizer) == GPT2_OK);
  CHECK(gpt2_session_new(model, NULL, NULL, &session) == GPT2_OK);
  CHECK(gpt2_scheduler_new(model, NULL, NULL, &scheduler) == GPT2_OK);
  CHECK(gpt2_sampler_new(NULL, 3, NULL, NULL, &sampler) == GPT2_OK);
  other_kind = sampler;
  test_model();
  test_memory();
  test_tokenizer();
  test_session();
  test_passes();
  test_embed_and_compare();
  test_runs();
  test_json();
  other_kind = session;
  test_sampler();
  test_free();
  gpt2_sampler_free(sampler);
  gpt2_scheduler_free(scheduler);
  gpt2_session_free(session);
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
  return failures != 0;
}
