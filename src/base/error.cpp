#include "gpt2/error.h"

#include "base/fail.h"

namespace gpt2 {

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(printable(message)), code_(code) {}

}  // namespace gpt2
