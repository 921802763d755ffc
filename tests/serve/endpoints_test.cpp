// Tests the endpoints of gpt2 serve beside the completions: models, tokens, health and metrics;
// several models; and what goes beyond the API of OpenAI: token ids, the table of options, the page
// of gpt2 inspect.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "serve/answers.h"
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

void check_refused(const HttpResponse& response, int status, const std::string& message) {
  CAPTURE(response.body);
  CHECK(response.status == status);
  CHECK(response.headers.at("content-type") == "application/json");
  CHECK(check_error(response.json()).starts_with(message));
}

}  // namespace

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
                "max_model_len:integer has_unused_chat_template:boolean command:array "
                "config:object format:string parameters:integer tensors:integer ignored:object "
                "dtypes:object dtype:string kv_type:string memory:object warnings:array");
    CHECK(model["config"]["n_embd"] == (i == 0 ? 256 : 64));
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
  const json vectors = server().post("/v1/embeddings", {{"model", "abc"}, {"input", "x"}}).json();
  CHECK(vectors["model"] == "abc");
  CHECK(vectors["data"][0]["embedding"].size() == 64);
  const json first = server().post("/v1/completions", {{"prompt", "Tom"}}).json();
  CHECK(first["model"] == "gpt2-stories");
  CHECK(first["system_fingerprint"] != abc["system_fingerprint"]);
  CHECK(first["choices"][0]["text"] == generated("Tom")[0]["text"]);
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

// tests/requests has what is wrong. The model takes 1,024 tokens, and TEXT stands for 1,025.
TEST_CASE("every endpoint names the member with the mistake, and its kind, as OpenAI does") {
  struct Refusal {
    std::string path, body;
    json param, code = {};
  };
  const json missing = "missing_required_parameter", unknown = "unknown_parameter",
             too_long = "context_length_exceeded";
  for (const Refusal& refusal : std::vector<Refusal>{
           {"/v1/completions", R"({})", "prompt", missing},
           {"/v1/completions", R"({"prompt": "a", "temperature": "hot"})", "temperature"},
           {"/v1/completions", R"({"prompt": ["a", "TEXT"]})", "prompt", too_long},
           {"/v1/chat/completions", R"({"messages": [{"role": "user"}]})", "messages[0].content",
            missing},
           {"/v1/responses", R"({"input": "a", "n": 2})", "n", unknown},
           {"/v1/embeddings", R"({"input": ["a", ""]})", "input[1]"},
           {"/tokenize", R"({"prompt": "a", "x": 1})", "x", unknown},
           {"/detokenize", R"({"tokens": [257]})", "tokens[0]"},
           {"/inspect", R"({"prompt": "TEXT"})", "prompt", too_long}}) {
    std::string body = refusal.body;
    if (const std::size_t at = body.find("TEXT"); at != body.npos) {
      body.replace(at, 4, std::string(1025, 'a'));
    }
    const HttpResponse response =
        server().post(refusal.path, with(json::parse(body), {{"model", "abc"}}));
    CAPTURE(refusal.path, refusal.body, response.body);
    CHECK(response.status == 400);
    check_error(response.json());
    const json error = response.json()["error"];
    CHECK(error["type"] == "invalid_request_error");
    CHECK(error["param"] == refusal.param);
    CHECK(error["code"] == refusal.code);
  }
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

TEST_CASE("the eos token is the config's if the tokenizer's files name none") {
  const TemporaryDirectory directory;
  write_alphabet_model(directory.path(), 64);
  std::string vocabulary = read_bytes(directory.path() / "vocab.json");
  vocabulary.replace(vocabulary.find("<|endoftext|>"), 13, "</s>");
  directory.write("vocab.json", vocabulary);
  const TestServer other({"-m", directory.path().string()});
  CHECK(other.get("/tokenizer_info").json()["eos_token"] == "</s>");
}

TEST_CASE("a model without a tokenizer answers requests of token ids") {
  const TemporaryDirectory directory;
  write_alphabet_model(directory.path(), 64);
  for (const char* file : {"vocab.json", "merges.txt"}) {
    std::filesystem::remove(directory.path() / file);
  }
  const TestServer ids({"-m", directory.path().string()});
  const json body = {{"prompt", {97, 98}}, {"max_tokens", 2}, {"temperature", 0}};
  CHECK(ids.post("/v1/completions", body).json()["choices"][0]["token_ids"] == json{99, 100});
  CHECK(ids.post("/tokenize", {{"prompt", {97}}}).json()["count"] == 1);
  for (const auto& [path, text] : {std::pair<const char*, json>{"/tokenize", {{"prompt", "a"}}},
                                   {"/detokenize", {{"tokens", {97}}}},
                                   {"/v1/completions", {{"prompt", "a"}}},
                                   {"/v1/embeddings", {{"input", "a"}}}}) {
    CAPTURE(path);
    CHECK(ids.post(path, text).status == 400);
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
}

}  // namespace gpt2::test::endpoints_test
