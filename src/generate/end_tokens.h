#pragma once

#include <vector>

#include "gpt2/config.h"

namespace gpt2 {

/// Returns the tokens that end a text: those of the model, unless options.ignore_eos is set,
/// followed by options.stop_tokens. `Options` has the members ignore_eos and stop_tokens (see
/// GenerationOptions).
template <class Options>
[[nodiscard]] std::vector<TokenId> end_tokens(const Config& config, const Options& options) {
  std::vector<TokenId> ids;
  if (!options.ignore_eos) ids = config.eos_token_id;
  ids.insert(ids.end(), options.stop_tokens.begin(), options.stop_tokens.end());
  return ids;
}

}  // namespace gpt2
