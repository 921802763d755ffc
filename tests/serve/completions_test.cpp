// Tests POST /v1/completions: every text has the bits that gpt2 generate writes, as a whole and as
// a stream, while other requests are answered.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "serve/answers.h"
#include "serve/schema.h"
#include "support/alphabet_model.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/is_slow.h"
#include "support/temporary_directory.h"
#include "support/test_server.h"

namespace gpt2::test::completions_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one;
  return one;
}

HttpResponse complete(const json& body) { return server().post("/v1/completions", body); }

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// The choices of an answer that must be right.
json choices(const json& body) {
  const HttpResponse response = complete(body);
  CAPTURE(body, response.body);
  REQUIRE(response.status == 200);
  check_completion(response.json(), "object");
  return response.json()["choices"];
}

// Options of a request, and the arguments of gpt2 generate that mean the same.
struct Case {
  json request;
  Words arguments;
};

// One of each kind: the codecs of options have their own tests, which try every option.
const std::vector<Case> kCases = {
    {json::object(), {}},
    {{{"seed", 18446744073709551615u}, {"max_tokens", 5}},
     {"--seed", "18446744073709551615", "-n", "5"}},
    {{{"temperature", 0}}, {"--greedy"}},
    {{{"presence_penalty", 1.5}, {"no_repeat_ngram_size", 2}, {"max_tokens", 60}},
     {"--presence-penalty", "1.5", "--no-repeat-ngram-size", "2", "-n", "60"}},
    {{{"logit_bias", {{"267", -100}, {"431", 2.5}}}, {"suppress_tokens", {267, 431}}},
     {"--logit-bias", "267=-100", "--logit-bias", "431=2.5", "--suppress-tokens", "267,431"}},
    {{{"stop", {"and Lily", " the"}}, {"max_tokens", 60}},
     {"--stop", "and Lily", "--stop", " the", "-n", "60"}},
    {{{"max_tokens", 300}}, {"-n", "300"}},  // to the end of the text
    {{{"max_tokens", 600}, {"ignore_eos", true}, {"overflow", "slide"}, {"keep", 4}},
     {"-n", "600", "--ignore-eos", "--overflow", "slide", "--keep", "4"}}};

// The two texts that gpt2 generate writes with these arguments and log-probabilities.
std::vector<json> two_texts(const std::string& prompt, const Words& arguments) {
  const bool is_greedy = std::ranges::count(arguments, "--greedy") != 0;  // both are the same
  auto texts = generated(prompt, joined_words(joined_words({"--logprobs", "3"}, arguments),
                                              is_greedy ? Words() : Words{"--samples", "2"}));
  texts.resize(2, texts.front());
  return texts;
}

// The mean log-probability of a text's tokens.
double mean_of(const json& written) {
  double sum = 0.0;
  for (const json& score : written["logprobs"]) sum += score["logprob"].get<double>();
  return sum / static_cast<double>(written["logprobs"].size());
}

}  // namespace

TEST_CASE("texts are those of gpt2 generate, whole and as streams, while all are written at once") {
  const std::vector<std::string> prompts = {"Tom", "Once upon a time",
                                            "\xc3\x89milie \xe2\x98\x83"};
  const std::size_t step = is_slow() ? 4 : 1;  // each case takes a run of the command, too
  std::vector<std::pair<HttpClient, HttpClient>> clients;
  for (std::size_t i = 0; i < kCases.size(); i += step) {
    const json body =
        with({{"prompt", prompts[i % 3]}, {"n", 2}, {"logprobs", 3}}, kCases[i].request);
    clients.emplace_back(server().connect(), server().connect());
    clients.back().first.send(http_request("POST", "/v1/completions", body.dump()));
    clients.back().second.send(
        http_request("POST", "/v1/completions", with(body, {{"stream", true}}).dump()));
  }
  for (std::size_t i = 0; i < kCases.size(); i += step) {
    const Case& one = kCases[i];
    CAPTURE(one.request);
    const auto written = two_texts(prompts[i % 3], one.arguments);
    const HttpResponse whole = clients[i / step].first.receive();
    CAPTURE(whole.body);
    REQUIRE(whole.status == 200);
    const json answer = whole.json();
    check_completion(answer, "object");
    REQUIRE(answer["choices"].size() == 2);
    std::size_t tokens = 0;
    for (std::size_t j = 0; j < 2; ++j) {
      CAPTURE(j);
      CHECK(answer["choices"][j]["index"] == j);
      check_same(answer["choices"][j], written.at(j));
      tokens += written[j]["token_ids"].size();
    }
    CHECK(answer["usage"]["prompt_tokens"] == written[0]["prompt_token_ids"].size());
    CHECK(answer["usage"]["completion_tokens"] == tokens);
    CHECK(joined(clients[i / step].second.receive()) == answer["choices"]);
  }
}

