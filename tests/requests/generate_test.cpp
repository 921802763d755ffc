// Tests requests in our own form: what its records have, and the members that only it has. What it
// shares with OpenAI's completions, requests_completions_test tests.
#include <cstdio>

#include "gpt2/generate.h"
#include "gpt2/session.h"
#include "support/alphabet_model.h"
#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_generate_test {

namespace {

// The only record of an answer.
json record(const json& body, const Door& door = {}) {
  const json found = answer("generate", body, door);
  CAPTURE(body, found);
  REQUIRE(found.size() == 1);
  return found[0];
}

// What the library writes of the bundled model's text.
GenerationResult written(const std::string& prompt, const GenerationOptions& options) {
  Session session(stories().engine);
  return generate(session, *stories().tokenizer, stories().ids(prompt), options, {});
}

std::string hash_text(std::uint64_t hash) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

// The alphabet model without a token for the letter c.
AskedModel model_without_c() {
  const AlphabetModel files;
  files.remove_token("c");
  return {Engine(Model::load(files.path())), Tokenizer::load(files.path())};
}

}  // namespace

TEST_CASE("a record has the text, its tokens, and why it ended") {
  json found = record({{"prompt", "ab"}, {"max_new_tokens", 3}});
  check_shape(found["stats"],
              "prompt_seconds:number generation_seconds:number drafted_tokens:integer "
              "accepted_tokens:integer logits_hash:null");
  CHECK(found["stats"]["prompt_seconds"] > 0.0);
  found.erase("stats");
  CHECK(found == json{{"prompt_tokens", 2},
                      {"text", "cde"},
                      {"token_ids", {99, 100, 101}},
                      {"finish_reason", "length"},
                      {"sequence", 0}});
  CHECK(record({{"prompt", "90"}})["finish_reason"] == "end_of_text");
  const json stopped = record({{"prompt", "a"}, {"stop", "de"}});
  CHECK(stopped["finish_reason"] == "stop_string");
  CHECK(stopped["text"] == "bc");
  CHECK(stopped["token_ids"] == json{98, 99, 100, 101});  // including those of the stop string
  CHECK(record({{"prompt", "a"}})["finish_reason"] == "context_full");
  const json cut = record({{"prompt", "z"}, {"max_new_tokens", 2}});  // in the middle of an e
  CHECK(cut["text"] == " \ufffd");
  CHECK(cut["token_ids"] == json{' ', 0xc3});
}

TEST_CASE("without options, the text is that of the command") {
  const GenerationResult expected =
      written("Once", {.sampling = {.temperature = 0.8f, .top_k = 40}});  // 256 tokens
  const json found = record({{"prompt", "Once"}}, of_stories());
  CHECK(found["token_ids"] == expected.tokens);
  CHECK(found["finish_reason"] == name_of(expected.finish_reason));
}

TEST_CASE("texts have the number of their prompt and of their sequence") {
  const json found = answer(
      "generate",
      {{"prompt", {"a", json::array({120})}}, {"n", 2}, {"sequence", 7}, {"max_new_tokens", 2}});
  REQUIRE(found.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(found[i]["prompt"] == i / 2);
    CHECK(found[i]["sequence"] == 7 + i);
    CHECK(found[i]["text"] == (i < 2 ? "bc" : "yz"));
    CHECK_FALSE(found[i].contains("seed"));
  }
  CHECK_FALSE(record({{"prompt", json::array({"a"})}}).contains("prompt"));
}

TEST_CASE("a seed that was drawn is in the record, so that the text can be repeated") {
  const json body = {{"prompt", "One"}, {"max_new_tokens", 30}};
  for (const Door& door : {of_stories(), Door{stories(), {{"seed", "random"}}}}) {
    const bool is_default = !door.defaults.empty();
    const json drawn = record(is_default ? body : with(body, {{"seed", "random"}}), door);
    const json again = record(with(body, {{"seed", drawn["seed"]}}), door);
    CHECK(again["text"] == drawn["text"]);
    CHECK_FALSE(again.contains("seed"));
  }
}

