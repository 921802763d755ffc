#include "gpt2/scheduler.h"

#include <chrono>
#include <map>
#include <mutex>

#include "c_api/arguments.h"
#include "c_api/options.h"
#include "c_api/results.h"
#include "c_api/sampling_arguments.h"

using namespace gpt2::c_api;

namespace {

// A text that was submitted and whose result has not been taken. The future is shared so that the
// result is kept if there is not enough memory to copy it.
struct SubmittedText {
  std::shared_future<gpt2::GenerationResult> result = {};
  std::shared_ptr<std::string> text = {};
};

}  // namespace

struct gpt2_scheduler {
  static constexpr const char* kName = "gpt2_scheduler";
  static constexpr std::uint64_t kTag = 0x8d1f5b6ac2e40707;

  std::uint64_t tag = kTag;
  std::mutex mutex = {};  // protects texts and next_id
  std::map<std::uint64_t, SubmittedText> texts = {};
  std::uint64_t next_id = 1;
  gpt2::Scheduler scheduler;
};

namespace gpt2::c_api {

void set_defaults(gpt2_scheduler_options& options) {
  options.max_sequences = SchedulerOptions().max_sequences;
}

namespace {

// Adds an entry for the text before it submits the text, so that a failed allocation cannot leave a
// submitted text without an entry.
std::uint64_t submit(gpt2_scheduler& to, std::span<const TokenId> prompt,
                     const GenerationArguments& arguments) {
  const std::scoped_lock lock(to.mutex);
  const auto entry = to.texts.try_emplace(to.next_id).first;
  try {
    entry->second.text = arguments.text;
    entry->second.result = to.scheduler.submit(prompt, arguments.options, arguments.target);
  } catch (...) {
    to.texts.erase(entry);
    throw;
  }
  return to.next_id++;
}

std::unique_ptr<OwnedGeneration> take(gpt2_scheduler& from, std::uint64_t id) {
  const std::scoped_lock lock(from.mutex);
  const auto entry = from.texts.find(id);
  if (entry == from.texts.end()) {
    throw Error(ErrorCode::not_found, "the scheduler has no text with the number " +
                                          std::to_string(id) + ", or its result has been taken");
  }
  const SubmittedText& submitted = entry->second;
  if (submitted.result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
  const GenerationResult* result = nullptr;
  try {
    result = &submitted.result.get();
  } catch (...) {
    from.texts.erase(entry);
    throw;
  }
  auto made = make_generation(*result, *submitted.text);
  from.texts.erase(entry);
  return made;
}

}  // namespace

}  // namespace gpt2::c_api

gpt2_status gpt2_scheduler_new(const gpt2_model* model, const gpt2_scheduler_options* options,
                               gpt2_scheduler** out) {
  return guard_new(out, [&] {
    const gpt2_scheduler_options given = options_of(options);
    return std::unique_ptr<gpt2_scheduler>(
        new gpt2_scheduler{.scheduler = gpt2::Scheduler(engine_for(model, given.engine),
                                                        {.max_memory = given.max_memory,
                                                         .max_sequences = given.max_sequences})});
  });
}

gpt2_status gpt2_scheduler_submit(gpt2_scheduler* scheduler, const gpt2_tokenizer* tokenizer,
                                  const gpt2_token* prompt, size_t n_prompt,
                                  const gpt2_generate_options* options, uint64_t* id) {
  return guard([&] {
    gpt2_scheduler& to = checked(scheduler);
    require(id, "the output pointer `id`");
    *id = submit(to, span_of(prompt, n_prompt, "the prompt"),
                 GenerationArguments(tokenizer, options));
  });
}

gpt2_status gpt2_scheduler_step(gpt2_scheduler* scheduler, int32_t* has_more) {
  return guard([&] {
    gpt2_scheduler& given = checked(scheduler);
    require(has_more, "the output pointer `has_more`");
    *has_more = given.scheduler.step();
  });
}

gpt2_status gpt2_scheduler_run(gpt2_scheduler* scheduler) {
  return guard([&] { checked(scheduler).scheduler.run(); });
}

gpt2_status gpt2_scheduler_take(gpt2_scheduler* scheduler, uint64_t id, gpt2_generation** out) {
  return guard_new(out, [&] { return take(checked(scheduler), id); });
}

void gpt2_scheduler_free(gpt2_scheduler* scheduler) { release(scheduler); }
