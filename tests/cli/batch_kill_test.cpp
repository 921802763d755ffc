// Tests that gpt2 batch survives being killed at any moment.
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "support/batch.h"
#include "support/catch.h"
#include "support/is_slow.h"

namespace gpt2::test::batch_kill_test {

namespace {

using Microseconds = std::chrono::microseconds;

// Runs the command to its end. Returns how long that takes.
Microseconds time_of(const Batch& batch, const Words& more, int status) {
  const auto start = std::chrono::steady_clock::now();
  CHECK(batch.run(more).status == status);
  return std::chrono::duration_cast<Microseconds>(std::chrono::steady_clock::now() - start);
}

// Kills the command again and again, at moments that `random` chooses, but not later than `latest`,
// until a run is complete. Returns how often it was killed.
int run_and_kill(const Batch& batch, const Words& more, std::mt19937& random, Microseconds latest,
                 int kills) {
  int killed = 0;
  for (; killed < kills; ++killed) {
    Command command(Batch::arguments(more),
                    {.directory = batch.directory.path(), .console = false});
    std::this_thread::sleep_for(Microseconds(random() % latest.count()));
    if (!command.running()) return killed;
    command.kill();
    if (command.wait() != Command::kKilled) return killed;
  }
  return killed;
}

}  // namespace

TEST_CASE("a run that is killed twenty times writes what an undisturbed one writes") {
  const std::string input = numbered_prompts(is_slow() ? 40 : 700) + "no JSON\n";
  const Batch calm(input), killed(input);
  const Microseconds whole = time_of(calm, {"--samples", "2"}, 3);
  std::mt19937 random(7);
  CHECK(run_and_kill(killed, {"--samples", "2"}, random, whole / 8, 20) > (is_slow() ? 0 : 5));
  const std::string torn = killed.read();
  CHECK(calm.read().starts_with(torn));
  CHECK(killed.run({"--samples", "2"}).status == 3);
  CHECK(killed.read() == calm.read());
}

TEST_CASE("shares that are killed and resumed give what one process writes") {
  const Batch batch(numbered_prompts(is_slow() ? 40 : 600));
  const Microseconds latest = time_of(batch, {}, 0) / 3;  // a share takes longer
  const std::string whole = batch.read();
  std::mt19937 random(8);
  CHECK(run_and_kill(batch, {"--shard", "1/3"}, random, latest, 5) > 0);
  for (const std::string share : {"0/3", "1/3", "2/3"}) {
    CHECK(batch.run({"--shard", share}).status == 0);
  }
  CHECK(batch.read_shares(3) == whole);
}

}  // namespace gpt2::test::batch_kill_test
