#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/little_endian.h"
#include "gpt2/dtype.h"
#include "gpt2/error.h"

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

/// What Python's pickletools calls an opcode that no state_dict needs; "unknown" for what is none.
[[nodiscard]] std::string_view name_of_refused_opcode(unsigned char opcode) noexcept;

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

  /// Throws Error.
  [[noreturn]] void fail(const std::string& message,
                         ErrorCode code = ErrorCode::invalid_file) const;

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
