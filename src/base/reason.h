#pragma once

#include <string>
#include <system_error>

namespace gpt2 {

/// Returns why the system has refused something: its own words, except if another program uses the
/// file. Windows often refuses files for this reason, and has no clear words for it.
[[nodiscard]] std::string reason_of(const std::error_code& error);
[[nodiscard]] std::string reason_of(int error);  ///< a value of errno

}  // namespace gpt2
