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

/// Reads vocab.json or tokenizer.json. The vocabulary and the merges, which are nearly all of it,
/// go straight into their tables; a tree of them would take most of a program's start.
class VocabularyReader final : public JsonHandler {
 public:
  enum class File : std::uint8_t {
    vocab_json,      ///< {token: id}
    tokenizer_json,  ///< the same at model.vocab; model.merges; `tree` gets everything else
  };

  /// Appends to `vocabulary`. All arguments must outlive it.
  VocabularyReader(File file, const std::string& where, Vocabulary& vocabulary);

  // These throw Error(invalid_file) for what is no vocabulary.
  void begin(nlohmann::json::value_t kind) override;
  void key(std::string& name) override;
  void scalar(nlohmann::json value) override;
  void end() override;

  JsonTree tree;
  MergeList merges;
  bool has_vocabulary = false;
  bool has_merges = false;

 private:
  enum class Inside : std::uint8_t { tree, vocabulary, merges, merge };

  void begin_in_tree(nlohmann::json::value_t kind);
  void add_token(const nlohmann::json& id);
  [[noreturn]] void refuse_merge(const std::string& found) const;

  File file_;
  const std::string& where_;
  Vocabulary& vocabulary_;
  Inside inside_ = Inside::tree;
  std::size_t depth_ = 0;          // of the tree
  std::string outer_key_;          // the root's member that is being read
  std::string key_;                // the last key
  std::vector<std::string> pair_;  // the parts so far of a merge that is written as an array
};

/// The id of `token`. Throws Error(invalid_file), beginning with `where`, unless `value` is a whole
/// number from 0 to Vocabulary::kMaxTokens - 1.
[[nodiscard]] TokenId read_token_id(const nlohmann::json& value, std::string_view token,
                                    const std::string& where);

}  // namespace gpt2
