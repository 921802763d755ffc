#include "serve/request_target.h"

#include <algorithm>

namespace gpt2::serve {

RequestTarget parse_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    const std::size_t end = std::min(rest.find('/'), rest.size());
    return {.path = end < rest.size() ? std::string(rest.substr(end)) : "/",
            .host = std::string(rest.substr(0, end))};
  }
  return {.path = std::string(target)};
}

}  // namespace gpt2::serve
