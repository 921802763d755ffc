// Tests the endpoints of gpt2 serve beside the completions: embeddings, models, tokens, health and
// metrics; several models; the forms of errors; and what goes beyond the API of OpenAI: token ids
// of completions, the table of options, the page of gpt2 inspect.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "requests/answer/json_text.h"
#include "serve/answers.h"
#include "serve/schema.h"
#include "support/alphabet_model.h"
#include "support/bundled_model.h"
#include "support/catch.h"
#include "support/temporary_directory.h"
#include "support/test_server.h"

namespace gpt2::test::endpoints_test {

using nlohmann::json;

namespace {

// A server of two models: the bundled one, and the alphabet model, whose texts are known.
const TestServer& server() {
  static const TestServer one({"-m", "gpt2-stories", "-m", "abc=" + alphabet_model()});
  return one;
}

json embeddings(const json& body) {
  const HttpResponse response = server().post("/v1/embeddings", body);
  CAPTURE(body, response.body);
  REQUIRE(response.status == 200);
  const json answer = response.json();
  check_shape(answer, "object:string data:array model:string usage:object");
  CHECK(answer["object"] == "list");
  check_shape(answer["usage"], "prompt_tokens:integer total_tokens:integer");
  CHECK(answer["usage"]["prompt_tokens"] == answer["usage"]["total_tokens"]);
  for (std::size_t i = 0; i < answer["data"].size(); ++i) {
    check_shape(answer["data"][i], "object:string index:integer embedding:array|string");
    CHECK(answer["data"][i]["object"] == "embedding");
    CHECK(answer["data"][i]["index"] == i);
  }
  return answer;
}

// The vectors of gpt2 embed, with the length 1.
std::vector<std::vector<double>> embedded(const std::vector<std::string>& texts,
                                          const Words& arguments) {
  std::string input;
  for (const std::string& text : texts) input += text + '\n';
  std::vector<std::vector<double>> vectors;
  for (const json& record :
       json_lines(run(joined_words({"embed"}, arguments), {.input = input}).out)) {
    vectors.push_back(record["embedding"].get<std::vector<double>>());
    double square = 0.0;
    for (const double number : vectors.back()) square += number * number;
    for (double& number : vectors.back()) number /= std::sqrt(square);
  }
  return vectors;
}

void check_near(const json& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::abs(found[i].get<double>() - expected[i]));
  }
  // The elements of a vector of length 1 are at most 1, and a float has a relative error of 2^-24.
  CHECK(worst <= 0x1p-24);
}

void check_refused(const HttpResponse& response, int status, const std::string& message) {
  CAPTURE(response.body);
  CHECK(response.status == status);
  CHECK(response.headers.at("content-type") == "application/json");
  CHECK(check_error(response.json()).starts_with(message));
}

}  // namespace

TEST_CASE("embeddings are those of gpt2 embed with the length 1") {
  const std::vector<std::string> texts = {"The cat sat down.", "One day", "caf\xc3\xa9"};
  const std::vector<std::pair<json, Words>> cases = {
      {json::object(), {}},
      {{{"pooling", "last"}}, {"--pooling", "last"}},
      {{{"layer", 2}, {"pooling", "mean"}}, {"--layer", "2"}},
      {{{"encoding_format", "float"}, {"user", "u"}, {"dimensions", 256}}, {}}};
  for (const auto& [more, arguments] : cases) {
    CAPTURE(more);
    json body = with({{"input", texts}, {"model", "gpt2-stories"}}, more);
    const json answer = embeddings(body);
    CHECK(answer["model"] == "gpt2-stories");
    const auto expected = embedded(texts, arguments);
    REQUIRE(answer["data"].size() == 3);
    for (std::size_t i = 0; i < 3; ++i) check_near(answer["data"][i]["embedding"], expected[i]);
    body["encoding_format"] = "base64";
    const json encoded = embeddings(body);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto floats = answer["data"][i]["embedding"].get<std::vector<float>>();
      const std::span bytes(reinterpret_cast<const char*>(floats.data()), 4 * floats.size());
      CHECK(encoded["data"][i]["embedding"] == base64({bytes.data(), bytes.size()}));
    }
  }
}

TEST_CASE("base64 is that of RFC 4648") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("\xfb\xff\xbf") == "+/+/");
}

