#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gpt2::cli {

/// Writes rows of `columns` floats each as NumPy's array file, version 1.0: a float32 matrix.
/// Replaces a file that is there when the new one is whole. Throws what NewFile throws.
void write_npy(const std::string& file, std::span<const std::vector<float>> rows,
               std::size_t columns);

}  // namespace gpt2::cli
