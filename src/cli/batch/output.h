#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "cli/lines.h"

namespace gpt2::cli {

/// The members at the beginning of the record that `gpt2 batch` writes for a text.
struct RecordHead {
  std::size_t line = 0;  ///< the number of the line in the input, from 0
  std::string id = {};   ///< identifies the line and everything else that decides the text
  std::optional<std::string> custom_id = {};
  std::size_t sample = 0;      ///< which of the line's texts this is
  std::size_t samples = 1;     ///< how many texts the line has
  std::size_t lost_bytes = 0;  ///< bytes of the line's texts for which there are no tokens
};

/// Returns the record of a text or of the answer to a line, with its newline: the members of the
/// answer but for its "id" or, if it is a JSON string, this as the "page".
[[nodiscard]] std::string answer_record_json(const RecordHead& head, const Json& answer);

/// Returns the record of a line in OpenAI's format, with its newline: the answer to its request.
[[nodiscard]] std::string response_record_json(const RecordHead& head, int status,
                                               const Json& body);

/// Returns the record of a text that could not be written, with its newline.
[[nodiscard]] std::string error_record_json(const RecordHead& head, const std::string& error);

/// The file to which records are appended. While it is open, no other process can open it as an
/// OutputFile.
class OutputFile {
 public:
  /// Opens or creates the file, through symbolic links as NewFile does. Throws Error if that fails,
  /// if the file is `input` or not a regular file, or if another process is writing it.
  OutputFile(const std::string& name, const InputFile& input);

  /// Closes the file. If this object has created it, but append() has not succeeded and sync() was
  /// not called since, removes it, because the run has been refused.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return file_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Truncates the file to `bytes`. Further records are appended there.
  void cut(std::size_t bytes);

  /// If that fails, for example because the disk is full, removes the part that was written and
  /// throws Error.
  void append(std::string_view record);

  /// Waits until all records are on the disk.
  void sync();

  /// Calls sync() if there are new records, but at most once a second.
  void sync_sometimes();

 private:
  [[noreturn]] void fail(const char* action) const;

  std::string name_;  // for messages
  std::string path_;  // to which name_ leads
  bool is_kept_;      // whether the file stays if the run ends here
  int file_;
  std::size_t bytes_ = 0;  // the size of the file
  std::size_t synced_ = 0;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
};

/// Reads the records of a file, in order, up to the first one that is not a whole line.
class RecordReader {
 public:
  RecordReader(int file, const std::string& name);

  /// Skips the records of this line that come next, and returns their number.
  std::size_t skip(std::size_t line, const std::string& id);

  /// The next record, or only its first bytes if it is long; "" if there is none.
  [[nodiscard]] const std::string& next() const noexcept { return line_.text; }
  [[nodiscard]] bool at_end() const noexcept { return !line_.is_whole; }

  /// The bytes of the records before the next one.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

  /// How many of the skipped records report an error.
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }

 private:
  void advance();

  LineReader reader_;
  std::string name_;
  Line line_;
  std::size_t offset_ = 0;
  std::size_t errors_ = 0;
};

}  // namespace gpt2::cli
