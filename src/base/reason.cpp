#include "base/reason.h"

namespace gpt2 {

std::string reason_of(const std::error_code& error) {
  return error == std::errc::device_or_resource_busy ? "another program uses it" : error.message();
}

std::string reason_of(int error) { return reason_of({error, std::generic_category()}); }

}  // namespace gpt2
