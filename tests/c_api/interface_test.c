// Uses the library from C as programs do: errors, lifetimes, threads, cancelling.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "c_api/bundled.h"

static void test_version_and_errors(void) {
  char version[32], name[2001];
  gpt2_model* missing = model;
  gpt2_bytes* json = NULL;
  snprintf(version, sizeof version, "%d.%d.%d", GPT2_VERSION_MAJOR, GPT2_VERSION_MINOR,
           GPT2_VERSION_PATCH);
  CHECK(strcmp(version, PROJECT_VERSION) == 0);
  CHECK(gpt2_version() == GPT2_VERSION);
  CHECK(strcmp(gpt2_last_error(), "") == 0);
  CHECK(gpt2_model_load("no such model", NULL, NULL, NULL, &missing) == GPT2_NOT_FOUND);
  CHECK(missing == NULL);
  CHECK(strstr(gpt2_last_error(), "no such model") != NULL);
  CHECK(gpt2_describe(&json) == GPT2_OK);  // succeeds, and so leaves the error as it is
  CHECK(strstr(json->data, "\"temperature\"") != NULL);
  CHECK(strstr(gpt2_last_error(), "no such model") != NULL);
  gpt2_free(json);

  for (size_t i = 0; i < 2000; i += 2) memcpy(name + i, "\xc3\xa9", 2);  // "é", a thousand times
  name[2000] = '\0';
  CHECK(gpt2_model_convert(model, name, &missing) == GPT2_INVALID_ARGUMENT);
  CHECK(strlen(gpt2_last_error()) >= 999 && strlen(gpt2_last_error()) <= 1000);
  CHECK(gpt2_last_error()[strlen(gpt2_last_error()) - 1] == '\xa9');  // a whole character
  CHECK(strcmp(gpt2_status_name(GPT2_OK), "ok") == 0);
  CHECK(strcmp(gpt2_status_name(GPT2_INTERNAL), "internal") == 0);
  CHECK(strcmp(gpt2_status_name(99), "unknown") == 0);
}

// The sessions of a pass may be on different engines, with keys and values of different types.
static void test_pass_over_two_engines(void) {
  float* rows = malloc(2 * kVocabSize * sizeof *rows);
  gpt2_slice slices[2];
  for (int i = 0; i < 2; ++i) {
    gpt2_engine* engine = NULL;
    CHECK(gpt2_engine_new(model, i == 0 ? "{\"kv_type\": \"f32\"}" : "{\"kv_type\": \"f16\"}",
                          &engine) == GPT2_OK);
    slices[i] = (gpt2_slice){NULL, once, kOnce, rows + i * kVocabSize, 1};
    CHECK(gpt2_session_new(model, engine, NULL, &slices[i].session) == GPT2_OK);
    gpt2_engine_free(engine);
  }
  CHECK(gpt2_forward(slices, 2, NULL) == GPT2_OK);
  for (int i = 0; i < 2; ++i) {
    const float* alone = NULL;
    CHECK(gpt2_session_rewind(slices[i].session, 0) == GPT2_OK);
    CHECK(gpt2_session_forward(slices[i].session, once, kOnce, &alone) == GPT2_OK);
    CHECK(memcmp(alone, slices[i].out, kVocabSize * sizeof *alone) == 0);
    gpt2_session_free(slices[i].session);
  }
  CHECK(memcmp(rows, rows + kVocabSize, kVocabSize * sizeof *rows) != 0);  // f16 rounds
  free(rows);
}

// A handle keeps the objects that it needs alive, in whatever order handles are freed.
static void test_lifetimes(void) {
  gpt2_model *own_model = NULL, *draft = NULL;
  gpt2_tokenizer* own_tokenizer = NULL;
  gpt2_engine* engine = NULL;
  gpt2_session *session = NULL, *fork = NULL;
  gpt2_scheduler* scheduler = NULL;
  gpt2_run *of_scheduler = NULL, *of_session = NULL;
  gpt2_callbacks callbacks = {.size = sizeof callbacks};
  CHECK(gpt2_model_load(MODEL, NULL, NULL, NULL, &own_model) == GPT2_OK);
  CHECK(gpt2_model_convert(own_model, "int8", &draft) == GPT2_OK);
  CHECK(gpt2_tokenizer_load(MODEL, &own_tokenizer) == GPT2_OK);
  CHECK(gpt2_engine_new(own_model, "{\"threads\": 2}", &engine) == GPT2_OK);
  CHECK(gpt2_session_new(own_model, engine, "{\"max_tokens\": 100}", &session) == GPT2_OK);
  CHECK(gpt2_scheduler_new(own_model, engine, NULL, &scheduler) == GPT2_OK);
  callbacks.draft = draft;
  CHECK(gpt2_run_new(scheduler, own_tokenizer, "generate", greedy, &callbacks, &of_scheduler) ==
        GPT2_OK);
  gpt2_scheduler_free(scheduler);
  gpt2_model_free(own_model);
  gpt2_model_free(draft);
  gpt2_engine_free(engine);
  CHECK(gpt2_session_fork(session, &fork) == GPT2_OK);
  gpt2_session_free(session);
  CHECK(gpt2_run_in_session(fork, own_tokenizer, greedy, NULL, &of_session) == GPT2_OK);
  gpt2_session_free(fork);
  gpt2_tokenizer_free(own_tokenizer);
  check_result(of_session, GREEDY_TEXT);
  check_result(of_scheduler, GREEDY_TEXT);
}

