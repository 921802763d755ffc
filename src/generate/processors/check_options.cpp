#include <cmath>
#include <string_view>

#include "base/fail.h"
#include "generate/processors/processor.h"

namespace gpt2 {
namespace {

using Options = SamplingOptions;

// Throws unless low <= value <= high. NaN is outside.
template <class Number>
void check_range(std::string_view name, Number value, Number low, Number high) {
  if (value >= low && value <= high) return;
  reject(name, " must be a number from ", low, " to ", high, ", got ", value);
}

// Throws unless 0 <= value < 1.
void check_cutoff(std::string_view name, float value) {
  if (value >= 0.0f && value < 1.0f) return;
  reject(name, " must be at least 0 and less than 1, got ", value);
}

class IdCheck {
 public:
  explicit IdCheck(std::size_t vocab_size) : vocab_size_(vocab_size) {}

  void id(std::string_view name, TokenId id) const {
    if (id >= 0 && static_cast<std::size_t>(id) < vocab_size_) return;
    reject(name, " has the token ", id, ", which is outside the vocabulary of ", vocab_size_,
           ": give ids from 0 to ", vocab_size_ - 1);
  }
  void ids(std::string_view name, const std::vector<TokenId>& ids) const {
    for (const TokenId one : ids) id(name, one);
  }
  void sequence(std::string_view name, const std::vector<TokenId>& sequence) const {
    if (sequence.empty()) reject(name, " has a sequence without tokens: give at least one");
    ids(name, sequence);
  }

 private:
  std::size_t vocab_size_;
};

}  // namespace

void check_ranges(const SamplingOptions& o) {
  constexpr float kLeast = Options::kMinTemperature;
  if (!(o.temperature == 0.0f || o.temperature >= kLeast) || !std::isfinite(o.temperature)) {
    reject("temperature must be 0 (greedy) or a finite number from ", kLeast, ", got ",
           o.temperature);
  }
  if (!(o.top_p >= 0.0f && o.top_p <= 1.0f)) {
    reject("top_p must be between 0 and 1, got ", o.top_p);
  }
  check_range("min_p", o.min_p, 0.0f, 1.0f);
  if (!(o.typical_p > 0.0f && o.typical_p <= 1.0f)) {
    reject("typical_p must be more than 0 and at most 1, got ", o.typical_p);
  }
  check_cutoff("epsilon_cutoff", o.epsilon_cutoff);
  check_cutoff("eta_cutoff", o.eta_cutoff);
  check_range("presence_penalty", o.presence_penalty, -2.0f, 2.0f);
  check_range("frequency_penalty", o.frequency_penalty, -2.0f, 2.0f);
  check_range("repetition_penalty", o.repetition_penalty, Options::kMinPenalty,
              Options::kMaxPenalty);
  for (const auto& [id, bias] : o.logit_bias) check_range("logit_bias", bias, -100.0f, 100.0f);
  for (const auto& [ids, bias] : o.sequence_bias) {
    if (bias != kRemoved) {
      check_range("sequence_bias", bias, -Options::kMaxBias, Options::kMaxBias);
    }
  }
  if (o.exponential_decay_length_penalty) {
    check_range("the factor of exponential_decay_length_penalty",
                o.exponential_decay_length_penalty->factor, double{Options::kMinPenalty},
                double{Options::kMaxPenalty});
  }
}

void check_ids(const SamplingOptions& o, std::size_t vocab_size) {
  const IdCheck check(vocab_size);
  for (const auto& [ids, bias] : o.sequence_bias) check.sequence("sequence_bias", ids);
  for (const auto& [id, bias] : o.logit_bias) check.id("logit_bias", id);
  for (const auto& ids : o.bad_words_ids) check.sequence("bad_words_ids", ids);
  if (o.forced_bos_token_id) check.id("forced_bos_token_id", *o.forced_bos_token_id);
  check.ids("forced_eos_token_id", o.forced_eos_token_id);
  check.ids("suppress_tokens", o.suppress_tokens);
  check.ids("begin_suppress_tokens", o.begin_suppress_tokens);
  for (const LogitsProcessor& processor : o.processors) {
    if (!processor) reject("processors has an empty function: leave it out");
  }
}

}  // namespace gpt2
