#include "generate/speculation.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/seconds_since.h"

namespace gpt2 {

void Speculation::begin(std::span<Decoder* const> texts) {
  texts_.assign(texts.begin(), texts.end());
  is_timed_ = std::ranges::any_of(texts_, [](const Decoder* text) { return text->may_draft(); });
  for (Source* const source : {&model_, &lookup_}) {
    source->length.set_texts(texts.size());
    source->pass = {};
  }
}

template <class F>
void Speculation::for_each_text(const F& f) {
  for (Decoder* const text : texts_) {
    if (text != nullptr) f(*text);
  }
}

// Returns the number of tokens that each text should draft. A text can draft at most max_of(text).
template <class MaxOf>
std::size_t Speculation::length_of(const Source& source, const MaxOf& max_of) {
  std::size_t drafting = 0;
  std::size_t max = 0;
  for_each_text([&](const Decoder& text) {
    drafting += max_of(text) > 0;
    max = std::max(max, max_of(text));
  });
  return source.length.next(max, drafting);
}

// A text drafts with its model if no tokens could be looked up, or if these would not save time.
void Speculation::choose_lengths() {
  const std::size_t found =
      length_of(lookup_, [](const Decoder& text) { return text.drafted().size(); });
  for_each_text([&](Decoder& text) { text.shorten_draft(found); });

  const std::size_t by_model =
      length_of(model_, [](const Decoder& text) { return text.max_of_model(); });
  std::vector<const Draft*> drafts;
  for_each_text([&](const Decoder& text) {
    if (text.draft() != nullptr) drafts.push_back(text.draft());
  });
  for_each_text([&](Decoder& text) { text.begin_draft(by_model, drafts); });
  draft_start_ = std::chrono::steady_clock::now();
}

// Runs a pass of a draft model for all texts that use it and have tokens left to draft. Returns
// false if there are no such texts, or if there is not enough memory.
bool Speculation::forward_drafts() {
  Draft* first = nullptr;
  slices_.clear();
  try {
    for_each_text([&](Decoder& text) {
      Draft* const draft = text.unfinished_draft();
      if (draft == nullptr || (first != nullptr && !draft->can_join(*first))) return;
      if (first == nullptr) first = draft;
      slices_.push_back(draft->next());
    });
    if (first == nullptr) return false;
    first->forward(slices_);
  } catch (const std::exception&) {  // not enough memory: the texts get no more drafted tokens
    return false;
  }
  ++model_.pass.steps;
  return true;
}

void Speculation::end() {
  if (model_.pass.steps != 0) model_.pass.draft_seconds = seconds_since(draft_start_);
  for_each_text([](Decoder& text) { text.end_draft(); });
}

void Speculation::forward(Engine& engine, std::span<const Slice> slices) {
  const auto start = std::chrono::steady_clock::now();
  engine.forward(slices);
  check_seconds_ = seconds_since(start);
}

void Speculation::count(const Decoder& text) {
  const Decoder::Drafted& latest = text.latest();
  if (!latest.by_model && latest.tokens == 0) return;
  DraftedPass& pass = latest.by_model ? model_.pass : lookup_.pass;
  pass.drafted += latest.tokens;
  pass.accepted += latest.accepted;
  pass.refused += latest.tokens == 0 || latest.accepted < latest.tokens;
}

void Speculation::note_pass() {
  if (!std::exchange(is_timed_, false)) return;
  const std::size_t drafted = model_.pass.drafted + lookup_.pass.drafted;
  const bool is_plain = drafted == 0 && model_.pass.steps == 0;
  for (Source* const source : {&model_, &lookup_}) {
    if (is_plain) {
      source->length.note_plain(check_seconds_);
    } else if (source->pass.drafted != 0 || source->pass.steps != 0) {
      source->pass.check_seconds = check_seconds_;
      source->pass.all_drafted = drafted;
      source->length.note_drafts(source->pass);
    }
  }
}

}  // namespace gpt2
