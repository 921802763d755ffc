#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace gpt2 {

/// Continues the CRC-32 of zip archives and gzip with more bytes; the first call has crc = 0.
[[nodiscard]] std::uint32_t crc32_of(Bytes bytes, std::uint32_t crc = 0) noexcept;

}  // namespace gpt2
