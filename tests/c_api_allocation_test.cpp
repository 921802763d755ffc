// Lets each allocation by operator new fail in turn, in calls of the C interface. Each call must
// then return GPT2_OUT_OF_MEMORY with a message, or do without the memory, and everything that it
// allocated must be freed. It
// is not built with sanitizers, because they replace operator new, too.
//
// Loading is not among the calls: the destructor of a JSON value allocates, and the process ends if
// that fails.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "gpt2/gpt2.h"
#include "support/catch.h"

namespace {

std::atomic<bool> is_counting{false};
std::atomic<std::size_t> calls{0};
std::atomic<std::size_t> failing_call{0};  // 1 is the first call
std::atomic<std::ptrdiff_t> in_use{0};     // allocations that have not been freed

void* allocate(std::size_t alignment, std::size_t size) {
  if (is_counting && ++calls == failing_call) throw std::bad_alloc();
  void* const memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  ++in_use;
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) --in_use;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(alignof(std::max_align_t), size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(static_cast<std::size_t>(alignment), size);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace {

constexpr const char* kModel = GPT2_MODELS_DIR "/gpt2-stories";
constexpr gpt2_token kOnce[] = {443, 452, 258, 401};

gpt2_model* model = nullptr;
gpt2_tokenizer* tokenizer = nullptr;

// Repeats `work`, which returns its status and frees what it makes, with the first allocation
// failing, the second, and so on, until it succeeds without a failure. `work` must not contain
// Catch's macros, because they allocate.
template <class Work>
void fail_each_allocation(const char* name, const Work& work) {
  INFO(name);
  std::size_t reported = 0;
  REQUIRE(work() == GPT2_OK);  // what is made once and kept is made now
  for (std::size_t n = 1;; ++n) {
    failing_call = n;
    calls = 0;
    const std::ptrdiff_t before = in_use;
    is_counting = true;
    const gpt2_status status = work();
    is_counting = false;
    const std::ptrdiff_t left = in_use - before;
    INFO("allocation " << n << ": " << gpt2_status_name(status) << ", " << gpt2_last_error());
    CHECK(left == 0);
    if (calls < n) {
      CHECK(status == GPT2_OK);
      CHECK(reported > 0);
      break;
    }
    if (status == GPT2_OK) continue;  // the library can do without this memory
    REQUIRE(status == GPT2_OUT_OF_MEMORY);
    CHECK(std::strcmp(gpt2_last_error(), "there is not enough memory") == 0);
    ++reported;
  }
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

  fail_each_allocation("cancel", [] {
    gpt2_cancel* made = nullptr;
    const gpt2_status status = gpt2_cancel_new(&made);
    gpt2_cancel_free(made);
    return status;
  });
  fail_each_allocation("engine", [&] {
    gpt2_engine* made = nullptr;
    const gpt2_status status = gpt2_engine_new(model, &one_thread, &made);
    gpt2_engine_free(made);
    return status;
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
  fail_each_allocation("embed", [&] {
    float vector[1024];
    gpt2_embed_options embed_options;
    gpt2_embed_options_init(&embed_options, sizeof embed_options);
    embed_options.engine = engine;
    return gpt2_embed(model, &text, 1, &embed_options, vector);
  });
  fail_each_allocation("sampler", [] {
    gpt2_sampler* sampler = nullptr;
    const gpt2_status status = gpt2_sampler_new(nullptr, 100, nullptr, &sampler);
    gpt2_sampler_free(sampler);
    return status;
  });
  gpt2_engine_free(engine);
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
}
