// Tests what a team promises to a host program that uses signals. fork_test tests fork().
#include <signal.h>
#include <unistd.h>

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

}  // namespace gpt2::test::team_posix_test
