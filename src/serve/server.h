#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/http_server.h"
#include "serve/listener.h"
#include "serve/served_model.h"
#include "serve/service.h"

namespace gpt2::serve {

struct ServerOptions {
  ListenAddress address = {};
  HttpLimits limits = {};
  ServiceOptions service = {};
  std::chrono::seconds grace{30};  ///< how long open requests may take when the server ends
  std::function<void(const std::string&)> log = {};  ///< takes a line for each request
};

/// A server that answers OpenAI's API over HTTP.
///
/// Example:
///   Server server(std::move(models), options);
///   std::cout << server.url() << '\n';
///   server.run(interrupted);
class Server {
 public:
  /// Begins to listen. Throws Error if that fails.
  Server(std::vector<std::unique_ptr<ServedModel>> models, ServerOptions options);

  [[nodiscard]] const std::string& url() const noexcept { return listener_.url(); }

  [[nodiscard]] bool is_loopback() const noexcept { return listener_.is_loopback(); }

  /// Serves until `ends` returns true; it is asked at least once a second and after each signal.
  /// Then refuses new work, and returns when all open requests have been answered. Those that are
  /// open when the grace time is over get an error as their answer, or at the end of their stream.
  /// What clients have not read a second later is lost. Returns how many requests, at least, have
  /// ended without a complete answer; 0 if none has.
  std::size_t run(const std::function<bool()>& ends);

 private:
  const ServerOptions options_;
  Listener listener_;
  Service service_;
  HttpServer http_;
};

}  // namespace gpt2::serve
