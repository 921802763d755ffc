#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "generate/writing/generation.h"
#include "gpt2/engine.h"

namespace gpt2 {

/// Runs the forward passes of texts, alone or together. Before a pass that reads no prompt, decides
/// how many tokens the texts draft (speculative decoding), and drafts them in passes that the texts
/// share.
class Passes {
 public:
  explicit Passes(const Engine& engine) : engine_(engine) {}

  /// Runs one pass over the texts: one row and the drafted tokens of each text that is being
  /// written, and pieces of prompts, in order, which together have at most prompt_piece() tokens.
  /// A text whose step throws ends with this exception, and the others continue; if the pass itself
  /// throws, all its texts end.
  ///
  /// REQUIRES: no text has finished, and all are sessions of the engine.
  void run(std::span<Generation* const> texts);

 private:
  // Tokens are drafted by a model or from the text so far.
  struct Source {
    DraftLength length;
    DraftedPass pass;
  };

  template <class Step>
  void step_each(const Step& step);
  void draft();
  template <class MaxOf>
  [[nodiscard]] std::size_t length_of(const Source& source, const MaxOf& max_of) const;
  void add_slices();
  bool forward() noexcept;
  void count(const Drafter::Checked& checked);
  void note(double seconds);

  Engine engine_;
  Source model_, lookup_;
  std::vector<Generation*> texts_;  // those of the pass that have not finished
  std::vector<Slice> slices_;       // of the pass
};

}  // namespace gpt2
