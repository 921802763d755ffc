#pragma once

#include <optional>
#include <string>

#include "cli/args.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"

namespace gpt2::cli {

/// The files from which the state of a session is read and to which it is written; "" for none.
struct StateFiles {
  std::string from;
  std::string to;
};

/// Adds --state and --save-state. REQUIRES: the options that they exclude have been added.
void add_state_options(CLI::App& app, StateFiles& files);

/// Throws Error if the file of --save-state cannot be written. Call this function before the long
/// work.
void require_writable(const StateFiles& files);

/// Returns the session of --state, if it was given, with as much room as the model allows. Throws
/// Error if the file cannot be used.
[[nodiscard]] std::optional<Session> load_state(const StateFiles& files, const Engine& engine);

/// Writes the file of --save-state, if it was given. Writes nothing if the text was cancelled
/// before its first token. Throws Error if the file cannot be written.
void save_state(const StateFiles& files, const Session& session, const GenerationResult& result);

}  // namespace gpt2::cli
