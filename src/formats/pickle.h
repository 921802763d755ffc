#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "tensor/dtype.h"

namespace gpt2 {

/// The functions that a pickle of torch.save may name.
enum class PickleFunction : std::uint8_t { ordered_dict, size, rebuild_tensor, rebuild_parameter };

/// A name that a pickle may refer to: a function, or the type of a storage.
struct PickleName {
  std::string_view name;  ///< "module name", the two arguments of the opcode GLOBAL
  std::optional<PickleFunction> function;
  std::optional<DType> storage;
};

/// A pickle that torch.save wrote, read as data. It becomes a graph of values. A call in the pickle
/// is never executed, but stored as a value with the arguments of the call. The supported opcodes
/// and names are those of a state_dict, which torch.load accepts with weights_only=True. For any
/// other opcode or name, the constructor throws an Error that names it.
struct Pickle {
  enum class Kind : std::uint8_t {
    none, boolean, integer, real, text, tuple, list, dict, tensor, storage, name,
  };

  struct Value {
    Kind kind = Kind::none;
    const PickleName* name = nullptr;  ///< for the kind `name`
    std::int64_t integer = 0;          ///< for the kinds `boolean` and `integer`
    std::string_view text = {};        ///< for the kind `text`: valid UTF-8, in the pickle's bytes
    /// The items of a tuple or a list. For a dict: key, value, key, value ... For a tensor: the
    /// arguments of _rebuild_tensor_v2. For a storage: ('storage', type, key, location, element
    /// count, ...).
    std::vector<Value*> items = {};

    /// Returns the value that a dict has for this key, or nullptr if it has none.
    [[nodiscard]] const Value* find(std::string_view key) const;
  };

  static constexpr std::size_t kMaxSteps = 1'000'000;  ///< opcodes; also bounds the values
  static constexpr std::size_t kMaxStack = 100'000;
  static constexpr std::size_t kMaxMemo = 1'000'000;
  static constexpr std::size_t kMaxText = 1 << 20;  ///< bytes of one string

  /// Reads the pickle that begins at byte `begin` of `bytes`. Messages begin with `where` and give
  /// the position in `bytes`. Throws Error(unsupported) for an opcode or name that is not
  /// supported, and Error(invalid_file) if the bytes are not a valid pickle.
  Pickle(Bytes bytes, std::size_t begin, std::string_view where);
  Pickle(const Pickle&) = delete;

  std::deque<Value> values;
  const Value* root;
  std::size_t end;  ///< the position after the pickle
};

/// Returns the name of the kind with its article, such as "a dict", for messages.
[[nodiscard]] std::string_view name_of(Pickle::Kind kind) noexcept;

}  // namespace gpt2