TEST_CASE("options whose form differs from that of the command") {
  const json ids = generated("Tom")[0]["token_ids"];
  const int first = ids[0], second = ids[1];
  const json forbidden = choices({{"prompt", "Tom"}, {"bad_words_ids", {{first}}}});
  check_same(forbidden[0], generated("Tom", {"--suppress-tokens", std::to_string(first)})[0]);
  const std::string pair = std::to_string(first) + "," + std::to_string(second);
  check_same(
      choices({{"prompt", "Tom"}, {"sequence_bias", json::array({{{first, second}, -5.5}})}})[0],
      generated("Tom", {"--sequence-bias", pair + "=-5.5"})[0]);
  const json plain = choices({{"prompt", "Tom"},
                              {"max_new_tokens", 4},
                              {"stop_strings", {"zzz"}},
                              {"user", "u"},
                              {"model", nullptr},
                              {"top_p", nullptr}});
  check_same(plain[0], generated("Tom", {"-n", "4"})[0]);
  CHECK(plain[0]["logprobs"].is_null());
}

TEST_CASE("best_of returns the texts whose tokens have the highest mean log-probability") {
  // With the bias, some texts end at once. Any text is better than one without tokens.
  for (const char* const bias : {"0", "11"}) {
    CAPTURE(bias);
    auto written = generated(
        "Tom", {"--samples", "6", "--logprobs", "0", "--logit-bias", std::string("4095=") + bias});
    std::erase_if(written, [](const json& one) { return one["token_ids"].empty(); });
    std::ranges::stable_sort(written, std::greater<>(), mean_of);
    const json found = choices(
        {{"prompt", "Tom"}, {"n", 2}, {"best_of", 6}, {"logit_bias", {{"4095", std::stoi(bias)}}}});
    REQUIRE(found.size() == 2);
    for (std::size_t i = 0; i < std::min<std::size_t>(2, written.size()); ++i) {
      CHECK(found[i]["index"] == i);
      CHECK(found[i]["logprobs"].is_null());
      check_same(found[i], written[i]);
    }
  }
}

TEST_CASE("beam search finds the texts of gpt2 generate --num-beams") {
  const json body = {
      {"prompt", "Tom"}, {"num_beams", 4}, {"n", 3}, {"length_penalty", 0.5}, {"max_tokens", 12}};
  const json found = choices(body);
  const auto written = generated("Tom", {"--num-beams", "4", "--num-return-sequences", "3",
                                         "--length-penalty", "0.5", "-n", "12"});
  REQUIRE(found.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) check_same(found[i], written.at(i));
  CHECK(check_error(complete(with(body, {{"stream", true}})).json())
            .starts_with("stream: cannot be combined"));
}

TEST_CASE("prompts are texts, token ids, or lists of these") {
  const json tom = generated("Tom")[0], cat = generated("The cat sat")[0];
  const json ids = tom["prompt_token_ids"], more = cat["prompt_token_ids"];
  check_same(choices({{"prompt", ids}})[0], tom);
  for (const json& list : {json{"Tom", "The cat sat"}, json{ids, more}, json{"Tom", more}}) {
    CAPTURE(list);
    const json answer = complete({{"prompt", list}, {"n", 2}}).json();
    check_completion(answer, "object");
    REQUIRE(answer["choices"].size() == 4);
    // Choice i of the answer is the sequence i of the seed.
    for (std::size_t i = 0; i < 4; ++i) {
      const std::string prompt = i < 2 ? "Tom" : "The cat sat";
      check_same(answer["choices"][i], generated(prompt, {"--sequence", std::to_string(i)})[0]);
      CHECK(answer["choices"][i]["index"] == i);
    }
    CHECK(answer["usage"]["prompt_tokens"] == ids.size() + more.size());
    CHECK(joined(complete({{"prompt", list}, {"n", 2}, {"stream", true}})) == answer["choices"]);
  }
}

