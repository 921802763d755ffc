#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gpt2::cli {

/// Writes rows of `columns` floats each as NumPy's array file, version 1.0: a float32 matrix.
/// Throws Error if the file cannot be written.
void write_npy(const std::string& file, std::span<const std::vector<float>> rows,
               std::size_t columns);

}  // namespace gpt2::cli
