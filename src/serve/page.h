#pragma once

#include "serve/reply.h"

namespace gpt2::serve {

/// Returns the answer to GET /: the page, which is made of the files in page/. A browser that obeys
/// its headers sends no request to any other server.
[[nodiscard]] HttpAnswer page_answer();

}  // namespace gpt2::serve
