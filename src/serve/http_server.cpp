#include "serve/http_server.h"

#include <microhttpd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <list>
#include <new>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fail.h"
#include "base/text.h"
#include "serve/http_message.h"

namespace gpt2::serve {
namespace {

constexpr std::chrono::milliseconds kSweep{100};  // how often connections are looked after

// A request, from its headers to the end of its answer.
struct Exchange {
  HttpRequest request;
  HttpRecord record;
  std::shared_ptr<Reply> reply = std::make_shared<Reply>();
  std::optional<HttpAnswer> refusal;  // decided by the headers
  std::string origin = {};            // of the request, once it is handled
  bool is_handled = false;            // whether the handler has got the request
  bool is_http_1_1 = false;
  bool is_probed = false;  // whether a client that has closed its side has been sent something
};

struct Connection {
  int socket;
  Clock::time_point since = Clock::now();  // the time of the last answer, or of connecting
  Exchange* exchange = nullptr;
};

// Returns how many bytes have arrived and have not been read.
int unread_bytes(int socket) {
  int bytes = 0;
  return ioctl(socket, FIONREAD, &bytes) == 0 ? bytes : 0;
}

// Whether the client of a request has gone away, by what poll() says of its socket. A client that
// has closed its side only may still wait for the answer; one that is gone resets the connection
// when something is sent to it. Before an answer this is the interim one that every client skips.
// HTTP/1.0 has none, so its clients may not close their side.
bool is_gone(Exchange& exchange, int socket, short events) {
  if ((events & (POLLHUP | POLLERR)) != 0) return true;
  if ((events & POLLRDHUP) == 0 || exchange.record.status != kClientGone) return false;
  if (!exchange.is_http_1_1) return true;
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  if (!std::exchange(exchange.is_probed, true)) {
    send(socket, kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  return false;
}

// Raises the limit of open files of the process, as far as it may, to what the connections need.
void raise_file_limit() {
  rlimit limit = {};
  const rlim_t needed = HttpLimits::kConnections + 100;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns the beginning of the ids of all requests, which those of another process do not have.
std::string new_ids() {
  char digits[10];
  std::snprintf(digits, sizeof digits, "%08x-", std::random_device{}());
  return digits;
}

}  // namespace

struct HttpServer::Impl {
  Impl(int listener, const HttpLimits& limits, Gate gate, Handler handler, Note count, Note log);
  ~Impl();

  void run(std::chrono::milliseconds wait);
  void sweep();

  MHD_Result take(MHD_Connection* connection, const char* url, const char* method,
                  const char* version, const char* upload, std::size_t& upload_size,
                  void*& context);
  void open(MHD_Connection* connection, void*& context);
  void close(void*& context);
  void complete(MHD_Connection* connection, void*& context, bool is_complete);

  std::size_t open_requests() const;

  std::list<Connection> connections;
  const Waker waker;
  MHD_Daemon* daemon = nullptr;

 private:
  [[nodiscard]] std::optional<HttpAnswer> refuse(MHD_Connection* connection, const char* version,
                                                 const HttpRequest& request) const;
  void receive(Exchange& exchange, std::string_view piece);
  void read_headers(MHD_Connection* connection, const char* url, const char* method,
                    Exchange& exchange);
  MHD_Result answer(MHD_Connection* connection, Exchange& exchange);
  void look_after(Connection& connection, short events);
  void bound_unread();

  const HttpLimits limits_;
  const Gate gate_;
  const Handler handler_;
  const Note count_, log_;
  const std::string ids_ = new_ids();
  std::size_t requests_ = 0;
  Clock::time_point swept_ = Clock::now();
  std::size_t received_ = 0;     // bytes of bodies that are not complete
  bool has_progressed_ = false;  // whether a request has been taken since the last turn
};

namespace {

// Returns nullptr if there was no memory to take note of the connection.
Connection* tracked(MHD_Connection* connection) {
  const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return static_cast<Connection*>(info->socket_context);
}

// Replaces each %XX of a path or an argument. A NUL, which would end the path, becomes a blank,
// which no path has.
std::size_t unescape(void*, MHD_Connection*, char* text) {
  const std::size_t size = MHD_http_unescape(text);
  std::replace(text, text + size, '\0', ' ');
  return size;
}

MHD_Daemon* start(int listener, HttpServer::Impl* impl) {
  const auto take = [](void* self, MHD_Connection* connection, const char* url, const char* method,
                       const char* version, const char* upload, std::size_t* upload_size,
                       void** context) {
    try {
      return static_cast<HttpServer::Impl*>(self)->take(connection, url, method, version, upload,
                                                        *upload_size, *context);
    } catch (const std::exception&) {  // no memory: C cannot pass an exception on
      return MHD_NO;
    }
  };
  const auto complete = [](void* self, MHD_Connection* connection, void** context,
                           MHD_RequestTerminationCode code) {
    const bool is_complete = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
    static_cast<HttpServer::Impl*>(self)->complete(connection, *context, is_complete);
  };
  const auto notify = [](void* self, MHD_Connection* connection, void** context,
                         MHD_ConnectionNotificationCode code) {
    auto& server = *static_cast<HttpServer::Impl*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      server.open(connection, *context);
    } else {
      server.close(*context);
    }
  };
  const auto be_silent = [](void*, const char*, va_list) {};
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr, nullptr, +take,
      impl, MHD_OPTION_EXTERNAL_LOGGER, static_cast<MHD_LogCallback>(be_silent), nullptr,
      MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, HttpLimits::kConnections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, HttpLimits::kHeader, MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_NOTIFY_COMPLETED, static_cast<MHD_RequestCompletedCallback>(complete), impl,
      MHD_OPTION_NOTIFY_CONNECTION, static_cast<MHD_NotifyConnectionCallback>(notify), impl,
      MHD_OPTION_UNESCAPE_CALLBACK, unescape, nullptr, MHD_OPTION_END);
}

}  // namespace

HttpServer::Impl::Impl(int listener, const HttpLimits& limits, Gate gate, Handler handler,
                       Note count, Note log)
    : limits_(limits),
      gate_(std::move(gate)),
      handler_(std::move(handler)),
      count_(std::move(count)),
      log_(std::move(log)) {
  raise_file_limit();
  daemon = start(listener, this);
  if (daemon == nullptr) reject("libmicrohttpd could not start: ", std::strerror(errno));
}

// libmicrohttpd must not be stopped while a connection is suspended.
HttpServer::Impl::~Impl() {
  for (Connection& connection : connections) {
    if (connection.exchange != nullptr) connection.exchange->reply->abandon();
  }
  MHD_quiesce_daemon(daemon);  // the caller owns the socket
  MHD_run(daemon);
  MHD_stop_daemon(daemon);
}

void HttpServer::Impl::run(std::chrono::milliseconds wait) {
  const MHD_DaemonInfo* const info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  MHD_UNSIGNED_LONG_LONG due = 0;
  if (MHD_get_timeout(daemon, &due) == MHD_YES) {
    // It asks for a turn at once as long as the header of a chunk fills its buffer, even though
    // nothing changes until the client's time is over. The wait keeps this thread from spinning.
    if (due == 0 && !std::exchange(has_progressed_, false)) due = 1;
    wait = std::min(wait, std::chrono::milliseconds(due));
  }
  if (!connections.empty()) wait = std::min(wait, kSweep);
  std::array<pollfd, 2> events = {{{.fd = info->epoll_fd, .events = POLLIN, .revents = 0},
                                   {.fd = waker.descriptor(), .events = POLLIN, .revents = 0}}};
  poll(events.data(), events.size(), static_cast<int>(wait.count()));
  waker.clear();
  MHD_run(daemon);
  if (Clock::now() - swept_ < kSweep) return;
  try {
    sweep();
  } catch (const std::bad_alloc&) {  // the next one finds them
  }
}

// Finds the clients that have gone away, and those that take too long.
void HttpServer::Impl::sweep() {
  swept_ = Clock::now();
  std::vector<pollfd> sockets;
  for (const Connection& connection : connections) {
    sockets.push_back({.fd = connection.socket, .events = POLLRDHUP, .revents = 0});
  }
  poll(sockets.data(), sockets.size(), 0);
  auto found = sockets.begin();
  for (Connection& connection : connections) look_after(connection, (found++)->revents);
  bound_unread();
}

void HttpServer::Impl::look_after(Connection& connection, short events) {
  Exchange* const exchange = connection.exchange;
  if (exchange == nullptr || !exchange->is_handled) {
    // If the end of what a client sends arrives together with other bytes, libmicrohttpd does not
    // see that it is the end.
    const bool has_ended = events != 0 && unread_bytes(connection.socket) == 0;
    const bool is_late = swept_ - connection.since > limits_.idle_time;
    if (has_ended || is_late) shutdown(connection.socket, SHUT_RDWR);
    return;
  }
  const auto end = exchange->reply->end_time();
  if (!end && is_gone(*exchange, connection.socket, events)) exchange->reply->abandon();
  if (end && swept_ - *end > limits_.idle_time) shutdown(connection.socket, SHUT_RDWR);
}

// If the clients together leave too much unread, cuts off those that leave most.
void HttpServer::Impl::bound_unread() {
  std::vector<std::pair<std::size_t, Connection*>> unread;
  std::size_t total = 0;
  for (Connection& connection : connections) {
    if (connection.exchange == nullptr) continue;
    unread.emplace_back(connection.exchange->reply->held(), &connection);
    total += unread.back().first;
  }
  std::ranges::sort(unread);
  for (; total > limits_.max_unread; unread.pop_back()) {
    const auto& [bytes, connection] = unread.back();
    total -= bytes;
    connection->exchange->reply->abandon();
    shutdown(connection->socket, SHUT_RDWR);
  }
}

std::optional<HttpAnswer> HttpServer::Impl::refuse(MHD_Connection* connection, const char* version,
                                                   const HttpRequest& request) const {
  if (!has_valid_headers(connection)) {
    // Where the next request begins is uncertain.
    HttpAnswer answer = error_answer(400, "expected headers NAME: VALUE and one Host");
    answer.headers.emplace_back("Connection", "close");
    return answer;
  }
  if (!has_one_length(connection, version))
    return error_answer(
        400, "expected one length of the body, as Content-Length or, in HTTP/1.1, in chunks");
  if (auto answer = gate_(request)) return answer;
  return refuse_body(connection, limits_.max_body);
}

MHD_Result HttpServer::Impl::take(MHD_Connection* connection, const char* url, const char* method,
                                  const char* version, const char* upload, std::size_t& upload_size,
                                  void*& context) {
  has_progressed_ = true;
  if (context == nullptr) {
    if (tracked(connection) == nullptr) return MHD_NO;
    auto* const exchange = new Exchange;
    context = tracked(connection)->exchange = exchange;
    read_headers(connection, url, method, *exchange);
    exchange->is_http_1_1 = std::strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
    exchange->refusal = refuse(connection, version, exchange->request);
    if (!exchange->refusal || takes_refused_body(connection, version)) return MHD_YES;
    return answer(connection, *exchange);
  }
  auto& exchange = *static_cast<Exchange*>(context);
  if (upload_size == 0) return answer(connection, exchange);
  receive(exchange, {upload, upload_size});
  upload_size = 0;
  return MHD_YES;
}

void HttpServer::Impl::read_headers(MHD_Connection* connection, const char* url, const char* method,
                                    Exchange& exchange) {
  const std::string id = concat(ids_, ++requests_);
  exchange.record = {.id = id, .client = client_of(connection), .method = method, .path = url};
  exchange.request = {.id = id,
                      .method = std::strcmp(method, "HEAD") == 0 ? "GET" : method,
                      .path = url,
                      .authorization = header_of(connection, "Authorization"),
                      .origin = header_of(connection, "Origin"),
                      .host = header_of(connection, "Host")};
}

// Takes a piece of the body.
void HttpServer::Impl::receive(Exchange& exchange, std::string_view piece) {
  std::string& body = exchange.request.body;
  if (exchange.refusal) return;
  if (piece.size() > limits_.max_body - body.size()) {
    // Only a body in chunks can be too long here, whose length was not known.
    exchange.refusal = error_answer(413, concat("the body is longer than the ", limits_.max_body,
                                                " bytes that the server accepts"));
  } else if (piece.size() > std::max(limits_.max_received, limits_.max_body) - received_) {
    exchange.refusal = busy_answer("the server is receiving too many long requests");
  } else {
    body += piece;
    received_ += piece.size();
    return;
  }
  received_ -= body.size();
  std::string().swap(body);
}

// Answers a request of which everything is there, now or when the answer is ready.
MHD_Result HttpServer::Impl::answer(MHD_Connection* connection, Exchange& exchange) {
  if (!std::exchange(exchange.is_handled, true)) {
    received_ -= exchange.request.body.size();
    exchange.origin = exchange.request.origin;
    if (exchange.refusal) {
      exchange.reply->send(std::move(*exchange.refusal));
    } else {
      handler_(std::move(exchange.request), exchange.reply);
    }
  }
  const auto answer =
      exchange.reply->head([connection] { suspend(connection); }, resume(connection, waker));
  if (!answer) return exchange.reply->is_abandoned() ? MHD_NO : MHD_YES;
  if (!answer->id.empty()) exchange.record.id = answer->id;
  Headers headers = limits_.headers ? limits_.headers(exchange.origin) : Headers();
  headers.emplace_back("X-Request-Id", exchange.record.id);
  const MHD_Result result = queue(connection, *answer, exchange.reply, headers, waker);
  if (result == MHD_YES) {
    exchange.record.status = answer->status;
    if (count_) count_(exchange.record);
  }
  return result;
}

void HttpServer::Impl::open(MHD_Connection* connection, void*& context) {
  const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  try {
    context = &connections.emplace_back(Connection{.socket = info->connect_fd});
  } catch (const std::bad_alloc&) {
    shutdown(info->connect_fd, SHUT_RDWR);
  }
}

void HttpServer::Impl::close(void*& context) {
  connections.remove_if([&](const Connection& one) { return &one == context; });
}

void HttpServer::Impl::complete(MHD_Connection* connection, void*& context, bool is_complete) {
  auto* const exchange = static_cast<Exchange*>(context);
  if (exchange == nullptr) return;
  if (!exchange->is_handled) received_ -= exchange->request.body.size();
  exchange->reply->detach();
  exchange->record.is_complete = is_complete;
  if (count_ && exchange->record.status == kClientGone) count_(exchange->record);
  if (log_) log_(exchange->record);
  delete exchange;
  context = nullptr;
  // Each turn looks at all connections with a timeout of their own, and most that wait for another
  // request have none.
  if (is_complete) MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0U);
  *tracked(connection) = {.socket = tracked(connection)->socket};
}

std::size_t HttpServer::Impl::open_requests() const {
  return static_cast<std::size_t>(std::ranges::count_if(connections, [](const Connection& one) {
    return one.exchange != nullptr && one.exchange->is_handled;
  }));
}

HttpServer::HttpServer(int listener, const HttpLimits& limits, Gate gate, Handler handler,
                       Note count, Note log)
    : impl_(std::make_unique<Impl>(listener, limits, std::move(gate), std::move(handler),
                                   std::move(count), std::move(log))) {}

HttpServer::~HttpServer() = default;

void HttpServer::run(std::chrono::milliseconds wait) { impl_->run(wait); }

void HttpServer::stop_accepting() { MHD_quiesce_daemon(impl_->daemon); }

std::size_t HttpServer::open_requests() const { return impl_->open_requests(); }

std::size_t HttpServer::connections() const { return impl_->connections.size(); }

}  // namespace gpt2::serve
