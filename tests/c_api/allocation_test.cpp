// Lets each allocation fail in turn, in calls of the C interface: operator new, malloc and its kin,
// and mmap. Each call must then return an error that names the cause, or do without the memory, and
// everything that it allocated must be freed.
//
// The engine has one thread, so that a call makes the same allocations every time.
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "gpt2/gpt2.h"
#include "support/allocation_hooks.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

using namespace gpt2::test;

namespace {

constexpr const char* kModel = GPT2_MODELS_DIR "/gpt2-stories";
constexpr gpt2_token kOnce[] = {443, 452, 258, 401};

gpt2_model* model = nullptr;
gpt2_tokenizer* tokenizer = nullptr;

// Returns whether the call reported a lack of memory. An error about a file also names the file.
bool has_told_cause(gpt2_status status) {
  const std::string_view error = gpt2_last_error();
  if (status == GPT2_OUT_OF_MEMORY) return error == "there is not enough memory";
  return error.find(std::strerror(ENOMEM)) != error.npos;
}

// Repeats `work`, which returns its status and frees what it makes, with the first allocation
// failing, the second, and so on, until it succeeds without a failure. `work` must not contain
// Catch's macros, because they allocate.
template <class Work>
void fail_each_allocation(const char* name, const Work& work) {
  INFO(name);
  std::size_t reported = 0;
  const gpt2_status first = work();  // allocates what is made once and kept
  INFO(gpt2_last_error());
  REQUIRE(first == GPT2_OK);
  for (std::size_t n = 1;; ++n) {
    failing_call = n;
    const std::ptrdiff_t before = in_use;
    gpt2_status status = GPT2_OK;
    const std::size_t made = allocations_of([&] { status = work(); });
    const std::ptrdiff_t left = in_use - before;
    INFO("allocation " << n << ": " << gpt2_status_name(status) << ", " << gpt2_last_error());
    CHECK(left == 0);
    if (made < n) {
      CHECK(status == GPT2_OK);
      CHECK(reported > 0);
      break;
    }
    if (status == GPT2_OK) continue;  // the library can do without this memory
    REQUIRE(has_told_cause(status));
    ++reported;
  }
  failing_call = 0;
}

// Makes something and frees it. Returns the status of making it.
template <class T, class Make, class... Arguments>
gpt2_status make_and_free(void (*free)(T*), Make make, Arguments... arguments) {
  T* made = nullptr;
  const gpt2_status status = make(arguments..., &made);
  free(made);
  return status;
}

}  // namespace

