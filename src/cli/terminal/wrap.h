#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpt2::cli {

/// Breaks a text between its words so that no word is cut at the terminal's edge. The text arrives
/// in pieces. A word is held back until its end is known, because it may not fit on the line.
///
///   WordWrapper wrapper(terminal_columns(stdout));
///   write_stdout(wrapper.add("Once upon a t"));  // writes "Once upon a"
///   write_stdout(wrapper.add("ime"));            // writes nothing
///   write_stdout(wrapper.end());                 // writes " time", or "\ntime"
class WordWrapper {
 public:
  /// The text begins in column 0. If `columns` is 0, the text is not changed or held back.
  explicit WordWrapper(std::size_t columns);

  /// Adds whole UTF-8 characters, and returns the part of the text that can be written now.
  [[nodiscard]] std::string add(std::string_view piece);

  /// Returns the rest of the text.
  [[nodiscard]] std::string end();

 private:
  void end_word(std::string& written);

  std::size_t columns_;
  std::size_t column_ = 0;
  std::string gap_;   // the blanks before the word
  std::string word_;  // has not been written yet
  std::size_t width_ = 0;  // of the word, in columns
};

}  // namespace gpt2::cli
