// Tests that gpt2 batch survives being killed at any moment, and a disk that is full.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <string>

#include "support/batch.h"
#include "support/catch.h"
#include "support/is_slow.h"

using namespace gpt2::test;

namespace {

// Kills the command again and again, at moments that `random` chooses, until a run is complete.
// Returns how often it was killed.
int run_and_kill(const Batch& batch, const Words& more, std::mt19937& random, int kills) {
  int killed = 0;
  for (; killed < kills; ++killed) {
    Command command(Batch::arguments(more), {.directory = batch.directory.path()});
    usleep(static_cast<useconds_t>(random() % 400'000));
    if (!command.running()) return killed;
    command.send(SIGKILL);
    if (command.wait() != -SIGKILL) return killed;
  }
  return killed;
}

// The max size of files that this process and the commands that it runs may write.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_ = {};
};

}  // namespace

TEST_CASE("a run that is killed twenty times writes what an undisturbed one writes") {
  const std::string input = numbered_prompts(is_slow() ? 40 : 700) + "no JSON\n";
  const Batch calm(input), killed(input);
  CHECK(calm.run({"--samples", "2"}).status == 3);
  std::mt19937 random(7);
  CHECK(run_and_kill(killed, {"--samples", "2"}, random, 20) > (is_slow() ? 0 : 5));
  const std::string torn = killed.read();
  CHECK(calm.read().starts_with(torn));
  CHECK(killed.run({"--samples", "2"}).status == 3);
  CHECK(killed.read() == calm.read());
}

TEST_CASE("shares that are killed and resumed give the same file when they are merged") {
  const Batch batch(numbered_prompts(is_slow() ? 40 : 600));
  CHECK(batch.run().status == 0);
  const std::string whole = batch.read();
  std::filesystem::remove(batch.directory.path() / "out");
  std::mt19937 random(8);
  CHECK(run_and_kill(batch, {"--shard", "1/3"}, random, 5) > 0);
  for (const std::string share : {"0/3", "1/3", "2/3"}) {
    CHECK(batch.run({"--shard", share}).status == 0);
  }
  CHECK(batch.run({"--merge"}).status == 0);
  CHECK(batch.read() == whole);
}

TEST_CASE("a full disk is one clear error, and the run resumes when there is room") {
  const Batch calm(numbered_prompts(100)), full(numbered_prompts(100));
  CHECK(calm.run().status == 0);
  const std::string whole = calm.read();
  for (const rlim_t bytes : {200, 500, 4096, 10000}) {
    const FileSizeLimit limit(bytes);
    const Outcome outcome = full.run();
    CHECK(outcome.status == 1);
    CHECK(outcome.err ==
          "gpt2: out: cannot be written: File too large; its records are complete, and the same "
          "command resumes there\n");
    const std::string text = full.read();
    CHECK(whole.starts_with(text));
    CHECK((text.empty() || text.ends_with("\n")));
    CHECK(text.size() <= bytes);
  }
  CHECK(full.run().status == 0);
  CHECK(full.read() == whole);
}
