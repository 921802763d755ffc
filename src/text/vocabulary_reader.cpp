#include "text/vocabulary_reader.h"

#include <utility>

#include "base/quote.h"
#include "gpt2/error.h"
#include "text/json_fields.h"

namespace gpt2 {

using nlohmann::json;

std::optional<TokenId> token_id_in(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto id = value.get<std::uint64_t>();
  if (id >= static_cast<std::uint64_t>(Vocabulary::kMaxTokens)) return std::nullopt;
  return static_cast<TokenId>(id);
}

std::string expected_id() {
  return "a number from 0 to " + std::to_string(Vocabulary::kMaxTokens - 1);
}

VocabularyReader::VocabularyReader(File file, std::string_view where, Vocabulary& vocabulary,
                                   MergeList& merges)
    : tree(where), file_(file), where_(where), vocabulary_(vocabulary), merges_(merges) {}

void VocabularyReader::begin(json::value_t kind) {
  const bool in_model = file_ == File::tokenizer_json && depth_ == 2 && outer_key_ == "model" &&
                        inside_ == Inside::tree;
  const bool is_object = kind == json::value_t::object;
  if (inside_ == Inside::vocabulary) fail("the id of " + quote(key_) + " is no number");
  if (inside_ == Inside::merge || (inside_ == Inside::merges && is_object)) add_merge(json(kind));
  if (inside_ == Inside::merges) {
    inside_ = Inside::merge;
    parts_ = 0;
  } else if ((file_ == File::vocab_json && depth_ == 0) || (in_model && key_ == "vocab")) {
    if (!is_object) {
      throw Error(ErrorCode::unsupported, std::string(where_) +
                                              ": the vocabulary is a list, as in " +
                                              "a Unigram model, expected an object, as in BPE");
    }
    inside_ = Inside::vocabulary;
    has_vocabulary = true;
  } else if (in_model && key_ == "merges" && !is_object) {
    inside_ = Inside::merges;
    has_merges = true;
  } else {
    ++depth_;
    tree.begin(kind);
  }
}

void VocabularyReader::key(std::string& name) {
  key_ = name;
  if (inside_ == Inside::vocabulary) return;
  if (depth_ == 1) outer_key_ = name;
  tree.key(name);
}

void VocabularyReader::scalar(json value) {
  switch (inside_) {
    case Inside::tree:
      return tree.scalar(std::move(value));
    case Inside::vocabulary:
      return add_token(value);
    case Inside::merges:
    case Inside::merge:
      return add_merge(value);
  }
}

void VocabularyReader::end() {
  switch (inside_) {
    case Inside::tree:
      --depth_;
      return tree.end();
    case Inside::merge:
      if (parts_ != 2) add_merge(nullptr);
      inside_ = Inside::merges;
      return;
    case Inside::vocabulary:
    case Inside::merges:
      inside_ = Inside::tree;
  }
}

void VocabularyReader::add_token(const json& value) {
  const std::optional<TokenId> id = token_id_in(value);
  if (!id) fail("the id of " + quote(key_) + " is " + show(value) + ", expected " + expected_id());
  switch (vocabulary_.insert(key_, *id)) {
    case Vocabulary::Inserted::yes:
      return;
    case Vocabulary::Inserted::repeated_token:
      fail("the token " + quote(key_) + " appears twice in the vocabulary");
    case Vocabulary::Inserted::repeated_id:
      fail("the tokens " + quote(vocabulary_.bytes(*id)) + " and " + quote(key_) +
           " have the same id, " + std::to_string(*id));
  }
}

// A merge is "left right" or ["left", "right"].
void VocabularyReader::add_merge(const json& value) {
  const auto* const text = value.get_ptr<const std::string*>();
  const bool is_pair = inside_ == Inside::merge;
  bool is_valid = text != nullptr;
  if (is_valid && is_pair && ++parts_ == 1) {
    left_ = *text;
    return;
  }
  if (is_valid && is_pair) {
    is_valid = parts_ == 2 && merges_.add(left_, *text);
  } else if (is_valid) {
    is_valid = merges_.add(*text);
  }
  if (!is_valid) {
    fail("model.merges[" + std::to_string(merge_) + "]: expected \"left right\" or [\"left\", " +
         "\"right\"], found " + (is_pair ? "another list" : show(value)));
  }
  ++merge_;
}

void VocabularyReader::fail(const std::string& message) const {
  throw Error(ErrorCode::invalid_file, std::string(where_) + ": " + message);
}

}  // namespace gpt2
