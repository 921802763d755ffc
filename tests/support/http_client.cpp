#include "support/http_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <stdexcept>

namespace gpt2::test {
namespace {

constexpr int kMaxWait = 120'000;  // milliseconds

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

void await(int socket, short events) {
  pollfd wanted = {.fd = socket, .events = events, .revents = 0};
  if (poll(&wanted, 1, kMaxWait) != 1) fail("the server took too long");
}

int connect_tcp(const std::string& host, const std::string& port, int receive_buffer) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* address = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &address) != 0) fail("no address: " + host);
  const int found = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer != 0) {
    setsockopt(found, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  const int result = connect(found, address->ai_addr, address->ai_addrlen);
  const int reason = errno;
  freeaddrinfo(address);
  if (result == 0) return found;
  close(found);
  fail("no connection to " + host + ":" + port + ": " + std::strerror(reason));
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::vector<std::string> HttpResponse::events() const {
  std::vector<std::string> events;
  constexpr std::string_view kBegin = "data: ";
  for (std::size_t begin = 0; begin < body.size();) {
    if (body.compare(begin, 7, "event: ") == 0) begin = body.find('\n', begin) + 1;
    const std::size_t end = body.find("\n\n", begin);
    if (body.compare(begin, 2, ": ") == 0) {  // a comment
      begin = end + 2;
      continue;
    }
    if (body.compare(begin, kBegin.size(), kBegin) != 0 || end == body.npos) {
      fail("not an event: " + body.substr(begin, 200));
    }
    events.push_back(body.substr(begin + kBegin.size(), end - begin - kBegin.size()));
    begin = end + 2;
  }
  return events;
}

std::string http_request(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view more_headers) {
  std::string text =
      std::string(method) + ' ' + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n";
  text += more_headers;
  if (!body.empty() || method == "POST") {
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "\r\n" + std::string(body);
}

HttpClient::HttpClient(const std::string& url, int receive_buffer) {
  constexpr std::string_view kHttp = "http://";
  const std::size_t colon = url.rfind(':');
  std::string host = url.substr(kHttp.size(), colon - kHttp.size());
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  socket_ = connect_tcp(host, url.substr(colon + 1), receive_buffer);
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_)) {}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    test::await(socket_, POLLOUT);
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

HttpResponse HttpClient::receive() {
  HttpResponse response;
  const auto first = line();
  if (!first) return response;
  if (!first->starts_with("HTTP/1.1 ")) fail("not an answer over HTTP: " + *first);
  response.status = std::stoi(first->substr(9));
  for (auto next = line(); next && !next->empty(); next = line()) {
    const std::size_t colon = next->find(": ");
    if (colon == next->npos) fail("not a header: " + *next);
    response.headers[lower(next->substr(0, colon))] = next->substr(colon + 2);
  }
  if (response.status == 100) return receive();
  const auto length = response.headers.find("content-length");
  if (response.headers.contains("transfer-encoding")) {
    response.is_complete = take_chunks(response.body);
  } else if (length != response.headers.end()) {
    response.is_complete = take(response.body, std::stoul(length->second));
  } else {
    response.body = response.status == 204 ? "" : await_end();
    response.is_complete = true;
  }
  return response;
}

void HttpClient::await(std::string_view text) {
  while (received_.find(text) == std::string::npos) {
    if (!fill()) fail("the server sent only: " + received_);
  }
}

std::string HttpClient::await_end() {
  while (fill()) {
  }
  return std::exchange(received_, {});
}

void HttpClient::close_sending() { shutdown(socket_, SHUT_WR); }

void HttpClient::close(bool abruptly) {
  if (socket_ < 0) return;
  const linger now = {.l_onoff = 1, .l_linger = 0};
  if (abruptly) setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(std::exchange(socket_, -1));
}

bool HttpClient::fill() {
  test::await(socket_, POLLIN);
  char buffer[65536];
  const ssize_t count = recv(socket_, buffer, sizeof buffer, 0);
  if (count <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> HttpClient::line() {
  std::size_t end = received_.find("\r\n");
  for (; end == std::string::npos; end = received_.find("\r\n")) {
    if (!fill()) return std::nullopt;
  }
  std::string text = received_.substr(0, end);
  received_.erase(0, end + 2);
  return text;
}

bool HttpClient::take(std::string& body, std::size_t bytes) {
  while (received_.size() < bytes && fill()) {
  }
  const std::size_t count = std::min(bytes, received_.size());
  body.append(received_, 0, count);
  received_.erase(0, count);
  return count == bytes;
}

bool HttpClient::take_chunks(std::string& body) {
  for (;;) {
    const auto size = line();
    if (!size) return false;
    const std::size_t bytes = std::stoul(*size, nullptr, 16);
    if (!take(body, bytes) || line() != "") return false;
    if (bytes == 0) return true;
  }
}

}  // namespace gpt2::test
