#include "cli/generate/state_file.h"

#include "base/paths.h"
#include "cli/replaceable.h"

namespace gpt2::cli {

void check_state_file(const std::string& file) {
  require_replaceable(file, "the state of a session", is_session_file);
}

void save_state(const Session& session, const std::string& file) {
  check_state_file(file);
  save_session(session, path_of(file));
}

}  // namespace gpt2::cli
