#include "inspect/pass_record.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/share.h"
#include "generate/sampling/softmax.h"
#include "gpt2/embed.h"

namespace gpt2 {
namespace {

// How many tokens have their logits in memory at the same time.
constexpr std::size_t kTokens = 64;

// The logits of some tokens.
class Predictions {
 public:
  explicit Predictions(const Engine& engine) : engine_(engine) {}

  void compute(std::span<const float> states, bool ln_f) {
    const Config& config = engine_.model().config();
    const std::size_t count = states.size() / config.n_embd;
    vocab_size_ = config.vocab_size;
    logits_.resize(count * vocab_size_);
    unembed(engine_, states, logits_, {.ln_f = ln_f});
  }

  [[nodiscard]] std::span<const float> of(std::size_t i) const {
    return std::span(logits_).subspan(i * vocab_size_, vocab_size_);
  }

 private:
  const Engine& engine_;
  std::size_t vocab_size_ = 0;
  std::vector<float> logits_;
};

// KL(p || q), where p and q are the softmax of these logits. NaN if one of them has none.
float kl_divergence(std::span<const float> p, std::span<const float> q,
                    std::span<float> scratch) noexcept {
  const double sum_p = log_sum_exp(p, scratch), sum_q = log_sum_exp(q, scratch);
  double kl = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double logprob = static_cast<double>(p[i]) - sum_p;
    const double weight = static_cast<double>(exp_of(static_cast<float>(logprob)));
    // A token that p rules out adds nothing, whatever q says of it.
    if (weight == 0.0) continue;
    kl += weight * (logprob - (static_cast<double>(q[i]) - sum_q));
  }
  return static_cast<float>(std::max(kl, 0.0));  // rounding may take it just below 0
}

TokenId likeliest(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

// Describes the predictions of one layer. `last` are those of the whole model.
void describe(std::span<LensInspection> found, const Engine& engine, const Predictions& layer,
              const Predictions& last, std::size_t top) {
  const std::size_t vocab_size = last.of(0).size();
  std::vector<TokenLogprob> scores(found.size(), {0.0f, 0, std::vector<LikelyToken>(top)});
  std::vector<float> scratches(found.size() * vocab_size);
  engine.for_each(found.size(), [&](std::size_t i, int) {
    const std::span<float> scratch = std::span(scratches).subspan(i * vocab_size, vocab_size);
    write_logprob(scores[i], layer.of(i), likeliest(last.of(i)), scratch);
    found[i].kl = kl_divergence(last.of(i), layer.of(i), scratch);
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].top = std::move(scores[i].top);
    found[i].rank = scores[i].rank;
  }
}

}  // namespace

void inspect_predictions(Inspection& found, const Engine& engine, const PassRecord& pass,
                         std::span<const TokenId> tokens, const InspectOptions& options) {
  const Config& config = engine.model().config();
  const std::size_t n_layer = config.n_layer, count = tokens.size();
  const std::size_t top = std::min(options.top, config.vocab_size);
  found.lens.assign(n_layer + 1, std::vector<LensInspection>(count));
  found.scores = {{std::numeric_limits<float>::quiet_NaN(), 0, {}}};
  Predictions last(engine), layer(engine);
  for (std::size_t begin = 0; begin < count; begin += kTokens) {
    const std::size_t rows = std::min(kTokens, count - begin);
    const auto states = [&](ConstMatrix all) {
      return std::span(all.row(begin), rows * config.n_embd);
    };
    last.compute(states(pass.output()), false);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t token = begin + i;
      LogitContributions& contributions = found.contributions[token];
      contributions.target =
          options.targets.empty() ? likeliest(last.of(i)) : options.targets[token];
      contributions.logit = last.of(i)[static_cast<std::size_t>(contributions.target)];
      if (token + 1 < count) {
        found.scores.push_back(token_logprob(last.of(i), tokens[token + 1], top));
      }
    }
    for (std::size_t i = 0; i <= n_layer; ++i) {
      if (i < n_layer) layer.compute(states(pass.input(NormIndex::ln_1(i))), true);
      describe(std::span(found.lens[i]).subspan(begin, rows), engine, i < n_layer ? layer : last,
               last, top);
      if (options.progress) {
        const std::size_t passes = n_layer + 1;
        options.progress(share_of(begin * passes + rows * (i + 1), count * passes));
      }
    }
  }
}

}  // namespace gpt2
