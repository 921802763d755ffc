#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/new_file.h"

namespace gpt2::cli {

/// Writes NumPy's array file, version 1.0: a float32 matrix whose shape need not be known
/// beforehand. When the new file is complete, it replaces an existing one. Throws what NewFile
/// throws.
class NpyWriter {
 public:
  explicit NpyWriter(const std::string& file);

  void append(std::span<const std::vector<float>> rows);

  /// Completes the file. REQUIRES: each row has as many floats as there are columns.
  void finish(std::size_t columns);

 private:
  std::size_t rows_ = 0;
  NewFile out_;
};

}  // namespace gpt2::cli
