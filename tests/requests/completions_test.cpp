// Tests requests for completions: OpenAI's members and every option by its name, the prompts, the
// answer, and what requests may not say: types, ranges, and what excludes what. The alphabet model
// goes on with the next letters of a text, whatever is drawn.
#include <tuple>
#include <type_traits>

#include "gpt2/option_fields.h"
#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_completions_test {

namespace {

json choices(const json& body, const Door& door = {}) {
  const json found = answer("completions", body, door);
  CAPTURE(body.dump().substr(0, 300), found);
  check_completion(found, "object");
  return found["choices"];
}

// The text and the finish reason of the only choice.
std::pair<std::string, std::string> text(const json& body, const Door& door = {}) {
  const json found = choices(body, door);
  REQUIRE(found.size() == 1);
  return {found[0]["text"], found[0]["finish_reason"]};
}

const std::string kAfterA = "bcdefghijklmnopqrstuvwxyz \u00e9";  // 28 tokens, and then a again

}  // namespace

TEST_CASE("an answer has the documented members") {
  const json found = answer("completions", {{"prompt", "x"}, {"model", "m"}});
  check_completion(found, "object");
  CHECK(found["id"] == "cmpl-1");
  CHECK(found["created"] == 5);
  CHECK(found["model"] == "m");
  CHECK(found["system_fingerprint"] == "f");
  CHECK(found["choices"][0] == json{{"text",
                                     "yz \u00e9"
                                     "abcdefghijk"},
                                    {"index", 0},
                                    {"logprobs", nullptr},
                                    {"finish_reason", "length"}});
  // By default there are 16 new tokens.
  CHECK(found["usage"] ==
        json{{"prompt_tokens", 1}, {"completion_tokens", 16}, {"total_tokens", 17}});
}

TEST_CASE("options that name tokens, texts and lengths") {
  // Members beside temperature 0 and 29 tokens, and the whole text or its beginning.
  const std::vector<std::tuple<std::string, std::string, bool>> cases = {
      {R"("remove_invalid_values": true, "renormalize_logits": true)", kAfterA + "a", true},
      {R"("logit_bias": {"120": 100})", std::string(29, 'x'), true},
      {R"("forced_eos_token_id": 120)", kAfterA + "x", true},
      {R"("forced_eos_token_id": [120])", kAfterA + "x", true},
      {R"("forced_bos_token_id": 120)", "xyz", false},
      {R"("exponential_decay_length_penalty": [3, 1e6])", "bcde", true},
      {R"("max_tokens": 5)", "bcdef", true},
      {R"("max_new_tokens": 5, "max_tokens": null)", "bcdef", true},
      {R"("max_tokens": null, "max_length": 6)", "bcdef", true},
      {R"("max_tokens": 5, "max_length": 3)", "bcdef", true},
      {R"("max_tokens": 0)", "", true},
      {R"("stop": "mno")", "bcdefghijkl", true},
      {R"("stop_strings": "mno")", "bcdefghijkl", true},
      {R"("stop": ["mnx", "z \u00e9", "pq"])", "bcdefghijklmno", true},
      {R"("stop": [])", kAfterA + "a", true},
      {R"("temperature": 100, "top_k": 1)", kAfterA + "a", true},
      {R"("temperature": 100, "top_k": 0, "top_p": 0)", kAfterA + "a", true},
      {R"("temperature": 100, "do_sample": false)", kAfterA + "a", true},
      {R"("temperature": null, "top_k": null, "stop": null)", kAfterA + "a", true}};
  for (const auto& [members, expected, is_whole] : cases) {
    const json more = json::parse("{" + members + "}");
    CAPTURE(members);
    const std::string found =
        text(with({{"prompt", "a"}, {"temperature", 0}, {"max_tokens", 29}}, more)).first;
    CHECK((is_whole ? found : found.substr(0, expected.size())) == expected);
  }
}

