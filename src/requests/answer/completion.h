#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/generate.h"
#include "requests/answer/numbers.h"
#include "requests/read/completion_request.h"

// The answers of OpenAI's completions API, as
// https://platform.openai.com/docs/api-reference/completions documents them, of its chat API
// (https://platform.openai.com/docs/api-reference/chat) and of its responses API
// (https://platform.openai.com/docs/api-reference/responses).

namespace gpt2 {

/// A text that continues a prompt.
struct CompletionChoice {
  std::string text = {};  ///< the new text; "" without a tokenizer
  GenerationResult result = {};
  std::optional<double> score = {};  ///< from a beam search
  std::exception_ptr error = {};     ///< with which the text ended, if it has no result
  std::size_t index = 0;             ///< among all texts of the request
};

/// A prompt and the texts that continue it.
struct CompletedPrompt {
  CompletionPrompt prompt = {};

  /// The log-probabilities of the prompt's tokens, for `echo`. Empty if they were not asked for.
  std::vector<TokenLogprob> logprobs = {};

  std::vector<CompletionChoice> choices = {};
  std::size_t completion_tokens = 0;  ///< those of texts that keep_best() left out, too
};

/// The members at the beginning of an answer.
struct AnswerHead {
  std::string id = {};
  bool shows_id = true;  ///< whether the answer has it
  std::string model = {};
  std::int64_t created = 0;      ///< in seconds since 1970
  std::string fingerprint = {};  ///< "system_fingerprint"; left out if it is empty
};

/// Returns the members of the head: {"id", "object", "created", "model"}.
[[nodiscard]] Json head_json(const AnswerHead& head, const char* object);

/// Returns the head with these choices and the usage_json() of the prompts.
[[nodiscard]] Json answer_json(const AnswerHead& head, const char* object, const Json& choices,
                               std::span<const CompletedPrompt> prompts);

/// Counts the tokens of all texts. If there are more than `n` texts, keeps those whose tokens have
/// the highest mean log-probability, best first. A text without tokens comes last.
void keep_best(CompletedPrompt& prompt, std::size_t n);

/// Returns the tokens of a text, and the one that ended it: those that have log-probabilities.
[[nodiscard]] std::vector<TokenId> drawn_tokens(const GenerationResult& result);

/// The form of the answers of one kind: OpenAI's completions or chat, or our own. One object serves
/// one answer, because the parts of a stream depend on those before. Our own form has no parts.
class AnswerForm {
 public:
  virtual ~AnswerForm() = default;

  [[nodiscard]] virtual Json whole(const CompletionRequest& request,
                                   const std::vector<CompletedPrompt>& prompts) const = 0;

  /// The parts of a stream with which a choice begins.
  [[nodiscard]] virtual std::vector<Json> begin(std::size_t, const CompletionRequest&,
                                                const CompletedPrompt&) {
    return {};
  }

  /// Further parts of the choice: text, and the tokens and log-probabilities that are new. `ends`:
  /// the last token has ended the text, of which it is no part.
  [[nodiscard]] virtual std::vector<Json> part(std::size_t, const std::string&,
                                               std::span<const TokenId>,
                                               std::span<const TokenLogprob>, bool /*ends*/) {
    return {};
  }

  /// The last parts of the choice, which has this number of tokens.
  [[nodiscard]] virtual std::vector<Json> end(std::size_t, FinishReason, std::size_t) { return {}; }

  /// The last part of a stream with "usage".
  [[nodiscard]] virtual Json usage(std::span<const CompletedPrompt>) const { return {}; }
};

/// Writes {"id", "object", "created", "model", "choices", "usage"}. Without a tokenizer, texts are
/// empty, and the answer has the ids of its tokens.
[[nodiscard]] std::unique_ptr<AnswerForm> completion_form(AnswerHead head,
                                                          const std::optional<Tokenizer>& tokenizer,
                                                          const CompletionRequest& request);

/// The same for the chat API. REQUIRES: there is a tokenizer.
[[nodiscard]] std::unique_ptr<AnswerForm> chat_form(AnswerHead head,
                                                    const std::optional<Tokenizer>& tokenizer,
                                                    const CompletionRequest& request);

/// Writes a response with one message. The parts of a stream are OpenAI's events, whose names are
/// their "type". REQUIRES: there is a tokenizer.
[[nodiscard]] std::unique_ptr<AnswerForm> responses_form(AnswerHead head,
                                                         const std::optional<Tokenizer>& tokenizer,
                                                         const CompletionRequest& request);

/// Returns the text of an answer to a chat without the space between "Assistant:" and its first
/// word.
[[nodiscard]] std::string chat_content(const std::string& text);

/// Returns {"prompt_tokens", "completion_tokens", "total_tokens"}.
[[nodiscard]] Json usage_json(std::span<const CompletedPrompt> prompts);

/// Returns OpenAI's name of a reason: "stop" or "length".
[[nodiscard]] const char* finish_reason_of(FinishReason reason);

/// Returns the text of a token in an answer. A token that is not UTF-8, because it is a part of a
/// character, is "bytes:\xf0\x9f", and one that the tokenizer does not have is "token_id:45".
[[nodiscard]] std::string token_text(const Tokenizer& tokenizer, TokenId id);

/// Returns the body of the answer to a request with a mistake: {"error": {"message", …}}. Its
/// "param" is the member that the message begins with, as in "top_p: expected ...", or null.
[[nodiscard]] Json error_json(const std::string& message,
                              const std::string& type = "invalid_request_error",
                              const Json& code = nullptr);

/// The same for an error that was caught. A RequestError sets "param" and "code".
[[nodiscard]] Json error_json(const Error& error);

}  // namespace gpt2
