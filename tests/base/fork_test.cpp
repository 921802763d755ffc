// After fork(), the child process has only the thread that called fork(). The child can
// nevertheless continue the sessions of its parent, with as many threads, and gets the same bits.
// So does the parent. Its signals reach its own threads, and not the helpers of a team.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/team.h"
#include "cli/bench/random_model.h"
#include "gpt2/session.h"
#include "support/passes.h"
#include "support/test.h"

namespace gpt2::test::fork_test {

namespace {

Model some_model() {
  return random_model(
      {.vocab_size = 211, .n_positions = 128, .n_embd = 96, .n_layer = 2, .n_head = 3},
      {.dtype = WeightType::f32});
}

// Runs `work` in a child process and returns how the child ends: "well" if `work` returns true. A
// child that hangs is killed after 20 seconds. It should take a fraction of a second.
template <class Work>
std::string child_ends(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGALRM, SIG_DFL);
    alarm(20);
    bool is_right = false;
    try {
      is_right = work();
    } catch (...) {
      _exit(2);
    }
    _exit(is_right ? 0 : 1);
  }
  if (child < 0) return "fork() failed";
  int status = 0;
  if (waitpid(child, &status, 0) != child) return "waitpid() failed";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return "after 20 seconds: it hung";
  if (WIFSIGNALED(status)) return "by signal " + std::to_string(WTERMSIG(status));
  const char* const ends[] = {"well", "with other logits", "with an exception"};
  return WEXITSTATUS(status) < 3 ? ends[WEXITSTATUS(status)] : "with another status";
}

// A text and the logits after each of its tokens. The sessions under test have read the first half.
struct Story {
  explicit Story(const Model& m)
      : model(m), text(random_tokens(m, m.config().n_positions, 1)), half(text.size() / 2) {
    Session alone = session_of(model, 1);
    expected = all_logits(alone, text);
  }

  // Lets the session read the second half, at first in one pass and then, for three tokens, one by
  // one. Returns whether the logits are right, and leaves the session where it was.
  [[nodiscard]] bool reads_on(Session& session) const {
    const std::size_t vocab_size = model.config().vocab_size;
    const std::span<const float> all(expected);
    const std::span<const TokenId> rest = std::span(text).subspan(half);
    bool is_right = same_bits(all_logits(session, rest), all.subspan(half * vocab_size));
    session.rewind(half);
    for (std::size_t i = 0; i < 3; ++i) {
      is_right &= same_bits(session.forward(rest.subspan(i, 1)),
                            all.subspan((half + i) * vocab_size, vocab_size));
    }
    session.rewind(half);
    return is_right;
  }

  // Does the same with every kind of session that a child can have: the parent's, a fork of it, and
  // a new one.
  [[nodiscard]] bool child_reads_on(Session& session, int threads) const {
    if (!reads_on(session)) return false;
    Session copy = session.fork();
    if (!reads_on(copy)) return false;
    Session other = session_of(model, threads);
    other.forward(std::span(text).first(half));
    return reads_on(other);
  }

  Model model;
  std::vector<TokenId> text;
  std::size_t half;
  std::vector<float> expected;
};

}  // namespace

TEST_CASE("a child continues the sessions of its parent") {
  const Story story(some_model());
  for (const int threads : {2, 3}) {
    INFO(threads << " threads");
    Session session = session_of(story.model, threads);
    session.forward(std::span(story.text).first(story.half));
    REQUIRE(story.reads_on(session));
    REQUIRE(child_ends([&] { return story.child_reads_on(session, threads); }) == "well");
    REQUIRE(story.reads_on(session));
    // The child of a child can do the same.
    REQUIRE(child_ends([&] {
              return story.reads_on(session) &&
                     child_ends([&] { return story.reads_on(session); }) == "well" &&
                     story.reads_on(session);
            }) == "well");
    REQUIRE(story.reads_on(session));
  }
}

// AddressSanitizer of GCC 12 has no handlers for fork: if the other thread is inside its allocator
// at that moment, the allocator stays locked in the child.
#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a child works even if another thread of its parent was in a forward pass") {
  const Story story(some_model());
  for (const int threads : {2, 3}) {
    Session session = session_of(story.model, threads);
    session.forward(std::span(story.text).first(story.half));
    REQUIRE(story.reads_on(session));

    std::atomic<bool> stop{false};
    std::atomic<bool> is_right{true};
    std::atomic<int> passes{0};
    std::thread busy([&] {
      Session own = session_of(story.model, threads);
      own.forward(std::span(story.text).first(story.half));
      for (; !stop; ++passes) {
        if (!story.reads_on(own)) is_right = false;
      }
    });
    std::string ends = "well";
    for (int i = 0; i < 30 && ends == "well"; ++i) {
      // Every third time, wait until the other thread ends a pass, so that the forks do not all
      // happen at the same point of its passes.
      for (const int seen = passes; passes == seen && i % 3 == 0;) std::this_thread::yield();
      ends = child_ends([&] { return story.child_reads_on(session, threads); });
      if (!story.reads_on(session)) is_right = false;
    }
    stop = true;
    busy.join();
    INFO(threads << " threads");
    REQUIRE(ends == "well");
    CHECK(is_right);
    CHECK(passes > 0);
  }
}

#endif

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

}  // namespace gpt2::test::fork_test