TEST_CASE("options that forbid tokens") {
  for (const std::string members :
       {R"("begin_suppress_tokens": [98])", R"("suppress_tokens": [100, 101])",
        R"("bad_words_ids": [[99, 100]])", R"("logit_bias": {"100": -100})",
        R"("sequence_bias": [[[98, 99, 100], -1e30]])", R"("sequence_bias": [[[99], -500]])"}) {
    CAPTURE(members);
    const json more = json::parse("{" + members + "}");
    CHECK_FALSE(text(with({{"prompt", "a"}}, more)).first.starts_with("bcd"));
  }
  // The token after kAfterA is a again, which these options do not allow.
  for (const std::string members :
       {R"("no_repeat_ngram_size": 1)", R"("repetition_penalty": 100000)"}) {
    const json more = json::parse("{" + members + "}");
    const std::string found = text(with({{"prompt", "a"}, {"max_tokens", 29}}, more)).first;
    CAPTURE(members);
    CHECK(found.starts_with(kAfterA));
    CHECK(found != kAfterA + "a");
  }
}

TEST_CASE("the end of a text") {
  using Pair = std::pair<std::string, std::string>;
  CHECK(text({{"prompt", "0"}}) == Pair{"", "stop"});  // after 0, the likeliest token ends the text
  CHECK(text({{"prompt", "0"}, {"ignore_eos", true}, {"temperature", 0}}) ==
        Pair{"abcdefghijklmno", "length"});
  CHECK(text({{"prompt", "0"}, {"min_new_tokens", 3}}).first.size() >= 3);
  CHECK(text({{"prompt", "0"}, {"min_length", 4}}).first.size() >= 3);
  CHECK(text({{"prompt", "a"}, {"stop", "d"}}) == Pair{"bc", "stop"});
  CHECK(text({{"prompt", "a"}, {"max_tokens", 3}}) == Pair{"bcd", "length"});
  // The model takes 64 tokens: the prompt and all new ones but the last.
  const json full = {{"prompt", std::string(60, 'a')}, {"max_tokens", 1000}};
  CHECK(text(full) == Pair{"bcdef", "length"});
  const json slides = with(full, {{"overflow", "slide"}, {"max_tokens", 29}});
  CHECK(text(slides) == Pair{kAfterA + "a", "length"});
  CHECK(text(with(slides, {{"keep", 62}})) == Pair{kAfterA + "a", "length"});
}

TEST_CASE("stop strings see special tokens, which the text has if the request asks for them") {
  using Pair = std::pair<std::string, std::string>;
  const json body = {{"prompt", "0"}, {"ignore_eos", true}, {"temperature", 0}, {"max_tokens", 4}};
  CHECK(text(with(body, {{"stop", "<|endoftext|>"}})) == Pair{"", "stop"});
  CHECK(text(with(body, {{"stop", "text|>ab"}})) == Pair{"", "stop"});
  CHECK(text(with(body, {{"stop", "b"}})) == Pair{"a", "stop"});
  const json whole = with(body, {{"skip_special_tokens", false}, {"logprobs", 0}});
  CHECK(text(whole) == Pair{"<|endoftext|>abc", "length"});
  CHECK(text(with(whole, {{"stop", "text"}})) == Pair{"<|endof", "stop"});
  CHECK(choices(whole)[0]["logprobs"]["text_offset"] == json{1, 14, 15, 16});
  CHECK(choices(with(body, {{"logprobs", 0}}))[0]["logprobs"]["text_offset"] == json{1, 1, 2, 3});
  const json search = {{"num_beams", 2}, {"temperature", nullptr}};
  CHECK(text(with(body, search)) == Pair{"abc", "length"});
  CHECK(text(with(with(body, search), {{"skip_special_tokens", false}})) ==
        Pair{"<|endoftext|>abc", "length"});
}