TEST_CASE("every failing allocation is an error and leaks nothing") {
  REQUIRE(gpt2_model_load(kModel, nullptr, &model) == GPT2_OK);
  REQUIRE(gpt2_tokenizer_load(kModel, &tokenizer) == GPT2_OK);
  gpt2_engine* engine = nullptr;  // keeps the threads alive
  gpt2_engine_options one_thread;
  gpt2_engine_options_init(&one_thread, sizeof one_thread);
  one_thread.threads = 1;
  REQUIRE(gpt2_engine_new(model, &one_thread, &engine) == GPT2_OK);

  fail_each_allocation("find_model",
                       [] { return make_and_free(gpt2_bytes_free, gpt2_find_model, kModel); });
  fail_each_allocation("load a model", [] {
    return make_and_free(gpt2_model_free, gpt2_model_load, kModel, nullptr);
  });
  fail_each_allocation("load a tokenizer", [] {
    return make_and_free(gpt2_tokenizer_free, gpt2_tokenizer_load, kModel);
  });
  fail_each_allocation("cancel", [] { return make_and_free(gpt2_cancel_free, gpt2_cancel_new); });
  fail_each_allocation("engine", [&] {
    return make_and_free(gpt2_engine_free, gpt2_engine_new, model, &one_thread);
  });
  fail_each_allocation("encode and decode", [] {
    gpt2_ids* ids = nullptr;
    gpt2_bytes* bytes = nullptr;
    gpt2_status status = gpt2_tokenizer_encode(tokenizer, "Once upon", 9, nullptr, &ids);
    if (status == GPT2_OK) status = gpt2_tokenizer_decode(tokenizer, ids->data, ids->count, &bytes);
    gpt2_ids_free(ids);
    gpt2_bytes_free(bytes);
    return status;
  });
  gpt2_session_options in_engine;
  gpt2_session_options_init(&in_engine, sizeof in_engine);
  in_engine.engine = engine;
  gpt2_generate_options options;
  gpt2_generate_options_init(&options, sizeof options);
  options.max_new_tokens = 5;
  options.wants_logprobs = 1;
  options.top_logprobs = 2;
  fail_each_allocation("generate", [&] {
    gpt2_session* session = nullptr;
    gpt2_session* fork = nullptr;
    gpt2_generation* generation = nullptr;
    gpt2_status status = gpt2_session_new(model, &in_engine, &session);
    if (status == GPT2_OK) {
      status = gpt2_generate(session, tokenizer, kOnce, 4, &options, &generation);
    }
    if (status == GPT2_OK) status = gpt2_session_fork(session, &fork);
    gpt2_generation_free(generation);
    gpt2_session_free(session);
    gpt2_session_free(fork);
    return status;
  });
  fail_each_allocation("beam search", [&] {
    gpt2_beam_options beam_options;
    gpt2_beam_options_init(&beam_options, sizeof beam_options);
    beam_options.engine = engine;
    beam_options.num_beams = 4;
    beam_options.num_return_sequences = 3;
    beam_options.max_new_tokens = 5;
    return make_and_free(gpt2_beams_free, gpt2_beam_search, model, tokenizer, kOnce, 4,
                         &beam_options);
  });
  fail_each_allocation("observe", [&] {
    gpt2_session* session = nullptr;
    gpt2_observer observer;
    gpt2_observer_init(&observer, sizeof observer);
    observer.see = [](void*, const gpt2_observation*) { return 1; };
    gpt2_status status = gpt2_session_new(model, &in_engine, &session);
    const gpt2_slice slice = {session, kOnce, 4, nullptr, 0};
    if (status == GPT2_OK) status = gpt2_observe(&slice, 1, &observer);
    gpt2_session_free(session);
    return status;
  });
  const TemporaryDirectory folder;
  const std::string state = (folder.path() / "saved.state").string();
  fail_each_allocation("save and load a session", [&] {
    gpt2_session* session = nullptr;
    gpt2_session* loaded = nullptr;
    const float* logits = nullptr;
    gpt2_status status = gpt2_session_new(model, &in_engine, &session);
    if (status == GPT2_OK) status = gpt2_session_forward(session, kOnce, 4, &logits);
    if (status == GPT2_OK) status = gpt2_session_save(session, state.c_str());
    if (status == GPT2_OK) status = gpt2_session_load(model, state.c_str(), &in_engine, &loaded);
    gpt2_session_free(session);
    gpt2_session_free(loaded);
    return status;
  });
  fail_each_allocation("scheduler", [&] {
    gpt2_scheduler* scheduler = nullptr;
    gpt2_generation* generation = nullptr;
    gpt2_scheduler_options scheduler_options;
    std::uint64_t id = 0;
    gpt2_scheduler_options_init(&scheduler_options, sizeof scheduler_options);
    scheduler_options.engine = engine;
    gpt2_status status = gpt2_scheduler_new(model, &scheduler_options, &scheduler);
    if (status == GPT2_OK) {
      status = gpt2_scheduler_submit(scheduler, tokenizer, kOnce, 4, &options, &id);
    }
    if (status == GPT2_OK) status = gpt2_scheduler_run(scheduler);
    if (status == GPT2_OK) status = gpt2_scheduler_take(scheduler, id, &generation);
    gpt2_generation_free(generation);
    gpt2_scheduler_free(scheduler);
    return status;
  });
  const gpt2_ids text = {kOnce, 4};
  fail_each_allocation("score", [&] {
    gpt2_scores* scores = nullptr;
    gpt2_choices* choices = nullptr;
    gpt2_score_options score_options;
    gpt2_score_options_init(&score_options, sizeof score_options);
    score_options.engine = engine;
    score_options.tokenizer = tokenizer;
    score_options.top_logprobs = 2;
    gpt2_status status = gpt2_score(model, &text, 1, &score_options, &scores);
    if (status == GPT2_OK) {
      status = gpt2_score_choices(model, kOnce, 4, &text, 1, &score_options, &choices);
    }
    gpt2_scores_free(scores);
    gpt2_choices_free(choices);
    return status;
  });
  fail_each_allocation("generation config", [] {
    return make_and_free(gpt2_generation_config_free, gpt2_generation_config_load, kModel);
  });
  fail_each_allocation("compare", [&] {
    gpt2_compare_options compare_options;
    gpt2_compare_options_init(&compare_options, sizeof compare_options);
    compare_options.engine_a = engine;
    compare_options.engine_b = engine;
    return make_and_free(gpt2_comparison_free, gpt2_compare_perplexity, model, model, kOnce, 4,
                         &compare_options);
  });
  fail_each_allocation("embed", [&] {
    float vector[1024];
    gpt2_embed_options embed_options;
    gpt2_embed_options_init(&embed_options, sizeof embed_options);
    embed_options.engine = engine;
    return gpt2_embed(model, &text, 1, &embed_options, vector);
  });
  fail_each_allocation("sampler", [] {
    return make_and_free(gpt2_sampler_free, gpt2_sampler_new, nullptr, 100, nullptr);
  });
  gpt2_engine_free(engine);
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
}
