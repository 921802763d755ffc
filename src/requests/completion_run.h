#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "gpt2/beam_search.h"
#include "gpt2/engine.h"
#include "gpt2/scheduler.h"
#include "gpt2/session.h"
#include "gpt2/tokenizer.h"
#include "requests/completion.h"
#include "requests/completion_request.h"

namespace gpt2 {

/// What is new of a text: a token and the text that has become certain with it. The views are valid
/// during the call only.
struct CompletionPiece {
  std::optional<TokenId> token = {};    ///< absent if only text was left that had been held back
  const TokenLogprob* score = nullptr;  ///< of the token, if log-probabilities are wanted
  std::string_view text = {};           ///< whole characters, perhaps none; "" without a tokenizer
};

/// What a run tells its door while it goes on. All functions are called on the thread that steps
/// the run or its scheduler. They may cancel the run and destroy it, but not step it. An empty
/// function is not called. If one throws, the text ends with this exception.
struct RunEvents {
  /// Asked before each piece of a prompt, after each token, and in each step while a text waits for
  /// its turn. Returns false to cancel the run.
  std::function<bool()> goes_on = {};

  /// Called before each piece of a prompt is read, and once more after the last one.
  std::function<void(std::size_t read, std::size_t total)> on_prompt = {};

  /// Called for each token of a text. A beam search has no pieces.
  std::function<void(std::size_t index, const CompletionPiece& piece)> on_piece = {};

  /// Called after each step of a beam search.
  std::function<void(const BeamStep& step)> on_beam_step = {};

  /// Called when a text has ended, in any order. Not called for a text that ended with an error.
  std::function<void(std::size_t index, FinishReason reason)> on_finish = {};

  /// Takes each text that has ended, in the order of their indices. The run then keeps none of
  /// them: result() has no texts. A text that ended with an error has CompletionChoice::error and
  /// no result, and the others go on. Without this function, such an error ends the run.
  std::function<void(CompletionChoice choice)> on_choice = {};
};

/// Writes the texts that a request asks for: over a scheduler that other runs share, or one text in
/// a session. It has no thread of its own: a call computes in the caller's thread.
///
/// Text i, of all texts of all prompts (best_of for each), is written with the sequence
/// options.sampling.sequence + i. At most kMaxTexts are with the scheduler at a time.
///
/// A door that has the scheduler for itself, or a session, calls step() until it returns false. A
/// door whose scheduler many runs share calls compute() once for each run that has_own_passes(),
/// and then, again and again, Scheduler::step() once and advance() of each run, beginning with
/// advance(), which submits the texts. Then result() has the answer.
///
/// Thread safety: any thread may call cancel(). Only one thread at a time may call other functions,
/// and it must be the one that steps the scheduler.
///
/// Cost: that of the texts; memory for the result, unless RunEvents::on_choice takes it.
///
/// Example:
///   CompletionRun run(engine, scheduler, tokenizer, read_completion_request(json, context));
///   while (run.step()) {
///   }
///   std::cout << own_json(run.request(), tokenizer, run.result());
class CompletionRun {
 public:
  static constexpr std::size_t kMaxTexts = 256;

  /// A run over a scheduler of the engine. The scheduler must live as long as functions of the run
  /// are called, but may be destroyed before the run.
  CompletionRun(const Engine& engine, Scheduler& scheduler, std::optional<Tokenizer> tokenizer,
                CompletionRequest request, RunEvents events = {});

  /// A run that continues the text of a session with the request's only prompt, which may be empty
  /// if the session has tokens. The session must outlive the run, and nothing else may use it until
  /// the run has finished or is destroyed; then it holds its earlier tokens, the prompt and the new
  /// tokens, as after generate(). Throws Error if the request is for several texts, for beams or
  /// for an echo with log-probabilities, and what generate() throws for its arguments.
  CompletionRun(Session& session, std::optional<Tokenizer> tokenizer, CompletionRequest request,
                RunEvents events = {});

  /// Cancels the run if it has not finished, and waits for nothing. No event is called afterwards.
  ~CompletionRun();
  CompletionRun(CompletionRun&&) noexcept = default;
  CompletionRun& operator=(CompletionRun&&) = delete;

  [[nodiscard]] const CompletionRequest& request() const noexcept;

  /// The prompts, with their log-probabilities once compute() has returned.
  [[nodiscard]] const std::vector<CompletedPrompt>& prompts() const noexcept;

  /// Whether compute() has something to do: beams, or the log-probabilities of prompts.
  [[nodiscard]] bool has_own_passes() const noexcept;

  /// Runs the passes that other texts do not share. Calls `between` between them, unless it is
  /// empty, so that other runs can go on. Throws what score() and beam_search() throw, and what
  /// `between` throws; the run is then cancelled.
  void compute(const std::function<void()>& between = {});

  /// Submits texts to the scheduler, and takes those that have ended. Calls on_finish and
  /// on_choice. Runs compute() first if nobody has. Returns whether the run goes on.
  bool advance();

  /// Runs one pass of the scheduler or of the session, or all of the run's own passes. Returns
  /// whether the run goes on.
  bool step();

  [[nodiscard]] bool finished() const noexcept;

  /// Ends the texts after their next token or piece of the prompt: their finish reason is
  /// cancelled.
  void cancel() noexcept;

  /// Returns the answer: each prompt with its texts, the best ones if there are more than n of
  /// them. Throws the first error with which a text ended. REQUIRES: finished(); called once.
  [[nodiscard]] std::vector<CompletedPrompt> result();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with the calls of step() and advance() on the stack
};

}  // namespace gpt2
