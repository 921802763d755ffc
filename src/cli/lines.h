#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/hash.h"
#include "base/json_text.h"
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

/// Thrown out of a library's progress function to end the work after an interrupt.
struct Interrupted {};

/// Returns the value with a newline.
[[nodiscard]] std::string line_of(const Json& value);

/// Answers every line of a file with one line of JSON, in order and in bounded memory: groups of
/// about 4,096 tokens or at most as many lines at once. Lines that a pipe has already delivered are
/// answered before the function waits for more. A line for which `read` throws Error becomes an
/// error record, which names the line; if there are any, throws Error at the end, so that the
/// command fails visibly. Throws Error, too, if the file cannot be read.
///   doing   says what the command does, for the progress: "scoring"
///   read    keeps what it reads of the text of a line, and returns its number of tokens
///   answer  returns the answers to what has been kept since its last call, and forgets it
void answer_lines(const std::string& file, const std::string& doing,
                  const std::function<std::size_t(const std::string& line)>& read,
                  const std::function<std::vector<Json>()>& answer);

/// The same for lines that are requests: read(line) returns one, and answer(group) the answers to
/// requests that follow one another and are the `same` in some way.
template <class Read, class Same, class Answer>
void answer_requests(const std::string& file, const std::string& doing, const Read& read,
                     const Same& same, const Answer& answer) {
  using Request = std::invoke_result_t<Read, const std::string&>;
  std::vector<Request> requests;
  const auto keep = [&](const std::string& line) {
    requests.push_back(read(line));
    note_lost_bytes(requests.back().lost_bytes, line.size());
    return requests.back().tokens();
  };
  const auto answer_all = [&] {
    std::vector<Json> answers;
    std::vector<const Request*> group;
    const auto end_group = [&] {
      if (!group.empty()) std::ranges::move(answer(group), std::back_inserter(answers));
      group.clear();
    };
    for (const Request& request : requests) {
      if (!group.empty() && !std::invoke(same, request, *group.front())) end_group();
      group.push_back(&request);
    }
    end_group();
    requests.clear();
    return answers;
  };
  answer_lines(file, doing, keep, answer_all);
}

}  // namespace gpt2::cli
