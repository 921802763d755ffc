// Tests how gpt2 batch shares out the lines, and that it survives being killed at any moment.
#include <chrono>
#include <thread>

#include "support/batch.h"
#include "support/test.h"

namespace gpt2::test::batch_shard_test {

namespace {

// Returns the part of the first message that names the share.
std::string share_of(const Outcome& outcome) {
  const std::size_t end = outcome.err.find(": writing ");
  return end == std::string::npos ? "" : outcome.err.substr(6, end - 6);
}

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

TEST_CASE("the shares together are what one process writes, which any process can check") {
  const Batch batch(numbered_prompts(20) + "bad\n");
  CHECK(batch.run({"--samples", "2"}).status == 3);
  const std::string whole = batch.read();
  for (const std::string share : {"0", "1", "2"}) {
    const Outcome outcome = batch.run({"--samples", "2", "--shard", share + "/3"});
    CHECK(outcome.status == 0);  // although the last line of share 2 has an error
    CHECK(outcome.err.starts_with("gpt2: share " + share + " of 3 (--shard): writing out." + share +
                                  "-of-3\ngpt2: 7 lines, "));
  }
  CHECK(batch.read_shares(3) == whole);
  CHECK(batch.run({"--samples", "2"}).err.starts_with("gpt2: 21 lines, 1 error"));
  std::string incomplete = whole;
  incomplete.erase(incomplete.find("{\"line\":4,"),
                   whole.find("{\"line\":5,") - whole.find("{\"line\":4,"));
  batch.directory.write("out", incomplete);
  const Outcome refused = batch.run({"--samples", "2"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("is not the record of line 5 of in: ") != std::string::npos);
}

TEST_CASE("a launcher's variables say which share to take") {
  const Batch batch(numbered_prompts(1));
  const Words mpi = {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4"};
  const Words script = {"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_JOB_ID=5"};
  const Words step = {"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=3"};
  Words both = mpi;
  both.insert(both.end(), step.begin(), step.end());
  struct Case {
    Words environment, arguments;
    std::string share;
  };
  const std::vector<Case> cases = {
      {{}, {}, ""},
      {mpi, {}, "share 2 of 4 (OMPI_COMM_WORLD_RANK)"},
      {mpi, {"--shard", "all"}, ""},
      {mpi, {"--shard", "0/2"}, "share 0 of 2 (--shard)"},
      {{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"}, {}, ""},
      {{"PMI_RANK=1", "PMI_SIZE=2"}, {}, "share 1 of 2 (PMI_RANK)"},
      {script, {}, ""},
      {step, {}, "share 1 of 3 (SLURM_PROCID)"},
      {both, {}, "share 2 of 4 (OMPI_COMM_WORLD_RANK)"},
      {{"JOB_COMPLETION_INDEX=4"}, {"--shard", "/5"}, "share 4 of 5 (JOB_COMPLETION_INDEX)"}};
  for (const Case& item : cases) {
    const Outcome outcome = batch.run(item.arguments, item.environment);
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(share_of(outcome) == item.share);
  }
}

TEST_CASE("a share that is not complete is refused") {
  const Batch batch(numbered_prompts(1));
  const auto refused = [&](const Words& environment, const std::string& share,
                           const std::string& found) {
    const Words more = share.empty() ? Words{} : Words{"--shard=" + share};
    check_refused(Batch::arguments(more), 2, {"--shard: ", found},
                  {.directory = batch.directory.path(), .environment = environment});
  };
  refused({"JOB_COMPLETION_INDEX=0"}, "", "JOB_COMPLETION_INDEX");
  refused({"JOB_COMPLETION_INDEX=3"}, "/3", "found 3 of 3");
  refused({}, "/3", "3 shares");
  for (const std::string share : {" ", "1", "/", "/0", "2/2", "1/x", "-1/2", "1/2/3"}) {
    refused({}, share, "'" + share + "'");
  }
}

TEST_CASE("a run that is killed twenty times writes what an undisturbed one writes") {
  const std::string input = numbered_prompts(is_slow() ? 40 : 250) + "no JSON\n";
  const Batch calm(input), killed(input);
  const Words more = {"--samples", "2", "-t", "1"};
  const Microseconds whole = time_of(calm, more, 3);
  std::mt19937 random(7);
  CHECK(run_and_kill(killed, more, random, whole / 8, 20) > (is_slow() ? 0 : 5));
  const std::string torn = killed.read();
  CHECK(calm.read().starts_with(torn));
  CHECK(killed.run(more).status == 3);
  CHECK(killed.read() == calm.read());
}

TEST_CASE("shares that are killed and resumed give what one process writes") {
  const Batch batch(numbered_prompts(is_slow() ? 40 : 200));
  const Microseconds latest = time_of(batch, {"-t", "1"}, 0) / 8;  // a share takes a third
  const std::string whole = batch.read();
  std::mt19937 random(8);
  CHECK(run_and_kill(batch, {"--shard", "1/3", "-t", "1"}, random, latest, 5) > 0);
  for (const std::string share : {"0/3", "1/3", "2/3"}) {
    CHECK(batch.run({"--shard", share}).status == 0);
  }
  CHECK(batch.read_shares(3) == whole);
}

}  // namespace gpt2::test::batch_shard_test
