#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_table.h"

namespace gpt2 {

/// Tensors under HuggingFace's present names, to be taken one by one. What goes wrong is collected,
/// so that one message can list all of it.
class TensorNames {
 public:
  /// What is passed over: reason -> stored names.
  using Ignored = std::map<std::string, std::vector<std::string>>;

  /// Adds what is passed over to `ignored`, which must outlive this, as `tensors` must. Throws
  /// Error(invalid_file) where two tensors have the same present name.
  TensorNames(const TensorTable& tensors, std::string where, Ignored& ignored);

  enum class Kind { floats, packed };

  /// The tensor, if it is there and has this shape and a type of this kind; else nullptr, noted.
  const TensorView* take(const std::string& name, const Shape& shape, Kind kind = Kind::floats);

  /// Whether it is there and not taken yet.
  [[nodiscard]] bool contains(std::string_view name) const { return tensors_.contains(name); }

  /// Whether so much is wrong that there is no point in going on.
  [[nodiscard]] bool hopeless() const noexcept { return problems_.size() > 1000; }

  /// Passes over a tensor that may be there and is not needed.
  void ignore(const std::string& name, const std::string& reason);

  /// Throws Error(invalid_file) naming what was missing or wrong, and what nobody took.
  void finish();

 private:
  std::string where_;
  std::map<std::string, const TensorTable::value_type*, std::less<>> tensors_;  // not taken yet
  Ignored& ignored_;
  std::vector<std::string> problems_;
};

}  // namespace gpt2