TEST_CASE("an empty prompt lets the model begin a text of its own") {
  // As OpenAI documents it, null asks for this, too: its default is the end-of-text token.
  for (const json& prompt :
       {json(""), json(nullptr), json::array({""}), json::array({json::array()})}) {
    CAPTURE(prompt);
    const json body = {{"prompt", prompt}, {"echo", true}, {"return_token_ids", true}};
    const json found = choices(with(body, {{"return_token_ids", false}}))[0];
    CHECK(found["text"] == "abcdefghijklmnop");
    CHECK(answer("completions", body)["choices"][0]["prompt_token_ids"] == json{256});
  }
}

TEST_CASE("special tokens in a prompt are tokens, unless the request splits them") {
  const json body = {{"prompt", "a<|endoftext|>"}, {"return_token_ids", true}};
  CHECK(answer("completions", body)["choices"][0]["prompt_token_ids"] == json{97, 256});
  const json split = answer("completions", with(body, {{"split_special_tokens", true}}));
  CHECK(split["choices"][0]["prompt_token_ids"].size() == 14);
}

TEST_CASE("without a tokenizer, prompts and texts are token ids") {
  const Door ids = {alphabet_of_ids()};
  const json found = answer(
      "completions", {{"prompt", {97, 98}}, {"max_tokens", 2}, {"logprobs", 3}}, ids)["choices"][0];
  CHECK(found["text"] == "");
  CHECK(found["token_ids"] == json{99, 100});
  CHECK(found["logprobs"]["tokens"] == json{"token_id:99", "token_id:100"});
  CHECK(found["logprobs"]["top_logprobs"][0].size() == 3);
  CHECK(found["logprobs"]["top_logprobs"][0].contains("token_id:99"));
  check_refusals("completions", "",
                 {{R"("prompt": "a")", "prompt"},
                  {R"("prompt": ["a"])", "prompt[0]"},
                  {R"("prompt": [97], "stop": "c")", "stop"}},
                 ids);
}

TEST_CASE("a prompt that is too long may lose its beginning") {
  const std::string prompt = std::string(100, 'b') + "a";
  const auto usage = [&](const json& more, const Door& door = {}) {
    const json body = with({{"prompt", prompt}}, more);
    return answer("completions", body, door)["usage"]["prompt_tokens"];
  };
  CHECK(refusal("completions", {{"prompt", prompt}})["code"] == kTooLong);
  CHECK(usage({{"truncate", true}}) == 48);  // there is room for 16 new tokens
  CHECK(usage({{"truncate", true}, {"max_tokens", 4}}) == 60);
  CHECK(usage({{"truncate", true}, {"max_tokens", 64}}) == 63);
  CHECK(usage({}, {alphabet(), {{"truncate", true}}}) == 48);
  CHECK(refusal("completions", {{"prompt", prompt}, {"truncate", false}},
                {alphabet(), {{"truncate", true}}})["code"] == kTooLong);
}

TEST_CASE("what a request says replaces the defaults of its door") {
  const Door door = {
      alphabet(),
      {{"max_new_tokens", 9}, {"stop", {"z"}}, {"temperature", 0}, {"suppress_tokens", {120}}}};
  CHECK(text({{"prompt", "a"}}, door).first == "bcdefghij");
  CHECK(text({{"prompt", "a"}, {"max_tokens", 2}}, door).first == "bc");
  CHECK(text({{"prompt", "y"}}, door).second == "stop");
  CHECK(text({{"prompt", "y"}, {"stop", "c"}}, door).first ==
        "z \u00e9"
        "ab");
  CHECK_FALSE(text({{"prompt", "w"}, {"stop", nullptr}}, door).first.starts_with('x'));
  CHECK(text({{"prompt", "w"}, {"suppress_tokens", json::array()}}, door).first == "xy");
  const Door length = {alphabet(), {{"max_length", 5}}};
  CHECK(text({{"prompt", "abc"}}, length).first == "de");
  CHECK(text({{"prompt", "abc"}, {"max_length", 4}}, length).first == "d");
  CHECK(text({{"prompt", "abc"}, {"max_tokens", 4}}, length).first == "defg");
}

