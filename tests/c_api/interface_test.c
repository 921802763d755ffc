// Uses the library from C as programs do: texts, callbacks, lifetimes, threads, cancelling.
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
static const char greedy_text[] =
    ", there was a little girl named Lily. She loved to play with her toys";
enum { kOnce = 4, kGreedy = 16 };

static gpt2_model* model;
static gpt2_tokenizer* tokenizer;

static gpt2_session* new_session(void) {
  gpt2_session* session = NULL;
  CHECK(gpt2_session_new(model, NULL, &session) == GPT2_OK);
  return session;
}

// Options that write kGreedy tokens greedily. They point to a static struct.
static gpt2_generate_options greedy_options(void) {
  static gpt2_sampling_options greedy;
  gpt2_generate_options options;
  CHECK(gpt2_sampling_options_init(&greedy, sizeof greedy) == GPT2_OK);
  CHECK(gpt2_generate_options_init(&options, sizeof options) == GPT2_OK);
  greedy.temperature = 0.0f;
  options.sampling = &greedy;
  options.max_new_tokens = kGreedy;
  return options;
}

static void check_greedy(const gpt2_generation* generation) {
  CHECK(generation->n_tokens == kGreedy);
  CHECK(memcmp(generation->tokens, greedy_ids, sizeof greedy_ids) == 0);
}

static void test_version(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", GPT2_VERSION_MAJOR, GPT2_VERSION_MINOR,
           GPT2_VERSION_PATCH);
  CHECK(strcmp(version, PROJECT_VERSION) == 0);
  CHECK(gpt2_version() == GPT2_VERSION);
  CHECK(gpt2_isa_name() != NULL);
  CHECK(gpt2_available_isa(0) != NULL);
  CHECK(gpt2_available_isa(100) == NULL);
  CHECK(gpt2_thread_count() >= 1);
}

static void test_last_error(void) {
  gpt2_model* missing = model;
  char name[2001];
  CHECK(gpt2_last_status() == GPT2_OK);
  CHECK(strcmp(gpt2_last_error(), "") == 0);
  CHECK(gpt2_model_load("no such model", NULL, &missing) == GPT2_NOT_FOUND);
  CHECK(missing == NULL);
  CHECK(strstr(gpt2_last_error(), "no such model") != NULL);
  CHECK(gpt2_model_get_info(model) != NULL);  // succeeds, and so leaves the error as it is
  CHECK(gpt2_last_status() == GPT2_NOT_FOUND);

  for (size_t i = 0; i < 2000; i += 2) memcpy(name + i, "\xc3\xa9", 2);  // "é", a thousand times
  name[2000] = '\0';
  CHECK(gpt2_model_load(name, NULL, &missing) != GPT2_OK);
  CHECK(strlen(gpt2_last_error()) <= 1000);
  CHECK(gpt2_last_error()[strlen(gpt2_last_error()) - 1] == '\xa9');  // a whole character

  CHECK(strcmp(gpt2_status_name(GPT2_OK), "ok") == 0);
  CHECK(strcmp(gpt2_status_name(GPT2_INTERNAL), "internal") == 0);
  CHECK(strcmp(gpt2_status_name(99), "unknown") == 0);
  CHECK(strcmp(gpt2_finish_reason_name(-1), "unknown") == 0);
}

static void test_greedy_text(void) {
  gpt2_session* session = new_session();
  gpt2_generate_options options = greedy_options();
  gpt2_generation* generation = NULL;
  CHECK(gpt2_generate_text(session, tokenizer, "Once upon a time", 16, &options, &generation) ==
        GPT2_OK);
  check_greedy(generation);
  CHECK(strcmp(generation->text, greedy_text) == 0);
  CHECK(generation->n_text == strlen(greedy_text));
  CHECK(generation->finish_reason == GPT2_FINISH_LENGTH);
  CHECK(generation->prompt_tokens == kOnce);
  CHECK(generation->logprobs == NULL);
  CHECK(gpt2_session_get_info(session)->position == kOnce + kGreedy);
  gpt2_generation_free(generation);
  gpt2_session_free(session);
}

