#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpt2::cli {

/// The max length of a line of input. If a line is longer, only its beginning is kept in memory.
inline constexpr std::size_t kMaxLineBytes = 4 << 20;

/// A file that is open for reading.
class InputFile {
 public:
  /// Opens the file; "-" is standard input. If that is a terminal, prints on standard error that
  /// the command waits for lines. Throws Error if the file cannot be opened.
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

/// A line of a file.
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
/// order mark at the beginning of the file is not a part of the first line; a note on standard
/// error says that it is skipped. Other encodings are refused.
class LineReader {
 public:
  /// Reads from the current position of the descriptor, which the caller still owns. `name` is for
  /// messages.
  LineReader(int file, std::string name, std::size_t max_bytes);

  /// Reads the next line. Its hash continues from `hash`. Returns false at the end of the file, and
  /// also if interrupted() becomes true before the end is read; `line` then has at most a part
  /// of a line. Throws Error if the file cannot be read.
  bool next(Line& line, std::uint64_t hash = 0xcbf29ce484222325);

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

}  // namespace gpt2::cli
