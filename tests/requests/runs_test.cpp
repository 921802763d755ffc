// Tests runs themselves: what they tell their door, where they can be cancelled, and how runs that
// share a scheduler go on together.
#include <stdexcept>

#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_runs_test {

namespace {

struct Asked {
  std::string kind;
  json body;
};

const std::string kLong(60, 'b');

// Requests whose texts are written together with those of others, or one after the other in passes
// of their own, and requests without texts.
const std::vector<Asked> kTexts = {
    {"generate", {{"prompt", "a"}, {"max_new_tokens", 5}}},
    {"generate", {{"prompt", {"a", kLong}}, {"n", 2}, {"max_new_tokens", 3}}},
    {"generate", {{"prompt", "a"}, {"max_new_tokens", 6}, {"prompt_lookup", true}}},
    {"generate", {{"prompt", {"a", "b"}}, {"num_beams", 2}, {"max_new_tokens", 4}}},
    {"completions",
     {{"prompt", {"ab", "xy"}},
      {"echo", true},
      {"logprobs", 1},
      {"max_tokens", 3},
      {"return_token_ids", true}}}};
const std::vector<Asked> kCalls = {{"embeddings", {{"input", {"The cat", kLong}}}},
                                   {"score", {{"texts", {"The cat", kLong}}}},
                                   {"choices", {{"context", "a"}, {"choices", {"b", "c"}}}},
                                   {"inspect", {{"prompt", "abc"}, {"skip_layer", {0}}}},
                                   {"inspect_page", {{"prompt", "abc"}}}};

// The records or choices of an answer.
json texts_of(const json& answer) { return answer.is_array() ? answer : answer["choices"]; }

// Events that cancel the run when goes_on is called for the `last`-th time, and count the calls.
RunEvents cancelling(const std::shared_ptr<std::size_t>& calls, std::size_t last) {
  return {.goes_on = [=] { return ++*calls != last; }};
}

// Returns how often the run of a request asks whether it goes on.
std::size_t questions_of(const Asked& asked) {
  const auto calls = std::make_shared<std::size_t>(0);
  static_cast<void>(answer(asked.kind, asked.body, {}, cancelling(calls, 0)));
  return *calls;
}

}  // namespace

TEST_CASE("a run tells how much of the prompt is read, and each token and text") {
  std::vector<std::pair<std::size_t, std::size_t>> read;
  std::vector<TokenId> tokens;
  std::vector<std::string> texts;
  RunEvents events;
  events.on_prompt = [&](std::size_t done, std::size_t total) { read.emplace_back(done, total); };
  events.on_piece = [&](std::size_t index, const CompletionPiece& piece) {
    CHECK(index == 0);
    REQUIRE(piece.token.has_value());
    CHECK(piece.score == nullptr);
    tokens.push_back(*piece.token);
    texts.emplace_back(piece.text);
    return true;
  };
  static_cast<void>(answer("generate", {{"prompt", "xyz"}, {"max_new_tokens", 4}}, {}, events));
  CHECK(read == std::vector<std::pair<std::size_t, std::size_t>>{{0, 3}, {3, 3}});
  CHECK(tokens == std::vector<TokenId>{' ', 0xc3, 0xa9, 'a'});
  CHECK(texts == std::vector<std::string>{" ", "", "\u00e9", "a"});  // only whole characters
}

TEST_CASE("a run tells text once it is certain, and ends when its door wants no more") {
  std::vector<std::string> texts;
  std::size_t scores = 0, steps = 0, pieces = 0;
  RunEvents events;
  events.on_piece = [&](std::size_t, const CompletionPiece& piece) {
    texts.emplace_back(piece.text);
    scores += piece.score != nullptr ? 1 : 0;
    return true;
  };
  const json body = {{"prompt", "a"}, {"stop", {"cdx", "fg"}}, {"logprobs", 0}};
  const json found = answer("generate", body, {}, events);
  std::string all;
  for (const std::string& text : texts) all += text;
  CHECK(all == "bcde");
  CHECK(texts[1].empty());  // of c
  CHECK(found[0]["text"] == all);
  CHECK(scores == found[0]["token_ids"].size());
  // A run ends when its door wants no more pieces. A beam search has none, but tells each step.
  events.on_piece = [&](std::size_t, const CompletionPiece&) { return ++pieces < 3; };
  events.on_beam_step = [&](const BeamStep&) { ++steps; };
  const json ended = answer("generate", {{"prompt", "a"}, {"max_new_tokens", 9}}, {}, events);
  CHECK(pieces == 3);
  CHECK(ended[0]["token_ids"].size() == 3);
  CHECK(ended[0]["finish_reason"] == "cancelled");
  const json search = {{"prompt", "a"}, {"num_beams", 2}, {"max_new_tokens", 4}};
  static_cast<void>(answer("generate", search, {}, events));
  CHECK(steps == 4);
  CHECK(pieces == 3);
}

