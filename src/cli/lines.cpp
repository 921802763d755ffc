#include "cli/lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fail.h"
#include "base/share.h"
#include "base/text.h"
#include "cli/system/system.h"
#include "cli/terminal/console.h"
#include "gpt2/error.h"
#include "requests/read/members.h"
#include "requests/read/tokens.h"

namespace gpt2::cli {
namespace {

constexpr std::size_t kBytes = 1 << 16;  // to read at a time

// The UTF-8 byte order mark, with which programs on Windows begin a text file. It is not a part of
// the text.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

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
    print_error(concat("waiting for a text on standard input; ", kEndKeys, " ends it"));
  }
}

InputFile::~InputFile() { close_file(file_); }

std::size_t InputFile::bytes() const { return is_regular(file_) ? size_of(file_) : 0; }

std::string shown_input(const std::string& name) { return name == "-" ? "standard input" : name; }

std::string read_input(const std::string& name) {
  constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  const InputFile input(name);
  std::string text;
  while (read_more(input.descriptor(), input.name(), text)) {
    if (text.size() > kMaxBytes) reject(input.name(), " is longer than 256 MiB: split it");
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

std::string read_prompt_input(const std::string& name) {
  std::string text = read_input(name);
  for (const char of_newline : {'\n', '\r'}) {  // Windows ends a line with both
    if (!text.ends_with(of_newline)) break;
    text.pop_back();
  }
  return text;
}

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

using nlohmann::json;

std::string about_line(std::size_t number, std::string message) {
  if (message.starts_with(concat(kLineName, ": "))) message.erase(0, kLineName.size() + 2);
  return concat("line ", number, ": ", message);
}

json text_or_ids(const std::string& text, const RequestContext& of) {
  if (of.tokenizer) return text;
  return parse_tokens(text, of.config.vocab_size);
}

json request_of(const std::string& line, bool is_json, const RequestContext& of) {
  if (!is_json) return {{"text", text_or_ids(line, of)}};
  json request;
  parse_object(request, line, kLineName);
  return request;
}

void note_lost_bytes(std::size_t lost, std::size_t bytes) {
  if (lost == 0) return;
  print_error(concat("the model's vocabulary has no tokens for ", lost, " of the text's ", bytes,
                     " bytes; the model does not see these bytes"));
}

void show_place(Progress& progress, std::size_t number, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return progress.show(counted(number, "line"));
  progress.part(share_of(offset, bytes));
}

std::string line_of(const Json& value) { return value.text() + '\n'; }

}  // namespace gpt2::cli
