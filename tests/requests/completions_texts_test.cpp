// Tests the texts, beams, log-probabilities and streams of completions: they are those of the
// library for the same options.
#include <cstdio>
#include <tuple>

#include "gpt2/beam_search.h"
#include "gpt2/generate.h"
#include "gpt2/score.h"
#include "gpt2/session.h"
#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_completions_texts_test {

namespace {

json choices(const json& body, const Door& door = {}) {
  const json found = answer("completions", body, door);
  CAPTURE(body.dump().substr(0, 300), found);
  check_completion(found, "object");
  return found["choices"];
}

GenerationOptions defaults() {
  return {.max_new_tokens = 16, .sampling = {.temperature = 0.8f, .top_k = 40}};
}

// What the library writes of the bundled model's text `sequence`.
GenerationResult written(const std::string& prompt, GenerationOptions options,
                         std::size_t sequence = 0) {
  Session session(stories().engine);
  options.sampling.sequence += sequence;
  std::vector<TokenId> ids = stories().ids(prompt);
  if (ids.empty()) ids = {stories().tokenizer->end_of_text().value()};
  return generate(session, *stories().tokenizer, ids, options, {});
}

// Checks a choice of the bundled model with return_token_ids and perhaps logprobs.
void check_same(const json& choice, GenerationResult expected) {
  CHECK(choice["token_ids"] == expected.tokens);
  if (expected.end_token) expected.tokens.push_back(*expected.end_token);
  const bool stops = expected.finish_reason == FinishReason::end_of_text ||
                     expected.finish_reason == FinishReason::stop_string;
  CHECK(choice["finish_reason"] == (stops ? "stop" : "length"));
  if (choice["logprobs"].is_null()) return;
  const json& lists = choice["logprobs"];
  REQUIRE(lists["token_logprobs"].size() == expected.logprobs.size());
  for (std::size_t i = 0; i < expected.logprobs.size(); ++i) {
    const TokenLogprob& score = expected.logprobs[i];
    CHECK(lists["token_logprobs"][i].get<float>() == score.logprob);
    CHECK(lists["top_token_ids"][i].at(lists["tokens"][i].get<std::string>()) ==
          expected.tokens[i]);
    std::vector<TokenId> likeliest = {expected.tokens[i]};
    for (const auto& [id, logprob] : score.top) likeliest.push_back(id);
    for (const auto& [token, id] : lists["top_token_ids"][i].items()) {
      CHECK(std::ranges::count(likeliest, id.get<TokenId>()) >= 1);
      CHECK(lists["top_logprobs"][i].contains(token));
    }
    for (const auto& [id, logprob] : score.top) {
      const auto at =
          std::ranges::find_if(lists["top_token_ids"][i].items(),
                               [id = id](const auto& one) { return one.value() == id; });
      CHECK(lists["top_logprobs"][i].at(at.key()).get<float>() == logprob);
    }
  }
}

double mean_of(const GenerationResult& result) {
  double sum = 0.0;
  for (const TokenLogprob& score : result.logprobs) sum += score.logprob;
  return sum / static_cast<double>(result.logprobs.size());
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

TEST_CASE("what is drawn is what the library draws") {
  using Set = std::function<void(GenerationOptions&)>;
  const std::vector<std::pair<std::string, Set>> cases = {
      {"", [](auto&) {}},
      {R"("seed": 18446744073709551615, "max_tokens": 5)",
       [](auto& o) { o.sampling.seed = -1, o.max_new_tokens = 5; }},
      {R"("temperature": 0)", [](auto& o) { o.sampling.temperature = 0; }},
      {R"("do_sample": false, "temperature": 2)", [](auto& o) { o.sampling.temperature = 0; }},
      {R"("do_sample": true, "temperature": 2)", [](auto& o) { o.sampling.temperature = 2; }},
      {R"("temperature": 1.5, "top_k": 0, "top_p": 0.9, "sequence": 4)",
       [](auto& o) {
         o.sampling.temperature = 1.5, o.sampling.top_k = 0, o.sampling.top_p = 0.9f;
         o.sampling.sequence = 4;
       }},
      {R"("presence_penalty": 1.5, "no_repeat_ngram_size": 2, "max_tokens": 60)",
       [](auto& o) {
         o.sampling.presence_penalty = 1.5, o.sampling.no_repeat_ngram_size = 2;
         o.max_new_tokens = 60;
       }},
      {R"("logit_bias": {"267": -100, "431": 2.5}, "suppress_tokens": [267, 431])", [](auto& o) {
         o.sampling.logit_bias = {{267, -100.0f}, {431, 2.5f}};
         o.sampling.suppress_tokens = {267, 431};
       }}};
  for (const auto& [members, set] : cases) {
    CAPTURE(members);
    const std::string text =
        R"({"prompt": "Tom", "n": 2, "logprobs": 3, "return_token_ids": true)" +
        (members.empty() ? "" : ", " + members) + "}";
    GenerationOptions options = defaults();
    options.top_logprobs = 3;
    set(options);
    const json found = answer("completions", json::parse(text), of_stories());
    REQUIRE(found["choices"].size() == 2);
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      CAPTURE(i);
      const GenerationResult expected = written("Tom", options, i);
      CHECK(found["choices"][i]["index"] == i);
      check_same(found["choices"][i], expected);
      tokens += expected.tokens.size();
    }
    CHECK(found["usage"]["completion_tokens"] == tokens);
    CHECK(joined(parts("completions", json::parse(text), of_stories())) == found["choices"]);
  }
}

TEST_CASE("a seed may be random") {
  const json body = {{"prompt", "One"}, {"max_tokens", 30}};
  const auto drawn = [&](const json& more, const Door& door = of_stories()) {
    return choices(with(body, more), door)[0]["text"];
  };
  CHECK(drawn({{"seed", "random"}}) != drawn({{"seed", "random"}}));
  CHECK(drawn({{"seed", nullptr}}) == drawn({{"seed", 0}}));
  const Door random = {stories(), {{"seed", "random"}}};
  CHECK(drawn({}, random) != drawn({}, random));
  CHECK(drawn({{"seed", 5}}, random) == drawn({{"seed", 5}}));
}

TEST_CASE("prompts are texts, token ids, or lists of these") {
  CHECK(choices({{"prompt", {97, 98}}, {"max_tokens", 2}})[0]["text"] == "cd");
  CHECK(choices({{"prompt", {"a", "x"}}, {"n", 2}, {"max_tokens", 2}})[3]["text"] == "yz");
  const json tom = stories().ids("Tom"), cat = stories().ids("The cat sat");
  for (const json& list : {json{"Tom", "The cat sat"}, json{tom, cat}, json{"Tom", cat}}) {
    CAPTURE(list);
    const json body = {{"prompt", list}, {"num_return_sequences", 2}, {"return_token_ids", true}};
    const json found = answer("completions", body, of_stories());
    REQUIRE(found["choices"].size() == 4);
    // Choice i of the answer is the sequence i of the seed.
    for (std::size_t i = 0; i < 4; ++i) {
      check_same(found["choices"][i], written(i < 2 ? "Tom" : "The cat sat", defaults(), i));
      CHECK(found["choices"][i]["index"] == i);
      CHECK(found["choices"][i]["prompt_token_ids"] == (i < 2 ? tom : cat));
    }
    CHECK(found["usage"]["prompt_tokens"] == tom.size() + cat.size());
  }
}

TEST_CASE("best_of returns the texts whose tokens have the highest mean log-probability") {
  // With the bias, some texts end at once. Any text is better than one without tokens.
  for (const float bias : {0.0f, 11.0f}) {
    CAPTURE(bias);
    GenerationOptions options = defaults();
    options.top_logprobs = 0;
    options.sampling.logit_bias = {{4095, bias}};
    std::vector<GenerationResult> all;
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      all.push_back(written("Tom", options, i));
      tokens += all.back().tokens.size() + (all.back().end_token ? 1 : 0);
    }
    std::ranges::stable_sort(all, std::greater<>(), mean_of);
    const json body = json::parse(R"({"prompt": "Tom", "n": 2, "best_of": 6})");
    const json more = {{"return_token_ids", true}, {"logit_bias", {{"4095", bias}}}};
    const json found = answer("completions", with(body, more), of_stories());
    REQUIRE(found["choices"].size() == 2);
    for (std::size_t i = 0; i < std::min<std::size_t>(2, all.size()); ++i) {
      CHECK(found["choices"][i]["index"] == i);
      CHECK(found["choices"][i]["logprobs"].is_null());
      check_same(found["choices"][i], all[i]);
    }
    CHECK(found["usage"]["completion_tokens"] == tokens);  // those of all six
  }
}

