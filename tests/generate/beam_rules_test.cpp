// The rules of beam search that HuggingFace's results do not show: refusals, cancelling, ties,
// extreme scores, and one answer on every machine.
#include <numeric>

#include "base/hash.h"
#include "cli/bench/random_model.h"
#include "generate/beams/beams.h"
#include "gpt2/beam_search.h"
#include "gpt2/runtime.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::beam_rules_test {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const std::filesystem::path kTiny =
    std::filesystem::path(GPT2_TEST_DATA) / "oracle/cases/tiny_default";
const std::vector<TokenId> kPrompt = {24, 0, 160, 130, 157, 190, 10};

const Engine& tiny() {
  static const Engine engine(Model::load(kTiny), {.threads = 1});
  return engine;
}

// Options for the tiny model, whose searches do not end by themselves.
BeamSearchOptions options_with(const BeamOptions& beams, std::size_t max_new_tokens = 6) {
  return {.beams = beams, .max_new_tokens = max_new_tokens, .ignore_eos = true};
}

std::vector<TokenId> first_of(const std::vector<BeamSequence>& sequences) {
  REQUIRE(!sequences.empty());
  return sequences.front().tokens;
}

Config small_config() {
  return {.vocab_size = 8, .n_positions = 16, .n_embd = 16, .n_layer = 1, .n_head = 2};
}

}  // namespace

TEST_CASE("options and prompts that leave nothing to search are refused") {
  const BeamSearchOptions plain = options_with({.num_beams = 2});
  BeamSearchOptions penalized = plain;
  penalized.sampling.repetition_penalty = 0.0f;
  BeamSearchOptions all_stop = plain;
  all_stop.stop_tokens.resize(211);
  std::iota(all_stop.stop_tokens.begin(), all_stop.stop_tokens.end(), 0);
  const struct {
    BeamSearchOptions options;
    std::vector<TokenId> prompt;
    std::string name, found;
  } cases[] = {
      {options_with({.num_beams = 2, .num_return_sequences = 3}), kPrompt, "num_return_sequences",
       "got 3"},
      {options_with({.num_beams = 2, .length_penalty = std::nan("")}), kPrompt, "length_penalty",
       "-20 to 20"},
      {options_with({.num_beams = 2, .early_stopping = static_cast<EarlyStopping>(99)}), kPrompt,
       "early_stopping", "99"},
      {plain, {}, "prompt", "no tokens"},
      {plain, std::vector<TokenId>(65, 1), "65 tokens", "64 positions"},
      {plain, {1, 211}, "token id 211", "vocabulary of 211"},
      {options_with({.num_beams = 2}, 0), kPrompt, "max_new_tokens", "got 0"},
      {penalized, kPrompt, "repetition_penalty", "got 0"},
      {all_stop, kPrompt, "211 tokens", "end a sequence"},
  };
  for (const auto& one : cases) {
    check_bad_argument([&] { static_cast<void>(beam_search(tiny(), one.prompt, one.options)); },
                       {one.name, one.found});
  }
  all_stop.stop_tokens.back() = 300;  // so that one token is left
  CHECK_NOTHROW(beam_search(tiny(), kPrompt, all_stop));
}

TEST_CASE("one answer for all instruction sets and threads") {
  const std::string before(isa_name());
  Config config = small_config();
  config.vocab_size = 1003;
  config.n_embd = 94;
  config.n_inner = 301;
  const Model model = random_model(config, {});
  const std::vector<TokenId> prompt = {1, 1002, 77, 3};
  std::size_t runs = 0;
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    for (const int threads : {1, 2, 3}) {
      BeamSearchOptions options =
          options_with({.num_beams = 6, .num_return_sequences = 6, .length_penalty = 0.7});
      options.sampling.repetition_penalty = 1.1f;
      options.stop_tokens.resize(60);
      std::iota(options.stop_tokens.begin(), options.stop_tokens.end(), 0);
      std::uint64_t hash = 0;
      options.on_step = [&](const BeamStep& step) {
        hash = hash_floats(static_cast<const WholeBeamStep&>(step).sums, hash);
        return true;
      };
      const auto sequences = beam_search(Engine(model, {.threads = threads}), prompt, options);
      for (const BeamSequence& found : sequences) {
        float halves[2];
        std::memcpy(halves, &found.score, sizeof found.score);
        hash = hash_floats(halves, hash);
        for (const TokenId token : found.tokens)
          hash = hash * 31 + static_cast<std::uint64_t>(token);
      }
      INFO(isa << ", " << threads << " threads");
      // The hash is the same on every machine; tools/test.sh --aarch64 compares it on Arm.
      CHECK(hash == 0x258febaf834258ef);
      ++runs;
    }
  }
  force_isa(before);
  CHECK(runs == 3 * available_isas().size());
}

