// Tests what HuggingFace's goldens do not cover: OpenAI's penalties, the caller's own functions,
// refusals, extreme values, and that every instruction set gives the same scores.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "generate/sampling/softmax.h"
#include "gpt2/error.h"
#include "gpt2/generate.h"
#include "gpt2/runtime.h"
#include "support/alphabet_model.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace gpt2::test::processor_rules_test {

namespace {

using Floats = std::vector<float>;
using Ids = std::vector<TokenId>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
const float kNaN = std::nanf("");

// Returns the scores of greedy decoding.
Floats scores_of(SamplingOptions options, const Floats& logits, const Ids& ids,
                 const SequenceLimits& limits = {}) {
  options.temperature = 0.0f;
  Sampler sampler(options, logits.size(), limits);
  const auto scores = sampler.process(logits, ids);
  return {scores.begin(), scores.end()};
}

// Returns why a sampler for five tokens refuses the options.
std::string refusal(const SamplingOptions& options) {
  return refusal_of([&] { Sampler sampler(options, 5); });
}

// Writes a value as the score of token 1.
LogitsProcessor writer(float value) {
  return [value](std::span<float> scores, std::span<const TokenId>) { scores[1] = value; };
}

}  // namespace

TEST_CASE("presence and frequency penalties are OpenAI's, and count the continuation only") {
  const Floats logits = {1, 2, 3, 4, -5};
  const Ids ids = {3, 4, 0, 1, 1, 1, 4};
  const SequenceLimits limits = {.prompt_length = 2};
  // After the prompt, 0 and 4 were written once, 1 three times.
  CHECK(scores_of({.presence_penalty = 0.5f}, logits, ids, limits) ==
        Floats{0.5f, 1.5f, 3, 4, -5.5f});
  CHECK(scores_of({.frequency_penalty = 0.25f}, logits, ids, limits) ==
        Floats{0.75f, 1.25f, 3, 4, -5.25f});
  CHECK(scores_of({.presence_penalty = 1.0f, .frequency_penalty = -0.5f}, logits, ids, limits) ==
        Floats{0.5f, 2.5f, 3, 4, -5.5f});
  CHECK(scores_of({.presence_penalty = 1.0f}, logits, {3, 4}, limits) == logits);
  CHECK(scores_of({.presence_penalty = 1.0f}, logits, {3}, limits) == logits);
}

TEST_CASE("logit_bias is added to the model's logits, before penalties that multiply") {
  const Floats logits = {1, 2, 3, 4, -5};
  CHECK(scores_of({.logit_bias = {{1, 10.0f}, {4, -100.0f}}}, logits, {}) ==
        Floats{1, 12, 3, 4, -105});
  CHECK(scores_of({.logit_bias = {{2, 1.0f}}, .presence_penalty = 2.0f, .repetition_penalty = 2.0f},
                  logits, {2, 4}) == Floats{1, 2, 1, 4, -14});
  // A token that another option removes stays removed.
  CHECK(scores_of({.logit_bias = {{1, 100.0f}}, .suppress_tokens = {1}}, logits, {}) ==
        Floats{1, -kInfinity, 3, 4, -5});
}

