#include "generate/beams/beams.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <tuple>

#include "base/system/threads.h"
#include "generate/sampling/softmax.h"

namespace gpt2 {
namespace {

bool is_better(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.sum, a.beam, a.token) < std::tuple(-b.sum, b.beam, b.token);
}

// Adds two numbers that are not NaN. The sum is neither NaN nor +infinity, not even if a function
// in SamplingOptions::processors has made scores infinite.
float add_limited(float a, float b) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  return std::min(a + std::min(b, kLargest), kLargest);
}

SamplingOptions without_drawing(SamplingOptions options) {
  options.temperature = 0.0f;
  return options;
}

// Returns base^exponent with the same bits on every machine, unlike pow(). It writes the exponent
// as a sum of powers of two, so it needs only multiplications and square roots, which are exactly
// rounded everywhere.
double power(double base, double exponent) {
  double rest = std::abs(exponent);
  double result = 1.0;
  double factor = base;  // base^(2^i)
  for (auto whole = static_cast<unsigned>(rest); whole != 0; whole /= 2, factor *= factor) {
    if (whole % 2 != 0) result *= factor;
  }
  rest -= std::floor(rest);
  for (factor = base; rest != 0.0; rest -= std::floor(rest)) {
    factor = std::sqrt(factor);
    rest *= 2.0;
    if (rest >= 1.0) result *= factor;
  }
  return exponent < 0.0 ? 1.0 / result : result;
}

}  // namespace

void BestCandidates::consider(const Candidate& candidate) {
  if (heap_.size() == count_) {
    if (!is_better(candidate, heap_.front())) return;
    std::ranges::pop_heap(heap_, is_better);
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::ranges::push_heap(heap_, is_better);
}

void BestCandidates::add(std::size_t beam, float sum, std::span<const float> scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const float total = add_limited(sum, scores[i]);
    // A shortcut: nearly all tokens are worse than the worst candidate.
    if (heap_.size() == count_ && total < heap_.front().sum) continue;
    consider({total, beam, static_cast<TokenId>(i)});
  }
}

void BestCandidates::merge(const BestCandidates& other) {
  for (const Candidate& candidate : other.heap_) consider(candidate);
}

std::span<const Candidate> BestCandidates::sorted() {
  std::ranges::sort(heap_, is_better);
  return heap_;
}

BeamScorer::BeamScorer(const Engine& engine, const BeamSearchOptions& options,
                       const SequenceLimits& limits, std::size_t count)
    : engine_(engine),
      options_(options),
      limits_(limits),
      count_(count),
      scratch_(static_cast<std::size_t>(engine.threads())) {
  scratch_.front().emplace(made());
}

BeamScorer::Scratch BeamScorer::made() const {
  const std::size_t vocab_size = engine_.model().config().vocab_size;
  return {Sampler(without_drawing(options_.sampling), vocab_size, limits_),
          std::vector<float>(vocab_size), BestCandidates(count_)};
}

// Adds the tokens that may follow the beam to the candidates.
void BeamScorer::score(Scratch& scratch, std::span<const float> logits,
                       std::span<const TokenId> ids, std::size_t beam, float sum) const {
  const DefaultFloatState state;
  std::vector<float>& log_probs = scratch.log_probs;
  constexpr float kLargest = std::numeric_limits<float>::max();
  if (std::ranges::all_of(logits, [](float logit) { return logit <= kLargest; })) {
    log_softmax(log_probs, logits);
  } else {  // as in PyTorch; the sampler refuses NaN, or replaces it if remove_invalid_values is
            // set
    std::ranges::fill(log_probs, std::numeric_limits<float>::quiet_NaN());
  }
  scratch.candidates.add(beam, sum, scratch.sampler.process(log_probs, ids));
}

// If beams fail, the error is that of the first of them.
std::span<const Candidate> BeamScorer::best(const BeamSessions& sessions,
                                            std::span<const float> sums) {
  const auto score_beam = [&](Scratch& scratch, std::size_t beam) {
    score(scratch, sessions.logits(beam), sessions.tokens(beam), beam, sums[beam]);
  };
  for (std::optional<Scratch>& scratch : scratch_) {
    if (scratch) scratch->candidates.clear();
  }
  Scratch& own = *scratch_.front();
  const bool is_alone = !options_.sampling.processors.empty();
  for (std::size_t beam = 0; is_alone && beam < sums.size(); ++beam) score_beam(own, beam);
  std::vector<std::exception_ptr> errors(sums.size());
  engine_.for_each(is_alone ? 0 : sums.size(), [&](std::size_t beam, int rank) {
    try {
      std::optional<Scratch>& scratch = scratch_[static_cast<std::size_t>(rank)];
      if (!scratch) scratch.emplace(made());
      score_beam(*scratch, beam);
    } catch (...) {
      errors[beam] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  for (std::size_t i = 1; i < scratch_.size(); ++i) {
    if (scratch_[i]) own.candidates.merge(scratch_[i]->candidates);
  }
  return own.candidates.sorted();
}

EndedSequences::EndedSequences(std::size_t count, std::size_t max_length,
                               const BeamOptions& options)
    : count_(count),
      max_length_(max_length),
      length_penalty_(options.length_penalty),
      early_stopping_(options.early_stopping) {}

double EndedSequences::score(float sum, std::size_t length) const {
  return static_cast<double>(sum) / power(static_cast<double>(length), length_penalty_);
}

void EndedSequences::add(float sum, std::size_t length, BeamSequence sequence) {
  sequence.score = score(sum, length);
  const auto is_better = [](double one, const BeamSequence& other) { return one > other.score; };
  const auto place = std::upper_bound(list_.begin(), list_.end(), sequence.score, is_better);
  list_.insert(place, std::move(sequence));
  if (list_.size() > count_) list_.pop_back();
}

bool EndedSequences::is_final(float best_sum, std::size_t length) const {
  if (!is_full()) return false;
  if (early_stopping_ == EarlyStopping::yes) return true;
  const bool grows = early_stopping_ == EarlyStopping::never && length_penalty_ > 0.0;
  const double attainable = score(best_sum, grows ? max_length_ : length);
  return list_.back().score >= attainable;
}

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
