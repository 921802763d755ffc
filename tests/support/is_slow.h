#pragma once

#include <cstdlib>

namespace gpt2::test {

/// Whether the program runs in an emulator or under a sanitizer, where tests that repeat much do
/// less.
inline bool is_slow() { return std::getenv("GPT2_TEST_SLOW") != nullptr; }

}  // namespace gpt2::test
