// Tests the endpoints of gpt2 serve: models, tokens, health, metrics, the table of options and the
// page of gpt2 inspect; several models; streams of responses; and the options of the command as
// defaults. What a request may say and what its answer has, tests/requests tests.
#include <ctime>

#include "serve/answers.h"
#include "support/bundled_model.h"

namespace gpt2::test::endpoints_test {

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

// The row of the temperature in the table of options.
json temperature_row(const TestServer& of) {
  const json rows = of.get("/options").json()["options"];
  CHECK(rows.size() > 30);
  return *std::ranges::find(rows, "temperature", [](const json& row) { return row["name"]; });
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
  const HttpResponse abc = server().post("/v1/completions", with(kNormal, {{"model", "abc"}}));
  check_normal(abc);
  CHECK(abc.json()["model"] == "abc");
  const json vectors = server().post("/v1/embeddings", {{"model", "abc"}, {"input", "x"}}).json();
  CHECK(vectors["model"] == "abc");
  CHECK(vectors["data"][0]["embedding"].size() == 64);
  const json first = server().post("/v1/completions", {{"prompt", "Tom"}}).json();
  CHECK(first["model"] == "gpt2-stories");
  CHECK(first["system_fingerprint"] != abc.json()["system_fingerprint"]);
  CHECK(first["choices"][0]["text"] == generated("Tom")[0]["text"]);
}

TEST_CASE("names of models, a tokenizer that names no eos token, and a model without a tokenizer") {
  const TemporaryDirectory place;
  const auto path = place.path() / "some" / "abc-model", ids = place.path() / "ids";
  for (const auto& model : {path, ids}) write_alphabet_model(model);
  std::string vocabulary = read_bytes(path / "vocab.json");
  vocabulary.replace(vocabulary.find("<|endoftext|>"), 13, "</s>");
  place.write("some/abc-model/vocab.json", vocabulary);
  for (const char* file : {"vocab.json", "merges.txt"}) std::filesystem::remove(ids / file);
  const TestServer named(
      {"-m", path.string() + "/", "-m", "a/b=" + path.string(), "-m", ids.string()});
  const json list = named.get("/v1/models").json();
  CHECK(list["data"][0]["id"] == "abc-model");
  CHECK(list["data"][1]["id"] == "a/b");
  CHECK(named.get("/v1/models/a/b").status == 200);
  CHECK(named.get("/v1/models/a%2Fb").status == 200);
  CHECK(named.get("/v1/models/a%2Fb%00c").status == 404);
  CHECK(named.get("/%00").status == 404);
  CHECK(named.get("/tokenizer_info").json()["eos_token"] == "</s>");  // that of the config
  json body = {{"model", "ids"}, {"prompt", {97, 98}}, {"max_tokens", 2}, {"temperature", 0}};
  CHECK(named.post("/v1/completions", body).json()["choices"][0]["token_ids"] == json{99, 100});
  body["prompt"] = "a";
  CHECK(named.post("/v1/completions", body).status == 400);
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

// tests/requests has what is wrong.
TEST_CASE("every endpoint names the member with the mistake, and its kind, as OpenAI does") {
  for (const auto& [path, member] :
       std::vector<std::pair<std::string, std::string>>{{"/v1/completions", "prompt"},
                                                        {"/v1/chat/completions", "messages"},
                                                        {"/v1/responses", "input"},
                                                        {"/v1/embeddings", "input"},
                                                        {"/tokenize", "prompt"},
                                                        {"/detokenize", "tokens"},
                                                        {"/inspect", "prompt"}}) {
    const HttpResponse response = server().post(path, {{"model", "abc"}, {"x", 1}});
    check_refused(response, 400, "");
    json error = response.json()["error"];
    error.erase("message");
    CHECK(error == json{{"type", "invalid_request_error"},
                        {"param", member},
                        {"code", "missing_required_parameter"}});
  }
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
  const json row = temperature_row(server());
  CHECK(row["type"] == "number");
  CHECK(row["role"] == "draws");
  CHECK(row["also"] == 0);
  CHECK(row["max"] == 100);
  CHECK(row["command_default"] == 0.8);  // with as few digits as the float needs
}

TEST_CASE("POST /inspect answers with the page of gpt2 inspect") {
  const HttpResponse page = server().post("/inspect", {{"prompt", "Once upon a time"}});
  CHECK(page.status == 200);
  CHECK(page.headers.at("content-type") == "text/html; charset=utf-8");
  CHECK(page.body.find("<title>gpt2 inspect</title>") != page.body.npos);
}

TEST_CASE("the events of a response have their types as names") {
  json body = {{"input", "Hello"}, {"max_output_tokens", 20}};
  const HttpResponse answer = server().post("/v1/responses", body);
  CHECK(answer.headers.at("content-type") == "application/json");
  const json whole = answer.json();
  CHECK(whole["id"].get<std::string>().starts_with("resp_"));
  body["stream"] = true;
  const HttpResponse response = server().post("/v1/responses", body);
  CHECK(response.status == 200);
  CHECK(response.headers.at("content-type") == "text/event-stream");
  json event;
  for (const std::string& text : response.events()) {
    event = json::parse(text);
    CHECK(response.body.find("event: " + event["type"].get<std::string>() + "\ndata: " + text) !=
          std::string::npos);
  }
  CHECK(event["type"] == "response.incomplete");
  CHECK(event["response"]["output"][0]["content"] == whole["output"][0]["content"]);
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
  const json chat = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}};
  CHECK(one.post("/v1/chat/completions", chat).json()["usage"]["completion_tokens"] == 9);
}

TEST_CASE("--hf-defaults takes the model's generation config, but not its max_length") {
  const TemporaryDirectory directory;
  write_alphabet_model(directory.path());
  directory.write("generation_config.json", R"({"do_sample": false, "max_length": 3})");
  const TestServer one({"-m", "a=" + directory.path().string(), "--hf-defaults"});
  const json answer = one.post("/v1/completions", {{"prompt", "abcdef"}}).json();
  CHECK(answer["usage"]["completion_tokens"] == 16);
  CHECK(temperature_row(one)["default"] == 0);
}

}  // namespace gpt2::test::endpoints_test
