#pragma once

#include <stdio.h>
#include <string.h>

#include "gpt2/gpt2.h"
#include "support/check.h"

// The bundled model for tests in C, and what these do with it.

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

static inline gpt2_session* new_session(void) {
  gpt2_session* session = NULL;
  CHECK(gpt2_session_new(model, NULL, NULL, &session) == GPT2_OK);
  return session;
}

static inline gpt2_scheduler* new_scheduler(void) {
  gpt2_scheduler* scheduler = NULL;
  CHECK(gpt2_scheduler_new(model, NULL, NULL, &scheduler) == GPT2_OK);
  return scheduler;
}

static inline gpt2_run* new_run(gpt2_scheduler* scheduler, const char* request,
                                const gpt2_callbacks* callbacks) {
  gpt2_run* run = NULL;
  CHECK(gpt2_run_new(scheduler, tokenizer, "generate", request, callbacks, &run) == GPT2_OK);
  return run;
}

static inline gpt2_run* run_in(gpt2_session* session, const char* request,
                               const gpt2_callbacks* callbacks) {
  gpt2_run* run = NULL;
  CHECK(gpt2_run_in_session(session, tokenizer, request, callbacks, &run) == GPT2_OK);
  return run;
}

static inline size_t position(const gpt2_session* session) {
  const gpt2_token* ids = NULL;
  size_t n_ids = 0;
  CHECK(gpt2_session_tokens(session, &ids, &n_ids) == GPT2_OK);
  return n_ids;
}

// Ends the run, checks that its result contains the text, and frees it.
static inline void check_result(gpt2_run* run, const char* text) {
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

// The beginning and the end of main().
static inline void load(void) {
  CHECK(gpt2_model_load(MODEL, NULL, NULL, NULL, &model) == GPT2_OK);
  CHECK(gpt2_tokenizer_load(MODEL, &tokenizer) == GPT2_OK);
}

static inline int finish(void) {
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
  return failures != 0;
}