TEST_CASE("a run without texts tells the share that is done") {
  for (const Asked& asked : kCalls) {
    CAPTURE(asked.kind);
    std::vector<double> shares;
    RunEvents events;
    events.on_progress = [&](double share) { shares.push_back(share); };
    static_cast<void>(answer(asked.kind, asked.body, {}, events));
    REQUIRE(shares.size() >= 2);
    CHECK(std::ranges::is_sorted(shares));
    CHECK(shares.front() == 0.0);
    CHECK(shares.back() <= 1.0);
  }
}

TEST_CASE("a run that is cancelled at any place keeps what it has written until then") {
  for (const Asked& asked : kTexts) {
    const json whole = texts_of(answer(asked.kind, asked.body));
    const bool is_search = asked.body.contains("num_beams");
    const std::size_t places = questions_of(asked);
    REQUIRE(places >= 4);
    for (std::size_t last = 1; last < places; ++last) {
      CAPTURE(asked.kind, asked.body, last);
      const auto calls = std::make_shared<std::size_t>(0);
      const json found = texts_of(answer(asked.kind, asked.body, {}, cancelling(calls, last)));
      CHECK(*calls == last);  // the run asks no more
      REQUIRE(found.size() <= whole.size());
      bool is_cancelled = found.size() < whole.size();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto ids = found[i]["token_ids"].get<std::vector<TokenId>>();
        const auto all = whole[i]["token_ids"].get<std::vector<TokenId>>();
        CHECK(ids.size() <= all.size());
        // The best beams may be others at the end.
        if (!is_search) CHECK(std::equal(ids.begin(), ids.end(), all.begin()));
        is_cancelled =
            is_cancelled || ids.size() < all.size() || found[i]["finish_reason"] == "cancelled";
      }
      if (asked.kind == "generate") CHECK(is_cancelled);
    }
  }
}

TEST_CASE("a run without texts that is cancelled throws") {
  for (const Asked& asked : kCalls) {
    const std::size_t places = questions_of(asked);
    REQUIRE(places >= 2);
    for (std::size_t last = 1; last <= places; ++last) {
      CAPTURE(asked.kind, last);
      const auto calls = std::make_shared<std::size_t>(0);
      CHECK_THROWS_AS(answer(asked.kind, asked.body, {}, cancelling(calls, last)), Cancelled);
      CHECK(*calls == last);
    }
  }
}

TEST_CASE("Run::cancel() ends a run before its next pass") {
  for (const Asked& asked : kTexts) {
    for (std::size_t steps = 0; steps < 3; ++steps) {
      CAPTURE(asked.kind, asked.body, steps);
      Asking asking;
      const auto run = asking.begin(asked.kind, asked.body);
      for (std::size_t i = 0; i < steps; ++i) static_cast<void>(run->step());
      run->cancel();
      CHECK(!run->step());
      CHECK(!texts_of(answer_of(*run)).empty());
    }
  }
  for (const Asked& asked : kCalls) {
    Asking asking;
    const auto run = asking.begin(asked.kind, asked.body);
    run->cancel();
    CHECK_THROWS_AS(run->step(), Cancelled);
  }
}

TEST_CASE("a stream that is cancelled has no last part") {
  Asking asking;
  const auto calls = std::make_shared<std::size_t>(0);
  const auto run =
      asking.begin("completions", {{"prompt", "a"}, {"stream", true}}, cancelling(calls, 5));
  std::vector<json> all;
  for (bool goes_on = true; goes_on;) {
    goes_on = run->step();
    for (const Json& part : run->take_parts()) all.push_back(json::parse(part.text()));
  }
  REQUIRE(!all.empty());
  for (const json& part : all) CHECK(part["choices"][0]["finish_reason"].is_null());
}

TEST_CASE("runs that share a scheduler answer as if they were alone") {
  std::vector<Asked> all = kTexts;
  all.insert(all.end(), kCalls.begin(), kCalls.end());
  Asking asking;
  std::vector<std::unique_ptr<Run>> runs;
  for (const Asked& asked : all) runs.push_back(asking.begin(asked.kind, asked.body));
  // As a door does that serves many requests.
  const auto go_on = [&] {
    bool goes_on = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]->has_own_passes()) goes_on = runs[i]->advance() || goes_on;
    }
    return goes_on;
  };
  std::size_t between = 0;
  for (const auto& run : runs) {
    if (!run->has_own_passes()) continue;
    run->compute([&] {
      ++between;
      go_on();
      asking.scheduler.step();
    });
    while (run->advance()) asking.scheduler.step();
  }
  CHECK(between > 10);
  while (go_on()) asking.scheduler.step();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(all[i].kind, all[i].body);
    json found = answer_of(*runs[i]), alone = answer(all[i].kind, all[i].body);
    if (all[i].kind == "generate") {
      for (json* const list : {&found, &alone}) {
        for (json& record : *list) record.erase("stats");
      }
    }
    CHECK(found == alone);
  }
}

