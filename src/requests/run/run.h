#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpt2/beam_search.h"
#include "gpt2/engine.h"
#include "gpt2/scheduler.h"
#include "gpt2/tokenizer.h"
#include "requests/answer/completion.h"
#include "requests/read/completion_request.h"
#include "requests/read/text_requests.h"

namespace gpt2 {

/// What ends a run without a result because its door wants no more of it. It is not a
/// std::exception, because Drafter ends a draft, and not the text, if a logits processor throws
/// one.
struct Cancelled {};

/// What is new of a text: a token and the text that has become certain with it. The views are valid
/// during the call only.
struct CompletionPiece {
  std::optional<TokenId> token = {};    ///< absent if only text was left that had been held back
  const TokenLogprob* score = nullptr;  ///< of the token, if log-probabilities are wanted
  std::string_view text = {};           ///< whole characters, perhaps none; "" without a tokenizer
};

/// What a run tells its door while it goes on. All functions are called on the thread that steps
/// the run or its scheduler. They must not step or destroy the run, except that on_piece and
/// goes_on may destroy it if another run of its scheduler is being stepped. An empty function is
/// not called. If one throws, the text ends with this exception.
struct RunEvents {
  /// Asked before each piece of a prompt, after each token, in each step while a text waits for its
  /// turn, and between the passes of other runs. Returns false to cancel the run, as Run::cancel()
  /// does.
  std::function<bool()> goes_on = {};

  /// Called between the passes of a run without texts, with the share of the work that is done.
  std::function<void(double share)> on_progress = {};

  /// Called before each piece of a prompt is read, and once more after the last one.
  std::function<void(std::size_t read, std::size_t total)> on_prompt = {};

  /// Called for each token of a text. A beam search has no pieces. Returns false to cancel the run.
  std::function<bool(std::size_t index, const CompletionPiece& piece)> on_piece = {};

  /// Called after each step of a beam search.
  std::function<void(const BeamStep& step)> on_beam_step = {};

  /// Takes each text that has ended, in the order of their indices. The run then keeps none of
  /// them. A text that ended with an error has CompletionChoice::error and no result, and the
  /// others go on. Without this function, such an error ends the run.
  std::function<void(CompletionChoice choice)> on_choice = {};
};

struct RunTokens {
  std::size_t prompt = 0, completion = 0;
};

/// A request that is being answered, step by step. It has no thread of its own: a call computes in
/// the caller's thread.
///
/// A door that has the run's scheduler for itself calls step() until it returns false. A door whose
/// scheduler many runs share calls compute() once for each run that has_own_passes(), and then,
/// again and again, Scheduler::step() once and advance() of each run, beginning with advance().
/// Then there is an answer.
///
/// Thread safety: only one thread at a time may call functions of runs that share a scheduler.
///
/// Example:
///   const RunKind& kind = run_kind("generate");
///   const auto run = make_run(kind, kind.read(body, context), {engine, scheduler, tokenizer});
///   while (run->step()) {
///   }
///   std::cout << run->json().text();
class Run {
 public:
  /// Cancels the run if it has not finished, and waits for nothing. No event is called afterwards.
  virtual ~Run() = default;
  Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Whether compute() has something to do: passes that other runs cannot share.
  [[nodiscard]] virtual bool has_own_passes() const noexcept = 0;

  /// Runs these passes. Calls `between` between them, unless it is empty, so that other runs can go
  /// on. Throws what the passes and `between` throw; the run is then cancelled.
  virtual void compute(const std::function<void()>& between) = 0;

  /// Submits texts to the scheduler, and takes those that have ended. Runs compute() first if
  /// nobody has. Returns whether the run goes on.
  virtual bool advance() = 0;

  /// Runs one pass of the scheduler, or all of the run's own passes. Returns whether the run goes
  /// on.
  virtual bool step() = 0;

  /// Lets the run end soon: its texts have the finish reason cancelled, and a run without texts
  /// throws Cancelled. Any thread may call it, and so may events and signal handlers.
  virtual void cancel() noexcept = 0;

  // If the run has finished, these throw the first error with which one of its texts ended.

  /// The answer. REQUIRES: the run has finished.
  [[nodiscard]] virtual Json json() = 0;

  /// REQUIRES: the run has finished.
  [[nodiscard]] virtual RunTokens tokens() = 0;

  /// If the request is for a stream, returns its parts that have come since the last call.
  [[nodiscard]] virtual std::vector<Json> take_parts() { return {}; }
};

using Request = std::variant<CompletionRequest, EmbeddingRequest, ScoringRequest, InspectionRequest,
                             TokensRequest>;

struct RunKind {
  std::string_view name;
  std::string_view path;  ///< at which the server has it, and the "url" in a batch; "": none

  /// Reads a request, which is a JSON object. Throws Error for anything that is wrong with it.
  Request (*read)(const nlohmann::json& body, const RequestContext& context);

  /// Makes the form of the answer to a CompletionRequest. nullptr for other requests.
  std::unique_ptr<AnswerForm> (*form)(AnswerHead head, const std::optional<Tokenizer>& tokenizer,
                                      const CompletionRequest& request) = nullptr;
  bool is_own = false;         ///< whether it is ours, and max_new_tokens is that of the command
  const char* id_prefix = "";  ///< of the answer's id
};

[[nodiscard]] std::span<const RunKind> run_kinds();

/// Throws Error for a name that no kind has.
[[nodiscard]] const RunKind& run_kind(std::string_view name);

/// What a run works with. The run keeps copies, except of the scheduler.
struct RunContext {
  const Engine& engine;
  Scheduler& scheduler;
  const std::optional<Tokenizer>& tokenizer;
  AnswerHead head = {};
  Session* session = nullptr;  ///< whose text the run continues, if there is one
};

/// Makes a run of a request that the kind has read, and computes nothing. The scheduler, which is
/// one of the engine, must live as long as functions of the run are called, but may be destroyed
/// before the run.
[[nodiscard]] std::unique_ptr<Run> make_run(const RunKind& kind, Request request,
                                            const RunContext& of, RunEvents events = {});

// What runs of requests about texts that are not continued compute: each is one call of the
// library.

/// Scores the requests, in shared passes, and returns the result of each. Throws what score() and
/// score_choices() throw. REQUIRES: all of them have the same options.
[[nodiscard]] std::vector<ScoringResult> run_scoring(
    const Engine& engine, std::span<const ScoringRequest> requests,
    const std::function<void(double)>& progress = {});

/// Scores lines together and returns the scoring_json() of each. Throws what run_scoring() and
/// scoring_json() throw. REQUIRES: all lines have the same options.
[[nodiscard]] std::vector<Json> score_lines(const Engine& engine,
                                            const std::optional<Tokenizer>& tokenizer,
                                            std::span<const ScoringRequest> lines,
                                            const std::function<void(double)>& progress = {});

/// Inspects the text, and once more without the changes if there are any. `progress` is called as
/// that of InspectOptions. Throws what inspect() throws.
[[nodiscard]] InspectionResult run_inspection(const Engine& engine,
                                              const InspectionRequest& request,
                                              const std::function<void(double)>& progress = {});

}  // namespace gpt2
