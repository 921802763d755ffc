#pragma once

#include <chrono>
#include <nlohmann/json.hpp>

#include "support/test.h"

namespace gpt2::test {

/// An answer over HTTP.
struct HttpResponse {
  int status = 0;                                   ///< 0: the server closed the connection instead
  std::map<std::string, std::string> headers = {};  ///< the names in lower case
  std::string body = {};                            ///< without the framing of chunks
  bool is_complete = false;                         ///< whether the body has ended as it should

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body); }

  /// Returns the data of the server-sent events in the body. Throws if the body has anything else.
  [[nodiscard]] std::vector<std::string> events() const;
};

/// Returns the bytes of a request. Adds Host, and Content-Length for a method with a body.
[[nodiscard]] std::string http_request(std::string_view method, std::string_view path,
                                       std::string_view body = "",
                                       std::string_view more_headers = "");

/// A connection to a server, on a raw socket. It sends exactly the given bytes, so that it can send
/// what no client should. Every wait has a time limit, after which it throws std::runtime_error.
class HttpClient {
 public:
  /// Connects to "http://HOST:PORT". Throws std::runtime_error if it cannot.
  /// `receive_buffer`: the size of the system's buffer for received bytes; 0: its own.
  explicit HttpClient(const std::string& url, int receive_buffer = 0);
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  HttpClient(HttpClient&& other) noexcept;

  /// Sends the bytes. Returns false if the server has closed the connection.
  bool send(std::string_view bytes);

  /// Receives a whole answer.
  HttpResponse receive();

  /// Sends a request and receives its answer.
  HttpResponse ask(std::string_view bytes) {
    send(bytes);
    return receive();
  }

  /// Receives until the answer that arrives has this text.
  void await(std::string_view text);

  /// Waits until the server closes the connection. Returns what it sent before.
  std::string await_end();

  /// Says that nothing more is sent. The answer can be received still.
  void close_sending();

  /// Closes the connection, with a FIN or, if `abruptly`, with a RST.
  void close(bool abruptly = false);

 private:
  bool fill();  // receives more bytes; returns false at the end
  std::optional<std::string> line();
  bool take(std::string& body, std::size_t bytes);
  bool take_chunks(std::string& body);

  int socket_ = -1;
  std::string received_;
};

}  // namespace gpt2::test
