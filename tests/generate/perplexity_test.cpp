// Tests perplexities and their standard errors, and the cost of quantizing: their change, and the
// standard error of the change.
#include "gpt2/score.h"

#include <cmath>
#include <filesystem>
#include <vector>

#include "gpt2/session.h"
#include "support/bundled_model.h"
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
    const PerplexityComparison result =
        compare_perplexity(model, model, std::span(kText).first(count), kNoProgress);
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
  const PerplexityComparison result =
      compare_perplexity(a, b, text, [&](double share) { shares.push_back(share); });
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

namespace {

using Texts = std::vector<std::vector<TokenId>>;

// A score whose windows have these numbers of tokens and sums of -log p.
TextScore score_of(const std::vector<std::pair<std::size_t, double>>& windows) {
  TextScore text;
  text.tokens.resize(1);
  for (const auto& [tokens, nll] : windows) {
    const std::size_t first = text.tokens.size();
    text.windows.push_back({first - 1, first, first + tokens, tokens + (first == 1), nll});
    text.tokens.resize(first + tokens);
  }
  return text;
}

}  // namespace

TEST_CASE("perplexities and their standard errors equal those computed by hand") {
  // S / N = 6 / 4 = 1.5. The means of the windows are 1 and 2; their variance is 0.5, and the mean
  // of two windows has half of that. The derivative of exp multiplies the error by exp(1.5).
  const TextScore equal_lengths = score_of({{2, 2.0}, {2, 4.0}});
  const Perplexity found = perplexity({&equal_lengths, 1});
  CHECK(found.tokens == 4);
  CHECK(found.windows == 2);
  CHECK(found.nll == 6.0);
  CHECK(found.by_token.value == Approx(4.481689070338065).epsilon(1e-12));
  CHECK(found.by_token.standard_error == Approx(0.5 * 4.481689070338065).epsilon(1e-12));
  CHECK(found.hf_unweighted == Approx(4.481689070338065).epsilon(1e-12));
  CHECK(found.hf_weighted == Approx(std::exp(4.0 / 3.0)).epsilon(1e-12));  // weights 2 and 1
  CHECK(found.words == 0);
  CHECK(std::isnan(found.by_word.value));
  CHECK(std::isnan(found.bits_per_byte.value));

  // Windows of several texts count alike. D = 3.6 / 6; s - D n = 1.2, -0.6 and -0.6;
  // sqrt(3 / 2 * 2.16) / 6 = 0.3.
  const TextScore texts[] = {score_of({{3, 3.0}}), score_of({{1, 0.0}, {2, 0.6}})};
  const Perplexity several = perplexity(texts);
  CHECK(several.by_token.value == Approx(1.822118800390509).epsilon(1e-12));
  CHECK(several.by_token.standard_error == Approx(0.3 * 1.822118800390509).epsilon(1e-12));

  const TextScore one = score_of({{3, 6.0}});
  CHECK(std::isnan(perplexity({&one, 1}).by_token.standard_error));
  CHECK(std::isnan(perplexity({}).by_token.value));
}

TEST_CASE("words and bytes are those of the tokens that are scored") {
  const Tokenizer& tokenizer = bundled::tokenizer();
  const auto count = [&](const std::string& text) {
    const Texts ids = {tokenizer.encode(text)};
    const auto scores = score(Engine::shared(bundled::model()), ids);
    return perplexity(scores, ids, tokenizer);
  };
  const std::string text = "Once upon a time,\n\nthere  was\ta cat. ";
  const Perplexity found = count(text);
  const std::size_t unscored = tokenizer.bytes(tokenizer.encode(text).front()).size();
  CHECK(found.bytes == text.size() - unscored);
  CHECK(found.words == 7);  // all but Once
  const double bytes = static_cast<double>(found.bytes);
  CHECK(found.by_word.value == Approx(std::exp(found.nll / 7.0)).epsilon(1e-12));
  CHECK(found.by_byte.value == Approx(std::exp(found.nll / bytes)).epsilon(1e-12));
  CHECK(found.bits_per_byte.value == Approx(found.nll / std::log(2.0) / bytes).epsilon(1e-12));
  CHECK(std::isnan(found.by_byte.standard_error));
  // A word of several tokens counts once, where it begins.
  REQUIRE(tokenizer.encode("A xylophonist").size() > 3);
  CHECK(count("A xylophonist").words == 1);
  CHECK(count("xylophonist").words == 0);
  CHECK(count("").words == 0);

  // The standard error of a number by byte weights windows by their bytes.
  const std::vector<TokenId> ids = {tokenizer.encode("a").front(), tokenizer.encode(" cat").front(),
                                    tokenizer.encode(" a").front()};
  const Texts texts = {{ids[0], ids[1], ids[1], ids[2]}};
  const TextScore scored = score_of({{2, 6.0}, {1, 4.0}});
  const Perplexity by_hand = perplexity({&scored, 1}, texts, tokenizer);
  CHECK(by_hand.bytes == 10);
  CHECK(by_hand.words == 3);
  // S / B = 1; s - n S / B = -2 and 2; sqrt(2 * 8) / 10 = 0.4.
  CHECK(by_hand.by_byte.value == Approx(std::exp(1.0)).epsilon(1e-12));
  CHECK(by_hand.by_byte.standard_error == Approx(0.4 * std::exp(1.0)).epsilon(1e-12));
  CHECK(by_hand.bits_per_byte.standard_error == Approx(0.4 / std::log(2.0)).epsilon(1e-12));
}

}  // namespace gpt2::test::perplexity_test
