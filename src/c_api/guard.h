#pragma once

#include <string>

#include "gpt2/error.h"
#include "gpt2/gpt2.h"

// How no exception crosses the C interface: every function of it runs inside one of these.

namespace gpt2::c_api {

/// What a callback that stops the work throws. It is no std::exception, because Decoder takes those
/// of a logits processor for the end of a draft.
struct Cancelled {};

/// Throws Error(invalid_argument).
[[noreturn]] inline void reject(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

/// Makes the exception that is being handled the last error of this thread, and returns its status.
/// Allocates nothing. REQUIRES: called from a catch block.
gpt2_status note_exception() noexcept;

/// Runs `work`. Returns GPT2_OK or the status of what it throws.
template <class Work>
gpt2_status guard(const Work& work) noexcept {
  try {
    work();
    return GPT2_OK;
  } catch (...) {
    return note_exception();
  }
}

/// For functions that return a pointer: what `work` returns, or nullptr if it throws.
template <class Work>
auto guard_pointer(const Work& work) noexcept -> decltype(work()) {
  decltype(work()) result = nullptr;
  guard([&] { result = work(); });
  return result;
}

/// For functions that make a handle or a result: sets *out to what `make` returns, a unique_ptr, or
/// to nullptr if it throws.
template <class Made, class Make>
gpt2_status guard_new(Made** out, const Make& make) noexcept {
  if (out != nullptr) *out = nullptr;
  return guard([&] {
    if (out == nullptr) reject("the output pointer is NULL: give the address of a variable");
    *out = make().release();
  });
}

}  // namespace gpt2::c_api
