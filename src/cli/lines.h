#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "cli/terminal/console.h"
#include "requests/read/completion_request.h"

// The input of commands: files that are read as a whole, and lines that are read in bounded memory
// and answered with lines of JSON.

namespace gpt2::cli {

/// The max length of a line of input. If a line is longer, only its beginning is kept in memory.
inline constexpr std::size_t kMaxLineBytes = 4 << 20;

class InputFile {
 public:
  /// Opens the file; "-" is standard input. If that is a terminal, prints on standard error that
  /// the command waits for a text. Throws Error if the file cannot be opened.
  explicit InputFile(const std::string& name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return file_; }

  /// For messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// The size of the file, or 0 if it is not a regular file.
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::string name_;
  int file_;
};

/// Returns the name of a file for messages: "standard input" for "-".
[[nodiscard]] std::string shown_input(const std::string& name);

/// Reads an InputFile to its end, without a byte order mark at its beginning. Throws Error if the
/// file cannot be read or is longer than 256 MiB.
[[nodiscard]] std::string read_input(const std::string& name);

/// The same without one newline or CRLF at the end, which an editor or echo has added.
[[nodiscard]] std::string read_prompt_input(const std::string& name);

struct Line {
  std::string text;        ///< without its newline; only the beginning of a line that is too long
  std::size_t bytes = 0;   ///< the length of the whole line, without its newline
  std::uint64_t hash = 0;  ///< a hash of the whole line, without its newline
  bool is_whole = false;   ///< whether it ends in a newline
};

/// Returns the text of a line without a carriage return at its end. Throws Error if the line was
/// too long and only its beginning was kept.
[[nodiscard]] std::string text_of(const Line& line);

/// Reads a file line by line. However long a line is, at most `max_bytes` of it are kept. A byte
/// order mark at the beginning of the file is not a part of the first line.
class LineReader {
 public:
  /// Reads from the current position of the descriptor, which the caller still owns. `name` is for
  /// messages.
  LineReader(int file, std::string name, std::size_t max_bytes);

  /// Reads the next line. Its hash continues from `hash`. Returns false at the end of the file, and
  /// also if interrupted() becomes true before the end is read; `line` then has at most a part
  /// of a line. Throws Error if the file cannot be read.
  bool next(Line& line, std::uint64_t hash = kFnvBasis);

  /// Whether next() would find a whole line, or the end of the file, without waiting for a pipe.
  /// Also true for the beginning of a line of 64 KiB or more. Throws what next() throws.
  [[nodiscard]] bool is_ready();

  /// The bytes of the lines that were read, including their newlines and a byte order mark.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

 private:
  bool fill();
  void skip_byte_order_mark();

  int file_;
  std::string name_;
  std::size_t max_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // the beginning of the data in buffer_ that next() has not returned
  std::size_t offset_ = 0;
};

/// The name of a line in messages of parse_object().
inline constexpr std::string_view kLineName = "the line";

/// Returns "line 3: ...": an error message about a line, such as one from parse_object(), with the
/// number of the line, which counts from 1.
[[nodiscard]] std::string about_line(std::size_t number, std::string message);

/// Returns a text as a member of a request: without a tokenizer, the list of its token ids. Throws
/// Error for a word that is no id of the vocabulary.
[[nodiscard]] nlohmann::json text_or_ids(const std::string& text, const RequestContext& of);

/// Returns the request that a line is: a JSON object or, unless `is_json`, {"text": the line}.
/// Throws Error for a line that is no such object.
[[nodiscard]] nlohmann::json request_of(const std::string& line, bool is_json,
                                        const RequestContext& of);

/// If the vocabulary has no tokens for `lost` of a text's bytes, prints a note on standard error.
void note_lost_bytes(std::size_t lost, std::size_t bytes);

/// Shows that `number` lines have been read, or how much of a file of this size, unless it is 0.
void show_place(Progress& progress, std::size_t number, std::size_t offset, std::size_t bytes);

/// Returns the value with a newline.
[[nodiscard]] std::string line_of(const Json& value);

/// Answers every line of a file with one line of JSON, in order and in bounded memory: groups of
/// about 4,096 tokens or at most as many lines at once. read(line) returns the request that a line
/// is, and answer(requests) the answers to requests that follow one another and are the `same` in
/// some way. Lines that a pipe has already delivered are answered before the function waits for
/// more. A line for which `read` throws Error becomes an error record, which names the line; if
/// there are any, throws Error at the end, so that the command fails visibly. Throws Error, too, if
/// the file cannot be read. `doing` says what the command does, for the progress: "scoring".
template <class Read, class Same, class Answer>
void answer_lines(const std::string& file, const std::string& doing, const Read& read,
                  const Same& same, const Answer& answer) {
  constexpr std::size_t kGroup = 4096;
  using Request = std::invoke_result_t<Read, const std::string&>;
  const InputFile input(file);
  LineReader lines(input.descriptor(), input.name(), kMaxLineBytes);
  Progress progress(doing + ' ' + input.name());
  std::vector<Request> group;
  std::size_t number = 0, failed = 0, tokens = 0;
  const auto write_group = [&] {
    std::string text;
    if (!group.empty()) {
      for (const Json& record : answer(group)) text += line_of(record);
    }
    write_stdout(text);
    show_place(progress, number, lines.offset(), input.bytes());
    group.clear();
    tokens = 0;
  };
  for (Line line; lines.next(line);) {
    ++number;
    std::optional<Request> request;
    std::string error;
    try {
      request = read(text_of(line));
    } catch (const Error& mistake) {
      error = about_line(number, mistake.what());
    }
    if (!request || (!group.empty() && !std::invoke(same, *request, group.front()))) write_group();
    if (request) {
      note_lost_bytes(request->lost_bytes, line.bytes);
      tokens += request->tokens();
      group.push_back(*std::move(request));
    } else {
      write_stdout(line_of({{"error", error}}));
      ++failed;
    }
    if (tokens >= kGroup || group.size() == kGroup || !lines.is_ready()) write_group();
  }
  write_group();
  if (failed == 0) return;
  reject(input.name(), ": ", failed, " of ", counted(number, "line"),
         " failed: see \"error\" in their records");
}

}  // namespace gpt2::cli
