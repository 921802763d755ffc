// Tests what HuggingFace's goldens do not cover: OpenAI's penalties, the caller's own functions,
// refusals, extreme values, and that every instruction set gives the same scores.
#include <numeric>

#include "base/hash.h"
#include "gpt2/error.h"
#include "gpt2/runtime.h"
#include "gpt2/sampler.h"
#include "support/test.h"

namespace gpt2::test::processor_rules_test {

namespace {

using Floats = std::vector<float>;
using Ids = std::vector<TokenId>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
const float kNaN = std::nanf("");

const Floats kFive = {1, 2, 3, 4, -5};
const Floats kOnes = {1, 1, 1, 1, 1};
const Floats kBanned = {1, 1, 1, 1, -kInfinity};
const Ids kText = {3, 4, 0, 1, 1, 1, 4};
const SequenceLimits kAfterTwo = {.prompt_length = 2};
// End-of-text tokens may be named twice, or be outside the vocabulary.
const SequenceLimits kEnds = {.eos_token_id = {2, 7, 2, -1}, .prompt_length = 1};

// Returns the scores of greedy decoding.
Floats scores_of(SamplingOptions options, const Floats& logits, const Ids& ids,
                 const SequenceLimits& limits = {}) {
  options.temperature = 0.0f;
  Sampler sampler(options, logits.size(), limits);
  const auto scores = sampler.process(logits, ids);
  return {scores.begin(), scores.end()};
}

// Returns the tokens that an option keeps of all. Checks that it leaves their scores as they are.
Ids kept_of(const SamplingOptions& options, const Floats& scores, std::size_t at_least = 1) {
  Sampler sampler(options, scores.size(), {.min_tokens_to_keep = at_least});
  const auto processed = sampler.process(scores, Ids{});
  Ids kept;
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (processed[id] == -kInfinity) continue;
    CHECK(processed[id] == scores[id] / options.temperature);
    kept.push_back(static_cast<TokenId>(id));
  }
  return kept;
}

}  // namespace

