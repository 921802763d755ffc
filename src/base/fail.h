#pragma once

#include <string>
#include <string_view>

#include "gpt2/error.h"

namespace gpt2 {

/// Throws Error(code) with the message "where: message"; `where` is the file.
[[noreturn]] inline void fail(std::string_view where, const std::string& message,
                              ErrorCode code = ErrorCode::invalid_file) {
  throw Error(code, std::string(where) + ": " + message);
}

}  // namespace gpt2
