#include "cli/batch/batch.h"

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <system_error>
#include <vector>

#include "base/fail.h"
#include "base/new_file.h"
#include "base/paths.h"

namespace gpt2::cli {
namespace {

namespace fs = std::filesystem;

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

// Returns N of the files OUT.I-of-N.
std::size_t count_of_shards(const std::string& output) {
  const std::string begin = path_of(output).filename().string() + '.', middle = "-of-";
  std::set<std::size_t> counts;
  std::error_code ignored;  // without the directory, there are no files
  const fs::path directory = fs::absolute(path_of(output)).parent_path();
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t at = name.rfind(middle);
    std::size_t index = 0, count = 0;
    const bool is_shard = name.starts_with(begin) && at != std::string::npos && at > begin.size() &&
                          read_number(name.substr(begin.size(), at - begin.size()), index) &&
                          read_number(name.substr(at + middle.size()), count) && index < count;
    if (is_shard) counts.insert(count);
  }
  if (counts.size() == 1) return *counts.begin();
  if (counts.empty()) {
    reject("there is no file ", output, ".I-of-N to merge: first run the shares");
  }
  reject("there are files ", output, ".I-of-", *counts.begin(), " and .I-of-", *counts.rbegin(),
         ": remove one of the two sets");
}

// The file of one share.
class ShardReader {
 public:
  explicit ShardReader(const std::string& name)
      : file_(name), lines_(file_.descriptor(), name, std::numeric_limits<std::size_t>::max()) {
    advance();
  }

  [[nodiscard]] bool at_end() const noexcept { return !line_.is_whole; }

  /// Moves the records of line `number` to `output`. Returns false if not all of them are there.
  bool move(std::size_t number, NewFile& output, std::size_t& errors) {
    const std::string begin = record_begin(number);
    std::size_t count = 0, expected = 1;
    for (; !at_end() && line_.text.starts_with(begin); ++count, advance()) {
      const auto record = nlohmann::json::parse(line_.text, nullptr, false);
      if (!record.is_object()) return false;
      const auto samples = record.find("samples");
      const bool has_samples = samples != record.end() && samples->is_number_unsigned();
      expected = has_samples ? samples->get<std::size_t>() : 1;
      errors += is_error_record(record) ? 1 : 0;
      line_.text += '\n';
      output.write(std::as_bytes(std::span(line_.text)));
    }
    return count == expected;
  }

 private:
  void advance() { static_cast<void>(lines_.next(line_)); }

  InputFile file_;
  LineReader lines_;
  Line line_;
};

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

std::size_t merge_shards(const InputFile& input, const std::string& output) {
  if (is_there(link_target(path_of(output)))) {
    reject(output, " exists: remove it, or give another -o");
  }
  const std::size_t count = count_of_shards(output);
  std::vector<std::unique_ptr<ShardReader>> shards;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = shard_file(output, i, count);
    shards.push_back(fs::exists(path_of(name)) ? std::make_unique<ShardReader>(name) : nullptr);
  }

  NewFile merged(path_of(output));
  std::string missing;
  std::size_t errors = 0;
  LineReader lines(input.descriptor(), input.name(), 0);
  Line line;
  for (std::size_t number = 0; lines.next(line); ++number) {
    auto& shard = shards[number % count];
    const std::string name = shard_file(output, number % count, count);
    if (missing.find(name) != std::string::npos) continue;
    if (shard && shard->move(number, merged, errors)) continue;
    missing += concat(missing.empty() ? "" : ", ", name, " lacks line ", number + 1);
  }
  if (!missing.empty()) {
    reject(missing, ": run these shares again, for example with --shard I/", count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!shards[i] || shards[i]->at_end()) continue;
    reject(shard_file(output, i, count), " has records of lines that ", input.name(),
           " does not have: give the input that it was made from");
  }
  merged.commit();
  return errors;
}

}  // namespace gpt2::cli
