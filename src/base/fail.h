#pragma once

#include <string_view>

#include "base/text.h"
#include "gpt2/error.h"

// How the library throws its errors.

namespace gpt2 {

/// Throws Error(code) with the message "where: " and the joined parts. `where` is usually a file.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, std::string_view where, const Parts&... parts) {
  throw Error(code, concat(where, ": ", parts...));
}

/// Throws Error(invalid_argument) with the joined parts, for a wrong value of the caller's.
template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, concat(parts...));
}

/// fail() with the most common code, invalid_file.
template <class... Parts>
[[noreturn]] void fail(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::invalid_file, where, parts...);
}

}  // namespace gpt2
