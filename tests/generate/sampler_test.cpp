// Compares the logits processors with HuggingFace's: each one alone, and what they do in its
// generate(), which are the greedy texts and the scores of every entry of decoding/greedy and
// decoding/sampling. Scores are compared twice: with HuggingFace's own logits given to the sampler,
// which tests the processors alone, and with the logits of the engine. Also tests the draws.
#include "gpt2/sampler.h"

#include "generate/sampling/softmax.h"
#include "gpt2/error.h"
#include "gpt2/generate.h"
#include "support/golden.h"
#include "support/test.h"

namespace gpt2::test::sampler_test {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const test::Golden& processors() {
  static const test::Golden golden(std::filesystem::path(GPT2_TEST_DATA) /
                                   "oracle/cases/logits_processors/golden_439.json");
  return golden;
}

// The setting of a processor or of a chain of processors. Without `draws`, the scores are the ones
// of greedy decoding, which the filters do not change.
struct Setting {
  SamplingOptions options;
  SequenceLimits limits;
};

Setting setting_of(nlohmann::json params, bool draws) {
  if (!params.contains("top_k")) params["top_k"] = 0;
  params["do_sample"] = draws;
  return {
      config_of(params).sampling,
      {.eos_token_id = {params.value("eos_token_id", 210)},
       .prompt_length = params.value("begin_index", params.value("prompt_length", std::size_t{20})),
       .max_length = params.value("max_length", std::size_t{100}),
       .min_tokens_to_keep = params.value("min_tokens_to_keep", std::size_t{1})}};
}

// Token ids for sequences of any length. If no option reads the ids, only their number matters.
const std::vector<TokenId> kManyZeros(20000);
const std::span<const TokenId> kZeros = kManyZeros;

// The error in units of the result's last digit. A long double has 11 bits or more than a double,
// and the C library's expl() is off by a few units of them.
double ulps(double x) {
  const double found = exp_f64(x);
  const long double exact = std::exp(static_cast<long double>(x));
  const double ulp = std::nextafter(found, HUGE_VAL) - found;
  return std::abs(static_cast<double>((static_cast<long double>(found) - exact) / ulp));
}

}  // namespace

TEST_CASE("every processor keeps and changes the same scores as HuggingFace's") {
  std::set<std::string> compared;
  const auto& json = processors().json;
  const std::size_t rows = processors().shape("rows")[0], width = processors().shape("rows")[1];
  const std::vector<float> all_logits = processors().floats("rows");
  const std::vector<std::size_t> tied = json.at("tie_rows");
  const std::set<std::string> filters = {"temperature", "top_k",          "top_p",
                                         "typical_p",   "epsilon_cutoff", "eta_cutoff"};
  for (const auto& entry : json.at("processors")) {
    const std::string name = entry.at("name");
    INFO(entry.dump());
    nlohmann::json params = entry.at("params");
    if (name == "renormalize_logits") params["renormalize_logits"] = true;
    const auto [options, limits] = setting_of(params, filters.contains(name));
    const std::vector<float> all = processors().floats(entry.at("out"));
    for (std::size_t i = 0; i < rows; ++i) {
      INFO("row " << i);
      Sampler sampler(options, width, limits);
      const auto logits = row_of(all_logits, width, i);
      const auto actual = sampler.process(logits, test::ids_of(json.at("input_ids")[i]));
      const auto expected = row_of(all, width, i);
      const std::size_t count = entry.at("kept")[i];
      CHECK(kept(actual).size() == count);
      // Which of several equal logits top_p keeps depends on the sort order.
      if (name == "top_p" && std::find(tied.begin(), tied.end(), i) != tied.end()) continue;
      // HuggingFace rounds the logarithm of the sum differently. Powers are f64 in both.
      CHECK(difference(actual, expected, name == "renormalize_logits" ? 4e-6 : 0.0) == "");
      compared.insert(name);
    }
  }
  CHECK(compared.size() == 16);
}