TEST_CASE("a search can be watched and ended") {
  BeamSearchOptions options = options_with({.num_beams = 3, .num_return_sequences = 3});
  std::vector<TokenId> best;
  std::vector<std::size_t> read_tokens;
  std::size_t steps = 0;
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    CHECK(total == kPrompt.size());
    read_tokens.push_back(read);
    return true;
  };
  options.on_step = [&](const BeamStep& step) {
    CHECK(step.new_tokens == ++steps);
    best.assign(step.best.begin(), step.best.end());
    CHECK(best.size() == steps);
    CHECK(best.back() == step.tokens.front());
    const auto sums = static_cast<const WholeBeamStep&>(step).sums;
    CHECK(std::ranges::is_sorted(sums, std::greater<float>()));
    return steps < 4;
  };
  const auto cancelled = beam_search(tiny(), kPrompt, options);
  CHECK(read_tokens == std::vector<std::size_t>{0, kPrompt.size()});
  CHECK(steps == 4);
  CHECK(first_of(cancelled) == best);
  for (const BeamSequence& sequence : cancelled) {
    CHECK(sequence.finish_reason == FinishReason::cancelled);
    CHECK(sequence.tokens.size() == 4);
  }
  options.on_step = nullptr;
  options.max_new_tokens = 4;
  const auto whole = beam_search(tiny(), kPrompt, options);
  CHECK(first_of(whole) == best);
  CHECK(whole.front().finish_reason == FinishReason::length);

  options.on_step = [](const BeamStep&) -> bool { throw 1; };
  CHECK_THROWS_AS(beam_search(tiny(), kPrompt, options), int);
  options.on_prompt = [](std::size_t read, std::size_t) { return read == 0; };
  CHECK(beam_search(tiny(), kPrompt, options).empty());
}

TEST_CASE("NaN logits are refused, or replaced where the options say so") {
  const TemporaryDirectory directory;
  std::filesystem::copy(kTiny, directory.path(), std::filesystem::copy_options::recursive);
  {
    std::fstream file(directory.path() / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2000, std::ios::end);
    file << std::string(2000, '\xff');  // NaN in f32
  }
  const Engine engine(Model::load(directory.path() / "model.safetensors"), {.threads = 1});
  BeamSearchOptions options = options_with({.num_beams = 20, .num_return_sequences = 20}, 1);
  check_bad_argument([&] { static_cast<void>(beam_search(engine, kPrompt, options)); },
                     {"logits", "NaN"});
  options.sampling.remove_invalid_values = true;
  // All sums are 0, so the lowest tokens are kept. Of equal sequences, the first one comes first.
  TokenId expected = 0;
  for (const BeamSequence& sequence : beam_search(engine, kPrompt, options)) {
    CHECK(sequence.tokens == std::vector<TokenId>{expected++});
    CHECK(sequence.score == 0.0);
  }
  CHECK(expected == 20);
}

