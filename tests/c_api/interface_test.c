// Uses the library from C as programs do: runs, callbacks, lifetimes, threads, cancelling.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2/gpt2.h"
#include "support/check.h"

#define MODEL GPT2_MODELS_DIR "/gpt2-stories"

// "Once upon a time", and what PyTorch continues it with (tests/data/bundled_model.json).
static const gpt2_token once[] = {443, 452, 258, 401};
static const gpt2_token greedy_ids[] = {11, 402, 282, 258, 389, 484, 424, 431,
                                        13, 345, 517, 265, 340, 330, 331, 663};
#define GREEDY_TEXT ", there was a little girl named Lily. She loved to play with her toys"
static const char greedy[] =
    "{\"prompt\": \"Once upon a time\", \"do_sample\": false, \"max_new_tokens\": 16}";
// A text that never ends by itself.
static const char endless[] =
    "{\"prompt\": \"Once upon a time\", \"max_new_tokens\": 1000000000, \"ignore_eos\": true, "
    "\"overflow\": \"slide\"}";
enum { kOnce = 4, kGreedy = 16, kVocabSize = 4096, kEmbd = 256 };

static gpt2_model* model;
static gpt2_tokenizer* tokenizer;

static gpt2_session* new_session(void) {
  gpt2_session* session = NULL;
  CHECK(gpt2_session_new(model, NULL, NULL, &session) == GPT2_OK);
  return session;
}

static gpt2_scheduler* new_scheduler(void) {
  gpt2_scheduler* scheduler = NULL;
  CHECK(gpt2_scheduler_new(model, NULL, NULL, &scheduler) == GPT2_OK);
  return scheduler;
}

static gpt2_run* new_run(gpt2_scheduler* scheduler, const char* request,
                         const gpt2_callbacks* callbacks) {
  gpt2_run* run = NULL;
  CHECK(gpt2_run_new(scheduler, tokenizer, "generate", request, callbacks, &run) == GPT2_OK);
  return run;
}

static gpt2_run* run_in(gpt2_session* session, const char* request,
                        const gpt2_callbacks* callbacks) {
  gpt2_run* run = NULL;
  CHECK(gpt2_run_in_session(session, tokenizer, request, callbacks, &run) == GPT2_OK);
  return run;
}

static size_t position(const gpt2_session* session) {
  const gpt2_token* ids = NULL;
  size_t n_ids = 0;
  CHECK(gpt2_session_tokens(session, &ids, &n_ids) == GPT2_OK);
  return n_ids;
}

// Ends the run, checks that its result contains the text, and frees it.
static void check_result(gpt2_run* run, const char* text) {
  gpt2_bytes* json = NULL;
  CHECK(gpt2_run_result(run, &json) == GPT2_OK);
  if (json != NULL && strstr(json->data, text) == NULL) {
    fprintf(stderr, "expected %s, found %s\n", text, json->data);
    ++failures;
  }
  if (json != NULL) CHECK(json->size == strlen(json->data));
  gpt2_free(json);
  gpt2_run_free(run);
}

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

// -- Callbacks -----------------------------------------------------------------------------------

struct counter {
  int calls;
  int stop_at;  // the call that acts
  gpt2_token last;
  char text[200];
  gpt2_run* cancel;  // what the call cancels or frees instead of returning 0, unless NULL
  gpt2_run* free;
  gpt2_session* free_session;
};

static int count(struct counter* counter) {
  if (++counter->calls != counter->stop_at) return 1;
  if (counter->cancel != NULL) return gpt2_run_cancel(counter->cancel) == GPT2_OK;
  if (counter->free == NULL) return 0;
  gpt2_run_free(counter->free);
  gpt2_session_free(counter->free_session);
  return 1;
}

static int on_token(void* user, size_t index, gpt2_token id, const char* text, size_t n_bytes) {
  struct counter* counter = user;
  CHECK(index == 0);
  CHECK(text != NULL && n_bytes < 100);
  counter->last = id;
  strncat(counter->text, text, n_bytes);
  return count(counter);
}

static int on_progress(void* user, double share) {
  CHECK(share >= 0.0 && share <= 1.0);
  return count(user);
}

