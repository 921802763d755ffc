#include "gpt2/beam_search.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/fail.h"
#include "base/hash.h"
#include "base/system/threads.h"
#include "generate/beams/beams.h"
#include "generate/options/option_codec.h"
#include "generate/sampling/processor.h"
#include "generate/writing/tokens.h"
#include "gpt2/option_fields.h"

namespace gpt2 {
namespace {

// The initial sum of all beams except the first. It is lower than any real sum, so the first step
// continues only the first beam, unless that beam has too few tokens. HuggingFace uses the same
// value.
constexpr float kUnborn = -1e9f;

class BeamSearch {
 public:
  /// `options` must outlive the search.
  BeamSearch(const Engine& engine, const BeamSearchOptions& options, const SequenceLimits& limits);

  std::vector<BeamSequence> run(std::span<const TokenId> prompt);

 private:
  void step();
  [[nodiscard]] bool report() const;
  [[nodiscard]] bool is_at_end() const {
    return limits_.prompt_length + new_tokens_ == limits_.max_length;
  }
  [[nodiscard]] std::vector<BeamSequence> finish(FinishReason reason);
  [[nodiscard]] std::vector<TokenId> tokens_before(std::size_t beam) const;
  [[nodiscard]] std::vector<TokenId> tokens_of(std::size_t beam) const;
  [[nodiscard]] std::string text_of(std::span<const TokenId> tokens) const;

  const BeamSearchOptions& options_;
  std::span<const TokenId> prompt_ = {};
  SequenceLimits limits_;
  std::size_t n_positions_;
  BeamSessions sessions_;
  BeamScorer scorer_;
  EndedSequences ended_;
  bool is_done_ = false;
  std::size_t new_tokens_ = 0;  // the number of new tokens of each beam
  std::size_t may_end_ = 0;     // how many beams are among the first num_beams candidates
  std::uint64_t logits_hash_ = 0;

