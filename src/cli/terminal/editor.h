#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpt2::cli {

/// Returns the lines to which the Tab key may complete the beginning of a line, or only their
/// beginnings up to the next word.
using Completions = std::function<std::vector<std::string>(const std::string& begin)>;

/// Reads lines from the terminal. With libedit, lines can be edited, the arrow keys bring back
/// earlier ones, Tab completes them, and Ctrl-C drops the line and begins a new one; ~/.editrc
/// configures the keys. In a build without libedit, only the editing keys of the terminal itself
/// work, and Ctrl-C ends the process.
///
/// The prompt and the typed characters are shown on standard error, in a colour if shows_colours(stderr)
/// is true. REQUIRES: standard input and standard error are terminals; there is one editor at a
/// time.
class LineEditor {
 public:
  explicit LineEditor(Completions completions);
  ~LineEditor();

  /// Returns the next line without its newline, or nothing at the end of the input (Ctrl-D) and
  /// after a signal other than Ctrl-C, which is then recorded.
  [[nodiscard]] std::optional<std::string> read();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpt2::cli