TEST_CASE("a sequence can be as long as the text, and no longer") {
  const Floats logits = {1, 1, 1, 1, 1};
  const Floats banned = {1, 1, 1, 1, -kInfinity};
  CHECK(scores_of({.bad_words_ids = {{2, 3, 4}}}, logits, {1, 2, 3}) == banned);
  // HuggingFace, too, ignores this sequence, although the text ends in all its ids but the last.
  CHECK(scores_of({.bad_words_ids = {{1, 2, 3, 4}}}, logits, {1, 2, 3}) == logits);
  CHECK(scores_of({.bad_words_ids = {{1, 2, 3, 4}}}, logits, {0, 1, 2, 3}) == banned);
  CHECK(scores_of({.sequence_bias = {{{2, 3, 4}, 1.0f}}}, logits, {1, 2, 3}) ==
        Floats{1, 1, 1, 1, 2});
  CHECK(scores_of({.sequence_bias = {{{1, 2, 3, 4}, 1.0f}}}, logits, {1, 2, 3}) == logits);
  CHECK(scores_of({.no_repeat_ngram_size = 4}, logits, {1, 2, 3}) == logits);
  CHECK(scores_of({.no_repeat_ngram_size = 1'000'000'000}, logits, {1, 2, 3}) == logits);
}

TEST_CASE("end-of-text tokens may be named twice, or be outside the vocabulary") {
  const Floats logits = {1, 2, 3, 4, 5};
  const SequenceLimits limits = {.eos_token_id = {2, 7, 2, -1}, .prompt_length = 1};
  const SamplingOptions options = {.exponential_decay_length_penalty = {{.start = 0, .factor = 2}}};
  CHECK(scores_of(options, logits, {0, 0}, limits) == Floats{1, 2, 6, 4, 5});
  CHECK(scores_of({.min_length = 3}, logits, {0, 0}, limits) == Floats{1, 2, -kInfinity, 4, 5});
}

TEST_CASE("an exponential decay never makes NaN, and does not bring back removed tokens") {
  const SequenceLimits limits = {.eos_token_id = {0, 1, 2}, .prompt_length = 1};
  SamplingOptions options = {.min_new_tokens = 0,
                             .exponential_decay_length_penalty = {{.start = 0, .factor = 1e6}}};
  const Ids ids(500);
  CHECK(scores_of(options, {0, 2, -2, 1}, ids, limits) == Floats{0, kInfinity, kInfinity, 1});
  options.suppress_tokens = {};
  options.min_length = 1000;
  CHECK(scores_of(options, {0, 2, -2, 1}, ids, limits) ==
        Floats{-kInfinity, -kInfinity, -kInfinity, 1});
}

TEST_CASE("remove_invalid_values replaces NaN and infinities by finite numbers") {
  const Floats logits = {kNaN, kInfinity, -kInfinity, 7};
  CHECK(scores_of({.remove_invalid_values = true}, logits, {}) ==
        Floats{0, kLargest, -kLargest, 7});
  CHECK(scores_of({.remove_invalid_values = true}, Floats(3, -kInfinity), {}) ==
        Floats(3, -kLargest));
  Sampler drawing({.remove_invalid_values = true}, logits.size());
  CHECK(drawing.sample(logits, {}) == 1);
  CHECK(refusal_of([&] {
          (void)scores_of({}, logits, {});
        }).starts_with("the logits contain NaN or infinity"));
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
  const Floats logits = {1, 2, 3};
  for (const float temperature : {0.0f, 1.0f, 0.1f}) {
    const auto with = [&](float value) {
      Sampler sampler({.temperature = temperature,
                       .top_p = 0.9f,
                       .min_p = 0.1f,
                       .typical_p = 0.9f,
                       .eta_cutoff = 0.1f,
                       .processors = {writer(value)},
                       .renormalize_logits = true},
                      logits.size());
      return sampler.sample(logits, {});
    };
    CHECK(with(kInfinity) == 1);
    CHECK(with(-kInfinity) != 1);
    CHECK(refusal_of([&] { (void)with(kNaN); }) ==
          "a logits processor wrote NaN as the score of token 1: give every "
          "score a value, or -infinity to remove the token");
  }
  struct Stop {};
  const LogitsProcessor thrower = [](std::span<float>, std::span<const TokenId>) { throw Stop(); };
  Sampler sampler({.processors = {thrower}}, 3);
  CHECK_THROWS_AS(sampler.sample(logits, {}), Stop);
  CHECK(refusal({.processors = {nullptr}}) == "processors has an empty function: leave it out");
}

TEST_CASE("if every token is removed, greedy takes the first, and drawing is refused") {
  const Floats logits = {1, 2, 3};
  const Ids all = {0, 1, 2};
  Sampler greedy({.temperature = 0.0f, .suppress_tokens = all}, 3);
  CHECK(greedy.sample(logits, all) == 0);
  for (const SamplingOptions& options : {SamplingOptions{.suppress_tokens = all},
                                         SamplingOptions{.top_k = 2, .suppress_tokens = all},
                                         SamplingOptions{.temperature = 0.5f,
                                         .top_p = 0.5f,
                                         .min_p = 0.5f,
                                         .typical_p = 0.5f,
                                         .epsilon_cutoff = 0.5f,
                                         .eta_cutoff = 0.5f,
                                         .suppress_tokens = all,
                                         .renormalize_logits = true}}) {
    Sampler drawing(options, 3);
    CHECK(refusal_of([&] { (void)drawing.sample(logits, all); }) ==
          "no token is left to draw after 3 tokens: the sampling options have removed all of them");
  }
}

TEST_CASE("ids outside the vocabulary are refused where an option reads them") {
  const Floats logits = {1, 2, 3};
  for (const TokenId id : {-1, 3}) {
    const Ids ids = {0, id};
    const std::string message = "token 1 of the sequence is " + std::to_string(id) +
                                ", which is outside the vocabulary of 3";
    CHECK(refusal_of([&] { (void)scores_of({.repetition_penalty = 2.0f}, logits, ids); }) ==
          message);
    CHECK(refusal_of([&] { (void)scores_of({.presence_penalty = 1.0f}, logits, ids); }) == message);
    CHECK(refusal_of([&] { (void)scores_of({.no_repeat_ngram_size = 1}, logits, ids); }) ==
          message);
    CHECK(refusal_of([&] {
            (void)scores_of({.bad_words_ids = {{0, 1}}}, logits, ids);
          }) == message);
    CHECK(refusal_of([&] {
            (void)scores_of({.sequence_bias = {{{0, 1}, 1.0f}}}, logits, ids);
          }) == message);
    CHECK(scores_of({.min_length = 9}, logits, ids) == logits);
  }
}

TEST_CASE("filters keep min_tokens_to_keep tokens even if their probability is 0") {
  // exp(-200) is 0 in f32. HuggingFace's filters never remove the first min_tokens_to_keep tokens.
  const Floats logits = {0, -200, -300};
  const SamplingOptions filters[] = {{.top_k = 1},         {.top_p = 0.5f},
                                     {.min_p = 0.5f},      {.typical_p = 0.5f},
                                     {.eta_cutoff = 0.5f}, {.epsilon_cutoff = 0.5f}};
  for (const SamplingOptions& options : filters) {
    Sampler sampler(options, logits.size(), {.min_tokens_to_keep = 2});
    const auto processed = sampler.process(logits, Ids{});
    CHECK(Floats(processed.begin(), processed.end()) == Floats{0, -200, -kInfinity});
    Sampler one(options, logits.size(), {.min_tokens_to_keep = 1});
    const auto single = one.process(logits, Ids{});
    CHECK(Floats(single.begin(), single.end()) == Floats{0, -kInfinity, -kInfinity});
  }
}

TEST_CASE("top_n_sigma keeps the scores within n standard deviations of the highest one") {
  // The mean is 5, the mean squared deviation (9 + 1 + 1 + 1 + 0 + 0 + 4 + 16) / 8 = 4, sigma is 2.
  const Floats logits = {2, 4, 4, 4, 5, 5, 7, 9};
  const auto kept = [&](float n, const Floats& scores, std::size_t at_least = 1) {
    Sampler sampler({.top_n_sigma = n}, scores.size(), {.min_tokens_to_keep = at_least});
    const auto processed = sampler.process(scores, Ids{});
    Ids ids;
    for (std::size_t id = 0; id < scores.size(); ++id) {
      if (processed[id] == scores[id] && processed[id] != -kInfinity) {
        ids.push_back(static_cast<TokenId>(id));
      }
    }
    return ids;
  };
  CHECK(kept(0.0f, logits) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(kept(0.5f, logits) == Ids{7});
  CHECK(kept(1.0f, logits) == Ids{6, 7});        // 7 is exactly 9 - 1 * 2
  CHECK(kept(2.0f, logits) == Ids{4, 5, 6, 7});  // 5 is exactly 9 - 2 * 2
  CHECK(kept(2.49f, logits) == Ids{4, 5, 6, 7});
  CHECK(kept(2.5f, logits) == Ids{1, 2, 3, 4, 5, 6, 7});
  CHECK(kept(3.5f, logits).size() == 8);
  CHECK(kept(0.5f, logits, 3) == Ids{4, 5, 6, 7});  // 4 and 5 are as high as the third
  // Removed tokens count neither in the mean nor in the deviation: 1, 3, 5 have the mean 3 and the
  // mean squared deviation 8 / 3, so sigma is 1.633.
  const Floats removed = {-kInfinity, 1, 3, -kInfinity, 5};
  CHECK(kept(1.0f, removed) == Ids{4});
  CHECK(kept(1.3f, removed) == Ids{2, 4});
  CHECK(kept(2.5f, removed) == Ids{1, 2, 4});
  // Equal scores have no deviation, and all are the highest.
  CHECK(kept(0.1f, {3, 3, 3}) == Ids{0, 1, 2});
  // The temperature, which comes first, divides scores and deviation alike.
  Sampler hot({.temperature = 4.0f, .top_n_sigma = 1.0f}, logits.size());
  const auto scores = hot.process(logits, Ids{});
  CHECK(std::ranges::count(scores, -kInfinity) == 6);
  CHECK(refusal({.top_n_sigma = -1.0f}) == "top_n_sigma must be a number from 0 to 1000, got -1");
}

TEST_CASE("a sampler needs a vocabulary, of a size that token ids can count") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1} << 31, SIZE_MAX}) {
    CHECK(refusal_of([size] { Sampler sampler({}, size); }) ==
          "a sampler's vocab_size must be from 1 to 2147483647, got " + std::to_string(size));
  }
}

