#pragma once

#include <cstddef>
#include <span>

namespace gpt2 {

/// Fills at most 256 bytes with random bits that nobody can predict. Returns false if the system
/// provides none.
[[nodiscard]] bool fill_with_random(std::span<std::byte> bytes) noexcept;

}  // namespace gpt2
