// The library beside OpenMP code of its host program, and where the system gives no more threads.
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "base/team.h"
#include "gpt2/generate.h"
#include "gpt2/session.h"
#include "support/bundled_model.h"
#include "support/test.h"

using namespace gpt2;
using namespace gpt2::test;

namespace {

std::vector<TokenId> text_of(const Model& model, int threads) {
  const Engine engine(model, {.threads = threads});
  Session session(engine);
  const std::vector<TokenId> prompt = {443, 452, 258, 401};
  GenerationOptions options{.max_new_tokens = 40};
  options.sampling.seed = 5;
  return generate(session, prompt, options, nullptr).tokens;
}

}  // namespace

TEST_CASE("each thread of the host's parallel region writes the same text with three threads") {
  const Model& model = bundled::model();
  const std::vector<TokenId> expected = text_of(model, 1);
  REQUIRE(expected.size() == 40);
  std::vector<std::vector<TokenId>> texts(4);
#pragma omp parallel num_threads(4)
  texts[static_cast<std::size_t>(omp_get_thread_num())] = text_of(model, 3);
  for (const std::vector<TokenId>& text : texts) CHECK(text == expected);
}

#if !defined(__SANITIZE_ADDRESS__)  // its shadow needs more address space than the limits give
// Runs `work` in a child process with a limit. Returns its exit status, or -1.
template <class Work>
int limited(__rlimit_resource resource, rlim_t limit, const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    // The limit on processes counts those of the user, and does not apply to root.
    constexpr uid_t kNobody = 54321;
    if (resource == RLIMIT_NPROC && geteuid() == 0 && setuid(kNobody) != 0) _exit(99);
    const rlimit limits = {limit, limit};
    if (setrlimit(resource, &limits) != 0) _exit(99);
    _exit(work());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Starts a team of eight threads and returns 100 + its size, or 99 if it does not work. If OpenMP
// ends the process, its status is 1.
int size_of_team() {
  Team team(8);
  team.await_helpers();
  std::atomic<std::size_t> sum{0};
  team.for_each(100, [&](std::size_t i, int) { sum += i; });
  return sum == 4950 ? 100 + team.size() : 99;
}

TEST_CASE("where the system gives only a few threads, a team takes half of them") {
  for (rlim_t limit = 1; limit <= 20; ++limit) {
    INFO("at most " << limit << " threads");
    const int size = limited(RLIMIT_NPROC, limit, size_of_team) - 100;
    CHECK(size >= 1);
    if (geteuid() != 0) continue;  // the user has other threads, too
    // The caller and the first helper, which opens the parallel region, exist before the others.
    CHECK(size == (limit == 1 ? 1 : std::min(8, 2 + (static_cast<int>(limit) - 2) / 2)));
  }
}

TEST_CASE(
    "where the system has no memory for a thread, a team has fewer, and the process goes on") {
  long pages = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  REQUIRE(std::fscanf(file, "%ld", &pages) == 1);
  std::fclose(file);
  const rlim_t used = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  std::set<int> sizes;
  for (rlim_t spare = 0; spare < 200; spare += 7) {
    INFO(spare << " MiB");
    const int size = limited(RLIMIT_AS, used + (spare << 20), size_of_team) - 100;
    CHECK(size >= 1);
    CHECK(size <= 8);
    sizes.insert(size);
  }
  CHECK(*sizes.begin() < 8);
  CHECK(*sizes.rbegin() == 8);
}
#endif
