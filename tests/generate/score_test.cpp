// Tests log-probabilities in windows, perplexities and choices: compares them with HuggingFace's
// and with their definitions.
#include "gpt2/score.h"

#include "cli/bench/random_model.h"
#include "gpt2/runtime.h"
#include "gpt2/session.h"
#include "support/bundled_model.h"
#include "support/golden.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::score_test {

namespace {

using Texts = std::vector<std::vector<TokenId>>;

const Golden& golden() {
  static const Golden read(std::filesystem::path(GPT2_TEST_DATA) / "oracle/scoring/scoring.json");
  return read;
}

// Calls check(entry, engine) for the entries of a list whose models are on this machine. Returns
// their number.
template <class Check>
std::size_t for_entries(const std::string& list, const Check& check) {
  std::size_t count = 0;
  for (const nlohmann::json& entry : golden().json.at(list)) {
    const std::string name = entry.at("model");
    const auto checkpoint = checkpoint_of(golden(), name);
    if (!checkpoint) continue;
    CAPTURE(name, count);
    check(entry, Engine(Model::load(*checkpoint)));
    ++count;
  }
  return count;
}

TextScore score_one(const Engine& engine, std::span<const TokenId> text,
                    const ScoreOptions& options = {}) {
  const Texts texts = {{text.begin(), text.end()}};
  std::vector<TextScore> scores = score(engine, texts, options);
  REQUIRE(scores.size() == 1);
  return std::move(scores.front());
}

bool equal(const TokenLogprob& a, const TokenLogprob& b) { return same_bits(a, b); }

bool equal(const ScoredWindow& a, const ScoredWindow& b) {
  return a.begin == b.begin && a.first == b.first && a.end == b.end && a.labels == b.labels &&
         a.nll == b.nll;
}

bool equal(const TextScore& a, const TextScore& b);
bool equal(const ChoiceScore& a, const ChoiceScore& b);

constexpr auto kEqual = [](const auto& a, const auto& b) { return equal(a, b); };

bool equal(const TextScore& a, const TextScore& b) {
  return std::ranges::equal(a.tokens, b.tokens, kEqual) &&
         std::ranges::equal(a.windows, b.windows, kEqual);
}

bool equal(const ChoiceScore& a, const ChoiceScore& b) {
  return a.sum == b.sum && a.mean == b.mean && a.greedy_match == b.greedy_match &&
         std::ranges::equal(a.tokens, b.tokens, kEqual);
}

bool is_unscored(const TokenLogprob& token) {
  return std::isnan(token.logprob) && token.rank == 0 && token.top.empty();
}

// A model whose sizes are not multiples of any vector, with windows that take several passes.
const Model& two_block_model() {
  static const Model made = random_model({.vocab_size = 203,
                                          .n_positions = 301,
                                          .n_embd = 45,
                                          .n_layer = 2,
                                          .n_head = 5,
                                          .n_inner = 97},
                                         {});
  return made;
}

// Many short texts, a long one of several windows, and texts of which nothing is scored.
Texts odd_texts() {
  Texts texts;
  for (unsigned i = 0; i < 40; ++i) texts.push_back(random_tokens(two_block_model(), i % 13, i));
  texts.push_back(random_tokens(two_block_model(), 800, 99));
  for (unsigned i = 0; i < 10; ++i) {
    texts.push_back(random_tokens(two_block_model(), 60 + i, 50 + i));
  }
  return texts;
}

// Contexts shorter and longer than a block of keys; none, one, a few and many choices, of one token
// and of many; and one that fills the model's context.
std::vector<ChoiceQuestion> odd_questions() {
  std::vector<ChoiceQuestion> questions;
  unsigned seed = 0;
  const auto add = [&](std::size_t context, const std::vector<std::size_t>& choices) {
    auto& question = questions.emplace_back();
    question.context = random_tokens(two_block_model(), context, ++seed);
    for (const std::size_t size : choices) {
      question.choices.push_back(random_tokens(two_block_model(), size, ++seed));
    }
  };
  add(1, {1, 2, 3});
  add(20, {});
  for (const std::size_t context : {2u, 31u, 255u, 256u, 257u}) add(context, {5, 1, 12, 1, 2});
  add(1, {301, 300, 1});
  add(301, {1, 1});
  add(300, {2, 1, 2, 2});
  add(17, std::vector<std::size_t>(300, 1));
  add(250, std::vector<std::size_t>(100, 2));
  add(40, {200, 150, 3, 180});
  for (int i = 0; i < 30; ++i) add(9, {1, 4});
  return questions;
}

}  // namespace

