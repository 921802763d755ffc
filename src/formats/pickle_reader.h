#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fail.h"
#include "base/utf8.h"
#include "formats/pickle.h"

namespace gpt2 {

/// The opcodes that can occur in a state_dict.
enum PickleOpcode : unsigned char {
  kMark = '(', kStop = '.', kNone = 'N', kNewTrue = 0x88, kNewFalse = 0x89,
  kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kLong1 = 0x8a, kBinFloat = 'G',
  kBinUnicode = 'X', kShortBinString = 'U', kProto = 0x80, kGlobal = 'c', kReduce = 'R',
  kBuild = 'b', kNewObj = 0x81, kBinPersId = 'Q', kEmptyTuple = ')', kTuple = 't',
  kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87, kEmptyList = ']', kAppend = 'a',
  kAppends = 'e', kEmptyDict = '}', kSetItem = 's', kSetItems = 'u', kEmptySet = 0x8f,
  kBinGet = 'h', kLongBinGet = 'j', kBinPut = 'q', kLongBinPut = 'r',
};

/// Reads a pickle's opcodes and their arguments one after another, and checks bounds.
class PickleReader {
 public:
  /// Begins at byte `begin` of `bytes`; REQUIRES begin <= bytes.size().
  PickleReader(Bytes bytes, std::size_t begin, std::string_view where)
      : bytes_(bytes), where_(where), position_(begin) {}

  [[nodiscard]] std::size_t position() const noexcept { return position_; }

  /// Returns the next opcode. Messages give its position until the following opcode is read.
  std::uint8_t opcode() {
    opcode_at_ = position_;
    return number<std::uint8_t>();
  }

  template <class T>
  T number() {
    return load_little_endian<T>(take(sizeof(T)));
  }

  /// Reads the length of an integer, which is one byte, and then the integer in two's complement.
  std::int64_t long1() {
    const Bytes bytes = take(number<std::uint8_t>());
    if (bytes.size() > 8) refuse("an integer of ", bytes.size(), " bytes");
    std::int64_t value = !bytes.empty() && bytes.back() >= std::byte{0x80} ? -1 : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8 | std::to_integer<std::int64_t>(bytes[i]);
    }
    return value;
  }

  /// Returns the next `size` bytes. Throws unless they are valid UTF-8, and size is at most
  /// Pickle::kMaxText.
  std::string_view text(std::size_t size) {
    if (size > Pickle::kMaxText) {
      fail("a string of ", size, " bytes; expected at most ", Pickle::kMaxText);
    }
    const std::string_view text = text_of(take(size));
    if (valid_utf8_prefix(text) != text.size()) fail("a string that is not UTF-8");
    return text;
  }

  /// Returns the text before the next '\n'. Throws if it has more than 256 bytes.
  std::string line() {
    std::string line;
    for (;;) {
      const auto c = static_cast<char>(number<std::uint8_t>());
      if (c == '\n') return line;
      if (line.size() == 256) fail("a name of more than 256 bytes");
      line += c;
    }
  }

  /// Throws Error(invalid_file) with the joined parts.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    gpt2::fail(where_, "pickle, byte ", opcode_at_, ": ", parts...);
  }

  /// Throws Error(unsupported) with the joined parts, followed by advice to the user.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    gpt2::fail(ErrorCode::unsupported, where_, "pickle, byte ", opcode_at_, ": ", parts...,
               "; refused, because no code in a pickle is executed: save the model's state_dict()");
  }

 private:
  Bytes take(std::size_t size) {
    const std::size_t left = bytes_.size() - position_;
    if (size > left) fail("the file ends inside the pickle; download it again");
    position_ += size;
    return bytes_.subspan(position_ - size, size);
  }

  Bytes bytes_;
  std::string_view where_;
  std::size_t position_;
  std::size_t opcode_at_ = 0;
};

}  // namespace gpt2
