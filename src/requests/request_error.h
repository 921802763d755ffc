#pragma once

#include <string>
#include <utility>

#include "gpt2/error.h"

namespace gpt2 {

/// A mistake in a request, with what OpenAI's errors say beside the message.
class RequestError : public Error {
 public:
  /// `param`: the member with the mistake, or "". `kind`: OpenAI's code.
  RequestError(const std::string& message, std::string param, const char* kind)
      : Error(ErrorCode::invalid_argument, message), param_(std::move(param)), kind_(kind) {}

  [[nodiscard]] const std::string& param() const noexcept { return param_; }
  [[nodiscard]] const char* kind() const noexcept { return kind_; }

  static constexpr const char* kMissing = "missing_required_parameter";
  static constexpr const char* kUnknown = "unknown_parameter";
  static constexpr const char* kTooLong = "context_length_exceeded";

 private:
  std::string param_;
  const char* kind_;
};

}  // namespace gpt2
