#include <exception>
#include <utility>

#include "base/set_while_alive.h"
#include "c_api/handles.h"
#include "c_api/run_work.h"
#include "gpt2/option_fields.h"
#include "gpt2/sampler.h"
#include "requests/completion_request.h"
#include "requests/options.h"
#include "requests/tokens.h"

using namespace gpt2::c_api;

struct gpt2_sampler : gpt2::c_api::HandleOf<6> {
  static constexpr const char* kName = "gpt2_sampler";

  gpt2::Sampler sampler;
  std::size_t vocab_size;
};

namespace gpt2::c_api {
namespace {

// A run, which its handle and a call of gpt2_run_step keep alive.
struct SharedRun {
  SharedRun() = default;
  ~SharedRun() { end(); }
  SharedRun(const SharedRun&) = delete;
  SharedRun& operator=(const SharedRun&) = delete;

  void step();
  void end() noexcept {
    is_finished = true;
    if (session) session->has_run = false;
  }

  RunStatePointer state = std::make_shared<RunState>();
  std::shared_ptr<SharedScheduler> scheduler = {};  // of a run that is not in a session
  std::shared_ptr<SharedSession> session = {};      // of a run in a session
  bool is_in_session_step = false;
  bool is_finished = false;
  std::exception_ptr error = {};
  Work work = {};  // is destroyed before what it uses
};

void SharedRun::step() {
  bool& is_stepping = scheduler ? scheduler->is_stepping : is_in_session_step;
  if (is_stepping) reject("a callback of a run must not step it or a run of its scheduler");
  if (!is_finished) {
    const SetWhileAlive stepping(is_stepping);
    try {
      if (!work.step()) end();
    } catch (...) {
      error = std::current_exception();
      end();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

}  // namespace gpt2::c_api

struct gpt2_scheduler : gpt2::c_api::HandleOf<7> {
  static constexpr const char* kName = "gpt2_scheduler";

  std::shared_ptr<SharedScheduler> shared;
};

struct gpt2_run : gpt2::c_api::HandleOf<8> {
  static constexpr const char* kName = "gpt2_run";

  std::shared_ptr<SharedRun> shared = std::make_shared<SharedRun>();
};

namespace {

std::span<const float> logits_of(const gpt2_sampler& sampler, const float* logits) {
  return span_of(logits, sampler.vocab_size, "the array of logits");
}

std::unique_ptr<gpt2_run> make_run(const gpt2_callbacks* callbacks) {
  auto made = std::make_unique<gpt2_run>();
  made->shared->state->callbacks = struct_of(callbacks, "the callbacks");
  return made;
}

}  // namespace

gpt2_status gpt2_sampler_new(const char* options, size_t vocab_size, gpt2_on_scores on_scores,
                             void* user, gpt2_sampler** out) {
  return guard_new(out, [&] {
    JsonArgument given(options, "the options");
    gpt2::Members& members = given.members();
    gpt2::GenerationOptions generation = gpt2::own_defaults();
    gpt2::SequenceLimits limits;
    if (const nlohmann::json* const ids = members.find("eos_token_id")) {
      const gpt2::TokenReader reader = {std::nullopt, vocab_size};
      limits.eos_token_id = reader.read_ids(*ids, "eos_token_id");
    }
    const auto take = [&](const char* name, std::size_t& value) {
      value = members.count(name, 0, gpt2::kMaxOptionTokens).value_or(value);
    };
    take("prompt_length", limits.prompt_length);
    take("max_length", limits.max_length);
    take("dropped", limits.dropped);
    take("min_tokens_to_keep", limits.min_tokens_to_keep);
    read_options(members, generation);
    members.refuse_others();
    gpt2::SamplingOptions& sampling = generation.sampling;
    if (on_scores) sampling.processors.push_back(processor_of(on_scores, user));
    return make_handle<gpt2_sampler>(gpt2::Sampler(sampling, vocab_size, limits), vocab_size);
  });
}

gpt2_status gpt2_sampler_sample(gpt2_sampler* sampler, const float* logits, const gpt2_token* ids,
                                size_t n_ids, gpt2_token* token) {
  return guard([&] {
    gpt2_sampler& given = checked(sampler);
    require(token, "the output pointer `token`");
    *token = given.sampler.sample(logits_of(given, logits), span_of(ids, n_ids, "the list of ids"));
  });
}

gpt2_status gpt2_sampler_process(gpt2_sampler* sampler, const float* logits, const gpt2_token* ids,
                                 size_t n_ids, const float** scores) {
  return guard([&] {
    gpt2_sampler& given = checked(sampler);
    require(scores, "the output pointer `scores`");
    const auto processed =
        given.sampler.process(logits_of(given, logits), span_of(ids, n_ids, "the list of ids"));
    *scores = processed.data();
  });
}

void gpt2_sampler_free(gpt2_sampler* sampler) { release(sampler); }

gpt2_status gpt2_scheduler_new(const gpt2_model* model, const gpt2_engine* engine,
                               const char* options, gpt2_scheduler** out) {
  return guard_new(out, [&] {
    const gpt2::Engine own = engine_for(model, engine);
    JsonArgument given(options, "the options");
    gpt2::SchedulerOptions limits;
    const auto max_memory = given.members().count("max_memory", 0, std::size_t{1} << 53);
    limits.max_memory = max_memory.value_or(0);
    limits.max_sequences = given.members()
                               .count("max_sequences", 1, gpt2::kMaxOptionTokens)
                               .value_or(limits.max_sequences);
    given.members().refuse_others();
    return make_handle<gpt2_scheduler>(std::make_shared<SharedScheduler>(
        SharedScheduler{own, checked(model).path, gpt2::Scheduler(own, limits)}));
  });
}

void gpt2_scheduler_free(gpt2_scheduler* scheduler) { release(scheduler); }

gpt2_status gpt2_run_new(gpt2_scheduler* scheduler, const gpt2_tokenizer* tokenizer,
                         const char* kind, const char* request, const gpt2_callbacks* callbacks,
                         gpt2_run** out) {
  return guard_new(out, [&] {
    auto made = make_run(callbacks);
    SharedRun& run = *made->shared;
    run.scheduler = checked(scheduler).shared;
    const std::string name = c_string(kind, "the kind");
    JsonArgument given(request, "the request");
    run.work = make_work(name, {run.scheduler, optional_tokenizer(tokenizer), given, run.state});
    return made;
  });
}

gpt2_status gpt2_run_in_session(gpt2_session* session, const gpt2_tokenizer* tokenizer,
                                const char* request, const gpt2_callbacks* callbacks,
                                gpt2_run** out) {
  return guard_new(out, [&] {
    gpt2::Session& sequence = free_session(session).session;
    auto made = make_run(callbacks);
    SharedRun& run = *made->shared;
    JsonArgument given(request, "the request");
    run.work = make_work_in(sequence, optional_tokenizer(tokenizer), given, run.state);
    run.session = session->shared;
    run.session->has_run = true;
    return made;
  });
}

gpt2_status gpt2_run_step(gpt2_run* run, int32_t* more) {
  return guard([&] {
    const std::shared_ptr<SharedRun> shared = checked(run).shared;  // a callback may free the run
    require(more, "the output pointer `more`");
    *more = 0;
    shared->step();
    *more = !shared->is_finished;
  });
}

gpt2_status gpt2_run_result(gpt2_run* run, gpt2_bytes** json) {
  return guard_new(json, [&] {
    const std::shared_ptr<SharedRun> shared = checked(run).shared;
    do {
      shared->step();
    } while (!shared->is_finished);
    return make_json(shared->work.size(), shared->work.json);
  });
}

gpt2_status gpt2_run_cancel(gpt2_run* run) {
  return guard([&] { checked(run).shared->state->is_cancelled = true; });
}

void gpt2_run_free(gpt2_run* run) {
  if (run == nullptr) return;
  guard([&] {
    checked(run).shared->state->is_freed = true;
    delete run;
  });
}
