#pragma once

#include <string>

#include "gpt2/error.h"

namespace gpt2::test {

/// The message of the gpt2::Error that `call` throws; "(accepted)" where it throws nothing. Any
/// other exception goes through and fails the test.
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
