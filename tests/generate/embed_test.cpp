// Tests hidden states and the vectors of texts: compares them with HuggingFace's, and checks that
// they have the same bits for any division of the text, batch, number of threads and instruction
// set.
#include "gpt2/embed.h"

#include "gpt2/observer.h"
#include "gpt2/runtime.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::embed_test {

namespace {

using Texts = std::vector<std::vector<TokenId>>;

// The same tolerance as for the logits; oracle_test derives it.
constexpr double kTolerance = 2e-5;

void check_near(std::span<const float> actual, const std::vector<double>& expected,
                double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(static_cast<double>(actual[i]) - expected[i]) <= tolerance);
  }
}

// Returns the states (tokens, n_embd) of a session's next tokens.
std::vector<float> states_of(Session& session, std::span<const TokenId> tokens, std::size_t layer) {
  std::vector<float> states(tokens.size() * session.model().config().n_embd);
  const HiddenSlice slice = {&session, tokens, states};
  hidden_states({&slice, 1}, layer);
  return states;
}

std::vector<float> unembedded(const Engine& engine, std::span<const float> states, bool ln_f) {
  const Config& config = engine.model().config();
  std::vector<float> logits(states.size() / config.n_embd * config.vocab_size);
  unembed(engine, states, logits, {.ln_f = ln_f});
  return logits;
}

bool equal(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return same_bits(x, y); });
}

Texts odd_texts() {
  Texts texts;
  for (unsigned i = 0; i < 60; ++i) texts.push_back(random_tokens(odd_model(), 1 + i % 17, i));
  texts.push_back(random_tokens(odd_model(), 700, 99));
  texts.push_back(random_tokens(odd_model(), 400, 98));
  return texts;
}

}  // namespace

TEST_CASE("vectors of texts are HuggingFace's") {
  const Golden golden(std::filesystem::path(GPT2_TEST_DATA) / "oracle/scoring/scoring.json");
  std::size_t compared = 0;
  for (const nlohmann::json& entry : golden.json.at("embeddings")) {
    const auto checkpoint = checkpoint_of(golden, entry.at("model"));
    if (!checkpoint) continue;
    const Engine engine(Model::load(*checkpoint));
    Texts texts;
    for (const auto& text : entry.at("texts")) texts.push_back(ids_of(text.at("input_ids")));
    const auto check = [&](const EmbedOptions& options, const char* name) {
      const auto vectors = embed(engine, texts, options);
      REQUIRE(vectors.size() == texts.size());
      for (std::size_t i = 0; i < texts.size(); ++i) {
        CAPTURE(entry.at("model").get<std::string>(), name, i);
        const std::vector<double> expected = golden.tensor(entry.at("texts")[i].at(name));
        check_near(vectors[i], expected, kTolerance * range_of(expected));
        ++compared;
      }
    };
    check({}, "mean_f64");
    check({.pooling = Pooling::last}, "last");
    check({.layer = 0}, "mean_input_layer");
  }
  CHECK(compared >= 30);
}

TEST_CASE("hidden states have the same bits as an observer of a whole pass sees") {
  const std::size_t n_embd = odd_model().config().n_embd;
  const std::vector<TokenId> ids = random_tokens(odd_model(), 600, 5);  // too many for one batch
  for (const std::size_t layer : {0u, 1u, 2u, 3u}) {
    CAPTURE(layer);
    Session whole = session_of(odd_model(), 1);
    std::vector<float> seen;
    const Slice all = {&whole, ids, {}};
    const auto wants = [&](Observed what, std::size_t i) {
      if (layer == 0) return what == Observed::embeddings;
      return layer < 3 ? what == Observed::block_output && i + 1 == layer
                       : what == Observed::ln_f_output;
    };
    const auto see = [&](const Observation& observation) {
      for (std::size_t row = 0; row < observation.rows; ++row) {
        seen.insert(seen.end(), observation.row(row).begin(), observation.row(row).end());
      }
    };
    forward({&all, 1}, {.see = see, .wants = wants});
    REQUIRE(seen.size() == ids.size() * n_embd);

    Session session = session_of(odd_model(), 2);
    CHECK(same_bits(states_of(session, ids, layer), seen));

    // Compute the states in pieces, one of which waits after append(). Ask only for the last rows.
    Session pieces = session_of(odd_model(), 2);
    static_cast<void>(states_of(pieces, std::span(ids).first(90), 3 - layer));
    pieces.append(std::span(ids).subspan(90, 10));
    std::vector<float> last(40 * n_embd);
    const HiddenSlice slice = {&pieces, std::span(ids).subspan(100), last};
    hidden_states({&slice, 1}, layer);
    CHECK(same_bits(last, std::span(seen).last(last.size())));
    CHECK(pieces.position() == ids.size());
  }
}

