// Tests the log-probabilities of tokens: compares them with HuggingFace's and with their
// definition, also for generated texts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "generate/sampling/softmax.h"
#include "gpt2/generate.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/passes.h"

namespace gpt2::test::logprobs_test {

using namespace gpt2::test::bundled;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<TokenId> ids_in(const std::vector<LikelyToken>& top) {
  std::vector<TokenId> ids;
  for (const LikelyToken& token : top) ids.push_back(token.id);
  return ids;
}

// Checks a window of a golden: the log-probability of each of its tokens but the first, and the
// ranks.
void check_window(const Model& model, std::span<const TokenId> ids, const nlohmann::json& window,
                  const Golden& golden) {
  constexpr double kTolerance = 2e-4;  // the goldens state this tolerance for f32
  const std::vector<double> expected = golden.tensor(window.at("logprobs_f64"));
  const std::vector<double> ranks = golden.tensor(window.at("ranks"));
  const std::size_t vocab_size = model.config().vocab_size;
  Session session(model);
  const std::vector<float> logits = all_logits(session, ids);
  REQUIRE(expected.size() + 1 == ids.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TokenId token = ids[i + 1];
    const std::span<const float> row = row_of(logits, vocab_size, i);
    const TokenLogprob score = token_logprob(row, token, 0);
    CAPTURE(i, score.logprob, expected[i], score.rank, ranks[i]);
    CHECK(std::abs(static_cast<double>(score.logprob) - expected[i]) <= kTolerance);
    // The golden's rank may differ by those tokens whose logits are equal within the tolerance.
    const float logit = row[static_cast<std::size_t>(token)];
    const auto close = std::ranges::count_if(row, [&](float other) {
      return std::abs(static_cast<double>(other) - static_cast<double>(logit)) <= kTolerance;
    });
    CHECK(std::abs(static_cast<double>(score.rank) - ranks[i]) <= static_cast<double>(close - 1));
  }
}

}  // namespace

TEST_CASE("log-probabilities and ranks are HuggingFace's") {
  const Golden golden(std::filesystem::path(GPT2_TEST_DATA) / "oracle/scoring/scoring.json");
  std::size_t windows = 0;
  for (const nlohmann::json& entry : golden.json.at("logprobs")) {
    const std::string name = entry.at("model");
    const auto checkpoint = checkpoint_of(golden, name);
    if (!checkpoint) continue;
    const Model model = Model::load(*checkpoint);
    const std::vector<TokenId> ids = ids_of(entry.at("input_ids"));
    for (const nlohmann::json& window : entry.at("windows")) {
      const auto begin = window.at("begin").get<std::size_t>();
      const auto end = window.at("end").get<std::size_t>();
      CAPTURE(name, entry.at("text").get<std::string>(), begin);
      check_window(model, std::span(ids).subspan(begin, end - begin), window, golden);
      ++windows;
    }
  }
  CHECK(windows >= 11);  // the windows of the two models that are part of the repository
}

TEST_CASE("the top list is the beginning of the full order, and the rank is a place in it") {
  std::mt19937 random(1);
  std::vector<float> logits(997);
  // Few different values, so that many tokens have the same logit.
  for (float& logit : logits) logit = static_cast<float>(random() % 50);
  std::vector<TokenId> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<TokenId>(i);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; });
  for (const std::size_t top : {std::size_t{0}, std::size_t{1}, std::size_t{5}, logits.size()}) {
    const TokenLogprob score = token_logprob(logits, order[7], top);
    CHECK(score.rank == 7);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(top);
    CHECK(ids_in(score.top) == std::vector<TokenId>(order.begin(), end));
  }
}

TEST_CASE("extreme logits have log-probabilities, and those without a distribution have NaN") {
  const TokenLogprob removed =
      token_logprob(std::vector<float>{-kInfinity, 1.0f, -kInfinity}, 2, 3);
  CHECK(removed.logprob == -kInfinity);
  CHECK(removed.rank == 2);
  CHECK(ids_in(removed.top) == std::vector<TokenId>{1, 0, 2});
  CHECK(removed.top[0].logprob == 0.0f);
  const TokenLogprob huge = token_logprob(std::vector<float>{3e38f, -3e38f}, 1, 1);
  CHECK(huge.logprob == -kInfinity);
  CHECK(huge.top[0].logprob == 0.0f);

  std::vector<float> plain(40, 1.0f);
  for (const float bad : {kNan, kInfinity}) {
    for (const std::size_t place : {0u, 17u, 39u}) {
      std::vector<float> logits = plain;
      logits[place] = bad;
      CAPTURE(bad, place);
      const TokenLogprob score = token_logprob(logits, 1, 5);
      CHECK(std::isnan(score.logprob));
      CHECK(score.rank == 0);
      CHECK(score.top.empty());
    }
  }
  for (const float all : {kNan, kInfinity, -kInfinity}) {
    CHECK(std::isnan(token_logprob(std::vector<float>(40, all), 1, 5).logprob));
  }
}

namespace {

GenerationResult write(GenerationOptions options, std::size_t top,
                       std::size_t cancel_after = 1000) {
  options.top_logprobs = top;
  Session session(model());
  std::size_t calls = 0;
  return generate(session, tokenizer(), tokenizer().encode("One day, Tom"), options,
                  [&](std::string_view) { return ++calls < cancel_after; });
}

}  // namespace

TEST_CASE("each generated token has the log-probability that the model's own logits give it") {
  SamplingOptions sampling{.temperature = 3.0f, .top_k = 20, .seed = 4};
  sampling.repetition_penalty = 1.5f;
  const GenerationResult result = write({.max_new_tokens = 30, .sampling = sampling}, 3);
  REQUIRE(result.tokens.size() == 30);
  REQUIRE(result.logprobs.size() == 30);
  std::vector<TokenId> ids = tokenizer().encode("One day, Tom");
  const std::size_t first = ids.size() - 1;  // the row of logits that the first token is drawn from
  ids.insert(ids.end(), result.tokens.begin(), result.tokens.end());
  Session session(model());
  const std::vector<float> logits = all_logits(session, ids);
  bool all_likeliest = true;
  for (std::size_t i = 0; i < result.tokens.size(); ++i) {
    const auto row = row_of(logits, model().config().vocab_size, first + i);
    CHECK(same_bits(result.logprobs[i], token_logprob(row, result.tokens[i], 3)));
    all_likeliest = all_likeliest && result.logprobs[i].rank == 0;
  }
  CHECK_FALSE(all_likeliest);
}

}  // namespace gpt2::test::logprobs_test
