#include "cli/batch_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "cli/console.h"
#include "cli/text_json.h"

namespace gpt2::cli {
namespace {

// The number of bytes that are kept of each record. Comparisons need fewer.
constexpr std::size_t kBeginBytes = 256;

// Makes sure that a new file is still in its directory after a power failure.
void sync_directory(const std::string& file) {
  const auto parent = std::filesystem::absolute(file).parent_path();
  const int directory = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

struct stat status_of(int file) {
  struct stat status = {};
  fstat(file, &status);
  return status;
}

}  // namespace

OutputFile::OutputFile(const std::string& name, const InputFile& input)
    : name_(name), file_(open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail("written");
  const struct stat status = status_of(file_), other = status_of(input.descriptor());
  if (status.st_dev == other.st_dev && status.st_ino == other.st_ino) {
    refuse(name_ + " is the input, too: give another file to -o");
  }
  if (!S_ISREG(status.st_mode)) {
    refuse(name_ + " is not a regular file, so the run could not be continued: give another -o");
  }
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      refuse("another process is writing " + name_ + ": wait until it ends, or give another -o");
    }
    print_error(format("cannot lock %s (%s): make sure that no other process writes it",
                       name_.c_str(), std::strerror(errno)));
  }
  if (status.st_size == 0) sync_directory(name_);
}

OutputFile::~OutputFile() { close(file_); }

void OutputFile::fail(const char* action) const {
  refuse(format("%s: cannot be %s: %s", name_.c_str(), action, std::strerror(errno)));
}

void OutputFile::cut(std::size_t bytes) {
  const bool is_longer = static_cast<std::size_t>(status_of(file_).st_size) > bytes;
  if (is_longer && ftruncate(file_, static_cast<off_t>(bytes)) != 0) fail("shortened");
  bytes_ = synced_ = bytes;
}

void OutputFile::append(std::string_view record) {
  for (std::string_view rest = record; !rest.empty();) {
    const ssize_t count = write(file_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      static_cast<void>(ftruncate(file_, static_cast<off_t>(bytes_)));
      refuse(format(
          "%s: cannot be written: %s; its records are complete, and the same command resumes there",
          name_.c_str(), std::strerror(reason)));
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  bytes_ += record.size();
}

void OutputFile::sync() {
  if (bytes_ == synced_) return;
  if (fdatasync(file_) != 0) fail("written");
  synced_ = bytes_;
  last_sync_ = std::chrono::steady_clock::now();
}

void OutputFile::rename(const std::string& name) {
  if (std::rename(name_.c_str(), name.c_str()) != 0) fail("renamed");
  name_ = name;
  sync_directory(name_);
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
  const std::string first = "{\"line\":";
  if (!reader_.next(line_) || line_.is_whole) return;
  // Only an incomplete record may be cut off, and never the end of a file that this command has not
  // written.
  const std::size_t common = std::min(line_.text.size(), first.size());
  if (line_.text.compare(0, common, first, 0, common) != 0) {
    refuse(name_ + " ends in something that is not a record of gpt2 batch: give another -o");
  }
}

std::size_t RecordReader::skip(std::size_t line, const std::string& id) {
  const std::string begin = record_begin(line, id), error = error_record_begin(line, id);
  std::size_t count = 0;
  for (; !at_end() && line_.text.starts_with(begin); ++count) {
    if (line_.text.starts_with(error)) ++errors_;
    advance();
  }
  return count;
}

}  // namespace gpt2::cli
