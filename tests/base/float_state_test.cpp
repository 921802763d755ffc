// The caller's floating-point state (rounding mode, flush-to-zero, denormals-are-zero) must not
// change any bit of a result in any thread, and the library must leave that state as it found it.
// Programs change it for audio or for interval arithmetic, or they load a library that was linked
// with -ffast-math and changes it.
#include <cfenv>

#include "base/hash.h"
#include "generate/beams/beams.h"
#include "gpt2/beam_search.h"
#include "gpt2/generate.h"
#include "gpt2/generation_config.h"
#include "gpt2/layer_norm.h"
#include "gpt2/sampler.h"
#include "gpt2/score.h"
#include "gpt2/session.h"
#include "support/passes.h"
#include "support/safetensors_writer.h"
#include "support/test.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gpt2::test::float_state_test {

namespace {

// -- The state of the calling thread --------------------------------------------------------------

#if defined(__x86_64__)
constexpr std::uint64_t kFlush = 0x8040;         // flush-to-zero, denormals-are-zero
constexpr std::uint64_t kExceptionFlags = 0x3f;  // records of past exceptions, not a mode
std::uint64_t control() { return _mm_getcsr() & ~kExceptionFlags; }
void set_control(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;
std::uint64_t control() {
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control(std::uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
constexpr std::uint64_t kFlush = 0;
std::uint64_t control() { return 0; }
void set_control(std::uint64_t) {}
#endif

struct State {
  const char* name;
  int rounding;
  std::uint64_t flush;
};

constexpr State kStates[] = {{"denormals are flushed", FE_TONEAREST, kFlush},
                             {"rounding down", FE_DOWNWARD, 0},
                             {"rounding up", FE_UPWARD, 0},
                             {"rounding toward zero", FE_TOWARDZERO, 0},
                             {"rounding up, denormals are flushed", FE_UPWARD, kFlush}};

// Sets a state for the scope. Catch's macros must stay outside the scope, because they may compute.
class InState {
 public:
  explicit InState(const State& state) : rounding_(std::fegetround()), control_(control()) {
    std::fesetround(state.rounding);
    set_control(control() | state.flush);
    set_ = control();
  }
  ~InState() {
    std::fesetround(rounding_);
    set_control(control_);
  }
  InState(const InState&) = delete;
  InState& operator=(const InState&) = delete;

  // Returns whether the thread still has the state.
  [[nodiscard]] bool is_untouched(const State& state) const {
    return std::fegetround() == state.rounding && control() == set_;
  }

 private:
  int rounding_;
  std::uint64_t control_, set_;
};

// -- A model in which denormals matter ------------------------------------------------------------

constexpr std::size_t kVocab = 53;
constexpr std::size_t kPositions = 40;
constexpr std::size_t kEmbd = 36;

// A model with denormal activations and denormal logits. Its embeddings are near the smallest
// normal float, 1.2e-38. LayerNorm multiplies them by about 300, because its epsilon is far larger
// than their variance, and the values of the matrices are small.
class DenormalModel {
 public:
  DenormalModel() {
    directory_.write("config.json", R"({"model_type": "gpt2", "vocab_size": 53, "n_positions": 40,
        "n_embd": 36, "n_layer": 2, "n_head": 3, "layer_norm_epsilon": 1.1e-5,
        "tie_word_embeddings": false})");
    matrix("wte.weight", kVocab, kEmbd, 1e-37f);
    matrix("wpe.weight", kPositions, kEmbd, 1e-38f);
    matrix("lm_head.weight", kVocab, kEmbd, 1e-3f);
    for (const std::string h : {"h.0.", "h.1."}) {
      norm(h + "ln_1");
      norm(h + "ln_2");
      linear(h + "attn.c_attn", kEmbd, 3 * kEmbd);
      linear(h + "attn.c_proj", kEmbd, kEmbd);
      linear(h + "mlp.c_fc", kEmbd, 4 * kEmbd);
      linear(h + "mlp.c_proj", 4 * kEmbd, kEmbd);
    }
    norm("ln_f");
    weights_.write(directory_.path() / "model.safetensors");
  }

  [[nodiscard]] Model load(WeightType dtype) const {
    return Model::load(directory_.path(), {.dtype = dtype});
  }

 private:
  void values(const std::string& name, const std::vector<std::size_t>& shape, std::size_t count,
              float scale) {
    std::vector<float> drawn(count);
    for (float& value : drawn) {
      value = scale * (static_cast<float>(random_() >> 8) * 0x1p-23f - 1.0f);
    }
    weights_.add(name, shape, drawn);
  }

  void matrix(const std::string& name, std::size_t rows, std::size_t cols, float scale) {
    values(name, {rows, cols}, rows * cols, scale);
  }

  void linear(const std::string& name, std::size_t rows, std::size_t cols) {
    matrix(name + ".weight", rows, cols, 3e-3f);
    values(name + ".bias", {cols}, cols, 1e-38f);
  }

  void norm(const std::string& name) {
    weights_.constant(name + ".weight", {kEmbd}, 1.0f);
    values(name + ".bias", {kEmbd}, kEmbd, 1e-38f);
  }

  TemporaryDirectory directory_;
  SafetensorsWriter weights_;
  std::mt19937 random_{7};
};

// -- Results --------------------------------------------------------------------------------------

// The name of what was computed -> a hash of its bits.
using Results = std::map<std::string, std::uint64_t>;

std::uint64_t hash_of(std::span<const float> values) { return hash_floats(values, 0); }

void add_passes(Results& results, const std::string& name, Session& session,
                std::span<const TokenId> text) {
  session.rewind(0);
  results[name + ", prompt"] = hash_of(all_logits(session, text.first(30)));
  results[name + ", step"] = hash_of(session.forward(text.subspan(30, 1)));
}

void add_draws(Results& results, std::span<const float> logits) {
  Sampler sampler({.temperature = 0.7f, .top_k = 40, .top_p = 0.93f, .seed = 3}, logits.size());
  results["processed logits"] = hash_of(sampler.process(logits, {}));
  std::vector<float> drawn;
  const std::vector<TokenId> ids(200);
  for (std::size_t i = 0; i < 200; ++i) {
    drawn.push_back(static_cast<float>(sampler.sample(logits, std::span(ids).first(i))));
  }
  results["draws"] = hash_of(drawn);
}

void add_beams(Results& results, const Engine& engine, std::span<const TokenId> prompt) {
  BeamSearchOptions options{.beams = {.num_beams = 4, .length_penalty = 0.7}, .max_new_tokens = 5};
  std::vector<float> sums;
  options.on_step = [&](const BeamStep& step) {
    const auto found = static_cast<const WholeBeamStep&>(step).sums;
    sums.insert(sums.end(), found.begin(), found.end());
    return true;
  };
  const double score = beam_search(engine, prompt, options).front().score;
  results["beams"] = hash_of(sums) * 31 + std::bit_cast<std::uint64_t>(score);
}

// With the model above, all tokens are equally likely because its logits are so small, and sums of
// equal scores show no rounding.
void add_scores(Results& results) {
  const Engine engine = Engine::shared(odd_model());
  const std::vector<TokenId> text = random_tokens(odd_model(), 40, 1);
  const std::vector<TextScore> scores = score(engine, {&text, 1}, {.context = 8});
  const Perplexity found = perplexity(scores);
  const ChoiceQuestion question = {{text.front()}, {text}};
  const auto choices = score_choices(engine, {&question, 1}).front();
  for (const double number :
       {found.nll, found.by_token.value, found.by_token.standard_error, found.hf_weighted,
        found.hf_unweighted, choices.front().sum, choices.front().mean}) {
    results["scores"] = results["scores"] * 31 + std::bit_cast<std::uint64_t>(number);
  }
}

void add_logprobs(Results& results) {
  Session session(odd_model());
  const GenerationResult text = generate(
      session, random_tokens(odd_model(), 5, 1),
      {.max_new_tokens = 20, .ignore_eos = true, .top_logprobs = 3}, [](TokenId) { return true; });
  std::vector<float> logprobs;
  for (const TokenLogprob& score : text.logprobs) {
    logprobs.push_back(score.logprob);
    for (const LikelyToken& other : score.top) logprobs.push_back(other.logprob);
  }
  results["logprobs"] = hash_of(logprobs);
}

void add_configs(Results& results) {
  Config config;
  config.layer_norm_epsilon = 1e-5f;
  results["config"] = std::hash<std::string>()(config.to_json());
  const SamplingOptions sampling =
      GenerationConfig::parse(R"({"do_sample": true, "temperature": 0.7, "top_p": 0.93})", "test")
          .sampling;
  results["generation config"] = hash_of(std::vector{sampling.temperature, sampling.top_p});
}

// Computes some of everything that the library computes. `sessions` were made before the state was
// set.
Results compute(const DenormalModel& files, std::vector<Session>& sessions,
                std::span<const TokenId> text, std::span<const float> logits) {
  Results results;
  for (const auto& [dtype, name] :
       {std::pair{WeightType::stored, "f32"}, std::pair{WeightType::f16, "f16"},
        std::pair{WeightType::int8, "int8"}, std::pair{WeightType::int4, "int4"}}) {
    const Model model = files.load(dtype);
    for (const int threads : {1, 2, 3}) {
      Session session = session_of(model, threads);
      add_passes(results, name + std::string(" of ") + std::to_string(threads) + " new threads",
                 session, text);
    }
  }
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    add_passes(results, "session " + std::to_string(i) + ", made before", sessions[i], text);
  }
  add_draws(results, logits);
  add_beams(results, sessions.front().engine(), text.first(5));
  add_scores(results);
  add_logprobs(results);
  add_configs(results);
  const LayerNorm norm({kEmbd}, 1e-12f);
  const Tensor x({4, kEmbd}, std::vector<float>(logits.begin(), logits.begin() + 4 * kEmbd));
  results["LayerNorm"] = hash_of(norm(x).values());
  const Model model = sessions.front().model();
  const PerplexityComparison comparison =
      compare_perplexity(Engine::shared(model), Engine(files.load(WeightType::int8)), text);
  for (const double perplexity : comparison.perplexity) {
    results["perplexity"] = results["perplexity"] * 31 + std::bit_cast<std::uint64_t>(perplexity);
  }
  return results;
}

// Returns numbers over the usual range of logits, with some denormals among them.
std::vector<float> some_logits() {
  std::mt19937 random(5);
  std::vector<float> logits(300);
  for (float& logit : logits) logit = static_cast<float>(random() % 20000) * 1e-3f - 10.0f;
  for (std::size_t i = 0; i < logits.size(); i += 10) logits[i] *= 1e-38f;
  return logits;
}

}  // namespace

TEST_CASE("the caller's floating-point state does not change any bit of a result") {
  const DenormalModel files;
  const Model model = files.load(WeightType::stored);
  const std::vector<TokenId> text = random_tokens(model, kPositions, 1);
  const std::vector<float> logits = some_logits();
  std::vector<Session> sessions;
  for (const int threads : {1, 2, 3}) sessions.push_back(session_of(model, threads));
  const Results expected = compute(files, sessions, text, logits);

  for (const State& state : kStates) {
    std::vector<Session> started_within;
    Results actual;
    bool untouched = false;
    {
      const InState in(state);
      actual = compute(files, sessions, text, logits);
      for (const int threads : {1, 2, 3}) {
        started_within.push_back(session_of(model, threads));
        started_within.back().forward(std::span(text).first(1));
      }
      untouched = in.is_untouched(state);
    }
    INFO(state.name);
    CHECK(untouched);
    for (const auto& [name, hash] : expected) {
      INFO(name);
      CHECK(actual.at(name) == hash);
    }
    // Threads that were started in that state compute the same bits in the default state.
    CHECK(compute(files, started_within, text, logits) == expected);
  }
}

}  // namespace gpt2::test::float_state_test
