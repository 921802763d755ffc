// Tests the cost of quantizing: perplexities, their change, and the standard error of the change.
#include "gpt2/score.h"

#include <cmath>
#include <filesystem>
#include <vector>

#include "gpt2/session.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace gpt2::test::perplexity_test {

namespace {

// Returns a model with n_positions 64 and vocab_size 211.
Model tiny_model(WeightType dtype = WeightType::stored) {
  return Model::load(std::filesystem::path(GPT2_TEST_DATA) / "oracle/cases/tiny_default",
                     {.dtype = dtype});
}

// 172 random ids. The tests below compare with what HuggingFace's GPT2LMHeadModel gives for them in
// float64, by the recipe in its documentation on perplexity, with windows of 64 tokens that begin
// 32 apart.
const std::vector<TokenId> kText = {
    51,  41,  109, 199, 29,  35,  3,   40,  22,  145, 65,  139, 132, 91,  198, 114, 95,  17,
    12,  59,  97,  62,  40,  43,  55,  192, 68,  166, 165, 98,  41,  47,  113, 175, 174, 183,
    72,  28,  139, 209, 37,  96,  176, 159, 12,  78,  188, 208, 38,  19,  6,   135, 25,  59,
    184, 36,  25,  72,  142, 55,  95,  145, 156, 123, 62,  108, 197, 58,  5,   70,  134, 159,
    68,  159, 196, 114, 143, 59,  185, 102, 83,  65,  126, 51,  161, 48,  50,  77,  202, 13,
    48,  23,  189, 145, 132, 118, 126, 136, 171, 15,  187, 25,  3,   200, 203, 174, 95,  114,
    121, 56,  1,   184, 149, 171, 38,  71,  5,   49,  147, 110, 147, 57,  72,  100, 155, 20,
    200, 104, 10,  35,  93,  56,  110, 129, 104, 13,  18,  15,  85,  50,  72,  154, 71,  28,
    37,  39,  185, 104, 180, 136, 85,  47,  179, 55,  74,  198, 41,  152, 121, 146, 137, 51,
    194, 72,  132, 195, 99,  155, 77,  63,  25,  206};

const auto kNoProgress = [](double) {};

// Returns -log p of window[first ...], computed in double from one token at a time.
double naive_nll(const Model& model, std::span<const TokenId> window, std::size_t first) {
  Session session(model);
  double nll = 0.0;
  for (std::size_t i = 0; i + 1 < window.size(); ++i) {
    const std::span<const float> logits = session.forward(window.subspan(i, 1));
    if (i + 1 < first) continue;
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    nll += std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(window[i + 1])]);
  }
  return nll;
}

}  // namespace

TEST_CASE("perplexity by windows equals HuggingFace's") {
  const Model model = tiny_model();
  const auto check = [&](std::size_t count, std::size_t windows, double perplexity) {
    const PerplexityComparison result = compare_perplexity(model, model, std::span(kText).first(count), kNoProgress);
    CHECK(result.tokens == count - 1);
    CHECK(result.windows == windows);
    // A mean negative log-likelihood has the error of a logit, which is 5e-6 in HuggingFace's own
    // float32.
    CHECK(result.perplexity[0] == Approx(perplexity).epsilon(2e-5));
    CHECK(result.perplexity[1] == result.perplexity[0]);
    CHECK(result.change == 0.0);
    CHECK(result.max_logit_change == 0.0);
    CHECK(std::isnan(result.standard_error) == (windows == 1));
  };
  check(61, 1, 11357.340689216051);  // shorter than a window
  check(96, 2, 8767.130640028034);   // ends with a window
  check(172, 5, 9580.904632343118);  // ends inside a window
}

TEST_CASE("comparing two models window by window gives the same as the naive computation") {
  const Model a = tiny_model();
  const Model b = tiny_model(WeightType::int4);
  const std::span<const TokenId> text = kText;
  std::vector<double> shares;
  const PerplexityComparison result = compare_perplexity(a, b, text, [&](double share) { shares.push_back(share); });
  CHECK(shares == std::vector<double>{64.0 / 172, 96.0 / 172, 128.0 / 172, 160.0 / 172, 1.0});

  const double tokens[] = {63, 32, 32, 32, 12};
  double difference[5];
  double total = 0.0;
  for (std::size_t w = 0; w < 5; ++w) {
    const auto window = text.subspan(32 * w, std::min<std::size_t>(64, 172 - 32 * w));
    const std::size_t first = w == 0 ? 1 : 32;
    difference[w] = naive_nll(b, window, first) - naive_nll(a, window, first);
    total += difference[w];
  }
  const double mean = total / 171;
  double variance = 0.0;
  for (std::size_t w = 0; w < 5; ++w) {
    variance += 5.0 / 4.0 * std::pow((difference[w] - mean * tokens[w]) / 171, 2);
  }
  CHECK(std::abs(mean) > 1e-3);  // large enough to notice a wrong result
  // The logits have the same bits. A float sum of 211 exponentials errs by up to 16 units of 2^-24.
  CHECK(result.change == Approx(std::exp(mean) - 1).margin(2e-6));
  CHECK(result.standard_error == Approx(std::exp(mean) * std::sqrt(variance)).margin(2e-6));
  CHECK(result.max_logit_change > 0.0);
}

TEST_CASE("comparing refuses tokens outside the vocabulary and a text of one token") {
  const Model model = tiny_model();
  const auto refuses = [&](const std::vector<TokenId>& text, const char* what, const char* found) {
    check_bad_argument([&] { static_cast<void>(compare_perplexity(model, model, text)); },
                       {what, found});
  };
  refuses({-1, 1, 1}, "token 1", "0 to 210, got -1");
  refuses({1, 1, 211}, "token 3", "0 to 210, got 211");
  refuses({1}, "two tokens", "1");
}

}  // namespace gpt2::test::perplexity_test