TEST_CASE("members that change nothing are accepted, and as many texts as the door allows") {
  const std::vector<std::string> names = {"user", "metadata", "store", "prompt_cache_key",
                                          "safety_identifier"};
  json body = {{"prompt", "a"}, {"model", nullptr}, {"suffix", ""}, {"unknown", nullptr}};
  for (const std::string& name : names) body[name] = {{"any", {1, 2}}};
  CHECK(choices(body) == choices({{"prompt", "a"}}));
  // A door may allow more texts for each prompt than the 128 of OpenAI.
  const json many = {{"prompt", "a"}, {"n", 129}, {"max_tokens", 0}};
  CHECK(choices(many, {.max_choices = 200}).size() == 129);
}

TEST_CASE("wrong prompts are refused") {
  const std::string long_text(65, 'a');
  check_refusals("completions", "",
                 {{"", "prompt", kMissing},
                  {R"("prompt": 5)", "prompt"},
                  {R"("prompt": {})", "prompt"},
                  {R"("prompt": [])", "prompt"},
                  {R"("prompt": [1, -1])", "prompt[1]"},
                  {R"("prompt": [1, 1.5])", "prompt[1]"},
                  {R"("prompt": [1, "a"])", "prompt[1]"},
                  {R"("prompt": [257])", "prompt[0]"},
                  {R"("prompt": ["a", 1])", "prompt[1]"},
                  {R"("prompt": ["a", null])", "prompt[1]"},
                  {R"("prompt": ["a", ["b"]])", "prompt[1][0]"},
                  {R"("prompt": [[97], [98, 300]])", "prompt[1][1]"},
                  {R"("prompt": ["a", ")" + long_text + "\"]", "prompt", kTooLong}});
  const json many = {{"prompt", std::vector<std::string>(2049, "a")}};
  CHECK(refusal("completions", many)["param"] == "prompt");
  // A member that is missing is named with those that the request has.
  const std::string message = refusal("completions", {{"promt", "a"}, {"n", 1}})["message"];
  CHECK(message.find("\"prompt\"") != message.npos);
  CHECK(message.find("'n', 'promt'") != message.npos);
}

TEST_CASE("members of the wrong type or out of range are refused") {
  std::vector<Refused> requests = {
      {R"("warmth": 1)", "warmth", kUnknown},
      {R"("model": 5)", "model"},
      {R"("suffix": "z")", "suffix"},
      {R"("n": 0)", "n"},
      {R"("n": 129)", "n"},
      {R"("n": 1.5)", "n"},
      {R"("best_of": 129)", "best_of"},
      {R"("echo": 1)", "echo"},
      {R"("stream": "yes")", "stream"},
      {R"("stream": true, "stream_options": 5)", "stream_options"},
      {R"("stream": true, "stream_options": {"usage": 1})", "stream_options.usage", kUnknown},
      {R"("stream": true, "stream_options": {"include_usage": 1})", "stream_options.include_usage"},
      {R"("stream_options": {"include_usage": true})", "stream_options"},
      {R"("logprobs": 101)", "logprobs"},
      {R"("logprobs": true)", "logprobs"},
      {R"("return_token_ids": 1)", "return_token_ids"},
      {R"("split_special_tokens": 1)", "split_special_tokens"},
      {R"("truncate": 1)", "truncate"},
      {R"("max_length": -1)", "max_length"},
      {R"("max_length": 1)", "max_length"},  // the prompt has one token
      {R"("max_tokens": 1000000001)", "max_tokens"},
      {R"("do_sample": 1)", "do_sample"},
      {R"("seed": "other")", "seed"},
      {R"("stop": {"a": 1})", "stop"},
      {R"("stop": "")", "stop"},
      {R"("stop": ["a", 1])", "stop"},
      {R"("overflow": "wrap")", "overflow"},
      // These are for our own requests alone.
      {R"("prompt_lookup": true)", "prompt_lookup", kUnknown},
      {R"("hash_logits": true)", "hash_logits", kUnknown},
      {R"("stop_tokens": [1])", "stop_tokens", kUnknown}};
  for (const std::string members :
       {R"("logit_bias": {"300": 1})", R"("forced_bos_token_id": 300)",
        R"("forced_eos_token_id": [300])", R"("bad_words_ids": [[300]])",
        R"("suppress_tokens": [300])", R"("sequence_bias": [[[300], 1.5]])"}) {
    requests.push_back({members, members.substr(1, members.find(':') - 2)});
  }
  const std::string name(199, 'x');  // a longer name is cut between two characters
  requests.push_back({"\"" + name + "\u00e9\": 1", name, kUnknown});
  check_refusals("completions", R"("prompt": "a")", requests);
}

