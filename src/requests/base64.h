#pragma once

#include <string>
#include <string_view>

namespace gpt2 {

/// Returns the bytes in base64, with padding (RFC 4648, section 4).
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace gpt2
