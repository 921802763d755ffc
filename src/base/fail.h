#pragma once

#include <string_view>

#include "base/text.h"
#include "gpt2/error.h"

// Functions that throw the errors of the library.

namespace gpt2 {

/// Throws Error(code). The message is `where`, a colon, a space and the joined parts. `where` is
/// usually the name of a file.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, std::string_view where, const Parts&... parts) {
  throw Error(code, concat(where, ": ", parts...));
}

/// Throws Error(invalid_argument). The message is the joined parts.
template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, concat(parts...));
}

/// Like the function above, with the most common code, invalid_file.
template <class... Parts>
[[noreturn]] void fail(std::string_view where, const Parts&... parts) {
  fail(ErrorCode::invalid_file, where, parts...);
}

}  // namespace gpt2