TEST_CASE("log-probabilities of tokens") {
  const json body = {{"prompt", "z"}, {"max_new_tokens", 4}, {"logprobs", 2}, {"temperature", 0}};
  const json found = record(body);
  REQUIRE(found["logprobs"].size() == 4);
  const std::vector<std::string> texts = {" ", "\ufffd", "\ufffd", "a"};
  for (std::size_t i = 0; i < 4; ++i) {
    const json& token = found["logprobs"][i];
    check_shape(token, "id:integer text:string logprob:number rank:integer top:array");
    CHECK(token["id"] == found["token_ids"][i]);
    CHECK(token["text"] == texts[i]);
    CHECK(token["rank"] == 0);
    REQUIRE(token["top"].size() == 2);
    check_shape(token["top"][0], "id:integer text:string logprob:number");
    CHECK(token["top"][0]["id"] == token["id"]);
    CHECK(token["top"][0]["logprob"] == token["logprob"]);
    CHECK(token["top"][1]["logprob"] < token["logprob"]);
  }
  // They are those of the model, whatever the sampling options are.
  const json forced = record(with(body, {{"prompt", "a"}, {"logit_bias", {{"120", 100}}}}));
  const json plain = record(with(body, {{"prompt", "a"}}));
  CHECK(forced["logprobs"][0]["id"] == 'x');
  CHECK(forced["logprobs"][0]["rank"] > 0);
  CHECK(forced["logprobs"][0]["top"] == plain["logprobs"][0]["top"]);
  CHECK(record(with(body, {{"logprobs", 0}}))["logprobs"][0]["top"] == json::array());
  CHECK_FALSE(record(with(body, {{"logprobs", nullptr}})).contains("logprobs"));
}

TEST_CASE("a record tells what the prompt has lost") {
  const AskedModel model = model_without_c();
  const json lost = record({{"prompt", "cacb"}, {"max_new_tokens", 1}}, {model});
  CHECK(lost["lost_bytes"] == 2);
  CHECK(lost["prompt_tokens"] == 2);
  CHECK_FALSE(lost.contains("truncated"));
  CHECK_FALSE(record({{"prompt", "ab"}}, {model}).contains("lost_bytes"));
  const json cut =
      record({{"prompt", std::string(99, 'b') + "a"}, {"max_new_tokens", 4}, {"truncate", true}});
  CHECK(cut["truncated"] == 40);
  CHECK(cut["prompt_tokens"] == 60);
  CHECK(cut["text"] == "bcde");
}

TEST_CASE("drafts change the speed, not the text") {
  const json body = {{"prompt", "Once upon a time, there was a girl. Once upon a time"},
                     {"max_new_tokens", 40},
                     {"seed", 7},
                     {"hash_logits", true}};
  const json plain = record(body, of_stories());
  const GenerationResult expected =
      written(body["prompt"], {.max_new_tokens = 40,
                               .sampling = {.temperature = 0.8f, .top_k = 40, .seed = 7},
                               .hash_logits = true});
  CHECK(plain["token_ids"] == expected.tokens);
  CHECK(plain["stats"]["logits_hash"] == hash_text(expected.logits_hash));
  const json drafted = record(with(body, {{"prompt_lookup", true}}), of_stories());
  CHECK(drafted["token_ids"] == plain["token_ids"]);
  CHECK(drafted["stats"]["logits_hash"] == plain["stats"]["logits_hash"]);
  CHECK(drafted["stats"]["drafted_tokens"] > 0);
}

TEST_CASE("tokens may end a text") {
  const json found = record({{"prompt", "a"}, {"stop_tokens", {101, 103}}});
  CHECK(found["text"] == "bcd");
  CHECK(found["token_ids"] == json{98, 99, 100});
  CHECK(found["finish_reason"] == "end_of_text");
}

TEST_CASE("without a tokenizer, records have no text") {
  const Door ids = {alphabet_of_ids()};
  json found = record({{"prompt", {97}}, {"max_new_tokens", 2}, {"logprobs", 1}}, ids);
  CHECK(found["token_ids"] == json{98, 99});
  CHECK_FALSE(found.contains("text"));
  check_shape(found["logprobs"][0], "id:integer logprob:number rank:integer top:array");
  check_shape(found["logprobs"][0]["top"][0], "id:integer logprob:number");
}

TEST_CASE("members that only our own requests have, or that they lack") {
  check_refusals("generate", R"("prompt": "a")",
                 {{R"("prompt_lookup": 1)", "prompt_lookup"},
                  {R"("max_draft_tokens": 4)", "max_draft_tokens", kUnknown},
                  {R"("constant_draft": true)", "constant_draft", kUnknown},
                  {R"("hash_logits": "yes")", "hash_logits"},
                  {R"("stop_tokens": 5)", "stop_tokens"},
                  {R"("stop_tokens": [257])", "stop_tokens[0]"},
                  {R"("messages": [])", "messages", kUnknown},
                  {R"("echo": true)", "echo", kUnknown},
                  {R"("stream": true)", "stream", kUnknown},
                  {R"("stream_options": {"include_usage": true})", "stream_options", kUnknown}});
}

}  // namespace gpt2::test::requests_generate_test
