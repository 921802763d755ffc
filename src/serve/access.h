#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/http_server.h"

namespace gpt2::serve {

/// The keys with which clients may use the server. Without any, every client may.
class ApiKeys {
 public:
  /// Adds a key. Throws Error for one that is empty or has characters that a header cannot have.
  /// `where`: where the key was given, for the message.
  void add(const std::string& key, const std::string& where);

  /// Adds the keys of a file, one a line. Skips empty lines and those that begin with #. Throws
  /// Error if the file cannot be read or has no key.
  void add_file(const std::string& file);

  /// Whether the header "Authorization" has one of the keys: "Bearer KEY". The time does not depend
  /// on how much of a key is right.
  [[nodiscard]] bool admits(std::string_view authorization) const;

  [[nodiscard]] bool empty() const noexcept { return keys_.empty(); }

 private:
  std::vector<std::string> keys_;
};

struct Access {
  ApiKeys keys = {};
  std::string local_host = {};  ///< if only programs on this machine reach the server: its host
  std::vector<std::string> cors = {};  ///< the origins whose pages may use the server, or "*"

  /// Adds an origin. Throws Error for what no browser sends as one.
  void add_origin(const std::string& origin);

  /// The headers with which pages of this origin may read the answer; none unless it is among cors.
  [[nodiscard]] Headers cors_headers(const std::string& origin) const;

  [[nodiscard]] bool admits_host(const std::string& given) const;
  [[nodiscard]] bool admits_origin(const HttpRequest& request) const;
};

}  // namespace gpt2::serve
