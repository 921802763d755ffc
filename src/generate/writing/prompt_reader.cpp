#include "generate/writing/prompt_reader.h"

#include <algorithm>
#include <utility>

namespace gpt2 {

// The result is at least 128, because shorter passes would read the weights too often.
std::size_t prompt_piece(const Model& model) {
  constexpr std::size_t kTokensTimesWeights = std::size_t{64} << 30;
  return std::clamp<std::size_t>(kTokensTimesWeights / model.parameter_count(), 128, 512);
}

PromptReader::PromptReader(Session& session, std::vector<TokenId> prompt, const OnPrompt& on_prompt,
                           std::size_t known)
    : session_(session),
      on_prompt_(on_prompt),
      prompt_(std::move(prompt)),
      history_(session.history()),
      read_(known) {
  const auto tail = session.tokens().last(session.waiting());
  waiting_.assign(tail.begin(), tail.end());
  start_ = session.position() - waiting_.size();
}

std::span<const TokenId> PromptReader::next(std::size_t max) {
  const auto piece = std::span(prompt_).subspan(read_, std::min(max, prompt_.size() - read_));
  read_ += piece.size();
  begun_ = true;
  return piece;
}

bool PromptReader::goes_on() {
  try {
    if (!on_prompt_ || on_prompt_(read_, prompt_.size())) return true;
  } catch (...) {
    take_back();
    throw;
  }
  take_back();
  return false;
}

void PromptReader::take_back() {
  session_.rewind(start_);
  session_.append(waiting_);
  session_.set_history(history_);
}

}  // namespace gpt2
