// Compares beam search with HuggingFace's generate(): the sequences, their scores and the beams
// after each step, of every entry of decoding/beams.
#include "gpt2/beam_search.h"

#include "generate/beams/beams.h"
#include "support/golden.h"
#include "support/test.h"

namespace gpt2::test::beam_search_test {

namespace {

// A score is a sum of at most 18 log-probabilities, divided by at least 1. HuggingFace's f32 and
// f64 differ by up to 1.4e-5 in one log-probability.
constexpr double kTolerance = 2e-4;

// HuggingFace gives a sum below this to beams that do not exist yet, and after the last step, to
// those that have ended. Their order, and with it their parents, depends on torch.
constexpr double kUnborn = -1e8;

// The beams after each step: (steps, num_beams).
struct Steps {
  std::vector<double> tokens, parents, scores;
  std::size_t num_beams = 0;
};

struct Search {
  std::vector<BeamSequence> sequences;
  Steps steps;
};

BeamSearchOptions options_of(const nlohmann::json& arguments) {
  const GenerationConfig config = config_of(arguments);
  BeamSearchOptions options;
  options.beams = config.beams;
  options.sampling = config.sampling;
  options.max_new_tokens = *config.max_new_tokens;
  options.stop_tokens = eos_of(arguments.at("eos_token_id"));
  options.ignore_eos = true;
  return options;
}

Search search(const Engine& engine, const nlohmann::json& entry) {
  Search found;
  BeamSearchOptions options = options_of(entry.at("generate"));
  options.on_step = [&](const BeamStep& seen) {
    const auto& step = static_cast<const WholeBeamStep&>(seen);
    Steps& steps = found.steps;
    steps.num_beams = step.tokens.size();
    steps.tokens.insert(steps.tokens.end(), step.tokens.begin(), step.tokens.end());
    steps.scores.insert(steps.scores.end(), step.sums.begin(), step.sums.end());
    for (const std::size_t parent : step.parents) {
      steps.parents.push_back(static_cast<double>(parent));
    }
    return true;
  };
  found.sequences = beam_search(engine, ids_of(entry.at("input_ids")), options);
  return found;
}

Steps steps_of(const Golden& golden, const nlohmann::json& entry) {
  const auto& names = entry.at("steps");
  return {.tokens = golden.tensor(names.at("tokens")),
          .parents = golden.tensor(names.at("parents")),
          .scores = golden.tensor(names.at("scores")),
          .num_beams = golden.shape(names.at("scores"))[1]};
}

// transformers 4.39 chose the same beams in each step, but could end in another step.
void check_steps(const Steps& actual, const Steps& expected, bool is_today) {
  REQUIRE(actual.num_beams == expected.num_beams);
  if (is_today) REQUIRE(actual.scores.size() == expected.scores.size());
  const std::size_t count = std::min(actual.scores.size(), expected.scores.size());
  for (std::size_t i = 0; i < count; ++i) {
    INFO("step " << i / expected.num_beams << ", beam " << i % expected.num_beams);
    const double score = expected.scores[i];
    if (score < kUnborn) continue;
    CHECK((actual.scores[i] == score || std::abs(actual.scores[i] - score) <= kTolerance));
    CHECK(actual.tokens[i] == expected.tokens[i]);
    CHECK(actual.parents[i] == expected.parents[i]);
  }
}

// HuggingFace's row shows the token that ended the sequence, and then pads.
void check_sequence(const BeamSequence& actual, std::vector<TokenId> row,
                    const nlohmann::json& arguments, bool fills_context) {
  const std::vector<TokenId> eos = eos_of(arguments.at("eos_token_id"));
  FinishReason reason = fills_context ? FinishReason::context_full : FinishReason::length;
  std::optional<TokenId> end_token;
  const auto end = std::ranges::find_first_of(row, eos);
  if (end != row.end()) {
    end_token = *end;
    row.erase(end, row.end());
    reason = FinishReason::end_of_text;
  }
  CHECK(actual.tokens == row);
  CHECK(actual.end_token == end_token);
  CHECK(name_of(actual.finish_reason) == name_of(reason));
}

void check_sequences(const std::vector<BeamSequence>& actual, const Golden& golden,
                     const nlohmann::json& entry) {
  const auto& rows = entry.at("new_ids");
  const auto& arguments = entry.at("generate");
  const std::size_t n_positions = golden.json.at("models").at(entry.at("model")).at("n_positions");
  const std::size_t max_length =
      entry.at("input_ids").size() + arguments.at("max_new_tokens").get<std::size_t>();
  REQUIRE(actual.size() == rows.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("sequence " << i);
    check_sequence(actual[i], ids_of(rows[i]), arguments, max_length > n_positions);
    const auto& scores = entry.at("sequences_scores");
    if (!scores.is_null()) CHECK(std::abs(actual[i].score - scores[i].get<double>()) <= kTolerance);
  }
}

}  // namespace

TEST_CASE("beams, sequences and scores are those of HuggingFace's generate()") {
  Engines engines;
  std::size_t robust = 0, others = 0, greedy = 0, skipped = 0;
  for (const Golden& golden : decoding_goldens("beams.json")) {
    for (const auto& entry : golden.json.at("entries")) {
      INFO(entry.at("id") << " of " << entry.at("model") << ": " << entry.at("generate"));
      const Engine* const engine = engines.engine(golden, entry.at("model"));
      if (engine == nullptr) {
        ++skipped;
        continue;
      }
      const Search found = search(*engine, entry);
      check_sequences(found.sequences, golden, entry);
      if (!entry.contains("steps")) {  // HuggingFace decodes greedily with one beam
        ++greedy;
        continue;
      }
      const bool is_today = golden.json.at("version").get<std::string>().starts_with("5.");
      check_steps(found.steps, steps_of(golden, entry), is_today);
      ++(entry.at("robust").get<bool>() ? robust : others);
    }
  }
  WARN("compared " << robust << " robust searches and " << others << " others with all steps, and "
                   << greedy << " searches with one beam without steps; skipped " << skipped
                   << " whose checkpoint is missing");
  CHECK(robust >= 240);
  CHECK(greedy >= 4);
}

}  // namespace gpt2::test::beam_search_test
