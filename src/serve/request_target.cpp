#include "serve/request_target.h"

#include <strings.h>

#include <algorithm>

namespace gpt2::serve {
namespace {

bool begins_with(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && strncasecmp(text.data(), start.data(), start.size()) == 0;
}

}  // namespace

RequestTarget parse_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!begins_with(target, scheme)) continue;
    const std::string_view rest = target.substr(scheme.size());
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view host = rest.substr(0, end);
    if (host.empty() || host.starts_with(':') || host.find('@') != host.npos) return {};
    return {.path = end < rest.size() ? std::string(rest.substr(end)) : "/",
            .host = std::string(host)};
  }
  return {.path = std::string(target)};
}

}  // namespace gpt2::serve
