#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
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
/// is never executed. A call that makes a tensor is stored as a value with the arguments of the
/// call. All that other code would make (a config object, a NumPy array, a date, the result of
/// os.system) becomes an opaque value, and what the pickle puts into it is dropped. The supported
/// opcodes are those that Python writes with protocol 2, the protocol of torch.save, and with 3
/// to 5. For any other opcode, the constructor throws an Error that names it.
struct Pickle {
  // clang-format off
  enum class Kind : std::uint8_t {
    none, boolean, integer, real, text, tuple, list, dict, tensor, storage, name, opaque,
  };
  // clang-format on

  struct Value {
    Kind kind = Kind::none;
    const PickleName* name = nullptr;  ///< for the kind `name`
    std::int64_t integer = 0;          ///< for the kinds `boolean` and `integer`
    /// For the kind `text`: valid UTF-8, in the pickle's bytes. For the kind `opaque`: the name of
    /// the code that would make the value, and its module, which may be empty.
    std::string_view text = {};
    std::string_view module = {};
    /// The items of a tuple or a list. For a dict: key, value, key, value ... For a tensor: the
    /// arguments of _rebuild_tensor_v2. For a storage: ('storage', type, key, location, element
    /// count, ...). For an opaque value: its state, which is often a dict of its attributes, if the
    /// pickle sets it.
    std::vector<Value*> items = {};

    /// Returns the value that a dict has for this key, or nullptr if it has none.
    [[nodiscard]] const Value* find(std::string_view key) const;
  };

  static constexpr std::size_t kMaxSteps = 1'000'000;  ///< opcodes; also bounds the values
  static constexpr std::size_t kMaxStack = 100'000;
  static constexpr std::size_t kMaxMemo = 1'000'000;

  /// Reads the pickle that begins at byte `begin` of `bytes`. Messages begin with `where` and give
  /// the position in `bytes`. Throws Error(unsupported) for an opcode or protocol that is not
  /// supported, and Error(invalid_file) if the bytes are not a valid pickle.
  Pickle(Bytes bytes, std::size_t begin, std::string_view where);
  Pickle(const Pickle&) = delete;

  std::deque<Value> values;
  const Value* root;
  std::size_t end;  ///< the position after the pickle
};

/// Returns the name of the kind with its article, such as "a dict", for messages.
[[nodiscard]] std::string_view name_of(Pickle::Kind kind) noexcept;

/// The same for a value. The description of an opaque value names the code that would make it.
[[nodiscard]] std::string describe(const Pickle::Value& value);

}  // namespace gpt2