TEST_CASE("scores are changed by the rules of OpenAI and HuggingFace") {
  const struct {
    SamplingOptions options;
    Floats logits;
    Ids ids;
    SequenceLimits limits;
    Floats expected;
  } cases[] = {
      // After the prompt of two tokens, 0 and 4 were written once, 1 three times.
      {{.presence_penalty = 0.5f}, kFive, kText, kAfterTwo, {0.5f, 1.5f, 3, 4, -5.5f}},
      {{.frequency_penalty = 0.25f}, kFive, kText, kAfterTwo, {0.75f, 1.25f, 3, 4, -5.25f}},
      {{.presence_penalty = 1.0f, .frequency_penalty = -0.5f},
       kFive,
       kText,
       kAfterTwo,
       {0.5f, 2.5f, 3, 4, -5.5f}},
      {{.presence_penalty = 1.0f}, kFive, {3, 4}, kAfterTwo, kFive},
      {{.presence_penalty = 1.0f}, kFive, {3}, kAfterTwo, kFive},
      // logit_bias is added before penalties that multiply. A removed token stays removed.
      {{.logit_bias = {{1, 10.0f}, {4, -100.0f}}}, kFive, {}, {}, {1, 12, 3, 4, -105}},
      {{.logit_bias = {{2, 1.0f}}, .presence_penalty = 2.0f, .repetition_penalty = 2.0f},
       kFive,
       {2, 4},
       {},
       {1, 2, 1, 4, -14}},
      {{.logit_bias = {{1, 100.0f}}, .suppress_tokens = {1}},
       kFive,
       {},
       {},
       {1, -kInfinity, 3, 4, -5}},
      // The first tokens of a sequence may be the whole text, and no more.
      {{.bad_words_ids = {{2, 3, 4}}}, kOnes, {1, 2, 3}, {}, kBanned},
      {{.bad_words_ids = {{1, 2, 3, 4}}}, kOnes, {1, 2, 3}, {}, kBanned},
      {{.bad_words_ids = {{0, 1, 2, 3, 4}}}, kOnes, {1, 2, 3}, {}, kOnes},
      {{.sequence_bias = {{{2, 3, 4}, 1.0f}}}, kOnes, {1, 2, 3}, {}, {1, 1, 1, 1, 2}},
      {{.sequence_bias = {{{1, 2, 3, 4}, 1.0f}}}, kOnes, {1, 2, 3}, {}, {1, 1, 1, 1, 2}},
      {{.sequence_bias = {{{0, 1, 2, 3, 4}, 1.0f}}}, kOnes, {1, 2, 3}, {}, kOnes},
      {{.no_repeat_ngram_size = 4}, kOnes, {1, 2, 3}, {}, kOnes},
      {{.no_repeat_ngram_size = 1'000'000'000}, kOnes, {1, 2, 3}, {}, kOnes},
      {{.exponential_decay_length_penalty = {{.start = 0, .factor = 2}}},
       {1, 2, 3, 4, 5},
       {0, 0},
       kEnds,
       {1, 2, 6, 4, 5}},
      {{.min_length = 3}, {1, 2, 3, 4, 5}, {0, 0}, kEnds, {1, 2, -kInfinity, 4, 5}},
      // min_new_tokens takes the place of min_length, also if it is 0.
      {{.min_length = 3, .min_new_tokens = 0}, kOnes, {0, 0}, {.eos_token_id = {2}}, kOnes},
      // The decay never makes NaN, and does not bring back removed tokens.
      {{.exponential_decay_length_penalty = {{.start = 0, .factor = 1e6}}},
       {0, 2, -2, 1},
       Ids(500),
       {.eos_token_id = {0, 1, 2}, .prompt_length = 1},
       {0, kInfinity, kInfinity, 1}},
      {{.min_length = 1000, .exponential_decay_length_penalty = {{.start = 0, .factor = 1e6}}},
       {0, 2, -2, 1},
       Ids(500),
       {.eos_token_id = {0, 1, 2}, .prompt_length = 1},
       {-kInfinity, -kInfinity, -kInfinity, 1}},
      {{.remove_invalid_values = true},
       {kNaN, kInfinity, -kInfinity, 7},
       {},
       {},
       {0, kLargest, -kLargest, 7}},
      {{.remove_invalid_values = true}, Floats(3, -kInfinity), {}, {}, Floats(3, -kLargest)},
  };
  for (const auto& one : cases) {
    INFO("case " << &one - cases);
    CHECK(scores_of(one.options, one.logits, one.ids, one.limits) == one.expected);
  }
}

TEST_CASE("the caller's functions see the scores after the other processors, and all ids") {
  std::vector<Floats> seen;
  std::vector<Ids> seen_ids;
  const LogitsProcessor watch = [&](std::span<float> scores, std::span<const TokenId> ids) {
    seen.emplace_back(scores.begin(), scores.end());
    seen_ids.emplace_back(ids.begin(), ids.end());
    scores[1] = 9.0f;
  };
  Sampler sampler({.temperature = 0.5f, .suppress_tokens = {0}, .processors = {watch, watch}}, 3);
  const auto scores = sampler.process(Floats{1, 2, 3}, Ids{2, 1});
  CHECK(seen == std::vector<Floats>{{-kInfinity, 2, 3}, {-kInfinity, 9, 3}});
  CHECK(seen_ids == std::vector<Ids>(2, {2, 1}));
  CHECK(Floats(scores.begin(), scores.end()) == Floats{-kInfinity, 18, 6});
}

TEST_CASE("a function of the caller's may remove and prefer tokens, but not write NaN") {
  for (const float temperature : {0.0f, 1.0f, 0.1f}) {
    const auto with = [&](float value) {
      Sampler sampler({.temperature = temperature,
                       .top_p = 0.9f,
                       .min_p = 0.1f,
                       .typical_p = 0.9f,
                       .eta_cutoff = 0.1f,
                       .processors = {[value](std::span<float> scores, std::span<const TokenId>) {
                         scores[1] = value;
                       }},
                       .renormalize_logits = true},
                      3);
      return sampler.sample(Floats{1, 2, 3}, {});
    };
    CHECK(with(kInfinity) == 1);
    CHECK(with(-kInfinity) != 1);
    check_bad_argument([&] { (void)with(kNaN); }, {"processor", "NaN", "token 1"});
  }
  const LogitsProcessor thrower = [](std::span<float>, std::span<const TokenId>) { throw 1; };
  Sampler sampler({.processors = {thrower}}, 3);
  CHECK_THROWS_AS(sampler.sample(Floats{1, 2, 3}, {}), int);
}

TEST_CASE("if every token is removed, the sampler refuses to choose one") {
  const Floats logits = {1, 2, 3};
  const Ids all = {0, 1, 2};
  for (SamplingOptions options : {SamplingOptions{},
                                  {.temperature = 0.0f},
                                  {.top_k = 2},
                                  {.temperature = 0.5f,
                                  .top_p = 0.5f,
                                  .min_p = 0.5f,
                                  .typical_p = 0.5f,
                                  .epsilon_cutoff = 0.5f,
                                  .eta_cutoff = 0.5f,
                                  .renormalize_logits = true}}) {
    options.suppress_tokens = all;
    Sampler drawing(options, 3);
    check_bad_argument([&] { (void)drawing.sample(logits, all); }, {"no token", "after 3 tokens"});
  }
}

TEST_CASE("ids outside the vocabulary are refused where an option reads them") {
  const Floats logits = {1, 2, 3};
  for (const TokenId id : {-1, 3}) {
    const Ids ids = {0, id};
    for (const SamplingOptions& options : {SamplingOptions{.repetition_penalty = 2.0f},
                                           {.presence_penalty = 1.0f},
                                           {.no_repeat_ngram_size = 1},
                                           {.bad_words_ids = {{0, 1}}},
                                           {.sequence_bias = {{{0, 1}, 1.0f}}}}) {
      check_bad_argument([&] { (void)scores_of(options, logits, ids); },
                         {"token 1", std::to_string(id), "vocabulary of 3"});
    }
    CHECK(scores_of({.min_length = 9}, logits, ids) == logits);
  }
}

TEST_CASE("filters keep min_tokens_to_keep tokens even if their probability is 0") {
  // exp(-200) is 0 in f32. HuggingFace's filters never remove the first min_tokens_to_keep tokens.
  for (const SamplingOptions& options : {SamplingOptions{.top_k = 1},
                                         {.top_p = 0.5f},
                                         {.min_p = 0.5f},
                                         {.typical_p = 0.5f},
                                         {.eta_cutoff = 0.5f},
                                         {.epsilon_cutoff = 0.5f}}) {
    for (const std::size_t keep : {1, 2}) {
      Sampler sampler(options, 3, {.min_tokens_to_keep = keep});
      const float second = keep == 2 ? -200 : -kInfinity;
      CHECK(std::ranges::equal(sampler.process(Floats{0, -200, -300}, {}),
                               Floats{0, second, -kInfinity}));
    }
  }
}

TEST_CASE("top_n_sigma keeps the scores within n standard deviations of the highest one") {
  // The mean is 5, the mean squared deviation (9 + 1 + 1 + 1 + 0 + 0 + 4 + 16) / 8 = 4, sigma is 2.
  const Floats logits = {2, 4, 4, 4, 5, 5, 7, 9};
  // Removed tokens count neither in the mean nor in the deviation: 1, 3, 5 have the mean 3 and the
  // mean squared deviation 8 / 3, so sigma is 1.633.
  const Floats removed = {-kInfinity, 1, 3, -kInfinity, 5};
  const struct {
    float n;
    Floats scores;
    Ids kept;
    std::size_t at_least = 1;
  } cases[] = {
      {0.0f, logits, {0, 1, 2, 3, 4, 5, 6, 7}},
      {0.5f, logits, {7}},
      {1.0f, logits, {6, 7}},           // 7 is exactly 9 - 1 * 2
      {2.0f, logits, {4, 5, 6, 7}},     // 5 is exactly 9 - 2 * 2
      {0.5f, logits, {4, 5, 6, 7}, 3},  // 4 and 5 are as high as the third
      {1.0f, removed, {4}},
      {1.3f, removed, {2, 4}},
      {0.1f, {3, 3, 3}, {0, 1, 2}},  // equal scores have no deviation, and all are the highest
  };
  // The temperature, which comes first, divides scores and deviation alike.
  for (const float temperature : {1.0f, 4.0f}) {
    for (const auto& [n, scores, kept, at_least] : cases) {
      CAPTURE(temperature, n, at_least);
      CHECK(kept_of({.temperature = temperature, .top_n_sigma = n}, scores, at_least) == kept);
    }
  }
}

TEST_CASE("top_h keeps the likeliest tokens up to a share of the entropy of a hundred") {
  // The probabilities 1/2, 1/4, 1/8, 1/8 have the entropy 1/2 + 1/2 + 3/8 + 3/8 = 1.75 bits.
  const float bit = std::log(2.0f);
  const Floats logits = {-3 * bit, -kInfinity, -bit, -3 * bit, -2 * bit};
  Ids hundred(100), half(50);
  std::iota(hundred.begin(), hundred.end(), 0);
  std::iota(half.begin(), half.end(), 0);
  const struct {
    float share;
    Floats scores;
    Ids kept;
  } cases[] = {
      {0.0f, logits, {0, 2, 3, 4}},
      {0.28f, logits, {2}},  // the first has 0.286 of the entropy, but at least one is kept
      {0.56f, logits, {2}},  // the first two have 0.571
      {0.58f, logits, {2, 4}},
      {0.78f, logits, {2, 4}},  // the first three have 0.786
      {0.79f, logits, {0, 2, 4}},
      {1.0f, logits, {0, 2, 3, 4}},
      {1.0f, Floats(103, 0.5f), hundred},
      {0.505f, Floats(103, 0.5f), half},
      {0.5f, {7}, {0}},
  };
  for (const auto& [share, scores, kept] : cases) {
    CAPTURE(share, scores);
    CHECK(kept_of({.top_h = share}, scores) == kept);
  }
}

TEST_CASE("a sampler refuses options that name no token of its vocabulary") {
  const auto refuses = [](const SamplingOptions& options, const std::string& name,
                          const std::string& found) {
    check_bad_argument([&] { Sampler sampler(options, 5); }, {name, found});
  };
  for (const TokenId id : {-1, 5}) {
    const std::string found = std::to_string(id);
    refuses({.sequence_bias = {{{1, id}, 1.0f}}}, "sequence_bias", found);
    refuses({.logit_bias = {{id, 1.0f}}}, "logit_bias", found);
    refuses({.bad_words_ids = {{0}, {id, 1}}}, "bad_words_ids", found);
    refuses({.forced_bos_token_id = id}, "forced_bos_token_id", found);
    refuses({.forced_eos_token_id = {0, id}}, "forced_eos_token_id", found);
    refuses({.suppress_tokens = {id}}, "suppress_tokens", found);
    refuses({.begin_suppress_tokens = {id}}, "begin_suppress_tokens", found);
  }
  refuses({.sequence_bias = {{{}, 1.0f}}}, "sequence_bias", "without tokens");
  refuses({.bad_words_ids = {{0}, {}}}, "bad_words_ids", "without tokens");
  refuses({.processors = {nullptr}}, "processors", "empty");
  for (const float value : {kNaN, kInfinity}) {
    refuses({.min_p = value}, "min_p", "0 to 1");
    refuses({.sequence_bias = {{{0}, value}}}, "sequence_bias", "-inf");
  }
  CHECK_NOTHROW(Sampler({.sequence_bias = {{{0}, -kInfinity}}}, 5));
  for (const std::size_t size : {std::size_t{0}, std::size_t{1} << 31, SIZE_MAX}) {
    check_bad_argument([size] { Sampler sampler({}, size); }, {"vocab_size", std::to_string(size)});
  }
}

TEST_CASE("with every processor, all instruction sets give the same scores and draws") {
  constexpr std::size_t kVocab = 1003;
  const LogitsProcessor halve = [](std::span<float> scores, std::span<const TokenId>) {
    scores[0] *= 0.5f;
  };
  SamplingOptions options = {.temperature = 1.3f,
                             .top_h = 0.99f,
                             .top_k = 90,
                             .top_n_sigma = 4.0f,
                             .top_p = 0.99f,
                             .min_p = 1e-4f,
                             .typical_p = 0.98f,
                             .epsilon_cutoff = 1e-5f,
                             .eta_cutoff = 1e-4f,
                             .seed = 11,
                             .sequence_bias = {{{1}, 0.5f}, {{3, 2}, -1.5f}},
                             .logit_bias = {{7, 1.25f}},
                             .presence_penalty = 0.3f,
                             .frequency_penalty = 0.1f,
                             .repetition_penalty = 1.15f,
                             .no_repeat_ngram_size = 2,
                             .bad_words_ids = {{9}, {4, 5}},
                             .min_length = 5,
                             .min_new_tokens = 4,
                             .forced_bos_token_id = 3,
                             .forced_eos_token_id = {8},
                             .remove_invalid_values = true,
                             .exponential_decay_length_penalty = {{.start = 4, .factor = 1.01}},
                             .suppress_tokens = {12},
                             .begin_suppress_tokens = {13},
                             .processors = {halve},
                             .renormalize_logits = true};
  const SequenceLimits limits = {.eos_token_id = {8}, .prompt_length = 1, .max_length = 300};
  std::vector<Ids> texts;
  std::vector<std::uint64_t> hashes;
  for (const std::string& isa : available_isas()) {
    force_isa(isa);
    Sampler sampler(options, kVocab, limits);
    Ids ids = {1};
    std::uint64_t hash = 0;
    while (ids.size() < 300) {
      Floats logits(kVocab);
      for (std::size_t i = 0; i < kVocab; ++i) {
        logits[i] = static_cast<float>((i * i + ids.size() * 37) % 1009) * 0.015f - 6.0f;
      }
      hash = hash_floats(sampler.process(logits, ids), hash);
      ids.push_back(sampler.sample(logits, ids));
    }
    texts.push_back(ids);
    hashes.push_back(hash);
  }
  force_isa(available_isas().front());
  for (std::size_t i = 1; i < texts.size(); ++i) {
    CHECK(texts[i] == texts[0]);
    CHECK(hashes[i] == hashes[0]);
  }
  CHECK(texts[0].back() == 8);
  CHECK(std::set<TokenId>(texts[0].begin(), texts[0].end()).size() > 50);
  // The hash is the same on every machine; tools/test.sh --aarch64 compares it on Arm.
  CHECK(hashes[0] == 0x1a25a387ec7da636);
}

}  // namespace gpt2::test::processor_rules_test
