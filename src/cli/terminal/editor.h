#pragma once

#include <memory>
#include <optional>
#include <string>

namespace gpt2::cli {

/// Reads lines from the terminal. With libedit, lines can be edited, the arrow keys bring back
/// earlier ones, and Ctrl-C drops the line and begins a new one; ~/.editrc configures the keys. In
/// a build without libedit, only the editing keys of the terminal itself work, and Ctrl-C ends the
/// process.
///
/// The prompt and the typed characters are shown on standard error. REQUIRES: standard input and
/// standard error are terminals; there is one editor at a time.
class LineEditor {
 public:
  LineEditor();
  ~LineEditor();

  /// Returns the next line without its newline, or nothing at the end of the input (Ctrl-D) and
  /// after a signal other than Ctrl-C, which is then recorded.
  [[nodiscard]] std::optional<std::string> read();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpt2::cli
