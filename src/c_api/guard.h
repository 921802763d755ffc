#pragma once

#include <string>

#include "gpt2/error.h"
#include "gpt2/gpt2.h"

// No exception crosses the C interface, because each of its functions runs inside one of these
// guards.

namespace gpt2::c_api {

/// The exception that a callback throws to stop the work. It is not a std::exception, because
/// Drafter ends a draft, and not the text, if a logits processor throws one.
struct Cancelled {};

/// Throws Error(invalid_argument).
[[noreturn]] inline void reject(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

/// Records the exception that is being handled as the last error of this thread, and returns its
/// status. Allocates nothing. REQUIRES: called from a catch block.
gpt2_status note_exception() noexcept;

/// Runs `work`. Returns GPT2_OK, or the status of the exception that it throws.
template <class Work>
gpt2_status guard(const Work& work) noexcept {
  try {
    work();
    return GPT2_OK;
  } catch (...) {
    return note_exception();
  }
}

/// For functions that return a pointer. Returns the result of `work`, or nullptr if it throws.
template <class Work>
auto guard_pointer(const Work& work) noexcept -> decltype(work()) {
  decltype(work()) result = nullptr;
  guard([&] { result = work(); });
  return result;
}

/// For functions that make a handle or a result. Sets *out to the pointer in the unique_ptr that
/// `make` returns, or to nullptr if `make` throws.
template <class Made, class Make>
gpt2_status guard_new(Made** out, const Make& make) noexcept {
  if (out != nullptr) *out = nullptr;
  return guard([&] {
    if (out == nullptr) reject("the output pointer is NULL: give the address of a variable");
    *out = make().release();
  });
}

}  // namespace gpt2::c_api
