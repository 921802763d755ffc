#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gpt2/error.h"
#include "support/catch.h"

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

/// Checks that `call` throws a gpt2::Error of this kind whose message names each of the facts.
template <class Call>
void check_refused(const Call& call, std::initializer_list<std::string_view> facts,
                   ErrorCode code = ErrorCode::invalid_file) {
  std::string message = "(accepted)";
  ErrorCode found{};
  try {
    call();
  } catch (const Error& error) {
    message = error.what();
    found = error.code();
  }
  CAPTURE(message);
  for (const std::string_view fact : facts) {
    CAPTURE(fact);
    CHECK(message.find(fact) != std::string::npos);
  }
  CHECK(message != "(accepted)");
  CHECK(found == code);
}

/// The same for an argument that the library refuses.
template <class Call>
void check_bad_argument(const Call& call, std::initializer_list<std::string_view> facts) {
  check_refused(call, facts, ErrorCode::invalid_argument);
}

}  // namespace gpt2::test