TEST_CASE("options out of range are refused by name") {
  const auto number = [](const std::string& name, const std::string& range) {
    return name + " must be a number from " + range + ", got ";
  };
  for (const float value : {-0.1f, 1.1f, kInfinity, kNaN}) {
    CAPTURE(value);
    CHECK(refusal({.min_p = value}).starts_with(number("min_p", "0 to 1")));
    CHECK(refusal({.typical_p = value}).starts_with(number("typical_p", "1e-06 to 1")));
    CHECK(refusal({.epsilon_cutoff = value}).starts_with(number("epsilon_cutoff", "0 to 0.9999")));
    CHECK(refusal({.eta_cutoff = value}).starts_with(number("eta_cutoff", "0 to 0.9999")));
  }
  CHECK(refusal({.typical_p = 0.0f}).starts_with("typical_p must be"));
  for (const float value : {-1.0f, 0.0f, 9e-7f, 1.1e6f, kInfinity, kNaN}) {
    CAPTURE(value);
    CHECK(refusal({.repetition_penalty = value})
              .starts_with(number("repetition_penalty", "1e-06 to 1e+06")));
    const ExponentialDecay decay = {.start = 1, .factor = static_cast<double>(value)};
    CHECK(
        refusal({.exponential_decay_length_penalty = decay})
            .starts_with("the factor of exponential_decay_length_penalty must be a number from "));
  }
  for (const float value : {-2.1f, 2.1f, kInfinity, kNaN}) {
    CAPTURE(value);
    CHECK(refusal({.presence_penalty = value}).starts_with(number("presence_penalty", "-2 to 2")));
    CHECK(
        refusal({.frequency_penalty = value}).starts_with(number("frequency_penalty", "-2 to 2")));
  }
  for (const float value : {-101.0f, 101.0f, -kInfinity, kNaN}) {
    CHECK(refusal({.logit_bias = {{0, value}}}).starts_with(number("logit_bias", "-100 to 100")));
  }
  for (const float value : {-1.1e30f, 1.1e30f, kInfinity, kNaN}) {
    CHECK(refusal({.sequence_bias = {{{0}, value}}})
              .starts_with("sequence_bias must be -inf or a number from -1e+30 to 1e+30, got "));
  }
  CHECK(refusal({.sequence_bias = {{{0}, -kInfinity}}}) == "(accepted)");
}

