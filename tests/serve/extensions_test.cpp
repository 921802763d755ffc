// Tests what gpt2 serve answers beside OpenAI's API: token ids of completions, the table of
// options, the page of gpt2 inspect.
#include <string>
#include <vector>

#include "gpt2/option_fields.h"
#include "serve/answers.h"
#include "support/catch.h"
#include "support/test_server.h"

namespace gpt2::test::extensions_test {

using nlohmann::json;

namespace {

const TestServer& server() {
  static const TestServer one;
  return one;
}

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

TEST_CASE("GET /options has every row of the table") {
  const json rows = server().get("/options").json()["options"];
  std::size_t count = 0;
  const auto check_row = [&](const auto& field) {
    CAPTURE(field.name);
    REQUIRE(count < rows.size());
    CHECK(rows[count]["name"] == field.name);
    CHECK(rows[count]["help"] == field.help);
    CHECK_FALSE(rows[count]["form"].get<std::string>().empty());
    ++count;
  };
  gpt2::for_each_generation_field(check_row);
  gpt2::for_each_sampling_field(check_row);
  gpt2::for_each_beam_field(check_row);
  CHECK(count == rows.size());
  for (const json& row : rows) {
    if (row["name"] != "temperature") continue;
    CHECK(row["type"] == "number");
    CHECK(row["role"] == "draws");
    CHECK(row["max"] == 100);
    CHECK(row["also"] == 0);
    CHECK(row["default"] == 1);
    CHECK(row["command_default"] == 0.8);  // with as few digits as the float needs
  }
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

}  // namespace gpt2::test::extensions_test