TEST_CASE("beams are those of the library, with scores in our own records") {
  const json body = {
      {"prompt", "Tom"}, {"num_beams", 4}, {"n", 3}, {"length_penalty", 0.5}, {"max_tokens", 12}};
  BeamSearchOptions options = {
      .beams = {.num_beams = 4, .num_return_sequences = 3, .length_penalty = 0.5},
      .max_new_tokens = 12,
      .tokenizer = stories().tokenizer,
      .hash_logits = true};
  char hash[17];
  options.on_step = [&](const BeamStep& step) {
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(step.logits_hash));
    return true;
  };
  const auto expected = beam_search(stories().engine, stories().ids("Tom"), options);
  json found = choices(body, of_stories());
  const json records = answer("generate", with(body, {{"hash_logits", true}}), of_stories());
  REQUIRE(found.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(found[i]["index"] == i);
    CHECK(found[i]["text"] == stories().tokenizer->decode(expected[i].tokens));
    CHECK(records[i]["text"] == found[i]["text"]);
    CHECK(records[i]["token_ids"] == expected[i].tokens);
    CHECK(records[i]["score"].get<float>() == static_cast<float>(expected[i].score));
    CHECK(records[i]["stats"]["logits_hash"] == hash);
    CHECK_FALSE(records[i].contains("sequence"));
  }
  json other = body;
  other.erase("n");
  CHECK(choices(with(other, {{"num_return_sequences", 3}, {"pad_token_id", 5}}), of_stories()) ==
        found);
  // The token that ends a sequence counts, as in texts that are drawn.
  const json ended =
      answer("completions",
             {{"prompt", "0"}, {"num_beams", 2}, {"early_stopping", "never"}, {"max_tokens", 3}});
  CHECK(ended["choices"][0]["text"] == "");
  CHECK(ended["choices"][0]["finish_reason"] == "stop");
  CHECK(ended["usage"]["completion_tokens"] == 1);
}

