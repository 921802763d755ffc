// Tests what a team promises to a host program that uses signals and fork().
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "base/process_mutex.h"
#include "base/team.h"
#include "support/catch.h"

namespace gpt2::test::team_posix_test {

TEST_CASE("helpers block signals, so that the host's threads receive them") {
  Team team(3);
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  kill(getpid(), SIGUSR1);  // ends the process unless every thread blocks it
  int found = 0;
  CHECK(sigwait(&signals, &found) == 0);
  CHECK(found == SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer does not support threads in a child process
// Runs steps until every thread of the team has taken a task. A thread that is still starting may
// hold the lock of AddressSanitizer's allocator, which would then stay locked in a child process.
void start_all(Team& team) {
  std::mutex guard;
  std::set<int> ranks;
  while (ranks.size() < static_cast<std::size_t>(team.size())) {
    team.for_each(100, [&](std::size_t, int rank) {
      const std::lock_guard lock(guard);
      ranks.insert(rank);
    });
  }
}

TEST_CASE("a child process of fork starts its own helpers, and finds locks open") {
  Team team(3);
  start_all(team);
  std::atomic<std::size_t> sum{0};
  team.for_each(100, [&](std::size_t i, int) { sum += i; });
  gpt2::ProcessMutex mutex;
  mutex.lock();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    mutex.lock();  // the thread that holds it exists in the parent only
    for (int i = 0; i < 20; ++i) std::thread([] {}).join();  // reuses the helpers' memory
    team.restart_after_fork();
    std::thread([] {}).join();
    sum = 0;
    std::mutex guard;
    std::set<int> ranks;
    for (int round = 0; round < 200; ++round) {
      team.for_each(100, [&](std::size_t i, int rank) {
        sum += i;
        const std::lock_guard lock(guard);
        ranks.insert(rank);
      });
    }
    _exit(sum == 200 * 4950 && team.size() == 3 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  mutex.unlock();
  team.for_each(100, [&](std::size_t i, int) { sum += i; });
  CHECK(sum == 2 * 4950);
}
#endif

}  // namespace gpt2::test::team_posix_test