TEST_CASE("vectors have the same bits alone, with any threads and on every instruction set") {
  const Texts texts = odd_texts();
  for (const EmbedOptions& options :
       {EmbedOptions{}, EmbedOptions{.pooling = Pooling::last, .layer = 1}}) {
    if (options.layer && is_slow()) continue;
    std::vector<std::vector<float>> expected;
    const Engine one(odd_model(), {.threads = 1});
    for (const auto& text : texts) expected.push_back(embed(one, {&text, 1}, options).front());
    const std::string before(isa_name());
    for (const std::string_view isa : available_isas()) {
      force_isa(isa);
      for (const int threads : {1, 2, 3}) {
        if (threads < 3 && is_slow()) continue;
        CAPTURE(isa, threads);
        CHECK(equal(embed(Engine(odd_model(), {.threads = threads}), texts, options), expected));
      }
    }
    force_isa(before);
  }
}

TEST_CASE("embedding tells its progress and refuses what it cannot do") {
  const Engine engine = Engine::shared(odd_model());
  std::vector<double> shares;
  CHECK(embed(engine, odd_texts(), {.progress = [&](double s) { shares.push_back(s); }}).size() ==
        62);
  CHECK(shares.size() > 1);
  CHECK(std::ranges::is_sorted(shares));
  CHECK(shares.back() == 1.0);

  const struct {
    Texts texts;
    EmbedOptions options;
    std::string what, found;
  } cases[] = {{{{1}, {}}, {}, "text 2", "no tokens"},
               {{std::vector<TokenId>(701, 1)}, {}, "text 1 has 701 tokens", "700"},
               {{{1, 203}}, {}, "text 1, token 2", "0 to 202, got 203"},
               {{{1}}, {.layer = 4}, "layer", "got 4"},
               {{{1}}, {.pooling = static_cast<Pooling>(2)}, "pooling", "2"},
               {{{1}}, {.pooling = static_cast<Pooling>(-1)}, "pooling", "-1"}};
  for (const auto& one : cases) {
    check_bad_argument([&] { static_cast<void>(embed(engine, one.texts, one.options)); },
                       {one.what, one.found});
  }
  Session session(odd_model());
  std::vector<float> states(46);
  const std::vector<TokenId> ids = {1, 2};
  const HiddenSlice odd = {&session, ids, states};
  check_bad_argument([&] { hidden_states({&odd, 1}, 0); }, {"2 tokens", "45 floats", "46"});
  check_bad_argument([&] { hidden_states({&odd, 1}, 4); }, {"layer", "got 4"});
  CHECK(session.position() == 0);
  CHECK_NOTHROW(hidden_states({}, 99));
}

TEST_CASE("logits of hidden states have the same bits as those of a pass") {
  for (const WeightType type : {WeightType::stored, WeightType::int8}) {
    const Model model = odd_model().to(type);
    const std::vector<TokenId> ids = random_tokens(model, 600, 6);  // too many for one batch
    std::vector<float> expected(ids.size() * model.config().vocab_size);
    std::vector<float> before_ln_f, after_ln_f;
    Session session(model);
    const Slice slice = {&session, ids, expected};
    const auto see = [&](const Observation& seen) {
      auto& rows = seen.what == Observed::block_output ? before_ln_f : after_ln_f;
      for (std::size_t row = 0; row < seen.rows; ++row) {
        rows.insert(rows.end(), seen.row(row).begin(), seen.row(row).end());
      }
    };
    const auto wants = [](Observed what, std::size_t layer) {
      return (what == Observed::block_output && layer == 2) || what == Observed::ln_f_output;
    };
    forward({&slice, 1}, {.see = see, .wants = wants});
    for (const int threads : {1, 3}) {
      CAPTURE(static_cast<int>(type), threads);
      const Engine engine(model, {.threads = threads});
      CHECK(same_bits(unembedded(engine, after_ln_f, false), expected));
      CHECK(same_bits(unembedded(engine, before_ln_f, true), expected));
      const auto one = std::span(after_ln_f).first(model.config().n_embd);
      CHECK(same_bits(unembedded(engine, one, false),
                      std::span(expected).first(model.config().vocab_size)));
    }
    CHECK(unembedded(Engine::shared(model), {}, true).empty());
  }
  std::vector<float> logits(203);
  const Engine engine = Engine::shared(odd_model());
  check_bad_argument([&] { unembed(engine, std::vector<float>(46), logits); }, {"45", "46"});
  check_bad_argument([&] { unembed(engine, std::vector<float>(90), logits); },
                     {"2 hidden states", "406", "203"});
}

}  // namespace gpt2::test::embed_test
