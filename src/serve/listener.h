#pragma once

#include <string>

namespace gpt2::serve {

struct ListenAddress {
  std::string host = "127.0.0.1";
  int port = 8080;               ///< 0: the system chooses a free one
  std::string unix_socket = {};  ///< the path of a Unix socket, instead of host and port
};

/// A socket that listens. A Unix socket that nobody listens to any more is replaced.
class Listener {
 public:
  /// Throws Error, which says what to do, if the address cannot be used.
  explicit Listener(const ListenAddress& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Stops listening, so that the system refuses new clients.
  void close();

  [[nodiscard]] int descriptor() const noexcept { return socket_; }

  /// The address for people and clients: "http://127.0.0.1:8080", or "unix:/run/gpt2.sock".
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

  /// Whether it is a port that only programs on this machine can reach.
  [[nodiscard]] bool is_loopback() const noexcept {
    return url_.starts_with("http://127.") || url_.starts_with("http://[::1]") ||
           url_.starts_with("http://[::ffff:127.");
  }

  /// Whether only programs on this machine can reach it.
  [[nodiscard]] bool is_local() const noexcept {
    return is_loopback() || url_.starts_with("unix:");
  }

 private:
  void listen_on_path(const std::string& path);
  void listen_on_port(const std::string& host, int port);

  int socket_ = -1;
  std::string url_;
  std::string path_;  // of a Unix socket that the destructor removes
};

}  // namespace gpt2::serve
