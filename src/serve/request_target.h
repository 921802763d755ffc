#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpt2::serve {

/// What the first line of a request asks for.
struct RequestTarget {
  std::string path = {};                 ///< "" if the target is not valid
  std::optional<std::string> host = {};  ///< if the line names one
};

/// Takes apart the target of a request, without its query: a path, or a whole URL, which HTTP
/// allows in its place (RFC 9112, section 3.2.2). A URL without a host, or with the name of a user,
/// is not valid (RFC 9110, section 4.2).
[[nodiscard]] RequestTarget parse_target(std::string_view target);

}  // namespace gpt2::serve
