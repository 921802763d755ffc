#pragma once

#include <string>

#include "serve/http_server.h"

namespace gpt2::serve {

/// Returns the line of a log for a request that ends now: a JSON object, with a line break. It has
/// nothing of the body, the query and the headers, so it has no prompts and no keys.
[[nodiscard]] std::string log_line(const HttpRecord& record);

}  // namespace gpt2::serve
