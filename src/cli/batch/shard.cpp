#include "cli/batch/batch.h"

#include <cstdlib>

#include "base/text.h"

namespace gpt2::cli {
namespace {

using Number = std::optional<std::size_t>;

// The variables with which a launcher gives a process its index and the number of processes.
struct Launcher {
  const char *index, *count;
};

// The first launcher whose variables are set decides, because mpirun may use srun to start its own
// servers. Slurm sets SLURM_PROCID even in a script that srun has not started, but not the number
// of tasks of a step. Kubernetes does not tell the pods of an indexed job how many they are.
constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                   {"JOB_COMPLETION_INDEX", nullptr}};

Number variable(const char* name) {
  const char* const text = name != nullptr ? std::getenv(name) : nullptr;
  std::size_t value = 0;
  return text != nullptr && read_number(text, value) ? Number(value) : std::nullopt;
}

// Returns the share that a launcher has given this process. `count` is the number of shares, or 0
// if the launcher says it.
Shard launched_shard(std::size_t count) {
  for (const Launcher& launcher : kLaunchers) {
    const Number index = variable(launcher.index), processes = variable(launcher.count);
    if (!index || (launcher.count != nullptr && !processes)) continue;
    if (count == 0 && processes == 1) break;
    const std::size_t total = count != 0 ? count : processes.value_or(0);
    if (*index < total) return {.index = *index, .count = total, .source = launcher.index};
    throw UsageError("--shard", concat("expected ", launcher.index, " below the number of shares, ",
                                       "found ", *index, " of ", total,
                                       ": give their number as /N, or all to ignore the launcher"));
  }
  if (count == 0) return {};
  throw UsageError("--shard",
                   concat("no launcher says which of the ", count, " shares to take: give I/N"));
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
  if (index) return {.index = *index, .count = count, .source = "--shard"};
  return launched_shard(count);
}

}  // namespace gpt2::cli
