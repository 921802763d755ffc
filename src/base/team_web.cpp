#include "base/team.h"
#include "gpt2/runtime.h"

// WebAssembly: a team of one, which is the caller.

namespace gpt2 {

class Team::Board {};

Team::Team(int threads) : wanted_(threads), size_(1) {}
Team::~Team() = default;
void Team::await_helpers() noexcept {}
void Team::resize(int) noexcept {}
void Team::restart_after_fork() {}
void Team::run(const Step&, std::size_t) noexcept {}

int core_count() { return 1; }
int thread_count() { return 1; }
std::string_view thread_count_source() { return "cores"; }
std::vector<int> available_cpus() { return {0}; }
std::vector<std::vector<int>> thread_cpus() { return {{0}}; }

}  // namespace gpt2
