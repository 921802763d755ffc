#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "requests/completion.h"
#include "requests/completion_request.h"

namespace gpt2::serve {

/// The form of the answers of one endpoint: of completions, or of chat. One object serves one
/// answer, because the parts of a stream depend on those before.
class AnswerForm {
 public:
  virtual ~AnswerForm() = default;

  /// The body of a whole answer.
  [[nodiscard]] virtual Json whole(const CompletionRequest& request,
                                   const std::vector<CompletedPrompt>& prompts) const = 0;

  /// The part of a stream with which a choice begins, or null if there is none.
  [[nodiscard]] virtual Json begin(std::size_t index, const CompletionRequest& request,
                                   const CompletedPrompt& prompt) = 0;

  /// A further part of the choice: text, and the tokens and log-probabilities that are new.
  [[nodiscard]] virtual Json part(std::size_t index, const std::string& text,
                                  std::span<const TokenId> tokens,
                                  std::span<const TokenLogprob> scores) = 0;

  /// The last part of the choice.
  [[nodiscard]] virtual Json end(std::size_t index, FinishReason reason) = 0;
};

[[nodiscard]] std::unique_ptr<AnswerForm> completion_form(AnswerHead head,
                                                          const Tokenizer& tokenizer,
                                                          bool with_token_ids);
[[nodiscard]] std::unique_ptr<AnswerForm> chat_form(AnswerHead head, const Tokenizer& tokenizer);

}  // namespace gpt2::serve
