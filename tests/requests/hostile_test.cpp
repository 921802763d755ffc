// Gives requests that no client should send to every kind: each must be answered, or refused in one
// line as a mistake of the client.

#include "gpt2/option_fields.h"
#include "support/openai.h"
#include "support/requests.h"
#include "support/test.h"

namespace gpt2::test::requests_hostile_test {

namespace {

const json kUser = {{"role", "user"}, {"content", "a"}};

// A request of each kind that is right, with short texts.
const std::vector<std::pair<std::string, json>> kRequests = {
    {"generate", {{"prompt", "a"}, {"max_new_tokens", 1}}},
    {"completions", {{"prompt", "a"}, {"max_tokens", 1}}},
    {"chat", {{"messages", {kUser}}, {"max_tokens", 1}}},
    {"responses", {{"input", "a"}, {"max_output_tokens", 1}}},
    {"embeddings", {{"input", "a"}}},
    {"score", {{"texts", "ab"}}},
    {"choices", {{"context", "a"}, {"choices", {"b"}}}},
    {"inspect", {{"prompt", "a"}}}};

std::vector<std::string> split(const std::string& words) {
  std::istringstream stream(words);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> names() {
  std::vector<std::string> names = split(R"(model prompt input messages user instructions text texts
context choices stride add_bos split_special_tokens attention top skip_layer skip_head skip_mlp
identity_norm encoding_format dimensions pooling include truncation n best_of echo suffix stream
stream_options max_tokens max_length stop_strings do_sample truncate max_completion_tokens
max_output_tokens top_logprobs return_token_ids tools tool_choice functions function_call audio
response_format metadata prompt_lookup stop_tokens hash_logits)");
  const auto add = [&](const auto& field) { names.emplace_back(field.name); };
  for_each_sampling_field(add);
  for_each_generation_field(add);
  for_each_beam_field(add);
  return names;
}

// Values of every type, as texts, because json::dump() would write some of them otherwise.
const std::vector<std::string> kValues =
    split(R"(null true false 0 1 -1 1.5 -0.0 1e-400 1e308 -1e308 18446744073709551615
18446744073709551616 -9223372036854775809 "" "x" "\u0000" "\ud83d\ude00" [] {} [[]] [{}]
[null] [1] [-1] [1.5] [999999999999] ["a",1] [["a"]] [[1],[2]] [[1,2,3]] {"a":1}
{"1":"a"} {"-1":1} {"99999":1} [[[1],null]] [1,"a"] [0,0] [1e308,1e308])");

}  // namespace

TEST_CASE("values of every type in every member of every kind") {
  const std::size_t step = is_slow() ? 6 : 2;
  std::size_t first = 0;  // other values in each member
  for (const auto& [kind, right] : kRequests) {
    for (const std::string& name : names()) {
      for (std::size_t i = first++ % step; i < kValues.size(); i += step) {
        CAPTURE(kind, name, kValues[i]);
        const json error = refusal(kind, with(right, {{name, json::parse(kValues[i])}}));
        if (error.is_null()) continue;
        if (error["code"] == kUnknown) break;  // whatever its value is
        const std::string message = error["message"];
        CHECK((!message.empty() && message.size() < 1000 && message.find('\n') == message.npos));
      }
    }
    CHECK(refusal(kind, right).is_null());
  }
}

TEST_CASE("long names, long texts and long lists have short messages") {
  const std::string mega(1000000, 'a');
  for (const json& more :
       {json{{mega, 1}}, json{{"stop", {{"a", mega}}}}, json{{"prompt", mega}},
        json{{"prompt", std::vector<int>(1000000, 97)}},
        json{{"prompt", std::vector<std::string>(2049, "a")}}, json{{"seed", mega}}}) {
    const json error = refusal("completions", with({{"prompt", "a"}}, more));
    REQUIRE(error.is_object());
    CHECK(error.dump().size() < 2000);
  }
}

}  // namespace gpt2::test::requests_hostile_test
