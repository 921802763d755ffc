#pragma once

#include <string>

namespace gpt2::serve {

struct ListenAddress {
  std::string host = "127.0.0.1";
  int port = 8080;  ///< 0: the system chooses a free one
};

/// A socket that listens on a port.
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

  /// The address for people and clients: "http://127.0.0.1:8080".
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

  /// Whether only programs on this machine can reach it.
  [[nodiscard]] bool is_loopback() const noexcept {
    return url_.starts_with("http://127.") || url_.starts_with("http://[::1]") ||
           url_.starts_with("http://[::ffff:127.");
  }

 private:
  int socket_ = -1;
  std::string url_;
};

}  // namespace gpt2::serve
