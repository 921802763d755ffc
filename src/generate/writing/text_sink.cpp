#include "generate/writing/generation.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/fail.h"

namespace gpt2 {
namespace {

// The length of the longest suffix of `text` that is a proper prefix of `stop`.
std::size_t overlap(std::string_view text, std::string_view stop) {
  std::size_t length = std::min(text.size(), stop.size() - 1);
  while (!text.ends_with(stop.substr(0, length))) --length;
  return length;
}

}  // namespace

std::string StopFilter::take(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (hidden_[i] == 0) out += held_[i];
  }
  held_.erase(0, count);
  hidden_.erase(0, count);
  return out;
}

std::string StopFilter::write(std::string_view bytes, bool is_hidden) {
  held_ += bytes;
  hidden_.append(bytes.size(), is_hidden ? 1 : 0);
  std::size_t certain = held_.size();
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    const std::size_t begin = held_.find(stop);
    if (begin == std::string::npos) continue;
    stopped_ = true;
    // The first one to end is the first one that is found if the bytes come one by one.
    if (std::pair(begin + stop.size(), begin) < std::pair(end, certain)) {
      end = begin + stop.size();
      certain = begin;
    }
  }
  for (const std::string& stop : stops_) {
    if (!stopped_) certain = std::min(certain, held_.size() - overlap(held_, stop));
  }
  std::string out = take(certain);
  if (stopped_) held_.clear();
  return out;
}

std::string StopFilter::flush() { return take(held_.size()); }

TextSink::TextSink(const TextTarget& target, const GenerationOptions& options,
                   std::span<const TokenId> before)
    : target_(target), skip_special_tokens_(options.skip_special_tokens), filter_(options.stop) {
  if (target.tokenizer) text_.emplace(*target.tokenizer, before);
}

bool TextSink::write(TokenId token, const TokenLogprob* logprob) {
  if (logprob != nullptr && target_.on_logprob) target_.on_logprob(token, *logprob);
  if (!text_) return !target_.on_token || target_.on_token(token);
  const bool is_hidden = skip_special_tokens_ && target_.tokenizer->is_special(token);
  const std::string_view bytes = is_hidden ? target_.tokenizer->bytes(token) : text_->write(token);
  const std::string_view text = characters_.write(filter_.write(bytes, is_hidden));
  // Even if on_token_of_text ends the text here, the text of this token belongs to it.
  const bool ends = target_.on_token_of_text && !target_.on_token_of_text(token);
  cancelled_ = (target_.on_text && !target_.on_text(text)) || ends;
  return !cancelled_ && !filter_.stopped();
}

void TextSink::finish(GenerationResult& result) {
  if (cancelled_) return;
  std::string rest;
  if (text_ && !filter_.stopped()) rest = characters_.write(filter_.write(text_->flush()));
  if (filter_.stopped()) result.finish_reason = FinishReason::stop_string;
  rest += characters_.write(filter_.flush());
  rest += characters_.flush();
  if (target_.on_text && !rest.empty()) target_.on_text(rest);
}

void check_target(const TextTarget& target, const GenerationOptions& options,
                  const Config& config) {
  if (target.tokenizer) target.tokenizer->require_match(config);
  if (!target.tokenizer && !options.stop.empty()) {
    reject("stop strings need a tokenizer: give stop_tokens");
  }
  if (std::ranges::count(options.stop, "") != 0) {
    reject("a stop string is empty, so that every text would end at once: leave it out");
  }
}

}  // namespace gpt2
