#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "serve/reply.h"

namespace gpt2::serve {

struct HttpRequest {
  std::string id = {};      ///< which no other request has
  std::string method = {};  ///< "GET", "POST" ...; "GET" for "HEAD"
  std::string path = {};    ///< without the query
  std::string authorization = {};
  std::string origin = {};
  std::string host = {};
  std::string body = {};
};

struct HttpLimits {
  std::size_t max_body = 2 << 20;  ///< bytes; one thread reads their texts, 1 s for 2 MiB

  /// From connecting, or from the last answer, until a whole request is there; and from the end of
  /// an answer until it is sent.
  std::chrono::seconds idle_time{60};

  std::size_t max_received = 256 << 20;  ///< bytes of all bodies that are not complete; max_body
                                         ///< if that is more
  std::size_t max_unread = 512 << 20;    ///< bytes of all answers that clients have not read

  /// Returns the headers of the answers to requests from pages of this origin.
  std::function<Headers(const std::string& origin)> headers = {};

  static constexpr unsigned kConnections = 4096;  ///< further clients wait until others leave
  static constexpr std::size_t kHeader = 32768;   ///< bytes of a request before its body
};

/// A request whose connection has taken its answer, or has ended before.
struct HttpRecord {
  std::string id = {};      ///< that of the answer
  std::string client = {};  ///< its IP address
  std::string method = {};
  std::string path = {};                   ///< without the query
  int status = kClientGone;                ///< of the answer, if it has begun
  bool is_complete = false;                ///< whether the client has taken all of the answer
  Clock::time_point begin = Clock::now();  ///< when its headers had arrived
};

/// Speaks HTTP with many clients on one thread, by libmicrohttpd. Connections whose answer is not
/// ready cost no thread.
class HttpServer {
 public:
  /// Decides from the headers of a request, before its body is read: returns an answer if it is
  /// refused.
  using Gate = std::function<std::optional<HttpAnswer>(const HttpRequest&)>;

  /// Takes a request and answers it, at once or later, on any thread.
  using Handler = std::function<void(HttpRequest request, std::shared_ptr<Reply> reply)>;

  /// Takes note of a request. Must not throw.
  using Note = std::function<void(const HttpRecord&)>;

  /// Serves the clients of a socket that listens. Raises the process's limit of open files if
  /// kConnections needs it. Calls `count` once for each request, when its status is known, and
  /// `log` when it has ended; both may be empty. Throws Error if the system refuses.
  HttpServer(int listener, const HttpLimits& limits, Gate gate, Handler handler, Note count = {},
             Note log = {});

  /// Closes all connections. REQUIRES: no thread answers any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Waits for at most this long for something to do, and does it. Returns early on a signal.
  void run(std::chrono::milliseconds wait);

  void stop_accepting();

  /// The number of requests that have arrived and whose answer has not been sent completely.
  [[nodiscard]] std::size_t open_requests() const;

  [[nodiscard]] std::size_t connections() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpt2::serve