// Removes all tokens but one.
static int only_42(void* user, float* scores, size_t n_scores, const gpt2_token* ids,
                   size_t n_ids) {
  CHECK(n_ids >= kOnce && ids[0] == once[0]);
  for (size_t i = 0; i < n_scores; ++i) {
    if (i != 42) scores[i] = -INFINITY;
  }
  return count(user);
}

static void test_callbacks_cancel(void) {
  for (int by_cancel = 0; by_cancel < 2; ++by_cancel) {
    for (int at_start = 0; at_start < 2; ++at_start) {
      struct counter counter = {0, at_start ? 1 : 3, -1, "", NULL, NULL, NULL};
      gpt2_callbacks callbacks = {sizeof callbacks, &counter, NULL, NULL, NULL, NULL};
      gpt2_session* session = new_session();
      gpt2_run* run;
      if (at_start) {
        callbacks.on_progress = on_progress;
      } else {
        callbacks.on_token = on_token;
      }
      run = run_in(session, greedy, &callbacks);
      if (by_cancel) counter.cancel = run;
      check_result(run, at_start ? "\"token_ids\":[],\"finish_reason\":\"cancelled\""
                                 : "\"token_ids\":[11,402,282],\"finish_reason\":\"cancelled\"");
      CHECK(position(session) == (at_start ? 0 : kOnce + 3));
      CHECK(counter.calls == counter.stop_at);
      if (!at_start) CHECK(counter.last == greedy_ids[2]);
      if (!at_start) CHECK(strcmp(counter.text, ", there was") == 0);
      gpt2_session_free(session);
    }
  }
}

static void test_progress_without_a_prompt(void) {
  struct counter counter = {0, 0, -1, "", NULL, NULL, NULL};
  gpt2_callbacks callbacks = {sizeof callbacks, &counter, NULL, on_progress, NULL, NULL};
  gpt2_session* session = new_session();
  check_result(run_in(session, greedy, NULL), "\"token_ids\"");
  check_result(run_in(session, "{\"prompt\": \"\", \"max_new_tokens\": 2}", &callbacks),
               "\"prompt_tokens\":0");
  CHECK(counter.calls > 0);
  gpt2_session_free(session);
}

static void test_scores_callback(void) {
  struct counter counter = {0, 3, -1, "", NULL, NULL, NULL};
  gpt2_callbacks callbacks = {sizeof callbacks, &counter, NULL, NULL, only_42, NULL};
  gpt2_scheduler* scheduler = new_scheduler();
  gpt2_bytes* json = NULL;
  gpt2_run* run;
  int32_t more = 1;
  check_result(
      new_run(scheduler, "{\"prompt\": \"Once upon a time\", \"max_new_tokens\": 2}", &callbacks),
      "\"token_ids\":[42,42]");
  run = new_run(scheduler, greedy, &callbacks);  // its first call returns 0
  while (more && gpt2_run_step(run, &more) == GPT2_OK) {
  }
  CHECK(gpt2_run_step(run, &more) == GPT2_CANCELLED);
  CHECK(more == 0);
  CHECK(gpt2_run_result(run, &json) == GPT2_CANCELLED);
  CHECK(json == NULL);
  gpt2_run_free(run);
  gpt2_scheduler_free(scheduler);
}

// A callback may free its own run, the runs of others, and what they use. Nothing is called after
// that.
static void test_freeing_in_callbacks(void) {
  for (int kind = 0; kind < 3; ++kind) {  // what is freed: a run in a session, itself, another one
    struct counter counter = {0, 2, -1, "", NULL, NULL, NULL},
                   other = {0, 0, -1, "", NULL, NULL, NULL};
    gpt2_callbacks callbacks = {sizeof callbacks, &counter, on_token, NULL, NULL, NULL};
    gpt2_callbacks of_other = {sizeof of_other, &other, on_token, NULL, NULL, NULL};
    gpt2_session* session = kind == 0 ? new_session() : NULL;
    gpt2_scheduler* scheduler = new_scheduler();
    gpt2_run* run = session ? run_in(session, endless, &callbacks)
                            : new_run(scheduler, kind == 1 ? endless : greedy, &callbacks);
    gpt2_run* second = new_run(scheduler, kind == 1 ? greedy : endless, &of_other);
    int32_t more = 1;
    counter.free = kind == 2 ? second : run;
    counter.free_session = session;
    CHECK(gpt2_run_step(second, &more) == GPT2_OK);  // so that both share passes
    for (more = 1; more && counter.calls < counter.stop_at;) {
      CHECK(gpt2_run_step(run, &more) == GPT2_OK);
    }
    CHECK(counter.calls == counter.stop_at);
    if (kind == 1) check_result(second, GREEDY_TEXT);
    if (kind == 2) {
      const int calls = other.calls;
      check_result(run, GREEDY_TEXT);
      CHECK(other.calls == calls);
    }
    if (kind == 0) gpt2_run_free(second);
    if (kind == 1) CHECK(counter.calls == counter.stop_at);
    gpt2_scheduler_free(scheduler);
  }
}

