#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/engine.h"
#include "gpt2/generate.h"
#include "requests/completion_request.h"
#include "requests/json_text.h"

// The answers of OpenAI's completions API, as
// https://platform.openai.com/docs/api-reference/completions documents them.

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
  std::string model = {};
  std::int64_t created = 0;      ///< in seconds since 1970
  std::string fingerprint = {};  ///< "system_fingerprint"; left out if it is empty
};

/// Returns the members of the head: {"id", "object", "created", "model"}.
[[nodiscard]] Json head_json(const AnswerHead& head, const char* object);

/// Counts the tokens of all texts. If there are more than `n` texts, keeps those whose tokens have
/// the highest mean log-probability, best first. A text without tokens comes last.
void keep_best(CompletedPrompt& prompt, std::size_t n);

/// Returns the log-probabilities of the tokens of a prompt, with the `top` likeliest tokens at each
/// position. Those of the first token are NaN, because nothing predicts it. `progress` is that of
/// ScoreOptions. Throws what score() throws. Costs a forward pass over the prompt.
[[nodiscard]] std::vector<TokenLogprob> prompt_logprobs(const Engine& engine,
                                                        const std::vector<TokenId>& prompt,
                                                        std::size_t top,
                                                        std::function<void(double)> progress = {});

/// The lists of a choice's "logprobs", to which tokens are appended in order.
class LogprobLists {
 public:
  LogprobLists(const Tokenizer& tokenizer, bool with_token_ids)
      : tokenizer_(tokenizer), with_token_ids_(with_token_ids) {}

  /// Counts the characters of the prompt, of which an empty prompt has none. If the prompt has
  /// log-probabilities, appends its tokens.
  void begin(const CompletedPrompt& prompt);

  /// Appends one new token for each score. The text of an answer has no special tokens.
  void append(std::span<const TokenId> tokens, std::span<const TokenLogprob> scores);

  /// Returns {"tokens", "token_logprobs", "top_logprobs", "text_offset"}, and empties the lists.
  /// With token ids, there is also "top_token_ids": the texts of "top_logprobs" with their ids.
  [[nodiscard]] Json take();

 private:
  void append_row(TokenId token, const TokenLogprob& score);
  void skip(TokenId token);

  const Tokenizer& tokenizer_;
  const bool with_token_ids_;
  std::size_t offset_ = 0;  // in characters, from the beginning of the prompt
  std::string last_ = {};   // the bytes so far of the last character
  std::vector<Json> rows_ = {};
};

/// Returns the body of an answer: {"id", "object", "created", "model", "choices", "usage"}.
[[nodiscard]] Json completion_json(const AnswerHead& head, const CompletionRequest& request,
                                   const Tokenizer& tokenizer,
                                   const std::vector<CompletedPrompt>& prompts);

/// Returns a part of an answer that is sent while it is being written. The last part of a choice
/// has a reason why it ended.
[[nodiscard]] Json completion_chunk_json(const AnswerHead& head, std::size_t index,
                                         const std::string& text, const Json& logprobs,
                                         std::optional<FinishReason> reason);

/// Adds the ids of tokens to a choice of an answer, by the names that vLLM gives them:
/// "prompt_token_ids", unless there are none, and "token_ids", the new tokens.
void add_token_ids(Json& choice, std::span<const TokenId> prompt, std::span<const TokenId> tokens);

/// Returns the text that precedes a choice because of `echo`. It is empty for an empty prompt.
[[nodiscard]] std::string echo_text(const Tokenizer& tokenizer, const CompletionPrompt& prompt);

/// Returns {"prompt_tokens", "completion_tokens", "total_tokens"}.
[[nodiscard]] Json usage_json(std::span<const CompletedPrompt> prompts);

/// Returns OpenAI's name of a reason: "stop" or "length".
[[nodiscard]] const char* finish_reason_of(FinishReason reason);

/// Returns the text of a token in an answer. A token that is not UTF-8, because it is a part of a
/// character, is "bytes:\xf0\x9f".
[[nodiscard]] std::string token_text(std::string_view bytes);

/// Returns the log-probability, or null if it is NaN, because JSON has no NaN.
[[nodiscard]] Json logprob_number(float logprob);

/// Returns the body of the answer to a request with a mistake: {"error": {"message", …}}. Its
/// "param" is the member that the message begins with, as in "top_p: expected ...", or null.
[[nodiscard]] Json error_json(const std::string& message,
                              const std::string& type = "invalid_request_error",
                              const Json& code = nullptr);

/// The same for an error that was caught. A RequestError sets "param" and "code".
[[nodiscard]] Json error_json(const Error& error);

}  // namespace gpt2
