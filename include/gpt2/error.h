#pragma once

#include <stdexcept>
#include <string>

namespace gpt2 {

/// What kind of thing went wrong; the message says the rest.
enum class ErrorCode {
  not_found,         ///< no such file, directory, model or token
  invalid_file,      ///< a file breaks its own format, or contradicts another one
  unsupported,       ///< a valid file or value that this engine does not implement
  invalid_argument,  ///< the caller's value is out of range
};

/// The only exception the library throws of its own accord.
///
/// The message is one line without a trailing period or newline: what, where, what was expected,
/// what was found, what to do. Loading throws; running a loaded model does not.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace gpt2
