#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] gpt2 {

/// The kind of an error. The message has the details.
enum class ErrorCode {
  not_found,         ///< no such file, directory, model or token
  invalid_file,      ///< a file breaks its own format, or contradicts another file
  unsupported,       ///< a valid file or value that this engine does not implement
  invalid_argument,  ///< the caller's value is out of range
};

/// The only exception that the library throws of its own accord. Loading throws it for files that
/// cannot be used. Every function throws it for arguments that break its contract, and in that case
/// has changed nothing. (If memory runs out, the standard library throws std::bad_alloc.)
///
/// The message says what is wrong and where, what was expected, what was found and what to do. It
/// is one line of printable text without a trailing period.
///
/// Example:
///   try {
///     const Model model = Model::load("models/no-such-model");
///   } catch (const Error& error) {
///     const bool is_missing = error.code() == ErrorCode::not_found;
///     std::fprintf(stderr, "%s%s\n", is_missing ? "not there: " : "", error.what());
///   }
class Error : public std::runtime_error {
 public:
  /// Makes the message printable, as printable() does. Throws std::bad_alloc.
  Error(ErrorCode code, const std::string& message);

  /// The kind of error, for programs that handle some kinds themselves.
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Returns the text as one line that is safe to write to a terminal or a log. Replaces each control
/// character (including line breaks), each byte that is not UTF-8, and each mark that changes the
/// direction of writing by a space. The names of tensors and files are untrusted and may contain
/// any of these.
///
/// Example:
///   const std::string line = printable("a\nb");  // "a b"
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace gpt2
