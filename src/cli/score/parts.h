#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/lines/reader.h"
#include "gpt2/tokenizer.h"

namespace gpt2::cli {

/// Reads a text file of any size as tokens, part by part. Keeps only a part of it in memory, except
/// if the tokenizer cannot encode a text in parts; then the file may have at most 256 MiB.
class TextParts {
 public:
  /// Without a tokenizer, the text consists of token ids below `vocab_size`. The references must
  /// outlive the object.
  TextParts(const InputFile& file, const std::optional<Tokenizer>& tokenizer,
            std::size_t vocab_size);

  /// Returns the next tokens, at most 4,096; none at the end of the text, or if interrupted()
  /// became true. Throws Error if the file cannot be read, and for a token that is not of the
  /// model. The span is valid until the next call.
  [[nodiscard]] std::span<const TokenId> next();

  /// How many tokens the whole file has, estimated from those returned so far. Nothing if the size
  /// of the file is not known.
  [[nodiscard]] std::optional<double> estimated_tokens() const;

  [[nodiscard]] std::size_t tokens() const noexcept { return tokens_; }  ///< returned so far
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }    ///< encoded so far
  [[nodiscard]] std::size_t lost_bytes() const noexcept { return lost_bytes_; }

 private:
  void encode_some();
  void encode(const std::string& part);
  [[nodiscard]] std::size_t cut() const;

  const InputFile& file_;
  const std::optional<Tokenizer>& tokenizer_;
  std::size_t vocab_size_;
  std::string text_;  // what has been read and not encoded
  bool at_end_ = false;
  std::vector<TokenId> ids_;  // what has been encoded last
  std::size_t begin_ = 0;  // the latest part: ids_[begin_, end_)
  std::size_t end_ = 0;
  std::size_t tokens_ = 0;
  std::size_t bytes_ = 0;
  std::size_t lost_bytes_ = 0;
};

}  // namespace gpt2::cli