TEST_CASE("an empty prompt lets the model begin a text of its own") {
  // As OpenAI documents it, null asks for this, too: its default is the end-of-text token.
  for (const json& prompt :
       {json(""), json(nullptr), json::array({""}), json::array({json::array()})}) {
    CAPTURE(prompt);
    check_same(choices({{"prompt", prompt}, {"echo", true}})[0], generated("")[0]);
  }
}

TEST_CASE("echo and logprobs score a prompt, as an evaluation harness asks for it") {
  const std::string text = "The cat said caf\xc3\xa9, and Tom sat on the mat.";
  const json score =
      json::parse(run({"score", "--json", "--logprobs", "5"}, {.input = text}).out)["logprobs"];
  for (const std::size_t max_tokens : {0u, 1u, 9u}) {
    CAPTURE(max_tokens);
    const json body = {{"prompt", text},
                       {"echo", true},
                       {"logprobs", 5},
                       {"temperature", 0},
                       {"max_tokens", max_tokens}};
    const json answer = complete(body).json();
    check_completion(answer, "object");
    const json& choice = answer["choices"][0];
    const json written =
        generated(text, {"--greedy", "--logprobs", "5", "-n", std::to_string(max_tokens)})[0];
    CHECK(choice["text"] == text + written["text"].get<std::string>());
    CHECK(choice["finish_reason"] == "length");
    CHECK(answer["usage"]["completion_tokens"] == max_tokens);
    const json& lists = choice["logprobs"];
    json expected = json::array({nullptr});
    for (std::size_t i = 1; i < score.size(); ++i) expected.push_back(score[i]["logprob"]);
    for (const json& one : written["logprobs"]) expected.push_back(one["logprob"]);
    CHECK(lists["token_logprobs"] == expected);
    CHECK(lists["top_logprobs"][0].is_null());
    CHECK(joined(complete(with(body, {{"stream", true}}))) == answer["choices"]);
  }
}

TEST_CASE("text_offset counts each U+FFFD of a text whose tokens are parts of characters") {
  const auto ids_of = [](std::string_view bytes) {
    json ids = json::array();
    for (const char byte : bytes) {
      ids.push_back(bundled::tokenizer().find(std::string_view(&byte, 1)).value());
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
    const json body = {{"prompt", ids_of(prompt)},
                       {"echo", true},
                       {"logprobs", 0},
                       {"max_tokens", 2},
                       {"logit_bias", {{ids_of(byte)[0].dump(), 100}}}};
    const json found = choices(body);
    CHECK(found[0]["logprobs"]["text_offset"] == offsets);
    CHECK(characters(found[0]["text"]) == static_cast<std::size_t>(offsets.back()) + 1);
    CHECK(joined(complete(with(body, {{"stream", true}}))) == found);
  }
}

TEST_CASE("the parts of a stream have the documented members, and usage if it is asked for") {
  for (const bool with_usage : {false, true}) {
    json body = {{"prompt", {"Tom", "The cat"}}, {"n", 2}, {"logprobs", 1}};
    const json whole = complete(body).json();
    body["stream"] = true;
    if (with_usage) body["stream_options"] = {{"include_usage", true}};
    const HttpResponse response = complete(body);
    CHECK(response.headers.at("content-type") == "text/event-stream");
    const std::vector<json> chunks = chunks_of(response);
    json head = chunks.front();
    head.erase("choices");
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      json chunk = chunks[i];
      const bool is_usage = with_usage && i + 1 == chunks.size();
      check_completion(chunk, !with_usage ? "" : is_usage ? "object" : "null");
      CHECK(chunk["choices"].size() == (is_usage ? 0 : 1));
      if (is_usage) CHECK(chunk["usage"] == whole["usage"]);
      chunk.erase("choices");
      if (is_usage) chunk["usage"] = nullptr;
      CHECK(chunk == head);
    }
  }
}

