// Lets each allocation fail in turn, alone or with all that follow, in calls of the C interface:
// operator new, malloc and its kin, and mmap. Each call must then return an error that names the
// cause, or do without the memory, and everything that it allocated must be freed. The function
// that reads a generation config is left out, because the JSON library allocates memory in
// destructors.
//
// The engine has one thread, so that a call makes the same allocations every time.
#include <malloc.h>
#include <sys/resource.h>

#include "gpt2/gpt2.h"
#include "support/allocation_hooks.h"
#include "support/test.h"

using namespace gpt2::test;

namespace {

constexpr const char* kModel = GPT2_MODELS_DIR "/gpt2-stories";
constexpr gpt2_token kOnce[] = {443, 452, 258, 401};

gpt2_model* model = nullptr;
gpt2_tokenizer* tokenizer = nullptr;
gpt2_engine* engine = nullptr;

// Returns whether the call reported a lack of memory. An error about a file also names the file.
bool has_told_cause(gpt2_status status) {
  const std::string_view error = gpt2_last_error();
  if (status == GPT2_OUT_OF_MEMORY) return error == "there is not enough memory";
  return error.find(std::strerror(ENOMEM)) != error.npos;
}

// Repeats `work`, which returns its status and frees what it makes, with the first allocation
// failing, the second, and so on, until it succeeds without a failure. From the fiftieth on, it
// leaves out more and more of them. `work` must not contain Catch's macros, because they allocate.
template <class Work>
void fail_each_allocation(const char* name, const Work& work, bool and_later_ones = false) {
  INFO(name << (and_later_ones ? ", and all later ones" : ""));
  later_calls_fail = and_later_ones;
  std::size_t reported = 0;
  const gpt2_status first = work();  // allocates what is made once and kept
  INFO(gpt2_last_error());
  REQUIRE(first == GPT2_OK);
  for (std::size_t n = 1;; n += 1 + n / (is_slow() ? 10 : 50)) {
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

gpt2_status find_model() {
  gpt2_bytes* path = nullptr;
  const gpt2_status status = gpt2_find_model(kModel, &path);
  gpt2_free(path);
  return status;
}

gpt2_status encode_and_decode() {
  gpt2_ids* ids = nullptr;
  gpt2_bytes* bytes = nullptr;
  gpt2_status status = gpt2_tokenizer_encode(tokenizer, "Once upon", 9,
                                             R"({"parse_special": false})", &ids, nullptr);
  if (status == GPT2_OK) status = gpt2_tokenizer_decode(tokenizer, ids->data, ids->count, &bytes);
  gpt2_free(ids);
  gpt2_free(bytes);
  return status;
}

// Waits for the answer of the run, if it could be made, and frees it.
gpt2_status finish(gpt2_status status, gpt2_run* run) {
  gpt2_bytes* answer = nullptr;
  if (status == GPT2_OK) status = gpt2_run_result(run, &answer);
  gpt2_free(answer);
  gpt2_run_free(run);
  return status;
}

gpt2_status run_in_session() {
  gpt2_session* session = nullptr;
  gpt2_session* fork = nullptr;
  gpt2_run* run = nullptr;
  gpt2_status status = gpt2_session_new(model, engine, nullptr, &session);
  if (status == GPT2_OK) {
    status = gpt2_run_in_session(session, tokenizer,
                                 R"({"prompt": "Once upon a time", "max_new_tokens": 5,
                                     "logprobs": 2, "stop_tokens": [9]})",
                                 nullptr, &run);
  }
  status = finish(status, run);
  if (status == GPT2_OK) status = gpt2_session_fork(session, &fork);
  gpt2_session_free(session);
  gpt2_session_free(fork);
  return status;
}

gpt2_status run_of(const char* kind, const char* request) {
  gpt2_scheduler* scheduler = nullptr;
  gpt2_run* run = nullptr;
  gpt2_status status = gpt2_scheduler_new(model, engine, R"({"max_sequences": 2})", &scheduler);
  if (status == GPT2_OK) {
    status = gpt2_run_new(scheduler, tokenizer, kind, request, nullptr, &run);
  }
  status = finish(status, run);
  gpt2_scheduler_free(scheduler);
  return status;
}

// Returns what a function that makes a JSON text returns, and frees the text.
template <class Make>
gpt2_status describe(const Make& make) {
  gpt2_bytes* json = nullptr;
  const gpt2_status status = make(&json);
  gpt2_free(json);
  return status;
}

gpt2_status observe() {
  gpt2_session* session = nullptr;
  gpt2_observer observer = {};
  observer.size = sizeof observer;
  observer.see = [](void*, const gpt2_observation*) { return 1; };
  gpt2_status status = gpt2_session_new(model, engine, nullptr, &session);
  const gpt2_slice slice = {session, kOnce, 4, nullptr, 0};
  if (status == GPT2_OK) status = gpt2_forward(&slice, 1, &observer);
  gpt2_session_free(session);
  return status;
}

gpt2_status save_and_load(const char* path) {
  gpt2_session* session = nullptr;
  gpt2_session* loaded = nullptr;
  const float* logits = nullptr;
  gpt2_status status = gpt2_session_new(model, engine, nullptr, &session);
  if (status == GPT2_OK) status = gpt2_session_forward(session, kOnce, 4, &logits);
  if (status == GPT2_OK) status = gpt2_session_save(session, path);
  if (status == GPT2_OK) status = gpt2_session_load(model, engine, path, nullptr, &loaded);
  gpt2_session_free(session);
  gpt2_session_free(loaded);
  return status;
}

// The bytes that the process has mapped.
std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct Asked {
  const char* kind;
  const char* request;
};

constexpr Asked kRuns[] = {
    {"generate", R"({"prompt": ["Once upon", "The"], "n": 2, "max_new_tokens": 5, "logprobs": 2})"},
    {"generate", R"({"prompt": "Once", "num_beams": 4, "max_new_tokens": 5})"},
    {"completions", R"({"prompt": "Once", "max_tokens": 4, "logprobs": 2, "echo": true,
                        "return_token_ids": true, "seed": 1})"},
    {"chat", R"({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4,
                 "logprobs": true, "top_logprobs": 2})"},
    {"responses", R"({"input": "Hi", "max_output_tokens": 4})"},
    {"embeddings", R"({"input": "Once"})"},
    {"score", R"({"texts": ["Once upon", "The cat"], "logprobs": 2})"},
    {"choices", R"({"context": "The", "choices": [" cat", " dog"]})"},
    {"inspect", R"({"prompt": "Once upon", "skip_head": ["1.1"]})"},
    {"inspect_page", R"({"prompt": "Once upon"})"},
    {"tokenize", R"({"prompt": "Once upon", "offsets": true})"},
    {"detokenize", R"({"tokens": [1, 2]})"},
};

