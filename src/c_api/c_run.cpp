#include <algorithm>
#include <exception>
#include <utility>

#include "base/set_while_alive.h"
#include "base/share.h"
#include "c_api/guard.h"
#include "gpt2/option_fields.h"
#include "gpt2/sampler.h"
#include "requests/read/options.h"
#include "requests/read/tokens.h"
#include "requests/run/run.h"

using namespace gpt2::c_api;

struct gpt2_sampler : gpt2::c_api::HandleOf<6> {
  static constexpr const char* kName = "gpt2_sampler";

  gpt2::Sampler sampler;
  std::size_t vocab_size;
};

namespace gpt2::c_api {
namespace {

constexpr std::size_t kMaxTextsOfRun = 1 << 20;  // prompts, and texts of each

// A scheduler, which its handle and its runs keep alive.
struct SharedScheduler {
  Engine engine;
  std::string model_name;
  Scheduler scheduler;
  bool is_stepping = false;  // whether a step of a run is on the stack
};

// What a run shares with its events, which may free it.
struct RunState {
  gpt2_callbacks callbacks;  // none once the run has been freed
  double share = 0.0;        // of the work that is done; see gpt2_on_progress
};
using RunStatePointer = std::shared_ptr<RunState>;

LogitsProcessor processor_of(gpt2_on_scores on_scores, void* user) {
  return [=](std::span<float> scores, std::span<const TokenId> ids) {
    if (!on_scores(user, scores.data(), scores.size(), ids.data(), ids.size())) throw Cancelled();
  };
}

RunEvents events_of(const RunStatePointer& state) {
  RunEvents events;
  events.goes_on = [state] {
    const gpt2_on_progress on_progress = state->callbacks.on_progress;
    return !on_progress || on_progress(state->callbacks.user, state->share) != 0;
  };
  events.on_progress = [state](double share) { state->share = share; };
  events.on_prompt = [state](std::size_t read, std::size_t total) {
    state->share = share_of(read, total);
  };
  events.on_piece = [state](std::size_t index, const CompletionPiece& piece) {
    const gpt2_on_token on_token = state->callbacks.on_token;
    const char* const text = piece.text.empty() ? "" : piece.text.data();
    return !on_token || on_token(state->callbacks.user, index, piece.token.value_or(-1), text,
                                 piece.text.size()) != 0;
  };
  return events;
}

// Adds to a request of our own what is no JSON: the draft and the processor of the callbacks.
void add_callbacks(CompletionRequest& request, const RunStatePointer& state) {
  const gpt2_callbacks& callbacks = state->callbacks;
  if (callbacks.draft) request.set_draft(checked(callbacks.draft).model);
  if (!callbacks.on_scores) return;
  request.options.sampling.processors.push_back(
      [state](std::span<float> scores, std::span<const TokenId> ids) {
        if (!state->callbacks.on_scores) throw Cancelled();
        processor_of(state->callbacks.on_scores, state->callbacks.user)(scores, ids);
      });
}

std::unique_ptr<Run> run_of(const std::string& name, SharedScheduler& of,
                            const std::optional<Tokenizer>& tokenizer, JsonArgument& body,
                            const RunStatePointer& state, Session* session = nullptr) {
  const RunKind& kind = run_kind(name);
  RequestContext context = {tokenizer, of.engine.model().config()};
  if (session != nullptr) {
    context.session = {session->position(), session->capacity()};
  } else if (kind.is_own) {
    context.max_prompts = context.max_choices = kMaxTextsOfRun;
  }
  Request request = kind.read(body.root(), context);
  auto* const completion = std::get_if<CompletionRequest>(&request);
  if (kind.is_own && completion != nullptr) add_callbacks(*completion, state);
  return make_run(kind, std::move(request),
                  {of.engine, of.scheduler, tokenizer, {.model = of.model_name}, session},
                  events_of(state));
}

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
  std::shared_ptr<SharedScheduler> scheduler = {};
  std::shared_ptr<SharedSession> session = {};  // of a run in a session
  bool is_finished = false;
  std::exception_ptr error = {};
  std::unique_ptr<Run> run = {};  // is destroyed before what it uses
};

void SharedRun::step() {
  if (scheduler->is_stepping) {
    reject("a callback of a run must not step it or a run of its scheduler");
  }
  if (!is_finished) {
    const SetWhileAlive stepping(scheduler->is_stepping);
    try {
      if (!run->step()) {
        static_cast<void>(run->tokens());  // throws the error of a text
        end();
      }
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
    gpt2::GenerationOptions generation = gpt2::request_defaults();
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
    read_options(members, generation, vocab_size);
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
    run.run = run_of(name, *run.scheduler, optional_tokenizer(tokenizer), given, run.state);
    return made;
  });
}

gpt2_status gpt2_run_in_session(gpt2_session* session, const gpt2_tokenizer* tokenizer,
                                const char* request, const gpt2_callbacks* callbacks,
                                gpt2_run** out) {
  return guard_new(out, [&] {
    const SessionUse sequence = free_session(session);
    auto made = make_run(callbacks);
    SharedRun& run = *made->shared;
    JsonArgument given(request, "the request");
    const gpt2::Engine engine = sequence->engine();
    run.scheduler = std::make_shared<SharedScheduler>(
        SharedScheduler{engine, "", gpt2::Scheduler(engine, {.max_memory = 1})});
    run.run = run_of("generate", *run.scheduler, optional_tokenizer(tokenizer), given, run.state,
                     sequence.get());
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
    return make_bytes(shared->run->json().text());
  });
}

gpt2_status gpt2_run_cancel(gpt2_run* run) {
  return guard([&] { checked(run).shared->run->cancel(); });
}

void gpt2_run_free(gpt2_run* run) {
  if (run == nullptr) return;
  guard([&] {
    checked(run).shared->state->callbacks = {};
    run->shared->run->cancel();
    delete run;
  });
}
