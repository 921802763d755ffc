#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gpt2::cli {

/// The first bytes of NumPy's array file.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// Returns the header of NumPy's array file, version 1.0, for an array in C order. `type` is
/// NumPy's name of the elements: "<f4" or "<i4". The header has the same length for any shape of up
/// to four axes, so it can be overwritten when the shape is known.
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
[[nodiscard]] std::string npy_header(std::span<const std::size_t> shape, const char* type = "<f4");

}  // namespace gpt2::cli
