// The bodies of requests to gpt2 serve: completions, chat in both forms, and embeddings.
#include <nlohmann/json.hpp>
#include <optional>

#include "fuzz.h"
#include "requests/answer/completion.h"
#include "requests/answer/numbers.h"
#include "requests/read/completion_request.h"
#include "requests/read/members.h"
#include "support/bundled_model.h"

namespace {

using namespace gpt2;

const Config& config() { return test::bundled::model().config(); }

void require(bool condition) {
  if (!condition) __builtin_trap();
}

void require_ids(const std::vector<TokenId>& tokens) {
  require(!tokens.empty() && tokens.size() <= config().n_positions);
  for (const TokenId id : tokens) {
    require(id >= 0 && static_cast<std::size_t>(id) < config().vocab_size);
  }
}

void check(const CompletionRequest& request) {
  require(!request.prompts.empty());
  for (const CompletionPrompt& prompt : request.prompts) require_ids(prompt.tokens);
  require(request.n >= 1 && request.n <= request.best_of && request.best_of <= 128);
  require(request.beams.num_beams == 1 ||
          (!request.stream && request.n <= request.beams.num_beams));
  require(request.options.top_logprobs.value_or(0) <= 100);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::optional<Tokenizer> tokenizer = test::bundled::tokenizer();
  RequestContext context = {tokenizer, config()};
  nlohmann::json body;
  bool is_object = false;
  fuzz::expect_answer([&] {
    parse_object(body, {reinterpret_cast<const char*>(data), size}, "the body");
    is_object = true;
  });
  if (!is_object) return 0;
  fuzz::expect_answer([&] { check(read_completion_request(body, context)); });
  for (const ChatForm form : {ChatForm::transcript, ChatForm::dialog}) {
    context.chat = form;
    fuzz::expect_answer([&] { check(read_chat_request(body, context)); });
  }
  fuzz::expect_answer([&] {
    const EmbeddingRequest request = read_embedding_request(body, context);
    require(!request.inputs.empty());
    for (const std::vector<TokenId>& input : request.inputs) require_ids(input);
  });
  return 0;
}
