#include "generate/writing/passes.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>

#include "base/seconds_since.h"

namespace gpt2 {

void Passes::run(std::span<Generation* const> texts) {
  texts_.assign(texts.begin(), texts.end());
  slices_.reserve(texts.size());  // so that adding a slice cannot fail
  const bool reads = std::ranges::any_of(texts_, &Generation::reads_prompt);
  const bool may_draft = !reads && std::ranges::any_of(texts_, [](Generation* text) {
    return text->drafter().may_draft();
  });
  if (may_draft) draft();
  add_slices();
  const auto start = std::chrono::steady_clock::now();
  if (!forward()) return;
  const double seconds = seconds_since(start);
  if (texts_.size() > 1) {
    engine_.for_each(texts_.size(), [&](std::size_t i, int) { texts_[i]->draw_ahead(); });
  }
  step_each([&](Generation& text) {
    text.take();
    if (may_draft) count(text.drafter().latest());
    return true;
  });
  if (may_draft) note(seconds);
}

// Runs a step of each text. texts_ then has those texts for which it returned true and which have
// not finished. If the step throws, the text has failed.
template <class Step>
void Passes::step_each(const Step& step) {
  std::size_t kept = 0;
  for (Generation* const text : texts_) {
    bool stays = false;
    try {
      stays = step(*text);
    } catch (...) {
      text->fail();
    }
    if (stays && !text->finished()) texts_[kept++] = text;
  }
  texts_.resize(kept);
}

// Lets the texts draft tokens for the next pass. A text drafts with its model if no tokens could be
// looked up, or if these would not save time.
void Passes::draft() {
  for (Source* const source : {&model_, &lookup_}) {
    source->length.set_texts(texts_.size());
    source->pass = {};
  }
  step_each([](Generation& text) {
    text.drafter().look_up(text.max_draft());
    return true;
  });
  const std::size_t found =
      length_of(lookup_, [](const Drafter& drafter) { return drafter.tokens().size(); });
  for (Generation* const text : texts_) text->drafter().shorten(found);

  std::vector<Drafter*> drafters;
  for (Generation* const text : texts_) drafters.push_back(&text->drafter());
  const auto passes =
      Drafter::draft(drafters, length_of(model_, std::mem_fn(&Drafter::max_of_model)));
  model_.pass.steps = passes.count;
  model_.pass.draft_seconds = passes.seconds;
  step_each([](Generation& text) {
    text.drafter().rethrow();
    return true;
  });
}

// Returns the number of tokens that each text should draft. A text can draft at most
// max_of(drafter).
template <class MaxOf>
std::size_t Passes::length_of(const Source& source, const MaxOf& max_of) const {
  std::size_t drafting = 0;
  std::size_t max = 0;
  for (Generation* const text : texts_) {
    const std::size_t max_of_text = max_of(text->drafter());
    drafting += max_of_text > 0;
    max = std::max(max, max_of_text);
  }
  return source.length.next(max, drafting);
}

// Composes the pass. Afterwards, texts_ has only the texts that take part in it.
void Passes::add_slices() {
  slices_.clear();
  std::size_t prompt_rows = prompt_piece(engine_.model());
  step_each([&](Generation& text) {
    const bool reads = text.reads_prompt();
    if (reads && prompt_rows == 0) return false;
    const std::optional<Slice> slice = text.next(prompt_rows);
    if (!slice) return false;
    slices_.push_back(*slice);
    if (reads) prompt_rows -= slice->tokens.size();
    return true;
  });
}

// Returns false if the pass throws. All texts of the pass then end with the exception.
bool Passes::forward() noexcept {
  try {
    engine_.forward(slices_);
    return true;
  } catch (...) {
    for (Generation* const text : texts_) text->fail();
    return false;
  }
}

// Counts the drafted and the accepted tokens of a text.
void Passes::count(const Drafter::Checked& checked) {
  if (!checked.by_model && checked.tokens == 0) return;
  DraftedPass& pass = checked.by_model ? model_.pass : lookup_.pass;
  pass.drafted += checked.tokens;
  pass.accepted += checked.accepted;
  pass.refused += checked.tokens == 0 || checked.accepted < checked.tokens;
}

// Records the time and the counts of the pass.
void Passes::note(double seconds) {
  const std::size_t drafted = model_.pass.drafted + lookup_.pass.drafted;
  const bool is_plain = drafted == 0 && model_.pass.steps == 0;
  for (Source* const source : {&model_, &lookup_}) {
    if (is_plain) {
      source->length.note_plain(seconds);
    } else if (source->pass.drafted != 0 || source->pass.steps != 0) {
      source->pass.check_seconds = seconds;
      source->pass.all_drafted = drafted;
      source->length.note_drafts(source->pass);
    }
  }
}

GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options, const TextTarget& target) {
  check_target(target, options, session.model().config());
  Generation text(session, prompt, options, target);
  Passes passes(session.engine());
  Generation* const texts[] = {&text};
  while (!text.finished()) passes.run(texts);
  return text.take_result();
}

GenerationResult generate(Session& session, const Tokenizer& tokenizer,
                          std::span<const TokenId> prompt, const GenerationOptions& options,
                          const std::function<bool(std::string_view)>& sink) {
  return generate(session, prompt, options, {tokenizer, sink, nullptr});
}

GenerationResult generate(Session& session, std::span<const TokenId> prompt,
                          const GenerationOptions& options,
                          const std::function<bool(TokenId)>& sink) {
  return generate(session, prompt, options, {std::nullopt, nullptr, sink});
}

}  // namespace gpt2
