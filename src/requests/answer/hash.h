#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpt2/engine.h"
#include "gpt2/tokenizer.h"

namespace gpt2 {

/// Returns the FNV-1a hash of the bytes, continued from `hash`.
[[nodiscard]] std::uint64_t hash_bytes(std::string_view bytes,
                                       std::uint64_t hash = 0xcbf29ce484222325) noexcept;

/// Returns a hash of the model's config, its logits and the bytes of its tokens. The logits of a
/// short pass depend on every matrix and on the weight type, and have the same bits on every
/// machine.
[[nodiscard]] std::uint64_t hash_of_model(const Engine& engine,
                                          const std::optional<Tokenizer>& tokenizer);

/// Returns a hash as people see it: 16 hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

}  // namespace gpt2
