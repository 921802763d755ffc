#include "cli/generate/state_file.h"

#include "cli/replaceable.h"

namespace gpt2::cli {

void check_state_file(const std::filesystem::path& file) {
  require_replaceable(file, "the state of a session", is_session_file);
}

void save_state(const Session& session, const std::filesystem::path& file) {
  check_state_file(file);
  save_session(session, file);
}

}  // namespace gpt2::cli