TEST_CASE("infinite scores of the caller's functions make no NaN") {
  for (const float first : {kInfinity, -kInfinity}) {
    for (const float later : {kInfinity, -kInfinity, 0.0f}) {
      BeamSearchOptions options =
          options_with({.num_beams = 3, .num_return_sequences = 3, .length_penalty = -20.0}, 4);
      const auto processor = [&](std::span<float> scores, std::span<const TokenId> ids) {
        std::ranges::fill(scores, -kInfinity);
        scores[3] = ids.size() < kPrompt.size() + 2 ? first : later;
      };
      options.sampling.processors = {processor};
      INFO(first << ", then " << later);
      if (first == -kInfinity || later == -kInfinity) {
        check_bad_argument([&] { static_cast<void>(beam_search(tiny(), kPrompt, options)); },
                           {"no token is left", "removed all"});
        continue;
      }
      for (const BeamSequence& sequence : beam_search(tiny(), kPrompt, options)) {
        CHECK(!std::isnan(sequence.score));
        CHECK(sequence.tokens.size() == 4);
      }
    }
  }
}

TEST_CASE("the best candidates are those of a full sort") {
  // Few different scores, so that there are many ties.
  std::vector<std::vector<float>> scores(5, std::vector<float>(300));
  unsigned random = 1;
  for (auto& beam : scores) {
    for (float& score : beam) {
      random = random * 1664525 + 1013904223;
      score = random >> 28 == 0 ? -kInfinity : -static_cast<float>(random >> 29);
    }
  }
  const std::vector<float> sums = {-1.0f, -0.5f, -1.0f, -1e9f, -kInfinity};
  for (const std::size_t count : {1, 2, 10, 77, 1499, 1500, 2000}) {
    std::vector<std::pair<float, std::size_t>> all;  // (-sum, beam * 300 + token)
    BestCandidates candidates(count);
    for (const int round : {0, 1}) {  // candidates added before clear() must not appear
      candidates.clear();
      all.clear();
      for (std::size_t beam = 0; beam < scores.size(); ++beam) {
        if (round == 1 && beam == 2) continue;
        candidates.add(beam, sums[beam], scores[beam]);
        for (std::size_t i = 0; i < 300; ++i) {
          all.emplace_back(-(sums[beam] + scores[beam][i]), beam * 300 + i);
        }
      }
    }
    std::ranges::sort(all);
    all.resize(std::min(all.size(), count));
    std::vector<std::pair<float, std::size_t>> found;
    for (const auto& [sum, beam, token] : candidates.sorted()) {
      found.emplace_back(-sum, beam * 300 + static_cast<std::size_t>(token));
    }
    INFO(count);
    CHECK(found == all);
  }
}

// The tokens begin in one block of the cache and end in the next (see Session).
TEST_CASE("sessions follow their beams wherever these go") {
  Config config = small_config();
  config.n_positions = 300;
  const Engine engine(random_model(config, {}), {.threads = 1});
  constexpr std::size_t kBeams = 5;
  BeamSessions sessions(engine, kBeams, 262);
  const std::vector<TokenId> prompt = random_tokens(engine.model(), 252, 1);
  REQUIRE(sessions.read(prompt, nullptr));
  std::vector<std::vector<TokenId>> expected(kBeams, prompt);
  unsigned random = 3;
  const auto below = [&](std::size_t n) {
    random = random * 1664525 + 1013904223;
    return (random >> 16) % n;
  };
  for (std::size_t step = 0; step < 10; ++step) {
    std::vector<std::size_t> parents(kBeams);
    std::vector<TokenId> tokens(kBeams);
    const auto before = expected;
    for (std::size_t beam = 0; beam < kBeams; ++beam) {
      parents[beam] = below(kBeams);
      tokens[beam] = static_cast<TokenId>(below(8));
      expected[beam] = before[parents[beam]];
      expected[beam].push_back(tokens[beam]);
    }
    sessions.advance(parents, tokens);
    for (std::size_t beam = 0; beam < kBeams; ++beam) {
      INFO("step " << step << ", beam " << beam);
      const auto ids = sessions.tokens(beam);
      CHECK(std::vector<TokenId>(ids.begin(), ids.end()) == expected[beam]);
      Session fresh(engine);
      CHECK(same_bits(sessions.logits(beam), fresh.forward(expected[beam])));
    }
  }
}

}  // namespace gpt2::test::beam_rules_test
