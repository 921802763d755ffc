#pragma once

#include <bit>

// The systems that the library supports. Headers that depend on the system include this one, so
// that a build for any other system fails with one of the messages below.

#ifndef __linux__
#error \
    "gpt2.cpp supports Linux only: it maps files, counts CPU cores and binds threads by its calls"
#endif

// Tensors are used in place, as they lie in a mapped file, and all supported file formats are
// little-endian.
static_assert(
    std::endian::native == std::endian::little,
    "gpt2.cpp supports little-endian machines only: it uses weights as they lie in files");