  // The choices of the latest step: (num_beams). The sessions still hold the parents.
  std::vector<TokenId> tokens_;
  std::vector<std::size_t> parents_;
  std::vector<float> sums_;
};

// Returns the limits that the processors need. The max length is one more than n_positions, because
// the last token of a sequence is not read and needs no room in the context.
SequenceLimits limits_of(const Config& config, std::size_t prompt_length,
                         const BeamSearchOptions& options) {
  SequenceLimits limits{.eos_token_id = end_tokens(config, options.tokenizer, options),
                        .prompt_length = prompt_length};
  std::erase_if(limits.eos_token_id, [&](TokenId id) {
    return id < 0 || static_cast<std::size_t>(id) >= config.vocab_size;
  });
  const std::size_t room = config.n_positions + 1 - prompt_length;
  limits.max_length = prompt_length + std::min(options.max_new_tokens, room);
  return limits;
}

// Returns the number of candidates that a step considers: enough for each beam to continue even if
// all tokens that end a sequence are ranked first. HuggingFace considers the same number.
std::size_t candidate_count(std::size_t num_beams, std::size_t end_tokens) {
  return std::max<std::size_t>(2, 1 + end_tokens) * num_beams;
}

BeamSearch::BeamSearch(const Engine& engine, const BeamSearchOptions& options,
                       const SequenceLimits& limits)
    : options_(options),
      limits_(limits),
      n_positions_(engine.model().config().n_positions),
      sessions_(engine, options.beams.num_beams, limits.max_length - 1),
      scorer_(engine, options, limits,
              candidate_count(options.beams.num_beams, limits.eos_token_id.size())),
      ended_(options.beams.num_beams, limits.max_length - limits.prompt_length, options.beams),
      tokens_(options.beams.num_beams),
      parents_(options.beams.num_beams),
      sums_(options.beams.num_beams, kUnborn) {
  sums_.front() = 0.0f;
}

std::vector<BeamSequence> BeamSearch::run(std::span<const TokenId> prompt) {
  prompt_ = prompt;
  if (!sessions_.read(prompt, options_.on_prompt)) return {};
  while (true) {
    step();
    if (!report()) return finish(FinishReason::cancelled);
    if (is_done_ || is_at_end()) {
      const bool is_full = limits_.max_length > n_positions_;
      return finish(is_full ? FinishReason::context_full : FinishReason::length);
    }
    sessions_.advance(parents_, tokens_);
  }
}

// Chooses the beams that continue, and adds the sequences that end to the list. As in HuggingFace,
// only the first num_beams candidates can end: by their token, or by the max length.
void BeamSearch::step() {
  const DefaultFloatState state;
  ++new_tokens_;
  for (std::size_t beam = 0; options_.hash_logits && beam < sums_.size(); ++beam) {
    logits_hash_ = hash_floats(sessions_.logits(beam), logits_hash_);
  }
  const auto candidates = scorer_.best(sessions_, sums_);
  require_token(candidates.front().sum, sessions_.tokens(0).size());
  std::size_t beam = 0;
  may_end_ = sums_.size();
  for (std::size_t rank = 0; beam < sums_.size(); ++rank) {
    const auto& [sum, parent, token] = candidates[rank];
    if (std::ranges::count(limits_.eos_token_id, token) == 0) {
      tokens_[beam] = token;
      parents_[beam] = parent;
      sums_[beam] = sum;
      ++beam;
    } else if (rank < sums_.size()) {
      --may_end_;
      ended_.add(sum, new_tokens_,
                 {.tokens = tokens_before(parent),
                  .score = 0.0,
                  .finish_reason = FinishReason::end_of_text,
                  .end_token = token});
    }
  }
  is_done_ = !is_at_end() && ended_.is_final(sums_.front(), new_tokens_);
}

// The new tokens of a beam of the step before.
std::vector<TokenId> BeamSearch::tokens_before(std::size_t beam) const {
  const auto tokens = sessions_.tokens(beam).subspan(limits_.prompt_length);
  return {tokens.begin(), tokens.end()};
}

// The new tokens of a beam, including the latest one.
std::vector<TokenId> BeamSearch::tokens_of(std::size_t beam) const {
  std::vector<TokenId> tokens = tokens_before(parents_[beam]);
  tokens.push_back(tokens_[beam]);
  return tokens;
}

// Returns whether the search is to continue.
bool BeamSearch::report() const {
  if (!options_.on_step) return true;
  std::vector<TokenId> best;
  if (!is_done_) {
    const auto highest = std::ranges::max_element(sums_) - sums_.begin();
    best = tokens_of(static_cast<std::size_t>(highest));
  }
  return options_.on_step(
      WholeBeamStep{{new_tokens_, tokens_, best, logits_hash_}, parents_, sums_});
}

// Ends the open beams, unless the search is done, and returns the best sequences.
std::vector<BeamSequence> BeamSearch::finish(FinishReason reason) {
  const DefaultFloatState state;
  for (std::size_t beam = 0; !is_done_ && beam < may_end_; ++beam) {
    ended_.add(sums_[beam], new_tokens_, {tokens_of(beam), 0.0, reason});
  }
  std::vector<BeamSequence> all = ended_.list();
  all.resize(options_.beams.num_return_sequences);
  for (BeamSequence& sequence : all) sequence.text = text_of(sequence.tokens);
  return all;
}

// Returns the text that generate() would write for the tokens.
std::string BeamSearch::text_of(std::span<const TokenId> tokens) const {
  std::string text;
  if (!options_.tokenizer) return text;
  Detokenizer pieces(*options_.tokenizer, prompt_);
  Utf8Stream characters;
  for (const TokenId token : tokens) {
    if (options_.skip_special_tokens && options_.tokenizer->is_special(token)) continue;
    text += characters.write(pieces.write(token));
  }
  text += characters.write(pieces.flush());
  return text += characters.flush();
}

// Checks the options and the length of the prompt. The session checks the ids of the prompt, and
// the sampler checks options.sampling.
void check(const Config& config, std::span<const TokenId> prompt,
           const BeamSearchOptions& options) {
  if (options.tokenizer) options.tokenizer->require_match(config);
  check_options(options.beams);
  if (options.max_new_tokens == 0 || options.max_new_tokens > kMaxOptionTokens) {
    reject("max_new_tokens must be a whole number from 1 to ", kMaxOptionTokens, ", got ",
           options.max_new_tokens);
  }
  if (prompt.empty()) reject("the prompt has no tokens: begin with the end-of-text token");
  if (prompt.size() > config.n_positions) {
    reject("the prompt has ", prompt.size(), " tokens, more than the model's ", config.n_positions,
           " positions: shorten it");
  }
}

// Throws if every token ends a sequence, so that no beam could continue.
void check_end_tokens(const SequenceLimits& limits, std::size_t vocab_size) {
  const std::set<TokenId> distinct(limits.eos_token_id.begin(), limits.eos_token_id.end());
  if (distinct.size() < vocab_size) return;
  reject("all ", vocab_size,
         " tokens of the vocabulary end a sequence, so that beam search has no "
         "token to go on with: give fewer stop_tokens, or set ignore_eos");
}

}  // namespace

std::vector<BeamSequence> beam_search(const Engine& engine, std::span<const TokenId> prompt,
                                      const BeamSearchOptions& options) {
  const Config& config = engine.model().config();
  check(config, prompt, options);
  const SequenceLimits limits = limits_of(config, prompt.size(), options);
  check_end_tokens(limits, config.vocab_size);
  return BeamSearch(engine, options, limits).run(prompt);
}

}  // namespace gpt2