TEST_CASE("options with ids outside the vocabulary, or without ids, are refused by name") {
  for (const TokenId id : {-1, 5}) {
    const auto message = [id](const std::string& name) {
      return name + " has the token " + std::to_string(id) +
             ", which is outside the vocabulary of 5: give ids from 0 to 4";
    };
    CHECK(refusal({.sequence_bias = {{{1, id}, 1.0f}}}) == message("sequence_bias"));
    CHECK(refusal({.logit_bias = {{id, 1.0f}}}) == message("logit_bias"));
    CHECK(refusal({.bad_words_ids = {{0}, {id, 1}}}) == message("bad_words_ids"));
    CHECK(refusal({.forced_bos_token_id = id}) == message("forced_bos_token_id"));
    CHECK(refusal({.forced_eos_token_id = {0, id}}) == message("forced_eos_token_id"));
    CHECK(refusal({.suppress_tokens = {id}}) == message("suppress_tokens"));
    CHECK(refusal({.begin_suppress_tokens = {id}}) == message("begin_suppress_tokens"));
  }
  const std::string empty = " has a sequence without tokens: give at least one";
  CHECK(refusal({.sequence_bias = {{{}, 1.0f}}}) == "sequence_bias" + empty);
  CHECK(refusal({.bad_words_ids = {{0}, {}}}) == "bad_words_ids" + empty);
}