// Runs the request with less and less memory beyond what the process has mapped.
void sink_limit(const Asked& asked) {
  constexpr std::size_t kMost = 32 << 20, kLeast = 1 << 12;
  for (std::size_t more = kMost; more >= kLeast; more /= 2) {
    malloc_trim(0);
    rlimit limit = {};
    getrlimit(RLIMIT_AS, &limit);
    const rlim_t before = std::exchange(limit.rlim_cur, mapped_bytes() + more);
    setrlimit(RLIMIT_AS, &limit);
    const gpt2_status status = run_of(asked.kind, asked.request);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_AS, &limit);
    INFO(asked.kind << " with " << more << " bytes: " << gpt2_last_error());
    CHECK((status == GPT2_OK || (status == GPT2_OUT_OF_MEMORY && more < kMost)));
  }
}

}  // namespace

TEST_CASE("every failing allocation is an error and leaks nothing, and so is a limit") {
  REQUIRE(gpt2_model_load(kModel, nullptr, nullptr, nullptr, &model) == GPT2_OK);
  REQUIRE(gpt2_tokenizer_load(kModel, &tokenizer) == GPT2_OK);
  REQUIRE(gpt2_engine_new(model, R"({"threads": 1})", &engine) == GPT2_OK);
  const TemporaryDirectory folder;
  const std::string state = (folder.path() / "saved.state").string();

  fail_each_allocation("find_model", find_model);
  fail_each_allocation("load a model", [] {
    return make_and_free(gpt2_model_free, gpt2_model_load, kModel, nullptr, nullptr, nullptr);
  });
  fail_each_allocation("load a tokenizer", [] {
    return make_and_free(gpt2_tokenizer_free, gpt2_tokenizer_load, kModel);
  });
  fail_each_allocation("engine", [] {
    return make_and_free(gpt2_engine_free, gpt2_engine_new, model, R"({"threads": 1})");
  });
  fail_each_allocation("encode and decode", encode_and_decode);
  fail_each_allocation("run in a session", run_in_session);
  fail_each_allocation("run in a session", run_in_session, /*and_later_ones=*/true);
  for (const Asked& asked : kRuns) {
    const auto run = [&] { return run_of(asked.kind, asked.request); };
    fail_each_allocation(asked.request, run);
    fail_each_allocation(asked.request, run, /*and_later_ones=*/true);
  }
  fail_each_allocation("describe", [] { return describe(gpt2_describe); });
  fail_each_allocation("model_info", [] {
    return describe([](gpt2_bytes** json) { return gpt2_model_info(model, json); });
  });
  const auto generation_config = [] {
    return describe([](gpt2_bytes** json) {
      const char* const config = R"({"do_sample": true, "bad_words_ids": [[1, 2], [3]],
                                     "sequence_bias": [[[5], 2.0]], "suppress_tokens": [4, 5]})";
      return gpt2_generation_config(nullptr, config, json);
    });
  };
  fail_each_allocation("generation_config", generation_config);
  fail_each_allocation("generation_config", generation_config, /*and_later_ones=*/true);
  fail_each_allocation("observe", observe);
  fail_each_allocation("save and load a session", [&] { return save_and_load(state.c_str()); });
  fail_each_allocation("embed", [] {
    float vector[1024];
    const gpt2_ids text = {kOnce, 4};
    return gpt2_embed(model, engine, &text, 1, nullptr, nullptr, nullptr, vector);
  });
  fail_each_allocation("sampler", [] {
    return make_and_free(gpt2_sampler_free, gpt2_sampler_new, R"({"suppress_tokens": [1, 2]})",
                         std::size_t{100}, nullptr, nullptr);
  });

  // A prompt that is long, so that its answer takes some memory.
  std::string prompt = R"({"prompt": [1)";
  for (int i = 0; i < 150; ++i) prompt += ",5";
  const std::string inspection = prompt + "]}";
  std::vector<Asked> runs(std::begin(kRuns), std::end(kRuns));
  runs.push_back({"inspect", inspection.c_str()});
  for (const Asked& asked : runs) sink_limit(asked);
  gpt2_engine_free(engine);
  gpt2_tokenizer_free(tokenizer);
  gpt2_model_free(model);
}
