#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace gpt2::test {

/// Writes a HuggingFace directory with a small model whose most probable text is known beforehand:
/// its tokens are the 256 bytes and, as number 256, <|endoftext|>; after a letter it writes the
/// next one, after z a space, the two bytes of an e with an acute accent, and a:
///
///   "x" -> "yz \u00e9abcdefghijklmnopqrstuvwxyz \u00e9abc"...
///
/// After 0 it ends the text; after any other byte, and after <|endoftext|>, it begins with a.
void write_alphabet_model(const std::filesystem::path& directory, std::size_t n_positions = 1024);

/// The printable character that stands for a byte in GPT-2's vocabulary: itself, or for each of the
/// 68 bytes that do not print, in order, one from U+0100 on.
std::string printable_byte(unsigned byte);

/// The directory of one, for all tests of a program.
std::string alphabet_model();

}  // namespace gpt2::test
