#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "gpt2/session.h"

// Which files a command may replace by its output.

namespace gpt2::cli {

/// Throws Error unless a new file of a kind can be written under this name. A file that exists is
/// replaced only if it is empty or of the same kind, because its name may have been given by
/// mistake. `kind` is for the message: "the state of a session". Call it before long work.
void require_replaceable(const std::filesystem::path& file, const std::string& kind,
                         const std::function<bool(const std::filesystem::path&)>& is_kind);

/// Throws Error unless the state of a session can be written to the file.
void check_state_file(const std::filesystem::path& file);

/// Saves the state of a session to the file. Throws Error if check_state_file() or save_session()
/// throws it.
void save_state(const Session& session, const std::filesystem::path& file);

}  // namespace gpt2::cli
