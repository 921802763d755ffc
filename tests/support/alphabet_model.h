#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "support/temporary_directory.h"

namespace gpt2::test {

/// Writes a HuggingFace directory with a small model whose most probable text is known. Its tokens
/// are the 256 bytes and <|endoftext|>, which is number 256. After a letter it writes the next
/// letter; after z it writes a space, the two bytes of an e with an acute accent, and a:
///
///   "x" -> "yz \u00e9abcdefghijklmnopqrstuvwxyz \u00e9abc"...
///
/// After 0 it ends the text. After any other byte, and after <|endoftext|>, it begins again with a.
void write_alphabet_model(const std::filesystem::path& directory, std::size_t n_positions = 1024);

/// A directory with such a model, whose files a test can change.
class AlphabetModel : public TemporaryDirectory {
 public:
  explicit AlphabetModel(std::size_t n_positions = 64) {
    write_alphabet_model(path(), n_positions);
  }

  /// The argument of -m.
  [[nodiscard]] std::string name() const { return path().string(); }

  /// Takes a token out of the vocabulary.
  void remove_token(const std::string& token) const;
};

/// Returns the printable character that stands for a byte in GPT-2's vocabulary. A byte that prints
/// stands for itself. The 68 bytes that do not print have the characters from U+0100 on, in order.
std::string printable_byte(unsigned byte);

/// Returns the directory of an alphabet model that all tests of a program share.
std::string alphabet_model();

}  // namespace gpt2::test
