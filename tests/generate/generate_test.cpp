// Generates with the bundled model. The texts must be those that PyTorch writes with it, and must
// end for the right reasons.
#include "gpt2/generate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpt2/error.h"
#include "gpt2/score.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/refusal.h"

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

TEST_CASE("the streamed pieces of a text are the text of its tokens") {
  const Run outcome = run("Once upon a time", {.max_new_tokens = 80, .sampling = {.seed = 7}});
  std::vector<TokenId> ordinary;
  for (const TokenId id : outcome.result.tokens) {
    if (!tokenizer().is_special(id)) ordinary.push_back(id);
  }
  CHECK(outcome.text == tokenizer().decode(ordinary));
  CHECK(outcome.result.finish_reason == FinishReason::length);
  CHECK(outcome.result.tokens.size() == 80);
  CHECK(outcome.result.prompt_tokens == tokenizer().encode("Once upon a time").size());
}

TEST_CASE("a seed gives one text, on any number of threads") {
  const GenerationOptions options{.max_new_tokens = 40, .sampling = {.top_k = 40, .seed = 3}};
  const Run first = run("The cat", options, Session(Engine(model(), {.threads = 1})));
  const Run second = run("The cat", options, Session(Engine(model(), {.threads = 3})));
  CHECK(second.result.tokens == first.result.tokens);
  GenerationOptions other = options;
  other.sampling.seed = 4;
  CHECK(run("The cat", other).result.tokens != first.result.tokens);
}

