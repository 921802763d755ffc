#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "generate/writing/prompt_reader.h"
#include "gpt2/session.h"

namespace gpt2 {

/// The sessions of a beam search. Records which session holds which beam, and the logits after each
/// beam. At first, all beams refer to one session, which holds the prompt.
class BeamSessions {
 public:
  /// Each session has room for max_tokens tokens.
  BeamSessions(const Engine& engine, std::size_t num_beams, std::size_t max_tokens);

  /// Reads the prompt, of at least one token, in passes of a fraction of a second each. Returns
  /// false if on_prompt has cancelled.
  [[nodiscard]] bool read(std::span<const TokenId> prompt, const PromptReader::OnPrompt& on_prompt);

  /// All tokens of the beam, including the prompt.
  [[nodiscard]] std::span<const TokenId> tokens(std::size_t beam) const;

  /// The logits (vocab_size) after the last token of the beam.
  [[nodiscard]] std::span<const float> logits(std::size_t beam) const;

  /// Every beam b becomes a child of the beam parents[b], followed by tokens[b]. Computes the
  /// logits after these in one forward pass. The first child of a beam takes over its session; the
  /// session is copied for its other children, into sessions that no beam needs any more.
  void advance(std::span<const std::size_t> parents, std::span<const TokenId> tokens);

 private:
  void follow(std::span<const std::size_t> parents);
  [[nodiscard]] std::span<float> row(std::size_t session);

  Engine engine_;
  std::vector<Session> sessions_;
  std::vector<std::size_t> session_of_;  // (num_beams): which session holds the beam
  std::vector<float> logits_;            // (num_beams, vocab_size): a row for each session
};

}  // namespace gpt2
