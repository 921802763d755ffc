#include "cli/lines/reader.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "cli/system/descriptor.h"
#include "cli/system/interrupts.h"
#include "cli/terminal/console.h"
#include "requests/hash.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kBytes = 1 << 16;  // to read at a time

// Appends up to 64 KiB to `buffer`, the next bytes of a file. Returns false at the end of the file,
// and if interrupted() becomes true before. Throws Error if the file, whose name is for messages,
// cannot be read.
//
// Polls before every read, because a signal that is only recorded would not interrupt a read that
// blocks. Asks for the signal even if there is input, because /dev/zero always has some.
bool read_more(int file, const std::string& name, std::string& buffer) {
  do {
    if (interrupted()) return false;
  } while (!has_input(file, 100));
  const std::size_t size = buffer.size();
  buffer.resize(size + kBytes);
  const std::ptrdiff_t count = read_some(file, buffer.data() + size, kBytes);
  if (count < 0) reject_with_errno("cannot read " + name);
  buffer.resize(size + static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

InputFile::InputFile(const std::string& name)
    : name_(shown_input(name)), file_(name == "-" ? open_standard_input() : open_to_read(name)) {
  if (file_ < 0) reject_with_errno("cannot read " + name_);
  if (is_terminal(file_)) {
    print_error(concat("waiting for lines on standard input; ", kEndKeys, " ends it"));
  }
}

InputFile::~InputFile() { close_file(file_); }

std::size_t InputFile::bytes() const { return is_regular(file_) ? size_of(file_) : 0; }

std::string text_of(const Line& line) {
  if (line.text.size() < line.bytes) {
    reject("the line has ", line.bytes, " bytes, but at most ", line.text.size(),
           " are read: shorten it");
  }
  return line.text.ends_with('\r') ? line.text.substr(0, line.bytes - 1) : line.text;
}

LineReader::LineReader(int file, std::string name, std::size_t max_bytes)
    : file_(file), name_(std::move(name)), max_bytes_(max_bytes) {}

bool LineReader::next(Line& line, std::uint64_t hash) {
  if (offset_ == 0) skip_byte_order_mark();
  line = {.text = {}, .bytes = 0, .hash = hash, .is_whole = false};
  while (!line.is_whole && (begin_ < buffer_.size() || fill())) {
    const std::size_t end = std::min(buffer_.find('\n', begin_), buffer_.size());
    const std::string_view piece = std::string_view(buffer_).substr(begin_, end - begin_);
    line.text += piece.substr(0, max_bytes_ - line.text.size());
    line.bytes += piece.size();
    line.hash = hash_bytes(piece, line.hash);
    line.is_whole = end < buffer_.size();
    begin_ = end + (line.is_whole ? 1 : 0);
  }
  offset_ += line.bytes + (line.is_whole ? 1 : 0);
  return line.is_whole || (line.bytes > 0 && !interrupted());
}

void LineReader::skip_byte_order_mark() {
  const auto has_begun = [this] { return kByteOrderMark.starts_with(buffer_); };
  while (buffer_.size() < kByteOrderMark.size() && has_begun() && fill()) {
  }
  if (!buffer_.starts_with(kByteOrderMark)) return;
  begin_ = offset_ = kByteOrderMark.size();
}

bool LineReader::is_ready() {
  while (buffer_.find('\n', begin_) == std::string::npos && buffer_.size() - begin_ < kBytes) {
    if (!has_input(file_, 0)) return false;
    if (!fill()) return true;
  }
  return true;
}

// Appends the next bytes of the file to the data in buffer_ that next() has not returned yet.
// Returns false if there are no more bytes.
bool LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  return read_more(file_, name_, buffer_);
}

}  // namespace gpt2::cli