TEST_CASE("a step of one run takes the others on, and destroying one does not hinder them") {
  Asking asking;
  const json body = {{"prompt", "a"}, {"max_new_tokens", 20}};
  std::size_t pieces = 0;
  RunEvents events;
  events.on_piece = [&](std::size_t, const CompletionPiece&) { return ++pieces > 0; };
  const auto first = asking.begin("generate", body);
  auto second = asking.begin("generate", body), third = asking.begin("generate", body, events);
  CHECK(second->step());
  CHECK(third->step());
  CHECK(first->step());
  CHECK(pieces >= 2);
  third.reset();
  const std::size_t before = pieces;
  const json expected = "bcdefghijklmnopqrstu";
  CHECK(answer_of(*first)[0]["text"] == expected);
  CHECK_FALSE(second->step());  // all that is left is to notice the end
  CHECK(answer_of(*second)[0]["text"] == expected);
  CHECK(pieces == before);
}

TEST_CASE("a run may be destroyed by its own event while another one is stepped") {
  Asking asking;
  std::unique_ptr<Run> second;
  std::size_t pieces = 0;
  RunEvents events;
  events.on_piece = [&](std::size_t, const CompletionPiece&) {
    ++pieces;
    second.reset();
    return true;
  };
  const json body = {{"prompt", "a"}, {"max_new_tokens", 5}};
  second = asking.begin("generate", body, events);
  static_cast<void>(second->advance());
  const auto first = asking.begin("generate", body);
  CHECK(answer_of(*first)[0]["text"] == "bcdef");
  CHECK(pieces == 1);
}

TEST_CASE("what an event throws ends its text alone if the door takes texts, or else the run") {
  const json body = {{"prompt", "a"}, {"n", 3}, {"max_new_tokens", 4}};
  RunEvents events;
  events.on_piece = [](std::size_t index, const CompletionPiece&) {
    if (index == 1) throw std::runtime_error("enough");
    return true;
  };
  Asking asking;
  const auto run = asking.begin("generate", body, events);
  while (run->step()) {
  }
  CHECK_THROWS_AS(run->json(), std::runtime_error);
  CHECK_THROWS_AS(run->tokens(), std::runtime_error);

  std::vector<std::size_t> taken, failed;
  events.on_choice = [&](CompletionChoice choice) {
    (choice.error ? failed : taken).push_back(choice.index);
    if (!choice.error) CHECK(choice.text == "bcde");
  };
  const auto other = asking.begin("generate", body, events);
  CHECK(answer_of(*other) == json::array());  // the door has taken them
  CHECK(taken == std::vector<std::size_t>{0, 2});
  CHECK(failed == std::vector<std::size_t>{1});
}

TEST_CASE("a request of many texts is written in parts, and answered in their order") {
  json prompts = json::array();
  for (std::size_t i = 0; i < 300; ++i) prompts.push_back(json::array({97 + i % 20}));
  std::vector<std::size_t> order;
  RunEvents events;
  events.on_choice = [&](CompletionChoice choice) {
    order.push_back(choice.index);
    CHECK(choice.result.tokens.front() == static_cast<TokenId>(98 + choice.index / 2 % 20));
  };
  // Texts of other lengths: some end earlier than those before them.
  const json body = {{"prompt", prompts}, {"n", 2}, {"max_new_tokens", 9}, {"stop", {"g", "m"}}};
  static_cast<void>(answer("generate", body, {}, events));
  REQUIRE(order.size() == 600);
  CHECK(std::ranges::is_sorted(order));
}

TEST_CASE("a run counts its tokens") {
  const auto tokens = [](const std::string& kind, const json& body) {
    Asking asking;
    const auto run = asking.begin(kind, body);
    static_cast<void>(answer_of(*run));
    const RunTokens found = run->tokens();
    return std::pair(found.prompt, found.completion);
  };
  using Pair = std::pair<std::size_t, std::size_t>;
  CHECK(tokens("completions", {{"prompt", {"abc", "x"}}, {"n", 2}, {"max_tokens", 5}}) ==
        Pair{4, 20});
  CHECK(tokens("completions", {{"prompt", "a"}, {"best_of", 3}, {"max_tokens", 5}}) == Pair{1, 15});
  CHECK(tokens("embeddings", {{"input", {"abc", "x"}}}) == Pair{4, 0});
  CHECK(tokens("score", {{"texts", {"abc", "xy"}}}) == Pair{5, 0});
  CHECK(tokens("choices", {{"context", "abc"}, {"choices", {"x", "yz"}}}) == Pair{6, 0});
  CHECK(tokens("inspect", {{"prompt", "abc"}}) == Pair{3, 0});
}

TEST_CASE("an unknown kind is refused with the names of all") {
  check_bad_argument([] { static_cast<void>(answer("poem", {})); },
                     {"poem", "generate", "completions", "chat", "responses", "embeddings", "score",
                      "choices", "inspect"});
}

}  // namespace gpt2::test::requests_runs_test
