#pragma once

#include <cstddef>

namespace gpt2 {

/// Allows the system to use large pages for the parts of this memory that have not been touched
/// yet. Large pages need fewer address translations, but the system allocates and zeroes each one
/// as a whole. `begin` is a multiple of the page size.
void allow_large_pages(void* begin, std::size_t bytes) noexcept;

/// Releases the memory of the pages of a mapped file that contain these bytes. The bytes do not
/// change: if such a page is read later, the system reads it from the file again.
void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept;

}  // namespace gpt2
