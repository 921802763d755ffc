#pragma once

#include <optional>
#include <string>

#include "cli/args.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"

namespace gpt2::cli {

/// The files that the state of a session is read from and written to; "" for none.
struct StateFiles {
  std::string from;
  std::string to;
};

/// Adds --state and --save-state. REQUIRES: the options that they exclude have been added.
void add_state_options(CLI::App& app, StateFiles& files);

/// Throws Error if the file of --save-state cannot be written, before the work that it is for.
void require_writable(const StateFiles& files);

/// Returns the session of --state, if it was given, with as much room as the model allows. Throws
/// Error if the file cannot be used.
[[nodiscard]] std::optional<Session> load_state(const StateFiles& files, const Engine& engine);

/// Writes the file of --save-state, if it was given. A text that was cancelled before its first
/// token is no text, so that nothing is written. Throws Error if the file cannot be written.
void save_state(const StateFiles& files, const Session& session, const GenerationResult& result);

}  // namespace gpt2::cli
