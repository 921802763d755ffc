#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpt2/beam_search.h"
#include "gpt2/config.h"
#include "gpt2/generate.h"
#include "gpt2/tokenizer.h"
#include "requests/read/members.h"

// Requests to continue prompts: our own, and those to OpenAI's completions API, as
// https://platform.openai.com/docs/api-reference/completions documents them. Every further option
// in the table of gpt2/option_fields.h can be set by its name.

namespace gpt2 {

/// How the messages of a chat become the text that the model continues.
enum class ChatForm {
  /// As DialoGPT and its like were trained: the end-of-text token ends each message, and nothing
  /// says who wrote it.
  dialog,
  /// A transcript, which any model can continue: the messages of the system, and then a line for
  /// each message, "User: ..." or "Assistant: ...". The answer is the line of the assistant that
  /// follows, and ends before the next "User:".
  transcript,
};

/// The session whose text a request continues.
struct SessionRoom {
  std::size_t position = 0;  ///< the number of tokens that it has
  std::size_t capacity = 0;  ///< and of those that it has room for
};

/// What a reader cannot know from the request: the model, and the door.
struct RequestContext {
  const std::optional<Tokenizer>& tokenizer;
  const Config& config;

  /// The members that a request has unless it sets them, in the names of the table: those of
  /// --hf-defaults, and over these, those of the door. See merge_request().
  const nlohmann::json& defaults = no_defaults();

  static constexpr std::size_t kMaxPrompts = 2048;  ///< as in OpenAI's API
  std::size_t max_prompts = kMaxPrompts;            ///< or other texts
  std::size_t max_choices = 128;                    ///< for each prompt, as in OpenAI's API
  ChatForm chat = ChatForm::transcript;
  std::optional<SessionRoom> session = {};

  [[nodiscard]] static const nlohmann::json& no_defaults();  ///< an empty object
};

struct CompletionPrompt {
  std::vector<TokenId> tokens = {};
  std::size_t max_new_tokens = 0;
  bool is_empty = false;  ///< whether the request's prompt has no tokens; `tokens` has the token
                          ///< that stands for it
};

struct CompletionRequest {
  std::vector<CompletionPrompt> prompts = {};
  GenerationOptions options = {};  ///< for all prompts, except for max_new_tokens
  BeamOptions beams = {};          ///< num_beams is 1 unless the request is for a beam search
  std::size_t n = 1;               ///< how many texts the answer has for each prompt
  std::size_t best_of = 1;         ///< how many texts are written for each prompt
  std::size_t first = 0;           ///< texts before this one, of those of all prompts, are left out
  bool draws_seed = false;         ///< whether the seed was drawn at random, so an answer tells it
  std::size_t own_stops = 0;       ///< how many strings a chat has added to options.stop
  bool echo = false;               ///< whether the answer repeats the prompts
  bool stream = false;             ///< whether the answer is sent while it is being written
  bool include_usage = false;      ///< whether a stream ends with the numbers of tokens
  bool with_logprobs = false;      ///< whether the answer has log-probabilities
  bool with_token_ids = false;     ///< whether the answer has the ids of its tokens
  std::size_t lost_bytes = 0;      ///< bytes of the prompts for which the vocabulary has no tokens
  std::size_t truncated = 0;       ///< tokens at the beginning of prompts that were left out

  [[nodiscard]] bool searches() const noexcept { return beams.num_beams > 1; }

  /// Lets the model draft tokens. Throws RequestError for a beam search, which has no drafts.
  void set_draft(const Model& model);
};

/// The built-in defaults of requests at every door: a temperature of 0.8, the 40 likeliest tokens
/// and, unless the kind of request is ours, OpenAI's 16 new tokens.
[[nodiscard]] GenerationOptions request_defaults(bool is_own = true);

/// Returns the request in the body, which is a JSON object in our own form. Throws RequestError for
/// anything that the model cannot do, or whose name is unknown.
[[nodiscard]] CompletionRequest read_generate_request(const nlohmann::json& body,
                                                      const RequestContext& context);

/// The same for the completions API, whose requests have no drafts and hashes.
[[nodiscard]] CompletionRequest read_completion_request(const nlohmann::json& body,
                                                        const RequestContext& context);

/// The same for OpenAI's chat API (https://platform.openai.com/docs/api-reference/chat) and its
/// responses API (https://platform.openai.com/docs/api-reference/responses), for models that
/// continue texts. The result has one prompt. Unless the request or the defaults limit the answer,
/// that may fill the context. Nothing is stored.
[[nodiscard]] CompletionRequest read_chat_request(const nlohmann::json& body,
                                                  const RequestContext& context);
[[nodiscard]] CompletionRequest read_responses_request(const nlohmann::json& body,
                                                       const RequestContext& context);

/// Reads the options of the table, but for the rows that are `left_out`. "seed" may be "random".
void read_request_options(Members& members, CompletionRequest& request,
                          const RequestContext& context,
                          std::initializer_list<std::string_view> left_out = {});

/// Reads "stream" and "stream_options" into the request.
void read_stream_members(Members& members, CompletionRequest& request);

/// How the prompts of a request fit into the context.
struct PromptFit {
  const char* name = "prompt";                 ///< the member that has the prompts
  bool truncate = false;                       ///< whether a prompt may lose its beginning
  std::optional<std::size_t> max_length = {};  ///< of a prompt and its text, if the request has it
  bool has_max_new_tokens = false;             ///< whether max_new_tokens limits the text, too

  /// Reads "truncate" and "max_length". Like HuggingFace, ignores a max_length beside
  /// max_new_tokens, but for that of --hf-defaults, which is the length of the context.
  void read(Members& members, std::size_t n_positions);
};

/// Adds a prompt to the request: makes it fit into the context, and limits its text.
void add_prompt(CompletionRequest& request, std::vector<TokenId> tokens, const PromptFit& fit,
                const RequestContext& context);

}  // namespace gpt2
