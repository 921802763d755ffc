#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/little_endian.h"

namespace gpt2 {

/// Takes a pickle's bytes one opcode and one argument after another, within bounds.
class PickleReader {
 public:
  /// Begins at byte `begin` of `bytes`; REQUIRES begin <= bytes.size().
  PickleReader(std::span<const std::byte> bytes, std::size_t begin, std::string_view where)
      : bytes_(bytes), where_(where), position_(begin) {}

  [[nodiscard]] std::size_t position() const noexcept { return position_; }

  /// The next opcode; messages give its position until the one after it is taken.
  std::uint8_t opcode() {
    opcode_at_ = position_;
    return number<std::uint8_t>();
  }

  template <class T>
  T number() {
    return load_little_endian<T>(take(sizeof(T)).data());
  }
  std::int64_t long1();                     ///< a length in one byte, then two's complement
  std::string_view text(std::size_t size);  ///< checked UTF-8, at most Pickle::kMaxText bytes
  std::string line();                       ///< up to and without '\n', at most 256 bytes

  /// Throws Error(invalid_file).
  [[noreturn]] void fail(const std::string& message) const;

  /// Throws Error(unsupported), with what to do about it.
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  std::span<const std::byte> take(std::size_t size);

  std::span<const std::byte> bytes_;
  std::string_view where_;
  std::size_t position_;
  std::size_t opcode_at_ = 0;
};

}  // namespace gpt2