TEST_CASE("windows and perplexities are those of HuggingFace's recipe, in its three forms") {
  const auto text_of = [](const nlohmann::json& entry) {
    for (const nlohmann::json& other : golden().json.at("logprobs")) {
      if (other["model"] == entry["model"] && other["text"] == entry["text"]) {
        return ids_of(other.at("input_ids"));
      }
    }
    throw std::runtime_error("the golden has no such text");
  };
  const std::size_t entries =
      for_entries("perplexity", [&](const auto& entry, const Engine& engine) {
        const std::size_t count = entry.at("n_tokens");
        const std::vector<TokenId> ids = text_of(entry);
        const TextScore text =
            score_one(engine, std::span(ids).first(count),
                      {.context = entry.at("window"), .stride = entry.at("stride")});
        REQUIRE(text.windows.size() == entry.at("windows").size());
        for (std::size_t w = 0; w < text.windows.size(); ++w) {
          const nlohmann::json& window = entry.at("windows")[w];
          const ScoredWindow& scored = text.windows[w];
          CAPTURE(w);
          CHECK(scored.begin == window.at("begin"));
          CHECK(scored.end == window.at("end"));
          CHECK(scored.labels == window.at("trg_len"));
          const std::size_t predicted = scored.end - scored.first;
          CHECK(predicted == window.at("predicted"));
          if (predicted == 0) continue;
          const double loss = window.at("loss_f64");
          CHECK(std::abs(scored.nll / static_cast<double>(predicted) - loss) <= 2e-4);
        }
        const Perplexity found = perplexity({&text, 1});
        CHECK(found.tokens == entry.at("predicted_total"));
        const auto check = [&](double value, const char* name) {
          CHECK(value == Approx(entry.at(name).template get<double>()).epsilon(1e-4));
        };
        check(found.by_token.value, "ppl_token_weighted_f64");
        check(found.hf_weighted, "ppl_doc_weighted_f64");
        check(found.hf_unweighted, "ppl_mean_of_windows_f64");
      });
  CHECK(entries >= 27);
}

TEST_CASE("choices have HuggingFace's scores") {
  const std::size_t entries = for_entries("choices", [&](const auto& entry, const Engine& engine) {
    ChoiceQuestion question = {ids_of(entry.at("context")), {}};
    for (const auto& choice : entry.at("continuations")) {
      question.choices.push_back(ids_of(choice));
    }
    const auto scores = score_choices(engine, {&question, 1}).front();
    REQUIRE(scores.size() == question.choices.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      CAPTURE(i);
      const std::vector<double> expected = golden().tensor(entry.at("logprobs")[i]);
      REQUIRE(scores[i].tokens.size() == expected.size());
      for (std::size_t t = 0; t < expected.size(); ++t) {
        CHECK(std::abs(static_cast<double>(scores[i].tokens[t].logprob) - expected[t]) <= 2e-4);
      }
      const auto near = [&](double value, const char* name) {
        CHECK(std::abs(value - entry.at(name)[i].template get<double>()) <=
              2e-4 * static_cast<double>(expected.size()));
      };
      near(scores[i].sum, "sum_f64");
      near(scores[i].mean, "mean_f64");
      CHECK(scores[i].greedy_match == entry.at("greedy_match")[i].template get<bool>());
    }
    const auto best_sum = std::ranges::max_element(scores, {}, &ChoiceScore::sum);
    CHECK(best_sum - scores.begin() == entry.at("best_by_sum"));
    const auto best_mean = std::ranges::max_element(scores, {}, &ChoiceScore::mean);
    CHECK(best_mean - scores.begin() == entry.at("best_by_mean"));
  });
  CHECK(entries >= 12);
}

