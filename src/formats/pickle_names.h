#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gpt2/dtype.h"

namespace gpt2 {

/// The opcodes that a state_dict is written with.
enum PickleOpcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kShortBinString = 'U',
  kProto = 0x80,
  kGlobal = 'c',
  kReduce = 'R',
  kBuild = 'b',
  kNewObj = 0x81,
  kBinPersId = 'Q',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kEmptySet = 0x8f,
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
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

}  // namespace gpt2
