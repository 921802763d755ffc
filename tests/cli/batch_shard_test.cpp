// Tests how gpt2 batch shares out the lines, and joins the files of the shares.
#include <filesystem>
#include <string>
#include <vector>

#include "support/batch.h"
#include "support/catch.h"

namespace gpt2::test::batch_shard_test {

namespace {

// Returns the part of the first message that names the share.
std::string share_of(const Outcome& outcome) {
  const std::size_t end = outcome.err.find(": writing ");
  return end == std::string::npos ? "" : outcome.err.substr(6, end - 6);
}

// How many files a merge has not renamed to their names.
std::size_t unfinished_files(const Batch& batch) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(batch.directory.path())) {
    count += entry.path().filename().string().starts_with("out.partial-");
  }
  return count;
}

}  // namespace

TEST_CASE("the merged shares are what one process writes") {
  const Batch batch(numbered_prompts(20) + "bad\n");
  CHECK(batch.run({"--samples", "2"}).status == 3);
  const std::string whole = batch.read();
  std::filesystem::remove(batch.directory.path() / "out");
  for (const std::string share : {"0", "1", "2"}) {
    const Outcome outcome = batch.run({"--samples", "2", "--shard", share + "/3"});
    CHECK(outcome.status == 0);  // although the last line of share 2 has an error
    CHECK(outcome.err.starts_with("gpt2: share " + share + " of 3 (--shard): writing out." + share +
                                  "-of-3\ngpt2: 7 lines, "));
  }
  const Outcome merged = batch.run({"--merge"});
  CHECK(merged.err.empty());
  CHECK(merged.status == 3);
  CHECK(batch.read() == whole);
  CHECK(unfinished_files(batch) == 0);
  CHECK(batch.run({"--samples", "2", "--shard", "all"}).err.starts_with("gpt2: 21 lines, 1 error"));
  CHECK(batch.run({"--merge"}).err == "gpt2: out exists: remove it, or give another -o\n");
}

TEST_CASE("merging says what is missing") {
  const Batch batch(numbered_prompts(7));
  const auto refused = [&](const std::string& message) {
    const Outcome outcome = batch.run({"--merge"});
    CHECK(outcome.status == 1);
    INFO(outcome.err);
    CHECK(outcome.err.starts_with("gpt2: " + message));
    CHECK(!std::filesystem::exists(batch.directory.path() / "out"));
    CHECK(unfinished_files(batch) == 0);
  };
  refused("there is no file out.I-of-N to merge");
  check_refused({"batch", "in", "-o", "nowhere/out", "--merge"}, 1, {"nowhere/out.I-of-N"},
                {.directory = batch.directory.path()});
  for (const std::string share : {"0/3", "2/3"}) {
    CHECK(batch.run({"--samples", "2", "--shard", share}).status == 0);
  }
  refused("out.1-of-3 lacks line 2: ");
  CHECK(batch.run({"--samples", "2", "--shard", "1/3"}).status == 0);

  const std::string share = batch.read("out.0-of-3");
  const std::size_t last = share.rfind('\n', share.size() - 2) + 1;
  batch.directory.write("out.0-of-3", share.substr(0, last));  // one sample of line 7 is missing
  refused("out.0-of-3 lacks line 7: ");
  batch.directory.write("out.0-of-3", share.substr(0, share.size() - 1));
  refused("out.0-of-3 lacks line 7: ");
  batch.directory.write("out.2-of-3", "");
  refused("out.2-of-3 lacks line 3, out.0-of-3 lacks line 7: ");
  batch.directory.write("in", numbered_prompts(1));
  refused("out.0-of-3 has records of lines that in does not have");
  batch.directory.write("out.1-of-4", "");
  refused("there are files out.I-of-3 and .I-of-4: remove one of the two sets");
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

}  // namespace gpt2::test::batch_shard_test
