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
  std::string_view name;  ///< "module name", as the opcode GLOBAL has it
  std::optional<PickleFunction> function;
  std::optional<DType> storage;
};

/// A pickle of torch.save, read as data: a graph of values that names constructors and never calls
/// one. Knows only what a state_dict is made of, which are the opcodes and names that torch.load
/// accepts with weights_only=True, and refuses anything else by name.
struct Pickle {
  enum class Kind : std::uint8_t {
    none, boolean, integer, real, text, tuple, list, dict, tensor, storage, name,
  };

  struct Value {
    Kind kind = Kind::none;
    const PickleName* name = nullptr;  ///< name
    std::int64_t integer = 0;          ///< boolean, integer
    std::string_view text = {};        ///< text: valid UTF-8, in the pickle's bytes
    /// tuple, list. dict: key, value, key, value ... tensor: the arguments of _rebuild_tensor_v2.
    /// storage: ('storage', type, key, location, element count, ...).
    std::vector<Value*> items = {};

    /// The value of a dict's key, or nullptr.
    [[nodiscard]] const Value* find(std::string_view key) const;
  };

  static constexpr std::size_t kMaxSteps = 1'000'000;  ///< opcodes, and so values as well
  static constexpr std::size_t kMaxStack = 100'000;
  static constexpr std::size_t kMaxMemo = 1'000'000;
  static constexpr std::size_t kMaxText = 1 << 20;  ///< bytes of one string

  /// Reads the pickle that begins at byte `begin` of `bytes`. Messages begin with `where` and give
  /// the position in `bytes`. Throws Error: unsupported for an opcode or name that is not known,
  /// invalid_file for bytes that are not a pickle.
  Pickle(Bytes bytes, std::size_t begin, std::string_view where);
  Pickle(const Pickle&) = delete;

  std::deque<Value> values;
  const Value* root;
  std::size_t end;  ///< the position after the pickle
};

/// The kind with its article, such as "a dict", for messages.
[[nodiscard]] std::string_view name_of(Pickle::Kind kind) noexcept;

}  // namespace gpt2
