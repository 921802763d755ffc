#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/tensor_table.h"
#include "gpt2/error.h"

namespace gpt2::fuzz {

/// Calls `read`, which may throw a gpt2::Error with a message of one line. Any other exception and
/// any other message ends the program.
template <class Read>
void expect_answer(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.empty() || message.find('\n') != std::string_view::npos) __builtin_trap();
  }
}

/// Reads the first and the last byte, so that a sanitizer sees if they are out of bounds.
inline void touch(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const volatile std::byte* const data = bytes.data();
  static_cast<void>(data[0]);
  static_cast<void>(data[bytes.size() - 1]);
}

inline void touch(const TensorView& view) {
  touch(std::span(view.data, view.bytes));
  if (view.bytes != view.shape.element_count() * bits_of(view.dtype) / 8) __builtin_trap();
}

}  // namespace gpt2::fuzz
