#pragma once

#include <optional>
#include <vector>

#include "gpt2/config.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

/// Returns the tokens that end a text: those of the model, then options.stop_tokens, then the
/// tokenizer's end-of-text token. options.ignore_eos leaves out the first and the last of these.
/// `Options` has the members ignore_eos and stop_tokens (see GenerationOptions).
template <class Options>
[[nodiscard]] std::vector<TokenId> end_tokens(const Config& config,
                                              const std::optional<Tokenizer>& tokenizer,
                                              const Options& options) {
  std::vector<TokenId> ids;
  if (!options.ignore_eos) ids = config.eos_token_id;
  ids.insert(ids.end(), options.stop_tokens.begin(), options.stop_tokens.end());
  const auto end_of_text = tokenizer ? tokenizer->end_of_text() : std::nullopt;
  if (end_of_text && !options.ignore_eos) ids.push_back(*end_of_text);
  return ids;
}

}  // namespace gpt2
