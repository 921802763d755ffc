#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/fail.h"
#include "gpt2/dtype.h"

namespace gpt2 {

/// The opcodes that a state_dict is written with.
enum PickleOpcode : unsigned char {
  kMark = '(', kStop = '.', kNone = 'N', kNewTrue = 0x88, kNewFalse = 0x89,
  kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kLong1 = 0x8a, kBinFloat = 'G',
  kBinUnicode = 'X', kShortBinString = 'U', kProto = 0x80, kGlobal = 'c', kReduce = 'R',
  kBuild = 'b', kNewObj = 0x81, kBinPersId = 'Q', kEmptyTuple = ')', kTuple = 't',
  kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87, kEmptyList = ']', kAppend = 'a',
  kAppends = 'e', kEmptyDict = '}', kSetItem = 's', kSetItems = 'u', kEmptySet = 0x8f,
  kBinGet = 'h', kLongBinGet = 'j', kBinPut = 'q', kLongBinPut = 'r',
};

/// The functions that may stand in a pickle of torch.save.
enum class PickleFunction : std::uint8_t { ordered_dict, size, rebuild_tensor, rebuild_parameter };

/// What a pickle may refer to: a function, or the type of a storage.
struct PickleName {
  std::string_view name;  ///< "module name", as the opcode GLOBAL has it
  std::optional<PickleFunction> function;
  std::optional<DType> storage;
};

/// The entry of such a name, or nullptr: not allowed.
[[nodiscard]] const PickleName* find_pickle_name(std::string_view name) noexcept;

/// Takes a pickle's bytes one opcode and one argument after another, within bounds.
class PickleReader {
 public:
  /// Begins at byte `begin` of `bytes`; REQUIRES begin <= bytes.size().
  PickleReader(Bytes bytes, std::size_t begin, std::string_view where)
      : bytes_(bytes), where_(where), position_(begin) {}

  [[nodiscard]] std::size_t position() const noexcept { return position_; }

  /// The next opcode; messages give its position until the one after it is taken.
  std::uint8_t opcode() {
    opcode_at_ = position_;
    return number<std::uint8_t>();
  }

  template <class T>
  T number() {
    return load_little_endian<T>(take(sizeof(T)));
  }
  std::int64_t long1();                     ///< a length in one byte, then two's complement
  std::string_view text(std::size_t size);  ///< checked UTF-8, at most Pickle::kMaxText bytes
  std::string line();                       ///< up to and without '\n', at most 256 bytes

  /// Throws Error(invalid_file) with the parts in a row.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    gpt2::fail(where_, "pickle, byte ", opcode_at_, ": ", parts...);
  }

  /// Throws Error(unsupported), with what to do about it.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    gpt2::fail(ErrorCode::unsupported, where_, "pickle, byte ", opcode_at_, ": ", parts...,
               "; refused, nothing in a pickle is ever run: save the model's state_dict()");
  }

 private:
  Bytes take(std::size_t size);

  Bytes bytes_;
  std::string_view where_;
  std::size_t position_;
  std::size_t opcode_at_ = 0;
};

}  // namespace gpt2