TEST_CASE("the input of embeddings is a text, token ids, or a list of these") {
  const std::string text = "The cat sat down.";
  const auto ids = bundled::tokenizer().encode(text);
  const json one = embeddings({{"input", text}});
  CHECK(one["usage"]["prompt_tokens"] == ids.size());
  CHECK(one["data"].size() == 1);
  for (const json& input : {json(ids), json{text}, json::array({ids})}) {
    CHECK(embeddings({{"input", input}})["data"] == one["data"]);
  }
  const json two = embeddings({{"input", json::array({ids, text})}});
  CHECK(two["data"][1]["embedding"] == one["data"][0]["embedding"]);
  CHECK(two["usage"]["prompt_tokens"] == 2 * ids.size());
}

TEST_CASE("requests choose a model by its name; the first one is the default") {
  const json list = server().get("/v1/models").json();
  check_shape(list, "object:string data:array");
  CHECK(list["object"] == "list");
  REQUIRE(list["data"].size() == 2);
  const std::vector<std::string> names = {"gpt2-stories", "abc"};
  for (std::size_t i = 0; i < 2; ++i) {
    const json& model = list["data"][i];
    // max_model_len is vLLM's: the max number of tokens of a prompt and its continuation. command
    // is ours: the words of a command that writes the same texts.
    check_shape(model,
                "id:string object:string created:integer owned_by:string "
                "max_model_len:integer has_unused_chat_template:boolean command:array");
    CHECK(model["has_unused_chat_template"] == false);
    CHECK(model["id"] == names[i]);
    CHECK(model["object"] == "model");
    CHECK(model["max_model_len"] == (i == 0 ? 512 : 1024));
    CHECK(model["created"].get<std::int64_t>() <= std::time(nullptr));
    CHECK(server().get("/v1/models/" + names[i]).json() == model);
  }
  const json abc =
      server()
          .post("/v1/completions",
                {{"model", "abc"}, {"prompt", "x"}, {"temperature", 0}, {"max_tokens", 10}})
          .json();
  CHECK(abc["model"] == "abc");
  CHECK(abc["choices"][0]["text"] ==
        "yz \xc3\xa9"
        "abcde");
  const json first = server().post("/v1/completions", {{"prompt", "Tom"}}).json();
  CHECK(first["model"] == "gpt2-stories");
  CHECK(first["system_fingerprint"] != abc["system_fingerprint"]);
  check_same(first["choices"][0], generated("Tom")[0]);
}

TEST_CASE("names of models: the last part of a path, or the one that is given") {
  const TemporaryDirectory place;
  const std::string path = (place.path() / "some" / "abc-model").string();
  write_alphabet_model(path);
  const TestServer named({"-m", path + "/", "-m", "a/b=" + path});
  const json list = named.get("/v1/models").json();
  CHECK(list["data"][0]["id"] == "abc-model");
  CHECK(list["data"][1]["id"] == "a/b");
  CHECK(named.get("/v1/models/a/b").status == 200);
  CHECK(named.get("/v1/models/a%2Fb").status == 200);
  CHECK(named.get("/v1/models/a%2Fb%00c").status == 404);
  CHECK(named.get("/%00").status == 404);
}

TEST_CASE("paths and methods that nothing serves") {
  const auto ask = [](std::string_view method, std::string_view path) {
    return server().connect().ask(http_request(method, path));
  };
  check_refused(ask("GET", "/v1/nothing"), 404, "no such path: GET '/v1/nothing'");
  check_refused(ask("GET", "//"), 404, "no such path: GET '//'");
  check_refused(ask("GET", "/v1/modelsx"), 404, "no such path");
  const HttpResponse response = ask("PUT", "/v1/completions");
  check_refused(response, 405, "/v1/completions expects the method POST");
  CHECK(response.headers.at("allow") == "POST");
  CHECK(ask("GET", "/v1/models?limit=2").status == 200);
}

TEST_CASE("tokenize and detokenize use the model's tokenizer") {
  const std::string text = "The caf\xc3\xa9 \xe2\x98\x83";
  const auto ids = bundled::tokenizer().encode(text);
  CHECK(server().post("/tokenize", {{"prompt", text}}).json() ==
        json{{"tokens", ids}, {"count", ids.size()}, {"max_model_len", 512}});
  CHECK(server().post("/detokenize", {{"tokens", ids}}).json() == json{{"prompt", text}});
  CHECK(server().post("/tokenize", {{"prompt", "ab"}, {"model", "abc"}}).json()["tokens"] ==
        json{97, 98});
}

