#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "gpt2/generate.h"
#include "gpt2/model.h"
#include "gpt2/score.h"
#include "gpt2/tokenizer.h"
#include "requests/answer/completion.h"
#include "requests/read/completion_request.h"

// Answers in our own form: the lines of `gpt2 batch` and `gpt2 generate --json`, and what the C
// interface returns.

namespace gpt2 {

/// Returns {"prompt_seconds", "generation_seconds", "drafted_tokens", "accepted_tokens",
/// "logits_hash"}. The hash is null if there were no logits to hash.
[[nodiscard]] Json stats_json(const GenerationResult& result);

/// Adds a text to a record: "text" unless there is no tokenizer, "token_ids",
/// "finish_reason", and "score", or else "seed", if `with_seed`, and "sequence". Then "logprobs",
/// if the request is for them.
void add_text(Json& record, const CompletionRequest& request,
              const std::optional<Tokenizer>& tokenizer, const CompletionChoice& choice,
              bool with_seed = false);

/// Adds "prompt_tokens", "lost_bytes" and "truncated" (unless they are 0), and what add_text()
/// adds.
void add_completion(Json& record, const CompletionRequest& request,
                    const std::optional<Tokenizer>& tokenizer, const CompletionChoice& choice);

/// Writes an array with an object for each text: "prompt" (the index of its prompt, if there are
/// several), what add_completion() adds, and "stats".
[[nodiscard]] std::unique_ptr<AnswerForm> own_form(AnswerHead head,
                                                   const std::optional<Tokenizer>& tokenizer,
                                                   const CompletionRequest& request);

/// Returns what a model is, as `gpt2 info --json`, gpt2_model_info() and the server's /v1/models
/// show it; gpt2.h lists the members.
[[nodiscard]] Json model_json(const Model& model);

/// Returns the table of options as JSON, so that a program can show them to people: an array with
/// an object for each row, in the order of the table.
///   name              as requests call it
///   role, origin      as in OptionRole and OptionOrigin
///   type              "boolean", "integer", "number", "choice", "texts", or "json" for any other
///   choices           the values of a choice
///   min, max, also    the range of an integer or a number
///   in_search, in_drawing  see OptionEffect
///   form              what the value may be, in words
///   default           the value in `defaults` or, if they do not have it, the built-in default of
///                     our own requests or of OpenAI's
///   command_default   that of `gpt2 generate`
///   help              one line
[[nodiscard]] Json option_list(bool is_own,
                               const nlohmann::json& defaults = nlohmann::json::object());

}  // namespace gpt2