TEST_CASE("the sets kept from GPT-2's vocabulary are HuggingFace's") {
  const auto& big = processors().json.at("big");
  const std::size_t width = processors().shape("big.rows")[1];
  const std::vector<float> all_logits = processors().floats("big.rows");
  for (const auto& entry : big.at("kept")) {
    const std::string name = entry.at("name");
    if (name != "top_k" && name != "top_p") continue;
    for (std::size_t i = 0; i < entry.at("ids").size(); ++i) {
      INFO(entry.at("params").dump() << " row " << i);
      const auto logits = row_of(all_logits, width, i);
      Sampler sampler(setting_of(entry.at("params"), true).options, width);
      const std::vector<std::size_t> actual = kept(sampler.process(logits, {}));
      std::vector<std::size_t> expected;
      for (const double id : processors().tensor(entry.at("ids")[i])) {
        expected.push_back(static_cast<std::size_t>(id));
      }
      std::ranges::sort(expected);
      // HuggingFace sums 50,257 probabilities in f32, one after another. So tokens whose cumulative
      // probability lies within about 1e-6 of the cut may differ.
      std::vector<std::size_t> different;
      std::set_symmetric_difference(actual.begin(), actual.end(), expected.begin(), expected.end(),
                                    std::back_inserter(different));
      double sum = 0.0;
      const float max = *std::max_element(logits.begin(), logits.end());
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit - max));
      double mass = 0.0;
      for (const std::size_t id : different)
        mass += std::exp(static_cast<double>(logits[id] - max)) / sum;
      CHECK(mass < 4e-6);
    }
  }
}

TEST_CASE("greedy takes the largest logit, and the first of several equal ones") {
  Sampler sampler({.temperature = 0.0f}, 5);
  CHECK(sampler.sample(std::vector<float>{1, 3, 2, 3, 0}, {}) == 1);
  CHECK(sampler.sample(std::vector<float>{-kInfinity, -1, -kInfinity, -2, -3}, {}) == 1);
}

TEST_CASE("tokens are drawn with their softmax probabilities") {
  const std::vector<float> logits = {0.0f, 1.0f, -1.0f, 2.0f, 0.5f, -3.0f, 0.0f};
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  constexpr std::size_t kDraws = 20000;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    Sampler sampler({.seed = seed}, logits.size());
    std::vector<double> counts(logits.size());
    for (std::size_t position = 0; position < kDraws; ++position) {
      ++counts[static_cast<std::size_t>(sampler.sample(logits, kZeros.first(position)))];
    }
    double chi_square = 0.0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double expected = kDraws * std::exp(static_cast<double>(logits[i])) / sum;
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    CHECK(chi_square < 22.46);  // 6 degrees of freedom, probability 0.001
  }
}

TEST_CASE("a draw depends only on seed, sequence, position and logits") {
  std::vector<float> logits(1000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 7) * 0.1f;
  const auto draws = [&](const SamplingOptions& options, bool backwards) {
    Sampler sampler(options, logits.size());
    std::vector<TokenId> ids(50);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::size_t position = backwards ? ids.size() - 1 - i : i;
      ids[position] = sampler.sample(logits, kZeros.first(position));
    }
    return ids;
  };
  const std::vector<TokenId> base = draws({.seed = 5}, false);
  CHECK(draws({.seed = 5}, false) == base);
  CHECK(draws({.seed = 5}, true) == base);
  CHECK(draws({.seed = 6}, false) != base);
  CHECK(draws({.seed = 5, .sequence = 1}, false) != base);
  CHECK(std::set<TokenId>(base.begin(), base.end()).size() > 40);
}

TEST_CASE("invalid options and logits are refused, and extreme ones are not") {
  for (const SamplingOptions& options : {SamplingOptions{.temperature = 1e-7f},
                                         {.temperature = std::nanf("")},
                                         {.top_p = std::nanf("")}}) {
    CHECK_THROWS_AS(Sampler(options, 3), Error);
  }
  for (const float top_p : {0.0f, 0.5f, 1.0f}) {  // dividing by the temperature overflows
    Sampler sampler({.temperature = 1e-6f, .top_p = top_p}, 3);
    CHECK(sampler.sample(std::vector<float>{-1e38f, 1e38f, 0}, {}) == 1);
    CHECK(sampler.sample(std::vector<float>{-1e38f, -3e38f, -1e38f}, {}) < 3);
    CHECK(sampler.sample(std::vector<float>{1.0f, 1.001f, 0}, {}) == 1);
  }
  for (const float temperature : {0.0f, 1.0f}) {
    Sampler sampler({.temperature = temperature, .top_k = 2, .top_p = 0.5f}, 3);
    for (const std::vector<float>& logits : {std::vector<float>{1, std::nanf(""), 2},
                                             {1, kInfinity, 2},
                                             std::vector<float>(3, -kInfinity),
                                             std::vector<float>(4)}) {
      CHECK_THROWS_AS(sampler.sample(logits, {}), Error);
    }
    CHECK(sampler.sample(std::vector<float>{-kInfinity, 1, -kInfinity}, {}) == 1);
  }
}