TEST_CASE("what the tokenizer's files say, and a chat_template, which is not used") {
  const json info = {{"tokenizer_class", "GPT2Tokenizer"},
                     {"bos_token", "<|endoftext|>"},
                     {"eos_token", "<|endoftext|>"},
                     {"pad_token", nullptr},
                     {"chat_template", nullptr}};
  CHECK(server().get("/tokenizer_info").json() == info);
  const TemporaryDirectory directory;
  std::filesystem::copy(bundled::kDirectory, directory.path());
  directory.write("tokenizer_config.json",
                  R"({"tokenizer_class": "GPT2TokenizerFast", "pad_token": {"content": "!"}})");
  directory.write("chat_template.jinja", "{{ messages }}");
  const TestServer other({"-m", directory.path().string()});
  json expected = info;
  expected.update({{"tokenizer_class", "GPT2TokenizerFast"},
                   {"pad_token", "!"},
                   {"chat_template", "{{ messages }}"}});
  CHECK(other.get("/tokenizer_info").json() == expected);
  CHECK(other.get("/v1/models").json()["data"][0]["has_unused_chat_template"] == true);
}

TEST_CASE("a model without a tokenizer answers requests of token ids") {
  const TemporaryDirectory directory;
  write_alphabet_model(directory.path(), 64);
  for (const char* file : {"vocab.json", "merges.txt"}) {
    std::filesystem::remove(directory.path() / file);
  }
  const TestServer ids({"-m", directory.path().string()});
  const json completed = ids.post("/v1/completions", {{"prompt", {97, 98}},
                                                      {"max_tokens", 2},
                                                      {"temperature", 0},
                                                      {"logprobs", 3},
                                                      {"return_token_ids", true}})
                             .json()["choices"][0];
  CHECK(completed["token_ids"] == json{99, 100});
  CHECK(completed["logprobs"]["tokens"] == json{"token_id:99", "token_id:100"});
  CHECK(completed["logprobs"]["top_logprobs"][0].size() == 3);
  CHECK(completed["logprobs"]["top_logprobs"][0].contains("token_id:99"));
  CHECK(ids.post("/tokenize", {{"prompt", {97}}}).json()["count"] == 1);
  for (const auto& [path, body] : {std::pair<const char*, json>{"/tokenize", {{"prompt", "a"}}},
                                   {"/detokenize", {{"tokens", {97}}}},
                                   {"/v1/completions", {{"prompt", "a"}}},
                                   {"/v1/embeddings", {{"input", "a"}}}}) {
    CAPTURE(path);
    CHECK(ids.post(path, body).status == 400);
  }
}

TEST_CASE("health and metrics") {
  CHECK(server().get("/health").json() == json{{"status", "ok"}});
  const TestServer fresh;
  CHECK(fresh.post("/v1/completions", {{"prompt", "Tom"}, {"max_tokens", 5}}).status == 200);
  CHECK(fresh.post("/v1/completions", {{"prompt", 5}}).status == 400);
  const std::string long_body = "{\"prompt\": \"" + std::string(3 << 20, 'x') + "\"}";
  CHECK(fresh.connect().ask(http_request("POST", "/v1/completions", long_body)).status == 413);
  fresh.await_idle();
  const std::string path = "gpt2_requests_total{path=\"/v1/completions\",status=";
  CHECK(fresh.metric(path + "\"200\"}") == 1);
  CHECK(fresh.metric(path + "\"400\"}") == 1);
  CHECK(fresh.metric(path + "\"413\"}") == 1);
  const auto prompt = static_cast<double>(bundled::tokenizer().encode("Tom").size());
  CHECK(fresh.metric("gpt2_prompt_tokens_total") == prompt);
  CHECK(fresh.metric("gpt2_completion_tokens_total") == 5);
  CHECK(fresh.metric("gpt2_batch_size") == 0);
  CHECK(fresh.metric("gpt2_time_to_first_token_seconds_count") == 1);
  CHECK(fresh.metric("gpt2_time_per_token_seconds_count") == 4);
  const HttpResponse metrics = fresh.get("/metrics");
  CHECK(metrics.headers.at("content-type").starts_with("text/plain; version=0.0.4"));
  std::istringstream lines(metrics.body);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    const bool is_comment = line.starts_with("# HELP gpt2_") || line.starts_with("# TYPE gpt2_");
    if (!is_comment) CHECK(std::isfinite(std::stod(line.substr(line.rfind(' ')))));
  }
}

