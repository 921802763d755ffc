#pragma once

#include <cstddef>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "gpt2/session.h"
#include "requests/run/run.h"

namespace gpt2 {

/// Writes the texts that a request asks for, over a scheduler that other runs share.
///
/// Text i, of all texts of all prompts (best_of for each), is written with the sequence
/// options.sampling.sequence + i. At most kMaxTexts are with the scheduler at a time.
///
/// Cost: that of the texts; memory for the result, unless RunEvents::on_choice takes it.
class CompletionRun : public Run {
 public:
  static constexpr std::size_t kMaxTexts = 256;

  /// A run over a scheduler of the engine; see make_run(). json() and take_parts() need a form.
  ///
  /// With a session, continues its text with the request's only prompt, which may be empty if the
  /// session has tokens. The session must outlive the run, and nothing else may use it until the
  /// run has finished or is destroyed; then it holds its earlier tokens, the prompt and the new
  /// tokens, as after generate(). Throws Error if the request is for several texts or for beams,
  /// and what generate() throws for its arguments.
  CompletionRun(const Engine& engine, Scheduler& scheduler, std::optional<Tokenizer> tokenizer,
                CompletionRequest request, RunEvents events = {},
                std::unique_ptr<AnswerForm> form = nullptr, Session* session = nullptr);
  ~CompletionRun() override;

  [[nodiscard]] const CompletionRequest& request() const noexcept { return request_; }
  [[nodiscard]] bool finished() const noexcept;

  /// Returns each prompt with its texts, the best ones if there are more than n of them. Throws the
  /// first error with which a text ended. REQUIRES: finished().
  [[nodiscard]] const std::vector<CompletedPrompt>& result();

  /// Beams take passes of their own.
  [[nodiscard]] bool has_own_passes() const noexcept override { return searches(); }
  void compute(const std::function<void()>& between) override;
  bool advance() override;
  bool step() override;
  void cancel() noexcept override;
  [[nodiscard]] Json json() override;
  [[nodiscard]] RunTokens tokens() override;
  [[nodiscard]] std::vector<Json> take_parts() override;

 private:
  struct Unsent;
  struct Shared;
  struct Pending;

  [[nodiscard]] bool searches() const { return request_.beams.num_beams > 1; }
  [[nodiscard]] std::size_t count() const { return request_.best_of * request_.prompts.size(); }
  [[nodiscard]] CompletedPrompt& prompt_of(std::size_t index) {
    return prompts_[index / request_.best_of];
  }
  [[nodiscard]] bool scores_prompts() const { return request_.echo && request_.with_logprobs; }
  [[nodiscard]] bool may_submit() const;
  [[nodiscard]] GenerationOptions options_of(const Pending& of);
  [[nodiscard]] TextTarget target_of(const Pending& of) const;
  void search(CompletedPrompt& prompt, const std::function<void()>& between);
  void submit_next();
  void take(Pending& of);
  void fail(Pending& of);
  void take_first();

  const CompletionRequest request_;
  const Engine engine_;
  Scheduler& scheduler_;
  const std::optional<Tokenizer> tokenizer_;
  const std::unique_ptr<AnswerForm> form_;
  const std::shared_ptr<Shared> shared_;
  std::vector<CompletedPrompt> prompts_;
  bool is_computed_ = false;
  std::size_t next_;  // the index of the next text to be submitted
  std::list<Pending> texts_;
  bool has_best_ = false;     // whether result() has dropped the others
  bool has_begun_ = false;    // whether the stream has
  bool has_usage_ = false;    // whether the stream has ended with the numbers of tokens
  std::exception_ptr error_;  // the first one, if it ends the run
};

}  // namespace gpt2