TEST_CASE("echo and logprobs score a prompt, as an evaluation harness asks for it") {
  const std::string prompt = "The cat said caf\u00e9, and Tom sat on the mat.";
  const auto ids = stories().ids(prompt);
  const auto scores = score(stories().engine, {&ids, 1}, {.top_logprobs = 5}).front().tokens;
  for (const std::size_t max_tokens : {0u, 1u, 9u}) {
    CAPTURE(max_tokens);
    const json harness = {{"echo", true}, {"logprobs", 5}, {"temperature", 0}};
    const json body = with(harness, {{"prompt", prompt}, {"max_tokens", max_tokens}});
    const json found = choices(body, of_stories());
    GenerationOptions options = defaults();
    options.max_new_tokens = max_tokens, options.sampling.temperature = 0;
    options.top_logprobs = 5;
    const GenerationResult after = written(prompt, options);
    CHECK(found[0]["text"] == prompt + stories().tokenizer->decode(after.tokens));
    const json& numbers = found[0]["logprobs"]["token_logprobs"];
    REQUIRE(numbers.size() == ids.size() + max_tokens);
    CHECK(numbers[0].is_null());
    CHECK(found[0]["logprobs"]["top_logprobs"][0].is_null());
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      const TokenLogprob& one = i < ids.size() ? scores[i] : after.logprobs[i - ids.size()];
      CHECK(numbers[i].get<float>() == one.logprob);
    }
    CHECK(joined(parts("completions", body, of_stories())) == found);
  }
}

TEST_CASE("the token that ends a text has its log-probability, and counts") {
  auto ids = stories().ids("Tom");
  const TokenId end = stories().tokenizer->end_of_text().value();
  ids.push_back(end);
  const TokenLogprob expected =
      score(stories().engine, {&ids, 1}, {.top_logprobs = 2}).front().tokens.back();
  const json bias = {{std::to_string(end), 100}};
  const json body = {{"prompt", "Tom"}, {"logit_bias", bias}, {"logprobs", 2}};
  const json found = answer("completions", body, of_stories());
  const json& choice = found["choices"][0];
  CHECK(choice["text"] == "");
  CHECK(choice["finish_reason"] == "stop");
  CHECK(choice["logprobs"]["tokens"] == json{"<|endoftext|>"});
  CHECK(choice["logprobs"]["token_logprobs"][0].get<float>() == expected.logprob);
  CHECK(choice["logprobs"]["top_logprobs"][0].size() == 3);  // it is none of the two likeliest
  CHECK(found["usage"]["completion_tokens"] == 1);
  CHECK(joined(parts("completions", body, of_stories())) == found["choices"]);

  const json chat = answer("chat",
                           {{"messages", {{{"role", "user"}, {"content", "Hi"}}}},
                            {"logit_bias", bias},
                            {"logprobs", true}},
                           of_stories());
  CHECK(chat["choices"][0]["logprobs"]["content"][0]["token"] == "<|endoftext|>");
  CHECK(chat["usage"]["completion_tokens"] == 1);
  const json own = answer("generate", body, of_stories());
  CHECK(own[0]["token_ids"] == json::array());
  CHECK(own[0]["logprobs"][0]["logprob"].get<float>() == expected.logprob);
}

