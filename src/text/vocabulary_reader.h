#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/merges.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// A file as it was read; `where` is its path.
struct TextFile {
  std::string text;
  std::string where;
};

/// Reads a tokenizer.json. model.vocab and model.merges, which are nearly all of it, go straight
/// into their tables, and only the rest into the tree: a tree of them would take most of a
/// program's start.
class VocabularyReader final : public JsonTree {
 public:
  /// `vocabulary` is empty. `path`: the keys that lead to the text in a tokenizer.json; those of a
  /// vocab.json are "model" and "vocab". `where` and `vocabulary` must outlive the reader.
  VocabularyReader(const std::string& where, Vocabulary& vocabulary,
                   std::vector<std::string> path = {});

  // These throw Error(invalid_file) for what is no vocabulary.
  void begin(nlohmann::json::value_t kind) override;
  void key(std::string& name) override;
  void scalar(nlohmann::json value) override;
  void end() override;

  MergeList merges;
  bool has_merges = false;

 private:
  enum class Inside : std::uint8_t { tree, vocabulary, merges, merge };

  [[nodiscard]] bool is_at(std::string_view key_of_model) const;
  void add_token(const nlohmann::json& id);
  [[noreturn]] void refuse_merge(const std::string& found) const;

  Vocabulary& vocabulary_;
  Inside inside_ = Inside::tree;
  std::vector<std::string> path_;  // the last key of every open object, "" for an array
  std::vector<std::string> pair_;  // the parts so far of a merge that is written as an array
};

/// The id of `token`. Throws Error(invalid_file), beginning with `where`, unless `value` is a whole
/// number from 0 to Vocabulary::kMaxTokens - 1.
[[nodiscard]] TokenId read_token_id(const nlohmann::json& value, std::string_view token,
                                    std::string_view where);

}  // namespace gpt2
