// Tests the log-probabilities of tokens, also of generated texts: compares them with HuggingFace's
// and with their definition. Tests perplexities and their standard errors, and the cost of
// quantizing: their change, and the standard error of the change.
#include "generate/sampling/softmax.h"
#include "gpt2/generate.h"
#include "gpt2/score.h"
#include "gpt2/session.h"
#include "support/bundled_model.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/test.h"

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

GenerationResult write(GenerationOptions options, std::size_t top,
                       std::size_t cancel_after = 1000) {
  options.top_logprobs = top;
  Session session(model());
  std::size_t calls = 0;
  return generate(session, tokenizer(), tokenizer().encode("One day, Tom"), options,
                  [&](std::string_view) { return ++calls < cancel_after; });
}

// Returns a model with n_positions 64 and vocab_size 211.
Model tiny_model(WeightType dtype = WeightType::stored) {
  return Model::load(std::filesystem::path(GPT2_TEST_DATA) / "oracle/cases/tiny_default",
                     {.dtype = dtype});
}

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

TEST_CASE("comparing two models window by window gives the same as the naive computation") {
  const Model a = tiny_model();
  const Model b = tiny_model(WeightType::int4);
  const std::vector<TokenId> ids = random_tokens(a, 172, 1);
  const std::span<const TokenId> text = ids;
  std::vector<double> shares;
  const PerplexityComparison result = compare_perplexity(
      Engine(a), Engine(b), text, [&](double share) { shares.push_back(share); });
  CHECK(std::ranges::is_sorted(shares));
  CHECK(std::ranges::count(shares, 0.5) == 1);
  CHECK(shares.back() == 1.0);

  CHECK(result.tokens == 171);
  CHECK(result.windows == 5);
  CHECK(result.perplexity[1] / result.perplexity[0] == Approx(result.change + 1));

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
  // The logits have the same bits. A float sum of 211 exponentials errs by up to 16 units of 2^-24,
  // and each log-probability is rounded to a float.
  CHECK(result.change == Approx(std::exp(mean) - 1).margin(2e-6));
  CHECK(result.standard_error == Approx(std::exp(mean) * std::sqrt(variance)).margin(2e-6));
}

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

}  // namespace gpt2::test::logprobs_test
