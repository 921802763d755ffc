// Tests the callbacks and observers of the C interface: what they see, stop, free and must not do.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "c_api/bundled.h"

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
      struct counter counter = {.stop_at = at_start ? 1 : 3, .last = -1};
      const gpt2_callbacks callbacks = {.size = sizeof callbacks,
                                        .user = &counter,
                                        .on_token = at_start ? NULL : on_token,
                                        .on_progress = at_start ? on_progress : NULL};
      gpt2_session* session = new_session();
      gpt2_run* run = run_in(session, greedy, &callbacks);
      if (by_cancel) counter.cancel = run;
      check_result(run, at_start ? "\"token_ids\":[],\"finish_reason\":\"cancelled\""
                                 : "\"token_ids\":[11,402,282],\"finish_reason\":\"cancelled\"");
      CHECK(position(session) == (at_start ? 0 : kOnce + 3));
      CHECK(counter.calls == counter.stop_at);
      CHECK(counter.last == (at_start ? -1 : greedy_ids[2]));
      CHECK(strcmp(counter.text, at_start ? "" : ", there was") == 0);
      gpt2_session_free(session);
    }
  }
}

static void test_progress_without_a_prompt(void) {
  struct counter counter = {.stop_at = 0};
  const gpt2_callbacks callbacks = {sizeof callbacks, &counter, NULL, on_progress, NULL, NULL};
  gpt2_session* session = new_session();
  check_result(run_in(session, greedy, NULL), "\"token_ids\"");
  check_result(run_in(session, "{\"prompt\": \"\", \"max_new_tokens\": 2}", &callbacks),
               "\"prompt_tokens\":0");
  CHECK(counter.calls > 0);
  gpt2_session_free(session);
}

static void test_scores_callback(void) {
  struct counter counter = {.stop_at = 3};
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
  enum { kInSession, kItself, kAnother };
  for (int kind = kInSession; kind <= kAnother; ++kind) {
    struct counter counter = {.stop_at = 2}, other = {.stop_at = 0};
    const gpt2_callbacks callbacks = {sizeof callbacks, &counter, on_token, NULL, NULL, NULL},
                         of_other = {sizeof of_other, &other, on_token, NULL, NULL, NULL};
    gpt2_session* session = kind == kInSession ? new_session() : NULL;
    gpt2_scheduler* scheduler = new_scheduler();
    gpt2_run* run = session ? run_in(session, endless, &callbacks)
                            : new_run(scheduler, kind == kItself ? endless : greedy, &callbacks);
    gpt2_run* second = new_run(scheduler, kind == kItself ? greedy : endless, &of_other);
    int32_t more = 1;
    counter.free = kind == kAnother ? second : run;
    counter.free_session = session;
    CHECK(gpt2_run_step(second, &more) == GPT2_OK);  // so that both share passes
    for (more = 1; more && counter.calls < counter.stop_at;) {
      CHECK(gpt2_run_step(run, &more) == GPT2_OK);
    }
    CHECK(counter.calls == counter.stop_at);
    if (kind == kAnother) {
      const int calls = other.calls;
      check_result(run, GREEDY_TEXT);
      CHECK(other.calls == calls);
    } else if (kind == kItself) {
      check_result(second, GREEDY_TEXT);
      CHECK(counter.calls == counter.stop_at);
    } else {
      gpt2_run_free(second);
    }
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
  struct counter counter = {.stop_at = 1};
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

// What has no text to return ends with GPT2_CANCELLED if a callback returns 0, at its first call.
static void test_progress_stops(void) {
  const gpt2_ids text = {once, kOnce};
  gpt2_scheduler* scheduler = new_scheduler();
  for (int stops = 0; stops < 2; ++stops) {
    struct counter counter = {.stop_at = stops};
    const gpt2_callbacks callbacks = {sizeof callbacks, &counter, NULL, on_progress, NULL, NULL};
    const gpt2_status expected = stops ? GPT2_CANCELLED : GPT2_OK;
    gpt2_model* loaded = NULL;
    gpt2_bytes* json = NULL;
    gpt2_run* run = NULL;
    float vector[kEmbd];
    CHECK(gpt2_run_new(scheduler, tokenizer, "inspect_page", "{\"prompt\": \"The cat\"}",
                       &callbacks, &run) == GPT2_OK);
    CHECK(gpt2_run_result(run, &json) == expected);
    CHECK(stops ? json == NULL && counter.calls == 1
                : strncmp(json->data, "\"<!doctype html>", 15) == 0);
    gpt2_free(json);
    gpt2_run_free(run);
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

// Programs that were compiled with an older or a newer header.
static void test_other_sizes(void) {
  struct {
    gpt2_callbacks known;
    size_t newer;
  } newer;
  struct counter counter = {.stop_at = 0};
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
  load();
  test_callbacks_cancel();
  test_progress_without_a_prompt();
  test_scores_callback();
  test_freeing_in_callbacks();
  test_stepping_in_callbacks();
  test_observer_stops();
  test_progress_stops();
  test_other_sizes();
  return finish();
}
