#pragma once

#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/http_client.h"

namespace gpt2::test {

/// A gpt2 serve that listens on a free port, unless the options have a --port.
class TestServer {
 public:
  explicit TestServer(const Words& options = {}, const Surroundings& surroundings = {});

  /// Its address, as its standard output tells it.
  [[nodiscard]] const std::string& url() const { return url_; }

  [[nodiscard]] HttpClient connect() const { return HttpClient(url_); }

  /// Asks on a connection of its own.
  [[nodiscard]] HttpResponse get(std::string_view path) const;
  [[nodiscard]] HttpResponse post(std::string_view path, const nlohmann::json& body) const;

  /// Returns the value of a line of /metrics, such as "gpt2_requests_open", or 0 if there is none.
  [[nodiscard]] double metric(const std::string& name) const;

  /// Waits until a line of /metrics has this value. Throws std::runtime_error after two minutes.
  void await_metric(const std::string& name, double value) const;

  /// Waits until nothing is computed for any request.
  void await_idle() const;

  /// The process. Its destructor ends it.
  Command command;

 private:
  std::string url_;
};

/// Returns what gpt2 generate --json writes: an object for each text. An option that is not given
/// has the default of OpenAI's API.
[[nodiscard]] std::vector<nlohmann::json> generated(const std::string& prompt,
                                                    const Words& options = {});

}  // namespace gpt2::test
