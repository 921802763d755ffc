#include "cli/bench/drafts.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/seconds_since.h"
#include "cli/bench/repetition.h"
#include "cli/terminal/console.h"
#include "gpt2/session.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kContext = 16;
constexpr std::size_t kMaxDrafted = 8;
static_assert(kContext + kMaxDrafted + 1 <= kDraftGainTokens);
constexpr double kShares[] = {0.7, 0.8, 0.9};  // of the drafted tokens that are accepted

// A text of kContext tokens, and the time that a pass over the next ones takes.
class Passes {
 public:
  explicit Passes(const Engine& engine)
      : session_(engine, {.max_tokens = kContext + kMaxDrafted + 1}),
        logits_((kMaxDrafted + 1) * engine.model().config().vocab_size) {
    session_.forward(std::vector<TokenId>(kContext));
    for (std::size_t tokens = 1; tokens <= kMaxDrafted + 1; ++tokens) time(tokens);  // warm up
  }

  /// Returns the seconds of a pass over this many tokens that computes the logits of each.
  double time(std::size_t tokens) {
    session_.rewind(kContext);
    const std::size_t floats = logits_.size() / (kMaxDrafted + 1) * tokens;
    const Slice slice{&session_, std::span(ids_).first(tokens), std::span(logits_).first(floats)};
    const auto start = std::chrono::steady_clock::now();
    forward({&slice, 1});
    return seconds_since(start);
  }

 private:
  Session session_;
  std::vector<TokenId> ids_ = std::vector<TokenId>(kMaxDrafted + 1);
  std::vector<float> logits_;
};

// Chooses how many tokens to draft if each is accepted with probability p. A pass over k drafted
// tokens writes 1 + p + ... + p^k tokens on average.
Json best_gain(double p, double plain, double draft, std::span<const double> check) {
  Json best = {{"accepted", p}, {"drafted", 0}, {"gain", 1.0}};
  double written = 1.0;
  double power = 1.0;  // p^k
  for (std::size_t k = 1; k <= check.size(); ++k) {
    power *= p;
    written += power;
    const double gain = written * plain / (static_cast<double>(k) * draft + check[k - 1]);
    if (gain > best["gain"].get<double>()) best.update({{"drafted", k}, {"gain", gain}});
  }
  return best;
}

}  // namespace

Json draft_gain(const Engine& engine, const Engine& draft, std::size_t repetitions) {
  constexpr std::size_t kRounds = 4;
  Passes passes(engine);
  Passes drafts(draft);
  std::vector<double> drafting;
  std::vector<std::vector<double>> checking(kMaxDrafted + 1);  // [0] is a plain pass
  for (std::size_t round = 0; round < kRounds * repetitions; ++round) {
    for (std::size_t k = 0; k <= kMaxDrafted; ++k) {  // in the order of decoding, for the caches
      for (std::size_t i = 0; i < k; ++i) drafting.push_back(drafts.time(1));
      checking[k].push_back(passes.time(k + 1));
    }
  }
  std::vector<double> check;
  for (const auto& seconds : checking) check.push_back(median(seconds));
  const double plain = check.front();
  check.erase(check.begin());
  const double drafted = median(drafting);
  Json gains = Json::array();
  for (const double share : kShares) gains.push_back(best_gain(share, plain, drafted, check));
  return {{"workload", "writing with int4 drafts"},
          {"phase", "draft"},
          {"context", kContext},
          {"plain_seconds", plain},
          {"draft_seconds", drafted},
          {"check_seconds", check},
          {"gains", gains}};
}

std::string draft_gain_in_words(const Json& row) {
  std::string times;
  std::string shares;
  for (const Json& gain : row["gains"]) {
    const char* const comma = times.empty() ? "" : ", ";
    times += format("%s%.2f", comma, gain["gain"].get<double>());
    shares += format("%s%.0f", comma, 100.0 * gain["accepted"].get<double>());
  }
  return format("  %-30s %s times as fast if %s %%\n%33sof the drafts are accepted\n",
                row["workload"].get<std::string>().c_str(), times.c_str(), shares.c_str(), "");
}

}  // namespace gpt2::cli
