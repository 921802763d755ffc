#include "generate/beams/beam_sessions.h"

#include <algorithm>

namespace gpt2 {

BeamSessions::BeamSessions(const Engine& engine, std::size_t num_beams, std::size_t max_tokens)
    : engine_(engine),
      session_of_(num_beams, 0),
      logits_(num_beams * engine.model().config().vocab_size) {
  sessions_.reserve(num_beams);
  for (std::size_t i = 0; i < num_beams; ++i) {
    sessions_.emplace_back(engine, SessionOptions{.max_tokens = max_tokens});
  }
}

bool BeamSessions::read(std::span<const TokenId> prompt, const PromptReader::OnPrompt& on_prompt) {
  PromptReader reader(sessions_.front(), {prompt.begin(), prompt.end()}, on_prompt);
  while (reader.goes_on()) {
    if (reader.finished()) return true;
    const auto piece = reader.next(prompt_piece(engine_.model()));
    const Slice slice{&sessions_.front(), piece, reader.finished() ? row(0) : std::span<float>()};
    engine_.forward(std::span(&slice, 1));
  }
  return false;
}

std::span<const TokenId> BeamSessions::tokens(std::size_t beam) const {
  return sessions_[session_of_[beam]].tokens();
}

std::span<const float> BeamSessions::logits(std::size_t beam) const {
  const std::size_t vocab_size = engine_.model().config().vocab_size;
  return std::span(logits_).subspan(session_of_[beam] * vocab_size, vocab_size);
}

std::span<float> BeamSessions::row(std::size_t session) {
  const std::size_t vocab_size = engine_.model().config().vocab_size;
  return std::span(logits_).subspan(session * vocab_size, vocab_size);
}

void BeamSessions::follow(std::span<const std::size_t> parents) {
  const std::vector<std::size_t> before = session_of_;
  std::vector<bool> is_taken(sessions_.size());
  std::vector<std::size_t> copies;  // the beams whose parent's session another child has taken
  for (std::size_t beam = 0; beam < parents.size(); ++beam) {
    const std::size_t session = before[parents[beam]];
    session_of_[beam] = session;
    if (is_taken[session]) copies.push_back(beam);
    is_taken[session] = true;
  }
  std::size_t next = 0;
  for (const std::size_t beam : copies) {
    while (is_taken[next]) ++next;
    sessions_[next].assign(sessions_[session_of_[beam]]);
    session_of_[beam] = next;
    is_taken[next] = true;
  }
}

void BeamSessions::advance(std::span<const std::size_t> parents, std::span<const TokenId> tokens) {
  follow(parents);
  std::vector<Slice> slices;
  for (std::size_t beam = 0; beam < parents.size(); ++beam) {
    const std::size_t session = session_of_[beam];
    slices.push_back({&sessions_[session], tokens.subspan(beam, 1), row(session)});
  }
  engine_.forward(slices);
}

}  // namespace gpt2
