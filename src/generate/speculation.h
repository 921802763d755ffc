#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "generate/decoder.h"
#include "generate/draft_length.h"
#include "gpt2/engine.h"

namespace gpt2 {

/// Speculative decoding for the texts of a pass: decides how many tokens they draft, and drafts
/// them in passes that the texts share. For each pass, the caller runs:
///
///   speculation.draft(texts, attempt);         // unless the pass reads pieces of prompts
///   ...                                        // Decoder::next() of each text
///   speculation.forward(engine, slices);
///   ...                                        // Decoder::take() and count() of each text
///   speculation.note_pass();
class Speculation {
 public:
  /// Lets the texts draft tokens for the next pass, which all of them share.
  /// `attempt(i, f)` calls f(), which runs a step of text i and may throw. `attempt` returns false
  /// if this has ended the text, which is then destroyed.
  template <class Attempt>
  void draft(std::span<Decoder* const> texts, const Attempt& attempt) {
    const auto attempt_each = [&](const auto& step) {
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        Decoder*& text = texts_[i];
        if (text != nullptr && !attempt(i, [&] { step(*text); })) text = nullptr;
      }
    };
    begin(texts);
    attempt_each([](Decoder& text) { text.look_up_draft(); });
    choose_lengths();
    while (forward_drafts()) attempt_each([](Decoder& text) { text.take_draft(); });
    end();
  }

  /// Runs the pass that checks the drafts.
  void forward(Engine& engine, std::span<const Slice> slices);

  /// Counts the drafted and the accepted tokens of the text.
  void count(const Decoder& text);

  /// Records the time and the counts of the pass, if draft() was called for it.
  void note_pass();

 private:
  // Tokens are drafted by a model or from the text so far.
  struct Source {
    DraftLength length;
    DraftedPass pass;
  };

  void begin(std::span<Decoder* const> texts);
  void choose_lengths();
  bool forward_drafts();
  void end();
  template <class F>
  void for_each_text(const F& f);
  template <class MaxOf>
  [[nodiscard]] std::size_t length_of(const Source& source, const MaxOf& max_of);

  Source model_, lookup_;
  std::vector<Decoder*> texts_;  // the texts of the pass; nullptr for one that has ended
  std::vector<Slice> slices_;    // the slices of a pass of the draft model
  bool is_timed_ = false;        // whether a text of the pass may draft
  std::chrono::steady_clock::time_point draft_start_;
  double check_seconds_ = 0.0;
};

}  // namespace gpt2
