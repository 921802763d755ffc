// Tests what requests for completions may not say: types, ranges, and what excludes what. A refusal
// names the member.
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "gpt2/option_fields.h"
#include "support/catch.h"
#include "support/requests.h"

namespace gpt2::test::requests_completions_rules_test {

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
}

TEST_CASE("a member that is missing is named with those that the request has") {
  const std::string message = refusal("completions", {{"promt", "a"}, {"n", 1}})["message"];
  CHECK(message.find("\"prompt\"") != message.npos);
  CHECK(message.find("'n', 'promt'") != message.npos);
}

TEST_CASE("members that only OpenAI's answers could have are refused in our own requests") {
  check_refusals("generate", R"("prompt": "a")",
                 {{R"("echo": true)", "echo", kUnknown},
                  {R"("stream": true)", "stream", kUnknown},
                  {R"("stream_options": {"include_usage": true})", "stream_options", kUnknown}});
}

TEST_CASE("members of the wrong type or out of range are refused") {
  std::vector<Refused> requests = {
      {R"("warmth": 1)", "warmth", kUnknown},
      {R"("model": 5)", "model"},
      {R"("suffix": "z")", "suffix"},
      {R"("n": 0)", "n"},
      {R"("n": 129)", "n"},
      {R"("n": 1.5)", "n"},
      {R"("num_return_sequences": 0)", "num_return_sequences"},
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
      {R"("seed": 18446744073709551616)", "seed"},
      {R"("stop": {"a": 1})", "stop"},
      {R"("stop": "")", "stop"},
      {R"("stop": ["a", 1])", "stop"},
      {R"("overflow": "wrap")", "overflow"},
      {R"("temperature": "hot")", "temperature"},
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
  const std::string key(100000, 'k');
  requests = {{"\"" + key + "\": 1", key.substr(0, 200), kUnknown},
              {R"("stop": {"a": ")" + key + "\"}", "stop"}};
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

}  // namespace gpt2::test::requests_completions_rules_test