TEST_CASE("generate tells the sampler where the prompt ends, where the text must end and how") {
  const Model model = Model::load(test::alphabet_model());
  const Ids prompt = {'a', 'b'};
  const auto write = [&](const SamplingOptions& sampling, GenerationOptions options,
                         std::size_t room = 0) {
    options.sampling = sampling;
    options.sampling.temperature = 0.0f;
    Session session(model, {.max_tokens = room});
    return generate(session, prompt, options, nullptr);
  };
  const auto plain = write({}, {.max_new_tokens = 4, .stop_tokens = {'e'}});
  CHECK(plain.tokens == Ids{'c', 'd'});
  CHECK(plain.finish_reason == FinishReason::end_of_text);
  CHECK(write({.min_new_tokens = 4}, {.max_new_tokens = 9, .stop_tokens = {'e'}}).tokens.size() >=
        4);
  CHECK(write({.begin_suppress_tokens = {'c'}}, {.max_new_tokens = 1}).tokens != Ids{'c'});
  // The forced token ends the text, so it is not part of it.
  for (const std::size_t room :
       {std::size_t{0}, std::size_t{5}}) {  // the context of 5 tokens has room for 4 new ones
    const auto forced = write({.forced_eos_token_id = {256}}, {.max_new_tokens = 4}, room);
    CHECK(forced.tokens == Ids{'c', 'd', 'e'});
    CHECK(forced.finish_reason == FinishReason::end_of_text);
  }
  CHECK(write({.forced_eos_token_id = {256}}, {.max_new_tokens = 99}, 5).tokens ==
        Ids{'c', 'd', 'e'});
  CHECK(write({.forced_eos_token_id = {'x'}}, {.max_new_tokens = 3, .ignore_eos = true}).tokens ==
        Ids{'c', 'd', 'x'});
}

TEST_CASE("with every processor, all instruction sets give the same scores and draws") {
  constexpr std::size_t kVocab = 1003;
  const LogitsProcessor halve = [](std::span<float> scores, std::span<const TokenId>) {
    scores[0] *= 0.5f;
  };
  SamplingOptions options = {.temperature = 1.3f,
                             .top_k = 500,
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
  CHECK(std::set<TokenId>(texts[0].begin(), texts[0].end()).size() > 100);
  // The hash is the same on every machine; tools/test.sh --aarch64 compares it on Arm.
  CHECK(hashes[0] == 0x8c3bf1cf37d66920);
}

TEST_CASE("exp and log of one number are within 1 ulp") {
  for (float x = 1.0f; x < 1e6f; x *= 1.37f) {
    const double log = std::log(static_cast<double>(x));
    CHECK(std::abs(static_cast<double>(log_of(x)) - log) <= 1.2e-7 * log);
    const double exp = std::exp(-static_cast<double>(x) / 1e5);
    CHECK(std::abs(static_cast<double>(exp_of(-x / 1e5f)) - exp) <= 2.4e-7 * exp);
  }
}

}  // namespace gpt2::test::processor_rules_test
