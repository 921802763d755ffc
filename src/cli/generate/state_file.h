#pragma once

#include <filesystem>

#include "gpt2/session.h"

namespace gpt2::cli {

/// Throws Error unless a state can be written to the file. A file that exists is replaced only if
/// it is empty or a state itself, because someone may take the file for one with the text.
void check_state_file(const std::filesystem::path& file);

/// Saves the state of a session to the file. Throws Error if check_state_file() or save_session()
/// throws it.
void save_state(const Session& session, const std::filesystem::path& file);

}  // namespace gpt2::cli
