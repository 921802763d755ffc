#pragma once

#include <string>

#include "gpt2/error.h"

namespace gpt2::test {

/// Returns the message of the gpt2::Error that `call` throws, or "(accepted)" if it throws nothing.
/// Does not catch any other exception, so it fails the test.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(accepted)";
}

}  // namespace gpt2::test
