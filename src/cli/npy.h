#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpt2/new_file.h"

namespace gpt2::cli {

/// Writes NumPy's array file, version 1.0: a float32 matrix whose number of rows need not be known
/// beforehand. Replaces a file that is there when the new one is whole. Throws what NewFile throws.
class NpyWriter {
 public:
  NpyWriter(const std::string& file, std::size_t columns);

  /// REQUIRES: each row has as many floats as there are columns.
  void append(std::span<const std::vector<float>> rows);
  void finish();

 private:
  std::size_t columns_;
  std::size_t rows_ = 0;
  NewFile out_;
};

}  // namespace gpt2::cli