TEST_CASE("the options of gpt2 serve are the defaults of requests, and what a request says wins") {
  const TestServer one({"--temperature", "1.5", "--top-k", "5", "-n", "9", "--stop", "cat",
                        "--seed", "3", "--bad-words", "time"});
  const auto text = [&](const json& more) {
    const json body = with({{"prompt", "Once upon a"}}, more);
    return one.post("/v1/completions", body).json()["choices"][0]["text"];
  };
  const auto written = [](const Words& words) {
    const Words common = {"--stop", "cat", "--bad-words", "time"};
    return generated("Once upon a", joined_words(common, words))[0]["text"];
  };
  CHECK(text(json::object()) ==
        written({"--temperature", "1.5", "--top-k", "5", "-n", "9", "--seed", "3"}));
  CHECK(text({{"temperature", 0.3}, {"top_k", 0}, {"max_tokens", 4}, {"seed", 0}}) ==
        written({"--temperature", "0.3", "--top-k", "0", "-n", "4"}));
  const json messages = {{{"role", "user"}, {"content", "Hi"}}};
  const json chat = one.post("/v1/chat/completions", {{"messages", messages}}).json();
  CHECK(chat["usage"]["completion_tokens"] == 9);
}

TEST_CASE("--hf-defaults takes the model's generation config, but not its max_length") {
  const TemporaryDirectory directory;
  write_alphabet_model(directory.path());
  directory.write("generation_config.json", R"({"do_sample": false, "max_length": 3})");
  const TestServer one({"-m", "a=" + directory.path().string(), "--hf-defaults"});
  const json prompt = {{"prompt", "abcdef"}};
  CHECK(one.post("/v1/completions", prompt).json()["usage"]["completion_tokens"] == 16);
  const json rows = one.get("/options").json()["options"];
  for (const json& row : rows) {
    if (row["name"] == "temperature") CHECK(row["default"] == 0);
  }
}

TEST_CASE("a seed may be random: in a request, and by default with --seed random") {
  const auto text = [](const TestServer& of, const json& seed) {
    return of.post("/v1/completions", {{"prompt", "One"}, {"max_tokens", 30}, {"seed", seed}})
        .json()["choices"][0]["text"];
  };
  CHECK(text(server(), "random") != text(server(), "random"));
  CHECK(text(server(), nullptr) == text(server(), 0));
  const TestServer one({"--seed", "random"});
  CHECK(text(one, nullptr) != text(one, nullptr));
  CHECK(text(one, 5) == text(server(), 5));
  CHECK(server().post("/v1/completions", {{"prompt", "One"}, {"seed", "other"}}).status == 400);
}

TEST_CASE("a seed is any number of 64 bits, and a negative one has the same bits") {
  const auto text = [](const json& seed) {
    return server()
        .post("/v1/completions", {{"prompt", "One"}, {"max_tokens", 9}, {"seed", seed}})
        .json()["choices"][0]["text"];
  };
  CHECK(text(-1) == text(18446744073709551615u));
  CHECK(text(std::numeric_limits<std::int64_t>::min()) == text(std::uint64_t{1} << 63));
  CHECK(text(-1) == generated("One", {"--seed", "-1", "-n", "9"})[0]["text"]);
}

TEST_CASE("an empty suffix asks for nothing, and no likeliest tokens are null as a whole") {
  const json body = {{"prompt", "One"}, {"max_tokens", 2}, {"suffix", ""}, {"logprobs", 0}};
  const json logprobs =
      server().post("/v1/completions", body).json()["choices"][0]["logprobs"];
  CHECK(logprobs["token_logprobs"].size() == 2);
  CHECK(logprobs["top_logprobs"].is_null());
}

}  // namespace gpt2::test::completions_test
