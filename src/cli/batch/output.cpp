#include "cli/batch/batch.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fail.h"
#include "base/paths.h"
#include "base/text.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"

namespace gpt2::cli {
namespace {

// The number of bytes that are kept of each record. Comparisons need fewer.
constexpr std::size_t kBeginBytes = 256;

// What follows the id in a record with an error: in this command's own format, and in OpenAI's.
constexpr std::string_view kErrorMarks[] = {"\"error\":", "\"response\":{\"status_code\":4"};

// Whether the part of a record after its id shows that it has an error.
bool has_error_mark(std::string_view rest) {
  return std::ranges::any_of(kErrorMarks, [&](auto mark) { return rest.starts_with(mark); });
}

// What stands around the number of the line and the id, with which every record begins.
constexpr std::string_view kBeforeLine = "{\"line\":", kBeforeId = ",\"id\":\"", kAfterId = "\",";

// Whether a text is the beginning of a record, as far as it goes.
bool may_become_record(std::string_view text) {
  const auto take = [&](std::string_view part) {
    const std::size_t common = std::min(text.size(), part.size());
    const bool agrees = text.substr(0, common) == part.substr(0, common);
    text.remove_prefix(common);
    return agrees;
  };
  if (!take(kBeforeLine)) return false;
  text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  return take(kBeforeId);
}

void add_sample(Json& record, const RecordHead& head) {
  if (head.custom_id) record.add("custom_id", *head.custom_id);
  if (head.samples == 1) return;
  record.add({{"sample", head.sample}, {"samples", head.samples}});
}

}  // namespace

std::string answer_record_json(const RecordHead& head, const Json& answer) {
  Json record = {{"line", head.line}, {"id", head.id}};
  add_sample(record, head);
  if (head.lost_bytes != 0) record.add("lost_bytes", head.lost_bytes);
  record.add_members_of(answer.is_object() ? answer : Json{{"page", answer}});
  return line_of(record);
}

std::string error_record_json(const RecordHead& head, const std::string& error) {
  Json record = {{"line", head.line}, {"id", head.id}, {"error", error}};
  add_sample(record, head);
  return line_of(record);
}

// The members "line" and "id" come first, as in this command's own records. In a record with an
// error, the response comes next, so that the first bytes show it.
std::string response_record_json(const RecordHead& head, int status, const Json& body) {
  Json record = {{"line", head.line}, {"id", head.id}};
  if (status == 200) record.add("custom_id", head.custom_id);
  record.add("response", {{"status_code", status}, {"request_id", head.id}, {"body", body}});
  if (status != 200) record.add("custom_id", head.custom_id);
  record.add("error", nullptr);
  return line_of(record);
}

OutputFile::OutputFile(const std::string& name)
    : name_(name), file_(open_to_append(link_target(path_of(name)).string())) {
  if (file_ < 0) reject_with_errno(name_ + ": cannot be written");
  if (!is_regular(file_)) {
    reject(name_, " is not a regular file, so the run could not be continued: give another -o");
  }
  if (!lock(file_)) {
    reject("another process is writing ", name_, ": wait until it ends, or give another -o");
  }
  bytes_ = synced_ = size_of(file_);
}

OutputFile::~OutputFile() { close_file(file_); }

void OutputFile::cut(std::size_t bytes) {
  if (size_of(file_) > bytes && !shorten(file_, bytes)) {
    reject_with_errno(name_ + ": cannot be shortened");
  }
  bytes_ = synced_ = bytes;
}

void OutputFile::append(std::string_view record) {
  if (!append_to(file_, record)) {
    const int reason = errno;
    static_cast<void>(shorten(file_, bytes_));
    reject(name_, ": cannot be written: ", reason_of(reason),
           bytes_ == 0 ? "" : "; its records are complete, and the same command resumes there");
  }
  bytes_ += record.size();
}

void OutputFile::sync() {
  if (bytes_ == synced_) return;
  if (!flush_to_disk(file_)) reject_with_errno(name_ + ": cannot be written");
  synced_ = bytes_;
  last_sync_ = std::chrono::steady_clock::now();
}

void OutputFile::sync_sometimes() {
  if (std::chrono::steady_clock::now() - last_sync_ >= std::chrono::seconds(1)) sync();
}

RecordReader::RecordReader(int file, const std::string& name)
    : reader_(file, name, kBeginBytes), name_(name) {
  advance();
}

void RecordReader::advance() {
  offset_ = reader_.offset();
  // Nothing may be cut off or replaced in a file that this command has not written. The end of a
  // whole line shows that its record does not go on.
  if (!reader_.next(line_)) return;
  std::string begin = line_.text + (line_.is_whole ? "\n" : "");
  // After a power failure, a file may end in zero bytes instead of the records that were written.
  if (!line_.is_whole && offset_ > 0) begin.resize(begin.find_last_not_of('\0') + 1);
  if (may_become_record(begin)) return;
  reject(name_, " exists and is not the output of such a run, because it has ",
         quote(line_.text, 40), ": give another -o");
}

std::size_t RecordReader::skip(std::size_t line, const std::string& id) {
  const std::string begin = concat(kBeforeLine, line, kBeforeId, id, kAfterId);
  std::size_t count = 0;
  for (; !at_end() && line_.text.starts_with(begin); ++count) {
    if (has_error_mark(std::string_view(line_.text).substr(begin.size()))) ++errors_;
    advance();
  }
  return count;
}

}  // namespace gpt2::cli
