// Compares the whole model with HuggingFace's own outputs, for every folder that oracle_cases()
// finds. embed_test compares the hidden states.
#include "gpt2/session.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::oracle_test {

namespace {

// Two f32 computations of the same logit differ by their rounding errors. A logit is a sum of K
// products in some order, so each layer on the way adds an error of up to about sqrt(K) u times the
// size of the terms, with u = 2^-24 and random signs. The terms are about as large as the logits.
// These models have K <= 320 and up to 5 layers of 4 products, so the error is about
// 20 * 18 * 6e-8 = 2e-5 of the range of the logits. HuggingFace's own f32 differs from its f64 by a
// third of that.
constexpr double kLogitTolerance = 2e-5;

double worst_difference(std::span<const float> actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
    REQUIRE(std::isfinite(difference));
    worst = std::max(worst, difference);
  }
  return worst;
}

TokenId greedy(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double check_prompts(const Model& model, const Golden& golden) {
  double worst = 0.0;
  for (const auto& prompt : golden.json.at("prompts")) {
    INFO("prompt " << prompt.at("name").get<std::string>());
    Session session(model);
    const std::vector<float> logits = all_logits(session, test::ids_of(prompt.at("input_ids")));
    const std::vector<double> expected = golden.tensor(prompt.at("logits"));
    const double range = test::range_of(expected);
    const double difference = worst_difference(logits, expected);
    CHECK(difference <= kLogitTolerance * range);
    worst = std::max(worst, difference / range);
  }
  return worst;
}

bool is_plain(const nlohmann::json& entry) {
  for (const char* key : {"repetition_penalty", "no_repeat_ngram_size", "bad_words_ids",
                          "min_length", "min_new_tokens"}) {
    if (entry.contains(key)) return false;
  }
  return true;
}

// Continues with the likeliest tokens: `count` of them, or up to `eos`.
std::vector<TokenId> greedy_ids(Session& session, std::span<const float> logits, std::size_t count,
                                const nlohmann::json& eos = nullptr) {
  std::vector<TokenId> ids;
  while (true) {
    ids.push_back(greedy(logits));
    if (ids.size() == count || (eos.is_number() && ids.back() == eos.get<TokenId>())) return ids;
    logits = session.forward(std::span(&ids.back(), 1));
  }
}

std::size_t check_greedy(const Model& model, const Golden& golden) {
  std::size_t compared = 0;
  for (const auto& entry : golden.json.at("greedy")) {
    if (!is_plain(entry)) continue;
    INFO(entry.dump());
    Session session(model);
    const std::span<const float> logits = session.forward(test::ids_of(entry.at("input_ids")));
    CHECK(greedy_ids(session, logits, entry.at("max_new_tokens"), entry.at("eos_token_id")) ==
          test::ids_of(entry.at("new_ids")));
    ++compared;
  }
  return compared;
}

// HuggingFace pads a batch on the left. Here, each row is read alone, without the padding;
// ragged_test shows that a batch gives the same.
void check_padded_batch(const Model& model, const Golden& golden) {
  if (!golden.json.contains("left_padded_batch")) return;
  const auto& batch = golden.json["left_padded_batch"];
  const std::vector<double> all = golden.tensor(batch.at("logits"));
  const std::size_t vocab_size = model.config().vocab_size;
  for (std::size_t i = 0; i < batch.at("input_ids").size(); ++i) {
    std::vector<TokenId> ids = test::ids_of(batch["input_ids"][i]);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>((i + 1) * ids.size() * vocab_size);
    const std::vector<TokenId> mask = test::ids_of(batch.at("attention_mask")[i]);
    ids.erase(ids.begin(), ids.begin() + std::count(mask.begin(), mask.end(), 0));
    Session session(model);
    const std::vector<float> logits = all_logits(session, ids);
    const std::vector<double> expected(end - static_cast<std::ptrdiff_t>(logits.size()), end);
    CHECK(worst_difference(logits, expected) <= kLogitTolerance * test::range_of(expected));
    const std::vector<TokenId> new_ids = test::ids_of(batch.at("greedy_new_ids")[i]);
    CHECK(greedy_ids(session, std::span(logits).last(vocab_size), new_ids.size()) == new_ids);
  }
}

}  // namespace

TEST_CASE("logits and greedy ids equal HuggingFace's") {
  std::size_t greedy_runs = 0;
  std::size_t cases = 0;
  double worst = 0.0;
  for (const std::filesystem::path& directory : test::oracle_cases()) {
    INFO(directory.filename().string());
    const Golden golden(directory / "golden.json");
    if (!golden.json.contains("prompts")) continue;
    const Model model = Model::load(directory);
    worst = std::max(worst, check_prompts(model, golden));
    greedy_runs += check_greedy(model, golden);
    check_padded_batch(model, golden);
    ++cases;
  }
  WARN("compared " << cases << " cases and " << greedy_runs
                   << " greedy runs with HuggingFace; worst "
                   << "logit difference " << worst << " of the logits' range");
  CHECK(cases >= 40);
}

}  // namespace gpt2::test::oracle_test
