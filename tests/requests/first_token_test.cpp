#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "requests/read/chat_request.h"
#include "requests/read/tokens.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace gpt2::test::first_token_test {

namespace {

std::optional<Tokenizer> tokenizer_of(const char* settings) {
  const TemporaryDirectory folder;
  folder.write("vocab.json", R"({"a": 0, "<s>": 1, "</s>": 2, "x": 3})");
  folder.write("merges.txt", "");
  folder.write("tokenizer_config.json", settings);
  return Tokenizer::load(folder.path());
}

}  // namespace

TEST_CASE("a text begins with the bos token of the config, else of the tokenizer, else with eos") {
  const auto both = tokenizer_of(R"({"bos_token": "<s>", "eos_token": "</s>"})");
  const auto end = tokenizer_of(R"({"eos_token": "</s>"})");
  Config config;
  config.bos_token_id = 3;
  config.eos_token_id = {0};
  CHECK(first_token(both, config) == 3);
  config.bos_token_id.reset();
  CHECK(first_token(both, config) == 1);
  CHECK(first_token(end, config) == 2);
  CHECK(first_token(std::nullopt, config) == 0);
  config.eos_token_id.clear();
  check_refused([&] { static_cast<void>(first_token(std::nullopt, config)); }, {"no bos"},
                ErrorCode::invalid_argument);
}

TEST_CASE("the eos token ends each message of a dialog") {
  const auto tokenizer = tokenizer_of(R"({"bos_token": "<s>", "eos_token": "</s>"})");
  Config config;
  config.bos_token_id = 1;
  const nlohmann::json defaults = nlohmann::json::object();
  RequestContext context = {tokenizer, config, defaults};
  context.chat = ChatForm::dialog;
  const nlohmann::json body = {{"messages", {{{"role", "user"}, {"content", "ax"}}}}};
  CHECK(read_chat_request(body, context).prompts[0].tokens == std::vector<TokenId>{0, 3, 2});
}

}  // namespace gpt2::test::first_token_test