TEST_CASE("text_offset counts each U+FFFD of a text whose tokens are parts of characters") {
  const auto ids_of = [](std::string_view bytes) {
    json ids = json::array();
    for (const char byte : bytes) {
      ids.push_back(stories().tokenizer->find(std::string_view(&byte, 1)).value());
    }
    return ids;
  };
  // A prompt of single bytes, the byte of two new tokens, and the place of the character that
  // each token's first byte belongs to. The prompt and the new text are decoded separately, as in
  // Python with errors="replace".
  const std::vector<std::tuple<std::string, std::string, std::vector<int>>> cases = {
      {"\x80\x80", "A", {0, 1, 2, 3}},
      {"\xc3\xa9", "A", {0, 0, 1, 2}},
      {"\xf0\x9f\x98\x80", "A", {0, 0, 0, 0, 1, 2}},
      {"\xf0\x9fZ", "\x80", {0, 0, 1, 2, 3}},
      {"\xe0\x80", "\xc3", {0, 1, 2, 3}},
      {"\xff\xc3\xc3\xa9", "A", {0, 1, 2, 2, 3, 4}},
      {"\xf0\x9f", "\x98", {0, 0, 1, 2}}};
  for (const auto& [prompt, byte, offsets] : cases) {
    CAPTURE(offsets);
    const json common = {{"echo", true}, {"logprobs", 0}, {"max_tokens", 2}};
    const json bias = {{ids_of(byte)[0].dump(), 100}};
    const json body = with(common, {{"prompt", ids_of(prompt)}, {"logit_bias", bias}});
    const json found = choices(body, of_stories());
    CHECK(found[0]["logprobs"]["text_offset"] == offsets);
    CHECK(characters(found[0]["text"]) == static_cast<std::size_t>(offsets.back()) + 1);
    CHECK(joined(parts("completions", body, of_stories())) == found);
  }
}

TEST_CASE("tokens in an answer have texts, and those that are parts of characters their bytes") {
  const json lists = choices(
      {{"prompt", "z"}, {"max_tokens", 4}, {"logprobs", 1}, {"temperature", 0}})[0]["logprobs"];
  CHECK(lists["tokens"] == json{" ", "bytes:\\xc3", "bytes:\\xa9", "a"});
  CHECK(lists["text_offset"] == json{1, 2, 2, 3});
  CHECK(lists["top_logprobs"][3].size() == 1);
  CHECK(lists["top_logprobs"][3]["a"] == lists["token_logprobs"][3]);
  const json none = choices({{"prompt", "z"}, {"max_tokens", 2}, {"logprobs", 0}})[0]["logprobs"];
  CHECK(none["top_logprobs"].is_null());
}

TEST_CASE("the parts of a stream have the documented members, and usage if it is asked for") {
  for (const bool with_usage : {false, true}) {
    json body = {{"prompt", {"a", "x"}}, {"n", 2}, {"logprobs", 1}};
    const json whole = answer("completions", body);
    if (with_usage) {
      body["stream_options"] = {{"include_usage", true}, {"include_obfuscation", false}};
    }
    const std::vector<json> all = parts("completions", body);
    for (std::size_t i = 0; i < all.size(); ++i) {
      json part = all[i];
      const bool is_usage = with_usage && i + 1 == all.size();
      check_completion(part, !with_usage ? "" : is_usage ? "object" : "null");
      CHECK(part["choices"].size() == (is_usage ? 0 : 1));
      if (is_usage) CHECK(part["usage"] == whole["usage"]);
      part.erase("choices"), part.erase("usage");
      json head = whole;
      head.erase("choices"), head.erase("usage");
      CHECK(part == head);
    }
    CHECK(joined(all) == whole["choices"]);
  }
}

TEST_CASE("in a stream, the first part of a choice has the prompt") {
  const json body = json::parse(
      R"({"prompt": "a", "max_tokens": 9, "stop": "f", "return_token_ids": true, "echo": true})");
  const json whole = answer("completions", body)["choices"][0];
  CHECK(whole["text"] == "abcde");
  CHECK(whole["prompt_token_ids"] == json{97});
  CHECK(whole["token_ids"] == json{98, 99, 100, 101, 102});
  const std::vector<json> all = parts("completions", body);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i]["choices"][0].contains("prompt_token_ids") == (i == 0));
  }
  CHECK(all[0]["choices"][0]["text"] == "a");
  CHECK(joined(all)[0]["token_ids"] == whole["token_ids"]);
  CHECK(all.back()["choices"][0]["finish_reason"] == "stop");
}

}  // namespace gpt2::test::requests_completions_texts_test