// A session belongs to the run in it until the run has finished or is freed.
static void test_a_session_with_a_run(void) {
  gpt2_session* session = new_session();
  gpt2_run *run = run_in(session, greedy, NULL), *other = NULL;
  gpt2_session* fork = NULL;
  const gpt2_slice slice = {session, once, kOnce, NULL, 0};
  const float* logits = NULL;
  int32_t more = 0;
  CHECK(gpt2_run_step(run, &more) == GPT2_OK && more);
  CHECK(gpt2_session_forward(session, once, 1, &logits) == GPT2_INVALID_ARGUMENT);
  CHECK(strstr(gpt2_last_error(), "run") != NULL);
  CHECK(gpt2_session_append(session, once, 1) == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_session_rewind(session, 0) == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_session_fork(session, &fork) == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_forward(&slice, 1, NULL) == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_run_in_session(session, tokenizer, greedy, NULL, &other) == GPT2_INVALID_ARGUMENT);
  gpt2_run_free(run);
  CHECK(position(session) > kOnce);
  CHECK(gpt2_session_rewind(session, 0) == GPT2_OK);
  check_result(run_in(session, greedy, NULL), GREEDY_TEXT);
  CHECK(gpt2_session_rewind(session, 0) == GPT2_OK);
  gpt2_session_free(session);
}

static void* generate_on_thread(void* is_ok) {
  gpt2_session* session = new_session();
  gpt2_run* run = NULL;
  gpt2_bytes* json = NULL;
  gpt2_model* missing = NULL;
  *(int*)is_ok = strcmp(gpt2_last_error(), "") == 0 &&  // whatever failed on other threads
                 gpt2_run_in_session(session, tokenizer, greedy, NULL, &run) == GPT2_OK &&
                 gpt2_run_result(run, &json) == GPT2_OK &&
                 strstr(json->data, GREEDY_TEXT) != NULL &&
                 gpt2_model_load("", NULL, NULL, NULL, &missing) == GPT2_INVALID_ARGUMENT &&
                 strstr(gpt2_last_error(), "empty") != NULL;
  gpt2_free(json);
  gpt2_run_free(run);
  gpt2_session_free(session);
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[4];
  int is_ok[4] = {0, 0, 0, 0};
  gpt2_model* missing = NULL;
  CHECK(gpt2_model_load("no such model", NULL, NULL, NULL, &missing) == GPT2_NOT_FOUND);
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, generate_on_thread, &is_ok[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(is_ok[i]);
  }
  CHECK(strstr(gpt2_last_error(), "no such model") != NULL);  // this thread's
}

// Starts a thread that cancels the run once the text has begun.
struct canceller {
  gpt2_run* run;
  pthread_t thread;
  int has_begun;
};

static void* cancel_run(void* run) {
  CHECK(gpt2_run_cancel(run) == GPT2_OK);
  return NULL;
}

static int start_canceller(void* user, size_t index, gpt2_token id, const char* text,
                           size_t n_bytes) {
  struct canceller* canceller = user;
  (void)index, (void)id, (void)text, (void)n_bytes;
  if (canceller->has_begun) return 1;
  canceller->has_begun = 1;
  return pthread_create(&canceller->thread, NULL, cancel_run, canceller->run) == 0;
}

static void test_cancel_from_another_thread(void) {
  gpt2_session* session = new_session();
  gpt2_scheduler* scheduler = new_scheduler();
  for (int in_session = 0; in_session < 2; ++in_session) {
    struct canceller canceller = {NULL, 0, 0};
    gpt2_callbacks callbacks = {sizeof callbacks, &canceller, start_canceller, NULL, NULL, NULL};
    gpt2_bytes* json = NULL;
    canceller.run =
        in_session ? run_in(session, endless, &callbacks) : new_run(scheduler, endless, &callbacks);
    CHECK(gpt2_run_result(canceller.run, &json) == GPT2_OK);
    CHECK(json != NULL && strstr(json->data, "\"finish_reason\":\"cancelled\"") != NULL);
    CHECK(pthread_join(canceller.thread, NULL) == 0);
    gpt2_free(json);
    gpt2_run_free(canceller.run);
  }
  gpt2_scheduler_free(scheduler);
  gpt2_session_free(session);
}

int main(void) {
  load();
  test_version_and_errors();
  test_pass_over_two_engines();
  test_lifetimes();
  test_a_session_with_a_run();
  test_threads();
  test_cancel_from_another_thread();
  return finish();
}