// Without a prompt, a text begins with the end-of-text token, as a text or as an id.
static void test_a_new_text(void) {
  const gpt2_token end = gpt2_tokenizer_get_info(tokenizer)->end_of_text;
  gpt2_session *of_text = new_session(), *of_id = new_session();
  gpt2_generate_options options = greedy_options();
  gpt2_generation *generation = NULL, *same = NULL;
  CHECK(gpt2_generate_text(of_text, tokenizer, "", 0, &options, &generation) ==
        GPT2_INVALID_ARGUMENT);
  CHECK(strstr(gpt2_last_error(), "begin with the end-of-text token") != NULL);
  CHECK(gpt2_generate_text(of_text, tokenizer, "<|endoftext|>", 13, &options, &generation) ==
        GPT2_OK);
  CHECK(gpt2_generate(of_id, tokenizer, &end, 1, &options, &same) == GPT2_OK);
  CHECK(generation->n_text > 0 && strcmp(generation->text, same->text) == 0);
  gpt2_generation_free(generation);
  gpt2_generation_free(same);
  gpt2_session_free(of_text);
  gpt2_session_free(of_id);
}

static void test_a_text_that_is_too_short_for_a_score(void) {
  for (size_t count = 0; count < 2; ++count) {
    const gpt2_ids text = {once, count};
    gpt2_scores* scores = NULL;
    CHECK(gpt2_score(model, &text, 1, NULL, &scores) == GPT2_OK);
    CHECK(scores->tokens == 0);
    CHECK(scores->by_token.value != scores->by_token.value);  // mingw's isnan() converts to float
    gpt2_scores_free(scores);
  }
}

static void test_loop_of_our_own(void) {
  const size_t vocab_size = gpt2_model_get_info(model)->vocab_size;
  gpt2_session* session = new_session();
  const float* logits = NULL;
  CHECK(gpt2_session_forward(session, once, kOnce, &logits) == GPT2_OK);
  for (int i = 0; i < kGreedy; ++i) {
    gpt2_token best = 0;
    for (size_t id = 0; id < vocab_size; ++id) {
      if (logits[id] > logits[best]) best = (gpt2_token)id;
    }
    CHECK(best == greedy_ids[i]);
    CHECK(gpt2_session_forward(session, &best, 1, &logits) == GPT2_OK);
  }
  gpt2_session_free(session);
}

// The sessions of a pass may be on different engines, with keys and values of different types.
static void test_pass_over_two_engines(void) {
  const size_t vocab_size = gpt2_model_get_info(model)->vocab_size;
  float* rows = malloc(2 * vocab_size * sizeof *rows);
  gpt2_slice slices[2];
  for (int i = 0; i < 2; ++i) {
    gpt2_engine_options options;
    gpt2_session_options in_engine;
    gpt2_engine* engine = NULL;
    CHECK(gpt2_engine_options_init(&options, sizeof options) == GPT2_OK);
    CHECK(gpt2_session_options_init(&in_engine, sizeof in_engine) == GPT2_OK);
    options.kv_type = i == 0 ? GPT2_KV_F32 : GPT2_KV_F16;
    CHECK(gpt2_engine_new(model, &options, &engine) == GPT2_OK);
    in_engine.engine = engine;
    slices[i] = (gpt2_slice){NULL, once, kOnce, rows + (size_t)i * vocab_size, 1};
    CHECK(gpt2_session_new(model, &in_engine, &slices[i].session) == GPT2_OK);
    gpt2_engine_free(engine);
  }
  CHECK(gpt2_forward(slices, 2) == GPT2_OK);
  for (int i = 0; i < 2; ++i) {
    const float* alone = NULL;
    CHECK(gpt2_session_rewind(slices[i].session, 0) == GPT2_OK);
    CHECK(gpt2_session_forward(slices[i].session, once, kOnce, &alone) == GPT2_OK);
    CHECK(memcmp(alone, slices[i].out, vocab_size * sizeof *alone) == 0);
    gpt2_session_free(slices[i].session);
  }
  CHECK(memcmp(rows, rows + vocab_size, vocab_size * sizeof *rows) != 0);  // f16 rounds
  free(rows);
}