TEST_CASE("exp_f64 is within 1.5 ulp of the exact result, and right at the ends of its range") {
  std::mt19937_64 random(1);
  for (const double size : {1e-9, 0.35, 1.0, 20.0, 700.0}) {
    double worst = 0.0;
    for (int i = 0; i < 20000; ++i) {
      const double x = size * (static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
      worst = std::max(worst, ulps(x));
    }
    CAPTURE(size);
    CHECK(worst <= 1.5);
    CHECK(worst > 0.0);
  }
  for (const double x : {0.0, -0.0}) CHECK(exp_f64(x) == 1.0);
  CHECK(std::isnan(exp_f64(std::numeric_limits<double>::quiet_NaN())));
  CHECK(exp_f64(-744.4) == std::numeric_limits<double>::denorm_min());
  CHECK(exp_f64(709.79) == HUGE_VAL);
  CHECK(exp_f64(-800.0) == 0.0);
}

namespace {

// Processing multiplies the differences between two f32 computations of a logit by 10 at most (a
// temperature of 0.1). HuggingFace's own f32 differs from its f64 by up to 1.4e-5 here.
double tolerance_of(double f32_vs_f64) { return std::max(1e-4, 3.0 * f32_vs_f64); }

// Returns the logits after `ids`.
std::span<const float> logits_after(Session& session, std::span<const TokenId> ids) {
  session.rewind(0);
  return session.forward(ids);
}

void check_greedy_text(Session& session, const nlohmann::json& entry, SamplingOptions sampling) {
  const auto& arguments = entry.at("generate");
  const std::vector<TokenId> eos = eos_of(arguments.at("eos_token_id"));
  std::vector<TokenId> expected = ids_of(entry.at("new_ids"));
  const GenerationOptions options{.max_new_tokens = arguments.at("max_new_tokens"),
                                  .sampling = std::move(sampling),
                                  .stop_tokens = eos,
                                  .ignore_eos = true};
  session.rewind(0);
  const std::vector<TokenId> prompt = ids_of(entry.at("input_ids"));
  if (options.sampling.suppress_tokens.size() == session.model().config().vocab_size) {
    // HuggingFace writes the first token all the same.
    return check_bad_argument([&] { (void)generate(session, prompt, options, nullptr); },
                              {"no token"});
  }
  const auto result = generate(session, prompt, options, nullptr);
  const bool ended = !expected.empty() && std::ranges::count(eos, expected.back()) != 0;
  if (ended) expected.pop_back();  // GenerationResult::tokens does not have the token that ends
  CHECK(result.tokens == expected);
  CHECK((result.finish_reason == FinishReason::end_of_text) == ended);
}

void check_greedy_scores(std::optional<Session>& session, const Golden& golden,
                         const nlohmann::json& entry, const SamplingOptions& sampling) {
  const std::string processed_name = entry.at("processed");
  const std::size_t steps = golden.shape(processed_name)[0];
  const std::size_t width = golden.shape(processed_name)[1];
  const std::vector<float> raw = golden.floats(entry.at("logits"));
  const std::vector<float> processed = golden.floats(processed_name);
  const double tolerance = tolerance_of(entry.at("f32_vs_f64_logits_max_abs"));
  const std::vector<TokenId> eos = eos_of(entry.at("generate").at("eos_token_id"));
  std::vector<TokenId> ids = ids_of(entry.at("input_ids"));
  const std::size_t max_new_tokens = entry.at("generate").at("max_new_tokens");
  Sampler sampler(sampling, width,
                  {.eos_token_id = eos,
                   .prompt_length = ids.size(),
                   .max_length = ids.size() + max_new_tokens});
  for (std::size_t step = 0; step < steps; ++step) {
    INFO("step " << step);
    const auto expected = row_of(processed, width, step);
    CHECK(difference(sampler.process(row_of(raw, width, step), ids), expected, tolerance) == "");
    if (session) {
      CHECK(difference(sampler.process(logits_after(*session, ids), ids), expected, tolerance) ==
            "");
    }
    ids.push_back(entry.at("new_ids")[step]);
  }
}

}  // namespace

TEST_CASE("greedy texts and scores are those of HuggingFace's generate()") {
  Engines engines;
  std::size_t texts = 0, skipped = 0, scores = 0;
  for (const Golden& golden : decoding_goldens("greedy.json")) {
    for (const auto& entry : golden.json.at("entries")) {
      INFO(entry.at("id") << " of " << entry.at("model") << ": " << entry.at("generate"));
      const SamplingOptions sampling = config_of(entry.at("generate")).sampling;
      REQUIRE(sampling.temperature == 0.0f);
      REQUIRE(entry.at("robust").get<bool>());
      const Engine* const engine = engines.engine(golden, entry.at("model"));
      std::optional<Session> session;
      if (engine != nullptr) check_greedy_text(session.emplace(*engine), entry, sampling);
      ++(session ? texts : skipped);
      if (!entry.contains("processed")) continue;
      check_greedy_scores(session, golden, entry, sampling);
      ++scores;
    }
  }
  WARN("compared " << texts << " greedy texts, and the scores of " << scores << "; skipped "
                   << skipped << " texts whose checkpoint is missing");
  CHECK(texts >= 190);
  CHECK(scores >= 30);
}

TEST_CASE("the scores that tokens are drawn from are those of HuggingFace's generate()") {
  Engines engines;
  std::size_t alone = 0, whole = 0, skipped = 0;
  for (const Golden& golden : decoding_goldens("sampling.json")) {
    for (const auto& [name, model] : golden.json.at("per_model").items()) {
      const std::vector<TokenId> eos = eos_of(model.at("eos_token_id"));
      const std::string raw_name = model.at("raw");
      const std::vector<float> raw = golden.floats(raw_name);
      const std::size_t width = golden.shape(raw_name)[1];
      const double tolerance = tolerance_of(model.at("raw_f32_vs_f64_max_abs"));
      const Engine* const engine = engines.engine(golden, name);
      std::optional<Session> session;
      if (engine != nullptr) session.emplace(*engine);
      for (const auto& setting : model.at("settings")) {
        INFO(setting.at("id") << ": " << setting.at("generation_config"));
        nlohmann::json config = setting.at("generation_config");
        config["do_sample"] = true;
        const bool has_beams = config.contains("num_beams");
        Sampler sampler(config_of(config).sampling, width,
                        {.eos_token_id = eos,
                         .prompt_length = model.at("prompt_length"),
                         .max_length = model.at("max_length"),
                         .min_tokens_to_keep = has_beams ? eos.size() + 1 : 1});
        const std::vector<float> processed = golden.floats(setting.at("processed"));
        for (std::size_t i = 0; i < model.at("rows").size(); ++i) {
          INFO("row " << i);
          const auto& row = model.at("rows")[i];
          std::vector<TokenId> ids =
              ids_of(model.at("texts").at(row.at("text").get<std::size_t>()));
          ids.resize(row.at("pos"));
          const auto expected = row_of(processed, width, i);
          if (!setting.at("kept_robust")[i].get<bool>()) continue;
          const auto check = [&](std::span<const float> logits) {
            const auto actual = sampler.process(logits, ids);
            CHECK(kept(actual).size() == setting.at("kept")[i]);
            CHECK(difference(actual, expected, tolerance) == "");
          };
          check(row_of(raw, width, i));
          ++alone;
          if (session) check(logits_after(*session, ids));
          ++(session ? whole : skipped);
        }
      }
    }
  }
  WARN("compared " << alone << " rows of scores from HuggingFace's logits and " << whole
                   << " from the engine's; skipped " << skipped
                   << " rows of the latter whose checkpoint is missing");
  CHECK(alone >= 1050);
  CHECK(whole >= 770);
}

}  // namespace gpt2::test::sampler_test
