#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/merges.h"
#include "text/vocabulary.h"

namespace gpt2 {

/// Reads vocab.json or tokenizer.json. The vocabulary and the merges, which are nearly all of it,
/// go straight into their tables; a tree of them would take most of a program's start.
class VocabularyReader final : public JsonHandler {
 public:
  enum class File : std::uint8_t {
    vocab_json,      ///< {token: id}
    tokenizer_json,  ///< the same at model.vocab; model.merges; `tree` gets everything else
  };

  /// Appends to `vocabulary` and `merges`. All arguments must outlive it.
  VocabularyReader(File file, std::string_view where, Vocabulary& vocabulary, MergeList& merges);

  // These throw Error(invalid_file) for what is no vocabulary.
  void begin(nlohmann::json::value_t kind) override;
  void key(std::string& name) override;
  void scalar(nlohmann::json value) override;
  void end() override;

  JsonTree tree;
  bool has_vocabulary = false;
  bool has_merges = false;

 private:
  enum class Inside : std::uint8_t { tree, vocabulary, merges, merge };

  void begin_in_tree(nlohmann::json::value_t kind);
  void add_token(const nlohmann::json& id);
  [[noreturn]] void refuse_merge(const std::string& found) const;
  [[noreturn]] void fail(const std::string& message) const;

  File file_;
  std::string_view where_;
  Vocabulary& vocabulary_;
  MergeList& merges_;
  Inside inside_ = Inside::tree;
  std::size_t depth_ = 0;          // of the tree
  std::string outer_key_;          // the root's member that is being read
  std::string key_;                // the last key
  std::vector<std::string> pair_;  // the parts so far of a merge that is written as a list
};

/// An id, or nothing where the value is no whole number from 0 to Vocabulary::kMaxTokens - 1.
[[nodiscard]] std::optional<TokenId> token_id_in(const nlohmann::json& value);

/// What ids have to be, for messages.
[[nodiscard]] std::string expected_id();

}  // namespace gpt2