// A handle keeps the objects that it needs alive, in whatever order handles are freed.
static void test_lifetimes(void) {
  gpt2_model* own_model = NULL;
  gpt2_tokenizer* own_tokenizer = NULL;
  gpt2_engine* engine = NULL;
  gpt2_session *session = NULL, *fork = NULL;
  gpt2_scheduler* scheduler = NULL;
  gpt2_generation* generation = NULL;
  gpt2_engine_options engine_options;
  gpt2_session_options session_options;
  gpt2_generate_options options = greedy_options();
  uint64_t id = 0;
  CHECK(gpt2_model_load(MODEL, NULL, &own_model) == GPT2_OK);
  CHECK(gpt2_tokenizer_load(MODEL, &own_tokenizer) == GPT2_OK);
  gpt2_engine_options_init(&engine_options, sizeof engine_options);
  engine_options.threads = 2;
  CHECK(gpt2_engine_new(own_model, &engine_options, &engine) == GPT2_OK);
  gpt2_session_options_init(&session_options, sizeof session_options);
  session_options.engine = engine;
  session_options.max_tokens = 100;
  CHECK(gpt2_session_new(own_model, &session_options, &session) == GPT2_OK);
  CHECK(gpt2_session_get_info(session)->capacity == 100);
  CHECK(gpt2_scheduler_new(own_model, NULL, &scheduler) == GPT2_OK);
  CHECK(gpt2_cancel_new(&options.cancel) == GPT2_OK);
  CHECK(gpt2_scheduler_submit(scheduler, own_tokenizer, once, kOnce, &options, &id) == GPT2_OK);
  gpt2_cancel_free(options.cancel);
  options.cancel = NULL;
  gpt2_model_free(own_model);
  gpt2_engine_free(engine);
  CHECK(gpt2_session_fork(session, &fork) == GPT2_OK);
  gpt2_session_free(session);
  CHECK(gpt2_generate(fork, own_tokenizer, once, kOnce, &options, &generation) == GPT2_OK);
  gpt2_session_free(fork);
  gpt2_tokenizer_free(own_tokenizer);
  check_greedy(generation);
  gpt2_generation_free(generation);
  CHECK(gpt2_scheduler_run(scheduler) == GPT2_OK);
  CHECK(gpt2_scheduler_take(scheduler, id, &generation) == GPT2_OK);
  gpt2_scheduler_free(scheduler);
  check_greedy(generation);
  gpt2_generation_free(generation);
}

// -- Callbacks -----------------------------------------------------------------------------------

struct counter {
  int calls;
  int stop_at;  // the call that returns 0
  gpt2_token last;
  gpt2_cancel* cancel;  // set instead of returning 0, unless NULL
};

static int count(struct counter* counter) {
  const int is_last = ++counter->calls == counter->stop_at;
  if (is_last && counter->cancel != NULL) return gpt2_cancel_set(counter->cancel, 1) == GPT2_OK;
  return !is_last;
}

static gpt2_cancel* new_cancel(int32_t is_set) {
  gpt2_cancel* cancel = NULL;
  CHECK(gpt2_cancel_new(&cancel) == GPT2_OK);
  CHECK(gpt2_cancel_set(cancel, is_set) == GPT2_OK);
  return cancel;
}

static int on_token(void* user, gpt2_token id) {
  ((struct counter*)user)->last = id;
  return count(user);
}

static int on_text(void* user, const char* text, size_t n_bytes) {
  CHECK(text != NULL);
  CHECK(n_bytes < 100);
  return count(user);
}

static int on_prompt(void* user, size_t read, size_t total) {
  CHECK(read <= total);
  return count(user);
}