TEST_CASE("a text ends before a stop string, even if that spans several tokens") {
  const std::string whole = run("Once upon a time", greedy(60)).text;
  // Eleven characters from the middle of the text span several tokens.
  const std::string stop = whole.substr(25, 11);
  GenerationOptions options = greedy(60);
  options.stop = {"not in there", stop};
  const Run stopped = run("Once upon a time", options);
  CHECK(stopped.text == whole.substr(0, whole.find(stop)));
  CHECK(stopped.result.finish_reason == FinishReason::stop_string);
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

TEST_CASE("a cancelled prompt leaves the number of dropped tokens as it was") {
  Session session(model(), SessionOptions{.max_tokens = 32});
  session.forward(std::vector<TokenId>(30, 50));
  const std::size_t dropped = session.slide(0, 20);
  REQUIRE(dropped > 0);
  REQUIRE(session.waiting() == session.position());  // so the session is emptied, then refilled
  const std::size_t position = session.position();
  GenerationOptions options = greedy(4);
  options.on_prompt = [](std::size_t, std::size_t) { return false; };
  static_cast<void>(
      generate(session, std::vector<TokenId>{1}, options, [](TokenId) { return true; }));
  CHECK(session.position() == position);
  CHECK(session.dropped() == dropped);
}

TEST_CASE("a full context ends the text with reason length") {
  const std::size_t prompt = tokenizer().encode("Once upon a time").size();
  const SessionOptions room{.max_tokens = prompt + 10};
  const Run outcome = run("Once upon a time", greedy(500), Session(model(), room));
  CHECK(outcome.result.finish_reason == FinishReason::context_full);
  // The last token needs no room in the context, because nothing comes after it.
  CHECK(outcome.result.tokens.size() == 11);
  CHECK(outcome.result.tokens == run("Once upon a time", greedy(11)).result.tokens);
}

TEST_CASE("a session continues after a generation just as one long generation would") {
  const std::vector<TokenId> prompt = tokenizer().encode("Once upon a time");
  const std::vector<TokenId> more = tokenizer().encode(" Then the cat");
  const auto ignore = [](TokenId) { return true; };
  GenerationOptions options{.max_new_tokens = 25, .sampling = {.top_k = 40, .seed = 5}};
  options.hash_logits = true;
  Session whole(model());
  const std::vector<TokenId> expected = generate(whole, prompt, options, ignore).tokens;
  CHECK(whole.position() == prompt.size() + 25);

  Session session(model());
  options.max_new_tokens = 10;
  std::vector<TokenId> found = generate(session, prompt, options, ignore).tokens;
  CHECK(session.position() == prompt.size() + 10);
  int left = 5;
  const std::vector<std::function<bool(TokenId)>> sinks = {[&](TokenId) { return --left > 0; }, {}};
  for (const auto& sink : sinks) {
    const GenerationResult next = generate(session, {}, options, sink);
    found.insert(found.end(), next.tokens.begin(), next.tokens.end());
    CHECK(session.position() == prompt.size() + found.size());
  }
  CHECK(found == expected);

  // A new prompt after the text leads to the same logits as all tokens at once.
  options.max_new_tokens = 3;
  const GenerationResult result = generate(session, more, options, ignore);
  std::vector<TokenId> all = prompt;
  all.insert(all.end(), expected.begin(), expected.end());
  all.insert(all.end(), more.begin(), more.end());
  Session fresh(model());
  const GenerationResult at_once = generate(fresh, all, options, ignore);
  CHECK(result.tokens == at_once.tokens);
  CHECK(result.logits_hash == at_once.logits_hash);
}

TEST_CASE("the end-of-text tokens of model and tokenizer end a text unless they are ignored") {
  const std::optional<TokenId> end = tokenizer().end_of_text();
  REQUIRE(end);
  CHECK(model().config().eos_token_id == std::vector<TokenId>{*end});
  GenerationOptions options = greedy(500);
  const Run ended = run("Once upon a time", options);
  CHECK(ended.result.finish_reason == FinishReason::end_of_text);
  Session session(model());
  const auto count = [](TokenId) { return true; };
  CHECK(generate(session, tokenizer().encode("Once upon a time"), options, count).tokens ==
        ended.result.tokens);

  options.ignore_eos = true;
  options.max_new_tokens = ended.result.tokens.size() + 5;
  const Run whole = run("Once upon a time", options);
  CHECK(whole.result.finish_reason == FinishReason::length);
  CHECK(whole.result.tokens[ended.result.tokens.size()] == *end);
}

TEST_CASE("cancelling a prompt keeps the tokens that wait in the session") {
  GenerationOptions options = greedy(10);
  Session session(model());
  Session other(model());
  const auto ignore = [](TokenId) { return true; };
  const std::vector<TokenId> prompt = tokenizer().encode("Once upon a time");
  generate(session, prompt, options, ignore);
  generate(other, prompt, options, ignore);
  const std::size_t position = session.position();
  for (const std::vector<TokenId>& more : {prompt, std::vector<TokenId>()}) {
    options.on_prompt = [&](std::size_t read, std::size_t total) { return read < total; };
    CHECK(generate(session, more, options, ignore).finish_reason == FinishReason::cancelled);
    CHECK(session.position() == position);
    CHECK(session.waiting() == 1);
  }
  options.on_prompt = {};
  CHECK(generate(session, {}, options, ignore).tokens ==
        generate(other, {}, options, ignore).tokens);
}

TEST_CASE("after a stop token no token waits, and a text without a prompt ends at once again") {
  const std::vector<TokenId> prompt = tokenizer().encode("Once upon a time");
  Session session(model());
  GenerationOptions options = greedy(20);
  options.stop_tokens = {run("Once upon a time", greedy(4)).result.tokens[3]};
  const GenerationResult result =
      generate(session, prompt, options, std::function<bool(TokenId)>());
  CHECK(result.finish_reason == FinishReason::end_of_text);
  CHECK(session.position() == prompt.size() + result.tokens.size());
  CHECK(session.waiting() == 0);
  const GenerationResult again = generate(session, {}, options, std::function<bool(TokenId)>());
  CHECK(again.tokens.empty());
  CHECK(again.finish_reason == FinishReason::end_of_text);
  options.stop_tokens.clear();
  options.max_new_tokens = 3;
  Session other(model());
  generate(other, prompt, greedy(3), std::function<bool(TokenId)>());
  CHECK(generate(session, {}, options, std::function<bool(TokenId)>()).tokens ==
        generate(other, {}, options, std::function<bool(TokenId)>()).tokens);
}

TEST_CASE("the sink ends a text by returning false, and is called for every token") {
  Session session(model());
  std::size_t calls = 0;
  const GenerationResult result =
      generate(session, tokenizer(), tokenizer().encode("Once"), greedy(50),
               [&](std::string_view) { return ++calls < 4; });
  CHECK(result.finish_reason == FinishReason::cancelled);
  CHECK(result.tokens.size() == 4);
  CHECK(calls == 4);
}

TEST_CASE("asking for no tokens is not an error, but an empty or too long prompt is") {
  CHECK(run("Once", greedy(0)).result.tokens.empty());
  Session session(model());
  const auto ignore = [](std::string_view) { return true; };
  CHECK_THROWS_AS(generate(session, tokenizer(), {}, greedy(5), ignore), Error);
  const std::vector<TokenId> too_long(model().config().n_positions + 1, 5);
  CHECK_THROWS_AS(generate(session, tokenizer(), too_long, greedy(5), ignore), Error);
}

TEST_CASE("a target receives text if it has a tokenizer, and tokens otherwise") {
  const std::vector<TokenId> prompt = tokenizer().encode("Once upon a time");
  const Run expected = run("Once upon a time", greedy(12));
  for (const bool has_tokenizer : {true, false}) {
    std::string text;
    std::vector<TokenId> tokens;
    const auto on_text = [&](std::string_view piece) {
      text += piece;
      return true;
    };
    const auto on_token = [&](TokenId token) {
      tokens.push_back(token);
      return true;
    };
    std::optional<Tokenizer> optional_tokenizer;
    if (has_tokenizer) optional_tokenizer = tokenizer();
    const TextTarget target(optional_tokenizer, on_text, on_token);
    Session session(model());
    CHECK(generate(session, prompt, greedy(12), target).tokens == expected.result.tokens);
    CHECK(text == (has_tokenizer ? expected.text : ""));
    CHECK(tokens == (has_tokenizer ? std::vector<TokenId>() : expected.result.tokens));
    session.rewind(0);
    const TextTarget nobody(target.tokenizer, nullptr, nullptr);
    CHECK(generate(session, prompt, greedy(12), nobody).tokens == expected.result.tokens);
  }
}

TEST_CASE("a target with a tokenizer can receive the tokens of the text, too") {
  const std::vector<TokenId> prompt = tokenizer().encode("Once upon a time");
  const Run expected = run("Once upon a time", greedy(12));
  for (const std::size_t n : {12u, 5u}) {
    std::string text;
    std::vector<TokenId> tokens;
    const auto on_text = [&](std::string_view piece) {
      text += piece;
      return true;
    };
    TextTarget target(tokenizer(), on_text, nullptr);
    target.on_token_of_text = [&](TokenId token) {
      tokens.push_back(token);
      return tokens.size() < n || n == 12;
    };
    Session session(model());
    const GenerationResult result = generate(session, prompt, greedy(12), target);
    CHECK(result.finish_reason == (n == 12 ? FinishReason::length : FinishReason::cancelled));
    CHECK(result.tokens == tokens);
    CHECK(tokens ==
          std::vector<TokenId>(expected.result.tokens.begin(), expected.result.tokens.begin() + n));
    CHECK(text == expected.text.substr(0, text.size()));
    CHECK(text == tokenizer().decode(tokens));  // the text of the last token is part of it
  }
}

TEST_CASE("after a sink or a processor has thrown, the text goes on as if it had been one call") {
  const std::vector<TokenId> prompt = tokenizer().encode("Once upon a time");
  GenerationOptions options = greedy(24);
  options.ignore_eos = true;
  options.sampling.frequency_penalty = 1.0f;  // counts the new tokens
  Session whole(model());
  const std::vector<TokenId> expected = generate(whole, prompt, options, nullptr).tokens;
  for (const bool sink_throws : {true, false}) {
    for (const std::size_t n : {std::size_t{sink_throws}, std::size_t{9}}) {
      CAPTURE(sink_throws, n);
      Session session(model());
      std::vector<TokenId> written;
      const auto fail_at_n = [&] {
        if (written.size() == n) throw std::runtime_error("full");
      };
      const auto sink = [&](TokenId token) {
        written.push_back(token);
        if (sink_throws) fail_at_n();
        return true;
      };
      GenerationOptions failing = options;
      if (!sink_throws) {
        failing.sampling.processors = {
            [&](std::span<float>, std::span<const TokenId>) { fail_at_n(); }};
      }
      CHECK_THROWS_AS(generate(session, prompt, failing, sink), std::runtime_error);
      GenerationOptions left = options;
      left.max_new_tokens = 24 - n;
      const std::vector<TokenId> rest = generate(session, {}, left, nullptr).tokens;
      written.insert(written.end(), rest.begin(), rest.end());
      CHECK(written == expected);
    }
  }
}

TEST_CASE("stop strings need a tokenizer, and must not be empty") {
  Session session(model());
  const std::vector<TokenId> prompt = tokenizer().encode("Once");
  GenerationOptions options = greedy(3);
  options.stop = {"x"};
  CHECK_THROWS_AS(generate(session, prompt, options, nullptr), Error);
  options.stop = {"x", ""};
  CHECK_THROWS_AS(generate(session, tokenizer(), prompt, options, nullptr), Error);
  CHECK(session.position() == 0);
}

TEST_CASE("perplexity follows from the probabilities, and its progress ends at one") {
  const std::vector<TokenId> tokens =
      tokenizer().encode("Once upon a time there was a little girl");
  double surprise = 0.0;
  Session session(model());
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::span<const float> logits = session.forward(std::span(tokens).subspan(i, 1));
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    surprise +=
        std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(tokens[i + 1])]);
  }
  std::vector<double> shares;
  const auto note = [&](double share) { shares.push_back(share); };
  const PerplexityComparison found = compare_perplexity(model(), model(), tokens, note);
  CHECK(found.tokens == tokens.size() - 1);
  for (const double perplexity : found.perplexity) {
    CHECK(perplexity ==
          Approx(std::exp(surprise / static_cast<double>(found.tokens))).epsilon(1e-5));
  }
  CHECK(found.max_logit_change == 0.0);
  CHECK(shares == std::vector{1.0});

  // A text of several windows.
  std::vector<TokenId> several;
  while (several.size() <= 2 * model().config().n_positions) {
    several.insert(several.end(), tokens.begin(), tokens.end());
  }
  shares.clear();
  CHECK(compare_perplexity(model(), model(), several, note).tokens == several.size() - 1);
  REQUIRE(shares.size() > 2);
  CHECK(shares.back() == 1.0);
  CHECK(std::is_sorted(shares.begin(), shares.end()));
}

TEST_CASE("a sink that moves the session away ends the call with an error") {
  Session session(model());
  const std::vector<TokenId> prompt = {1, 2, 3};
  const auto steals = [&](TokenId) {
    const Session thief = std::move(session);
    return true;
  };
  CHECK_THROWS_AS(generate(session, prompt, {.max_new_tokens = 3}, steals), Error);
}

}  // namespace gpt2::test::generate_test
