// Tests how gpt2 batch shares out the lines, and joins the files of the shares.
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/system/descriptor.h"
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
  CHECK(
      batch.run({"--samples", "2", "--shard", "all"}).err.starts_with("gpt2: 21 lines, 1 error"));
  CHECK(batch.run({"--merge"}).err == "gpt2: out exists: remove it, or give another -o\n");
}

TEST_CASE("renaming a file, as a merge does in the end, replaces no other file") {
  const Batch batch("new");
  batch.directory.write("out", "old");
  const std::string from = (batch.directory.path() / "in").string();
  const std::string to = (batch.directory.path() / "out").string();
  CHECK_FALSE(gpt2::cli::rename_file(from, to));
  CHECK(errno == EEXIST);
  CHECK(batch.read("out") == "old");
  CHECK(batch.read("in") == "new");
  std::filesystem::remove(to);
  CHECK(gpt2::cli::rename_file(from, to));
  CHECK(batch.read("out") == "new");
  CHECK_FALSE(std::filesystem::exists(from));
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
  CHECK(run({"batch", "in", "-o", "nowhere/out", "--merge"},
            {.directory = batch.directory.path()})
            .err == "gpt2: there is no file nowhere/out.I-of-N to merge: first run the shares\n");
  for (const std::string share : {"0/3", "2/3"}) {
    CHECK(batch.run({"--samples", "2", "--shard", share}).status == 0);
  }
  refused("out.1-of-3 lacks line 2: run these shares again, for example with --shard I/3");
  CHECK(batch.run({"--samples", "2", "--shard", "1/3"}).status == 0);

  const std::string share = batch.read("out.0-of-3");
  const std::size_t last = share.rfind('\n', share.size() - 2) + 1;
  batch.directory.write("out.0-of-3", share.substr(0, last));  // one sample of line 7 is missing
  refused("out.0-of-3 lacks line 7: ");
  batch.directory.write("out.0-of-3", share.substr(0, share.size() - 1));
  refused("out.0-of-3 lacks line 7: ");
  batch.directory.write("out.2-of-3", "");
  refused("out.2-of-3 lacks line 3, out.0-of-3 lacks line 7: ");
  batch.directory.write("out.1-of-4", "");
  refused("there are files out.I-of-3 and .I-of-4: remove one of the two sets");
}

TEST_CASE("merging with another input is refused") {
  const Batch batch(numbered_prompts(4));
  for (const std::string share : {"0/2", "1/2"}) CHECK(batch.run({"--shard", share}).status == 0);
  batch.directory.write("in", numbered_prompts(3));
  CHECK(batch.run({"--merge"})
            .err.starts_with("gpt2: out.1-of-2 has records of lines that in does "
                             "not have: "));
}

TEST_CASE("a launcher's variables say which share to take") {
  const Batch batch(numbered_prompts(1));
  const Words mpi = {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4"};
  const Words script = {"SLURM_PROCID=0", "SLURM_NTASKS=8", "SLURM_JOB_ID=5"};
  const Words array = {"SLURM_ARRAY_TASK_ID=14", "SLURM_ARRAY_TASK_MIN=10",
                       "SLURM_ARRAY_TASK_MAX=16", "SLURM_ARRAY_TASK_STEP=2",
                       "SLURM_ARRAY_TASK_COUNT=4"};
  const auto and_more = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Words step =
      and_more({"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=3", "SLURM_PROCID=1"}, script);
  const Words sge = {"SGE_TASK_ID=7", "SGE_TASK_FIRST=1", "SGE_TASK_LAST=9", "SGE_TASK_STEPSIZE=3"};
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
      {{"PMIX_RANK=1"}, {"--shard", "/2"}, "share 1 of 2 (PMIX_RANK)"},
      {script, {}, ""},
      {step, {}, "share 1 of 3 (SLURM_PROCID)"},
      {and_more(mpi, step), {}, "share 2 of 4 (OMPI_COMM_WORLD_RANK)"},
      {and_more(array, script), {}, "share 2 of 4 (SLURM_ARRAY_TASK_ID)"},
      {{"SLURM_ARRAY_TASK_ID=3"}, {"--shard", "/4"}, "share 3 of 4 (SLURM_ARRAY_TASK_ID)"},
      {sge, {}, "share 2 of 3 (SGE_TASK_ID)"},
      {{"SGE_TASK_ID=undefined"}, {}, ""},
      {{"SGE_TASK_ID=3"}, {"--shard", "/3"}, "share 2 of 3 (SGE_TASK_ID)"},
      {{"PBS_ARRAY_INDEX=1"}, {"--shard", "/3"}, "share 1 of 3 (PBS_ARRAY_INDEX)"},
      {{"JOB_COMPLETION_INDEX=4"}, {"--shard", "/5"}, "share 4 of 5 (JOB_COMPLETION_INDEX)"}};
  for (const Case& item : cases) {
    const Outcome outcome = batch.run(item.arguments, item.environment);
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(share_of(outcome) == item.share);
  }
}

TEST_CASE("a launcher that does not say enough is refused") {
  const Batch batch(numbered_prompts(1));
  const auto refused = [&](const Words& environment, const Words& more,
                           const std::string& message) {
    const Outcome outcome = batch.run(more, environment);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.starts_with("gpt2: --shard: " + message));
  };
  refused({"JOB_COMPLETION_INDEX=0"}, {}, "JOB_COMPLETION_INDEX is set, but nothing says how many");
  refused({"PMIX_RANK=0"}, {}, "PMIX_RANK is set, but nothing says how many shares there are");
  refused({"SLURM_ARRAY_TASK_ID=3", "SLURM_ARRAY_TASK_MIN=3", "SLURM_ARRAY_TASK_MAX=3",
           "SLURM_ARRAY_TASK_COUNT=1"},
          {}, "SLURM_ARRAY_TASK_ID is set, but nothing says");
  refused({"SLURM_ARRAY_TASK_ID=3", "SLURM_ARRAY_TASK_MIN=1", "SLURM_ARRAY_TASK_MAX=7",
           "SLURM_ARRAY_TASK_COUNT=3"},
          {}, "SLURM_ARRAY_TASK_ID is set, but nothing says");
  refused({"PBS_ARRAY_INDEX=3"}, {"--shard", "/3"},
          "PBS_ARRAY_INDEX is 3, but there");
  refused({}, {"--shard", "/3"}, "no launcher says which of the 3 shares to take: give I/N");
  refused({"PMI_RANK=1", "PMI_SIZE=2", "PBS_ARRAY_INDEX=0"}, {},
          "both PMI_RANK and PBS_ARRAY_INDEX say which share to take: give I/N, or all");
  for (const std::string share : {"", "1", "/", "/0", "2/2", "1/x", "-1/2", "1/2/3"}) {
    refused({}, {"--shard=" + share + (share.empty() ? " " : "")}, "expected I/N");
  }
}

}  // namespace gpt2::test::batch_shard_test
