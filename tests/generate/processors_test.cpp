// Compares what the logits processors do with HuggingFace's generate(): greedy texts, and the
// scores after all processors, of every entry of decoding/greedy and decoding/sampling.
//
// Scores are compared twice: with HuggingFace's own logits given to the sampler, which tests the
// processors alone, and with the logits of the engine.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gpt2/generate.h"
#include "support/catch.h"
#include "support/decoding_goldens.h"

namespace gpt2::test::processors_test {

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
  GenerationOptions options{.max_new_tokens = arguments.at("max_new_tokens"),
                            .sampling = std::move(sampling),
                            .stop_tokens = eos,
                            .ignore_eos = true};
  if (entry.contains("nan_steps")) {
    // At this step, HuggingFace turns the score of a removed end-of-text token into NaN and then
    // chooses this token. Our processor leaves it removed.
    expected.resize(entry.at("nan_steps").at(0));
    options.max_new_tokens = expected.size();
  }
  session.rewind(0);
  const auto result = generate(session, ids_of(entry.at("input_ids")), options, nullptr);
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
  const auto nan_steps = entry.value("nan_steps", std::vector<std::size_t>());
  for (std::size_t step = 0; step < steps; ++step) {
    INFO("step " << step);
    const bool has_nan = std::ranges::count(nan_steps, step) != 0;
    const auto expected = row_of(processed, width, step);
    const auto ignored = has_nan ? eos : std::vector<TokenId>();
    CHECK(difference(sampler.process(row_of(raw, width, step), ids), expected, tolerance,
                     ignored) == "");
    if (session) {
      CHECK(difference(sampler.process(logits_after(*session, ids), ids), expected, tolerance,
                       ignored) == "");
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
  CHECK(texts >= 120);
  CHECK(scores >= 33);
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
          REQUIRE(setting.at("kept_robust")[i].get<bool>());
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
  CHECK(alone >= 846);
  CHECK(whole >= 564);
}

}  // namespace gpt2::test::processors_test
