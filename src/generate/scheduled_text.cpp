#include "generate/scheduled_text.h"

#include <algorithm>
#include <span>
#include <utility>

#include "generate/prefix_cache.h"
#include "model/session_impl.h"

namespace gpt2 {

std::size_t ScheduledText::capacity(const Config& config) const {
  const std::size_t read = std::min(prompt.size(), config.n_positions);
  return read + std::min(options.max_new_tokens, config.n_positions - read);
}

std::size_t ScheduledText::bytes(const Engine& engine) const {
  const Config& config = engine.model().config();
  const std::size_t room = capacity(config);
  const std::size_t bytes = Session::memory_bytes(config, engine.kv_type(), room);
  return options.draft ? bytes + Draft::memory_bytes(*options.draft, config, room) : bytes;
}

std::size_t ScheduledText::known_by(const Session& other) const {
  if (prompt.empty()) return 0;
  const auto computed = other.tokens().first(other.position() - other.waiting());
  return common_prefix(computed, std::span(prompt).first(prompt.size() - 1));
}

void ScheduledText::begin(const Engine& engine, const Session* other, std::size_t known) {
  session.emplace(engine, SessionOptions{.max_tokens = capacity(engine.model().config())});
  session->impl()->require_fitting(prompt);
  if (known > 0) session->assign(*other, known);
  generation.emplace(*session, prompt, options, sink, known);
}

void ScheduledText::complete() {
  try {
    if (text) text->finish(generation->result());
    promise.set_value(std::move(generation->result()));
  } catch (...) {
    fail();
  }
}

}  // namespace gpt2
