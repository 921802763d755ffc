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
  /// Throws Error(invalid_file) where two tensors have the same present name.
  TensorNames(const TensorTable& tensors, std::string where);

  enum class Kind { floats, packed };

  /// The tensor, if it is there and has this shape and a type of this kind; else nullptr, noted.
  const TensorView* take(const std::string& name, const Shape& shape, Kind kind = Kind::floats);

  /// Whether it is there and not taken yet.
  [[nodiscard]] bool contains(std::string_view name) const { return tensors_.contains(name); }

  /// Whether so much is wrong that there is no point in going on.
  [[nodiscard]] bool hopeless() const noexcept { return problems_.size() > 1000; }

  /// Passes over a tensor that may be there and is not needed.
  void ignore(std::string_view name, const std::string& reason);

  /// What was passed over: reason -> stored names.
  [[nodiscard]] const std::map<std::string, std::vector<std::string>>& ignored() const noexcept {
    return ignored_;
  }

  /// Throws Error(invalid_file) naming what was missing or wrong, and what nobody took.
  void finish();

 private:
  struct Entry {
    std::string stored_name;
    const TensorView* view;
  };
  std::string where_;
  std::map<std::string, Entry, std::less<>> tensors_;  // that nobody took yet
  std::map<std::string, std::vector<std::string>> ignored_;
  std::vector<std::string> problems_;
};

}  // namespace gpt2
