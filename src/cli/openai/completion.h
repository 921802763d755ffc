#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/lines/records.h"
#include "gpt2/engine.h"
#include "gpt2/generate.h"

// The answers of OpenAI's completions API, as
// https://platform.openai.com/docs/api-reference/completions documents them.

namespace gpt2::cli {

/// A text that continues a prompt: a choice of an answer.
struct CompletionChoice {
  std::vector<TokenId> prompt = {};
  std::string text = {};  ///< the new text
  GenerationResult result = {};
  bool echo = false;  ///< whether the answer repeats the prompt before the text

  /// The log-probabilities of the prompt's tokens, for `echo`. Empty if they were not asked for.
  std::vector<TokenLogprob> prompt_logprobs = {};
};

/// Returns the log-probabilities of the tokens of a prompt, with the `top` likeliest tokens at each
/// position. Those of the first token are NaN, because nothing predicts it. Throws what score()
/// throws. Costs a forward pass over the prompt.
[[nodiscard]] std::vector<TokenLogprob> prompt_logprobs(const Engine& engine,
                                                        const std::vector<TokenId>& prompt,
                                                        std::size_t top);

/// Returns the body of an answer: {"id", "object", "created", "model", "choices", "usage"}. Each
/// prompt counts once, although it has as many choices as `n` says. "created" is 0, so that the
/// same request has the same answer at any time.
[[nodiscard]] Json completion_json(const std::string& id, const std::string& model,
                                   const Tokenizer& tokenizer,
                                   const std::vector<CompletionChoice>& choices, std::size_t n);

/// Returns the body of the answer to a request with a mistake: {"error": {"message", …}}.
[[nodiscard]] Json completion_error_json(const std::string& message);

}  // namespace gpt2::cli
