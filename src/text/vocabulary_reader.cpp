#include "text/vocabulary_reader.h"

#include <utility>

#include "base/fail.h"

namespace gpt2 {

using nlohmann::json;

TokenId read_token_id(const json& value, std::string_view token, std::string_view where) {
  if (value.is_number_unsigned()) {
    const auto id = value.get<std::uint64_t>();
    if (id < std::uint64_t{Vocabulary::kMaxTokens}) return static_cast<TokenId>(id);
  }
  fail(where, "the id of ", quote(token), " is ", shown(value), "; expected a number from 0 to ",
       Vocabulary::kMaxTokens - 1);
}

VocabularyReader::VocabularyReader(const std::string& where, Vocabulary& vocabulary,
                                   std::vector<std::string> path)
    : JsonTree(where), merges(where), vocabulary_(vocabulary), path_(std::move(path)) {}

void VocabularyReader::begin(json::value_t kind) {
  const bool is_object = kind == json::value_t::object;
  switch (inside_) {
    case Inside::tree: break;
    case Inside::vocabulary: return add_token(json(kind));
    case Inside::merges:
      if (is_object) refuse_merge("an object");
      pair_.clear();
      inside_ = Inside::merge;
      return;
    case Inside::merge: refuse_merge("another array");
  }
  if (is_at("vocab")) {
    if (!is_object) {
      fail(ErrorCode::unsupported, where_,
           "the vocabulary is an array, as in a Unigram model; expected an object, as in BPE");
    }
    inside_ = Inside::vocabulary;
  } else if (is_at("merges") && !is_object) {
    inside_ = Inside::merges;
    has_merges = true;
  } else {
    JsonTree::begin(kind);
  }
  path_.emplace_back();
}

void VocabularyReader::key(std::string& name) {
  path_.back() = name;
  if (inside_ == Inside::tree) JsonTree::key(name);
}

void VocabularyReader::scalar(json value) {
  auto* const text = value.get_ptr<std::string*>();
  switch (inside_) {
    case Inside::tree: return JsonTree::scalar(std::move(value));
    case Inside::vocabulary: return add_token(value);
    case Inside::merges:
      if (!text || !merges.add(*text)) refuse_merge(shown(value));
      return;
    case Inside::merge:
      if (!text) refuse_merge("another array");
      pair_.push_back(std::move(*text));
  }
}

void VocabularyReader::end() {
  if (inside_ == Inside::merge) {
    if (pair_.size() != 2 || !merges.add(pair_[0], pair_[1])) refuse_merge("another array");
    inside_ = Inside::merges;
    return;
  }
  if (inside_ == Inside::tree) JsonTree::end();
  if (inside_ == Inside::vocabulary && vocabulary_.count() == 0) {
    fail(where_, "the vocabulary is empty");
  }
  inside_ = Inside::tree;
  path_.pop_back();
}

bool VocabularyReader::is_at(std::string_view key_of_model) const {
  return path_.size() == 2 && path_[0] == "model" && path_[1] == key_of_model;
}

void VocabularyReader::add_token(const json& value) {
  const std::string& token = path_.back();
  const TokenId id = read_token_id(value, token, where_);
  if (vocabulary_.insert(token, id)) return;
  if (vocabulary_.find(token)) {
    fail(where_, "the token ", quote(token), " appears twice in the vocabulary");
  }
  fail(where_, "the tokens ", quote(vocabulary_.bytes(id)), " and ", quote(token),
       " have the same id, ", id);
}

void VocabularyReader::refuse_merge(const std::string& found) const {
  fail(where_, "model.merges[", merges.size(),
       R"(]: expected "left right" or ["left", "right"], found )", found);
}

}  // namespace gpt2
