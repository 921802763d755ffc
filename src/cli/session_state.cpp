#include "cli/session_state.h"

#include "base/new_file.h"
#include "gpt2/session.h"

namespace gpt2::cli {

void add_state_options(CLI::App& app, StateFiles& files) {
  add_file(app, "--state", files.from,
           "Continue from the state that --save-state wrote to FILE: the "
           "prompt, which may be empty, is appended to its text")
      ->excludes("--truncate", "--samples");
  add_file(app, "--save-state", files.to,
           "When the text ends, save the session to FILE, so that --state "
           "can continue it without computing it again")
      ->excludes("--samples");
}

void require_writable(const StateFiles& files) {
  if (!files.to.empty()) static_cast<void>(NewFile(files.to));
}

std::optional<Session> load_state(const StateFiles& files, const Engine& engine) {
  if (files.from.empty()) return std::nullopt;
  return load_session(engine, files.from);
}

void save_state(const StateFiles& files, const Session& session, const GenerationResult& result) {
  const bool is_text = result.finish_reason != FinishReason::cancelled || !result.tokens.empty();
  if (!files.to.empty() && is_text) save_session(session, files.to);
}

}  // namespace gpt2::cli
