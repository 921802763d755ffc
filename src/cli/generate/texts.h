#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "cli/generate/settings.h"
#include "gpt2/engine.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"
#include "requests/read/completion_request.h"

namespace gpt2::cli {

/// What was written.
struct WrittenTexts {
  std::size_t texts = 0;
  std::size_t tokens = 0;         ///< the new tokens of all texts or, of a search, of all beams
  double seconds = 0.0;           ///< the time for them and the prompt
  std::uint64_t logits_hash = 0;  ///< a hash for all texts in order; 0: there were no logits
  bool is_context_full = false;   ///< whether a text ended because the context is full
  GenerationResult last = {.finish_reason = FinishReason::cancelled, .tokens = {}};
};

/// Writes the texts of the request, which continue `prompt`, to standard output, in order: one text
/// in `session` or, without one, all samples side by side, or the sequences of a beam search. Calls
/// `on_token` for each new token. Ctrl-C ends all of them.
WrittenTexts write_texts(const Engine& engine, Session* session,
                         const std::optional<Tokenizer>& tokenizer,
                         const GenerateSettings& settings, CompletionRequest request,
                         const std::string& prompt, const std::function<void()>& on_token);

/// Throws Error unless the state of a session can be written to the file.
void check_state_file(const std::filesystem::path& file);

/// Saves the state of a session to the file. Throws Error if check_state_file() or save_session()
/// throws it.
void save_state(const Session& session, const std::filesystem::path& file);

/// Prints the lines of --stats on standard error. `session` is the session of the text; it had
/// `before` tokens before the generation.
void print_stats(const GenerationResult& result, const Session& session, std::size_t before);

/// Prints the lines of --stats for several texts, which have this name, such as "samples".
void print_stats(const char* name, std::size_t texts, const WrittenTexts& written);

}  // namespace gpt2::cli
