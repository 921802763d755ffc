#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// The merges of a file, in the order of their ranks.
class MergeList {
 public:
  /// `where` (the file) begins every message.
  explicit MergeList(std::string where) : where_(std::move(where)) {}

  /// Adds one, of tokens spelled in the byte alphabet; false where one is not, or is empty. Throws
  /// Error(invalid_file) past MergeTable::kMaxMerges.
  [[nodiscard]] bool add(std::string_view left, std::string_view right);

  /// The same for "left right"; false also where that has no space, or more than one.
  [[nodiscard]] bool add(std::string_view line);

  /// Adds the lines of a merges.txt. Skips empty ones and those that begin with "#version". Throws
  /// Error(invalid_file).
  void add_lines(std::string_view text);

  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }

  /// Throws Error(invalid_file) where the vocabulary lacks a token that is merged or results.
  [[nodiscard]] MergeTable resolve(const Vocabulary& vocabulary) const;

 private:
  struct Pair {
    std::size_t begin;  // of both, one after the other, in bytes_
    std::size_t left_length;
    std::size_t length;
  };

  [[noreturn]] void fail(const std::string& message) const;

  std::string where_;
  std::string bytes_;
  std::vector<Pair> pairs_;
};

}  // namespace gpt2
