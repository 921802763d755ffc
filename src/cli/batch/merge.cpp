#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <vector>

#include "base/fail.h"
#include "base/paths.h"
#include "base/system/process.h"
#include "cli/batch/output.h"
#include "cli/batch/shard.h"

namespace gpt2::cli {
namespace {

namespace fs = std::filesystem;

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

// Removes a file at the end of a scope, unless it has another name by then.
struct RemovedAtEnd {
  const std::string& name;
  ~RemovedAtEnd() {
    std::error_code ignored;
    fs::remove(path_of(name), ignored);
  }
};

// The file of one share.
class ShardReader {
 public:
  explicit ShardReader(const std::string& name)
      : file_(name), lines_(file_.descriptor(), name, std::numeric_limits<std::size_t>::max()) {
    advance();
  }

  [[nodiscard]] bool at_end() const noexcept { return !line_.is_whole; }

  /// Moves the records of line `number` to `output`. Returns false if not all of them are there.
  bool move(std::size_t number, OutputFile& output, std::size_t& errors) {
    const std::string begin = record_begin(number);
    std::size_t count = 0, expected = 1;
    for (; !at_end() && line_.text.starts_with(begin); ++count, advance()) {
      const auto record = nlohmann::json::parse(line_.text, nullptr, false);
      if (!record.is_object()) return false;
      const auto samples = record.find("samples");
      const bool has_samples = samples != record.end() && samples->is_number_unsigned();
      expected = has_samples ? samples->get<std::size_t>() : 1;
      errors += is_error_record(record) ? 1 : 0;
      output.append(line_.text + '\n');
    }
    return count == expected;
  }

 private:
  void advance() { static_cast<void>(lines_.next(line_)); }

  InputFile file_;
  LineReader lines_;
  Line line_;
};

void require_absent(const fs::path& target, const std::string& output) {
  if (is_there(target)) reject(output, " exists: remove it, or give another -o");
}

}  // namespace

std::size_t merge_shards(const InputFile& input, const std::string& output) {
  const fs::path target = link_target(path_of(output));
  require_absent(target, output);
  const std::size_t count = count_of_shards(output);
  std::vector<std::unique_ptr<ShardReader>> shards;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = shard_file(output, i, count);
    shards.push_back(fs::exists(path_of(name)) ? std::make_unique<ShardReader>(name) : nullptr);
  }

  const std::string unfinished = concat(target.string(), ".partial-", process_id());
  std::error_code ignored;
  fs::remove(path_of(unfinished), ignored);  // of an old process with this id, or a link
  OutputFile merged(unfinished, input);
  const RemovedAtEnd removed{unfinished};
  merged.cut(0);
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
  merged.sync();
  require_absent(target, output);  // still
  merged.rename(target.string());
  return errors;
}

}  // namespace gpt2::cli
