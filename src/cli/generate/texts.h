#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "cli/generate/prompt.h"
#include "cli/generate/settings.h"
#include "gpt2/engine.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"

namespace gpt2::cli {

/// What was written.
struct WrittenTexts {
  std::size_t texts = 0;
  std::size_t tokens = 0;         ///< the new tokens of all texts or, of a search, of all beams
  double seconds = 0.0;           ///< the time for them and the prompt
  std::uint64_t logits_hash = 0;  ///< a hash for all texts in order; 0: there were no logits
  bool is_context_full = false;   ///< whether a text ended because the context is full
  GenerationResult last = {.finish_reason = FinishReason::cancelled, .tokens = {}};
};

/// Writes the texts that the settings ask for to standard output, in order: one text in `session`
/// or, without one, all samples side by side, or the sequences of a beam search. Calls `on_token`
/// for each new token. Ctrl-C ends all of them.
[[nodiscard]] WrittenTexts write_texts(const Engine& engine, Session* session,
                                       const std::optional<Tokenizer>& tokenizer,
                                       const GenerateSettings& settings, const Prompt& prompt,
                                       const GenerationOptions& options,
                                       const std::function<void()>& on_token);

}  // namespace gpt2::cli