TEST_CASE("a text has the same score in a batch and alone") {
  const Texts texts = odd_texts();
  const Engine engine(two_block_model(), {.threads = 2});
  const ScoreOptions options{.context = 200, .stride = 70, .top_logprobs = 3};
  const std::vector<TextScore> batch = score(engine, texts, options);
  REQUIRE(batch.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    CHECK(equal(batch[i], score_one(engine, texts[i], options)));
    CHECK(batch[i].tokens.size() == texts[i].size());
    double nll = 0.0;
    for (const ScoredWindow& window : batch[i].windows) {
      double sum = 0.0;
      for (std::size_t t = window.first; t < window.end; ++t) {
        CHECK(batch[i].tokens[t].top.size() == 3);
        sum -= static_cast<double>(batch[i].tokens[t].logprob);
      }
      CHECK(window.nll == sum);
      nll += sum;
    }
    const std::size_t scored = texts[i].empty() ? 0 : texts[i].size() - 1;
    const Perplexity found = perplexity({&batch[i], 1});
    CHECK(found.tokens == scored);
    CHECK(found.nll == Approx(nll).epsilon(1e-12));
    if (!texts[i].empty()) CHECK(is_unscored(batch[i].tokens[0]));
  }
}

TEST_CASE("scores have the same bits for any number of threads and on every instruction set") {
  const Texts texts = odd_texts();
  const ChoiceQuestion question = {random_tokens(two_block_model(), 290, 7),
                                   {texts.begin() + 1, texts.begin() + 10}};
  const ScoreOptions options{.context = 200, .stride = 70, .top_logprobs = 2};
  const Engine one(two_block_model(), {.threads = 1});
  const std::vector<TextScore> expected = score(one, texts, options);
  const auto expected_choices = score_choices(one, {&question, 1}, 2).front();
  const std::string before(isa_name());
  for (const std::string_view isa : available_isas()) {
    force_isa(isa);
    for (const int threads : {1, 2, 3}) {
      if (threads < 3 && is_slow()) continue;
      CAPTURE(isa, threads);
      const Engine engine(two_block_model(), {.threads = threads});
      CHECK(std::ranges::equal(score(engine, texts, options), expected, kEqual));
      const auto found = score_choices(engine, {&question, 1}, 2).front();
      CHECK(std::ranges::equal(found, expected_choices, kEqual));
    }
  }
  force_isa(before);
}

TEST_CASE("a choice has the score that its tokens have in the whole text, whatever is beside it") {
  const Engine engine(two_block_model(), {.threads = 2});
  const std::vector<ChoiceQuestion> questions = odd_questions();
  const auto scores = score_choices(engine, questions, 2);
  REQUIRE(scores.size() == questions.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    REQUIRE(scores[i].size() == questions[i].choices.size());
    for (std::size_t j = 0; j < scores[i].size(); ++j) {
      CAPTURE(i, j);
      const ChoiceScore& found = scores[i][j];
      const std::size_t length = questions[i].context.size();
      std::vector<TokenId> whole = questions[i].context;
      whole.insert(whole.end(), questions[i].choices[j].begin(), questions[i].choices[j].end());
      // The last token of the whole text is read by no pass, so the text may be one token longer
      // than the context. score() would divide such a text into windows.
      const bool is_longer = whole.size() > 301;
      if (is_longer) whole.resize(301);
      const TextScore text = score_one(engine, whole, {.top_logprobs = 2});
      double sum = 0.0;
      for (std::size_t t = length; t < whole.size(); ++t) {
        CHECK(equal(found.tokens[t - length], text.tokens[t]));
        sum += static_cast<double>(found.tokens[t - length].logprob);
      }
      if (!is_longer) CHECK(found.sum == sum);
      CHECK(found.mean == found.sum / static_cast<double>(questions[i].choices[j].size()));
      CHECK(found.greedy_match ==
            std::ranges::all_of(found.tokens, [](const auto& t) { return t.rank == 0; }));
    }
  }
  CHECK(score_choices(engine, {}).empty());
}