TEST_CASE("the range of every option applies to requests") {
  const auto row = [](const auto& field) {
    const std::string name = field.name;
    const auto refused = [&](const json& value, bool is_beams = false) {
      CAPTURE(name, value);
      json body = {{"prompt", "a"}, {name, value}};
      if (is_beams && name != "num_beams") body["num_beams"] = 2;
      const json error = refusal("completions", body);
      return error.is_object() && error["param"] == name;
    };
    CHECK(refused({{"x", "y"}}));
    CHECK(refused(json::array({json::array({"x"})})));
    using T = typename std::remove_cvref_t<decltype(field)>::Value;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      if (field.range.max < 1e18) CHECK(refused(2 * std::abs(field.range.max) + 1));
      const bool has_min = field.range.min > -1e18 && field.range.also >= field.range.min;
      if (has_min) CHECK(refused(field.range.min - 1));
    }
  };
  for_each_generation_field(row);
  for_each_sampling_field(row);
  for_each_beam_field(row);
}

TEST_CASE("what cannot be together, or needs something else, is refused by name") {
  struct Case {
    std::string members, param;
    std::vector<std::string> others;  // which the message names, too
  };
  std::vector<Case> cases = {
      {R"("n": 1, "num_return_sequences": 2)", "n", {"num_return_sequences"}},
      {R"("max_tokens": 1, "max_new_tokens": 2)", "max_tokens", {"max_new_tokens"}},
      {R"("stop": "a", "stop_strings": "b")", "stop_strings", {"stop"}},
      {R"("best_of": 2, "n": 3)", "best_of", {"\"n\""}},
      {R"("best_of": 2, "num_return_sequences": 3)", "best_of", {"num_return_sequences"}},
      {R"("best_of": 2, "stream": true)", "best_of", {"stream"}},
      {R"("length_penalty": 1.0)", "length_penalty", {"num_beams"}},
      {R"("num_beams": 1, "early_stopping": true)", "early_stopping", {"num_beams"}},
      {R"("num_beams": 2, "max_tokens": 0)", "max_tokens", {}},
      {R"("num_beams": 2, "n": 3)", "n", {"num_beams"}},
      {R"("num_beams": 2, "num_return_sequences": 3)", "num_return_sequences", {"num_beams"}},
      {R"("overflow": "slide", "keep": 63, "max_tokens": 100)", "keep", {"62"}}};
  for (const std::string member :
       {R"("temperature": 0)", R"("top_k": 3)", R"("min_p": 0.5)", R"("seed": 1)",
        R"("sequence": 1)", R"("do_sample": true)", R"("overflow": "slide")", R"("stream": true)",
        R"("logprobs": 1)", R"("best_of": 2)", R"("stop": "x")"}) {
    cases.push_back(
        {R"("num_beams": 2, )" + member, member.substr(1, member.find(':') - 2), {"num_beams"}});
  }
  for (const Case& one : cases) {
    check_refusals("completions", R"("prompt": "a")", {{one.members, one.param}});
    const json body = json::parse(R"({"prompt": "a", )" + one.members + "}");
    const std::string message = refusal("completions", body)["message"];
    CAPTURE(one.members, message);
    for (const std::string& name : one.others) CHECK(message.find(name) != message.npos);
  }
}

}  // namespace gpt2::test::requests_completions_test
