#include "cli/batch/shard.h"

#include <array>
#include <cstdlib>
#include <vector>

#include "cli/options/options.h"

namespace gpt2::cli {
namespace {

using Number = std::optional<std::size_t>;

// Returns nothing for a variable that is not a number. SGE sets "undefined" outside of arrays.
Number variable(const char* name) {
  const char* const text = std::getenv(name);
  std::size_t value = 0;
  return text != nullptr && read_number(text, value) ? Number(value) : std::nullopt;
}

// The variables of a launcher: always the index of the process, and perhaps the number of
// processes.
struct Rank {
  std::size_t index;
  Number count;
  const char* source;
};

using Ranks = std::vector<Rank>;

void add(Ranks& ranks, const char* index_name, Number count) {
  if (const Number index = variable(index_name)) ranks.push_back({*index, count, index_name});
}

// Returns the ranks of processes that were started together. Uses only the first launcher found,
// because one launcher may start another one: mpirun uses srun to start its own servers.
// SLURM_PROCID is set in a Slurm script even before srun, where it is meaningless, so SLURM_STEP_ID
// must be set as well: only steps have it.
Ranks ranks_of_processes() {
  Ranks ranks;
  add(ranks, "OMPI_COMM_WORLD_RANK", variable("OMPI_COMM_WORLD_SIZE"));
  add(ranks, "PMI_RANK", variable("PMI_SIZE"));
  if (variable("SLURM_STEP_ID")) {
    const Number tasks = variable("SLURM_STEP_NUM_TASKS");
    add(ranks, "SLURM_PROCID", tasks ? tasks : variable("SLURM_NTASKS"));
  }
  add(ranks, "PMIX_RANK", std::nullopt);
  return ranks;
}

// Returns the ranks of the jobs of an array. If the number of jobs is given, indices begin at 0,
// but in SGE at 1. Otherwise, index and number are computed from the first index, the last index
// and the step, unless there is only one job, because it may be one of many that was started again.
Ranks ranks_of_jobs(bool has_count) {
  struct Array {
    const char *index, *first, *last, *step;
    std::size_t base;
  };
  constexpr std::array kArrays = {
      Array{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
            "SLURM_ARRAY_TASK_STEP", 0},
      Array{"SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE", 1}};
  Ranks ranks;
  for (const Array& array : kArrays) {
    const Number id = variable(array.index);
    if (!id) continue;
    const Number first = variable(array.first), last = variable(array.last);
    const std::size_t step = variable(array.step).value_or(1);
    if (has_count) {
      if (*id >= array.base) ranks.push_back({*id - array.base, std::nullopt, array.index});
    } else if (first && last && *first < *last && *id >= *first && step > 0) {
      ranks.push_back({(*id - *first) / step, (*last - *first) / step + 1, array.index});
    } else {
      ranks.push_back({*id, std::nullopt, array.index});
    }
  }
  // A Slurm array may be a list such as 1,3,7, in which the index of a job is not its position.
  const Number jobs = variable("SLURM_ARRAY_TASK_COUNT");
  if (!ranks.empty() && jobs && ranks.front().count != jobs) ranks.front().count.reset();
  add(ranks, "PBS_ARRAY_INDEX", std::nullopt);
  add(ranks, "JOB_COMPLETION_INDEX", std::nullopt);
  return ranks;
}

// Reads "I/N", or "/N" with an empty I.
bool read_share(const std::string& text, Number& index, std::size_t& count) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || !read_number(text.substr(slash + 1), count)) return false;
  if (slash == 0) return count > 0;
  return read_number(text.substr(0, slash), index.emplace()) && *index < count;
}

}  // namespace

std::string shard_file(const std::string& output, std::size_t index, std::size_t count) {
  return concat(output, ".", index, "-of-", count);
}

Shard choose_shard(const std::optional<std::string>& argument) {
  if (argument == "all") return {};
  Number index;
  std::size_t count = 0;
  if (argument && !read_share(*argument, index, count)) {
    throw UsageError("--shard",
                     "expected I/N with I from 0 to N - 1, /N or all, found '" + *argument + "'");
  }
  if (count == 1) index = 0;
  if (index) return {.index = *index, .count = count, .source = "--shard"};

  Ranks found;
  for (const Ranks& ranks : {ranks_of_processes(), ranks_of_jobs(count != 0)}) {
    if (!ranks.empty() && ranks.front().count != 1) found.push_back(ranks.front());
  }
  if (found.empty()) {
    if (count == 0) return {};
    throw UsageError("--shard",
                     concat("no launcher says which of the ", count, " shares to take: give I/N"));
  }
  const std::string source = found.front().source;
  if (found.size() > 1) {
    throw UsageError("--shard", "both " + source + " and " + found[1].source +
                                    " say which share to take: give I/N, or all");
  }
  const std::size_t rank = found.front().index;
  const std::size_t total = count != 0 ? count : found.front().count.value_or(0);
  if (total == 0) {
    throw UsageError("--shard", source +
                                    " is set, but nothing says how many shares there are: "
                                    "give /N, or all to ignore it");
  }
  if (rank >= total) {
    throw UsageError("--shard", concat(source, " is ", rank, ", but there are ", total,
                                       " shares, numbered from 0: give another N"));
  }
  return {.index = rank, .count = total, .source = source};
}

}  // namespace gpt2::cli
