#include "text/vocabulary_reader.h"

#include <utility>

#include "base/fail.h"
#include "base/quote.h"

namespace gpt2 {

using nlohmann::json;

TokenId read_token_id(const json& value, std::string_view token, const std::string& where) {
  if (value.is_number_unsigned()) {
    const auto id = value.get<std::uint64_t>();
    if (id < std::uint64_t{Vocabulary::kMaxTokens}) return static_cast<TokenId>(id);
  }
  fail(where, "the id of " + quote(token) + " is " + shown(value) +
                  "; expected a number from 0 to " + std::to_string(Vocabulary::kMaxTokens - 1));
}

VocabularyReader::VocabularyReader(File file, const std::string& where, Vocabulary& vocabulary)
    : tree(where), merges(where), file_(file), where_(where), vocabulary_(vocabulary) {}

void VocabularyReader::begin(json::value_t kind) {
  switch (inside_) {
    case Inside::tree: return begin_in_tree(kind);
    case Inside::vocabulary: return add_token(json(kind));
    case Inside::merges:
      if (kind == json::value_t::object) refuse_merge("an object");
      pair_.clear();
      inside_ = Inside::merge;
      return;
    case Inside::merge: refuse_merge("another array");
  }
}

void VocabularyReader::begin_in_tree(json::value_t kind) {
  const bool is_object = kind == json::value_t::object;
  const bool in_model = file_ == File::tokenizer_json && depth_ == 2 && outer_key_ == "model";
  if ((file_ == File::vocab_json && depth_ == 0) || (in_model && key_ == "vocab")) {
    if (!is_object) {
      fail(where_,
           "the vocabulary is an array, as in a Unigram model; expected an object, as in BPE",
           ErrorCode::unsupported);
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
  auto* const text = value.get_ptr<std::string*>();
  switch (inside_) {
    case Inside::tree: return tree.scalar(std::move(value));
    case Inside::vocabulary: return add_token(value);
    case Inside::merges:
      if (!text || !merges.add(*text)) refuse_merge(shown(value));
      return;
    case Inside::merge:
      if (!text || pair_.size() == 2) refuse_merge("another array");
      pair_.push_back(std::move(*text));
  }
}

void VocabularyReader::end() {
  switch (inside_) {
    case Inside::tree: --depth_; return tree.end();
    case Inside::merge:
      if (pair_.size() != 2 || !merges.add(pair_[0], pair_[1])) {
        refuse_merge("another array");
      }
      inside_ = Inside::merges;
      return;
    case Inside::vocabulary:
    case Inside::merges: inside_ = Inside::tree;
  }
}

void VocabularyReader::add_token(const json& value) {
  const TokenId id = read_token_id(value, key_, where_);
  if (vocabulary_.insert(key_, id)) return;
  if (vocabulary_.find(key_)) {
    fail(where_, "the token " + quote(key_) + " appears twice in the vocabulary");
  }
  fail(where_, "the tokens " + quote(vocabulary_.bytes(id)) + " and " + quote(key_) +
                   " have the same id, " + std::to_string(id));
}

void VocabularyReader::refuse_merge(const std::string& found) const {
  fail(where_, "model.merges[" + std::to_string(merges.size()) +
                   R"(]: expected "left right" or ["left", "right"], found )" + found);
}

}  // namespace gpt2