struct nested {
  gpt2_scheduler* scheduler;
  gpt2_run *own, *other;
};

// Makes another run, which is allowed, and steps it and itself, which is refused.
static int step_in_callback(void* user, size_t index, gpt2_token id, const char* text,
                            size_t n_bytes) {
  struct nested* nested = user;
  gpt2_bytes* json = NULL;
  int32_t more = 0;
  (void)index, (void)id, (void)text, (void)n_bytes;
  if (nested->other == NULL) nested->other = new_run(nested->scheduler, greedy, NULL);
  CHECK(gpt2_run_step(nested->own, &more) == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_run_step(nested->other, &more) == GPT2_INVALID_ARGUMENT);
  CHECK(gpt2_run_result(nested->other, &json) == GPT2_INVALID_ARGUMENT);
  return 1;
}

static void test_stepping_in_callbacks(void) {
  struct nested nested = {new_scheduler(), NULL, NULL};
  gpt2_callbacks callbacks = {sizeof callbacks, &nested, step_in_callback, NULL, NULL, NULL};
  nested.own = new_run(nested.scheduler, greedy, &callbacks);
  check_result(nested.own, GREEDY_TEXT);
  check_result(nested.other, GREEDY_TEXT);
  gpt2_scheduler_free(nested.scheduler);
}

// A step of one run takes the others on.
static void test_shared_steps(void) {
  gpt2_scheduler* scheduler = new_scheduler();
  gpt2_run *a = new_run(scheduler, greedy, NULL), *b = new_run(scheduler, greedy, NULL);
  int32_t more = 1;
  CHECK(gpt2_run_step(b, &more) == GPT2_OK);
  for (more = 1; more;) CHECK(gpt2_run_step(a, &more) == GPT2_OK);
  CHECK(gpt2_run_step(b, &more) == GPT2_OK);  // all that is left is to notice the end
  CHECK(!more);
  check_result(b, GREEDY_TEXT);
  check_result(a, GREEDY_TEXT);
  gpt2_scheduler_free(scheduler);
}

static int see(void* user, const gpt2_observation* seen) {
  CHECK(seen->what == GPT2_OBSERVED_EMBEDDINGS);
  CHECK(seen->cols == kEmbd);
  return count(user);
}

static int change(void* user, const gpt2_observation* values) {
  values->data[0] = 1.0f;
  return count(user);
}

// An observer that returns 0 is not called again, but the pass runs to its end.
static void test_observer_stops(void) {
  struct counter counter = {0, 1, -1, "", NULL, NULL, NULL};
  gpt2_session* session = new_session();
  const gpt2_slice slice = {session, once, kOnce, NULL, 0};
  const float* logits = NULL;
  gpt2_observer observer = {sizeof observer, &counter, see, NULL, NULL, NULL};
  CHECK(gpt2_forward(&slice, 1, &observer) == GPT2_CANCELLED);
  CHECK(counter.calls == 1);
  CHECK(position(session) == kOnce);
  CHECK(gpt2_session_forward(session, greedy_ids, 1, &logits) == GPT2_OK);
  counter.calls = 0;
  observer.change = change;  // `see` is not called after it
  CHECK(gpt2_forward(&slice, 1, &observer) == GPT2_CANCELLED);
  CHECK(counter.calls == 1);
  CHECK(position(session) == 2 * kOnce + 1);
  gpt2_session_free(session);
}