namespace {

json ids_of(const std::string& text) {
  return server().post("/tokenize", {{"prompt", text}}).json()["tokens"];
}

}  // namespace

TEST_CASE("return_token_ids adds the ids of the prompt, the text and the likeliest tokens") {
  json body = {{"prompt", "Tom"}, {"max_tokens", 6}, {"logprobs", 2}, {"stop", "\n"}};
  const json without = server().post("/v1/completions", body).json()["choices"][0];
  CHECK_FALSE(without.contains("token_ids"));
  CHECK_FALSE(without["logprobs"].contains("top_token_ids"));

  body["return_token_ids"] = true;
  json choice = server().post("/v1/completions", body).json()["choices"][0];
  CHECK(choice["prompt_token_ids"] == ids_of("Tom"));
  CHECK(choice["token_ids"] == generated("Tom", {"-n", "6", "--stop", "\n"})[0]["token_ids"]);
  json& lists = choice["logprobs"];
  REQUIRE(lists["top_token_ids"].size() == lists["tokens"].size());
  for (std::size_t i = 0; i < lists["tokens"].size(); ++i) {
    CHECK(lists["top_token_ids"][i][lists["tokens"][i].get<std::string>()] ==
          choice["token_ids"][i]);
    CHECK(lists["top_token_ids"][i].size() == lists["top_logprobs"][i].size());
    for (const auto& [text, id] : lists["top_token_ids"][i].items()) {
      CHECK(server().post("/detokenize", {{"tokens", {id}}}).json()["prompt"] == text);
    }
  }
  lists.erase("top_token_ids");
  choice.erase("prompt_token_ids");
  choice.erase("token_ids");
  CHECK(choice == without);
}

TEST_CASE("in a stream, the first part of a choice has the ids of the prompt") {
  json body = {{"prompt", "Tom"}, {"max_tokens", 40}, {"stop", "."}, {"return_token_ids", true}};
  const json whole = server().post("/v1/completions", body).json()["choices"][0];
  body["stream"] = true;
  json ids = json::array();
  const std::vector<json> chunks = chunks_of(server().post("/v1/completions", body));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const json& part = chunks[i]["choices"][0];
    CHECK(part.contains("prompt_token_ids") == (i == 0));
    if (i == 0) CHECK(part["prompt_token_ids"] == whole["prompt_token_ids"]);
    for (const json& id : part.value("token_ids", json::array())) ids.push_back(id);
  }
  CHECK(ids == whole["token_ids"]);
}

// c_api_same_test finds every row in the table.
TEST_CASE("GET /options has the table of options, and the defaults of the server") {
  const json rows = server().get("/options").json()["options"];
  CHECK(rows.size() > 30);
  const auto row =
      std::ranges::find_if(rows, [](const json& one) { return one["name"] == "temperature"; });
  REQUIRE(row != rows.end());
  CHECK((*row)["type"] == "number");
  CHECK((*row)["role"] == "draws");
  CHECK((*row)["also"] == 0);
  CHECK((*row)["max"] == 100);
  CHECK((*row)["command_default"] == 0.8);  // with as few digits as the float needs
}

TEST_CASE("POST /inspect answers with the page of gpt2 inspect") {
  const HttpResponse page = server().post("/inspect", {{"prompt", "Once upon a time"}});
  CHECK(page.status == 200);
  CHECK(page.headers.at("content-type") == "text/html; charset=utf-8");
  CHECK(page.body.find("<title>gpt2 inspect</title>") != page.body.npos);
  CHECK(server().post("/inspect", {{"prompt", ids_of("Once upon a time")}}).body == page.body);
  for (const json& prompt : {json(""), json(std::vector<int>(513, 5)), json(5)}) {
    CHECK(server().post("/inspect", {{"prompt", prompt}}).status == 400);
  }
}

}  // namespace gpt2::test::endpoints_test
