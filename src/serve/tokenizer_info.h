#pragma once

#include <filesystem>
#include <optional>

#include "base/json_text.h"
#include "gpt2/config.h"
#include "gpt2/tokenizer.h"

namespace gpt2::serve {

/// What GET /tokenizer_info answers, with vLLM's members: "tokenizer_class", "bos_token",
/// "eos_token", "pad_token" and "chat_template", null where there is none. lm-evaluation-harness
/// asks for them with tokenizer_backend=remote.
struct TokenizerInfo {
  Json answer = nullptr;  ///< null without a tokenizer
  bool has_chat_template = false;
};

/// Reads the class and the template from the files beside `path`, the place of the tokenizer.
/// Throws Error if a file cannot be read.
[[nodiscard]] TokenizerInfo tokenizer_info(const std::optional<Tokenizer>& tokenizer,
                                           const Config& config, const std::filesystem::path& path);

}  // namespace gpt2::serve