// Everything that has no text to return ends with GPT2_CANCELLED if a callback returns 0, at its
// first call.
static void test_progress_stops(void) {
  static const char* const requests[][2] = {
      {"embeddings", "{\"input\": \"The cat\"}"},
      {"score", "{\"texts\": \"The cat sat\"}"},
      {"choices", "{\"context\": \"The\", \"choices\": [\" cat\", \" dog\"]}"},
      {"inspect", "{\"prompt\": \"The cat\"}"},
      {"inspect_page", "{\"prompt\": \"The cat\"}"}};
  const gpt2_ids text = {once, kOnce};
  gpt2_scheduler* scheduler = new_scheduler();
  for (int stops = 0; stops < 2; ++stops) {
    struct counter counter = {0, stops, -1, "", NULL, NULL, NULL};
    gpt2_callbacks callbacks = {sizeof callbacks, &counter, NULL, on_progress, NULL, NULL};
    const gpt2_status expected = stops ? GPT2_CANCELLED : GPT2_OK;
    gpt2_model* loaded = NULL;
    gpt2_bytes* json = NULL;
    float vector[kEmbd];
    for (size_t i = 0; i < sizeof requests / sizeof *requests; ++i) {
      gpt2_run* run = NULL;
      counter.calls = 0;
      CHECK(gpt2_run_new(scheduler, tokenizer, requests[i][0], requests[i][1], &callbacks, &run) ==
            GPT2_OK);
      CHECK(gpt2_run_result(run, &json) == expected);
      CHECK(!stops || (json == NULL && counter.calls == 1));
      CHECK(stops || strcmp(requests[i][0], "inspect_page") != 0 ||
            strncmp(json->data, "\"<!doctype html>", 15) == 0);
      gpt2_free(json);
      gpt2_run_free(run);
    }
    counter.calls = 0;
    CHECK(gpt2_embed(model, NULL, &text, 1, NULL, on_progress, &counter, vector) == expected);
    counter.calls = 0;
    CHECK(gpt2_compare(model, NULL, model, NULL, once, kOnce, on_progress, &counter, &json) ==
          expected);
    gpt2_free(json);
    counter.calls = 0;
    CHECK(gpt2_model_load(MODEL, "{\"dtype\": \"int8\"}", on_progress, &counter, &loaded) ==
          expected);
    CHECK((loaded == NULL) == stops);
    gpt2_model_free(loaded);
  }
  gpt2_scheduler_free(scheduler);
}

// -- Threads -------------------------------------------------------------------------------------

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

// Programs that were compiled with an older or a newer header.
static void test_other_sizes(void) {
  struct {
    gpt2_callbacks known;
    size_t newer;
  } newer;
  struct counter counter = {0, 0, -1, "", NULL, NULL, NULL};
  gpt2_callbacks older = {
      offsetof(gpt2_callbacks, on_progress), &counter, on_token, NULL, NULL, NULL};
  gpt2_scheduler* scheduler = new_scheduler();
  gpt2_run* run = NULL;
  older.on_scores = only_42;  // beyond the older struct, so it must not be read
  check_result(new_run(scheduler, greedy, &older), GREEDY_TEXT);
  CHECK(counter.calls == kGreedy);
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  check_result(new_run(scheduler, greedy, &newer.known), GREEDY_TEXT);
  newer.newer = 1;
  CHECK(gpt2_run_new(scheduler, tokenizer, "generate", greedy, &newer.known, &run) ==
        GPT2_UNSUPPORTED);
  gpt2_scheduler_free(scheduler);
}

int main(void) {
  CHECK(gpt2_model_load(MODEL, NULL, NULL, NULL, &model) == GPT2_OK);
  CHECK(gpt2_tokenizer_load(MODEL, &tokenizer) == GPT2_OK);
  test_version_and_errors();
  test_pass_over_two_engines();
  test_lifetimes();
  test_a_session_with_a_run();
  test_callbacks_cancel();
  test_progress_without_a_prompt();
  test_scores_callback();
  test_freeing_in_callbacks();
  test_stepping_in_callbacks();
  test_shared_steps();
  test_observer_stops();
  test_progress_stops();
  test_threads();
  test_cancel_from_another_thread();
  test_other_sizes();
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
  return failures != 0;
}
