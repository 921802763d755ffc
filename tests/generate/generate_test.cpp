// Generates with the bundled model. The texts must be those that PyTorch writes with it, and must
// end for the right reasons.
#include "gpt2/generate.h"

#include "generate/writing/generation.h"
#include "gpt2/error.h"
#include "support/bundled_model.h"
#include "support/golden.h"
#include "support/test.h"

namespace gpt2::test::generate_test {

using namespace gpt2::test::bundled;

namespace {

struct Run {
  std::string text;
  GenerationResult result;
};

Run run(const std::string& prompt, const GenerationOptions& options,
        Session session = Session(model())) {
  Run outcome;
  outcome.result = generate(session, tokenizer(), tokenizer().encode(prompt), options,
                            [&](std::string_view text) {
                              outcome.text += text;
                              return true;
                            });
  return outcome;
}

GenerationOptions greedy(std::size_t max_new_tokens) {
  return {.max_new_tokens = max_new_tokens, .sampling = {.temperature = 0.0f}};
}

// The text that the filter writes, and the number of the piece after which it stopped (0: never).
struct Filtered {
  std::string text;
  std::size_t stopped_after = 0;
};

Filtered filtered(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopFilter filter(stops);
  Filtered outcome;
  for (const std::string& piece : pieces) {
    outcome.text += filter.write(piece);
    if (filter.stopped()) {
      outcome.stopped_after = static_cast<std::size_t>(&piece - pieces.data()) + 1;
      return outcome;
    }
  }
  outcome.text += filter.flush();
  return outcome;
}

}  // namespace

TEST_CASE("the bundled model writes what PyTorch writes with it") {
  std::ifstream in(std::filesystem::path(GPT2_TEST_DATA) / "bundled_model.json");
  const nlohmann::json expected = nlohmann::json::parse(in);
  for (const auto& entry : expected.at("prompts")) {
    const std::string prompt = entry.at("prompt");
    INFO(prompt);
    CHECK(tokenizer().encode(prompt) == test::ids_of(entry.at("prompt_ids")));
    const std::vector<TokenId> ids = test::ids_of(entry.at("greedy_ids"));
    CHECK(run(prompt, greedy(ids.size())).result.tokens == ids);

    if (!entry.contains("last_position_logits")) continue;
    // Both sides compute in f32. The tolerance is 2e-5 of the range of the logits, as in
    // oracle_test.cpp.
    Session session(model());
    const std::span<const float> logits = session.forward(test::ids_of(entry.at("prompt_ids")));
    const auto theirs = entry.at("last_position_logits").get<std::vector<double>>();
    const double tolerance = 2e-5 * test::range_of(theirs);
    REQUIRE(logits.size() == theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      REQUIRE(std::abs(static_cast<double>(logits[i]) - theirs[i]) <= tolerance);
    }
  }
}

TEST_CASE("a seed gives one text, on any number of threads, whose pieces are its tokens' text") {
  GenerationOptions options{.max_new_tokens = 60, .sampling = {.top_k = 40, .seed = 7}};
  const Run first = run("The cat", options, Session(Engine(model(), {.threads = 1})));
  const Run second = run("The cat", options, Session(Engine(model(), {.threads = 3})));
  CHECK(second.result.tokens == first.result.tokens);
  std::vector<TokenId> ordinary;
  for (const TokenId id : first.result.tokens) {
    if (!tokenizer().is_special(id)) ordinary.push_back(id);
  }
  CHECK(first.text == tokenizer().decode(ordinary));
  CHECK(first.result.finish_reason == FinishReason::length);
  CHECK(first.result.tokens.size() == 60);
  CHECK(first.result.prompt_tokens == tokenizer().encode("The cat").size());
  options.sampling.seed = 4;
  CHECK(run("The cat", options).result.tokens != first.result.tokens);
}

TEST_CASE("a prompt is read in pieces that the caller can count and cancel") {
  std::vector<TokenId> prompt(300);
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<TokenId>(i % 100);
  Session session(model());
  session.forward(std::span(prompt).first(7));
  std::vector<std::size_t> seen;
  GenerationOptions options = greedy(4);
  options.on_prompt = [&](std::size_t read, std::size_t total) {
    CHECK(total == 300);
    seen.push_back(read);
    return true;
  };
  const auto sink = [](TokenId) { return true; };
  const GenerationResult whole = generate(session, prompt, options, sink);
  CHECK(whole.tokens.size() == 4);
  REQUIRE(seen.size() >= 2);
  CHECK(seen.front() == 0);
  CHECK(seen.back() == 300);

  for (const std::size_t cancel_at : {std::size_t{0}, std::size_t{300}}) {
    session.rewind(7);
    options.on_prompt = [&](std::size_t read, std::size_t) { return read != cancel_at; };
    const GenerationResult none = generate(session, prompt, options, sink);
    CHECK(none.finish_reason == FinishReason::cancelled);
    CHECK(none.tokens.empty());
    CHECK(session.position() == 7);
  }
  options.on_prompt = {};
  CHECK(generate(session, prompt, options, sink).tokens == whole.tokens);
}

TEST_CASE("a text ends at the end-of-text token unless it is ignored, and where the context ends") {
  const std::optional<TokenId> end = tokenizer().end_of_text();
  REQUIRE(end);
  CHECK(model().config().eos_token_id == std::vector<TokenId>{*end});
  GenerationOptions options = greedy(500);
  const Run ended = run("Once upon a time", options);
  CHECK(ended.result.finish_reason == FinishReason::end_of_text);
  options.ignore_eos = true;
  options.max_new_tokens = ended.result.tokens.size() + 5;
  const Run whole = run("Once upon a time", options);
  CHECK(whole.result.finish_reason == FinishReason::length);
  CHECK(whole.result.tokens[ended.result.tokens.size()] == *end);

  const std::size_t prompt = tokenizer().encode("Once upon a time").size();
  const Run full = run("Once upon a time", options, Session(model(), {.max_tokens = prompt + 10}));
  CHECK(full.result.finish_reason == FinishReason::context_full);
  // The last token needs no room in the context, because nothing comes after it.
  CHECK(full.result.tokens.size() == 11);
  // Eleven characters from the middle of the text span several tokens.
  options.stop = {"not in there", whole.text.substr(25, 11)};
  const Run stopped = run("Once upon a time", options);
  CHECK(stopped.text == whole.text.substr(0, whole.text.find(options.stop[1])));
  CHECK(stopped.result.finish_reason == FinishReason::stop_string);
}

TEST_CASE("cancelling a prompt keeps the tokens that wait, and the count of those dropped") {
  GenerationOptions options = greedy(10);
  Session session(model(), {.max_tokens = 32});
  session.forward(std::vector<TokenId>(30, 50));
  REQUIRE(session.slide(0, 20) > 0);
  Session other = session.fork();
  for (const std::vector<TokenId>& more : {std::vector<TokenId>{1}, std::vector<TokenId>()}) {
    for (const bool at_once : {true, false}) {
      options.on_prompt = [&](std::size_t read, std::size_t total) {
        return !at_once && read < total;
      };
      CHECK(generate(session, more, options, nullptr).finish_reason == FinishReason::cancelled);
      CHECK(session.position() == other.position());
      CHECK(session.waiting() == other.waiting());
      CHECK(session.dropped() == other.dropped());
    }
  }
  options.on_prompt = {};
  CHECK(generate(session, {}, options, nullptr).tokens ==
        generate(other, {}, options, nullptr).tokens);
}

TEST_CASE("after a stop token no token waits, and a text without a prompt ends at once again") {
  const std::vector<TokenId> prompt = tokenizer().encode("Once upon a time");
  Session session(model()), other(model());
  const std::vector<TokenId> four = generate(other, prompt, greedy(4), nullptr).tokens;
  GenerationOptions options = greedy(20);
  options.stop_tokens = {four[3]};
  const GenerationResult result = generate(session, prompt, options, nullptr);
  CHECK(result.finish_reason == FinishReason::end_of_text);
  CHECK(session.position() == prompt.size() + result.tokens.size());
  CHECK(session.waiting() == 0);
  const GenerationResult again = generate(session, {}, options, nullptr);
  CHECK(again.tokens.empty());
  CHECK(again.finish_reason == FinishReason::end_of_text);
  CHECK(generate(session, {}, greedy(1), nullptr).tokens == std::vector{four[3]});
}

TEST_CASE("asking for no tokens is not an error, but a bad prompt or stop string is") {
  CHECK(run("Once", greedy(0)).result.tokens.empty());
  Session session(model());
  const auto ignore = [](std::string_view) { return true; };
  const std::vector<TokenId> prompt = tokenizer().encode("Once");
  CHECK_THROWS_AS(generate(session, tokenizer(), {}, greedy(5), ignore), Error);
  const std::vector<TokenId> too_long(model().config().n_positions + 1, 5);
  CHECK_THROWS_AS(generate(session, tokenizer(), too_long, greedy(5), ignore), Error);
  GenerationOptions options = greedy(3);
  options.stop = {"x"};  // needs a tokenizer
  CHECK_THROWS_AS(generate(session, prompt, options, nullptr), Error);
  options.stop = {"x", ""};
  CHECK_THROWS_AS(generate(session, tokenizer(), prompt, options, nullptr), Error);
  CHECK(session.position() == 0);
}

TEST_CASE("hidden text is found by the filter and not written") {
  StopFilter filter({"b<x>c", "<stop>"});
  CHECK(filter.write("a") == "a");
  CHECK(filter.write("<x>", true).empty());
  CHECK(filter.write("ab") == "a");  // b may begin a stop string
  CHECK(filter.write("<x>", true).empty());
  CHECK(filter.write("d") == "bd");
  CHECK(filter.write("<sto", true).empty());
  CHECK(filter.write("b<x").empty());
  CHECK(filter.flush() == "b<x");
  CHECK(filter.write("e<st", true).empty());
  CHECK(filter.write("op>f").empty());
  CHECK(filter.stopped());
}

TEST_CASE("only the text before the first stop string is written, however the text is divided") {
  using Strings = std::vector<std::string>;
  const struct {
    Strings stops, pieces;
    std::string text;
    std::size_t stopped_after = 0;
  } cases[] = {{{"END"}, {"one ", "twoEND three", "four"}, "one two", 2},
               {{"\n\n"}, {"a\n", "b\n", "\nc"}, "a\nb", 3},
               {{"abcd"}, {"xa", "b", "c", "d"}, "x", 4},
               {{"abcd"}, {"xabc"}, "xabc"},
               {{"abab!"}, {"ab", "ab", "ab", "?"}, "ababab?"},
               {{"c", "b"}, {"abc"}, "a", 1},
               {{"bcd", "c"}, {"ab", "c"}, "ab", 2},
               {{"abcde", "bc"}, {"xabc", "de"}, "xa", 1},
               {{"bc", "abc"}, {"xab", "c"}, "x", 2},
               {{}, {"a", "b"}, "ab"}};
  for (const auto& one : cases) {
    const Filtered outcome = filtered(one.stops, one.pieces);
    CHECK(outcome.text == one.text);
    CHECK(outcome.stopped_after == one.stopped_after);
  }
  // Every text of eight letters with some stop strings that overlap, whole and letter by letter.
  const Strings stops = {"abab", "ba", "bb", "aab", "bbb"};
  for (unsigned bits = 0; bits < 256; ++bits) {
    std::string text;
    Strings letters;
    for (unsigned i = 0; i < 8; ++i) letters.emplace_back((bits >> i & 1) != 0 ? "a" : "b");
    for (const std::string& letter : letters) text += letter;
    CHECK(filtered(stops, {text}).text == filtered(stops, letters).text);
  }
}

}  // namespace gpt2::test::generate_test
