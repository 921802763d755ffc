#pragma once

#include <string>
#include <string_view>

namespace gpt2 {

/// The files of a byte-level BPE spell every byte as one printable character: the bytes 33-126,
/// 161-172 and 174-255 as the code point of the same number, the other 68 in ascending order as
/// U+0100 to U+0143 (a space is U+0120, "Ġ").
[[nodiscard]] std::string spell(std::string_view bytes);

/// Appends to `bytes` what `spelled` means. False where a character is outside of the alphabet or
/// `spelled` is no valid UTF-8; then `bytes` is as before.
bool append_spelled_bytes(std::string& bytes, std::string_view spelled);

}  // namespace gpt2