static int on_progress(void* user, double share) {
  CHECK(share > 0.0 && share <= 1.0);
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

static void test_callbacks_stop(void) {
  gpt2_cancel* cancel = new_cancel(0);
  for (int by_flag = 0; by_flag < 2; ++by_flag) {
    for (int kind = 0; kind < 4; ++kind) {  // 3: on_token with a tokenizer
      struct counter counter = {0, kind == 2 ? 1 : 3, -1, by_flag ? cancel : NULL};
      gpt2_generate_options options = greedy_options();
      gpt2_session* session = new_session();
      gpt2_generation* generation = NULL;
      options.user = &counter;
      options.cancel = cancel;
      options.on_token = kind == 0 || kind == 3 ? on_token : NULL;
      options.on_text = kind == 1 ? on_text : NULL;
      options.on_prompt = kind == 2 ? on_prompt : NULL;
      CHECK(gpt2_cancel_set(cancel, 0) == GPT2_OK);
      CHECK(gpt2_generate(session, kind % 2 ? tokenizer : NULL, once, kOnce, &options,
                          &generation) == GPT2_OK);
      CHECK(generation->finish_reason == GPT2_FINISH_CANCELLED);
      // A flag that is set while a token is given to the program is seen before the next callback.
      const size_t n_tokens = kind == 2 ? 0 : by_flag && kind != 3 ? 4 : 3;
      CHECK(generation->n_tokens == n_tokens);
      CHECK(gpt2_session_get_info(session)->position == (kind == 2 ? 0 : kOnce + n_tokens));
      if (options.on_token && !by_flag) CHECK(counter.last == greedy_ids[2]);
      if (kind == 3) CHECK(strcmp(generation->text, ", there was") == 0);
      gpt2_generation_free(generation);
      gpt2_session_free(session);
    }
  }
  gpt2_cancel_free(cancel);
}

static void test_scores_hook(void) {
  struct counter counter = {0, 3, -1, NULL};
  gpt2_generate_options options = greedy_options();
  gpt2_sampling_options sampling = *options.sampling;
  gpt2_session* session = new_session();
  gpt2_generation* generation = NULL;
  sampling.on_scores = only_42;
  sampling.user = &counter;
  options.sampling = &sampling;
  options.max_new_tokens = 2;
  CHECK(gpt2_generate(session, NULL, once, kOnce, &options, &generation) == GPT2_OK);
  CHECK(generation->tokens[0] == 42 && generation->tokens[1] == 42);
  gpt2_generation_free(generation);
  CHECK(gpt2_generate(session, NULL, NULL, 0, &options, &generation) == GPT2_CANCELLED);
  CHECK(generation == NULL);
  gpt2_session_free(session);
}

static int on_step(void* user, const gpt2_beam_step* step) {
  CHECK(step->num_beams == 2);
  CHECK(step->new_tokens == step->n_best);
  return count(user);
}

// One beam writes the text of greedy decoding. A search with two beams is stopped: before the first
// step, it has nothing to return.
static void test_beams(void) {
  struct counter counter = {0, 1, -1, NULL};
  gpt2_beam_options options;
  gpt2_beams* beams = NULL;
  CHECK(gpt2_beam_options_init(&options, sizeof options) == GPT2_OK);
  options.max_new_tokens = kGreedy;
  CHECK(gpt2_beam_search(model, tokenizer, once, kOnce, &options, &beams) == GPT2_OK);
  CHECK(beams->count == 1);
  CHECK(beams->data[0].n_tokens == kGreedy);
  CHECK(memcmp(beams->data[0].tokens, greedy_ids, sizeof greedy_ids) == 0);
  CHECK(strcmp(beams->data[0].text, greedy_text) == 0);
  CHECK(beams->data[0].n_text == strlen(greedy_text));
  CHECK(beams->data[0].finish_reason == GPT2_FINISH_LENGTH);
  gpt2_beams_free(beams);

  options.num_beams = options.num_return_sequences = 2;
  options.user = &counter;
  options.on_prompt = on_prompt;
  CHECK(gpt2_beam_search(model, NULL, once, kOnce, &options, &beams) == GPT2_OK);
  CHECK(beams->count == 0);
  gpt2_beams_free(beams);

  counter.calls = 0;
  counter.stop_at = 3;
  options.on_prompt = NULL;
  options.on_step = on_step;
  CHECK(gpt2_beam_search(model, NULL, once, kOnce, &options, &beams) == GPT2_OK);
  CHECK(counter.calls == 3);
  CHECK(beams->count == 2);
  CHECK(beams->data[1].n_tokens == 3);
  CHECK(beams->data[1].finish_reason == GPT2_FINISH_CANCELLED);
  CHECK(strcmp(beams->data[1].text, "") == 0);
  gpt2_beams_free(beams);

  options.on_step = NULL;
  options.cancel = new_cancel(1);
  CHECK(gpt2_beam_search(model, NULL, once, kOnce, &options, &beams) == GPT2_OK);
  CHECK(beams->count == 0);
  gpt2_beams_free(beams);
  gpt2_cancel_free(options.cancel);
}

static int see(void* user, const gpt2_observation* seen) {
  CHECK(strcmp(gpt2_observed_name(seen->what), "embeddings") == 0);
  CHECK(seen->cols == gpt2_model_get_info(model)->n_embd);
  return count(user);
}

static int change(void* user, const gpt2_intervention* values) {
  values->data[0] = 1.0f;
  return count(user);
}

// An observer that returns 0 is not called again, but the pass runs to its end.
static void test_observer_stops(void) {
  struct counter counter = {0, 1, -1, NULL};
  gpt2_session* session = new_session();
  const gpt2_slice slice = {session, once, kOnce, NULL, 0};
  const float* logits = NULL;
  gpt2_observer observer;
  CHECK(gpt2_observer_init(&observer, sizeof observer) == GPT2_OK);
  observer.see = see;
  observer.user = &counter;
  CHECK(gpt2_observe(&slice, 1, &observer) == GPT2_CANCELLED);
  CHECK(counter.calls == 1);
  CHECK(gpt2_session_get_info(session)->position == kOnce);
  CHECK(gpt2_session_forward(session, greedy_ids, 1, &logits) == GPT2_OK);
  counter.calls = 0;
  observer.change = change;  // `see` is not called after it
  CHECK(gpt2_observe(&slice, 1, &observer) == GPT2_CANCELLED);
  CHECK(counter.calls == 1);
  CHECK(gpt2_session_get_info(session)->position == 2 * kOnce + 1);
  CHECK(strcmp(gpt2_observed_name(GPT2_OBSERVED_LN_F_OUTPUT), "ln_f_output") == 0);
  CHECK(strcmp(gpt2_observed_name(GPT2_OBSERVED_MLP_ACTIVATIONS), "mlp_activations") == 0);
  CHECK(strcmp(gpt2_observed_name(GPT2_OBSERVED_MLP_ACTIVATIONS + 1), "unknown") == 0);
  CHECK(strcmp(gpt2_observed_name(-1), "unknown") == 0);
  CHECK(strcmp(gpt2_observed_hook(GPT2_OBSERVED_ATTN_OUTPUT), "blocks.N.hook_attn_out") == 0);
  CHECK(strcmp(gpt2_observed_hook(GPT2_OBSERVED_MLP_ACTIVATIONS + 1), "unknown") == 0);
  gpt2_session_free(session);
}

static void test_progress_stops(void) {
  const gpt2_ids texts[] = {{once, kOnce}};
  struct counter counter = {0, 1, -1, NULL};
  float* vector = malloc(gpt2_model_get_info(model)->n_embd * sizeof *vector);
  gpt2_score_options score;
  gpt2_embed_options embed;
  gpt2_scores* scores = NULL;
  gpt2_choices* choices = NULL;
  gpt2_score_options_init(&score, sizeof score);
  gpt2_embed_options_init(&embed, sizeof embed);
  score.on_progress = embed.on_progress = on_progress;
  score.user = embed.user = &counter;
  CHECK(gpt2_score(model, texts, 1, &score, &scores) == GPT2_CANCELLED);
  CHECK(scores == NULL);
  counter.calls = 0;
  CHECK(gpt2_score_choices(model, once, kOnce, texts, 1, &score, &choices) == GPT2_CANCELLED);
  CHECK(choices == NULL);
  counter.calls = 0;
  CHECK(gpt2_embed(model, texts, 1, &embed, vector) == GPT2_CANCELLED);

  score.on_progress = NULL;
  embed.on_progress = NULL;
  score.cancel = embed.cancel = new_cancel(1);
  CHECK(gpt2_score(model, texts, 1, &score, &scores) == GPT2_CANCELLED);
  CHECK(gpt2_score_choices(model, once, kOnce, texts, 1, &score, &choices) == GPT2_CANCELLED);
  CHECK(gpt2_embed(model, texts, 1, &embed, vector) == GPT2_CANCELLED);
  CHECK(gpt2_cancel_set(score.cancel, 0) == GPT2_OK);
  CHECK(gpt2_score(model, texts, 1, &score, &scores) == GPT2_OK);
  CHECK(gpt2_embed(model, texts, 1, &embed, vector) == GPT2_OK);
  CHECK(scores->tokens == kOnce - 1);
  gpt2_scores_free(scores);
  gpt2_cancel_free(score.cancel);
  free(vector);
}

static void test_load_stops(void) {
  struct counter counter = {0, 2, -1, NULL};
  gpt2_load_options options;
  gpt2_model* loaded = NULL;
  CHECK(gpt2_load_options_init(&options, sizeof options) == GPT2_OK);
  options.dtype = GPT2_DTYPE_INT8;
  options.on_progress = on_progress;
  options.user = &counter;
  CHECK(gpt2_model_load(MODEL, &options, &loaded) == GPT2_CANCELLED);
  CHECK(loaded == NULL);
  CHECK(counter.calls == 2);
  counter.stop_at = 0;
  options.cancel = new_cancel(0);
  CHECK(gpt2_model_load(MODEL, &options, &loaded) == GPT2_OK);
  gpt2_model_free(loaded);
  CHECK(gpt2_cancel_set(options.cancel, 1) == GPT2_OK);
  CHECK(gpt2_model_load(MODEL, &options, &loaded) == GPT2_CANCELLED);
  gpt2_cancel_free(options.cancel);
}

// A callback of one text submits another.
struct follow_up {
  gpt2_scheduler* scheduler;
  uint64_t id;
};

static int submit_another(void* user, gpt2_token id) {
  struct follow_up* next = user;
  gpt2_generate_options options = greedy_options();
  if (next->id == 0) {
    CHECK(id == greedy_ids[0]);
    CHECK(gpt2_scheduler_submit(next->scheduler, NULL, once, kOnce, &options, &next->id) ==
          GPT2_OK);
  }
  return 1;
}

static void test_cancelling_a_text_that_waits(void) {
  gpt2_scheduler* scheduler = NULL;
  gpt2_scheduler_options scheduler_options;
  gpt2_generate_options options = greedy_options();
  gpt2_generation* generation = NULL;
  int32_t has_more = 0;
  uint64_t first = 0, waiting = 0;
  gpt2_scheduler_options_init(&scheduler_options, sizeof scheduler_options);
  scheduler_options.max_sequences = 1;
  CHECK(gpt2_scheduler_new(model, &scheduler_options, &scheduler) == GPT2_OK);
  CHECK(gpt2_scheduler_submit(scheduler, NULL, once, kOnce, &options, &first) == GPT2_OK);
  options.cancel = new_cancel(0);
  CHECK(gpt2_scheduler_submit(scheduler, NULL, once, kOnce, &options, &waiting) == GPT2_OK);
  CHECK(gpt2_scheduler_step(scheduler, &has_more) == GPT2_OK);
  CHECK(gpt2_scheduler_take(scheduler, waiting, &generation) == GPT2_OK);
  CHECK(generation == NULL);
  CHECK(gpt2_cancel_set(options.cancel, 1) == GPT2_OK);
  CHECK(gpt2_scheduler_step(scheduler, &has_more) == GPT2_OK);
  CHECK(gpt2_scheduler_take(scheduler, waiting, &generation) == GPT2_OK);
  CHECK(generation != NULL && generation->finish_reason == GPT2_FINISH_CANCELLED);
  gpt2_generation_free(generation);
  CHECK(gpt2_scheduler_take(scheduler, first, &generation) == GPT2_OK);
  CHECK(generation == NULL);
  gpt2_cancel_free(options.cancel);
  gpt2_scheduler_free(scheduler);
}

static void test_scheduler(void) {
  struct follow_up next = {NULL, 0};
  gpt2_generate_options options = greedy_options();
  gpt2_generation* generation = NULL;
  uint64_t first = 0, refused = 0;
  CHECK(gpt2_scheduler_new(model, NULL, &next.scheduler) == GPT2_OK);
  options.on_token = submit_another;
  options.user = &next;
  CHECK(gpt2_scheduler_submit(next.scheduler, NULL, once, kOnce, &options, &first) == GPT2_OK);
  CHECK(gpt2_scheduler_submit(next.scheduler, NULL, NULL, 0, NULL, &refused) == GPT2_OK);
  CHECK(gpt2_scheduler_run(next.scheduler) == GPT2_OK);
  CHECK(gpt2_scheduler_take(next.scheduler, first, &generation) == GPT2_OK);
  check_greedy(generation);
  gpt2_generation_free(generation);
  CHECK(gpt2_scheduler_take(next.scheduler, first, &generation) == GPT2_NOT_FOUND);
  CHECK(gpt2_scheduler_take(next.scheduler, next.id, &generation) == GPT2_OK);
  check_greedy(generation);
  gpt2_generation_free(generation);
  CHECK(gpt2_scheduler_take(next.scheduler, refused, &generation) == GPT2_INVALID_ARGUMENT);
  CHECK(generation == NULL);
  CHECK(gpt2_scheduler_submit(next.scheduler, NULL, once, kOnce, NULL, &first) == GPT2_OK);
  gpt2_scheduler_free(next.scheduler);  // gives up the text
}

// -- Threads -------------------------------------------------------------------------------------

static void* generate_on_thread(void* is_ok) {
  gpt2_session* session = new_session();
  gpt2_generation* generation = NULL;
  gpt2_generate_options options;
  gpt2_sampling_options greedy;
  gpt2_model* missing = NULL;
  gpt2_sampling_options_init(&greedy, sizeof greedy);
  gpt2_generate_options_init(&options, sizeof options);
  greedy.temperature = 0.0f;
  options.sampling = &greedy;
  options.max_new_tokens = kGreedy;
  *(int*)is_ok = gpt2_last_status() == GPT2_OK &&  // whatever failed on other threads
                 gpt2_generate(session, tokenizer, once, kOnce, &options, &generation) == GPT2_OK &&
                 strcmp(generation->text, greedy_text) == 0 &&
                 gpt2_model_load("", NULL, &missing) == GPT2_INVALID_ARGUMENT &&
                 gpt2_last_status() == GPT2_INVALID_ARGUMENT;
  gpt2_generation_free(generation);
  gpt2_session_free(session);
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[4];
  int is_ok[4] = {0, 0, 0, 0};
  gpt2_model* missing = NULL;
  CHECK(gpt2_model_load("no such model", NULL, &missing) == GPT2_NOT_FOUND);
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, generate_on_thread, &is_ok[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(is_ok[i]);
  }
  CHECK(gpt2_last_status() == GPT2_NOT_FOUND);  // this thread's
}

static void* set_flag(void* cancel) {
  CHECK(gpt2_cancel_set(cancel, 1) == GPT2_OK);
  return NULL;
}

// Starts the thread that cancels once the text has begun.
struct canceller {
  gpt2_cancel* cancel;
  pthread_t thread;
  int has_begun;
};

static int start_canceller(void* user, gpt2_token id) {
  struct canceller* canceller = user;
  (void)id;
  if (canceller->has_begun) return 1;
  canceller->has_begun = 1;
  return pthread_create(&canceller->thread, NULL, set_flag, canceller->cancel) == 0;
}

static void test_cancel_from_another_thread(void) {
  struct canceller canceller = {NULL, 0, 0};
  gpt2_generate_options options = greedy_options();
  gpt2_session* session = new_session();
  gpt2_generation* generation = NULL;
  CHECK(gpt2_cancel_new(&canceller.cancel) == GPT2_OK);
  options.max_new_tokens = 1000000000;
  options.overflow = GPT2_OVERFLOW_SLIDE;  // the text never ends by itself
  options.ignore_eos = 1;
  options.on_token = start_canceller;
  options.user = &canceller;
  options.cancel = canceller.cancel;
  CHECK(gpt2_generate(session, NULL, once, kOnce, &options, &generation) == GPT2_OK);
  CHECK(generation->finish_reason == GPT2_FINISH_CANCELLED);
  CHECK(pthread_join(canceller.thread, NULL) == 0);
  gpt2_generation_free(generation);
  gpt2_session_free(session);
  gpt2_cancel_free(canceller.cancel);
}

// -- Inside a model ------------------------------------------------------------------------------

// The logits of the last hidden state are the product of this state with wte, which is also the
// head of this model, and have the same bits as those of a pass.
static void test_weights_and_unembed(void) {
  const gpt2_model_info* sizes = gpt2_model_get_info(model);
  const gpt2_weight* weights = NULL;
  size_t n_weights = 0;
  float* state = malloc(sizes->n_embd * sizeof *state);
  float* logits = malloc(sizes->vocab_size * sizeof *logits);
  gpt2_session *session = new_session(), *other = new_session();
  const gpt2_slice slice = {session, once, kOnce, state, 1};
  const float* expected = NULL;
  CHECK(gpt2_model_weights(model, &weights, &n_weights) == GPT2_OK);
  CHECK(n_weights == 2 + 12 * sizes->n_layer + 2);
  CHECK(strcmp(weights[0].name, "wte.weight") == 0);
  CHECK(weights[0].n_shape == 2);
  CHECK(weights[0].shape[0] == sizes->vocab_size && weights[0].shape[1] == sizes->n_embd);
  CHECK(weights[0].dtype == GPT2_DTYPE_F16);
  CHECK(weights[0].size == 2 * sizes->vocab_size * sizes->n_embd);
  CHECK(strcmp(weights[n_weights - 1].name, "ln_f.bias") == 0);
  CHECK(weights[n_weights - 1].dtype == GPT2_DTYPE_F32);

  CHECK(gpt2_hidden_states(&slice, 1, sizes->n_layer) == GPT2_OK);
  CHECK(gpt2_unembed(model, NULL, state, 1, 0, logits) == GPT2_OK);
  CHECK(gpt2_session_forward(other, once, kOnce, &expected) == GPT2_OK);
  CHECK(memcmp(logits, expected, sizes->vocab_size * sizeof *logits) == 0);
  CHECK(gpt2_unembed(model, NULL, state, 1, 1, logits) == GPT2_OK);  // ln_f twice
  CHECK(memcmp(logits, expected, sizes->vocab_size * sizeof *logits) != 0);
  gpt2_session_free(session);
  gpt2_session_free(other);
  free(logits);
  free(state);
}

// -- Versions ------------------------------------------------------------------------------------

// Programs that were compiled with an older or a newer header.
static void test_other_sizes(void) {
  struct {
    gpt2_generate_options known;
    size_t newer;
  } newer;
  gpt2_generate_options older = greedy_options();
  gpt2_generation* generation = NULL;
  gpt2_session* session = new_session();

  older.size = offsetof(gpt2_generate_options, stop_tokens);
  older.n_stop = 1000;  // not in the older struct, so it must not be read
  older.on_text = on_text;
  CHECK(gpt2_generate(session, NULL, once, kOnce, &older, &generation) == GPT2_OK);
  check_greedy(generation);
  gpt2_generation_free(generation);
  memset(&older, 0xff, sizeof older);
  CHECK(gpt2_generate_options_init(&older, offsetof(gpt2_generate_options, stop_tokens)) ==
        GPT2_OK);
  CHECK(older.max_new_tokens == 256);
  CHECK(older.n_stop == SIZE_MAX);  // beyond the older struct: not written

  memset(&newer, 0xff, sizeof newer);
  CHECK(gpt2_generate_options_init(&newer.known, sizeof newer) == GPT2_OK);
  CHECK(newer.newer == 0);
  CHECK(newer.known.size == sizeof newer);
  newer.known.max_new_tokens = 1;
  gpt2_session_rewind(session, 0);
  CHECK(gpt2_generate(session, NULL, once, kOnce, &newer.known, &generation) == GPT2_OK);
  gpt2_generation_free(generation);
  newer.newer = 1;
  gpt2_session_rewind(session, 0);
  CHECK(gpt2_generate(session, NULL, once, kOnce, &newer.known, &generation) == GPT2_UNSUPPORTED);
  gpt2_session_free(session);
}

int main(void) {
  CHECK(gpt2_model_load(MODEL, NULL, &model) == GPT2_OK);
  CHECK(gpt2_tokenizer_load(MODEL, &tokenizer) == GPT2_OK);
  test_version();
  test_last_error();
  test_greedy_text();
  test_a_new_text();
  test_a_text_that_is_too_short_for_a_score();
  test_loop_of_our_own();
  test_pass_over_two_engines();
  test_lifetimes();
  test_callbacks_stop();
  test_scores_hook();
  test_beams();
  test_observer_stops();
  test_progress_stops();
  test_load_stops();
  test_cancelling_a_text_that_waits();
  test_scheduler();
  test_threads();
  test_cancel_from_another_thread();
  test_weights_and_unembed();
  test_other_sizes();
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
  return failures != 0;
}
