#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/models.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// SentencePiece's table of normalization rules (precompiled_charsmap): a trie of strings, each of
/// which has a replacement. Immutable.
class Precompiled {
 public:
  /// The max bytes of a string with a rule and of a replacement, which bound the time for each
  /// place of a text. What is longer is cut off.
  static constexpr std::size_t kMaxBytes = 1024;

  /// Has no rules.
  Precompiled() = default;

  /// Reads the table: the size of the trie in four bytes, the trie, and the replacements, which end
  /// in NUL. An empty table has no rules. Throws Error(invalid_file), whose message begins with
  /// `where`, if the trie is not there.
  Precompiled(std::string_view table, std::string_view where);

  struct Match {
    std::string_view replacement;
    std::size_t length = 0;  ///< of the string that is replaced; 0: there is none
  };

  enum class Which : std::uint8_t { longest, shortest };

  /// Returns a rule for the beginning of `text`. SentencePiece applies the longest one.
  [[nodiscard]] Match match(std::string_view text, Which which = Which::longest) const noexcept;

  /// Appends to `out` what HuggingFace's tokenizers put in the place of the grapheme that begins at
  /// `at`, and returns its length: if it has fewer than six bytes, the replacement of the shortest
  /// rule for its beginning, or else that of each of its characters.
  /// REQUIRES: at < text.size().
  std::size_t rewrite(std::string_view text, std::size_t at, std::string& out) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

/// What SentencePiece makes of a text before it looks for pieces. The members have the names of its
/// files. Immutable.
struct SentencePieceNormalizer {
  Precompiled precompiled_charsmap = {};
  PieceTrie user_defined = {};              ///< these strings are not changed
  bool add_dummy_prefix = true;             ///< a space before the text
  bool treat_whitespace_as_suffix = false;  ///< this space follows the text
  bool remove_extra_whitespaces = true;     ///< at both ends, and each space that follows a space
  bool escape_whitespaces = true;           ///< a space becomes U+2581

  /// Writes the normalized text to `buffer`, and returns a view of it. Bytes that are not UTF-8
  /// become U+FFFD. Throws Error(invalid_argument) if the result has 2 GiB.
  /// REQUIRES: `buffer` does not own the text.
  TextView normalize(const TextView& text, bool with_origins, TextBuffer& buffer) const;
};

/// What a spiece.model, the file of a SentencePiece model, has.
struct SentencePieceFile {
  std::vector<Piece> pieces = {};  ///< their texts lie in the bytes of the file
  Unigram::Options options = {};
  SentencePieceNormalizer normalizer = {};
};

/// Reads the bytes of such a file, which is a protobuf (sentencepiece_model.proto). Throws Error,
/// whose message begins with `where`: invalid_file, or unsupported unless the model is of the type
/// Unigram or BPE.
[[nodiscard]] SentencePieceFile read_sentencepiece_file(std::string_view bytes,
                                                        std::string_view where);

}  // namespace gpt2