TEST_CASE("the default window is the model's context, with a stride of 512 or half a window") {
  const Model wide = random_model(
      {.vocab_size = 11, .n_positions = 2000, .n_embd = 8, .n_layer = 1, .n_head = 1}, {});
  const auto windows = [](const Model& model, std::size_t count, std::size_t context) {
    const std::vector<TokenId> text(count, 5);
    return score_one(Engine::shared(model), text, {.context = context}).windows;
  };
  CHECK(windows(two_block_model(), 400, 0).at(1).begin == 150);
  CHECK(windows(wide, 2001, 0).at(1).begin == 512);
  CHECK(windows(wide, 5, 2).size() == 4);  // a window of two tokens has half a window of one
}

TEST_CASE("scoring tells its progress, and an exception from there cancels it") {
  const Engine engine = Engine::shared(two_block_model());
  const Texts texts = odd_texts();
  const ChoiceQuestion question = {std::vector<TokenId>(100, 1), Texts(40, {1, 2, 3, 4, 5, 6, 7})};
  using Progress = std::function<void(double)>;
  const std::function<void(const Progress&)> kinds[] = {
      [&](const Progress& progress) {
        static_cast<void>(score(engine, texts, {.progress = progress}));
      },
      [&](const Progress& progress) {
        static_cast<void>(score_choices(engine, {&question, 1}, 0, progress));
      }};
  for (const auto& run : kinds) {
    std::vector<double> shares;
    run([&](double share) { shares.push_back(share); });
    CHECK(shares.size() > 1);
    CHECK(std::ranges::is_sorted(shares));
    CHECK(shares.front() > 0.0);
    CHECK(shares.back() == 1.0);
    CHECK_THROWS_AS(run([](double) { throw 1; }), int);
  }
}

TEST_CASE("scoring refuses options out of range and tokens outside the vocabulary") {
  const Engine engine = Engine::shared(two_block_model());
  using Facts = std::initializer_list<std::string_view>;
  const auto refuses = [&](const Texts& texts, const ScoreOptions& options, Facts facts) {
    check_bad_argument([&] { static_cast<void>(score(engine, texts, options)); }, facts);
  };
  refuses({}, {.context = 302}, {"context", "2 to", "301", "302"});
  refuses({}, {.context = 1}, {"context", "found 1"});
  refuses({}, {.context = 20, .stride = 21}, {"stride", "1 to", "20", "21"});
  refuses({}, {.top_logprobs = 204}, {"204", "203"});
  for (const TokenId id : {-1, 203}) {
    refuses({{1, 2}, {1, 2, id}}, {}, {"text 2, token 3", "0 to 202", std::to_string(id)});
  }
  const auto refuses_choices = [&](std::size_t context, const Texts& choices, std::size_t top,
                                   Facts facts) {
    const std::vector<ChoiceQuestion> question = {{std::vector<TokenId>(context, 1), choices}};
    check_bad_argument([&] { static_cast<void>(score_choices(engine, question, top)); }, facts);
  };
  refuses_choices(0, {{1}}, 0, {"context", "no tokens"});
  refuses_choices(1, {{1}, {}}, 0, {"choice 2", "no tokens"});
  refuses_choices(300, {{1}, {1, 2, 3}}, 0, {"choice 2", "303", "302"});
  refuses_choices(1, {{1, 203}}, 0, {"choice 1, token 2", "0 to 202", "203"});
  refuses_choices(1, {{1}}, 204, {"204", "203"});
  const auto scores = score(engine, Texts{{1, 2, 3}});
  for (const Texts& others : {Texts{{1, 2}}, Texts{}}) {
    check_bad_argument([&] { static_cast<void>(perplexity(scores, others, bundled::tokenizer())); },
                       {"texts that were scored"});
  }
}

}  // namespace gpt2::test::score_test
